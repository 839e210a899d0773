"""Rules about ClusterExtensions and ClusterCatalogs: what the API refuses, what can't be resolved or installed."""

from __future__ import annotations

from olmc.k8s.diagnostics import IN_STATUS, Rule, Severity

REFUSED = Rule(
    "OLMC730",
    Severity.FAILURE,
    "An object of OLM v1 that the API server refuses",
    "the API server refuses {kind} {name}: {problem}",
    "Correct {field}; until then there is no such object.",
    "The kinds of OLM v1 have strict schemas with rules of their own, and what breaks one is not stored at all "
    "(R-V1-CE-1, R-V1-CC-1).",
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
    'ClusterExtension {name} installs nothing: service account "{account}" not found in namespace "{namespace}"',
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
    "Before v1.11 everything is created, changed and deleted with the rights of this account. What this installation "
    "needs is there, and a later upgrade or removal needs more (R-V1-PERM-1).",
)
NO_CONTENT = Rule(
    "OLMC736",
    Severity.FAILURE,
    "The content of a ClusterCatalog is not in the workspace",
    "the content of ClusterCatalog {name} is not in the workspace: {image}",
    "Put its file-based catalog into catalogs/{name}/, or leave the catalog out by a selector.",
    "A ClusterExtension chooses among all catalogs that its selector names, so without the content of one nobody knows "
    "what it installs (R-V1-RES-1, R-V1-RES-2).",
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
    "The catalog says that the package, the channel or the bundle is not to be used any more, and the ClusterExtension "
    "has a condition that says so (R-V1-CND-2).",
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
