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

from olmc.attestation.statement import (
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
from olmc.cli.as_click import GivenPath
from olmc.cli.console import tell
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS
from olmc.diagnostics.rules import output as rules
from olmc.model.diagnostics import Diagnostic, Report
from olmc.output.directory import put
from olmc.version import __version__

_VARIABLE = "OLMC_RENDER_"
# What says where an output goes, not what it is.
_OF_PLACE = {"--output-dir": True, "--provenance": True, "--fail-on-change": False, "--jobs": True}
_OUTPUT = "output"


State = Callable[[Mapping[str, Iterable[bytes]]], None]


def stating(
    statement: Path, paths: Sequence[Path], output_dir: Path | None, arguments: Sequence[str], *, check: bool
) -> State:
    """The function that writes the statement about an output, given the parts of its texts by name, "" for stdout.

    The inputs are looked at now and then: if one has changed meanwhile, nobody knows what came of what, and the command
    ends. So it does for inputs that no digest can be given of.
    """
    if check:
        raise click.UsageError("--provenance goes without --check, which writes nothing; see olmc verify.")
    if any(word == "--from" or word.startswith("--from=") for word in arguments):
        raise click.UsageError("--provenance does not go with --from: a state is no input that has a digest.")
    roots = {_name(path): path for path in paths or (Path(),)}
    if no_folders := [path for path in roots.values() if not path.is_dir()]:
        raise click.UsageError(f"--provenance states digests of folders, and {no_folders[0]} is none.")
    files = {_name(Path(value)): Path(value) for option, value in _pairs(arguments) if option == "--apis-from"}
    left_out = [path for path in (output_dir, statement) if path is not None]
    before = _or_end(lambda: inputs_below(roots, files, left_out))

    def state(texts: Mapping[str, Iterable[bytes]]) -> None:
        if changed := deviations(before, _or_end(lambda: inputs_below(roots, files, left_out))):
            click.echo(f"error: {changed[0].name} has changed while it was read; run the command again.", err=True)
            raise click.exceptions.Exit(BAD_INPUT)
        outputs = {name or _OUTPUT: digest_of(parts) for name, parts in texts.items()}
        of_place = tuple(f"{_VARIABLE}{option.strip('-').upper().replace('-', '_')}" for option in _OF_PLACE)
        variables = {name: os.environ[name] for name in os.environ if name.startswith(_VARIABLE)}
        variables = {name: value for name, value in variables.items() if name not in of_place}
        text = statement_text(RenderStatement(outputs, before, tuple(_lasting(arguments)), variables))
        try:
            put(statement, text)
        except OSError as error:
            click.echo(f"error: {statement} can't be written: {error.strerror or error}.", err=True)
            raise click.exceptions.Exit(BAD_INPUT) from error

    return state


def _or_end(digests: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Digests; the command ends if a file can't be read."""
    try:
        return digests()
    except OSError as error:
        click.echo(f"error: {error.filename} can't be read: {error.strerror}.", err=True)
        raise click.exceptions.Exit(BAD_INPUT) from error


def _name(path: Path) -> str:
    """How a statement calls a path: from here, as wherever olmc is run again."""
    return Path(os.path.relpath(path)).as_posix()


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word with the one behind it, or an option with the value that is joined to it."""
    for index, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        yield (option, value) if equals else (word, arguments[index + 1] if index + 1 < len(arguments) else "")


def _lasting(arguments: Sequence[str]) -> Iterator[str]:
    """The words of a command line without those that say where its output goes, and who makes it."""
    is_value = False
    for word in arguments:
        option, equals, _ = word.partition("=")
        if not is_value and option not in _OF_PLACE:
            yield word
        is_value = not is_value and _OF_PLACE.get(option, False) and not equals


@click.command()
@click.argument("output", type=GivenPath(path_type=Path, exists=True))
@click.option(
    "--provenance", type=GivenPath(path_type=Path, dir_okay=False), metavar="FILE",
    help=f"The statement; by default OUTPUT{SUFFIX}.",
)  # fmt: skip
@click.option("--output-only", is_flag=True, help="Verify the output only; the inputs need not be present.")
@click.option("--recompile", is_flag=True, help="Also render again and compare the result.")
@click.pass_context
def verify(ctx: click.Context, /, output: Path, provenance: Path | None, output_only: bool, recompile: bool) -> None:
    """Verify an output against its provenance statement.

    \b
    Examples:
      olmc render --output-dir rendered --provenance rendered.intoto.jsonl
      olmc verify rendered                    are output and inputs unchanged?
      olmc verify rendered --recompile        and does rendering again give the same?
      olmc verify rendered --output-only      without the workspace

    OUTPUT is the folder that `olmc render --output-dir` wrote, or the file that its stdout went to. Inputs are looked
    up at the same paths, relative to the current directory. A statement is not signed: to prove who wrote it, sign it
    (docs/provenance.md).

    Exit codes: 0 verified, 1 something differs, 2 wrong usage, 3 no readable statement.
    """
    if output_only and recompile:
        raise click.UsageError("--recompile needs the inputs; give it without --output-only.")
    path, report = provenance or Path(f"{_plain(output)}{SUFFIX}"), Report()
    statement = read_statement(path, report)
    tell(tuple(report))
    if statement is None:
        raise click.exceptions.Exit(BAD_INPUT)
    found = list(_of_output(statement, output))
    if not output_only:
        found += _of_inputs(statement)
    if recompile and not found:
        found += _of_recompiling(statement, output)
    tell(found)
    if not found:
        inputs = "" if output_only else f", and the inputs ({len(statement.inputs)}) as it read them"
        again = "; rendering again gives the same" if recompile else ""
        click.echo(f"{_plain(output)}: as olmc {statement.version} wrote it{inputs}{again}")
    ctx.exit(FINDINGS if found else DONE)


def _plain(path: Path) -> str:
    return path.as_posix() if path.name else posixpath.normpath(path.as_posix())


def _of_output(statement: RenderStatement, output: Path) -> Iterator[Diagnostic]:
    present = _or_end(lambda: outputs_in(output))
    present = {name or _OUTPUT: digest for name, digest in present.items()}
    for name, problem in deviations(statement.outputs, present):
        yield rules.NOT_AS_STATED.finding(
            None, path=f"{_plain(output)}/{name}" if name != _OUTPUT else output, how=problem
        )


def _of_inputs(statement: RenderStatement) -> Iterator[Diagnostic]:
    """What has become of the inputs; what is new beside them is found out when all is rendered again."""
    for name, digest in statement.inputs.items():
        path = Path(name)
        try:
            present = file_digest(path) if path.is_file() else None
        except OSError:
            present = None
        if present != digest:
            yield rules.NOT_AS_STATED.finding(None, path=name, how="missing" if present is None else "changed")


def _of_recompiling(statement: RenderStatement, output: Path) -> Iterator[Diagnostic]:
    if statement.version != __version__:
        other = f"written by olmc {statement.version}, and this is {__version__}"
        yield rules.NOT_AS_STATED.finding(None, path=_plain(output), how=other)
        return
    from olmc.cli.main import main

    with tempfile.TemporaryDirectory(prefix="olmc-verify-") as name, _variables(statement.variables):
        folder = Path(name)
        place = ["--output-dir", str(folder / "out")] if output.is_dir() else []
        with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(StringIO()):
            # What a statement says is not trusted: the last of an option counts, and these say where all of it goes.
            arguments = ["render", *statement.arguments, *place, "--provenance", str(folder / "statement")]
            with suppress(click.ClickException, click.exceptions.Exit, SystemExit):
                main.main(arguments, prog_name="olmc", standalone_mode=False)
        again = read_statement(folder / "statement", Report())
    if again is None:
        yield rules.NOT_AS_STATED.finding(None, path=_plain(output), how="it can't be rendered again")
        return
    for name, problem in deviations(statement.inputs, again.inputs):
        yield rules.NOT_AS_STATED.finding(None, path=name, how=problem)
    for name, problem in deviations(statement.outputs, again.outputs):
        yield rules.NOT_AS_STATED.finding(None, path=f"{_plain(output)}/{name}", how=f"{problem} when rendered again")


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """The environment with the variables of `olmc render` that a statement names, and no others of these."""
    before = dict(os.environ)
    try:
        for name in before:
            if name.startswith(_VARIABLE):
                del os.environ[name]
        os.environ.update({name: value for name, value in wanted.items() if name.startswith(_VARIABLE)})
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
