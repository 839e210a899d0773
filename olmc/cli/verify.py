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
from olmc.cli.stated import StatedCall, is_readable, lasting_variables, lasting_words, stated_call
from olmc.diagnostics.rules import output as rules
from olmc.model.diagnostics import Diagnostic, Report
from olmc.output.directory import put
from olmc.version import __version__

_VARIABLE = "OLMC_RENDER_"
_OUTPUT = "output"
_OUTSIDE = "outside of the folder that may be read (--root)"


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
            click.echo(f"error: {changed[0].name} has changed while it was read; run the command again.", err=True)
            raise click.exceptions.Exit(BAD_INPUT)
        outputs = {name or _OUTPUT: digest_of(parts) for name, parts in texts.items()}
        text = statement_text(RenderStatement(outputs, before, call.arguments, call.variables))
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


@click.command()
@click.argument("output", type=GivenPath(path_type=Path, exists=True))
@click.option(
    "--provenance", type=GivenPath(path_type=Path, dir_okay=False), metavar="FILE",
    help=f"The statement; by default OUTPUT{SUFFIX}.",
)  # fmt: skip
@click.option("--output-only", is_flag=True, help="Verify the output only; the inputs need not be present.")
@click.option("--recompile", is_flag=True, help="Also render again and compare the result.")
@click.option(
    "--root", type=GivenPath(exists=True, file_okay=False, path_type=Path), default=Path(), metavar="DIR",
    help="The folder that the inputs must be in. [default: .]",
)  # fmt: skip
@click.pass_context
def verify(
    ctx: click.Context, /, output: Path, provenance: Path | None, output_only: bool, recompile: bool, root: Path
) -> None:
    """Verify an output against its provenance statement.

    \b
    Examples:
      olmc render --output-dir rendered --provenance rendered.intoto.jsonl
      olmc verify rendered                    are output and inputs unchanged?
      olmc verify rendered --recompile        and does rendering again give the same?
      olmc verify rendered --output-only      without the workspace

    OUTPUT is the folder that `olmc render --output-dir` wrote, or the file that its stdout went to. Inputs are looked
    up at the same paths, relative to the current directory; what is outside of it, or of --root, is not read. A
    statement is not signed: to prove who wrote it, sign it (docs/provenance.md).

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
        found += _of_inputs(statement, root)
    if recompile and not found:
        found += _of_recompiling(statement, output, root)
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


def _of_inputs(statement: RenderStatement, root: Path) -> Iterator[Diagnostic]:
    """What has become of the inputs; what is new beside them is found out when all is rendered again."""
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
            problem, again = "it can't be rendered again", _rendered_again(call, is_folder=output.is_dir())
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
    """The statement about what a call gives, which is written to a place that is gone then; None if it fails."""
    from olmc.cli.main import main

    with tempfile.TemporaryDirectory(prefix="olmc-verify-") as name, _variables(call.variables):
        folder = Path(name)
        place = ["--output-dir", str(folder / "out")] if is_folder else []
        with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(StringIO()):
            arguments = ["render", *call.arguments, *place, "--provenance", str(folder / "statement")]
            with suppress(click.ClickException, click.exceptions.Exit, SystemExit):
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
