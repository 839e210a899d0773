"""What `olmc.lock` holds: the operators that were chosen, namespace by namespace, and the images that were vendored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from olmc.model.location import Place


class LockedOperator(NamedTuple):
    """A bundle that was chosen: where it comes from, and the digest of what the catalog and the bundle said then."""

    package: str
    name: str
    version: str
    channel: str
    catalog: str
    catalog_namespace: str
    digest: str


ImageKind = Literal["catalog", "bundle"]


class LockedImage(NamedTuple):
    """An image whose content lies in `vendor/`.

    `image` is the reference as the workspace has it, `kind` what it holds, `digest` that of the manifest or index which
    the reference named, `platform` the one chosen from an index ("" where there was no choice), `content` the digest of
    the files taken out of it.
    """

    image: str
    kind: ImageKind
    digest: str
    platform: str
    content: str


class Lock(NamedTuple):
    """The bundles that the plans of each namespace go through, those at rest last of their package; and the file."""

    namespaces: Mapping[str, tuple[LockedOperator, ...]]
    place: Place | None = None


class LockFile(NamedTuple):
    """The whole file: the operators (None where it only lists images), and the images by their reference."""

    operators: Lock | None = None
    images: tuple[LockedImage, ...] = ()
