"""The first commands that a person would type in a repository with charts, and what they print."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import as_typed, clone_repository, git, olmc
from scenarios import write
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion

from olmc.compiler.api import Compilation
from olmc.compiler.load import helm
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import Report
from olmc.review.plan import engine
from olmc.targets.pipeline import compile

COMMANDS = {
    "helm": {
        "check": ("check",),
        "check-chart": ("check", "charts/operators"),
        "check-prod": ("check", "--entry", "operators-prod"),
        "check-test": ("check", "--entry", "operators-test"),
        "render-prod": ("render", "--entry", "operators-prod", "--include", "Subscription"),
        "status-prod": ("status", "--entry", "operators-prod"),
        "diff": ("diff", "git:HEAD", "charts/operators"),
        "diff-root": ("diff", "git:HEAD", "."),
    },
    "argo": {
        "check": ("check",),
        "check-beacon": ("check", "--entry", "beacon"),
        "check-tide-north": ("check", "--entry", "tide-north"),
        "check-tide-lab": ("check", "--entry", "tide-lab"),
        "render-tide-south": ("render", "--entry", "Application/argocd/tide-south", "--include", "Subscription"),
        "check-unknown": ("check", "--entry", "tide-west"),
    },
}
needs_helm = pytest.mark.skipif(
    not (shutil.which("helm") or find_spec(helm.LIBRARY)), reason="needs helm, or the extra olmc[helm]"
)


def cloned(name: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a fixture, with one commit, in which the test stands."""
    root = clone_repository(project / "fixtures" / "repos" / name, tmp_path / name)
    monkeypatch.chdir(root)
    return root


@needs_helm
@pytest.mark.parametrize(("repository", "name"), [(one, name) for one, names in COMMANDS.items() for name in names])
def test_first_commands(
    repository: str, name: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:  # fmt: skip
    cloned(repository, project, tmp_path, monkeypatch)
    assert as_typed(*COMMANDS[repository][name]) == snapshot.use_extension(TextFile)


@needs_helm
def test_a_change_of_the_values_changes_what_the_chart_asks_for(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the work tree and in git, where both sides are rendered with the values of their own revision."""
    root = cloned("helm", project, tmp_path, monkeypatch)
    values = root / "charts/operators/values.yaml"
    values.write_text(values.read_text(encoding="utf-8").replace("channel: stable", "channel: fast"), encoding="utf-8")
    in_work_tree = olmc("diff", "git:HEAD", "charts/operators").stdout
    assert "channel: stable → fast" in in_work_tree
    git("commit", "--quiet", "--all", "--message", "fast", cwd=root)
    in_git = olmc("diff", "git:HEAD~1:charts/operators", "git:HEAD:charts/operators").stdout
    two_sides = in_git.replace("git:HEAD~1:charts/operators → git:HEAD:charts/operators", "git:HEAD → charts/operators")
    assert two_sides == in_work_tree


@pytest.mark.slow
@needs_helm
def test_a_fleet_installs_charts_on_both_sides_as_their_applications_say(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment in a template changes no cluster: what was there before was installed with the same values."""
    root = cloned("helm", project, tmp_path, monkeypatch)
    template = next((root / "charts/operators/templates").glob("*.yaml"))
    template.write_text(f"{{{{/* more */}}}}\n{template.read_text(encoding='utf-8')}", encoding="utf-8")
    told = olmc("fleet", "plan", ".", "--from", "git:HEAD", "--no-cache", "-o", "json")
    outcomes = json.loads(told.stdout)["outcomes"]
    gravities = {cluster: outcome["severity"] for outcome in outcomes for cluster in outcome["clusters"]}
    # The second Application lacks a value, before as well as now.
    assert gravities == {"charts/operators": "none", "charts/operators#2": "error"}


@needs_helm
def test_a_chart_in_git_has_the_charts_of_its_own_revision(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = cloned("argo", project, tmp_path, monkeypatch)
    common = root / "common"
    shutil.copytree(root / "charts/tide", common)
    (common / "Chart.yaml").write_text("apiVersion: v2\nname: common\nversion: 1.0.0\n", encoding="utf-8")
    template = "apiVersion: v1\nkind: Namespace\nmetadata: {name: of-common}\n"
    (common / "templates/tide.yaml").write_text(template, encoding="utf-8")
    chart = root / "charts/tide/Chart.yaml"
    needs = "dependencies:\n- {name: common, version: 1.0.0, repository: file://../../common}\n"
    chart.write_text(chart.read_text(encoding="utf-8") + needs, encoding="utf-8")
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", "common", cwd=root)
    shutil.rmtree(common)
    done = olmc("diff", "git:HEAD~1:charts/tide", "git:HEAD:charts/tide")
    assert "of-common" in done.stdout
    assert "OLMC188" not in done.stderr


@pytest.mark.process
def test_the_old_side_of_a_plan_has_the_values_of_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry of a revision is its chart as the Application of that revision installs it."""
    chart, applier = tmp_path / "charts/tools", tmp_path / "apps/prod.yaml"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: tools\nversion: 1.0.0\n", encoding="utf-8")
    (chart / "values-prod.yaml").write_text("channel: fast\n", encoding="utf-8")
    (chart / "templates/group.yaml").write_text(
        "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: x}\n",
        encoding="utf-8",
    )
    applier.parent.mkdir()
    applier.write_text(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: tools-prod, namespace: argocd}\n"
        "spec:\n  source: {repoURL: https://example.com/r.git, path: charts/tools,"
        " helm: {valueFiles: [values-prod.yaml]}}\n"
        "  destination: {server: https://kubernetes.default.svc, namespace: x}\n",
        encoding="utf-8",
    )
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", tmp_path, *author, "commit", "-qm", "one"], check=True)
    applier.write_text(applier.read_text(encoding="utf-8").replace("values-prod", "values-other"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    asked: list[CompileRequest] = []

    def compiled(request: CompileRequest) -> Compilation:
        asked.append(request)
        return compile(request)

    monkeypatch.setattr(engine, "compile", compiled)
    beginning = engine.Beginning(".", CompileRequest(Path(), Options(), frozenset()), as_side=True, entry="tools-prod")
    engine.named_state("git:HEAD", beginning, Report())
    release = asked[0].release
    assert release is not None
    assert [Path(each.path).name for each in release.value_files] == ["values-prod.yaml"]
    assert asked[0].root.name == "tools"


@needs_helm
def test_charts_of_a_set_with_unknown_values_are_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OLMC189 names all charts that one object installs with what only the cluster knows."""
    subscription = (
        "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: NAME, namespace: NAME}\n"
        "spec: {name: NAME, source: harbour, sourceNamespace: olm}\n"
    )
    applications = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all, namespace: argocd}\nspec:\n"
        "  generators:\n  - matrix:\n      generators:\n      - clusters: {}\n"
        "      - list: {elements: [{chart: kettle}, {chart: teapot}]}\n"
        "  template:\n    metadata: {name: '{{name}}-{{chart}}'}\n    spec:\n      destination: {name: '{{name}}'}\n"
        "      source: {repoURL: 'https://git.example.com/harbour.git', path: 'charts/{{chart}}'}\n"
    )
    files = {"set.yaml": applications}
    for name in ("kettle", "teapot"):
        files[f"charts/{name}/Chart.yaml"] = f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
        files[f"charts/{name}/templates/{name}.yaml"] = subscription.replace("NAME", name)
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    said = olmc("check").stdout
    assert said.count("[OLMC189]") == 1
    assert "ApplicationSet/argocd/all renders 2 charts (kettle, teapot) with what its generators fill in" in said


@needs_helm
@pytest.mark.slow
def test_a_chart_has_a_heading_for_each_set_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the ApplicationSet, and by its file where two have the same name."""
    applications = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: NAME, namespace: argocd}\nspec:\n"
        "  generators: [{clusters: {}}]\n"
        "  template:\n    metadata: {name: '{{name}}'}\n    spec:\n      destination: {name: '{{name}}'}\n"
        "      source: {repoURL: 'https://git.example.com/harbour.git', path: charts/kettle,\n"
        "        helm: {parameters: [{name: a, value: '{{name}}'}]}}\n"
    )
    subscription = (
        "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: kettle, namespace: kettle}\n"
        "spec: {name: kettle, source: harbour, sourceNamespace: olm}\n"
    )
    write(tmp_path, {
        **{f"sets/{file}.yaml": applications.replace("NAME", file[:3]) for file in ("all", "all-old", "one")},
        "charts/kettle/Chart.yaml": "apiVersion: v2\nname: kettle\nversion: 1.0.0\n",
        "charts/kettle/templates/kettle.yaml": subscription,
    })  # fmt: skip
    monkeypatch.chdir(tmp_path)
    headings = {
        "charts/kettle (ApplicationSet/argocd/all, sets/all.yaml)",
        "charts/kettle (ApplicationSet/argocd/all, sets/all-old.yaml)",
        "charts/kettle (ApplicationSet/argocd/one)",
    }
    lines = olmc("rbac").stdout.splitlines()
    assert sorted(line for line in lines if line.startswith("== ")) == sorted(f"== {each}" for each in headings)
    assert olmc("report", "--output-dir", "site").exit_code == 0
    assert len(list(Path("site").glob("*/index.html"))) == 3
