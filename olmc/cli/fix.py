"""Commands that change the files of a workspace: `olmc fix` by what it diagnoses, `olmc migrate` for another API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.compiling import EVERYTHING, cluster_parts, compiled, is_any_broken, tell_empty, tell_left_entries
from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    folder_from_here,
    folder_of_patch,
    progress,
    say,
    tell,
    writing,
    wrong_usage,
)
from olmc.cli.declared import Choice, PathOf, argument, codes, command, flag, option
from olmc.cli.options import (
    CompileOptions,
    fields_of,
    fixed_of,
    inputs_of,
    is_given,
    olm_version_option,
    options_of,
    timings_of,
)
from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.migration import Migration, as_patch, config_text, migrate_repository
from olmc.compiler.output.directory import rewrite
from olmc.compiler.output.messages import changes_from, clean, seen_from
from olmc.k8s.diagnostics import Diagnostic, FileChange, Severity
from olmc.k8s.lean import NamedTuple
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import applicable, merged, search
from olmc.targets.pipeline import compile

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
        say(as_patch(changes_from(folder_of_patch(one.root), changes)), nl=False, out=True)
    elif changes:
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
    here = folder_from_here(one.root)
    _tell_left(left, tried, here)
    undiagnosed = () if found or opts.select else _failures(done)
    for finding in undiagnosed:
        _tell_unfixed(finding, here)
    raise SystemExit(FINDINGS if left or undiagnosed else DONE)


def _published(done: Compilation, changes: Sequence[FileChange]) -> Iterator[str]:
    """Yield the names of the bundles in folders of the workspace of which a file changes."""
    bundles = done.workspace.bundles.values() if done.workspace is not None else ()
    for bundle in bundles:
        if any(change.path.startswith(f"{bundle.directory}/" if bundle.directory else "") for change in changes):
            yield bundle.name


def _failures(done: Compilation) -> Sequence[Diagnostic]:
    """Return the failures of a compilation whose causes olmc does not diagnose."""
    return [each for each in done.diagnostics if each.is_open]


def _agreed(remedy: Remedy) -> bool:
    """Return whether the person agrees to a change."""
    import click  # the rest of olmc asks for nothing

    say(clean(f"{remedy.diagnosis.finding.message}"))
    return click.confirm(clean(remedy.candidate.text), err=True)


def _outcome(remedy: Remedy) -> str:
    """Return the result of a change that does not cure its diagnosis."""
    text = remedy.candidate.text
    return f"not enough: {text}; then {remedy.left}" if remedy.left else f"does not help: {text}"


def _tell_unfixed(finding: Diagnostic, folder: str, tried: Sequence[str] = ()) -> None:
    """Report a problem that no change cures: with its place, the changes that were tried, and the way out."""
    (finding,) = seen_from(folder, [finding])
    place = f"{finding.location}: " if finding.location is not None else ""
    say(clean(f"not fixed: {place}{finding.message} [{finding.code}]"))
    for line in (*tried, *finding.hint.splitlines()):
        say(clean(f"  {line}"))


def _tell_left(left: Sequence[Diagnosis], tried: RemedySearch, folder: str) -> None:
    """Report the diagnoses that no change cures, with what was tried and the command for each."""
    for diagnosis in left:
        failed = [
            _outcome(remedy)
            for remedy in tried.tried
            if remedy.diagnosis == diagnosis and remedy.changes and not remedy.is_proven
        ]
        _tell_unfixed(diagnosis.finding, folder, failed)
        if diagnosis.command:
            say(clean(f"  $ {diagnosis.command}"))
    if not tried.is_complete:
        say("olmc: not all changes were tried; --select chooses the diagnoses to try.")


class MigrateOptions(NamedTuple):
    """The options of `olmc migrate`."""

    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    to: str = option("--to", required=True, type=Choice(("descoped", "v2alpha1", "olm-v1")), help="The target.")
    dry_run: bool = flag("--dry-run", help="Print the changes as a patch, without writing.")
    steps: bool = flag("--steps", help="With olm-v1: print the steps for a live cluster as a script, without writing.")
    olm_version: str = olm_version_option


@command(MigrateOptions)
def migrate(ctx: click.Context, opts: MigrateOptions) -> None:
    """Convert a workspace to OLM v1 or to the proposed APIs.

    olm-v1: Subscriptions become ClusterExtensions, with a ServiceAccount and its permissions, and CatalogSources
    become ClusterCatalogs; lists what each operator loses, and keeps those that can't move. descoped: operators that
    can watch all namespaces get a global OperatorGroup, and several instances of one version become one; lists
    permissions that come or go. v2alpha1: Subscriptions become Operators, unless the operator would change by it.
    Comments are kept. What needs a decision is reported and left unchanged.

    \b
    Examples:
      olmc migrate --to descoped --dry-run              the changes, as a patch
      olmc migrate --to v2alpha1 --dry-run | git apply  as without --dry-run
      olmc migrate fleet --to v2alpha1                  change the files
      olmc migrate --to olm-v1 --steps > move.sh        steps for a live cluster
      olmc migrate --to olm-v1 --olm-version v1-experimental --dry-run

    Exit codes: 0 done, 1 something is lost or needs a decision, 2 wrong usage, 3 input that can't be compiled.
    """
    path, to, dry_run, steps, olm_version = opts
    has_version = is_given(ctx, "olm_version")
    if to != "olm-v1" and (steps or has_version):
        wrong_usage("--steps and --olm-version are for --to olm-v1.")
    parts = cluster_parts(ctx, path, {})
    scripts: dict[str, str] = {}

    def migrate_part(request: CompileRequest, config: str) -> Migration:
        if to == "olm-v1":
            from olmc.review.migrate.to_extensions import migrate_to_extensions

            made, _, script = migrate_to_extensions(request, olm_version if has_version else "", config)
            title = clean(f"# {request.part.heading}\n") if request.part is not None and script else ""
            scripts[title] = script
            return made
        from olmc.review.migrate import proposed

        return proposed.migrate(request, "descoped" if to == "descoped" else "operators", config)

    of_clusters = [part for part in parts if part is not None]
    tell_left_entries(of_clusters, path)
    if of_clusters:
        done = migrate_repository(path, of_clusters, migrate_part)
    else:
        done = migrate_part(CompileRequest(path), config_text(path))
    script = "".join(chain.from_iterable(scripts.items()))
    # The changes of a migration are reported once they are written, or shown: if that fails, nothing changes.
    if not (done.failed or dry_run or steps):
        _write(path, done.changes)
    tell(done.remarks, path, least=Severity.INFO)
    if not (of_clusters or done.failed or done.remarks or done.changes):
        tell_empty(path, compile(CompileRequest(path)), {})
    if done.failed:
        raise SystemExit(BAD_INPUT)
    if steps or dry_run:
        say(script if steps else as_patch(changes_from(folder_of_patch(path), done.changes)), nl=False, out=True)
    raise SystemExit(FINDINGS if done.unfinished or is_any_broken(parts) else DONE)


def _write(root: Path, changes: Sequence[FileChange]) -> None:
    texts = {root / change.path: change.after for change in changes}
    empty = [path for path, text in texts.items() if not text]
    new = [root / change.path for change in changes if not change.before]
    with writing(*texts):
        rewrite({path: text for path, text in texts.items() if text}, new=new)
        for path in empty:
            path.unlink()
    for path in texts:
        say(clean(f"{path}: {'removed, nothing is left in it' if path in empty else 'written'}"))
