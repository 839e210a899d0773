"""The first commands that an operator's author would type, in a project of operator-sdk and in a repository of bundles,
and what they print."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import as_typed, clone_repository, names, olmc
from scenarios import write
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion

COMMANDS = {
    "operator-sdk": {
        "render": ("render", ".", "--include", "Deployment", "--include", "ServiceAccount"),
        "names": ("render", "-o", "name"),
        "check": ("check", "."),
        "check-verbose": ("check", "-v"),
        "status": ("status",),
        "diff": ("diff", "git:HEAD~1", "."),
    },
    "operators": {
        "check": ("check",),
        "check-bundle": ("check", "operators/crane/0.3.0"),
        "render": ("render", "operators/anchor/1.1.0", "-o", "name"),
        "graph-semver": ("graph", "anchor"),
        "graph-replaces": ("graph", "crane"),
        "diff": ("diff", "git:HEAD~1", "."),
        "diff-versions": ("diff", "operators/anchor/1.0.1", "operators/anchor/1.1.0"),
    },
}
CASES = [(repository, name) for repository, commands in COMMANDS.items() for name in commands]


def change_operator(root: Path) -> None:
    """What a release changes: the bundle, and what it is generated from."""
    csv = root / "bundle/manifests/lantern.clusterserviceversion.yaml"
    text = csv.read_text(encoding="utf-8").replace("lantern.v0.1.0", "lantern.v0.2.0-before")
    text = text.replace("0.2.0", "0.3.0").replace("v0.3.0-before", "v0.2.0").replace("update, patch", "update, delete")
    csv.write_text(text, encoding="utf-8")
    manager = root / "config/manager/kustomization.yaml"
    manager.write_text(manager.read_text(encoding="utf-8").replace("0.2.0", "0.3.0"), encoding="utf-8")


def add_version(root: Path) -> None:
    """A release of one operator: a folder more."""
    shutil.copytree(root / "operators/anchor/1.1.0", root / "operators/anchor/1.2.0")
    csv = root / "operators/anchor/1.2.0/manifests/anchor.clusterserviceversion.yaml"
    csv.write_text(csv.read_text(encoding="utf-8").replace("1.1.0", "1.2.0"), encoding="utf-8")


RELEASES: dict[str, Callable[[Path], None]] = {"operator-sdk": change_operator, "operators": add_version}


@pytest.fixture
def clone(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A function that makes a clone of a fixture, with a commit, and a second one that releases something."""

    def cloned(name: str) -> Path:
        root = clone_repository(project / "fixtures/repos" / name, tmp_path / name, RELEASES[name])
        monkeypatch.chdir(root)
        return root

    return cloned


@pytest.mark.parametrize(("repository", "name"), CASES)
def test_first_commands(repository: str, name: str, clone: Callable[[str], Path], snapshot: SnapshotAssertion) -> None:
    clone(repository)
    assert as_typed(*COMMANDS[repository][name]) == snapshot.use_extension(TextFile)


def test_the_project_is_its_bundle(clone: Callable[[str], Path]) -> None:
    root = clone("operator-sdk")
    assert names(".") == names("bundle")
    # The files beside the bundle are a risk for those who apply them; no object that olmc compiles differs.
    compared = olmc("diff", "bundle", ".", "--exit-code")
    changes = [line for line in compared.stdout.splitlines() if line.startswith("  ") and line[2] != " "]
    assert compared.exit_code == 1
    assert changes
    assert all(line.startswith("  File/") for line in changes)
    (root / "olmc.yaml").write_text("apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {include: [Deployment]}\n")
    assert names(".") == ["Deployment/lantern-system/lantern-controller-manager"]


def test_config_can_be_compiled_by_itself(clone: Callable[[str], Path]) -> None:
    """Who gives a folder of the project gets that folder."""
    clone("operator-sdk")
    assert "OLMC648" not in olmc("check", "config/samples").stderr


def test_what_else_is_broken_in_a_project_stops_nothing(clone: Callable[[str], Path]) -> None:
    root = clone("operator-sdk")
    (root / "config/rbac/role.yaml").write_text("apiVersion: v1\nkind: ClusterRole\nrules: [\n")
    (root / "config/default/kustomization.yaml").write_text("resources: [https://example.com/base]\n")
    assert olmc("check").exit_code == 0


def test_a_project_whose_bundle_was_never_made(clone: Callable[[str], Path]) -> None:
    root = clone("operator-sdk")
    shutil.rmtree(root / "bundle")
    for command in (["render"], ["check"], ["status"], ["resolve"]):
        result = olmc(*command)
        assert result.exit_code != 0
        assert "PROJECT: error: this is a project of operator-sdk, and its bundle is not there [OLMC649]\n" in (
            result.stdout + result.stderr
        ), command
    assert "make bundle" in olmc("render").stderr


TRIAL = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: trial, namespace: olm}
spec: {name: trial, channel: stable, source: trial, sourceNamespace: olm}
"""


def test_commands_for_the_clusters_of_a_repository_see_the_bundle_of_a_project(clone: Callable[[str], Path]) -> None:
    """Only developers apply what is beside the bundle."""
    root = clone("operator-sdk")
    write(root, {"config/trial/trial.yaml": TRIAL, "config/trial/kustomization.yaml": "resources: [trial.yaml]\n"})
    assert "which lantern.v0.3.0 runs under" in olmc("rbac").stdout
    for command in ("rbac", "resolve", "fix"):
        result = olmc(command)
        assert "trial" not in result.stdout + result.stderr, command


def test_a_project_below_others_is_its_bundle(clone: Callable[[str], Path], tmp_path: Path) -> None:
    """Its CSV in config/ is no manifest, wherever the bundle is, and its roles are none of a cluster."""
    project = clone("operator-sdk")
    root = tmp_path / "many"
    shutil.copytree(project, root / "operators/lantern")
    for is_there in (True, False):
        if not is_there:
            shutil.move(root / "operators/lantern/bundle", root / "published")
            (root / "operators/lantern/PROJECT").unlink()
        assert olmc("check", root).stdout.endswith("no findings (1 bundle validated)\n")
        assert "lantern" not in olmc("rbac", root).stdout + olmc("status", root).stdout


def test_the_way_out_of_a_project_whose_bundle_git_ignores(clone: Callable[[str], Path]) -> None:
    root = clone("operator-sdk")
    (root / ".gitignore").write_text("bundle\n")
    found = olmc("check")
    assert "give its folder if a .gitignore names it: olmc check bundle." in found.stdout + found.stderr
    assert "1 bundle validated" in olmc("check", "bundle").stdout


def test_a_project_of_kubebuilder_has_no_bundle_to_miss(clone: Callable[[str], Path]) -> None:
    root = clone("operator-sdk")
    shutil.rmtree(root / "bundle")
    shutil.rmtree(root / "config/manifests")
    assert "OLMC649" not in olmc("check").stderr


SUBSCRIPTION = """\
apiVersion: v1
kind: Namespace
metadata: {{name: harbour}}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {{name: harbour, namespace: harbour}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {{name: {package}, namespace: harbour}}
spec: {{name: {package}, channel: {channel}, startingCSV: {package}.v{start}, source: here, sourceNamespace: olm}}
"""


@pytest.mark.parametrize(
    ("mode", "hops"),
    [
        ("semver-mode", ["1.0.0", "1.0.1", "1.1.0", "1.2.0"]),
        ("semver-skippatch-mode", ["1.0.1", "1.1.0", "1.2.0"]),
        ("replaces-mode", ["1.2.0"]),
    ],
)
def test_the_graph_of_a_subscription_is_that_of_ci_yaml(
    mode: str, hops: list[str], clone: Callable[[str], Path]
) -> None:
    """R-CAT-144: the order of the versions, that without older patches, or what each replaces."""
    root = clone("operators")
    (root / "operators/anchor/ci.yaml").write_text(f"---\nupdateGraph: {mode}\nreviewers: [a]\n")
    (root / "cluster.yaml").write_text(SUBSCRIPTION.format(package="anchor", channel="stable", start=hops[0]))
    table = olmc("resolve").stdout
    assert [line.split()[3] for line in table.splitlines()[1:]] == [f"anchor.v{hop}" for hop in hops]
    told = olmc("check").stdout
    dropped = (
        "package anchor has versions outside of its channels, since no version replaces or skips them: anchor.v1.0.0, "
    )
    assert (dropped in told) == (mode == "replaces-mode")
    assert told.count("package crane has versions outside of its channels") == 1


def test_a_ci_yaml_goes_before_what_olmc_yaml_says_of_all(clone: Callable[[str], Path]) -> None:
    root = clone("operators")
    (root / "olmc.yaml").write_text("apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {bundleEdges: semver}\n")
    assert "0.1.0" not in olmc("graph", "crane").stdout
    (root / "operators/crane/ci.yaml").unlink()
    assert "0.1.0" in olmc("graph", "crane").stdout


@pytest.mark.parametrize("value", ["semver-mod", "7", "[a]", "{a: b}"])
def test_a_graph_that_there_is_not(value: str, clone: Callable[[str], Path]) -> None:
    root = clone("operators")
    (root / "operators/anchor/ci.yaml").write_text(f"updateGraph: {value}\n")
    told = olmc("check").stdout
    assert "operators/anchor/ci.yaml:1:" in told
    assert "[OLMC647]" in told


@pytest.mark.parametrize("text", ["", "---\n", "- a\n", "updateGraph:\n", "a: [\n", "\ufffe"])
def test_a_ci_yaml_that_says_nothing(text: str, clone: Callable[[str], Path]) -> None:
    root = clone("operators")
    (root / "operators/crane/ci.yaml").write_text(text)
    assert "OLMC647" not in olmc("check").stdout
