"""A command is a class of options and a function: click and the way without it read a command line by the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from olmc.cli import running
from olmc.cli.console import say
from olmc.cli.declared import Choice, Declared, PathOf, Whole, argument, command, filled, flag, group, option
from olmc.cli.main import command_of, main
from olmc.cli.running import REGISTRY, CommandEntry, declared_command, read_call
from olmc.k8s.lean import NamedTuple


class KettleOptions(NamedTuple):
    """Options that another class includes."""

    cups: int = option("--cups", type=Whole(1, 9), default=2, help="How many cups.")
    lid: bool = flag("--lid/--no-lid", default=True, help="Whether the lid is on.")


class BrewOptions(NamedTuple):
    """The options of a command."""

    tea: str = argument(metavar="TEA")
    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf())
    kettle: KettleOptions = KettleOptions()
    for_: str = option("-f", "--for", type=Choice(("me", "you")), default="me", help="For whom.")
    strong: bool = flag("--strong", help="With more tea.")


@command(BrewOptions)
def brew(_: click.Context, opts: BrewOptions) -> None:
    """Brew tea."""
    say(f"{opts.tea} {[path.name for path in opts.paths]} {opts.kettle} {opts.for_} {opts.strong}", out=True)
    raise SystemExit(opts.kettle.cups)


@pytest.mark.parametrize(
    "words", ["assam", "assam a b --cups 3 --no-lid", "assam --for=you --strong", "-f you assam c"]
)
def test_a_class_and_a_function_are_a_command(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = read_call(brew, words.split(), {})
    assert call is not None
    with pytest.raises(SystemExit) as end:
        brew.function(call, call.options)  # type: ignore[misc]
    with_click = CliRunner().invoke(command_of(brew, "brew"), words.split())
    assert (capsys.readouterr().out, end.value.code) == (with_click.stdout, with_click.exit_code)


@pytest.mark.parametrize("words", ["", "assam --cups 10", "assam --for him", "assam --nope", "assam --help"])
def test_what_is_not_right_is_for_click(words: str) -> None:
    assert read_call(brew, words.split(), {}) is None


def test_click_says_what_is_wrong() -> None:
    done = CliRunner().invoke(command_of(brew, "brew"), ["assam", "--cups", "10"])
    assert (done.exit_code, "10 is not in the range 1<=x<=9" in done.stderr) == (2, True)


def test_the_help_is_the_docstring_with_all_options() -> None:
    text = CliRunner().invoke(command_of(brew, "brew"), ["--help"]).stdout
    assert "Brew tea." in text
    assert all(word in text for word in ("TEA", "--cups", "--lid / --no-lid", "-f, --for", "--strong"))


def test_included_options_are_a_value_of_their_own() -> None:
    values = {"tea": "assam", "paths": (), "cups": 4, "lid": False, "for_": "me", "strong": True}
    assert filled(BrewOptions, values) == BrewOptions("assam", (), KettleOptions(4, lid=False), "me", strong=True)


def test_a_group_has_the_commands_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kitchen = group({"brew": brew}, "Work in the kitchen.")
    monkeypatch.setattr(running, "REGISTRY", {"kitchen": CommandEntry("", "")})
    monkeypatch.setattr(running, "declared_command", lambda _: kitchen)
    call = running.quick_call(["kitchen", "brew", "assam"], {})
    assert call is not None
    assert call.options.tea == "assam"
    assert running.quick_call(["kitchen", "--help"], {}) is None
    assert "brew  Brew tea." in CliRunner().invoke(command_of(kitchen, "kitchen"), ["--help"]).stdout


def declared(commands: Mapping[str, Declared]) -> Iterator[tuple[str, Declared]]:
    """All commands with those below them, by their words."""
    for name, each in commands.items():
        yield name, each
        yield from declared({f"{name} {word}": below for word, below in each.commands.items()})


COMMANDS = dict(declared({name: declared_command(name) for name in REGISTRY}))


def test_every_command_comes_from_a_declaration() -> None:
    assert list(main.list_commands(main.make_context("olmc", ["version"]))) == list(REGISTRY)
    assert {name for name in COMMANDS if " " not in name} == REGISTRY.keys()


@pytest.mark.parametrize("name", REGISTRY)
def test_the_registry_has_the_first_sentence_of_the_help(name: str) -> None:
    """So the list of commands and completion show it, although they import no command."""
    assert REGISTRY[name].summary == click.Command(name, help=COMMANDS[name].help).get_short_help_str(1_000)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_a_name_for_each_option(name: str) -> None:
    one = COMMANDS[name]
    assert one.help
    names = [param.name for param in one.params]
    assert len(set(names)) == len(names)
    assert all(param.help for param in one.params if not param.is_argument)
    assert (one.function is None) == (one.options is None) == (not one.params and bool(one.commands))
