"""Rules about resolving and about the state that OLM comes to rest in, its lock and its version."""

from __future__ import annotations

from olmc.k8s.diagnostics import IN_STATUS, FoundBy, LockFault, Missing, Rule, RuleTag, Severity

CEL_MISSING = Rule(
    "OLMC500",
    Severity.ERROR,
    "A CEL constraint can't be judged",
    "{scope} can't be resolved: a bundle has a CEL constraint, and the CEL library can't be loaded ({cause})",
    "Install it with `pip install cel-expr-python`.",
    "OLM evaluates `cel` constraints with Google's CEL. Guessing what a rule would say could install the "
    "wrong version, so olmc stops where it can't evaluate it.",
)
CEL_RULES_UNJUDGED = Rule(
    "OLMC507",
    Severity.WARNING,
    "Rules in CEL are not judged",
    "rules in CEL of {names} are not judged, since the CEL library is not installed",
    "Install it with `pip install 'olmc[cel]'` where there is a wheel of it; docs/install.md says where.",
    "The API server refuses a CRD whose rules (x-kubernetes-validations) don't compile. Without the library olmc can't "
    "tell, and takes them for sound: what it prints is right if they are.",
)
CEL_COST = Rule(
    "OLMC505",
    Severity.ERROR,
    "A CEL constraint may cost too much",
    "{scope} can't be resolved: a bundle has a CEL constraint of which {cause}",
    "Write the rule without macros in macros and without adding lists; for a catalog that you trust, raise the limit.",
    "A rule that goes through lists within lists, or doubles one again and again, takes hours and all of the memory; "
    "any bundle may contain such a rule. olmc computes an upper bound of the cost from the text, and does not "
    "evaluate a rule above the limit.",
)
UNFINISHED = Rule(
    "OLMC504",
    Severity.ERROR,
    "A resolution takes too long",
    "{scope} can't be resolved in time: the solver has run into {conflicts:,} conflicts and knows no answer yet",
    "Ask for fewer packages at once or for versions that go together; `--resolve-timeout SECONDS` (or "
    "OLMC_LIMIT_CONFLICTS=NUMBER in the environment) gives it longer.",
    "Solving constraints can take very long, and catalogs can be made to cause that. OLM stops after a while and "
    "tries again forever. olmc counts conflicts instead of seconds, so the same input ends at the same point on every "
    "machine.",
)
SKIP_RANGE_UNREADABLE = Rule(
    "OLMC501",
    Severity.WARNING,
    "A skipRange can't be read",
    'the skipRange "{text}" of {bundle} can\'t be read and skips no version: {cause}',
    "Write comparisons separated by spaces, like `>=1.0.0 <1.2.0`; there is no `~`, `^` or comma.",
    "OLM ignores a skipRange that it can't read, without a word: the versions that it was meant to cover get "
    "no upgrade.",
)
CHANNEL_LEFT_OPEN = Rule(
    "OLMC502",
    Severity.WARNING,
    "OLM picks the channel at random",
    "Subscription {name} names no channel, and {bundle} is in the channels {channels}: "
    "OLM picks one of them at random, olmc {channel}",
    "Set spec.channel.",
    "Without spec.channel OLM may take the same version from any channel, and the operator then follows that "
    "channel. olmc takes the default channel, else the first by name.",
)
SEVERAL_PROVIDERS = Rule(
    "OLMC503",
    Severity.INFO,
    "Several packages could meet a requirement",
    "{bundle} requires an operator {wanted}: {chosen} is installed, the packages {others} would do as well",
    "Add a Subscription for the one that you want; it is then used for the requirement.",
    "OLM takes the first that fits: from the same catalog, then by the priority of catalogs, default "
    "channels first, then by the names of packages and channels. Another catalog, or a new package in this "
    "one, can change that.",
)
NOT_SATISFIABLE = Rule(
    "OLMC510",
    Severity.FAILURE,
    "A namespace can't be resolved",
    "nothing can be installed or upgraded in {scope}: {message}",
    "`olmc resolve` says step by step what rules out what.",
    "All Subscriptions of a namespace are resolved together. If there is no choice of versions that suits all of "
    "them, OLM leaves the namespace as it is and sets the condition ResolutionFailed on each Subscription.",
    tags=IN_STATUS,
)
PREVENTED = Rule(
    "OLMC511",
    Severity.FAILURE,
    "An error prevents a namespace from being resolved",
    "nothing can be installed or upgraded in {scope}: {message}",
    "Correct the catalog; the error affects all Subscriptions of the namespace, with any catalog.",
    "A catalog that can't be read, a channel without a unique order or a requirement that can't be parsed "
    "stops the resolution of the whole namespace.",
    tags=IN_STATUS,
)
CHAIN_HINT = (
    "Correct the cause for which {csv} is not Replacing. OLM fails forward only if each CSV before the last one is "
    "Replacing; until then it resolves nothing in this namespace."
)


HELD_BACK = Rule(
    "OLMC512",
    Severity.WARNING,
    "An upgrade that is held back",
    "{upgrade} is held back in namespace {namespace}: {why}",
    "Add what the upgrade lacks to a catalog that the namespace sees; or wait for an upgrade of the operator in its "
    "way, or remove that one.",
    "All Subscriptions of a namespace are resolved together. OLM skips an upgrade that would remove a required API or "
    "package of another operator, and does not report it: the Subscription stays AtLatestKnown (R-CAT-546, R-CAT-547).",
)


ONE_GROUP_HINT = "Keep one OperatorGroup in namespace {namespace}; until then no Subscription in it is resolved."
GROUP_REASONS = {
    "NoOperatorGroup": "Add an OperatorGroup to namespace {namespace}.",
    "TooManyOperatorGroups": ONE_GROUP_HINT,
    "NoTargetNamespaces": "Make the group's selector match a namespace, or list targetNamespaces.",
    "InvalidInstallModes": "Remove the duplicate from spec.installModes.",
    "UnsupportedOperatorGroup": "",
    "InterOperatorGroupOwnerConflict": "Let the groups target different namespaces, or install the operator in one.",
    "CannotModifyStaticOperatorGroupProvidedAPIs": "List the APIs in olm.providedAPIs, or drop staticProvidedAPIs.",
    "RequirementsNotMet": "See what is missing below; add it to the workspace, or list it in olmc.yaml if it exists.",
}
KUBERNETES_HINT = (
    "Upgrade the cluster to Kubernetes {required}, or install a version of the operator that supports Kubernetes "
    "{server}. If the cluster is newer, name its version: --kube-version, or spec.kubeVersion in olmc.yaml."
)
LEFT_HINT = "No Subscription asks for {csv} in namespace {namespace}: delete its CSV to uninstall it."

GROUP_FAILURE = Rule(
    "OLMC301",
    Severity.FAILURE,
    "An operator can't be a member of its OperatorGroup",
    "{csv} in namespace {namespace} would be Failed ({reason}): {text}",
    "{hint}",
    "Every operator needs exactly one OperatorGroup in its namespace, with targets that its install modes support and "
    "APIs that no intersecting group provides already.",
    tags=IN_STATUS,
)
PENDING = Rule(
    "OLMC302",
    Severity.FAILURE,
    "An operator waits for its requirements",
    "{csv} in namespace {namespace} would stay Pending ({reason}): {text}",
    "{hint}",
    "OLM installs an operator only when every CRD, API, service account and permission that it needs is there.",
    tags=IN_STATUS,
)
INSTALL_FAILURE = Rule(
    "OLMC303",
    Severity.FAILURE,
    "An operator can't be installed",
    "{csv} in namespace {namespace} would be {phase} ({reason}): {text}",
    "{hint}",
    "The install strategy of the CSV can't be carried out as it is written.",
    tags=IN_STATUS,
)
FLAPPING = Rule(
    "OLMC304",
    Severity.WARNING,
    "An operator never settles",
    "{csv} in namespace {namespace} never settles: OLM retries forever, and its phase keeps changing",
    "Correct what makes it fail; until then the output shows the state that it keeps returning to.",
    "Some failures are retried without end; what a cluster shows depends on the moment.",
)
GROUP_PROBLEM = Rule(
    "OLMC305",
    Severity.FAILURE,
    "An OperatorGroup can't be processed",
    "OperatorGroup {namespace}/{name}: {problem}; operators in its namespace get no status at all",
    "{hint}",
    "A group whose sync fails has no target namespaces, and OLM installs no operator in its namespace.",
    tags=IN_STATUS,
)
TOKEN_HINT = (
    "Add a Secret of type kubernetes.io/service-account-token with the annotation kubernetes.io/service-account.name: "
    "{account} to namespace {namespace}. If the cluster is older than Kubernetes 1.24, which makes it by itself, name "
    "its version: --kube-version, or spec.kubeVersion in olmc.yaml."
)
NO_TOKEN = Rule(
    "OLMC328",
    Severity.FAILURE,
    "OLM has no token of a ServiceAccount",
    "{csv} in namespace {namespace} would stay {phase}: {problem}",
    TOKEN_HINT,
    "Up to 0.28 OLM acts as the ServiceAccount that an OperatorGroup names only with a token that it finds in a "
    "Secret. Up to 1.23 Kubernetes made such a Secret for every account; since 1.24 somebody has to ask for it. Of a "
    "CSV OLM says so in its log only; an InstallPlan fails with the text (OLMC308).",
    tags=IN_STATUS,
)
TWO_GROUPS = Rule(
    "OLMC306",
    Severity.FAILURE,
    "Two OperatorGroups in a namespace",
    "namespace {namespace} has more than one OperatorGroup: {names}",
    ONE_GROUP_HINT,
    "OLM can't choose between several groups, so it installs no operator in the namespace.",
    tags=IN_STATUS,
)
FAILED_STEP_HINT = "Correct the object that stops it; later steps of the plan are not carried out."
OLD_CRD_HINT = (
    "The fields of the CRD stand where v1beta1 had them. Move {moves}. Later steps of the plan are not carried out."
)
URLS_HINT = (
    "Move the rules with nonResourceURLs ({urls}) from permissions to clusterPermissions: a Role has none. Later steps "
    "of the plan are not carried out."
)
STORED_VERSION_HINT = (
    "Write every {0.kind} again, so that it is stored in {0.storage}, then take {0.version} out of "
    "status.storedVersions of CRD {0.crd}, before this upgrade; later steps of the plan are not carried out."
)
STORAGE_VERSION_HINT = (
    "The cluster stores every {0.kind} in {0.version} until now. Upgrade first to a version of the operator that "
    "stores another one and still has {0.version}, write every {0.kind} again, then take {0.version} out of "
    "status.storedVersions of CRD {0.crd}; later steps of this plan are not carried out."
)
UNFIT_RESOURCE_HINT = (
    "Change {0.kind} {0.name} so that it fits the new schema, before this upgrade; later steps of the plan are not "
    "carried out."
)
UNSERVED_HINT = (
    "The cluster does not serve {0}: install the operator that provides it, or declare it with --api {0}. OLM does "
    "not install the later objects."
)
REMOVED_HINT = (
    "Kubernetes serves {0} no longer since 1.{1}: the bundle must bring the object in another version. --kube-version "
    "compiles for an older cluster. OLM does not install the later objects."
)
INSTALL_HINT = "Correct the bundle, or ask its author to."
ACCOUNT_HINT = "Give ServiceAccount {account} of OperatorGroup {group} the right that it lacks."
HELD_HINT = (
    "Remove {finalizers} from its metadata.finalizers, or run the controller that removes it; until then the CSV stays."
)
FORBIDDEN_HINT = (
    "Give ServiceAccount {account} the rights that it lacks; until then no further step of the plan is carried out."
)
UNMANAGED_HINT = (
    "Let the OperatorGroup target a namespace that exists, and name a ServiceAccount that exists, if any; until then "
    "no step of the plan is carried out."
)
PLAN_FAILED = Rule(
    "OLMC308",
    Severity.FAILURE,
    "An InstallPlan fails",
    "the InstallPlan for {csvs} in namespace {namespace} would end {phase}: {text}",
    "{hint}",
    "A plan runs its steps in order and stops at the first that fails, which leaves a half-installed operator. It "
    "runs no step if the namespace's OperatorGroup lacks targets or can't be processed.",
    tags=IN_STATUS,
)
NOT_UNPACKED = Rule(
    "OLMC309",
    Severity.FAILURE,
    "A bundle can't be unpacked",
    "bundle {csv} can't be unpacked: {text}",
    "{hint}",
    "OLM must read every manifest of a bundle before it makes an InstallPlan.",
    tags=IN_STATUS,
)
STEP_FAILED = Rule(
    "OLMC310",
    Severity.FAILURE,
    "An object of a bundle can't be installed",
    "{csv}: {problem}",
    "{hint}",
    "The objects of a bundle are applied in order, and the first that fails stops the installation.",
    tags=IN_STATUS,
)
UPGRADE_LOOP = Rule(
    "OLMC311",
    Severity.ERROR,
    "Upgrades without end",
    "upgrade loop detected in namespace {namespace} (after {rounds} rounds)",
    "Look at the replaces and skipRange of the channel: some upgrade leads back.",
    "Every upgrade leads to another one, so there is no state to compile.",
)
NEEDS_APPROVAL = Rule(
    "OLMC312",
    Severity.INFO,
    "An InstallPlan waits for approval",
    "the InstallPlan for {csvs} in namespace {namespace} waits for approval and is not carried out",
    "Use --approve {namespace}/{csv} to see what approving it would do.",
    "With installPlanApproval: Manual OLM installs only after you approve the plan.",
)
UNLISTED_HINT = "Add {additions}: its controller approves only the listed CSVs."
UNLISTED_BY_HAND_HINT = (
    "Then set spec.approved: true on the InstallPlan: with upgradeApproval: None the controller approves no upgrade."
)
FOREIGN_HOME = Rule(
    "OLMC313",
    Severity.FAILURE,
    "A bundle's CSV counts as a copy",
    "{csv} carries the annotation olm.operatorNamespace: {home} and is installed in {namespace}, so OLM always treats "
    "it as a copy",
    "Remove the annotation from the bundle's CSV.",
    "OLM tells copies of CSVs by that annotation; a bundle must not ship it.",
    tags=IN_STATUS,
)
WATCHES_DEFAULT = Rule(
    "OLMC314",
    Severity.INFO,
    "A bundle that can't watch its own namespace",
    "{csv} supports neither all namespaces nor its own one; olmc uses namespace default as the watched one",
    "Say which with --watch.",
    "Some operators only work for namespaces other than their own, and olmc can't know which you mean.",
)
NO_GROUP = Rule(
    "OLMC315",
    Severity.FAILURE,
    "A Subscription in a namespace without an OperatorGroup",
    "Subscription {namespace}/{name} is never resolved: namespace {namespace} has no OperatorGroup",
    "Add an OperatorGroup to namespace {namespace}.",
    "OLM resolves a namespace only if it has exactly one OperatorGroup, and reports no error otherwise.",
    tags=IN_STATUS | {RuleTag.GROUP_UNSEEN},
)
BAD_DURATION = Rule(
    "OLMC319",
    Severity.FAILURE,
    "A duration that stops the resolution of a namespace",
    "no Subscription in namespace {namespace} is resolved: {problem}",
    "Write a number with a unit, such as 90s, 10m or 1h30m, or remove the annotation.",
    "Before OLM resolves a namespace, it reads two annotations of the OperatorGroup: the timeout for unpacking a "
    "bundle and the pause before a retry. If it can't read them, it reports no error (R-CAT-501).",
)
UNUSABLE = Rule(
    "OLMC316",
    Severity.FAILURE,
    "OLM can't use a CSV",
    "{csv} in namespace {namespace} is left untouched: a CRD that it names has no dot in its name",
    "Write the full names of CRDs in customresourcedefinitions: plural.group.",
    "A CSV whose APIs can't be read gets no status at all, and OLM does not install it (R-OG-12).",
    tags=IN_STATUS,
)
NO_NAMESPACE = Rule(
    "OLMC318",
    Severity.FAILURE,
    "An operator without a namespace",
    "{kind} {name} has no metadata.namespace, so OLM does not install it",
    "{hint}",
    "Subscriptions and ClusterServiceVersions live in namespaces with an OperatorGroup. olmc does not know the target "
    "namespace of an object without a namespace.",
    cause=Missing.NAMESPACE,
    tags=frozenset({RuleTag.OF_REPOSITORY}),
)
UNSEEN_CATALOG = Rule(
    "OLMC317",
    Severity.WARNING,
    "A catalog that the namespace does not see",
    "Subscription {namespace}/{name} asks for catalog {catalog} in namespace {home}, which namespace {namespace} does "
    "not see: it sees its own catalogs and those of {glob}",
    "If {home} is where your cluster keeps its global catalogs, set globalCatalogNamespace: {home} in olmc.yaml.",
    "A namespace sees the catalogs in it and those in the global catalog namespace: olm by default, "
    "openshift-marketplace on OpenShift.",
)


BAD_LOCK = Rule(
    "OLMC530",
    Severity.ERROR,
    "olmc.lock is not valid",
    "olmc.lock: {where}: {problem}",
    "Write it again with `olmc resolve --update`, and if it listed images, with `olmc vendor`.",
    "The lock is written by olmc; one that can't be read would silently let other versions in.",
)
NOT_LOCKED = Rule(
    "OLMC531",
    Severity.ERROR,
    "olmc.lock no longer holds",
    "olmc.lock does not fit {where}: {text}",
    "Look at what moved with `olmc resolve --update`, and commit the new lock.",
    "With a lock, olmc renders the reviewed versions. If they are not available any more, or if it needs further "
    "versions, olmc stops instead of choosing other ones.",
    cause=LockFault.UNMET,
)
MOVED = Rule(
    "OLMC532",
    Severity.WARNING,
    "A locked operator has changed",
    "{name} {where} is no longer what olmc.lock was written for: its catalog entry or its bundle changed",
    "Look at the change, then run `olmc resolve --update`.",
    "The lock holds a digest of the catalog's entry and the bundle's content: a version can't change unnoticed.",
    cause=LockFault.CHANGED,
)
PIN_IMPOSSIBLE = Rule(
    "OLMC533",
    Severity.ERROR,
    "A pin can't be set",
    "{package} can't be pinned to {version}: {text}",
    "{hint}",
    "A pin sets startingCSV and manual approval on the Subscription. It must name an entry of the channel that "
    "upgrades can reach from the installed version.",
)


UNKNOWN_VERSION = Rule(
    "OLMC450",
    Severity.ERROR,
    "There is no such OLM version",
    "{problem}",
    "{hint}",
    "Names, labels and hashes differ between versions of OLM, so olmc compiles for one of its known versions: a "
    "release (0.25.0, or 0.25 for its last one), the one that an OpenShift version ships (ocp-4.14), or docs for the "
    "behavior in OLM's documents. The default is the newest release.",
    found_by=FoundBy.OTHERS,
)
RANDOM_NAMES = Rule(
    "OLMC451",
    Severity.WARNING,
    "This OLM gives random names",
    "Before OLM 0.16.0, as in {version}, names of generated RBAC end in random characters; those shown are made up",
    "Compare everything but the last five characters of these names with a cluster.",
    "Before 0.16.0 the names of generated RBAC ended in five random characters. olmc derives five characters from the "
    "content, so that the same input gives the same output; a cluster has others.",
    found_by=FoundBy.OTHERS,
)
OTHER_RESOLVER = Rule(
    "OLMC452",
    Severity.WARNING,
    "This OLM resolves in another way",
    "Before OLM 0.16.1, as in {version}, versions were chosen by another algorithm than the one that olmc follows",
    "Take the choice of versions as that of OLM 0.16.1 and later, or pin them with startingCSV.",
    "Up to 0.16.0 OLM went from one generation of installed operators to the next; since 0.16.1 a SAT solver chooses. "
    "olmc has the solver. For a simple graph both choose the same.",
    found_by=FoundBy.OTHERS,
)
NOT_REPRODUCED = Rule(
    "OLMC453",
    Severity.INFO,
    "Something of this OLM can't be known offline",
    "OLM {version}: olmc can't reproduce {gap}",
    "`olmc explain gaps {version}` lists all that can't be reproduced.",
    "Some old versions of OLM hashed how Go prints its types, or left things to chance. Such values are left "
    "out or made up, and named here.",
    found_by=FoundBy.OTHERS,
)
VERSION_OF_RENDERING = Rule(
    "OLMC454",
    Severity.ERROR,
    "A rendering has its version of OLM",
    "{side} is a rendering, which was made for one version of OLM",
    "Give the workspace or the bundle that it was made of.",
    "To compare two versions of OLM, olmc compiles the input once for each, and a rendering is not an input.",
    found_by=FoundBy.OTHERS,
)
