"""`olmc verify`, and what `olmc render --provenance` writes for it."""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import click

from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, STREAM, say, tell, wrong_usage
from olmc.cli.declared import PathOf, argument, command, flag, option
from olmc.cli.main import main
from olmc.compiler.output.directory import put
from olmc.compiler.rules.findings import output as rules
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.k8s.lean import NamedTuple
from olmc.review.attestation.statement import (
    SUFFIX,
    RenderStatement,
    deviations,
    digest_of,
    file_digest,
    inputs_below,
    outputs_in,
    read_statement,
    statement_text,
)
from olmc.version import __version__

# The parts of a call of `olmc render` in a statement, which `olmc verify --recompile` repeats.

OF_PLACE = {"output_dir": True, "provenance": True, "fail_on_change": False, "jobs": True}
"""The options that choose the place or the maker of an output, not its content, each with whether it takes a value. A
statement has none of them."""
UNSTATED = frozenset({"check", "from_", "help", "help_all"})
"""The options without a statement: they write nothing, or have an input without a digest."""
STATED = frozenset(
    "for_ output flux include exclude copied_csvs certs phase namespace watch all_namespaces entries approve prune "
    "delete kube_version apis api_resources olm_version resolve_timeout timings descoped shared_apis "
    "operators_and_installs approve_installs user user_groups migrate_subscriptions component_label olm_namespace "
    "show_secrets locked verbose allow_empty keep_going no_cache color".split()
)
"""The options of a statement, by the names of their values: they decide the output, and neither write nor start
anything."""
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
    # A parameter that is not given has click's default value.
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
    """Return whether a path that a statement names is in the folder that may be read, links followed."""
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


_VARIABLE = "OLMC_RENDER_"
_OUTPUT = "output"
_OUTSIDE = "outside of the folder that may be read (--root)"


State = Callable[[Mapping[str, Iterable[bytes]]], None]


def stating(
    statement: Path, paths: Sequence[Path], output_dir: Path | None, arguments: Sequence[str], *, check: bool
) -> State:
    """Return the function that writes the statement about an output, given the parts of its texts by name, "" for
    stdout.

    It ends the command if an input has changed meanwhile, as the origin of the output is unknown then. It also ends the
    command for inputs without a digest.
    """
    if check:
        raise click.UsageError("--provenance goes without --check, which writes nothing; see olmc verify.")
    if any(word == "--from" or word.startswith("--from=") for word in arguments) or os.environ.get(f"{_VARIABLE}FROM"):
        raise click.UsageError("--provenance does not go with --from: a state is no input that has a digest.")
    if "--" in arguments:
        raise click.UsageError("--provenance does not go with --; write ./-NAME for a path that begins with a dash.")
    call = stated_call(tuple(lasting_words(arguments)), lasting_variables(os.environ))
    roots = {_name(path): path for path in paths or (Path(),)}
    if no_folders := [path for path in roots.values() if not path.is_dir()]:
        raise click.UsageError(f"--provenance states digests of folders, and {no_folders[0]} is none.")
    files = {_name(path): path for path in call.files}
    left_out = [path for path in (output_dir, statement) if path is not None]
    before = _or_end(lambda: inputs_below(roots, files, left_out))

    def state(texts: Mapping[str, Iterable[bytes]]) -> None:
        if changed := deviations(before, _or_end(lambda: inputs_below(roots, files, left_out))):
            say(f"error: {changed[0].name} has changed while it was read; run the command again.")
            raise SystemExit(BAD_INPUT)
        outputs = {name or _OUTPUT: digest_of(parts) for name, parts in texts.items()}
        text = statement_text(RenderStatement(outputs, before, call.arguments, call.variables))
        try:
            put(statement, text)
        except OSError as error:
            say(f"error: {statement} can't be written: {error.strerror or error}.")
            raise SystemExit(BAD_INPUT) from error

    return state


def _or_end(digests: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Digests; the command ends if a file can't be read."""
    try:
        return digests()
    except OSError as error:
        say(f"error: {error.filename} can't be read: {error.strerror}.")
        raise SystemExit(BAD_INPUT) from error


def _name(path: Path) -> str:
    """Return how a statement calls a path: from here, as wherever olmc is run again."""
    return Path(os.path.relpath(path)).as_posix()


class VerifyOptions(NamedTuple):
    """The options of `olmc verify`."""

    output: Path = argument(type=PathOf(exists=True))
    provenance: Path | None = option(
        "--provenance", type=PathOf(dir_okay=False), metavar="FILE",
        help=f"The statement; by default OUTPUT{SUFFIX}.",
    )  # fmt: skip
    output_only: bool = flag("--output-only", help="Verify the output only; the inputs need not be present.")
    recompile: bool = flag("--recompile", help="Also render again and compare the result.")
    root: Path = option(
        "--root", type=PathOf(exists=True, file_okay=False), default=Path(), metavar="DIR",
        help="The folder that the inputs must be in. [default: .]",
    )  # fmt: skip


@command(VerifyOptions)
def verify(_: click.Context, opts: VerifyOptions) -> None:
    """Verify an output against its provenance statement.

    \b
    Examples:
      olmc render --output-dir rendered --provenance rendered.intoto.jsonl
      olmc verify rendered                    are output and inputs unchanged?
      olmc verify rendered --recompile        is it the same once more?
      olmc verify rendered --output-only      without the workspace

    OUTPUT is the folder that `olmc render --output-dir` wrote, or the file that its stdout went to. Inputs are looked
    up at the same paths, relative to the current directory; what is outside of it, or of --root, is not read. A
    statement is not signed: to prove who wrote it, sign it (docs/provenance.md).

    Exit codes: 0 verified, 1 something differs, 2 wrong usage, 3 no readable statement.
    """
    output, provenance, output_only, recompile, root = opts
    if output_only and recompile:
        wrong_usage("--recompile needs the inputs; give it without --output-only.")
    path, report = provenance or Path(f"{_plain(output)}{SUFFIX}"), Report()
    statement = read_statement(path, report)
    tell(tuple(report))
    if statement is None:
        raise SystemExit(BAD_INPUT)
    found = list(_of_output(statement, output))
    if not output_only:
        found += _of_inputs(statement, root)
    if recompile and not found:
        found += _of_recompiling(statement, output, root)
    tell(found)
    if not found:
        inputs = "" if output_only else f", and the inputs ({len(statement.inputs)}) as it read them"
        again = "; rendering again gives the same" if recompile else ""
        say(f"{_plain(output)}: as olmc {statement.version} wrote it{inputs}{again}", out=True)
    raise SystemExit(FINDINGS if found else DONE)


def _plain(path: Path) -> str:
    return path.as_posix() if path.name else posixpath.normpath(path.as_posix())


def _of_output(statement: RenderStatement, output: Path) -> Iterator[Diagnostic]:
    present = _or_end(lambda: outputs_in(output))
    present = {name or _OUTPUT: digest for name, digest in present.items()}
    for name, problem in deviations(statement.outputs, present):
        yield rules.NOT_AS_STATED.finding(
            None, path=f"{_plain(output)}/{name}" if name != _OUTPUT else output, how=problem
        )


def _of_inputs(statement: RenderStatement, root: Path) -> Iterator[Diagnostic]:
    """Yield the changes of the inputs; new inputs are found when everything is rendered again."""
    for name, digest in statement.inputs.items():
        path = Path(name)
        if not is_readable(path, root):
            yield rules.NOT_AS_STATED.finding(None, path=name, how=_OUTSIDE)
            continue
        try:
            present = file_digest(path) if path.is_file() else None
        except OSError:
            present = None
        if present != digest:
            yield rules.NOT_AS_STATED.finding(None, path=name, how="missing" if present is None else "changed")


def _of_recompiling(statement: RenderStatement, output: Path, root: Path) -> Iterator[Diagnostic]:
    again: RenderStatement | None = None
    problem = f"written by olmc {statement.version}, and this is {__version__}"
    if statement.version == __version__:
        try:
            call = _call_within(statement, root)
            problem = "it can't be rendered again: olmc render fails with the arguments that the statement names"
            again = _rendered_again(call, is_folder=output.is_dir())
        except click.UsageError as error:
            problem = f"it can't be rendered again: {error.message}"
    if again is None:
        yield rules.NOT_AS_STATED.finding(None, path=_plain(output), how=problem)
        return
    for name, problem in deviations(statement.inputs, again.inputs):
        yield rules.NOT_AS_STATED.finding(None, path=name, how=problem)
    for name, problem in deviations(statement.outputs, again.outputs):
        yield rules.NOT_AS_STATED.finding(None, path=f"{_plain(output)}/{name}", how=f"{problem} when rendered again")


def _call_within(statement: RenderStatement, root: Path) -> StatedCall:
    """The call that a statement tells of; raises UsageError for one that may not be repeated, or that would read more
    than the folder which may be read."""
    call = stated_call(statement.arguments, statement.variables)
    for path in (*call.folders, *call.files):
        if not is_readable(path, root):
            raise click.UsageError(f"{path} is {_OUTSIDE}")
    # Files and streams have no statement, and are not to be waited for.
    if others := [path for path in call.folders if not path.is_dir()]:
        raise click.UsageError(f"{others[0]} is no folder")
    if others := [path for path in call.files if not path.is_file()]:
        raise click.UsageError(f"{others[0]} is no file")
    return call


def _rendered_again(call: StatedCall, *, is_folder: bool) -> RenderStatement | None:
    """Render again and return the statement about a call's output, written to a temporary place; None if it fails."""
    with tempfile.TemporaryDirectory(prefix="olmc-verify-") as name, _variables(call.variables):
        folder = Path(name)
        place = ["--output-dir", str(folder / "out")] if is_folder else []
        with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(StringIO()):
            arguments = ["render", *call.arguments, *place, "--provenance", str(folder / "statement")]
            with suppress(click.ClickException, SystemExit):
                main.main(arguments, prog_name="olmc", standalone_mode=False)
        return read_statement(folder / "statement", Report())


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """The environment with the variables of `olmc render` that a statement names, and no others of these."""
    before = dict(os.environ)
    try:
        for name in before:
            if name.startswith(_VARIABLE):
                del os.environ[name]
        os.environ.update(wanted)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
