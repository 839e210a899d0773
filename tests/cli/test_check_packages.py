"""A repository of bundles is checked package by package, with the findings of one that is checked as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from building import bundle_files, described
from commands import commit_all, git, olmc
from tiers import marked_slow

from olmc.compiler.load import bundles
from olmc.compiler.load.files import Folder, scan_workspace
from olmc.review.check.repository import BundleNames, bundle_repository, dependent_parts, tree_of

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
CONFIG = """apiVersion: olmc.dev/v1alpha1
kind: Config
spec:
  suppress:
    - {code: OLMC270, path: operators/p3/, reason: the author knows}
    - {code: OLMC100, reason: it is not there}
"""


@pytest.fixture(autouse=True)
def few_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few packages make a repository of bundles."""
    monkeypatch.setattr(bundles, "LEAST_PACKAGES", 3)


def write_package(root: Path, package: str, versions: int = 2, **operator: Any) -> None:
    """A package with versions, each replacing the one before."""
    for number in range(versions):
        replaces = {"replaces": f"{package}.v1.{number - 1}.0"} if number else {}
        given = {"name": f"{package}.v1.{number}.0", "owned": ["Kettle"], **replaces, **operator}
        for path, text in bundle_files(described(given)).items():
            target = root / "operators" / package / f"1.{number}.0" / path.split("/", 2)[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def write_repository(root: Path, count: int = 10) -> Path:
    for number in range(count):
        write_package(root, f"p{number}")
    (root / "README.md").write_text("# Operators\n")
    return root


def add(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def findings(root: Path, *arguments: str) -> tuple[str, str, int]:
    done = olmc("check", root, "--all", *arguments)
    return done.stdout, done.stderr, done.exit_code


REPOSITORIES: dict[str, dict[str, str]] = {
    "plain": {"operators/p1/ci.yaml": "---\nupdateGraph: replaces-mode\n", "ci/pipeline.yaml": "steps: []\n"},
    "config": {"olmc.yaml": CONFIG, "operators/p2/1.1.0/metadata/note.yaml": "a: 1 # olmc: ignore[OLMC272] no\n"},
    "left out": {
        "operators/p4/ci.yaml": "reviewers: []\n", "operators/p4/.hidden/secret.yaml": json.dumps(SECRET),
        "operators/p5/1.1.0/tests/secret.yaml": json.dumps(SECRET), ".gitignore": "build/\n",
        "operators/p6/build/secret.yaml": json.dumps(SECRET), ".ci/secret.yaml": json.dumps(SECRET),
    },
    "ignored": {"olmc.yaml": CONFIG.replace("spec:\n", "spec:\n  ignore: [operators/p7/]\n")},
    "manifests": {"operators/p8/secret.yaml": json.dumps(SECRET)},
    "a manifest at the top": {"secret.yaml": json.dumps(SECRET)},
    "a kustomization": {"deploy/kustomization.yaml": "resources: []\n"},
    "half a bundle": {"operators/p9/1.2.0/manifests/secret.yaml": json.dumps(SECRET)},
}  # fmt: skip


@pytest.mark.parametrize("name", marked_slow(REPOSITORIES, lambda name: name not in ("plain", "ignored")))
def test_the_findings_are_those_of_the_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_repository(tmp_path)
    add(root, REPOSITORIES[name])
    each = findings(root)
    monkeypatch.setattr(bundles, "LEAST_PACKAGES", 1_000)
    assert each == findings(root)


def test_packages_with_names_in_common_are_checked_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package took the name of another one, and two folders have a bundle of one name."""
    root = write_repository(tmp_path)
    write_package(root, "old", 1)
    write_package(root, "new", 1, csv={"spec": {"replaces": "old.v1.0.0"}})
    write_package(root, "copy", 1, csv={"metadata": {"name": "p5.v1.1.0"}})
    each = findings(root)
    monkeypatch.setattr(bundles, "LEAST_PACKAGES", 1_000)
    assert each == findings(root)


def test_an_error_stops_its_package_alone(tmp_path: Path) -> None:
    root = write_repository(tmp_path)
    add(root, {"operators/p3/1.1.0/manifests/p3.clusterserviceversion.yaml": "kind: ClusterServiceVersion\na: [\n"})
    done = olmc("check", root, "--all", "-o", "json")
    found = json.loads(done.stdout)["findings"]
    assert {each["path"].split("/")[1] for each in found if each["severity"] == "error"} == {"p3"}
    assert {f"p{number}" for number in range(10)} <= {each["path"].split("/")[1] for each in found}


@pytest.fixture
def committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of bundles in git; its package p3 has changed in the work tree."""
    root = write_repository(tmp_path, bundles.LEAST_PACKAGES + 13)
    monkeypatch.chdir(root)
    git("init", "--quiet", cwd=root)
    commit_all(root, "all")
    path = root / "operators/p3/1.1.0/manifests/p3.clusterserviceversion.yaml"
    csv = json.loads(path.read_text())
    csv["spec"]["minKubeVersion"] = "1.2"
    path.write_text(json.dumps(csv))
    return root


def test_since_looks_at_changed_packages(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new package has changed, also one that git does not know."""
    write_package(committed, "new", 1)
    new = olmc("check", "--since", "HEAD", "--all", "-o", "json")
    shown = olmc("check", "--since", "HEAD")
    monkeypatch.setattr(bundles, "LEAST_PACKAGES", 1_000)
    assert new.stdout == olmc("check", "--since", "HEAD", "--all", "-o", "json").stdout
    assert "p3/1.1.0" in new.stdout
    assert "operators/new/1.0.0" in new.stdout
    assert shown.stdout.endswith("15 unchanged packages not looked at)\n")


@pytest.mark.slow
@pytest.mark.parametrize("path", ["olmc.yaml", "olmc-notes.yaml"])
def test_since_looks_at_everything_if_another_file_has_changed(path: str, committed: Path) -> None:
    (committed / path).write_text(CONFIG)
    assert "unchanged packages" not in olmc("check", "--since", "HEAD").stdout


def test_since_nothing(committed: Path) -> None:
    commit_all(committed, "changed")
    assert olmc("check", "--since", "HEAD").stdout == (
        "no findings (0 bundles validated, 16 unchanged packages not looked at)\n"
    )


def test_commands_about_clusters_read_no_bundle_that_nothing_installs(committed: Path) -> None:
    (committed / "operators/p3/1.1.0/manifests/p3.clusterserviceversion.yaml").write_text("a: [\n")
    assert olmc("status").stderr == "olmc: no operators here\n"
    done = olmc("plan")
    assert (done.stdout, done.exit_code) == ("git:HEAD → .: nothing happens\n", 0)
    subscription = {
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": "p1", "namespace": "ns"},
        "spec": {"name": "p1", "source": "mine", "sourceNamespace": "olm", "channel": "stable"},
    }  # fmt: skip
    (committed / "subscription.yaml").write_text(json.dumps(subscription))
    assert olmc("status").exit_code == 3
    assert olmc("plan").exit_code == 3


@pytest.mark.process
def test_several_processes_find_the_same(tmp_path: Path) -> None:
    root = write_repository(tmp_path)
    assert findings(root, "--jobs", "2") == findings(root, "--jobs", "1")


def test_what_is_a_repository_of_bundles(tmp_path: Path) -> None:
    root = write_repository(tmp_path)
    found = bundle_repository(root, scan_workspace(root))
    assert found is not None
    assert [folder.path for folder in found.packages] == sorted(f"operators/p{number}" for number in range(10))
    assert list(found.rest.folder.walk()) == ["README.md"]
    (root / "catalogs" / "a").mkdir(parents=True)
    assert bundle_repository(root, scan_workspace(root)) is None


def test_the_tree_of_packages() -> None:
    deep, other = Folder("a/b/c", ("x",), ()), Folder("a/d", (), ())
    tree = tree_of([deep, other])
    assert tree == Folder("", (), (Folder("a", (), (Folder("a/b", (), (deep,)), other)),))


def test_parts_that_depend_on_each_other() -> None:
    parts = [
        BundleNames(frozenset({"a.v1"}), frozenset({"b.v1"}), frozenset({"a"})),
        BundleNames(frozenset({"c.v1"}), frozenset({"none.v1"}), frozenset({"c"})),
        BundleNames(frozenset({"b.v1"}), frozenset(), frozenset({"b"})),
        BundleNames(frozenset({"c.v2"}), frozenset(), frozenset({"c"})),
    ]
    assert dependent_parts(parts) == [[0, 2], [1, 3]]


LARGE = 40
"""More files and folders than a package of the repository has, and fewer than all of them."""


def beyond(output: str, variable: str = "OLMC_LIMIT_FILES") -> bool:
    return "[OLMC124]" in output and f"{variable}=NUMBER" in output


@pytest.mark.slow
@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "--since", "HEAD"), ("status",), ("plan",), ("plan", "--from", "git:HEAD")]
)
def test_bundles_count_for_a_limit_of_their_own(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """These commands read the packages one by one, or none of them."""
    monkeypatch.setattr("olmc.review.diff.revisions.LEAST_PACKAGES", 3)
    whole = olmc(*arguments)
    monkeypatch.setenv("OLMC_LIMIT_FILES", str(LARGE))
    done = olmc(*arguments)
    assert (done.stdout, done.stderr, done.exit_code) == (whole.stdout, whole.stderr, whole.exit_code)
    monkeypatch.setenv("OLMC_LIMIT_BUNDLE_FILES", "60")
    assert beyond(olmc(*arguments).output, "OLMC_LIMIT_BUNDLE_FILES")


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize("arguments", [("render",), ("resolve",), ("diff", "git:HEAD", "."), ("rbac",)])
def test_other_commands_read_all_bundles_at_once(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLMC_LIMIT_FILES", str(LARGE))
    done = olmc(*arguments)
    assert done.exit_code == 3
    assert beyond(done.output)


@pytest.mark.parametrize("command", ["check", "status", "plan"])
@pytest.mark.parametrize("name", ["a.yaml", "deploy/kustomization.yaml"])
def test_a_repository_of_bundles_and_others_has_the_limit_of_a_workspace(
    name: str, command: str, committed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then olmc reads all bundles at once."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "a"}}
    add(committed, {name: json.dumps(manifest) if name == "a.yaml" else "resources: []\n"})
    monkeypatch.setenv("OLMC_LIMIT_FILES", str(LARGE))
    done = olmc(command)
    assert done.exit_code == 3
    assert beyond(done.output)


def test_files_beside_bundles_have_the_limit_of_a_workspace(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(committed, {f"operators/p1/notes/{number}.md": "" for number in range(LARGE)})
    monkeypatch.setenv("OLMC_LIMIT_FILES", str(LARGE))
    for command in ("check", "status", "plan"):
        assert beyond(olmc(command).output)


def test_a_package_has_the_limit_of_a_workspace(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other packages are checked; `status` reads none of them."""
    add(committed, {f"operators/p1/1.{number}.0/tests/{at}.md": "" for number in (0, 1) for at in range(LARGE // 2)})
    monkeypatch.setenv("OLMC_LIMIT_FILES", str(LARGE))
    done = olmc("check", "--all", "-o", "json")
    stopped = [each for each in json.loads(done.stdout)["findings"] if each["code"] == "OLMC124"]
    assert [each["path"] for each in stopped] == ["operators/p1"]
    assert olmc("status").exit_code == 0
