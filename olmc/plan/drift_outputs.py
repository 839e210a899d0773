"""Drift as lines and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olmc.diff.change import shown
from olmc.diff.deltas import Delta, path_text
from olmc.output.unicode import clean
from olmc.plan.applied import counted
from olmc.plan.drift import DriftedObject

_MOST = 3
WORDS = {"missing": "is not there", "extra": "is there, and nothing expects it", "different": "differs"}


def drift_lines(drift: Iterable[DriftedObject], *, verbose: bool = False) -> Iterator[str]:
    """An object a line, with what differs and who repairs it; with `verbose` a field a line as well."""
    for item in drift:
        fields = [] if verbose else [_delta(delta) for delta in item.deltas[:_MOST]]
        more = len(item.deltas) - len(fields)
        fields += [f"and {more} more fields"] if fields and more else []
        what = f": {', '.join(fields)}" if fields else ""
        along = f", and with it {counted(item.along)}" if item.along else ""
        yield clean(f"{item.key}: {WORDS[item.kind]}{what}{along}; {item.repair.text}")
        if verbose:
            yield from (clean(f"  {_delta(delta)}") for delta in item.deltas)


def _delta(delta: Delta) -> str:
    return f"{path_text(delta.path)} {shown(delta.old).text} → {shown(delta.new).text}"


def drift_data(drift: Sequence[DriftedObject]) -> list[dict[str, Any]]:
    """The objects as data: what differs by its paths."""
    return [
        {
            "kind": item.kind,
            "object": item.key._asdict(),
            "fields": [path_text(delta.path) for delta in item.deltas],
            "along": [key._asdict() for key in item.along],
            "repairedBy": item.repair.text,
            "repair": item.repair._asdict(),
            "stays": item.stays,
        }
        for item in drift
    ]
