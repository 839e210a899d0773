"""A repository of bundles is checked package by package, with the findings of one that is checked as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from building import bundle_files, described
from commands import olmc

from olmc.compiler.load.files import Folder, scan_workspace
from olmc.review.check import packages
from olmc.review.check.packages import BundleNames, bundle_repository, dependent_parts, tree_of

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
CONFIG = """apiVersion: olmc.dev/v1alpha1
kind: Config
spec:
  suppress:
    - {code: OLMC270, path: operators/p3/, reason: the author knows}
    - {code: OLMC100, reason: it is not there}
"""


def write_package(root: Path, package: str, versions: int = 2, **operator: Any) -> None:
    """A package with versions, each replacing the one before."""
    for number in range(versions):
        replaces = {"replaces": f"{package}.v1.{number - 1}.0"} if number else {}
        given = {"name": f"{package}.v1.{number}.0", "owned": ["Kettle"], **replaces, **operator}
        for path, text in bundle_files(described(given)).items():
            target = root / "operators" / package / f"1.{number}.0" / path.split("/", 2)[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def write_repository(root: Path, count: int = packages.LEAST_PACKAGES) -> Path:
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


@pytest.mark.parametrize("name", REPOSITORIES)
def test_the_findings_are_those_of_the_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_repository(tmp_path)
    add(root, REPOSITORIES[name])
    each = findings(root)
    monkeypatch.setattr(packages, "LEAST_PACKAGES", 1_000)
    assert each == findings(root)


def test_packages_with_names_in_common_are_checked_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package took the name of another one, and two folders have a bundle of one name."""
    root = write_repository(tmp_path)
    write_package(root, "old", 1)
    write_package(root, "new", 1, csv={"spec": {"replaces": "old.v1.0.0"}})
    write_package(root, "copy", 1, csv={"metadata": {"name": "p5.v1.1.0"}})
    each = findings(root)
    monkeypatch.setattr(packages, "LEAST_PACKAGES", 1_000)
    assert each == findings(root)


def test_an_error_stops_its_package_alone(tmp_path: Path) -> None:
    root = write_repository(tmp_path)
    add(root, {"operators/p3/1.1.0/manifests/p3.clusterserviceversion.yaml": "kind: ClusterServiceVersion\na: [\n"})
    done = olmc("check", root, "--all", "-o", "json")
    found = json.loads(done.stdout)["findings"]
    assert {each["path"].split("/")[1] for each in found if each["severity"] == "error"} == {"p3"}
    assert {f"p{number}" for number in range(16)} <= {each["path"].split("/")[1] for each in found}


@pytest.mark.process
def test_several_processes_find_the_same(tmp_path: Path) -> None:
    root = write_repository(tmp_path)
    assert findings(root, "--jobs", "2") == findings(root, "--jobs", "1")


def test_what_is_a_repository_of_bundles(tmp_path: Path) -> None:
    root = write_repository(tmp_path)
    found = bundle_repository(root, scan_workspace(root))
    assert found is not None
    assert [folder.path for folder in found.packages] == sorted(f"operators/p{number}" for number in range(16))
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
