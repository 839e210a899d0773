"""Who may do something: a question about a verb and a resource, and everybody whose permissions allow it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olmc.kube.rbac import NAMELESS_VERBS, rule_allows
from olmc.kube.restmapper import RestMapping, find_kinds, known_kinds
from olmc.lean import NamedTuple, regex
from olmc.model.objects import ANY, PolicyRule, Rendered, Request, Subject
from olmc.output.messages import not_found
from olmc.output.text import aligned
from olmc.rbac_report.permissions import USER_ROLES, Grant, Permissions
from olmc.rbac_report.risks import RISKS
from olmc.rbac_report.text import FORMAT_VERSION, Finder, grant_data, in_quotes, where

_VERBS = "create delete deletecollection get list patch update watch".split()
_ALWAYS_NAMELESS = ("create", "deletecollection")
_WITH_VERSION = regex(r"(?P<plural>[^.]+)\.v\d+((alpha|beta)\d+)?\.(?P<group>.+)")


class AccessQuestion(NamedTuple):
    """What somebody might do: any of `requests`, one for each API group that has such a resource.

    `namespace`: where, "" in all at once, None anywhere. Resources that are not `namespaced` are in none of them.
    """

    in_words: str
    requests: tuple[Request, ...]
    namespaced: bool
    namespace: str | None


class Able(NamedTuple):
    """Who can, where ("" in the whole cluster, None where the role is bound), which objects (() any), and why."""

    subject: Subject
    namespace: str | None
    names: tuple[str, ...]
    grants: tuple[Grant, ...]


def parse_question(
    verb: str, resource: str, name: str, namespace: str | None, permissions: Permissions, objects: Iterable[Rendered]
) -> AccessQuestion:
    """The question that some words mean; QueryError for a verb or a resource that nobody knows.

    `resource` is a plural, a kind or a short name, if need be with group and subresource: `deployments.apps/scale`.
    """
    words = " ".join(filter(None, (verb, resource, name, f"in {namespace}" if namespace else "")))
    rules = [grant.rule for grant in (*permissions.grants, *permissions.gains)]
    verbs = {*_VERBS, ANY, *(name for rule in rules for name in rule.verbs)}
    verbs |= {name for risk in RISKS for name in risk.verbs}
    if verb not in verbs:
        raise not_found(f"There is no verb {verb}", verb, sorted(verbs))
    if resource.startswith("/"):
        return AccessQuestion(words, (Request(verb, url=resource),), False, namespace)
    wanted, slash, subresource = resource.partition("/")
    kinds = known_kinds(rendered.object for rendered in objects)
    meant = _meant(wanted, kinds, permissions)
    if not meant:
        plurals = {kind.plural for kind in kinds} | {base for base, _, _ in _in_rules(permissions)}
        raise not_found(f"There is no resource {wanted}", wanted, sorted(plurals))
    # The API server does not know the name of what is about to be created, and never sees one of what goes by a list.
    name = "" if verb in _ALWAYS_NAMELESS and not subresource else name
    requests = [Request(verb, group, f"{plural}{slash}{subresource}", name) for plural, group, _ in meant]
    return AccessQuestion(words, tuple(requests), any(namespaced for _, _, namespaced in meant), namespace)


def namespace_remark(namespace: str | None, permissions: Permissions, namespaces: Iterable[str]) -> str:
    """What to say about a namespace that neither the workspace nor a permission has, "" about any other.

    It may be there in a cluster all the same, so this is no error.
    """
    known = {*namespaces, *(grant.namespace for grant in permissions.grants if grant.namespace)}
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
    return kinds or sorted({item for item in _in_rules(permissions) if item[0] == base and group in ("", item[1])})


def _in_rules(permissions: Permissions) -> Iterator[tuple[str, str, bool]]:
    """The resources that rules and the table of risks name; no object says whether they have namespaces."""
    for grant in (*permissions.grants, *permissions.gains):
        for resource in grant.rule.resources:
            for group in grant.rule.groups:
                yield resource.partition("/")[0], group, True
    for risk in RISKS:
        for resource in risk.resources:
            yield resource.partition("/")[0], risk.group, bool(risk.namespaced)


def find_able(question: AccessQuestion, permissions: Permissions) -> tuple[Able, ...]:
    """Everybody who can, sorted; of aggregated roles those that users are given."""
    able: dict[tuple[Subject, str | None, tuple[str, ...]], list[Grant]] = defaultdict(list)
    for grant in (*permissions.grants, *(gain for gain in permissions.gains if gain.subject.name in USER_ROLES)):
        if _holds(grant, question) and any(_allows(grant, request) for request in question.requests):
            able[grant.subject, grant.namespace, _names(grant.rule, question.requests[0])].append(grant)
    entries = (Able(*key, tuple(grants)) for key, grants in able.items())
    return tuple(sorted(entries, key=lambda entry: (entry.subject, entry.namespace or "", entry.names)))


def _holds(grant: Grant, question: AccessQuestion) -> bool:
    """Whether a grant counts where the question asks."""
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


def _allows(grant: Grant, request: Request) -> bool:
    """Whether a grant allows a request; if that has no name, a grant for some objects is an answer as well."""
    rule = grant.rule._replace(names=_names(grant.rule, request))
    # No object is called "", so nobody can get it.
    if rule.names and not any(rule.names) and request.verb != ANY:
        return False
    nameless = request.verb in _ALWAYS_NAMELESS and "/" not in request.resource
    return rule_allows(rule if request.name or nameless else rule._replace(names=()), request)


def as_table(able: Sequence[Able], find: Finder) -> str:
    """A line for everybody who can, "" for nobody."""
    if not able:
        return ""
    lines = [("SUBJECT", "WHERE", "WHICH", "FROM")]
    for entry in able:
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


def as_data(question: AccessQuestion, able: Sequence[Able], find: Finder) -> dict[str, Any]:
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
            }
            for entry in able
        ],
    }
