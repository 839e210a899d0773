"""Whether somebody sets right what is not as expected in a cluster, and when.

OLM looks at a CSV again as soon as something changes that it watches and that belongs to the CSV, and at everything
when it resyncs (U-15).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from olmc.diff.deltas import Delta
from olmc.diff.operators import is_copy
from olmc.lean import NamedTuple
from olmc.model.objects import (
    ACCOUNT,
    CRD_KIND,
    RBAC,
    KubernetesObject,
    ObjectKey,
    labels_of,
    mapping,
    owner_references,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP, Csv
from olmc.olm.naming import COPIED_FROM

RESYNC = "at its next resync, which comes every 15 minutes"
AT_ONCE = "at once, as it watches this"
SPEC_HASH = "olm.deployment-spec-hash"
_SERVING = ("", "-cert", "-auth-reader", "-system:auth-delegator")
_GROUP_LABEL = "olm.operatorgroup.uid/"


class Repair(NamedTuple):
    """Who repairs a difference, when (of nobody: why, and what would have to change), and the rule that says so."""

    by: Literal["OLM", "tool", "nobody", "unknown"]
    when: str
    rule: str = ""

    @property
    def text(self) -> str:
        """It as the end of a sentence."""
        rule = f" ({self.rule})" if self.rule else ""
        if self.by == "unknown":
            return f"whether it is repaired is unknown: {self.when}{rule}"
        if self.by == "nobody":
            return f"repaired by nobody: {self.when}{rule}"
        who = "OLM" if self.by == "OLM" else "the tool that applies the repository"
        return f"repaired by {who}, {self.when}{rule}"


TOOL = Repair("tool", "at its next sync")
NEVER = Repair("nobody", "an InstallPlan made it, and OLM does not run a plan twice", "observed-63")
_WRITTEN_ONCE = Repair("nobody", "OLM writes it in an InstallPlan only, so with the next version", "observed-63")
_UNMENTIONED = Repair("nobody", "the repository says nothing of these fields")
_SAME_HASH = Repair("nobody", f"OLM compares the label {SPEC_HASH} alone, until the CSV or its config changes", "U-15")
_OPERATOR = Repair("OLM", AT_ONCE, "R-COMP-1")


def repair_of_missing(
    key: ObjectKey, obj: KubernetesObject, applied: Mapping[ObjectKey, KubernetesObject], serving: frozenset[str]
) -> Repair:
    """Who makes an expected object that is not there; `serving` are `serving_names`."""
    if key in applied:
        return TOOL
    if key.kind == "Deployment" and _is_of_csv(obj):
        return Repair("OLM", AT_ONCE, "observed-63")
    return _by_sync(key, obj, serving) or _made_once(key, obj, NEVER)


def repair_of_different(
    key: ObjectKey, expected: KubernetesObject, held: KubernetesObject, applied: Mapping[ObjectKey, KubernetesObject],
    differing: Iterable[Delta], serving: frozenset[str],
) -> Repair:  # fmt: skip
    """Who sets the fields of an object right that differ."""
    differing = tuple(differing)
    paths = [delta.path for delta in differing]
    if all(path[:1] == ("status",) for path in paths):
        if key.kind == CSV_KIND:
            return Repair("OLM", f"once what it waits for comes about, or {RESYNC}", "R-CSV-3")
        return Repair("OLM", AT_ONCE, "U-15")
    if key.kind == CSV_KIND and all(path[:2] == ("metadata", "annotations") for path in paths):
        return Repair("OLM", RESYNC, "R-OG-10")
    if key in applied:
        if any(_mentions(applied[key], path) for path in paths):
            return TOOL
        if key.kind == "OperatorGroup":
            return Repair("OLM", AT_ONCE, "R-OG-11")
        if (key.group, key.kind) != ("", "Namespace"):
            return _UNMENTIONED
    if (key.group, key.kind) == ("", "Namespace"):
        labels = [label for delta in differing for label in _differing_labels(delta)]
        of_groups = bool(labels) and all(label.startswith(_GROUP_LABEL) for label in labels)
        return Repair("OLM", AT_ONCE, "R-OG-19") if of_groups else _UNMENTIONED
    if key.kind == "Deployment" and _is_of_csv(expected):
        if SPEC_HASH not in labels_of(expected):
            return Repair("unknown", f"its certificate is part of the label {SPEC_HASH}, which OLM compares", "U-3")
        # OLM compares the hash of what it would write with the label, and looks at nothing else of the object.
        same = labels_of(held).get(SPEC_HASH) == labels_of(expected).get(SPEC_HASH)
        return _SAME_HASH if same else Repair("OLM", AT_ONCE, "U-15")
    return _by_sync(key, expected, serving) or _made_once(key, expected, _WRITTEN_ONCE)


def repair_of_extra(key: ObjectKey, obj: KubernetesObject) -> Repair:
    """Who deletes an object that OLM made and nobody expects."""
    if key.kind == CSV_KIND and is_copy(obj):
        return Repair("OLM", RESYNC, "R-COPY-7")
    if key.kind == CSV_KIND:
        return Repair("nobody", "OLM uninstalls nothing; delete it by hand", "observed-36")
    if key.group == RBAC and (COPIED_FROM in labels_of(obj) or not key.namespace):
        return Repair("nobody", "OLM leaves permissions that a group no longer needs", "observed-55")
    return Repair("unknown", "no rule says what OLM does with it")


def _by_sync(key: ObjectKey, obj: KubernetesObject, serving: frozenset[str]) -> Repair | None:
    """For what OLM writes each time that it looks at a CSV or a group: when that is."""
    labels = labels_of(obj)
    owners = {str(ref.get("kind")).lower() for ref in owner_references(obj)}
    if key.kind == CSV_KIND:
        return Repair("OLM", f"with its original, {RESYNC}", "R-COPY-3") if is_copy(obj) else None
    if key.kind == "OperatorCondition":
        return Repair("OLM", AT_ONCE, "R-OC-1")
    if "operatorcondition" in owners:
        return Repair("OLM", AT_ONCE, "R-OC-2")
    if COPIED_FROM in labels:
        return Repair("OLM", RESYNC, "R-TEN-2")
    if key.kind == "ClusterRole" and labels.get("olm.owner.kind") == "OperatorGroup":
        return Repair("OLM", RESYNC, "R-OG-18")
    if key.kind == "ClusterRole" and owners & {CRD_KIND.lower(), "apiservice"}:
        return Repair("OLM", RESYNC, "R-CR-1")
    if "olm.webhook-description-hash" in labels:
        return Repair("OLM", RESYNC, "R-WH-1")
    if key.kind == "APIService" and labels.get("olm.owner"):
        return Repair("OLM", AT_ONCE, "R-API-1")
    if key.name in serving:
        # It is in no namespace of the CSV and has no label of it, so that its changes wake nobody.
        return Repair("OLM", RESYNC if key.name.endswith("-auth-reader") else AT_ONCE, "R-CERT-2")
    return _OPERATOR if (key.group, key.kind) == (OLM_GROUP, "Operator") else None


def _made_once(key: ObjectKey, obj: KubernetesObject, repair: Repair) -> Repair:
    """What InstallPlans make; of anything else no rule speaks."""
    by_plan = key.kind in (CRD_KIND, ACCOUNT, CSV_KIND, "Subscription", "InstallPlan") or key.group == RBAC
    return repair if by_plan or any(label.startswith("operators.coreos.com/") for label in labels_of(obj)) else _UNKNOWN


_UNKNOWN = Repair("unknown", "no rule says who writes it")


def _is_of_csv(obj: KubernetesObject) -> bool:
    return any(ref.get("kind") == CSV_KIND for ref in owner_references(obj))


def serving_names(objects: Iterable[KubernetesObject]) -> frozenset[str]:
    """What the objects are called that serve the webhooks and APIs of the CSVs with a certificate (R-CERT-2)."""
    csvs = (Csv(obj) for obj in objects if obj["kind"] == CSV_KIND and not is_copy(obj))
    served: set[str] = set()
    for csv in csvs:
        served |= {api.deployment for api in csv.owned_apiservices} | {hook.deployment for hook in csv.webhooks}
    return frozenset(f"{name}-service{end}" for name in served for end in _SERVING)


def _differing_labels(delta: Delta) -> Iterator[str]:
    """The labels in which two objects differ at a place; "" for a place that is none."""
    if delta.path[:2] != ("metadata", "labels"):
        yield ""
    elif len(delta.path) > 2:
        yield str(delta.path[2])
    else:
        yield from (*mapping(delta.old), *mapping(delta.new))


def _mentions(manifest: KubernetesObject, path: Iterable[object]) -> bool:
    """Whether a manifest has the field at a path; of a list, all of it."""
    value: Any = manifest
    for step in path:
        if isinstance(value, dict) and step not in value:
            return False
        if not isinstance(value, dict):
            return True
        value = value[step]
    return True
