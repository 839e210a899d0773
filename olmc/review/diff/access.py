"""Who may do what: the RBAC of a side as rules by subject and scope, and single permissions made of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.load.validation.views import mapping, mappings, text, texts
from olmc.model.cluster import Name
from olmc.model.objects import Identity, KubernetesObject, identity
from olmc.review.diff.operators import Operator
from olmc.settle.permissions import RBAC

__all__ = [
    "AGGREGATED", "EVERYWHERE", "WHERE_BOUND", "Access", "Holder", "Permission", "Rule", "access", "is_aggregate",
    "permissions",
]  # fmt: skip

Rule = Mapping[str, Any]

EVERYWHERE = ""
WHERE_BOUND = "*"
"""The scope of a role that nothing here binds, or that is part of another one."""

AGGREGATED = ("admin", "edit", "view")
_AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"
_EVERYTHING: tuple[Rule, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


class Holder(NamedTuple):
    """Somebody with permissions, and the scope: a namespace, `EVERYWHERE`, or `WHERE_BOUND`."""

    subject: Identity
    scope: str


class Permission(NamedTuple):
    """One verb on one resource (`deployments.apps`) or URL; `name` is "" for all objects."""

    verb: str
    resource: str
    name: str = ""
    url: str = ""

    @property
    def rule(self) -> Rule:
        """The rule that gives this permission and no other."""
        if self.url:
            return {"verbs": [self.verb], "nonResourceURLs": [self.url]}
        whole, _, below = self.resource.partition("/")
        resource, _, group = whole.partition(".")
        rule = {"verbs": [self.verb], "apiGroups": [group], "resources": [f"{resource}/{below}" if below else resource]}
        return {**rule, "resourceNames": [self.name]} if self.name else rule


class Access(NamedTuple):
    """The rules that holders have, and the roles that they have without the side saying what is in them."""

    rules: Mapping[Holder, tuple[Rule, ...]]
    roles: Mapping[Holder, tuple[str, ...]]

    def granted(self, holder: Holder) -> tuple[Rule, ...]:
        """The rules that count for a holder in its scope: those for the whole cluster count everywhere."""
        mine = self.rules.get(holder, ())
        if holder.scope in (EVERYWHERE, WHERE_BOUND):
            return mine
        return mine + self.rules.get(Holder(holder.subject, EVERYWHERE), ())


def access(objects: Iterable[KubernetesObject], owners: Mapping[Name, Operator]) -> Access:
    """The access that the RBAC objects among `objects` give (R-PERM-2).

    Roles that nothing here binds are holders themselves, and so are admin, edit and view with what is aggregated into
    them: whoever has them elsewhere gains and loses with them. `owners` are the operators of the side: the permission
    for the OperatorCondition of a CSV is that for the condition of its package.
    """
    mine = {identity(obj): obj for obj in objects if text(obj.get("apiVersion")).startswith(f"{RBAC}/")}
    rules: dict[Holder, list[Rule]] = {}
    roles: dict[Holder, list[str]] = {}
    bound = set()
    for known, obj in mine.items():
        if not known.kind.endswith("Binding"):
            continue
        role = _role(known, obj)
        bound.add(role)
        for subject in _subjects(known, obj):
            holder = Holder(subject, known.namespace if known.kind == "RoleBinding" else EVERYWHERE)
            if role in mine:
                rules.setdefault(holder, []).extend(_rules(role, mine[role], owners))
            elif role.name == "cluster-admin" and role.kind == "ClusterRole":
                rules.setdefault(holder, []).extend(_EVERYTHING)
            else:
                roles.setdefault(holder, []).append(str(role))
    for known, obj in mine.items():
        if not known.kind.endswith("Binding"):
            for holder in _without_binding(known, obj, known in bound):
                rules.setdefault(holder, []).extend(_rules(known, obj, owners))
    return Access(
        {holder: tuple(found) for holder, found in rules.items() if found},
        {holder: tuple(sorted(set(found))) for holder, found in roles.items()},
    )


def _rules(known: Identity, role: KubernetesObject, owners: Mapping[Name, Operator]) -> list[Rule]:
    found: list[Rule] = mappings(role.get("rules"))
    owner = owners.get(Name(known.namespace, known.name))
    if owner is None:
        return found
    own = {owner.name: owner.package}
    names = ([own.get(name, name) for name in texts(rule.get("resourceNames"))] for rule in found)
    return [{**rule, "resourceNames": named} for rule, named in zip(found, names, strict=True)]


def _role(known: Identity, binding: KubernetesObject) -> Identity:
    reference = mapping(binding.get("roleRef"))
    kind = text(reference.get("kind"))
    return Identity(RBAC, kind, known.namespace if kind == "Role" else "", text(reference.get("name")))


def _subjects(known: Identity, binding: KubernetesObject) -> Iterator[Identity]:
    seen = set()
    for each in mappings(binding.get("subjects")):
        kind, name = text(each.get("kind")), text(each.get("name"))
        if kind == "ServiceAccount":
            found = Identity("", kind, text(each.get("namespace")) or known.namespace, name)
        else:
            parts = name.split(":")
            is_account = kind == "User" and len(parts) == 4 and parts[:2] == ["system", "serviceaccount"]
            found = Identity("", "ServiceAccount", *parts[2:]) if is_account else Identity(RBAC, kind, "", name)
        if found not in seen:
            seen.add(found)
            yield found


def _without_binding(known: Identity, role: KubernetesObject, is_bound: bool) -> Iterator[Holder]:
    """Who has a role without a binding: the cluster's own roles that it is aggregated into, else the role itself."""
    labels = mapping(mapping(role.get("metadata")).get("labels"))
    into = [name for name in AGGREGATED if labels.get(_AGGREGATE_TO + name) == "true"]
    yield from (Holder(Identity(RBAC, "ClusterRole", "", name), WHERE_BOUND) for name in into)
    if not into and not is_bound:
        yield Holder(known, WHERE_BOUND)


def is_aggregate(holder: Holder) -> bool:
    """Whether a holder is one of the cluster's own roles that others are aggregated into."""
    return holder.scope == WHERE_BOUND and holder.subject.kind == "ClusterRole" and holder.subject.name in AGGREGATED


def permissions(rule: Rule) -> Iterator[Permission]:
    """The single permissions that a rule stands for."""
    for verb in dict.fromkeys(texts(rule.get("verbs"))):
        for url in texts(rule.get("nonResourceURLs")):
            yield Permission(verb, "", url=url)
        for group in texts(rule.get("apiGroups")):
            for resource in texts(rule.get("resources")):
                for name in texts(rule.get("resourceNames")) or [""]:
                    yield Permission(verb, _qualified(resource, group), name)


def _qualified(resource: str, group: str) -> str:
    """A resource with its group, as kubectl takes it: `deployments.apps/scale`."""
    whole, slash, below = resource.partition("/")
    return f"{whole}.{group}{slash}{below}" if group else resource
