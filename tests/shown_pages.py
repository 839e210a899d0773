"""Pages of the documentation: the commands on them, and whether these print what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from olmc.cli.main import main

PROJECT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(page: str) -> list[tuple[str, str]]:
    """The commands of a page and the output that it shows for each."""
    blocks = _BLOCK.findall((PROJECT / page).read_text(encoding="utf-8"))
    return [pair for block in blocks for pair in shown_in(block)]


def shown_in(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a block and the output that it shows for each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def is_as_shown(output: str, printed: str) -> bool:
    """Whether a command has printed what a page shows, where a line `...` stands for any number of lines."""
    lines = [r"(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in output.splitlines()]
    return re.fullmatch("".join(lines), printed) is not None


def run_as_shown(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a command in the checkout and holds what it prints against what a page shows."""
    monkeypatch.chdir(PROJECT)
    program, *arguments = shlex.split(command)
    assert program == "olmc"
    result = CliRunner().invoke(main, arguments)
    assert is_as_shown(output, result.output), result.output
