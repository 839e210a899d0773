"""Rules about OLM v1: bundles that it installs by themselves, ClusterExtensions and ClusterCatalogs."""

from __future__ import annotations

from olmc.k8s.diagnostics import IN_STATUS, FoundBy, Rule, RuleTag, Severity

BUNDLE_NOT_READ = Rule(
    "OLMC720",
    Severity.ERROR,
    "A bundle that OLM v1 can't read",
    "operator-controller can't read the bundle: {text}",
    "Fix the file. OLM v0 may read the bundle all the same, as its reader passes over what it can't decode.",
    "operator-controller reads every file below manifests/, with any ending, and a file that is not an object ends "
    "the installation (R-V1-LOAD-1 … 5). The message is that of the ClusterExtension.",
    found_by=FoundBy.OTHERS,
)
BUNDLE_NOT_INSTALLED = Rule(
    "OLMC721",
    Severity.FAILURE,
    "A bundle that OLM v1 does not install",
    "operator-controller does not install {bundle}: {text}",
    "{hint}",
    "Before operator-controller creates anything it looks at what the bundle has, at its configuration and at the "
    "namespaces to watch. The message is the one in the condition Progressing of the ClusterExtension.",
    found_by=FoundBy.OTHERS,
)
NOT_CREATED = Rule(
    "OLMC722",
    Severity.FAILURE,
    "Rendered by OLM v1, and refused by the API server",
    "{object} is rendered but can't be created: {text}",
    "{hint}",
    "operator-controller renders it without a complaint, and the installation fails when the API server gets to see "
    "it, again and again. What OLM v0 fills in, such as the port of a webhook, stays as it is (R-V1-LIM-4).",
    found_by=FoundBy.OTHERS,
)
RENDERED_TWICE = Rule(
    "OLMC723",
    Severity.FAILURE,
    "An object that OLM v1 renders twice",
    "{object} is rendered twice{difference}",
    "Leave it out of the bundle: operator-controller makes ServiceAccounts, roles and Services of webhooks by itself.",
    "A bundle may bring an object that operator-controller makes as well. A ClusterObjectSet with two objects of one "
    "name is rejected as a whole; Helm patches the first object to the second (R-V1-LIM-3).",
    found_by=FoundBy.OTHERS,
)
ASKS_CONDITION = Rule(
    "OLMC724",
    Severity.WARNING,
    "An operator that uses its OperatorCondition",
    "a container of Deployment {deployment} uses OPERATOR_CONDITION_NAME, which OLM v1 does not set",
    "Have the operator start without the variable.",
    "OLM v1 has no OperatorConditions, and so no variable that names one. An operator that insists on it fails when it "
    "starts (R-V1-LIM-4).",
    found_by=FoundBy.OTHERS,
)
SURVIVES_EXTENSION = Rule(
    "OLMC725",
    Severity.WARNING,
    "An object that survives its ClusterExtension",
    "{object} has the annotation helm.sh/resource-policy: keep, so it stays when the ClusterExtension is deleted",
    "Remove the annotation unless that is meant.",
    "operator-controller installs by way of Helm, which respects the annotation: the object gets no owner, and no "
    "controller deletes it (R-V1-HELM-2).",
    found_by=FoundBy.OTHERS,
)
NO_STATE = Rule(
    "OLMC726",
    Severity.ERROR,
    "No state of a bundle that OLM v1 renders",
    "{path} is a bundle by itself, of which OLM v1 gives objects and no state to look at",
    "Print them with olmc render {path} --olm-version {version}, or give a workspace.",
    "A bundle by itself is rendered as a ClusterExtension would have it. There is no ClusterExtension whose conditions "
    "could be shown, nor a CSV with a phase.",
    found_by=FoundBy.OTHERS,
)
REFUSED = Rule(
    "OLMC730",
    Severity.FAILURE,
    "An object of OLM v1 that the API server refuses",
    "the API server refuses {kind} {name}: {problem}",
    "Correct {field}; until then there is no such object.",
    "The kinds of OLM v1 have strict schemas with rules of their own, and the API server rejects an object that "
    "breaks one (R-V1-CE-1, R-V1-CC-1).",
    tags=IN_STATUS,
)
FIELD_DROPPED = Rule(
    "OLMC731",
    Severity.WARNING,
    "A field that the standard CRD does not have",
    "spec.{field} of {kind} {name} is dropped: the standard CRD of OLM v1 does not have it",
    "Remove it, or compile for a cluster with the experimental CRDs: --olm-version v1-experimental.",
    "The API server drops fields without a word that the CRD does not name, and some are only in the experimental CRDs "
    "of OLM v1 (R-V1-CE-1).",
)
NOT_RESOLVED = Rule(
    "OLMC732",
    Severity.FAILURE,
    "A ClusterExtension that can't be resolved",
    "ClusterExtension {name} can't be resolved: {problem}",
    "{hint}",
    "The message is the one in the condition Progressing of the ClusterExtension. The controller tries again whenever "
    "a catalog changes; what is installed stays as it is (R-V1-RES-14, R-V1-CND-1).",
    tags=IN_STATUS,
)
NOT_INSTALLED = Rule(
    "OLMC733",
    Severity.FAILURE,
    "A ClusterExtension whose bundle can't be installed",
    "ClusterExtension {name}: {problem}",
    "{hint}",
    "The message is the one in the condition Progressing of the ClusterExtension: the bundle was chosen, and then the "
    "controller could not render it, or a check before the installation found something (R-V1-CND-1).",
    tags=IN_STATUS,
)
NO_ACCOUNT = Rule(
    "OLMC734",
    Severity.FAILURE,
    "A ClusterExtension without its ServiceAccount",
    'ClusterExtension {name} can\'t install: service account "{account}" not found in namespace "{namespace}"',
    "Add the ServiceAccount and its namespace; olmc rbac --installers prints the roles that it needs.",
    "Before v1.11 OLM v1 installs everything with a token of this account, and creates neither the account nor its "
    "namespace nor its rights. The controller looks for the account before it does anything else (R-V1-SA-1).",
    tags=IN_STATUS,
)
LACKS_RIGHTS = Rule(
    "OLMC735",
    Severity.WARNING,
    "An installer without the rights that it needs",
    "service account {account} of ClusterExtension {name} lacks rights: {rules}",
    "Apply the roles that olmc rbac --installers prints; olmc why ClusterExtension/{name} lists what is missing.",
    "Before v1.11 everything is created, changed and deleted with the rights of this account. The rights for this "
    "installation exist, but a later upgrade or removal needs more (R-V1-PERM-1).",
)
NO_CONTENT = Rule(
    "OLMC736",
    Severity.WARNING,
    "The content of a ClusterCatalog is not in the workspace",
    "the content of {catalog} is not in the workspace: {image}",
    "Put its file-based catalog into catalogs/{name}/, or leave the catalog out by a selector.",
    "A ClusterExtension chooses among all catalogs that its selector names, so without the content of one the result "
    "is unknown (R-V1-RES-1, R-V1-RES-2).",
    tags=frozenset({RuleTag.OUTCOME_UNKNOWN}),
)
NO_BUNDLE = Rule(
    "OLMC737",
    Severity.FAILURE,
    "The bundle of a ClusterExtension is not in the workspace",
    "bundle {bundle}, which ClusterExtension {name} resolves to, is not in the workspace: {image}",
    "Put the bundle into bundles/, or run olmc vendor.",
    "A catalog names the images of bundles; what an installation brings is inside of them (R-V1-PIPE).",
    tags=IN_STATUS,
)
DEPRECATED = Rule(
    "OLMC738",
    Severity.WARNING,
    "A ClusterExtension of something that is deprecated",
    "ClusterExtension {name}: {problem}",
    "Move to a version, a channel or a package that is maintained.",
    "The catalog deprecates the package, the channel or the bundle, and the ClusterExtension has a condition for it "
    "(R-V1-CND-2).",
)
WALKS = Rule(
    "OLMC739",
    Severity.INFO,
    "A ClusterExtension that walks over several versions",
    "ClusterExtension {name} installs one version after the other: {way}",
    "Pin a version in spec.source.catalog.version to stop on the way; {version} is the last one.",
    "The controller resolves again after every change, and walks one edge of the update graph at a time, until no "
    "edge leads on. The output is the state at the end (R-V1-RES-15).",
)
