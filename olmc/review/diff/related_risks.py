"""Objects that give power only together with others: labels that selectors ask for, network policies that add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.api.applied import is_object
from olmc.k8s.api.rbac import decode_rules
from olmc.k8s.api.selectors import is_empty, matches
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    OLM_GROUP,
    OLM_V1_GROUP,
    POLICY_GROUP,
    RBAC,
    KubernetesObject,
    labels_of,
    mapping,
    mappings,
    object_key,
    spec_of,
    text,
    texts,
)
from olmc.review.diff.crd_kinds import DiffChange, plain
from olmc.review.diff.matching import Pair
from olmc.review.diff.object_kinds import embedded_risk, risky_field_changed, risky_object_added
from olmc.review.rbac.risks import Level, level_of

_ADMISSION, _NETWORKING = "admissionregistration.k8s.io", "networking.k8s.io"
_NAME = "kubernetes.io/metadata.name"
_AGGREGATE = "/aggregate-to-"
_USER_ROLES = ("admin", "edit", "view")
_COMPILED = (OLM_GROUP, OLM_V1_GROUP, POLICY_GROUP)
_OF_OLM = "olm.opgroup.permissions/"


class _Selectors(NamedTuple):
    """The selectors of namespaces on a side, each with the object that has it: of checks, and of peers that are let
    through."""

    checks: tuple[tuple[str, Any], ...]
    peers: tuple[tuple[str, Any], ...]


def related_changes(
    pairs: Iterable[Pair], old: Sequence[KubernetesObject], new: Sequence[KubernetesObject]
) -> Iterator[DiffChange]:
    """Report the risks of changed objects that depend on the other objects of a side."""
    changing = [pair for pair in pairs if pair.new is not None and pair.old is not pair.new]
    if any((pair.identity.group, pair.identity.kind) == ("", "Namespace") for pair in changing):
        selectors = _selectors(new)
        for pair in changing:
            if (pair.identity.group, pair.identity.kind) == ("", "Namespace") and pair.old is not None:
                yield from _namespace(pair, selectors)
    for pair in changing:
        if (pair.identity.group, pair.identity.kind) == (_NETWORKING, "NetworkPolicy") and pair.old is None:
            yield from _opened(pair, old)
        elif (pair.identity.group, pair.identity.kind) == (RBAC, "ClusterRole"):
            yield from _aggregated(pair, new)


def embedded_changes(
    pairs: Iterable[Pair],
    compare: Callable[[Sequence[KubernetesObject], Sequence[KubernetesObject]], Iterable[DiffChange]],
) -> Iterator[DiffChange]:
    """Report the risks of objects that others have in them, for a tool to apply: templates, works for other clusters.

    `compare` lists the changes of objects. Objects of OLM and policies are compared by what comes of them.
    """
    for pair in pairs:
        if pair.new is None or pair.old is pair.new or pair.identity.group in _COMPILED:
            continue
        now = _embedded(pair.new)
        for change in compare(_embedded(pair.old or {}), now) if now else ():
            if change.severity >= Severity.FAILURE:
                yield embedded_risk(pair.identity, str(change.identity), plain(change.message))


def _embedded(obj: KubernetesObject) -> list[KubernetesObject]:
    """List the objects in an object, without those that are in them."""
    found: list[KubernetesObject] = []
    waiting: list[Any] = list(obj.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if is_object(value) and isinstance(value.get("metadata"), dict):
                found.append(value)
            else:
                waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def _selectors(objects: Iterable[KubernetesObject]) -> _Selectors:
    checks: list[tuple[str, Any]] = []
    peers: list[tuple[str, Any]] = []
    for obj in objects:
        known = object_key(obj)
        if (known.group, known.kind) == (_ADMISSION, "ValidatingWebhookConfiguration"):
            checks += ((str(known), webhook.get("namespaceSelector")) for webhook in mappings(obj.get("webhooks")))
        elif known.group == _ADMISSION and known.kind.startswith("ValidatingAdmissionPolicy"):
            spec = spec_of(obj)
            matched = mapping(spec.get("matchConstraints") or spec.get("matchResources"))
            checks.append((str(known), matched.get("namespaceSelector")))
        elif (known.group, known.kind) == (_NETWORKING, "NetworkPolicy"):
            rules = (*mappings(spec_of(obj).get("ingress")), *mappings(spec_of(obj).get("egress")))
            named = (peer for rule in rules for field in ("from", "to") for peer in mappings(rule.get(field)))
            peers += ((str(known), peer["namespaceSelector"]) for peer in named if peer.get("namespaceSelector"))
    return _Selectors(tuple(checks), tuple(peers))


def _namespace(pair: Pair, selectors: _Selectors) -> Iterator[DiffChange]:
    """Report labels by which a namespace leaves what is checked, or joins what network policies let through."""
    was, now = (_labels(obj) for obj in (pair.old or {}, pair.new or {}))
    if was == now:
        return
    left = {who for who, selector in selectors.checks if matches(selector, was) and not matches(selector, now)}
    joined = {who for who, selector in selectors.peers if matches(selector, now) and not matches(selector, was)}
    reasons = (*(f"{who} checks it no more" for who in sorted(left)), *(f"{who} lets it in" for who in sorted(joined)))
    if reasons:
        yield risky_field_changed(pair.identity, "metadata.labels", was, now, reasons)


def _labels(namespace: KubernetesObject) -> dict[str, Any]:
    """Give the labels of a namespace with that which every one has."""
    return {**labels_of(namespace), _NAME: object_key(namespace).name}


def _opened(pair: Pair, old: Sequence[KubernetesObject]) -> Iterator[DiffChange]:
    """Report a new policy that lets everything in to every pod of a namespace that others protect: policies add up."""
    spec = spec_of(pair.new or {})
    if not is_empty(spec.get("podSelector")):
        return
    there = [
        spec_of(obj) for obj in old
        if (key := object_key(obj))[:2] == (_NETWORKING, "NetworkPolicy") and key.namespace == pair.identity.namespace
    ]  # fmt: skip
    for field, peers in (("ingress", "from"), ("egress", "to")):
        is_open = any(not rule.get(peers) and not rule.get("ports") for rule in mappings(spec.get(field)))
        if is_open and any(_restricts(policy, field) for policy in there):
            yield risky_object_added(pair.identity, (f"{field} of every pod of the namespace is open",))


def _restricts(spec: Mapping[str, Any], field: str) -> bool:
    stated = texts(spec.get("policyTypes"))
    return field.capitalize() in stated if stated else field == "ingress" or bool(spec.get(field))


def _aggregated(pair: Pair, new: Sequence[KubernetesObject]) -> Iterator[DiffChange]:
    """Report a label by which the rules of a role join a role that is not here; of roles here permissions tell it."""
    role = pair.new or {}
    was, now = labels_of(pair.old or {}), labels_of(role)
    for label in sorted(now):
        target = label.partition(_AGGREGATE)[2]
        is_new = now[label] == "true" and was.get(label) != "true"
        if not target or not is_new or target in _USER_ROLES or label.startswith(_OF_OLM) or _is_selected(now, new):
            continue
        if any(level_of(rule, "") >= Level.MEDIUM for rule in decode_rules(role.get("rules"))):
            path = f'metadata.labels["{label}"]'
            why = f"whoever has {text(target)} may do all that is in the role"
            yield risky_field_changed(pair.identity, path, was.get(label), now[label], (why,))


def _is_selected(labels: Mapping[str, Any], objects: Iterable[KubernetesObject]) -> bool:
    rules = (mapping(obj.get("aggregationRule")) for obj in objects if obj.get("kind") == "ClusterRole")
    selectors = (selector for rule in rules for selector in mappings(rule.get("clusterRoleSelectors")))
    return any(matches(selector, labels) for selector in selectors)
