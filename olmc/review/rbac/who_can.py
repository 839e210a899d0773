"""The permissions of subjects as text and data, and the answer to "who can": everybody who has a right, also the
rights that an operator requests and does not have yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import Any

from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.olm.naming import CORE_KINDS
from olmc.compiler.output.document import aligned, paragraph
from olmc.compiler.output.messages import clean, not_found
from olmc.compiler.reconcile.loop import NO_CATALOG
from olmc.compiler.resolver.steps import UndecodableCSVError, bundle_steps, csv_object
from olmc.k8s.api.rbac import NAMELESS_VERBS, merge, rule_allows
from olmc.k8s.api.restmapper import RestMapping, find_kinds, known_kinds
from olmc.k8s.diagnostics import Location, Place, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    ANY,
    RBAC,
    KubernetesObject,
    ObjectKey,
    Origin,
    PolicyRule,
    Provenance,
    Rendered,
    Request,
    Subject,
    mapping,
    metadata_of,
    object_key,
)
from olmc.review.explain.provenance import place_data
from olmc.review.explain.resolution import WantedOperator
from olmc.review.rbac.risks import RISKS, Level, gravest_first, group_level, resource_level, verb_level
from olmc.review.rbac.subjects import (
    USER_ROLES,
    Grant,
    Permission,
    PermissionHolder,
    Permissions,
    RoleGrant,
    ShownPermissions,
    SourceRule,
    first_permissions,
    grant_order,
)

# Permissions as people and machines read them.

FORMAT_VERSION = 1
Finder = Callable[[Grant], Location | None]
"""Gives the place in the input that a grant's rule stems from."""

_DETAILED_FROM = Level.MEDIUM
"""From this level on a permission is shown by itself, with where it comes from; others are summed up."""
_MOST, _MOST_GROUPS = 100, 20
"""The shown part of a list: a rule of untrusted input may have thousands of values, and each of its groups appears with
each of its resources. JSON has all of them."""


def in_words(rule: PolicyRule) -> str:
    """A rule in a line: `get, list secrets, deployments.apps named a, b`; of long lists what is gravest, and more."""
    verbs = join_limited(gravest_first(rule.verbs, verb_level, _MOST), _MOST)
    if rule.urls:
        return f"{verbs} {join_limited(rule.urls, _MOST)}"
    resources = gravest_first(rule.resources, resource_level, _MOST)
    groups = gravest_first(rule.groups, group_level, _MOST_GROUPS)
    shown = [_full(resource, groups) for resource in resources[:_MOST]]
    things = join_limited([*shown, *resources[_MOST:]], _MOST)
    return f"{verbs} {things}" + (f" named {in_quotes(rule.names)}" if rule.names else "")


def in_quotes(names: Sequence[str]) -> str:
    """Return names for readers, of many only the first ones; the empty name is `""`."""
    return join_limited([name or '""' for name in names], _MOST)


def _full(resource: str, groups: Sequence[str]) -> str:
    """`deployments.apps/scale`; for several groups `deployments.{apps,extensions}`."""
    if tuple(groups) == ("",):
        return resource
    base, slash, subresource = resource.partition("/")
    group = (
        groups[0] if len(groups) == 1 else f"{{{join_limited([name or 'core' for name in groups], _MOST_GROUPS, ',')}}}"
    )
    return f"{base}.{group}{slash}{subresource}"


def where(namespaces: Sequence[str | None]) -> str:
    """Return where a permission holds, in words."""
    if None in namespaces:
        return "wherever it is bound"
    return "in the whole cluster" if "" in namespaces else f"in {join_limited([*filter(None, namespaces)], _MOST)}"


def as_text(
    everybody: Sequence[PermissionHolder],
    gaining: Sequence[PermissionHolder],
    find: Finder,
    waiting: Collection[NamespacedName] = (),
) -> str:
    """All holders, one after the other, and why what they may do is dangerous; the operators `waiting` would not run
    yet."""
    shown = tuple(first_permissions((*everybody, *gaining)))
    blocks = [_block(each, find, waiting) for each in shown]
    return "\n".join((*blocks, *_reasons(shown))) or "No subject has permissions here.\n"


def _block(shown: ShownPermissions, find: Finder, waiting: Collection[NamespacedName]) -> str:
    holder, permissions, more = shown
    lines = [f"{clean(_title(holder, waiting))}\n"]
    if not holder.roles:
        lines.append("  has no permissions\n")
    own = tuple(permission for permission in permissions if not _is_well_known(permission))
    lines += _well_known([permission for permission in permissions if _is_well_known(permission)])
    for permission in own:
        if permission.level >= _DETAILED_FROM:
            lines += _details(permission, holder.subject, find)
    for (risks, namespaces), rules in _sum_up(own).items():
        place = "" if None in namespaces else f", {where(namespaces)}"
        if risks:
            lines.append(paragraph(f"{str(Level.LOW).upper()} {risks}", "  ", "      "))
        first = "    " if risks else "  - "
        lines += [paragraph(f"{in_words(rule)}{place}", first, "      ") for rule in merge(rules)]
    if more:
        lines.append(f"  and {more} rules of its roles that are not listed here: see --subject\n")
    return "".join(lines)


def _title(holder: PermissionHolder, waiting: Collection[NamespacedName]) -> str:
    kind, namespace, name = holder.subject
    if kind == "ClusterRole":
        who = f"A user with {name} gains" if name in USER_ROLES else f"A user with ClusterRole {name} gains"
    else:
        who = f"{kind} {f'{namespace}/' if namespace else ''}{name}"
    now = ", ".join(operator.name for operator in holder.operators if operator not in waiting)
    later = ", ".join(operator.name for operator in holder.operators if operator in waiting)
    both = [*([f"{now} runs under"] if now else ()), *([f"{later} would run under"] if later else ())]
    running = f", which {' and '.join(both)}" if both else ""
    return who + running + (f": {holder.level}" if holder.level else "")


def _details(permission: Permission, subject: Subject, find: Finder) -> Iterator[str]:
    head = f"  {str(permission.level).upper()} "
    risks = ", ".join(risk.name for risk in permission.risks)
    yield paragraph(f"{head}{risks}", "", " " * len(head))
    yield paragraph(f"{in_words(permission.rule)}, {where(permission.namespaces)}", "    ", "      ")
    # Reversed, so that of several grants by one role the first one is named.
    for source, grant in {grant.source: grant for grant in reversed(permission.grants)}.items():
        place = find(grant)
        group = "" if grant.subject == subject else f", for {grant.subject}"
        yield paragraph(f"from {source}{group}" + (f" ({place})" if place else ""), "    ", "      ")


def _is_well_known(permission: Permission) -> bool:
    """Return whether a permission is one that the roles of users have in every cluster."""
    return all(grant.source_provenance is None and grant.role.name in USER_ROLES for grant in permission.grants)


def _well_known(permissions: Sequence[Permission]) -> Iterator[str]:
    """A line for each role of users that somebody is bound to, in place of the many rules that everybody knows."""
    by_role: dict[tuple[str, tuple[str | None, ...]], list[Permission]] = {}
    for permission in permissions:
        for role in {grant.role.name: None for grant in permission.grants}:
            by_role.setdefault((role, permission.namespaces), []).append(permission)
    for (role, namespaces), same in by_role.items():
        head = f"  {str(max(permission.level for permission in same)).upper()} "
        risks = {risk.name: None for permission in same for risk in permission.risks}
        yield paragraph(f"{head}{', '.join(risks)}", "", " " * len(head))
        yield paragraph(f"what {role} may do in every cluster, {where(namespaces)}", "    ", "      ")


_Key = tuple[str, tuple[str | None, ...]]


def _sum_up(permissions: Sequence[Permission]) -> dict[_Key, list[PolicyRule]]:
    """The rules that are not looked at one by one, by their risks and where they hold; those without risks last."""
    by_risks: dict[_Key, list[PolicyRule]] = {}
    wide = {
        (permission.namespaces, permission.rule._replace(verbs=()))
        for permission in permissions
        if ANY in permission.rule.verbs
    }
    for permission in permissions:
        if permission.level < _DETAILED_FROM and not _goes_without_saying(permission, wide):
            risks = ", ".join(risk.name for risk in permission.risks)
            by_risks.setdefault((risks, permission.namespaces), []).append(permission.rule)

    def order(item: tuple[_Key, list[PolicyRule]]) -> tuple[bool, str, tuple[str, ...]]:
        (risks, namespaces), _ = item
        return (not risks, risks, tuple(name or "" for name in namespaces))

    return dict(sorted(by_risks.items(), key=order))


def _goes_without_saying(permission: Permission, wide: Set[tuple[tuple[str | None, ...], PolicyRule]]) -> bool:
    """Return whether somebody who has every verb there has this permission; `wide` is where, and rules without
    verbs."""
    same = permission.rule._replace(verbs=())
    # Wider in names, or in resources as well: what such a rule has with every verb needs no line of its own.
    rules = (same, same._replace(names=()), same._replace(names=(), resources=(ANY,)))
    return ANY not in permission.rule.verbs and any(
        (place, rule) in wide for place in (permission.namespaces, ("",)) for rule in rules
    )


def _reasons(shown: Iterable[ShownPermissions]) -> Iterator[str]:
    by_name = {risk.name: risk for each in shown for permission in each.permissions for risk in permission.risks}
    if by_name:
        risks = sorted(by_name.values(), key=lambda risk: (-risk.cluster, risk.name))
        width = max(len(risk.name) for risk in risks) + 4
        lines = (paragraph(risk.why, f"  {risk.name}".ljust(width), " " * width) for risk in risks)
        yield "Risks\n" + "".join(lines)


def holders_as_data(
    everybody: Sequence[PermissionHolder],
    gaining: Sequence[PermissionHolder],
    dangling: Iterable[tuple[ObjectKey, ObjectKey]],
    find: Finder,
) -> dict[str, Any]:
    """The holders in the format of `schemas/rbac.schema.json`."""
    shown = tuple(first_permissions((*everybody, *gaining)))
    reasons = {risk.name: risk.why for each in shown for permission in each.permissions for risk in permission.risks}
    return {
        "version": FORMAT_VERSION,
        "subjects": [_holder(each, find) for each in shown[: len(everybody)]],
        "userRoles": [_holder(each, find) for each in shown[len(everybody) :]],
        "dangling": [{"binding": binding._asdict(), "role": role._asdict()} for binding, role in dangling],
        "risks": dict(sorted(reasons.items())),
    }


def _holder(shown: ShownPermissions, find: Finder) -> dict[str, Any]:
    holder, permissions, more = shown
    return {
        **holder.subject._asdict(),
        "operators": [operator._asdict() for operator in holder.operators],
        "level": str(holder.level),
        "permissions": [
            {
                **rule_data(permission.rule),
                "namespaces": [] if None in permission.namespaces else list(permission.namespaces),
                "level": str(permission.level),
                "risks": [risk.name for risk in permission.risks],
                "grants": [grant_data(grant, find) for grant in permission.grants],
            }
            for permission in permissions
        ],
        **({"more": more} if more else {}),
    }


def rule_data(rule: PolicyRule) -> dict[str, list[str]]:
    """A rule with the names that a Role has for its fields."""
    keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return {key: list(values) for key, values in zip(keys, rule, strict=True)}


def grant_data(grant: Grant, find: Finder) -> dict[str, Any]:
    """Return how a grant comes about: to whom, where, by which role and binding, and the place of the rule in the
    input."""
    return {
        "subject": grant.subject._asdict(),
        "namespace": grant.namespace,
        "role": grant.role._asdict(),
        "source": grant.source._asdict(),
        "binding": grant.binding._asdict() if grant.binding is not None else None,
        "place": place_data(find(grant)),
    }


_VERBS = "create delete deletecollection get list patch update watch".split()
_ALWAYS_NAMELESS = ("create", "deletecollection")
_WITH_VERSION = regex(r"(?P<plural>[^.]+)\.v\d+((alpha|beta)\d+)?\.(?P<group>.+)")


_MOST_ABLE, _MOST_GRANTS = 5_000, 20
"""So many answers are listed, and so many of the grants behind each, the first ones; the others are counted."""


class AccessQuestion(NamedTuple):
    """A possible action: any of `requests`, one for each API group that has such a resource.

    `namespace`: the namespace, "" for all at once, None for any. Resources that are not `namespaced` are in none of
    them.
    """

    in_words: str
    requests: tuple[Request, ...]
    namespaced: bool
    namespace: str | None


class Able(NamedTuple):
    """The able subjects, the scope ("" in the whole cluster, None where the role is bound), the objects (() any), and
    the reason.

    `more_grants` is the number of `grants` that are left out of too many.
    """

    subject: Subject
    namespace: str | None
    names: tuple[str, ...]
    grants: tuple[Grant, ...]
    more_grants: int = 0


def parse_question(
    verb: str, resource: str, name: str, namespace: str | None, permissions: Permissions, objects: Iterable[Rendered]
) -> AccessQuestion:
    """Return the question in some words; QueryError for an unknown verb or resource.

    `resource` is a plural, a kind or a short name, if need be with group and subresource: `deployments.apps/scale`.
    """
    words = " ".join(filter(None, (verb, resource, name, f"in {namespace}" if namespace else "")))
    verbs = {*_VERBS, ANY, *(name for rule in permissions.distinct_rules for name in rule.verbs)}
    verbs |= {name for risk in RISKS for name in risk.verbs}
    if verb not in verbs:
        raise not_found(f"There is no verb {verb}", verb, sorted(verbs))
    if resource.startswith("/"):
        return AccessQuestion(words, (Request(verb, url=resource),), False, namespace)
    wanted, slash, subresource = resource.partition("/")
    kinds = known_kinds(rendered.object for rendered in objects)
    meant = _meant(wanted, kinds, permissions)
    if not meant:
        plurals = {kind.plural for kind in kinds} | set(_bases(permissions))
        raise not_found(f"There is no resource {wanted}", wanted, sorted(plurals))
    # The API server does not know the name of what is about to be created, and never sees one of what goes by a list.
    name = "" if verb in _ALWAYS_NAMELESS and not subresource else name
    requests = [Request(verb, group, f"{plural}{slash}{subresource}", name) for plural, group, _ in meant]
    return AccessQuestion(words, tuple(requests), any(namespaced for _, _, namespaced in meant), namespace)


def namespace_remark(namespace: str | None, permissions: Permissions, namespaces: Iterable[str]) -> str:
    """Return a note on a namespace that neither the workspace nor a permission has, "" for any other.

    It may exist in a cluster all the same, so this is no error.
    """
    known = {*namespaces, *(role.namespace for role in permissions.bound if role.namespace)}
    if not namespace or namespace in known:
        return ""
    return str(not_found(f"There is no namespace {namespace} here", namespace, sorted(known)))


def _meant(wanted: str, known: Iterable[RestMapping], permissions: Permissions) -> list[tuple[str, str, bool]]:
    """The resources that a word means: plural, group, and whether it has namespaces."""
    versioned = _WITH_VERSION.fullmatch(wanted)
    if versioned:
        wanted = f"{versioned['plural']}.{versioned['group']}"
    base, _, group = wanted.partition(".")
    if base == ANY:
        return [(ANY, group or ANY, True)]
    # Objects of a namespace have one in its path, so a Role in it may allow to get the namespace itself.
    named = find_kinds(wanted, known)
    kinds = [(kind.plural, kind.group, kind.namespaced or kind.plural == "namespaces") for kind in named]
    return kinds or sorted(set(_in_rules(base, group, permissions)))


def _in_rules(base: str, group: str, permissions: Permissions) -> Iterator[tuple[str, str, bool]]:
    """The resources so called that rules and the table of risks name, of a group or ("") of any; no object says whether
    they have namespaces."""
    for rule in permissions.distinct_rules:
        # A rule of untrusted input may stand for billions of resources in groups.
        if any(resource.partition("/")[0] == base for resource in rule.resources):
            yield from ((base, own, True) for own in rule.groups if group in ("", own))
    for risk in RISKS:
        if group in ("", risk.group) and any(resource.partition("/")[0] == base for resource in risk.resources):
            yield base, risk.group, bool(risk.namespaced)


def _bases(permissions: Permissions) -> Iterator[str]:
    """All resources that rules and the table of risks name, without what is below them."""
    listed = chain((rule.resources for rule in permissions.distinct_rules), (risk.resources for risk in RISKS))
    return (resource.partition("/")[0] for resources in listed for resource in resources)


class AbleSubjects(NamedTuple):
    """Everybody who can, sorted; of what is too much for anybody to read so many are left out as `more` says."""

    able: tuple[Able, ...]
    more: int


_ByNames = Mapping[tuple[str, ...], tuple[SourceRule, ...]]


def find_able(question: AccessQuestion, permissions: Permissions, most: int = _MOST_ABLE) -> AbleSubjects:
    """Everybody who can, and of aggregated roles those that users are given; no more than `most`."""
    allowing = _allowing(question)
    by_holder: dict[tuple[Subject, str | None], list[tuple[RoleGrant, _ByNames]]] = defaultdict(list)
    for role in (*permissions.bound, *(gain for gain in permissions.gained if gain.subject.name in USER_ROLES)):
        rules = allowing(role) if _holds(role, question) else {}
        if rules:
            by_holder[role.subject, role.namespace].append((role, rules))
    able: list[Able] = []
    total = 0
    for subject, namespace in sorted(by_holder, key=lambda key: (key[0], key[1] or "")):
        roles = by_holder[subject, namespace]
        several = roles[0][1].keys() if len(roles) == 1 else {names for _, rules in roles for names in rules}
        total += len(several)
        for names in sorted(several) if len(able) < most else ():
            # Of thousands of rules that allow it the first ones are named.
            grants = islice((role.of(rule) for role, rules in roles for rule in rules.get(names, ())), _MOST_GRANTS)
            more = max(0, sum(len(rules.get(names, ())) for _, rules in roles) - _MOST_GRANTS)
            able.append(Able(subject, namespace, names, tuple(sorted(grants, key=grant_order)), more))
    return AbleSubjects(tuple(able[:most]), total - len(able[:most]))


def _allowing(question: AccessQuestion) -> Callable[[RoleGrant], _ByNames]:
    """A function that gives the rules of a role that allow it, by the names that they are about; each role is looked at
    once."""
    known: dict[int, tuple[tuple[SourceRule, ...], _ByNames]] = {}

    def allowing(role: RoleGrant) -> _ByNames:
        if id(role.rules) not in known:
            by_names: dict[tuple[str, ...], list[SourceRule]] = defaultdict(list)
            for each in role.rules:
                if any(_allows(each.rule, request) for request in question.requests):
                    by_names[_names(each.rule, question.requests[0])].append(each)
            known[id(role.rules)] = role.rules, {names: tuple(rules) for names, rules in by_names.items()}
        return known[id(role.rules)][1]

    return allowing


def _holds(grant: RoleGrant, question: AccessQuestion) -> bool:
    """Return whether a role counts where the question asks."""
    if grant.namespace == "":
        return True
    # A grant for some namespaces is no answer about all of them.
    if question.namespace == "":
        return False
    if grant.namespace is None:
        return True
    return question.namespaced and question.namespace in (None, grant.namespace)


def _names(rule: PolicyRule, request: Request) -> tuple[str, ...]:
    """The names of the objects that a rule is about if such a request is made, () for all."""
    if "/" in request.resource or "" not in rule.names:
        return rule.names
    # A request to list or to create objects has the name "", for objects of any name.
    return () if request.verb in NAMELESS_VERBS else rule.names


def _allows(rule: PolicyRule, request: Request) -> bool:
    """Return whether a rule allows a request; if that has no name, a rule for some objects is an answer as well."""
    rule = rule._replace(names=_names(rule, request))
    # No object has the name "", so it can't be read.
    if rule.names and not any(rule.names) and request.verb != ANY:
        return False
    nameless = request.verb in _ALWAYS_NAMELESS and "/" not in request.resource
    return rule_allows(rule if request.name or nameless else rule._replace(names=()), request)


def as_table(answer: AbleSubjects, find: Finder) -> str:
    """Return a line for each subject that can, "" for none."""
    if not answer.able:
        return ""
    lines = [("SUBJECT", "WHERE", "WHICH", "FROM")]
    for entry in answer.able:
        grant = entry.grants[0]
        place = find(grant)
        lines.append(
            (
                str(entry.subject),
                where((entry.namespace,)).removeprefix("in "),
                in_quotes(entry.names) or "any",
                str(place) if place is not None else str(grant.source),
            )
        )
    return aligned(lines)


def as_data(question: AccessQuestion, answer: AbleSubjects, find: Finder) -> dict[str, Any]:
    """The answer in the format of `schemas/who-can.schema.json`."""
    return {
        "version": FORMAT_VERSION,
        "question": question.in_words,
        "requests": [request._asdict() for request in question.requests],
        "subjects": [
            {
                "subject": entry.subject._asdict(),
                "namespace": entry.namespace,
                "names": list(entry.names),
                "grants": [grant_data(grant, find) for grant in entry.grants],
                **({"moreGrants": entry.more_grants} if entry.more_grants else {}),
            }
            for entry in answer.able
        ],
        **({"more": answer.more} if answer.more else {}),
    }


_NAMESPACED = ("Role", "RoleBinding")


class AskedPermissions(NamedTuple):
    """The objects that would give operators what they ask for, as far as they are not there, and CSVs that can't be
    read."""

    objects: tuple[Rendered, ...]
    unreadable: tuple[str, ...]


def asked_permissions(
    operators: Iterable[WantedOperator], cluster: Cluster, there: Iterable[Rendered]
) -> AskedPermissions:
    """The CSVs, ServiceAccounts, roles and bindings of operators as they would be, in the namespaces that they would
    watch, without those among `there`."""
    known = {rendered.identity for rendered in there}
    objects: dict[ObjectKey, Rendered] = {}
    unreadable: list[str] = []
    for operator in operators:
        try:
            csv = csv_object(operator.content, operator.namespace, "", "", cluster.profile)
        except UndecodableCSVError as error:
            unreadable.append(f"{operator.csv.name}: {error}")
            continue
        for rendered in _granted(operator, csv, cluster):
            objects.setdefault(rendered.identity, rendered)
    return AskedPermissions(tuple(each for key, each in objects.items() if key not in known), tuple(unreadable))


def _granted(operator: WantedOperator, csv: KubernetesObject, cluster: Cluster) -> Iterator[Rendered]:
    targets = _targets(operator.csv, operator.namespace, cluster)
    for step in bundle_steps(operator.content, csv, NO_CATALOG, cluster.profile):
        group = object_key(step.object).group
        if step.kind != csv["kind"] and group != RBAC and step.kind != "ServiceAccount":
            continue
        place = Place(step.source) if step.source is not None else None
        # In the form that OLM writes: it goes by the kind, and bundles may have older versions.
        written = {**step.object, "apiVersion": CORE_KINDS.get(step.kind, step.object.get("apiVersion"))}
        for obj in _placed(written, operator.namespace, targets if step.derived else (operator.namespace,)):
            origin = Origin.STRATEGY if step.derived else Origin.BUNDLE
            yield Rendered(obj, Provenance(place, "install_plan", "R-SA-2", origin))


def _targets(csv: Csv, namespace: str, cluster: Cluster) -> tuple[str, ...]:
    """The namespaces that an operator would watch, "" for all: those of the groups there, else the most it supports."""
    groups = cluster.groups_in(namespace)
    if any(group.is_global for group in groups) or (not groups and _is_for_all(csv)):
        return ("",)
    return tuple(dict.fromkeys((namespace, *(name for group in groups for name in group.targets))))


def _is_for_all(csv: Csv) -> bool:
    return any(mode.supported and mode.type == "AllNamespaces" for mode in csv.install_modes)


def _placed(obj: KubernetesObject, namespace: str, targets: tuple[str, ...]) -> Iterator[KubernetesObject]:
    """An object in its own namespace, and what OLM makes of a Role for the namespaces that the operator watches."""
    kind, metadata = str(obj["kind"]), metadata_of(obj)
    if kind.startswith("Cluster") and kind != "ClusterServiceVersion":
        yield {**obj, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}
        return
    yield {**obj, "metadata": {**metadata, "namespace": namespace}}
    for target in targets if kind in _NAMESPACED else ():
        if target == "":
            yield _lifted(obj, metadata)
        elif target != namespace:
            yield {**obj, "metadata": {**metadata, "namespace": target}}


def _lifted(obj: KubernetesObject, metadata: Mapping[str, object]) -> KubernetesObject:
    """A Role as a ClusterRole, or its binding, which operators for all namespaces get (R-SING-2)."""
    lifted = {key: value for key, value in metadata.items() if key != "namespace"}
    made = {**obj, "kind": f"Cluster{obj['kind']}", "metadata": lifted}
    return made | ({"roleRef": {**mapping(obj["roleRef"]), "kind": "ClusterRole"}} if "roleRef" in obj else {})
