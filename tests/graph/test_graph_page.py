"""docs/graph.md shows what the commands on it print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from olmc.cli.main import main
from olmc.review.graph.catalogs import MARKS

PROJECT = Path(__file__).resolve().parent.parent.parent
PAGE = (PROJECT / "docs" / "graph.md").read_text(encoding="utf-8")
DRAWING = re.compile(r"^This is `(olmc [^`]*)`.*?^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```console\n\$ (olmc [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = [*DRAWING.findall(PAGE), *COMMAND.findall(PAGE)]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_is_current(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-CAT-410, as the page tells it."""
    monkeypatch.chdir(PROJECT)
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.stdout == output


def test_the_page_shows_a_drawing_and_ways() -> None:
    assert len(DRAWING.findall(PAGE)) == 1
    assert len(COMMAND.findall(PAGE)) >= 2


def test_the_page_explains_every_mark() -> None:
    explained = {mark for row in re.findall(r"^\| ([a-z, ]+) \|", PAGE, re.MULTILINE) for mark in row.split(", ")}
    assert explained == MARKS.keys()
