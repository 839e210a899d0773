"""The settings of a repository count for all of its entries, and those of an entry go before them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import olmc
from scenarios import write
from small_files import bundle, catalog, namespace

from olmc.compiler.load.config import lock_text
from olmc.compiler.load.entries import repository_at
from olmc.compiler.load.repository import build_repository
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.compiler.rules.findings.workspace import NO_SUCH_PLAN
from olmc.targets.pipeline import compile

GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: tea, namespace: tea}\n"
GROUP += "spec: {targetNamespaces: [tea]}\n"
SOURCE = (
    "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: market, namespace: olm}\n"
    "spec: {sourceType: grpc, image: registry.example.com/market:v1}\n"
)
SUBSCRIPTION = (
    "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: kettle, namespace: tea}\n"
    "spec: {name: kettle, channel: stable, source: market, sourceNamespace: olm, installPlanApproval: Manual}\n"
)
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {approve: [%s]}\n"


def application(name: str) -> str:
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\nspec:\n"
        f"  source: {{repoURL: https://git.example.com/tea.git, path: {name}}}\n  destination: {{name: {name}}}\n"
    )


def locked(root: Path, *versions: str) -> str:
    """The lock of a cluster while the catalog has these versions."""
    write(root, {"catalogs/market/kettle.yaml": catalog("kettle", *versions)})
    found = repository_at(root)
    assert found is not None
    lock = compile(CompileRequest(root, part=build_repository(found, Options()).parts[0])).lock
    assert lock is not None
    return lock_text(lock)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two clusters with the same operator, whose plans need an approval, and its catalog of two versions."""
    whole = "---\n".join((namespace("tea"), namespace("olm"), SOURCE, GROUP, SUBSCRIPTION))
    write(tmp_path, {"catalogs/market/kettle.yaml": catalog("kettle", "1.0.0", "1.1.0")})
    for name in ("north", "south"):
        bundles = {**bundle(f"{name}/bundles/a"), **bundle(f"{name}/bundles/b", "1.1.0", replaces="kettle.v1.0.0")}
        write(tmp_path, {f"{name}/operators.yaml": whole, f"apps/{name}.yaml": application(name), **bundles})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def versions() -> dict[str, str]:
    """The installed version in each cluster."""
    done = olmc("status", "-o", "json")
    assert done.stdout, done.stderr
    operators = json.loads(done.stdout)["operators"]
    return {name: each["version"] for each in operators for name in each["workspace"].split(", ")}


def test_approvals_of_an_entry_go_before_those_of_the_root(repository: Path) -> None:
    """The root's approve for all; the olmc.yaml of an entry replaces what it sets, for its cluster alone."""
    write(repository, {"olmc.yaml": CONFIG % "tea/kettle.v1.1.0"})
    assert versions() == {"north": "1.1.0", "south": "1.1.0"}
    write(repository, {"north/olmc.yaml": CONFIG % ""})
    assert versions() == {"north": "", "south": "1.1.0"}
    assert NO_SUCH_PLAN.code not in olmc("check").output


def test_the_lock_of_an_entry_goes_before_that_of_the_root(repository: Path) -> None:
    write(repository, {"olmc.yaml": CONFIG % "tea/kettle.v1.0.0, tea/kettle.v1.1.0"})
    old, new = locked(repository, "1.0.0"), locked(repository, "1.0.0", "1.1.0")
    write(repository, {"olmc.lock": new})
    assert versions() == {"north": "1.1.0", "south": "1.1.0"}
    write(repository, {"south/olmc.lock": old})
    assert versions() == {"north": "1.1.0", "south": "1.0.0"}


def test_a_mistake_in_the_settings_of_an_entry_has_its_place(repository: Path) -> None:
    write(repository, {"south/olmc.yaml": "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {aprove: []}\n"})
    assert "south/olmc.yaml:3:" in olmc("check").output
