"""References to images: which registry they name, and whether what they name stays the same."""

from __future__ import annotations

_DEFAULT_REGISTRY = "docker.io"


def registry_of(image: str) -> str:
    """The registry that an image is pulled from: what stands first, if it looks like a host."""
    host, slash, _ = image.partition("/")
    is_host = slash and ("." in host or ":" in host or host == "localhost")
    return host if is_host else _DEFAULT_REGISTRY


def has_digest(image: str) -> bool:
    """Whether a reference names its content."""
    return "@" in image


def is_floating(image: str) -> bool:
    """Whether a reference names no version: no digest, and no tag but `latest`."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return bool(image) and not has_digest(image) and tag in ("", "latest")


def doubts_about(old: str, new: str) -> tuple[str, ...]:
    """List the reasons why an image is less certain than the one whose place it takes: who serves it, and whether it
    stays the same.

    This is the one rule for containers, bundles, related images and catalogs.
    """
    doubts = []
    if registry_of(old) != registry_of(new):
        doubts.append("from another registry")
    if is_floating(new) and not is_floating(old):
        doubts.append("the tag may move at any time")
    elif has_digest(old) and not has_digest(new):
        doubts.append("no longer pinned by a digest, so a tag may be moved")
    return tuple(doubts)
