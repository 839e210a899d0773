"""The pictures of the docs are made of what olmc prints today."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT: dict[str, Any] = run_path(str(PROJECT / "docs" / "pictures.py"))


@pytest.mark.process
@pytest.mark.parametrize("name", SCRIPT["TABLE"])
def test_a_picture_is_of_today(name: str, tmp_path: Path) -> None:
    """If not, `make pictures` makes it again."""
    digests = json.loads((PROJECT / "docs" / "pictures" / "sources.json").read_text(encoding="utf-8"))
    text = SCRIPT["source_of"](SCRIPT["TABLE"][name], [sys.executable, "-m", "olmc"], tmp_path / "site")
    assert SCRIPT["digest"](text) == digests[name]


@pytest.mark.process
@pytest.mark.parametrize("name", [name for name, picture in SCRIPT["TABLE"].items() if picture.command.endswith("svg")])
def test_a_drawing_is_shown_whole(name: str, tmp_path: Path) -> None:
    picture = SCRIPT["TABLE"][name]
    text = SCRIPT["source_of"](picture, [sys.executable, "-m", "olmc"], tmp_path / "site")
    assert f'width="{picture.width}" height="{picture.height}"' in text


def test_every_picture_is_in_the_table_and_on_a_page() -> None:
    pictures = {path.name for path in (PROJECT / "docs" / "pictures").glob("*.png")}
    assert pictures == {file for name in SCRIPT["TABLE"] for file in SCRIPT["in_schemes"](name)}
    pages = [*(PROJECT / "docs").glob("*.md"), PROJECT / "README.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in SCRIPT["TABLE"] if f"pictures/{name})" not in text] == []
