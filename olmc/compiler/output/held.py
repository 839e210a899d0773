"""Output that waits until all of it may be written: a little in memory, anything more in a file without a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import IO

from olmc.k8s.lean import NamedTuple

_IN_MEMORY = 16 * 1024 * 1024


class HeldParts(NamedTuple):
    """Where the parts of a text stand in a file, each as its first byte and its size; one that is there several times
    stands there once."""

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
