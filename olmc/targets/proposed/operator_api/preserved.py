"""Whether an operator that a Subscription installed runs on as it did once an Operator has taken its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.olm.facts import csv_by_label, is_copy
from olmc.compiler.olm.naming import COMPONENT_PREFIX
from olmc.compiler.results import OperatorResult
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, KubernetesObject, ObjectKey, Rendered, labels_of, object_key, owner_references
from olmc.targets.proposed.operator_api.operators import OperatorMove

TARGETS = "olm.targetNamespaces"
_SHOWN = 3
# What the Operator API puts in the place of what there was, and what both only report.
_REPLACED = frozenset((OLM_GROUP, kind) for kind in ("Subscription", "InstallPlan", "Operator", "Install"))


class RunningState(NamedTuple):
    """The running content of a compiled workspace: its objects, the phase and reason of each CSV, and results of
    Operators."""

    objects: Sequence[Rendered]
    phases: Mapping[NamespacedName, tuple[str, str]]
    operators: Sequence[OperatorResult] = ()


def losses(before: RunningState, after: RunningState, moves: Sequence[OperatorMove]) -> dict[NamespacedName, str]:
    """The Subscriptions whose operators would not run on as they do, each with the first reason.

    Other objects are looked at once all CSVs are as they were: what is moved or gone has consequences for others. A
    difference that belongs to no operator counts against all of its namespace, or against all that there are.
    """
    of_csvs = {move.name: why for move in moves if (why := _of_csv(move, before, after))}
    if of_csvs:
        return of_csvs
    was, now = _running(before.objects), _running(after.objects)
    made = {object_key(obj) for result in after.operators for install in result.installs for obj in install.made}
    reasons: dict[NamespacedName, str] = {}
    # An Install makes its namespace where no manifest does; the Subscription was in it all the same (R-OPERATOR-10).
    made |= {key for key in now if key.kind == "Namespace"}
    differing = [key for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key) and key not in made]
    for key in differing:
        for move in _concerned(key, was.get(key) or now[key], moves):
            reasons.setdefault(move.name, _changed(key, was.get(key), now.get(key)))
    return reasons


def _running(objects: Iterable[Rendered]) -> dict[ObjectKey, KubernetesObject]:
    """The objects that count, without the labels and owners by which the Operator API collects them."""
    copies = {r.identity for r in objects if r.identity.kind == CSV_KIND and is_copy(r.object)}
    return {
        rendered.identity: _without_components(rendered.object, copies)
        for rendered in objects
        # Copies go where an Operator owns the original (R-OPERATOR-19).
        if (rendered.identity.group, rendered.identity.kind) not in _REPLACED and rendered.identity not in copies
    }


def _without_components(obj: KubernetesObject, copies: set[ObjectKey]) -> KubernetesObject:
    metadata = dict(obj["metadata"])
    labels = {key: value for key, value in labels_of(obj).items() if not key.startswith(COMPONENT_PREFIX)}
    namespace = metadata.get("namespace", "")
    owners = [
        ref
        for ref in owner_references(obj)
        if ref.get("kind") != "Operator"
        and ObjectKey(OLM_GROUP, str(ref.get("kind")), namespace, str(ref.get("name"))) not in copies
    ]
    for key, value in (("labels", labels), ("ownerReferences", owners)):
        metadata.pop(key, None)
        if value:
            metadata[key] = value
    return {**obj, "metadata": metadata}


def _of_csv(move: OperatorMove, before: RunningState, after: RunningState) -> str:
    """Return how the CSV of a Subscription would be after, if not as it is."""
    installed = NamespacedName(move.name.namespace, move.subscription.installed)
    if not installed.name:
        return ""
    phase = before.phases.get(installed, ("", ""))
    if installed not in after.phases:
        elsewhere = [name.namespace for name in after.phases if name.name == installed.name]
        if elsewhere:
            return f"{installed.name} would be installed in namespace {elsewhere[0]} instead of {installed.namespace}"
        return f"{installed.name} would not be installed{_reason(move, after)}"
    if after.phases[installed] != phase:
        new = "/".join(filter(None, after.phases[installed]))
        return f"{installed.name} would be {new} instead of {'/'.join(filter(None, phase))}"
    targets = [_targets(state.objects, installed) for state in (before, after)]
    if targets[0] != targets[1]:
        return f"{installed.name} would watch {_watched(targets[1])} instead of {_watched(targets[0])}"
    return ""


def _reason(move: OperatorMove, after: RunningState) -> str:
    """Return why the Operator of a Subscription installs something else, or nothing."""
    for result in after.operators:
        if result.operator.name != move.operator:
            continue
        if result.failure is not None:
            return f": {result.failure[1]}"
        if result.missing or result.problem:
            return f": {result.problem or f'the content of {result.missing} is not in the workspace'}"
        if result.waiting is not None:
            return f": Install {result.waiting.install.name} waits for approval"
        if result.installed:
            return f", but {result.installed}"
    return ""


def _targets(objects: Iterable[Rendered], csv: NamespacedName) -> str | None:
    for rendered in objects:
        if rendered.identity == ObjectKey(OLM_GROUP, CSV_KIND, *csv):
            value = (rendered.object["metadata"].get("annotations") or {}).get(TARGETS)
            return None if value is None else str(value)
    return None


def _watched(targets: str | None) -> str:
    if targets is None:
        return "nothing that an OperatorGroup names"
    return targets or "all namespaces"


def _concerned(key: ObjectKey, obj: KubernetesObject, moves: Sequence[OperatorMove]) -> Iterator[OperatorMove]:
    """The moves that an object counts for: that of its owner, else those of its namespace, else all."""
    owner = csv_by_label(obj)
    of_owner = [move for move in moves if (move.name.namespace, move.subscription.installed) == owner]
    in_namespace = [move for move in moves if move.name.namespace == key.namespace]
    yield from of_owner or in_namespace or moves


def _changed(key: ObjectKey, was: KubernetesObject | None, now: KubernetesObject | None) -> str:
    if now is None:
        return f"{key} would be gone"
    return f"{key} would be added" if was is None else f"{key} would have another {_first_difference(was, now)}"


def _first_difference(was: Any, now: Any, path: str = "") -> str:
    """Return where two values differ first, with both values as JSON."""
    if isinstance(was, dict) and isinstance(now, dict):
        key = next(key for key in sorted({*was, *now}) if was.get(key) != now.get(key))
        return _first_difference(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        index = next(number for number, pair in enumerate(zip(was, now, strict=True)) if pair[0] != pair[1])
        return _first_difference(was[index], now[index], f"{path}[{index}]")
    return f"{path}: {json.dumps(now)} instead of {json.dumps(was)}"
