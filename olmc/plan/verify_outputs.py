"""What a verification says, with names or without any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.diff.change import ABSENT
from olmc.diff.deltas import Delta
from olmc.lean import regex
from olmc.output.unicode import clean
from olmc.plan.drift import DriftedObject
from olmc.plan.drift_outputs import WORDS, drift_lines
from olmc.plan.verify import Verification

_KNOWN_GROUPS = regex(r"|apps|batch|policy|[a-z.]*\.k8s\.io|operators\.coreos\.com")
# Below these anybody may have chosen the keys.
_FREE = frozenset({"labels", "annotations", "matchLabels", "data", "nodeSelector", "limits", "requests"})
_FIELD = regex(r"[A-Za-z0-9]+")


def verification_text(found: Verification, *, with_names: bool = True) -> str:
    """How many objects are as predicted, what differs, and what was not compared; `with_names` false: kinds, fields
    and rules, without any name or value of the cluster."""
    differing = found.compared - found.equal
    are = "is" if found.equal == 1 else "are"
    lines = [
        f"{found.compared} objects predicted from the rest of the cluster: {found.equal} {are} as predicted, "
        f"{differing or 'none'} {'is' if differing == 1 else 'are'} not"
    ]
    drift_text = drift_lines(found.drift, verbose=True) if with_names else _nameless(found)
    lines += (f"  {line}" for line in drift_text)
    if found.not_compared:
        lines += ["", f"Not compared: {sum(found.not_compared.values())}"]
        lines += (f"  {count:6} {reason}" for reason, count in found.not_compared.items())
    return "".join(f"{line}\n" for line in lines)


def _nameless(found: Verification) -> Iterator[str]:
    for item in found.drift:
        yield clean(f"{_kind(item)}: {WORDS[item.kind]}; {item.repair.text}")
        yield from (clean(f"  {shape(delta)}") for delta in item.deltas)


def _kind(item: DriftedObject) -> str:
    """The kind of an object, unless it is one that somebody has made up."""
    return item.key.kind if _KNOWN_GROUPS.fullmatch(item.key.group) else "an object of another kind"


def shape(delta: Delta) -> str:
    """A difference without names and values: `spec.template.spec.containers[].image: text → text`."""
    steps = ""
    for step in delta.path:
        if not isinstance(step, str):
            steps += "[]"
        elif not _FIELD.fullmatch(step):
            steps += ".…"
            break
        else:
            steps += f".{step}"
            if step in _FREE:
                steps += ".…" if len(delta.path) > delta.path.index(step) + 1 else ""
                break
    return f"{steps.removeprefix('.')}: {_type(delta.old)} → {_type(delta.new)}"


def _type(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    names = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    return names.get(type(value), "null")
