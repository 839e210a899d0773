"""The first commands that a person would type in a repository with a base and overlays, and what they print."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import as_typed, clone_repository, git, olmc
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion

COMMANDS = {
    "check": ("check",),
    "check-entry": ("check", "--entry", "operators-prod"),
    "check-overlay": ("check", "overlays/test"),
    "render": ("render", "overlays/prod", "--include", "Subscription"),
    "diff-overlays": ("diff", "overlays/test", "overlays/prod"),
    "diff-root": ("diff", "git:HEAD", "."),
}
needs_tool = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)


@pytest.fixture
def repository(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the fixture, with one commit."""
    root = clone_repository(project / "fixtures" / "repos" / "kustomize", tmp_path / "clusters")
    monkeypatch.chdir(root)
    return root


@needs_tool
@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", COMMANDS)
def test_first_commands(name: str, snapshot: SnapshotAssertion) -> None:
    assert as_typed(*COMMANDS[name]) == snapshot.use_extension(TextFile)


@pytest.mark.slow
@needs_tool
def test_a_change_of_the_base_changes_the_overlays(repository: Path) -> None:
    """Both sides are built with the base of their own revision, in the work tree and in git."""
    for path, old, new in (("base/beacon.yaml", "olm\n", "olm\n  startingCSV: beacon.v1.0.0\n"),
                           ("components/reviewed/kustomization.yaml", "Manual", "Automatic")):  # fmt: skip
        file = repository / path
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    expected = ["installPlanApproval: Manual → Automatic  [risk]", "startingCSV: none → beacon.v1.0.0"]
    in_work_tree = olmc("diff", "git:HEAD", "overlays/prod").stdout
    assert all(line in in_work_tree for line in expected)
    assert "installPlanApproval" not in olmc("diff", "git:HEAD", "overlays/test").stdout
    git("commit", "--quiet", "--all", "--message", "start", cwd=repository)
    in_git = olmc("diff", "git:HEAD~1:overlays/prod", "git:HEAD:overlays/prod").stdout
    assert in_git.splitlines()[2:] == in_work_tree.splitlines()[2:]  # both sides are named before
    assert olmc("diff", "git:HEAD", "overlays/prod").exit_code == 0


@needs_tool
def test_a_stream_is_compared_with_a_folder(repository: Path) -> None:
    base = {path.name: path.read_text(encoding="utf-8") for path in (repository / "base").iterdir()}
    stream = "---\n".join(base[name] for name in ("namespace.yaml", "group.yaml", "beacon.yaml"))
    done = olmc("diff", "overlays/test", "-", stdin=stream)
    assert "~ channel: fast → set-by-overlays" in done.stdout
    assert done.stdout == olmc("diff", "git:HEAD:overlays/test", "-", stdin=stream).stdout.replace("git:HEAD:", "")
    assert olmc("diff", "-", "-").exit_code == 2


@needs_tool
def test_a_base_outside_of_the_repository_is_not_read_for_git_either(repository: Path) -> None:
    for name in ("overlays/test", "../elsewhere"):
        (repository / name).mkdir(exist_ok=True)
    (repository / "../elsewhere/kustomization.yaml").write_text("resources: []\n", encoding="utf-8")
    overlay = repository / "overlays/test/kustomization.yaml"
    overlay.write_text("resources: [../../../elsewhere]\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "outside", cwd=repository)
    for side in ("overlays/test", "git:HEAD:overlays/test"):
        done = olmc("diff", "overlays/prod", side)
        assert (done.exit_code, "OLMC192" in done.stderr) == (3, True)


@needs_tool
def test_a_pin_in_an_overlay_is_a_patch(repository: Path) -> None:
    """No file has the Subscription as it is applied, so none is edited."""
    catalogs = repository / "overlays/test/catalogs/harbour"
    catalogs.mkdir(parents=True)
    (catalogs / "beacon.yaml").write_text(
        "schema: olm.package\nname: beacon\ndefaultChannel: fast\n---\n"
        "schema: olm.channel\npackage: beacon\nname: fast\nentries:\n- name: beacon.v1.0.0\n---\n"
        "schema: olm.bundle\npackage: beacon\nname: beacon.v1.0.0\nimage: registry.example.com/beacon:v1\n"
        "properties:\n- type: olm.package\n  value: {packageName: beacon, version: 1.0.0}\n"
    )
    done = olmc("resolve", "overlays/test", "--pin", "beacon=1.0.0")
    assert done.exit_code == 3
    assert "its Subscription is built by kustomize, and no file has it as it is applied [OLMC533]" in done.stderr
    assert "- {op: add, path: /spec/startingCSV, value: beacon.v1.0.0}" in done.stderr


@needs_tool
def test_what_a_new_subscription_installs_is_unknown_without_its_catalog(repository: Path) -> None:
    """It is not gone, and breaks nothing."""
    (repository / "base/tea.yaml").write_text(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: tea, namespace: harbour}\n"
        "spec: {name: tea, channel: stable, source: harbour, sourceNamespace: olm}\n"
    )
    kustomization = repository / "base/kustomization.yaml"
    kustomization.write_text(kustomization.read_text(encoding="utf-8").rstrip() + "\n- tea.yaml\n", encoding="utf-8")
    said = olmc("diff", "git:HEAD", "overlays/prod").stdout
    assert "what it installs is unknown: the workspace has no content of catalog harbour" in said
    assert "can't be resolved any more" not in said
    assert "[breaking]" not in said


@needs_tool
@pytest.mark.process
def test_an_entry_that_is_left_out_is_unknown(repository: Path) -> None:
    """Its Subscriptions are unknown; an entry without any asks for nothing."""
    (repository / "overlays/test/kustomization.yaml").write_text(
        "resources: [../../base, gone.yaml]\n", encoding="utf-8"
    )
    done = olmc("resolve", ".")
    assert "== overlays/test\nunknown, because olmc leaves it out\n" in done.stdout
    assert "nothing here asks for an operator" not in done.stdout
    assert done.exit_code == 1
