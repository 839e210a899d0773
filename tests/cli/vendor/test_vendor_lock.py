"""What is vendored, the lock, and what happens when either changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import names, olmc
from image_kit import CATALOG_LABELS, bundle_image, image, packed, push, tar
from image_workspaces import state
from vendoring import FERRY, at_registry, locked

from olmc.compiler.load.vendored import MARK


def test_tags_are_locked_and_update_moves_them(tmp_path: Path, host: str, project: Path) -> None:
    root = at_registry(tmp_path, host, "moves")
    assert olmc("vendor", root).exit_code == 0
    first = locked(root)[FERRY]
    moved = bundle_image(project / "fixtures/dependency/bundles/ferry-1.0.0", moved="yes")
    push(host, "moves/bundles/ferry", "v1.0.0", moved)
    shutil.rmtree(root / "vendor")
    assert olmc("vendor", root).exit_code == 0
    assert locked(root)[FERRY] == first
    result = olmc("vendor", root, "--update")
    assert result.exit_code == 0
    assert locked(root)[FERRY] == first._replace(digest=moved.digest)
    assert "3 fetched" not in result.stderr
    assert "1 fetched" in result.stderr


def test_operators_and_images_share_the_lock(root: Path) -> None:
    assert olmc("vendor", root).exit_code == 0
    images = locked(root)
    assert olmc("resolve", root, "--update").exit_code == 0
    text = (root / "olmc.lock").read_text()
    assert locked(root) == images
    assert "operators:" in text
    assert olmc("vendor", root, "--update").exit_code == 0
    assert (root / "olmc.lock").read_text() == text
    assert olmc("resolve", root, "--locked").exit_code == 0


def test_update_chooses_versions_anew(tmp_path: Path, host: str, project: Path) -> None:
    """A lock of operators is obeyed, so what newer versions need is brought only when versions may move."""
    root = at_registry(tmp_path, host, "again", "upgrade")
    text = (project / "fixtures/upgrade/catalogs/harbour/catalog.yaml").read_text()
    older = text.replace("- name: tide.v1.1.0\n  replaces: tide.v1.0.0\n", "").partition("---\nschema: olm.bundle")
    bundles = [part for part in text.split("---\n") if "schema: olm.bundle" in part and "v1.0.0" in part]
    layer = packed(tar(("configs/catalog.yaml", older[0] + "---\n" + bundles[0])))
    push(host, "again/catalogs/harbour", "v1", image([layer], CATALOG_LABELS))
    assert olmc("vendor", root).exit_code == 0
    assert olmc("resolve", root, "--update").exit_code == 0
    assert "tide:v1.1.0" not in str(locked(root))
    push(host, "again/catalogs/harbour", "v1", image([packed(tar(("configs/catalog.yaml", text)))], CATALOG_LABELS))
    assert olmc("vendor", root).exit_code == 0
    assert "tide.v1.1.0" not in (root / "olmc.lock").read_text()
    assert olmc("vendor", root, "--update").exit_code == 0
    assert "name: tide.v1.1.0" in (root / "olmc.lock").read_text()
    assert "ClusterServiceVersion/harbour/tide.v1.1.0" in names(root)


def test_vendored_content_that_was_changed_is_refused(root: Path) -> None:
    assert olmc("vendor", root).exit_code == 0
    before = state(root)
    changed = next(path for path in (root / "vendor/bundles").rglob("ferry.cluster*.yaml"))
    changed.write_text(changed.read_text().replace("replicas: 1", "replicas: 2") + "\n")
    result = olmc("render", root)
    assert result.exit_code == 3
    assert f"error: {changed.parent.parent.relative_to(root)} is not what was taken out of {FERRY}" in result.stderr
    assert "[OLMC621]" in result.stderr
    assert olmc("vendor", root, "--check").exit_code == 1
    assert olmc("vendor", root).exit_code == 0
    assert state(root) == before


def test_files_that_came_later_count_as_a_change(root: Path) -> None:
    assert olmc("vendor", root).exit_code == 0
    folder = next((root / "vendor/catalogs").iterdir())
    (folder / "more.yaml").write_text("schema: olm.package\nname: stranger\n")
    assert "[OLMC621]" in olmc("render", root).stderr


def test_vendored_bundles_are_nobodys_own(root: Path) -> None:
    """They are no input by themselves: not for `olmc check`, nor for Subscriptions without a catalog."""
    assert olmc("vendor", root).exit_code == 0
    result = olmc("check", root)
    assert "vendor/" not in result.stdout + result.stderr


@pytest.mark.parametrize("name", ["vendor", "vendor/bundles", "vendor/catalogs", "vendor/blobs", "vendor/blobs/sha256"])
def test_a_folder_that_leads_elsewhere_is_left_alone(root: Path, tmp_path: Path, name: str) -> None:
    """A stranger's workspace would have olmc remove what it does not need there."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_text("mine")
    if name != "vendor":
        (root / name).parent.mkdir(parents=True)
        (root / "vendor/.gitattributes").write_text(MARK)
    else:
        (tmp_path / "precious/.gitattributes").write_text(MARK)
    (root / name).symlink_to(tmp_path / "precious")
    result = olmc("vendor", root)
    assert result.exit_code == 3
    assert f"error: {name} is there already and olmc did not write it [OLMC622]" in result.stderr
    assert (tmp_path / "precious/file").read_text() == "mine"


def test_a_folder_that_is_not_ours_is_left_alone(root: Path) -> None:
    (root / "vendor/example.com/module").mkdir(parents=True)
    (root / "vendor/modules.txt").write_text("# example.com/module v1.0.0\n")
    before = state(root)
    result = olmc("vendor", root)
    assert result.exit_code == 3
    assert "error: vendor is there already and olmc did not write it [OLMC622]" in result.stderr
    assert state(root) == before
