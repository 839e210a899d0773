"""Changing a value in a YAML or JSON file without touching anything else in it: comments, order and style stay."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from olmc.model.diagnostic import Report
from olmc.model.location import Source
from olmc.yaml.locate import locate
from olmc.yaml.quoting import one_line
from olmc.yaml.reader import looks_like_json, read

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_PLAIN = re.compile(r"(?:[^ \t\r\n#]|(?<![ \t])#|[ \t]+(?![# \t\r\n]))*")
_PLAIN_IN_BRACKETS = re.compile(r"[^,{}\[\]\r\n]*[^,{}\[\]\s]")
_OPENING = re.compile(r"\{(\s*)")

_NULL = re.compile(r"[ \t]*(?:~|null|Null|NULL)(?=[ \t\r\n,}]|$)|[ \t]+(?=[\r\n]|$)")


class EditError(ValueError):
    """A value is written in a way that can't be changed safely; the text says why, `keys` lead to it."""

    def __init__(self, text: str, keys: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.keys = tuple(keys)


def set_text(source: Source, keys: Sequence[str], value: str) -> Source:
    """The document with the text `value` at a path of keys, whose parent has to be a mapping that exists.

    An existing scalar of one line is replaced, a missing key is added as the first of its mapping. Nothing else in the
    file changes its meaning. Raises EditError.
    """
    expected = _values(source)
    parent = _below(expected, source, keys[:-1])
    if not isinstance(parent, dict):
        raise EditError(f"there is no mapping {'.'.join(keys[:-1])}", keys)
    if keys[-1] not in parent:
        edits = _inserted(source, keys, value)
    elif parent[keys[-1]] is None:
        edits = _filled(source, keys, value)
    else:
        edits = _replaced(source, keys, value)
    parent[keys[-1]] = value
    for text in edits:
        changed = source._replace(text=text)
        if _values(changed) == expected:
            return changed
    raise EditError(_hindrance(source, keys), keys)


_HINDRANCES = {
    "&": "the value has an anchor (&), and what repeats it would change as well",
    "*": "the value is an alias (*), which repeats what stands elsewhere",
    "|": "the value is a block of lines below its key",
    ">": "the value is a block of lines below its key",
}


def _hindrance(source: Source, keys: Sequence[str]) -> str:
    """Why a value that is there can't be changed by itself."""
    place = locate(source, keys)
    line = source.text.splitlines()[place.line - 1] if place.line else ""
    general = f"an edit of {'.'.join(keys)} would change something else as well"
    return _HINDRANCES.get(line[place.column - 1 : place.column], general)


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


def _filled(source: Source, keys: Sequence[str], value: str) -> Iterator[str]:
    """A value behind a key that has none."""
    key = locate(source, keys, of_key=True)
    lines = source.text.splitlines(keepends=True)
    line = lines[key.line - 1]
    colon = line.find(":", key.column - 1)
    if colon < 0:
        raise EditError("the key's colon is on another line", keys)
    rest = line[colon + 1 :]
    written = _NULL.match(rest)
    rest = rest[written.end() :] if written else rest
    lines[key.line - 1] = f"{line[: colon + 1]} {_written(source, value)}{rest}"
    yield "".join(lines)


def _replaced(source: Source, keys: Sequence[str], value: str) -> Iterator[str]:
    """Another value behind a key, in a block or between brackets."""
    place = locate(source, keys)
    lines = source.text.splitlines(keepends=True)
    line, column = lines[place.line - 1], place.column - 1
    patterns = (_QUOTED,) if line[column : column + 1] in ("'", '"') else (_PLAIN, _PLAIN_IN_BRACKETS)
    found = [match for pattern in patterns if (match := pattern.match(line, column))]
    if not found:
        raise EditError("the value goes over several lines", keys)
    for match in found:
        lines[place.line - 1] = line[:column] + _written(source, value) + line[match.end() :]
        yield "".join(lines)


def _inserted(source: Source, keys: Sequence[str], value: str) -> Iterator[str]:
    """A new first entry of a mapping: behind its brace, or as a line indented like the entry that was first."""
    parent = locate(source, keys[:-1])
    lines = source.text.splitlines(keepends=True)
    first = lines[parent.line - 1]
    before = first[: parent.column - 1]
    if first[parent.column - 1 : parent.column] == "{":
        offset = sum(map(len, lines[: parent.line - 1])) + len(before)
        key = json.dumps(keys[-1]) if looks_like_json(source.path, source.text) else keys[-1]
        yield _behind_brace(source.text, offset, f"{key}: {_written(source, value)}")
        return
    if before.strip():
        raise EditError("the mapping does not begin on a line of its own", keys[:-1])
    ending = "\r\n" if first.endswith("\r\n") else "\n"
    lines.insert(parent.line - 1, f"{before}{keys[-1]}: {one_line(value)}{ending}")
    yield "".join(lines)


def _behind_brace(text: str, offset: int, entry: str) -> str:
    opening = _OPENING.match(text, offset)
    assert opening is not None
    rest, blanks = text[opening.end() :], opening[1]
    if rest.startswith("}"):
        return f"{text[: offset + 1]}{entry}{blanks}{rest}"
    return f"{text[: offset + 1]}{blanks}{entry},{blanks if chr(10) in blanks else ' '}{rest}"


def _written(source: Source, value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if looks_like_json(source.path, source.text) else one_line(value)
