"""`olmc vendor` and the images that Installs and Operators of v2alpha1 name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import olmc
from image_kit import bundle_image
from vendoring import locked, push_all

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
