"""Workspaces in a registry, and what `olmc vendor` makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from commands import olmc
from image_kit import Image, push
from image_workspaces import CATALOG, located, state, with_images

from olmc.compiler.load.config import read_lock
from olmc.compiler.model.workspace import LockedImage
from olmc.k8s.diagnostics import Report

CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  vendor:\n"
QUICK = ("--retries", "0", "--timeout", "20")
FERRY, BEACON = (f"registry.example.com/bundles/{name}:v1.0.0" for name in ("ferry", "beacon"))


def push_all(host: str, prefix: str, images: Mapping[str, Image], user: str = "") -> str:
    """Push images below a prefix, and let that stand for registry.example.com; the place."""
    for reference, made in images.items():
        name, _, tag = reference.partition("/")[2].rpartition(":")
        push(host, f"{prefix}/{name}", tag, made, user)
    located(f"{host}/{prefix}")
    return f"{host}/{prefix}"


def at_registry(tmp_path: Path, host: str, name: str, fixture: str = "dependency", **changed: Image) -> Path:
    root = tmp_path / "workspace"
    images = with_images(root, fixture) | {CATALOG if key == "catalog" else key: each for key, each in changed.items()}
    prefix = "".join(char if char.isalnum() else "-" for char in name.lower()).strip("-").replace("--", "-")
    push_all(host, prefix, images)
    return root


def locked(root: Path) -> dict[str, LockedImage]:
    return {each.image: each for each in read_lock(root, Report()).images}


def refused(root: Path, *options: str, code: int = 3) -> str:
    """What `olmc vendor` says when it fails, having changed nothing."""
    before = state(root)
    result = olmc("vendor", root, *QUICK, *options)
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    assert state(root) == before
    assert not [path for path in root.rglob("*") if path.name.startswith(".olmc-")]
    assert before.keys() & {"olmc.lock"} or not (root / "vendor").exists()
    return result.stderr


def replaced(tmp_path: Path, host: str, name: str, made: Image, what: str = FERRY) -> Path:
    """The workspace with another image in place of one of its own."""
    root = at_registry(tmp_path, host, name)
    path, _, tag = what.partition("/")[2].rpartition(":")
    push(host, f"{name}/{path}", tag, made)
    return root


def located_at(root: Path, host: str, name: str) -> Path:
    """The workspace, with the proxy `host` between it and the images of `name`."""
    located(f"{host}/{name}")
    return root
