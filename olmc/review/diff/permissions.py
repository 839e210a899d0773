"""Compare permissions of both sides, independent of the names of roles: permissions gained and lost, and matrices of
them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, product
from typing import Any, Literal

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.olm.facts import DEFAULT_ACCOUNT, group_by_label, operator_accounts
from olmc.k8s.api.rbac import RuleIndex, decode_rules, merge, normalize, rbac_forms, rules_allow, rules_decoder
from olmc.k8s.api.rbac_access import RoleBinding, decode_binding, decode_role, joined_once
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    ANY,
    CRD_KIND,
    RBAC,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Provenance,
    Rendered,
    Request,
    Subject,
    mapping,
    mappings,
    object_key,
    text,
    texts,
)
from olmc.review.diff import webhooks as kinds
from olmc.review.diff.crd_kinds import DiffChange
from olmc.review.diff.operators import DiffOperator, heads
from olmc.review.diff.webhooks import EVERYWHERE, WHERE_BOUND, qualified, verbs_in_order
from olmc.review.rbac.risks import Level, gravest_first, level_of, risks_of, verb_level
from olmc.review.rbac.subjects import DEFAULT_NAMESPACE, Permissions, SourceRule, namespace_of, permissions

# The ServiceAccounts of operators: which takes the place of which, and which belong together.

ANYBODY = frozenset(("system:anonymous", "system:unauthenticated"))
"""The user and the group of requests that say nothing about who sends them."""
_PERMISSIONS = ("permissions", "clusterPermissions")


class Accounts(NamedTuple):
    """The accounts of the operators of both sides.

    `renamed`: by ServiceAccount of the new side the one that it replaces. `before`: by one of the new side those that
    its operator had on the old side.
    """

    renamed: Mapping[ObjectKey, ObjectKey]
    before: Mapping[ObjectKey, tuple[ObjectKey, ...]]


NO_ACCOUNTS = Accounts({}, {})


def accounts(old: Mapping[NamespacedName, DiffOperator], new: Mapping[NamespacedName, DiffOperator]) -> Accounts:
    """The ServiceAccounts of the operators of both sides, by package."""
    olds, news = heads(old), heads(new)
    renamed: dict[ObjectKey, ObjectKey] = {}
    before: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
    for name in sorted(olds.keys() & news.keys()):
        was, now = _of_operator(olds[name]), _of_operator(news[name])
        for old_name, new_name in _renamed(was, now):
            renamed[_key(name.namespace, new_name)] = _key(name.namespace, old_name)
        known = tuple(_key(name.namespace, account) for account in was)
        before.update((_key(name.namespace, account), known) for account in now)
    return Accounts(renamed, before)


def _key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey("", ACCOUNT, namespace, name)


def _of_operator(operator: DiffOperator) -> dict[str, frozenset[str]]:
    """Return the permissions that an operator asks for, by ServiceAccount: its rules as texts. An account without
    permissions has none."""
    strategy = mapping(mapping(operator.spec.get("install")).get("spec"))
    rules: dict[str, set[str]] = {}
    for field in _PERMISSIONS:
        for permission in mappings(strategy.get(field)):
            of_account = rules.setdefault(text(permission.get("serviceAccountName")), set())
            of_account |= {field + json.dumps(rule, sort_keys=True) for rule in mappings(permission.get("rules"))}
    for account in operator_accounts(Csv(operator.csv)):
        rules.setdefault(account, set())
    return {name: frozenset(of_account) for name, of_account in rules.items()}


def _renamed(old: Mapping[str, frozenset[str]], new: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Yield the old and the new name of a renamed account: accounts with the same permissions, or the only ones left.

    `default` is an account of every namespace, so it replaces no other.
    """
    removed = [name for name in old if name not in new and name != DEFAULT_ACCOUNT]
    come = [name for name in new if name not in old and name != DEFAULT_ACCOUNT]
    for name in list(removed):
        alike = [other for other in come if new[other] == old[name]]
        if len(alike) == 1:
            removed.remove(name)
            come.remove(alike[0])
            yield name, alike[0]
    if len(removed) == len(come) == 1:
        yield removed[0], come[0]


_AGGREGATES = "olm.opgroup.permissions/aggregate-to-"
_NOWHERE = Provenance(None, "", "")
_MOST_ROWS, _MOST_ROWS_OF_ALL = 200, 4_000
"""A rule stands for each of its resources in each of its groups; one of untrusted input may stand for billions."""
_MOST_VERBS = 40
_MOST_VALUES = 100_000
"""The limit of the product of holders and rules: beyond so many values, a holder has one change that counts them."""

Cell = Literal["kept", "gained", "lost", ""]


class ScopedSubject(NamedTuple):
    """Somebody with permissions, and the scope: a namespace, `EVERYWHERE`, or `WHERE_BOUND`."""

    subject: ObjectKey
    scope: str


class SideAccess(NamedTuple):
    """The rules that holders have, the roles that they have without the side saying what is in them, and the roles that
    are no holders because somebody has them."""

    rules: Mapping[ScopedSubject, tuple[PolicyRule, ...]]
    roles: Mapping[ScopedSubject, tuple[str, ...]]
    used: Mapping[ObjectKey, KubernetesObject]

    def everywhere(self, holder: ScopedSubject) -> tuple[PolicyRule, ...]:
        """Return the permissions of the holder of a namespace in the whole cluster, which apply there as well."""
        is_namespace = holder.scope not in (EVERYWHERE, WHERE_BOUND)
        return self.rules.get(ScopedSubject(holder.subject, EVERYWHERE), ()) if is_namespace else ()

    def parts(self, holder: ScopedSubject) -> tuple[tuple[PolicyRule, ...], ...]:
        """The rules that count for a holder in its scope, as the tuples that it shares with others."""
        of_role: tuple[PolicyRule, ...] = ()
        if holder.scope == WHERE_BOUND and holder.subject in self.used:
            # Where the other side does not use the role, its rules decide.
            rules = decode_rules(self.used[holder.subject].get("rules"))
            of_role = tuple(part for rule in rules for part in normalize(rule))
        return tuple(part for part in (self.rules.get(holder, ()), of_role, self.everywhere(holder)) if part)

    def granted(self, holder: ScopedSubject) -> tuple[PolicyRule, ...]:
        """The rules that count for a holder in its scope."""
        return tuple(chain.from_iterable(self.parts(holder)))


def access(
    objects: Iterable[KubernetesObject], owners: Mapping[NamespacedName, DiffOperator],
    manifests: Collection[ObjectKey] = (),
) -> SideAccess:  # fmt: skip
    """The access that the RBAC objects among `objects` give.

    Roles without a binding here are holders themselves, and so are admin, edit and view with the aggregated rules:
    subjects with bindings elsewhere gain and lose with them. `owners` are the operators of the side: the permission
    for the OperatorCondition of a CSV is that for the condition of its package. `manifests` are the objects that its
    workspace has written, and not OLM.
    """
    side = list(objects)
    rendered = [Rendered(_unnamed(form, owners), _NOWHERE) for obj in side for form in rbac_forms(obj)]
    # A Role gives nothing for the resources of a CRD without namespaces.
    crds = (Rendered(obj, _NOWHERE) for obj in side if obj.get("kind") == CRD_KIND)
    granted = permissions((*rendered, *crds))
    of_groups = {role.identity for role in rendered if role.identity not in manifests and _is_of_a_group(role)}
    group_roles = {role.name for role in of_groups}
    joined = joined_once(lambda parts: tuple(sorted({each.rule for part in parts for each in part})))
    parts: dict[ScopedSubject, list[tuple[SourceRule, ...]]] = {}
    for role in (*granted.bound, *granted.gained):
        # The roles of OperatorGroups are named after a hash, and what is in them admin, edit and view get as well.
        if role.subject.kind != "ClusterRole" or role.subject.name not in group_roles:
            scope = WHERE_BOUND if role.namespace is None else role.namespace
            parts.setdefault(ScopedSubject(_known(role.subject), scope), []).append(role.rules)
    rules = {holder: joined(of_holder) for holder, of_holder in parts.items()}
    distinct = {id(role.rules): role.rules for role in (*granted.bound, *granted.gained)}
    used = {role.role for role in granted.bound} | {each.source for rules in distinct.values() for each in rules}
    unbound: dict[ScopedSubject, dict[PolicyRule, None]] = {}
    for holder, rule in _of_unbound(rendered, used | of_groups):
        unbound.setdefault(holder, dict.fromkeys(rules.get(holder, ())))[rule] = None
    return SideAccess(
        {**rules, **{holder: tuple(of_holder) for holder, of_holder in unbound.items()}},
        _unknown_roles(rendered, granted),
        {role.identity: role.object for role in rendered if role.identity in used},
    )


def _is_of_a_group(rendered: Rendered) -> bool:
    """Return whether OLM made a role for an OperatorGroup: it has the rules of admin, edit and view, with any name.

    The oldest versions of OLM don't label it, but all aggregate it by labels of OLM.
    """
    if rendered.object.get("kind") != "ClusterRole":
        return False
    if group_by_label(rendered.object) is not None:
        return True
    selectors = decode_role(rendered.object, lambda _: ()).selectors if "aggregationRule" in rendered.object else ()
    keys = (key for selector in selectors for key in selector.get("matchLabels") or ())
    return any(key.startswith(_AGGREGATES) for key in keys)


def _unnamed(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> KubernetesObject:
    """A role, or one for the condition of a CSV with the package in the place of the CSV."""
    if obj.get("kind") != "Role":
        return obj
    known = object_key(obj)
    owner = owners.get(NamespacedName(known.namespace, known.name))
    # The Role for a CSV's OperatorCondition names that CSV, which every upgrade would change.
    if owner is None:
        return obj
    own = {owner.name: owner.package}
    names = ([own.get(name, name) for name in texts(rule.get("resourceNames"))] for rule in mappings(obj.get("rules")))
    rules = zip(mappings(obj.get("rules")), names, strict=True)
    return {**obj, "rules": [{**rule, "resourceNames": named} for rule, named in rules]}


class _Rights(NamedTuple):
    """The rules of the Roles of a side that are in a namespace, and all bindings."""

    roles: dict[ObjectKey, tuple[PolicyRule, ...]]
    bindings: dict[ObjectKey, RoleBinding]


def without_common(
    old: Sequence[KubernetesObject], new: Sequence[KubernetesObject], before: Mapping[NamespacedName, DiffOperator],
    after: Mapping[NamespacedName, DiffOperator], names: Accounts = NO_ACCOUNTS,
) -> tuple[list[KubernetesObject], list[KubernetesObject]]:  # fmt: skip
    """The RBAC objects of two sides without the Roles and RoleBindings that change nothing for anybody.

    These are the same on both sides, and for subjects that have nothing else in that namespace which differs: so
    `permission_changes` of what is left are those of all. Copies for hundreds of namespaces need not be taken apart.
    """
    olds, news = ([(object_key(form), form) for obj in side for form in rbac_forms(obj)] for side in (old, new))
    decode = rules_decoder()
    was, now = _rights(olds, before, decode), _rights(news, after, decode)
    if any(len(dict(side)) < len(side) for side in (olds, news)):  # of two objects that are one, which one counts?
        return [obj for _, obj in olds], [obj for _, obj in news]
    roles = {key for key, rules in was.roles.items() if now.roles.get(key) == rules}
    bindings = {key for key, it in was.bindings.items() if it == now.bindings.get(key) and it.role in roles}
    present = (*was.bindings.values(), *now.bindings.values())
    moving = {_holder(s, it) for it in present if it.identity not in bindings for s in it.subjects}
    # Whether a right came from another account of the operator is asked as well, and of renamed accounts everything.
    moving |= {holder._replace(subject=one) for holder in moving for one in names.before.get(holder.subject, ())}
    renamed = {*names.renamed, *names.renamed.values()}
    bindings -= {
        it.identity for it in was.bindings.values()
        if any(_known(s) in renamed or _holder(s, it) in moving for s in it.subjects)
    }  # fmt: skip
    removed = bindings | (roles - {it.role for it in present if it.identity not in bindings})
    return [obj for key, obj in olds if key not in removed], [obj for key, obj in news if key not in removed]


def _rights(
    objects: Iterable[tuple[ObjectKey, KubernetesObject]], owners: Mapping[NamespacedName, DiffOperator],
    decode: Callable[[Any], tuple[PolicyRule, ...]],
) -> _Rights:  # fmt: skip
    rights = _Rights({}, {})
    for key, obj in objects:
        if key.kind.endswith("Binding"):
            rights.bindings[key] = decode_binding(key, obj)
        # Without a namespace it may be that of `default`, as which kubectl applies it.
        elif key.kind == "Role" and key.namespace not in ("", DEFAULT_NAMESPACE) and "aggregationRule" not in obj:
            rights.roles[key] = decode(_unnamed(obj, owners).get("rules"))
    return rights


def _holder(subject: Subject, binding: RoleBinding) -> ScopedSubject:
    return ScopedSubject(_known(subject), binding.identity.namespace)


def _known(subject: Subject) -> ObjectKey:
    return ObjectKey("" if subject.kind == ACCOUNT else RBAC, subject.kind, subject.namespace, subject.name)


def _of_unbound(
    rendered: Iterable[Rendered], used: Container[ObjectKey | None]
) -> Iterator[tuple[ScopedSubject, PolicyRule]]:
    """The rules of the roles that are not used: no binding names them, and no other role aggregates them."""
    for role in rendered:
        known = role.identity
        # Somebody may bind it elsewhere, and then what is in it matters.
        if known.kind in ("Role", "ClusterRole") and known not in used:
            for rule in decode_rules(role.object.get("rules")):
                yield from ((ScopedSubject(known, WHERE_BOUND), part) for part in normalize(rule))


def _unknown_roles(rendered: Iterable[Rendered], granted: Permissions) -> dict[ScopedSubject, tuple[str, ...]]:
    """By holder the roles that bindings name, and that are neither here nor in every cluster."""
    bindings = {binding.identity: binding.object for binding in rendered}
    roles: dict[ScopedSubject, list[str]] = {}
    for binding, role in granted.dangling:
        namespace = namespace_of(binding)
        for subject in decode_binding(binding, bindings[binding], namespace).subjects:
            roles.setdefault(ScopedSubject(_known(subject), namespace), []).append(str(role))
    return {holder: tuple(sorted(set(names))) for holder, names in roles.items()}


def permission_changes(
    old: SideAccess, new: SideAccess, known: Accounts = NO_ACCOUNTS, *, only_risks: bool = False
) -> Iterator[DiffChange]:
    """Yield how two sides differ in what they let whom do; `known` says which ServiceAccount takes the place of which.

    `only_risks`: without lost permissions and gained ones of no or low risk.
    """
    for account, predecessor in known.renamed.items():
        if _holds(new, account) or _holds(old, predecessor):
            yield kinds.account_renamed(account, predecessor.name)
    moved_from = _predecessors(old, known)
    old = with_new_names(old, known.renamed)
    for holder, rules, level in _within_limit(_gained(old, new)):
        if level is not None:
            yield kinds.permissions_gained(holder.subject, holder.scope, _things(rules), str(level))
            continue
        for rule in rules:
            risks, of_rule = _risks(holder, rule)
            if only_risks and of_rule <= Level.LOW:
                continue
            moved = moved_from(holder, rule)
            yield kinds.permission_gained(holder.subject, holder.scope, rule, risks, str(of_rule), moved)
    for holder, rules, level in () if only_risks else _within_limit(_gained(new, old)):
        if level is not None:
            yield kinds.permissions_lost(holder.subject, holder.scope, _things(rules))
            continue
        yield from (kinds.permission_lost(holder.subject, holder.scope, rule) for rule in rules)
    for holder in sorted(old.roles.keys() | new.roles.keys()):
        was, now = set(old.roles.get(holder, ())), set(new.roles.get(holder, ()))
        yield from (kinds.role_gained(holder.subject, holder.scope, role) for role in sorted(now - was))
        yield from (kinds.role_lost(holder.subject, holder.scope, role) for role in sorted(was - now))


class Rights(NamedTuple):
    """All that somebody may do on each side, whether it differs or not."""

    old: SideAccess
    new: SideAccess

    def gained(self, before: ObjectKey, after: ObjectKey) -> tuple[str, ...]:
        """List the dangers of what `after` may do on the new side and `before` might not on the old one.

        They are the names of risks from level MEDIUM on, as `olmc rbac` has them, and roles that no side describes.
        """
        levels: dict[str, Level] = {}
        for holder in sorted(holder for holder in self.new.rules if holder.subject == after):
            known = self.old.granted(holder._replace(subject=before))
            for rule in _rest(self.new.rules[holder], known):
                namespace = None if holder.scope == WHERE_BOUND else holder.scope
                for risk in risks_of(rule, namespace):
                    levels[risk.name] = max(risk.level(namespace), levels.get(risk.name, Level.NONE))
        dangers = sorted(levels, key=lambda name: -levels[name])
        names = dict.fromkeys(f"{name} ({levels[name]})" for name in dangers if levels[name] >= Level.MEDIUM)
        for holder in sorted(holder for holder in self.new.roles if holder.subject == after):
            had = self.old.roles.get(holder._replace(subject=before), ())
            names.update(dict.fromkeys(f"has {role}" for role in self.new.roles[holder] if role not in had))
        return tuple(names)

    def held(self, subject: ObjectKey, least: Level) -> tuple[str, ...]:
        """List the dangers, from a level on, of what somebody might do on the old side."""
        levels: dict[str, Level] = {}
        for holder in (holder for holder in self.old.rules if holder.subject == subject):
            namespace = None if holder.scope == WHERE_BOUND else holder.scope
            for rule in self.old.granted(holder):
                for risk in risks_of(rule, namespace):
                    levels[risk.name] = max(risk.level(namespace), levels.get(risk.name, Level.NONE))
        names = sorted((name for name in levels if levels[name] >= least), key=lambda name: (-levels[name], name))
        return tuple(f"{name} ({levels[name]})" for name in names)


def subject_of_account(namespace: str, name: str) -> ObjectKey:
    """Name a ServiceAccount as a holder of permissions."""
    return _known(Subject(ACCOUNT, namespace, name))


def subject_of_group(name: str) -> ObjectKey:
    """Name a group of people as a holder of permissions."""
    return _known(Subject("Group", "", name))


def _holds(side: SideAccess, subject: ObjectKey) -> bool:
    return any(holder.subject == subject for holder in (*side.rules, *side.roles))


def with_new_names(side: SideAccess, renamed: Mapping[ObjectKey, ObjectKey]) -> SideAccess:
    """The access of a side with the names that its ServiceAccounts have on the other one."""
    if not renamed:
        return side
    names = {was: now for now, was in renamed.items()}

    def named(holder: ScopedSubject) -> ScopedSubject:
        return holder._replace(subject=names.get(holder.subject, holder.subject))

    return SideAccess(
        {named(holder): rules for holder, rules in side.rules.items()},
        {named(holder): roles for holder, roles in side.roles.items()},
        side.used,
    )


def _predecessors(old: SideAccess, known: Accounts) -> Callable[[ScopedSubject, PolicyRule], str]:
    """Return a function that gives the other ServiceAccount of the same operator that had the gained permissions of a
    holder before, "" if there was none.

    A permission of `default` is one of every pod of the namespace: that is a gain, also if another account had it
    before.
    """
    index_of = cache(lambda holder: RuleIndex.of(old.granted(holder)))

    def moved_from(holder: ScopedSubject, rule: PolicyRule) -> str:
        if holder.subject.name == DEFAULT_ACCOUNT:
            return ""
        for account in known.before.get(holder.subject, ()):
            if not index_of(holder._replace(subject=account)).subtract_from(rule):
                return account.name
        return ""

    return moved_from


_Gain = tuple[ScopedSubject, tuple[PolicyRule, ...]]


def _gained(old: SideAccess, new: SideAccess) -> Iterator[_Gain]:
    """Return the permissions that holders have in `new` and not in `old`, in as few rules as possible. Holders that
    gain the same by the same roles share one tuple.

    A gain in the whole cluster is not repeated for a namespace.
    """
    # A subject of the copies of one Role in many namespaces gains the same in each. The parts are kept with their
    # results: after the deletion of one, another object might have its id.
    known: dict[tuple[int, ...], tuple[Any, tuple[PolicyRule, ...]]] = {}
    of_rules: dict[tuple[tuple[PolicyRule, ...], ...], tuple[PolicyRule, ...]] = {}
    for holder in sorted(new.rules):
        parts = new.rules[holder], *old.parts(holder), new.everywhere(holder)
        key = tuple(map(id, parts))
        if key not in known:
            rules = parts[0], tuple(chain.from_iterable(parts[1:]))
            if rules not in of_rules:
                of_rules[rules] = _rest(*rules)
            known[key] = parts, of_rules[rules]
        if known[key][1]:
            yield holder, known[key][1]


def _things(rules: Iterable[PolicyRule]) -> int:
    """Return how many resources, each in each group, and URLs rules are about."""
    return sum(len(rule.groups) * len(rule.resources) + len(rule.urls) for rule in rules)


def _within_limit(gains: Iterable[_Gain]) -> Iterator[tuple[ScopedSubject, tuple[PolicyRule, ...], Level | None]]:
    """Yield the holders with the rules that they gain or lose. Above the limit of rules the most severe ones are
    yielded one by one, and the others have the level of their most severe rule instead."""
    several = tuple(gains)
    distinct = {id(rules): rules for _, rules in several}
    sizes = {known_as: sum(len(values) for rule in rules for values in rule) for known_as, rules in distinct.items()}
    if sum(sizes[id(rules)] for _, rules in several) <= _MOST_VALUES:
        yield from ((holder, rules, None) for holder, rules in several)
        return
    known: dict[tuple[int, bool], Level] = {}
    for holder, rules in several:
        key = id(rules), holder.scope == EVERYWHERE
        if key not in known:
            known[key] = max(_risks(holder, rule)[1] for rule in rules)
    levels = [known[id(rules), holder.scope == EVERYWHERE] for holder, rules in several]
    left, whole = _MOST_VALUES, set()
    for number in sorted(range(len(several)), key=lambda number: -levels[number]):
        size = sizes[id(several[number][1])]
        if size <= left:
            left -= size
            whole.add(number)
    for number, (holder, rules) in enumerate(several):
        yield holder, rules, None if number in whole else levels[number]


@lru_cache(maxsize=1_024)
def _rest(rules: tuple[PolicyRule, ...], known: tuple[PolicyRule, ...]) -> tuple[PolicyRule, ...]:
    """Return the permissions of rules that the known ones do not allow, in as few rules as possible."""
    index = RuleIndex.of(known)
    left: list[PolicyRule] = []
    # The widest first: what is left of the others is then what they really add.
    for rule in sorted(set(rules) - set(known), key=_widest_first):
        parts = index.subtract_from(rule)
        left += parts
        index.add(parts)
    return merge(left)


def _widest_first(rule: PolicyRule) -> tuple[int, PolicyRule]:
    return -sum(ANY in values for values in rule), rule


def _risks(holder: ScopedSubject, rule: PolicyRule) -> tuple[tuple[str, ...], Level]:
    """The risks of a rule by name; that admins may do anything with an operator's objects is how OLM wants it."""
    namespace = None if holder.scope == WHERE_BOUND else holder.scope
    names = tuple(risk.name for risk in risks_of(rule, namespace))
    if holder.subject.name in ANYBODY and not _is_public(rule):
        return (*names, "open to anybody"), max(level_of(rule, namespace), Level.MEDIUM)
    is_admin = (holder.subject.kind, holder.subject.name) == ("ClusterRole", "admin")
    return tuple(name for name in names if not (is_admin and name == "every verb")), level_of(rule, namespace)


def _is_public(rule: PolicyRule) -> bool:
    """Tell whether a rule is about URLs that hold nothing of users, or questions about oneself."""
    is_plain = all(verb in ("get", "head") for verb in rule.verbs) and not any(url == ANY for url in rule.urls)
    return (bool(rule.urls) and is_plain) or set(rule.groups) <= {"authorization.k8s.io", "authentication.k8s.io"}


class MatrixRow(NamedTuple):
    """A resource (or a URL), and the objects of it that are meant ("" for all), with a cell for each verb.

    `levels`: how dangerous what is gained is, a word for each verb, "" where it is not.
    """

    resource: str
    name: str
    cells: tuple[Cell, ...]
    levels: tuple[str, ...] = ()


class Matrix(NamedTuple):
    """Everything that `subject` may do in a scope on either side, as far as it fits on a page: `more_verbs` and further
    rows are left out."""

    subject: ObjectKey
    scope: str
    verbs: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    more_verbs: int = 0
    has_more_rows: bool = False


class Matrices(NamedTuple):
    """As many matrices as anybody reads, and how many holders have none for that."""

    shown: tuple[Matrix, ...]
    more: int


def matrices(old: SideAccess, new: SideAccess, changes: Iterable[DiffChange]) -> Matrices:
    """Return the matrices of the holders whose permissions `changes` name, in that order; rows that changed come first.

    The number of rows has a limit, as longer matrices are unreadable. The changes list all of them.
    """
    moved = (change for change in changes if change.kind in (kinds.permission_gained, kinds.permission_lost))
    holders = dict.fromkeys(ScopedSubject(change.identity, change.values["scope"]) for change in moved)
    shown: list[Matrix] = []
    rows = 0
    for holder in holders:
        if rows >= _MOST_ROWS_OF_ALL:
            break
        shown.append(_matrix(holder, old, new))
        rows += len(shown[-1].rows)
    return Matrices(tuple(shown), len(holders) - len(shown))


def _matrix(holder: ScopedSubject, old: SideAccess, new: SideAccess) -> Matrix:
    rules = dict.fromkeys((*old.rules.get(holder, ()), *new.rules.get(holder, ())))
    named = verbs_in_order(tuple({verb for rule in rules for verb in rule.verbs}))
    verbs = verbs_in_order(tuple(gravest_first(named, verb_level, _MOST_VERBS)[:_MOST_VERBS]))
    sides = RuleIndex.of(old.granted(holder)), RuleIndex.of(new.granted(holder))
    places = list(dict.fromkeys(place for rule in rules for place in _places(rule)))
    rows = (_row(place, verbs, holder.scope, *sides) for place in places[:_MOST_ROWS])
    in_order = tuple(sorted(rows, key=lambda row: (_is_unchanged(row), row)))
    return Matrix(*holder, verbs, in_order, len(named) - len(verbs), len(places) > _MOST_ROWS)


def _places(rule: PolicyRule) -> Iterator[Request]:
    """Yield the targets of a rule, each a request without a verb."""
    yield from (Request("", url=url) for url in rule.urls)
    for group, resource, name in islice(product(rule.groups, rule.resources, rule.names or (None,)), _MOST_ROWS + 1):
        yield Request("", group, resource, name)


def _row(place: Request, verbs: tuple[str, ...], scope: str, before: RuleIndex, after: RuleIndex) -> MatrixRow:
    cells: list[Cell] = []
    levels: list[str] = []
    namespace = {EVERYWHERE: "", WHERE_BOUND: None}.get(scope, scope)
    asked = PolicyRule(verbs, (place.group,), (place.resource,), () if place.name is None else (place.name,))
    asked = PolicyRule(verbs, urls=(place.url,)) if place.url else asked
    candidates = before.candidates(asked), after.candidates(asked)
    for verb in verbs:
        request = place._replace(verb=verb)
        was, now = (rules_allow(rules, request) for rules in candidates)
        cells.append("kept" if was and now else "gained" if now else "lost" if was else "")
        level = level_of(asked._replace(verbs=(verb,)), namespace) if now and not was else Level.NONE
        levels.append(str(level) if level >= Level.MEDIUM else "")
    name = "" if place.name is None else place.name or '""'
    return MatrixRow(place.url or qualified(place.resource, place.group), name, tuple(cells), tuple(levels))


def _is_unchanged(row: MatrixRow) -> bool:
    return not {"gained", "lost"} & set(row.cells)
