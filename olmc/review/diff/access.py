"""Who may do what on one side, as far as it matters to a comparison: rules by holder, whatever roles are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from olmc.kube.rbac import decode_rules, normalized
from olmc.kube.rbac_access import decode_binding, decode_role
from olmc.model.cluster import Name
from olmc.model.coerce import mappings, texts
from olmc.model.objects import Identity, KubernetesObject, Provenance, Rendered, identity
from olmc.model.rbac import ACCOUNT, RBAC, PolicyRule, Subject
from olmc.review.diff.operators import Operator
from olmc.review.permissions import Permissions, namespace_of, permissions

__all__ = ["EVERYWHERE", "WHERE_BOUND", "Access", "Holder", "access"]

EVERYWHERE = ""
WHERE_BOUND = "*"
"""The scope of a role: wherever somebody gets bound to it."""

_AGGREGATES = "olm.opgroup.permissions/aggregate-to-"
_NOWHERE = Provenance(None, "", "")


class Holder(NamedTuple):
    """Somebody with permissions, and the scope: a namespace, `EVERYWHERE`, or `WHERE_BOUND`."""

    subject: Identity
    scope: str


class Access(NamedTuple):
    """The rules that holders have, and the roles that they have without the side saying what is in them."""

    rules: Mapping[Holder, tuple[PolicyRule, ...]]
    roles: Mapping[Holder, tuple[str, ...]]

    def everywhere(self, holder: Holder) -> tuple[PolicyRule, ...]:
        """What the holder of a scope that is a namespace may do in the whole cluster, and so there as well."""
        is_namespace = holder.scope not in (EVERYWHERE, WHERE_BOUND)
        return self.rules.get(Holder(holder.subject, EVERYWHERE), ()) if is_namespace else ()

    def granted(self, holder: Holder) -> tuple[PolicyRule, ...]:
        """The rules that count for a holder in its scope."""
        return self.rules.get(holder, ()) + self.everywhere(holder)


def access(objects: Iterable[KubernetesObject], owners: Mapping[Name, Operator]) -> Access:
    """The access that the RBAC objects among `objects` give.

    Roles that nothing here binds are holders themselves, and so are admin, edit and view with what is aggregated into
    them: whoever has them elsewhere gains and loses with them. `owners` are the operators of the side: the permission
    for the OperatorCondition of a CSV is that for the condition of its package.
    """
    rendered = [Rendered(_unnamed(obj, owners), _NOWHERE) for obj in objects if identity(obj).group == RBAC]
    found = permissions(rendered)
    of_groups = {each.identity.name for each in rendered if _is_of_a_group(each)}
    rules: dict[Holder, dict[PolicyRule, None]] = {}
    for grant in (*found.grants, *found.gains):
        if grant.subject.kind != "ClusterRole" or grant.subject.name not in of_groups:
            scope = WHERE_BOUND if grant.namespace is None else grant.namespace
            rules.setdefault(Holder(_known(grant.subject), scope), {})[grant.rule] = None
    for holder, rule in _of_unbound(rendered, found):
        rules.setdefault(holder, {})[rule] = None
    return Access({holder: tuple(mine) for holder, mine in rules.items()}, _unknown_roles(rendered, found))


def _is_of_a_group(found: Rendered) -> bool:
    """Whether OLM made a role for an OperatorGroup: it has what admin, edit and view have, whatever it is called.

    The oldest versions of OLM don't label it, but all let it aggregate by labels of OLM.
    """
    role = decode_role(found.object)
    keys = (key for selector in role.selectors for key in selector.get("matchLabels") or ())
    by_label = role.labels.get("olm.owner.kind") == "OperatorGroup" or any(key.startswith(_AGGREGATES) for key in keys)
    return found.identity.kind == "ClusterRole" and by_label


def _unnamed(obj: KubernetesObject, owners: Mapping[Name, Operator]) -> KubernetesObject:
    """A role, or one for the condition of a CSV with the package in the place of the CSV."""
    known = identity(obj)
    owner = owners.get(Name(known.namespace, known.name))
    if owner is None or known.kind != "Role":
        return obj
    own = {owner.name: owner.package}
    names = ([own.get(name, name) for name in texts(rule.get("resourceNames"))] for rule in mappings(obj.get("rules")))
    rules = zip(mappings(obj.get("rules")), names, strict=True)
    return {**obj, "rules": [{**rule, "resourceNames": named} for rule, named in rules]}


def _known(subject: Subject) -> Identity:
    return Identity("" if subject.kind == ACCOUNT else RBAC, subject.kind, subject.namespace, subject.name)


def _of_unbound(rendered: Iterable[Rendered], found: Permissions) -> Iterator[tuple[Holder, PolicyRule]]:
    """The rules of roles that no binding names and no other role aggregates."""
    used = {grant.role for grant in found.grants} | {grant.source for grant in (*found.grants, *found.gains)}
    for each in rendered:
        known = each.identity
        if known.kind in ("Role", "ClusterRole") and known not in used and not _is_of_a_group(each):
            for rule in decode_rules(each.object.get("rules")):
                yield from ((Holder(known, WHERE_BOUND), part) for part in normalized(rule))


def _unknown_roles(rendered: Iterable[Rendered], found: Permissions) -> dict[Holder, tuple[str, ...]]:
    """By holder the roles that bindings name, and that are neither here nor in every cluster."""
    bindings = {each.identity: each.object for each in rendered}
    roles: dict[Holder, list[str]] = {}
    for binding, role in found.dangling:
        namespace = namespace_of(binding)
        for subject in decode_binding(binding, bindings[binding], namespace).subjects:
            roles.setdefault(Holder(_known(subject), namespace), []).append(str(role))
    return {holder: tuple(sorted(set(names))) for holder, names in roles.items()}
