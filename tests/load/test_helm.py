"""A chart with objects of OLM is what Helm makes of it: never its templates, and nothing from a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import olmc
from scenarios import write

from olmc.compiler.load import helm
from olmc.compiler.load.charts import read_chart, stage
from olmc.compiler.load.entries import RepositoryEntry, entries_at
from olmc.compiler.load.kustomize import run
from olmc.compiler.load.locked_down import merged
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace import load
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import locate

needs_helm = pytest.mark.skipif(
    not (shutil.which("helm") or find_spec(helm.LIBRARY)), reason="needs helm, or the extra olmc[helm]"
)
CHART = "apiVersion: v2\nname: kettle\nversion: 1.0.0\n"
SUBSCRIPTION = """\
{{- if .Values.enabled }}
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  name: {{ .Release.Name }}
  namespace: harbour
spec:
  name: kettle
  channel: {{ required "channel is needed" .Values.channel | quote }}
  source: harbour
  sourceNamespace: olm
{{- end }}
"""
CHARTS = {
    "charts/kettle/Chart.yaml": CHART,
    "charts/kettle/values.yaml": "enabled: true\nchannel: stable\nlist: [1, 2]\n",
    "charts/kettle/templates/kettle.yaml": SUBSCRIPTION,
    "charts/kettle/templates/NOTES.txt": "Thank you.\n",
}
# In the place of helm: it prints what it was given.
PROGRAM = """\
import json, os, sys
values = json.load(open(sys.argv[sys.argv.index("--values") + 1]))
seen = json.dumps({"values": values, "given": sys.argv[1:], "secret": os.environ.get("SECRET", "")})
print("---\\n# Source: kettle/templates/kettle.yaml")
print("apiVersion: operators.coreos.com/v1alpha1\\nkind: Subscription\\nmetadata: {name: kettle}")
print("spec:", json.dumps({"name": "kettle", "source": "harbour", "sourceNamespace": "olm", "channel": seen}))
"""
HELM = """\
    helm:
      valueFiles: [%s]
      valuesObject: {enabled: true}
      parameters:
      - {name: channel, value: "1.0", forceString: true}
"""


def application(name: str, source: str) -> str:
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n"
        f"spec:\n  destination: {{namespace: harbour}}\n  source:\n    path: charts/kettle\n{source}"
    )


def loaded(root: Path, entry: RepositoryEntry | None = None) -> tuple[Workspace, dict[str, str]]:
    """The workspace, and the messages by code, with their places."""
    report = Report()
    folder = root / entry.path if entry is not None else root
    workspace = load(CompileRequest(folder, release=entry.release if entry is not None else None), report)
    return workspace, {d.code: f"{d.location}: {d.message}" for d in report}


def channels(workspace: Workspace) -> list[str]:
    return [m.object["spec"]["channel"] for m in workspace.manifests if m.object["kind"] == "Subscription"]


@needs_helm
def test_a_chart_without_values_of_its_own_names_the_files_beside_it(tmp_path: Path) -> None:
    templates = {"charts/kettle/templates/kettle.yaml": SUBSCRIPTION.replace("if .Values.enabled", "if true")}
    chart = {path: text for path, text in CHARTS.items() if path != "charts/kettle/values.yaml"} | templates
    write(tmp_path, chart | {f"charts/kettle/{name}.values.yaml": "channel: stable\n" for name in ("north", "south")})
    said = olmc("check", str(tmp_path)).output
    assert "The chart has no values.yaml. Give Helm one of charts/kettle/north.values.yaml, charts/kettle/south" in said
    assert " -f FILE | olmc check -.\n" in said


@needs_helm
def test_a_chart_is_what_helm_makes_of_it_with_its_own_values(tmp_path: Path) -> None:
    write(tmp_path, CHARTS)
    workspace, messages = loaded(tmp_path / "charts/kettle")
    assert (channels(workspace), messages) == (["stable"], {})
    (manifest,) = workspace.manifests
    assert manifest.object["metadata"]["name"] == "release-name"
    assert str(locate(manifest.source, ("spec", "channel"))) == "templates/kettle.yaml:2:1"
    assert {"values.yaml", "templates/kettle.yaml"} <= workspace.inputs.built


@needs_helm
@pytest.mark.parametrize("path", ["../../clusters/prod.yaml", "/clusters/prod.yaml"])
def test_an_application_says_how_its_chart_is_installed(tmp_path: Path, path: str) -> None:
    given = {**CHARTS, "clusters/prod.yaml": "channel: overridden\nenabled: false\n"}
    write(tmp_path, {**given, "apps/prod.yaml": application("prod", HELM % path)})
    (entry,) = entries_at(tmp_path)
    assert str(entry) == "charts/kettle (Application/argocd/prod)"
    workspace, messages = loaded(tmp_path, entry)
    assert (channels(workspace), messages) == (["1.0"], {})
    assert [m.object["metadata"]["name"] for m in workspace.manifests] == ["prod"]


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("${ARGOCD_APP_NAMESPACE}-x", "harbour-x"),
        ("$ARGOCD_APP_NAME.$ARGOCD_APP_PROJECT_NAME", "prod.tides"),
        ("a$$b$$NAME", "a$b$NAME"),
        ("[$UNKNOWN][${A b}][$1]", "[][][]"),
        ("100$ ", "100$ "),
        ("$ARGOCD_APP_SOURCE_PATH", "charts/kettle"),
    ],
)
def test_argo_cd_fills_its_build_environment_into_parameters(tmp_path: Path, value: str, filled: str) -> None:
    helm = f"    helm:\n      parameters:\n      - {{name: channel, value: {json.dumps(value)}}}\n"
    text = application("prod", helm).replace("spec:\n", "spec:\n  project: tides\n", 1)
    write(tmp_path, {**CHARTS, "apps/prod.yaml": text})
    (entry,) = entries_at(tmp_path)
    assert entry.release is not None
    assert [parameter.value for parameter in entry.release.parameters] == [filled]
    assert entry.release.unknown == ()


def test_argo_cd_fills_its_build_environment_into_names_of_value_files(tmp_path: Path) -> None:
    helm = "    helm: {valueFiles: [$ARGOCD_APP_NAME.yaml, 'values-${ARGOCD_APP_NAME}.yaml']}\n"
    write(tmp_path, {**CHARTS, "apps/prod.yaml": application("prod", helm)})
    (entry,) = entries_at(tmp_path)
    assert entry.release is not None
    assert [file.path for file in entry.release.value_files] == ["", "charts/kettle/values-prod.yaml"]


@pytest.mark.parametrize("name", ["ARGOCD_APP_REVISION", "KUBE_VERSION"])
def test_a_parameter_that_only_the_cluster_knows_is_reported(tmp_path: Path, name: str) -> None:
    helm = f"    helm:\n      parameters:\n      - {{name: channel, value: 'v-${{{name}}}'}}\n"
    write(tmp_path, {**CHARTS, "apps/prod.yaml": application("prod", helm)})
    (entry,) = entries_at(tmp_path)
    assert entry.release is not None
    assert entry.release.unknown == ("source.helm.parameters",)


@needs_helm
def test_a_value_file_of_another_source_of_the_same_repository(tmp_path: Path) -> None:
    spec = """\
    helm: {valueFiles: [$values/prod.yaml]}
    repoURL: https://git.example.com/a.git
"""
    text = application("prod", spec).replace("  source:\n    path", "  sources:\n  - path")
    for url, expected in (("a", ["fast"]), ("b", [])):
        other = f"  - {{ref: values, repoURL: https://git.example.com/{url}.git}}\n"
        write(tmp_path, {**CHARTS, "prod.yaml": "channel: fast\n", "app.yaml": text + other})
        (entry,) = entries_at(tmp_path)
        workspace, messages = loaded(tmp_path, entry)
        assert channels(workspace) == expected
        assert ("is of another repository" in messages.get("OLMC187", "")) is (url == "b")


@needs_helm
def test_a_flux_release_says_how_its_chart_is_installed(tmp_path: Path) -> None:
    release = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: kettle, namespace: flux-system}
spec:
  targetNamespace: harbour
  chart: {spec: {chart: ./charts/kettle, sourceRef: {kind: GitRepository, name: clusters}}}
  values: {channel: fast}
  valuesFrom: [{kind: ConfigMap, name: more}]
"""
    write(tmp_path, {**CHARTS, "release.yaml": release})
    (entry,) = entries_at(tmp_path)
    workspace, messages = loaded(tmp_path, entry)
    assert channels(workspace) == ["fast"]
    assert [m.object["metadata"]["name"] for m in workspace.manifests] == ["harbour-kettle"]
    assert "with spec.valuesFrom, which olmc can't know" in messages["OLMC189"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ("https://example.com/v.yaml", "which is remote"),
        ("'secrets+age-import:///keys/a.txt?v.enc.yaml'", "which helm-secrets decrypts with a key of the cluster"),
        ("'/clusters/{{ .Values.name }}/v.yaml'", "whose path is a template that is not filled in"),
        ("../../gone.yaml", "which is not there"),
        ("../../../up.yaml", "which leads out of the repository"),
        ("$other/v.yaml", "names no source of it"),
        ("broken.yaml", "which is no mapping in YAML"),
    ],
)
def test_a_file_of_values_that_is_not_here_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: str, problem: str
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    root = tmp_path / "repository"
    write(tmp_path, {"up.yaml": "channel: up\n"})
    write(root, {**CHARTS, ".git/HEAD": "", "charts/kettle/broken.yaml": "- a\n"})
    write(root, {"app.yaml": application("prod", HELM % files)})
    (entry,) = entries_at(root)
    workspace, messages = loaded(root, entry)
    assert (workspace.manifests, list(messages)) == ((), ["OLMC187"])
    assert problem in messages["OLMC187"]
    assert "Application/argocd/prod" in messages["OLMC187"]


def test_a_remote_dependency_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    chart = f"{CHART}dependencies:\n- {{name: common, version: 1.x, repository: 'https://charts.example.com'}}\n"
    write(tmp_path, {**CHARTS, "charts/kettle/Chart.yaml": chart})
    workspace, messages = loaded(tmp_path / "charts/kettle")
    assert workspace.manifests == ()
    assert messages == {
        "OLMC186": "Chart.yaml:5:3: the chart needs common from https://charts.example.com, which is remote, and olmc "
        "does not fetch it"
    }


@needs_helm
@pytest.mark.parametrize("place", ["common", "charts/kettle/charts/common", None])
def test_dependencies_of_the_repository_are_taken_along(tmp_path: Path, place: str | None) -> None:
    chart = f"{CHART}dependencies:\n- {{name: common, version: 1.0.0, repository: 'file://../../common'}}\n"
    write(tmp_path, {**CHARTS, "charts/kettle/Chart.yaml": chart, ".git/HEAD": ""})
    if place is not None:
        template = "kind: Namespace\napiVersion: v1\nmetadata: {name: common}\n"
        common = {f"{place}/Chart.yaml": CHART.replace("kettle", "common"), f"{place}/templates/a.yaml": template}
        write(tmp_path, common)
    workspace, messages = loaded(tmp_path / "charts/kettle")
    kinds = {m.object["kind"]: str(locate(m.source, ())) for m in workspace.manifests}
    if place is None:
        assert list(kinds) == ["Subscription"]
        assert "rendered without common: file://../../common is not in the repository" in messages["OLMC188"]
    else:
        shown = "charts/common" if place.startswith("charts") else "../../common"
        assert (kinds["Namespace"], messages) == (f"{shown}/templates/a.yaml:1:1", {})


@needs_helm
@pytest.mark.parametrize(
    ("template", "place", "text"),
    [
        (SUBSCRIPTION.replace("required", "  required"), "templates/kettle.yaml:9:1", "channel is needed"),
        ("{{ if }}\n", "templates/kettle.yaml:1:1", "missing value for if"),
        (f"{SUBSCRIPTION}\n---\na: [\n", "templates/kettle.yaml", "no YAML"),
    ],
)
def test_what_helm_refuses_is_an_error_in_one_line(tmp_path: Path, template: str, place: str, text: str) -> None:
    values = "enabled: true\n" if "[" not in template else "enabled: true\nchannel: a\n"
    olm = "# operators.coreos.com/v1\n"
    write(tmp_path, {**CHARTS, "charts/kettle/values.yaml": values, "charts/kettle/templates/kettle.yaml": template})
    write(tmp_path, {"charts/kettle/templates/_olm.tpl": olm})
    workspace, messages = loaded(tmp_path / "charts/kettle")
    assert workspace.manifests == ()
    assert messages["OLMC185"].startswith(place)
    assert text in messages["OLMC185"]
    assert "\n" not in messages["OLMC185"]
    assert "/tmp" not in messages["OLMC185"]


@needs_helm
def test_templates_see_the_cluster_that_is_compiled_for_and_no_other(tmp_path: Path) -> None:
    template = """\
apiVersion: v1
kind: Namespace
metadata:
  name: harbour
  annotations:
    version: {{ .Capabilities.KubeVersion.Version }}
    olm: {{ .Capabilities.APIVersions.Has "operators.coreos.com/v1alpha1/Subscription" | quote }}
    route: {{ .Capabilities.APIVersions.Has "route.openshift.io/v1" | quote }}
    there: {{ lookup "v1" "Namespace" "" "harbour" | toJson | quote }}
    host: {{ getHostByName "localhost" | quote }}
"""
    write(tmp_path, {**CHARTS, "charts/kettle/templates/harbour.yaml": template})
    report = Report()
    workspace = load(CompileRequest(tmp_path / "charts/kettle", Options(kube_version="v1.29.3")), report)
    harbour = next(m.object for m in workspace.manifests if m.object["kind"] == "Namespace")
    expected = {"version": "v1.29.3", "olm": "true", "route": "false", "there": "{}", "host": ""}
    assert harbour["metadata"]["annotations"] == expected


def test_links_out_of_the_repository_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helm, "_library", lambda: "somewhere")
    monkeypatch.setattr(subprocess, "Popen", None)
    root = tmp_path / "repository"
    write(root, {**CHARTS, ".git/HEAD": ""})
    write(tmp_path, {"secret.yaml": "a: b\n"})
    (root / "charts/kettle/secret.yaml").symlink_to(tmp_path / "secret.yaml")
    workspace, messages = loaded(root / "charts/kettle")
    assert workspace.manifests == ()
    assert "the link secret.yaml leads out of the repository" in messages["OLMC185"]


@pytest.mark.parametrize("name", ["--post-renderer=sh", "-h", "A b"])
def test_a_release_is_never_called_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    spec = f"    helm: {{releaseName: '{name}'}}\n"
    write(tmp_path, {**CHARTS, "app.yaml": application("prod", spec)})
    (entry,) = entries_at(tmp_path)
    workspace, messages = loaded(tmp_path, entry)
    assert workspace.manifests == ()
    assert f"'{name}' is no name for a release" in messages["OLMC185"]


def test_a_dependency_is_never_written_out_of_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helm, "_library", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    names = ("../../out", "/out", "..", "a/../../b")
    entries = "".join(f"- {{name: '{name}', repository: 'file://../common'}}\n" for name in names)
    write(tmp_path, {**CHARTS, "charts/common/Chart.yaml": CHART})
    write(tmp_path, {"charts/kettle/Chart.yaml": f"{CHART}dependencies:\n{entries}"})
    assert read_chart(tmp_path / "charts/kettle", tmp_path).dependencies == ()
    stage(read_chart(tmp_path / "charts/kettle", tmp_path), tmp_path / "copy/of/chart")
    written = {path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")}
    assert all(path == "of" or path.startswith("of/chart") for path in written)


def _deep(folder: Path) -> None:
    (folder / "/".join("x" * 400)).mkdir(parents=True)


def _doubling(folder: Path) -> None:
    """Links that are a folder each, of which the next one has two of each before."""
    for number in range(27):
        (folder / f"links/{number}").mkdir(parents=True)
    for number in range(26):
        for name in "ab":
            (folder / f"links/{number}/{name}").symlink_to(f"../{number + 1}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "code", "problem"),
    [
        (_deep, "OLMC124", "folders in each other"),  # of such a tree olmc reads nothing
        (_doubling, "OLMC185", "can't be rendered: it has more than 10,000 files"),
    ],
)
def test_a_chart_of_folders_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Callable[[Path], None], code: str, problem: str
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(helm, "_library", lambda: "somewhere")
    write(tmp_path, CHARTS)
    attack(tmp_path / "charts/kettle")
    workspace, messages = loaded(tmp_path / "charts/kettle")
    assert workspace.manifests == ()
    assert problem in messages[code]


@pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts")
@pytest.mark.parametrize("source", ["kettle/../../outside.yaml", "kettle/../../../outside.yaml", "kettle/pipe.yaml"])
def test_a_source_that_a_template_made_up_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """Helm names a template in a comment, and a template may print such comments."""
    program = PROGRAM.replace("kettle/templates/kettle.yaml", source)
    write(tmp_path, {**CHARTS, "bin/helm": f"#!{sys.executable}\n{program}", "outside.yaml": SUBSCRIPTION})
    (tmp_path / "bin/helm").chmod(0o755)
    os.mkfifo(tmp_path / "charts/kettle/pipe.yaml")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    workspace, _ = loaded(tmp_path / "charts/kettle")
    (manifest,) = workspace.manifests
    assert manifest.source.path == ("pipe.yaml" if "pipe" in source else "Chart.yaml")


def test_without_helm_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(helm, "_library", lambda: None)
    write(tmp_path, CHARTS)
    workspace, messages = loaded(tmp_path / "charts/kettle")
    assert workspace.manifests == ()
    assert messages == {
        "OLMC184": "Chart.yaml: the chart kettle has to be rendered (Subscription), and there is neither helm on the "
        "PATH nor the extra olmc[helm]"
    }


@pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts")
def test_the_program_is_asked_for_the_release_and_gets_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `helm template` is called with, and how its output is read."""
    write(tmp_path, {"bin/helm": f"#!{sys.executable}\n{PROGRAM}"})
    write(tmp_path, {**CHARTS, "v.yaml": "enabled: false\n", "app.yaml": application("prod", HELM % "/v.yaml")})
    (tmp_path / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SECRET", "secret")
    (entry,) = entries_at(tmp_path)
    workspace, messages = loaded(tmp_path, entry)
    assert messages == {}
    (manifest,) = workspace.manifests
    assert str(locate(manifest.source, ())) == "templates/kettle.yaml:2:1"
    got = json.loads(manifest.object["spec"]["channel"])
    assert (got["values"], got["secret"]) == ({"enabled": True}, "")
    given = got["given"]
    assert given[:2] == ["template", "prod"]
    options = dict(zip(given[3::2], given[4::2], strict=False))
    assert options["--namespace"] == "harbour"
    assert options["--kube-version"].startswith("v1.")
    assert "operators.coreos.com/v1alpha1/Subscription" in options["--api-versions"].split(",")
    assert given[-3:] == ["--include-crds", "--set-string", "channel=1.0"]


def test_a_program_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {**CHARTS, "bin/helm": "#!/bin/sh\nexec /bin/sleep 60\n"})
    (tmp_path / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(helm, "SECONDS", 1)
    _, messages = loaded(tmp_path / "charts/kettle")
    assert "it took more than 1 seconds" in messages["OLMC185"]


def test_a_program_that_is_stopped_took_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the thread that has stopped it still runs, as on a busy machine."""

    class LingeringTimer(threading.Timer):
        def run(self) -> None:
            super().run()
            threading.Event().wait(0.3)

    monkeypatch.setattr(threading, "Timer", LingeringTimer)
    assert run(["/bin/sleep", "60"], seconds=0.1, most=10).problem == "it took more than 0.1 seconds"


def test_values_lie_over_each_other_as_helm_has_it() -> None:
    below = {"a": {"b": 1, "c": [1, 2]}, "d": {"e": 1}}
    assert merged(below, {"a": {"c": [3]}, "d": None}) == {"a": {"b": 1, "c": [3]}, "d": None}


@pytest.mark.parametrize("beside", [False, True])
def test_charts_are_entries_unless_they_stand_beside_a_workspace(tmp_path: Path, *, beside: bool) -> None:
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
    write(tmp_path, {**CHARTS, **({"group.yaml": group} if beside else {"values.yaml": "kind: Other\n"})})
    workspace, messages = loaded(tmp_path)
    assert ("OLMC195" in messages, "OLMC181" in messages) == (not beside, beside)
    assert [m.object["kind"] for m in workspace.manifests] == ["OperatorGroup"] * beside
