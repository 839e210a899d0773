"""`olmc vendor`: catalogs, then what the resolution picks from them, until nothing is missing; then the lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.diagnostics.rules import vendor as rules
from olmc.diagnostics.rules import workspace as load_rules
from olmc.lean import NamedTuple
from olmc.load.bundles import read_bundle
from olmc.load.config import cluster_catalogs, indexing_from, options_from, read_config, read_lock
from olmc.load.files import no_folder
from olmc.load.vendored import catalog_image, intact_folder, path_of
from olmc.load.workspace import is_empty, load
from olmc.model.diagnostics import Report, Severity
from olmc.model.options import Options
from olmc.model.workspace import LockedImage, LockFile, Workspace
from olmc.proposed.pipeline_hooks import settled_with_installs
from olmc.reconcile.diagnose import unknown_catalogs
from olmc.reconcile.loop import SettledCluster, reconcile, selections
from olmc.resolver.lock import lock_of
from olmc.vendor.catalog_files import GivenCatalog, check_given, images_of, read_given
from olmc.vendor.fetch import Fetched, FetchError, FetchPlan, fetch
from olmc.vendor.layers import LayerLimits
from olmc.vendor.needs import NeededImage, all_catalogs, needs_of
from olmc.vendor.proofs import Proof, ProofResult, keep, prove, remove_blobs, surplus_blobs
from olmc.vendor.sources import ImageSource, Progress, VendorError
from olmc.vendor.store import check_folder, others, place, remove_others, stage, undo_on_failure, write_lock
from olmc.vendor.trimming import TrimmedCatalog, image_catalogs, surplus, trim_catalogs

if TYPE_CHECKING:
    from olmc.olmv1.extensions import ExtensionStage

PLATFORM = "linux/amd64"


class VendorRequest(NamedTuple):
    """What the user wants.

    `options` and `given` as for `olmc.compile`. `update`: choose versions, and what tags stand for, anew. `check`:
    change nothing. `platform`: "" for that of olmc.yaml. `whole_catalogs`: all packages, whatever olmc.yaml says, not
    only those that can be looked at. `catalogs`: files in place of the images of CatalogSources. `without_bundles`:
    catalogs are kept also where bundles can't be had. `sources` makes, of the `spec.vendor` in olmc.yaml, a function
    that gives the sources of an image in the order in which they are to be asked; it may raise VendorError.
    """

    options: Options
    sources: Callable[[Mapping[str, Any]], Callable[[str], Sequence[ImageSource]]]
    given: frozenset[str] = frozenset()
    update: bool = False
    check: bool = False
    platform: str = ""
    jobs: int = 4
    limits: LayerLimits = LayerLimits()
    whole_catalogs: bool = False
    catalogs: tuple[GivenCatalog, ...] = ()
    without_bundles: bool = False


class VendorResult(NamedTuple):
    """What was done: the images that the workspace needs, those among them that were fetched, the paths that are no
    longer needed, and whether olmc.lock has changed. After a check: what would be done. `is_resolved` says whether all
    that the workspace asks for is known by that, `is_empty` whether it has nothing at all. `trimmed` are the catalogs
    of which only a part was kept; `is_proven` whether content that is there is that of its images."""

    images: tuple[LockedImage, ...]
    fetched: tuple[str, ...]
    removed: tuple[str, ...]
    lock_changed: bool
    is_resolved: bool = True
    is_empty: bool = False
    trimmed: tuple[TrimmedCatalog, ...] = ()
    is_proven: bool = True


def vendor(root: Path, request: VendorRequest, report: Report, progress: Progress) -> VendorResult | None:
    """Bring vendor/ and olmc.lock of the workspace at `root` up to date; None if that fails, then nothing has changed
    and `report` says why."""
    problem = no_folder(root)
    if problem:
        report.add(load_rules.NO_SUCH_PATH.finding(None, path=str(root), problem=problem))
        return None
    try:
        check_folder(root)
        config = read_config(root, report)
        lock = read_lock(root, report)
        if report.failed:
            return None
        options = options_from(config, request.options, request.given)
        return _vendor(_VendorRun(root, request, options, config, lock), report, progress)
    except VendorError as error:
        report.add(error.diagnostic)
    except FetchError as error:
        _add_unfetched(root, error, report)
    except OSError as error:
        path = Path(str(error.filename or root))
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        report.add(rules.NOT_WRITTEN.finding(None, path=shown, cause=error.strerror or error))
    return None


def _add_unfetched(root: Path, error: FetchError, report: Report) -> None:
    for diagnostic in error.diagnostics:
        place = diagnostic.location  # a catalog that came in this run, and is gone again, is no place to look at
        is_there = place is not None and (root / place.path).exists()
        report.add(diagnostic if is_there else diagnostic._replace(location=None))


class _VendorRun(NamedTuple):
    """A request with the workspace's own configuration and lock."""

    root: Path
    request: VendorRequest
    options: Options
    config: Mapping[str, Any]
    lock: LockFile

    @property
    def platform(self) -> str:
        return self.request.platform or (self.config.get("vendor") or {}).get("platform") or PLATFORM

    @property
    def whole_catalogs(self) -> bool:
        return self.request.whole_catalogs or bool((self.config.get("vendor") or {}).get("wholeCatalogs"))


def _vendor(work: _VendorRun, report: Report, progress: Progress) -> VendorResult | None:
    root, update = work.root, work.request.update
    intact = [
        image
        for image in work.lock.images
        if image.platform in ("", work.platform) and intact_folder(root, image, Report()) is not None
    ]
    proofs = {result.image.image: result for result in prove(root, intact)}
    # What is false is brought again. What can't be proven stays as it is, as an olmc that kept no proof has left it:
    # it takes an update, which asks the registry anyway.
    present = {image.image: image for image in intact if proofs[image.image].proof is not Proof.FALSE}
    for name in proofs.keys() if not update else ():
        if not proofs[name].holds and not work.request.check:
            report.add(proofs[name].finding()._replace(severity=Severity.WARNING))
    if update:
        present = {name: image for name, image in present.items() if proofs[name].holds}
    # An update asks anew what tags stand for, and takes what is vendored only where that has not changed.
    have = {} if update else dict(present)
    if work.request.check:
        return _check(work, have, tuple(proofs.values()), report)
    sources = work.request.sources(work.config.get("vendor") or {})
    pins = {} if update else {image.image: image.digest for image in work.lock.images}
    plan = FetchPlan(sources, pins, present, work.platform, work.request.jobs, work.request.limits)
    fetched: list[str] = []
    absent: tuple[NeededImage, ...] = ()
    blobs: dict[str, Path] = {}
    with stage(root) as folder, undo_on_failure(root) as placed:
        # Only the content of catalogs says which bundles are picked, and that of a bundle what else it takes.
        workspace: Workspace | None = None
        while True:
            workspace = workspace or _load(work, have, report)
            if workspace is None:
                return None
            settled = _settle(workspace, work.options, report)
            if settled is None:
                return None
            needs = needs_of(workspace, settled, work.options)
            missing = _missing(work, workspace, settled, needs, have)
            given = _given(work, workspace, settled, needs, have)
            missing += [need for need in needs if need.image in given and need not in missing]
            if not missing:
                break
            # Of a catalog that is missing though it is there too little was kept, so all of it is taken once more.
            plan = plan._replace(present={image: kept for image, kept in present.items() if image not in have})
            try:
                results = _bring(work, missing, given, plan, folder, progress)
            except FetchError as error:
                if not work.request.without_bundles or any(need.kind == "catalog" for need in missing):
                    raise
                for diagnostic in error.diagnostics:  # places in catalogs move when these are trimmed
                    report.add(diagnostic._replace(location=None))
                absent = tuple(missing)
                break
            for result in results:
                have[result.image.image] = result.image
                blobs |= result.blobs
                if result.folder is not None:
                    fetched.append(result.image.image)
                    placed += [root / path_of(result.image)] if place(root, result.image, result.folder) else []
            workspace = _with_bundles(root, workspace, have, missing)
        is_resolved = _report_unresolved(workspace, settled, work.options, report) and not absent
        parts = image_catalogs(workspace, settled, work.options, whole=work.whole_catalogs)
        needed = {need.image for need in needs}
        trimmed = trim_catalogs(root, {i: part for i, part in parts.items() if i in needed}, have, folder, placed)
        kept = {need.image for need in needs if need not in absent}
        # While one bundle is missing it is not known which others the plan has: those that are there stay.
        kept |= {image for image, locked in have.items() if absent and locked.kind == "bundle"}
        images = tuple(sorted(have[image] for image in kept))
        operators = work.lock.operators
        if update and operators is not None:
            operators = lock_of(workspace, settled.cluster, selections(settled))
            if workspace.extensions:
                operators = operators._replace(extensions=_extended(workspace, settled, work.options).locked)
        placed += keep(root, blobs)
        changed = write_lock(root, operators, images)
        # The lock names them now, so they stay, whatever goes wrong from here on.
        placed.clear()
    removed = remove_others(root, images)
    remove_blobs(root, list(prove(root, images)))
    return VendorResult(images, tuple(fetched), removed, changed, is_resolved, is_empty(workspace), trimmed)


def _missing(
    work: _VendorRun,
    workspace: Workspace,
    settled: SettledCluster,
    needs: Sequence[NeededImage],
    have: Mapping[str, LockedImage],
) -> list[NeededImage]:
    """The images that are not there, and the catalogs of which too little was kept."""
    missing = [need for need in needs if not _is_there(need, have)]
    partial = [need for need in needs if need.image in have and have[need.image].packages]
    parts = image_catalogs(workspace, settled, work.options, whole=work.whole_catalogs) if partial else {}
    return [*missing, *(need for need in partial if need.image in parts and parts[need.image].lacking)]


def _given(
    work: _VendorRun, workspace: Workspace, settled: SettledCluster, needs: Sequence[NeededImage],
    have: Mapping[str, LockedImage],
) -> dict[str, GivenCatalog]:  # fmt: skip
    """The images that files stand for and that were not read yet; raises VendorError for files without a use."""
    if not work.request.catalogs:
        return {}
    sources = all_catalogs(workspace, settled)
    catalogs = [need.image for need in needs if need.kind == "catalog"]
    given = images_of(work.request.catalogs, sources, catalogs, work.options.kube_version)
    locked = {image.image: image for image in work.lock.images}
    read = {image for image in given if image in have and have[image] is not locked.get(image)}
    for source in sources:
        image = catalog_image(source.manifest, work.options.kube_version) if source.manifest is not None else ""
        if image in read:
            check_given(given[image], source.catalog)
    return {image: item for image, item in given.items() if image not in read}


def _bring(
    work: _VendorRun,
    missing: Sequence[NeededImage],
    given: Mapping[str, GivenCatalog],
    plan: FetchPlan,
    folder: Path,
    progress: Progress,
) -> list[Fetched]:
    """Get what is missing to `folder`: from the files that are given, and from registries and layouts."""
    results = []
    for number, need in enumerate(missing):
        if need.image in given:
            target = folder / f"given-{number}"
            results.append(read_given(given[need.image], need.image, target, plan.limits))
    # No registry has what the lock says of a file.
    from_files = [image for image in work.lock.images if image.kind == "catalog" and image.file]
    files = {image.image: image.file for image in from_files} if not work.request.update else {}
    asked = [need for need in missing if need.image not in given]
    for need in asked:
        if need.image in files:
            raise VendorError(rules.FROM_FILE, image=need.image, file=files[need.image])
    return [*results, *(fetch(asked, plan, folder, progress) if asked else ())]


def _check(
    work: _VendorRun, have: Mapping[str, LockedImage], proofs: Sequence[ProofResult], report: Report
) -> VendorResult | None:
    """What would be done, as far as that is known without fetching anything; content that is not proven is an error."""
    for result in proofs:
        if not result.holds:
            report.add(result.finding())
    workspace = _load(work, have, report)
    if workspace is None:
        return None
    settled = _settle(workspace, work.options, report)
    if settled is None:
        return None
    needs = needs_of(workspace, settled, work.options)
    images = tuple(sorted(have[need.image] for need in needs if _is_there(need, have)))
    missing = tuple(need.image for need in _missing(work, workspace, settled, needs, have))
    # What is unknown for want of an image is reported by that image.
    is_resolved = bool(missing) or _report_unresolved(workspace, settled, work.options, report)
    changed = images != tuple(sorted(work.lock.images))
    # What is too much is certain only once all is there that could need it.
    parts = image_catalogs(workspace, settled, work.options, whole=work.whole_catalogs) if not missing else {}
    is_proven = all(result.holds for result in proofs)
    removed: tuple[str, ...] = ()
    if not missing:
        removed = (*others(work.root, images), *surplus(work.root, parts, {image.image: image for image in images}))
        # While what proves one of them can't be determined, others may prove it.
        removed += tuple(surplus_blobs(work.root, proofs)) if is_proven else ()
    return VendorResult(images, missing, removed, changed, is_resolved, is_empty(workspace), is_proven=is_proven)


def _settle(workspace: Workspace, options: Options, report: Report) -> SettledCluster | None:
    """The settled cluster, with what Installs of v2alpha1 bring; None, and errors, if they can't be read."""
    if not options.v2alpha1:
        return reconcile(workspace, options, Report())
    findings = Report()
    _, settled = settled_with_installs(workspace, options, findings)
    for diagnostic in findings if settled is None else ():
        report.add(diagnostic)
    return settled


def _is_there(need: NeededImage, have: Mapping[str, LockedImage]) -> bool:
    return need.image in have and have[need.image].kind == need.kind


def _load(work: _VendorRun, have: Mapping[str, LockedImage], report: Report) -> Workspace | None:
    """The workspace with the images so far; None, and its errors in `report`, if it can't be read."""
    findings = Report()
    workspace = load(
        work.root, findings, ignored=tuple(work.config.get("ignore") or ()),
        indexing=indexing_from(work.config), kube_version=work.options.kube_version,
        lock=LockFile(None if work.request.update else work.lock.operators, tuple(have.values())),
        resources=work.options.api_resources, cluster_catalogs=cluster_catalogs(work.root, work.config),
    )  # fmt: skip
    errors = [diagnostic for diagnostic in findings if diagnostic.severity is Severity.ERROR]
    for diagnostic in errors:
        report.add(diagnostic)
    return None if errors else workspace


def _with_bundles(
    root: Path, workspace: Workspace, have: Mapping[str, LockedImage], added: Sequence[NeededImage]
) -> Workspace | None:
    """The workspace with more vendored bundles; None if it has to be read anew, as catalogs change."""
    templated = {image for catalog in workspace.catalogs.values() for image in catalog.images}
    # A new catalog, or a bundle that a template names, changes what there is to choose from.
    if any(need.kind == "catalog" or need.image in templated for need in added):
        return None
    bundles = dict(workspace.vendored)
    for need in added:
        folder = intact_folder(root, have[need.image], Report())
        bundle = read_bundle(root, folder, Report()) if folder is not None else None
        if bundle is None:
            return None
        bundles[need.image] = bundle
    return workspace._replace(vendored=bundles, images=tuple(have.values()))


def _extended(workspace: Workspace, settled: SettledCluster, options: Options) -> ExtensionStage:
    from olmc.olmv1.extensions import install_extensions  # most workspaces have none

    return install_extensions(workspace, settled.cluster, options, Report())


def _report_unresolved(workspace: Workspace, settled: SettledCluster, options: Options, report: Report) -> bool:
    """Report what can't be resolved, the catalogs that nobody knows first; whether there is nothing of it."""
    is_resolved = True
    for diagnostic in unknown_catalogs(settled.cluster):
        report.add(diagnostic)
        is_resolved = False
    for namespace, done in sorted(settled.rounds.items()):
        if done.resolution is not None and done.resolution.message:
            report.add(rules.UNRESOLVED.finding(None, asking=f"namespace {namespace}", text=done.resolution.message))
            is_resolved = False
    for result in _extended(workspace, settled, options).results if workspace.extensions else ():
        if result.resolution is not None and result.resolution.error:
            asking = f"ClusterExtension {result.extension.name}"
            report.add(rules.UNRESOLVED.finding(None, asking=asking, text=result.resolution.error))
            is_resolved = False
    return is_resolved
