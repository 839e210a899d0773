"""Finds what changed in what is installed: operators by namespace and package, Subscriptions, groups and plans."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from olmc.golang.semver import tolerant_or_none
from olmc.model.cluster import Name
from olmc.model.objects import Identity, KubernetesObject, identity
from olmc.model.values import mapping, mappings, text, texts
from olmc.resolve.upgrade_path import precedence
from olmc.review.diff.change import Change
from olmc.review.diff.matching import Pair
from olmc.review.diff.noise import SUBSCRIBED
from olmc.review.diff.operators import Operator, heads, operators, properties_of
from olmc.review.diff.routes import Path, path_between, replaced_by_plans
from olmc.review.diff.sides import Side
from olmc.review.diff.versions import (
    InstallModeAdded,
    InstallModeRemoved,
    KubernetesRaised,
    OperatorAdded,
    OperatorRemoved,
    OperatorUpgraded,
    PhaseChanged,
    PlanChanged,
    RequirementAdded,
    RequirementRemoved,
    ResolutionFails,
    SubscriptionChanged,
    TargetsChanged,
    VersionEdited,
)

__all__ = ["operator_changes", "plan_changes", "subscription_changes", "target_changes"]

_REQUIREMENTS = ("olm.package.required", "olm.gvk.required", "olm.constraint", "olm.label")


def operator_changes(old: Side, new: Side) -> Iterator[Change]:
    """What changed in the operators of each namespace, by package."""
    before, after = heads(operators(old.objects)), heads(operators(new.objects))
    planned = replaced_by_plans(new.objects)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if now is None:
            assert was is not None
            yield OperatorRemoved(identity(was.csv), was.package, was.version)
            continue
        known = identity(now.csv)
        if was is None:
            yield OperatorAdded(known, now.package, now.version)
        else:
            yield from _upgrade(known, was, now, path_between(was, now, planned, new.settled))
            yield from _needs(known, was, now)
        yield from _phase(known, was, now)


def _upgrade(known: Identity, old: Operator, new: Operator, path: Path) -> Iterator[Change]:
    if old.name != new.name:
        versions = old.version, new.version
        yield OperatorUpgraded(known, new.package, old.name, new.name, *versions, path, _is_lower(*versions[::-1]))
        return
    before, after = _edges(old), _edges(new)
    for field, was in before.items():
        if was != after[field]:
            yield VersionEdited(known, field, was or "none", after[field] or "none")


def _edges(operator: Operator) -> dict[str, str]:
    """The version of a CSV and what it upgrades, as texts."""
    return {
        "version": operator.version,
        "replaces": operator.replaces,
        "skips": ", ".join(operator.skips),
        "skipRange": operator.skip_range,
    }


def _is_lower(one: str, other: str) -> bool:
    versions = tolerant_or_none(one), tolerant_or_none(other)
    return versions[0] is not None and versions[1] is not None and precedence(versions[0]) < precedence(versions[1])


def _phase(known: Identity, old: Operator | None, new: Operator) -> Iterator[PhaseChanged]:
    was, now = old.phase if old is not None else "", new.phase
    if now and was != now and (was or now != "Succeeded"):
        status = mapping(new.csv.get("status"))
        yield PhaseChanged(known, was, now, text(status.get("reason")), text(status.get("message")))


def _needs(known: Identity, old: Operator, new: Operator) -> Iterator[Change]:
    before, after = _modes(old), _modes(new)
    yield from (InstallModeAdded(known, mode) for mode in after if mode not in before)
    yield from (InstallModeRemoved(known, mode) for mode in before if mode not in after)
    was, now = (text(each.spec.get("minKubeVersion")) for each in (old, new))
    if was != now:
        yield KubernetesRaised(known, was, now)
    required_before, required_after = _requirements(old), _requirements(new)
    yield from (RequirementAdded(known, each) for each in required_after if each not in required_before)
    yield from (RequirementRemoved(known, each) for each in required_before if each not in required_after)


def _modes(operator: Operator) -> list[str]:
    modes = mappings(operator.spec.get("installModes"))
    return [text(mode.get("type")) for mode in modes if mode.get("supported") is True]


def _requirements(operator: Operator) -> list[str]:
    found = (each for each in properties_of(operator.csv) if each.get("type") in _REQUIREMENTS)
    return [_requirement(text(each["type"]), each.get("value")) for each in found]


def _requirement(kind: str, value: Any) -> str:
    fields = mapping(value)
    if kind == "olm.package.required":
        return f"package {text(fields.get('packageName'))} {text(fields.get('versionRange'))}"
    if kind == "olm.gvk.required":
        return f"{text(fields.get('kind'))}.{text(fields.get('version'))}.{text(fields.get('group'))}"
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def subscription_changes(pair: Pair) -> Iterator[Change]:
    """What changed in a Subscription besides its `config`, and whether it can still be resolved."""
    before, after = (_subscribed(obj) for obj in (pair.old, pair.new))
    if pair.old is not None and pair.new is not None:
        for field in SUBSCRIBED:
            if before[field] != after[field]:
                yield SubscriptionChanged(pair.identity, field, before[field], after[field])
    if pair.new is not None:
        failure = _failure(pair.new)
        if failure and (pair.old is None or not _failure(pair.old)):
            yield ResolutionFails(pair.identity, failure)


def _subscribed(subscription: KubernetesObject | None) -> dict[str, str]:
    spec = mapping((subscription or {}).get("spec"))
    found = {field: text(spec.get(field)) for field in SUBSCRIBED}
    return {**found, "installPlanApproval": found["installPlanApproval"] or "Automatic"}


def _failure(subscription: KubernetesObject) -> str:
    for condition in mappings(mapping(subscription.get("status")).get("conditions")):
        if condition.get("type") == "ResolutionFailed" and condition.get("status") == "True":
            return text(condition.get("message")) or text(condition.get("reason")) or "ResolutionFailed"
    return ""


def target_changes(pair: Pair) -> Iterator[TargetsChanged]:
    """The namespaces that an OperatorGroup targets on one side only."""
    if pair.old is None or pair.new is None:
        return
    before, after = _targets(pair.old), _targets(pair.new)
    added = tuple(each for each in after if each not in before)
    removed = tuple(each for each in before if each not in after)
    if added or removed:
        yield TargetsChanged(pair.identity, added, removed)


def _targets(group: KubernetesObject) -> list[str]:
    """As OLM found them, else as they are asked for; all namespaces is ""."""
    found = mapping(group.get("status")).get("namespaces")
    return sorted(texts(found if found is not None else mapping(group.get("spec")).get("targetNamespaces")) or [""])


def plan_changes(old: Sequence[KubernetesObject], new: Sequence[KubernetesObject]) -> Iterator[PlanChanged]:
    """The InstallPlans of the new side that wait or have failed, unless the old side has the like."""
    before = {_plan(obj)[:3] for obj in old if obj.get("kind") == "InstallPlan"}
    for obj in new:
        if obj.get("kind") == "InstallPlan":
            namespace, phase, csvs, message = _plan(obj)
            if phase in ("RequiresApproval", "Failed") and (namespace, phase, csvs) not in before:
                yield PlanChanged(identity(obj), phase, csvs, message)


def _plan(obj: KubernetesObject) -> tuple[str, str, tuple[str, ...], str]:
    status, spec = mapping(obj.get("status")), mapping(obj.get("spec"))
    messages = (text(each.get("message")) for each in mappings(status.get("conditions")))
    name = Name(identity(obj).namespace, "")
    message = text(status.get("message")) or next(filter(None, messages), "")
    return name.namespace, text(status.get("phase")), tuple(texts(spec.get("clusterServiceVersionNames"))), message
