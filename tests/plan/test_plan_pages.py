"""docs/platform-upgrade.md and docs/drift.md show what the commands on them print."""

from __future__ import annotations

import pytest
from shown_pages import run_as_shown, shown

PAGES = {"docs/platform-upgrade.md": 3, "docs/drift.md": 2}


@pytest.mark.parametrize(("command", "output"), [pair for page in PAGES for pair in shown(page)])
def test_commands_of_the_page(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_shown(command, output, monkeypatch)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_commands(page: str) -> None:
    assert len(shown(page)) == PAGES[page]
