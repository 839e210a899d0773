"""Rules about files, manifests and bundles: mistakes that olmc finds while it reads a workspace or a cluster's
state, and files that belong to other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from olmc.k8s.diagnostics import IN_STATUS, Diagnostic, FoundBy, Missing, Rule, RuleTag, Severity

NO_SUCH_PATH = Rule(
    "OLMC120",
    Severity.ERROR,
    "The path is no directory that can be read",
    "{path} {problem}",
    "Give the directory of a workspace, or of a bundle (with manifests/ and metadata/ in it).",
    "olmc compiles directories: a workspace with bundles, catalogs and manifests, or one bundle.",
)
UNREADABLE = Rule(
    "OLMC121",
    Severity.ERROR,
    "A file or a folder can't be read",
    "{path} can't be read: {cause}",
    "Make it readable, or leave it out with .olmcignore.",
    "Every file of the workspace is part of the input; leaving one out silently would change what is compiled.",
)
NOT_UTF8 = Rule(
    "OLMC122",
    Severity.ERROR,
    "A file is not UTF-8",
    "{path} is not UTF-8 text (byte {offset})",
    "Save the file as UTF-8, or leave it out with .olmcignore.",
    "Kubernetes reads YAML and JSON as UTF-8.",
)
OUTSIDE = Rule(
    "OLMC123",
    Severity.WARNING,
    "A link that is not followed",
    "{path} is a symbolic link {where} and is not followed",
    "{hint}",
    "A workspace may hold untrusted files; following links out of it would let them read anything on the machine. A "
    "broken link is without content.",
)


NOT_AN_OBJECT = Rule(
    "OLMC125",
    Severity.INFO,
    "A document is no Kubernetes object",
    "{path} holds a document without {lack}, which is left out",
    "Leave the file out with .olmcignore if it is not meant for the cluster.",
    "Workspaces often hold other YAML files (values, configuration of tools); only objects with a kind are compiled.",
)
NO_NAME = Rule(
    "OLMC126",
    Severity.ERROR,
    "An object without a name",
    "this {kind} {problem}",
    "{hint}",
    "Every object needs a name for the output to be the same each time.",
)
TWICE = Rule(
    "OLMC127",
    Severity.WARNING,
    "The same object twice",
    "{identity} is defined more than once; the last definition wins",
    "Keep one of the two.",
    "Of two manifests for one object a cluster keeps what was applied last, which is rarely what was meant.",
    tags=frozenset({RuleTag.OF_WORKSPACE}),
)
IN_FOLDERS = Rule(
    "OLMC128",
    Severity.WARNING,
    "Objects that several folders define",
    "{count} objects are defined by more than one folder; where a cluster gets all of these folders, the last "
    "definition wins",
    "Compile the folders of one cluster (olmc check FOLDER), and leave the others out with .olmcignore.",
    "Folders that define the same objects are often variants, of which a cluster gets one. Compiled together, they are "
    "a cluster that does not exist.",
    tags=frozenset({RuleTag.OF_WORKSPACE}),
)
REFUSED = Rule(
    "OLMC129",
    Severity.FAILURE,
    "The API server would refuse this object",
    "{kind} {name} would be refused: {where}: {problem}",
    "Correct the field; until then the API server refuses the object.",
    "An object that the API server refuses is missing in the cluster, and olmc compiles the state without it.",
)
NO_BUNDLE_OBJECTS = Rule(
    "OLMC130",
    Severity.ERROR,
    "A bundle without objects",
    "no bundle objects found in {path}",
    "Put the CSV and the CRDs into manifests/.",
    "A registry+v1 bundle holds its objects as files directly in manifests/ (R-CAT-101).",
)
NO_CSV = Rule(
    "OLMC131",
    Severity.ERROR,
    "A bundle without a CSV",
    "no csv in bundle: {path} holds no ClusterServiceVersion",
    "{hint}",
    "The CSV names the bundle and says how to install it (R-CAT-101).",
    cause=Missing.CSV,
)
NO_ANNOTATIONS = Rule(
    "OLMC132",
    Severity.ERROR,
    "A bundle without annotations",
    "Could not find annotations file in {path}",
    "{hint}",
    "The annotations say which package and channels a bundle belongs to (R-CAT-102, R-CAT-103).",
    cause=Missing.ANNOTATIONS,
)
SEVERAL_DOCUMENTS = Rule(
    "OLMC133",
    Severity.WARNING,
    "More than one document in a bundle file",
    "found more than one document inside {path}, using only the first one{which}",
    "{hint}",
    "OLM reads only the first document of a bundle's file; the others are silently not installed (R-CAT-101). It "
    "splits at lines of ---, so comments or blank lines before the first one are a document of their own, and so is "
    "the text between two of them. Write one object per file, with at most a single line of --- before it.",
)
NOT_DECODED = Rule(
    "OLMC134",
    Severity.WARNING,
    "A bundle file that holds no object",
    "failed to decode {path}: {cause}",
    "{hint}",
    "Files that can't be read or have no kind are skipped when a bundle is loaded (R-CAT-101).",
)
MISSING_CRD = Rule(
    "OLMC135",
    Severity.WARNING,
    "An owned CRD is not in the bundle",
    "error checking provided apis in bundle {bundle}: couldn't find {api} in bundle. found: {found}",
    "Add the CRD to manifests/, or remove it from customresourcedefinitions.owned.",
    "Catalog tools refuse a bundle whose CSV owns a CRD that it does not ship (R-CAT-101).",
)
NO_DOT = Rule(
    "OLMC136",
    Severity.WARNING,
    "A CRD name without a dot",
    "error checking provided apis in bundle {bundle}: couldn't parse plural.group from crd name: {name}",
    "Write the full name of the CRD: plural.group.",
    "A CSV that names a CRD without its group is unusable: OLM leaves it untouched (R-OG-12).",
)
SAME_BUNDLE = Rule(
    "OLMC137",
    Severity.WARNING,
    "The same bundle twice",
    "bundle {name} is in the workspace twice; this one is used",
    "Remove one of the two directories.",
    "Bundles are found by the name of their CSV, which should be unique.",
)
BAD_CONFIG = Rule(
    "OLMC138",
    Severity.ERROR,
    "olmc.yaml is not valid",
    "olmc.yaml: {where}: {problem}",
    "Correct the field, or remove it.",
    "olmc would silently ignore a misspelled option, so it rejects unknown ones.",
)
BAD_APIS = Rule(
    "OLMC157",
    Severity.ERROR,
    "A list of APIs that can't be read",
    "what the cluster serves can't be read: {problem}",
    "{hint}",
    "`--apis-from` and `apisFrom` take what kubectl says of the APIs of a cluster: its table of api-resources, or "
    "discovery documents. A kind that got lost on the way would make operators fail that work in the cluster.",
)
CONFIG_NAME = Rule(
    "OLMC154",
    Severity.WARNING,
    "A configuration that is not read",
    "olmc.yml is not read: the configuration of a workspace is called olmc.yaml",
    "Rename it to olmc.yaml.",
    "The configuration has only one file name, so it is clear which file counts.",
)
NO_BUNDLE_CONTENT = Rule(
    "OLMC139",
    Severity.FAILURE,
    "The content of a bundle is not in the workspace",
    "bundle content for {bundle} ({image}) is not available offline",
    "Run `olmc vendor`, or unpack the bundle's image into the workspace (any folder with manifests/ and metadata/).",
    "A catalog names bundles by image; only `olmc vendor` reads a registry, so their manifests must lie in the "
    "workspace (R-CAT-164).",
    tags=IN_STATUS,
)
OTHER_CSV_NAME = Rule(
    "OLMC160",
    Severity.FAILURE,
    "A bundle whose CSV has another name than the catalog lists",
    "the catalog lists this bundle as {bundle}, and its CSV is called {csv}",
    "Rename the CSV to {bundle}, or list {csv} in the catalog.",
    "OLM installs the CSV. The Subscription then waits forever for one with the listed name, and never upgrades "
    "(R-CAT-614).",
    tags=IN_STATUS,
)
NOTHING_TO_DELETE = Rule(
    "OLMC161",
    Severity.ERROR,
    "A deletion of an object that the cluster does not have",
    "delete: the cluster has no object {target}",
    "{hint}",
    "With --from, you name the objects that a person deletes by hand. With an unknown name the plan would "
    "be wrong. In olmc.yaml it is a warning: the object may be deleted by now.",
)
IMPLIED_NAMESPACE = Rule(
    "OLMC140",
    Severity.INFO,
    "A namespace without a manifest",
    "namespace {name} is used but no manifest creates it; olmc takes it as existing",
    "Add a Namespace, or list it under spec.namespaces of olmc.yaml.",
    "Objects can only be created in namespaces that exist.",
)
SNIPPED = Rule(
    "OLMC141",
    Severity.WARNING,
    "A label selector with unknown keys",
    "{kind} {name}: spec.selector has keys that are not part of a label selector ({keys}); the API server drops them"
    "{effect}",
    "Write the labels below matchLabels.",
    "A selector has only matchLabels and matchExpressions; the API server prunes other keys, and an empty selector "
    "selects every namespace (R-OG-2).",
)
CONFLICTING_KINDS = Rule(
    "OLMC142",
    Severity.WARNING,
    "Kind of another group taken for a core kind",
    "OLM looks only at the kind: this {kind} {which} is installed as one of {core}",
    "{hint}",
    "The catalog operator decides by kind alone, so a custom resource of kind Secret or Service becomes (or fails as) "
    "the core object of that kind; and so does an object with an old apiVersion, or without one. Move sample objects "
    "out of manifests/, and give the others the apiVersion that they get.",
)
MISSING_TARGET = Rule(
    "OLMC143",
    Severity.WARNING,
    "A target namespace that does not exist",
    "OperatorGroup {group} targets namespace {name}, which the workspace does not have",
    "Add a Namespace, or list it under spec.namespaces of olmc.yaml if it exists in the cluster.",
    "OLM does not copy into a namespace that does not exist (R-COPY-3, R-TEN-1).",
)
BAD_IGNORE = Rule(
    "OLMC144",
    Severity.ERROR,
    "A pattern of .olmcignore can't be used",
    ".olmcignore: {cause}",
    "Write patterns as in .gitignore.",
    "An unreadable pattern would include the files that it was meant to exclude.",
)
NO_API_VERSION = Rule(
    "OLMC145",
    Severity.FAILURE,
    "An object without apiVersion",
    "this document has kind {kind} but no apiVersion, so the API server would refuse it",
    "{hint}",
    "Every object needs both; the API server rejects an object without apiVersion, and olmc compiles the state "
    "without it. Keys are matched with their case: apiversion is not apiVersion.",
)
MISSPELT_KIND = Rule(
    "OLMC152",
    Severity.WARNING,
    "An unknown kind in olmc.yaml",
    "{name} in olmc.yaml: {kind} is an unknown kind",
    "{hint}",
    "An unknown kind neither includes nor excludes any object. Use the names of kinds that kubectl accepts: "
    "Subscription, subscriptions, sub. On the command line an unknown one is wrong usage.",
)
NO_SUCH_PLAN = Rule(
    "OLMC153",
    Severity.WARNING,
    "An approval in olmc.yaml without a plan",
    "approve in olmc.yaml: there is no InstallPlan {plan}",
    "{hint}",
    "Only plans of Manual Subscriptions wait for an approval. An approval without a matching plan is ignored. It may "
    "be mistyped, or another version may be installed by now.",
)
STAR_TARGET = Rule(
    "OLMC155",
    Severity.WARNING,
    "A target namespace called *",
    "OperatorGroup {group} targets a namespace called *, which there can't be: OLM does not take it for all namespaces",
    "Leave out targetNamespaces and selector, and the group targets all namespaces.",
    "In OLM's documents * means all namespaces. For OLM it is a name like any other, so the operators of the group "
    "are set up to watch a namespace that does not exist.",
)
GENERATED_NAME = Rule(
    "OLMC156",
    Severity.WARNING,
    "An object with a generated name",
    "the API server makes a name for {kind} {prefix}… whenever it is created; olmc calls it {name}",
    "Give it a name: with generateName, kubectl apply refuses it, and each creation makes another one.",
    "Of generateName the API server makes a name with five characters by chance. olmc takes five that follow from the "
    "object, so that the same input gives the same output.",
    tags=frozenset({RuleTag.OF_WORKSPACE}),
)


NO_KIND = Rule(
    "OLMC146",
    Severity.FAILURE,
    "An object without kind",
    "this document has apiVersion {api} but no kind, so the API server would refuse it",
    "{hint}",
    "Every object needs both; the API server rejects an object without kind, and olmc compiles the state without it. "
    "Keys are matched with their case: Kind is not kind.",
)
LIST_OF_OBJECTS = Rule(
    "OLMC147",
    Severity.FAILURE,
    "A list in place of documents",
    "this document is a list of objects ({objects}), which a cluster rejects: olmc does not compile it",
    "Write each object as a document of its own, with --- between them, or all as the items of a List of apiVersion "
    "v1.",
    "A file for a cluster holds documents, and each of them is one object. kubectl, Argo CD and Flux refuse a bare "
    "list.",
)
NO_SUCH_KIND = Rule(
    "OLMC148",
    Severity.FAILURE,
    "A kind that OLM does not have",
    "{owner} has no kind {kind}, so the API server would refuse {name}, and OLM never sees it",
    "{hint}",
    "The kinds of operators.coreos.com are OLM's, and older versions of OLM have fewer. Case counts: Catalogsource is "
    "not CatalogSource. The API server rejects an object of an undefined kind.",
)
STRANGE_KIND = Rule(
    "OLMC149",
    Severity.WARNING,
    "A kind or group that is probably misspelt",
    "{api} {kind} is no kind of Kubernetes, of OLM or of a CRD of the workspace, so the API server would refuse {name}",
    "Did you mean {meant}? If your cluster has the kind all the same, add its CRD, or list {api}/{kind} under "
    "spec.apis of olmc.yaml.",
    "olmc takes an object of a kind that it does not know for a custom resource and does not look into it. This one is "
    "named so much like a kind that it does know that it hardly is one.",
)
DROPPED_FIELD = Rule(
    "OLMC150",
    Severity.WARNING,
    "A field that is dropped",
    "{kind} {name} has a field {where} that {owner} {why}{effect}",
    "{hint}",
    "The API server keeps the fields that the CRDs of OLM list and prunes all others: the object is stored as if they "
    "had never been written. kubectl refuses unknown fields unless configured otherwise, but tools that apply on the "
    "server's own terms see a warning at most. A group without targetNamespaces, for one, selects all namespaces "
    "(R-OG-1, R-OG-2, R-OG-3).",
)
NOT_MANUAL = Rule(
    "OLMC151",
    Severity.WARNING,
    "An installPlanApproval that is neither Automatic nor Manual",
    "Subscription {name}: OLM treats the installPlanApproval {text!r} as Automatic, since only Manual counts, so "
    "upgrades don't wait for approval",
    "Write {meant}.",
    "The API server stores any text. An InstallPlan waits for approval if a Subscription of its namespace says exactly "
    "Manual, with its case, and is carried out at once otherwise (R-CAT-602).",
)


IGNORED_NAMESPACE = Rule(
    "OLMC170",
    Severity.WARNING,
    "A namespace that does not count",
    "{objects} names namespace {namespaces}, which the API server clears: its kind is cluster-scoped",
    "Remove metadata.namespace; if a kustomization writes it by `namespace:`, move the object to one without that. If "
    "it is to count in one namespace, choose a kind that has namespaces, such as Role or RoleBinding.",
    "The kind decides whether an object has a namespace. The API server silently removes the namespace of a "
    "cluster-scoped object: a ClusterRoleBinding with a namespace grants its role in the whole cluster. olmc does the "
    "same.",
)
UNPLACED = Rule(
    "OLMC171",
    Severity.WARNING,
    "A namespaced object without a namespace",
    "{kind} {name} names no namespace, so it ends up wherever it is applied to",
    "Add metadata.namespace, or compile what `kustomize build` prints if a kustomization.yaml sets it.",
    "kubectl puts such an object into the namespace of its context, Argo CD into that of the Application, kustomize "
    "into the one of the kustomization. olmc can't know them and leaves the object as it is; it shows the permissions "
    "of the object in namespace default.",
    tags=frozenset({RuleTag.OF_REPOSITORY, RuleTag.OF_WORKSPACE}),
)


OBJECT_WITH_SCHEMA = Rule(
    "OLMC172",
    Severity.WARNING,
    "An object with a schema of catalogs",
    "this {kind} has a key schema, as documents of catalogs have; it is an object all the same",
    "Remove schema, or if it is meant for a catalog, apiVersion, kind and metadata.",
    "A document of a file-based catalog has a schema that begins with `olm.`, an object has apiVersion, kind and "
    "metadata. If a document has all of them, a tool applies it as an object, so olmc treats it as an object.",
)
UNINSTALLED_HINT = (
    "Keep it if a catalog is to have the bundle, and name the folder in .olmcignore. If a Subscription asks for it, "
    "see why that is not resolved."
)
LEFT_OUT = Rule(
    "OLMC173",
    Severity.WARNING,
    "Objects that are left out",
    "left out, and applied by kubectl apply -R, Argo CD or Flux: {what}; {reason}",
    "Move it to where objects are compiled, delete it, or name the file in .olmcignore if no cluster is to get it.",
    "olmc compiles the objects in YAML and JSON files, but not those in hidden folders, next to the manifests of a "
    "bundle, after the first object of a bundle's file, or in catalogs. olmc reports such objects if a tool "
    "applies the folder with its subfolders: a folder of plain manifests, or the folder of an Application with "
    "`directory.recurse` or of a Flux Kustomization without a kustomization.yaml. The permissions and changes that "
    "olmc reports are incomplete then.",
)
LEFT_OUT_BY_CHOICE = Rule(
    "OLMC174",
    Severity.INFO,
    "Objects that are left out as somebody wanted",
    "left out: {what}; {reason}",
    "No action is needed if the tool that applies the folder leaves them out as well.",
    "Patterns in .olmcignore and under ignore in olmc.yaml name files that olmc does not read; nor does it read its "
    "own output. All commands that review a workspace count the objects in them. Current output of olmc does not "
    "count.",
)
INSTALLED_IS_READ_ONLY = Rule(
    "OLMC650",
    Severity.ERROR,
    "Installed resources can't be given",
    "Installed resources are read-only: the server does not allow this method on the requested resource",
    "Remove the object from the workspace; olmc get installed makes it from CSVs and Subscriptions.",
    "An Installed resource shows OLM's result for other objects, so you can't create one: the API server rejects "
    "`kubectl create` as well.",
    found_by=FoundBy.OTHERS,
)


UNUSED = Rule(
    "OLMC440",
    Severity.WARNING,
    "A suppression without a finding",
    "this place has no finding {code}",
    "Remove the suppression, or move it: a comment counts for its own line, or for the next line that is not a "
    "comment.",
    "A suppression that no longer suppresses anything would hide the next finding of its kind that appears there.",
    found_by=FoundBy.OTHERS,
)
NO_REASON = Rule(
    "OLMC441",
    Severity.WARNING,
    "A suppression without a reason",
    "{code} is suppressed without a reason",
    "Write it behind the bracket: # olmc: ignore[{code}] why this is as it should be.",
    "The next reader of the file needs to know why the finding is accepted.",
    found_by=FoundBy.OTHERS,
)
MEANINGLESS = Rule(
    "OLMC442",
    Severity.WARNING,
    "A suppression without a code",
    "this suppresses no finding: {cause}",
    "Write # olmc: ignore[CODE] reason; several codes are separated by commas.",
    "A suppression names the codes that it accepts, so that everything else is still reported.",
    found_by=FoundBy.OTHERS,
)


NO_STATE = Rule(
    "OLMC158",
    Severity.ERROR,
    "The state of a cluster that can't be read",
    "the state of the cluster can't be read: {problem}",
    "{hint}",
    "olmc reads output of kubectl with `-o yaml` or `-o json`, must-gather folders and archives, and files of `olmc "
    "import`. If olmc skipped an unreadable object, it would treat the object as missing in the cluster, and every "
    "answer would be wrong.",
    FoundBy.OTHERS,
)
INCOMPLETE = Rule(
    "OLMC159",
    Severity.WARNING,
    "A dump of a cluster without kinds that every cluster has",
    "the dump has no {kinds}, which every cluster with OLM has: answers that depend on them would be wrong",
    "{hint}",
    "Results depend on more than the objects of OLM: an operator waits for a CRD that the dump lacks, and a selector "
    "does not match a namespace without labels. `olmc import --print-command` prints the commands that read "
    "everything.",
    FoundBy.OTHERS,
)


FOREIGN = Rule(
    "OLMC180",
    Severity.INFO,
    "A file of another tool",
    "{path} is left aside: it shows no apiVersion and kind of Kubernetes, and no cluster could read it ({cause})",
    "If another tool reads the file, no action is needed. If it is meant for the cluster, fix it and add both.",
    "Repositories hold YAML and JSON of many tools: templates of CloudFormation, variables of Ansible, settings with "
    "comments. olmc ignores a file that is not valid YAML for Kubernetes if its text mentions neither Kubernetes nor "
    "OLM. With an apiVersion and a kind, or a schema of OLM, in its text it is an error with its place, and so is "
    "everything that can't be read in a bundle or a catalog.",
    tags=frozenset({RuleTag.FOREIGN_FILE}),
)
CHART_OF_OPERATORS = Rule(
    "OLMC181",
    Severity.WARNING,
    "A Helm chart with objects of OLM that is not rendered",
    "not rendered: {count} in {path}; what would be asked of OLM by them is unknown ({kinds})",
    "See what it becomes with its values: `olmc check {chart}`; with others: `helm template {chart} | olmc check -`.",
    "The templates of a Helm chart are text with instructions for Helm; only with values do they become objects. "
    "These mention kinds of OLM, so they may contain operators that olmc can't see.",
)
CHART = Rule(
    "OLMC182",
    Severity.INFO,
    "A Helm chart that is not rendered",
    "not rendered: {count} in {path}; what would be applied by them is unknown",
    "Render the chart with its values, and compile the outcome, if it is to count: `helm template {chart}`.",
    "The templates of a Helm chart are text with instructions for Helm; only with values do they become objects. In "
    "these no kind of OLM is named.",
    tags=frozenset({RuleTag.UNRENDERED_CHART}),
)
EMPTY = Rule(
    "OLMC183",
    Severity.WARNING,
    "An empty workspace",
    "{path} has nothing for OLM: no manifest, no bundle and no catalog",
    "Give the directory that contains them; `olmc check -v` lists the files that olmc ignores.",
    "All commands answer for an empty cluster, exit with 0 and print this note. A misspelled path, or a folder that a "
    "pattern excludes, looks the same, so `olmc check --strict` exits with 1. Without --allow-empty, `olmc render` "
    "writes neither a folder nor an output for apply from it: a pruning pipeline would delete everything.",
)

PROJECT = Rule(
    "OLMC648",
    Severity.INFO,
    "A project of operator-sdk",
    "this is a project of operator-sdk: its bundle in {path} is compiled, and no other file",
    "No action is needed; `make bundle` updates the bundle from config/. To compile something else of the project, "
    "give its folder.",
    "OLM installs the bundle of an operator. The kustomizations in config/ are the source of the bundle, and only "
    "developers apply them.",
)
NO_BUNDLE = Rule(
    "OLMC649",
    Severity.ERROR,
    "A project of operator-sdk without its bundle",
    "this is a project of operator-sdk, and its bundle is not there",
    "Run `make bundle`, which generates bundle/ from config/. Commit it, or give its folder if a .gitignore names it: "
    "olmc check bundle.",
    "What OLM gets of an operator is its bundle. The CSV in config/manifests/bases is only what that is generated "
    "from: it has no Deployment, no permissions and no version yet.",
)

UNKNOWN_GRAPH = Rule(
    "OLMC647",
    Severity.WARNING,
    "An unknown kind of update graph",
    "updateGraph says {value!r}, which no pipeline knows; the graph is made as without it",
    "{hint}",
    "In a repository of bundles, the ci.yaml of an operator sets the kind of its update graph: by the replaces and "
    "skips of each version, or by their order, with or without skipping older patches (R-CAT-144).",
)

_COUNTED = {
    RuleTag.FOREIGN_FILE: ("file of another tool that can't be read", "files of other tools that can't be read"),
    RuleTag.UNRENDERED_CHART: ("Helm chart that is not rendered", "Helm charts that are not rendered"),
}


def aside(remarks: Iterable[Diagnostic]) -> str:
    """Return how much is left aside, by the kind of reason: `2 files of …, 1 Helm chart that …`; "" for nothing."""
    numbers = Counter(tag for diagnostic in remarks for tag in diagnostic.tags)
    counts = ((numbers[tag], names) for tag, names in _COUNTED.items())
    return ", ".join(f"{number} {names[number != 1]}" for number, names in counts if number)
