"""What stands at a position of a file that is being written: the keys that lead to it, and the object around it.

Such a file often can't be read for the moment, so it is also read with the line that is being written mended, and
without what comes behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Report
from olmc.yaml.construct import Node, NodeKind, construct
from olmc.yaml.document import BYTE_ORDER_MARK
from olmc.yaml.limits import exceeds_limits
from olmc.yaml.places import document_at, key_of, root_node, target_of
from olmc.yaml.reader import looks_like_json

_ENTRY = regex(r"(\s*(?:-\s+)*(?:\"[^\"]*\"|'[^']*'|[\w./-]+)\s*:)(\s.*)?$")
_ITEM = regex(r"(\s*(?:-\s+)*-)(\s.*)?$")


class Cursor(NamedTuple):
    """The `keys` that lead to a position from `object`, the object that it is in (an item of a List by itself);
    `on_key`: it is on the last key and not on its value."""

    object: dict[str, Any]
    keys: tuple[str | int, ...]
    on_key: bool

    def at(self, *keys: str | int) -> Any:
        """What the object has at some keys, None for nothing."""
        value: Any = self.object
        for key in keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def cursor(path: str, text: str, line: int, column: int) -> Cursor | None:
    """What stands at a line and column, from 1 as in Location; None where that is nothing that can be read."""
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
        # What an alias stands for is written somewhere else.
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
