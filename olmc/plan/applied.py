"""What a GitOps tool does with a repository's manifests: what it creates, changes and deletes, and what goes along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from olmc.diff.deltas import Delta, deltas
from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, ObjectKey, mapping, metadata_of, object_key, spec_of
from olmc.model.operators import CSV_KIND
from olmc.model.options import Options, Profile
from olmc.model.secrets import LAST_APPLIED, masked, may_hold_secrets
from olmc.model.state import ClusterState
from olmc.model.workspace import Manifest
from olmc.olm.profiles.data import profile_of
from olmc.reconcile.initial_state import as_stored
from olmc.reconcile.operator_groups import written_spec
from olmc.transition.applying import apply, pruned
from olmc.transition.deletion import cascade, deletion_index
from olmc.transition.handover import handed_over, handovers
from olmc.transition.succeed import named

Action = Literal["create", "change", "prune", "delete"]

_NOISE = frozenset({LAST_APPLIED})


class AppliedChange(NamedTuple):
    """An object that is created, changed, pruned, or deleted by hand.

    `deltas`: where a changed one differs. `along`: what goes with a deleted one.
    """

    action: Action
    key: ObjectKey
    deltas: tuple[Delta, ...] = ()
    along: tuple[ObjectKey, ...] = ()


def applied_changes(state: ClusterState, manifests: Iterable[Manifest], options: Options) -> tuple[AppliedChange, ...]:
    """What is done to a state before OLM goes on, in order: handed over to OLM v1 by hand, applied, pruned, deleted by
    hand (observed-37)."""
    manifests = tuple(manifests)
    profile = profile_of(options.olm_version)
    changes: list[AppliedChange] = []
    moved = handovers(state, manifests) if options.prune else ()
    if moved:
        actions_before: list[tuple[Action, ObjectKey]] = [("delete", key) for move in moved for key in move.deleted]
        changes += _deleted(state.objects, actions_before, profile)
        state = handed_over(state, moved, manifests, profile)
    after = apply(state, manifests)
    # Against the state and not against the manifests of before: what somebody changed by hand is changed back.
    changes += _written(state, after.objects, manifests)
    actions: list[tuple[Action, ObjectKey]] = []
    if options.prune:
        actions += (("prune", key) for key in pruned(after, manifests))
    actions += (("delete", key) for text in options.delete for key in named(text, after.objects))
    return (*changes, *_deleted(after.objects, actions, profile))


def _deleted(
    objects: Mapping[ObjectKey, Manifest], actions: Iterable[tuple[Action, ObjectKey]], profile: Profile
) -> Iterator[AppliedChange]:
    """The deletions, one after the other, each with what it takes along."""
    actions = list(actions)
    if not actions:
        return
    index, gone = deletion_index(objects), dict[ObjectKey, None]()
    for action, key in actions:
        if key in gone or key not in objects:
            continue
        lost = cascade(index, [key], gone, profile)
        yield AppliedChange(action, key, along=tuple(sorted(other for other in lost if other != key)))
        gone |= lost


def _written(
    state: ClusterState, after: Mapping[ObjectKey, Manifest], manifests: Iterable[Manifest]
) -> Iterator[AppliedChange]:
    for key in dict.fromkeys(object_key(manifest.object) for manifest in manifests):
        if key not in state.objects:
            yield AppliedChange("create", key)
            continue
        was, now = _compared(state.objects[key].object), _compared(after[key].object)
        if was["metadata"] != now["metadata"]:
            was = _without_marks_of_others(was, now, state.applied.get(key, {}))
        differing = tuple(deltas(*(masked(was, now) if may_hold_secrets(now) else (was, now))))
        if differing:
            yield AppliedChange("change", key, differing)


def _without_marks_of_others(was: KubernetesObject, now: KubernetesObject, applied: KubernetesObject) -> dict[str, Any]:
    """An object without the labels and annotations that go although no manifest ever had them, as those do that stand
    beside the last one of the manifest's: who has set them sets them again."""
    metadata = dict(was["metadata"])
    for field in ("labels", "annotations"):
        own = mapping(metadata_of(applied).get(field)).keys() | mapping(metadata_of(now).get(field)).keys()
        kept = {name: value for name, value in mapping(metadata.pop(field, None)).items() if name in own}
        metadata |= {field: kept} if kept else {}
    return {**was, "metadata": metadata}


def counted(keys: Iterable[ObjectKey]) -> str:
    """Objects by kind: `3 ClusterRoles, 1 Deployment`."""
    kinds = Counter(key.kind for key in keys)
    return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for kind, count in sorted(kinds.items()))


def _compared(obj: KubernetesObject) -> dict[str, Any]:
    """An object without what an apply writes about itself; what OLM's types add to a CSV, and leave out of an
    OperatorGroup, is no change (R-OG-13)."""
    if obj["kind"] == CSV_KIND:
        obj = as_stored(obj)
    elif obj["kind"] == "OperatorGroup":
        obj = {**obj, "spec": written_spec(spec_of(obj))}
    metadata = dict(obj["metadata"])
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in _NOISE}
    metadata |= {"annotations": annotations} if annotations else {}
    return {**obj, "metadata": metadata}
