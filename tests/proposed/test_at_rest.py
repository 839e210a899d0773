"""What olmc renders for Operators is the state of a cluster in which nothing is left to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from operator_manifests import as_list
from transition_cases import state_left

import olmc


def by_name(made: olmc.Compilation) -> dict[tuple[str, str], Any]:
    return {(each.identity.kind, each.identity.name): each.object for each in made.objects}


def test_operators_are_at_rest(project: Path, tmp_path: Path) -> None:
    """R-OPERATOR-8, R-INSTALL-11: rendered again, the objects of a fixture are the same, Installs with all content."""
    root = tmp_path / "workspace"
    shutil.copytree(project / "fixtures" / "operator-v2alpha1", root)
    options = olmc.Options(operators_and_installs=True, approve_installs=True)
    first = [rendered.object for rendered in olmc.compile(root, options).objects]
    for name in ("cluster", "operators", "users"):
        (root / f"{name}.yaml").unlink()
    (root / "rendered.json").write_text(as_list(first), encoding="utf-8")
    again = olmc.compile(root, olmc.Options(operators_and_installs=True))
    assert [rendered.object for rendered in again.objects] == first
    assert not [d for d in again.diagnostics if d.severity is not olmc.Severity.INFO]


def test_a_crd_names_the_csv_of_the_install_that_brought_it(project: Path, tmp_path: Path) -> None:
    """R-CAT-722: an Install says where its bundle goes, and the CRD itself is in no namespace."""
    root = shutil.copytree(project / "fixtures" / "operator-v2alpha1", tmp_path / "workspace")
    (root / "operators.yaml").write_text(
        """
        apiVersion: operators.coreos.com/v2alpha1
        kind: Install
        metadata: {name: lights}
        spec:
          namespaces: [{from: default, to: harbour}]
          approval: Approved
          content:
          - {type: ManifestImage, manifestImage: "registry.example.com/bundles/beacon:v1.0.0"}
        """,
        encoding="utf-8",
    )
    made = by_name(olmc.compile(root, olmc.Options(operators_and_installs=True, approve_installs=True)))
    crd = made["CustomResourceDefinition", "beacons.lights.example.com"]
    assert "harbour/beacon.v1.0.0" in crd["metadata"]["annotations"].values()


def test_pruning_an_operator_keeps_what_it_installed(project: Path, tmp_path: Path) -> None:
    """R-INSTALL-11: its Install was approved once, and goes on as the record of that."""
    root = shutil.copytree(project / "fixtures" / "operator-v2alpha1", tmp_path / "workspace")
    options = olmc.Options(operators_and_installs=True, approve_installs=True)
    before = olmc.compile(root, options)
    (root / "operators.yaml").unlink()
    after = olmc.compile(root, options._replace(state=state_left(before)))
    was, now = by_name(before), by_name(after)
    for name in ("beacon.v1.0.0", "ferry.v1.0.0"):
        assert now["ClusterServiceVersion", name] == was["ClusterServiceVersion", name]
        assert now["ClusterServiceVersion", name]["status"]["phase"] == "Succeeded"
    for name in ("beacons.lights.example.com", "ferries.water.example.com"):
        assert now["CustomResourceDefinition", name] == was["CustomResourceDefinition", name]
