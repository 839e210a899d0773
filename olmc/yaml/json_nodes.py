"""Nodes of a JSON text: where everything in it stands."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from olmc.yaml.nodes import Kind, Node

_TOKEN = re.compile(r'([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)', re.DOTALL)


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
            if node.kind is not Kind.SCALAR:
                stack.append(node)
        if not stack:
            break
    assert root is not None
    return root


def _node(token: str, line: int, column: int) -> Node:
    if token == "{":
        return Node(Kind.MAPPING, line, column)
    if token == "[":
        return Node(Kind.SEQUENCE, line, column)
    if token[0] == '"':
        return Node(Kind.SCALAR, line, column, text=json.loads(token))
    return Node(Kind.SCALAR, line, column, text=token, plain=True)


def place(text: str, offset: int) -> tuple[int, int]:
    """The line and the column, from 1, of an offset in a text."""
    starts = _line_starts(text)
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


@lru_cache(maxsize=2)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in re.finditer("\n", text)))
