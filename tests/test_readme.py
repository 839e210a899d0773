"""The README's commands give what the README shows, and so do those of the pages about commands."""

from __future__ import annotations

import pytest
from shown_pages import run_as_shown, shown

PAGES = (
    "README.md", "docs/check.md", "docs/command-line.md", "docs/diff.md", "docs/fleet.md", "docs/operator-groups.md",
    "docs/plan.md", "docs/report.md", "docs/resolve.md", "docs/review.md", "docs/spec/README.md",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), [pair for page in PAGES for pair in shown(page)])
def test_commands_of_the_readme(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_shown(command, output, monkeypatch)


def test_the_readme_shows_commands() -> None:
    assert len(shown("README.md")) >= 3
