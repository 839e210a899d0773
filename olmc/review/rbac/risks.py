"""The dangerous permissions, their level, and the reason: the table of `olmc rbac` and of reviews of upgrades."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache

from olmc.k8s.api.rbac import NAMELESS_VERBS, resource_matches, value_matches
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ANY, OLM_GROUP, OLM_V1_GROUP, RBAC, PolicyRule


class Level(IntEnum):
    """The level of a permission, by the need to review it.

    CRITICAL: a way to all of the cluster. HIGH: a way to credentials, nodes or objects of others. MEDIUM: power over
    objects on which others rely. LOW: wider than it looks, or grows by itself.
    """

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    def __str__(self) -> str:
        return self.name.lower()


class Risk(NamedTuple):
    """A danger, and the rules that have it: those that allow any of `verbs` on any of `resources` of `group`.

    With `wildcard`, those with a `*` in this field instead. `cluster` and `namespaced` are the levels of a rule that
    holds in the whole cluster, or in a namespace. Rules limited to named objects count only if `named`, mostly in an
    entry of a lower level behind that for all objects: an operator that changes its own webhook can't change every
    webhook, but the name does not show whose webhook it is. With `only` there must be names, one of these among
    them, and with `harmless` one that is not among those.
    """

    name: str
    cluster: Level
    namespaced: Level
    verbs: tuple[str, ...]
    group: str
    resources: tuple[str, ...]
    why: str
    named: bool
    wildcard: str
    only: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()

    def level(self, namespace: str | None) -> Level:
        """The level where a rule holds: in a namespace, "" for the whole cluster, None as in Grant."""
        return self.cluster if namespace == "" else self.namespaced


_NONE, _LOW, _MEDIUM, _HIGH, _CRITICAL = Level
_WRITE = "create update patch"
_CHANGE = f"{_WRITE} delete deletecollection"
_CORE = ""
_ADMISSION = "admissionregistration.k8s.io"
_CSR = "certificates.k8s.io"
_SCC = "security.openshift.io"
_CONFIG = "config.openshift.io"
_OAUTH = "oauth.openshift.io"

# Of OpenShift's constraints those that allow neither root nor anything of the node, and the one that allows root alone.
MILD_CONSTRAINTS = ("nonroot", "nonroot-v2", "restricted", "restricted-v2", "restricted-v3")
_ROOT = "anyuid"
_ANY_USER, _NODE = "run as any user, root included", "use directories, the network, ports and namespaces of the node"
CONSTRAINT_POWERS: Mapping[str, str] = {
    "privileged": "do everything on the node, as root",
    _ROOT: _ANY_USER,
    "hostaccess": _NODE,
    "hostmount-anyuid": f"use directories of the node, and {_ANY_USER}",
    "hostmount-anyuid-v2": f"use directories of the node, and {_ANY_USER}",
    "hostnetwork": "use the network and ports of the node",
    "hostnetwork-v2": "use the network and ports of the node",
    "node-exporter": f"{_NODE}, and {_ANY_USER}",
    "nested-container": "run as any user of a user namespace",
    "nonroot": "run as any user but root",
    "nonroot-v2": "run as any user but root",
}
"""By constraint of OpenShift what it lets pods do more than others."""
# Roles without rights to change anything or to read a secret.
_MILD_ROLES = "view system:basic-user system:discovery system:public-info-viewer"

_ESCALATE = "May write roles that allow more than it may do itself, so it can give itself anything."
_IMPERSONATE = "May act as another user; a member of system:masters may do everything."
_WORKLOADS = "Starts containers of any image under any ServiceAccount of the namespace, with its secrets mounted."
_POD_MAKERS = (
    (_CORE, "pods podtemplates replicationcontrollers"),
    ("apps", "daemonsets deployments replicasets statefulsets"),
    ("batch", "cronjobs jobs"),
)
_ROLES = "May change the permissions of others with these roles, up to its own permissions."
_PODS = "Runs commands in containers or talks to their ports, with all that the workload knows and may do."
_BINDING = "May pass on its own permissions by this one binding, for any other subjects."
_ROLE = "May change the permissions of others with this one role, up to its own permissions."
_INSTALLED = (
    "May change what OLM installs for one operator, or take it from elsewhere, with the permissions that OLM gives it."
)
_OWN_ADMISSION = "May change what one configuration, its own or that of others, sees on its way into the cluster."
_V0_KINDS = "catalogsources clusterserviceversions installplans operatorgroups subscriptions"
_V1_KINDS = "clustercatalogs clusterextensionrevisions clusterextensions clusterobjectsets"
_MUTATING = "mutatingwebhookconfigurations mutatingadmissionpolicies mutatingadmissionpolicybindings"
_VALIDATING = "validatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings"
_BINDINGS = "May pass on all its own permissions, and together with bind any permission."


def _risk(
    name: str, cluster: Level, namespaced: Level, verbs: str, group: str, resources: str, why: str,
    named: bool = False, wildcard: str = "", only: str = "", harmless: str = "",
) -> Risk:  # fmt: skip
    names = frozenset(only.split()), frozenset(harmless.split())
    return Risk(
        name, cluster, namespaced, tuple(verbs.split()), group, tuple(resources.split()), why, named, wildcard, *names
    )


RISKS: tuple[Risk, ...] = (
    _risk("everything", _CRITICAL, _HIGH, ANY, ANY, ANY,
          "May do anything with any resource, like cluster-admin."),
    _risk("escalate", _CRITICAL, _HIGH, "escalate", RBAC, "roles", _ESCALATE, named=True),
    _risk("escalate", _CRITICAL, _NONE, "escalate", RBAC, "clusterroles", _ESCALATE, named=True),
    _risk("bind", _CRITICAL, _HIGH, "bind", RBAC, "clusterroles roles",
          "May bind anybody, itself included, to roles that allow more than it may do itself.", named=True,
          harmless=_MILD_ROLES),
    _risk("bind to view", _LOW, _LOW, "bind", RBAC, "clusterroles",
          "May let anybody see most objects, those with secrets excepted.", named=True, only=_MILD_ROLES),
    _risk("impersonate", _CRITICAL, _NONE, "impersonate", _CORE, "users groups", _IMPERSONATE, named=True),
    _risk("impersonate", _CRITICAL, _HIGH, "impersonate", _CORE, "serviceaccounts", _IMPERSONATE, named=True),
    _risk("impersonate", _HIGH, _NONE, "impersonate", "authentication.k8s.io", "uids userextras/*",
          "May set the uid or the scopes that authorization webhooks check.", named=True),
    _risk("serviceaccounts/token", _CRITICAL, _HIGH, "create", _CORE, "serviceaccounts/token",
          "Gets a token of any ServiceAccount there, and with it all that this account may do."),
    _risk("serviceaccounts/token", _HIGH, _MEDIUM, "create", _CORE, "serviceaccounts/token",
          "Gets tokens of the ServiceAccounts that are called so, and with them all that these may do.",
          named=True),
    _risk("nodes/proxy", _CRITICAL, _NONE, "get create update patch", _CORE, "nodes/proxy",
          "Reaches the kubelets: runs commands in every pod of a node, past admission and the audit log.", named=True),
    _risk("CSR approval", _CRITICAL, _NONE, "update patch", _CSR, "certificatesigningrequests/approval",
          "May approve client certificates for any name of a user or group.", named=True),
    _risk("CSR approval", _CRITICAL, _NONE, "approve sign", _CSR, "signers",
          "May approve client certificates for any name of a user or group.", named=True),
    _risk("installing operators", _CRITICAL, _HIGH, _WRITE, OLM_GROUP, _V0_KINDS,
          "May have OLM install operators, and OLM grants all permissions that a bundle requests."),
    _risk("installing operators", _CRITICAL, _NONE, _WRITE, OLM_V1_GROUP, _V1_KINDS,
          "May have OLM v1 install any content under any ServiceAccount, or change what catalogs offer."),
    _risk("installing operators", _HIGH, _MEDIUM, _WRITE, OLM_GROUP, _V0_KINDS, _INSTALLED, named=True),
    _risk("installing operators", _HIGH, _NONE, _WRITE, OLM_V1_GROUP, _V1_KINDS, _INSTALLED, named=True),
    _risk("mutating admission", _CRITICAL, _NONE, _WRITE, _ADMISSION, _MUTATING,
          "May see and change every object on its way into the cluster."),
    _risk("mutating admission", _MEDIUM, _NONE, _WRITE, _ADMISSION, _MUTATING, _OWN_ADMISSION, named=True),
    _risk("security context constraints", _CRITICAL, _NONE, _WRITE, _SCC, "securitycontextconstraints",
          "Decides which privileges pods may have, its own included.", named=True),
    _risk("machine configs", _CRITICAL, _NONE, _WRITE, "machineconfiguration.openshift.io",
          "containerruntimeconfigs kubeletconfigs machineconfigs",
          "Writes files and starts services on the nodes, as root.", named=True),
    _risk("logins", _CRITICAL, _NONE, _WRITE, _CONFIG, "oauths",
          "Decides who people are: may add a way to log in as anybody.", named=True),
    _risk("logins", _CRITICAL, _HIGH, f"{_WRITE} delete", _CORE, "configmaps",
          "Decides who people and API servers are: these ConfigMaps say by which roles and certificates.",
          named=True, only="aws-auth extension-apiserver-authentication"),
    _risk("logins", _CRITICAL, _NONE, _WRITE, _OAUTH, "oauthaccesstokens oauthauthorizetokens",
          "Makes tokens of any user, cluster administrators included."),
    _risk("logins", _HIGH, _NONE, _WRITE, _OAUTH, "oauthclients",
          "May have the tokens of people who log in sent to itself.", named=True),
    _risk("privileged pods", _HIGH, _MEDIUM, "use", _SCC, "securitycontextconstraints",
          "May start pods with the privileges that these constraints allow, up to those of the node.", named=True,
          harmless=" ".join((*MILD_CONSTRAINTS, _ROOT))),
    _risk("pods as root", _MEDIUM, _MEDIUM, "use", _SCC, "securitycontextconstraints",
          "May start pods that run as any user, root included.", named=True, only=_ROOT),
    _risk("validating admission", _HIGH, _NONE, _CHANGE, _ADMISSION, _VALIDATING,
          "May read every object on its way into the cluster, reject it, or disable checks of others."),
    _risk("validating admission", _MEDIUM, _NONE, _CHANGE, _ADMISSION, _VALIDATING, _OWN_ADMISSION, named=True),
    _risk("API services", _HIGH, _NONE, _WRITE, "apiregistration.k8s.io", "apiservices",
          "May send the requests for a whole API group, credentials included, to a server of its own."),
    _risk("API services", _MEDIUM, _NONE, _WRITE, "apiregistration.k8s.io", "apiservices",
          "May send the requests for one API group, its own or that of others, to a server of its own.", named=True),
    _risk("secrets", _HIGH, _MEDIUM, "get list watch", _CORE, "secrets",
          "Reads passwords, keys and tokens; list and watch show the contents as well."),
    _risk("writing secrets", _HIGH, _LOW, _WRITE, _CORE, "secrets",
          "Replaces keys and certificates that others trust, and has tokens made for any ServiceAccount there."),
    _risk("pods/exec", _HIGH, _MEDIUM, "create get", _CORE, "pods/attach pods/exec pods/portforward pods/proxy", _PODS),
    _risk("pods/exec", _HIGH, _MEDIUM, "update patch", _CORE, "pods/ephemeralcontainers", _PODS),
    _risk("services/proxy", _HIGH, _MEDIUM, "create get update patch", _CORE, "services/proxy",
          "Talks to any service through the API server, past network policies."),
    _risk("deleting namespaces", _HIGH, _NONE, "delete deletecollection", _CORE, "namespaces",
          "May delete a namespace with everything in it, of any owner."),
    _risk("host storage", _HIGH, _NONE, "create", _CORE, "persistentvolumes",
          "May make volumes of directories on the nodes, regardless of pod security."),
    _risk("role bindings", _MEDIUM, _NONE, _WRITE, RBAC, "clusterrolebindings", _BINDINGS),
    _risk("role bindings", _MEDIUM, _MEDIUM, _WRITE, RBAC, "rolebindings", _BINDINGS),
    _risk("role bindings", _LOW, _NONE, _WRITE, RBAC, "clusterrolebindings", _BINDING, named=True),
    _risk("role bindings", _LOW, _LOW, _WRITE, RBAC, "rolebindings", _BINDING, named=True),
    _risk("roles", _MEDIUM, _NONE, _WRITE, RBAC, "clusterroles", _ROLES),
    _risk("roles", _MEDIUM, _MEDIUM, _WRITE, RBAC, "roles", _ROLES),
    _risk("roles", _LOW, _NONE, _WRITE, RBAC, "clusterroles", _ROLE, named=True),
    _risk("roles", _LOW, _LOW, _WRITE, RBAC, "roles", _ROLE, named=True),
    *(_risk("workloads", _HIGH, _LOW, _WRITE, group, resources, _WORKLOADS) for group, resources in _POD_MAKERS),
    *(_risk("workloads", _MEDIUM, _NONE, _WRITE, group, resources,
            "Changes the containers of workloads that are called so, with what these may do.", named=True)
      for group, resources in _POD_MAKERS),
    _risk("ServiceAccounts", _MEDIUM, _LOW, _WRITE, _CORE, "serviceaccounts",
          "May change which registries accounts get images from, and the annotations that clouds go by."),
    _risk("traffic", _MEDIUM, _LOW, _WRITE, "discovery.k8s.io", "endpointslices",
          "May send the requests that others make to a service somewhere else."),
    _risk("traffic", _MEDIUM, _LOW, _WRITE, _CORE, "endpoints",
          "May send the requests that others make to a service somewhere else."),
    _risk("nodes", _MEDIUM, _NONE, "update patch delete deletecollection", _CORE, "nodes nodes/status",
          "May draw pods to a node or drive them away."),
    _risk("namespaces", _MEDIUM, _NONE, "update patch", _CORE, "namespaces",
          "May relax pod security, which is a label of the namespace, or move it under other selectors."),
    _risk("custom resource definitions", _MEDIUM, _NONE, _CHANGE, "apiextensions.k8s.io", "customresourcedefinitions",
          "May change any custom API, send its objects through a webhook, or delete it with all its objects."),
    _risk("every API group", _MEDIUM, _LOW, "", "", "",
          "Includes every API of the cluster, those of operators that come later as well.", True, "groups"),
    _risk("every URL", _MEDIUM, _NONE, "", "", "",
          "Includes metrics, logs and profiles of the API server.", True, "urls"),
    _risk("every resource", _LOW, _LOW, "", "", "",
          "Includes every resource of the group, those of later versions as well.", True, "resources"),
    _risk("every verb", _LOW, _LOW, "", "", "",
          "Includes deletecollection, and verbs that only later versions know.", True, "verbs"),
)  # fmt: skip


def _levels(values_of: Callable[[Risk], Iterable[str]]) -> Mapping[str, Level]:
    """The values of a field in the table, each with the gravest level of the risks that have it."""
    levels: dict[str, Level] = {}
    for risk in RISKS:
        for value in values_of(risk):
            levels[value] = max(risk.cluster, levels.get(value, Level.NONE))
    return levels


def _with_wildcard(risk: Risk) -> Iterator[str]:
    """The resources of a risk, and `*/exec`, which includes `pods/exec`."""
    for resource in risk.resources:
        _, slash, subresource = resource.partition("/")
        yield from (resource, f"{ANY}{slash}{subresource}") if slash else (resource,)


_VERBS = _levels(lambda risk: risk.verbs)
_GROUPS = _levels(lambda risk: (risk.group,))
_RESOURCES = _levels(_with_wildcard)


def verb_level(verb: str) -> Level:
    """The gravest level that a verb may have, NONE for one that is in no risk."""
    return _VERBS.get(verb, Level.NONE)


def group_level(group: str) -> Level:
    """The gravest level that an API group may have."""
    return _GROUPS.get(group, Level.NONE)


def resource_level(resource: str) -> Level:
    """The gravest level that a resource may have, be it for all subresources that it is one of."""
    every_subresource = f"{resource.partition('/')[0]}/{ANY}"
    return max(_RESOURCES.get(resource, Level.NONE), _RESOURCES.get(every_subresource, Level.NONE))


def gravest_first(values: Sequence[str], level: Callable[[str], Level], most: int) -> Sequence[str]:
    """Values of which only `most` are shown, in such an order that harmless ones do not hide a dangerous one.

    A list that is shown whole stays in its order.
    """
    return values if len(values) <= most else sorted(values, key=lambda value: -level(value))


@lru_cache(maxsize=4_096)
def risks_of(rule: PolicyRule, namespace: str | None) -> tuple[Risk, ...]:
    """The risks of a rule that holds in a namespace ("" for the whole cluster, None as in Grant), the gravest first.

    Each name is there once, and `everything` stands for all others.
    """
    by_name: dict[str, Risk] = {}
    for risk in RISKS:
        # The table has the gravest of a name first.
        if risk.level(namespace) and risk.name not in by_name and _has(rule, risk):
            by_name[risk.name] = risk
    if "everything" in by_name:
        return (by_name["everything"],)
    return tuple(sorted(by_name.values(), key=lambda risk: -risk.level(namespace)))


def level_of(rule: PolicyRule, namespace: str | None) -> Level:
    """The level of a rule's gravest risk where it holds, NONE for a harmless one."""
    return max((risk.level(namespace) for risk in risks_of(rule, namespace)), default=Level.NONE)


def _has(rule: PolicyRule, risk: Risk) -> bool:
    if _counts_by_name(rule, risk):
        return _allows_any(rule, risk)
    if "" not in rule.names or risk.only:
        return False
    # A request to list or to create objects has the name "" for objects of any name; a request for a subresource has
    # the name of the object that it is of.
    verbs = tuple(verb for verb in NAMELESS_VERBS if value_matches(rule.verbs, verb))
    wanted = tuple(verb for verb in risk.verbs if verb in NAMELESS_VERBS)
    whole = tuple(resource for resource in risk.resources if "/" not in resource)
    return bool(verbs) and _allows_any(rule._replace(verbs=verbs), risk._replace(verbs=wanted, resources=whole))


def _counts_by_name(rule: PolicyRule, risk: Risk) -> bool:
    # A rule for one Secret is rarely a way to all; for `escalate` the name of the role hardly matters.
    if rule.names and not risk.named:
        return False
    if risk.only:
        return not risk.only.isdisjoint(rule.names)
    return not (rule.names and risk.harmless.issuperset(rule.names))


def _allows_any(rule: PolicyRule, risk: Risk) -> bool:
    if risk.wildcard == "urls":
        # Every path begins with a slash.
        return any(url.endswith(ANY) and url.rstrip(ANY) in ("", "/") for url in rule.urls)
    if risk.wildcard:
        return ANY in getattr(rule, risk.wildcard)
    return (
        value_matches(rule.groups, risk.group)
        and any(value_matches(rule.verbs, verb) for verb in risk.verbs)
        and any(_includes(rule.resources, resource) for resource in risk.resources)
    )


def _includes(resources: tuple[str, ...], wanted: str) -> bool:
    """Return whether a rule includes a resource of the table, where `userextras/*` stands for any subresource."""
    base, slash, subresource = wanted.partition("/")
    if subresource != ANY:
        return resource_matches(resources, wanted)
    return any(resource == ANY or resource.startswith((f"{base}{slash}", f"{ANY}{slash}")) for resource in resources)
