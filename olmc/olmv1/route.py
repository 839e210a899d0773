"""The way that a ClusterExtension goes by itself: resolution after resolution, until nothing changes any more
(R-V1-RES-10, R-V1-RES-15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Report
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.olmv1.api_types import CatalogFilter, ClusterExtension, InstalledBundle
from olmc.olmv1.extensions import derivation, served_catalogs, typed_extension
from olmc.olmv1.feature_gates import gates_of
from olmc.olmv1.resolution import ExtensionResolution, resolve

_MOST = 1000


class RouteStop(NamedTuple):
    """A resolution: what was installed before it, and what came of it."""

    before: InstalledBundle | None
    resolution: ExtensionResolution


def extension_route(
    workspace: Workspace, name: str, options: Options
) -> tuple[ClusterExtension, list[RouteStop]] | None:
    """The resolutions of a ClusterExtension until one changes nothing; None if there is none of that name."""
    manifests = {extension.name: extension for m in workspace.extensions for extension in [typed_extension(m, options)]}
    extension = manifests.get(name)
    if extension is None:
        return None
    catalogs, _ = served_catalogs(workspace, Report())
    releases = gates_of(options.olm_version).bundle_release_support
    stops: list[RouteStop] = []
    installed = extension.installed
    while len(stops) < _MOST:
        resolution = resolve(extension.source, installed, catalogs, releases=releases)
        stops.append(RouteStop(installed, resolution))
        chosen = resolution.installed
        if chosen is None or (
            installed is not None and (chosen.name, chosen.version) == (installed.name, installed.version)
        ):
            break
        installed = chosen
    return extension, stops


def route_lines(extension: ClusterExtension, stops: Sequence[RouteStop]) -> Iterator[str]:
    """The route as lines: what is asked for, then each bundle with what the catalogs came to, and where it ends."""
    yield f"ClusterExtension {extension.name}: {', '.join(_asked(extension.source))}"
    start = stops[0].before
    yield f"  {start.name} is installed" if start is not None else "  nothing is installed"
    for before, resolution in stops:
        now = resolution.installed
        if now is None:
            yield f"  it gets no further: {resolution.error}"
        elif before is not None and now.name == before.name:
            yield f"  {now.name} stays: it is the best that is allowed"
        else:
            yield f"→ {now.name} from catalog {resolution.catalog}"
        yield from (f"    {line}" for line in derivation(resolution))


def _asked(source: CatalogFilter) -> Iterator[str]:
    """What a ClusterExtension asks catalogs for, and which rule decides on successors."""
    yield f"package {source.package}"
    yield f"version {source.version}" if source.version else "any version"
    yield f"channels {', '.join(source.channels)}" if source.channels else "all channels"
    by_catalog = source.policy == "CatalogProvided"
    yield "successors as the catalog has them" if by_catalog else "any version above or below (SelfCertified)"
