"""A plan at the root of a repository: how the objects of GitOps tools decide which entries are applied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_repository_plan import ALONE, APPLICATION, BASE, GROUP, NAMESPACE, SUBSCRIPTION, plan, planned_by_cluster

SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: all, namespace: argocd}}
spec:
  goTemplate: true
  generators: [{0}]
  template:
    metadata: {{name: "{{{{ .cluster }}}}"}}
    spec:
      destination: {{name: "{{{{ .cluster }}}}"}}
      source: {{repoURL: "https://git.example.com/harbour.git", path: "clusters/{{{{ .cluster }}}}"{1}}}
"""
LIST = "{list: {elements: [{cluster: north, rev: v1}, {cluster: south, rev: v1}]}}"
FILES = "{git: {files: [{path: 'values/*.yaml'}]}}"
CLUSTERS = {path: text for path, text in BASE.items() if path.startswith("clusters/")}
OF_LIST = {**CLUSTERS, "apps/set.yaml": SET.format(LIST, ', targetRevision: "{{ .rev }}"')}
OF_FILES = {
    **CLUSTERS,
    "apps/set.yaml": SET.format(FILES, ""),
    "values/north.yaml": "cluster: north\n",
    "values/south.yaml": "cluster: south\n",
}


def planned(tmp_path: Path, base: dict[str, str], changed: dict[str, str], *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plan(tmp_path, changed, "-o", "json", *options, base=base).stdout)
    return found


@pytest.mark.parametrize(
    ("generator", "more", "field"),
    [
        (LIST.replace("south, rev: v1", "south, rev: v2"), ', targetRevision: "{{ .rev }}"', "targetRevision"),
        (LIST, ', targetRevision: "{{ .rev }}", kustomize: {namePrefix: x-}', "kustomize"),
        (LIST, ', targetRevision: "{{ .rev }}", directory: {exclude: "group*"}', "directory"),
    ],
)
def test_a_set_that_applies_an_entry_in_another_way_is_a_risk(
    tmp_path: Path, generator: str, more: str, field: str
) -> None:
    """Each Application of a set counts with its own values."""
    found = planned(tmp_path, OF_LIST, {"apps/set.yaml": SET.format(generator, more)})
    (risk, *_) = [change for change in found["files"] if "in another way" in change["text"]]
    assert (risk["object"]["name"], risk["severity"], found["clusters"]) == ("apps/set.yaml", "risk", [])
    assert f"clusters/south in another way ({field})" in risk["text"]
    assert found["unchanged"] == (["north"] if field == "targetRevision" else [])


@pytest.mark.parametrize(
    "generator", ["{clusters: {}}", "{scmProvider: {}}", LIST.replace("list: {", "list: {elementsYaml: x, ")]
)
@pytest.mark.parametrize("is_before", [True, False])
def test_a_set_that_olmc_cannot_follow_makes_its_entries_unknown(
    tmp_path: Path, generator: str, is_before: bool
) -> None:
    """They are neither created, nor no longer applied, nor unchanged."""
    other = {**OF_LIST, "apps/set.yaml": SET.format(generator, "")}
    before, after = (other, OF_LIST) if is_before else (OF_LIST, other)
    found = planned(tmp_path, before, after)
    assert (found["clusters"], found["released"], found["unchanged"]) == ([], [], [])
    (risk,) = found["files"]
    assert "clusters/north, clusters/south in another way (generators, template)" in risk["text"]
    assert plan(tmp_path, after, "--fail-on", "risk", base=before).exit_code == 1


def test_an_entry_that_a_selector_leaves_out_leaves_its_cluster(tmp_path: Path) -> None:
    selected = LIST.replace("]}}", "]}, selector: {matchLabels: {cluster: north}}}")
    changed = {"apps/set.yaml": SET.format(selected, ', targetRevision: "{{ .rev }}"')}
    found = planned(tmp_path, OF_LIST, changed)
    assert (found["released"], found["unchanged"]) == ([{"cluster": "south", "entry": "clusters/south"}], ["north"])


@pytest.mark.parametrize(
    ("changed", "released"),
    [
        ({"values/north.yaml": "cluster: north\nsize: 3\n"}, []),
        ({"values/south.yaml": "cluster: nowhere\n"}, ["clusters/south"]),
        ({"apps/set.yaml": SET.format(FILES.replace("'}]", "'}, {path: values/south.yaml, exclude: true}]"), "")},
         ["clusters/south"]),
    ],
)  # fmt: skip
def test_files_of_a_generator_count_by_what_is_made_of_them(
    tmp_path: Path, changed: dict[str, str], released: list[str]
) -> None:
    """olmc follows the set, so that no file of a generator is a risk by itself."""
    found = planned(tmp_path, OF_FILES, changed)
    assert ([each["entry"] for each in found["released"]], found["files"], found["clusters"]) == (released, [], [])


def test_a_file_in_a_subfolder_is_applied_only_where_argo_cd_reads_subfolders(tmp_path: Path) -> None:
    deep = {"clusters/north/deep/kettle.yaml": SUBSCRIPTION}
    assert planned(tmp_path, BASE, deep)["unchanged"] == ["north", "south"]
    recursive = BASE["apps/north.yaml"].replace(
        "path: clusters/north", "path: clusters/north, directory: {recurse: true}"
    )
    found = planned(tmp_path, {**BASE, **deep}, {"apps/north.yaml": recursive})
    assert (planned_by_cluster(found), found["files"]) == ({"north": [("create", "kettle")]}, [])


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: infra, namespace: flux-system}}
spec: {{path: ./infra/{0}, prune: true, sourceRef: {{kind: GitRepository, name: all}}{1}}}
"""
OF_FLUX = {
    f"{folder}/{name}/{file}": text
    for name in ("north", "south")
    for folder, file, text in (("clusters", "infra.yaml", FLUX.format(name, "")), ("infra", "group.yaml", GROUP))
}


def test_objects_of_one_name_in_two_clusters_are_two(tmp_path: Path) -> None:
    found = planned(tmp_path, OF_FLUX, {"clusters/south/infra.yaml": FLUX.format("south", ", suspend: true")})
    (risk,) = found["files"]
    assert "Kustomization/flux-system/infra applies infra/south in another way (suspend)" in risk["text"]
    assert (found["unchanged"], found["clusters"]) == (["north"], [])


@pytest.mark.parametrize("base", [{**BASE, "clusters/north/group.yaml": GROUP + "---\n" + SUBSCRIPTION}, {
    "clusters/north/kustomization.yaml": "resources: [all.yaml]\n",
    "clusters/north/all.yaml": GROUP + "---\n" + SUBSCRIPTION,
}])  # fmt: skip
def test_a_repository_that_loses_its_last_object_of_olm_still_has_a_plan(tmp_path: Path, base: dict[str, str]) -> None:
    namespace = NAMESPACE.replace("NAME", "harbour")
    changed = {path: namespace for path, text in base.items() if GROUP in text}
    result = plan(tmp_path, changed, "-o", "json", base=base)
    (north, *_) = [name for name in planned_by_cluster(json.loads(result.stdout)) if "north" in name]
    applied = planned_by_cluster(json.loads(result.stdout))[north]
    assert (result.exit_code, applied) == (0, [("create", "harbour"), ("prune", "kettle"), ("prune", "quay")])
    text = plan(tmp_path, changed, base=base).stdout
    assert "The operator that Subscription harbour/kettle has installed keeps running" in text
    assert "kubectl -n harbour delete clusterserviceversion -l operators.coreos.com/kettle.harbour" in text


def test_an_object_that_another_cluster_gets_as_well_is_removed_from_this_one(tmp_path: Path) -> None:
    """The new file of it is a part of the other cluster alone."""
    base = {**BASE, "clusters/north/kettle.yaml": SUBSCRIPTION, "clusters/south/kettle.yaml": SUBSCRIPTION}
    moved = {
        "clusters/south/tea.yaml": SUBSCRIPTION,
        "clusters/south/kettle.yaml": "",
        "clusters/north/kettle.yaml": "",
    }
    found = planned(tmp_path, base, moved)
    assert planned_by_cluster(found) == {"north": [("prune", "kettle")]}
    assert found["unchanged"] == ["south"]


@pytest.mark.parametrize("name", [".olmcignore", ".gitignore"])
def test_an_entry_that_a_pattern_hides_is_unknown(tmp_path: Path, name: str) -> None:
    """Its tool applies it as before."""
    result = plan(tmp_path, {name: "clusters/south\n"}, "-o", "json", "--fail-on", "risk")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["leftOut"], found["released"]) == (1, ["clusters/south"], [])
    assert (found["clusters"], found["unchanged"]) == ([], ["north"])


def test_an_application_for_another_cluster_moves_its_entry(tmp_path: Path) -> None:
    moved = {
        "apps/south.yaml": APPLICATION.format("south", "clusters/south").replace(
            "{name: south}\n  s", "{name: east}\n  s"
        )
    }
    found = planned(tmp_path, BASE, moved)
    assert planned_by_cluster(found) == {"east": [("create", "quay")]}
    assert found["released"] == [{"cluster": "south", "entry": "clusters/south"}]


def test_the_names_of_folders_place_entries_without_a_tool(tmp_path: Path) -> None:
    assert planned(tmp_path, ALONE, {})["unchanged"] == ["clusters/north", "clusters/south"]
