"""Every workspace of `fixtures/`, rendered as a user would; output, exit code and messages are snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from snapshot_files import YAMLFile
from syrupy.assertion import SnapshotAssertion

from olmc.cli.main import main

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WORKSPACES = sorted(
    path.name
    for path in FIXTURES.iterdir()
    if path.is_dir() and path.name not in ("fleet", "olmv1", "repos", "transitions")
)

# Workspaces that hold workspaces: rendered side by side.
SEVERAL = {"review-upgrade": ("before", "after"), "several-workspaces": ("production", "staging")}

# Rendered for use without OLM as well, with what else is asked for.
FOR_APPLY = {
    "admission-webhooks": ("--certs", "cert-manager"),
    "all-namespaces": (),
    "bare-bundle": ("--watch", "lighthouse"),
    "bundle-objects": (),
    "conversion-webhook": ("--certs", "service-ca"),
    "own-namespace": (),
    "owned-apiservice": ("--certs", "none"),
    "single-namespace": (),
    "subscription-config": (),
}


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(YAMLFile)


@pytest.fixture(autouse=True)
def inside_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are then the same in every checkout."""
    monkeypatch.chdir(FIXTURES)


def rendered(name: str, *options: str) -> str:
    """What `olmc render` prints for a workspace; exit code and messages follow as comments."""
    paths = [f"{name}/{part}" for part in SEVERAL[name]] if name in SEVERAL else [name]
    result = CliRunner().invoke(main, ["render", *paths, "-o", "yaml", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    talk = [f"exit code {result.exit_code}", *result.stderr.splitlines()]
    return result.stdout + "".join(f"# {line}".rstrip() + "\n" for line in talk)


@pytest.mark.parametrize("name", WORKSPACES)
def test_review(name: str, snapshot: SnapshotAssertion) -> None:
    """What OLM would leave in the cluster."""
    assert rendered(name) == snapshot


@pytest.mark.parametrize("name", FOR_APPLY)
def test_apply(name: str, snapshot: SnapshotAssertion) -> None:
    """What does the same without OLM."""
    assert rendered(name, "--for", "apply", *FOR_APPLY[name]) == snapshot


def test_every_workspace_is_explained() -> None:
    """Each has a README with a title and what to see, and the list of all has its title."""
    index = (FIXTURES / "README.md").read_text(encoding="utf-8")
    for name in WORKSPACES:
        title, blank, *text = (FIXTURES / name / "README.md").read_text(encoding="utf-8").splitlines()
        assert title.startswith("# "), name
        assert blank == "", name
        assert text, name
        assert f"| [{name}]({name}) | {title.removeprefix('# ')} |" in index, name
