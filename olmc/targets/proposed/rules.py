"""Rules about the proposed APIs: installed operators, descoping, Operators and Installs, and moving to them."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

CHAPTERS = (
    ("OLMC650", "Installed operators and packages"),
    ("OLMC660", "Descoped operators"),
    ("OLMC670", "Operator and Install of v2alpha1"),
)
"""The title of each chapter, and its first code."""

HIDDEN = Rule(
    "OLMC651",
    Severity.WARNING,
    "One installed operator hides another",
    "installed operator {name} from namespace {home} is hidden in namespace {namespace}",
    "Give the OperatorGroups different targets, so that one operator of this name watches namespace {namespace}.",
    "An Installed resource has the name of its CSV. Where two CSVs of one name watch a namespace, the one that is "
    "installed there is shown, else the one of the lowest namespace.",
    found_by=FoundBy.OTHERS,
)
NOT_FOUND = Rule(
    "OLMC652",
    Severity.FAILURE,
    "There is no such resource",
    '{resource} "{name}" not found in namespace {namespace}',
    "{hint}",
    "`olmc get` shows what a namespace would have, as `kubectl get` would; this name is not among it.",
    found_by=FoundBy.OTHERS,
)
NO_NAMESPACE = Rule(
    "OLMC653",
    Severity.WARNING,
    "The namespace does not exist",
    "namespace {namespace} does not exist in the workspace",
    "Did you mean one of these? {names}",
    "An operator that watches all namespaces watches every namespace that may come, so it is shown all the same.",
    found_by=FoundBy.OTHERS,
)
NO_CHANNELS = Rule(
    "OLMC654",
    Severity.WARNING,
    "A package has no PackageManifest",
    "package {package} of catalog {catalog}: packagemanifest has no valid channels",
    "Give the bundle at the head of a channel a property olm.csv.metadata; opm render writes it.",
    "OLM shows a package only with the data of the CSV at the head of a channel, which it takes from the catalog: "
    "from olm.bundle.object or olm.csv.metadata, never from the image of the bundle.",
    found_by=FoundBy.OTHERS,
)
NOT_SERVED = Rule(
    "OLMC655",
    Severity.WARNING,
    "The workspace can't be compiled any more",
    "{path} can't be compiled as it is now; the state before the change is still served",
    "Correct what is reported above; the server looks at every change.",
    "`olmc serve` shows the last state of the workspace that could be compiled, so that a half-written file does not "
    "make operators vanish for those who watch.",
    found_by=FoundBy.OTHERS,
)
NO_SERVER = Rule(
    "OLMC656",
    Severity.ERROR,
    "The libraries of a server are missing",
    "olmc {command} needs more than olmc alone: {cause}",
    "Install it with pip install 'olmc[{command}]'.",
    "The API server of `olmc serve` brings a web server, TLS and the watching of files, `olmc lsp` the protocol of"
    " editors; no other command needs them.",
    found_by=FoundBy.OTHERS,
)
NO_CERTIFICATE = Rule(
    "OLMC657",
    Severity.ERROR,
    "The certificate can't be used",
    "the certificate {certificate} with the key {key} can't be used: {cause}",
    "Give a certificate (chain) and its key without a password, both as PEM; without them olmc serve makes its own.",
    "The API server speaks TLS with the certificate that it is given.",
    found_by=FoundBy.OTHERS,
)
NO_ADDRESS = Rule(
    "OLMC658",
    Severity.ERROR,
    "The address can't be served",
    "{host}:{port} can't be served: {cause}",
    "Choose another --port (0 takes any that is free) or --host.",
    "Another program may use the port, or the address is not one of this machine.",
    found_by=FoundBy.OTHERS,
)
NO_KUBECONFIG = Rule(
    "OLMC659",
    Severity.ERROR,
    "The kubeconfig is not written",
    "{path} is not written: {cause}",
    "Choose another file: olmc serve overwrites only its own files.",
    "With --kubeconfig the server writes a file by which kubectl finds it and trusts its certificate.",
    found_by=FoundBy.OTHERS,
)


BINDING_REFUSED = Rule(
    "OLMC660",
    Severity.FAILURE,
    "A descoped operator ships a binding",
    "descoped operator {csv} may not install {kind} {name}: bindings are managed by an administrator",
    "Remove it from the bundle and let the cluster administrator bind the ClusterRole {account}-required-perms….",
    "A descoped operator declares its permissions in ClusterRoles; an administrator binds them where the operator may "
    "use them, in a namespace or in the whole cluster. olmc leaves the refused binding out (R-DESCOPE-6).",
    found_by=FoundBy.DESCOPED,
)
NO_STATUS = Rule(
    "OLMC661",
    Severity.WARNING,
    "A descoped operator can't write the status of its API",
    "operator {csv} cannot update the status of {api} in all namespaces",
    "Let clusterPermissions allow get and update on {resource}/status of group {group}.",
    "By writing the status, an operator tells users everywhere that it lacks the rights to work in their namespace "
    "(R-DESCOPE-7).",
    found_by=FoundBy.DESCOPED,
)
NO_CONTROLLER = Rule(
    "OLMC662",
    Severity.WARNING,
    "A resource whose status no operator can write",
    "no controller can update the status of {api} {resource}",
    "Give the operator of {api} get and update on the status in all namespaces, or in namespace {namespace}.",
    "The resource exists, but no operator in the cluster may write its status, so its users will wait forever "
    "(R-DESCOPE-7).",
    found_by=FoundBy.DESCOPED,
)
SHARED_API = Rule(
    "OLMC663",
    Severity.FAILURE,
    "Another operator provides an API of a descoped one",
    "{first} and {second} both provide {kind} ({group}/{version}){how}",
    "Remove one of them, or say that the API may be shared: --allow-shared-api {api}.",
    "An API is there for the whole cluster, so it has one descoped operator, unless an administrator allows several, "
    "as for ingress controllers (R-DESCOPE-9).",
    found_by=FoundBy.DESCOPED,
)
SINGLE_INSTALL = Rule(
    "OLMC664",
    Severity.WARNING,
    "Single Install of an Operator",
    "{warnings}",
    "{hint}",
    "A scoped operator that is installed once. Its Operator object loses the suffix of the namespace; an update may "
    "descope it, or it is replaced by a descoped alternative (R-DESCOPE-10).",
    found_by=FoundBy.INSTALLS,
)
ALL_NAMESPACES = Rule(
    "OLMC665",
    Severity.INFO,
    "AllNamespace Operators",
    "operator {package} in namespace {namespace} works in all namespaces and needs no migration",
    "No action is needed: its bindings count in all namespaces.",
    "An operator that watches all namespaces is as good as descoped. Its Operator object loses the suffix of the "
    "namespace, and its permissions are bound in the whole cluster (R-DESCOPE-10).",
    found_by=FoundBy.INSTALLS,
)
SAME_VERSION = Rule(
    "OLMC666",
    Severity.WARNING,
    "Multiple Installs of the Same Version",
    "{warnings}",
    "{hint}",
    "A scoped operator that is installed several times, always in the same version. One instance that watches several "
    "namespaces can take over, if the operator supports it (R-DESCOPE-10).",
    found_by=FoundBy.INSTALLS,
)
DIFFERENT_VERSIONS = Rule(
    "OLMC667",
    Severity.WARNING,
    "Multiple Installs at Different Versions",
    "{warnings}",
    "{hint}",
    "A scoped operator that is installed several times in different versions: somebody has to choose (R-DESCOPE-10).",
    found_by=FoundBy.INSTALLS,
)
OPTIONAL_ROLES = Rule(
    "OLMC668",
    Severity.INFO,
    "Optional features of a descoped operator",
    "service account {account} of {csv} has optional ClusterRoles: {names}",
    "Bind them to switch the features on that need them, and {account}-required-perms… in any case.",
    "By convention a single ClusterRole of a service account is required for the operator to work; further ones switch "
    "features on and off (R-DESCOPE-5).",
    found_by=FoundBy.DESCOPED,
)


REFUSED = Rule(
    "OLMC670",
    Severity.ERROR,
    "An Operator or Install that the API server refuses",
    "{kind} {name}: {problem}",
    "Correct the field, or remove it.",
    "Operator and Install of operators.coreos.com/v2alpha1 have a union of kinds of content, of which exactly one has "
    "to be set (R-OPERATOR-2, R-INSTALL-1).",
    found_by=FoundBy.INSTALLS,
)
CATALOG_DENIED = Rule(
    "OLMC671",
    Severity.FAILURE,
    "A catalog that the user may not install from",
    'user "{user}" cannot use CatalogSource "{catalog}": requires verb "install"',
    "Bind a Role with the verb install on catalogsources (operators.coreos.com) in namespace {namespace} to {user}.",
    "Catalogs are restricted by default. The creator of an Operator needs the verb install on its CatalogSource; "
    "without it the API server rejects the Operator (R-OPERATOR-12).",
    found_by=FoundBy.AS_USER,
)
APPROVED_HINT = "The workspace approves it. Name the approving user with --as USER: olmc checks that user's rights."
PENDING = Rule(
    "OLMC672",
    Severity.WARNING,
    "An Install waits for approval",
    "Install {name} waits for approval, and OLM does not apply it: {why}",
    "--approve-installs shows what approving it does, and with --as USER whether that user may. To approve this one "
    "alone, put it into the workspace with spec.approval: Approved, and use --as USER.",
    "An Install is applied by a service account, which must not get more rights than somebody approves who has them "
    "(R-INSTALL-9, R-INSTALL-10).",
    found_by=FoundBy.INSTALLS,
)
APPROVAL_DENIED = Rule(
    "OLMC673",
    Severity.FAILURE,
    "A user who may not approve an Install",
    'user "{user}" may not approve Install "{name}": missing permissions {missing}',
    "{hint}",
    "Approving an Install gives its service account rights, so only who has them may do it (R-INSTALL-10).",
    found_by=FoundBy.AS_USER,
)
UNRESOLVED = Rule(
    "OLMC674",
    Severity.FAILURE,
    "Operators that can't be resolved",
    "nothing can be installed or upgraded for {operators}: {message}",
    "{hint}",
    "Operators that are connected by packages, APIs or requirements are resolved together, over the whole cluster. If "
    "there is no choice of versions for all of them, OLM changes no operator (R-OPERATOR-9).",
    found_by=FoundBy.INSTALLS,
)
NOT_PINNED = Rule(
    "OLMC675",
    Severity.WARNING,
    "An image that is not pinned",
    "image {image} is not pinned",
    "Name it by digest, or give its digest in olmc.yaml under images.",
    "A tag can move to other content, so the approved content is not certain (R-INSTALL-3).",
    found_by=FoundBy.INSTALLS,
)
NO_CONTENT = Rule(
    "OLMC676",
    Severity.FAILURE,
    "A bundle image whose content is not known",
    "{who}: the content of image {image} is not in the workspace",
    "Add the bundle's directory and a catalog that lists the image, or name the bundle in olmc.yaml under images.",
    "olmc pulls no images. In a cluster this would be a pull that fails: ContentImportError (R-OPERATOR-16).",
    found_by=FoundBy.INSTALLS,
)
DIVERGES = Rule(
    "OLMC677",
    Severity.WARNING,
    "Components that differ from the resolution",
    "operator {operator}: {count} of its components differ from the resolved content: {components}",
    "Take the changes back, or put them into the bundle.",
    "The workspace holds the state of a cluster, in which something was changed after it was installed "
    "(R-OPERATOR-17).",
    found_by=FoundBy.INSTALLS,
)
NOT_APPLIED = Rule(
    "OLMC678",
    Severity.FAILURE,
    "The content of an Install can't be applied",
    "{who}: {problem}",
    "Correct the object; what comes after it is not applied.",
    "The objects of an Install are applied in order, and the first that fails stops it.",
    found_by=FoundBy.INSTALLS,
)
CONFIG_LOST = Rule(
    "OLMC679",
    Severity.WARNING,
    "A Subscription's configuration has no place in an Operator",
    "Subscription {namespace}/{name} has a spec.config, which an Operator can't have",
    "Put the configuration into the bundle or leave the Subscription as it is.",
    "The Operator API does not configure operators; that is named as no goal of the proposal (R-OPERATOR-13).",
    found_by=FoundBy.INSTALLS,
)


NOT_ENABLED = Rule(
    "OLMC680",
    Severity.WARNING,
    "Operators and Installs without the API that they are of",
    "olmc ignores {objects}: {api} is not enabled",
    "Write `enableV2alpha1: true` into olmc.yaml below spec, or give --enable-v2alpha1.",
    "Operator and Install of operators.coreos.com/v2alpha1 are a proposal. OLM does not have them, so olmc implements "
    "them only with this option. Without it, olmc passes these objects on like any others, and does not install their "
    "operators (R-OPERATOR-1).",
)


PERMISSION_MOVES = Rule(
    "OLMC693",
    Severity.INFO,
    "A migration that gives or takes permissions",
    "{who} {change}",
    "Look at what is granted before you merge the changes; `olmc rbac` shows all of it.",
    "An operator that watches more namespaces needs its permissions there as well: what was a Role in some namespaces "
    "becomes a ClusterRole, which counts in all. An instance that goes takes those of its account along "
    "(R-DESCOPE-10).",
    found_by=FoundBy.OTHERS,
)
INSTALL_ACCOUNT = Rule(
    "OLMC694",
    Severity.INFO,
    "The account that an Install is applied by",
    "Install {install} is applied by the ServiceAccount {account}, which is granted {count} permissions for it",
    "Let an OperatorGroup of the install namespace name a service account, and that one is taken instead.",
    "OLM itself carries out Subscriptions. An Install has an account of its own, which needs all permissions that the "
    "content grants, since an account can't grant permissions that it lacks (R-INSTALL-5, R-INSTALL-6).",
    found_by=FoundBy.OTHERS,
)
