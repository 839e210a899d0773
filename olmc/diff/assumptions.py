"""What was taken as there for both sides to be compared, as changes: a review must not rest on it silently."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.diff import version_kinds as kinds
from olmc.diff.change import BREAKING, CHANGE, DiffChange
from olmc.diff.operators import DiffOperator, heads, operators
from olmc.diff.premises import Assumed, suggestion
from olmc.diff.sides import Side
from olmc.model.objects import ObjectKey, object_key


def assumption_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """The kinds that only the new side needs from elsewhere, and that a side does not install on this Kubernetes."""
    if not any(side.assumed.apis or any(_reasons(side.assumed)) for side in (old, new)):
        return
    known = _subject(new) or _subject(old)
    if known is None:
        return
    for api in new.assumed.apis:
        if api not in old.assumed.apis:
            yield kinds.api_assumed(known, f"{api.kind} ({api.api_version})")
    for side, word in ((old, "old"), (new, "new")):
        reasons = tuple(_reasons(side.assumed))
        if reasons:
            # What does not work any more is worse than what never did.
            severity = BREAKING if side is new and not any(_reasons(old.assumed)) else CHANGE
            version, last = _version(side), suggestion(side.assumed)
            kubernetes = side.kube_version.removeprefix("v")
            yield kinds.not_installable(known, word, version, kubernetes, reasons, last, severity)


def _reasons(assumed: Assumed) -> Iterator[str]:
    yield from (f"{api.kind} of {api.api_version} is not served there" for api in assumed.removed)
    if assumed.minimum:
        yield f"it needs {assumed.minimum.removeprefix('v')} (minKubeVersion)"


def _heads(side: Side) -> list[DiffOperator]:
    return list(heads(operators(side.objects)).values())


def _subject(side: Side) -> ObjectKey | None:
    """The operator that is compared; of several the first."""
    return next((object_key(operator.csv) for operator in _heads(side)), None)


def _version(side: Side) -> str:
    return next((operator.version or operator.name for operator in _heads(side)), side.name)


def remarks(old: Side, new: Side) -> Iterator[str]:
    """What was taken as there, as sentences for stderr."""
    for side in (old, new):
        if side.assumed.apis:
            apis = ", ".join(f"{api.kind} ({api.api_version})" for api in side.assumed.apis)
            yield f"{side.name}: taken as served by the cluster: {apis}"
        for reason in _reasons(side.assumed):
            last = suggestion(side.assumed)
            advice = f"; try --kube-version {last}" if last else ""
            yield f"{side.name}: does not install on Kubernetes {side.kube_version}: {reason}{advice}"
