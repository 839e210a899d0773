"""Whose permissions are shown, by what people call them, and where in the input their rules stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from olmc.explain.provenance import is_owned, place_finder
from olmc.kube.rbac import decode_rules, normalize
from olmc.kube.rbac_access import decode_binding, with_groups
from olmc.kube.rbac_forms import rendered_forms
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Location, Place
from olmc.model.objects import ACCOUNT, ObjectKey, Origin, PolicyRule, Rendered, Subject, labels_of
from olmc.model.operators import Csv
from olmc.output.messages import not_found
from olmc.rbac_report.builtin_roles import USER_ROLES
from olmc.rbac_report.permissions import Grant, Permissions, RoleGrant, SourceRule, namespace_of
from olmc.rbac_report.risks import Level, Risk, level_of, risks_of
from olmc.yaml import located

_AS_WRITTEN = (Origin.MANIFEST, Origin.BUNDLE, Origin.BUNDLE_UPDATE, Origin.STRATEGY)


def finder(objects: Iterable[Rendered], cluster: Cluster) -> Callable[[Grant], Location | None]:
    """A function that gives the place of the rule of a grant, read when it is asked for."""
    by_identity = {form.identity: form for rendered in objects for form in (rendered, *rendered_forms(rendered))}
    place_of = place_finder(cluster)

    # A role may have thousands of rules, so it is looked at once, and each place once.
    @cache
    def rules_of(source: ObjectKey) -> _RulePlaces:
        return _rule_places(by_identity[source], place_of(by_identity[source]))

    @cache
    def place_at(source: ObjectKey, index: int | None) -> Location | None:
        place = rules_of(source).role
        return located(place if place is None or index is None else place._replace(keys=(*place.keys, "rules", index)))

    def find(grant: Grant) -> Location | None:
        if grant.source not in by_identity:
            return None
        return place_at(grant.source, rules_of(grant.source).indices.get(grant.rule))

    return find


class _RulePlaces(NamedTuple):
    """The place of a role, and which of its rules a normalized one stems from; none where its rules stand nowhere."""

    role: Place | None
    indices: Mapping[PolicyRule, int]


def _rule_places(role: Rendered, place: Place | None) -> _RulePlaces:
    # What OLM makes of a rule stands nowhere in the input; then the place is that of whatever it was made from.
    if place is None or not (place.keys or (role.provenance.origin in _AS_WRITTEN and not is_owned(role.object))):
        return _RulePlaces(place, {})
    indices: dict[PolicyRule, int] = {}
    for index, written in enumerate(decode_rules(role.object.get("rules"))):
        for rule in normalize(written):
            indices.setdefault(rule, index)
    return _RulePlaces(place, indices)


MOST_VALUES, _FRAME = 150_000, 10
"""Permissions with so many values, and grants of them, are written down at once, where each counts for some more."""


class Permission(NamedTuple):
    """A rule that somebody has, the namespaces where it holds ("" for the whole cluster, None for where a role is
    bound), its risks there, and the grants that give it."""

    rule: PolicyRule
    namespaces: tuple[str | None, ...]
    level: Level
    risks: tuple[Risk, ...]
    grants: tuple[Grant, ...]


class PermissionHolder(NamedTuple):
    """A subject with its roles and those of its groups, and the operators that run under it.

    `level` is the level of the worst of its permissions.
    """

    subject: Subject
    operators: tuple[NamespacedName, ...]
    level: Level
    roles: tuple[RoleGrant, ...]

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Its permissions, dangerous ones first; to be asked for once."""
        by_rule: dict[PolicyRule, list[Grant]] = defaultdict(list)
        for role in self.roles:
            for each in role.rules:
                by_rule[each.rule].append(role.of(each))
        own = [_permission(rule, same) for rule, same in by_rule.items()]
        return tuple(sorted(own, key=lambda item: (-item.level, [risk.name for risk in item.risks], item.rule)))


class ShownPermissions(NamedTuple):
    """A holder, and so much of its permissions as is written down; `more` rules of its roles are left out."""

    holder: PermissionHolder
    permissions: tuple[Permission, ...]
    more: int


def first_permissions(everybody: Iterable[PermissionHolder], most: int = MOST_VALUES) -> Iterator[ShownPermissions]:
    """The permissions of holders in their order, the dangerous ones of each first, as long as they have no more than
    `most` values altogether.

    Who has what is a product, of which a small input may have millions.
    """
    left = most
    for holder in everybody:
        permissions = holder.permissions if left > 0 else ()
        shown: list[Permission] = []
        for permission in permissions:
            if left > 0:
                left -= _FRAME + sum(map(len, (*permission.rule, permission.grants)))
                shown.append(permission)
        more = len(permissions) - len(shown) if permissions else sum(len(role.rules) for role in holder.roles)
        yield ShownPermissions(holder, tuple(shown), more)


def holders(permissions: Permissions, objects: Iterable[Rendered]) -> tuple[PermissionHolder, ...]:
    """Everybody who has permissions by a binding, and the accounts of all operators; the most dangerous first."""
    by_subject = _by_subject(permissions.bound)
    running, level = _operators(objects), _leveller()
    everybody = []
    for subject in {*by_subject, *running}:
        # Who is in a group has what the group has, named or not.
        roles = tuple(role for member in with_groups(subject) for role in by_subject.get(member, ()))
        everybody.append(PermissionHolder(subject, tuple(running.get(subject, ())), level(roles), roles))
    return tuple(sorted(everybody, key=lambda holder: (-holder.level, holder.subject)))


def gainers(permissions: Permissions) -> tuple[PermissionHolder, ...]:
    """What whoever is bound to an aggregated role gains: admin, edit, view, then the roles of OperatorGroups."""
    level = _leveller()
    by_subject = _by_subject(permissions.gained)
    gaining = (PermissionHolder(subject, (), level(roles), tuple(roles)) for subject, roles in by_subject.items())
    return tuple(sorted(gaining, key=lambda holder: (_rank(holder.subject.name), holder.subject)))


def _by_subject(roles: Iterable[RoleGrant]) -> dict[Subject, list[RoleGrant]]:
    by_subject: dict[Subject, list[RoleGrant]] = defaultdict(list)
    for role in roles:
        by_subject[role.subject].append(role)
    return by_subject


def _leveller() -> Callable[[Iterable[RoleGrant]], Level]:
    """A function that gives the level of the worst permission by some roles; each role is looked at once."""
    known: dict[tuple[int, bool], tuple[tuple[SourceRule, ...], Level]] = {}

    def of_role(role: RoleGrant) -> Level:
        # In the whole cluster a rule is as dangerous as in a namespace, or more so, and in all namespaces alike.
        key = id(role.rules), role.namespace == ""
        if key not in known:
            level = max((level_of(each.rule, role.namespace) for each in role.rules), default=Level.NONE)
            known[key] = role.rules, level
        return known[key][1]

    return lambda roles: max(map(of_role, roles), default=Level.NONE)


def is_user_role(holder: PermissionHolder) -> bool:
    """Whether a gainer is one of the roles that every cluster has for users."""
    return holder.subject.name in USER_ROLES


def select_holders(everybody: Sequence[PermissionHolder], text: str) -> tuple[PermissionHolder, ...]:
    """The holders that a text means: `name`, `namespace/name`, `Kind/namespace/name`, or a CSV; QueryError for none."""
    selected = tuple(holder for holder in everybody if text in _names(holder))
    if not selected:
        shortest = {min(_names(holder), key=lambda name: (len(name), name)) for holder in everybody}
        others = {name for holder in everybody for name in _names(holder)}
        raise not_found(f"There is no subject {text}", text, sorted(shortest), sorted(others))
    return selected


def _names(holder: PermissionHolder) -> set[str]:
    kind, namespace, name = holder.subject
    names = {name, f"{namespace}/{name}", str(holder.subject), str(holder.subject).replace(kind, kind.lower(), 1)}
    if kind == ACCOUNT:
        names |= {f"sa/{namespace}/{name}", holder.subject.user_name}
    return names | {operator.name for operator in holder.operators} | set(map(str, holder.operators))


def of_unknown_roles(
    everybody: Iterable[PermissionHolder], permissions: Permissions, objects: Iterable[Rendered]
) -> Iterator[tuple[Subject, ObjectKey]]:
    """The accounts that operators run under and that are bound to roles which are not there, with the roles: what they
    may do by them, only the cluster knows."""
    accounts = {holder.subject for holder in everybody if holder.operators}
    named = dict(permissions.dangling)
    for rendered in (form for each in objects if named for form in rendered_forms(each)):
        role = named.get(rendered.identity)
        if role is not None:
            binding = decode_binding(rendered.identity, rendered.object, namespace_of(rendered.identity))
            yield from ((subject, role) for subject in binding.subjects if subject in accounts)


def _rank(name: str) -> int:
    return USER_ROLES.index(name) if name in USER_ROLES else len(USER_ROLES)


def _permission(rule: PolicyRule, grants: Sequence[Grant]) -> Permission:
    namespaces = sorted({grant.namespace for grant in grants}, key=lambda name: (name is not None, name or ""))
    # What holds in the whole cluster holds in each namespace.
    if "" in namespaces:
        namespaces = [""]
    risks = risks_of(rule, namespaces[0])
    level = risks[0].level(namespaces[0]) if risks else Level.NONE
    return Permission(rule, tuple(namespaces), level, risks, tuple(grants))


def _operators(objects: Iterable[Rendered]) -> dict[Subject, tuple[NamespacedName, ...]]:
    """The operators of each ServiceAccount: CSVs that are no copies, by the accounts of their install strategy."""
    by_account: dict[Subject, set[NamespacedName]] = defaultdict(set)
    for rendered in objects:
        key, labels = rendered.identity, labels_of(rendered.object)
        if key.kind == "ClusterServiceVersion" and "olm.copiedFrom" not in labels:
            for account in _accounts(Csv(rendered.object)):
                by_account[Subject(ACCOUNT, key.namespace, account)].add(NamespacedName(key.namespace, key.name))
    return {subject: tuple(sorted(names)) for subject, names in by_account.items()}


def _accounts(csv: Csv) -> Iterator[str]:
    yield from csv.service_account_names
    for pod in (deployment.pod for deployment in csv.deployments):
        yield str(pod.get("serviceAccountName") or pod.get("serviceAccount") or "default")
