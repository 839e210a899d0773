"""Find the place of a value or a key: read the document again, with places, for a caller that needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from ruamel.yaml.events import DocumentStartEvent

from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.construct import (
    JSONSyntaxError,
    Node,
    NodeKind,
    compose,
    compose_json,
    construct,
    is_merge,
    place,
    value_starts,
)
from olmc.k8s.yaml.document import BYTE_ORDER_MARK, exceeds_limits
from olmc.k8s.yaml.problems import PARSE_ERRORS, parse
from olmc.k8s.yaml.reader import looks_like_json
from olmc.k8s.yaml.scalars import SCALAR_TAGS, key_text, resolve, resolve_tagged
from olmc.k8s.yaml.split import is_separator, separators

# What may end a document, or a line, in other ways than the usual one.
_HARD_TO_SPLIT = ("\n...", "\n%", "\r", "\x85", "\u2028", "\u2029")
_CONTENT = regex(r"^[ \t]*[^\s#]", re.MULTILINE)


def find(source: Source, keys: Sequence[str | int], *, of_key: bool = False) -> Location:
    """See `olmc.k8s.yaml.document`; `keys` lead from the root of the document."""
    text = source.text.removeprefix(BYTE_ORDER_MARK)
    if not keys:
        return _root_location(source.path, text, source.document)
    root, lines = root_node(source.path, text, source.document)
    if root is None:
        return Location(source.path)
    node, key_node = root, root
    for key in keys:
        step = _step(target_of(node), key)
        if step is None:
            break
        key_node, node = step
    return _moved((key_node if of_key else node).location(source.path), lines)


def _moved(location: Location, lines: int) -> Location:
    """A place that was found in a part of a stream, in the stream."""
    return location._replace(line=location.line + lines)


def target_of(node: Node) -> Node:
    """The node itself, or what an alias stands for."""
    return node.target if node.target is not None else node


def _step(node: Node, key: str | int) -> tuple[Node, Node] | None:
    """The node of a key, or again the item itself, and the node of its value.

    A key in another case is taken where there is none in this one, as Go's decoder takes it.
    """
    if isinstance(key, int):
        if node.kind is NodeKind.SEQUENCE and 0 <= key < len(node.children):
            return node.children[key], node.children[key]
        return None
    if node.kind is not NodeKind.MAPPING:
        return None
    exact, folded = _index(node)
    return exact.get(key) or folded.get(key.casefold())


_Pairs = dict[str, tuple[Node, Node]]


# A document with many findings in one mapping is not to be gone through once for each.
@lru_cache(maxsize=128)
def _index(mapping: Node) -> tuple[_Pairs, _Pairs]:
    """The keys of a mapping, with those that merge keys bring in, and the same without regard to case."""
    exact = _pairs(mapping, frozenset())
    return exact, {text.casefold(): pair for text, pair in exact.items()}


def _pairs(mapping: Node, around: frozenset[Node]) -> _Pairs:
    """The keys of a mapping; one of those that it stands in brings nothing into it."""
    exact: _Pairs = {}
    for key_node, value in mapping.pairs():
        if is_merge(key_node):
            # Of a list of mappings the first that has a key counts.
            sources = reversed(value.children) if value.kind is NodeKind.SEQUENCE else [value]
            for source in map(target_of, sources):
                if source.kind is NodeKind.MAPPING and source not in around:
                    exact |= _pairs(source, around | {mapping, source})
            continue
        text = key_of(target_of(key_node))
        if text is not None:
            exact.pop(text, None)
            exact[text] = key_node, value
    return exact


def key_of(node: Node) -> str | None:
    """Return a node as a key, None for a node that can't be one."""
    if node.kind is not NodeKind.SCALAR:
        return None
    if node.tag in SCALAR_TAGS:
        try:
            return key_text(resolve_tagged(node.tag, node.text))
        except ValueError:
            return None
    return key_text(resolve(node.text)) if node.plain and node.tag is None else node.text


def root_node(path: str, text: str, number: int) -> tuple[Node | None, int]:
    """The root of a document, and how many lines of the file stand before those that it counts."""
    # Of a path only its end counts: each item of a stream may have one of its own.
    end = ".json" if path.endswith(".json") else ""
    return (_small_root if len(text) < _SMALL else _large_root)(end, text, number)


_SMALL = 16_384
"""The largest number of characters of a small file: users ask often for places in such files."""


@lru_cache(maxsize=96)
def _small_root(path: str, text: str, number: int) -> tuple[Node | None, int]:
    return _composed_root(path, text, number)


# A caller that asks for one place of a document usually asks for more of them.
@lru_cache(maxsize=2)
def _large_root(path: str, text: str, number: int) -> tuple[Node | None, int]:
    return _composed_root(path, text, number)


def _composed_root(path: str, text: str, number: int) -> tuple[Node | None, int]:
    offset = _json_offset(path, text, number)
    if offset is not None:
        return compose_json(text, offset), 0
    chunk, number, lines = document_chunk(text, number)
    try:
        roots = parse(chunk, lambda events: compose(events, path, Report())) or []
    except PARSE_ERRORS:
        return None, 0
    return (roots[number] if number < len(roots) else None), lines


def document_at(path: str, text: str, line: int) -> int:
    """The number of the document that a line of a file is in."""
    if looks_like_json(path, text):
        lines = (place(text, offset)[0] for offset in _json_starts(text))
    else:
        lines = (start + 1 for _, start in _yaml_starts(text))
    return max(sum(start <= line for start in lines) - 1, 0)


def _root_location(path: str, text: str, number: int) -> Location:
    """The place where a document begins, without reading what comes behind it."""
    offset = _json_offset(path, text, number)
    if offset is not None:
        return Location(path, *place(text, offset))
    chunk, number, lines = document_chunk(text, number)

    def first_node(events: Iterator[Any]) -> Location:
        starts = 0
        for event in events:
            if type(event) is DocumentStartEvent:
                starts += 1
            elif starts > number:
                return Location(path, event.start_mark.line + 1 + lines, event.start_mark.column + 1)
        return Location(path)

    try:
        return parse(chunk, first_node)
    except PARSE_ERRORS:
        return Location(path)


def _json_offset(path: str, text: str, number: int) -> int | None:
    if not looks_like_json(path, text):
        return None
    starts = _json_starts(text)
    return starts[number] if number < len(starts) else None


@lru_cache(maxsize=2)
def _json_starts(text: str) -> tuple[int, ...]:
    """The offset of each JSON value of a text; none when the text is not JSON."""
    try:
        return tuple(value_starts(text))
    except (JSONSyntaxError, RecursionError):
        return ()


def document_chunk(text: str, number: int) -> tuple[str, int, int]:
    """A part of a stream with the document in it, the document's number in that part, and the lines before the part."""
    starts = _yaml_starts(text)
    if number >= len(starts):
        return text, number, 0
    offset, line = starts[number]
    end = starts[number + 1][0] if number + 1 < len(starts) else len(text)
    return text[offset:end], 0, line


@lru_cache(maxsize=2)
def _yaml_starts(text: str) -> tuple[tuple[int, int], ...]:
    """The offset and the line, from 0, of each document of a stream."""
    if text.startswith(("...", "%")) or any(sign in text for sign in _HARD_TO_SPLIT):
        return _parse_starts(text)
    markers = [at for at in separators(text) if is_separator(text[at : text.find("\n", at) + 1 or len(text)])]
    first = _CONTENT.search(text)
    if first and (not markers or first.start() < markers[0]):
        markers.insert(0, 0)
    lines = accumulate(text.count("\n", start, end) for start, end in pairwise([0, *markers]))
    return tuple(zip(markers, lines, strict=True))


def _parse_starts(text: str) -> tuple[tuple[int, int], ...]:
    """As _yaml_starts, where it takes a parser to tell; only those before what can't be read."""
    starts: list[tuple[int, int]] = []

    def collect(events: Iterator[Any]) -> None:
        starts.clear()
        for event in events:
            if type(event) is DocumentStartEvent:
                mark = event.start_mark
                starts.append((mark.index - mark.column, mark.line))

    with suppress(*PARSE_ERRORS):
        parse(text, collect)
    return tuple(starts)


# The context of a position in a file that is being written: the keys that lead to it, and the object around it.
#
# Such a file often can't be read for the moment. So olmc also reads it with a fixed current line and without the lines
# after it.

_ENTRY = regex(r"(\s*(?:-\s+)*(?:\"[^\"]*\"|'[^']*'|[\w./-]+)\s*:)(\s.*)?$")
_ITEM = regex(r"(\s*(?:-\s+)*-)(\s.*)?$")


class Cursor(NamedTuple):
    """The `keys` that lead to a position from `object`, the object that it is in (an item of a List by itself);
    `on_key`: it is on the last key and not on its value."""

    object: dict[str, Any]
    keys: tuple[str | int, ...]
    on_key: bool

    def at(self, *keys: str | int) -> Any:
        """Return the value of the object at some keys, None if it is absent."""
        value: Any = self.object
        for key in keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def cursor(path: str, text: str, line: int, column: int) -> Cursor | None:
    """Return the content at a line and column, from 1 as in Location; None if it can't be read."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    if exceeds_limits(path, text, Report(), is_json=looks_like_json(path, text)):
        return None
    for readable in _readable(text, line):
        number = document_at(path, readable, line)
        root, before = root_node(path, readable, number)
        if root is not None:
            return _cursor(root, path, line - before, column)
    return None


def _readable(text: str, line: int) -> Iterator[str]:
    """The text, and as what else it may be read if it can't be as it is."""
    yield text
    lines = text.split("\n")
    if line > len(lines):
        return
    entry = _ENTRY.match(lines[line - 1]) or _ITEM.match(lines[line - 1])
    lines[line - 1] = f'{entry[1]} ""' if entry else ""
    yield "\n".join(lines)
    yield "\n".join(lines[:line])


def _cursor(root: Node, path: str, line: int, column: int) -> Cursor | None:
    keys: list[str | int] = []
    node, leaf, on_key = target_of(root), root, False
    while True:
        here = (line, column)
        if node.kind is NodeKind.SEQUENCE:
            before = [number for number, item in enumerate(node.children) if (item.line, item.column) <= here]
            if not before:
                break
            keys.append(before[-1])
            leaf, on_key = node.children[before[-1]], False
        elif node.kind is NodeKind.MAPPING:
            pairs = [pair for pair in node.pairs() if (pair[0].line, pair[0].column) <= here]
            name = key_of(target_of(pairs[-1][0])) if pairs else None
            if name is None:
                break
            key, leaf = pairs[-1]
            keys.append(name)
            end = key.column + len(key.text) + (0 if key.plain else 2)
            on_key = key.line == line and column <= end
            if on_key:
                leaf = key
        else:
            break
        # The target of an alias is at another place.
        if on_key or leaf.kind is NodeKind.ALIAS or (leaf.line, leaf.column) > here:
            break
        node = leaf
    if not keys or (leaf.line != line and leaf.kind is NodeKind.SCALAR and not _is_block(leaf, line)):
        return None
    values = construct([root], path, Report())
    value = values[0] if values else None
    return _of_object(value, keys, on_key) if isinstance(value, dict) else None


def _is_block(leaf: Node, line: int) -> bool:
    return leaf.line < line <= leaf.line + leaf.text.count("\n")


def _of_object(value: dict[str, Any], keys: list[str | int], on_key: bool) -> Cursor | None:
    if str(value.get("kind")).endswith("List") and keys[0] == "items" and len(keys) > 1 and isinstance(keys[1], int):
        value, keys = value["items"][keys[1]], keys[2:]
    return Cursor(value, tuple(keys), on_key) if isinstance(value, dict) else None
