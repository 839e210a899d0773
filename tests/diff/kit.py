"""What the tests of differences share: sides from terse data, and changes as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.crd_kinds import SEVERITY_WORDS, DiffChange, plain
from olmc.review.diff.settings import Side

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


def compared(old: Iterable[dict[str, Any]], new: Iterable[dict[str, Any]]) -> Difference:
    """The difference of two lists of objects."""
    return compare(Side("old", tuple(old)), Side("new", tuple(new)))


def line(change: DiffChange) -> str:
    """A change as the data files have it: severity, type, object, message, and whether it is kept back."""
    kept_back = " (kept back)" if change.kept_back else ""
    return f"{SEVERITY_WORDS[change.severity]} {change.type} {change.identity}: {plain(change.message)}{kept_back}"


def lines(difference: Difference) -> list[str]:
    return [line(change) for change in difference.changes]


def crd(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A CRD: `spec` is a whole spec if it has versions, else the schema of `spec` in the only version."""
    names = {"kind": "Kettle", "listKind": "KettleList", "plural": "kettles", "singular": "kettle"}
    made: dict[str, Any] = {"group": "kitchen.example.com", "scope": "Namespaced", "names": names}
    if "versions" in spec:
        made |= spec
    else:
        schema = {"type": "object", "properties": {"spec": dict(spec)}}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        made["versions"] = [version]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "kettles.kitchen.example.com"},
        "spec": made,
    }
