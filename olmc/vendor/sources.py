"""Where an image can come from: a registry, a mirror, a layout. All of them look alike from here on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from olmc.rules import vendor as rules
from olmc.vendor.errors import SourceError
from olmc.vendor.manifests import Descriptor, digest_of

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
CHUNK = 64 * 1024

Tick = Callable[[int], None]
"""Is told the number of bytes that have arrived, a negative one when they have to come once more."""


class Source(NamedTuple):
    """An image at one place.

    `place` is how messages call it. `manifest` gives the bytes of a manifest and the media type they are served as, by
    its digest ("" for the one that the reference names); `blob` writes a blob to a file and returns what its digest
    would be; both raise SourceError.
    """

    place: str
    manifest: Callable[[str], tuple[bytes, str]]
    blob: Callable[[Descriptor, Path, Tick], str]


def checked_manifest(source: Source, image: str, digest: str) -> tuple[bytes, str, str]:
    """A manifest, its media type and its digest, which is `digest` unless that is ""; raises SourceError."""
    data, media_type = source.manifest(digest)
    found = digest_of(data, digest or "sha256:")
    if digest and found != digest:
        raise SourceError(
            rules.WRONG_DIGEST, what="the manifest", image=image, place=source.place, expected=digest, found=found
        )
    return data, media_type, found


def checked_blob(source: Source, image: str, wanted: Descriptor, path: Path, tick: Tick, what: str) -> None:
    """Write a blob to `path`; raises SourceError if it can't be had or has another digest, and then leaves no file."""
    try:
        found = source.blob(wanted, path, tick)
        if found != wanted.digest:
            values = {"what": what, "image": image, "place": source.place}
            raise SourceError(rules.WRONG_DIGEST, **values, expected=wanted.digest, found=found)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def written(chunks: Iterable[bytes], wanted: Descriptor, path: Path, tick: Tick) -> tuple[str, int]:
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
