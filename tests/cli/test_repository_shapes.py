"""Shapes of repositories that people have: what `check` and `status` print at their root.

Each finding in the snapshots is true of its repository and useful to its owner. A new one is a claim to judge.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import as_typed
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion
from test_repository_charts import needs_helm

SHAPES = Path(__file__).parent / "shapes"
NAMES = sorted(path.name for path in SHAPES.iterdir())


@pytest.fixture
def shape(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a shape, whose copy is the current directory."""
    shutil.copytree(SHAPES / request.param, tmp_path / "repository")
    monkeypatch.chdir(tmp_path / "repository")
    return str(request.param)


def _parameter(name: str) -> Any:
    """A shape, which is left out where it takes Helm to read it and there is none."""
    is_rendered = any("operators.coreos.com" in path.read_text() for path in (SHAPES / name).rglob("templates/*"))
    return pytest.param(name, marks=[needs_helm] if is_rendered else [], id=name)


@pytest.mark.process
@pytest.mark.parametrize("shape", [*map(_parameter, NAMES)], indirect=True)
@pytest.mark.parametrize("command", ["check", "status"])
def test_the_root_answers(shape: str, command: str, snapshot: SnapshotAssertion) -> None:
    assert as_typed(command) == snapshot(extension_class=TextFile, name=f"{shape}-{command}")


@pytest.mark.process
@pytest.mark.parametrize("shape", ["without-olm"], indirect=True)
def test_a_repository_without_olm_is_silent(shape: str) -> None:
    printed = [line for command in ("check", "status") for line in as_typed(command).splitlines()]
    assert (shape, printed) == ("without-olm", [
        "$ olmc check", "no findings (0 bundles validated)", "exit code 0",
        "$ olmc status", "olmc: no operators here", "exit code 0",
    ])  # fmt: skip


LARGE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\n  namespace: beacon\ndata:\n" + "".join(
    f"  key{number:04}: {'x' * 60}\n" for number in range(4000)
)


@pytest.mark.process
@pytest.mark.usefixtures("shape")
@pytest.mark.parametrize("shape", ["vault-and-remote-charts"], indirect=True)
@pytest.mark.parametrize("merges", ["kubectl", "server"])
def test_an_object_is_too_large_for_kubectl_apply_only(merges: str) -> None:
    folder, application = Path("operators/beacon"), Path("applications/beacon.yaml")
    (folder / "large.yaml").write_text(LARGE)
    (folder / "kustomization.yaml").unlink()
    if merges == "server":
        synced = "  syncPolicy:\n    syncOptions:\n    - ServerSideApply=true\n"
        application.write_text(application.read_text() + synced)
    assert ("[OLMC410]" in as_typed("check")) == (merges == "kubectl")


@pytest.mark.process
@pytest.mark.usefixtures("shape")
@pytest.mark.parametrize("shape", ["flux-images"], indirect=True)
@pytest.mark.parametrize(
    "odd", ["kind: {ConfigMap: a}\nmetadata: {name: b}", "kind: ConfigMap\nmetadata: {name: {b: c}}"]
)
def test_an_object_with_an_odd_name_holds_no_variables(odd: str) -> None:
    """A mapping in the place of a kind or a name stands for no object that Flux takes variables from."""
    before = as_typed("status")
    Path("clusters/prod/odd.yaml").write_text(f"apiVersion: v1\n{odd}\ndata: {{ConfigMap: Secret}}\n")
    assert as_typed("status") == before
