"""Commands that write `olmc.lock`: `olmc resolve` and `olmc vendor`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.api import Compilation, compile
from olmc.cli.as_click import GivenPath
from olmc.cli.console import progress, say_table, tell, tell_approvals, writing
from olmc.cli.options import (
    allow_empty_option,
    approve_option,
    as_option,
    compile_options,
    empty_finding,
    entry_option,
    given_fields,
    given_of,
    given_version,
    inputs_of,
    output_option,
    tell_idle,
    with_proposed,
)
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS, Input
from olmc.model.diagnostics import LockFault, Report, Severity
from olmc.model.options import Options
from olmc.output.unicode import json_text

if TYPE_CHECKING:
    from olmc.vendor.vendor import VendorResult


@click.command()
@click.argument("paths", nargs=-1, type=GivenPath(path_type=Path), metavar="[PATH]...")
@as_option(
    output_option(
        ["table", "wide", "json"],
        "A table, one that no terminal cuts, or JSON for machines (schemas/resolution.schema.json).",
    )
)
@click.option("--update", is_flag=True, help="Choose anew and write the choice to olmc.lock.")
@click.option("--locked", is_flag=True, help="Fail if olmc.lock no longer holds, and say what moved.")
@click.option(
    "--pin",
    metavar="PACKAGE=VERSION",
    help="Set startingCSV and manual approval on the package's Subscription, in its file.",
)
@as_option(entry_option)
@compile_options
@click.pass_context
def resolve(
    ctx: click.Context, /, paths: tuple[Path, ...], output: str, update: bool, locked: bool, pin: str | None,
    entries: tuple[str, ...], approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say what OLM would install in a workspace, and why.

    PATH is a directory; files, and - for stdin, count beside it. Without PATH it is the current directory.

    \b
    Examples:
      olmc resolve                     what is installed and upgraded, hop by hop
      olmc resolve -o json             the same for machines
      olmc resolve --update            write olmc.lock, which olmc render obeys
      olmc resolve --locked            does the lock still hold? (for CI)
      olmc resolve --pin kettle=1.2.0  stay at this version; comments in the file are kept

    Exit codes: 0 done, 1 findings (something can't be resolved, or the lock no longer holds), 2 wrong usage,
    3 input that can't be compiled, or a pin that is not possible.
    """
    if sum((update, locked, pin is not None)) > 1:
        raise click.UsageError("--update, --locked and --pin exclude each other.")
    if pin is not None and not all(pin.partition("=")):
        raise click.UsageError("--pin takes PACKAGE=VERSION.")
    path, beside, is_staged, release = _one_input(ctx, paths, entries)
    if is_staged and (update or pin is not None):
        raise click.UsageError("--update and --pin write into a workspace; give its directory as PATH.")
    given = frozenset({"approve"} if approve else ()) | given_version(ctx) | given_fields(ctx, proposed)
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed)
    with progress() as doing:
        doing(f"resolving {path}")
        obey_lock = not update and pin is None
        done = compile(path, options, given=given, obey_lock=obey_lock, beside=beside, release=release)
    tell(done.diagnostics, None if is_staged else path)
    tell_idle(ctx, given_of([done]))
    if done.failed or done.settled is None:
        ctx.exit(FINDINGS if locked and _lock_broken(done) else BAD_INPUT)
    tell_approvals(approve, [done.settled.cluster])
    if pin is not None:
        ctx.exit(_pin(path, done, pin))
    if update:
        _write_lock(path, done)
    if locked:
        code = _check_lock(done)
        if output == "json" and code != BAD_INPUT:
            _print(done, output)
        ctx.exit(code)
    _print(done, output)
    ctx.exit(FINDINGS if done.findings else DONE)


def _one_input(ctx: click.Context, paths: tuple[Path, ...], entries: tuple[str, ...]) -> Input:
    """What the paths are together: one directory, with files and streams beside it."""
    first, *others = inputs_of(ctx, paths, entries)
    if others:
        raise click.UsageError("one workspace is resolved at a time; give one directory.")
    return first


def _lock_broken(done: Compilation) -> bool:
    return all(d.cause is LockFault.UNMET for d in done.diagnostics if d.severity is Severity.ERROR)


def _print(done: Compilation, output: str) -> None:
    from olmc.explain.resolution import as_data, as_table, hops, operator_hops, resolutions

    if done.settled is None:
        return
    if output == "json":
        of_extensions = []
        if done.extensions:
            from olmc.explain.extensions import resolutions_data  # most workspaces have none

            of_extensions = resolutions_data(done.extensions)
        click.echo(json_text(as_data(resolutions(done.settled), done.operators, of_extensions)))
    else:
        rows = (*hops(done.settled), *operator_hops(done.operators))
        if done.extensions:
            from olmc.explain.extensions import extension_hops  # most workspaces have none

            rows = (*rows, *extension_hops(done.extensions))
        if not rows:
            asking = "no Subscription and no Operator" if done.options.v2alpha1 else "no Subscription"
            click.echo(f"olmc: nothing here asks for an operator ({asking})", err=True)
        say_table(as_table(rows), wide=output == "wide")


def _write_lock(path: Path, done: Compilation) -> None:
    from olmc.load.config import LOCK_FILE, lock_text
    from olmc.model.workspace import Lock
    from olmc.output.directory import put

    if done.lock is None and not (path / LOCK_FILE).exists():
        click.echo("There is nothing to lock: the workspace has no Subscription.", err=True)
        return
    images = done.workspace.images if done.workspace is not None else ()
    with writing(path / LOCK_FILE):
        put(path / LOCK_FILE, lock_text(done.lock or Lock({}), images))
    click.echo(f"{path / LOCK_FILE} written", err=True)


def _check_lock(done: Compilation) -> int:
    if done.workspace is None or done.workspace.lock is None:
        click.echo("There is no olmc.lock; write one with olmc resolve --update.", err=True)
        return BAD_INPUT
    if any(diagnostic.cause is LockFault.CHANGED for diagnostic in done.diagnostics):
        return FINDINGS
    click.echo("olmc.lock holds", err=True)
    return FINDINGS if done.findings else DONE


def _pin(path: Path, done: Compilation, pin: str) -> int:
    from olmc.explain.resolution import PinError, pinned
    from olmc.load.config import read_lock
    from olmc.output.directory import rewrite

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
        click.echo(f"{changed}: {package} is pinned to {version}", err=True)
    if read_lock(path, Report()).operators is not None:
        click.echo("olmc.lock has what was chosen before; olmc resolve --update writes it anew.", err=True)
    return DONE


@click.command()
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option(
    "--from",
    "layouts",
    multiple=True,
    metavar="[IMAGE=]PATH",
    help="Take images from this OCI layout, a folder or a tar archive (may be repeated).",
)
@click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    metavar="NAME=PATH",
    help="Take the content of CatalogSource NAME from a file or folder, as opm render writes it (may be repeated).",
)
@click.option("--offline", is_flag=True, help="No network: only layouts, and what is vendored already.")
@click.option("--update", is_flag=True, help="Ask anew what tags stand for, and choose versions anew.")
@click.option("--check", is_flag=True, help="Change and fetch nothing; exit 1 if something would have to be.")
@click.option("--whole-catalogs", is_flag=True, help="Keep all packages of a catalog, not only what can be needed.")
@click.option(
    "--platform",
    default="",
    metavar="OS/ARCH",
    help="The image to take where there are several.  [default: linux/amd64]",
)
@click.option(
    "--authfile",
    type=GivenPath(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Credentials, in place of podman's and docker's.",
)
@click.option(
    "--registries-conf",
    type=GivenPath(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Mirrors, in place of the machine's registries.conf.",
)
@click.option(
    "--insecure",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Allow HTTP, and unknown certificates, for this registry (may be repeated).",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="How much to fetch at once.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest that a registry may be silent.",
)
@click.option(
    "--retries", type=click.IntRange(0, 20), default=4, show_default=True, help="How often to try again what may pass."
)
@as_option(approve_option)
@as_option(allow_empty_option)
@click.pass_context
def vendor(
    ctx: click.Context,
    path: Path,
    layouts: tuple[str, ...],
    catalogs: tuple[str, ...],
    offline: bool,
    update: bool,
    check: bool,
    whole_catalogs: bool,
    platform: str,
    authfile: Path | None,
    registries_conf: Path | None,
    insecure: tuple[str, ...],
    jobs: int,
    timeout: float,
    retries: int,
    approve: tuple[str, ...],
    allow_empty: bool,
) -> None:
    """Bring what a workspace names by image into vendor/.

    That is catalogs and bundles. The digests go to olmc.lock. Commit both: every other command then works without
    network. Registries need pip install 'olmc[vendor]'.

    \b
    Examples:
      olmc vendor                              what is missing, from the registries
      olmc vendor --update                     what has moved since
      olmc vendor --check                      is everything there? (for CI)
      olmc vendor --from images.tar --offline  from an OCI layout alone
      olmc vendor --offline --catalog redhat-operators=catalog.json
                                               a catalog that opm render has written

    Exit codes: 0 done, 1 something is missing (--check) or can't be resolved, or the workspace is empty, 2 wrong usage,
    3 an image can't be had; then nothing changes.
    """
    if check and update:
        raise click.UsageError("--check and --update exclude each other.")
    if check and catalogs:
        raise click.UsageError("--check and --catalog exclude each other.")
    if not all(all(item.partition("=")) for item in catalogs):
        raise click.UsageError("--catalog takes NAME=PATH.")
    from olmc.vendor.catalog_files import GivenCatalog
    from olmc.vendor.fetch import Places, source_finder
    from olmc.vendor.sources import Progress
    from olmc.vendor.vendor import VendorRequest
    from olmc.vendor.vendor import vendor as vendored

    places = Places(layouts, offline, authfile, registries_conf, insecure, timeout, retries)
    report = Report()
    with progress() as doing:
        counter = Progress(lambda now: doing(f"fetching {now}"))
        request = VendorRequest(
            Options(approve=approve),
            lambda config: source_finder(places, config, os.environ, Path.home(), counter.stop),
            given=frozenset({"approve"}) if approve else frozenset(),
            update=update,
            check=check,
            platform=platform,
            jobs=jobs,
            whole_catalogs=whole_catalogs,
            catalogs=tuple(GivenCatalog(name, Path(file)) for name, _, file in (c.partition("=") for c in catalogs)),
            without_bundles=offline and bool(catalogs),
        )
        doing("resolving")
        outcome = _if_possible(lambda: vendored(path, request, report, counter), report)
    is_empty = outcome is not None and outcome.is_empty and not allow_empty
    tell([*report, *([empty_finding(path)] if is_empty else ())], path)
    if outcome is None:
        ctx.exit(BAD_INPUT)
    code = _checked(outcome) if check else _done(outcome)
    ctx.exit(code if outcome.is_resolved and not is_empty else FINDINGS)


def _if_possible(work: Callable[[], VendorResult | None], report: Report) -> VendorResult | None:
    """The outcome of the work; None, and a finding, if it takes a library that is not there."""
    try:
        return work()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("olmc"):
            raise
        from olmc.diagnostics.rules.vendor import NO_CLIENT

        report.add(NO_CLIENT.finding(None, module=error.name.partition(".")[0]))
        return None


def _done(outcome: VendorResult) -> int:
    for image in outcome.images:
        if image.image in outcome.fetched:
            origin = f" from {image.file}" if image.file else ""
            click.echo(f"fetched {image.kind} {image.image}{origin} ({image.digest[:19]})", err=True)
    for catalog in outcome.trimmed:
        before, after = (_megabytes(size) for size in (catalog.bytes_before, catalog.bytes_after))
        click.echo(f"kept {catalog.image.packages} packages of {catalog.image.image}: {before} -> {after}", err=True)
    counts = ", ".join(
        f"{number} {kind}{'s' * (number != 1)}"
        for kind in ("catalog", "bundle")
        if (number := sum(image.kind == kind for image in outcome.images))
    )
    lock = "olmc.lock written" if outcome.lock_changed else "olmc.lock unchanged"
    what = f"{counts}; {len(outcome.fetched)} fetched, {len(outcome.removed)} removed, {lock}"
    none = "no images are needed" if outcome.is_resolved else "what is needed is not known"
    click.echo(f"vendor: {what if outcome.images else f'{none}; {lock}'}", err=True)
    return DONE


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _checked(outcome: VendorResult) -> int:
    for image in outcome.fetched:
        click.echo(f"missing: {image if image.isprintable() else ascii(image)}", err=True)
    for path in outcome.removed:
        click.echo(f"not needed: {path if path.isprintable() else ascii(path)}", err=True)
    if not (outcome.fetched or outcome.removed or outcome.lock_changed):
        if not (outcome.is_resolved and outcome.is_proven):
            return FINDINGS  # what they would have to hold is not known, or they hold something else
        click.echo("vendor/ and olmc.lock are up to date", err=True)
        return DONE
    click.echo("Run olmc vendor to bring vendor/ and olmc.lock up to date.", err=True)
    return FINDINGS
