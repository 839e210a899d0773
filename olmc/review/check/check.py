"""Everything that is wrong with a directory: the findings of the compilation, the validators, all lints in order,
and the suppressions. `check` is the function of the Python API, and the command takes the same steps."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.compiler.api import NO_INPUTS, Compilation, emptiness
from olmc.compiler.catalogs.content import check_content
from olmc.compiler.load.bundles import has_many_packages
from olmc.compiler.load.config import CONFIG_FILE, indexing_from, options_from, read_config
from olmc.compiler.load.entries import folders_without_olm
from olmc.compiler.load.files import (
    Folder,
    ScannedFolder,
    check_update_graphs,
    git_ignore_lines,
    ignore_lines,
    no_folder,
    read_text,
    scan_everything,
    scan_workspace,
)
from olmc.compiler.load.repository import RepositoryCluster
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.load.suppressions import Suppression, apply_suppressions, collect_suppressions
from olmc.compiler.load.suppressions import entries as configured
from olmc.compiler.load.workspace import WorkspaceSettings, load
from olmc.compiler.load.workspace_files import applied_of, left_out_in
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Inputs, LeftOut, Reason, Workspace
from olmc.compiler.output.messages import seen_from
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.resolver.predicates import cel_problem as problem_of
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.diagnostics import (
    Diagnostic,
    FoundBy,
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
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, Rendered
from olmc.k8s.semver import Version, tolerant_or_none
from olmc.k8s.yaml import locate
from olmc.review.check.lints import LintSubject, objects, olm_objects, publishing
from olmc.review.check.lints import olm_objects as ineffective
from olmc.review.check.repository import (
    BundleNames,
    BundleRepository,
    CompiledRepository,
    bundle_repository,
    cluster_findings,
    compile_repository,
    dependent_parts,
    folders_at,
    merged,
    package_tree,
    repository_findings,
    tree_of,
    without_folders,
)
from olmc.review.check.validators.bundles import operator_group_findings_of, validate
from olmc.review.check.validators.findings import OPTIONAL, ValidatorSettings, report_findings, select_validators
from olmc.review.diagnose.bundles import numbers_without_quotes
from olmc.review.diagnose.diagnosis import Diagnosis, Scene
from olmc.review.diagnose.engine import diagnose, explained, scene_of
from olmc.review.diagnose.engine import findings as diagnosed
from olmc.review.diagnose.remedies import with_fixes
from olmc.review.explain.left_out import findings, left_out_of
from olmc.review.rules.catalogue import all_rules, code_start
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from typing import Unpack

    from olmc.compiler.model.options import OptionFields, Options

# Whose the bundles of a directory are, and which of their versions anybody still works on.

_OF_AUTHORS = frozenset({RuleTag.OF_VALIDATORS, RuleTag.FOR_AUTHORS})


def is_of_author(workspace: Workspace) -> bool:
    """Return whether the user of a directory is the author of its bundles: it has only bundles, of one package.

    A user with Subscriptions, catalogs or vendored content installs other authors' bundles; a folder with bundles of
    several packages is a collection.
    """
    return is_folder_of_bundles(workspace) and len({bundle.package for bundle in workspace.bundles.values()}) <= 1


def is_folder_of_bundles(workspace: Workspace) -> bool:
    """Return whether a directory has bundles and nothing of OLM that would install them."""
    installs = any(manifest.object["apiVersion"].startswith(f"{OLM_GROUP}/") for manifest in workspace.manifests)
    return not (installs or workspace.catalogs or workspace.vendored)


def older_bundles(workspace: Workspace) -> tuple[Bundle, ...]:
    """Return the bundles in a folder of bundles that have a newer version there, by directory; elsewhere that is
    unknown."""
    if not is_folder_of_bundles(workspace):
        return ()
    versions: dict[str, list[tuple[Version, Bundle]]] = defaultdict(list)
    for bundle in workspace.bundles.values():
        version = tolerant_or_none(Csv(bundle.csv.object).version)
        if version is not None:
            versions[bundle.package].append((version, bundle))
    older: list[Bundle] = []
    for listed in versions.values():
        newest = max((version for version, _ in listed), key=cmp_to_key(Version.compare))
        older += (bundle for version, bundle in listed if version.compare(newest) < 0)
    return tuple(sorted(older, key=lambda bundle: bundle.directory))


def without_bundles(workspace: Workspace, bundles: Iterable[Bundle]) -> Workspace:
    """A workspace without some of its bundles."""
    directories = {bundle.directory for bundle in bundles}
    kept = {name: bundle for name, bundle in workspace.bundles.items() if bundle.directory not in directories}
    return workspace._replace(bundles=kept)


def in_bundles(bundles: Iterable[Bundle]) -> Callable[[Diagnostic], bool]:
    """Return a function that tells whether a finding is about a file of one of the bundles."""
    folders = frozenset(bundle.directory for bundle in bundles)

    def is_in(diagnostic: Diagnostic) -> bool:
        if diagnostic.location is None or not folders:
            return False
        parts = diagnostic.location.path.split("/")
        return any("/".join(parts[:number]) in folders for number in range(len(parts)))

    return is_in


def for_users(diagnostics: Iterable[Diagnostic], workspace: Workspace) -> tuple[Diagnostic, ...]:
    """Return findings for a user who only installs the bundles: a warning of the validators that only the author can
    fix is an info."""
    is_of_bundle = in_bundles((*workspace.bundles.values(), *workspace.vendored.values()))
    return tuple(
        diagnostic._replace(severity=Severity.INFO)
        if diagnostic.severity is Severity.WARNING
        and not _OF_AUTHORS.isdisjoint(diagnostic.tags)
        and is_of_bundle(diagnostic)
        else diagnostic
        for diagnostic in diagnostics
    )


if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome


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
    olm_objects.stranded,
    olm_objects.several_hops,
    olm_objects.refused_sources,
    olm_objects.stranded_versions,
    olm_objects.half_ranges,
    olm_objects.many_copies,
    objects.unknown_fields,
    objects.lost_keys,
    objects.missing_accounts,
    objects.dangerous,
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


class CheckInput(NamedTuple):
    """The result of compiling a directory. `workspace` and `settled` are None after an early error, `left_out` are
    other objects of the directory. `objects` is the rendered output, and `diagnoses` are those of the compilation if
    they were made. With `is_entry` it is an entry of a repository, in which other entries may use suppressions."""

    workspace: Workspace | None
    settled: SettledCluster | None
    diagnostics: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    objects: tuple[Rendered, ...] = ()
    extensions: tuple[ExtensionOutcome, ...] = ()
    diagnoses: tuple[Diagnosis, ...] | None = None
    is_entry: bool = False


class CheckScope(NamedTuple):
    """Whether the user is the author of the bundles (None: the directory decides), and whether all versions in a folder
    of bundles count, not just the newest of each package."""

    author: bool | None = None
    all_versions: bool = False


DEFAULT_SCOPE = CheckScope()


class CheckResult(NamedTuple):
    """The findings in the directory `root`, the number of validated bundles, and the suppressed and left out content.

    `shown_as` is the prefix of the paths of files when they are shown. `older` is the number of bundles that are
    skipped, since there is a newer version; `known` the number of findings that are not reported, since a revision has
    them; `unchanged` the number of packages that equal those of the revision, so that olmc does not read them.
    `clusters` are those of a repository.
    """

    root: Path
    diagnostics: tuple[Diagnostic, ...]
    bundles: int = 0
    suppressed: tuple[Diagnostic, ...] = ()
    shown_as: str = ""
    left_out: tuple[LeftOut, ...] = ()
    older: int = 0
    known: int = 0
    clusters: tuple[RepositoryCluster, ...] = ()
    unchanged: int = 0

    @property
    def failed(self) -> bool:
        """Return whether the directory could not be compiled."""
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    def __repr__(self) -> str:
        """Summarize the findings in one line."""
        counts = {str(s): sum(d.severity is s for d in self.diagnostics) for s in reversed(Severity)}
        shown = [f"{n} {word}{'s' * (n != 1 and word != 'info')}" for word, n in counts.items() if n]
        return f"<CheckResult: {', '.join(shown) or 'nothing found'}>"


class CheckedPart(NamedTuple):
    """The findings in a part of a directory, before olmc.yaml's suppressions are judged and left out content counts.

    `failed`: an error stopped the compilation. `has_others`: it has manifests, catalogs, or vendored content beside its
    bundles. `left_out` may be applied by a tool or not, and `inputs` are the files that decide that.
    """

    found: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...] = ()
    used: frozenset[Suppression] = frozenset()
    bundles: int = 0
    older: int = 0
    failed: bool = False
    left_out: tuple[LeftOut, ...] = ()
    inputs: Inputs = NO_INPUTS
    names: BundleNames = BundleNames()
    has_others: bool = False


def check_directory(
    root: Path,
    compiled: CheckInput,
    settings: ValidatorSettings,
    options: Options = DEFAULTS,
    given: frozenset[str] = frozenset(),
    scope: CheckScope = DEFAULT_SCOPE,
    tree: ScannedFolder | None = None,
) -> CheckResult:
    """Check the directory `root`, which was compiled already, with `options` and `given` as in `olmc.compile`.

    `tree` is its tree, if it was scanned.
    """
    if no_folder(root):
        return CheckResult(root, compiled.diagnostics)
    part = check_part(root, compiled, settings, options, given, scope, tree)
    return join_parts(root, [part], compiled.left_out, settings, options, given, is_whole=not compiled.is_entry)


def check_part(
    root: Path,
    compiled: CheckInput,
    settings: ValidatorSettings,
    options: Options,
    given: frozenset[str],
    scope: CheckScope,
    tree: ScannedFolder | None = None,
) -> CheckedPart:
    """Check the part of the directory `root` that is `tree`, by default all of it, which was compiled already."""
    config = read_config(root, Report())
    ignored, indexing = tuple(config.get("ignore") or ()), indexing_from(config)
    tree = tree if tree is not None and tree.ignored == ignored else scan_workspace(root, ignored)
    if tree.is_cut:
        return CheckedPart(compiled.diagnostics, compiled.suppressed, failed=True)
    workspace = compiled.workspace
    if workspace is None:
        # Compiling stopped before it had a workspace, and has reported why; the validators look at what can be read.
        request = CompileRequest(root, Options(kube_version=""), tree=tree)
        workspace = load(request, Report(), WorkspaceSettings(ignored, indexing))
    older = older_bundles(workspace) if not scope.all_versions else ()
    is_older = in_bundles(older)
    is_author = is_of_author(workspace) if scope.author is None else scope.author
    graphs = Report()  # of all versions
    check_update_graphs(root, workspace, indexing, graphs)
    whole, workspace = workspace, without_bundles(workspace, older)
    of_compiler = (*compiled.diagnostics, *compiled.suppressed)
    report = Report([each for each in of_compiler if each.severity is Severity.ERROR or not is_older(each)])
    apart = {bundle.directory for bundle in older}
    validated = validate(root, workspace, settings, report, apart=apart, folder=tree.folder)
    for catalog in workspace.catalogs.values():
        check_content(catalog, report)
    report.found.extend(graphs.found)
    effective = options_from(config, options, given)
    lint(LintSubject(workspace, compiled.settled, effective, whole), report)
    if compiled.settled is None:
        report.found.extend(finding for *_, finding in numbers_without_quotes(workspace))
    else:
        scene = Scene(compiled.settled, whole, compiled.objects, effective, compiled.extensions)
        diagnoses = compiled.diagnoses if compiled.diagnoses is not None else diagnose(scene)
        report = Report(list(explained(report, diagnoses)))
        for diagnostic in diagnosed(diagnoses):
            if not is_older(diagnostic):
                report.add(diagnostic)
    done = apply_suppressions(root, report, config)
    kept = Report(list(done.kept if is_author else for_users(done.kept, workspace)))
    # After an error, and in other entries, much was not looked at, so that no suppression can be called unused.
    if not (report.failed or compiled.is_entry):
        suppressions = tuple(collect_suppressions(root, {}, tree.folder.walk()))
        counted = {(each.code, each.location) for each in report if isinstance(each.cause, FurtherFindings)}
        # Findings that are only counted have no text, so it is unknown which are accepted.
        used = done.used | {each for each in suppressions if (each.code, Location(each.place.path)) in counted}
        for diagnostic in _check_suppressions(root, suppressions, used, _looked_for(settings, effective)):
            if not is_older(diagnostic):
                kept.add(diagnostic)
    names = BundleNames(
        frozenset(whole.bundles),
        frozenset(name for bundle in whole.bundles.values() for name in _replaced_by(bundle)),
        frozenset(bundle.package for bundle in whole.bundles.values()),
    )
    has_others = bool(whole.manifests or whole.catalogs or whole.vendored or whole.repository)
    return CheckedPart(
        tuple(kept), done.suppressed, done.used, validated.bundles, len(older), report.failed, names=names,
        has_others=has_others,
    )  # fmt: skip


def _replaced_by(bundle: Bundle) -> Iterator[str]:
    csv = Csv(bundle.csv.object)
    yield csv.replaces
    skips = csv.spec.get("skips")
    yield from (name for name in skips if isinstance(name, str)) if isinstance(skips, list) else ()


def join_parts(
    root: Path,
    parts: Sequence[CheckedPart],
    left_out: tuple[LeftOut, ...],
    settings: ValidatorSettings,
    options: Options,
    given: frozenset[str],
    *,
    is_whole: bool = True,
) -> CheckResult:
    """The result for the directory `root`, parts of which were checked, and in which `left_out` is left out; with
    `is_whole` these are all parts."""
    config = read_config(root, Report())
    left = apply_suppressions(root, findings(left_out), config, commented=False)
    kept = Report([*(each for part in parts for each in part.found), *left.kept])
    suppressed = tuple(each for part in parts for each in part.suppressed)
    if is_whole and not any(part.failed for part in parts):
        used = left.used.union(*(part.used for part in parts))
        looked_for = _looked_for(settings, options_from(config, options, given))
        for diagnostic in _check_suppressions(root, configured(config), used, looked_for):
            kept.add(diagnostic)
    return CheckResult(
        root, tuple(kept), sum(part.bundles for part in parts), (*suppressed, *left.suppressed), left_out=left_out,
        older=sum(part.older for part in parts),
    )  # fmt: skip


def check_clusters(
    root: Path, done: CompiledRepository, settings: ValidatorSettings, options: Options, given: frozenset[str]
) -> CheckResult:
    """Check the repository at `root`, whose clusters were compiled already."""
    config = read_config(root, Report())
    ignored, effective = tuple(config.get("ignore") or ()), options_from(config, options, given)
    report = Report(list(repository_findings(done)))
    for cluster in done.clusters:
        made = cluster.compilation
        found = Report([*made.diagnostics, *made.suppressed])
        if made.workspace is not None and not made.failed:
            lint(LintSubject(made.workspace, made.settled, made.options), found)
            report_findings(operator_group_findings_of(made.workspace), found)
        report.found.extend(cluster_findings(cluster, found))
    of_validators = Report()
    validated = validate(root, Workspace((), {}, {}), settings, of_validators, ignored=ignored)
    of_bundles = (
        each._replace(severity=Severity.INFO) if each.severity is Severity.WARNING else each for each in of_validators
    )
    # Who keeps entries for clusters installs what others write.
    merged_report = Report([*merged(report), *of_bundles])
    accepted = apply_suppressions(root, merged_report, config)
    kept = Report(list(accepted.kept))
    suppressions = tuple(collect_suppressions(root, config, done.built.repository.folder.walk()))
    for diagnostic in _check_suppressions(root, suppressions, accepted.used, _looked_for(settings, effective)):
        kept.add(diagnostic)
    clusters = tuple(cluster.part.cluster for cluster in done.clusters)
    return CheckResult(root, tuple(kept), validated.bundles, accepted.suppressed, clusters=clusters)


def _check_suppressions(
    root: Path, suppressions: Sequence[Suppression], used: frozenset[Suppression], looked_for: frozenset[FoundBy]
) -> Iterator[Diagnostic]:
    if not suppressions:
        return  # most workspaces have none, and all rules of all targets take time to import
    # A misspelt code accepts no finding, and the mistake would stay hidden.
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
        (FoundBy.INSTALLS, options.operators_and_installs),
        (FoundBy.AS_USER, options.operators_and_installs and bool(options.user)),
    )
    return frozenset(found_by for found_by, applies in parts if applies)


def _place(root: Path, suppression: Suppression) -> Location:
    if suppression.number < 0:
        return suppression.place
    text = read_text(root, CONFIG_FILE, Report()) or ""
    return locate(Source(CONFIG_FILE, text), ("spec", "suppress", suppression.number))


def select_findings(result: CheckResult, select: Sequence[str], ignore: Sequence[str]) -> CheckResult:
    """Return the selected findings that are not ignored, by the beginnings of codes, and all errors, as they stop
    further checks.

    Each mistake among them is reported once.
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
    """Return the common key of findings of one mistake: the mistake, else all their parts."""
    if isinstance(diagnostic.cause, Mistake):
        return diagnostic.location, type(diagnostic.cause), diagnostic.cause
    return diagnostic.location, diagnostic.code, diagnostic.message


class CheckRules(NamedTuple):
    """The settings of a check: those of the validators, its scope, and the beginnings of the selected and ignored
    codes; `remedies` is the CPU time in seconds of the search for changes that cure diagnosed causes."""

    settings: ValidatorSettings
    scope: CheckScope = DEFAULT_SCOPE
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    remedies: float = 0


def check(
    root: CompileRequest | Path | str = ".", options: Options | None = None, *, select: Iterable[str] = (),
    ignore: Iterable[str] = (), optional: Iterable[str] = (), author: bool | None = None, all_versions: bool = False,
    **fields: Unpack[OptionFields],
) -> CheckResult:  # fmt: skip
    """Find the mistakes in a workspace or a bundle, as `olmc check` does.

    `root`, `options` and further options are those of `olmc.compile`. `select` and `ignore` are beginnings of codes;
    `optional` are names of optional validators, or `all`. `author` is whether you author the bundles (None: olmc
    decides); with `all_versions` not only the newest bundle of each package counts. Nothing is raised for bad input.
    Raises ValueError for a validator that does not exist.
    """
    names, unknown = select_validators(optional)
    if unknown:
        raise ValueError(f"there is no optional validator {unknown[0]}")
    settings = ValidatorSettings(names, cel_problem=cel_problem)
    rules = CheckRules(settings, CheckScope(author, all_versions), tuple(select), tuple(ignore))
    request = scanned(request_of(root, options, fields))
    found = check_repository_of_bundles(request, rules)
    if found is not None:
        return found
    made = compile(request)
    return check_compiled(request, made, rules, emptiness(request.root, made))


def scanned(request: CompileRequest) -> CompileRequest:
    """Return a request with the tree of its directory."""
    if request.part is not None or request.narrowing is not None or no_folder(request.root):
        return request
    return request._replace(tree=scan_workspace(request.root, by_package=True))


class PackageTask(NamedTuple):
    """A package of a repository of bundles to be checked: the request with its tree, and its tree with hidden folders;
    the patterns of what is left out, and which of them are git's."""

    request: CompileRequest
    rules: CheckRules
    everything: Folder
    ignored: tuple[str, ...]
    of_git: frozenset[str]

    @property
    def root(self) -> Path:
        """The directory of the repository."""
        return self.request.root


def check_package(task: PackageTask) -> CheckedPart:
    """Check a package of a repository of bundles."""
    request, rules = task.request, task.rules
    made = compile(request)
    lenient = rules.settings._replace(modes_optional=made.options.descoped)
    compiled = CheckInput(
        made.workspace, made.settled, made.diagnostics, made.suppressed, (), made.objects, made.extensions
    )
    part = check_part(request.root, compiled, lenient, request.options, request.fixed, rules.scope, request.tree)
    if made.failed:
        return part
    left = left_out_in(request.root, task.everything, made.inputs, task.ignored, task.of_git)
    return part._replace(left_out=left, inputs=Inputs(made.inputs.files - made.inputs.content))


def check_each_package(tasks: Iterable[PackageTask]) -> Iterator[CheckedPart]:
    """Check packages of a repository of bundles one by one."""
    return map(check_package, tasks)


def check_repository_of_bundles(
    request: CompileRequest, rules: CheckRules,
    check_each: Callable[[Sequence[PackageTask]], Iterable[CheckedPart]] = check_each_package,
    changed: frozenset[str] | None = None, known: BundleRepository | None = None,
) -> CheckResult | None:  # fmt: skip
    """Check a repository of bundles package by package; None for any other directory.

    Memory holds one package at a time. `check_each` checks packages in the order given. An error in a package stops
    the compilation of this package alone. `changed` are the folders of the packages to check, None for all of them.
    `known` is the repository that the tree of the request is, if the caller has it.
    """
    root, tree = request.root, request.tree
    if tree is None or request.beside is not None or request.release is not None:
        return None
    if changed is None and not has_many_packages(tree.folder):
        return None
    config = read_config(root, Report())
    if config.get("ignore"):
        tree, known = scan_workspace(root, tuple(config["ignore"]), known=tree, by_package=True), None
    repository = known or bundle_repository(root, tree)
    if repository is None:
        return None
    request = request._replace(stage=str)
    author = rules.scope.author if rules.scope.author is not None else False
    rules = rules._replace(scope=rules.scope._replace(author=author))
    of_git = git_ignore_lines(root, tree.folder)
    ignored = (*of_git, *tree.ignored, *ignore_lines(root))
    packages = tuple(folder for folder in repository.packages if changed is None or folder.path in changed)
    folders = frozenset(folder.path for folder in packages)
    if changed is None:
        everything = scan_everything(root, known=tree, by_package=True)
        hidden = {folder.path: folder for folder in folders_at(everything, folders)}
    else:
        everything, hidden = Folder("", (), ()), {path: scan_everything(root, path) for path in folders}

    def task(tree: ScannedFolder, everything: Folder) -> PackageTask:
        return PackageTask(request._replace(tree=tree), rules, everything, ignored, frozenset(of_git))

    def task_of(packages: Sequence[Folder]) -> PackageTask:
        part = package_tree(packages, tree)
        return task(part, tree_of([hidden[package.path] for package in packages]))

    rest = check_package(task(repository.rest, without_folders(everything, folders)))
    if rest.has_others or rest.names.bundles:
        return None
    parts = list(check_each([task_of([package]) for package in packages]))
    together = dependent_parts([part.names for part in parts])
    if together:
        again = [task_of([packages[number] for number in numbers]) for numbers in together]
        alone = frozenset(range(len(parts))).difference(*together)
        parts = [*(parts[number] for number in sorted(alone)), *check_each(again)]
    names = frozenset().union(*(part.names.packages for part in parts))
    if any(part.has_others for part in parts) or (changed is None and len(names) < 2):
        return None
    parts.append(rest)
    inputs = Inputs(frozenset().union(*(part.inputs.files for part in parts)))
    left = sorted((left for part in parts for left in part.left_out), key=lambda left: (left.location, left.reason))
    left_out = applied_of(root, tuple(left), inputs)
    found = join_parts(root, parts, left_out, rules.settings, request.options, request.fixed, is_whole=changed is None)
    found = found._replace(unchanged=len(repository.packages) - len(packages))
    return select_findings(found, rules.select, rules.ignore)


def check_compiled(
    request: CompileRequest, made: Compilation, rules: CheckRules, more: Sequence[Diagnostic] = ()
) -> CheckResult:
    """Check a directory that was compiled; `more` is what else there is to report."""
    lenient = rules.settings._replace(modes_optional=made.options.descoped)
    if made.workspace is not None and made.workspace.repository is not None:
        done = compile_repository(request, made.workspace.repository)
        found = check_clusters(request.root, done, lenient, request.options, request.fixed)
        return select_findings(found, rules.select, rules.ignore)
    left = left_out_of(request.root, made) if not made.failed else ()
    found_so_far = (*_in_workspace(request, made.diagnostics), *more)
    if made.workspace is None:  # no tool applies the folder of a bundle by itself, in which there are tests
        left = tuple(each for each in left if each.reason is not Reason.BUNDLE)
    compiled = CheckInput(
        made.workspace, made.settled, found_so_far, made.suppressed, left, made.objects, made.extensions,
        is_entry=request.part is not None,
    )  # fmt: skip
    if rules.remedies and made.workspace is not None and not made.failed:
        compiled = compiled._replace(diagnoses=with_fixes(request, made, diagnose(scene_of(made)), rules.remedies))
    found = check_directory(request.root, compiled, lenient, request.options, request.fixed, rules.scope, request.tree)
    return select_findings(found, rules.select, rules.ignore)


def _in_workspace(request: CompileRequest, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings without those about plain objects that may be applied apart from the workspace."""
    listed = list(diagnostics)
    if request.tree is None or not any(RuleTag.OF_WORKSPACE in each.tags for each in listed):
        return listed
    apart = folders_without_olm(request.root, request.tree.folder)
    return [each for each in listed if RuleTag.OF_WORKSPACE not in each.tags or not _is_apart(each, apart)]


def _is_apart(finding: Diagnostic, folders: frozenset[str]) -> bool:
    """Whether a finding is about files in these folders alone. What is in one folder, or below it, is applied
    together."""
    places = [place for place in (finding.location, *(place for _, place in finding.related)) if place is not None]
    homes = [posixpath.dirname(place.path) for place in places]
    top = min(homes, key=len, default="")
    is_together = len(homes) > 1 and all(f"{home}/".startswith(f"{top}/") for home in homes)
    return bool(homes) and folders.issuperset(homes) and not is_together


def cel_problem(rule: str) -> str:
    """Return what is wrong with a CEL rule, "" for nothing."""
    return problem_of(rule)
