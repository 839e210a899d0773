"""YAML in parts: what many objects have in common is written once.

A fleet has the same ClusterServiceVersion in a thousand namespaces, of which the spec, the status and the annotations
are the very same values. Their text is one part of the output then, which stands in it a thousand times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olmc.yaml.emitter import entry_text, entry_writer, in_order

METADATA = "metadata"
BORDER = b"---\n"
"""What stands between the documents of a stream."""
_BELOW = object()


def dump_parts(values: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """What `dump` writes of these objects, in parts: a value that several have, themselves or in their metadata, is one
    part."""
    return joined_parts(object_parts(values), BORDER)


def joined_parts(texts: Iterable[Sequence[bytes]], border: bytes) -> list[bytes]:
    """The parts of texts, one after the other, with `border` between them."""
    parts: list[bytes] = []
    for text in texts:
        parts += (border, *text) if parts else text
    return parts


def object_parts(values: Sequence[Mapping[str, Any]]) -> list[list[bytes]]:
    """The parts of the document that `dump_one` writes of each object."""
    shared, writer = shared_values(values), entry_writer()
    known: dict[tuple[int, str, str], bytes] = {}

    def entry(key: str, value: Any, pad: str) -> bytes:
        if id(value) not in shared:
            return entry_text(key, value, pad, writer).encode()
        place = id(value), key, pad
        if place not in known:
            known[place] = entry_text(key, value, pad, writer).encode()
        return known[place]

    def document(value: Mapping[str, Any]) -> Iterable[tuple[bytes, bool]]:
        for key, item, pad in _entries(value):
            part = entry(key, item, pad) if item is not _BELOW else f"{key}:\n".encode()
            yield part, id(item) in shared

    return [merged_parts(document(value)) for value in values]


def merged_parts(parts: Iterable[tuple[bytes, bool]]) -> list[bytes]:
    """Parts, of which those that are shared stay what they are, and what stands between them becomes one."""
    merged: list[bytes] = []
    own: list[bytes] = []
    for part, is_shared in parts:
        if is_shared:
            merged += (b"".join(own), part)
            own = []
        else:
            own.append(part)
    return [*merged, b"".join(own)]


def _entries(value: Mapping[str, Any]) -> Iterable[tuple[str, Any, str]]:
    """The entries of an object, those of its metadata in place of it, with their indentation; _BELOW is the value of
    the line before them."""
    for key, item in in_order(value).items():
        if key == METADATA and item.__class__ is dict and item:
            yield key, _BELOW, ""
            yield from ((name, below, "  ") for name, below in item.items())
        else:
            yield key, item, ""


def shared_values(objects: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """The identity of each mapping and list that several objects have, themselves or in their metadata."""
    seen: set[int] = set()
    shared: set[int] = set()
    for obj in objects:
        metadata = obj.get(METADATA)
        below = metadata.values() if metadata.__class__ is dict else ()
        for value in (*obj.values(), *below):
            if (value.__class__ is dict or value.__class__ is list) and value:
                (shared if id(value) in seen else seen).add(id(value))
    return frozenset(shared)
