"""The roles that every cluster has without anybody writing them down."""

from __future__ import annotations

from functools import cache

from olmc.kube.rbac_forms import CONSTRAINT_ROLE
from olmc.model.objects import RBAC, RBAC_V1, KubernetesObject, ObjectKey, Origin, Provenance, Rendered, object_key
from olmc.model.operators import OLM_GROUP

USER_ROLES = ("admin", "edit", "view")
"""The roles that users of a namespace are given, the widest first."""

AGGREGATE_TO = f"{RBAC}/aggregate-to-"
"""What the labels begin with by which ClusterRoles become parts of these."""
_READ = "get list watch"
_WRITE = "create delete deletecollection patch update"

# name: to which roles it is aggregated, then its rules as verbs, API group ("core" for the first one), resources.
_ROLES: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "cluster-admin": ("", (("*", "*", "*"),)),
    "system:auth-delegator": (
        "",
        (
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
        ),
    ),
    "system:aggregate-to-admin": (
        "admin",
        (
            ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
            (f"{_READ} {_WRITE}", RBAC, "rolebindings roles"),
        ),
    ),
    "system:aggregate-to-edit": (
        "edit",
        (
            (_READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
            ("impersonate", "core", "serviceaccounts"),
            (_WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
            ("create", "core", "pods/eviction serviceaccounts/token"),
            (
                _WRITE,
                "core",
                "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
                "serviceaccounts services services/proxy",
            ),
            (
                _WRITE,
                "apps",
                "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
                "statefulsets statefulsets/scale",
            ),
            (_WRITE, "autoscaling", "horizontalpodautoscalers"),
            (_WRITE, "batch", "cronjobs jobs"),
            (_WRITE, "policy", "poddisruptionbudgets"),
            (_WRITE, "networking.k8s.io", "ingresses networkpolicies"),
            (f"{_READ} {_WRITE}", "coordination.k8s.io", "leases"),
        ),
    ),
    "system:aggregate-to-view": (
        "view",
        (
            (
                _READ,
                "core",
                "bindings configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims "
                "persistentvolumeclaims/status pods pods/log pods/status replicationcontrollers "
                "replicationcontrollers/scale replicationcontrollers/status resourcequotas resourcequotas/status "
                "serviceaccounts services services/status",
            ),
            (_READ, "discovery.k8s.io", "endpointslices"),
            (
                _READ,
                "apps",
                "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
                "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
            ),
            (_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
            (_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
            (_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
            (_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
        ),
    ),
    "aggregate-olm-edit": (
        "admin edit",
        (
            ("create delete patch update", OLM_GROUP, "subscriptions"),
            ("delete", OLM_GROUP, "catalogsources clusterserviceversions installplans"),
        ),
    ),
    "aggregate-olm-view": (
        "admin edit view",
        (
            (_READ, OLM_GROUP, "catalogsources clusterserviceversions installplans operatorgroups subscriptions"),
            (_READ, f"packages.{OLM_GROUP}", "packagemanifests packagemanifests/icon"),
        ),
    ),
}

# Each of them has what the next one has.
_AGGREGATED = {"admin": "", "edit": "admin", "view": "edit"}


@cache
def builtin_roles() -> dict[ObjectKey, Rendered]:
    """The roles by identity: complete objects, aggregated ones with their aggregationRule in place of rules."""
    roles = [_role(name, to.split(), rules) for name, (to, rules) in _ROLES.items()]
    roles += [_aggregated(name, to.split()) for name, to in _AGGREGATED.items()]
    roles.append(_READER)
    return {object_key(role): Rendered(role, Provenance(None, "kubernetes", "", Origin.KUBERNETES)) for role in roles}


def _metadata(name: str, to: list[str]) -> dict[str, object]:
    return {"name": name, "labels": {f"{AGGREGATE_TO}{role}": "true" for role in to}}


def _role(name: str, to: list[str], rules: tuple[tuple[str, str, str], ...]) -> KubernetesObject:
    listed: list[dict[str, list[str]]] = [
        {"verbs": verbs.split(), "apiGroups": ["" if group == "core" else group], "resources": resources.split()}
        for verbs, group, resources in rules
    ]
    if name == "cluster-admin":
        listed.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
    return {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": _metadata(name, to), "rules": listed}


def _aggregated(name: str, to: list[str]) -> KubernetesObject:
    selectors = [{"matchLabels": {f"{AGGREGATE_TO}{name}": "true"}}]
    return {
        "apiVersion": RBAC_V1,
        "kind": "ClusterRole",
        "metadata": _metadata(name, to),
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }


# The Role that lets API services know whom the API server has authenticated.
_READER: KubernetesObject = {
    "apiVersion": RBAC_V1,
    "kind": "Role",
    "metadata": {"name": "extension-apiserver-authentication-reader", "namespace": "kube-system"},
    "rules": [
        {
            "verbs": _READ.split(),
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["extension-apiserver-authentication"],
        }
    ],
}


def role_of_constraint(role: ObjectKey) -> Rendered:
    """The ClusterRole by which OpenShift lets accounts use a constraint."""
    name = role.name.removeprefix(CONSTRAINT_ROLE)
    resource = {"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"]}
    rules = [{"verbs": ["use"], **resource, "resourceNames": [name]}]
    obj = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": {"name": role.name}, "rules": rules}
    return Rendered(obj, Provenance(None, "kubernetes", "", Origin.KUBERNETES))
