"""The whole compiler on one screen: directory → Workspace → settled cluster → objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.hooks import SettledInput, Target, TargetStage
from olmc.compiler.load.bundles import (
    CATALOGS_FOLDER,
    PROJECT_FILE,
    in_default_namespace,
    inputs_of,
    manifests_in_their_scope,
    openshift_place_of,
    project_bundle,
    read_bundle,
    report_project,
)
from olmc.compiler.load.config import (
    CONFIG_FILE,
    cluster_catalogs,
    entry_settings,
    indexing_from,
    on_openshift,
    openshift_place,
    options_from,
    read_config,
    read_lock,
)
from olmc.compiler.load.files import Folder, ScannedFolder, is_bundle, no_folder, read_text, scan_workspace
from olmc.compiler.load.manifests import redefined, without_duplicates
from olmc.compiler.load.request import DEFAULTS, CompileRequest, request_of
from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Inputs, Lock, LockFile, Workspace
from olmc.compiler.olm.profiles.data import (
    SUBSCRIPTION,
    UnknownVersionError,
    has_chosen_version,
    is_openshift,
    profile_of,
    with_apis_of,
)
from olmc.k8s.diagnostics import Diagnostic, Location, RefusedObject, Report, Severity, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import Manifest, ObjectKey, Rendered, object_key
from olmc.k8s.yaml import locate

if TYPE_CHECKING:
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.compiler.results import ExtensionOutcome, InstallDecision, OperatorResult

NO_INPUTS = Inputs()


class Compilation(NamedTuple):
    """The result of compiling a directory.

    `objects`: everything rendered, in apply order, each with its provenance; () when an error stopped the compile.
    `diagnostics`: all findings, sorted by place. `phases`: the phase and reason of every CSV, by namespace and name.
    `settled`: the cluster at rest, for a closer look. `workspace`: the content that was read. `lock`: what
    olmc.lock would hold for this outcome. `options`: those that held, with what olmc.yaml says.
    `operators`, `installs`, `extensions`: the results of the targets that the compilation was given. `missing`: the
    objects that an output for apply lacks, each with the reason; do not prune by such an output. `suppressed`: the
    findings that comments and olmc.yaml accept, which are not among the diagnostics. `inputs`: which files were read,
    and what in them does not count.
    """

    objects: tuple[Rendered, ...]
    diagnostics: tuple[Diagnostic, ...]
    phases: Mapping[NamespacedName, tuple[str, str]]
    settled: SettledCluster | None = None
    workspace: Workspace | None = None
    lock: Lock | None = None
    suppressed: tuple[Diagnostic, ...] = ()
    inputs: Inputs = NO_INPUTS
    options: Options = DEFAULTS
    operators: tuple[OperatorResult, ...] = ()
    installs: tuple[InstallDecision, ...] = ()
    missing: tuple[str, ...] = ()
    extensions: tuple[ExtensionOutcome, ...] = ()
    tree: ScannedFolder | None = None

    @property
    def failed(self) -> bool:
        """Return whether the input could not be compiled."""
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    @property
    def findings(self) -> bool:
        """Return whether an operator would fail, or an object be refused."""
        return any(d.severity is Severity.FAILURE for d in self.diagnostics)

    def __repr__(self) -> str:
        """Summarize the compilation in one line, as a terminal shows it."""
        counts = {"object": len(self.objects), "CSV": len(self.phases)}
        for severity in (Severity.ERROR, Severity.FAILURE, Severity.WARNING):
            counts[str(severity)] = sum(d.severity is severity for d in self.diagnostics)
        shown = (f"{n} {word}{'s' * (n != 1)}" for word, n in counts.items() if n or word == "object")
        return f"<Compilation: {', '.join(shown)}>"


def load(root: CompileRequest | Path | str, report: Report | None = None) -> Workspace:
    """Read a workspace without compiling it; problems go to `report`."""
    return _read_workspace(request_of(root), report if report is not None else Report())[0]


def _read_workspace(request: CompileRequest, report: Report) -> tuple[Workspace, Options, Mapping[str, Any]]:
    """Read the workspace of a request; also return the options with what its olmc.yaml says, and all that it says."""
    from olmc.compiler.load import workspace as folders  # a bundle by itself needs none of it

    path, release = request.root, request.release
    config = read_config(path, report)
    paths = request.part.cluster.paths if request.part is not None else ()
    of_entries = entry_settings(path, paths, report)
    options = _narrowed(options_from({**config, **of_entries.values}, request.options, request.fixed), request)
    # A lock that is to be written again may be broken; what is vendored counts as far as it can be read.
    lock = read_lock(path, report) if request.obey_lock else LockFile(None, read_lock(path, Report()).images)
    ignored, catalogs = tuple(config.get("ignore") or ()), (*cluster_catalogs(path, config), *of_entries.catalogs)
    known = tuple({object_key(catalog.object): catalog for catalog in catalogs}.values())
    settings = folders.WorkspaceSettings(ignored, indexing_from(config), lock, known)
    workspace = folders.load(request._replace(options=options), report, settings)
    there = _on_inferred_platform(request, options, config, workspace, report)
    if there is not options:
        workspace, options = _in_scopes_of(there, workspace), there
    if release is not None and release.namespace:
        there = options._replace(default_namespace=release.namespace)
        workspace = workspace._replace(manifests=in_default_namespace(workspace.manifests, there, report))
    return workspace, options, config


def _on_inferred_platform(
    request: CompileRequest, options: Options, config: Mapping[str, Any], workspace: Workspace, report: Report
) -> Options:
    """Return the options for OpenShift if manifests show it and the user chooses no platform."""
    part = request.part
    given = (*workspace.manifests, *workspace.cluster_catalogs)
    place = part.openshift if part is not None else openshift_place(given)
    if place is None or is_openshift(options.olm_version):
        return options
    if part is None:
        _report_openshift(place, report)
    return on_openshift(options, request.fixed | config.keys())


def _in_scopes_of(options: Options, workspace: Workspace) -> Workspace:
    """The workspace with its manifests as a cluster with these options stores them, which the API server does without a
    word: also namespaces of kinds that it alone serves, which kustomize writes into all kinds that it does not know."""
    bundles, resources = workspace.bundles.values(), options.api_resources
    stored = manifests_in_their_scope(workspace.manifests, bundles, Report(), resources)
    return workspace._replace(manifests=without_duplicates(stored, Report()))


def _report_openshift(place: Location, report: Report) -> None:
    from olmc.compiler.rules.findings.building import OPENSHIFT  # few bundles show a platform

    report.add(OPENSHIFT.finding(place))


def _bundle_options(folder: Folder, request: CompileRequest, report: Report) -> tuple[Options, Mapping[str, Any]]:
    """Return the options for a bundle by itself with what an olmc.yaml in its folder says, and all that it says."""
    has_config, options = any(name.startswith("olmc.y") for name in folder.files), request.options
    if not has_config and not is_openshift(options.olm_version):
        return options, {}  # most bundles have none, and imports take time

    config = read_config(request.root, report) if has_config else {}
    return options_from(config, options, request.fixed), config


def _narrowed(options: Options, request: CompileRequest) -> Options:
    """Return the options with what the request leaves out in the place of what a workspace does."""
    narrowing = request.narrowing
    if narrowing is None:
        return options
    values: dict[str, Any] = {"include": narrowing.include, "exclude": narrowing.exclude}
    values |= {"purpose": narrowing.purpose} if narrowing.purpose is not None else {}
    return options._replace(**{name: value for name, value in values.items() if name not in request.fixed})


def compile(request: CompileRequest, targets: Sequence[Target] = ()) -> Compilation:
    """Compile the workspace or the bundle of a request, for OLM v0 and `targets`.

    Bad input raises nothing: the diagnostics of the compilation have all its problems.
    """
    path, options, narrowing, given = request.root, request.options, request.narrowing, request.fixed
    request.stage("read")
    report = Report()
    if not _knows_version(options, report):
        return Compilation((), tuple(report), {})
    tree = request.tree if request.part is None else None
    by_package = request.without_idle_bundles
    if (tree is None or narrowing is not None) and request.part is None and not no_folder(path):
        ignored = narrowing.ignored if narrowing is not None else ()
        tree = scan_workspace(path, ignored, ignore_file=narrowing is None, known=tree, by_package=by_package)
    folder = tree.folder if tree is not None else None
    workspace: Workspace | None = None
    bundles: Mapping[str, Bundle] = {}
    settled: SettledCluster | None = None
    begun: Any = None
    live: Workspace | None = None
    config: Mapping[str, Any] = {}
    bundle_folder = _bundle_in(folder, report) if folder is not None and request.beside is None else None
    if tree is not None and bundle_folder is not None:
        report.found.extend(tree.found)  # of a workspace only that which its olmc.yaml does not ignore
        options, config = _bundle_options(tree.folder, request, report)
        options = _narrowed(options, request)
        if config.get("ignore") and narrowing is None:
            rest = scan_workspace(path, tuple(config["ignore"]), known=tree)
            bundle_folder = _bundle_in(rest.folder, Report()) or bundle_folder
        if profile_of(options.olm_version).bundles_by != SUBSCRIPTION and not report.failed:
            chosen = "certificates" in given or "certs" in config
            made = _bundle_of_target(request, bundle_folder, options, report, chosen, targets)
            return _without_suppressed(made, path, report, config)
        if not report.failed:
            chosen_fields = request.fixed | config.keys()
            settled, bundles, options = _settle_bundle(
                path, bundle_folder, options, chosen_fields, report, request.stage
            )
    else:
        workspace, options, config = _read_workspace(request._replace(tree=tree), report)
        if options.delete and options.state is not None and not report.failed:
            for finding in _unknown_deletions(options, config, workspace, path):
                report.add(finding)
        request.stage("settle")
        if not report.failed:
            workspace = _without_refused(workspace, options, report, targets)
            live, begun, settled = _settle_workspace(workspace, options, report, targets)
        bundles = workspace.bundles
    request.stage("render")
    made = _compilation(workspace, live, bundles, begun, settled, options, report, targets)
    # The settings of a repository are for all clusters, of which this is one.
    if made.settled is not None and request.part is None and config.keys() & {"include", "exclude", "approve"}:
        from olmc.compiler.reconcile.misspelling import report_config  # few workspaces choose kinds or approve plans

        report_config(path, config, given, made.settled.cluster, made.workspace, report)
    made = made._replace(tree=tree if tree is not None else request.tree)
    made = _without_suppressed(made, path, report, config)
    is_folder = workspace is not None and request.part is None and not no_folder(path)
    return _with_top_catalogs(made, path) if is_folder else made


def _unknown_deletions(
    options: Options, config: Mapping[str, Any], workspace: Workspace, root: Path
) -> Iterator[Diagnostic]:
    """Report the objects to delete that the cluster does not have: errors, of olmc.yaml warnings with their places."""
    from olmc.compiler.transition.deletion import unknown_deletions  # few runs delete anything

    assert options.state is not None
    written = list(config.get("delete") or ())
    for target, finding in unknown_deletions(options.state, workspace, options):
        if target in written:
            source = Source(CONFIG_FILE, read_text(root, CONFIG_FILE, Report()) or "")
            place = locate(source, ("spec", "delete", written.index(target)))
            finding = finding._replace(severity=Severity.WARNING, location=place)
        yield finding


def _with_top_catalogs(made: Compilation, root: Path) -> Compilation:
    """The compilation whose hints about missing catalogs name those at the top of the repository."""
    if not any(CATALOGS_FOLDER in each.hint for each in made.diagnostics):
        return made
    from olmc.compiler.load.repository import with_top_catalogs  # few workspaces lack a catalog

    return made._replace(diagnostics=with_top_catalogs(root, made.diagnostics))


def emptiness(root: Path | None, made: Compilation) -> tuple[Diagnostic, ...]:
    """Report that a workspace has nothing in it, if that is so; a bundle by itself is no workspace.

    `root` is None for files and streams. What is refused is something, and is reported by itself.
    """
    from olmc.compiler.load.workspace import empty_finding, is_empty  # a bundle by itself needs neither

    something = made.failed or made.findings or made.suppressed
    if made.workspace is None or something or not is_empty(made.workspace):
        return ()
    if made.workspace.repository is not None:  # of something else than operators
        return ()
    return (empty_finding(root, made.tree.folder.walk() if made.tree is not None else ()),)


def compile_manifests(
    manifests: Iterable[Manifest], options: Options, report: Report, targets: Sequence[Target] = ()
) -> Compilation:
    """Compile a workspace that is no directory, but these manifests; what was found before is in `report`."""
    from olmc.compiler.load.workspace import of_manifests

    if not _knows_version(options, report):
        return Compilation((), tuple(report), {})
    return compile_workspace(of_manifests(manifests, report), options, report, targets)


def compile_workspace(
    workspace: Workspace, options: Options, report: Report, targets: Sequence[Target] = ()
) -> Compilation:
    """Compile a workspace that was read already; what was found before is in `report`."""
    live, begun, settled = None, None, None
    if not report.failed:
        workspace = _without_refused(workspace, options, report, targets)
        live, begun, settled = _settle_workspace(workspace, options, report, targets)
    return _compilation(workspace, live, workspace.bundles, begun, settled, options, report, targets)


def _without_refused(workspace: Workspace, options: Options, report: Report, targets: Sequence[Target]) -> Workspace:
    """Return the workspace with the objects of its files that the API server refuses, and without them as manifests."""
    from olmc.compiler.reconcile.misspelling import check_spelling  # a bundle by itself has no manifests

    causes = (finding.cause for finding in report.found if isinstance(finding.cause, RefusedObject))
    keys = frozenset(ObjectKey(cause.group, cause.kind, cause.namespace, cause.name) for cause in causes)
    added = frozenset((api, kind) for target in targets for api, kinds in target.kinds.items() for kind in kinds)
    return check_spelling(workspace._replace(refused=keys) if keys else workspace, options, report, added)


def _settle_workspace(
    workspace: Workspace, options: Options, report: Report, targets: Sequence[Target]
) -> tuple[Workspace, Any, SettledCluster | None]:
    """Return the workspace with all that its cluster holds, the value that a target began with, and the cluster at
    rest."""
    from olmc.compiler.reconcile.loop import reconcile  # a bundle for OLM v1 needs none of it

    if options.state is not None:
        from olmc.compiler.transition.deletion import successor_workspace  # most compilations are of a fresh cluster

        workspace = successor_workspace(options.state, workspace, options)
    for target in targets:
        target.check(workspace, options, report)
    for target in targets:
        begun = target.settle(workspace, options, report) if target.settle is not None else None
        if begun is not None:
            return workspace, *begun
    return workspace, None, reconcile(workspace, options, report)


def _compilation(
    workspace: Workspace | None,
    live: Workspace | None,
    bundles: Mapping[str, Bundle],
    begun: Any,
    settled: SettledCluster | None,
    options: Options,
    report: Report,
    targets: Sequence[Target],
) -> Compilation:
    from olmc.compiler.reconcile.diagnose import diagnose  # a bundle for OLM v1 needs none of these
    from olmc.compiler.reconcile.loop import in_scope_of_crds
    from olmc.compiler.render.rbac import render

    if settled is None or report.failed:
        return Compilation((), tuple(report), {}, workspace=workspace, options=options)
    locking = workspace is not None and (settled.rounds or workspace.lock is not None)
    lock = _checked_lock(workspace, settled, report) if workspace is not None and locking else None
    given = SettledInput(settled, bundles, live, begun, options)
    stages: list[TargetStage] = []
    for target in targets:
        stages += filter(None, (target.rework(given, report),))
        given = given._replace(settled=stages[-1].settled if stages else settled)
    given = given._replace(settled=given.settled._replace(cluster=in_scope_of_crds(given.settled.cluster, options)))
    for target in targets:
        stage = target.extend(given, report)
        if stage is not None:
            stages.append(stage)
            given = given._replace(settled=stage.settled)
    settled = given.settled
    locked = {name: entry for stage in stages for name, entry in stage.locked.items()}
    lock = (lock or Lock({}))._replace(extensions=locked) if locked else lock
    diagnose(settled, bundles, options, report)
    further = tuple(each for stage in stages for each in stage.further)
    # A cluster that is known keeps what it has instead of what is refused.
    if options.purpose == "review" and workspace is not None and options.state is None:
        from olmc.compiler.render.components import refused_objects  # few compilations refuse an object

        further = (*further, refused_objects(workspace.inputs))
    rewrites = tuple(each for stage in stages for each in stage.rewrites)
    objects = () if report.failed else render(settled.cluster, options, report, further, rewrites)
    if options.state is not None:
        from olmc.compiler.transition.state import in_known_order

        objects = in_known_order(objects, options.state)
    if report.failed:  # in the objects themselves
        objects = ()
    lacking: tuple[str, ...] = ()
    if options.purpose == "apply":
        from olmc.compiler.render.apply_phases import missing_operators

        lacking = missing_operators(settled.cluster, report, (name for stage in stages for name in stage.absent))
    phases = _phases(settled.cluster)
    inputs = workspace.inputs if workspace is not None else inputs_of(bundles.values())
    if workspace is not None and options.default_namespace:
        again = (*inputs.unused, *redefined(workspace.manifests, options.default_namespace))
        inputs = inputs._replace(unused=again)
    made = Compilation(
        objects, tuple(report), phases, settled, workspace, lock, inputs=inputs, options=options, missing=lacking
    )
    results: dict[str, Any] = {name: result for stage in stages for name, result in stage.results.items()}
    return made._replace(**results) if results else made


def _bundle_of_target(
    request: CompileRequest, folder: Folder, options: Options, report: Report, chosen: bool, targets: Sequence[Target]
) -> Compilation:
    """Compile a bundle by itself for the target that takes such bundles; `chosen`: the user has chosen a provider of
    certificates. Without such a target there are no objects."""
    certificates = options.certificates if chosen else None
    for target in targets:
        if target.bundle is not None:
            made = target.bundle(request.root, folder, options, certificates, report)
            objects = () if report.failed else made.objects
            return Compilation(objects, tuple(report), {}, inputs=made.inputs, options=options, missing=made.missing)
    return Compilation((), tuple(report), {}, options=options)


def _without_suppressed(made: Compilation, path: Path, report: Report, config: Mapping[str, Any]) -> Compilation:
    """The compilation, what is suppressed in the files or in olmc.yaml kept apart from the other diagnostics."""
    if not report.found:
        return made
    from olmc.compiler.load.suppressions import apply_suppressions  # most compilations have nothing to tell

    found = apply_suppressions(path, report, config)
    return made._replace(diagnostics=found.kept, suppressed=found.suppressed)


def _checked_lock(workspace: Workspace, settled: SettledCluster, report: Report) -> Lock:
    """The lock for the outcome; where it differs from the one that there is, that is reported."""
    from olmc.compiler.reconcile.loop import selections  # only workspaces with Subscriptions need it
    from olmc.compiler.resolver.steps import find_changed, find_deviations, lock_of
    from olmc.compiler.rules.findings import reconcile as rules

    present = lock_of(workspace, settled.cluster, selections(settled))
    if workspace.lock is not None and workspace.lock.place is not None:
        place = Location(workspace.lock.place.source.path)
        for namespace, text in find_deviations(workspace.lock, present):
            report.add(rules.NOT_LOCKED.finding(place, where=f"namespace {namespace}", text=text))
        for namespace, name in find_changed(workspace.lock, present):
            report.add(rules.MOVED.finding(place, where=f"in namespace {namespace}", name=name))
    return present


def _bundle_in(folder: Folder, report: Report) -> Folder | None:
    """The bundle that a directory is, or has as a project of operator-sdk."""
    if is_bundle(folder):
        return folder
    if PROJECT_FILE not in folder.files:
        return None

    bundle = project_bundle(folder)
    if bundle is not None:
        report_project(folder, report)
    return bundle


def _settle_bundle(
    path: Path, folder: Folder, options: Options, chosen: Set[str], report: Report, stage: Callable[[str], object]
) -> tuple[SettledCluster | None, Mapping[str, Bundle], Options]:
    """Install a bundle by itself; also return the options with the APIs of OpenShift if the bundle is for OpenShift and
    the user has `chosen` no version of OLM."""
    from olmc.compiler.reconcile.loop import reconcile, single_bundle  # a bundle for OLM v1 needs none of it

    bundle = read_bundle(path, folder, report)
    if bundle is None:
        return None, {}, options
    place = openshift_place_of(bundle) if not has_chosen_version(options, chosen) else None
    if place is not None:
        _report_openshift(place, report)
        options = with_apis_of("", options)
    stage("settle")
    made = single_bundle(bundle, options, report)
    if made.watched and options.purpose == "apply":
        from olmc.compiler.rules.findings.output import WATCHED_NAMESPACE

        for name in made.watched:
            report.add(WATCHED_NAMESPACE.finding(None, name=name))
    there = options._replace(namespaces=(*options.namespaces, *made.watched))
    settled = reconcile(made.workspace, there, report, direct=made.steps, home=made.namespace)
    return settled, made.workspace.bundles, options


def _knows_version(options: Options, report: Report) -> bool:
    try:
        profile_of(options.olm_version)
    except UnknownVersionError as error:
        from olmc.compiler.rules.findings.reconcile import UNKNOWN_VERSION

        report.add(UNKNOWN_VERSION.finding(None, problem=error, hint=error.hint))
        return False
    return True


def _phases(cluster: Cluster) -> dict[NamespacedName, tuple[str, str]]:
    return {name: (member.phase, member.reason) for name, member in sorted(cluster.members.items())}
