"""Changes of YAML files as data: what the cases of several test rooms are made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read


def values_of(path: Path) -> list[Any]:
    """The values of the documents of a YAML file."""
    report = Report()
    documents = read(path.name, path.read_text(encoding="utf-8"), report)
    assert not list(report), list(report)
    return [document.value for document in documents]


def patched(value: Any, patch: Any) -> Any:
    """A value after a JSON merge patch, in which a mapping with numbers as keys speaks of those items of a list."""
    if not isinstance(patch, Mapping):
        return patch
    if isinstance(value, list):
        numbered = {str(index): item for index, item in enumerate(value)}
        return list(patched(numbered, patch).values())
    made = dict(value) if isinstance(value, Mapping) else {}
    for key, item in patch.items():
        if item is None:
            made.pop(key, None)
        else:
            made[key] = patched(made.get(key), item)
    return made
