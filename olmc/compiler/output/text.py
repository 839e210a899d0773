"""Objects as one text: a YAML stream, a JSON List, a list of names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import IO, Any

from olmc.compiler.output.messages import clean, json_text, legible
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import Rendered
from olmc.k8s.yaml import dump
from olmc.k8s.yaml.emitter import (
    BORDER,
    METADATA,
    NAMESPACE,
    OWN,
    SHARED,
    VARYING,
    Piece,
    dump_parts,
    joined_parts,
    parts_of_families,
    shared_values,
)


def as_yaml(objects: Sequence[Rendered]) -> str:
    """A stream of YAML documents, "" for no objects."""
    return dump(rendered.object for rendered in objects) if objects else ""


class TextFormat(NamedTuple):
    """A format in parts of UTF-8: what many objects have in common is one part, so that a fleet fits in memory.

    `parts_of`: the parts of some objects, [] for none. `border`, `head`, `tail`: what stands between them and others,
    before and behind all. `empty`: the text for no objects.
    """

    parts_of: Callable[[Sequence[Rendered]], list[bytes]]
    border: bytes = b""
    head: bytes = b""
    tail: bytes = b""
    empty: bytes = b""


def whole_text(form: TextFormat, texts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """One text of those that `parts_of` gave of some objects each; none of them is empty."""
    is_first = True
    for text in texts:
        yield form.head if is_first else form.border
        yield from text
        is_first = False
    yield form.empty if is_first else form.tail


def _yaml_parts(objects: Sequence[Rendered]) -> list[bytes]:
    return dump_parts([rendered.object for rendered in objects])


def as_json(objects: Sequence[Rendered]) -> str:
    """One `List` of all objects, indented."""
    items = [rendered.object for rendered in objects]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    return json_text(listed) + "\n"


def _json_parts(objects: Sequence[Rendered]) -> list[bytes]:
    items = [rendered.object for rendered in objects]
    shared = shared_values(items)
    known: dict[tuple[int, str], bytes] = {}

    def value_part(value: Any, pad: str) -> bytes:
        place = id(value), pad
        part = known.get(place)
        if part is None:
            part = json_text(value).replace("\n", f"\n{pad}").encode()
            if id(value) in shared:
                known[place] = part
        return part

    def pieces_of(mapping: Mapping[str, Any], pad: str = "    ") -> Iterator[tuple[bytes, Piece]]:
        border = f"{{\n{pad}  "
        for key, value in mapping.items():
            yield f"{border}{json_text(key)}: ".encode(), OWN
            if key == METADATA and value.__class__ is dict and value:
                yield from pieces_of(value, f"{pad}  ")
            else:
                kind = SHARED if id(value) in shared else OWN
                yield value_part(value, f"{pad}  "), VARYING if key == NAMESPACE and pad == _BELOW_METADATA else kind
            border = f",\n{pad}  "
        yield f"\n{pad}}}".encode(), OWN

    return joined_parts(parts_of_families(items, pieces_of, lambda name: json_text(name).encode()), _JSON_BORDER)


def as_names(objects: Sequence[Rendered]) -> str:
    """One line an object: `Kind/namespace/name`, without the namespace for cluster-scoped ones."""
    return "".join(f"{clean(str(rendered.identity))}\n" for rendered in objects)


def _name_parts(objects: Sequence[Rendered]) -> list[bytes]:
    return [legible(as_names(objects)).encode()]


_BELOW_METADATA = " " * 6  # what the entries of an object's metadata are indented to, less a level
_JSON_BORDER = b",\n    "
_JSON_HEAD = b'{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": ['
FORMATS: Mapping[str, TextFormat] = {
    "yaml": TextFormat(_yaml_parts, BORDER),
    "json": TextFormat(_json_parts, _JSON_BORDER, _JSON_HEAD + b"\n    ", b"\n  ]\n}\n", _JSON_HEAD + b"]\n}\n"),
    "name": TextFormat(_name_parts),
}
"""The formats of `render`."""


_IN_MEMORY = 16 * 1024 * 1024


class HeldParts(NamedTuple):
    """The places of a text's parts in a file, each as its first byte and its size; a part that occurs several times is
    in the file once."""

    places: tuple[tuple[int, int], ...]


def hold(file: IO[bytes], parts: Iterable[bytes]) -> HeldParts:
    """Append the parts of a text to a file."""
    known: dict[int, tuple[int, int]] = {}
    held = tuple(parts)
    end = file.seek(0, 2)
    for part in held:
        if id(part) not in known:
            known[id(part)] = end, len(part)
            end += file.write(part)
    return HeldParts(tuple(known[id(part)] for part in held))


def held_parts(file: IO[bytes], held: HeldParts) -> Iterator[bytes]:
    """The parts that are held in a file."""
    for place, size in held.places:
        file.seek(place)
        yield file.read(size)


def roomy(file: IO[bytes]) -> IO[bytes]:
    """The file to go on with: what has become too large for memory is on the disk from then on, where it vanishes with
    the process. Raises OSError."""
    if not isinstance(file, BytesIO) or file.tell() < _IN_MEMORY:
        return file
    from tempfile import TemporaryFile  # few outputs are so large

    larger: IO[bytes] = TemporaryFile()  # noqa: SIM115
    larger.write(file.getbuffer())
    return larger
