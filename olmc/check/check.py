"""Everything that is wrong with a directory: what compiling reported, the validators, all lints in order, and the
suppressions."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from olmc.catalogs.content import check_content
from olmc.check.authors import for_users, is_in, is_of_author, older_bundles, without_bundles
from olmc.check.lints import LintSubject, ineffective, objects, olm_objects, permissions, publishing
from olmc.check.secret_lines import line_masker
from olmc.check.validators.findings import OPTIONAL, ValidatorSettings
from olmc.check.validators.validate import validate
from olmc.diagnostics.catalogue import all_rules, code_start
from olmc.diagnostics.rule import FoundBy
from olmc.diagnostics.rules import workspace as rules
from olmc.explain.left_out import findings
from olmc.lean import NamedTuple, regex
from olmc.load.config import CONFIG_FILE, indexing_from, options_from, read_config
from olmc.load.files import no_folder, read_text, scan
from olmc.load.suppressions import Suppression, apply_suppressions, collect_suppressions
from olmc.load.update_graphs import check_update_graphs
from olmc.load.workspace import load
from olmc.model.diagnostics import (
    Diagnostic,
    FurtherFindings,
    Location,
    Mistake,
    Report,
    RuleTag,
    Severity,
    Source,
    closest,
    did_you_mean,
)
from olmc.model.options import Options
from olmc.model.workspace import LeftOut, Workspace
from olmc.output.messages import LineOf
from olmc.output.places import seen_from
from olmc.reconcile.loop import SettledCluster
from olmc.yaml import locate

Lint = Callable[[LintSubject], Iterator[Diagnostic]]

LINTS: tuple[Lint, ...] = (
    olm_objects.empty_targets,
    olm_objects.kept_apis,
    ineffective.selectors,
    ineffective.static_groups,
    ineffective.poll_intervals,
    ineffective.plans_without_status,
    olm_objects.without_namespace,
    olm_objects.pins,
    olm_objects.deprecated,
    olm_objects.stranded,
    olm_objects.several_hops,
    olm_objects.refused_sources,
    olm_objects.stranded_versions,
    olm_objects.half_ranges,
    olm_objects.many_copies,
    objects.unknown_fields,
    objects.lost_keys,
    objects.missing_accounts,
    permissions.dangerous,
    publishing.openshift_releases,
    publishing.names,
    publishing.pruned_graphs,
    publishing.served_versions,
    publishing.workloads,
    publishing.token_secrets,
    objects.sizes,
    objects.waves,
    objects.not_installable,
    objects.variables,
)


def lint(subject: LintSubject, report: Report) -> None:
    """Report what the lints find."""
    for find in LINTS:
        for diagnostic in find(subject):
            report.add(diagnostic)


DEFAULTS = Options()

# What ends a line in YAML, by which its reader counts; in JSON only the line feed does.
_YAML_BREAK = regex("[\n\x85\u2028\u2029]")


class CheckInput(NamedTuple):
    """What compiling a directory gave; `workspace` and `settled` as far as it came, `left_out` what it has besides."""

    workspace: Workspace | None
    settled: SettledCluster | None
    diagnostics: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class CheckScope(NamedTuple):
    """Whether whoever checks writes the bundles (None: the directory says so), and whether all versions in a folder of
    bundles count, not just the newest of each package."""

    author: bool | None = None
    all_versions: bool = False


DEFAULT_SCOPE = CheckScope()


class CheckResult(NamedTuple):
    """What was found in the directory `root`, how many bundles were validated, and what is suppressed or left out.

    `shown_as` stands before the paths of files when they are shown. `older` is how many bundles were not looked at,
    since there is a newer version; `known` how many findings are not reported, since a revision has them.
    """

    root: Path
    diagnostics: tuple[Diagnostic, ...]
    bundles: int = 0
    suppressed: tuple[Diagnostic, ...] = ()
    shown_as: str = ""
    left_out: tuple[LeftOut, ...] = ()
    older: int = 0
    known: int = 0


def check_directory(
    root: Path,
    compiled: CheckInput,
    settings: ValidatorSettings,
    options: Options = DEFAULTS,
    given: frozenset[str] = frozenset(),
    scope: CheckScope = DEFAULT_SCOPE,
) -> CheckResult:
    """Check the directory `root`, which was compiled already, with `options` and `given` as in `olmc.compile`."""
    if no_folder(root):
        return CheckResult(root, compiled.diagnostics)
    config = read_config(root, Report())
    ignored, indexing = tuple(config.get("ignore") or ()), indexing_from(config)
    workspace = compiled.workspace
    if workspace is None:
        # Compiling stopped before it had a workspace, and has reported why; the validators look at what can be read.
        workspace = load(root, Report(), ignored=ignored, indexing=indexing)
    older = older_bundles(workspace) if not scope.all_versions else ()
    is_author = is_of_author(workspace) if scope.author is None else scope.author
    graphs = Report()  # of all versions
    check_update_graphs(root, workspace, indexing, graphs)
    whole, workspace = workspace, without_bundles(workspace, older)
    of_compiler = (*compiled.diagnostics, *compiled.suppressed)
    report = Report([each for each in of_compiler if each.severity is Severity.ERROR or not is_in(each, older)])
    apart = {bundle.directory for bundle in older}
    validated = validate(root, workspace, settings, report, ignored=ignored, apart=apart)
    for catalog in workspace.catalogs.values():
        check_content(catalog, report)
    report.found.extend(graphs.found)
    effective = options_from(config, options, given)
    lint(LintSubject(workspace, compiled.settled, effective, whole), report)
    done = apply_suppressions(root, report, config)
    left = apply_suppressions(root, findings(compiled.left_out), config, commented=False)
    kept = Report([*(done.kept if is_author else for_users(done.kept, workspace)), *left.kept])
    # After an error much was not looked at, so that no suppression can be called unused.
    if not report.failed:
        suppressions = tuple(collect_suppressions(root, config, scan(root, Report(), ignored=ignored).walk()))
        used, looked_for = done.used | left.used, _looked_for(settings, effective)
        counted = {(each.code, each.location) for each in report if isinstance(each.cause, FurtherFindings)}
        # Of findings that are only counted nobody knows which are accepted.
        used |= {each for each in suppressions if (each.code, Location(each.place.path)) in counted}
        for diagnostic in _check_suppressions(root, suppressions, used, looked_for):
            if not is_in(diagnostic, older):
                kept.add(diagnostic)
    suppressed = (*done.suppressed, *left.suppressed)
    return CheckResult(root, tuple(kept), validated.bundles, suppressed, left_out=compiled.left_out, older=len(older))


def _check_suppressions(
    root: Path, suppressions: Sequence[Suppression], used: frozenset[Suppression], looked_for: frozenset[FoundBy]
) -> Iterator[Diagnostic]:
    # A misspelt code accepts nothing, and nobody would notice.
    known = {rule.code: rule for rule in all_rules()}
    for suppression in suppressions:
        place = _place(root, suppression)
        if suppression.code not in known:
            best = closest(suppression.code, known)
            hint = f"; {did_you_mean(best, inside=True)}" if best else ""
            cause = f"there is no rule {suppression.code}{hint}" if suppression.code else "it names no code"
            yield rules.MEANINGLESS.finding(place, cause=cause)
            continue
        if not suppression.reason:
            yield rules.NO_REASON.finding(place, code=suppression.code)
        if suppression not in used and known[suppression.code].found_by in looked_for:
            yield rules.UNUSED.finding(place, code=suppression.code)


def _looked_for(settings: ValidatorSettings, options: Options) -> frozenset[FoundBy]:
    """The rules that a check with these settings looks for; it can't say of others that they are suppressed in vain."""
    parts = (
        (FoundBy.CHECK, True),
        (FoundBy.OPTIONAL_VALIDATORS, settings.optional >= frozenset(OPTIONAL)),
        (FoundBy.DESCOPED, options.descoped),
        (FoundBy.V2ALPHA1, options.v2alpha1),
        (FoundBy.AS_USER, options.v2alpha1 and bool(options.user)),
    )
    return frozenset(found_by for found_by, applies in parts if applies)


def _place(root: Path, suppression: Suppression) -> Location:
    if suppression.number < 0:
        return suppression.place
    text = read_text(root, CONFIG_FILE, Report()) or ""
    return locate(Source(CONFIG_FILE, text), ("spec", "suppress", suppression.number))


def select_findings(result: CheckResult, select: Sequence[str], ignore: Sequence[str]) -> CheckResult:
    """What is selected and not ignored, by the beginnings of codes, and all errors: what they stop is not checked.

    Of what is left, each mistake is reported once.
    """
    wanted, unwanted = (tuple(map(code_start, codes)) for codes in (select, ignore))
    kept = (
        diagnostic
        for diagnostic in result.diagnostics
        if diagnostic.severity is Severity.ERROR
        or (diagnostic.code.startswith(wanted or ("",)) and not diagnostic.code.startswith(unwanted or ("-",)))
    )
    return result._replace(diagnostics=dedupe(kept))


def located_diagnostics(result: CheckResult) -> tuple[Diagnostic, ...]:
    """The diagnostics as they are seen from where the directory has the name that it is shown as."""
    return tuple(seen_from(result.shown_as.rstrip("/"), result.diagnostics))


def line_reader(results: Iterable[CheckResult], *, show_secrets: bool = False) -> LineOf:
    """A function that gives the line of a place, read from the file below the directory that was checked; what is in
    Secrets is masked."""
    roots = [(result.shown_as, result.root) for result in results]

    @cache
    def lines(path: str) -> list[str]:
        for shown_as, root in roots:
            try:
                # A base may stand beside what is built on it.
                text = (root / posixpath.relpath(path, shown_as or ".")).read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                continue
            return text.split("\n") if path.endswith(".json") else _YAML_BREAK.split(text)
        return []

    @cache
    def masked(path: str) -> Callable[[int], str]:
        return line_masker(path, lines(path))

    def line_of(place: Location) -> str | None:
        of_file = lines(place.path)
        if not 0 < place.line <= len(of_file):
            return None
        return of_file[place.line - 1] if show_secrets else masked(place.path)(place.line)

    return line_of


def dedupe(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics in their order; of several at one place that have one cause, only the gravest.

    Of equally grave ones that of the compiler stays, not that of the validators.
    """
    given = tuple(diagnostics)
    best: dict[tuple[object, ...], Diagnostic] = {}
    for diagnostic in sorted(given, key=lambda item: (-item.severity, RuleTag.OF_VALIDATORS in item.tags, item.code)):
        best.setdefault(_mistake(diagnostic), diagnostic)
    # Sorted for the choice only: what stays keeps its place in the report.
    kept = frozenset(best.values())
    return tuple(diagnostic for diagnostic in given if diagnostic in kept)


def _mistake(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What two findings of one mistake have in common: the mistake, else all that they say."""
    if isinstance(diagnostic.cause, Mistake):
        return diagnostic.location, type(diagnostic.cause), diagnostic.cause
    return diagnostic.location, diagnostic.code, diagnostic.message
