"""`--kube-version`: what the chosen version of Kubernetes no longer serves is refused (OLMC603)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scenarios import write

import olmc
from olmc.check.validators import removed_apis
from olmc.model.kube_version import full_kube_version
from olmc.model.operators import APIKey
from olmc.settle import builtin
from olmc.settle.builtin import is_native, removal_of

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
BUDGET = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: pdb, namespace: harbour}\n"


def compiled(root: Path, version: str, **options: object) -> olmc.Compilation:
    chosen = olmc.Options(purpose="apply", kube_version=full_kube_version(version))
    return olmc.compile(root, chosen._replace(**options))  # type: ignore[arg-type]


def refused(made: olmc.Compilation) -> list[olmc.Diagnostic]:
    return [diagnostic for diagnostic in made.diagnostics if diagnostic.code == "OLMC603"]


def test_a_manifest_is_refused_with_its_place_and_what_to_write(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": f"# a budget\n{BUDGET}"})
    (found,) = refused(made := compiled(root, "1.25"))
    assert made.objects == ()
    assert made.failed
    assert str(found.location) == "a.yaml:2:13"
    assert found.message == (
        "Kubernetes v1.25.0 does not serve PodDisruptionBudget harbour/pdb as policy/v1beta1, which was removed in 1.25"
    )
    assert "policy/v1," in found.hint
    assert refused(compiled(root, "1.24")) == []
    assert "PodDisruptionBudget" in [each.object["kind"] for each in compiled(root, "1.24").objects]


def test_an_object_of_a_bundle_is_refused(tmp_path: Path) -> None:
    """OLM's plan stops at it, so it is no part of what would be rendered; it is named all the same."""
    root = Path(shutil.copytree(FIXTURES / "own-namespace", tmp_path / "w"))
    write(root / "bundles/beacon-1.0.0/manifests", {"pdb.yaml": BUDGET})
    (found,) = refused(made := compiled(root, "1.36"))
    assert made.failed
    assert str(found.location) == "bundles/beacon-1.0.0/manifests/pdb.yaml:1:13"
    assert refused(compiled(root, "1.24")) == []


def test_what_has_no_replacement_says_so(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: psp}\n"})
    (found,) = refused(compiled(root, "1.30"))
    assert "Pod Security admission" in found.hint


def test_what_is_left_out_or_served_by_the_cluster_is_not_refused(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": BUDGET})
    assert refused(compiled(root, "1.30", exclude=("PodDisruptionBudget",))) == []
    assert refused(compiled(root, "1.30", apis=("policy/v1beta1/PodDisruptionBudget",))) == []


def test_review_shows_the_cluster_as_it_is(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": BUDGET})
    assert refused(olmc.compile(root)) == []


@pytest.mark.parametrize(("api_version", "kind"), sorted(builtin._REMOVED))
def test_a_removed_api_is_served_until_then_and_its_replacement_after(api_version: str, kind: str) -> None:
    removal = builtin._REMOVED[api_version, kind]
    group, _, version = api_version.rpartition("/")
    for minor, served in ((removal.minor - 1, True), (removal.minor, False)):
        assert is_native(APIKey(group, version, kind), f"v1.{minor}.0") is served
        assert (removal_of(api_version, kind, f"v1.{minor}.0") is None) is served
    if removal.replacement:
        group, _, version = removal.replacement.rpartition("/")
        assert is_native(APIKey(group, version, kind), "v1.36.2")


def test_all_that_bundles_are_warned_of_is_in_the_table() -> None:
    """R-CAT-255, R-CAT-256."""
    for minor, table in ((22, removed_apis._IN_1_22), (25, removed_apis._IN_1_25), (26, removed_apis._IN_1_26)):
        for api_version, kinds in table.items():
            for kind in kinds:
                assert builtin._REMOVED[api_version, kind].minor == minor, (api_version, kind)


@pytest.mark.parametrize(
    ("text", "full"),
    [("1.36", "v1.36.0"), ("v1.36.2", "v1.36.2"), ("1.30.2+k3s1", "v1.30.2+k3s1"), ("1.29-gke.100", "v1.29.0-gke.100"),
     ("1", ""), ("", ""), ("latest", ""), ("v1.2.3.4", "")],
)  # fmt: skip
def test_versions_as_clusters_report_them(text: str, full: str) -> None:
    assert full_kube_version(text) == full
