"""`olmc fix`: apply the changes that cure what `olmc status` and `olmc check` diagnose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import DONE, FINDINGS, progress, say, writing, wrong_usage
from olmc.cli.declared import PathOf, argument, codes, command, flag, option
from olmc.cli.options import (
    EVERYTHING,
    CompileOptions,
    compiled,
    fields_of,
    fixed_of,
    inputs_of,
    options_of,
    timings_of,
)
from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.output.messages import clean
from olmc.k8s.diagnostics import Diagnostic, FileChange, Severity
from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    import click

    from olmc.review.diagnose.diagnosis import Diagnosis
    from olmc.review.diagnose.remedies import Remedy, RemedySearch


class FixOptions(NamedTuple):
    """The options of `olmc fix`."""

    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    dry_run: bool = flag("--dry-run", help="Print the changes as a patch, and write nothing.")
    select: tuple[str, ...] = option(
        "--select", multiple=True, metavar="CODE", shell_complete=codes,
        help="Only diagnoses with this code, or whose code begins so (may be repeated).",
    )  # fmt: skip
    interactive: bool = flag("--interactive", help="Ask before each change.")
    compiling: CompileOptions = CompileOptions()


@command(FixOptions)
def fix(ctx: click.Context, opts: FixOptions) -> None:
    """Apply changes that are proven to cure what fails.

    PATH is a workspace; the default is the current directory. olmc compiles each change before it offers it: every
    operator of the diagnosis succeeds after it, and no running operator stops. Of several it takes the first, the least
    invasive one. Comments stay. Commands for the cluster are printed and never run.

    \b
    Examples:
      olmc fix --dry-run                      the changes as a patch
      olmc fix                                apply them
      olmc fix --from cluster-state.yaml      for the cluster as it is
      olmc fix --select OLMC301               only one kind of diagnosis

    Exit codes: 0 nothing is left to do, 1 a diagnosis has no proven change, 2 wrong usage, 3 input that can't be
    compiled.
    """
    from olmc.compiler.migration import as_patch
    from olmc.review.diagnose.engine import diagnose, scene_of
    from olmc.review.diagnose.remedies import applicable, merged, search

    one = inputs_of(ctx, [opts.path])[0]
    if one.is_staged:
        wrong_usage("changes are made in the files of a workspace; give its directory.")
    fields, timings = fields_of(opts.compiling), timings_of(ctx, opts.compiling.timings)
    done, _ = compiled(ctx, one.root, fields, least=Severity.ERROR, timings=timings)
    given = EVERYTHING | fixed_of(ctx, fields)
    request = CompileRequest(one.root, options_of(ctx, fields), given)
    found = [each for each in diagnose(scene_of(done)) if each.finding.code.startswith(opts.select or ("",))]
    with progress() as doing:
        doing("trying changes")
        tried = search(request, done, found)
    agreed = [remedy for remedy in tried.proven() if not opts.interactive or _agreed(remedy)]
    chosen = applicable(request, done, found, agreed)
    changes = merged(request.root, chosen)
    if opts.dry_run:
        say(as_patch(changes), nl=False, out=True)
    elif changes:
        from olmc.compiler.output.directory import rewrite

        paths = {one.root / change.path: change for change in changes}
        with writing(*paths):
            rewrite(
                {path: change.after for path, change in paths.items()},
                new=[path for path, change in paths.items() if not change.before],
            )
            for path in (path for path, change in paths.items() if not change.after):
                path.unlink()
    for text in dict.fromkeys(remedy.candidate.text for remedy in chosen):
        say(clean(f"{'would fix' if opts.dry_run else 'fixed'}: {text}"), out=not opts.dry_run)
    for name in _published(done, changes):
        say(clean(f"olmc: bundle {name} changes: a cluster gets the change when you publish its image again."))
    left = [diagnosis for diagnosis in found if diagnosis not in {remedy.diagnosis for remedy in chosen}]
    _tell_left(left, tried)
    undiagnosed = () if found or opts.select else _failures(done)
    for finding in undiagnosed:
        _tell_unfixed(finding)
    raise SystemExit(FINDINGS if left or undiagnosed else DONE)


def _published(done: Compilation, changes: Sequence[FileChange]) -> Iterator[str]:
    """Yield the names of the bundles in folders of the workspace of which a file changes."""
    bundles = done.workspace.bundles.values() if done.workspace is not None else ()
    for bundle in bundles:
        if any(change.path.startswith(f"{bundle.directory}/" if bundle.directory else "") for change in changes):
            yield bundle.name


def _failures(done: Compilation) -> Sequence[Diagnostic]:
    """What fails, in a compilation whose causes olmc has no diagnosis of."""
    return [each for each in done.diagnostics if each.is_open]


def _agreed(remedy: Remedy) -> bool:
    """Whether the person agrees to a change."""
    import click  # the rest of olmc asks for nothing

    say(clean(f"{remedy.diagnosis.finding.message}"))
    return click.confirm(clean(remedy.candidate.text), err=True)


def _tell_unfixed(finding: Diagnostic, tried: Sequence[str] = ()) -> None:
    """Report a problem that no change cures: with its place, the changes that were tried, and the way out."""
    place = f"{finding.location}: " if finding.location is not None else ""
    say(clean(f"not fixed: {place}{finding.message} [{finding.code}]"))
    for line in (*(f"does not help: {text}" for text in tried), *finding.hint.splitlines()):
        say(clean(f"  {line}"))


def _tell_left(left: Sequence[Diagnosis], tried: RemedySearch) -> None:
    """Report the diagnoses that no change cures, with what was tried and the command for each."""
    for diagnosis in left:
        failed = [
            remedy.candidate.text
            for remedy in tried.tried
            if remedy.diagnosis == diagnosis and remedy.changes and not remedy.is_proven
        ]
        _tell_unfixed(diagnosis.finding, failed)
        if diagnosis.command:
            say(clean(f"  $ {diagnosis.command}"))
    if not tried.is_complete:
        say("olmc: not all changes were tried; --select chooses the diagnoses to try.")
