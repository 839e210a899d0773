"""YAML in parts: what many objects have in common is written once.

A fleet has the same ClusterServiceVersion in a thousand namespaces, of which the spec, the status and the annotations
are the very same values. Their text is one part of the output then, which stands in it a thousand times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from olmc.yaml.emitter import entry_text, entry_writer, in_order

METADATA = "metadata"
NAMESPACE = "namespace"
BORDER = b"---\n"
"""What stands between the documents of a stream."""
_BELOW = object()
_MAX_FAMILIES = 4096  # what is remembered of objects that may have nobody like them

Piece: TypeAlias = Literal[0, 1, 2]
OWN: Piece = 0
SHARED: Piece = 1
VARYING: Piece = 2
"""Kinds of pieces of an object: its own, one that others have as well, and its namespace."""


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


def object_parts(values: Sequence[Mapping[str, Any]]) -> Iterator[list[bytes]]:
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

    def pieces_of(value: Mapping[str, Any]) -> Iterator[tuple[bytes, Piece]]:
        for key, item, pad in _entries(value):
            part = entry(key, item, pad) if item is not _BELOW else f"{key}:\n".encode()
            yield part, VARYING if pad and key == NAMESPACE else SHARED if id(item) in shared else OWN

    return parts_of_families(values, pieces_of, lambda namespace: entry(NAMESPACE, namespace, "  "))


def parts_of_families(
    values: Iterable[Mapping[str, Any]],
    pieces_of: Callable[[Mapping[str, Any]], Iterable[tuple[bytes, Piece]]],
    namespace_part: Callable[[str], bytes],
) -> Iterator[list[bytes]]:
    """The parts of each object, of what `pieces_of` gives of it. Of objects that are one but for their namespace, which
    is what copies of a CSV are, only the first is asked for that, `namespace_part` for what others differ in."""
    families: dict[Sequence[Any], tuple[list[bytes], list[bytes]]] = {}
    parts_of_namespaces: dict[str, bytes] = {}
    for value in values:
        namespace = _namespace_in(value)
        if namespace is None:
            yield merged_parts(pieces_of(value))
            continue
        family = _family_of(value)
        halves = families.get(family)
        if halves is None:
            if len(families) == _MAX_FAMILIES:
                families.clear()
            halves = families[family] = _halves(pieces_of(value))
        if namespace not in parts_of_namespaces:
            parts_of_namespaces[namespace] = namespace_part(namespace)
        before, behind = halves
        yield [*before, parts_of_namespaces[namespace], *behind]


def _namespace_in(value: Mapping[str, Any]) -> str | None:
    metadata = value.get(METADATA)
    namespace = metadata.get(NAMESPACE) if metadata.__class__ is dict else None
    return namespace if namespace.__class__ is str else None


def _family_of(value: Mapping[str, Any]) -> Sequence[Any]:
    """What only objects have in common that are one but for their namespace, as long as all of them are there."""
    metadata = value[METADATA]
    own = [id(item) for key, item in value.items() if key != METADATA]
    below = [id(item) for key, item in metadata.items() if key != NAMESPACE]
    return len(value), *value, *metadata, *own, *below


def _halves(pieces: Iterable[tuple[bytes, Piece]]) -> tuple[list[bytes], list[bytes]]:
    """The parts before and behind the piece that is another one in each object of a family."""
    listed = list(pieces)
    place = next(number for number, (_, kind) in enumerate(listed) if kind == VARYING)
    return merged_parts(listed[:place]), merged_parts(listed[place + 1 :])


def merged_parts(pieces: Iterable[tuple[bytes, Piece]]) -> list[bytes]:
    """The parts that pieces make: those that are shared stay what they are, what stands between them becomes one."""
    merged: list[bytes] = []
    own: list[bytes] = []
    for piece, kind in pieces:
        if kind == SHARED:
            if own:
                merged.append(b"".join(own))
            merged.append(piece)
            own = []
        else:
            own.append(piece)
    if own:
        merged.append(b"".join(own))
    return merged


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
            if value is metadata:  # whose entries are written by themselves
                continue
            if (value.__class__ is dict or value.__class__ is list) and value:
                (shared if id(value) in seen else seen).add(id(value))
    return frozenset(shared)
