"""What a report says of ClusterExtensions: where each is from, what it watches, and what ClusterCatalogs serve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.diff.extensions import EXTENSION, owner_of
from olmc.diff.html import channel_picture
from olmc.diff.versions import Subscribed
from olmc.explain.extensions import extension_states
from olmc.explain.status import OperatorStatus
from olmc.lean import NamedTuple
from olmc.model.cluster import CatalogSource
from olmc.model.objects import CatalogKey, Rendered, as_text
from olmc.model.workspace import Workspace

if TYPE_CHECKING:
    from olmc.olmv1.extensions import ExtensionResult


class ExtensionPage(NamedTuple):
    """What is known of the operator of a ClusterExtension besides its status: the catalog that it is from, the account
    that installs it, the namespaces that it watches (("",) for all), and its upgrade graph as a data URI."""

    catalog: str = ""
    installer: str = ""
    targets: tuple[str, ...] = ()
    picture: str = ""


class ReportExtensions(NamedTuple):
    """The ClusterExtensions of a workspace: their rows of a status, and by name what else there is to say."""

    rows: tuple[OperatorStatus, ...] = ()
    pages: Mapping[str, ExtensionPage] = MappingProxyType({})

    def of(self, row: OperatorStatus) -> ExtensionPage:
        """What there is to say of the operator in a row, nothing if it is of none."""
        return self.pages.get(row.extension, ExtensionPage())


def report_extensions(workspace: Workspace, results: Sequence[ExtensionResult]) -> ReportExtensions:
    """What a report needs to know of ClusterExtensions."""
    return ReportExtensions(
        tuple(extension_states(results)), {result.extension.name: _page(workspace, result) for result in results}
    )


def _page(workspace: Workspace, result: ExtensionResult) -> ExtensionPage:
    extension, resolution = result.extension, result.resolution
    name = resolution.catalog if resolution is not None else ""
    catalog = workspace.catalogs.get(name) or workspace.catalogs.get(f"/{name}")
    package = catalog.packages.get(extension.source.package) if catalog is not None else None
    channel = next(iter(extension.source.channels), package.default_channel if package is not None else "")
    asked = Subscribed(name, package, channel) if package is not None else None
    watched = as_text((extension.config or {}).get("watchNamespace"))
    return ExtensionPage(
        name,
        f"{extension.namespace}/{extension.service_account}",
        (watched,) if result.installed is not None else (),
        channel_picture(asked) if asked is not None else "",
    )


def extension_of(rendered: Rendered) -> str:
    """The ClusterExtension that an object is, or is of, "" for none."""
    return rendered.identity.name if rendered.identity.kind == EXTENSION else owner_of(rendered.object)


def served_catalogs(workspace: Workspace) -> Iterator[CatalogSource]:
    """The ClusterCatalogs as if they were CatalogSources, in no namespace."""
    from olmc.olmv1.api_types import cluster_catalog  # most workspaces have none

    declared = {catalog.name: catalog for m in workspace.extension_catalogs for catalog in [cluster_catalog(m.object)]}
    for name in sorted(workspace.extension_catalog_names):
        content = workspace.catalogs.get(name) or workspace.catalogs.get(f"/{name}")
        priority = declared[name].priority if name in declared else 0
        problem = content.problem if content is not None else ""
        yield CatalogSource(CatalogKey("", name), priority, content, problem=problem)
