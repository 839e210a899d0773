"""Each help fits a screen: 80 columns, and 50 lines of a short one."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from olmc.cli.main import main

_LINES, _COLUMNS = 50, 80


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of each command, also of those below others."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from commands(below, (*words, name))


@pytest.mark.slow
@pytest.mark.parametrize("words", list(commands(main)), ids=" ".join)
def test_a_help_fits_a_screen(words: tuple[str, ...]) -> None:
    for option in ("--help", "--help-all"):
        if not words and option == "--help-all":
            continue
        lines = CliRunner().invoke(main, [*words, option], terminal_width=_COLUMNS).output.splitlines()
        assert [line for line in lines if len(line) > _COLUMNS] == []
        assert option == "--help-all" or len(lines) <= _LINES


def test_a_short_help_has_the_options_that_are_used_most() -> None:
    short = CliRunner().invoke(main, ["plan", "--help"]).output
    shown = [option for option in ("--from", "--output", "--fail-on", "--exit-code", "--entry") if option in short]
    assert len(shown) == 5
    assert sum(line.startswith("  -") for line in short.splitlines()) == 10
    assert "more options: olmc plan --help-all" in short.replace("main ", "olmc ")


def test_an_error_names_no_old_option() -> None:
    assert "Missing option '--output-dir'." in CliRunner().invoke(main, ["report"]).output
