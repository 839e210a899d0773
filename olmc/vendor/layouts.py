"""OCI layouts: folders, or tar archives of them, with images that need no registry."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from olmc.diagnostics.rules import vendor as rules
from olmc.gojson import unmarshal
from olmc.lean import NamedTuple
from olmc.vendor.sources import (
    CHUNK,
    MAX_MANIFEST_BYTES,
    Descriptor,
    ImageSource,
    SourceError,
    Tick,
    VendorError,
    descriptor,
    parse,
    write_chunks,
)

_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_MAX_INDEX_BYTES = 16 * 1024 * 1024


class Named(NamedTuple):
    """An image of a layout: its digest and the names that it goes by."""

    digest: str
    names: tuple[str, ...]


class Layout(NamedTuple):
    """An OCI layout: its images, and a function that opens one of its files, None for one that isn't there.

    `image` is the reference that it was given for, "" if its own names count.
    """

    path: Path
    open: Callable[[str], BinaryIO | None]
    images: tuple[Named, ...]
    image: str = ""


def read_layout(path: Path, image: str = "") -> Layout:
    """The layout in a folder or an archive; VendorError if it is none."""
    try:
        opener = _folder(path) if path.is_dir() else _archive(path)
        marker = _document(opener, "oci-layout")
        if not str(marker.get("imageLayoutVersion") or "").startswith("1."):
            raise ValueError("oci-layout names no version 1")
        items = _document(opener, "index.json").get("manifests")
        if not isinstance(items, list):
            raise ValueError("index.json has no manifests")
        return Layout(path, opener, tuple(Named(descriptor(item).digest, tuple(_names(item))) for item in items), image)
    except (OSError, ValueError, tarfile.TarError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise VendorError(rules.BAD_LAYOUT, path=path, cause=cause) from error


def _folder(path: Path) -> Callable[[str], BinaryIO | None]:
    return lambda name: (path / name).open("rb") if (path / name).is_file() else None


def _archive(path: Path) -> Callable[[str], BinaryIO | None]:
    """Opens files of a tar archive by their offsets, so that threads don't share a position."""
    with path.open("rb") as stream:
        if stream.read(2) == b"\x1f\x8b":
            raise ValueError("it is compressed; unpack it with gunzip first")
    with tarfile.open(path, "r:") as archive:
        places = {
            member.name.removeprefix("./"): (member.offset_data, member.size)
            for member in archive
            if member.isreg() and not member.issparse()
        }
    if "oci-layout" not in places and "manifest.json" in places:
        raise ValueError("it is an archive in Docker's older format")

    def opened(name: str) -> BinaryIO | None:
        return _Part(path.open("rb"), *places[name]) if name in places else None  # type: ignore[return-value]

    return opened


class _Part:
    """A part of a file, as a file to read from."""

    def __init__(self, stream: BinaryIO, offset: int, size: int) -> None:
        self.stream, self.left = stream, size
        stream.seek(offset)

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(data)
        return data

    def __enter__(self) -> _Part:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()


def _document(opener: Callable[[str], BinaryIO | None], name: str) -> Mapping[str, Any]:
    stream = opener(name)
    if stream is None:
        raise ValueError(f"it has no {name}")
    with stream:
        value = unmarshal(stream.read(_MAX_INDEX_BYTES))
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no mapping")
    return value


def _names(item: Mapping[str, Any]) -> Iterator[str]:
    annotations = item.get("annotations")
    if isinstance(annotations, dict):
        yield from (str(annotations[name]) for name in _NAMES if annotations.get(name))


def layout_sources(layouts: Sequence[Layout], image: str) -> Iterator[ImageSource]:
    """The image in each of the layouts that have it."""
    for layout in layouts:
        digest = _digest_in(layout, image)
        if digest:
            yield _source(layout, image, digest)


def _digest_in(layout: Layout, image: str) -> str:
    """The digest of an image in a layout, "" where it isn't."""
    reference = parse(image)
    if layout.image and parse(layout.image) != reference:
        return ""
    if reference.digest:
        stream = layout.open(_path(reference.digest))
        if stream is None:
            return ""
        with stream:
            return reference.digest
    named = [candidate for candidate in layout.images if any(_same(name, image) for name in candidate.names)]
    if not named and layout.image:
        tagged = [candidate for candidate in layout.images if reference.tag in candidate.names]
        named = tagged or list(layout.images if len(layout.images) == 1 else ())
        if not named:
            names = ", ".join(name for candidate in layout.images for name in candidate.names) or "none"
            cause = f"it has {len(layout.images)} images, and none of them is called {image}; their names: {names}"
            raise VendorError(rules.BAD_LAYOUT, path=layout.path, cause=cause)
    return named[0].digest if named else ""


def _same(name: str, image: str) -> bool:
    """Whether a name in a layout, which may be a tag alone, is that of an image."""
    try:
        return not {*"/:"}.isdisjoint(name) and parse(name) == parse(image)
    except VendorError:
        return False


def _path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/', 1)}"


def _source(layout: Layout, image: str, top: str) -> ImageSource:
    place = str(layout.path)

    def opened(digest: str) -> BinaryIO:
        stream = layout.open(_path(digest))
        if stream is None:
            raise SourceError(rules.NOT_FOUND, image=image, place=place, cause=f"it has no {_path(digest)}")
        return stream

    def manifest(digest: str) -> tuple[bytes, str]:
        with opened(digest or top) as stream:
            return stream.read(MAX_MANIFEST_BYTES), ""

    def blob(wanted: Descriptor, path: Path, tick: Tick) -> str:
        with opened(wanted.digest) as stream:
            return write_chunks(iter(lambda: stream.read(CHUNK), b""), wanted, path, tick)[0]

    return ImageSource(place, manifest, blob)
