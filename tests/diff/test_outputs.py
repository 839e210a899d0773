"""What the outputs look like, as files: the fixture to be reviewed, and fixtures that have little in common."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from kit import PROJECT
from snapshot_files import FILE_TYPES
from syrupy.assertion import SnapshotAssertion

from olmc.cli.main import main

PAIRS = {
    "an-upgrade": ("review-upgrade/before", "review-upgrade/after"),
    "the-way-back": ("review-upgrade/after", "review-upgrade/before"),
    "the-way-back-fresh": ("review-upgrade/after", "review-upgrade/before", "--fresh"),
    "other-webhooks": ("admission-webhooks", "conversion-webhook"),
    "another-group": ("own-namespace", "all-namespaces"),
}
OUTPUTS = ("text", "markdown", "json")


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", PAIRS)
def test_output(name: str, output: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/diff.md: each in its format."""
    monkeypatch.chdir(PROJECT / "fixtures")
    result = CliRunner().invoke(main, ["diff", *PAIRS[name], "-o", output])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot.use_extension(FILE_TYPES[output])
