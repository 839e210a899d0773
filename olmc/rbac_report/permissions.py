"""Who has which permissions by the RBAC of a cluster, with the ClusterRoles that every cluster has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from olmc.kube.rbac import normalize
from olmc.kube.rbac_access import RoleBinding, decode_binding
from olmc.kube.roles import Roles, collect_roles
from olmc.lean import NamedTuple
from olmc.model.objects import (
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Origin,
    PolicyRule,
    Provenance,
    Rendered,
    Subject,
    object_key,
)
from olmc.model.operators import OLM_GROUP

USER_ROLES = ("admin", "edit", "view")
"""The roles that users of a namespace are given, the widest first."""

_AGGREGATE_TO = f"{RBAC}/aggregate-to-"
_CONSTRAINT_ROLE = "system:openshift:scc:"
"""What the ClusterRoles begin with by which OpenShift lets accounts use security context constraints."""
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
    return {"name": name, "labels": {f"{_AGGREGATE_TO}{role}": "true" for role in to}}


def _role(name: str, to: list[str], rules: tuple[tuple[str, str, str], ...]) -> KubernetesObject:
    listed: list[dict[str, list[str]]] = [
        {"verbs": verbs.split(), "apiGroups": ["" if group == "core" else group], "resources": resources.split()}
        for verbs, group, resources in rules
    ]
    if name == "cluster-admin":
        listed.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
    return {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": _metadata(name, to), "rules": listed}


def _aggregated(name: str, to: list[str]) -> KubernetesObject:
    selectors = [{"matchLabels": {f"{_AGGREGATE_TO}{name}": "true"}}]
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


def _of_constraint(role: ObjectKey) -> Rendered:
    name = role.name.removeprefix(_CONSTRAINT_ROLE)
    resource = {"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"]}
    rules = [{"verbs": ["use"], **resource, "resourceNames": [name]}]
    obj = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": {"name": role.name}, "rules": rules}
    return Rendered(obj, Provenance(None, "kubernetes", "", Origin.KUBERNETES))


DEFAULT_NAMESPACE = "default"
"""Where kubectl puts what names no namespace."""


class Grant(NamedTuple):
    """A rule that holds for a subject, where, and why.

    `namespace`: where it holds, "" for the whole cluster, None for wherever `subject`, a role, is bound. `role` is what
    the binding names, `source` the role that has the rule: another one if `role` is aggregated. `binding` is None for a
    subject that is a role. The provenance is that of `source`, None for what every cluster has.
    """

    subject: Subject
    namespace: str | None
    rule: PolicyRule
    role: ObjectKey
    source: ObjectKey
    binding: ObjectKey | None
    source_provenance: Provenance | None


class Permissions(NamedTuple):
    """All permissions among some objects.

    `grants`: what bindings give to accounts, users and groups. `gains`: what aggregated roles, `admin`, `edit` and
    `view` among them, have beyond what Kubernetes and OLM put there. `dangling`: bindings, each with the role that it
    names and that is not there.
    """

    grants: tuple[Grant, ...]
    gains: tuple[Grant, ...]
    dangling: tuple[tuple[ObjectKey, ObjectKey], ...]


def permissions(objects: Iterable[Rendered]) -> Permissions:
    """The permissions that Roles, ClusterRoles and their bindings among `objects` give, sorted.

    Rules are taken as the API server applies them: URLs only from ClusterRoleBindings, aggregated roles with the rules
    of all roles that their selectors match (what they have themselves is overwritten). Roles that every cluster has
    (`cluster-admin`, `admin` …) count unless the objects have their own, and so does that of OpenShift for the use of
    each of its constraints.
    """
    bindings: list[RoleBinding] = []
    rendered = dict(builtin_roles())
    for obj in objects:
        key = obj.identity
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            rendered[key] = obj
        elif key.group == RBAC and key.kind in ("RoleBinding", "ClusterRoleBinding"):
            bindings.append(decode_binding(key, obj.object, namespace_of(key)))
    for binding in bindings:
        if binding.role.name.startswith(_CONSTRAINT_ROLE) and binding.role not in rendered:
            rendered[binding.role] = _of_constraint(binding.role)
    sources = _Sources.of(rendered)
    grants: set[Grant] = set()
    dangling: set[tuple[ObjectKey, ObjectKey]] = set()
    for binding in bindings:
        role = _role_of(binding, rendered)
        if role in rendered:
            grants.update(_granted(binding, role, sources))
        else:
            dangling.add((binding.identity, role))
    gains = {gain for role in rendered for gain in _gained(role, sources)}
    return Permissions(tuple(sorted(grants, key=_order)), tuple(sorted(gains, key=_order)), tuple(sorted(dangling)))


def _order(grant: Grant) -> tuple[Any, ...]:
    return (grant.subject, grant.namespace or "", grant.rule, grant.role, grant.source, grant.binding or ())


def namespace_of(binding: ObjectKey) -> str:
    """Where a binding counts: "" for one of the whole cluster; one that should name a namespace counts in `default`."""
    return "" if binding.kind == "ClusterRoleBinding" else binding.namespace or DEFAULT_NAMESPACE


def _role_of(binding: RoleBinding, roles: Mapping[ObjectKey, Rendered]) -> ObjectKey:
    """The role that a binding names; of a binding without a namespace, a Role without one or in `default`."""
    role = binding.role
    # kubectl puts what names no namespace into `default`, whichever of the two it was left out of.
    there = role._replace(namespace=namespace_of(binding.identity))
    return there if role.kind == "Role" and role not in roles and there in roles else role


class _Sources(NamedTuple):
    """The roles, their rules, and where each of them comes from, None for what every cluster has."""

    roles: Roles
    rules: Mapping[ObjectKey, tuple[PolicyRule, ...]]
    provenances: Mapping[ObjectKey, Provenance | None]

    @staticmethod
    def of(rendered: Mapping[ObjectKey, Rendered]) -> _Sources:
        roles = collect_roles((key, role.object) for key, role in rendered.items())
        # Copies of a role have the same tuple of rules.
        distinct = {id(role.rules): role.rules for role in roles.by_identity.values()}
        normal = {
            known: tuple(dict.fromkeys(part for rule in rules for part in normalize(rule)))
            for known, rules in distinct.items()
        }
        rules = {key: normal[id(role.rules)] for key, role in roles.by_identity.items()}
        provenances = {
            key: None if role.provenance.origin is Origin.KUBERNETES else role.provenance
            for key, role in rendered.items()
        }
        return _Sources(roles, rules, provenances)

    def behind(self, role: ObjectKey) -> Iterator[tuple[ObjectKey, PolicyRule, Provenance | None]]:
        """The rules that a role has, by itself or by aggregation, each with the role that it is in."""
        for source in self.roles.sources(role):
            yield from ((source, rule, self.provenances[source]) for rule in self.rules[source])


def _granted(binding: RoleBinding, role: ObjectKey, sources: _Sources) -> Iterator[Grant]:
    namespace = namespace_of(binding.identity)
    for subject in binding.subjects:
        for source, rule, provenance in sources.behind(role):
            # A RoleBinding gives no URLs: they are in no namespace.
            if not (rule.urls and namespace):
                yield Grant(subject, namespace, rule, role, source, binding.identity, provenance)


def _gained(role: ObjectKey, sources: _Sources) -> Iterator[Grant]:
    """What an aggregated role has beyond what every cluster has."""
    if sources.roles.by_identity[role].selectors:
        for source, rule, provenance in sources.behind(role):
            # What every cluster's `admin` may do is no news; what an operator adds to it is.
            if provenance is not None:
                yield Grant(Subject("ClusterRole", "", role.name), None, rule, role, source, None, provenance)
