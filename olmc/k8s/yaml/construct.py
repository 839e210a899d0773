"""Values of YAML's nodes, as sigs.k8s.io/yaml makes JSON of them; and nodes, which have the place of everything."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from olmc.k8s.diagnostics import DecodeFailure, Location, Report, Source
from olmc.k8s.lean import regex
from olmc.k8s.limits import ALIASES
from olmc.k8s.yaml import rules, scalars
from olmc.k8s.yaml.document import MAX_DEPTH, Document
from olmc.k8s.yaml.rules import too_large
from olmc.k8s.yaml.scalars import replace_surrogates


class NodeKind(Enum):
    """The kind of a node."""

    SCALAR = "scalar"
    MAPPING = "mapping"
    SEQUENCE = "sequence"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a document and where it begins.

    `text` is a scalar's text or an alias's name; `plain` tells a scalar without quotes; `children` are the
    items of a sequence, or a mapping's keys and values in turn; `target` is what an alias stands for.
    """

    kind: NodeKind
    line: int
    column: int
    tag: str | None = None
    text: str = ""
    plain: bool = False
    children: list[Node] = field(default_factory=list)
    target: Node | None = None

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The keys of a mapping with their values."""
        children = iter(self.children)
        return zip(children, children, strict=True)

    def location(self, path: str) -> Location:
        """Return where the node begins, in the file at `path`."""
        return Location(path, self.line, self.column)


def is_merge(key: Node) -> bool:
    """Return whether a key is the merge key: `<<`, plain or tagged, but not quoted."""
    return key.kind is NodeKind.SCALAR and key.text == "<<" and (key.plain or key.tag == "tag:yaml.org,2002:merge")


def compose(events: Iterator[Any], path: str, report: Report) -> list[Node] | None:
    """The root node of every document in the events of a stream.

    None, with a diagnostic in `report`, when the stream is nested too deeply, an alias has no anchor, or a
    document wants another version of YAML. Errors of the parser pass through.
    """
    roots: list[Node] = []
    anchors: dict[str, Node] = {}
    stack: list[Node] = []
    siblings = roots
    for event in events:
        kind = type(event)
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            stack.pop()
            siblings = stack[-1].children if stack else roots
        elif kind is DocumentStartEvent:
            anchors = {}
            if event.version not in (None, (1, 1)):
                version = ".".join(map(str, event.version))
                report.add(rules.WRONG_VERSION.finding(_location(event, path), version=version))
                return None
        elif kind is AliasEvent:
            target = anchors.get(event.anchor)
            if target is None:
                report.add(rules.UNKNOWN_ANCHOR.finding(_location(event, path)))
                return None
            mark = event.start_mark
            siblings.append(Node(NodeKind.ALIAS, mark.line + 1, mark.column + 1, text=event.anchor, target=target))
        elif kind in _STARTS:
            node = _node(event, _STARTS[kind])
            siblings.append(node)
            if event.anchor is not None:
                anchors[event.anchor] = node
            if node.kind is not NodeKind.SCALAR:
                if len(stack) == MAX_DEPTH:
                    report.add(rules.TOO_DEEP.finding(node.location(path), limit=MAX_DEPTH))
                    return None
                stack.append(node)
                siblings = node.children
    return roots


_STARTS = {ScalarEvent: NodeKind.SCALAR, MappingStartEvent: NodeKind.MAPPING, SequenceStartEvent: NodeKind.SEQUENCE}


def _node(event: Any, kind: NodeKind) -> Node:
    mark = event.start_mark
    if kind is not NodeKind.SCALAR:
        return Node(kind, mark.line + 1, mark.column + 1, event.tag)
    return Node(kind, mark.line + 1, mark.column + 1, event.tag, event.value, event.implicit[0])


def _location(event: Any, path: str) -> Location:
    return Location(path, event.start_mark.line + 1, event.start_mark.column + 1)


# go-yaml refuses a document when more than this share of what it decodes comes out of aliases: the first
# share up to the first number of nodes, the second from the second number on, and falling steadily between.
_ALIAS_SHARES = (0.99, 0.10)
_ALIAS_RANGE = (400_000, 4_000_000)
_ALIASES_FREE = 100
_NODES_FREE = 1000
# By file, beyond what is written in it: see olmc.k8s.limits.
_ALIASES_PER_FILE = 10_000


class _StopError(Exception):
    """Ends the construction of a file; the reason is in the report."""


@dataclass(slots=True)
class _ConstructStep:
    """One document under construction: where findings go, and go-yaml's account of what the aliases cost; `before` is
    how many values the documents before it had of their own, and how many came out of aliases."""

    path: str
    report: Report
    depth: int = 0
    decoded: int = 1
    aliased: int = 0
    open_aliases: set[Node] = field(default_factory=set)
    before: tuple[int, int] = (0, 0)


def construct(roots: list[Node], path: str, report: Report) -> list[Any] | None:
    """The value of every document; None when a finding of severity ERROR went to `report`."""
    findings = Report()
    values = []
    total = (0, 0)
    try:
        for root in roots:
            work = _ConstructStep(path, findings, before=total)
            values.append(_value(root, work))
            total = (total[0] + work.decoded - work.aliased, total[1] + work.aliased)
    except _StopError:
        pass
    # An alias is constructed each time that it occurs, and its faults are reported once.
    for diagnostic in dict.fromkeys(findings.found):
        report.add(diagnostic)
    return None if findings.failed else values


def _value(node: Node, work: _ConstructStep, into: dict[str, Any] | None = None) -> Any:
    """The value of a node; with `into`, which is for mappings, its keys go there."""
    _account(node, work)
    if node.kind is NodeKind.SCALAR:
        value = _scalar(node, work)
        if type(value) is float and not math.isfinite(value):
            work.report.add(rules.NOT_FINITE.finding(node.location(work.path), text=node.text))
        return value
    if node.kind is NodeKind.ALIAS:
        return _expand(node, work, into)
    _check_collection_tag(node, work)
    if work.depth == MAX_DEPTH:
        work.report.add(rules.TOO_DEEP.finding(node.location(work.path), limit=MAX_DEPTH))
        raise _StopError
    work.depth += 1
    result: Any
    if node.kind is NodeKind.SEQUENCE:
        result = []
        for child in node.children:
            result.append(_value(child, work))
    else:
        result = {} if into is None else into
        _fill(node, work, result)
    work.depth -= 1
    return result


def _expand(alias: Node, work: _ConstructStep, into: dict[str, Any] | None) -> Any:
    assert alias.target is not None
    if alias in work.open_aliases:
        problem = f"the value marked &{alias.text} contains itself"
        work.report.add(rules.ALIAS_BOMB.finding(alias.location(work.path), problem=problem))
        raise _StopError
    work.open_aliases.add(alias)
    value = _value(alias.target, work, into)
    work.open_aliases.discard(alias)
    return value


def _account(node: Node, work: _ConstructStep) -> None:
    """Refuses aliases that expand to more than go-yaml allows."""
    work.decoded += 1
    if not work.open_aliases:
        return
    work.aliased += 1
    own, aliased = work.before
    # go-yaml begins again with each document, so that of many small ones each may cost what one may: further ones count
    # together with those before.
    if own and aliased + work.aliased > _ALIASES_PER_FILE + ALIASES.most * (own + work.decoded - work.aliased):
        work.report.add(too_large(work.path, ALIASES, place=node.location(work.path)))
        raise _StopError
    if work.aliased <= _ALIASES_FREE or work.decoded <= _NODES_FREE:
        return
    (low, high), (most, least) = _ALIAS_RANGE, _ALIAS_SHARES
    within = min(max(work.decoded - low, 0) / (high - low), 1)
    if work.aliased > work.decoded * (most - (most - least) * within):
        problem = "the aliases of this document expand to far more than the document itself"
        work.report.add(rules.ALIAS_BOMB.finding(node.location(work.path), problem=problem))
        raise _StopError


def _fill(node: Node, work: _ConstructStep, into: dict[str, Any]) -> None:
    """The keys and values of a mapping in source order: what comes later wins, be it merged or not."""
    places: dict[str, Node] = {}
    for key_node, value_node in node.pairs():
        if is_merge(key_node):
            _merge(value_node, work, into)
            continue
        key = _key(key_node, work)
        # Also below a key that is refused: one run reports all that is wrong.
        value = _value(value_node, work)
        if key is None:
            continue
        first = places.setdefault(key, key_node)
        if first is not key_node:
            related = (("the key stands here first", first.location(work.path)),)
            place = key_node.location(work.path)
            work.report.add(rules.DUPLICATE_KEY.finding(place, related=related, key=key))
        into[key] = value


def _merge(node: Node, work: _ConstructStep, into: dict[str, Any]) -> None:
    """Merges a mapping, or each of a list of them, into another; of a list, the earlier ones win."""
    # Backwards, so that what counts more is written over what counts less.
    sources = list(reversed(node.children)) if node.kind is NodeKind.SEQUENCE else [node]
    for source in sources:
        target = source.target if source.kind is NodeKind.ALIAS else source
        if target is None or target.kind is not NodeKind.MAPPING:
            work.report.add(rules.BAD_MERGE.finding(source.location(work.path)))
            continue
        _value(source, work, into)


def _key(node: Node, work: _ConstructStep) -> str | None:
    """The text of a key; None, with a diagnostic, when Kubernetes refuses it."""
    if node.kind is NodeKind.SCALAR:
        _account(node, work)
        value = _scalar(node, work)
    else:
        value = _value(node, work)
    text = scalars.key_text(value)
    if text is None:
        names = {dict: "a mapping", list: "a list", int: f"the integer {value}"}
        what = names.get(type(value), "an empty value (null)")
        work.report.add(rules.BAD_KEY.finding(node.location(work.path), what=what))
    return text


def _scalar(node: Node, work: _ConstructStep) -> Any:
    """The value of a scalar; infinities and NaN come as floats, which are fine in a key."""
    if node.tag is None:
        return scalars.resolve(node.text) if node.plain else node.text
    if node.tag == "!":
        return node.text
    place = node.location(work.path)
    if node.tag not in scalars.SCALAR_TAGS:
        work.report.add(rules.UNKNOWN_TAG.finding(place))
        return node.text
    try:
        return scalars.resolve_tagged(node.tag, node.text)
    except ValueError:
        work.report.add(rules.TAG_MISMATCH.finding(place, tag=_short(node.tag)))
        return node.text


def _check_collection_tag(node: Node, work: _ConstructStep) -> None:
    if node.tag not in (None, "!") and node.tag not in scalars.COLLECTION_TAGS:
        place = node.location(work.path)
        work.report.add(rules.UNKNOWN_TAG.finding(place))


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(scalars.PREFIX) if tag.startswith(scalars.PREFIX) else tag


# JSON text: its values, and nodes with the place of everything in it.

_TOKEN = regex(r'([{}\[\],:]|"(?:[^"\\]|\\.)*+"?|[^\s{}\[\],:"]+)', re.DOTALL)


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
            node = _json_node(token, *place(text, offset))
            if stack:
                stack[-1].children.append(node)
            root = root or node
            if node.kind is not NodeKind.SCALAR:
                stack.append(node)
        if not stack:
            break
    assert root is not None
    return root


def _json_node(token: str, line: int, column: int) -> Node:
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
    """Return how many lists and objects stand in each other at the deepest place."""
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
