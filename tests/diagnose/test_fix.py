"""`olmc fix`: what it changes cures the diagnosis, compiled anew; everything else stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import olmc
from olmc.cli.main import main
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.migration import FileChange
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import applicable, search

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "own-namespace"


def fix(root: Path, *options: str) -> Result:
    """The command, in this process."""
    result = CliRunner().invoke(main, ["fix", *options, str(root)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "workspace"))


def changed(root: Path, old: str, new: str) -> None:
    """Change a text that stands once in the YAML files of a workspace."""
    (path,) = [path for path in root.glob("*.yaml") if old in path.read_text(encoding="utf-8")]
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def phases(root: Path) -> list[str]:
    """The phases of all CSVs, compiled anew."""
    return [phase for phase, _ in olmc.compile(root).phases.values()]


def test_nothing_to_fix(workspace: Path) -> None:
    assert fix(workspace).exit_code == 0


def test_a_channel_is_set_to_one_that_there_is(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel  # the one of production")
    assert phases(workspace) == []
    result = fix(workspace)
    assert (result.exit_code, "Set spec.channel: stable" in result.output) == (0, True), result.output
    assert phases(workspace) == ["Succeeded"]
    text = "".join(path.read_text(encoding="utf-8") for path in workspace.glob("*.yaml"))
    assert "channel: stable  # the one of production" in text


def test_a_dry_run_writes_nothing(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    result = fix(workspace, "--dry-run")
    assert "+  channel: stable" in result.output
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


def test_a_catalog_in_another_namespace(workspace: Path) -> None:
    changed(workspace, "sourceNamespace: olm", "sourceNamespace: catalogs")
    assert fix(workspace).exit_code == 0
    assert phases(workspace) == ["Succeeded"]


def test_changes_are_applied_together_if_all_still_help(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    request = CompileRequest(workspace)
    done = olmc.compile(workspace)
    tried = search(request, done, diagnose(scene_of(done)))
    (remedy,) = tried.proven()
    other = remedy._replace(changes=(FileChange("other.yaml", "", "kind: Other\n"),))
    assert applicable(request, done, (remedy, other)) == (remedy, other)
    same_file = remedy._replace(changes=tuple(change._replace(after=change.before) for change in remedy.changes))
    assert applicable(request, done, (remedy, same_file)) == (remedy,)
    (csv,) = workspace.glob("bundles/*/manifests/*clusterserviceversion.yaml")
    text = csv.read_text(encoding="utf-8")
    assert "strategy: deployment" in text
    broken = text.replace("strategy: deployment", "strategy: other")
    harmful = remedy._replace(changes=(FileChange(csv.relative_to(workspace).as_posix(), text, broken),))
    assert applicable(request, done, (remedy, harmful)) == (remedy,)


def test_a_file_behind_a_link_is_left_alone(workspace: Path) -> None:
    """An absolute link in the copy of a workspace leads to the workspace itself."""
    changed(workspace, "channel: stable", "channel: stabel")
    (path,) = [path for path in workspace.glob("*.yaml") if "stabel" in path.read_text(encoding="utf-8")]
    hidden = workspace / "files" / path.name
    hidden.parent.mkdir()
    path.rename(hidden)
    (workspace / ".olmcignore").write_text("/files/\n", encoding="utf-8")
    path.symlink_to(hidden)
    before = hidden.stat().st_mtime_ns
    result = fix(workspace)
    assert (result.exit_code, "does not help" in result.output) == (1, False)
    assert hidden.stat().st_mtime_ns == before  # it was not even written for a trial
    assert path.is_symlink()


def test_select_leaves_other_diagnoses_alone(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    assert fix(workspace, "--select", "OLMC301").exit_code == 0
    assert phases(workspace) == []


def test_a_secret_that_nothing_creates_is_diagnosed(workspace: Path) -> None:
    (csv,) = workspace.glob("bundles/*/manifests/*clusterserviceversion.yaml")
    text = csv.read_text(encoding="utf-8")
    mounted = text.replace(
        "containers:\n", "volumes: [{name: token, secret: {secretName: beacon-token}}]\n__containers:\n", 1
    )
    indent = text[: text.index("containers:\n")].rpartition("\n")[2]
    mounted = mounted.replace("__containers:\n", f"{indent}containers:\n")
    first = mounted.index("- name:", mounted.index("containers:\n"))
    line = mounted[mounted.rindex("\n", 0, first) + 1 : first]
    end = mounted.index("\n", first) + 1
    csv.write_text(
        f"{mounted[:end]}{line}  volumeMounts: [{{name: token, mountPath: /token}}]\n{mounted[end:]}", encoding="utf-8"
    )
    found = [each.finding for each in diagnose(scene_of(olmc.compile(workspace)))]
    assert [finding.code for finding in found] == ["OLMC810"], found
    assert "Secret beacon-token" in found[0].message
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: beacon-token, namespace: harbour}\n"
    with (workspace / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write(secret)
    assert diagnose(scene_of(olmc.compile(workspace))) == ()
