"""What a stranger calls things: refused where the API server refuses it, and printed so that nobody takes it for
something else, neither a terminal, nor a reader, nor a CI system."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from commands import olmc

HOSTILE = "::error title=owned::x\x1b[2J\u202egnp.\u2066\x9b31m\u2028\r##[error] ##vso[task.setvariable]"
AS_YAML = '"::error title=owned::x\\e[2J\\u202egnp.\\u2066\\x9b31m\\u2028\\r##[error] ##vso[task.setvariable]"'
# Control characters, and what turns the direction of text; the escapes of YAML and JSON are neither.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"^\s*::[A-Za-z][\w-]*(\s[^:]*)?::|##(vso)?\[", re.MULTILINE)

OBJECT = "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: harbour}}\n"
HOSTILE_NAME = '"x\\n::error title=owned::\\e[2J\\u202e"'


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("metadata.name", {"name": HOSTILE_NAME}),
        ("metadata.name", {"name": HOSTILE_NAME, "api": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}),
        ("metadata.name", {"name": HOSTILE_NAME, "api": "batch/v1", "kind": "Job"}),
        ("metadata.name", {"name": "Upper", "api": "batch/v1", "kind": "Job"}),
        ("metadata.name", {"name": "a_b", "api": "networking.k8s.io/v1", "kind": "NetworkPolicy"}),
        ("metadata.name", {"name": '"a/b"', "api": "rbac.authorization.k8s.io/v1", "kind": "Role"}),
        ("kind", {"kind": HOSTILE_NAME}),
        ("kind", {"kind": "My_Widget"}),
        ("apiVersion", {"api": '"acme\\n::error::.example.com/v1"'}),
        ("apiVersion", {"api": '"acme.example.com/V1\\u202e"'}),
    ],
)
def test_a_name_that_the_api_server_refuses_reaches_no_output(
    field: str, given: dict[str, str], tmp_path: Path
) -> None:
    text = OBJECT.format(**({"api": "acme.example.com/v1", "kind": "Widget", "name": "ok"} | given))
    (tmp_path / "all.yaml").write_text(f"{OBJECT.format(api='v1', kind='ConfigMap', name='kept')}---\n{text}")
    for output in ("yaml", "json", "name"):
        done = olmc("render", tmp_path, "-o", output, "--for", "apply", "--keep-going")
        assert f"would be refused: {field}: Invalid value" in done.stderr
        assert "kept" in done.stdout
        assert not UNSAFE.search(done.stdout + done.stderr)
        assert not COMMAND.search(done.stdout + done.stderr)
        assert "owned" not in done.stdout


@pytest.mark.parametrize(
    ("api", "kind", "name"),
    [
        ("rbac.authorization.k8s.io/v1", "Role", '"system:a:b C"'),
        ("user.openshift.io/v1", "Identity", '"htpasswd:jane"'),
        ("acme.example.com/v1", "Widget", "a.b-c"),
        ("v1", "ConfigMap", "a.b"),
    ],
)
def test_a_name_that_the_api_server_takes_is_one(api: str, kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(OBJECT.format(api=api, kind=kind, name=name))
    done = olmc("render", tmp_path, "-o", "name")
    assert "refused" not in done.stderr
    assert done.stdout.endswith(f"/{name.strip(chr(34))}\n")


def hostile(folder: Path, project: Path) -> Path:
    """A workspace in which everything that the API server leaves free has such a name or text."""
    root = shutil.copytree(project / "fixtures" / "own-namespace", folder / "w")
    role = OBJECT.format(api="rbac.authorization.k8s.io/v1", kind="Role", name=AS_YAML)
    config = OBJECT.format(api="v1", kind="ConfigMap", name="kept") + f"data: {{{AS_YAML}: {AS_YAML}}}\n"
    other = OBJECT.format(api="operators.coreos.com/v1alpha1", kind="Subscription", name="other")
    other += f"spec: {{name: {AS_YAML}, source: {AS_YAML}, sourceNamespace: olm, channel: {AS_YAML}}}\n"
    (root / "more.yaml").write_text(f"{role}rules: []\n---\n{config}---\n{other}", encoding="utf-8")
    catalog = root / "catalogs/harbour/catalog.yaml"
    text = catalog.read_text(encoding="utf-8")
    channel = f"schema: olm.channel\npackage: beacon\nname: {AS_YAML}\nentries: [{{name: beacon.v1.0.0}}]\n"
    catalog.write_text(f"{text}\n---\n{channel}", encoding="utf-8")
    for csv in root.rglob("*.clusterserviceversion.yaml"):
        text = csv.read_text(encoding="utf-8")
        csv.write_text(re.sub(r"(?m)^  displayName: .*$", lambda _: f"  displayName: {AS_YAML}", text))
    return root


@pytest.mark.parametrize(
    "command",
    [
        "render -o name", "render -o yaml", "render -o json", "check", "check -v", "check -o json", "check -o sarif",
        "check -o junit", "check --statistics", "resolve", "resolve -o json", "status", "status -o json",
        "status -o prometheus", "get packagemanifests -n harbour", "get operators -n harbour", "rbac", "rbac -o json",
        "graph beacon --catalog harbour", "graph beacon --catalog harbour -o dot",
        "graph beacon --catalog harbour -o svg", "graph beacon --catalog harbour -o json", "diff EMPTY",
        "diff EMPTY -o markdown", "diff EMPTY -o html", "diff EMPTY -o json", "plan --from EMPTY",
        "plan --from EMPTY -o markdown", "plan --from EMPTY -o html", "plan --from EMPTY -o json", "vendor --check",
        "graph beacon", "graph beacon --catalog harbour --from 1.0.0",
    ],
)  # fmt: skip
def test_no_output_has_what_is_not_meant_for_it(command: str, tmp_path: Path, project: Path) -> None:
    root = hostile(tmp_path, project)
    if command == "graph beacon":  # so that it has to ask which
        shutil.copytree(root / "catalogs/harbour", root / "catalogs" / HOSTILE.replace("\r", ""))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/a.yaml").write_text("{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, "
                                           "metadata: {name: a, namespace: b}}\n")  # fmt: skip
    name, *arguments = command.replace("EMPTY", str(tmp_path / "empty")).split()
    done = olmc(name, *arguments, root)
    assert done.exit_code in (0, 1, 3) or command == "graph beacon", done.stderr
    for text in (done.stdout, done.stderr):
        unsafe = UNSAFE.search(text)
        assert unsafe is None, text[max(0, unsafe.start() - 80) : unsafe.end() + 20]
        meant = COMMAND.search(text)
        assert meant is None or (name, *arguments) == ("render", "-o", "yaml"), meant
