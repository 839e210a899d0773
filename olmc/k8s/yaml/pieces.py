"""Read streams whose documents have much in common, such as the catalogs of opm, and read repeated pieces once.

A mapping in block style is cut at its keys and a list at its items, down to pieces of a few lines. A parser reads each
piece as a document of its own with the same value: a piece ends at a line that is not indented further, or at the end
of the stream. All new pieces of a stream are parsed at once, and their values are put together. There is no result
where a piece is invalid by itself, a key occurs twice, or the stream uses a rare feature. Then `read` has to read the
whole stream and to describe the problem.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.document import BYTE_ORDER_MARK, MAX_DEPTH, Document
from olmc.k8s.yaml.lines import UnusualError, read_lines
from olmc.k8s.yaml.locate import locate
from olmc.k8s.yaml.reader import looks_like_json, read

Known: TypeAlias = dict[str, Any]
"""The value of each piece that was read, which is a mapping with one key or a list with one item, by its text."""

# What may end a line in other ways than the usual one.
_BEYOND_ASCII = ("\x85", "\u2028", "\u2029", BYTE_ORDER_MARK)
_MARKER = "\n---\n"
_SHORT = 160  # characters of a piece that is not worth cutting
_INDENT = 16  # columns that a piece is indented by at most
_DEEP = MAX_DEPTH - _INDENT  # lists and mappings in each other that make a piece too deep to be put into others
_NO_KEY = frozenset(["", *"-# \t\n{}[],?:|>&*!%@`"])  # how a key does not begin, or only one out of the ordinary
_FIRST_LINE = regex(r" *[A-Za-z][\w.-]*:(?=\n)")
_INDENTED = regex(r"( *)(-? ?)(?=[^\s#])")


class _Mapping(NamedTuple):
    """The keys of a mapping: the text of each with its value, or its first line alone and what its value is made of."""

    parts: Sequence[str | tuple[str, _Mapping | _List]]


class _Item(NamedTuple):
    """An item of a list that is a mapping, and its text."""

    text: str
    mapping: _Mapping


class _List(NamedTuple):
    """The items of a list, each its text alone or what it is made of."""

    parts: Sequence[str | _Item]


_New: TypeAlias = dict[str, _Item | None]
"""The pieces of a stream that are not known yet, and what those are made of that were cut further."""


class _GiveUp(Exception):  # noqa: N818
    """Only the reader for everything knows what this is."""


def read_pieces(path: str, text: str, report: Report, known: Known) -> list[Document]:
    """As `read`; `known` is what other streams hold, and takes in what this one holds.

    Values that were read once may stand in several documents: they are the same object.
    """
    try:
        values = _values(path, text, known)
    except (_GiveUp, UnusualError):
        return read(path, text, report)
    known[_read_whole(path)] = text
    return [Document(value, Source(path, text, number)) for number, value in enumerate(values)]


def _read_whole(path: str) -> str:
    """The key of a file that was read in pieces; no piece begins so."""
    return f"\0{path}"


def _values(path: str, text: str, known: Known) -> list[Any]:
    if (
        not text.endswith("\n")
        or looks_like_json(path, text)
        or "\r" in text
        or (not text.isascii() and any(sign in text for sign in _BEYOND_ASCII))
    ):
        raise _GiveUp
    new: _New = {}
    parts = text.removeprefix("---\n")[:-1].split(_MARKER)
    if f"\n{text}".count("\n---") != len(parts) - (not text.startswith("---\n")):
        raise _GiveUp
    documents = [_cut_mapping(document.lstrip("\n"), 0, known, new) for document in parts]
    _read_new([piece for piece, node in new.items() if node is None], known)
    return [_value_of_mapping(document, known) for document in documents]


def _read_new(pieces: Sequence[str], known: Known) -> None:
    values = _read_plainly(f"---\n{_MARKER.join(pieces)}\n") if pieces else []
    if len(values) != len(pieces):
        raise _GiveUp
    for piece, value in zip(pieces, values, strict=True):
        if len(value if type(value) is dict or type(value) is list else ()) != 1 or _is_deep(piece, value):
            raise _GiveUp
        known[piece] = value


def _read_plainly(text: str) -> list[Any]:
    try:
        return read_lines(text)
    except UnusualError:
        pass
    from olmc.k8s.yaml.event_values import plain_values  # with the parser, which hardly any stream needs

    values = plain_values(text)
    if values is None:
        raise _GiveUp
    return values


def _is_deep(piece: str, value: Any) -> bool:
    """Return whether a value may be deeper than can be put into others."""
    if piece.count("\n") + piece.count("- ") + piece.count("[") + piece.count("{") < _DEEP:
        return False
    level, depth = [value], 0
    while level and depth < _DEEP:
        depth += 1
        children = (child for parent in level for child in (parent.values() if type(parent) is dict else parent))
        level = [child for child in children if type(child) is dict or type(child) is list]
    return bool(level)


@lru_cache(maxsize=64)
def _border(indent: int, start: str) -> re.Pattern[str]:
    return re.compile(rf"\n(?= {{{indent}}}{start})")


def _cut_mapping(text: str, indent: int, known: Known, new: _New) -> _Mapping:
    """A mapping whose keys are indented so far, as the pieces that it is made of; those not known yet go to `new`."""
    # What begins with a hyphen may be a list, which need not be indented further than its key.
    return _Mapping([_cut(part, indent, known, new) for part in _border(indent, r"[^\s#-]").split(text)])


def _cut(piece: str, indent: int, known: Known, new: _New) -> str | tuple[str, _Mapping | _List]:
    """A key with its value."""
    if piece in known or piece in new:
        return piece
    # At the beginning of a line dots end a document, too, and a directive may follow.
    if piece[indent : indent + 1] in _NO_KEY or piece.startswith("..."):
        raise _GiveUp
    first = _FIRST_LINE.match(piece) if len(piece) > _SHORT else None
    below = _INDENTED.match(piece, first.end() + 1) if first is not None else None
    if first is None or below is None or len(below[1]) > _INDENT:
        new[piece] = None
        return piece
    depth = len(below[1])
    if below[2] == "- " and depth >= indent:
        items = _border(depth, r"-[ \n]").split(piece[first.end() + 1 :])
        value: _Mapping | _List = _List([_cut_item(item, depth, known, new) for item in items])
    elif below[2] == "" and depth > indent:
        value = _cut_mapping(piece[first.end() + 1 :], depth, known, new)
    else:
        new[piece] = None
        return piece
    if first[0] not in known:
        new[first[0]] = None
    return first[0], value


def _cut_item(text: str, indent: int, known: Known, new: _New) -> str | _Item:
    """An item of a list."""
    if text in known:
        return text
    if text in new:
        return new[text] or text
    if len(text) <= _SHORT or not text[indent + 2].isalpha() or ":" not in text[: text.find("\n")]:
        new[text] = None
        return text
    # A mapping that begins behind a hyphen is indented by two more.
    mapping = _cut_mapping(f"{text[:indent]} {text[indent + 1 :]}", indent + 2, known, new)
    new[text] = item = _Item(text, mapping)
    return item


def _value_of_list(node: _List, known: Known) -> list[Any]:
    values = []
    for part in node.parts:
        text = part if isinstance(part, str) else part.text
        if not isinstance(part, str) and text not in known:
            known[text] = [_value_of_mapping(part.mapping, known)]
        values.append(known[text][0])
    return values


def _value_of_mapping(node: _Mapping, known: Known) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for number, part in enumerate(node.parts, 1):
        if isinstance(part, str):
            # What is known may be so from elsewhere, where it was an item of a list.
            if type(known[part]) is not dict:
                raise _GiveUp
            value.update(known[part])
        else:
            first, below = part
            ((key, _),) = known[first].items()
            value[key] = _value_of_list(below, known) if isinstance(below, _List) else _value_of_mapping(below, known)
        if len(value) != number:
            raise _GiveUp
    return value


def locate_in_pieces(source: Source, keys: Sequence[str | int], known: Known) -> Location:
    """As `locate`, without reading more of a document than the piece that is meant, if it was read in pieces."""
    from olmc.k8s.yaml.places import document_chunk  # with the parser

    chunk, number, lines = document_chunk(source.text, source.document)
    document = chunk.removeprefix("---\n").removesuffix("\n")
    in_pieces = known.get(_read_whole(source.path)) is source.text and len(chunk) - len(document) == len("---\n") + 1
    if in_pieces and not source.prefix and keys and number == 0:
        location = _find_in_mapping(source.path, document, 0, keys, known)
        if location is not None:
            return location._replace(line=lines + 1 + location.line)
    return locate(source, keys)


def _find_in_mapping(path: str, text: str, indent: int, keys: Sequence[str | int], known: Known) -> Location | None:
    """The place of a value in a mapping all of which is known; None where it takes the whole document to tell."""
    line = 0
    for part in _border(indent, r"[^\s#-]").split(text):
        first = part if part in known else part[: part.find("\n")]
        if first not in known:  # blank lines before the first key, or what was read as a whole
            return None
        if keys[0] in known[first]:
            place = _find_in_value(path, part, keys, known)
            return place and place._replace(line=line + place.line)
        line += part.count("\n") + 1
    return None


def _find_in_value(path: str, part: str, keys: Sequence[str | int], known: Known) -> Location | None:
    """The place of a value in one entry of a mapping."""
    if part in known:
        return _find_in_piece(path, part, keys)
    first = part.find("\n") + 1
    below = part[first:]
    if len(keys) == 1:
        return _find_in_piece(path, part[: first + below.find("\n")], keys)
    depth = len(below) - len(below.lstrip(" "))
    if below[depth] != "-":
        place = _find_in_mapping(path, below, depth, keys[1:], known)
        return place and place._replace(line=1 + place.line)
    items = _border(depth, r"-[ \n]").split(below)
    at = keys[1]
    if not isinstance(at, int) or not 0 <= at < len(items):
        return None
    item = items[at]
    if len(item) <= _SHORT:
        place = _find_in_piece(path, item, (0, *keys[2:]))
    elif len(keys) == 2:
        place = _find_in_piece(path, item[: item.find("\n")], (0,))
    else:
        place = _find_in_mapping(path, f"{item[:depth]} {item[depth + 1 :]}", depth + 2, keys[2:], known)
    return place and place._replace(line=1 + sum(each.count("\n") + 1 for each in items[:at]) + place.line)


def _find_in_piece(path: str, piece: str, keys: Sequence[str | int]) -> Location | None:
    place = _place_in_piece(piece, tuple(keys))
    return place._replace(path=path) if place.line else None


# What stands in several bundles is as often found fault with.
@lru_cache(maxsize=1024)
def _place_in_piece(piece: str, keys: tuple[str | int, ...]) -> Location:
    return locate(Source("", f"{piece}\n"), keys)
