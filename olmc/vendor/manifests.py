"""Manifests and indexes, of OCI and of Docker's schema 2: bytes → what they name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from olmc.gojson import unmarshal

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MEDIA_TYPES = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)

MAX_LAYERS = 256
MAX_ENTRIES = 1000

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")


class Descriptor(NamedTuple):
    """Content by its digest: its media type and its size in bytes."""

    media_type: str
    digest: str
    size: int


class Entry(NamedTuple):
    """An image of an index: `platform` as os/architecture[/variant], "" where none is told."""

    descriptor: Descriptor
    platform: str


class Manifest(NamedTuple):
    """An image: its configuration and its layers, the lowest first."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


class Index(NamedTuple):
    """Several images under one name; attestations and the like are left out."""

    entries: tuple[Entry, ...]


def digest_of(data: bytes, like: str = "sha256:") -> str:
    """The digest of `data`, with the algorithm of the digest `like`."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def decoded(data: bytes, media_type: str = "") -> Manifest | Index:
    """What a manifest says; ValueError with the reason why it can't be used.

    `media_type` is what it was served as, which counts where it does not say itself what it is.
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
        return Manifest(descriptor(value.get("config")), layers)
    raise ValueError(f"it is of the unknown type {kind}" if kind else "it does not say what it is")


def _items(value: Mapping[str, Any], key: str, limit: int) -> list[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise ValueError(f"{key} is no list")
    if len(items) > limit:
        raise ValueError(f"it has {len(items):,} {key}, more than {limit:,}")
    return items


def _entries(items: list[Any]) -> list[Entry]:
    entries = []
    for item in items:
        named = descriptor(item)
        annotations = item.get("annotations")
        platform = _platform(item.get("platform"))
        attests = isinstance(annotations, dict) and "vnd.docker.reference.type" in annotations
        if not attests and not platform.startswith("unknown/"):
            entries.append(Entry(named, platform))
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


def chosen(index: Index, platform: str) -> Entry | None:
    """The entry for a platform: the exact one, one whose variant is not asked for, or the only one there is."""
    for entry in index.entries:
        if entry.platform == platform:
            return entry
    for entry in index.entries:
        if entry.platform.startswith(f"{platform}/"):
            return entry
    return index.entries[0] if len(index.entries) == 1 else None
