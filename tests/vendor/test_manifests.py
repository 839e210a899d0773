"""Manifests and indexes: what is read from them, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from image_kit import image, index, packed, tar

from olmc.integrations.fetch.sources import ImageManifest, Index, choose, decode_manifest

DIGEST = "sha256:" + "0" * 64
LAYER = {"mediaType": "x", "digest": DIGEST, "size": 3}


def manifest(**changed: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, "config": LAYER, "layers": [LAYER], **changed}).encode()


@pytest.mark.parametrize("docker", [False, True])
def test_both_families_say_the_same(docker: bool) -> None:
    made = image([packed(tar(("a", "b")))], docker=docker)
    found = decode_manifest(made.data)
    assert isinstance(found, ImageManifest)
    assert [layer.digest for layer in found.layers] == [list(made.parts)[1]]
    many = decode_manifest(index({"linux/amd64": made, "unknown/unknown": made}, docker=docker).data)
    assert isinstance(many, Index)
    assert [(entry.platform, entry.descriptor.digest) for entry in many.entries] == [("linux/amd64", made.digest)]


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"{", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"[]", "it is no mapping"),
        (b'{"schemaVersion": 1, "fsLayers": []}', "it is of Docker's schema 1"),
        (b'{"schemaVersion": 2}', "it does not say what it is"),
        (b'{"schemaVersion": 2, "mediaType": "text/plain"}', "it is of the unknown type text/plain"),
        (manifest(layers={}), "layers is no list"),
        (manifest(layers=[LAYER] * 257), "it has 257 layers, more than 256"),
        (manifest(config=None), "a descriptor is no mapping"),
        (manifest(config={**LAYER, "digest": "sha256:../../etc/passwd"}), "'sha256:../../etc/passwd' is no digest"),
        (manifest(config={**LAYER, "digest": "md5:" + "0" * 32}), "is no digest of SHA-256 or SHA-512"),
        (manifest(config={**LAYER, "size": -1}), "-1 is no size"),
        (manifest(config={**LAYER, "size": True}), "True is no size"),
    ],
)
def test_what_cannot_be_used_says_why(data: bytes, cause: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_manifest(data)
    assert cause in str(caught.value)


def test_the_type_that_it_is_served_as_counts_where_it_says_none() -> None:
    empty = b'{"schemaVersion": 2, "manifests": []}'
    assert decode_manifest(empty, "application/vnd.oci.image.index.v1+json; charset=utf-8") == Index(())


@pytest.mark.parametrize(
    ("platforms", "asked", "found"),
    [
        (["linux/arm64", "linux/amd64"], "linux/amd64", 1),
        (["linux/arm/v6", "linux/arm/v7"], "linux/arm/v7", 1),
        (["linux/arm/v6", "linux/arm/v7"], "linux/arm", 0),
        (["linux/s390x"], "linux/amd64", 0),
        ([""], "linux/amd64", 0),
        (["linux/s390x", "linux/arm64"], "linux/amd64", None),
        ([], "linux/amd64", None),
    ],
)
def test_the_image_for_a_platform(platforms: list[str], asked: str, found: int | None) -> None:
    """The exact one; one whose variant nobody asks for; the only one there is; else none."""
    each = {"mediaType": "x", "digest": DIGEST}
    entries = []
    for number, platform in enumerate(platforms):
        parts = dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False)) if platform else None
        entries.append({**each, "size": number, **({"platform": parts} if parts else {})})
    here = decode_manifest(json.dumps({"schemaVersion": 2, "manifests": entries}).encode())
    assert isinstance(here, Index)
    entry = choose(here, asked)
    assert (None if entry is None else entry.descriptor.size) == found
