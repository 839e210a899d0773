"""Taking documents and keys out of YAML files, or putting others in their place; what is around them stays as it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from olmc.model.diagnostic import Report
from olmc.model.location import Source
from olmc.yaml.edit import EditError
from olmc.yaml.locate import locate
from olmc.yaml.reader import looks_like_json, read

_MARK = re.compile(r"---(?:[ \t\r\n]|$)")
_COMMENT = re.compile(r"[ \t]*(?:#.*)?(?:\r?\n)?\Z")
_HEAD = re.compile(r"[ \t]*(?:#.*|%.*)?(?:\r?\n)?\Z")


class Block(NamedTuple):
    """A key of a block mapping with all that belongs to it: lines `start` to `end` of `lines`, and its indentation."""

    lines: list[str]
    start: int
    end: int
    indent: int

    @property
    def inside(self) -> list[str]:
        """The lines from the key's own line on, as they are."""
        return self.lines[self.start : self.end]


def without_document(source: Source) -> str:
    """The text of the file without a document, its comments and its `---`; "" if there was nothing else.

    Raises EditError.
    """
    values = _values(source.path, source.text)
    kept, start, end = _extent(source)
    text = "".join((*kept[:start], *kept[end:]))
    if not _values(source.path, text):
        text = ""
    del values[source.document]
    return _checked(source, text, values)


def with_document(source: Source, body: str, value: Any) -> str:
    """The text of the file with a document's content replaced by `body`, which stands for `value`.

    Comments before the document's first key stay. Raises EditError.
    """
    values = _values(source.path, source.text)
    lines, start, end = _extent(source)
    first = start
    while first < end and (_COMMENT.match(lines[first]) or _MARK.match(lines[first])):
        first += 1
    tail = end
    while tail > first and not lines[tail - 1].strip():
        tail -= 1
    if "\r\n" in source.text:
        body = body.replace("\n", "\r\n")
    text = "".join((*lines[:first], body, *lines[tail:]))
    values[source.document] = value
    return _checked(source, text, values)


def value_of(source: Source) -> Any:
    """The value of a document as its file has it."""
    value: Any = _values(source.path, source.text)[source.document]
    for key in source.prefix:
        value = value[key]
    return value


def document_lines(source: Source) -> list[str]:
    """The lines of a document from its first key on. Raises EditError."""
    lines, start, end = _extent(source)
    return lines[max(start, locate(source, ()).line - 1) : end]


def block_of(source: Source, keys: Sequence[str]) -> Block:
    """Where a key and its value stand, line by line. Raises EditError if the mapping is not in block style."""
    place = locate(source, keys, of_key=True)
    lines = _lines(source)
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    indent = place.column - 1
    if looks_like_json(source.path, source.text) or line[:indent].strip(" ") or not line[indent:].strip():
        raise EditError(f"{place}: each key has to be on a line of its own to be edited")
    end = place.line
    last = end
    while end < len(lines) and not _MARK.match(lines[end]):
        text = lines[end].strip()
        here = len(lines[end]) - len(lines[end].lstrip(" "))
        if text and not text.startswith("#"):
            if here < indent or (here == indent and not text.startswith("- ") and text != "-"):
                break
            last = end + 1
        elif text and here > indent:
            last = end + 1
        end += 1
    return Block(lines, place.line - 1, last, indent)


def with_block(source: Source, keys: Sequence[str], lines: Sequence[str], meaning: Mapping[str, Any]) -> Source:
    """The document with `lines`, without indentation and line ends, in the place of a key and its value.

    `meaning` are the keys and values that the lines stand for ({}: the key goes). Raises EditError.
    """
    block = block_of(source, keys)
    values = _values(source.path, source.text)
    parent = _parent(values, source, keys)
    del parent[keys[-1]]
    parent.update(meaning)
    ending = "\r\n" if block.lines[block.start].endswith("\r\n") else "\n"
    written = [f"{' ' * block.indent}{line}{ending}" for line in lines]
    text = "".join((*block.lines[: block.start], *written, *block.lines[block.end :]))
    return source._replace(text=_checked(source, text, values))


def _lines(source: Source) -> list[str]:
    return source.text.splitlines(keepends=True)


def _values(path: str, text: str) -> list[Any]:
    return [copy.deepcopy(document.value) for document in read(path, text, Report())]


def _parent(values: list[Any], source: Source, keys: Sequence[str]) -> Any:
    value: Any = values[source.document]
    for key in (*source.prefix, *keys[:-1]):
        value = value[key]
    return value


def _checked(source: Source, text: str, expected: list[Any]) -> str:
    """The text, if it says what it should; "" stands for a file that says nothing."""
    if (_values(source.path, text) if text else []) != (expected if text else [v for v in expected if v is not None]):
        raise EditError(f"{source.path}: the document can't be changed without changing something else")
    return text


def _extent(source: Source) -> tuple[list[str], int, int]:
    """The file's lines, and those of a document: from its `---` (or the start of the file) to the next one."""
    if source.prefix:
        raise EditError(f"{source.path}: an item of a List can't be edited by itself")
    if looks_like_json(source.path, source.text):
        raise EditError(f"{source.path}: olmc edits YAML, not JSON")
    lines = _lines(source)
    at = locate(source, ()).line - 1
    start = at
    while start > 0 and not _MARK.match(lines[start]):
        start -= 1
    end = at + 1
    while end < len(lines) and not _MARK.match(lines[end]):
        end += 1
    if start == 0 and not _MARK.match(lines[0]) and end < len(lines) and all(map(_HEAD.match, lines[:at])):
        return lines, 0, end
    return lines, start, end
