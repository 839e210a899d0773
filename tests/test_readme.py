"""The README's commands give what the README shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from olmc.cli.main import main

PROJECT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("README.md", "docs/check.md", "docs/command-line.md", "docs/diff.md", "docs/resolve.md", "docs/review.md")


def shown(page: str) -> list[tuple[str, str]]:
    """The commands of a page and the output that it shows for each."""
    found = []
    for block in BLOCK.findall((PROJECT / page).read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def as_pattern(output: str) -> str:
    """A line `...` stands for any number of lines."""
    lines = [".*?" if line == "..." else re.escape(line) + "\n" for line in output.splitlines()]
    return "".join(lines) + r"\Z"


@pytest.mark.parametrize(("command", "output"), [pair for page in PAGES for pair in shown(page)])
def test_commands_of_the_readme(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_shown(command, output, monkeypatch)


def run_as_shown(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a command in the checkout and holds what it prints against what a page shows."""
    monkeypatch.chdir(PROJECT)
    program, *arguments = shlex.split(command)
    assert program == "olmc"
    result = CliRunner().invoke(main, arguments)
    assert re.match(as_pattern(output), result.output, re.DOTALL), result.output


def test_the_readme_shows_commands() -> None:
    assert len(shown("README.md")) >= 3
