"""`olmc rbac` and `olmc rbac who-can`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.compiling import cluster_parts, compiled, is_any_broken, tell_left_entries, tell_left_out
from olmc.cli.console import DONE, FINDINGS, folder_from_here, say, say_table, wrong_usage
from olmc.cli.declared import Choice, PathOf, argument, command, flag, option
from olmc.cli.options import CompileOptions, ScopeOptions, fields_of, output_option, timings_of
from olmc.compiler.api import Compilation, load
from olmc.compiler.load.workspace_files import redefined_in
from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.output.messages import QueryError, below, clean, json_text, moved
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ACCOUNT, OLM_GROUP, RBAC, APIResource, Rendered
from olmc.k8s.yaml import dump_one
from olmc.review.explain.resolution import WantedOperators, in_words, outside_apis, wanted_operators, with_outside_apis
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
from olmc.review.rbac.who_can import (
    Finder,
    as_data,
    as_table,
    asked_permissions,
    find_able,
    holders_as_data,
    namespace_remark,
    parse_question,
)
from olmc.review.rbac.who_can import as_text as as_words

if TYPE_CHECKING:
    import click

    from olmc.cli.console import Timings
    from olmc.compiler.load.repository import ClusterPart

_LEVELS = ("low", "medium", "high", "critical")


class WhoCanOptions(NamedTuple):
    """The options of `olmc rbac who-can`."""

    verb: str = argument()
    resource: str = argument()
    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    namespace: str = option("-n", "--namespace", default="", metavar="NS", help="In this namespace.")
    all_namespaces: bool = flag(
        "-A", "--all-namespaces", help="In all namespaces at once: by cluster-wide permissions."
    )
    name: str = option("--name", default="", metavar="NAME", help="The object with this name.")
    output: str = output_option(
        ["table", "wide", "json"],
        "A table, one that no terminal cuts, or JSON for machines (schemas/who-can.schema.json).",
    )
    compiling: CompileOptions = CompileOptions()


@command(WhoCanOptions)
def who_can(ctx: click.Context, opts: WhoCanOptions) -> None:
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
    namespace, all_namespaces, output = opts.namespace, opts.all_namespaces, opts.output
    if namespace and all_namespaces:
        wrong_usage("-n and -A exclude each other.")
    read = review(ctx, opts.path, fields_of(opts.compiling), timings_of(ctx, opts.compiling.timings))
    found, find = permissions(read.objects), _finder(read, opts.path, opts.output)
    try:
        question = parse_question(
            opts.verb, opts.resource, opts.name, "" if all_namespaces else namespace or None, found, read.objects
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
            say(clean(f"olmc: no subject can {question.in_words}"))
    if answer.more:
        say(f"olmc: and {answer.more} more that are not listed; ask about one with --name or -n")
    tell_review(read)
    tell_left_out(opts.path, read.compilation)
    raise SystemExit(DONE)


class RbacOptions(NamedTuple):
    """The options of `olmc rbac`."""

    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    subject: str = option(
        "--subject", default="", metavar="NAME",
        help="Only this subject: an operator, a ServiceAccount (NS/NAME), a user, a group, or admin, edit, view.",
    )  # fmt: skip
    fail_on: str | None = option(
        "--fail-on", type=Choice(_LEVELS), help="Exit 1 if a permission has this risk or a higher one.",
    )  # fmt: skip
    installers: bool = flag(
        "--installers", help="Print the minimal roles for the ServiceAccounts of ClusterExtensions."
    )
    output: str = output_option(["text", "json"], "Text, or JSON (schemas/rbac.schema.json).")
    scope: ScopeOptions = ScopeOptions()
    compiling: CompileOptions = CompileOptions()


@command(RbacOptions, commands={"who-can": who_can})
def rbac(ctx: click.Context, opts: RbacOptions) -> None:
    """Show the permissions of operators and users.

    Shows the ServiceAccounts of operators, all other subjects that the workspace grants permissions to, and what the
    roles admin, edit and view gain from the installed operators. PATH is a workspace or a bundle; the default is the
    current directory.

    \b
    Examples:
      olmc rbac                                  all permissions, by their danger
      olmc rbac --subject beacon.v1.0.0          one operator
      olmc rbac --subject edit                   what the role edit gives a user
      olmc rbac my-bundle --fail-on critical     for CI
      olmc rbac --approve harbour/beacon.v1.2.0  what an approval would bring
      olmc rbac --installers                     roles for ClusterExtensions
      olmc rbac who-can get secrets              who may read Secrets

    Exit codes: 0 done, 1 findings (with --fail-on), 2 wrong usage, 3 input that can't be compiled.
    """
    path, subject, fail_on, installers, output, scope, compiling = opts
    if installers and (subject or fail_on):
        wrong_usage("--installers excludes --subject and --fail-on.")
    fields, timings = fields_of(scope, compiling), timings_of(ctx, compiling.timings)
    if installers:
        done, _ = compiled(ctx, path, fields, least=Severity.ERROR, timings=timings)
        raise SystemExit(_print_installers(done, output))
    parts = cluster_parts(ctx, path, fields)
    tell_left_entries((part for part in parts if part is not None), path)
    found = [_shown_rights(ctx, opts, fields, timings, part) for part in parts]
    if output == "json":
        pairs = [(part.cluster, each.data) for part, each in zip(parts, found, strict=True) if part is not None]
        clusters = [{"names": list(cluster.names or cluster.paths), **data} for cluster, data in pairs]
        say(json_text({"version": 1, "clusters": clusters} if clusters else found[0].data), out=True)
    raise SystemExit(FINDINGS if is_any_broken(parts) or any(each.is_dangerous for each in found) else DONE)


class _ShownRights(NamedTuple):
    """The permissions in a cluster as data, and whether one has the risk that --fail-on names."""

    data: dict[str, Any]
    is_dangerous: bool


def _shown_rights(
    ctx: click.Context, opts: RbacOptions, fields: dict[str, Any], timings: Timings, part: ClusterPart | None
) -> _ShownRights:
    """Print the permissions in a workspace, or in a cluster of a repository, unless the output is JSON."""
    path, subject, fail_on, output = opts.path, opts.subject, opts.fail_on, opts.output
    read = review(ctx, path, fields, timings, part)
    found, find = permissions(read.objects), _finder(read, path, output)
    everybody, gaining = holders(found, read.objects), gainers(found)
    try:
        wanted = select_holders((*everybody, *gaining), subject) if subject else ()
    except QueryError as error:
        wrong_usage(str(error))
    shown = tuple(each for each in everybody if not subject or each in wanted)
    roles = tuple(each for each in gaining if (each in wanted if subject else is_user_role(each)))
    data = holders_as_data(shown, roles, found.dangling, find) | review_data(read)
    if output != "json":
        if part is not None:
            say(clean(f"== {part.heading}"), out=True)
        if shown or roles or subject or not read.unknown:
            say(as_words(shown, roles, find, read.waiting), nl=False, out=True)
        else:
            say("No subject has permissions here, as far as they are known.", out=True)
        for binding, role in () if subject else found.dangling:
            say(clean(f"olmc: {binding} gives nothing: {role} is not in the workspace"))
    tell_review(read)
    if part is None:
        tell_left_out(path, read.compilation)
    limit = Level[fail_on.upper()] if fail_on else None
    # Unknown permissions may be dangerous, so they fail as well.
    bound = list(of_unknown_roles(shown, found, read.objects)) if limit else []
    for account, role in bound:
        say(clean(f"olmc: unknown: what {role} lets {account} do; add the role to the workspace"))
    dangerous = limit and (read.unknown or bound or any(each.level >= limit for each in (*shown, *roles)))
    return _ShownRights(data, bool(dangerous))


def _print_installers(done: Compilation, output: str) -> int:
    """Print the roles for the installers of ClusterExtensions; 1 if some are not known."""
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


# The input of a review of permissions: operators as they would run, and the obstacles to that.

_DECIDING = frozenset((RBAC, OLM_GROUP, "olm.operatorframework.io", "apiextensions.k8s.io"))
"""The groups of which objects decide on permissions."""


class Review(NamedTuple):
    """The source of the permissions in a review.

    `objects`: those of the compilation, and those of operators that would not run; `cluster` has their CSVs as well.
    `assumed`: APIs that are taken as served, although no object brings them. `waiting`: the reason why an operator
    would not run, by name. `unknown`: a sentence about each operator with unknown permissions.
    """

    compilation: Compilation
    objects: tuple[Rendered, ...]
    cluster: Cluster
    assumed: tuple[APIResource, ...]
    waiting: dict[NamespacedName, str]
    unknown: tuple[str, ...]


def review(
    ctx: click.Context, path: Path, fields: dict[str, Any], timings: Timings, part: ClusterPart | None = None
) -> Review:
    """Return the source of permissions at a path; end the command if it can't be compiled.

    The permissions of operators count even if OLM would not install them, and APIs of others are taken as served: an
    object that fails must not hide the permissions behind it.
    """
    assumed: list[APIResource] = []
    loaded: list[Workspace] = []

    def workspace_of(made: Compilation) -> Workspace:
        if made.workspace is not None:
            return made.workspace
        if not loaded:  # a bundle by itself
            loaded.append(load(path))
        return loaded[0]

    def lacking(made: Compilation, _: Options) -> tuple[APIResource, ...]:
        return outside_apis(made.settled, workspace_of(made), made.options) if made.settled is not None else ()

    def assuming(options: Options, compile_once: Callable[[Options], Compilation]) -> Compilation:
        made, apis = with_outside_apis(options, compile_once, lacking)
        assumed.extend(apis)
        return made

    # The findings about a repository are those of olmc check, which reports each of them once.
    least = Severity.FAILURE if part is None else Severity.ERROR
    done, settled = compiled(ctx, path, fields, least=least, compile_with=assuming, timings=timings, part=part)
    left_out, folder = part.left_out if part is not None else (), folder_from_here(path)
    wanted: WantedOperators = wanted_operators(settled, workspace_of(done))
    asked = asked_permissions(wanted.known, settled.cluster, done.objects)
    csvs = {NamespacedName(each.namespace, each.csv.name): each for each in wanted.known}
    more = {
        NamespacedName(each.identity.namespace, each.identity.name): Csv(each.object, each.provenance.place.source)
        for each in asked.objects
        if each.identity.kind == "ClusterServiceVersion" and each.provenance.place is not None
    }
    return Review(
        done,
        (*done.objects, *asked.objects),
        settled.cluster._replace(csvs=settled.cluster.csvs.updated(more)),
        tuple(assumed),
        {name: each.why for name, each in csvs.items()},
        (
            *wanted.unknown,
            *(f"permissions of {text}" for text in asked.unreadable),
            *(f"permissions in {below(folder, path)}, which olmc can't build" for path in left_out),
            *_redefined(done, folder),
        ),
    )


def _redefined(done: Compilation, folder: str) -> Iterator[str]:
    """Yield a sentence for each object that decides on permissions and has more than one definition."""
    for left in redefined_in(done.inputs):
        for each in left.objects:
            if each.identity.kind == ACCOUNT or each.identity.group in _DECIDING:
                place = moved(folder, left.location)
                yield f"{each.identity} ({place}) is defined twice and differently; the last definition counts here"


def _finder(read: Review, path: Path, output: str) -> Finder:
    """Return the function that gives the place of a grant: from here for people, in the workspace for JSON."""
    find = finder(read.objects, read.cluster)
    folder = folder_from_here(path) if output != "json" else ""
    return lambda grant: moved(folder, find(grant))


def tell_review(found: Review) -> None:
    """Say on stderr what is assumed, which operators would not run, and what is not known."""
    if found.assumed:
        apis = f"taken as served, although nothing here brings it: {in_words(found.assumed)}"
        hint = "without it an installation fails; --api says that the cluster serves it"
        say(clean(f"olmc: {apis}; {hint}"))
    for name, why in sorted(found.waiting.items()):
        say(clean(f"olmc: {name} would not run ({why}); what it asks for counts all the same"))
    for text in found.unknown:
        say(clean(f"olmc: unknown: {text}"))


def review_data(found: Review) -> dict[str, Any]:
    """The same in the format of `schemas/rbac.schema.json`."""
    return {
        "assumed": in_words(found.assumed).split(", ") if found.assumed else [],
        "waiting": [{**name._asdict(), "why": why} for name, why in sorted(found.waiting.items())],
        "unknown": list(found.unknown),
    }
