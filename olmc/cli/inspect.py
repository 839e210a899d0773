"""Commands that look into a compilation: `olmc why` and `olmc status`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.compiling import (
    EVERYTHING,
    CompiledInput,
    cluster_parts,
    compiled,
    compiled_clusters,
    is_any_broken,
    tell_left_entries,
    tell_left_out,
)
from olmc.cli.console import DONE, FINDINGS, Input, folder_from_here, say, say_table, wrong_usage
from olmc.cli.declared import PathOf, argument, beginning, command, flag, packages_of, path_of, workspace_of
from olmc.cli.options import (
    ClusterOptions,
    CompileOptions,
    ProposedOptions,
    ScopeOptions,
    StateOptions,
    allow_empty_option,
    approve_option,
    entry_option,
    fields_of,
    fixed_of,
    inputs_of,
    no_remedies_option,
    olm_version_option,
    options_of,
    output_option,
    timings_of,
    timings_option,
)
from olmc.compiler.api import Compilation
from olmc.compiler.olm.profiles.data import controller_text
from olmc.compiler.output.messages import QueryError, as_text, clean, json_text, seen_from
from olmc.k8s.diagnostics import Severity, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.review.diagnose.engine import diagnose, scene_of, with_causes, with_diagnoses
from olmc.review.diagnose.remedies import with_fixes
from olmc.review.explain.metrics import as_prometheus
from olmc.review.explain.missing import PRESENT, UNKNOWN, answers_from
from olmc.review.explain.missing import as_data as answers_as_data
from olmc.review.explain.missing import as_text as answers_as_text
from olmc.review.explain.missing import why as answers_to
from olmc.review.explain.status import ExplainContext, as_data, as_table, operators, unlisted_failures
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.load.repository import ClusterPart
    from olmc.compiler.load.request import CompileRequest
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.review.explain.missing import WhyAnswer
    from olmc.review.explain.status import OperatorStatus


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a package or a CSV, and with a slash an object of the cluster."""
    if "/" in incomplete:
        with suppress(OSError):
            return beginning(incomplete, (str(rendered.identity) for rendered in compile(path_of(ctx)).objects))
        return []
    workspace = workspace_of(ctx)
    return beginning(incomplete, [*packages_of(workspace), *(workspace.bundles if workspace is not None else ())])


class WhyOptions(NamedTuple):
    """The options of `olmc why`."""

    target: str = argument(shell_complete=complete_target)
    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    output: str = output_option(["text", "json"], "Text, or JSON (schemas/why.schema.json).")
    no_remedies: bool = no_remedies_option
    scope: ScopeOptions = ScopeOptions()
    compiling: CompileOptions = CompileOptions()


@command(WhyOptions)
def why(ctx: click.Context, opts: WhyOptions) -> None:
    """Explain the origin of an object, or its obstacle.

    TARGET is Kind/namespace/name or Kind/name, the name of a CSV, or a package. Kinds may be plurals or short names,
    in any case. PATH is a workspace or a bundle; the default is the current directory. Of a repository, each cluster
    answers.

    \b
    Examples:
      olmc why Deployment/harbour/beacon-controller     file, line, rule and cause
      olmc why deploy/beacon-controller my-workspace    short names work, too
      olmc why beacon.v1.2.0                            why is it not installed?
      olmc why beacon                                   everything about a package

    Exit codes: 0 it exists and works, or is unknown for want of content, 1 it is missing or fails, 2 nothing has this
    name, 3 input that can't be compiled.
    """
    one, fields = inputs_of(ctx, [opts.path])[0], fields_of(opts.scope, opts.compiling)
    parts = cluster_parts(ctx, one.root, fields) if one.is_plain else (None,)
    tell_left_entries((part for part in parts if part is not None), one.root)
    found: list[tuple[ClusterPart | None, Sequence[WhyAnswer]]] = []
    unknown = ""
    for part in parts:
        try:
            found.append((part, _answers(ctx, opts, one, part)))
        except QueryError as error:
            unknown = unknown or str(error)
    if not found:
        wrong_usage(unknown or f"nothing is called {opts.target}")
    if opts.output == "json":
        data = [
            ({"names": list(part.cluster.names or part.cluster.paths)} if part is not None else {})
            | answers_as_data(opts.target, answers)
            for part, answers in found
        ]
        is_one = found[0][0] is None
        say(json_text(data[0] if is_one else {"version": 1, "target": opts.target, "clusters": data}), out=True)
    else:
        folder = "" if one.is_staged else folder_from_here(one.root)
        alike: dict[str, list[str]] = {}
        for part, answers in found:
            text = answers_as_text(answers_from(folder, answers, fields["from_"]))
            alike.setdefault(text, []).extend([part.heading] if part is not None else [])
        for text, titles in alike.items():
            say((clean(f"== {', '.join(titles)}") + "\n" if titles else "") + text, nl=False, out=True)
    works = all(answer.state in (PRESENT, UNKNOWN) for _, answers in found for answer in answers)
    raise SystemExit(DONE if works else FINDINGS)


def _answers(ctx: click.Context, opts: WhyOptions, one: Input, part: ClusterPart | None) -> Sequence[WhyAnswer]:
    """The answers about the target in a workspace, or in a cluster of a repository; QueryError where it has none."""
    path, fields, timings = one.root, fields_of(opts.scope, opts.compiling), timings_of(ctx, opts.compiling.timings)
    done, settled = compiled(
        ctx, path, fields, least=Severity.ERROR, beside=one.beside, timings=timings, part=part or one.part
    )
    scene = ExplainContext(
        done.objects, settled, diagnostics=done.diagnostics, operators=done.operators,
        left_out=tell_left_out(path, done) if part is None else (), installs=done.installs, extensions=done.extensions,
    )  # fmt: skip
    if done.workspace is not None:
        scene = scene._replace(bundles=done.workspace.bundles, manifests=done.workspace.manifests)
    answers = answers_to(opts.target, scene)
    found = diagnose(scene_of(done, only_operators=True))
    if one.is_plain and part is None and not opts.no_remedies:
        found = with_fixes(one.request(options_of(ctx, fields), EVERYTHING | fixed_of(ctx, fields)), done, found)
    return with_causes(answers, found, settled.cluster)


class StatusOptions(NamedTuple):
    """The options of `olmc status`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]...")
    output: str = output_option(
        ["table", "wide", "json", "prometheus"],
        "A table, one with all names and causes, JSON (schemas/status.schema.json), or metrics.",
    )
    entries: tuple[str, ...] = entry_option
    approve: tuple[str, ...] = approve_option
    all_metrics: bool = flag("--all-metrics", help="For prometheus: include OLM's undocumented metrics.")
    legacy_metrics: bool = flag("--legacy-metrics", help="For prometheus: use the labels of OLM's documentation.")
    allow_empty: bool = allow_empty_option
    no_remedies: bool = no_remedies_option
    scope: ScopeOptions = ScopeOptions()
    state: StateOptions = StateOptions()
    cluster: ClusterOptions = ClusterOptions()
    olm_version: str = olm_version_option
    timings: bool = timings_option
    proposed: ProposedOptions = ProposedOptions()


@command(StatusOptions)
def status(ctx: click.Context, opts: StatusOptions) -> None:
    """Show each operator's version, phase and next upgrade.

    One row per operator and namespace, with the next upgrade. PATH is a workspace or a bundle; the default is the
    current directory; several are shown one after the other. Files, and - for stdin, form one workspace together. `olmc
    why NAME` explains a row.

    \b
    Examples:
      olmc status                      this workspace
      olmc status -o wide              with CSV names and all that is missing
      olmc status prod staging         two workspaces
      olmc status -o prometheus        the metrics that OLM would export

    Exit codes: 0 done, 1 an operator would fail or can't be upgraded, 2 wrong usage, 3 input that can't be compiled.
    """
    output, timings = opts.output, timings_of(ctx, opts.timings)
    inputs = inputs_of(ctx, opts.paths, opts.entries)
    roots = [one.root for one in inputs]
    if output == "prometheus" and len(roots) > 1:
        wrong_usage("-o prometheus takes one PATH: metrics have no label for workspaces.")
    if output != "prometheus" and (opts.all_metrics or opts.legacy_metrics):
        wrong_usage("--all-metrics and --legacy-metrics need -o prometheus.")
    fields = fields_of(
        opts.scope, opts.state, opts.cluster, opts.proposed, approve=opts.approve, olm_version=opts.olm_version
    )
    by_input = [compiled_clusters(ctx, one, fields, least=Severity.ERROR, timings=timings) for one in inputs]
    done = [each for several in by_input for each in several]
    if output == "prometheus" and len(done) != 1:
        wrong_usage("-o prometheus takes one cluster: metrics have no label for clusters. Choose one with --entry.")
    listed = [
        row
        for one, several in zip(inputs, by_input, strict=True)
        for row in _rows(
            one.root.as_posix() if len(roots) > 1 else "", several,
            one.request(options_of(ctx, fields), EVERYTHING | fixed_of(ctx, fields))
            if not (opts.no_remedies or one.is_staged or output == "prometheus") else None,
        )
    ]  # fmt: skip
    found = [(row.title, row.operator) for row in listed]
    if output == "json":
        say(json_text(as_data(found)), out=True)
    elif output == "prometheus":
        say(as_prometheus(done[0].settled, legacy=opts.legacy_metrics, everything=opts.all_metrics), nl=False, out=True)
    else:
        here = "" if inputs[0].is_staged else folder_from_here(roots[0])
        folders = {row.operator: here for row in listed if row.is_of_cluster}
        table = as_table(found, wide=output == "wide", color=True, here=here, folders=folders, cluster=fields["from_"])
        say_table(table, wide=output == "wide")
        if not found:
            say("olmc: no operators here")
        for controller in sorted({operator.controller for _, operator in found} - {""}):
            say(f"OLM v1 as in operator-controller {controller_text(controller)}")
    for one, several in zip(inputs, by_input, strict=True):
        for made, settled, part in several:
            if part is not None:
                continue  # olmc check reports each finding about a repository once
            tell_left_out(one.root, made)
            folder = "" if one.is_staged else folder_from_here(one.root)
            rows = operators(settled, made.operators, extension_rows(made))
            say(as_text(seen_from(folder, unlisted_failures(made.diagnostics, rows))), nl=False)
    findings = any(each.compilation.findings for each in done if each.part is None)
    findings |= is_any_broken(each.part for each in done)
    raise SystemExit(FINDINGS if findings or any(operator.fails for _, operator in found) else DONE)


class _Row(NamedTuple):
    """An operator, the workspace or the clusters that it is in, and whether those are of a repository."""

    title: str
    operator: OperatorStatus
    is_of_cluster: bool = False


def _rows(name: str, compiled: Sequence[CompiledInput], request: CompileRequest | None) -> Iterator[_Row]:
    """The operators of a workspace, or those of the clusters of a repository, equal ones with all of their clusters.

    `request` is that of a workspace in which changes are tried, None to try none.
    """
    alike: dict[OperatorStatus, dict[str, None]] = {}
    for one in compiled:
        made, settled, cluster = one.compilation, one.settled, one.cluster
        titles = [name] if cluster is None else list(cluster.names) or [cluster.title]
        for operator in diagnosed_rows(made, settled, request if cluster is None else None):
            alike.setdefault(operator, {}).update(dict.fromkeys(titles))
    is_repository = any(one.cluster is not None for one in compiled)
    for operator, titles_of in alike.items():
        yield _Row(join_limited(list(titles_of), _MOST_CLUSTERS), operator, is_repository)


_MOST_CLUSTERS = 2


def diagnosed_rows(
    made: Compilation, settled: SettledCluster, request: CompileRequest | None = None
) -> Sequence[OperatorStatus]:
    """Return the operators of a cluster with their diagnoses; with a request also try changes that cure them."""
    found = diagnose(scene_of(made, only_operators=True))
    if request is not None:
        found = with_fixes(request, made, found)
    return with_diagnoses(operators(settled, made.operators, extension_rows(made)), found)


def extension_rows(done: Compilation) -> Iterator[OperatorStatus]:
    """The rows of ClusterExtensions."""
    if done.extensions:
        from olmc.review.explain.extensions import extension_states  # most workspaces have none

        yield from extension_states(done.extensions)
