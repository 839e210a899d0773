"""`olmc import`: from what kubectl prints to a state file."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from api_server import cluster, shell
from commands import olmc

import olmc as package
from olmc import Report
from olmc.compiler.load.live_objects import read_apis, read_dump, read_served, read_state
from olmc.compiler.model.workspace import IMPORTED
from olmc.k8s.objects import LAST_APPLIED, ObjectKey
from olmc.k8s.yaml import dump

SECRET_VALUE = "c2VjcmV0LXZhbHVl"


def objects_of(path: Path) -> dict[ObjectKey, Any]:
    got = read_state(path, Report())
    assert got is not None
    return {key: manifest.object for key, manifest in got.objects.items()}


def a_live_cluster(project: Path, fixture: str = "all-namespaces") -> list[dict[str, Any]]:
    """What an API server would return of the cluster that a fixture settles to, with a Secret in it."""
    made = package.compile(project / "fixtures" / fixture)
    own = {"name": "door", "namespace": "harbour", "labels": {"a": "b"}, "annotations": {"note": SECRET_VALUE}}
    token = {"name": "porter", "namespace": "harbour", "annotations": {"kubernetes.io/service-account.name": "porter"}}
    secrets = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"key": SECRET_VALUE}, "type": "Opaque"}
        for metadata in (own, token)
    ]
    # What a cluster has of itself; without any of a kind, this server knows nothing of the kind.
    classes: list[dict[str, Any]] = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7},
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.apps"}, "spec": {}},
        {"apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"}, "spec": {}},
        *(
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "w"}, "webhooks": []}
            for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        ),
        *(
            {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "harbour"}}
            for api, kind in (
                ("v1", "Service"), ("rbac.authorization.k8s.io/v1", "Role"), ("v1", "ConfigMap"),
                ("v1", "ServiceAccount"), ("rbac.authorization.k8s.io/v1", "RoleBinding"), ("apps/v1", "Deployment"),
            )
        ),
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "x"}},
        {"apiVersion": "tea.example.com/v1", "kind": "Cup", "metadata": {"name": "c", "namespace": "harbour"}},
    ]  # fmt: skip
    objects = [rendered.object for rendered in made.objects] + secrets + classes
    return [
        {**obj, "metadata": {**obj["metadata"], "uid": f"u-{number}", "resourceVersion": str(number)}}
        for number, obj in enumerate(objects)
    ]


@pytest.mark.parametrize("fixture", ["own-namespace", "all-namespaces", "conversion-webhook", "manual-approval"])
def test_what_render_prints_is_imported_and_read_back(tmp_path: Path, fixture: str) -> None:
    rendering, state = tmp_path / "rendering.yaml", tmp_path / "state.yaml"
    rendering.write_text(olmc("render", fixture, "--for", "review", "-o", "yaml").stdout, encoding="utf-8")
    done = olmc("import", rendering, "-o", state)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.endswith(f"olmc: {len(objects_of(rendering))} objects written to {state}\n")
    assert objects_of(state) == objects_of(rendering)
    again = olmc("import", "-", stdin=state.read_text(encoding="utf-8"))
    assert again.stdout == state.read_text(encoding="utf-8")


def test_copies_have_no_spec_of_their_own(tmp_path: Path) -> None:
    rendering, state = tmp_path / "rendering.yaml", tmp_path / "state.yaml"
    rendering.write_text(olmc("render", "all-namespaces").stdout, encoding="utf-8")
    olmc("import", rendering, "-o", state)
    read = [document for document in state.read_text(encoding="utf-8").split("---\n") if "olm.copiedFrom" in document]
    assert len(read) > 1
    assert not any("\nspec:" in document for document in read)
    copies = [obj for obj in objects_of(state).values() if "olm.copiedFrom" in obj["metadata"].get("labels", {})]
    assert len(copies) == len(read)
    assert all(copy["spec"]["install"] for copy in copies)


def test_the_order_of_a_dump_does_not_matter(project: Path, tmp_path: Path) -> None:
    objects = a_live_cluster(project)
    texts = []
    for number, items in enumerate((objects, objects[::-1])):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        texts.append(olmc("import", path).stdout)
    assert texts[0] == texts[1]
    assert texts[0].startswith(f"{IMPORTED}\n")
    assert SECRET_VALUE not in texts[0]
    assert "resourceVersion" not in texts[0]


def test_what_was_applied_is_kept_without_secrets(tmp_path: Path) -> None:
    metadata = {"name": "a", "namespace": "b"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"x": "é"}}
    secret = {**service, "kind": "Secret", "data": {"key": SECRET_VALUE}}
    live = [
        {**obj, "metadata": {**metadata, "annotations": {LAST_APPLIED: json.dumps(obj)}}, "status": {}}
        for obj in (service, secret)
    ]
    (tmp_path / "dump.yaml").write_text(dump(live), encoding="utf-8")
    olmc("import", tmp_path / "dump.yaml", "-o", tmp_path / "state.yaml")
    assert SECRET_VALUE not in (tmp_path / "state.yaml").read_text(encoding="utf-8")
    before, after = (read_state(tmp_path / name, Report()) for name in ("dump.yaml", "state.yaml"))
    assert before is not None
    assert after is not None
    assert before.applied == after.applied
    assert after.applied[ObjectKey("", "Service", "b", "a")] == service


def test_what_is_missing_is_said_with_the_command(tmp_path: Path) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour"}}
    (tmp_path / "dump.yaml").write_text(dump([space]), encoding="utf-8")
    done = olmc("import", tmp_path / "dump.yaml")
    assert done.exit_code == 0
    said = " ".join(done.stderr.split())
    assert "the dump has no ClusterServiceVersion, OperatorGroup, CustomResourceDefinition, APIService" in said
    assert "Add what this prints: kubectl get clusterserviceversions.operators.coreos.com,operatorgroups." in said
    assert said.partition(" [OLMC159]")[0].count("Namespace") == 0
    assert "if the cluster has none: Subscription, InstallPlan, CatalogSource" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give what kubectl prints"),
        (["--oc", "-"], "for --print-command"),
        (["--print-command", "x.yaml"], "reads and writes no file"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    done = olmc("import", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())


def test_what_can_t_be_read_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "dump.yaml").write_text("NAME   READY\ntea    1/1\n", encoding="utf-8")
    done = olmc("import", tmp_path / "dump.yaml", "-o", tmp_path / "state.yaml")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "[OLMC158]" in done.stderr
    assert not (tmp_path / "state.yaml").exists()


@pytest.mark.parametrize("command", ["status", "plan", "check", "render"])
def test_a_state_with_what_no_cluster_has_is_refused_with_the_reason(tmp_path: Path, command: str) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tea, namespace: harbour, labels: 5}\n"
    (tmp_path / "state.yaml").write_text(text, encoding="utf-8")
    done = olmc(command, "own-namespace", "--from", tmp_path / "state.yaml")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "state.yaml:3:11: failure: ConfigMap tea would be refused: metadata: labels must be a map" in done.stderr


def test_a_state_file_is_no_part_of_a_workspace(tmp_path: Path) -> None:
    shutil.copytree("own-namespace", tmp_path / "w")
    before = olmc("render", tmp_path / "w")
    (tmp_path / "w" / "cluster-state.yaml").write_text(
        olmc("import", "-", stdin=before.stdout).stdout, encoding="utf-8"
    )
    after = olmc("render", tmp_path / "w")
    assert (after.exit_code, after.stdout, after.stderr) == (0, before.stdout, before.stderr)


@pytest.mark.parametrize("program", ["kubectl", "oc"])
def test_the_command_only_reads(program: str) -> None:
    arguments = ["--oc"] if program == "oc" else []
    text = olmc("import", "--print-command", "--context", "it's", *arguments).stdout
    assert text.endswith("} | olmc import - -o cluster-state.yaml\n")
    lines = [line for line in text.splitlines() if f"{program} " in line]
    assert len(lines) > 5
    assert all(f"{program} --context 'it'\"'\"'s' " in line for line in lines)
    verbs = {part.split()[0] for line in lines for part in line.split("'\"'\"'s' ")[1:]}
    assert verbs == {"get", "api-resources"}
    assert "secrets -A -o yaml" not in text
    assert ".data" not in text


@pytest.mark.process
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_the_command_reads_a_cluster(project: Path, tmp_path: Path) -> None:
    """With the real kubectl, whose output is what a dump of all objects is."""
    objects = a_live_cluster(project)
    (tmp_path / "olmc").write_text(f'#!/bin/sh\nexec {sys.executable} -m olmc "$@"\n', encoding="utf-8")
    (tmp_path / "olmc").chmod(0o755)
    with cluster(objects, tmp_path) as environment:
        path = f"{tmp_path}{os.pathsep}{environment['PATH']}"
        script = olmc("import", "--print-command").stdout
        done = shell(script, {**environment, "PATH": path, "PYTHONPATH": str(project)}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "OLMC" not in done.stderr
    # This cluster has no OLM v1, which kubectl says of each of its kinds.
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    kinds = ("clusterextensions", "clustercatalogs", "clusterobjectsets")
    assert errors == [f'error: the server doesn\'t have a resource type "{kind}"' for kind in kinds]
    text = (tmp_path / "cluster-state.yaml").read_text(encoding="utf-8")
    assert SECRET_VALUE not in text
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8"
    )
    whole = read_dump([tmp_path / "dump.json"], Report())
    assert whole is not None
    assert objects_of(tmp_path / "cluster-state.yaml") == {k: m.object for k, m in whole.state.objects.items()}
    served = read_served(tmp_path / "cluster-state.yaml", Report())
    assert ("tea.example.com", "Cup", "cups", True, ("v1",)) in [tuple(each)[:5] for each in served]
    assert read_apis("cluster-state.yaml", text, Report()) == served
