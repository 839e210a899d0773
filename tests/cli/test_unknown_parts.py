"""What olmc states about parts of a repository that it can't build, or whose content it does not have."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from building import write_workspace
from commands import olmc
from scenarios import write

from olmc.compiler.load import helm

ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: kettle, namespace: brewing}\n"
EXTENSION = (
    "apiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nmetadata: {name: kettle}\nspec:\n"
    "  namespace: brewing\n  serviceAccount: {name: kettle}\n"
    "  source: {sourceType: Catalog, catalog: {packageName: kettle}}\n"
)
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
REMOTE_CHART = {
    "charts/beacon/Chart.yaml": (
        "apiVersion: v2\nname: beacon\nversion: 1.0.0\n"
        "dependencies: [{name: operator, version: 1.0.0, repository: 'https://charts.example.com/'}]\n"
    ),
    "charts/beacon/values.yaml": (
        "operator:\n  operators:\n    beacon:\n      namespace: {name: harbour}\n      subscription:\n"
        "        channel: stable\n        source: redhat-operators\n      operatorgroup: {create: true}\n"
    ),
}
REMOTE_BASE = {
    "apps/beacon/kustomization.yaml": "resources:\n- https://example.com/gitops-catalog/beacon-operator/base\n",
    "apps/lantern/kustomization.yaml": "resources:\n- https://example.com/gitops-catalog/lantern-operator/base\n",
}
needs_kustomize = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)

needs_helm = pytest.mark.skipif(
    not (shutil.which("helm") or find_spec(helm.LIBRARY)), reason="needs helm, or the extra olmc[helm]"
)


def subscription(name: str, source: str) -> str:
    return (
        "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
        f"metadata: {{name: {name}, namespace: harbour}}\n"
        f"spec: {{name: {name}, channel: stable, source: {source}, sourceNamespace: openshift-marketplace}}\n"
    )


def test_an_extension_without_any_catalog_is_unknown(tmp_path: Path) -> None:
    """R-V1-RES-1: a cluster comes with catalogs that no file declares."""
    write(tmp_path, {"operators.yaml": f"{ACCOUNT}---\n{EXTENSION}"})
    status, check = olmc("status", tmp_path), olmc("check", tmp_path)
    assert (status.exit_code, check.exit_code) == (0, 0)
    assert "Unknown\n    the content of the ClusterCatalog with package kettle is not in the workspace" in status.stdout
    assert "the workspace declares no ClusterCatalog [OLMC736]" in check.stdout
    assert olmc("check", tmp_path, "--strict").exit_code == 1
    content = "schema: olm.package\nname: lantern\ndefaultChannel: stable\n"
    write(tmp_path, {"catalogs/tools/catalog.yaml": content})
    assert "OLMC732" in olmc("check", tmp_path).stdout


def test_each_subscription_names_its_own_catalog(tmp_path: Path) -> None:
    """R-CAT-502: one catalog stops the namespace, and none of the two is known."""
    names = {"beacon": "community-operators", "lantern": "certified-operators"}
    write(tmp_path, {f"{name}.yaml": subscription(name, source) for name, source in names.items()})
    write(tmp_path, {"group.yaml": GROUP})
    rows = json.loads(olmc("status", tmp_path, "-o", "json").stdout)["operators"]
    for row in rows:
        assert names[row["package"]] in json.dumps(row), row


def test_a_chart_that_needs_remote_charts_of_operators_is_no_empty_workspace(tmp_path: Path) -> None:
    write(tmp_path, REMOTE_CHART)
    for command in ("status", "check", "rbac"):
        done = olmc(command, tmp_path / "charts/beacon")
        assert done.exit_code == 3, (command, done.output)
        assert "OLMC186" in done.output
    assert "no findings" not in olmc("check", tmp_path / "charts/beacon").output


@needs_kustomize
@pytest.mark.process
def test_permissions_of_entries_that_olmc_cannot_build_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, REMOTE_BASE)
    monkeypatch.chdir(tmp_path)
    done = olmc("rbac")
    assert "No subject has permissions here.\n" not in done.stdout
    assert "OLMC183" not in done.stderr
    assert "olmc: unknown: permissions in apps/beacon, which olmc can't build" in done.stderr
    assert olmc("rbac", "--fail-on", "critical").exit_code == 1


@pytest.mark.process
def test_the_values_of_a_pattern_are_a_cluster_of_a_fleet(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(project / "fixtures/repos/pattern", tmp_path / "pattern")
    monkeypatch.chdir(root)
    done = olmc("fleet", "status", ".", "-o", "json")
    outcomes = {name: each for each in json.loads(done.stdout)["outcomes"] for name in each["clusters"]}
    assert outcomes["values-hub.yaml"]["operators"], done.output
    assert "can't be compiled" not in outcomes["values-hub.yaml"]["headline"]
    one = olmc("status", "--entry", "values-hub.yaml")
    assert "harbour              beacon" in one.stdout, one.output


@needs_helm
@pytest.mark.parametrize(("name", "expected"), [("", 0), ("port", 1)])
def test_the_namespaces_of_a_cluster_without_a_name_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: int
) -> None:
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: own, namespace: harbour}\n"
    chart = {
        "charts/beacon/Chart.yaml": "apiVersion: v2\nname: beacon\nversion: 1.0.0\n",
        "charts/beacon/templates/group.yaml": f"{group}spec: {{targetNamespaces: [quay]}}\n",
        "charts/lantern/Chart.yaml": "apiVersion: v2\nname: lantern\nversion: 1.0.0\n",
        "charts/lantern/templates/beacon.yaml": subscription("lantern", "redhat-operators"),
    }
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: beacon, namespace: argocd}\nspec:\n"
        f"  source: {{path: charts/beacon}}\n  destination: {{name: {name}, namespace: harbour}}\n"
    )
    write(tmp_path, {**chart, **({"applications/beacon.yaml": application} if name else {})})
    monkeypatch.chdir(tmp_path)
    assert olmc("check").output.count("OLMC143") == expected


def test_of_two_catalogs_only_the_one_without_content_is_named(tmp_path: Path) -> None:
    """An unknown catalog stops the resolution of all packages, also of one in a catalog that has its content."""
    catalogs = [
        {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
         "metadata": {"name": name, "namespace": "olm"},
         "spec": {"sourceType": "grpc", "image": f"registry.example.com/{name}:v1"}}
        for name in ("cat", "far")
    ]  # fmt: skip
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": ["kettle.v1.0.0"], "manifests": catalogs})
    said = olmc("status", tmp_path).stdout
    assert "the workspace has no content of CatalogSource olm/far\n" in said
    assert "olm/cat" not in said
