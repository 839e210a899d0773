"""`olmc vendor`: catalogs, then what the resolution picks from them, until nothing is missing; then the lock."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.bundles import read_bundle
from olmc.compiler.load.config import cluster_catalogs, indexing_from, options_from, read_config, read_lock
from olmc.compiler.load.files import no_folder, scan
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.vendored import FileNameError, catalog_image, content_digest, intact_folder, path_of
from olmc.compiler.load.workspace import WorkspaceSettings, is_empty, load
from olmc.compiler.model.catalog import Catalog
from olmc.compiler.model.cluster import CatalogSource
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import LockedImage, LockFile, Workspace
from olmc.compiler.olm.profiles.data import init_command
from olmc.compiler.reconcile.diagnose import unknown_catalogs
from olmc.compiler.reconcile.loop import SettledCluster, reconcile, selections
from olmc.compiler.resolver.steps import lock_of
from olmc.compiler.rules.findings import vendor as rules
from olmc.compiler.rules.findings import workspace as load_rules
from olmc.integrations.fetch.fetch import (
    Fetched,
    FetchError,
    FetchPlan,
    Proof,
    ProofResult,
    fetch,
    keep,
    prove,
    remove_blobs,
    surplus_blobs,
)
from olmc.integrations.fetch.layers import (
    LayerLimits,
    check_folder,
    others,
    place,
    remove_others,
    stage,
    undo_on_failure,
    write_lock,
)
from olmc.integrations.fetch.sources import ImageSource, Progress, VendorError
from olmc.integrations.fetch.trimming import (
    NeededImage,
    TrimmedCatalog,
    all_catalogs,
    image_catalogs,
    needs_of,
    surplus,
    trim_catalogs,
)
from olmc.k8s.diagnostics import Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.targets.proposed.pipeline_hooks import settled_with_installs

if TYPE_CHECKING:
    from olmc.targets.v1.extensions import ExtensionStage

# Catalogs from files that the user names, in place of the images of their CatalogSources: for people without access to
# the registry. Nothing is asked over the network for them.

_GZIP = b"\x1f\x8b"
_MOST_TEXT = 200


class GivenCatalog(NamedTuple):
    """A catalog of the user: the name of a CatalogSource, or its namespace and name, and a file or folder."""

    name: str
    path: Path

    @property
    def shown(self) -> str:
        """Return the path as it is reported and locked, without the folders above the user's own folder."""
        return self.path.name if self.path.is_absolute() else self.path.as_posix()

    def fits(self, source: CatalogSource) -> bool:
        return self.name in (source.key.name, f"{source.key.namespace}/{source.key.name}")


def images_of(
    given: Iterable[GivenCatalog], catalogs: Iterable[CatalogSource], needed: Iterable[str], kube_version: str
) -> dict[str, GivenCatalog]:
    """The images that files stand for. Raises VendorError for a file that stands for none that is needed."""
    sources, wanted = tuple(catalogs), frozenset(needed)
    images: dict[str, GivenCatalog] = {}
    for item in given:
        fitting = [source for source in sources if item.fits(source)]
        named = {catalog_image(source.manifest, kube_version) for source in fitting if source.manifest is not None}
        if not named & wanted:
            raise VendorError(
                rules.BAD_CATALOG_FILE, name=item.name, path=item.shown, **_why(item, sources, named - {""})
            )
        images |= dict.fromkeys(sorted(named & wanted), item)
    return images


def _why(item: GivenCatalog, sources: tuple[CatalogSource, ...], named: set[str]) -> dict[str, str]:
    """Return why a file is of no use, and what to do."""
    if named:
        cause = "no namespace with a Subscription sees it, or catalogs/ has its content already"
        return {"cause": cause, "hint": "Leave it out, or name the CatalogSource that Subscriptions have as source."}
    if any(item.fits(source) for source in sources):
        hint = f"Put the file-based catalog into catalogs/{item.name.rpartition('/')[2]}/."
        return {"cause": "the CatalogSource names no image that the content could stand for", "hint": hint}
    known = ", ".join(sorted({source.key.name for source in sources})) or "none at all"
    namespace, _, name = item.name.rpartition("/")
    command = init_command(name, namespace or "openshift-marketplace")
    way = f"Run `{command}` first, which notes it in olmc.yaml" if command else "Add the CatalogSource"
    return {"cause": f"the workspace knows no CatalogSource of this name; there is {known}", "hint": f"{way}."}


def read_given(given: GivenCatalog, image: str, target: Path, limits: LayerLimits) -> Fetched:
    """Put a catalog from a file, or the files of a folder, to `target`, as if it came out of the image.

    Raises VendorError, and OSError for what can't be written.
    """
    target.mkdir()
    try:
        for name, data in _contents(given, limits).items():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _unusable(given, f"it can't be unpacked: {error}") from error
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    try:
        content = content_digest((path.relative_to(target).as_posix(), path) for path in paths)
    except FileNameError as error:
        raise _unusable(given, str(error)) from error
    return Fetched(LockedImage(image, "catalog", content, "", content, file=given.shown), target)


def _contents(given: GivenCatalog, limits: LayerLimits) -> Mapping[str, bytes]:
    try:
        if not given.path.is_dir():
            data = _read(given.path, given, limits)
            return {"catalog.json" if data.lstrip()[:1] in (b"{", b"[") else "catalog.yaml": data}
        paths = list(scan(given.path, Report(), ignore_file=False).walk())
        if len(paths) > limits.files:
            raise _unusable(given, f"it has more than {limits.files:,} files")
        contents: dict[str, bytes] = {}
        for path in paths:
            contents[path.removesuffix(".gz")] = _read(given.path / path, given, limits)
            if sum(map(len, contents.values())) > limits.bytes:
                raise _unusable(given, f"it has more than {limits.bytes:,} bytes")
        return contents
    except OSError as error:
        raise _unusable(given, error.strerror or str(error)) from error


def _read(path: Path, given: GivenCatalog, limits: LayerLimits) -> bytes:
    with path.open("rb") as stream:
        is_packed = stream.read(len(_GZIP)) == _GZIP
    with gzip.open(path) if is_packed else path.open("rb") as stream:
        data = stream.read(limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        raise _unusable(given, f"it has more than {limits.file_bytes:,} bytes")
    return data


def check_given(given: GivenCatalog, catalog: Catalog | None) -> None:
    """Raise VendorError for a file that was read and holds no catalog."""
    if catalog is not None and catalog.problem:
        cause = " ".join(catalog.problem.split())
        raise _unusable(given, cause if len(cause) <= _MOST_TEXT else f"{cause[:_MOST_TEXT]}…")
    if catalog is None or not (catalog.packages or catalog.left_out):
        raise _unusable(given, "there is no package in it")


def _unusable(given: GivenCatalog, cause: str) -> VendorError:
    return VendorError(rules.BAD_CATALOG_FILE, path=given.shown, name=given.name, cause=cause, hint=rules.CATALOG_HINT)


PLATFORM = "linux/amd64"


class VendorRequest(NamedTuple):
    """The request of the user.

    `options` and `given` as for `olmc.compile`. `update`: choose versions, and what tags stand for, again. `check`:
    change nothing. `platform`: "" for that of olmc.yaml. `whole_catalogs`: all packages, not only those that a
    resolution can look at; it overrides olmc.yaml. `catalogs`: files in place of the images of CatalogSources.
    `without_bundles`: catalogs are kept also without their bundles. `sources` makes, of the `spec.vendor` in olmc.yaml,
    a function that returns the sources of an image in the order of use; it may raise VendorError.
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
    """The result: the images that the workspace needs, those among them that were fetched, the paths that are no longer
    needed, and whether olmc.lock has changed. After a check: the same for a run that would fetch. `is_resolved`:
    whether all requests of the workspace are known by that, `is_empty`: whether it has no request at all. `trimmed` are
    the catalogs of which only a part was kept; `is_proven`: whether existing content is that of its images."""

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
        place = diagnostic.location  # the catalog came in this run and is removed again, so its path does not help
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
    # An update asks again what tags stand for, and takes what is vendored only where that has not changed.
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
        # The lock names them now, so they stay also after a later failure.
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
    """Return the result of a run, as far as it is known without a fetch; content that is not proven is an error."""
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
    # The report on an image covers all facts that are unknown without it.
    is_resolved = bool(missing) or _report_unresolved(workspace, settled, work.options, report)
    changed = images != tuple(sorted(work.lock.images))
    # A package is superfluous for certain only once everything is there that could need it.
    parts = image_catalogs(workspace, settled, work.options, whole=work.whole_catalogs) if not missing else {}
    is_proven = all(result.holds for result in proofs)
    removed: tuple[str, ...] = ()
    if not missing:
        removed = (*others(work.root, images), *surplus(work.root, parts, {image.image: image for image in images}))
        # While what proves one of them can't be determined, others may prove it.
        removed += tuple(surplus_blobs(work.root, proofs)) if is_proven else ()
    return VendorResult(images, missing, removed, changed, is_resolved, is_empty(workspace), is_proven=is_proven)


def _settle(workspace: Workspace, options: Options, report: Report) -> SettledCluster | None:
    """The settled cluster, with what Installs bring; None, and errors, if they can't be read."""
    if not options.operators_and_installs:
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
    settings = WorkspaceSettings(
        tuple(work.config.get("ignore") or ()), indexing_from(work.config),
        LockFile(None if work.request.update else work.lock.operators, tuple(have.values())),
        cluster_catalogs(work.root, work.config),
    )  # fmt: skip
    workspace = load(CompileRequest(work.root, work.options), findings, settings)
    errors = [diagnostic for diagnostic in findings if diagnostic.severity is Severity.ERROR]
    for diagnostic in errors:
        report.add(diagnostic)
    return None if errors else workspace


def _with_bundles(
    root: Path, workspace: Workspace, have: Mapping[str, LockedImage], added: Sequence[NeededImage]
) -> Workspace | None:
    """The workspace with more vendored bundles; None if it has to be read again, as catalogs change."""
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
    from olmc.targets.v1.extensions import install_extensions  # most workspaces have none

    return install_extensions(workspace, settled.cluster, options, Report())


def _report_unresolved(workspace: Workspace, settled: SettledCluster, options: Options, report: Report) -> bool:
    """Report requests that can't be resolved, unknown catalogs first; return whether there are none."""
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
