"""A plan at the root of a repository: which files it lists, and which clusters and entries it compares."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from commands import clone_repository, olmc
from scenarios import write
from tiers import sampled

from olmc.cli.main import main
from olmc.compiler.load import helm
from olmc.resources import schema

needs_helm = pytest.mark.skipif(
    not (shutil.which("helm") or find_spec(helm.LIBRARY)), reason="needs helm, or the extra olmc[helm]"
)
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


def plan(
    tmp_path: Path, changed: dict[str, str], *options: str, base: dict[str, str] | None = None, removed: str = " "
) -> Result:
    """What `olmc plan` says of a repository in which files change, and those are removed that begin with a text."""
    before = base or BASE
    after = {path: text for path, text in before.items() if not path.startswith(removed)} | changed
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


def planned_by_cluster(planned: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The actions of a plan and the names of their objects, by cluster."""
    return {
        name: sorted((change["action"], change["object"]["name"]) for change in each["plan"]["applied"])
        for each in planned["clusters"]
        for name in each["names"]
    }


SUBSCRIPTION = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kettle, namespace: harbour}
spec: {name: kettle, source: quay, sourceNamespace: olm, channel: stable}
"""
ALONE = {
    "clusters/north/kustomization.yaml": "resources: [group.yaml]\n",
    "clusters/north/group.yaml": GROUP,
    "clusters/south/kustomization.yaml": "resources: [group.yaml]\n",
    "clusters/south/group.yaml": GROUP.replace("quay", "mole"),
}


def test_an_entry_that_leaves_its_cluster_is_named_and_not_removed(tmp_path: Path) -> None:
    """The name of its folder places it nowhere, and whether its objects go depends on its tool."""
    base = {**BASE, "apps/east.yaml": APPLICATION.format("east", "clusters/east"), "clusters/east/group.yaml": GROUP}
    result = plan(tmp_path, {}, "-o", "json", "--fail-on", "risk", base=base, removed="apps/south")
    planned = json.loads(result.stdout)
    jsonschema.validate(planned, schema("repository-plan"))
    assert (result.exit_code, planned["clusters"], planned["unchanged"]) == (1, [], ["east", "north"])
    assert (planned["released"], planned["files"]) == ([{"cluster": "south", "entry": "clusters/south"}], [])
    text = plan(tmp_path, {}, base=base, removed="apps/south").stdout
    assert "no longer applied: clusters/south (south); whether the objects go depends on the tool" in text


def test_an_application_with_another_path_releases_the_old_one(tmp_path: Path) -> None:
    """Argo CD removes nothing while the new path does not exist."""
    moved = {"apps/south.yaml": APPLICATION.format("south", "clusters/soth")}
    base = {**BASE, "apps/east.yaml": APPLICATION.format("east", "clusters/east"), "clusters/east/group.yaml": GROUP}
    planned = json.loads(plan(tmp_path, moved, "-o", "json", base=base).stdout)
    assert (planned["clusters"], [each["cluster"] for each in planned["released"]]) == ([], ["south"])


@pytest.mark.parametrize("has_tool", [True, False])
def test_an_entry_that_a_tool_applies_from_now_on(tmp_path: Path, has_tool: bool) -> None:
    """Without a tool in the repository somebody has applied it before."""
    base = {path: text for path, text in BASE.items() if not path.startswith("apps/")}
    base = {path.replace("clusters/", "operators/"): text for path, text in base.items()}
    base |= {f"operators/{name}/kustomization.yaml": "resources: [group.yaml]\n" for name in ("north", "south")}
    base |= {"apps/far.yaml": APPLICATION.format("far", "operators/south")} if has_tool else {}
    added = {"apps/north.yaml": APPLICATION.format("north", "operators/north")}
    planned = json.loads(plan(tmp_path, added, "-o", "json", base=base).stdout)
    assert planned_by_cluster(planned) == ({"north": [("create", "quay")]} if has_tool else {})
    assert planned["released"] == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("targetRevision", "v1.0"), ("repoURL", '"https://git.example.com/other.git"'), ("kustomize", "{namePrefix: x-}")],
)
def test_an_application_that_applies_an_entry_in_another_way_is_a_risk(tmp_path: Path, field: str, value: str) -> None:
    text = BASE["apps/south.yaml"]
    if field == "repoURL":
        changed = text.replace('"https://git.example.com/harbour.git"', value)
    else:
        changed = text.replace("path: clusters/south", f"path: clusters/south, {field}: {value}")
    planned = json.loads(plan(tmp_path, {"apps/south.yaml": changed}, "-o", "json").stdout)
    (risk,) = planned["files"]
    assert (risk["object"]["name"], risk["severity"]) == ("apps/south.yaml", "risk")
    assert f"clusters/south in another way ({field})" in risk["text"]
    assert planned["unchanged"] == ["north"]


def test_an_object_that_moves_to_a_file_of_no_entry_stays(tmp_path: Path) -> None:
    """Somebody applies the file, or will do so: nothing removes what it has."""
    path = "clusters/north/kustomization.yaml"
    namespace = NAMESPACE.replace("NAME", "harbour")
    base = {**ALONE, path: "resources: [group.yaml, ns.yaml]\n", "clusters/north/ns.yaml": namespace}
    moved = {path: ALONE[path], "namespaces/harbour.yaml": namespace}
    planned = json.loads(plan(tmp_path, moved, "-o", "json", base=base, removed="clusters/north/ns").stdout)
    assert (planned["clusters"], planned["released"]) == ([], [])


def test_an_object_that_moves_between_entries_stays(tmp_path: Path) -> None:
    north, south = "clusters/north/kustomization.yaml", "clusters/south/kustomization.yaml"
    base = {**ALONE, north: "resources: [group.yaml, s.yaml]\n", "clusters/north/s.yaml": SUBSCRIPTION}
    moved = {north: ALONE[north], south: "resources: [group.yaml, s.yaml]\n", "clusters/south/s.yaml": SUBSCRIPTION}
    planned = json.loads(plan(tmp_path, moved, "-o", "json", base=base, removed="clusters/north/s.").stdout)
    assert (planned["clusters"], planned["released"]) == ([], [])


@pytest.mark.parametrize("name", ["alpha", "zulu"])
def test_an_entry_in_another_folder_is_the_same_one(tmp_path: Path, name: str) -> None:
    moved = {path.replace("north", name): text for path, text in ALONE.items() if "north" in path}
    planned = json.loads(plan(tmp_path, moved, "-o", "json", base=ALONE, removed="clusters/north").stdout)
    assert (planned["clusters"], sorted(planned["unchanged"])) == ([], sorted([f"clusters/{name}", "clusters/south"]))


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize(
    "content",
    ["resources: [group.yaml, 'https://git.example.com/x//y?ref=v1']\n", "resources: [group.yaml, absent.yaml]\n"],
)
def test_an_entry_that_olmc_cannot_build_on_a_side_is_unknown(tmp_path: Path, content: str, is_before: bool) -> None:
    """It is neither removed nor created, its cluster is not called unchanged, and its file is a risk."""
    path = "clusters/north/kustomization.yaml"
    base, changed = ({**ALONE, path: content}, {path: ALONE[path]}) if is_before else (ALONE, {path: content})
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=base).stdout)
    assert (planned["clusters"], planned["unchanged"], planned["leftOut"]) == (
        [], ["clusters/south"], ["clusters/north"],
    )  # fmt: skip
    assert [(change["kind"], change["object"]["name"]) for change in planned["files"]] == [("BuildChanged", path)]


@pytest.mark.parametrize("is_before", [True, False])
def test_an_entry_with_olm_on_one_side_has_its_other_objects_on_both(tmp_path: Path, is_before: bool) -> None:
    """A Namespace stays where the first Subscription beside it comes, or the last one goes."""
    path = "clusters/north/kustomization.yaml"
    without = {**ALONE, path: "resources: [ns.yaml]\n", "clusters/north/ns.yaml": NAMESPACE.replace("NAME", "harbour")}
    del without["clusters/north/group.yaml"]
    having = {
        **without,
        path: "resources: [ns.yaml, subscription.yaml]\n",
        "clusters/north/subscription.yaml": SUBSCRIPTION,
    }
    base, changed = (without, having) if is_before else (having, without)
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=base, removed="clusters/north/subscription").stdout)
    assert planned_by_cluster(planned) == {"clusters/north": [("create" if is_before else "prune", "kettle")]}


CATALOG = """\
schema: olm.package
name: kettle
defaultChannel: stable
---
schema: olm.channel
package: kettle
name: stable
entries: [{name: kettle.v1.0.0}]
---
schema: olm.bundle
package: kettle
name: kettle.v1.0.0
image: registry.example.com/kettle-bundle:v1.0.0
properties: [{type: olm.package, value: {packageName: kettle, version: 1.0.0}}]
"""
SOURCE = """\
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: quay, namespace: olm}
spec: {sourceType: grpc, image: "registry.example.com/quay:v1"}
"""


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("catalogs/quay/c.yaml", CATALOG.replace("registry", "evil"), "BundleImageChanged"),
        ("clusters/north/source.yaml", SOURCE.replace(":v1", ":v2"), "CatalogContentKept"),
    ],
)
def test_the_catalogs_of_both_sides_are_compared(tmp_path: Path, path: str, text: str, kind: str) -> None:
    base = {**BASE, "clusters/north/source.yaml": SOURCE, "catalogs/quay/c.yaml": CATALOG}
    planned = json.loads(plan(tmp_path, {path: text}, "-o", "json", base=base).stdout)
    (north,) = planned["clusters"]
    risks = [change["kind"] for change in north["plan"]["difference"]["changes"] if change["severity"] == "risk"]
    assert ("north" in north["names"], risks) == (True, [kind])


@pytest.mark.parametrize(
    ("renamed", "beside"),
    [("", ""), ("x-quay, namespace: olm", "CatalogSource x-quay in olm"), ("quay, namespace: dock", "quay in dock")],
)
def test_content_without_its_catalog_source_is_no_missing_content(tmp_path: Path, renamed: str, beside: str) -> None:
    """The repository has the content in catalogs/, and the CatalogSource goes or is renamed."""
    path = "clusters/south/source.yaml"
    base = {**BASE, path: SOURCE, "clusters/south/kettle.yaml": SUBSCRIPTION, "catalogs/quay/c.yaml": CATALOG}
    changed = {path: SOURCE.replace("quay, namespace: olm", renamed)} if renamed else {}
    said = plan(tmp_path, changed, base=base, removed=path).stdout
    assert "has no content in the repository" not in said
    assert "Put its file-based catalog" not in said
    assert "catalog olm/quay is not defined in this workspace" in said
    assert "catalogs/quay/ has its content, and no CatalogSource quay is in namespace olm." in said
    assert beside in said
    assert "Declare the CatalogSource, or correct spec.source and spec.sourceNamespace of the Subscription." in said


def test_the_content_of_an_entry_itself_is_compared(tmp_path: Path) -> None:
    """An entry may have catalogs of its own beside its manifests."""
    path = "clusters/north/catalogs/quay/c.yaml"
    base = {**BASE, "clusters/north/source.yaml": SOURCE, path: CATALOG}
    planned = json.loads(plan(tmp_path, {path: CATALOG.replace("registry", "evil")}, "-o", "json", base=base).stdout)
    assert [each["names"] for each in planned["clusters"]] == [["north"]]


CHART = "apiVersion: v2\nname: NAME\nversion: 1.0.0\n"
NEEDED = "dependencies: [{name: kettle, version: 1.0.0, repository: 'file://../kettle'}]\n"
TEMPLATE = SUBSCRIPTION.replace("stable", "{{ .Values.channel }}")
UMBRELLA = {
    "apps/north.yaml": APPLICATION.format("north", "charts/umbrella"),
    "charts/umbrella/Chart.yaml": CHART.replace("NAME", "umbrella") + NEEDED,
    "charts/kettle/Chart.yaml": CHART.replace("NAME", "kettle"),
    "charts/kettle/values.yaml": "channel: stable\n",
    "charts/kettle/templates/kettle.yaml": TEMPLATE,
}


@needs_helm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text"),
    [("charts/umbrella/values.yaml", "kettle: {channel: fast}\n"), ("charts/kettle/values.yaml", "channel: fast\n")],
)
def test_a_chart_is_applied_with_those_that_it_needs(tmp_path: Path, path: str, text: str) -> None:
    """A chart of the repository that only others need is no entry of its own."""
    planned = json.loads(plan(tmp_path, {path: text}, "-o", "json", base=UMBRELLA).stdout)
    assert planned_by_cluster(planned) == {"north": [("change", "kettle")]}


APPLICATIONS = """\
{{- range .Values.clusters }}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: {{ . }}, namespace: argocd}
spec:
  destination: {name: {{ . }}}
  source: {repoURL: {{ $.Values.repo }}, path: clusters/{{ . }}}
{{- end }}
"""
OF_APPLICATIONS = {
    "apps/Chart.yaml": CHART.replace("NAME", "apps"),
    "apps/values.yaml": "clusters: [north, south]\nrepo: 'https://git.example.com/harbour.git'\n",
    "apps/templates/apps.yaml": APPLICATIONS,
    "root.yaml": APPLICATION.format("root", "apps"),
    **{path: text for path, text in BASE.items() if path.startswith("clusters/")},
}


@needs_helm
@pytest.mark.slow
def test_a_chart_of_applications_names_clusters(tmp_path: Path) -> None:
    """Its Applications count with the values that another Application gives the chart."""
    added = {"clusters/south/other.yaml": GROUP.replace("quay", "mole").replace("harbour", "dock")}
    planned = json.loads(plan(tmp_path, added, "-o", "json", base=OF_APPLICATIONS).stdout)
    assert (planned_by_cluster(planned), planned["unchanged"]) == ({"south": [("create", "mole")]}, ["north"])
    fewer = {
        "root.yaml": OF_APPLICATIONS["root.yaml"].replace(
            "path: apps", "path: apps, helm: {values: '{clusters: [north]}'}"
        )
    }
    planned = json.loads(plan(tmp_path / "fewer", fewer, "-o", "json", base=OF_APPLICATIONS).stdout)
    assert planned["released"] == [{"cluster": "south", "entry": "clusters/south"}]
    other = {"apps/values.yaml": OF_APPLICATIONS["apps/values.yaml"].replace("harbour.git", "other.git")}
    risks = json.loads(plan(tmp_path / "other", other, "-o", "json", base=OF_APPLICATIONS).stdout)["files"]
    assert [risk["object"]["name"] for risk in risks] == ["apps/templates/apps.yaml"] * 2


def test_bundles_at_the_top_count_for_all_entries(tmp_path: Path) -> None:
    """As catalogs/ does, so that the advice to put a bundle there works."""
    csv = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: kettle.v1.0.0}\n"
    csv += "spec: {version: 1.0.0, installModes: [{type: AllNamespaces, supported: true}], "
    csv += "install: {strategy: deployment, spec: {deployments: []}}}\n"
    content = {
        "clusters/north/source.yaml": SOURCE,
        "clusters/north/kettle.yaml": SUBSCRIPTION,
        "catalogs/quay/c.yaml": CATALOG,
    }
    without = plan(tmp_path, content).stdout
    assert "bundle content for kettle.v1.0.0 (registry.example.com/kettle-bundle:v1.0.0) is not available" in without
    bundle = {
        "bundles/kettle/manifests/kettle.csv.yaml": csv,
        "bundles/kettle/metadata/annotations.yaml": (
            "annotations: {operators.operatorframework.io.bundle.package.v1: kettle}\n"
        ),
    }
    having = json.loads(plan(tmp_path / "having", content | bundle, "-o", "json").stdout)
    (operator,) = having["clusters"][0]["plan"]["operators"]
    assert (operator["phase"], operator["outcome"]) == ("Succeeded", "installed")


HOOK = GROUP.replace(
    "quay, namespace: harbour", 'mole, namespace: dock, annotations: {argocd.argoproj.io/hook: "KIND"}'
)


@pytest.mark.parametrize(
    ("kind", "is_applied"), [("Skip", False), ("SyncFail", False), ("PreSync", True), ("no", True)]
)
def test_argo_cd_leaves_some_hooks_out(tmp_path: Path, kind: str, is_applied: bool) -> None:
    """Without Argo CD the annotation means nothing."""
    added = {"clusters/north/hook.yaml": HOOK.replace("KIND", kind)}
    planned = json.loads(plan(tmp_path, added, "-o", "json").stdout)
    assert planned_by_cluster(planned) == ({"north": [("create", "mole")]} if is_applied else {})
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: NAME, namespace: flux}\n"
    flux += "spec: {path: clusters/NAME, kubeConfig: {secretRef: {name: NAME}}, prune: true}\n"
    base = BASE | {f"apps/{name}.yaml": flux.replace("NAME", name) for name in ("north", "south")}
    planned = json.loads(plan(tmp_path / "flux", added, "-o", "json", base=base).stdout)
    assert planned_by_cluster(planned) == {"north": [("create", "mole")]}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("path:", "targetRevision: v1.2.0, path:", "stays at revision v1.2.0, so the change reaches the cluster once"),
        ("path:", "targetRevision: main, path:", ""),
        ("harbour.git", "far.git", "applies it from another repository than most others; olmc takes it from this one"),
        ("https://git.example.com/harbour.git", "git@git.example.com:harbour", ""),
    ],
)
def test_an_entry_that_a_change_may_not_reach_is_named(tmp_path: Path, old: str, new: str, reason: str) -> None:
    west = {"apps/west.yaml": APPLICATION.format("west", "clusters/west"), "clusters/west/group.yaml": GROUP}
    base = {**BASE, **west, "apps/south.yaml": BASE["apps/south.yaml"].replace(old, new)}
    added = {f"clusters/{name}/other.yaml": GROUP.replace("quay", "mole") for name in ("north", "south")}
    result = plan(tmp_path, added, "-o", "json", base=base)
    planned = json.loads(result.stdout)
    jsonschema.validate(planned, schema("repository-plan"))
    assert [each["entry"] for each in planned["held"]] == (["clusters/south"] if reason else [])
    said = plan(tmp_path, added, base=base).stdout
    assert f"clusters/south: Application/argocd/south {reason}" in said if reason else "clusters/south: " not in said


def test_a_suspended_kustomization_holds_a_change_back(tmp_path: Path) -> None:
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: NAME, namespace: flux}\n"
    flux += "spec: {path: clusters/NAME, kubeConfig: {secretRef: {name: NAME}}, prune: true, suspend: true}\n"
    base = BASE | {"apps/north.yaml": flux.replace("NAME", "north")}
    said = plan(tmp_path, {"clusters/north/other.yaml": GROUP.replace("quay", "mole")}, base=base).stdout
    assert "clusters/north: Kustomization/flux/north is suspended, so the change reaches the cluster once" in said


@needs_helm
def test_the_reason_for_an_entry_that_can_not_be_built_on_both_sides_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = GROUP.replace("name: quay", "name: {{ lower .Values.size }}")
    chart = {"Chart.yaml": "apiVersion: v2\nname: kettle\nversion: 1.0.0\n", "templates/group.yaml": group}
    write(tmp_path / "source", BASE | {f"charts/kettle/{path}": text for path, text in chart.items()})
    root = clone_repository(tmp_path / "source", tmp_path / "clone")
    monkeypatch.chdir(root)
    write(root, {"charts/kettle/templates/group.yaml": f"{group}# more\n"})
    assert olmc("plan", "--from", "git:HEAD").stdout.count("the chart kettle can't be rendered: ") == 1


@needs_helm
def test_an_entry_with_the_values_of_a_pattern_has_a_state_in_a_revision(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is no state of a cluster, and a comparison of folders has nothing to do with it."""
    root = clone_repository(project / "fixtures" / "repos" / "pattern", tmp_path / "pattern")
    monkeypatch.chdir(root)
    values = root / "values-hub.yaml"
    values.write_text(values.read_text(encoding="utf-8").replace("channel: stable", "channel: fast"), encoding="utf-8")
    planned = olmc("plan", "--entry", "values-hub.yaml", "--from", "git:HEAD")
    assert "spec.channel: stable → fast" in planned.stdout
    assert olmc("status", "--entry", "values-hub.yaml", "--from", "git:HEAD").exit_code != 3
    compared = olmc("diff", "git:HEAD", ".", "--entry", "values-hub.yaml")
    assert (compared.exit_code, "`olmc plan --entry values-hub.yaml`" in compared.stderr) == (2, True)


GLOBAL = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: buoy, namespace: openshift-operators}
spec: {name: buoy, channel: stable, source: community-operators, sourceNamespace: openshift-marketplace}
"""


def _operators(planned: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["package"], row["outcome"]) for row in planned["operators"]]


@pytest.mark.parametrize("base", [{"south/group.yaml": GROUP}, {"north/config.yaml": NAMESPACE}], ids=["new", "begun"])
def test_an_openshift_has_its_operator_group_also_where_the_base_does_not_show_it(
    tmp_path: Path, base: dict[str, str]
) -> None:
    applied = {f"apps/{name}.yaml": APPLICATION.format(name, name) for name in ("north", "south")}
    result = plan(tmp_path, {"north/buoy.yaml": GLOBAL}, "-o", "json", base={**applied, **base, "south/a.yaml": GROUP})
    (planned,) = [each["plan"] for each in json.loads(result.stdout)["clusters"]]
    assert _operators(planned) == [("buoy", "unknown")]
    named = {change["object"]["name"] for change in planned["difference"]["changes"]}
    assert "buoy" in named
    assert "global-operators" not in named


def test_the_operator_group_of_an_openshift_neither_comes_nor_goes(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "one", {"buoy.yaml": GLOBAL})
    for sides in (("empty", "one"), ("one", "empty")):
        compared = CliRunner().invoke(main, ["diff", *(str(tmp_path / side) for side in sides), "-o", "json"])
        data = json.loads(compared.stdout)
        assert {change["object"]["name"] for change in data["changes"]} == {"buoy"}, sides


def _unbuilt(channel: str, base: str = "") -> dict[str, str]:
    remote = "resources: [../../base, https://github.com/example/more]\n"
    return {
        "apps/north.yaml": APPLICATION.format("north", "clusters/north"),
        "clusters/north/kustomization.yaml": remote,
        "base/kustomization.yaml": f"resources: [deep]\n{base}",
        "base/deep/kustomization.yaml": "resources: [buoy.yaml]\n",
        "base/deep/buoy.yaml": GLOBAL.replace("stable", channel),
        "aside/kustomization.yaml": "resources: [quay.yaml]\n",
        "aside/quay.yaml": NAMESPACE.replace("NAME", channel),
    }


@pytest.mark.parametrize(
    ("channel", "base", "expected"),
    [
        ("stable", "", []),
        ("fast", "", [("BuildReadsChanged", "base/deep/kustomization.yaml")]),
        ("stable", "namePrefix: x-\n", [("BuildChanged", "base/kustomization.yaml")]),
    ],
    ids=["nothing", "file", "base"],
)
def test_each_file_that_an_entry_without_a_build_is_built_with_is_compared(
    tmp_path: Path, channel: str, base: str, expected: list[tuple[str, str]]
) -> None:
    result = plan(tmp_path, _unbuilt(channel, base), "-o", "json", base=_unbuilt("stable"))
    planned = json.loads(result.stdout)
    assert [(change["kind"], change["object"]["name"]) for change in planned["files"]] == expected


NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note, namespace: harbour}\ndata:\n  a: |\n    one\n    two\n"
GENERATING = "resources: [deep, note.yaml]\nconfigMapGenerator: [{name: more, files: [more.yaml]}]\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "is_change"),
    [
        ("base/kustomization.yaml", "resources", "\n# Parts\nresources", False),
        ("base/deep/buoy.yaml", "openshift-operators}", "openshift-operators}   ", False),
        ("base/note.yaml", "data:\n", "data:\n\n# Words\n", False),
        ("base/note.yaml", "    two", "    # two", True),
        ("base/note.yaml", "    two", "\n    two", True),
        ("base/more.yaml", "a: b", "# Read as it is\na: b", True),
        ("base/kustomization.yaml", "note.yaml", "'note.yaml'", True),  # olmc takes no style for another
    ],
)
def test_comments_and_blanks_are_no_other_content_to_kustomize(
    tmp_path: Path, path: str, old: str, new: str, is_change: bool
) -> None:
    base = _unbuilt("stable") | {
        "base/note.yaml": NOTE,
        "base/more.yaml": "a: b\n",
        "base/kustomization.yaml": GENERATING,
    }
    assert old in base[path]
    planned = json.loads(plan(tmp_path, {path: base[path].replace(old, new)}, "-o", "json", base=base).stdout)
    assert bool(planned["files"]) is is_change


ENV_BUILD = """\
resources: [group.yaml]
secretGenerator:
- {name: lamp, namespace: harbour, envs: [lamp.env]}
"""


@pytest.mark.parametrize("arguments", sampled([(".",), ("--entry", "clusters/north"), ("clusters/north",)], 3))
def test_a_file_that_git_ignores_is_no_change_of_a_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """A clone lacks it, so a plan says the same there."""
    base = {**BASE, "clusters/north/kustomization.yaml": ENV_BUILD, ".gitignore": "*.env\n"}
    root = clone_repository(write(tmp_path / "base", base), tmp_path / "work")
    write(root, {"clusters/north/lamp.env": "a=b\n"})
    monkeypatch.chdir(root)
    compared = [("diff", "git:HEAD", *arguments)] if arguments != (".",) else []
    for command in (("plan", *arguments), *compared):
        done = CliRunner().invoke(main, command)
        assert (done.exit_code, "lamp" in done.stdout) == (0, False), done.output
    # What is not compared with a revision has all of its files.
    done = CliRunner().invoke(main, ("render", "clusters/north", "-o", "name"))
    assert "Secret/harbour/lamp" in done.stdout
    write(root, {"clusters/north/lamp.env": "a=b\n", ".gitignore": "other\n"})
    assert "Secret/harbour/lamp" in CliRunner().invoke(main, ("plan", *arguments)).stdout


def test_a_namespace_that_kustomize_writes_into_a_kind_without_namespaces(tmp_path: Path) -> None:
    """The API server clears it on both sides, so that the object of an OpenShift is no new one."""
    group = "apiVersion: user.openshift.io/v1\nkind: Group\nmetadata: {name: admins}\nusers: []\n"
    base = {
        "clusters/north/kustomization.yaml": "namespace: harbour\nresources: [buoy.yaml, group.yaml, admins.yaml]\n",
        "clusters/north/buoy.yaml": GLOBAL,
        "clusters/north/group.yaml": GROUP,
        "clusters/north/admins.yaml": group,
    }
    changed = {"clusters/north/buoy.yaml": GLOBAL.replace("stable", "fast")}
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=base).stdout)
    applied = [change for each in planned["clusters"] for change in each["plan"]["applied"]]
    assert [(change["action"], change["object"]["name"]) for change in applied] == [("change", "buoy")]
    replaced = {"clusters/north/admins.yaml": group.replace("[]", "[ann]")}
    planned = json.loads(plan(tmp_path / "more", replaced, "-o", "json", base=base).stdout)
    applied = [change for each in planned["clusters"] for change in each["plan"]["applied"]]
    assert [(change["action"], change["object"]["name"]) for change in applied] == [("change", "admins")]


SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: {0}, namespace: argocd}}
spec:
  generators: [{{clusters: {{}}}}]
  template:
    metadata: {{name: '{{{{name}}}}'}}
    spec:
      destination: {{name: '{{{{name}}}}', namespace: {1}}}
      source: {{repoURL: "https://git.example.com/harbour.git", path: shop}}
"""
SHARED = {
    "sets/east.yaml": SET.format("east", "east"),
    "sets/west.yaml": SET.format("west", "west"),
    "shop/group.yaml": "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: quay}\n",
    "shop/kustomization.yaml": "resources: [group.yaml]\n",
}


@pytest.mark.parametrize("name", ["east", "west"])
def test_each_set_that_applies_an_entry_has_a_plan(tmp_path: Path, name: str) -> None:
    """Where a set applies the same folder to another namespace, the plan has the objects there, whatever other sets
    do with the folder."""
    changed = {f"sets/{name}.yaml": SET.format(name, "north")}
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=SHARED).stdout)
    titles = [each for cluster in planned["clusters"] for each in cluster["names"]]
    assert titles == [f"shop (ApplicationSet/argocd/{name})"]
    steps = json.dumps(planned["clusters"][0]["plan"])
    assert "OperatorGroup" in steps
    assert "north" in steps


def test_a_second_set_that_applies_an_entry_is_a_new_cluster(tmp_path: Path) -> None:
    """Both sides call the cluster that stays alike, although its folder was enough for one side."""
    base = {path: text for path, text in SHARED.items() if path != "sets/west.yaml"}
    changed = {"sets/west.yaml": SHARED["sets/west.yaml"]}
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=base).stdout)
    assert planned["unchanged"] == ["shop (ApplicationSet/argocd/east)"]
    assert [cluster["names"] for cluster in planned["clusters"]] == [["shop (ApplicationSet/argocd/west)"]]
    assert "west" in json.dumps(planned["clusters"][0]["plan"])
