"""Rules about bundles as the tools judge them before they are published: `opm`, `operator-sdk bundle validate`, and the
pipelines of catalogs.

The messages are those of the tools (R-CAT-200), which refuse a bundle with a failure; OLM itself may still install it.
"""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, RuleTag, Severity

_REFUSED = "The tools that build and publish bundles refuse this one; what olmc compiles from it stands all the same"
_TAGS = frozenset({RuleTag.OF_VALIDATORS})
_ADVICE = "The tools that build and publish bundles only warn of it"


def _failure(
    code: str, title: str, hint: str, explanation: str, numbers: str, found_by: FoundBy = FoundBy.CHECK
) -> Rule:
    text = f"{explanation} ({numbers}). {_REFUSED}."
    return Rule(code, Severity.FAILURE, title, "{text}", hint, text, found_by, tags=_TAGS)


def _warning(
    code: str, title: str, hint: str, explanation: str, numbers: str, found_by: FoundBy = FoundBy.CHECK
) -> Rule:
    text = f"{explanation} ({numbers}). {_ADVICE}."
    return Rule(code, Severity.WARNING, title, "{text}", hint, text, found_by, tags=_TAGS)


FOLDERS = _failure(
    "OLMC260",
    "A bundle lacks one of its two folders",
    "Put the CSV and its objects into manifests/ and annotations.yaml into metadata/, side by side.",
    "A bundle is a folder with manifests/ and metadata/ in it; with one of them missing olmc does not take it for a "
    "bundle either",
    "R-CAT-203",
)
ANNOTATIONS = _failure(
    "OLMC261",
    "The annotations of a bundle are not in order",
    "Correct metadata/annotations.yaml; every value is a text, so numbers and booleans need quotes.",
    "metadata/annotations.yaml sets the type of the bundle, its package and its channels",
    "R-CAT-204",
)
DEPENDENCIES = _failure(
    "OLMC262",
    "A dependency that can't be read",
    "Write the value that the type asks for: olm.gvk, olm.package, olm.label, or an olm.constraint with cel.",
    "Each item of metadata/dependencies.yaml has a type and a value of a shape of its own; the tools know only the cel "
    "form of olm.constraint",
    "R-CAT-205",
)
LOADING = _failure(
    "OLMC263",
    "A file that keeps a bundle from being loaded",
    "Keep in manifests/ the manifests alone: one CSV, one object a file, no folders, no hidden files.",
    "The validators read every file beside the CSV, and stop at what is no object of a bundle",
    "R-CAT-202",
)
CONTENT = _failure(
    "OLMC264",
    "A manifest that a bundle may not hold",
    "Move the file out of manifests/, or correct its apiVersion and kind.",
    "A registry+v1 bundle holds one CSV, its CRDs and objects of the kinds that the tools know",
    "R-CAT-207",
)
CONTENT_APIS = _failure(
    "OLMC265",
    "The CSV and the content of the bundle differ",
    "Make customresourcedefinitions.owned list exactly the CRDs of manifests/, by name, version and kind.",
    "A CSV owns the CRDs that its bundle brings along, each with the versions that the CRD has",
    "R-CAT-207",
)
CONTENT_ADVICE = _warning(
    "OLMC266",
    "A CRD that the CSV does not mention, or of an old version",
    "List the CRD under customresourcedefinitions.owned, and write it in apiextensions.k8s.io/v1.",
    "A CRD that the CSV does not own is installed without an owner; Kubernetes 1.22 has removed v1beta1 CRDs",
    "R-CAT-207",
)
OBJECT_METADATA = _failure(
    "OLMC267",
    "The metadata of an object is not valid",
    "Correct metadata; leave metadata.namespace out, since OLM decides the namespace.",
    "Name, labels, annotations, owners and finalizers of every object must be what Kubernetes accepts, without a "
    "namespace",
    "R-CAT-207",
)
CSV_NAME = _failure(
    "OLMC268",
    "The name of a CSV is not valid",
    "Write lower-case letters, digits, dashes and dots, at most 63 of them.",
    "The name of a CSV is that of an object and the value of labels at once",
    "R-CAT-210",
)
EXAMPLES = _failure(
    "OLMC269",
    "The examples of a CSV can't be used",
    "Write a JSON list of custom resources into the annotation alm-examples, one for each API that the CSV owns.",
    "Consoles offer the examples to users who create a custom resource",
    "R-CAT-211",
)
EXAMPLES_ADVICE = _warning(
    "OLMC270",
    "An API without an example",
    "Add an example to the annotation alm-examples.",
    "Consoles offer the examples to users who create a custom resource",
    "R-CAT-211",
)
INSTALL_MODES = _failure(
    "OLMC271",
    "The install modes of a CSV are not in order",
    "List all four install modes and support at least one; with conversion webhooks AllNamespaces alone.",
    "The install modes say which OperatorGroups an operator can be a member of",
    "R-CAT-212",
)
NO_MIN_KUBE_VERSION = _warning(
    "OLMC272",
    "A CSV without minKubeVersion",
    "Set spec.minKubeVersion to the oldest Kubernetes that the operator is tested with.",
    "Without it OLM installs the operator on any cluster",
    "R-CAT-213",
)
BAD_MIN_KUBE_VERSION = _failure(
    "OLMC273",
    "minKubeVersion is not a version",
    "Write all three numbers, such as 1.25.0, without a leading v.",
    "OLM compares it with the version of the cluster",
    "R-CAT-213",
)
REQUIRED_FIELD = _failure(
    "OLMC274",
    "A required field of a CSV is missing",
    "Add the field.",
    "Without it OLM has no content to install, or no name for it",
    "R-CAT-214, R-CAT-216",
)
ANNOTATION_CASE = _failure(
    "OLMC275",
    "An annotation in the wrong case",
    "Spell the key as the message says.",
    "Keys of annotations are compared letter by letter, so OLM does not see this one",
    "R-CAT-215",
)
PROPERTIES_ANNOTATION = _warning(
    "OLMC276",
    "Properties in an annotation of the CSV",
    "Move them to metadata/properties.yaml.",
    "The annotation olm.properties is the old place for properties of a bundle",
    "R-CAT-215",
)
CRD = _failure(
    "OLMC277",
    "A CRD that Kubernetes refuses",
    "Correct the field that the message names.",
    "The API server checks a CRD when it is created, and the InstallPlan fails there",
    "R-CAT-225",
)
BUNDLE_CRDS = _failure(
    "OLMC278",
    "Owned CRDs and CRDs of the bundle don't match",
    "Make customresourcedefinitions.owned list exactly the CRDs of manifests/, by group, version and kind.",
    "Every CRD that the CSV owns must be in the bundle, and the other way round, each API once",
    "R-CAT-230",
)
SERVICE_ACCOUNT = _failure(
    "OLMC279",
    "A ServiceAccount that the CSV already makes",
    "Remove the ServiceAccount from manifests/, or rename one of the two.",
    "OLM creates the service accounts of a CSV's deployments itself, and the two would overwrite each other",
    "R-CAT-231",
)
TOO_LARGE = _failure(
    "OLMC280",
    "A bundle is too large",
    "Remove what the operator does not need: descriptions in CRDs, large icons, unused versions.",
    "OLM unpacks a bundle into one ConfigMap, which holds a megabyte",
    "R-CAT-232",
)
NEARLY_TOO_LARGE = _warning(
    "OLMC281",
    "A bundle is nearly too large, or its size unknown",
    "Shorten the descriptions in CRDs before the bundle grows over the limit.",
    "OLM unpacks a bundle into one ConfigMap, which holds a megabyte",
    "R-CAT-232",
)
RELEASE_NAME = _failure(
    "OLMC282",
    "The name of a CSV does not go with its release",
    "Name the CSV as the message says.",
    "A bundle with a release is named after package, version and release",
    "R-CAT-233",
)
RELATED_IMAGES = _failure(
    "OLMC283",
    "A related image that is not an image",
    "Write registry/repository:tag or registry/repository@sha256:…, without a scheme like https:// or oci://.",
    "spec.relatedImages lists the images that mirrors must copy",
    "R-CAT-234",
)
PACKAGE_MANIFEST = _failure(
    "OLMC284",
    "A package manifest is not in order",
    "Correct the package file: a packageName, channels with name and currentCSV, a defaultChannel among them.",
    "The package file of the old format names the head of each channel",
    "R-CAT-235",
)
OPERATORHUB = _failure(
    "OLMC285",
    "Not fit for OperatorHub.io",
    "Correct the field that the message names.",
    "OperatorHub.io shows provider, maintainers, links, version and icon of an operator. Asked for with "
    "--optional operatorhubv2",
    "R-CAT-240, R-CAT-241",
    FoundBy.OPTIONAL_VALIDATORS,
)
OPERATORHUB_ADVICE = _warning(
    "OLMC286",
    "Not quite fit for OperatorHub.io",
    "Add the field that the message names, or use the validator that has taken its place.",
    "OperatorHub.io shows the icon of an operator; the validator operatorhub is deprecated",
    "R-CAT-240, R-CAT-241",
    FoundBy.OPTIONAL_VALIDATORS,
)
CAPABILITIES = _failure(
    "OLMC287",
    "Not a capability level",
    "Write Basic Install, Seamless Upgrades, Full Lifecycle, Deep Insights or Auto Pilot.",
    "Catalogs show the annotation capabilities. Enabled with --optional standardcapabilities",
    "R-CAT-243",
    FoundBy.OPTIONAL_VALIDATORS,
)
CATEGORIES = _failure(
    "OLMC288",
    "Not a category",
    "Choose from the standard categories, or name a file with others in OPERATOR_BUNDLE_CATEGORIES.",
    "Catalogs sort operators by the annotation categories. Enabled with --optional standardcategories",
    "R-CAT-244",
    FoundBy.OPTIONAL_VALIDATORS,
)
COMMUNITY = _failure(
    "OLMC289",
    "Not fit for the community catalog",
    "Migrate the APIs that the message names to the versions that Kubernetes still has.",
    "A bundle with APIs that Kubernetes 1.22 removed must keep OpenShift 4.9 from installing it. Asked for with "
    "--optional community",
    "R-CAT-250",
    FoundBy.OPTIONAL_VALIDATORS,
)
COMMUNITY_ADVICE = _warning(
    "OLMC290",
    "Not quite fit for the community catalog",
    "Migrate the APIs that the message names, or name the bundle's Dockerfile with --optional-value index-path=FILE.",
    "A bundle with APIs that Kubernetes 1.22 removed must keep OpenShift 4.9 from installing it",
    "R-CAT-250",
    FoundBy.OPTIONAL_VALIDATORS,
)
REMOVED_APIS = _failure(
    "OLMC291",
    "APIs that the wanted Kubernetes does not have",
    "Migrate the objects to the version of the API that the deprecation guide names.",
    "The bundle requires a Kubernetes version, or is checked against one, that does not have the API. Enabled with "
    "--optional alpha-deprecated-apis",
    "R-CAT-255, R-CAT-256",
    FoundBy.OPTIONAL_VALIDATORS,
)
REMOVED_APIS_ADVICE = _warning(
    "OLMC292",
    "APIs that newer Kubernetes versions do not have",
    "Migrate the objects to the version of the API that the deprecation guide names.",
    "On a newer cluster the InstallPlan fails at these objects. Enabled with --optional alpha-deprecated-apis",
    "R-CAT-255, R-CAT-256",
    FoundBy.OPTIONAL_VALIDATORS,
)
NO_DEPLOYMENT = _failure(
    "OLMC293",
    "A CSV without a deployment",
    "Add a deployment to spec.install.spec.deployments.",
    "An operator is a Deployment. Enabled with --optional good-practices",
    "R-CAT-260",
    FoundBy.OPTIONAL_VALIDATORS,
)
GOOD_PRACTICES = _warning(
    "OLMC294",
    "Against good practice",
    "Follow the page that the message names.",
    "Operators are expected to request resources, to describe their CRDs and to name versions and channels by "
    "convention. Enabled with --optional good-practices",
    "R-CAT-260",
    FoundBy.OPTIONAL_VALIDATORS,
)
MULTIARCH = _failure(
    "OLMC295",
    "An image lacks an architecture that the CSV promises",
    "Build the image for all that the labels of the CSV promise, or remove the label.",
    "The labels operatorframework.io/arch.… and os.… of a CSV say where the operator runs. Asked for with "
    "--optional multiarch",
    "R-CAT-265",
    FoundBy.OPTIONAL_VALIDATORS,
)
MULTIARCH_ADVICE = _warning(
    "OLMC296",
    "Architectures that are not known or do not fit",
    "Give the platforms of the images with --optional-value platforms=FILE, a JSON mapping of images to lists like "
    '["linux/amd64"].',
    "olmc reads no registry, so it uses only the declared platforms of an image. Enabled with --optional multiarch",
    "R-CAT-265",
    FoundBy.OPTIONAL_VALIDATORS,
)
BUNDLE_OBJECT = _failure(
    "OLMC297",
    "An object that harms the cluster",
    "Correct the field that the message names.",
    "A budget that allows no disruption blocks the draining of nodes; a global default priority and changed default "
    "security constraints concern everybody else. Enabled with --optional bundle-objects",
    "R-CAT-270",
    FoundBy.OPTIONAL_VALIDATORS,
)
BUNDLE_OBJECT_ADVICE = _warning(
    "OLMC298",
    "An object that may harm the cluster",
    "Grant the permission only if the operator makes disruption budgets itself.",
    "A budget that allows no disruption blocks the draining of nodes. Enabled with --optional bundle-objects",
    "R-CAT-270",
    FoundBy.OPTIONAL_VALIDATORS,
)


_AUTHORS_ONLY = frozenset({RuleTag.FOR_AUTHORS})

TOO_OLD_OPENSHIFT = Rule(
    "OLMC430",
    Severity.WARNING,
    "A bundle for OpenShift releases that are too old for it",
    "{csv} is offered on OpenShift {releases}, whose Kubernetes is older than its minKubeVersion {least}",
    "Let com.redhat.openshift.versions begin at {first}, or lower spec.minKubeVersion.",
    "The annotation com.redhat.openshift.versions in metadata/annotations.yaml says into which catalogs of OpenShift a "
    "bundle is put. Where Kubernetes is older than minKubeVersion it can be chosen, and stays Pending. The pipeline of "
    "the community operators refuses such a bundle (check_api_version_constraints).",
    tags=_AUTHORS_ONLY,
)
REPLACED_IS_MISSING = Rule(
    "OLMC431",
    Severity.WARNING,
    "A bundle in catalogs without the one that it replaces",
    "{csv} is offered on OpenShift {releases}, and {replaced}, which it replaces, is not",
    "Give both the same com.redhat.openshift.versions, or narrow that of {csv}.",
    "In a catalog that has a bundle, and not the one that it replaces, the edge between them leads nowhere: who has "
    "the older one gets no upgrade. The pipeline of the community operators refuses it (check_replaces_availability).",
    tags=_AUTHORS_ONLY,
)
OTHER_NAME = Rule(
    "OLMC432",
    Severity.WARNING,
    "A CSV that is not called after its package",
    "{csv} does not begin with the name of its package, {package}",
    "Call the CSV {package}.v{version}, or correct the package in metadata/annotations.yaml.",
    "OLM takes any name. People and pipelines take what stands before the version for the package, and the one of the "
    "community operators refuses a new operator whose names differ (check_operator_name).",
    tags=_AUTHORS_ONLY,
)
PRUNED = Rule(
    "OLMC433",
    Severity.WARNING,
    "A skipRange without replaces prunes the graph",
    "{csv} has an olm.skipRange but no replaces, so channel {channel} loses {others}",
    "Set spec.replaces to the version before, beside the skipRange.",
    "A channel consists of its head and of the versions that it replaces, one after the other. A head that only skips "
    "a range cuts all others off: upgrades from the range still lead to it, but users can't install or pin an older "
    "version any more (check_pruned_graph).",
    tags=_AUTHORS_ONLY,
)
SERVED_DIFFER = Rule(
    "OLMC434",
    Severity.WARNING,
    "Served versions of a CRD that lose fields to each other",
    "{crd} serves {served} and stores {stored} without conversion, and {stored} lacks {fields}",
    "Add the fields to {stored}, or a conversion webhook, or serve {served} no longer.",
    "Without a webhook Kubernetes only rewrites apiVersion when an object changes its version. It silently drops "
    "fields that the schema of the stored version lacks when it writes an object.",
    tags=_AUTHORS_ONLY,
)
FLOATING_IMAGE = Rule(
    "OLMC435",
    Severity.WARNING,
    "An image that changes under its name",
    "{csv}: container {container} runs {image}, which is another image whenever somebody pushes one",
    "Name the image by its digest, or at least by the tag of a release.",
    "With :latest, or without any tag, the content of a version of the operator depends on the day and on the node, "
    "so you can't review it, mirror it, or go back to it.",
    tags=_AUTHORS_ONLY,
)
TOKEN_SECRET = Rule(
    "OLMC436",
    Severity.WARNING,
    "A bundle with a Secret for a token",
    "Secret {name} gets a token of ServiceAccount {account} that never expires",
    "Remove it: pods get tokens of their own that expire; others ask for one with TokenRequest.",
    "Kubernetes writes a token without expiry into a Secret of type kubernetes.io/service-account-token. Every reader "
    "of the Secret has the permissions of the account until you delete it.",
)
NO_REPLICAS = Rule(
    "OLMC437",
    Severity.WARNING,
    "A Deployment of an operator without pods",
    "{csv}: Deployment {deployment} has replicas: 0, so it has no pods",
    "Remove replicas, or set it to 1 or more; OLM sets it back whenever somebody scales by hand.",
    "For OLM a CSV is Succeeded if its Deployments have the requested number of pods, also if that is zero. The "
    "operator looks healthy, but does not run.",
    tags=_AUTHORS_ONLY,
)
