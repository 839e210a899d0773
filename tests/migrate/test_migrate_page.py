"""docs/migrate-to-olm-v1.md shows what the commands on it print."""

from __future__ import annotations

import pytest
from shown_pages import run_as_shown, shown

PAGE = "docs/migrate-to-olm-v1.md"


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), shown(PAGE))
def test_page(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_shown(command, output, monkeypatch)


def test_the_page_shows_commands() -> None:
    assert len(shown(PAGE)) >= 4
