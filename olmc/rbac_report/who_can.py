"""Who may do something: a question about a verb and a resource, and everybody whose permissions allow it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from olmc.kube.rbac import NAMELESS_VERBS, rule_allows
from olmc.kube.restmapper import RestMapping, find_kinds, known_kinds
from olmc.lean import NamedTuple, regex
from olmc.model.objects import ANY, PolicyRule, Rendered, Request, Subject
from olmc.output.messages import not_found
from olmc.output.text import aligned
from olmc.rbac_report.builtin_roles import USER_ROLES
from olmc.rbac_report.permissions import Grant, Permissions, RoleGrant, SourceRule, grant_order
from olmc.rbac_report.risks import RISKS
from olmc.rbac_report.text import FORMAT_VERSION, Finder, grant_data, in_quotes, where

_VERBS = "create delete deletecollection get list patch update watch".split()
_ALWAYS_NAMELESS = ("create", "deletecollection")
_WITH_VERSION = regex(r"(?P<plural>[^.]+)\.v\d+((alpha|beta)\d+)?\.(?P<group>.+)")


_MOST_ABLE, _MOST_GRANTS = 5_000, 20
"""So many answers are listed, and so many of the grants behind each, the first ones; the others are counted."""


class AccessQuestion(NamedTuple):
    """What somebody might do: any of `requests`, one for each API group that has such a resource.

    `namespace`: where, "" in all at once, None anywhere. Resources that are not `namespaced` are in none of them.
    """

    in_words: str
    requests: tuple[Request, ...]
    namespaced: bool
    namespace: str | None


class Able(NamedTuple):
    """Who can, where ("" in the whole cluster, None where the role is bound), which objects (() any), and why.

    Of `grants` that are too many so many are left out as `more_grants` says.
    """

    subject: Subject
    namespace: str | None
    names: tuple[str, ...]
    grants: tuple[Grant, ...]
    more_grants: int = 0


def parse_question(
    verb: str, resource: str, name: str, namespace: str | None, permissions: Permissions, objects: Iterable[Rendered]
) -> AccessQuestion:
    """The question that some words mean; QueryError for a verb or a resource that nobody knows.

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
    """What to say about a namespace that neither the workspace nor a permission has, "" about any other.

    It may be there in a cluster all the same, so this is no error.
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
    """Whether a role counts where the question asks."""
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
    # Whoever lists objects, or creates one, does so under the name "", whatever the objects are called.
    return () if request.verb in NAMELESS_VERBS else rule.names


def _allows(rule: PolicyRule, request: Request) -> bool:
    """Whether a rule allows a request; if that has no name, a rule for some objects is an answer as well."""
    rule = rule._replace(names=_names(rule, request))
    # No object is called "", so nobody can get it.
    if rule.names and not any(rule.names) and request.verb != ANY:
        return False
    nameless = request.verb in _ALWAYS_NAMELESS and "/" not in request.resource
    return rule_allows(rule if request.name or nameless else rule._replace(names=()), request)


def as_table(answer: AbleSubjects, find: Finder) -> str:
    """A line for everybody who can, "" for nobody."""
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
