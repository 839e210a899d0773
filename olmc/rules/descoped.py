"""Descoped operators (`--descoped`).

The titles of the installation situations are the headings of the Descoping Plan.
"""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

BINDING_REFUSED = Rule(
    "OLMC660",
    Severity.FAILURE,
    "A descoped operator ships a binding",
    "descoped operator {csv} may not install {kind} {name}: bindings are managed by an administrator",
    "Take it out of the bundle and let whoever runs the cluster bind the ClusterRole {account}-required-perms….",
    "A descoped operator says what it needs in ClusterRoles; where it may use them, an administrator decides by "
    "binding them, in a namespace or in the whole cluster. olmc leaves the refused binding out (R-DESCOPE-6).",
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
    "Nobody can write the status of a resource",
    "no controller can update the status of {api} {resource}",
    "Give the operator of {api} get and update on the status in all namespaces, or in namespace {namespace}.",
    "The resource exists, but no operator in the cluster may say anything about it, so its users will wait for ever "
    "(R-DESCOPE-7).",
    found_by=FoundBy.DESCOPED,
)
SHARED_API = Rule(
    "OLMC663",
    Severity.FAILURE,
    "Two descoped operators provide one API",
    "{first} and {second} both provide {kind} ({group}/{version})",
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
    found_by=FoundBy.V2ALPHA1,
)
ALL_NAMESPACES = Rule(
    "OLMC665",
    Severity.INFO,
    "AllNamespace Operators",
    "operator {package} in namespace {namespace} works in all namespaces and needs no migration",
    "Nothing is to be done: its bindings count in all namespaces.",
    "An operator that watches all namespaces is as good as descoped. Its Operator object loses the suffix of the "
    "namespace, and its permissions are bound in the whole cluster (R-DESCOPE-10).",
    found_by=FoundBy.V2ALPHA1,
)
SAME_VERSION = Rule(
    "OLMC666",
    Severity.WARNING,
    "Multiple Installs of the Same Version",
    "{warnings}",
    "{hint}",
    "A scoped operator that is installed several times, always in the same version. One instance that watches several "
    "namespaces can take over, if the operator supports it (R-DESCOPE-10).",
    found_by=FoundBy.V2ALPHA1,
)
DIFFERENT_VERSIONS = Rule(
    "OLMC667",
    Severity.WARNING,
    "Multiple Installs at Different Versions",
    "{warnings}",
    "{hint}",
    "A scoped operator that is installed several times in different versions: somebody has to choose (R-DESCOPE-10).",
    found_by=FoundBy.V2ALPHA1,
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
