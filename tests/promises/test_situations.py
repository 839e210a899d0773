"""One situation has one answer: the exit code of each command in each situation, in a workspace and at the root of a
repository. `docs/command-line.md` has the same table for readers."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from commands import clone_repository, olmc
from tiers import marked_slow

ANSWERS = {
    "status": "status", "check": "check", "plan": "plan --from git:HEAD~1", "rbac": "rbac", "report": "report -o {out}",
    "fleet status": "fleet status", "fleet check": "fleet check", "fleet plan": "fleet plan --from git:HEAD~1",
    "fleet render": "fleet render --output-dir {out}",
}  # fmt: skip
"""The commands that answer for all clusters of a repository as well."""
OF_ONE = {
    "render": "render -o name", "resolve": "resolve", "why": "why Subscription/harbour/beacon", "get": "get csv -A",
    "diff": "diff git:HEAD~1",
}  # fmt: skip
"""The commands that take one cluster."""
GROUP = """\
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: quay, namespace: harbour}
spec: {targetNamespaces: [harbour]}
"""
SUBSCRIPTION = """\
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: beacon, namespace: harbour}
spec: {name: beacon, channel: stable, source: harbour, sourceNamespace: olm}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: harbour, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.com/operators.git, targetRevision: main, path: apps/harbour}
  destination: {server: https://kubernetes.default.svc, namespace: harbour}
"""
OTHER = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: shore, namespace: shore}\n"


class Situation(NamedTuple):
    """The files of a situation, the exit code of all commands in a workspace, those of commands with another one, and
    those at the root of a repository where they differ again."""

    files: Mapping[str, str]
    code: int
    others: Mapping[str, int] = {}
    at_root: Mapping[str, int] = {}


MISPLACED = """\
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: harbour, namespace: shore}
spec: {sourceType: grpc, address: "harbour.example.com:50051"}
"""
MISSPELT = SUBSCRIPTION.replace("{name: beacon, channel", "{name: becon, channel")
SITUATIONS = {
    "an empty folder": Situation({}, 0, {"why": 2}),
    "a folder with nothing for OLM": Situation({"values.yaml": "a: 3\n", "notes.txt": "low tide\n"}, 0, {"why": 2}),
    "an unknown catalog": Situation({"operator.yaml": f"{GROUP}{SUBSCRIPTION}"}, 0),
    # A workspace has the catalog that is meant; of a repository, another part may bring a second one.
    "a catalog in another namespace": Situation(
        {"operator.yaml": f"{GROUP}{SUBSCRIPTION}{MISPLACED}"}, 1, {"why": 0, "rbac": 0, "report": 0, "diff": 0},
        at_root={"status": 0, "check": 0, "plan": 0},
    ),
    # Permissions, a report and a diff show the state, whatever it is.
    "an unknown package": Situation({"operator.yaml": f"{GROUP}{MISSPELT}"}, 1, {"rbac": 0, "report": 0, "diff": 0}),
    # The entry is left out of a repository, which has answers for the rest.
    "an unreadable file": Situation(
        {"operator.yaml": f"{GROUP}{SUBSCRIPTION}---\na: [b\n"}, 3,
        at_root={"status": 1, "check": 1, "plan": 1, "rbac": 1, "report": 1},
    ),
    # An ENTRY of a fleet is a pattern, and `get` takes a word that is no path as a name.
    "a path that does not exist": Situation({"operator.yaml": GROUP}, 3, {"fleet": 2, "get": 2}),
}  # fmt: skip
EVERY = [(shape, name) for shape in ("workspace", "repository") for name in SITUATIONS]
FEW = {("workspace", "an unreadable file")}


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def repository(project: Path, top: Path, shape: str, name: str) -> None:
    """Write a situation as a workspace, or as an entry of a repository with applications."""
    folder = "apps/harbour/" if shape == "repository" else ""
    write(top, {f"{folder}{path}": text for path, text in SITUATIONS[name].files.items()})
    if name == "an unknown package":
        own = project / "fixtures/own-namespace"
        shutil.copy(own / "cluster.yaml", top / folder / "cluster.yaml")
        shutil.copytree(own / "catalogs", top / "catalogs")
        shutil.copytree(own / "bundles", top / folder / "bundles")
    if shape == "repository":
        other = APPLICATION.replace("harbour", "shore")
        write(top, {"argocd/a.yaml": APPLICATION, "argocd/b.yaml": other, "apps/shore/group.yaml": OTHER})
    write(top, {"CHANGES.md": "one\n"})


@pytest.mark.process
@pytest.mark.parametrize("pair", marked_slow(EVERY, lambda pair: pair not in FEW), ids="-".join)
def test_one_situation_has_one_exit_code(
    pair: tuple[str, str], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base has nothing for OLM in all of them."""
    shape, name = pair
    situation = SITUATIONS[name]
    write(tmp_path / "base", {"README.md": "# Operators\n"})
    clone_repository(tmp_path / "base", tmp_path / "root", lambda top: repository(project, top, shape, name))
    monkeypatch.chdir(tmp_path / "root")
    monkeypatch.setenv("OLMC_NO_CACHE", "1")
    found, expected = {}, {}
    for command, line in (ANSWERS if shape == "repository" else ANSWERS | OF_ONE).items():
        path = ["nowhere"] if name == "a path that does not exist" else []
        done = olmc(*line.format(out=tmp_path / command.replace(" ", "-")).split(), *path)
        found[command] = done.exit_code
        expected[command] = situation.others.get(command, situation.others.get(command.split()[0], situation.code))
        if shape == "repository":
            expected[command] = situation.at_root.get(command, expected[command])
        assert "olmc-from-" not in done.output
        assert "Traceback" not in done.output
    assert found == expected


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_file_without_objects_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_repository: bool
) -> None:
    """Each command that takes files says so and succeeds, in a repository of git and without one."""
    (tmp_path / "README.md").write_text("Words.\n", encoding="utf-8")
    (tmp_path / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    root = clone_repository(tmp_path, tmp_path / "clone") if is_repository else tmp_path
    monkeypatch.chdir(root)
    for name in ("README.md", "values.yaml"):
        for command in ("plan", "status", "check"):
            result = olmc(command, name)
            assert (result.exit_code, "OLMC158" in result.stderr) == (0, False), (command, name, result.stderr)


def test_that_there_is_nothing_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert olmc("diff", ".", ".").stderr.count("[OLMC183]") == 1
    assert olmc("migrate", "--to", "olm-v1", "--dry-run").stderr.count("[OLMC183]") == 1
    checked = olmc("check")
    assert (checked.stdout, checked.stderr.count("[OLMC183]")) == ("nothing to check (0 bundles validated)\n", 1)


def test_an_empty_cluster_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that needs the state of the cluster several times compiles it once."""
    (tmp_path / "before").mkdir()
    (tmp_path / "now").mkdir()
    (tmp_path / "now" / "operators.yaml").write_text(GROUP + SUBSCRIPTION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command in (("status",), ("why", "beacon"), ("fix", "--dry-run")):
        assert olmc(*command, "now", "--from", "before").stderr.count("counts as an empty cluster") == 1, command
