"""`olmc vendor` and the images that Installs and Operators of v2alpha1 name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import olmc
from image_kit import bundle_image, catalog_image
from image_workspaces import CATALOG
from vendoring import BEACON, FERRY, at_registry, locked, push_all

TIDE = "registry.example.com/bundles/tide:v1.0.0"
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {enableV2alpha1: true}\n"
OPERATOR = f"""\
apiVersion: operators.coreos.com/v2alpha1
kind: Operator
metadata: {{name: tide}}
spec:
  updates: {{type: ManifestImage, manifestImage: "{TIDE}"}}
"""


@pytest.mark.parametrize("kind", ["Install", "Operator"])
def test_an_image_that_only_they_name(project: Path, tmp_path: Path, host: str, kind: str) -> None:
    """R-INSTALL-3: it is fetched, and known by the digest in olmc.lock."""
    fixture = project / "fixtures/install-v2alpha1"
    root = shutil.copytree(fixture, tmp_path / "workspace", ignore=shutil.ignore_patterns("bundles"))
    (root / "olmc.yaml").write_text(CONFIG, encoding="utf-8")
    if kind == "Operator":
        (root / "installs.yaml").write_text(OPERATOR, encoding="utf-8")
    made = bundle_image(fixture / "bundles/tide-1.0.0")
    push_all(host, f"installs-{kind.lower()}", {TIDE: made})
    assert "OLMC676" in olmc("render", root, "--approve-installs").stderr

    result = olmc("vendor", root)

    assert result.exit_code == 0, result.stderr
    assert [*locked(root)] == [TIDE]
    rendered = olmc("render", root, "--approve-installs")
    assert "OLMC67" not in rendered.stderr
    assert f"manifestImage: {TIDE.removesuffix(':v1.0.0')}@{made.digest}" in rendered.stdout
    assert "name: tide-controller" in rendered.stdout
    assert olmc("vendor", root, "--check").exit_code == 0


def test_what_an_operator_picks_from_a_catalog(tmp_path: Path, host: str) -> None:
    """R-OPERATOR-8: the catalog that it follows, its bundle, and the bundle that this one needs."""
    root = at_registry(tmp_path, host, "operators", "operator-v2alpha1")
    assert "cluster.yaml:16:10: warning: the content of CatalogSource olm/harbour" in olmc("render", root).stderr

    result = olmc("vendor", root)

    assert result.exit_code == 0, result.stderr
    assert {*locked(root)} == {CATALOG, FERRY, BEACON}
    rendered = olmc("render", root, "--approve-installs", "-o", "name", "--include", "Deployment").stdout.splitlines()
    assert rendered == ["Deployment/operators/beacon-controller", "Deployment/operators/ferry-controller"]
    assert olmc("vendor", root, "--check").exit_code == 0
    assert olmc("vendor", root).stderr.endswith("0 fetched, 0 removed, olmc.lock unchanged\n")


def test_an_update_that_waits_is_there_when_it_is_approved(tmp_path: Path, host: str) -> None:
    """R-OPERATOR-8: whoever approves Installs finds all releases on the way, though nothing is approved here."""
    bundles = Path(__file__).parents[3] / "fixtures/operator-v2alpha1/bundles"
    newer = shutil.copytree(bundles / "beacon-1.0.0", tmp_path / "beacon-2.0.0")
    csv = newer / "manifests/beacon.clusterserviceversion.yaml"
    text = csv.read_text(encoding="utf-8").replace("1.0.0", "2.0.0")
    csv.write_text(text.replace("spec:\n", "spec:\n  replaces: beacon.v1.0.0\n", 1), encoding="utf-8")
    second = BEACON.replace("v1.0.0", "v2.0.0")
    content = catalog_image(catalog_with(bundles.parent / "catalogs/harbour", tmp_path / "harbour", second))
    images = {"catalog": content, second: bundle_image(newer)}
    root = at_registry(tmp_path, host, "operators-walk", "operator-v2alpha1", **images)
    entry = "      package: beacon\n      channel: stable\n      entrypoint: beacon.v1.0.0\n"
    operators = root / "operators.yaml"
    text = operators.read_text(encoding="utf-8").replace("      package: ferry\n      channel: stable\n", entry)
    operators.write_text(text, encoding="utf-8")

    result = olmc("vendor", root)

    assert result.exit_code == 0, result.stderr
    assert {*locked(root)} == {CATALOG, BEACON, second}
    rendered = olmc("render", root, "--approve-installs", "-o", "name").stdout
    assert "ClusterServiceVersion/operators/beacon.v2.0.0" in rendered


def catalog_with(source: Path, target: Path, image: str) -> Path:
    """The catalog with a second release of beacon."""
    shutil.copytree(source, target)
    path = target / "beacon.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace(
            "- name: beacon.v1.0.0\n", "- name: beacon.v1.0.0\n- {name: beacon.v2.0.0, replaces: beacon.v1.0.0}\n"
        )
        + f"""\
---
schema: olm.bundle
name: beacon.v2.0.0
package: beacon
image: {image}
properties:
- {{type: olm.gvk, value: {{group: lights.example.com, kind: Beacon, version: v1}}}}
- {{type: olm.package, value: {{packageName: beacon, version: 2.0.0}}}}
""",
        encoding="utf-8",
    )
    return target
