"""Whose permissions are shown, by what people call them, and where in the input their rules stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from olmc.explain.provenance import is_owned, place_finder
from olmc.kube.rbac import decode_rules, normalize
from olmc.kube.rbac_access import decode_binding, with_groups
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Location, Place
from olmc.model.objects import ACCOUNT, ObjectKey, Origin, PolicyRule, Rendered, Subject, labels_of
from olmc.model.operators import Csv
from olmc.output.messages import not_found
from olmc.rbac_report.permissions import USER_ROLES, Grant, Permissions, namespace_of
from olmc.rbac_report.risks import Level, Risk, risks_of
from olmc.yaml import located

_AS_WRITTEN = (Origin.MANIFEST, Origin.BUNDLE, Origin.BUNDLE_UPDATE, Origin.STRATEGY)


def finder(objects: Iterable[Rendered], cluster: Cluster) -> Callable[[Grant], Location | None]:
    """A function that gives the place of the rule of a grant, read when it is asked for."""
    by_identity = {rendered.identity: rendered for rendered in objects}
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


class Permission(NamedTuple):
    """A rule that somebody has, the namespaces where it holds ("" for the whole cluster, None for where a role is
    bound), its risks there, and the grants that give it."""

    rule: PolicyRule
    namespaces: tuple[str | None, ...]
    level: Level
    risks: tuple[Risk, ...]
    grants: tuple[Grant, ...]


class PermissionHolder(NamedTuple):
    """A subject with its permissions, dangerous ones first, and the operators that run under it.

    `level` is the level of the worst of them.
    """

    subject: Subject
    operators: tuple[NamespacedName, ...]
    level: Level
    permissions: tuple[Permission, ...]


def holders(permissions: Permissions, objects: Iterable[Rendered]) -> tuple[PermissionHolder, ...]:
    """Everybody who has permissions by a binding, and the accounts of all operators; the most dangerous first."""
    by_subject: dict[Subject, list[Grant]] = defaultdict(list)
    for grant in permissions.grants:
        by_subject[grant.subject].append(grant)
    running = _operators(objects)
    everybody = []
    for subject in {*by_subject, *running}:
        # Who is in a group has what the group has, named or not.
        grants = [grant for member in with_groups(subject) for grant in by_subject.get(member, ())]
        everybody.append(_holder(subject, running.get(subject, ()), grants))
    return tuple(sorted(everybody, key=lambda holder: (-holder.level, holder.subject)))


def gainers(permissions: Permissions) -> tuple[PermissionHolder, ...]:
    """What whoever is bound to an aggregated role gains: admin, edit, view, then the roles of OperatorGroups."""
    by_subject: dict[Subject, list[Grant]] = defaultdict(list)
    for grant in permissions.gains:
        by_subject[grant.subject].append(grant)
    roles = (_holder(subject, (), grants) for subject, grants in by_subject.items())
    return tuple(sorted(roles, key=lambda holder: (_rank(holder.subject.name), holder.subject)))


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
    for rendered in objects if named else ():
        role = named.get(rendered.identity)
        if role is not None:
            binding = decode_binding(rendered.identity, rendered.object, namespace_of(rendered.identity))
            yield from ((subject, role) for subject in binding.subjects if subject in accounts)


def _rank(name: str) -> int:
    return USER_ROLES.index(name) if name in USER_ROLES else len(USER_ROLES)


def _holder(subject: Subject, operators: Sequence[NamespacedName], grants: Iterable[Grant]) -> PermissionHolder:
    by_rule: dict[PolicyRule, list[Grant]] = defaultdict(list)
    for grant in grants:
        by_rule[grant.rule].append(grant)
    permissions = [_permission(rule, same) for rule, same in by_rule.items()]
    permissions.sort(key=lambda item: (-item.level, [risk.name for risk in item.risks], item.rule))
    level = permissions[0].level if permissions else Level.NONE
    return PermissionHolder(subject, tuple(operators), level, tuple(permissions))


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
