"""Images of all kinds: OCI and Docker, indexes, whiteouts, and images that hold something else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import names, olmc
from image_kit import BUNDLE, BUNDLE_LABELS, CATALOG_LABELS, bundle_image, folder_files, image, index, packed, push, tar
from image_workspaces import CATALOG, with_images
from vendoring import CONFIG, FERRY, at_registry, locked, refused, replaced


@pytest.mark.parametrize("docker", [False, True], ids=["oci", "docker"])
def test_indexes_and_manifests_of_oci_and_docker(tmp_path: Path, host: str, ferry: Path, docker: bool) -> None:
    """Of an index the image for linux/amd64 is taken, and the lock says so."""
    mine, other = bundle_image(ferry, docker=docker), image([packed(tar(("x", "y")))], docker=docker)
    images = {"unknown/unknown": other, "linux/arm64": other, "linux/amd64": mine}
    made = index(images, docker=docker)
    root = replaced(tmp_path, host, f"index-{docker}".lower(), made)
    assert olmc("vendor", root).exit_code == 0
    found = locked(root)[FERRY]
    assert (found.digest, found.platform) == (made.digest, "linux/amd64")
    assert "Deployment/harbour/ferry-controller" in names(root)
    assert olmc("vendor", root, "--check").exit_code == 0
    assert olmc("vendor", root, "--check", "--platform", "linux/arm64").exit_code == 1


def test_another_platform(tmp_path: Path, host: str, ferry: Path) -> None:
    made = index({"linux/arm/v7": bundle_image(ferry), "linux/s390x": image([packed(tar(("x", "y")))])})
    root = replaced(tmp_path, host, "platform", made)
    said = refused(root)
    assert f"{FERRY} has no image for linux/amd64; it has linux/arm/v7, linux/s390x [OLMC630]" in said
    assert olmc("vendor", root, "--platform", "linux/arm").exit_code == 0
    assert locked(root)[FERRY].platform == "linux/arm"
    (root / "olmc.yaml").write_text(CONFIG + "    platform: linux/arm\n")
    assert olmc("vendor", root, "--check").exit_code == 0


def test_an_image_by_digest(tmp_path: Path, host: str, ferry: Path) -> None:
    root = at_registry(tmp_path, host, "by-digest")
    made = bundle_image(ferry)
    push(host, "by-digest/bundles/ferry", "other", made)
    catalog = with_images(tmp_path / "other", "dependency")
    text = (Path("dependency/catalogs/harbour/ferry.yaml")).read_text()
    text = text.replace("ferry:v1.0.0", f"ferry@{made.digest}")
    (root / "catalogs/harbour").mkdir(parents=True)
    (root / "catalogs/harbour/ferry.yaml").write_text(text)
    shutil.copy("dependency/catalogs/harbour/beacon.yaml", root / "catalogs/harbour")
    assert catalog
    assert olmc("vendor", root).exit_code == 0
    assert locked(root)[f"registry.example.com/bundles/ferry@{made.digest}"].digest == made.digest


def test_whiteouts_take_away_what_is_below(tmp_path: Path, host: str) -> None:
    """A catalog that is built on top of another one: a file replaced, one removed, a folder emptied."""
    old = Path("dependency/catalogs/harbour")
    layers = [
        tar(("configs/stale.yaml", "schema: olm.package\nname: stale\n"), ("configs/old/x.yaml", "a: ["), *files(old)),
        tar(("configs/.wh.stale.yaml", ""), ("configs/old/.wh..wh..opq", ""), ("configs/old/.indexignore", "*\n")),
    ]
    root = replaced(tmp_path, host, "whiteouts", image(list(map(packed, layers)), CATALOG_LABELS), CATALOG)
    assert olmc("vendor", root).exit_code == 0
    found = {path.name for path in (root / "vendor/catalogs").rglob("*") if path.is_file()}
    assert found == {"beacon.yaml", "ferry.yaml", ".indexignore"}
    assert "Deployment/harbour/ferry-controller" in names(root)


def files(folder: Path) -> Sequence[tuple[str, bytes]]:
    return folder_files(folder, "configs/")


def test_a_database_is_refused_with_advice(tmp_path: Path, host: str) -> None:
    labels = {"operators.operatorframework.io.index.database.v1": "/database/index.db"}
    made = image([packed(tar(("database/index.db", b"SQLite format 3\0")))], labels)
    said = refused(replaced(tmp_path, host, "sqlite", made, CATALOG))
    assert f"cluster.yaml:16:10: error: {CATALOG} holds a SQLite database (/database/index.db)" in said
    assert "opm migrate" in said


@pytest.mark.parametrize(
    ("labels", "what", "cause"),
    [
        (CATALOG_LABELS, FERRY, "is no bundle: its labels say that it is a catalog"),
        (BUNDLE_LABELS, CATALOG, "is no catalog: its labels say that it is a bundle"),
        ({f"{BUNDLE}mediatype.v1": "helm"}, FERRY, "it is of type helm, and OLM installs registry+v1 only"),
        (BUNDLE_LABELS | {f"{BUNDLE}metadata.v1": "/manifests"}, FERRY, "manifests and metadata are one folder"),
        ({}, FERRY, "is no bundle: there are no files in /manifests"),
        ({}, CATALOG, "is no catalog: there are no files in /configs"),
    ],
)
def test_an_image_of_something_else(
    tmp_path: Path, host: str, labels: dict[str, str], what: str, cause: str, request: pytest.FixtureRequest
) -> None:
    name = "other-" + "".join(c for c in request.node.name.lower() if c.isalnum())[-20:]
    root = replaced(tmp_path, host, name, image([packed(tar(("bin/operator", "x")))], labels), what)
    said = refused(root)
    assert cause in said
    assert "[OLMC629]" in said
