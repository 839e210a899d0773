"""Changing a YAML or JSON file in one place without touching anything else: a value, a key, a document."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.emitter import one_line
from olmc.k8s.yaml.locate import locate
from olmc.k8s.yaml.reader import looks_like_json, read
from olmc.k8s.yaml.split import is_separator

_QUOTED = regex(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*'")
_PLAIN = regex(r"(?:[^ \t\r\n#]|(?<![ \t])#|[ \t]+(?![# \t\r\n]))*")
_PLAIN_IN_BRACKETS = regex(r"[^,{}\[\]\r\n]*[^,{}\[\]\s]")
_OPENING = regex(r"\{(\s*)")

_NULL = regex(r"[ \t]*(?:~|null|Null|NULL)(?=[ \t\r\n,}]|$)|[ \t]+(?=[\r\n]|$)")


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
    expected = _values(source.path, source.text)
    parent = _below(expected, source, keys[:-1])
    if not isinstance(parent, dict):
        raise EditError(f"there is no mapping {'.'.join(keys[:-1])}", keys)
    if keys[-1] not in parent:
        edits = _insert(source, keys, value)
    elif parent[keys[-1]] is None:
        edits = _fill(source, keys, value)
    else:
        edits = _replace(source, keys, value)
    parent[keys[-1]] = value
    for text in edits:
        # Whatever the patterns have taken for the value: the text is read again, and counts if it says what it should.
        if _values(source.path, text) == expected:
            return source._replace(text=text)
    raise EditError(_explain_hindrance(source, keys), keys)


_HINDRANCES = {
    "&": "the value has an anchor (&), and what repeats it would change as well",
    "*": "the value is an alias (*), which repeats what stands elsewhere",
    "|": "the value is a block of lines below its key",
    ">": "the value is a block of lines below its key",
}


def _explain_hindrance(source: Source, keys: Sequence[str]) -> str:
    """Why a value that is there can't be changed by itself."""
    place = locate(source, keys)
    line = source.text.splitlines()[place.line - 1] if place.line else ""
    general = f"an edit of {'.'.join(keys)} would change something else as well"
    return _HINDRANCES.get(line[place.column - 1 : place.column], general)


def _values(path: str, text: str) -> list[Any]:
    """The values of all documents, nothing in them shared."""
    # Of an alias and its anchor an edit changes one, which must not look as if it had changed both.
    return [copy.deepcopy(document.value) for document in read(path, text, Report())]


def _below(values: list[Any], source: Source, keys: Sequence[str]) -> Any:
    value: Any = values[source.document] if source.document < len(values) else None
    for key in (*source.prefix, *keys):
        inside = isinstance(value, dict) and key in value
        inside = inside or (isinstance(value, list) and isinstance(key, int) and key < len(value))
        if not inside:
            return None
        value = value[key]
    return value


def _fill(source: Source, keys: Sequence[str], value: str) -> Iterator[str]:
    """A value behind a key that has none."""
    key = locate(source, keys, of_key=True)
    lines = _lines(source)
    line = lines[key.line - 1]
    colon = line.find(":", key.column - 1)
    if colon < 0:
        raise EditError("the key's colon is on another line", keys)
    rest = line[colon + 1 :]
    null = _NULL.match(rest)
    rest = rest[null.end() :] if null else rest
    lines[key.line - 1] = f"{line[: colon + 1]} {_quote(source, value)}{rest}"
    yield "".join(lines)


def _replace(source: Source, keys: Sequence[str], value: str) -> Iterator[str]:
    """Another value behind a key, in a block or between brackets."""
    place = locate(source, keys)
    lines = _lines(source)
    line, column = lines[place.line - 1], place.column - 1
    if line[column : column + 1] in ("'", '"'):
        found = [_QUOTED.match(line, column)]
    else:
        found = [_PLAIN.match(line, column), _PLAIN_IN_BRACKETS.match(line, column)]
    matches = [match for match in found if match]
    if not matches:
        raise EditError("the value goes over several lines", keys)
    for match in matches:
        lines[place.line - 1] = line[:column] + _quote(source, value) + line[match.end() :]
        yield "".join(lines)


def _insert(source: Source, keys: Sequence[str], value: str) -> Iterator[str]:
    """A new first entry of a mapping: behind its brace, or as a line indented like the entry that was first."""
    parent = locate(source, keys[:-1])
    lines = _lines(source)
    first = lines[parent.line - 1]
    before = first[: parent.column - 1]
    if first[parent.column - 1 : parent.column] == "{":
        offset = sum(map(len, lines[: parent.line - 1])) + len(before)
        key = json.dumps(keys[-1]) if looks_like_json(source.path, source.text) else keys[-1]
        yield _behind_brace(source.text, offset, f"{key}: {_quote(source, value)}")
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


def _quote(source: Source, value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if looks_like_json(source.path, source.text) else one_line(value)


_COMMENT = regex(r"[ \t]*(?:#.*)?(?:\r?\n)?\Z")
_HEAD = regex(r"[ \t]*(?:#.*|%.*)?(?:\r?\n)?\Z")


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
    return _check_text(source, text, values)


def with_documents(source: Source, body: str, values: Sequence[Any]) -> str:
    """The text of the file with a document's content replaced by `body`, which holds documents of these values.

    Comments before the document's first key stay. Raises EditError.
    """
    expected = _values(source.path, source.text)
    lines, start, end = _extent(source)
    first = start
    while first < end and (_COMMENT.match(lines[first]) or is_separator(lines[first])):
        first += 1
    tail = end
    while tail > first and not lines[tail - 1].strip():
        tail -= 1
    if "\r\n" in source.text:
        body = body.replace("\n", "\r\n")
    text = "".join((*lines[:first], body, *lines[tail:]))
    expected[source.document : source.document + 1] = values
    return _check_text(source, text, expected)


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
    while end < len(lines) and not is_separator(lines[end]):
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
    return source._replace(text=_check_text(source, text, values))


def _lines(source: Source) -> list[str]:
    return source.text.splitlines(keepends=True)


def _parent(values: list[Any], source: Source, keys: Sequence[str]) -> Any:
    value: Any = values[source.document]
    for key in (*source.prefix, *keys[:-1]):
        value = value[key]
    return value


def _check_text(source: Source, text: str, expected: list[Any]) -> str:
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
    while start > 0 and not is_separator(lines[start]):
        start -= 1
    end = at + 1
    while end < len(lines) and not is_separator(lines[end]):
        end += 1
    if start == 0 and not is_separator(lines[0]) and end < len(lines) and all(map(_HEAD.match, lines[:at])):
        return lines, 0, end
    return lines, start, end
