"""What is vendored, as it is read: digests, places, and CatalogSources that it serves."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.load.config import lock_text, read_lock
from olmc.compiler.load.vendored import FileNameError, catalog_image, content_digest, path_of
from olmc.compiler.model.workspace import LockedImage
from olmc.k8s.diagnostics import Report

DIGEST = "sha256:" + "b" * 64


def locked(image: str, kind: str = "bundle") -> LockedImage:
    return LockedImage(image, kind, DIGEST, "", "sha256:" + "c" * 64)  # type: ignore[arg-type]


def test_the_digest_of_content_is_that_of_sha256sum(tmp_path: Path) -> None:
    """So that anybody can check it: find -type f | sort | xargs sha256sum | sha256sum."""
    files = {"manifests/b.yaml": b"b", "manifests/B.yaml": b"B", "metadata/a.yaml": b"", "z": b"z"}
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    command = "find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    told = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert content_digest((name, tmp_path / name) for name in files) == f"sha256:{told.stdout.split()[0]}"
    assert content_digest([]) == f"sha256:{hashlib.sha256().hexdigest()}"


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\\b", "a\x1bb", "a\x7fb", "a\x85b", "a\u2028b", "a\udcffb"])
def test_a_name_that_could_stand_for_several_lines_has_no_digest(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("")
    with pytest.raises(FileNameError, match="has a control character, a backslash, or is not UTF-8"):
        content_digest([(name, path)])


FILES = st.dictionaries(st.sampled_from(["a", "b", "ab", "c"]), st.binary(max_size=2), max_size=4)


@given(FILES, FILES, st.data())
def test_the_order_of_files_does_not_count_and_all_else_does(
    files: dict[str, bytes], other: dict[str, bytes], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = digest(Path(folder), files)
        assert digest(Path(folder), files, data.draw(st.permutations(sorted(files)))) == first
        assert (digest(Path(folder), other) == first) == (other == files)


def digest(folder: Path, files: Mapping[str, bytes], order: Sequence[str] = ()) -> str:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return content_digest((name, folder / name) for name in order or files)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("quay.io/acme/app-bundle:v1", "app-bundle"),
        (f"quay.io/acme/app@{DIGEST}", "app"),
        ("127.0.0.1:5000/app", "app"),
        ("app:latest", "app"),
        ("example.com/" + "a" * 100, "a" * 60),
    ],
)
def test_a_folder_is_named_for_a_reader_and_by_its_content(image: str, name: str) -> None:
    assert path_of(locked(image)) == f"vendor/bundles/{name}-{'c' * 16}"
    assert path_of(locked(image, "catalog")) == f"vendor/catalogs/{name}-{'c' * 16}"


def test_a_lock_of_images_alone_chooses_no_operators(tmp_path: Path) -> None:
    images = (locked("a.example.com/b"), locked("a.example.com/a")._replace(platform="linux/amd64"))
    (tmp_path / "olmc.lock").write_text(lock_text(None, images))
    report = Report()
    found = read_lock(tmp_path, report)
    assert not list(report)
    assert (found.operators, found.images) == (None, tuple(sorted(images)))


@pytest.mark.parametrize(
    ("template", "version", "expected"),
    [
        ("example.com/c:v{kube_major_version}.{kube_minor_version}", "v1.36.2", "example.com/c:v1.36"),
        ("example.com/c:{kube_patch_version}", "v1.30.7+k3s1", "example.com/c:7"),
        ("example.com/c:{kube_minor_version}", "", "own"),
        ("example.com/c:{group_version}", "v1.36.2", "own"),
        ("", "v1.36.2", "own"),
    ],
)
def test_the_image_of_a_catalog_source(template: str, version: str, expected: str) -> None:
    """R-CAT-162."""
    metadata = {"name": "c", "annotations": {"olm.catalogImageTemplate": template}}
    assert catalog_image({"metadata": metadata, "spec": {"sourceType": "grpc", "image": "own"}}, version) == expected


def test_catalog_sources_without_an_image() -> None:
    grpc = {"sourceType": "grpc"}
    for spec in (None, {}, {"sourceType": "configmap", "image": "x"}, grpc, {**grpc, "image": 1}):
        assert catalog_image({"metadata": {"name": "c"}, "spec": spec}, "v1.36.2") == ""
