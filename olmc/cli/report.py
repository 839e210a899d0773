"""`olmc report`."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.compiling import EVERYTHING, cluster_parts, compiled, is_any_broken, tell_left_entries, tell_left_out
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, folder_for_others, progress, say, wrong_usage
from olmc.cli.declared import PathOf, argument, command, option
from olmc.cli.options import (
    CompileOptions,
    ScopeOptions,
    entry_option,
    fields_of,
    fixed_of,
    inputs_of,
    no_remedies_option,
    options_of,
    timings_of,
)
from olmc.cli.plan import name_for_others, plan_of
from olmc.compiler.output.directory import link_below
from olmc.compiler.output.messages import seen_from
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple, regex
from olmc.review.check.check import CheckInput, check_directory
from olmc.review.check.validators.findings import ValidatorSettings
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import with_fixes
from olmc.review.explain.left_out import left_out_of
from olmc.review.plan.outputs import as_html as plan_html
from olmc.review.report.operators import (
    INDEX,
    ForeignFileError,
    ReportExtensions,
    operator_pages,
    overview,
    pages,
    report_extensions,
    served_catalogs,
    write_site,
)

if TYPE_CHECKING:
    import click

    from olmc.cli.console import Input, Timings
    from olmc.compiler.api import Compilation
    from olmc.compiler.load.repository import ClusterPart
    from olmc.compiler.model.cluster import CatalogSource
    from olmc.review.report.operators import ReportExtensions


class ReportOptions(NamedTuple):
    """The options of `olmc report`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]")
    folder: Path = option(
        "--output-dir", type=PathOf(file_okay=False), required=True, metavar="DIR", old_names=("-o",),
        help="The folder to write to; stale pages of an earlier report are removed.",
    )  # fmt: skip
    entries: tuple[str, ...] = entry_option
    no_remedies: bool = no_remedies_option
    scope: ScopeOptions = ScopeOptions()
    compiling: CompileOptions = CompileOptions()


@command(ReportOptions)
def report(ctx: click.Context, opts: ReportOptions) -> None:
    """Write a static HTML report of a workspace.

    An overview of all operators, a page for each (versions, permissions, images, CRDs, objects and their origin), a
    matrix of operators and namespaces, the catalogs, and all findings. Pages are self-contained, and their addresses
    are stable. PATH is a workspace; the default is the current directory.

    \b
    Examples:
      olmc report --output-dir site                        open site/index.html
      olmc report clusters/prod --output-dir site          another one
      olmc report --from git:main --output-dir site        a change, with its plan

    Exit codes: 0 done, with or without findings, 1 an entry of a repository can't be read, 2 wrong usage, 3 input that
    can't be compiled, or a folder that is not writable.
    """
    inputs = inputs_of(ctx, opts.paths, opts.entries)
    if len(inputs) > 1:
        wrong_usage("a report is of one workspace; give one PATH, or one --entry.")
    fields, timings = fields_of(opts.scope, opts.compiling), timings_of(ctx, opts.compiling.timings)
    parts = cluster_parts(ctx, inputs[0].root, fields) if inputs[0].is_plain else (None,)
    if parts != (None,) and fields["from_"]:
        wrong_usage("--from takes one cluster; choose one with --entry.")
    titles = [part.heading for part in parts if part is not None]
    for part, below in zip(parts, cluster_folders(titles) or [""], strict=True):
        if part is not None and link_below(opts.folder, below) is not None:
            say(f"error: {(opts.folder / below).as_posix()} is a link that leads elsewhere; remove it.")
            raise SystemExit(BAD_INPUT)
        _write_report(ctx, opts, inputs[0], fields, timings, opts.folder / below, part)
    tell_left_entries((part for part in parts if part is not None), inputs[0].root)
    raise SystemExit(FINDINGS if is_any_broken(parts) else DONE)


_FOLDER = regex(r"[^\w.-]+")
_LONGEST = 50  # in characters, of which each takes up to four bytes: no more than file systems allow
_DIGITS = 32
_WITH_DIGEST = regex(rf"-[0-9a-f]{{{_DIGITS}}}$")


def cluster_folders(titles: Sequence[str]) -> list[str]:
    """Name a folder for each cluster: below the folder of the report, and of no other cluster.

    Files of the repository choose the titles, which could be `..`, or differ only in signs and case.
    """
    plain = [_FOLDER.sub("-", title) for title in titles]
    count = Counter(map(_folded, plain))
    return [
        name if count[_folded(name)] == 1 and _is_plain(name) else _with_digest(name, title)
        for name, title in zip(plain, titles, strict=True)
    ]


def _with_digest(name: str, title: str) -> str:
    digest = sha256(title.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{name.strip('.-')[:_LONGEST] or 'cluster'}-{digest}"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _is_plain(name: str) -> bool:
    is_short = len(name.encode("utf-8", "surrogatepass")) <= 4 * _LONGEST
    return is_short and bool(name.strip(".-")) and not name.startswith(".") and _WITH_DIGEST.search(name) is None


def _write_report(
    ctx: click.Context, opts: ReportOptions, one: Input, fields: dict[str, Any], timings: Timings, folder: Path,
    part: ClusterPart | None,
) -> None:  # fmt: skip
    """Write the report of a workspace, or of a cluster of a repository, into a folder."""
    root, beside, release, part = one.root, one.beside, one.release, part or one.part
    done, settled = compiled(
        ctx, root, fields, least=Severity.ERROR, beside=beside, release=release, timings=timings, part=part
    )
    with progress() as doing:
        doing(f"checking {root}")
        left = left_out_of(root, done) if part is None else ()
        given = fixed_of(ctx, fields)
        found = diagnose(scene_of(done))
        if one.is_plain and part is None and not opts.no_remedies:
            found = with_fixes(one.request(options_of(ctx, fields), EVERYTHING | given), done, found)
        compilation = CheckInput(
            done.workspace, settled, done.diagnostics, done.suppressed, left, done.objects, done.extensions, found
        )
        settings = ValidatorSettings(frozenset(), modes_optional=done.options.descoped)
        folder_here = "" if one.is_staged else folder_for_others(root)
        checked = check_directory(root, compilation, settings, done.options, given).diagnostics
        findings = tuple(seen_from(folder_here, checked))
        name = name_for_others(opts.paths[0].as_posix()) if opts.paths else Path.cwd().name
        name = part.heading if part is not None else name
        plan = None
        if fields["from_"]:
            doing("planning")
            plan = partial(plan_html, plan_of(ctx, one, name, fields))
        doing("writing")
        of_v1, served = _extensions(done)
        operators = operator_pages(settled, done.objects, findings, done.operators, of_v1, found, folder_here)
        made = pages(overview(name, operators, findings, settled, served), plan)
        try:
            write_site(folder, made)
        except ForeignFileError as error:
            say(f"error: {error}; give an empty folder to --output-dir, or remove the file.")
            raise SystemExit(BAD_INPUT) from error
    if part is None:
        tell_left_out(root, done)
    several = "" if len(operators) == 1 else "s"
    say(f"{(folder / INDEX).as_posix()}: {len(operators)} operator{several}, {len(made)} pages", out=True)


def _extensions(done: Compilation) -> tuple[ReportExtensions, tuple[CatalogSource, ...]]:
    """Return the facts about ClusterExtensions, and the ClusterCatalogs."""
    if done.workspace is None or not done.workspace.has_extensions:
        return ReportExtensions(), ()
    return report_extensions(done.workspace, done.extensions), tuple(served_catalogs(done.workspace))
