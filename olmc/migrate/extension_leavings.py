"""What people have written about an operator's objects of OLM v0, and what means nothing once these are gone: bindings
of roles that OLM v0 makes, and what somebody has overridden in an OperatorCondition (R-V1-MIG-2, R-V1-LIM-4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmc.migrate.extension_losses import BothGenerations, belongs
from olmc.migrate.extension_moves import ExtensionMove, MoveReason
from olmc.model.diagnostics import Location, join_limited
from olmc.model.objects import (
    RBAC,
    KubernetesObject,
    ObjectKey,
    Rendered,
    labels_of,
    mapping,
    mappings,
    name_of,
    owner_references,
    spec_of,
    text,
)
from olmc.model.operators import OLM_GROUP
from olmc.yaml import at

_BINDINGS = frozenset(("RoleBinding", "ClusterRoleBinding"))
_ROLES = frozenset(("Role", "ClusterRole"))
_SHOWN = 3


def leavings(sides: BothGenerations, moves: Iterable[ExtensionMove]) -> Iterator[tuple[ExtensionMove, MoveReason]]:
    """What of each operator that moves means nothing any more; a binding counts for the first whose role it names."""
    moves = tuple(moves)
    after = {rendered.identity for rendered in sides.after}
    gone = [r for r in sides.before if r.identity.kind in _ROLES and r.identity.group == RBAC]
    roles = {rendered.identity: rendered.object for rendered in gone if rendered.identity not in after}
    for rendered in sides.after:
        role = roles.get(_role_of(rendered)) if rendered.identity.kind in _BINDINGS else None
        for move in [move for move in moves if role is not None and _is_of(role, move)][:1]:
            yield move, _unbound(rendered, move)
    for move in moves:
        for rendered in sides.before:
            if rendered.identity == ObjectKey(OLM_GROUP, "OperatorCondition", move.namespace, move.csv):
                yield from ((move, reason) for reason in _overridden(rendered))


def _role_of(binding: Rendered) -> ObjectKey:
    reference = mapping(binding.object.get("roleRef"))
    kind = text(reference.get("kind"))
    namespace = binding.identity.namespace if kind == "Role" else ""
    return ObjectKey(RBAC, kind, namespace, text(reference.get("name")))


def _is_of(role: KubernetesObject, move: ExtensionMove) -> bool:
    """Whether OLM v0 has made a role for an operator: for its CSV, for an API that it owns, or for its group."""
    owners = {text(ref.get("name")) for ref in owner_references(role)}
    if belongs(role, move) or owners & {api.name for api in move.installed.csv.owned_crds}:
        return True
    labels = labels_of(role)
    return labels.get("olm.owner.kind") == "OperatorGroup" and labels.get("olm.owner.namespace") == move.namespace


def _unbound(binding: Rendered, move: ExtensionMove) -> MoveReason:
    """A binding that binds nothing: the role that it names goes with OLM v0."""
    whom = [
        f"{text(subject.get('kind'))} {text(subject.get('name'))}"
        for subject in mappings(binding.object.get("subjects"))
    ]
    role = _role_of(binding)
    why = (
        f"{binding.identity} names {role.kind} {role.name}, which goes with OLM v0, and binds "
        f"{join_limited(whom, _SHOWN) or 'nobody'} to nothing then"
    )
    names = join_limited([name_of(role) for role in move.users], _SHOWN)
    hint = f"Bind one of those that are there afterwards ({names}, or admin, edit and view)."
    hint = hint if names else "Bind a role of your own."
    return MoveReason("role bindings", "R-V1-MIG-2", why, hint, _place(binding))


def _overridden(condition: Rendered) -> Iterator[MoveReason]:
    overrides = mappings(spec_of(condition.object).get("overrides"))
    if overrides:
        types = [f"{text(each.get('type'))}={text(each.get('status'))}" for each in overrides]
        why = f"spec.overrides of its OperatorCondition go ({join_limited(types, _SHOWN)}), and nobody asks for them"
        hint = "Pin its version where they held back an upgrade; where they let one through, OLM v1 asks nobody."
        yield MoveReason("OperatorConditions", "R-V1-LIM-4", why, hint, _place(condition))


def _place(rendered: Rendered) -> Location | None:
    place = rendered.provenance.place
    return at(place.source, *place.keys) if place is not None else None
