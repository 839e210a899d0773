"""OCI layouts: which image of which layout, and what is none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from image_kit import Image, as_archive, image, packed, tar, write_layout

from olmc.integrations.fetch.sources import (
    Descriptor,
    SourceError,
    VendorError,
    fetch_blob,
    fetch_manifest,
    layout_sources,
    read_layout,
)


@pytest.fixture
def made() -> Image:
    return image([packed(tar(("a", "b")))])


def digests(layout: Path, wanted: str, given_for: str = "") -> list[str]:
    """The digests of the manifests that a layout has for an image."""
    sources = layout_sources([read_layout(layout, given_for)], wanted)
    return [fetch_manifest(source, wanted, "")[2] for source in sources]


@pytest.mark.parametrize("archived", [False, True])
def test_an_image_is_found_by_its_names(tmp_path: Path, made: Image, archived: bool) -> None:
    other = image([packed(tar(("c", "d")))])
    folder = write_layout(tmp_path / "layout", {"quay.io/acme/app:v1": made, "v2": other})
    layout = as_archive(folder) if archived else folder
    assert digests(layout, "quay.io/acme/app:v1") == [made.digest]
    assert digests(layout, "quay.io/acme/app:v2") == []
    assert digests(layout, "v2") == []  # docker.io/library/v2, which a tag is not
    assert digests(layout, f"quay.io/acme/app@{other.digest}") == [other.digest]
    assert digests(layout, "quay.io/acme/app:v2", "quay.io/acme/app:v2") == [other.digest]
    assert digests(layout, "quay.io/acme/app:v1", "quay.io/acme/app:v2") == []
    with pytest.raises(VendorError, match=r"it has 2 images, and none of them is called .*: quay.io/acme/app:v1, v2"):
        digests(layout, "quay.io/acme/app:v3", "quay.io/acme/app:v3")


def test_names_that_say_more_or_less(tmp_path: Path, made: Image) -> None:
    layout = write_layout(tmp_path / "layout", {"docker.io/library/app:v1": made})
    assert digests(layout, "app:v1") == [made.digest]
    assert digests(layout, "app") == []


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({}, "it has no oci-layout"),
        ({"oci-layout": "{}"}, "oci-layout names no version 1"),
        ({"oci-layout": '{"imageLayoutVersion": "1.0.0"}'}, "it has no index.json"),
        ({"oci-layout": '{"imageLayoutVersion": "1.0.0"}', "index.json": "[]"}, "index.json is no mapping"),
        ({"oci-layout": '{"imageLayoutVersion": "1.0.0"}', "index.json": "{}"}, "index.json has no manifests"),
    ],
)
def test_what_is_no_layout(tmp_path: Path, files: dict[str, str], cause: str) -> None:
    folder = tmp_path / "layout"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    for path in (folder, as_archive(folder)):
        with pytest.raises(VendorError, match=cause) as caught:
            read_layout(path)
        assert caught.value.diagnostic.code == "OLMC635"


def test_archives_of_other_kinds(tmp_path: Path, made: Image) -> None:
    docker, zipped, none = (tmp_path / name for name in ("docker.tar", "zipped.tar.gz", "none.tar"))
    docker.write_bytes(tar(("manifest.json", "[]")))
    zipped.write_bytes(gzip.compress(as_archive(write_layout(tmp_path / "layout", {"v1": made})).read_bytes()))
    none.write_bytes(b"hello")
    for path, cause in ((docker, "Docker's older format"), (zipped, "it is compressed"), (none, "is no OCI layout")):
        with pytest.raises(VendorError, match=cause):
            read_layout(path)


def test_blobs_are_checked_as_those_of_registries_are(tmp_path: Path, made: Image) -> None:
    layout = write_layout(tmp_path / "layout", {"quay.io/a:v1": made})
    blob = next(key for key, (kind, _) in made.parts.items() if not kind)
    wanted = Descriptor("", blob, len(made.parts[blob][1]))
    path = layout / "blobs" / blob.replace(":", "/")
    (source,) = layout_sources([read_layout(layout)], "quay.io/a:v1")
    fetch_blob(source, "quay.io/a:v1", wanted, tmp_path / "out", lambda _: None, "a layer")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    for damage in (path.read_bytes()[:-1], path.read_bytes() + b"x", b"\0" * wanted.size):
        path.write_bytes(damage)
        with pytest.raises(SourceError) as caught:
            fetch_blob(source, "quay.io/a:v1", wanted, tmp_path / "bad", lambda _: None, "a layer")
        assert caught.value.diagnostic.code == "OLMC627"
        assert not (tmp_path / "bad").exists()
    path.unlink()
    with pytest.raises(SourceError, match="it has no blobs/sha256/"):
        fetch_blob(source, "quay.io/a:v1", wanted, tmp_path / "bad", lambda _: None, "a layer")
    (layout / "index.json").write_text(json.dumps({"manifests": []}))
    assert digests(layout, "quay.io/a:v1") == []
