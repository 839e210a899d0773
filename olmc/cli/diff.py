"""`olmc diff`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli import declared as completing
from olmc.cli.compiling import RENDERED, OptionNeed, check_kinds, given_of, tell_idle
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, progress, say, tell, tell_approvals, wrong_usage
from olmc.cli.declared import Choice, PathOf, argument, command, flag, option
from olmc.cli.options import (
    ClusterOptions,
    ProposedOptions,
    StateOptions,
    approve_option,
    certs_option,
    exit_code_option,
    fail_on_option,
    fields_of,
    fixed_of,
    is_given,
    least_of,
    olm_versions_option,
    options_and_begun,
    options_of,
    output_option,
    show_secrets_option,
    timings_of,
    timings_option,
    watched,
)
from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Certificates, Narrowing, Options, Purpose
from olmc.compiler.output.messages import clean
from olmc.compiler.rules.findings.workspace import EMPTY
from olmc.k8s.api.restmapper import known_kinds
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.review.diff.both_sides import read_sides, read_versions
from olmc.review.diff.engine import difference_of, write
from olmc.review.diff.operators import remarks
from olmc.review.diff.revisions import sides_of
from olmc.review.diff.settings import Kinds
from olmc.review.explain.left_out import note
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.review.diff.both_sides import BegunCluster
    from olmc.review.diff.premises import CompileUnder, Premises
    from olmc.review.diff.settings import Kinds, Sides

_FIELDS = {"for_": "purpose", "certs": "certificates"}


_ONWARD = OptionNeed("two workspaces, or --from", lambda given: given.options.state is not None)
_NEEDS = {**RENDERED, "prune": [_ONWARD], "delete": [_ONWARD]}


class DiffOptions(NamedTuple):
    """The options of `olmc diff`."""

    old: str | None = argument(type=PathOf(as_text=True), required=False, metavar="[OLD]")
    new: str | None = argument(type=PathOf(as_text=True), required=False, metavar="[NEW]")
    output: str = output_option(
        ["text", "markdown", "json", "html"],
        "Text, a comment for a pull request, JSON (schemas/diff.schema.json), or a page by itself.",
    )
    allow_empty: bool = flag("--allow-empty", help="Treat a side that does not exist as empty.")
    for_: Purpose = option(
        "--for", envvar="OLMC_DIFF_FOR", type=Choice(("review", "apply")), default="review", show_default=True,
        help="Compare OLM's result in the cluster (review), or the objects to apply without OLM (apply).",
    )  # fmt: skip
    certs: Certificates = certs_option
    include: tuple[str, ...] = option(
        "--include", multiple=True, metavar="KIND", shell_complete=completing.kinds,
        help="Compare only this kind, and permissions (may be repeated). [default: as in olmc.yaml of OLD]",
    )  # fmt: skip
    exclude: tuple[str, ...] = option(
        "--exclude", multiple=True, metavar="KIND", shell_complete=completing.kinds,
        help="Exclude this kind, permissions aside (may be repeated). [default: as in olmc.yaml of OLD]",
    )  # fmt: skip
    namespace: str = option(
        "-n", "--namespace", default="", metavar="NS", help="For bundles: the namespace to install them in."
    )
    watch: str | None = option("--watch", metavar="NS,NS", help="For bundles: the namespaces that they watch.")
    all_namespaces: bool = flag("--all-namespaces", help="For bundles: watch all namespaces.")
    fresh: bool = flag("--fresh", help="Install both sides in an empty cluster, instead of NEW on top of OLD.")
    entry: str = option(
        "--entry",
        default="",
        metavar="NAME",
        help="In a repository: a folder, or the name of the object that applies one.",
    )
    approve: tuple[str, ...] = approve_option
    state: StateOptions = StateOptions()
    cluster: ClusterOptions = ClusterOptions()
    olm_version: tuple[str, ...] = olm_versions_option
    proposed: ProposedOptions = ProposedOptions()
    timings: bool = timings_option
    fail_on: str | None = fail_on_option
    exit_code: bool = exit_code_option
    show_secrets: bool = show_secrets_option
    all: bool = flag("--all", help="Print all changes as text, however many, and whole lines.")
    verbose: bool = flag("-v", "--verbose", help="Also show the findings of each side.")


@command(DiffOptions)
def diff(ctx: click.Context, opts: DiffOptions) -> None:
    """Show the changes of an upgrade, and the breaking ones.

    \b
    Examples:
      olmc diff git:main                             what this branch changes
      olmc diff git:v1..v2 --fail-on breaking        two releases, for CI
      olmc diff git:main --entry operators-prod      what this Application applies
      olmc diff beacon-1.0.0 beacon-1.1.0 -n tools   two versions of a bundle
      olmc diff rendered.yaml .                      a rendering, and that of now
      olmc diff --from cluster-state.yaml prod       the cluster as it is
      olmc diff git:v1 git:v2 -o html > review.html  an HTML page
      olmc diff --olm-version 0.25..0.46 .           what another OLM changes

    OLD and NEW are each a workspace, a bundle, a rendering, or git:REF[:PATH]; one may be - for stdin.

    Exit codes: 0 done, also with differences, 1 a difference that --exit-code or --fail-on asks about, 2 wrong usage, 3
    a side that can't be read.
    \f

    OLD and NEW are each the path of a workspace or a bundle, which is compiled; the path of what `olmc render` wrote,
    a folder or a file; or git:REF[:PATH], read from the repository without touching the work tree. PATH defaults to
    that of the other side. git:A..B[:PATH] is both sides; a single revision is compared with the work tree. One side
    may be - for stdin. Kustomizations are built and Helm charts are rendered first.

    With two workspaces, NEW is applied to the cluster that OLD leaves, as in olmc plan; --from names that cluster
    instead of OLD. Changes that wait for approval come after those that don't, and last those that are kept back
    because an operator is stuck.
    """
    old, new = _named(opts)
    allow_empty = opts.allow_empty
    base = Options(
        purpose=opts.for_,
        certificates=opts.certs,
        show_secrets=True,  # the comparison has to know them; it masks them
        install_namespace=opts.namespace,
        watch=watched(opts.namespace, opts.watch, opts.all_namespaces),
    )
    begun = None
    timings = timings_of(ctx, opts.timings)
    fields = fields_of(opts.state, opts.cluster, opts.proposed, approve=opts.approve)
    if opts.state.from_:
        options, begun = options_and_begun(ctx, fields, base, may_be_absent=allow_empty)
    else:
        options = options_of(ctx, fields, base)
    given = fixed_of(ctx, (*fields, "olm_version"))
    given |= {field for name, field in _FIELDS.items() if is_given(ctx, name)}

    kinds = Kinds(opts.include, opts.exclude) if opts.include or opts.exclude else None
    made: list[Compilation] = []

    def compiled(
        path: Path, narrowing: Narrowing | None, premises: Premises, version: str = next(iter(opts.olm_version))
    ) -> Compilation:
        wanted = premises.of(options._replace(olm_version=version), given)
        one = compile(CompileRequest(path, wanted, given | premises.decided, narrowing, stage=timings.stage))
        timings.compiled(path, one)
        made.append(one)
        return made[-1]

    with progress() as doing:
        doing(f"reading {old} and {new}" if new else f"compiling {old} for two versions of OLM")
        if new:
            reading = _read(
                begun or old, new, compiled, kinds, allow_empty, look_ahead=not opts.approve, fresh=opts.fresh
            )
        else:
            reading = _read_versions(old, opts.olm_version, compiled, kinds, allow_empty)
        if kinds is not None:
            _check_kinds(kinds, reading, made)
        doing("comparing")
        difference = difference_of(reading, formats=not new, show_secrets=opts.show_secrets)
        text = write(difference, opts.output, color=True, everything=opts.all) if difference is not None else ""
    least = Severity.ERROR if difference is not None else Severity.FAILURE
    least = Severity.WARNING if opts.verbose else least
    # Both sides may be one folder, with one finding.
    tell(dict.fromkeys(each for each in reading.diagnostics if each.severity >= least or each.code == EMPTY.code))
    tell_idle(ctx, given_of(made), _NEEDS)
    tell_approvals(opts.approve, [each.settled.cluster for each in made if each.settled is not None])
    if difference is None:
        raise SystemExit(BAD_INPUT)
    say(text, nl=False, out=True)
    say(note(difference.new.left_out, f"{(new or old).rstrip('/')}/"), nl=False)
    for remark in remarks(difference.old, difference.new):
        say(clean(f"olmc: {remark}"))
    grave_from = least_of(opts.fail_on, exit_code=opts.exit_code)
    is_grave = grave_from is not None and any(change.severity >= grave_from for change in difference.changes)
    raise SystemExit(FINDINGS if is_grave else DONE)


def _named(opts: DiffOptions) -> tuple[str, str | None]:
    """The names of both sides; the second is None for one path under two versions of OLM, and the first is "" where
    --from names the cluster to begin with."""
    old, new, entry = opts.old, opts.new, opts.entry
    if old == new == "-":
        wrong_usage("there is only one stdin; give another OLD or NEW.")
    if opts.state.from_:
        if new or entry or opts.fresh or len(opts.olm_version) == 2 or opts.for_ != "review":
            text = "--from says what OLD is: give NEW alone, without --entry, --fresh, --for apply or two OLM versions."
            wrong_usage(text)
        return "", old or "."
    if old is None:
        wrong_usage("Missing argument 'OLD'.")
    if entry:
        from olmc.cli.inputs import sides_of_entry  # most diffs are of folders

        old, new = sides_of_entry(old, new, entry)

    alone = sides_of(old) if new is None and len(opts.olm_version) == 1 else None
    old, new = alone or (old, new)
    if (len(opts.olm_version) == 2) == bool(new):
        wrong_usage("Give OLD and NEW, or one git revision (git:main), or one PATH with --olm-version A..B.")
    return old, new


def _read(
    old: str | BegunCluster, new: str, compiled: CompileUnder, kinds: Kinds | None, allow_empty: bool, *,
    look_ahead: bool, fresh: bool,
) -> Sides:  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        return read_sides(
            old, new, Path(folder), compiled, allow_empty=allow_empty, kinds=kinds, look_ahead=look_ahead, fresh=fresh
        )  # fmt: skip


def _read_versions(
    path: str, versions: Sequence[str], compiled: Callable[..., Compilation], kinds: Kinds | None, allow_empty: bool
) -> Sides:
    under = [(version, partial(compiled, version=version)) for version in versions]
    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        return read_versions(path, under, Path(folder), allow_empty=allow_empty, kinds=kinds)


def _check_kinds(kinds: Kinds, reading: Sides, made: Sequence[Compilation]) -> None:
    """Raise BadParameter for a kind that nothing can be of."""
    from olmc.compiler.reconcile.misspelling import possible_objects

    # Objects that both renderings have unchanged were never read, and may be of any kind.
    if reading.sides is None or any(side.shared for side in reading.sides):
        return
    there = [obj for side in reading.sides for obj in (*side.objects, *side.excluded)]
    settled = ((each.settled.cluster, each.workspace) for each in made if each.settled is not None)
    there += [obj for each in settled for obj in possible_objects(*each)]
    check_kinds(kinds.include, kinds.exclude, known_kinds(there))
