"""Compare the pages about plans with the output of the commands on them."""

from __future__ import annotations

import pytest
from shown_pages import run_as_shown, shown

PAGES = {"docs/platform-upgrade.md": 3, "docs/cluster-state.md": 5}


@pytest.mark.parametrize(("command", "output"), [pair for page in PAGES for pair in shown(page)])
def test_commands_of_the_page(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_shown(command, output, monkeypatch)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_commands(page: str) -> None:
    assert len(shown(page)) == PAGES[page]
