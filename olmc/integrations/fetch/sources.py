"""Images and where they come from: references, manifests, sources, errors, and how far a run has come."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any, BinaryIO

from olmc.compiler.catalogs.properties import pull_spec_problem, split_domain
from olmc.compiler.rules.findings import vendor as rules
from olmc.k8s.diagnostics import Cause, Diagnostic, Rule
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import NamedTuple, regex


class VendorError(Exception):
    """An image can't be vendored; `diagnostic` says why."""

    def __init__(self, rule: Rule, **values: object) -> None:
        self.diagnostic: Diagnostic = rule.finding(None, related=(), **values)
        super().__init__(self.diagnostic.message)


class SourceError(VendorError):
    """One source does not have the image, or not as it should be; another one may."""

    @property
    def cause(self) -> Cause | None:
        """Return the cause as data."""
        return self.diagnostic.cause


class StoppedError(Exception):
    """Another part of the run has failed, or the user has stopped it."""


@dataclass(slots=True)
class Progress:
    """Images and bytes, those done and those to do; `shown` is called with each change.

    Once `stop` is set, each thread that reports progress gets a StoppedError and stops.
    """

    shown: Callable[[Progress], None] = lambda _: None
    images: int = 0
    images_done: int = 0
    bytes: int = 0
    bytes_done: int = 0
    stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    def expect(self, *, images: int = 0, size: int = 0) -> None:
        """There are more images, or bytes, to fetch."""
        with self._lock:
            self.images += images
            self.bytes += size
            self.shown(self)

    def tick(self, size: int) -> None:
        """So many bytes have arrived; a negative number has to come once more."""
        if self.stop.is_set():
            raise StoppedError
        with self._lock:
            self.bytes_done += size
            self.shown(self)

    def __str__(self) -> str:
        """As `3 of 7 images, 12.5 of 80.0 MB`."""
        size = f", {self.bytes_done / 1e6:.1f} of {self.bytes / 1e6:.1f} MB" if self.bytes else ""
        return f"{self.images_done} of {self.images} images{size}"

    def image_done(self) -> None:
        """An image is complete."""
        with self._lock:
            self.images_done += 1
            self.shown(self)


class Reference(NamedTuple):
    """An image by its registry (host and port), repository, and tag or digest ("" where it has none)."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """The image without tag and digest."""
        return f"{self.registry}/{self.repository}"

    @property
    def selector(self) -> str:
        """Return the selector for the registry: the digest if there is one, else the tag."""
        return self.digest or self.tag or "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.name}{tag}{f'@{self.digest}' if self.digest else ''}"


def parse(image: str) -> Reference:
    """The reference that a text stands for, with what may be left out filled in; VendorError if it is none."""
    cause = pull_spec_problem(image)
    if cause:
        raise VendorError(rules.BAD_REFERENCE, image=image, cause=cause)
    registry, path = split_domain(image)
    named, _, digest = path.partition("@")
    repository, _, tag = named.partition(":")
    return Reference(registry, repository, tag, digest)


OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MEDIA_TYPES = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)

MAX_LAYERS = 256
MAX_ENTRIES = 1000

_DIGEST = regex(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")


class Descriptor(NamedTuple):
    """Content by its digest: its media type and its size in bytes."""

    media_type: str
    digest: str
    size: int


class IndexEntry(NamedTuple):
    """An image of an index: `platform` as os/architecture[/variant], "" where it has none."""

    descriptor: Descriptor
    platform: str


class ImageManifest(NamedTuple):
    """An image: its configuration and its layers, the lowest first."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


class Index(NamedTuple):
    """Several images under one name; attestations and the like are left out."""

    entries: tuple[IndexEntry, ...]


def digest_of(data: bytes, like: str = "sha256:") -> str:
    """The digest of `data`, with the algorithm of the digest `like`."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def decode_manifest(data: bytes, media_type: str = "") -> ImageManifest | Index:
    """Return the content of a manifest; ValueError with the reason why it can't be used.

    `media_type` is the type in the answer, which counts if the manifest has none.
    """
    try:
        value = unmarshal(data)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("it is no mapping")
    if value.get("schemaVersion") == 1 or "fsLayers" in value:
        raise ValueError("it is of Docker's schema 1")
    kind = str(value.get("mediaType") or media_type.partition(";")[0].strip())
    if kind in (OCI_INDEX, DOCKER_LIST) or (kind not in MEDIA_TYPES and "manifests" in value):
        return Index(tuple(_entries(_items(value, "manifests", MAX_ENTRIES))))
    if kind in (OCI_MANIFEST, DOCKER_MANIFEST) or "layers" in value:
        layers = tuple(descriptor(item) for item in _items(value, "layers", MAX_LAYERS))
        return ImageManifest(descriptor(value.get("config")), layers)
    raise ValueError(f"it is of the unknown type {kind}" if kind else "it does not say what it is")


def _items(value: Mapping[str, Any], key: str, limit: int) -> list[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise ValueError(f"{key} is no list")
    if len(items) > limit:
        raise ValueError(f"it has {len(items):,} {key}, more than {limit:,}")
    return items


def _entries(items: list[Any]) -> list[IndexEntry]:
    entries = []
    for item in items:
        named = descriptor(item)
        annotations = item.get("annotations")
        platform = _platform(item.get("platform"))
        # BuildKit lists attestations among the images, for a platform that is none.
        attests = isinstance(annotations, dict) and "vnd.docker.reference.type" in annotations
        if not attests and not platform.startswith("unknown/"):
            entries.append(IndexEntry(named, platform))
    return entries


def _platform(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    parts = (value.get("os"), value.get("architecture"), value.get("variant"))
    return "/".join(part for part in parts if isinstance(part, str) and part)


def descriptor(value: Any) -> Descriptor:
    """A descriptor; ValueError if it has no proper digest and size."""
    if not isinstance(value, dict):
        raise ValueError("a descriptor is no mapping")
    digest, size = value.get("digest"), value.get("size")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ValueError(f"{digest!r} is no digest of SHA-256 or SHA-512")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError(f"{size!r} is no size")
    return Descriptor(str(value.get("mediaType") or ""), digest, size)


def choose(index: Index, platform: str) -> IndexEntry | None:
    """The entry for a platform: the exact one, one whose variant is not asked for, or the only one there is."""
    for entry in index.entries:
        if entry.platform == platform:
            return entry
    # linux/arm64 also means linux/arm64/v8, unless a variant is requested.
    for entry in index.entries:
        if entry.platform.startswith(f"{platform}/"):
            return entry
    return index.entries[0] if len(index.entries) == 1 else None


MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MAX_INDEXES = 4
CHUNK = 64 * 1024

Tick = Callable[[int], None]
"""Gets the number of bytes that have arrived, a negative one when they have to come once more."""


class ImageSource(NamedTuple):
    """An image at one place.

    `place` is how messages call it. `manifest` gives the bytes of a manifest and the media type they are served as, by
    its digest ("" for the one that the reference names); `blob` writes a blob to a file and returns what its digest
    would be; both raise SourceError.
    """

    place: str
    manifest: Callable[[str], tuple[bytes, str]]
    blob: Callable[[Descriptor, Path, Tick], str]


def fetch_manifest(source: ImageSource, image: str, digest: str) -> tuple[bytes, str, str]:
    """A manifest, its media type and its digest, which is `digest` unless that is ""; raises SourceError."""
    data, media_type = source.manifest(digest)
    actual = digest_of(data, digest or "sha256:")
    if digest and actual != digest:
        raise SourceError(
            rules.WRONG_DIGEST, what="the manifest", image=image, place=source.place, expected=digest, found=actual
        )
    return data, media_type, actual


def fetch_blob(source: ImageSource, image: str, wanted: Descriptor, path: Path, tick: Tick, what: str) -> None:
    """Write a blob to `path`; raises SourceError if it can't be had or has another digest, and then leaves no file."""
    try:
        actual = source.blob(wanted, path, tick)
        if actual != wanted.digest:
            values = {"what": what, "image": image, "place": source.place}
            raise SourceError(rules.WRONG_DIGEST, **values, expected=wanted.digest, found=actual)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_chunks(chunks: Iterable[bytes], wanted: Descriptor, path: Path, tick: Tick) -> tuple[str, int]:
    """Write chunks to a file, stopping at the first that is too much; the digest and the size of what came."""
    digest, size = hashlib.new(wanted.digest.partition(":")[0]), 0
    with path.open("wb") as stream:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            stream.write(chunk)
            tick(len(chunk))
            if size > wanted.size:
                break
    return f"{digest.name}:{digest.hexdigest()}", size


# OCI layouts: folders, or tar archives of them, with images that need no registry.

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
    """Return whether a name in a layout, which may be a tag alone, is that of an image."""
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
