"""Commands that compare versions: `olmc diff` and `olmc graph`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.api import Compilation, compile
from olmc.cli import completing
from olmc.cli import options as values
from olmc.cli.as_click import GivenPath
from olmc.cli.console import progress, tell, tell_approvals
from olmc.cli.options import (
    RENDERED,
    OptionNeed,
    approve_option,
    as_option,
    certs_option,
    given_fields,
    given_of,
    given_version,
    kube_version_option,
    olm_versions_option,
    output_option,
    proposed_options,
    show_secrets_option,
    state_options,
    tell_idle,
    timings_of,
    timings_option,
    watched,
    with_begun,
    with_proposed,
)
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS
from olmc.model.diagnostics import Report, Severity
from olmc.model.options import Narrowing, Options

_LEAST = {"breaking": Severity.ERROR, "risk": Severity.FAILURE, "any": Severity.INFO}
_FIELDS = {"for_": "purpose", "certs": "certificates", "kube_version": "kube_version", "approve": "approve"}


_ONWARD = OptionNeed("two workspaces, or --from", lambda given: given.options.state is not None)
_EXTENSION = "ClusterExtension/"
_NEEDS = {**RENDERED, "prune": [_ONWARD], "delete": [_ONWARD]}

if TYPE_CHECKING:
    from olmc.diff.both_sides import BegunCluster
    from olmc.diff.compare import Difference
    from olmc.diff.premises import CompileUnder, Premises
    from olmc.diff.sides import Kinds, Sides


@click.command()
@click.argument("old", type=GivenPath(), default=None, required=False, metavar="[OLD]")
@click.argument("new", type=GivenPath(), default=None, required=False, metavar="[NEW]")
@as_option(
    output_option(
        ["text", "markdown", "json", "html"],
        "Text, a comment for a pull request, JSON (schemas/diff.schema.json), or a page by itself.",
    )
)
@click.option("--allow-empty", is_flag=True, help="A side that does not exist, or has no objects, counts as empty.")
@click.option(
    "--for",
    "for_",
    envvar="OLMC_DIFF_FOR",
    type=click.Choice(["review", "apply"]),
    default="review",
    show_default=True,
    help="Compare what OLM leaves in the cluster, or what is applied without OLM.",
)
@as_option(certs_option)
@click.option(
    "--include",
    multiple=True,
    metavar="KIND",
    shell_complete=completing.kinds,
    help="Compare only these kinds, and permissions (may be repeated); else what olmc.yaml of OLD says.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="KIND",
    shell_complete=completing.kinds,
    help="Do not compare these kinds but for permissions (may be repeated); else what olmc.yaml of OLD says.",
)
@click.option("-n", "--namespace", default="", metavar="NS", help="For bundles: the namespace to install them in.")
@click.option("--watch", metavar="NS,NS", help="For bundles: the namespaces that they watch.")
@click.option("--all-namespaces", is_flag=True, help="For bundles: watch all namespaces.")
@click.option("--fresh", is_flag=True, help="Compare what both sides leave in a cluster that holds nothing yet.")
@click.option("--entry", default="", metavar="NAME", help="Of a repository: a folder of it, or what applies one.")
@as_option(approve_option)
@state_options
@kube_version_option
@as_option(olm_versions_option)
@proposed_options
@as_option(timings_option)
@click.option(
    "--fail-on",
    type=click.Choice(["breaking", "risk", "any"]),
    default="any",
    show_default=True,
    help="Exit 1 if a change is this grave, or graver.",
)
@as_option(show_secrets_option)
@click.option("-v", "--verbose", is_flag=True, help="Also show what there is to say about the sides themselves.")
@click.pass_context
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
    """Say what an upgrade changes, and what it breaks.

    OLD and NEW are each the path of a workspace or a bundle, which is compiled; the path of what `olmc render` wrote, a
    folder or a file; or git:REF[:PATH], read from the repository without touching the work tree. Without PATH it is the
    path of the other side. git:A..B[:PATH] is both sides, and a revision alone is compared with the work tree. One of
    them may be - for stdin. A folder with a kustomization is compiled as it is built, a Helm chart as it is
    rendered.

    Of two workspaces the new one is applied to the cluster that the old one leaves, as olmc plan does; --from names
    that cluster instead of OLD. What waits for approval is shown as it would be then, behind what comes without it,
    and last what is kept back because an operator is stuck.

    \b
    Examples:
      olmc diff git:main                             what this branch changes
      olmc diff git:v1..v2 --fail-on breaking        two releases, for CI
      olmc diff git:origin/main clusters/prod -o markdown
      olmc diff git:main --entry operators-prod      what this Application or Kustomization applies
      olmc diff beacon-1.0.0 beacon-1.1.0 -n tools   two versions of a bundle
      olmc diff rendered.yaml .                      what was rendered, and what would be now
      olmc diff --from cluster-state.yaml clusters/prod   what becomes of the cluster as it is
      olmc diff git:v1 git:v2 -o html > review.html  a page to look around in
      olmc diff --olm-version 0.25..0.46 .           what upgrading OLM itself changes

    Exit codes: 0 both sides mean the same, 1 they differ (see --fail-on), 2 wrong usage, 3 a side that can't be read.
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
        options, begun = with_begun(options, proposed, may_be_absent=allow_empty)
    else:
        options = with_proposed(options, proposed)
    default = click.core.ParameterSource.DEFAULT
    given = frozenset(field for name, field in _FIELDS.items() if ctx.get_parameter_source(name) is not default)
    given |= given_version(ctx) | given_fields(ctx, proposed)

    from olmc.diff.assumptions import remarks
    from olmc.diff.sides import Kinds
    from olmc.explain.left_out import note

    kinds = Kinds(include, exclude) if include or exclude else None
    made: list[Compilation] = []

    def compiled(
        path: Path, narrowing: Narrowing | None, premises: Premises, version: str = olm_version[0]
    ) -> Compilation:
        wanted = premises.of(options._replace(olm_version=version))
        one = compile(path, wanted, given=given | premises.decided, narrowing=narrowing, stage=timings.stage)
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
        difference = _difference(reading, formats=not new, show_secrets=show_secrets)
        text = write(difference, output, color=True) if difference is not None else ""
    least = Severity.ERROR if difference is not None else Severity.FAILURE
    tell(reading.diagnostics, least=Severity.WARNING if verbose else least)
    tell_idle(ctx, given_of(made), _NEEDS)
    tell_approvals(approve, [each.settled.cluster for each in made if each.settled is not None])
    if difference is None:
        ctx.exit(BAD_INPUT)
    click.echo(text, nl=False)
    click.echo(note(difference.new.left_out, f"{(new or old).rstrip('/')}/"), err=True, nl=False)
    for remark in remarks(difference.old, difference.new):
        click.echo(f"olmc: {remark}", err=True)
    grave = [change for change in difference.changes if change.severity >= _LEAST[fail_on]]
    ctx.exit(FINDINGS if grave else DONE)


def _named(
    old: str | None, new: str | None, entry: str, olm_version: Sequence[str], *, is_begun: bool, fresh: bool,
    purpose: str,
) -> tuple[str, str | None]:  # fmt: skip
    """The names of both sides; the second is None for one path under two versions of OLM, and the first is that of the
    cluster where one `is_begun`."""
    if old == new == "-":
        raise click.UsageError("there is only one stdin; give another OLD or NEW.")
    if is_begun:
        if new or entry or fresh or len(olm_version) == 2 or purpose != "review":
            text = "--from says what OLD is: give NEW alone, without --entry, --fresh, --for apply or two OLM versions."
            raise click.UsageError(text)
        return "", old or "."
    if old is None:
        raise click.UsageError("Missing argument 'OLD'.")
    if entry:
        from olmc.cli.inputs import sides_of_entry  # most diffs are of folders

        old, new = sides_of_entry(old, new, entry)
    from olmc.diff.git import sides_of

    alone = sides_of(old) if new is None and len(olm_version) == 1 else None
    old, new = alone or (old, new)
    if (len(olm_version) == 2) == bool(new):
        raise click.UsageError("OLD and NEW are compared, or one PATH with --olm-version A..B.")
    return old, new


def _read(
    old: str | BegunCluster, new: str, compiled: CompileUnder, kinds: Kinds | None, allow_empty: bool, *,
    look_ahead: bool, fresh: bool,
) -> Sides:  # fmt: skip
    from olmc.diff.both_sides import read_sides

    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        return read_sides(
            old, new, Path(folder), compiled, allow_empty=allow_empty, kinds=kinds, look_ahead=look_ahead, fresh=fresh
        )  # fmt: skip


def _read_versions(
    path: str, versions: Sequence[str], compiled: Callable[..., Compilation], kinds: Kinds | None, allow_empty: bool
) -> Sides:
    from olmc.diff.both_sides import read_versions

    under = [(version, partial(compiled, version=version)) for version in versions]
    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        return read_versions(path, under, Path(folder), allow_empty=allow_empty, kinds=kinds)


def _check_kinds(kinds: Kinds, reading: Sides, made: Sequence[Compilation]) -> None:
    """Raise BadParameter for a kind that nothing can be of."""
    from olmc.kube.restmapper import known_kinds
    from olmc.reconcile.misspelling import possible_objects

    # What both renderings have just so was never read, and may be of any kind.
    if reading.sides is None or any(side.shared for side in reading.sides):
        return
    there = [obj for side in reading.sides for obj in (*side.objects, *side.excluded)]
    settled = ((each.settled.cluster, each.workspace) for each in made if each.settled is not None)
    there += [obj for each in settled for obj in possible_objects(*each)]
    values.check_kinds(kinds.include, kinds.exclude, known_kinds(there))


def _difference(reading: Sides, *, formats: bool, show_secrets: bool) -> Difference | None:
    """What both sides differ in, with what comes after approvals and what is kept back; None where one is missing."""
    from olmc.diff.compare import compare, with_approval, with_kept_back

    if reading.sides is None:
        return None
    difference = compare(*reading.sides, formats=formats, show_secrets=show_secrets)
    if reading.approved is not None:
        later = compare(*reading.approved, formats=formats, show_secrets=show_secrets)
        difference = with_approval(difference, later)
    if reading.kept_back is not None:
        difference = with_kept_back(difference, reading.kept_back, show_secrets=show_secrets)
    return difference


@click.command()
@click.argument("package", shell_complete=completing.packages)
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["mermaid", "dot", "json", "svg"]),
    help="The format; mermaid by default, with --from a text or json.",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="NAME",
    envvar="OLMC_GRAPH_CHANNEL",
    help="Only this channel (may be repeated).",
)
@click.option("--catalog", default="", metavar="NAME", help="The catalog, if several have the package.")
@click.option("--skip-ranges", is_flag=True, help="Draw all edges by skipRange, not just those that OLM takes first.")
@click.option(
    "--from",
    "start",
    metavar="VERSION",
    envvar="OLMC_GRAPH_FROM",
    help="Where an upgrade starts: a version, or the name of a CSV.",
)
@click.option(
    "--to",
    "goal",
    metavar="VERSION",
    envvar="OLMC_GRAPH_TO",
    help="Where it should lead; without it, to where OLM rests.",
)
@click.pass_context
def graph(
    ctx: click.Context,
    package: str,
    path: Path,
    output: str | None,
    channels: tuple[str, ...],
    catalog: str,
    skip_ranges: bool,
    start: str | None,
    goal: str | None,
) -> None:
    """Draw the upgrades of a package, or print one's way.

    PATH is a workspace, or the folder of one catalog; without it it is the current directory. Marked are the heads of
    channels, and versions that are skipped, deprecated, missing, or stranded (their upgrades never lead to the head).

    \b
    Examples:
      olmc graph kettle                              for a README or a pull request
      olmc graph kettle -o svg > kettle.svg          a picture
      olmc graph kettle -o json catalogs/acme        for machines (schemas/graph.schema.json)
      olmc graph kettle --from 1.0.0 --to 1.4.2      the hops from one version to another
      olmc graph kettle --from 1.0.0 --channel fast  where an upgrade ends
      olmc graph ClusterExtension/kettle             where OLM v1 takes it, resolution by resolution

    Exit codes: 0 done, 1 findings (the version is not reached, or OLM can't serve the catalog), 2 wrong usage,
    3 input that can't be read.
    """
    if goal is not None and start is None:
        raise click.UsageError("--to needs --from.")
    if start is not None and (output not in (None, "json") or skip_ranges):
        raise click.UsageError("--from prints a text, or with -o json JSON; it draws nothing.")
    if start is not None and len(channels) > 1:
        raise click.UsageError("--from walks in one channel; give --channel once.")
    if package.startswith(_EXTENSION):
        if output is not None or start is not None or channels or catalog or skip_ranges:
            raise click.UsageError("the way of a ClusterExtension is a text, and follows from what that asks for.")
        ctx.exit(_walk_extension(package.removeprefix(_EXTENSION), path))
    from olmc.graph.catalogs import catalog_with, catalogs_at, is_about_dropped
    from olmc.graph.output import describe_route, draw_package  # takes long to import, as all that reads catalogs does
    from olmc.load.config import read_config
    from olmc.load.suppressions import apply_suppressions
    from olmc.output.messages import QueryError

    report = Report()
    catalogs = catalogs_at(path, report)
    kept = apply_suppressions(path, report, read_config(path, Report())).kept
    tell(kept, path, least=Severity.FAILURE)
    # Of what only could be better, a graph is about the versions that it does not have.
    tell((each for each in kept if is_about_dropped(each, package)), path)
    if report.failed:
        ctx.exit(BAD_INPUT)
    if not catalogs:
        click.echo(f"olmc: no catalog and no bundle in {path}", err=True)
        ctx.exit(BAD_INPUT)
    try:
        chosen = catalog_with(catalogs, package, catalog)
        if start is None:
            answer = draw_package(chosen, package, channels, output or "mermaid", all_ranges=skip_ranges)
        else:
            answer = describe_route(chosen, package, "".join(channels), start, goal, as_data=output == "json")
    except QueryError as error:
        if any(each.problem and not each.packages for each in catalogs):
            click.echo(f"olmc: {error}", err=True)
            ctx.exit(BAD_INPUT)
        raise click.UsageError(str(error)) from error
    if answer.remark:
        click.echo(f"olmc: {answer.remark}", err=True)
    click.echo(answer.text, nl=False)
    ctx.exit(DONE if answer.holds and not chosen.problem else FINDINGS)


def _walk_extension(name: str, path: Path) -> int:
    """Print where the controller takes a ClusterExtension, and give the exit code."""
    from olmc.model.objects import name_of
    from olmc.olmv1.route import extension_route, route_lines
    from olmc.output.messages import not_found
    from olmc.output.unicode import clean

    done = compile(path)
    tell(done.diagnostics, path, least=Severity.ERROR)
    if done.failed or done.workspace is None:
        return BAD_INPUT
    found = extension_route(done.workspace, name, done.options)
    if found is None:
        known = [name_of(manifest.object) for manifest in done.workspace.extensions]
        raise click.UsageError(str(not_found(f"There is no ClusterExtension {name}", name, known)))
    click.echo("\n".join(map(clean, route_lines(*found))))
    return FINDINGS if found[1][-1].resolution.error else DONE


def write(difference: Difference, output: str, *, color: bool = False) -> str:
    """The text of a difference as `output`: text, with or without color, markdown, json or html."""
    from olmc.diff.outputs import as_json, as_markdown, as_text

    match output:
        case "json":
            return as_json(difference)
        case "markdown":
            return as_markdown(difference)
        case "html":
            from olmc.diff.html import as_html  # nothing else of it is needed by the other formats

            return as_html(difference)
    return as_text(difference, color=color)
