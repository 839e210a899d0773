"""`olmc resolve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    Input,
    Timings,
    progress,
    say,
    say_table,
    tell,
    tell_approvals,
    writing,
    wrong_usage,
)
from olmc.cli.declared import PathOf, argument, command, flag, option
from olmc.cli.options import (
    CompileOptions,
    compiled,
    entry_option,
    fields_of,
    fixed_of,
    given_of,
    inputs_of,
    options_of,
    output_option,
    tell_empty,
    tell_idle,
    timings_of,
)
from olmc.compiler.api import Compilation, load
from olmc.compiler.load.config import LOCK_FILE, lock_text, read_lock
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace_files import redefined_in
from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Lock, Workspace
from olmc.compiler.output.messages import clean, json_text
from olmc.k8s.diagnostics import LockFault, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ACCOUNT, OLM_GROUP, RBAC, APIResource, Rendered
from olmc.review.explain.resolution import (
    PinError,
    WantedOperators,
    as_data,
    as_table,
    hops,
    in_words,
    operator_hops,
    outside_apis,
    pinned,
    resolutions,
    wanted_operators,
    with_outside_apis,
)
from olmc.review.rbac.who_can import asked_permissions
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.load.repository import ClusterPart


class ResolveOptions(NamedTuple):
    """The options of `olmc resolve`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]...")
    output: str = output_option(
        ["table", "wide", "json"],
        "A table, one that no terminal cuts, or JSON for machines (schemas/resolution.schema.json).",
    )
    update: bool = flag("--update", help="Resolve again and write the result to olmc.lock.")
    locked: bool = flag("--locked", help="Fail if olmc.lock is out of date, and show what changed.")
    pin: str | None = option(
        "--pin", metavar="PACKAGE=VERSION",
        help="Set startingCSV and manual approval on the package's Subscription, in its file.",
    )  # fmt: skip
    entries: tuple[str, ...] = entry_option
    compiling: CompileOptions = CompileOptions()


@command(ResolveOptions)
def resolve(ctx: click.Context, opts: ResolveOptions) -> None:
    """Show what OLM would install or upgrade, and why.

    PATH is a directory; the default is the current one. Files, and - for stdin, are added to it.

    \b
    Examples:
      olmc resolve                     what would be installed and upgraded, hop by hop
      olmc resolve -o json             the same for machines
      olmc resolve --update            write olmc.lock, which later commands follow
      olmc resolve --locked            fail if the lock is out of date (for CI)
      olmc resolve --pin kettle=1.2.0  stay at this version; comments in the file are kept

    Exit codes: 0 done, 1 findings (something can't be resolved, or the lock is out of date), 2 wrong usage, 3 input
    that can't be compiled, or a pin that is not possible.
    """
    update, locked, pin = opts.update, opts.locked, opts.pin
    if sum((update, locked, pin is not None)) > 1:
        wrong_usage("--update, --locked and --pin exclude each other.")
    if pin is not None and not all(pin.partition("=")):
        wrong_usage("--pin takes PACKAGE=VERSION.")
    timings = timings_of(ctx, opts.compiling.timings)
    path, beside, is_staged, release = _one_input(ctx, opts.paths, opts.entries)
    if is_staged and (update or pin is not None):
        wrong_usage("--update and --pin write into a workspace; give its directory as PATH.")
    fields = fields_of(opts.compiling)
    given, options = fixed_of(ctx, fields), options_of(ctx, fields)
    with progress() as doing:
        doing(f"resolving {path}")
        obey_lock = not update and pin is None
        request = CompileRequest(path, options, given, beside=beside, release=release, stage=timings.stage)
        done = compile(request._replace(obey_lock=obey_lock))
        timings.compiled(path, done)
    tell(done.diagnostics, None if is_staged else path)
    tell_idle(ctx, given_of([done]))
    tell_empty(None if is_staged else path, done, ctx.params)
    if done.failed or done.settled is None:
        raise SystemExit(FINDINGS if locked and _lock_broken(done) else BAD_INPUT)
    tell_approvals(options.approve, [done.settled.cluster])
    if pin is not None:
        raise SystemExit(_pin(path, done, pin))
    if update:
        _write_lock(path, done)
    if locked:
        code = _check_lock(done)
        if opts.output == "json" and code != BAD_INPUT:
            _print(done, opts.output)
        raise SystemExit(code)
    _print(done, opts.output)
    raise SystemExit(FINDINGS if done.findings else DONE)


def _one_input(ctx: click.Context, paths: tuple[Path, ...], entries: tuple[str, ...]) -> Input:
    """What the paths are together: one directory, with files and streams beside it."""
    first, *others = inputs_of(ctx, paths, entries)
    if others:
        wrong_usage("one workspace is resolved at a time; give one directory.")
    return first


def _lock_broken(done: Compilation) -> bool:
    return all(d.cause is LockFault.UNMET for d in done.diagnostics if d.severity is Severity.ERROR)


def _print(done: Compilation, output: str) -> None:
    from olmc.review.diagnose.engine import diagnose, hops_with_causes, scene_of

    if done.settled is None:
        return
    if output == "json":
        of_extensions = []
        if done.extensions:
            from olmc.review.explain.extensions import resolutions_data  # most workspaces have none

            of_extensions = resolutions_data(done.extensions)
        say(json_text(as_data(resolutions(done.settled), done.operators, of_extensions)), out=True)
    else:
        causes = diagnose(scene_of(done))
        rows = (*hops_with_causes(hops(done.settled), causes), *operator_hops(done.operators))
        if done.extensions:
            from olmc.review.explain.extensions import extension_hops  # most workspaces have none

            rows = (*rows, *extension_hops(done.extensions))
        if not rows:
            asking = "no Subscription and no Operator" if done.options.operators_and_installs else "no Subscription"
            say(f"olmc: nothing here asks for an operator ({asking})")
        say_table(as_table(rows), wide=output == "wide")


def _write_lock(path: Path, done: Compilation) -> None:
    from olmc.compiler.output.directory import put

    if done.lock is None and not (path / LOCK_FILE).exists():
        say("The workspace has no Subscription to lock.")
        return
    images = done.workspace.images if done.workspace is not None else ()
    with writing(path / LOCK_FILE):
        put(path / LOCK_FILE, lock_text(done.lock or Lock({}), images))
    say(f"{path / LOCK_FILE} written")


def _check_lock(done: Compilation) -> int:
    if done.workspace is None or done.workspace.lock is None:
        say("There is no olmc.lock; write one with olmc resolve --update.")
        return BAD_INPUT
    if any(diagnostic.cause is LockFault.CHANGED for diagnostic in done.diagnostics):
        return FINDINGS
    say("olmc.lock holds")
    return FINDINGS if done.findings else DONE


def _pin(path: Path, done: Compilation, pin: str) -> int:
    from olmc.compiler.output.directory import rewrite

    package, _, version = pin.partition("=")
    if done.settled is None:
        return BAD_INPUT
    try:
        edited = pinned(done.settled.beginning, package, version, is_built=bool(done.inputs.built))
    except PinError as error:
        tell([error.diagnostic], path)
        return BAD_INPUT
    texts = {path / source.path: source.text for source in edited}
    with writing(*texts):
        rewrite(texts)
    for changed in texts:
        say(f"{changed}: {package} is pinned to {version}")
    if read_lock(path, Report()).operators is not None:
        say("olmc.lock has the earlier choice; olmc resolve --update writes it again.")
    return DONE


# What a review of permissions looks at: operators as they would be once they run, and what keeps them from it.

_DECIDING = frozenset((RBAC, OLM_GROUP, "olm.operatorframework.io", "apiextensions.k8s.io"))
"""The groups of which objects decide on permissions."""


class Review(NamedTuple):
    """What permissions are read from.

    `objects`: those of the compilation, and what operators would bring that would not run; `cluster` has their CSVs as
    well. `assumed`: APIs that nothing here brings and that are taken as served. `waiting`: why the operators would not
    run, by name. `unknown`: a sentence about each whose permissions nobody knows.
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
    """What permissions at a path are read from; ends the command if it can't be compiled.

    What operators ask for counts even where they would not be installed, and what others bring is taken as there: an
    object that fails must not hide the permissions that come behind it.
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
            *(f"{text} is defined twice and differently; the last definition counts here" for text in _redefined(done)),
        ),
    )


def _redefined(done: Compilation) -> Iterator[str]:
    """The objects that decide on permissions of which there is more than one definition, with the place of the other
    one."""
    for left in redefined_in(done.inputs):
        for each in left.objects:
            if each.identity.kind == ACCOUNT or each.identity.group in _DECIDING:
                yield f"{each.identity} ({left.location})"


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
