"""Mirrors and OCI layouts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import names, olmc
from image_kit import as_archive, write_layout
from image_workspaces import CATALOG, located, state, with_images
from vendoring import BEACON, CONFIG, FERRY, at_registry, locked, refused


def test_mirrors_are_asked_first_and_the_registry_last(tmp_path: Path, host: str) -> None:
    """As olmc.yaml names them: the first one does not have the image, the second one does not answer."""
    root = at_registry(tmp_path, host, "mirrors")
    mirrors = f"    mirrors:\n    - prefix: registry.example.com\n      mirrors: ['{host}/empty', '127.0.0.1:1'"
    (root / "olmc.yaml").write_text(f"{CONFIG}{mirrors}, '{host}/mirrors']\n")
    located("127.0.0.1:2")
    assert olmc("vendor", root, "--retries", "0").exit_code == 0
    assert CATALOG in locked(root)
    shutil.rmtree(root / "vendor")
    (root / "olmc.lock").unlink()
    (root / "olmc.yaml").write_text(f"{CONFIG}{mirrors}]\n")
    said = refused(root)
    assert f"{CATALOG} is not in {host}: it answers 404" in said
    assert f"{CATALOG} can't be fetched from 127.0.0.1:1: connection refused" in said


# Layouts and no network

OF_POD = {
    "Service/olm/harbour", "ServiceAccount/olm/harbour",
    "NetworkPolicy/olm/harbour-grpc-server", "NetworkPolicy/olm/harbour-unpack-bundles",
}  # fmt: skip


def names_beside_pod(root: Path) -> list[str]:
    """The objects of a render, without those of the catalog's Pod: a catalog in a folder has none."""
    found = names(root)
    assert set(found) >= OF_POD
    return [name for name in found if name not in OF_POD]


def plain(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What a plain installation makes of a command, without the libraries of the extra."""
    program = (
        "import sys\nsys.modules.update(dict.fromkeys(('urllib3', 'zstandard')))\n"
        "from olmc.__main__ import run\nsys.argv[0] = 'olmc'\nrun()"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_what_asks_no_registry_works_in_a_plain_installation(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    layout = write_layout(tmp_path / "layout", with_images(root, "dependency"))
    assert plain("vendor", root, "--check").returncode == 1
    done = plain("vendor", root, "--offline", "--from", layout)
    assert (done.returncode, "3 fetched" in done.stderr) == (0, True)
    assert (plain("vendor", root, "--check").returncode, names_beside_pod(root)) == (0, names("dependency"))


@pytest.mark.process
def test_what_a_plain_installation_lacks_is_named(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    layout = write_layout(tmp_path / "layout", with_images(root, "dependency", "zstd"))
    before = state(root)
    for module, options in (("urllib3", []), ("zstandard", ["--offline", "--from", str(layout)])):
        done = plain("vendor", root, *options)
        assert (done.returncode, done.stdout, state(root)) == (3, "", before)
        told = f"olmc vendor needs {module}, which is not installed [OLMC642]\n  Install it with pip install "
        assert told in done.stderr


@pytest.mark.parametrize("archived", [False, True], ids=["folder", "archive"])
def test_an_oci_layout_needs_no_registry(tmp_path: Path, archived: bool) -> None:
    root = tmp_path / "workspace"
    images = with_images(root, "dependency")
    layout = write_layout(tmp_path / "layout", images)
    layout = as_archive(layout) if archived else layout
    result = olmc("vendor", root, "--offline", "--from", layout)
    assert result.exit_code == 0, result.stderr
    assert names_beside_pod(root) == names("dependency")


def test_offline_names_what_is_missing(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    images = with_images(root, "dependency")
    said = refused(root, "--offline")
    assert f"cluster.yaml:16:10: error: {CATALOG} is not vendored, and --offline forbids the network [OLMC634]" in said
    layout = write_layout(tmp_path / "layout", {CATALOG: images[CATALOG]})
    said = refused(root, "--offline", "--from", str(layout))
    assert f"{FERRY} is not vendored" in said
    assert f"{BEACON} is not vendored" in said


def test_one_image_a_layout(tmp_path: Path) -> None:
    """A layout whose image has another name, or none, is given for a reference."""
    root = tmp_path / "workspace"
    given = []
    for number, (reference, made) in enumerate(with_images(root, "dependency").items()):
        given += ["--from", f"{reference}={write_layout(tmp_path / f'layout-{number}', {'latest': made})}"]
    assert olmc("vendor", root, "--offline", *given).exit_code == 0
    assert names_beside_pod(root) == names("dependency")
