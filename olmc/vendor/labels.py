"""What an image holds, by the labels of its configuration, and where in it that lies."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from olmc.gojson import unmarshal
from olmc.load.annotations import PREFIX as BUNDLE
from olmc.model.lock import ImageKind
from olmc.rules import vendor as rules
from olmc.vendor.errors import VendorError

INDEX = "operators.operatorframework.io.index."
CONFIGS, DATABASE = INDEX + "configs.v1", INDEX + "database.v1"
MANIFESTS, METADATA, MEDIA_TYPE = BUNDLE + "manifests.v1", BUNDLE + "metadata.v1", BUNDLE + "mediatype.v1"

MAX_CONFIG_BYTES = 8 * 1024 * 1024


def content_folders(config: bytes, kind: ImageKind, image: str) -> dict[str, str]:
    """The folders of an image with its content, each with the place that it gets among the vendored files.

    `config` is the image's configuration. A catalog's folder defaults to /configs, those of a bundle to /manifests and
    /metadata, as for OLM. Raises VendorError for an image that says it is something else.
    """
    labels = _labels(config)
    if kind == "catalog":
        if DATABASE in labels and CONFIGS not in labels:
            raise VendorError(rules.SQLITE, image=image, path=labels[DATABASE])
        if CONFIGS not in labels and MANIFESTS in labels:
            raise _other(image, kind, "its labels say that it is a bundle")
        return {_inside(labels.get(CONFIGS) or "/configs", CONFIGS, image): ""}
    if MANIFESTS not in labels and (CONFIGS in labels or DATABASE in labels):
        raise _other(image, kind, "its labels say that it is a catalog")
    media_type = labels.get(MEDIA_TYPE) or "registry+v1"
    if media_type != "registry+v1":
        raise _other(image, kind, f"it is of type {media_type}, and OLM installs registry+v1 only")
    manifests = _inside(labels.get(MANIFESTS) or "/manifests", MANIFESTS, image)
    metadata = _inside(labels.get(METADATA) or "/metadata", METADATA, image)
    if manifests == metadata:
        raise _other(image, kind, f"manifests and metadata are one folder, /{metadata}")
    return {manifests: "manifests", metadata: "metadata"}


def _labels(config: bytes) -> Mapping[str, str]:
    try:
        value = unmarshal(config)
    except ValueError:
        return {}
    inner: Any = value.get("config") if isinstance(value, dict) else None
    labels = inner.get("Labels") if isinstance(inner, dict) else None
    return {key: text for key, text in labels.items() if isinstance(text, str)} if isinstance(labels, dict) else {}


def _inside(path: str, label: str, image: str) -> str:
    plain = posixpath.normpath(f"/{path}").strip("/")
    if not plain or ".." in path.split("/"):
        raise VendorError(rules.UNSAFE_LAYER, image=image, name=label, cause=f"{path!r} is no folder of an image")
    return plain


def _other(image: str, kind: ImageKind, cause: str) -> VendorError:
    return VendorError(rules.OTHER_KIND, image=image, wanted=kind, cause=cause)
