"""A plan at the root of a repository lists the files on which results depend, and nothing of other clusters."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from scenarios import write

from olmc.cli.main import main
from olmc.resources import schema

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {0}, namespace: argocd}}
spec:
  destination: {{name: {0}}}
  source: {{repoURL: "https://git.example.com/harbour.git", path: {1}}}
"""
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: quay, namespace: harbour}\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME}\n"
BASE = {
    "apps/north.yaml": APPLICATION.format("north", "clusters/north"),
    "apps/south.yaml": APPLICATION.format("south", "clusters/south"),
    "clusters/north/group.yaml": GROUP,
    "clusters/south/group.yaml": GROUP,
    "shop/web/values.yaml": "a: 1\n",
}


def plan(tmp_path: Path, changed: dict[str, str], *options: str, base: dict[str, str] | None = None) -> Result:
    """What `olmc plan` says of a repository in which files change."""
    before, after = base or BASE, {**(base or BASE), **changed}
    for name, files in (("before", before), ("after", after)):
        write(tmp_path / name, files)
    arguments = ("plan", str(tmp_path / "after"), "--from", str(tmp_path / "before"), *options)
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        (".argocd-source.yaml", "kustomize: {namePrefix: x-}\n", "DecidingFileAdded"),
        ("clusters/north/.argocd-source-north.yaml", "directory: {recurse: false}\n", "DecidingFileAdded"),
        ("clusters/north/.gitattributes", "*.yaml working-tree-encoding=UTF-16\n", "DecidingFileAdded"),
        (".sourceignore", "clusters/north\n", "DecidingFileAdded"),
        ("clusters/north/deep/Chart.yaml", "apiVersion: v2\nname: deep\nversion: 1.0.0\n", "BuildAdded"),
        (".olmcignore", "clusters/north/later.yaml\n", "PatternAdded"),
    ],
)
def test_a_file_on_which_a_result_depends_is_a_risk(tmp_path: Path, path: str, text: str, kind: str) -> None:
    result = plan(tmp_path, {path: text}, "-o", "json", "--fail-on", "risk")
    planned = json.loads(result.stdout)
    jsonschema.validate(planned, schema("repository-plan"))
    assert [(change["kind"], change["severity"], change["object"]["name"]) for change in planned["files"]] == [
        (kind, "risk", path)
    ]
    assert result.exit_code == 1
    assert path in plan(tmp_path, {path: text}).stdout
    assert path in plan(tmp_path, {path: text}, "-o", "markdown").stdout


@pytest.mark.parametrize("path", ["shop/web/values.yaml", "shop/web/.argocd-source.yaml", "shop/Chart.yaml"])
def test_a_file_beside_all_entries_is_no_risk(tmp_path: Path, path: str) -> None:
    result = plan(tmp_path, {path: "namePrefix: x-\n"}, "-o", "json", "--fail-on", "risk")
    assert (result.exit_code, json.loads(result.stdout)["files"]) == (0, [])


def test_a_new_cluster_lists_its_own_objects_and_no_file_of_others(tmp_path: Path) -> None:
    new = {
        "apps/west.yaml": APPLICATION.format("west", "clusters/west"),
        "clusters/west/group.yaml": GROUP,
        "clusters/west/namespace.yaml": NAMESPACE.replace("NAME", "harbour"),
    }
    planned = json.loads(plan(tmp_path, new, "-o", "json").stdout)
    assert planned["unchanged"] == ["north", "south"]
    (west,) = planned["clusters"]
    assert west["names"] == ["west"]
    assert sorted(change["object"]["kind"] for change in west["plan"]["applied"]) == ["Namespace", "OperatorGroup"]
    assert [change for change in west["plan"]["difference"]["changes"] if change["object"]["kind"] == "File"] == []
    assert planned["files"] == []


def test_a_namespace_of_another_entry_is_planned_only_where_it_is_used(tmp_path: Path) -> None:
    """Without a cluster by name, each entry may be in the cluster of the others."""
    base = {path: text for path, text in BASE.items() if not path.startswith("apps/")}
    base |= {f"clusters/{name}/kustomization.yaml": "resources: [group.yaml]\n" for name in ("north", "south")}
    added = {
        "clusters/south/kustomization.yaml": "resources: [group.yaml, namespaces.yaml]\n",
        "clusters/south/namespaces.yaml": NAMESPACE.replace("NAME", "harbour")
        + "---\n"
        + NAMESPACE.replace("NAME", "far"),
    }
    planned = json.loads(plan(tmp_path, added, "-o", "json", base=base).stdout)
    created = {
        name: [change["object"]["name"] for change in each["plan"]["applied"]]
        for each in planned["clusters"]
        for name in each["names"]
    }
    assert created == {"clusters/south": ["far", "harbour"], "clusters/north": ["harbour"]}
