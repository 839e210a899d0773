"""`olmc rbac` and `olmc rbac who-can`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.cli.as_click import GivenPath
from olmc.cli.console import DONE, FINDINGS, say, say_table, wrong_usage
from olmc.cli.options import as_option, compile_options, compiled, output_option, scope_options, tell_left_out
from olmc.compiler.api import Compilation
from olmc.compiler.output.messages import clean, json_text
from olmc.k8s.diagnostics import Severity

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
    help="Only this subject: an operator, a ServiceAccount (NS/NAME), a user, a group, or admin, edit, view.",
)
@click.option("--fail-on", type=click.Choice(_LEVELS), help="Exit 1 if a permission has this risk or a higher one.")
@click.option(
    "--installers", is_flag=True, help="Print the minimal roles for the ServiceAccounts of ClusterExtensions."
)
@as_option(output_option(["text", "json"], "Text, or JSON (schemas/rbac.schema.json)."))
@scope_options
@compile_options
@click.pass_context
def rbac(
    ctx: click.Context, /, path: Path, subject: str, fail_on: str | None, installers: bool, output: str,
    approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Show what operators may do, and what users gain.

    Shows the ServiceAccounts of operators, all other subjects that the workspace grants permissions to, and what the
    roles admin, edit and view gain from the installed operators. PATH is a workspace or a bundle; the default is the
    current directory.

    \b
    Examples:
      olmc rbac                                  all permissions, dangerous ones first
      olmc rbac --subject beacon.v1.0.0          one operator
      olmc rbac --subject edit                   what a user with the role edit gains
      olmc rbac my-bundle --fail-on critical     for CI
      olmc rbac --approve harbour/beacon.v1.2.0  what approving an upgrade would bring
      olmc rbac --installers                     minimal roles to install ClusterExtensions, as YAML
      olmc rbac who-can get secrets              who may do this; see olmc rbac who-can --help

    Exit codes: 0 done, 1 findings (with --fail-on), 2 wrong usage, 3 input that can't be compiled.
    """
    if installers:
        if subject or fail_on:
            wrong_usage("--installers excludes --subject and --fail-on.")
        done, _ = compiled(ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR)
        raise SystemExit(_print_installers(done, output))
    from olmc.cli.lock import review, review_data, tell_review
    from olmc.compiler.output.messages import QueryError
    from olmc.review.rbac.risks import Level
    from olmc.review.rbac.subjects import (
        finder,
        gainers,
        holders,
        is_user_role,
        of_unknown_roles,
        permissions,
        select_holders,
    )
    from olmc.review.rbac.who_can import as_text as as_words
    from olmc.review.rbac.who_can import holders_as_data

    read = review(ctx, path, olm_version, proposed, approve)
    found, find = permissions(read.objects), finder(read.objects, read.cluster)
    everybody, gaining = holders(found, read.objects), gainers(found)
    try:
        wanted = select_holders((*everybody, *gaining), subject) if subject else ()
    except QueryError as error:
        wrong_usage(str(error))
    shown = tuple(each for each in everybody if not subject or each in wanted)
    roles = tuple(each for each in gaining if (each in wanted if subject else is_user_role(each)))
    if output == "json":
        data = holders_as_data(shown, roles, found.dangling, find)
        say(json_text(data | review_data(read)), out=True)
    else:
        say(as_words(shown, roles, find, read.waiting), nl=False, out=True)
        for binding, role in () if subject else found.dangling:
            say(clean(f"olmc: {binding} gives nothing: {role} is not in the workspace"))
    tell_review(read)
    tell_left_out(path, read.compilation)
    limit = Level[fail_on.upper()] if fail_on else None
    # What nobody knows may be anything, so it fails as well.
    bound = list(of_unknown_roles(shown, found, read.objects)) if limit else []
    for account, role in bound:
        say(clean(f"olmc: unknown: what {role} lets {account} do; add the role to the workspace"))
    dangerous = limit and (read.unknown or bound or any(each.level >= limit for each in (*shown, *roles)))
    raise SystemExit(FINDINGS if dangerous else DONE)


def _print_installers(done: Compilation, output: str) -> int:
    """Print the roles for the installers of ClusterExtensions; 1 if some are not known."""
    from olmc.k8s.yaml import dump_one
    from olmc.targets.v1.permissions import installer_roles  # needs what few runs do

    roles = [obj for result in done.extensions for obj in installer_roles(result.extension, result.required)]
    unknown = [result.extension.name for result in done.extensions if not result.required]
    if output == "json":
        say(json_text({"apiVersion": "v1", "kind": "List", "items": roles}), out=True)
    else:
        say("---\n".join(map(dump_one, roles)), nl=False, out=True)
    if not done.extensions:
        say("olmc: no ClusterExtensions here")
    for name in unknown:
        say(clean(f"olmc: unknown: what ClusterExtension {name} would install; see olmc why {name}"))
    return FINDINGS if unknown else DONE


@click.command()
@click.argument("verb")
@click.argument("resource")
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("-n", "--namespace", default="", metavar="NS", help="In this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces at once: by cluster-wide permissions.")
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
        wrong_usage("-n and -A exclude each other.")
    from olmc.cli.lock import review, tell_review
    from olmc.compiler.output.messages import QueryError
    from olmc.review.rbac.subjects import finder, permissions
    from olmc.review.rbac.who_can import as_data, as_table, find_able, namespace_remark, parse_question

    read = review(ctx, path, olm_version, proposed, approve)
    found, find = permissions(read.objects), finder(read.objects, read.cluster)
    try:
        question = parse_question(
            verb, resource, name, "" if all_namespaces else namespace or None, found, read.objects
        )
    except QueryError as error:
        wrong_usage(str(error))
    remark = namespace_remark(namespace, found, read.cluster.namespaces)
    if remark:
        say(f"olmc: {remark}")
    answer = find_able(question, found)
    if output == "json":
        say(json_text(as_data(question, answer, find)), out=True)
    else:
        say_table(as_table(answer, find), wide=output == "wide")
        if not answer.able:
            say(clean(f"olmc: nobody can {question.in_words}"))
    if answer.more:
        say(f"olmc: and {answer.more} more that are not listed; ask about one with --name or -n")
    tell_review(read)
    tell_left_out(path, read.compilation)
    raise SystemExit(DONE)
