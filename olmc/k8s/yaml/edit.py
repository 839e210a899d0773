"""Changing a YAML or JSON file in one place without touching anything else: a value, a key, a document."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.emitter import dump_one, one_line
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

    def __init__(self, text: str, keys: Sequence[str | int] = ()) -> None:
        super().__init__(text)
        self.keys = tuple(map(str, keys))


Scalar = str | bool | int


def set_text(source: Source, keys: Sequence[str | int], value: Scalar) -> Source:
    """The document with the scalar `value` at a path of keys, whose parent has to be a mapping that exists.

    An existing scalar of one line is replaced, a missing key is added as the first of its mapping. Nothing else in the
    file changes its meaning. Raises EditError.
    """
    expected = _values(source.path, source.text)
    parent = _below(expected, source, keys[:-1])
    if not isinstance(parent, dict):
        raise EditError(f"there is no mapping {_shown(keys[:-1])}", keys)
    if keys[-1] not in parent:
        edits = _insert(source, keys, value)
    elif parent[keys[-1]] is None:
        edits = _fill(source, keys, value)
    else:
        edits = _replace(source, keys, value)
    parent[keys[-1]] = value
    for text in edits:
        # The patterns may match the wrong value, so olmc reads the text again and accepts it only with the expected
        # values.
        if _values(source.path, text) == expected:
            return source._replace(text=text)
    raise EditError(_explain_hindrance(source, keys), keys)


_HINDRANCES = {
    "&": "the value has an anchor (&), and what repeats it would change as well",
    "*": "the value is an alias (*), which repeats what stands elsewhere",
    "|": "the value is a block of lines below its key",
    ">": "the value is a block of lines below its key",
}


def _shown(keys: Sequence[str | int]) -> str:
    return ".".join(map(str, keys))


def _explain_hindrance(source: Source, keys: Sequence[str | int]) -> str:
    """Return why a value that is there can't be changed by itself."""
    place = locate(source, keys)
    line = source.text.splitlines()[place.line - 1] if place.line else ""
    general = f"an edit of {_shown(keys)} would change something else as well"
    return _HINDRANCES.get(line[place.column - 1 : place.column], general)


@lru_cache(maxsize=2)
def _read_values(path: str, text: str) -> tuple[Any, ...]:
    """The values of all documents. Each of hundreds of findings in a file asks for one of them."""
    return tuple(document.value for document in read(path, text, Report()))


def _values(path: str, text: str) -> list[Any]:
    """The values of all documents, nothing in them shared."""
    # Of an alias and its anchor an edit changes one, which must not look as if it had changed both.
    return [copy.deepcopy(value) for value in _read_values(path, text)]


def _below(values: list[Any], source: Source, keys: Sequence[str | int]) -> Any:
    value: Any = values[source.document] if source.document < len(values) else None
    for key in (*source.prefix, *keys):
        inside = isinstance(value, dict) and key in value
        inside = inside or (isinstance(value, list) and isinstance(key, int) and key < len(value))
        if not inside:
            return None
        value = value[key]
    return value


def _fill(source: Source, keys: Sequence[str | int], value: Scalar) -> Iterator[str]:
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


def _replace(source: Source, keys: Sequence[str | int], value: Scalar) -> Iterator[str]:
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


def _insert(source: Source, keys: Sequence[str | int], value: Scalar) -> Iterator[str]:
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
    if before.strip(" -"):
        raise EditError("the mapping does not begin on a line of its own", keys[:-1])
    ending = "\r\n" if first.endswith("\r\n") else "\n"
    # The first key of an item stands behind its dash.
    rest = " " * len(before) + first[len(before) :]
    lines[parent.line - 1 : parent.line] = [f"{before}{keys[-1]}: {_quote(source, value)}{ending}", rest]
    yield "".join(lines)


def _behind_brace(text: str, offset: int, entry: str) -> str:
    opening = _OPENING.match(text, offset)
    assert opening is not None
    rest, blanks = text[opening.end() :], opening[1]
    if rest.startswith("}"):
        return f"{text[: offset + 1]}{entry}{blanks}{rest}"
    return f"{text[: offset + 1]}{blanks}{entry},{blanks if chr(10) in blanks else ' '}{rest}"


def _quote(source: Source, value: Scalar) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
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
    """The value of a document as its file has it, which callers must not change; {} if the file does not have it so,
    since a build made the object."""
    values = _read_values(source.path, source.text)
    if source.document >= len(values):
        return {}
    value: Any = values[source.document]
    for key in source.prefix:
        value = value[key]
    return value


def document_lines(source: Source) -> list[str]:
    """The lines of a document from its first key on. Raises EditError."""
    lines, start, end = _extent(source)
    return lines[max(start, locate(source, ()).line - 1) : end]


def block_of(source: Source, keys: Sequence[str | int]) -> Block:
    """Return where a key and its value stand, line by line. Raises EditError if the mapping is not in block style."""
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


def with_block(source: Source, keys: Sequence[str | int], lines: Sequence[str], meaning: Mapping[str, Any]) -> Source:
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


def set_value(source: Source, keys: Sequence[str | int], value: Any) -> Source:
    """The document with any value at a path of keys; mappings on the way that do not exist are made.

    A list or a mapping replaces the old value with its comments. Raises EditError.
    """
    values = _values(source.path, source.text)
    if not keys:
        raise EditError("the document can't be replaced as a whole")
    parent = _below(values, source, keys[:-1])
    if parent is None:
        return set_value(source, keys[:-1], {str(keys[-1]): value})
    is_structure = isinstance(value, (dict, list))
    if not is_structure and not (isinstance(parent, dict) and isinstance(parent.get(keys[-1]), (dict, list))):
        return set_text(source, keys, value)
    if not isinstance(parent, dict):
        raise EditError(f"there is no mapping {_shown(keys[:-1])}", keys)
    own = {str(keys[-1]): value}
    if keys[-1] in parent:
        return with_block(source, keys, dump_one(own).splitlines(), own)
    return _with_new_block(source, keys, own)


def _with_new_block(source: Source, keys: Sequence[str | int], own: Mapping[str, Any]) -> Source:
    """The document with a new first entry of a mapping, whose value has lines of its own."""
    place = locate(source, keys[:-1])
    lines, values = _lines(source), _values(source.path, source.text)
    first = lines[place.line - 1]
    before = first[: place.column - 1]
    if looks_like_json(source.path, source.text) or first[place.column - 1 :].startswith("{"):
        offset = sum(map(len, lines[: place.line - 1])) + len(before)
        ((key, value),) = own.items()
        text = _behind_brace(source.text, offset, f"{json.dumps(key)}: {json.dumps(value)}")
    else:
        indent, ending = " " * len(before), "\r\n" if first.endswith("\r\n") else "\n"
        written = [f"{indent}{line}{ending}" for line in dump_one(own).splitlines()]
        written[0] = before + written[0][len(before) :]
        lines[place.line - 1 : place.line] = [*written, indent + first[len(before) :]]
        text = "".join(lines)
    _below(values, source, keys[:-1]).update(own)
    return source._replace(text=_check_text(source, text, values))


def with_item(source: Source, keys: Sequence[str | int], value: Any) -> Source:
    """The document with a new last item of the list at a path of keys, in block style. Raises EditError."""
    block, values = block_of(source, keys), _values(source.path, source.text)
    found = _below(values, source, keys)
    if not isinstance(found, list) or not found:
        raise EditError(f"there is no list {_shown(keys)}", keys)
    line, dash = _dash(source, (*keys, len(found) - 1))
    ending = "\r\n" if line.endswith("\r\n") else "\n"
    written = [f"{' ' * dash}{each}{ending}" for each in dump_one([value]).splitlines()]
    ended = [*block.lines[: block.end]]
    if not ended[-1].endswith("\n"):
        ended[-1] += ending
    text = "".join((*ended, *written, *block.lines[block.end :]))
    found.append(value)
    return source._replace(text=_check_text(source, text, values))


_SCALAR = regex(r"[A-Za-z0-9.+-]+(?=[ \t]*(?:$|[#,}\]]))")


def scalar_at(text: str, line: int, column: int) -> str:
    """Return the text at a place if it can be a number or a boolean, "" otherwise."""
    lines = text.splitlines()
    found = _SCALAR.match(lines[line - 1], column - 1) if 0 < line <= len(lines) and column > 0 else None
    return found[0] if found is not None else ""


def with_quotes(text: str, line: int, column: int) -> str:
    """A text of YAML with quotes around the number or the boolean at a place. Raises EditError."""
    written = scalar_at(text, line, column)
    if not written:
        raise EditError(f"there is no number or boolean in line {line}")
    lines = text.splitlines(keepends=True)
    before, after = lines[line - 1][: column - 1], lines[line - 1][column - 1 + len(written) :]
    lines[line - 1] = f'{before}"{written}"{after}'
    return "".join(lines)


_OLD_NAMES = regex(r"^(?P<before>[ \t-]*)JSONPath:", re.MULTILINE)


def with_moved(source: Source, keys: Sequence[str | int], items: Sequence[str | int], name: str) -> Source:
    """The document with a key and its value moved into each item of a list, as `name`, with its comments.

    The columns of a CRD get the spelling of v1 for their paths. Raises EditError.
    """
    moved, values = block_of(source, keys), _values(source.path, source.text)
    found = _below(values, source, items)
    if not isinstance(found, list) or any(not isinstance(item, dict) or name in item for item in found):
        raise EditError(f"{source.path}: {_shown(keys)} can't move to {_shown(items)}", keys)
    head = moved.inside[0][moved.indent :]
    inside = [head.replace(str(keys[-1]), name, 1), *(line[moved.indent :] for line in moved.inside[1:])]
    text = _OLD_NAMES.sub(r"\g<before>jsonPath:", "".join(inside))
    changes = [(moved.start, moved.end, "")]
    for number, item in enumerate(found):
        place = locate(source, (*items, number))
        _, dash = _dash(source, (*items, number))
        end = _end_of_item(moved.lines, place.line - 1, dash)
        indent = " " * (place.column - 1)
        lines = [indent + line if line.strip() else line for line in text.splitlines(keepends=True)]
        changes.append((end, end, "".join(lines)))
        item[name] = _with_new_names(copy.deepcopy(_below(values, source, keys)))
    del _below(values, source, keys[:-1])[keys[-1]]
    lines = moved.lines
    for start, end, written in sorted(changes, reverse=True):
        lines = [*lines[:start], written, *lines[end:]]
    return source._replace(text=_check_text(source, "".join(lines), values))


def _with_new_names(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [{("jsonPath" if key == "JSONPath" else key): each for key, each in item.items()}
            if isinstance(item, dict) else item for item in value]  # fmt: skip


def without_item(source: Source, keys: Sequence[str | int]) -> Source:
    """The document without an item of a list in block style; a list that has no other goes with its key.

    Raises EditError.
    """
    values = _values(source.path, source.text)
    found = _below(values, source, keys[:-1])
    number = keys[-1]
    if not isinstance(found, list) or not isinstance(number, int) or number >= len(found):
        raise EditError(f"there is no item {_shown(keys)}", keys)
    if len(found) == 1:
        return with_block(source, keys[:-1], [], {})
    if _first_line(source, keys[:-1])[1].startswith("["):
        rest = [*found[:number], *found[number + 1 :]]
        return with_block(source, keys[:-1], dump_one({str(keys[-2]): rest}).splitlines(), {str(keys[-2]): rest})
    lines = _lines(source)
    _, dash = _dash(source, keys)
    start = locate(source, keys).line - 1
    end = _end_of_item(lines, start, dash)
    del found[number]
    text = "".join((*lines[:start], *lines[end:]))
    return source._replace(text=_check_text(source, text, values))


def _end_of_item(lines: Sequence[str], start: int, dash: int) -> int:
    """The line behind an item that begins in a line, with its dash in a column."""
    end = start + 1
    while end < len(lines) and not is_separator(lines[end]):
        if lines[end].strip() and len(lines[end]) - len(lines[end].lstrip(" ")) <= dash:
            break
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def without_key(source: Source, keys: Sequence[str | int]) -> Source:
    """The document without a key and its value, in block style or between braces on one line. Raises EditError."""
    before = _first_line(source, keys[:-1])
    if not before[1].startswith("{"):
        return with_block(source, keys, [], {})
    place, lines = locate(source, keys, of_key=True), _lines(source)
    values = _values(source.path, source.text)
    parent = _parent(values, source, keys)
    if keys[-1] not in parent:
        raise EditError(_explain_hindrance(source, keys), keys)
    del parent[keys[-1]]
    line, start = lines[place.line - 1], place.column - 1
    for end in (number for number, char in enumerate(line) if number > start and char in ",}"):
        head, tail = line[:start], line[end:]
        tail = tail[1:].lstrip(" ") if tail.startswith(",") else tail
        head = head.rstrip(" ").removesuffix(",") if tail.startswith("}") else head
        text = "".join((*lines[: place.line - 1], head + tail, *lines[place.line :]))
        if _values(source.path, text) == values:
            return source._replace(text=text)
    raise EditError(_explain_hindrance(source, keys), keys)


def _first_line(source: Source, keys: Sequence[str | int]) -> tuple[str, str]:
    """The line in which a value begins: what stands before it, and from it on."""
    place = locate(source, keys)
    lines = _lines(source)
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    return line[: place.column - 1], line[place.column - 1 :]


def _dash(source: Source, keys: Sequence[str | int]) -> tuple[str, int]:
    """The line in which an item of a block list begins, and the column of its dash. Raises EditError."""
    before, rest = _first_line(source, keys)
    dash = before.rstrip(" ")
    if dash.strip() != "-":
        raise EditError(f"{source.path}: each item has to be on a line of its own to be edited", keys)
    return before + rest, len(dash) - 1


def _lines(source: Source) -> list[str]:
    return source.text.splitlines(keepends=True)


def _parent(values: list[Any], source: Source, keys: Sequence[str | int]) -> Any:
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
