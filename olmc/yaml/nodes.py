"""Nodes: a document with the place of everything in it, for when somebody asks or something is odd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
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

from olmc.model.diagnostic import Report
from olmc.model.location import Location
from olmc.rules import yaml as rules
from olmc.yaml.document import MAX_DEPTH


class Kind(Enum):
    """What a node is."""

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

    kind: Kind
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
        """Where the node begins, in the file at `path`."""
        return Location(path, self.line, self.column)


def is_merge(key: Node) -> bool:
    """Whether a key is the merge key: `<<`, plain or tagged, but not quoted."""
    return key.kind is Kind.SCALAR and key.text == "<<" and (key.plain or key.tag == "tag:yaml.org,2002:merge")


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
                report.add(rules.UNKNOWN_ANCHOR.finding(_location(event, path), name=event.anchor))
                return None
            mark = event.start_mark
            siblings.append(Node(Kind.ALIAS, mark.line + 1, mark.column + 1, text=event.anchor, target=target))
        elif kind in _STARTS:
            node = _node(event, _STARTS[kind])
            siblings.append(node)
            if event.anchor is not None:
                anchors[event.anchor] = node
            if node.kind is not Kind.SCALAR:
                if len(stack) == MAX_DEPTH:
                    report.add(rules.TOO_DEEP.finding(node.location(path), limit=MAX_DEPTH))
                    return None
                stack.append(node)
                siblings = node.children
    return roots


_STARTS = {ScalarEvent: Kind.SCALAR, MappingStartEvent: Kind.MAPPING, SequenceStartEvent: Kind.SEQUENCE}


def _node(event: Any, kind: Kind) -> Node:
    mark = event.start_mark
    if kind is not Kind.SCALAR:
        return Node(kind, mark.line + 1, mark.column + 1, event.tag)
    return Node(kind, mark.line + 1, mark.column + 1, event.tag, event.value, event.implicit[0])


def _location(event: Any, path: str) -> Location:
    return Location(path, event.start_mark.line + 1, event.start_mark.column + 1)
