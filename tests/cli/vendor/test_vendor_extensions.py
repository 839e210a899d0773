"""ClusterExtensions whose catalogs and bundles are images: `olmc vendor` brings them, and `olmc.lock` holds them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import names, olmc
from image_kit import Image, bundle_image, catalog_image, write_layout
from image_workspaces import PROJECT, state
from vendoring import locked

from olmc.compiler.load.config import read_lock
from olmc.k8s.diagnostics import Report

FIXTURE = PROJECT / "fixtures/transitions/extension-upgraded/after"
CATALOG, BUNDLES = "registry.example.com/catalogs/tools:latest", "registry.example.com/bundles/kettle"
OTHER = """\
---
schema: olm.package
name: teapot
defaultChannel: stable
---
schema: olm.channel
package: teapot
name: stable
entries:
- name: teapot.v1.0.0
---
schema: olm.bundle
package: teapot
name: teapot.v1.0.0
image: registry.example.com/bundles/teapot:v1.0.0
properties:
- type: olm.package
  value: {packageName: teapot, version: 1.0.0}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a ClusterExtension whose catalog, which has another package as well, is an image."""
    shutil.copytree(FIXTURE, tmp_path / "workspace", ignore=shutil.ignore_patterns("catalogs", "bundles"))
    return tmp_path / "workspace"


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    content = tmp_path / "catalog"
    shutil.copytree(FIXTURE / "catalogs/tools", content)
    (content / "teapot.yaml").write_text(OTHER, encoding="utf-8")
    images: dict[str, Image] = {CATALOG: catalog_image(content)}
    images |= {f"{BUNDLES}:v{n}": bundle_image(FIXTURE / f"bundles/kettle-{n}") for n in ("1.0.0", "1.1.0")}
    return write_layout(tmp_path / "layout", images)


def test_what_an_extension_needs_is_brought(root: Path, layout: Path) -> None:
    """R-V1-RES-1: the catalog, of it the package that is asked for, and the bundle that is chosen, with proofs."""
    assert "the content of ClusterCatalog tools is not in the workspace" in olmc("check", root).stdout
    assert olmc("vendor", root, "--check").exit_code == 1
    done = olmc("vendor", root, "--offline", "--from", layout)
    assert done.exit_code == 0, done.output
    images = locked(root)
    assert images.keys() == {CATALOG, f"{BUNDLES}:v1.1.0"}
    assert images[CATALOG].packages == "1 of 2"
    assert names(root) == names(FIXTURE)
    again = state(root)
    assert olmc("vendor", root, "--check").exit_code == 0
    assert olmc("vendor", root, "--offline", "--update", "--from", layout).exit_code == 0
    assert state(root) == again


def test_a_package_that_was_left_out_is_brought_when_it_is_asked_for(root: Path, layout: Path) -> None:
    assert olmc("vendor", root, "--offline", "--from", layout).exit_code == 0
    extension = root / "extension.yaml"
    extension.write_text(extension.read_text("utf-8").replace("packageName: kettle", "packageName: teapot"))
    said = olmc("resolve", root).stderr
    assert "the content of ClusterCatalog tools is not in the workspace" in said
    done = olmc("vendor", root, "--offline", "--from", layout)
    assert (done.exit_code, "bundles/teapot:v1.0.0" in done.stderr) == (3, True)


def test_a_catalog_that_no_extension_asks_is_not_needed(root: Path, layout: Path) -> None:
    """R-V1-RES-1: what the selector leaves out need not be there."""
    cluster = (root / "cluster.yaml").read_text("utf-8")
    (root / "cluster.yaml").write_text(cluster + cluster[cluster.rindex("---") :].replace("tools", "mirror"))
    assert olmc("vendor", root, "--offline", "--from", layout).exit_code == 3
    extension = root / "extension.yaml"
    selector = "\n      selector: {matchLabels: {olm.operatorframework.io/metadata.name: tools}}"
    extension.write_text(extension.read_text("utf-8").replace("packageName: kettle", f"packageName: kettle{selector}"))
    assert olmc("vendor", root, "--offline", "--from", layout).exit_code == 0


def test_a_catalog_from_a_file(root: Path, layout: Path) -> None:
    """`--catalog NAME=PATH` stands for the image of a ClusterCatalog as for that of a CatalogSource."""
    given = f"tools={FIXTURE / 'catalogs/tools'}"
    done = olmc("vendor", root, "--offline", "--catalog", given, "--from", layout)
    assert (done.exit_code, locked(root)[CATALOG].file) == (0, "tools"), done.output


def test_what_cannot_be_resolved_is_said(root: Path, layout: Path) -> None:
    extension = root / "extension.yaml"
    extension.write_text(
        extension.read_text("utf-8").replace("packageName: kettle", "packageName: kettle\n      version: 9.x")
    )
    done = olmc("vendor", root, "--offline", "--from", layout)
    assert done.exit_code == 1
    assert (
        "ClusterExtension kettle does not resolve, so the bundles for it are not known: no bundles found" in done.stderr
    )


def test_the_lock_keeps_what_was_chosen(tmp_path: Path) -> None:
    """What is locked is chosen as long as it can be had; then it is an error, until somebody looks at it."""
    root = tmp_path / "workspace"
    shutil.copytree(FIXTURE.parent / "before", root)
    assert olmc("resolve", root, "--update").exit_code == 0
    shutil.copytree(FIXTURE, root, dirs_exist_ok=True)
    (chosen,) = olmc("resolve", root).stdout.splitlines()[1:]
    assert "kettle.v1.0.0" in chosen
    assert (olmc("resolve", root, "--locked").exit_code, olmc("render", root, "--locked").exit_code) == (0, 0)
    catalog = root / "catalogs/tools/catalog.yaml"
    catalog.write_text(catalog.read_text("utf-8").replace("kettle.v1.0.0", "kettle.v0.9.0"))
    said = olmc("resolve", root, "--locked")
    assert said.exit_code == 1
    assert "ClusterExtension kettle: kettle.v1.0.0 from catalog tools is locked, kettle.v1.1.0 would be" in said.stderr


def test_the_lock_sees_what_has_changed(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    shutil.copytree(FIXTURE, root)
    assert olmc("resolve", root, "--update").exit_code == 0
    lock = read_lock(root, Report()).operators
    assert lock is not None
    assert [(name, each.name, each.catalog) for name, each in lock.extensions.items()] == [
        ("kettle", "kettle.v1.1.0", "tools")
    ]
    csv = root / "bundles/kettle-1.1.0/manifests/kettle.clusterserviceversion.yaml"
    csv.write_text(csv.read_text("utf-8").replace("displayName: Kettle", "displayName: Pot"))
    said = olmc("resolve", root, "--locked")
    assert (said.exit_code, "kettle.v1.1.0 of ClusterExtension kettle is no longer" in said.stderr) == (1, True)
    (root / "extension.yaml").unlink()
    (root / "cluster.yaml").unlink()
    assert "ClusterExtension kettle: kettle.v1.1.0 is locked and not chosen any more" in olmc("resolve", root).stderr
