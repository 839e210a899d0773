"""The workspaces of `fixtures/olmv1`: what the commands print for each is a snapshot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from olmc.cli.main import main

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "olmv1"
WORKSPACES = sorted(path.parent.name for path in FIXTURES.glob("*/extension.yaml"))
COMMANDS = (
    ("check", "--all"),
    ("resolve",),
    ("resolve", "-o", "json"),
    ("status", "-o", "wide"),
    ("why", "ClusterExtension/kettle"),
    ("render", "-o", "yaml"),
    ("render", "-o", "name", "--for", "apply"),
    ("render", "-o", "name", "--olm-version", "v1-experimental"),
)


class TextFile(SingleFileSnapshotExtension):
    """A snapshot is a text of its own, as the commands have printed it."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


@pytest.fixture(autouse=True)
def inside_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are then the same in every checkout."""
    monkeypatch.chdir(FIXTURES)


def run(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all that it prints."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.output


@pytest.mark.parametrize("name", WORKSPACES)
def test_commands(name: str, snapshot: SnapshotAssertion) -> None:
    texts = []
    for command, *options in COMMANDS:
        target = [options.pop(0)] if command == "why" else []
        exit_code, printed = run(command, *target, name, *options)
        shown = " ".join((command, *target, name, *options))
        texts.append(f"$ olmc {shown}\n{printed}exit code {exit_code}\n")
    assert "\n".join(texts) == snapshot


def test_every_workspace_is_explained() -> None:
    for name in WORKSPACES:
        title, blank, *text = (FIXTURES / name / "README.md").read_text(encoding="utf-8").splitlines()
        assert title.startswith("# ") and not blank and text, name


def test_a_workspace_of_olm_v0_needs_nothing_of_v1() -> None:
    """No module of OLM v1 is imported for one, whatever the command."""
    fixture = FIXTURES.parent / "all-namespaces"
    for command in (["render"], ["status"], ["resolve"], ["check"], ["why", "beacon"]):
        code = (
            "import sys\nfrom olmc.cli.main import main\n"
            f"main({[*command, str(fixture)]!r}, standalone_mode=False)\n"
            "loaded = [name for name in sys.modules if name.startswith(('olmc.olmv1', 'olmc.explain.ext'))]\n"
            "sys.stderr.write(repr(loaded))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stderr.endswith("[]"), (command, done.stderr)


def test_catalogs_that_the_cluster_has(tmp_path: Path) -> None:
    """R-V1-CC-3: a folder in catalogs/ stands for a catalog that is there, OpenShift's with their priorities."""
    for name in ("openshift-redhat-operators", "openshift-community-operators", "mine"):
        folder = tmp_path / "catalogs" / name
        folder.mkdir(parents=True)
        source = FIXTURES / "ambiguous" / "catalogs" / "tools" / "catalog.yaml"
        (folder / "catalog.yaml").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    extension = (FIXTURES / "extension" / "extension.yaml").read_text(encoding="utf-8")
    (tmp_path / "extension.yaml").write_text(extension, encoding="utf-8")
    _, printed = run("resolve", str(tmp_path), "-o", "json")
    assert '"catalog": "mine"' in printed
    assert "catalog openshift-community-operators (priority -400)" in printed
