"""Where in a template of Helm the objects stand that it becomes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.lean import regex
from olmc.model.objects import as_text, name_of

_BEGINS = regex(r"^(?:apiVersion|kind|[\"']?(?:apiVersion|kind)[\"']?)\s*:")


def line_of(template: str, obj: Mapping[str, Any]) -> int:
    """The line on which an object begins in the template that it comes from, 0 where it can't be determined.

    >>> line_of("{{ if .Values.own }}\\nkind: Namespace\\nmetadata:\\n  name: {{ .Values.name }}\\n{{ end }}\\n",
    ...         {"kind": "Namespace", "metadata": {"name": "harbour"}})
    2

    Between two of a kind the name decides, where it is written plainly.
    """
    kind = re.escape(as_text(obj.get("kind")))
    of_kind = re.compile(rf"^[\"']?kind[\"']?\s*:\s*[\"']?{kind}[\"']?\s*(?:#.*)?$") if kind else None
    candidates = [part for part in _parts(template) if of_kind and any(of_kind.match(line) for _, line in part)]
    if len(candidates) > 1:
        named = re.compile(rf"^\s+[\"']?name[\"']?\s*:\s*[\"']?{re.escape(name_of(obj))}[\"']?\s*(?:#.*)?$")
        candidates = [part for part in candidates if any(named.match(line) for _, line in part)]
    if len(candidates) != 1:
        return 0
    return next((number for number, line in candidates[0] if _BEGINS.match(line)), 0)


def _parts(template: str) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of a template, document by document."""
    part: list[tuple[int, str]] = []
    for number, line in enumerate(template.splitlines(), 1):
        if line.startswith("---"):
            yield part
            part = []
        else:
            part.append((number, line))
    yield part
