"""`olmc diff`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli import declared as completing
from olmc.cli import options as values
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, progress, say, tell, tell_approvals, wrong_usage
from olmc.cli.declared import Choice, PathOf, argument, command, option
from olmc.cli.options import (
    CLUSTER,
    PROPOSED_APIS,
    RENDERED,
    STATE,
    OptionNeed,
    approve_option,
    certs_option,
    given_fields,
    given_of,
    given_version,
    is_given,
    olm_versions_option,
    output_option,
    show_secrets_option,
    tell_idle,
    timings_of,
    timings_option,
    watched,
    with_begun,
    with_proposed,
)
from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Narrowing, Options
from olmc.k8s.diagnostics import Severity
from olmc.targets.pipeline import compile

_LEAST = {"breaking": Severity.ERROR, "risk": Severity.FAILURE, "any": Severity.INFO}
_FIELDS = {"for_": "purpose", "certs": "certificates", "kube_version": "kube_version", "approve": "approve"}


_ONWARD = OptionNeed("two workspaces, or --from", lambda given: given.options.state is not None)
_NEEDS = {**RENDERED, "prune": [_ONWARD], "delete": [_ONWARD]}

if TYPE_CHECKING:
    import click

    from olmc.review.diff.both_sides import BegunCluster
    from olmc.review.diff.premises import CompileUnder, Premises
    from olmc.review.diff.settings import Kinds, Sides


@command(
    argument("old", type=PathOf(as_text=True), required=False, metavar="[OLD]"),
    argument("new", type=PathOf(as_text=True), required=False, metavar="[NEW]"),
    output_option(
        ["text", "markdown", "json", "html"],
        "Text, a comment for a pull request, JSON (schemas/diff.schema.json), or a page by itself.",
    ),
    option("--allow-empty", is_flag=True, help="Treat a side that does not exist as empty."),
    option(
        "--for",
        "for_",
        envvar="OLMC_DIFF_FOR",
        type=Choice(("review", "apply")),
        default="review",
        show_default=True,
        help="Compare what OLM leaves in the cluster (review), or what is applied without OLM (apply).",
    ),
    certs_option,
    option(
        "--include",
        multiple=True,
        metavar="KIND",
        shell_complete=completing.kinds,
        help="Compare only this kind, and permissions (may be repeated). [default: as in olmc.yaml of OLD]",
    ),
    option(
        "--exclude",
        multiple=True,
        metavar="KIND",
        shell_complete=completing.kinds,
        help="Exclude this kind, permissions aside (may be repeated). [default: as in olmc.yaml of OLD]",
    ),
    option("-n", "--namespace", default="", metavar="NS", help="For bundles: the namespace to install them in."),
    option("--watch", metavar="NS,NS", help="For bundles: the namespaces that they watch."),
    option("--all-namespaces", is_flag=True, help="For bundles: watch all namespaces."),
    option("--fresh", is_flag=True, help="Install both sides in an empty cluster, instead of NEW on top of OLD."),
    option("--entry", default="", metavar="NAME", help="In a repository: a folder, or the name of what applies one."),
    approve_option,
    *STATE,
    *CLUSTER,
    olm_versions_option,
    *PROPOSED_APIS,
    timings_option,
    option(
        "--fail-on",
        type=Choice(("breaking", "risk", "any")),
        default="any",
        show_default=True,
        help="Exit 1 only for changes of this severity or higher.",
    ),
    show_secrets_option,
    option("-v", "--verbose", is_flag=True, help="Also show the findings of each side."),
)
def diff(
    ctx: click.Context,
    /,
    old: str | None,
    new: str | None,
    output: str,
    allow_empty: bool,
    for_: str,
    certs: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    namespace: str,
    watch: str | None,
    all_namespaces: bool,
    fresh: bool,
    entry: str,
    approve: tuple[str, ...],
    kube_version: str,
    olm_version: tuple[str, ...],
    fail_on: str,
    show_secrets: bool,
    verbose: bool,
    **proposed: Any,
) -> None:
    """Show what an upgrade changes, and what it breaks.

    OLD and NEW are each the path of a workspace or a bundle, which is compiled; the path of what `olmc render` wrote,
    a folder or a file; or git:REF[:PATH], read from the repository without touching the work tree. PATH defaults to
    that of the other side. git:A..B[:PATH] is both sides; a single revision is compared with the work tree. One side
    may be - for stdin. Kustomizations are built and Helm charts are rendered first.

    With two workspaces, NEW is applied to the cluster that OLD leaves, as in olmc plan; --from names that cluster
    instead of OLD. Changes that wait for approval come after those that don't, and last those that are kept back
    because an operator is stuck.

    \b
    Examples:
      olmc diff git:main                             what this branch changes
      olmc diff git:v1..v2 --fail-on breaking        two releases, for CI
      olmc diff git:origin/main clusters/prod -o markdown
      olmc diff git:main --entry operators-prod      what this Application or Kustomization applies
      olmc diff beacon-1.0.0 beacon-1.1.0 -n tools   two versions of a bundle
      olmc diff rendered.yaml .                      a rendering against what would be rendered now
      olmc diff --from cluster-state.yaml clusters/prod   the cluster as it is against the repository
      olmc diff git:v1 git:v2 -o html > review.html  an HTML page
      olmc diff --olm-version 0.25..0.46 .           what upgrading OLM itself changes

    Exit codes: 0 no differences, 1 differences (see --fail-on), 2 wrong usage, 3 a side that can't be read.
    """
    old, new = _named(old, new, entry, olm_version, is_begun=bool(proposed["from_"]), fresh=fresh, purpose=for_)
    options = Options(
        purpose=for_,  # type: ignore[arg-type]
        certificates=certs,  # type: ignore[arg-type]
        show_secrets=True,  # the comparison has to know them; it masks them
        kube_version=kube_version,
        approve=approve,
        install_namespace=namespace,
        watch=watched(namespace, watch, all_namespaces),
    )
    begun = None
    timings = timings_of(ctx, proposed)
    if proposed["from_"]:
        options, begun = with_begun(options, proposed, ctx, may_be_absent=allow_empty)
    else:
        options = with_proposed(options, proposed, ctx)
    given = frozenset(field for name, field in _FIELDS.items() if is_given(ctx, name))
    given |= given_version(ctx) | given_fields(ctx, proposed)

    from olmc.review.diff.engine import difference_of, write
    from olmc.review.diff.operators import remarks
    from olmc.review.diff.settings import Kinds
    from olmc.review.explain.left_out import note

    kinds = Kinds(include, exclude) if include or exclude else None
    made: list[Compilation] = []

    def compiled(
        path: Path, narrowing: Narrowing | None, premises: Premises, version: str = olm_version[0]
    ) -> Compilation:
        wanted = premises.of(options._replace(olm_version=version))
        one = compile(CompileRequest(path, wanted, given | premises.decided, narrowing, stage=timings.stage))
        timings.compiled(path, one)
        made.append(one)
        return made[-1]

    with progress() as doing:
        doing(f"reading {old} and {new}" if new else f"compiling {old} for two versions of OLM")
        if new:
            reading = _read(begun or old, new, compiled, kinds, allow_empty, look_ahead=not approve, fresh=fresh)
        else:
            reading = _read_versions(old, olm_version, compiled, kinds, allow_empty)
        if kinds is not None:
            _check_kinds(kinds, reading, made)
        doing("comparing")
        difference = difference_of(reading, formats=not new, show_secrets=show_secrets)
        text = write(difference, output, color=True) if difference is not None else ""
    least = Severity.ERROR if difference is not None else Severity.FAILURE
    tell(reading.diagnostics, least=Severity.WARNING if verbose else least)
    tell_idle(ctx, given_of(made), _NEEDS)
    tell_approvals(approve, [each.settled.cluster for each in made if each.settled is not None])
    if difference is None:
        raise SystemExit(BAD_INPUT)
    say(text, nl=False, out=True)
    say(note(difference.new.left_out, f"{(new or old).rstrip('/')}/"), nl=False)
    for remark in remarks(difference.old, difference.new):
        say(f"olmc: {remark}")
    grave = [change for change in difference.changes if change.severity >= _LEAST[fail_on]]
    raise SystemExit(FINDINGS if grave else DONE)


def _named(
    old: str | None, new: str | None, entry: str, olm_version: Sequence[str], *, is_begun: bool, fresh: bool,
    purpose: str,
) -> tuple[str, str | None]:  # fmt: skip
    """The names of both sides; the second is None for one path under two versions of OLM, and the first is that of the
    cluster where one `is_begun`."""
    if old == new == "-":
        wrong_usage("there is only one stdin; give another OLD or NEW.")
    if is_begun:
        if new or entry or fresh or len(olm_version) == 2 or purpose != "review":
            text = "--from says what OLD is: give NEW alone, without --entry, --fresh, --for apply or two OLM versions."
            wrong_usage(text)
        return "", old or "."
    if old is None:
        wrong_usage("Missing argument 'OLD'.")
    if entry:
        from olmc.cli.inputs import sides_of_entry  # most diffs are of folders

        old, new = sides_of_entry(old, new, entry)
    from olmc.review.diff.git import sides_of

    alone = sides_of(old) if new is None and len(olm_version) == 1 else None
    old, new = alone or (old, new)
    if (len(olm_version) == 2) == bool(new):
        wrong_usage("Give OLD and NEW, or one git revision (git:main), or one PATH with --olm-version A..B.")
    return old, new


def _read(
    old: str | BegunCluster, new: str, compiled: CompileUnder, kinds: Kinds | None, allow_empty: bool, *,
    look_ahead: bool, fresh: bool,
) -> Sides:  # fmt: skip
    from olmc.review.diff.both_sides import read_sides

    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        return read_sides(
            old, new, Path(folder), compiled, allow_empty=allow_empty, kinds=kinds, look_ahead=look_ahead, fresh=fresh
        )  # fmt: skip


def _read_versions(
    path: str, versions: Sequence[str], compiled: Callable[..., Compilation], kinds: Kinds | None, allow_empty: bool
) -> Sides:
    from olmc.review.diff.both_sides import read_versions

    under = [(version, partial(compiled, version=version)) for version in versions]
    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        return read_versions(path, under, Path(folder), allow_empty=allow_empty, kinds=kinds)


def _check_kinds(kinds: Kinds, reading: Sides, made: Sequence[Compilation]) -> None:
    """Raise BadParameter for a kind that nothing can be of."""
    from olmc.compiler.reconcile.misspelling import possible_objects
    from olmc.k8s.api.restmapper import known_kinds

    # What both renderings have just so was never read, and may be of any kind.
    if reading.sides is None or any(side.shared for side in reading.sides):
        return
    there = [obj for side in reading.sides for obj in (*side.objects, *side.excluded)]
    settled = ((each.settled.cluster, each.workspace) for each in made if each.settled is not None)
    there += [obj for each in settled for obj in possible_objects(*each)]
    values.check_kinds(kinds.include, kinds.exclude, known_kinds(there))
