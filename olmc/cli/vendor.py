"""`olmc vendor`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, progress, say, tell, wrong_usage
from olmc.cli.declared import Decimal, PathOf, Whole, argument, command, flag, option
from olmc.cli.options import allow_empty_option, approve_option
from olmc.compiler.load.workspace import empty_finding
from olmc.compiler.model.options import Options
from olmc.compiler.rules.findings.vendor import NO_CLIENT
from olmc.integrations.fetch.fetch import Places, source_finder
from olmc.integrations.fetch.sources import Progress
from olmc.integrations.fetch.vendor import GivenCatalog, VendorRequest
from olmc.integrations.fetch.vendor import vendor as vendored
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    import click

    from olmc.integrations.fetch.vendor import VendorResult


class VendorOptions(NamedTuple):
    """The options of `olmc vendor`."""

    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    layouts: tuple[str, ...] = option(
        "--from", multiple=True, metavar="[IMAGE=]PATH",
        help="Read images from this OCI layout, a folder or a tar archive (may be repeated).",
    )  # fmt: skip
    catalogs: tuple[str, ...] = option(
        "--catalog", multiple=True, metavar="NAME=PATH",
        help="Read the content of CatalogSource NAME from a file or folder, as opm render writes it (may be repeated).",
    )  # fmt: skip
    offline: bool = flag("--offline", help="Use no network: only layouts and vendored content.")
    update: bool = flag("--update", help="Resolve tags and versions again.")
    check: bool = flag("--check", help="Only compare; exit 1 if vendor/ is out of date.")
    whole_catalogs: bool = flag(
        "--whole-catalogs", help="Keep all packages of a catalog, not only those that may be needed."
    )
    platform: str = option(
        "--platform", default="", metavar="OS/ARCH",
        help="The platform of multi-platform images.  [default: linux/amd64]",
    )  # fmt: skip
    authfile: Path | None = option(
        "--authfile", type=PathOf(dir_okay=False), metavar="FILE",
        help="Credentials file. [default: that of podman or docker]",
    )  # fmt: skip
    registries_conf: Path | None = option(
        "--registries-conf", type=PathOf(dir_okay=False), metavar="FILE",
        help="Mirrors. [default: the registries.conf of the machine]",
    )  # fmt: skip
    insecure: tuple[str, ...] = option(
        "--insecure", multiple=True, metavar="HOST[:PORT]",
        help="Allow HTTP and untrusted certificates for this registry (may be repeated).",
    )  # fmt: skip
    jobs: int = option("--jobs", type=Whole(1, 64), default=4, show_default=True, help="Number of parallel downloads.")
    timeout: float = option(
        "--timeout", type=Decimal(0.1), default=30.0, show_default=True, metavar="SECONDS",
        help="Timeout of a registry's response.",
    )  # fmt: skip
    retries: int = option(
        "--retries", type=Whole(0, 20), default=4, show_default=True, help="Retries after temporary errors."
    )
    approve: tuple[str, ...] = approve_option
    allow_empty: bool = allow_empty_option


@command(VendorOptions)
def vendor(_: click.Context, opts: VendorOptions) -> None:
    """Fetch catalogs and bundles that are named by image.

    Content goes to vendor/, digests to olmc.lock. Commit both: every other command then works without a network.

    \b
    Examples:
      olmc vendor                              fetch what is missing
      olmc vendor --update                     also fetch what has changed since
      olmc vendor --check                      fail if something is missing
      olmc vendor --from images.tar --offline  from an OCI layout only
      olmc vendor --offline --catalog redhat-operators=catalog.json
                                               a catalog written by opm render

    Exit codes: 0 done, 1 something is missing (--check) or can't be resolved, or the workspace is empty, 2 wrong usage,
    3 an image can't be fetched; then nothing is changed.
    """
    path, catalogs, update, check = opts.path, opts.catalogs, opts.update, opts.check
    if check and update:
        wrong_usage("--check and --update exclude each other.")
    if check and catalogs:
        wrong_usage("--check and --catalog exclude each other.")
    if not all(all(item.partition("=")) for item in catalogs):
        wrong_usage("--catalog takes NAME=PATH.")
    places = Places(
        opts.layouts, opts.offline, opts.authfile, opts.registries_conf, opts.insecure, opts.timeout, opts.retries
    )
    report = Report()
    with progress() as doing:
        counter = Progress(lambda now: doing(f"fetching {now}"))
        request = VendorRequest(
            Options(approve=opts.approve),
            lambda config: source_finder(places, config, os.environ, Path.home(), counter.stop),
            given=frozenset({"approve"}) if opts.approve else frozenset(),
            update=update,
            check=check,
            platform=opts.platform,
            jobs=opts.jobs,
            whole_catalogs=opts.whole_catalogs,
            catalogs=tuple(GivenCatalog(name, Path(file)) for name, _, file in (c.partition("=") for c in catalogs)),
            without_bundles=opts.offline and bool(catalogs),
        )
        doing("resolving")
        outcome = _if_possible(lambda: vendored(path, request, report, counter), report)
    if outcome is not None and outcome.is_empty and not opts.allow_empty:
        report.add(empty_finding(path))
    tell(tuple(report), path)
    if outcome is None:
        raise SystemExit(BAD_INPUT)
    code = _checked(outcome) if check else _done(outcome)
    raise SystemExit(code if outcome.is_resolved else FINDINGS)


def _if_possible(work: Callable[[], VendorResult | None], report: Report) -> VendorResult | None:
    """The outcome of the work; None, and a finding, if it takes a library that is not there."""
    try:
        return work()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("olmc"):
            raise
        report.add(NO_CLIENT.finding(None, module=error.name.partition(".")[0]))
        return None


def _done(outcome: VendorResult) -> int:
    for image in outcome.images:
        if image.image in outcome.fetched:
            origin = f" from {image.file}" if image.file else ""
            say(f"fetched {image.kind} {image.image}{origin} ({image.digest[:19]})")
    for catalog in outcome.trimmed:
        before, after = (_megabytes(size) for size in (catalog.bytes_before, catalog.bytes_after))
        say(f"kept {catalog.image.packages} packages of {catalog.image.image}: {before} -> {after}")
    counts = ", ".join(
        f"{number} {kind}{'s' * (number != 1)}"
        for kind in ("catalog", "bundle")
        if (number := sum(image.kind == kind for image in outcome.images))
    )
    lock = "olmc.lock written" if outcome.lock_changed else "olmc.lock unchanged"
    what = f"{counts}; {len(outcome.fetched)} fetched, {len(outcome.removed)} removed, {lock}"
    none = "no images are needed" if outcome.is_resolved else "what is needed is not known"
    say(f"vendor: {what if outcome.images else f'{none}; {lock}'}")
    return DONE


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _checked(outcome: VendorResult) -> int:
    for image in outcome.fetched:
        say(f"missing: {image if image.isprintable() else ascii(image)}")
    for path in outcome.removed:
        say(f"not needed: {path if path.isprintable() else ascii(path)}")
    if not (outcome.fetched or outcome.removed or outcome.lock_changed):
        if not (outcome.is_resolved and outcome.is_proven):
            return FINDINGS  # what they would have to hold is not known, or they hold something else
        say("vendor/ and olmc.lock are up to date")
        return DONE
    say("Run olmc vendor to bring vendor/ and olmc.lock up to date.")
    return FINDINGS
