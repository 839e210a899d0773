"""Changing a value in a YAML file without touching anything else in it: comments, order and style stay."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from olmc.model.diagnostic import Report
from olmc.model.location import Location, Source
from olmc.yaml.locate import locate
from olmc.yaml.quoting import one_line
from olmc.yaml.reader import looks_like_json, read

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_PLAIN = re.compile(r"(?:[^ \t\r\n#]|(?<![ \t])#|[ \t]+(?![# \t\r\n]))*")

_NULL = re.compile(r"[ \t]*(?:~|null|Null|NULL)(?=[ \t\r\n]|$)|[ \t]+(?=[\r\n]|$)")


class EditError(ValueError):
    """The file is written in a way that can't be changed safely; the text says why."""


def set_text(source: Source, keys: Sequence[str], value: str) -> Source:
    """The document with the text `value` at a path of keys, whose parent has to be a block mapping that exists.

    An existing scalar of one line is replaced, a missing key is added as the first of its mapping. Nothing else in the
    file changes its meaning. Raises EditError.
    """
    here = locate(source, keys, of_key=True)
    if looks_like_json(source.path, source.text):
        raise EditError(f"{here}: olmc edits YAML, not JSON")
    expected = _values(source)
    parent = _below(expected, source, keys[:-1])
    if not isinstance(parent, dict):
        raise EditError(f"{here}: there is no mapping {'.'.join(keys[:-1])}")
    if keys[-1] not in parent:
        text = _inserted(source.text, locate(source, keys[:-1]), keys[-1], value)
    elif parent[keys[-1]] is None:
        text = _filled(source.text, here, value)
    else:
        text = _replaced(source.text, locate(source, keys), value)
    parent[keys[-1]] = value
    changed = source._replace(text=text)
    if _values(changed) != expected:
        raise EditError(f"{here}: {'.'.join(keys)} can't be set without changing something else")
    return changed


def _values(source: Source) -> list[Any]:
    """The values of all documents, nothing in them shared."""
    return [copy.deepcopy(document.value) for document in read(source.path, source.text, Report())]


def _below(values: list[Any], source: Source, keys: Sequence[str]) -> Any:
    value: Any = values[source.document] if source.document < len(values) else None
    for key in (*source.prefix, *keys):
        inside = isinstance(value, dict) and key in value
        inside = inside or (isinstance(value, list) and isinstance(key, int) and key < len(value))
        if not inside:
            return None
        value = value[key]
    return value


def _filled(text: str, key: Location, value: str) -> str:
    """A value behind a key that has none."""
    lines = text.splitlines(keepends=True)
    line = lines[key.line - 1]
    colon = line.find(":", key.column - 1)
    if colon < 0:
        raise EditError(f"{key}: the key's colon is on another line")
    rest = line[colon + 1 :]
    written = _NULL.match(rest)
    rest = rest[written.end() :] if written else rest
    lines[key.line - 1] = f"{line[: colon + 1]} {one_line(value)}{rest}"
    return "".join(lines)


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
    ending = "\r\n" if first.endswith("\r\n") else "\n"
    lines.insert(parent.line - 1, f"{first[: parent.column - 1]}{key}: {one_line(value)}{ending}")
    return "".join(lines)
