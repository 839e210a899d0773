"""What a statement may say of a call of `olmc render`, which `olmc verify --recompile` repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from olmc.cli.main import main
from olmc.cli.process import STREAM
from olmc.lean import NamedTuple

OF_PLACE = {"output_dir": True, "provenance": True, "fail_on_change": False, "jobs": True}
"""What says where an output goes, or who makes it, and not what it is, each with whether it takes a value. A statement
has none of it."""
UNSTATED = frozenset({"check", "from_", "help"})
"""What goes without a statement: nothing is written, or there is an input that has no digest."""
STATED = frozenset(
    "for_ output flux include exclude copied_csvs certs phase namespace watch all_namespaces entries approve prune "
    "delete kube_version apis api_resources olm_version resolve_timeout timings descoped shared_apis v2alpha1 "
    "approve_installs user user_groups migrate_subscriptions component_label olm_namespace show_secrets locked verbose "
    "allow_empty keep_going no_cache color".split()
)
"""What a statement may say, by the names that the values of options have: these decide what comes out, and neither
write nor start anything."""
_FILES = frozenset({"api_resources"})


class StatedCall(NamedTuple):
    """A call of `olmc render` that a statement may say: its words, its variables, and the folders and the files that
    they name."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    folders: tuple[Path, ...]
    files: tuple[Path, ...]


def stated_call(arguments: Sequence[str], variables: Mapping[str, str]) -> StatedCall:
    """The call with these words and variables; nothing is converted or looked up for it. Raises UsageError for what no
    statement says: it is an untrusted file, and an option that is not known to be harmless is refused."""
    if "--" in arguments:
        raise click.UsageError("what stands behind -- is not taken for options")
    render, ctx = _render()
    named = {option.envvar: option.name or "" for option in _options(render, ctx)}
    for variable in variables:
        if named.get(variable) not in STATED:
            raise click.UsageError(f"{variable} is nothing that a statement says")
    values, _, order = render.make_parser(ctx).parse_args(list(arguments))
    for param in order:
        if isinstance(param, click.Option) and param.name not in STATED:
            raise click.UsageError(f"{max(param.opts, key=len)} is nothing that a statement says")
    # What is not given has a value of click's own.
    words = values["paths"] if isinstance(values.get("paths"), tuple) else ()
    if others := [word for word in words if not word or str(Path(word)) == STREAM]:
        raise click.UsageError(f"{others[0]!r} is no folder")
    files = [values[name] for name in _FILES if isinstance(values.get(name), str)]
    files += [value for variable, value in variables.items() if named[variable] in _FILES]
    return StatedCall(tuple(arguments), variables, tuple(map(Path, words)) or (Path(),), tuple(map(Path, files)))


def lasting_words(arguments: Sequence[str]) -> Iterator[str]:
    """The words of a command line without those that say where its output goes, and who makes it."""
    render, ctx = _render()
    of_place = {word: OF_PLACE[option.name] for option in _options(render, ctx) for word in option.opts
                if option.name in OF_PLACE}  # fmt: skip
    is_value = False
    for word in arguments:
        option, equals, _ = word.partition("=")
        if not is_value and option not in of_place:
            yield word
        is_value = not is_value and of_place.get(option, False) and not equals


def lasting_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that stand for options which a statement may have."""
    names = {option.envvar for option in _options(*_render()) if option.name not in OF_PLACE and option.name != "color"}
    return {name: value for name, value in environment.items() if name in names}


def is_readable(path: Path, root: Path) -> bool:
    """Whether a path that a statement names is in the folder that may be read, links followed."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # links that go round, and what is no path
        return False


def _render() -> tuple[click.Command, click.Context]:
    above = click.Context(main, info_name="olmc")
    command = main.get_command(above, "render")
    assert command is not None
    return command, click.Context(command, info_name="render", parent=above)


def _options(command: click.Command, ctx: click.Context) -> list[click.Option]:
    return [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
