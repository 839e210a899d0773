"""The permissions of subjects by the RBAC of a cluster: subjects, bindings, and the rules that a subject can't
grant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from operator import or_
from typing import Any

from olmc.k8s.api.rbac import EVERYTHING, decode_rules, requests_of, rules_allow, rules_decoder
from olmc.k8s.api.selectors import LabelIndex, is_selector
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    RBAC,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    labels_of,
    mapping,
    mappings,
)
from olmc.k8s.strconv import quoted

# The roles of a cluster, and what aggregated ones consist of.
#
# An aggregated ClusterRole has the rules of all ClusterRoles that its selectors match, aggregated ones among them. Of
# thousands that select each other in circles each selector is evaluated once, and each set of roles is followed once;
# sets are the bits of a number.

_CLUSTER_ADMIN = ObjectKey(RBAC, "ClusterRole", "", "cluster-admin")

Selectors = tuple[Mapping[str, Any], ...]
Join = Callable[[Sequence[tuple[Any, ...]]], tuple[PolicyRule, ...]]
"""A function that joins the rules of several roles into one tuple."""


class Role(NamedTuple):
    """A Role or ClusterRole: its own rules, its labels, and the selectors of what it aggregates.

    Selectors that the API server would refuse are left out: as long as Kubernetes can't read them, it does not fill in
    any rules, and those that are there stay.
    """

    rules: tuple[PolicyRule, ...]
    labels: Mapping[str, str]
    selectors: Selectors


def decode_selectors(listed: Any) -> Selectors:
    """The selectors in an aggregationRule that the API server takes."""
    return tuple(selector for selector in listed if is_selector(selector)) if isinstance(listed, list) else ()


def decode_role(
    obj: KubernetesObject,
    decode: Callable[[Any], tuple[PolicyRule, ...]] = decode_rules,
    selectors: Callable[[Any], Selectors] = decode_selectors,
) -> Role:
    """Decode a Role or ClusterRole, also an invalid one. `decode` decodes its rules."""
    labels = labels_of(obj)
    # A Role has no such field, so the API server drops it, and the rules stay.
    aggregates = obj.get("kind") == "ClusterRole"
    return Role(
        decode(obj.get("rules")),
        {key: value for key, value in labels.items() if isinstance(value, str)},
        selectors(mapping(obj.get("aggregationRule")).get("clusterRoleSelectors")) if aggregates else (),
    )


class Roles(NamedTuple):
    """The roles of a cluster.

    `sources` gives the roles whose rules a role has: itself, or all that it aggregates, over any number of steps;
    sorted, and the same tuple for roles that aggregate the same. Kubernetes overwrites the own rules of an aggregated
    role, so they never count.
    """

    by_identity: Mapping[ObjectKey, Role]
    sources: Callable[[ObjectKey], tuple[ObjectKey, ...]]
    rules: Callable[[ObjectKey], tuple[PolicyRule, ...]]
    """The rules of its sources, the same tuple for roles with the same ones."""


def joined_once(join: Join) -> Join:
    """A function that joins the rules of several roles as `join` does: for the very same roles the very same tuple, and
    a role that somebody is bound to twice counts once. What is joined has to be kept by the caller."""
    known: dict[tuple[int, ...], tuple[PolicyRule, ...]] = {}

    def joined(parts: Sequence[tuple[Any, ...]]) -> tuple[PolicyRule, ...]:
        distinct = {id(part): part for part in parts}
        of = tuple(distinct)
        if of not in known:
            known[of] = join(tuple(distinct.values()))
        return known[of]

    return joined


def chained(parts: Sequence[tuple[PolicyRule, ...]]) -> tuple[PolicyRule, ...]:
    """The rules of several roles one after the other; those of a single one as they are."""
    return parts[0] if len(parts) == 1 else tuple(chain.from_iterable(parts))


def collect_roles(
    objects: Iterable[tuple[ObjectKey, KubernetesObject]], decoded: Mapping[ObjectKey, Role] | None = None
) -> Roles:
    """The roles among objects and those that are `decoded`; `cluster-admin` is there without being among them
    (R-PERM-5)."""
    # The API server puts it there whenever it starts, so hardly any workspace has it.
    by_identity = {_CLUSTER_ADMIN: Role(EVERYTHING, {}, ()), **(decoded or {})}
    decode, selectors = rules_decoder(), _once_for_each(decode_selectors)
    for key, obj in objects:
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            by_identity[key] = decode_role(obj, decode, selectors)
    sources = _sources(by_identity)

    @cache
    def rules_of(found: tuple[ObjectKey, ...]) -> tuple[PolicyRule, ...]:
        return chained([by_identity[source].rules for source in found])

    return Roles(by_identity, sources, lambda role: rules_of(sources(role)))


def _once_for_each(decode: Callable[[Any], Selectors]) -> Callable[[Any], Selectors]:
    """A function that decodes the very same list, as aliases of one are, once."""
    known: dict[int, tuple[Any, Selectors]] = {}

    def decoded(listed: Any) -> Selectors:
        if id(listed) not in known:  # which is kept: once it were gone, another list might have its id
            known[id(listed)] = listed, decode(listed)
        return known[id(listed)][1]

    return decoded


def _sources(roles: Mapping[ObjectKey, Role]) -> Callable[[ObjectKey], tuple[ObjectKey, ...]]:
    """`Roles.sources`; nothing is looked at before it is asked for."""
    aggregation = cache(lambda: _Aggregation.of(roles))

    @cache
    def leaves(selected: int) -> tuple[ObjectKey, ...]:
        return aggregation().leaves(selected)

    def sources(role: ObjectKey) -> tuple[ObjectKey, ...]:
        return leaves(aggregation().selected[role]) if roles[role].selectors else (role,)

    return sources


class _Aggregation(NamedTuple):
    """All ClusterRoles, sorted, and of those that are aggregated which ones they select, by bits; `aggregated` has the
    bits of these."""

    keys: Sequence[ObjectKey]
    selected: Mapping[ObjectKey, int]
    aggregated: int

    @staticmethod
    def of(roles: Mapping[ObjectKey, Role]) -> _Aggregation:
        keys = sorted(key for key in roles if key.kind == "ClusterRole")
        index = LabelIndex.of([roles[key].labels for key in keys])
        known: dict[int, int] = {}
        selected: dict[ObjectKey, int] = {}
        for key in keys:
            selectors = roles[key].selectors
            if selectors and id(selectors) not in known:
                known[id(selectors)] = reduce(or_, map(index.selected, selectors))
            if selectors:
                selected[key] = known[id(selectors)]
        return _Aggregation(keys, selected, sum(1 << position for position, key in enumerate(keys) if key in selected))

    def leaves(self, selected: int) -> tuple[ObjectKey, ...]:
        """The roles with rules of their own among these, or among those that they select in turn."""
        seen, left = selected, selected & self.aggregated
        while left:
            last = left.bit_length() - 1
            new = self.selected[self.keys[last]] & ~seen
            seen |= new
            left = (left ^ (1 << last)) | (new & self.aggregated)
        return tuple(self.keys[position] for position in _bits(seen & ~self.aggregated))


def _bits(number: int) -> Iterator[int]:
    """The positions of the bits that are set, the lowest first."""
    return (position for position, digit in enumerate(reversed(f"{number:b}")) if digit == "1")


_AUTHENTICATED = Subject("Group", "", "system:authenticated")
_MASTERS = Subject("Group", "", "system:masters")


def subject_of(name: str) -> Subject:
    """The subject that a user name stands for: of `system:serviceaccount:ns:name` that service account."""
    parts = name.split(":")
    is_account = len(parts) == 4 and parts[:2] == ["system", "serviceaccount"]
    return Subject(ACCOUNT, *parts[2:]) if is_account else Subject("User", "", name)


def with_groups(subject: Subject, *groups: str) -> tuple[Subject, ...]:
    """A subject with the groups that it is in without anybody saying so, and other groups, by name.

    See https://kubernetes.io/docs/reference/access-authn-authz/authentication/.
    """
    return subject, *_implicit_groups(subject), *(Subject("Group", "", name) for name in groups)


def _implicit_groups(subject: Subject) -> tuple[Subject, ...]:
    if subject.kind == ACCOUNT:
        accounts = "system:serviceaccounts"
        return Subject("Group", "", accounts), Subject("Group", "", f"{accounts}:{subject.namespace}"), _AUTHENTICATED
    if subject == Subject("User", "", "system:anonymous"):
        return (Subject("Group", "", "system:unauthenticated"),)
    return (_AUTHENTICATED,) if subject.kind == "User" else ()


class RoleBinding(NamedTuple):
    """A RoleBinding or ClusterRoleBinding: the role that it names, there or not, and whom it is for."""

    identity: ObjectKey
    role: ObjectKey
    subjects: tuple[Subject, ...]


def decode_binding(key: ObjectKey, obj: KubernetesObject, namespace: str | None = None) -> RoleBinding:
    """Decode a binding, also an invalid one. `namespace` is that of service accounts without one, None for that of the
    binding."""
    ref = mapping(obj.get("roleRef"))
    kind, name = str(ref.get("kind") or ""), str(ref.get("name") or "")
    role = ObjectKey(RBAC, kind, key.namespace if kind == "Role" else "", name)
    return RoleBinding(key, role, tuple(_subjects(obj, key.namespace if namespace is None else namespace)))


def _subjects(obj: KubernetesObject, namespace: str) -> Iterator[Subject]:
    for subject in mappings(obj.get("subjects")):
        kind, name = str(subject.get("kind") or ""), str(subject.get("name") or "")
        if kind == ACCOUNT:
            yield Subject(ACCOUNT, str(subject.get("namespace") or namespace), name)
        elif kind == "User":
            # The API server compares user names, so a User that is called like an account is that account.
            yield subject_of(name)
        elif kind == "Group":
            yield Subject(kind, "", name)


class Access(NamedTuple):
    """The rules that subjects have: in the whole cluster, and in a namespace.

    Subjects with the rules of a single role share the tuple of that role.
    """

    cluster: Mapping[Subject, Sequence[PolicyRule]]
    local: Mapping[tuple[Subject, str], Sequence[PolicyRule]]

    def rules(self, namespace: str | None, *subjects: Subject) -> tuple[PolicyRule, ...]:
        """The rules that count for somebody who is all these subjects in a namespace, or with none in the cluster."""
        # The API server lets members of system:masters pass before it looks at any RBAC.
        parts: list[Sequence[PolicyRule]] = [EVERYTHING] if _MASTERS in subjects else []
        for subject in subjects:
            parts.append(self.cluster.get(subject, ()))
            parts.append(self.local.get((subject, namespace), ()) if namespace else ())
        return chained([tuple(part) for part in parts if part])


def access(objects: Mapping[ObjectKey, Rendered], *, aggregated: bool = False) -> Access:
    """The access that the RBAC objects among `objects` give.

    With `aggregated`, ClusterRoles that select others have the rules of those, as the controller of Kubernetes fills
    them in. OLM's permission check counts them as they stand in the workspace (R-PERM-5).
    """
    known = collect_roles((key, rendered.object) for key, rendered in objects.items())
    cluster: dict[Subject, list[tuple[PolicyRule, ...]]] = defaultdict(list)
    local: dict[tuple[Subject, str], list[tuple[PolicyRule, ...]]] = defaultdict(list)
    for key, rendered in objects.items():
        if key.group != RBAC or not key.kind.endswith("Binding"):
            continue
        _, role, subjects = decode_binding(key, rendered.object)
        # A binding to a role that is not there grants nothing (R-PERM-2).
        if role not in known.by_identity:
            continue
        rules = known.rules(role) if aggregated else known.by_identity[role].rules
        for subject in subjects:
            (cluster[subject] if key.kind == "ClusterRoleBinding" else local[subject, key.namespace]).append(rules)
    joined = joined_once(chained)
    return Access(
        {subject: joined(parts) for subject, parts in cluster.items()},
        {where: joined(parts) for where, parts in local.items()},
    )


# What Kubernetes lets every account do, by the groups that it is in (`system:basic-user`, `system:discovery`, …).
_EVERYBODY = (
    PolicyRule(("create",), ("authorization.k8s.io",), ("selfsubjectaccessreviews", "selfsubjectrulesreviews")),
    PolicyRule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",)),
    PolicyRule(
        ("get",),
        urls=(
            *("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/"),
            *("/healthz", "/livez", "/readyz", "/.well-known/openid-configuration", "/openid/v1/jwks"),
        ),
    ),
)
_PLURALS = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}


def access_refusal(access: Access, subject: Subject, request: Request, namespace: str) -> str:
    """Return the API server's error for a forbidden request in a namespace, "" for a resource without namespaces; "" if
    the request is allowed."""
    if rules_allow(access.rules(namespace, subject), request):
        return ""
    group, resource = request.group, request.resource
    full = f"{resource}.{group}" if group else resource
    named = f'{full} "{request.name}"' if request.name else full
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    return (
        f'{named} is forbidden: User "{subject.user_name}" cannot {request.verb} resource "{resource}" in API group '
        f'"{group}" {where}'
    )


def escalation_refusal(
    access: Access, subject: Subject, key: ObjectKey, obj: KubernetesObject, objects: Mapping[ObjectKey, Rendered]
) -> str:
    """Return the API server's error for a new Role or binding that grants rights which its creator lacks, "" otherwise
    (R-CAT-605).

    An account that may create Roles and bindings may grant only its own rights, unless it has the verbs `escalate` and
    `bind`.
    """
    granted = access.rules(key.namespace, subject)
    missing = _missing_rules(granted, key, obj, objects)
    if not missing:
        return ""
    _, *groups = (member.name for member in with_groups(subject))
    return (
        f'{_PLURALS[key.kind]}.{RBAC} "{key.name}" is forbidden: user "{subject.user_name}" '
        f"(groups={_quoted_list(groups)}) is attempting to grant RBAC permissions not currently held:\n{missing}"
    )


def _missing_rules(
    granted: Sequence[PolicyRule], key: ObjectKey, obj: KubernetesObject, objects: Mapping[ObjectKey, Rendered]
) -> str:
    """The rights that a Role or binding would give away without their being `granted`, as Kubernetes lists them."""
    if key.kind in ("Role", "ClusterRole"):
        exception, rules = Request("escalate", RBAC, _PLURALS[key.kind]), decode_rules(obj.get("rules"))
    elif key.kind in _PLURALS:
        bound = decode_binding(key, obj).role
        exception = Request("bind", RBAC, _PLURALS.get(bound.kind, ""), bound.name)
        role = collect_roles((other, rendered.object) for other, rendered in objects.items()).by_identity.get(bound)
        rules = role.rules if role is not None else ()
    else:
        return ""
    if rules_allow(granted, exception):
        return ""
    # Kubernetes takes the new rules apart and looks for each right among all that the account has, so that several
    # narrow rules may add up to a wide one (ConfirmNoEscalation in its pkg/registry/rbac/validation).
    held = (*granted, *_EVERYBODY)
    verbs: dict[PolicyRule, list[str]] = defaultdict(list)
    for rule in rules:
        for request in requests_of(rule):
            if not rules_allow(held, request):
                verbs[_about(rule, request)].append(request.verb)
    missing = (rule._replace(verbs=rule.verbs or tuple(listed)) for rule, listed in verbs.items())
    return "\n".join(sorted({_shown(rule) for rule in missing}))


def _about(rule: PolicyRule, request: Request) -> PolicyRule:
    """Return the part of a rule for one request. Kubernetes lists the verbs on one resource, and on one name of it,
    together, but each verb on a URL by itself."""
    if request.url:
        return PolicyRule((request.verb,), urls=(request.url,))
    return PolicyRule((), (request.group,), (request.resource,), rule.names and (request.name or "",))


def _shown(rule: PolicyRule) -> str:
    """A rule as Go prints its fields."""
    fields = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{_quoted_list(values)}" for name, values in fields if values) + "}"


def _quoted_list(values: Iterable[str]) -> str:
    """Texts as Go's %q prints a list of them."""
    return f"[{' '.join(map(quoted, values))}]"
