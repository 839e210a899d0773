"""`olmc.lock` and ClusterExtensions: the bundle that each one resolved to, and whether that still holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

from olmc.compiler.model.catalog import CatalogBundle
from olmc.compiler.model.workspace import Bundle, Lock, LockedExtension, Workspace
from olmc.compiler.rules.findings import reconcile as rules
from olmc.k8s.diagnostics import Location, Report
from olmc.targets.v1.resolution import ServedCatalog
from olmc.targets.v1.status import ExtensionResult


def content_of_bundle(workspace: Workspace, bundle: CatalogBundle) -> Bundle | None:
    """Return the content of a bundle that a catalog lists, None if the workspace does not have it."""
    return workspace.vendored.get(bundle.image) or workspace.bundles.get(bundle.name)


def restricted(catalogs: Iterable[ServedCatalog], package: str, locked: LockedExtension) -> tuple[ServedCatalog, ...]:
    """The catalogs as if a package had the locked bundle alone, in the catalog that it was chosen from."""
    return tuple(_restricted(served, package, locked) for served in catalogs)


def _restricted(served: ServedCatalog, package: str, locked: LockedExtension) -> ServedCatalog:
    known = served.packages.get(package)
    if known is None:
        return served
    if served.catalog.name != locked.catalog:
        return served._replace(packages={name: each for name, each in served.packages.items() if name != package})
    bundles = {name: bundle for name, bundle in known.bundles.items() if name == locked.name}
    return served._replace(packages={**served.packages, package: known._replace(bundles=bundles)})


def locked_extensions(workspace: Workspace, results: Iterable[ExtensionResult]) -> dict[str, LockedExtension]:
    """By ClusterExtension the bundle that it was resolved to, with the digest of what catalog and bundle say."""
    locked = {}
    for result in results:
        resolution = result.resolution
        if resolution is not None and resolution.bundle is not None and resolution.installed is not None:
            bundle, version = resolution.bundle, resolution.installed.version
            digest = digest_of_bundle(bundle, content_of_bundle(workspace, bundle))
            locked[result.extension.name] = LockedExtension(
                bundle.package, bundle.name, version, resolution.catalog, digest
            )
    return locked


def digest_of_bundle(bundle: CatalogBundle, content: Bundle | None) -> str:
    """The digest of a catalog's entry and of the bundle's content, as `sha256:…`; where it stands doesn't count."""
    what = {
        "entry": [bundle.name, bundle.package, bundle.image, [[each.type, each.value] for each in bundle.properties]],
        "objects": list(content.objects) if content is not None else [],
    }
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def report_deviations(lock: Lock | None, present: Mapping[str, LockedExtension], report: Report) -> None:
    """Report where the present choice is not the locked one, and what has another content by now."""
    if lock is None or lock.place is None:
        return
    place = Location(lock.place.source.path)
    for name, deviation in _deviations(lock.extensions, present):
        report.add(rules.NOT_LOCKED.finding(place, where=f"ClusterExtension {name}", text=deviation))
    for name in sorted(lock.extensions.keys() & present.keys()):
        was, now = lock.extensions[name], present[name]
        if was._replace(digest=now.digest) == now and was.digest != now.digest:
            report.add(rules.MOVED.finding(place, where=f"of ClusterExtension {name}", name=now.name))


def _deviations(
    locked: Mapping[str, LockedExtension], present: Mapping[str, LockedExtension]
) -> Iterator[tuple[str, str]]:
    for name in sorted({*locked, *present}):
        was, now = locked.get(name), present.get(name)
        if was is None and now is not None:
            yield name, f"{now.name} is needed and not locked"
        elif was is not None and now is None:
            yield name, f"{was.name} is locked and not chosen any more"
        elif was is not None and now is not None and (was.name, was.catalog) != (now.name, now.catalog):
            yield name, f"{was.name} from catalog {was.catalog} is locked, {now.name} would be chosen"
