"""A folder with a kustomization is what it builds to: never the files beside it, and nothing from a network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scenarios import write

import olmc
from olmc.compiler.load import kustomize
from olmc.compiler.load.entries import repository_at
from olmc.compiler.load.repository import build_repository
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace import load
from olmc.compiler.model.options import Options, Purpose
from olmc.compiler.model.workspace import GENERATED, SCAFFOLDED, Workspace
from olmc.k8s.diagnostics import Report

needs_tool = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)
KIND = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
SUBSCRIPTION = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  name: beacon
spec:
  name: beacon
  channel: patched-by-overlays
  source: harbour
  sourceNamespace: olm
"""
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
PATCH = """\
namespace: harbour
patches:
- target: {kind: Subscription}
  patch: '[{"op": "replace", "path": "/spec/channel", "value": "stable"}]'
"""
BASE = {"base/kustomization.yaml": f"{KIND}resources: [beacon.yaml]\n", "base/beacon.yaml": SUBSCRIPTION}
OVERLAY = {"prod/kustomization.yaml": f"{KIND}resources: [../base, group.yaml]\n{PATCH}", "prod/group.yaml": GROUP}


def loaded(root: Path) -> tuple[Workspace, dict[str, str]]:
    """The workspace, and the messages by code, with their places."""
    report = Report()
    workspace = load(CompileRequest(root), report)
    return workspace, {d.code: f"{d.location}: {d.message}" for d in report}


def channels(workspace: Workspace) -> list[str]:
    return [m.object["spec"]["channel"] for m in workspace.manifests if m.object["kind"] == "Subscription"]


@needs_tool
def test_an_overlay_is_its_base_as_it_is_patched(tmp_path: Path) -> None:
    write(tmp_path, {**BASE, **OVERLAY, "prod/stray.yaml": SUBSCRIPTION})
    workspace, messages = loaded(tmp_path / "prod")
    assert (channels(workspace), messages) == (["stable"], {})
    places = {m.object["kind"]: m.source.path for m in workspace.manifests}
    assert places == {"Subscription": "../base/beacon.yaml", "OperatorGroup": "group.yaml"}


@needs_tool
@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_all_names_of_the_file_count(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: f"{KIND}resources: [beacon.yaml]\n{PATCH}", "beacon.yaml": SUBSCRIPTION})
    assert channels(loaded(tmp_path)[0]) == ["stable"]


@needs_tool
def test_the_place_of_what_no_patch_touches_is_its_own(tmp_path: Path) -> None:
    write(tmp_path, {**BASE, **OVERLAY})
    workspace, _ = loaded(tmp_path / "prod")
    group = next(m for m in workspace.manifests if m.object["kind"] == "OperatorGroup")
    assert group.source.text == GROUP


@needs_tool
def test_catalogs_and_bundles_beside_it_count(tmp_path: Path) -> None:
    catalog = "schema: olm.package\nname: beacon\ndefaultChannel: stable\n"
    write(tmp_path, {**BASE, **OVERLAY, "prod/catalogs/harbour/beacon.yaml": catalog})
    assert list(loaded(tmp_path / "prod")[0].catalogs) == ["harbour"]


@pytest.mark.parametrize(
    ("content", "code", "name"),
    [("resources: ['https://git.example.com/a.yaml']", "OLMC190", "https://git.example.com/a.yaml"),
     ("resources: ['git.example.com/team/base//prod?ref=v1']", "OLMC190", "git.example.com/team/base//prod?ref=v1"),
     ("components: ['git@git.example.com:team/base.git']", "OLMC190", "git@git.example.com:team/base.git"),
     ("configMapGenerator: [{name: a, files: ['a=https://git.example.com/a']}]", "OLMC190", "https://git.example.com"),
     ("patches: [{path: 'http://localhost:8080/a'}]", "OLMC190", "http://localhost:8080/a"),
     ("generators: ['{kind: ConfigMapGenerator, files: [\"https://a.example.com/b\"]}']", "OLMC190", "a.example.com"),
     ("generators: [plugin.yaml]", "OLMC190", "https://git.example.com/c"),
     ("helmCharts: [{name: beacon, repo: 'https://charts.example.com'}]", "OLMC191", "charts.example.com beacon")],
)  # fmt: skip
def test_what_is_remote_is_named_and_no_tool_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, code: str, name: str
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    plugin = "kind: SecretGenerator\nenvs: ['https://git.example.com/c']\n"
    write(
        tmp_path,
        {
            **BASE,
            "base/plugin.yaml": plugin,
            "base/kustomization.yaml": f"{KIND}{content}\n",
            "prod/Kustomization": "bases: [../base]",
        },
    )
    workspace, messages = loaded(tmp_path / "prod")
    assert not workspace.manifests
    assert messages.keys() == {code}
    assert name in messages[code]
    assert messages[code].startswith(("../base/kustomization.yaml:3:", "../base/plugin.yaml:"))


def test_nothing_outside_of_the_repository_is_read(tmp_path: Path) -> None:
    write(tmp_path, {**BASE, "repository/.git": "", "repository/prod/kustomization.yaml": "resources: [../../base]\n"})
    workspace, messages = loaded(tmp_path / "repository/prod")
    assert not workspace.manifests
    assert messages.keys() == {"OLMC192"}


def test_without_a_tool_the_raw_files_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path, {**BASE, **OVERLAY})
    workspace, messages = loaded(tmp_path / "prod")
    assert not workspace.manifests
    assert messages.keys() == {"OLMC193"}


@needs_tool
@pytest.mark.parametrize("resource", ["missing.yaml", "../group.yaml"])
def test_what_can_not_be_built_is_said_without_paths_of_the_machine(tmp_path: Path, resource: str) -> None:
    write(tmp_path, {"group.yaml": GROUP, "prod/kustomization.yaml": f"{KIND}resources: [{resource}]\n"})
    workspace, messages = loaded(tmp_path / "prod")
    assert not workspace.manifests
    assert messages.keys() == {"OLMC194"}
    assert str(tmp_path) not in messages["OLMC194"]


@needs_tool
@pytest.mark.process
def test_files_that_are_not_there_are_named_where_they_are_asked_for(tmp_path: Path) -> None:
    base = f"{KIND}resources:\n- beacon.yaml\n- group.yml\n- more\n"
    files = {"base/kustomization.yaml": base, "base/beacon.yaml": ""}
    write(tmp_path, {**files, "prod/kustomization.yaml": f"{KIND}resources: [../base]\n", ".git/HEAD": ""})
    workspace, messages = loaded(tmp_path / "prod")
    assert not workspace.manifests
    place = "../base/kustomization.yaml:5:3"
    problem = "../base/kustomization.yaml can't be built: group.yml, more are not there"
    assert messages == {"OLMC194": f"{place}: {problem}"}


@needs_tool
@pytest.mark.process
@pytest.mark.parametrize(
    ("ignored", "content"),
    [
        ({".gitignore": "token.yaml\n"}, "resources: [beacon.yaml, group.yaml, token.yaml]\n"),
        ({"prod/.gitignore": "/token.*\n"}, "resources: [token.yaml, group.yaml, beacon.yaml]\n"),
        ({".gitignore": "prod/*.env\n"}, "resources: [beacon.yaml]\nsecretGenerator: [{name: a, envs: [token.env]}]\n"),
    ],
)
def test_a_file_that_git_ignores_is_left_out_of_the_build(
    ignored: dict[str, str], content: str, tmp_path: Path
) -> None:
    """A script writes such a Secret before it applies the folder, whose Subscriptions count all the same."""
    files = {"prod/kustomization.yaml": KIND + content, "prod/beacon.yaml": SUBSCRIPTION, "prod/group.yaml": GROUP}
    write(tmp_path, {**files, **ignored, ".git/HEAD": ""})
    workspace, messages = loaded(tmp_path / "prod")
    assert channels(workspace) == ["patched-by-overlays"]
    assert "is not in the repository, because a .gitignore names it" in messages["OLMC163"]
    assert messages["OLMC163"].startswith("kustomization.yaml:")
    assert messages["OLMC163"].endswith("without its Secret" if "secretGenerator" in content else "without it")


@needs_tool
@pytest.mark.process
def test_a_build_that_needs_a_file_that_git_ignores_fails_at_it(tmp_path: Path) -> None:
    """A patch for the Secret has no target without the file."""
    patched = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: YQ==}\n"
    content = f"{KIND}resources: [token.yaml, beacon.yaml]\npatchesStrategicMerge: [patch.yaml]\n"
    files = {"prod/kustomization.yaml": content, "prod/patch.yaml": patched, "prod/beacon.yaml": SUBSCRIPTION}
    write(tmp_path, {**files, ".gitignore": "token.yaml\n", ".git/HEAD": ""})
    workspace, messages = loaded(tmp_path / "prod")
    assert not workspace.manifests
    assert messages == {
        "OLMC194": "kustomization.yaml:3:13: kustomization.yaml can't be built: token.yaml is not there"
    }


@needs_tool
@pytest.mark.process
def test_a_patch_that_git_ignores_stops_the_build(tmp_path: Path) -> None:
    """What it would change is unknown, so the other objects are unknown, too."""
    kustomization = f"{KIND}resources: [beacon.yaml]\npatches: [{{path: patch.yaml}}]\n"
    write(tmp_path, {"kustomization.yaml": kustomization, "beacon.yaml": SUBSCRIPTION, ".gitignore": "patch.yaml\n"})
    workspace, messages = loaded(tmp_path)
    assert not workspace.manifests
    assert messages["OLMC194"].endswith("patch.yaml is not there")


@pytest.mark.parametrize(
    ("script", "problem"),
    [("echo 'Error: no such thing' >&2; exit 1", "no such thing"), ("exec /bin/sleep 60", "more than 1 seconds"),
     ("while :; do echo aaaaaaaa; done", "more than 1,000 bytes"), ("exit 3", "without a message")],
)  # fmt: skip
def test_a_tool_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, problem: str) -> None:
    write(tmp_path, {"kustomization.yaml": KIND, "bin/kustomize": f"#!/bin/sh\n{script}\n"})
    (tmp_path / "bin/kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(kustomize, "SECONDS", 1)
    monkeypatch.setattr(kustomize, "MAX_FILE_BYTES", 1000)
    assert problem in loaded(tmp_path)[1]["OLMC194"]


def test_a_tool_gets_nothing_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = '#!/bin/sh\n/usr/bin/env >&2\necho "$@" >&2\nexit 1\n'
    write(tmp_path, {"kustomization.yaml": KIND, "bin/kubectl": script})
    (tmp_path / "bin/kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("GITHUB_TOKEN", "SSH_AUTH_SOCK", "AWS_PROFILE"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.com")
    said = loaded(tmp_path)[1]["OLMC194"]
    assert "secret" not in said
    assert "proxy.example.com" not in said
    assert "kustomize --load-restrictor LoadRestrictionsRootOnly" in said


@pytest.mark.parametrize("mark", [SCAFFOLDED, GENERATED])
def test_what_olmc_wrote_is_not_built(tmp_path: Path, mark: str) -> None:
    write(tmp_path, {"kustomization.yaml": f"{mark}\n{KIND}resources:\n- a.yaml\n", "beacon.yaml": SUBSCRIPTION})
    assert channels(loaded(tmp_path)[0]) == ["patched-by-overlays"]


@needs_tool
@pytest.mark.parametrize(("purpose", "shown"), [("review", [4.11]), ("apply", [])])
def test_a_subscription_that_is_refused_is_shown_in_reviews_alone(
    tmp_path: Path, purpose: Purpose, shown: list[float]
) -> None:
    patch = PATCH.replace('"stable"', "4.11")
    write(tmp_path, {"kustomization.yaml": f"{KIND}resources: [beacon.yaml]\n{patch}", "beacon.yaml": SUBSCRIPTION})
    done = olmc.compile(tmp_path, olmc.Options(purpose=purpose))
    subscriptions = [r.object for r in done.objects if r.object["kind"] == "Subscription"]
    assert [(s["spec"]["channel"], s.get("status")) for s in subscriptions] == [(channel, None) for channel in shown]
    refused = [d for d in done.diagnostics if d.code == "OLMC129"]
    assert [d.message for d in refused] == [
        "Subscription beacon would be refused: spec.channel: 4.11 is a number, not a text; put it in quotes"
    ]
    assert done.findings


@needs_tool
@pytest.mark.process
def test_entries_read_their_common_base_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": SUBSCRIPTION}
    overlays = {f"overlays/{number}/kustomization.yaml": "resources: [../../base]\n" for number in range(3)}
    root = write(tmp_path, {**files, **overlays})
    repository = repository_at(root)
    assert repository is not None
    opened = list[Path]()
    read_text = Path.read_text

    def read(path: Path, *arguments: Any, **options: Any) -> str:
        opened.append(path.relative_to(root.resolve()) if path.is_relative_to(root.resolve()) else path)
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", read)
    built = build_repository(repository, Options())
    assert [len(part.contents[0].found.manifests) for part in built.parts] == [1, 1, 1]
    assert {part.contents[0].found.manifests[0].source.path for part in built.parts} == {"base/a.yaml"}
    assert opened.count(Path("base/a.yaml")) == 1
    assert opened.count(Path("base/kustomization.yaml")) == 1
