"""A name of a file is a text in every output, and no name ends a command."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from commands import olmc

# Control characters, and what turns the direction of text.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"^\s*::[A-Za-z][\w-]*(\s[^:]*)?::|##(vso)?\[", re.MULTILINE)
ANNOTATION = re.compile(
    r"::(?:error|warning|notice) ((?:file|line|col|title)=[^,:]*)(?:,(?:file|line|col|title)=[^,:]*)*::"
)
NAMES = (
    b"\x1b[31mx\x1b[2J", b"a\n::error file=x::owned\nb", b"::warning::x", "r\u202egnp.\u2066x".encode(), b"bad\xff\xfe",
    b"a,line=9,col=1::own%0A%0D", b"<img src=x onerror=alert(1)>", b"](javascript:alert(1)) @octocat #1 `|`",
    b"##[error]x", b"##vso[task.x]", "l\u2028\u0085".encode(), b"$(touch x);`id`", b"-rf", b"[x](http:e) ![i](http:e)",
)  # fmt: skip
OBJECTS = """\
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: other%(number)d, namespace: pier}
spec: {bogus: 1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: evil%(number)d}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]
"""
COMMANDS = (
    "check w", "check w -o json", "check w -o github", "check w -o sarif", "check w -o junit", "diff e w",
    "diff e w -o markdown", "diff e w -o html", "plan w --from e -o markdown", "status w", "rbac w", "render w -o name",
    "fix w --dry-run", "vendor w --check", "resolve w", "graph beacon w", "migrate w --to olm-v1 --dry-run",
)  # fmt: skip


def put(root: Path, kind: str, name: bytes, number: int) -> None:
    """Put something with that name into a workspace."""
    text = os.fsdecode(name)
    objects = OBJECTS % {"number": number}
    if kind == "file":
        (root / f"{text}.yaml").write_text(objects)
    elif kind == "file that is no YAML":
        (root / f"{text}.yaml").write_text("a: [\n")
    elif kind == "bundle":
        shutil.copytree(root / "bundles/beacon-1.0.0", root / "bundles" / text)
        (root / "bundles" / text / "manifests" / f"{text}.yaml").write_text("kind: x\n")
    elif kind == "catalog":
        shutil.copytree(root / "catalogs/harbour", root / "catalogs" / text)
    elif kind == "kustomization":
        (root / text).mkdir()
        (root / text / "kustomization.yaml").write_text("resources: [x.yaml]\ncommonLabels: {a: 1}\n")
        (root / text / "x.yaml").write_text(objects)
    elif kind == "file of a tool":
        (root / text).mkdir()
        for file in (".argocd-source.yaml", "Chart.yaml", "Kptfile", "x.jsonnet", "values.yaml"):
            (root / text / file).write_text("a: 1\n")
    else:
        (root / f"{text}.yaml").symlink_to("/etc/passwd")
        (root / f"x{text}").symlink_to(text)


KINDS = ("file", "file that is no YAML", "bundle", "catalog", "kustomization", "file of a tool", "link")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_is_a_text(kind: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(project / "fixtures/own-namespace", tmp_path / "w")
    shutil.copytree(project / "fixtures/own-namespace", tmp_path / "e")
    for number, name in enumerate(NAMES):
        put(tmp_path / "w", kind, name, number)
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        done = olmc(*command.split())
        assert done.exit_code in (0, 1, 2, 3), command
        for text in (done.stdout, done.stderr):
            unsafe = UNSAFE.search(text)
            assert unsafe is None, (command, text[max(0, unsafe.start() - 80) : unsafe.end() + 20])
            assert "github" in command or COMMAND.search(text) is None, command
        check_format(command, done.stdout, done.stderr)


def check_format(command: str, out: str, err: str) -> None:
    """That an output is what its format asks for."""
    if command.endswith("github"):
        for line in (out + err).splitlines():
            assert not line.lstrip().startswith("::") or ANNOTATION.match(line), line
    if command.endswith(("json", "sarif")):
        json.loads(out)
    if command.endswith("junit"):
        ET.fromstring(out)
    if command.endswith(("markdown", "html")):
        assert "<img src=x" not in out
    if command.endswith("markdown"):
        assert "![i](" not in out
        assert not re.search(r"(?<![`\w\u200b])@octocat", re.sub(r"`+[^`\n]*`+", "", out))


def test_a_catalog_with_a_name_that_is_not_utf8_is_read(project: Path, tmp_path: Path) -> None:
    """The names of its files are in the order of their bytes."""
    root = shutil.copytree(project / "fixtures/own-namespace", tmp_path / "w")
    put(root, "catalog", b"bad\xff", 0)
    assert olmc("check", root).exit_code in (0, 1)
