"""Changing a value in a YAML file without touching anything else in it: comments, order and style stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from olmc.model.diagnostic import Report
from olmc.model.location import Location, Source
from olmc.yaml.locate import locate
from olmc.yaml.quoting import one_line
from olmc.yaml.reader import read

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_PLAIN = re.compile(r"(?:[^\s#]|(?<!\s)#|[ \t]+(?![#\s]))*")


class EditError(ValueError):
    """The file is written in a way that can't be changed safely; the text says why."""


def set_text(source: Source, keys: Sequence[str], value: str) -> Source:
    """The document with the text `value` at a path of keys, whose parent has to be a block mapping that exists.

    An existing scalar of one line is replaced, a missing key is added as the first of its mapping. Raises EditError.
    """
    *parents, last = keys
    here = locate(source, keys, of_key=True)
    parent = locate(source, parents)
    if _has(source, keys):
        text = _replaced(source.text, locate(source, keys), value)
    else:
        text = _inserted(source.text, parent, last, value)
    changed = source._replace(text=text)
    if _value_at(changed, keys) != value:
        raise EditError(f"{here}: {'.'.join(keys)} can't be set without rewriting the file")
    return changed


def _value_at(source: Source, keys: Sequence[str | int]) -> object:
    documents = read(source.path, source.text, Report())
    value: Any = documents[source.document].value if source.document < len(documents) else None
    for key in (*source.prefix, *keys):
        inside = isinstance(value, dict) and key in value
        inside = inside or (isinstance(value, list) and isinstance(key, int) and key < len(value))
        if not inside:
            return None
        value = value[key]
    return value


def _has(source: Source, keys: Sequence[str]) -> bool:
    parent = _value_at(source, keys[:-1])
    return isinstance(parent, dict) and keys[-1] in parent


def _replaced(text: str, place: Location, value: str) -> str:
    lines = text.splitlines(keepends=True)
    line, column = lines[place.line - 1], place.column - 1
    found = (_QUOTED if line[column : column + 1] in ("'", '"') else _PLAIN).match(line, column)
    if found is None:
        raise EditError(f"{place}: the value goes over several lines")
    lines[place.line - 1] = line[:column] + one_line(value) + line[found.end() :]
    return "".join(lines)


def _inserted(text: str, parent: Location, key: str, value: str) -> str:
    """A new line before the first entry of a block mapping, indented like it."""
    lines = text.splitlines(keepends=True)
    first = lines[parent.line - 1]
    if first[parent.column - 1 : parent.column] in "{[" or first[: parent.column - 1].strip():
        raise EditError(f"{parent}: the mapping is not in block style, each key on a line of its own")
    lines.insert(parent.line - 1, f"{first[: parent.column - 1]}{key}: {one_line(value)}\n")
    return "".join(lines)
