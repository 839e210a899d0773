"""Templates in policies: which fields they leave open, and what is known in spite of them (R-OCM-15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.diagnostics.rules import policies as rules
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Diagnostic, Source, join_limited
from olmc.model.objects import metadata_of, name_of
from olmc.yaml import locate

_MARK = "{{"
_SHOWN = 3


class TemplateField(NamedTuple):
    """A field whose text has a template in it: the keys that lead to it."""

    keys: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        shown = ""
        for key in self.keys:
            shown += f"[{key}]" if isinstance(key, int) else f".{key}" if shown else key
        return shown


def templates_in(value: Any, keys: tuple[str | int, ...] = ()) -> Iterator[TemplateField]:
    """The fields with templates at any depth, in their order; a template in a key leaves the field open."""
    if isinstance(value, str):
        if _MARK in value:
            yield TemplateField(keys, value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if _MARK in str(key):
                yield TemplateField(keys, str(key))
            else:
                yield from templates_in(inner, (*keys, str(key)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from templates_in(inner, (*keys, number))


def shown_fields(fields: Sequence[TemplateField]) -> str:
    """The names of fields as messages have them."""
    return join_limited([str(field) for field in fields], _SHOWN)


def left_open(source: Source, shown: str, fields: Sequence[TemplateField]) -> Diagnostic:
    """That an object is not known because of its fields, at the first of them."""
    first = fields[0]
    plural = "are templates" if len(fields) > 1 else "is a template"
    return rules.LEFT_OPEN.finding(
        locate(source, first.keys), what=shown, why=f"{shown_fields(fields)} {plural}, filled in by a cluster",
        hint="Nothing is to be done; to see what would be installed, write the value plainly into a copy.",
    )  # fmt: skip


def without_templates(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """What of an object is known: a Namespace by its name, whatever its labels; of others nothing, so None."""
    is_namespace = obj["kind"] == "Namespace" and obj["apiVersion"] == "v1"
    if not is_namespace or not name_of(dict(obj)) or _MARK in name_of(dict(obj)):
        return None
    metadata: dict[str, Any] = {}
    for key, value in metadata_of(obj).items():
        plain = value
        if isinstance(value, dict):
            plain = {name: text for name, text in value.items() if _MARK not in f"{name}{text}"}
        metadata |= {key: plain} if plain else {}
    return {**obj, "metadata": metadata}
