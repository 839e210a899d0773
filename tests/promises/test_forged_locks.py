"""A lock says one thing about each namespace, extension and image: what a reviewer reads is what olmc follows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import olmc

DIGEST = f"sha256:{'a' * 64}"
IMAGE = {"image": "registry.example.com/tide:v1", "kind": "bundle", "digest": DIGEST, "content": DIGEST}


@pytest.fixture
def workspace(project: Path, tmp_path: Path) -> Path:
    """A workspace with a lock."""
    root = tmp_path / "w"
    shutil.copytree(project / "fixtures" / "upgrade", root)
    assert olmc("resolve", root, "--update").exit_code == 0
    return root


def forged(root: Path, field: str, first: Any, last: Any) -> Path:
    """Give the lock two entries of a field."""
    path = root / "olmc.lock"
    lock = yaml.safe_load(path.read_text(encoding="utf-8"))
    lock[field] = [first, last]
    path.write_text(yaml.safe_dump(lock), encoding="utf-8")
    return path


def test_a_namespace_has_one_entry(workspace: Path) -> None:
    (entry,) = yaml.safe_load((workspace / "olmc.lock").read_text(encoding="utf-8"))["namespaces"]
    older = {**entry, "operators": entry["operators"][:1]}
    for pair in ((entry, older), (older, entry), (entry, entry)):
        forged(workspace, "namespaces", *pair)
        done = olmc("resolve", workspace, "--locked")
        assert (done.exit_code, "namespaces.1.namespace: 'harbour' has an entry already" in done.stderr) == (3, True)
        assert olmc("render", workspace).exit_code == 3


def test_an_extension_has_one_entry(workspace: Path) -> None:
    entry = {
        "extension": "tide",
        "package": "tide",
        "name": "tide.v1",
        "version": "1",
        "catalog": "c",
        "digest": DIGEST,
    }
    forged(workspace, "extensions", entry, {**entry, "version": "2"})
    assert "extensions.1.extension: 'tide' has an entry already" in olmc("resolve", workspace, "--locked").stderr


def test_an_image_has_one_entry(workspace: Path) -> None:
    forged(workspace, "images", IMAGE, {**IMAGE, "content": f"sha256:{'b' * 64}"})
    assert "images.1.image: 'registry.example.com/tide:v1' has an entry already" in olmc("render", workspace).stderr


def test_an_image_of_two_kinds_has_two_entries(workspace: Path) -> None:
    forged(workspace, "images", IMAGE, {**IMAGE, "kind": "catalog"})
    assert "has an entry already" not in olmc("resolve", workspace, "--locked").stderr
