"""A review sees the objects that a cluster gets: of documents that Kubernetes splits in another way, and of several
definitions of one object."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olmc.cli.main import main
from olmc.k8s.objects import masked, redacted

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"
ADMIN = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: crew}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: crew, namespace: harbour}]
"""
VIEW = ADMIN.replace("cluster-admin", "view")
LATER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes, namespace: harbour}\n"
VALUE = "hunter2-of-the-harbour"
SECRET = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: key, namespace: harbour}}\nstringData: {{token: {VALUE}}}\n"

MARKS = [
    "---#x: y\n", "---# c\n", "---\u00a0#x: y\n", "---\u2003# c: d\n", "---\v\n", "---\f# c\n", "--- \u00a0\n",
    "--- text\n", "--- {}\n", "---\r#x\r---\r\n", "----\n", "---\t\u3000#x: y\n", "--- # c\u2028x: y\n",
]  # fmt: skip
HIDDEN = [
    "\r---\r", "\x85---\x85", "\u2028---\u2028", "...\n", "...\r\n%YAML 1.1\n---\n", "\ufeff---\n",
]  # fmt: skip


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


CSV = """\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: kettle.v1.0.0}
spec:
  version: 1.0.0
  installModes: [{type: OwnNamespace, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
"""
ANNOTATIONS = """\
annotations:
  operators.operatorframework.io.bundle.package.v1: kettle
  operators.operatorframework.io.bundle.channels.v1: stable
"""
CATALOG = """\
schema: olm.package
name: kettle
defaultChannel: stable
---
schema: olm.channel
package: kettle
name: stable
entries: [{name: kettle.v1.0.0}]
"""
OLM_BUNDLE = """\
schema: olm.bundle
package: kettle
name: kettle.v1.0.0
image: registry.example.com/kettle:v1.0.0
properties: [{type: olm.package, value: {packageName: kettle, version: 1.0.0}}]
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    return folder


def sides(folder: Path, before: dict[str, str], after: dict[str, str]) -> tuple[Path, Path]:
    return write(folder / "old", before), write(folder / "new", after)


def streams() -> list[str]:
    """Streams of which Kubernetes makes the binding, while YAML makes something else of it, or the other way round."""
    return [f"{ADMIN}{mark}{LATER}" for mark in MARKS] + [f"{LATER[:-1]}{mark}{ADMIN}" for mark in HIDDEN]


@pytest.mark.parametrize("stream", streams(), ids=map(ascii, MARKS + HIDDEN))
@pytest.mark.parametrize("command", ["diff", "plan", "rbac", "check", "render", "status"])
def test_no_command_takes_a_stream_for_less_than_it_is(command: str, stream: str, tmp_path: Path) -> None:
    old, new = sides(tmp_path, {"a.yaml": NAMESPACE}, {"a.yaml": NAMESPACE, "b.yaml": stream})
    words: tuple[str | Path, ...] = {"diff": (old, new), "plan": ("--from", old, new)}.get(command, (new,))
    done = run(command, *words)
    assert done.exit_code != 0
    assert "OLMC1" in done.output
    assert f"{new.name}/b.yaml:" in done.output


@pytest.mark.parametrize("mark", [mark for mark in MARKS if "text" not in mark and "{}" not in mark])
def test_escapes_in_keys_hide_no_document(mark: str, tmp_path: Path) -> None:
    """Neither the keys nor the kind need to stand in the text."""
    hidden = "".join(f'"\\x{ord(line[0]):02x}{line[1:]}'.replace(":", '":', 1) + "\n" for line in ADMIN.splitlines())
    texts = [f"x: |\n  y\n{mark}{hidden}{mark}z: w\n", f'x: "y\n{mark}{hidden}{mark}"\n']
    for number, text in enumerate(texts):
        old, new = sides(tmp_path / str(number), {"a.yaml": NAMESPACE}, {"a.yaml": NAMESPACE, "b.yaml": text})
        done = run("diff", old, new)
        assert done.exit_code != 0, text
        assert "b.yaml" in done.output


@pytest.mark.parametrize("mark", MARKS)
def test_a_state_and_a_stream_are_split_alike(mark: str, tmp_path: Path) -> None:
    old, new = sides(tmp_path, {"state.yaml": f"{NAMESPACE}{mark}{LATER}"}, {"a.yaml": NAMESPACE})
    assert run("plan", "--from", old / "state.yaml", new).exit_code == 3
    stream = f"{NAMESPACE}{mark}{ADMIN}"
    done = CliRunner().invoke(main, ["diff", str(new), "-"], input=stream.encode())
    assert done.exit_code == 3, done.output


@pytest.mark.parametrize("mark", MARKS[:6])
def test_a_bundle_and_a_catalog_are_split_alike(mark: str, tmp_path: Path) -> None:
    other = CSV.replace("spec:", "spec: # another")
    files = {"metadata/annotations.yaml": ANNOTATIONS, "manifests/csv.yaml": CSV + mark + other}
    done = run("check", write(tmp_path / "bundle", files))
    assert done.exit_code != 0
    assert "csv.yaml" in done.output
    catalog = f"{CATALOG}---\n{OLM_BUNDLE}"
    assert run("check", write(tmp_path / "good", {"catalogs/fleet/a.yaml": catalog})).exit_code == 0
    done = run("check", write(tmp_path / "bad", {"catalogs/fleet/a.yaml": catalog + mark + OLM_BUNDLE}))
    assert done.exit_code != 0
    assert "a.yaml" in done.output


@pytest.mark.parametrize("mark", MARKS + HIDDEN)
def test_values_of_a_secret_behind_a_mark_are_not_printed(mark: str, tmp_path: Path) -> None:
    changed = SECRET.replace(VALUE, f"{VALUE}-2")
    for number, (before, after) in enumerate(((LATER + mark, ""), ("", mark + LATER))):
        old, new = sides(
            tmp_path / str(number), {"a.yaml": before + SECRET + after}, {"a.yaml": before + changed + after}
        )
        for words in (("diff", old, new), ("check", "--all", new), ("plan", "--from", old, new), ("render", new)):
            assert VALUE not in run(*words).output


# Paths of the definition that counts: its folder or its file comes later in the order of filepath.Walk.
ORDERS = [
    ("z.yaml", "a/x.yaml"), ("b.yaml", "A/x.yaml"), ("a.yaml", "a-b/x.yaml"), ("m/b.yaml", "m/a/z/x.yaml"),
    ("deploy.yaml", "Deploy/x.yaml"), ("a/b.yaml", "a.yaml"[:1] + "/a/x.yaml"), ("é.yaml", "z/x.yaml"),
]  # fmt: skip


@pytest.mark.parametrize(("last", "first"), ORDERS)
def test_the_last_definition_in_the_order_of_kubectl_counts(last: str, first: str, tmp_path: Path) -> None:
    old, new = sides(tmp_path, {last: NAMESPACE + "---\n" + VIEW}, {last: NAMESPACE + "---\n" + ADMIN, first: VIEW})
    done = run("diff", old, new, "-o", "json")
    changes = json.loads(done.stdout)["changes"]
    assert any(each["severity"] == "risk" and "crew" in str(each["object"]) for each in changes), done.output
    assert [each["object"]["name"] for each in changes if each["kind"] == "LeftOutAdded"] == [first]
    plan = run("plan", "--from", old, new, "--fail-on", "risk")
    assert plan.exit_code == 1
    assert f"File/{first}" in plan.output
    rbac = run("rbac", new, "--fail-on", "critical")
    assert rbac.exit_code == 1
    assert "is defined twice" in rbac.output
    check = run("check", new)
    assert "OLMC127" in check.output


@pytest.mark.parametrize(("last", "first"), ORDERS)
def test_definitions_that_are_the_same_are_no_risk(last: str, first: str, tmp_path: Path) -> None:
    old, new = sides(tmp_path, {last: NAMESPACE + "---\n" + VIEW}, {last: NAMESPACE + "---\n" + VIEW, first: VIEW})
    assert run("diff", old, new).exit_code == 0
    assert run("rbac", new, "--fail-on", "high").exit_code == 0


def test_definitions_in_the_default_namespace_are_of_one_object(tmp_path: Path) -> None:
    place, there = "metadata: {name: notes", "metadata: {name: notes, namespace: harbour"
    first = LATER.replace(there, place) + "data: {a: b}\n"
    old, new = sides(
        tmp_path, {"b.yaml": NAMESPACE + "---\n" + LATER}, {"b.yaml": NAMESPACE + "---\n" + LATER, "a.yaml": first}
    )
    done = run("diff", "--exit-code", "--namespace", "harbour", old, new)
    assert done.exit_code == 1, done.output
    assert "ConfigMap/harbour/notes" in done.output or "ConfigMap/notes" in done.output


@pytest.mark.parametrize(
    ("api_version", "kind"),
    list(
        product(
            ["v1", "v2", "v1beta1", "", "core/v1", "example.com/v1", "secrets.example.com/v1alpha1"],
            ["Secret", "secret"],
        )
    ),
)
def test_a_secret_of_any_version_shows_no_value(api_version: str, kind: str) -> None:
    for field in ("data", "stringData", "spec", "stringdata"):
        secret = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, field: {"token": VALUE}}
        for holder in (secret, {"kind": "List", "items": [secret]}, {"kind": "Holder", "spec": {"object": secret}}):
            assert VALUE not in json.dumps(redacted(holder))
            other = json.loads(json.dumps(holder).replace(VALUE, f"{VALUE}-2"))
            assert VALUE not in json.dumps(masked(holder, other))
