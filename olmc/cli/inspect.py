"""Commands that look into a compilation: `olmc why`, `olmc status`, `olmc rbac` and `olmc rbac who-can`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.api import Compilation
from olmc.cli.as_click import GivenPath
from olmc.cli.completing import targets
from olmc.cli.console import folder_from_here, say_table
from olmc.cli.options import (
    allow_empty_option,
    approve_option,
    as_option,
    compile_options,
    compiled,
    emptiness,
    entry_option,
    inputs_of,
    kube_version_option,
    olm_version_option,
    output_option,
    proposed_options,
    state_options,
    tell_left_out,
)
from olmc.cli.process import DONE, FINDINGS
from olmc.cli.scope import scope_options
from olmc.model.diagnostics import Severity
from olmc.output.messages import as_text
from olmc.output.places import seen_from
from olmc.output.unicode import clean, json_text

if TYPE_CHECKING:
    from olmc.explain.status import OperatorStatus


@click.command()
@click.argument("target", shell_complete=targets)
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@as_option(output_option(["text", "json"], "Text for people, or JSON for machines (schemas/why.schema.json)."))
@scope_options
@compile_options
@click.pass_context
def why(
    ctx: click.Context, /, target: str, path: Path, output: str, approve: tuple[str, ...], olm_version: str,
    **proposed: Any,
) -> None:  # fmt: skip
    """Say where an object comes from, or what prevents it.

    TARGET is Kind/namespace/name or Kind/name, the name of a CSV, or a package. Kinds may be plurals or short names, in
    any case. PATH is a workspace or a bundle; without it it is the current directory.

    \b
    Examples:
      olmc why Deployment/harbour/beacon-controller     file and line, pass, rule, who asked for it
      olmc why deploy/beacon-controller my-workspace    short names will do
      olmc why beacon.v1.2.0                            why is this version (not) installed?
      olmc why beacon                                   everything about a package

    Exit codes: 0 it is there and works, 1 it is absent or fails, 2 nobody knows it, 3 input that can't be compiled.
    """
    from olmc.explain.targets import ExplainContext
    from olmc.explain.why import PRESENT, as_data, as_text
    from olmc.explain.why import why as answers_to
    from olmc.output.messages import QueryError

    path, beside, *_ = inputs_of(ctx, [path])[0]
    done, settled = compiled(ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR, beside=beside)
    left = tell_left_out(path, done)
    scene = ExplainContext(
        done.objects, settled, diagnostics=done.diagnostics, operators=done.operators, left_out=left,
        installs=done.installs, extensions=done.extensions,
    )  # fmt: skip
    if done.workspace is not None:
        scene = scene._replace(bundles=done.workspace.bundles, manifests=done.workspace.manifests)
    try:
        answers = answers_to(target, scene)
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    if output == "json":
        click.echo(json_text(as_data(target, answers)))
    else:
        click.echo(as_text(answers), nl=False)
    ctx.exit(DONE if all(answer.state == PRESENT for answer in answers) else FINDINGS)


@click.command()
@click.argument("paths", nargs=-1, type=GivenPath(path_type=Path), metavar="[PATH]...")
@as_option(
    output_option(
        ["table", "wide", "json", "prometheus"],
        "A table, one with all names and causes, JSON (schemas/status.schema.json), or metrics.",
    )
)
@as_option(entry_option)
@as_option(approve_option)
@click.option("--all-metrics", is_flag=True, help="For prometheus: also what OLM exports without documenting it.")
@click.option("--legacy-metrics", is_flag=True, help="For prometheus: the labels that OLM's documents name.")
@as_option(allow_empty_option)
@scope_options
@state_options
@kube_version_option
@as_option(olm_version_option)
@proposed_options
@click.pass_context
def status(
    ctx: click.Context, /, paths: tuple[Path, ...], output: str, approve: tuple[str, ...], all_metrics: bool,
    legacy_metrics: bool, allow_empty: bool, entries: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say how every operator would be, and what it lacks.

    One row an operator and namespace, with what comes next. PATH is a workspace or a bundle; several are shown below
    each other, without PATH it is the current directory. Files, and - for stdin, are one workspace together. olmc why
    NAME says more about a row.

    \b
    Examples:
      olmc status                      this workspace
      olmc status -o wide              with the names of CSVs and everything that is missing
      olmc status prod staging         two workspaces
      olmc status -o prometheus        the metrics that OLM would export

    Exit codes: 0 done, 1 an operator would fail or can't be upgraded, 2 wrong usage, 3 input that can't be compiled.
    """
    inputs = inputs_of(ctx, paths, entries)
    roots = [one.root for one in inputs]
    if output == "prometheus" and len(roots) > 1:
        raise click.UsageError("-o prometheus takes one PATH: metrics have no label for workspaces.")
    if output != "prometheus" and (all_metrics or legacy_metrics):
        raise click.UsageError("--all-metrics and --legacy-metrics need -o prometheus.")
    from olmc.explain.metrics import as_prometheus
    from olmc.explain.status import as_data, as_table, operators, untold

    done = [
        compiled(
            ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR, beside=beside, release=release
        )
        for path, beside, _, release in inputs
    ]
    found = [
        (path.as_posix() if len(roots) > 1 else "", operator)
        for path, (one, settled) in zip(roots, done, strict=True)
        for operator in operators(settled, one.operators, extension_rows(one))
    ]
    if output == "json":
        click.echo(json_text(as_data(found)))
    elif output == "prometheus":
        click.echo(as_prometheus(done[0][1], legacy=legacy_metrics, everything=all_metrics), nl=False)
    else:
        say_table(as_table(found, wide=output == "wide"), wide=output == "wide")
        if not found:
            click.echo("olmc: no operators here", err=True)
    for (path, _, is_staged, _), (one, settled) in zip(inputs, done, strict=True):
        tell_left_out(path, one)
        folder = "" if is_staged else folder_from_here(path)
        untold_here = seen_from(folder, untold(one.diagnostics, operators(settled, one.operators, extension_rows(one))))
        click.echo(as_text(untold_here), err=True, nl=False)
    empty = [
        finding
        for (root, _, is_staged, _), (one, _) in zip(inputs, done, strict=True)
        for finding in (emptiness(None if is_staged else root, one) if not allow_empty else ())
    ]
    click.echo(as_text(empty), err=True, nl=False)
    fails = bool(empty) or any(operator.fails for _, operator in found) or any(one.findings for one, _ in done)
    ctx.exit(FINDINGS if fails else DONE)


def extension_rows(done: Compilation) -> Iterator[OperatorStatus]:
    """The rows of ClusterExtensions."""
    if done.extensions:
        from olmc.explain.extensions import extension_states  # most workspaces have none

        yield from extension_states(done.extensions)


_LEVELS = ("low", "medium", "high", "critical")


class _WithQuestion(click.Command):
    """`rbac`, or `rbac who-can` if that word comes first; a workspace called so is `./who-can`."""

    @property
    def commands(self) -> dict[str, click.Command]:
        """As of a group."""
        return {"who-can": who_can}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["who-can"]:
            extra.setdefault("auto_envvar_prefix", "OLMC_RBAC_WHO_CAN")
            return who_can.make_context(f"{info_name} who-can", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=_WithQuestion)
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option(
    "--subject",
    default="",
    metavar="NAME",
    help="Only this one: an operator, an account (NS/NAME), a user, a group, or admin, edit, view.",
)
@click.option("--fail-on", type=click.Choice(_LEVELS), help="Exit 1 if a permission is this dangerous, or more.")
@click.option(
    "--installers", is_flag=True, help="The smallest roles for the ServiceAccounts of ClusterExtensions, to be applied."
)
@as_option(output_option(["text", "json"], "Text for people, or JSON for machines (schemas/rbac.schema.json)."))
@scope_options
@compile_options
@click.pass_context
def rbac(
    ctx: click.Context, /, path: Path, subject: str, fail_on: str | None, installers: bool, output: str,
    approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say what operators may do, and what users gain.

    Shows every ServiceAccount that an operator runs under, whoever else the workspace gives permissions to, and what
    the roles admin, edit and view gain by the installed operators. PATH is a workspace or a bundle; without it it is
    the current directory.

    \b
    Examples:
      olmc rbac                                  everybody's permissions, dangerous ones first
      olmc rbac --subject beacon.v1.0.0          one operator
      olmc rbac --subject edit                   what a user with the role edit gains
      olmc rbac my-bundle --fail-on critical     for CI
      olmc rbac --approve harbour/beacon.v1.2.0  what approving an upgrade would bring
      olmc rbac --installers                     what installing ClusterExtensions takes, as YAML
      olmc rbac who-can get secrets              the other way round; see olmc rbac who-can --help

    Exit codes: 0 done, 1 findings (with --fail-on), 2 wrong usage, 3 input that can't be compiled.
    """
    if installers:
        if subject or fail_on:
            raise click.UsageError("--installers excludes --subject and --fail-on.")
        done, _ = compiled(ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR)
        ctx.exit(_print_installers(done, output))
    from olmc.cli.reviewing import review, review_data, tell_review
    from olmc.output.messages import QueryError
    from olmc.rbac_report.permissions import permissions
    from olmc.rbac_report.risks import Level
    from olmc.rbac_report.subjects import finder, gainers, holders, is_user_role, of_unknown_roles, select_holders
    from olmc.rbac_report.text import as_data
    from olmc.rbac_report.text import as_text as as_words

    read = review(ctx, path, olm_version, proposed, approve)
    found, find = permissions(read.objects), finder(read.objects, read.cluster)
    everybody, gaining = holders(found, read.objects), gainers(found)
    try:
        wanted = select_holders((*everybody, *gaining), subject) if subject else ()
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    shown = tuple(each for each in everybody if not subject or each in wanted)
    roles = tuple(each for each in gaining if (each in wanted if subject else is_user_role(each)))
    if output == "json":
        data = as_data(shown, roles, found.dangling, find)
        click.echo(json_text(data | review_data(read)))
    else:
        click.echo(as_words(shown, roles, find, read.waiting), nl=False)
        for binding, role in () if subject else found.dangling:
            click.echo(clean(f"olmc: {binding} gives nothing: {role} is not in the workspace"), err=True)
    tell_review(read)
    tell_left_out(path, read.compilation)
    limit = Level[fail_on.upper()] if fail_on else None
    # What nobody knows may be anything, so it fails as well.
    bound = list(of_unknown_roles(shown, found, read.objects)) if limit else []
    for account, role in bound:
        click.echo(clean(f"olmc: unknown: what {role} lets {account} do; add the role to the workspace"), err=True)
    dangerous = limit and (read.unknown or bound or any(each.level >= limit for each in (*shown, *roles)))
    ctx.exit(FINDINGS if dangerous else DONE)


def _print_installers(done: Compilation, output: str) -> int:
    """Print the roles for the installers of ClusterExtensions; 1 if some are not known."""
    from olmc.olmv1.permissions import installer_roles  # needs what few runs do
    from olmc.yaml import dump_one

    roles = [obj for result in done.extensions for obj in installer_roles(result.extension, result.required)]
    unknown = [result.extension.name for result in done.extensions if not result.required]
    if output == "json":
        click.echo(json_text({"apiVersion": "v1", "kind": "List", "items": roles}))
    else:
        click.echo("---\n".join(map(dump_one, roles)), nl=False)
    if not done.extensions:
        click.echo("olmc: no ClusterExtensions here", err=True)
    for name in unknown:
        click.echo(clean(f"olmc: unknown: what ClusterExtension {name} would install; see olmc why {name}"), err=True)
    return FINDINGS if unknown else DONE


@click.command()
@click.argument("verb")
@click.argument("resource")
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("-n", "--namespace", default="", metavar="NS", help="In this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces at once: by permissions for the cluster.")
@click.option("--name", default="", metavar="NAME", help="The object with this name.")
@as_option(
    output_option(
        ["table", "wide", "json"],
        "A table, one that no terminal cuts, or JSON for machines (schemas/who-can.schema.json).",
    )
)
@compile_options
@click.pass_context
def who_can(
    ctx: click.Context, /, verb: str, resource: str, path: Path, namespace: str, all_namespaces: bool, name: str,
    output: str, approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say who may do something, where, and why.

    RESOURCE is written as in a Role (`pods/exec`, `deployments.apps`), as a kind or a short name, or a URL that is no
    resource (`/metrics`). Without -n and -A it is everybody who can anywhere.

    \b
    Examples:
      olmc rbac who-can get secrets                      anywhere in the cluster
      olmc rbac who-can create pods/exec -n harbour      in one namespace
      olmc rbac who-can patch deploy my-workspace        a kind, a plural or a short name
      olmc rbac who-can get secrets --name key -n quay   one object
      olmc rbac who-can '*' '*'                          who may do everything
      olmc rbac who-can get /metrics                     a URL

    Exit codes: 0 done, 2 wrong usage, 3 input that can't be compiled.
    """
    if namespace and all_namespaces:
        raise click.UsageError("-n and -A exclude each other.")
    from olmc.cli.reviewing import review, tell_review
    from olmc.output.messages import QueryError
    from olmc.rbac_report.permissions import permissions
    from olmc.rbac_report.subjects import finder
    from olmc.rbac_report.who_can import as_data, as_table, find_able, namespace_remark, parse_question

    read = review(ctx, path, olm_version, proposed, approve)
    found, find = permissions(read.objects), finder(read.objects, read.cluster)
    try:
        question = parse_question(
            verb, resource, name, "" if all_namespaces else namespace or None, found, read.objects
        )
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    remark = namespace_remark(namespace, found, read.cluster.namespaces)
    if remark:
        click.echo(f"olmc: {remark}", err=True)
    answer = find_able(question, found)
    if output == "json":
        click.echo(json_text(as_data(question, answer, find)))
    else:
        say_table(as_table(answer, find), wide=output == "wide")
        if not answer:
            click.echo(clean(f"olmc: nobody can {question.in_words}"), err=True)
    tell_review(read)
    tell_left_out(path, read.compilation)
    ctx.exit(DONE)
