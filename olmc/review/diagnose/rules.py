"""Rules of diagnoses: what goes wrong in a cluster without an error, or by a cause elsewhere."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

NO_UPGRADE = Rule(
    "OLMC800",
    Severity.WARNING,
    "An upgrade that never comes",
    "{csv} in {namespace} stays at {version}: {channel} has no upgrade from it{missed}{why}",
    "{ways}",
    "An upgrade is an entry of the channel that replaces or skips the installed version, or has it in its skipRange "
    "(R-CAT-410). Without one OLM reports the Subscription as up to date, and the version stays (R-CAT-411).",
)
WAITS_FOR_MANUAL = Rule(
    "OLMC801",
    Severity.INFO,
    "An Automatic Subscription that waits for an approval",
    "{csvs} in {namespace} waits because Subscription {manual} is Manual: one such Subscription makes every "
    "InstallPlan of its namespace wait{along}",
    "To get {packages} without an approval, move the Subscription to a namespace of its own.",
    "All Subscriptions of a namespace share an InstallPlan, and if one of them is Manual, so is the plan (R-CAT-601). "
    "An approval approves everything in it.",
)
PIN_IGNORED = Rule(
    "OLMC802",
    Severity.WARNING,
    "A startingCSV without effect",
    "startingCSV of Subscription {name} is {starting} now and has no effect: it counts for the first installation "
    "only, and {installed}",
    "{way}",
    "OLM reads startingCSV for the first InstallPlan only. Later it follows the channel, one InstallPlan after the "
    "other.",
)
ORPHAN = Rule(
    "OLMC803",
    Severity.FAILURE,
    "A CSV that belongs to no Subscription",
    "Subscription {name} installs nothing: {csv} is in {namespace} already, and no Subscription refers to it",
    "{way}",
    "The status of a Subscription names the CSV that it has installed. A new one does not take over a CSV that "
    "another one has installed, and the namespace can't be resolved (observed-37).",
)
SECOND_PROVIDER = Rule(
    "OLMC804",
    Severity.FAILURE,
    "A second package with the same API",
    "Subscription {name} stops namespace {namespace}: {new} provides {api}, as {there} does, and a "
    "namespace can have only one{missed}",
    "{way}",
    "Only one operator of a namespace may provide an API (R-CAT-544). All Subscriptions of the namespace are resolved "
    "together, so that the others get no upgrade either.",
)
CATALOG_ELSEWHERE = Rule(
    "OLMC805",
    Severity.FAILURE,
    "A catalog in another namespace",
    "Subscription {name} asks for catalog {catalog} in namespace {asked}, and it is in {there}",
    "Set spec.sourceNamespace: {first}.",
    "A Subscription names its catalog by name and namespace. The namespace for global catalogs is olm, or "
    "openshift-marketplace on OpenShift (R-CAT-501).",
)
CRD_ALONE = Rule(
    "OLMC806",
    Severity.FAILURE,
    "A required API whose CRD is there and does not count",
    "{csv} requires an operator that provides {api}; CRD {crd} exists{where}, but does not count, since no operator "
    "that OLM has installed owns it",
    "Subscribe to an operator that provides {kind}, from a catalog that {namespace} sees; or use a bundle without the "
    "dependency.",
    "The resolver looks at operators in catalogs and at installed CSVs, and at no CRD of the cluster (R-CAT-540).",
)
NOT_MOUNTED = Rule(
    "OLMC810",
    Severity.WARNING,
    "Pods that can't start, since a Secret, ConfigMap or volume claim is missing",
    "nothing creates {what} in {namespace}{key}, so {csv} does not start: Deployment {deployment} needs it",
    "{way}",
    "A pod waits until every Secret, ConfigMap and volume claim that it mounts or reads is there, unless the reference "
    "is optional. olmc takes Deployments as available; an administrator may create the object by hand.",
)
CONFIG_EVERYWHERE = Rule(
    "OLMC811",
    Severity.WARNING,
    "Resources that every container gets",
    "spec.config.resources of Subscription {name} replaces the resources of every container of {csv}: {containers}",
    "Leave spec.config.resources out unless each container should get them; {total}.",
    "OLM writes spec.config.resources into each container of each Deployment of the CSV. They "
    "replace those of the container (R-DEP-6).",
)
SELECTOR_IGNORED = Rule(
    "OLMC812",
    Severity.WARNING,
    "A selector of spec.config without effect",
    "spec.config.selector of Subscription {name} has no effect: OLM applies spec.config to all Deployments of the CSV",
    "Remove spec.config.selector.",
    "The field is in the type of the Subscription, and OLM does not read it (R-DEP-5).",
)
CLUSTER_SCOPED = Rule(
    "OLMC813",
    Severity.WARNING,
    "Permissions that a Role can't give",
    "{csv} asks in permissions for {resources}, which {have} no namespace: OLM makes a Role of permissions, and a Role "
    "gives nothing for cluster-scoped resources",
    "Move the rules for {resources} to clusterPermissions.",
    "OLM makes Roles of spec.install.spec.permissions and ClusterRoles of clusterPermissions, and of both only where "
    "the OperatorGroup targets all namespaces. No step fails; the operator is forbidden later, at the cluster scope.",
)
FIXED_SUBJECT = Rule(
    "OLMC814",
    Severity.WARNING,
    "A binding to an account of another namespace",
    "{identity} in the bundle of {csv} binds ServiceAccount {account} of namespace {fixed}; the operator is installed "
    "in {namespace}, and pods under its account there get no rights by it",
    "Remove the subject's namespace from the bundle, or install the operator in {fixed}.",
    "OLM puts the objects of a bundle into the namespace of the Subscription, and leaves subjects of bindings as they "
    "are written.",
)
NUMBER = Rule(
    "OLMC815",
    Severity.WARNING,
    "A version without quotes, which YAML reads as a number",
    "{field} of {name} is written {written} without quotes, so it is the number {value}",
    'Write it in quotes: "{written}".',
    "YAML reads 4.20 as the number 4.2. OLM then takes 4.2 for the newest release of OpenShift that the operator "
    "supports, and blocks upgrades of the cluster.",
)
REPLACES_NOTHING = Rule(
    "OLMC816",
    Severity.WARNING,
    "replaces names a version that does not exist",
    "{csv} replaces {replaced!r}, which is not there{effect}",
    "{way}",
    "Each version names by replaces the CSV that it follows. Where that does not exist, the channel has two heads: "
    "tools that build catalogs refuse the bundle, and OLM does not resolve a namespace that uses the channel.",
)
REPLACES_ITSELF = Rule(
    "OLMC817",
    Severity.WARNING,
    "A version that replaces itself",
    "{csv} replaces itself",
    "{way}",
    "A version that replaces itself upgrades no other version, and the channel is without order.",
)
SYNC_STOPPED = Rule(
    "OLMC820",
    Severity.WARNING,
    "A GitOps tool that stops before the operator",
    "{kind} {name} stops the sync of {tool} {application}: its dry run does not know the kind, which only {operator} "
    "brings, and Subscription {subscription} is never applied",
    "{way}",
    "Argo CD and Flux ask the API server about all objects of a sync before they apply the first one. A kind whose CRD "
    "comes with an operator of the same sync makes the whole sync fail; waves do not help.",
)
REMOVAL_HANGS = Rule(
    "OLMC821",
    Severity.WARNING,
    "A removal that hangs",
    "{identity} has the finalizer {finalizer}, which only the operator {csv} removes, and that is removed at the same "
    "time: {what} stays in Terminating",
    "Delete {identity} first, while {csv} runs. Wait until the deletion ends, then remove the operator.",
    "An object with a finalizer goes when its controller has removed the finalizer. A controller that is deleted in "
    "the same step does not do so.",
    found_by=FoundBy.OTHERS,
)
NOT_IN_CATALOG = Rule(
    "OLMC822",
    Severity.FAILURE,
    "A package, a channel or a version that the catalog does not have",
    "Subscription {name} asks for {field} {written}, which {where} does not have; it has {known}{missed}",
    "Correct spec.{field} of Subscription {name}.",
    "All Subscriptions of a namespace are resolved together: a missing package, channel or version stops the others.",
)
EXTENSION_UNRESOLVED = Rule(
    "OLMC823",
    Severity.FAILURE,
    "A ClusterExtension whose version is in none of its channels",
    "ClusterExtension {name} can't be resolved: {problem}",
    "{way}",
    "A bundle has to be in one of the channels and inside the range of versions (R-V1-RES-4).",
)
ACCOUNT_GOES = Rule(
    "OLMC824",
    Severity.WARNING,
    "An account that goes with an upgrade",
    "ServiceAccount {account} goes with {old}, since {new} does not have it; {users}",
    "Keep the account in the permissions of {new}, or as an object of its own; or let the pods use another one.",
    "OLM makes the accounts of a CSV's permissions, and removes those that the next CSV does not have. A pod whose "
    "account does not exist is not created.",
    found_by=FoundBy.OTHERS,
)
