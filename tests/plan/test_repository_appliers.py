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
        (LIST, ', targetRevision: "{{ .rev }}", plugin: {name: x}', "plugin"),
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


ROOT = APPLICATION.format("root", "apps")
LISTED = {**BASE, "root.yaml": ROOT, "apps/kustomization.yaml": "resources: [north.yaml, south.yaml]\n"}
PATCHED = "resources: [north.yaml, south.yaml]\npatches: [{path: patch.yaml}]\n"
EXCLUDED = ROOT.replace("path: apps", "path: apps, directory: {exclude: 'south*'}")


@pytest.mark.parametrize(
    ("changed", "text", "unchanged"),
    [
        ({"apps/kustomization.yaml": "resources: [north.yaml]\n"}, "it no longer applies apps/south.yaml", []),
        ({"apps/kustomization.yaml": PATCHED, "apps/patch.yaml": "# later\n"}, "it applies apps/north.yaml", []),
        ({"root.yaml": ROOT.replace("path: apps", "path: others")}, "applies others instead of apps", []),
        ({"root.yaml": ROOT.replace("path: apps", "path: apps, chart: x")}, "applies apps in another way", []),
        ({"root.yaml": EXCLUDED}, "applies apps in another way", []),
        ({"apps/kustomization.yaml": "resources: [south.yaml, north.yaml]\n"}, "", ["north", "south"]),
    ],
)
def test_what_applies_the_objects_of_tools_in_another_way_is_a_risk(
    tmp_path: Path, changed: dict[str, str], text: str, unchanged: list[str]
) -> None:
    """Such an object may be left out, or apply another folder, without a change in its own file."""
    found = planned(tmp_path, LISTED, changed)
    told = [text in change["text"] for change in found["files"] if change["object"]["name"] in changed]
    assert told == ([True] if text else [])
    assert (found["clusters"], found["unchanged"]) == ([], unchanged)


SEVERAL = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: north, namespace: argocd}
spec:
  destination: {name: north}
  sources:
  - {repoURL: "https://git.example.com/harbour.git", path: clusters/north}
  - {repoURL: "https://git.example.com/values.git", ref: values, targetRevision: v1}
"""


def test_another_revision_of_a_source_with_values_is_a_risk(tmp_path: Path) -> None:
    changed = {"apps/north.yaml": SEVERAL.replace("v1}", "v2}")}
    (risk,) = planned(tmp_path, {**BASE, "apps/north.yaml": SEVERAL}, changed)["files"]
    assert "clusters/north in another way (ref values)" in risk["text"]


def test_entries_that_are_applied_to_one_cluster_conflict_in_it(tmp_path: Path) -> None:
    """A second OperatorGroup stops its namespace, whoever brings it."""
    base = {**BASE, "clusters/north/group.yaml": GROUP + "---\n" + SUBSCRIPTION}
    application = APPLICATION.format("more", "more").replace("destination: {name: more}", "destination: {name: north}")
    more = {"apps/more.yaml": application, "more/group.yaml": GROUP.replace("quay", "second")}
    result = plan(tmp_path, more, "-o", "json", base=base)
    found = json.loads(result.stdout)
    assert planned_by_cluster(found) == {"north": [("create", "second")]}
    (north,) = found["clusters"]
    assert [row["phase"] for row in north["plan"]["operators"]] == ["TooManyOperatorGroups"]
    assert (found["unchanged"], result.exit_code) == (["south"], 1)


VALUES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: vars, namespace: flux-system}}\ndata: {{name: {0}}}\n"


def test_each_cluster_has_its_own_values_of_variables(tmp_path: Path) -> None:
    filled = ", postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}"
    base = {
        **{f"clusters/{name}/infra.yaml": FLUX.format("all", filled) for name in ("north", "south")},
        **{f"clusters/{name}/vars.yaml": VALUES.format("mole") for name in ("north", "south")},
        "infra/all/kustomization.yaml": "resources: [kettle.yaml]\n",
        "infra/all/kettle.yaml": SUBSCRIPTION.replace("channel: stable", 'channel: "${name}"'),
    }
    found = planned(tmp_path, base, {"clusters/north/vars.yaml": VALUES.format("pier")})
    assert planned_by_cluster(found) == {"north": [("change", "kettle")]}
    assert found["unchanged"] == ["south"]


@pytest.mark.parametrize(("prune", "expected"), [("true", {"south": [("prune", "quay")]}), ("false", {})])
def test_a_kustomization_without_prune_removes_nothing(
    tmp_path: Path, prune: str, expected: dict[str, list[tuple[str, str]]]
) -> None:
    namespace = NAMESPACE.replace("NAME", "harbour")
    base = {path: text.replace("prune: true", f"prune: {prune}") for path, text in OF_FLUX.items()}
    base |= {f"infra/{name}/group.yaml": GROUP + "---\n" + namespace for name in ("north", "south")}
    found = planned(tmp_path, base, {"infra/south/group.yaml": namespace})
    assert planned_by_cluster(found) == expected


@pytest.mark.parametrize(
    ("directory", "is_applied"),
    [
        ("{recurse: true, exclude: '{tea*,deep/kettle*}'}", False),
        ("{recurse: true, include: '*.yaml'}", True),
        ("{recurse: true, include: 'group*'}", False),
        ("{recurse: true, exclude: 'deep/k*'}", False),
        ("{recurse: true, exclude: 'k*'}", True),
        ("{recurse: true, exclude: '" + "{a,k}" * 9 + "*'}", True),
    ],
)
def test_patterns_of_a_directory_decide_which_files_are_applied(
    tmp_path: Path, directory: str, is_applied: bool
) -> None:
    """As for Argo CD, `*` stands for any part of a path below the folder; a pattern with too many choices for olmc
    leaves out nothing."""
    application = APPLICATION.format("north", "clusters/north")
    application = application.replace("path: clusters/north", f"path: clusters/north, directory: {directory}")
    changed = {"clusters/north/deep/kettle.yaml": SUBSCRIPTION}
    found = planned(tmp_path, {**BASE, "apps/north.yaml": application}, changed)
    assert planned_by_cluster(found) == ({"north": [("create", "kettle")]} if is_applied else {})
    assert found["files"] == []


def test_an_entry_that_can_be_built_on_one_side_only_is_a_risk(tmp_path: Path) -> None:
    changed = {"clusters/north/kustomization.yaml": "resources: [absent.yaml]\n"}
    result = plan(tmp_path, changed, "-o", "json", "--fail-on", "risk", base=ALONE)
    assert (result.exit_code, json.loads(result.stdout)["leftOut"]) == (1, ["clusters/north"])
    text = plan(tmp_path, changed, base=ALONE).stdout
    assert "left out, as olmc knows them on one side only: clusters/north\n" in text
    assert "absent.yaml" in text.partition("on one side only")[2]
