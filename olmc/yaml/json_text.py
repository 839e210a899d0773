"""JSON text: its values, and nodes with the place of everything in it."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from olmc.diagnostics.rules import yaml as rules
from olmc.lean import regex
from olmc.model.diagnostics import DecodeFailure, Location, Report, Source
from olmc.yaml.construct import Node, NodeKind
from olmc.yaml.document import MAX_DEPTH, Document
from olmc.yaml.scalars import replace_surrogates

_TOKEN = regex(r'([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)', re.DOTALL)


def tokens(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The tokens of a JSON text from an offset on, each with its own offset."""
    return ((match[0], match.start()) for match in _TOKEN.finditer(text, start))


def compose_json(text: str, start: int) -> Node:
    """The node of the JSON value at an offset. The text has to be JSON."""
    root: Node | None = None
    stack: list[Node] = []
    for token, offset in tokens(text, start):
        first = token[0]
        if first in ",:":
            continue
        if first in "]}":
            stack.pop()
        else:
            node = _node(token, *place(text, offset))
            if stack:
                stack[-1].children.append(node)
            root = root or node
            if node.kind is not NodeKind.SCALAR:
                stack.append(node)
        if not stack:
            break
    assert root is not None
    return root


def _node(token: str, line: int, column: int) -> Node:
    if token == "{":
        return Node(NodeKind.MAPPING, line, column)
    if token == "[":
        return Node(NodeKind.SEQUENCE, line, column)
    if token[0] == '"':
        return Node(NodeKind.SCALAR, line, column, text=json.loads(token))
    return Node(NodeKind.SCALAR, line, column, text=token, plain=True)


def place(text: str, offset: int) -> tuple[int, int]:
    """The line and the column, from 1, of an offset in a text."""
    starts = _line_starts(text)
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


@lru_cache(maxsize=2)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in re.finditer("\n", text)))


_SPACE = regex(r"[ \t\n\r]*")
_HALF_OF_A_PAIR = regex(r"\\u[dD][89a-fA-F]")
_MAX_UINT64 = (1 << 64) - 1
_MIN_INT64 = -(1 << 63)
_LONGEST_INTEGER = 20


class JSONSyntaxError(Exception):
    """The text is not JSON: the problem, and its offset in the text."""


class _OddNumberError(Exception):
    """A number that JSON can't hold."""


def read_json(path: str, text: str, report: Report) -> list[Document]:
    """The values of a text of JSON values.

    Findings go to `report`: OLMC101, OLMC102, OLMC107; after one of severity ERROR the list is empty.
    Integers beyond 64 bits become floats as in YAML and lone surrogates U+FFFD as in Go; of a key that stands
    twice the last value counts.
    """
    try:
        return json_documents(path, text, report)
    except JSONSyntaxError as error:
        problem, offset = error.args
        diagnostic = rules.JSON_SYNTAX.finding(Location(path, *place(text, offset)), problem=problem)
        report.add(diagnostic.caused_by(DecodeFailure(diagnostic.message)))
        return []


def json_documents(path: str, text: str, report: Report) -> list[Document]:
    """As `read_json`, but raises JSONSyntaxError for a text that is not JSON."""
    repeated: list[bool] = []
    try:
        values = _decode(text, repeated)
    except RecursionError:
        values = None
    if values is None or _depth(values) > MAX_DEPTH:
        report.add(rules.TOO_DEEP.finding(_too_deep(path, text), limit=MAX_DEPTH))
        return []
    # Where they stand takes a second reading, which only the few files pay for that have any.
    if repeated:
        _report_duplicates(path, text, report)
    if _HALF_OF_A_PAIR.search(text):
        values = [_clean(value) for value in values]
    return [Document(value, Source(path, text, number)) for number, value in enumerate(values)]


def value_starts(text: str) -> Iterator[int]:
    """The offset of every JSON value of a text. Raises JSONSyntaxError at the first thing that is none."""
    # What the values are doesn't matter here, and int() refuses thousands of digits.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    offset = _after_space(text, 0)
    while offset < len(text):
        yield offset
        offset = _after_space(text, _decode_one(decoder, text, offset)[1])


def _decode(text: str, repeated: list[bool]) -> list[Any]:
    """The values of the text; `repeated` gets an entry for each object in which a key stands twice."""

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            repeated.append(True)
        return result

    decoder = json.JSONDecoder(
        object_pairs_hook=to_object, parse_int=_integer, parse_float=_finite, parse_constant=_finite
    )
    values = []
    offset = _after_space(text, 0)
    while offset < len(text):
        value, offset = _decode_one(decoder, text, offset)
        values.append(value)
        offset = _after_space(text, offset)
    return values


def _decode_one(decoder: json.JSONDecoder, text: str, offset: int) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        raise JSONSyntaxError(error.msg[:1].lower() + error.msg[1:], error.pos) from None
    except _OddNumberError as error:
        number = str(error)
        at = next(start for token, start in tokens(text, offset) if token.startswith(number))
        raise JSONSyntaxError(f"{number} is not a number that JSON can hold", at) from None


def _after_space(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    assert match is not None
    return match.end()


def _integer(text: str) -> int | float:
    if len(text) <= _LONGEST_INTEGER and _MIN_INT64 <= (value := int(text)) <= _MAX_UINT64:
        return value
    return _finite(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _OddNumberError(text)
    return value


def _depth(values: list[Any]) -> int:
    """How many lists and objects stand in each other at the deepest place."""
    depth = 0
    level: list[Any] = [value for value in values if type(value) is dict or type(value) is list]
    while level:
        depth += 1
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
    return depth


def _too_deep(path: str, text: str) -> Location:
    depth = 0
    for token, offset in tokens(text, 0):
        depth += (token in "[{") - (token in "]}")
        if depth > MAX_DEPTH:
            return Location(path, *place(text, offset))
    return Location(path)


def _report_duplicates(path: str, text: str, report: Report) -> None:
    for start in value_starts(text):
        pending = [compose_json(text, start)]
        while pending:
            node = pending.pop()
            pending += reversed(node.children)
            if node.kind is NodeKind.MAPPING:
                _report_repeated_keys(node, path, report)


def _report_repeated_keys(node: Node, path: str, report: Report) -> None:
    places: dict[str, Node] = {}
    for key, _ in node.pairs():
        first = places.setdefault(key.text, key)
        if first is not key:
            related = (("the key stands here first", first.location(path)),)
            report.add(rules.DUPLICATE_KEY.finding(key.location(path), related=related, key=key.text))


def _clean(value: Any) -> Any:
    """The value without lone surrogates. As deep as MAX_DEPTH, no deeper."""
    if type(value) is str:
        return replace_surrogates(value)
    if type(value) is list:
        return [_clean(item) for item in value]
    if type(value) is dict:
        return {replace_surrogates(key): _clean(item) for key, item in value.items()}
    return value
