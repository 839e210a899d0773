"""What a field asks for: the catalogs that it may come from, the package, the channel, the version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from olmc.api import Compilation
from olmc.lean import NamedTuple
from olmc.lsp.workspace import Analysis
from olmc.model.catalog import Catalog, Package
from olmc.model.cluster import CatalogSource, Cluster
from olmc.model.objects import as_text, mapping, name_of, namespace_of, spec_of, texts
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import EXTENSIONS_V1, Workspace
from olmc.yaml.cursor import Cursor, cursor


class Asked(Enum):
    """What a field names."""

    PACKAGE = "package"
    CHANNEL = "channel"
    VERSION = "version"
    CATALOG = "catalog"
    CATALOG_NAMESPACE = "namespace of a catalog"
    APPROVAL = "approval"
    NAMESPACE = "namespace"
    OBJECT = "object"


class Subject(NamedTuple):
    """What stands at a position: the object with its kind and what is named there.

    `catalogs` are those that the object may get something from, by the names that people know them by; `package` and
    `channels` are what it asks for, and `text` is what stands at the position itself.
    """

    asked: Asked
    kind: str
    object: Mapping[str, Any]
    text: str
    catalogs: Mapping[str, Catalog]
    package: str = ""
    channels: tuple[str, ...] = ()

    def packages(self) -> Iterator[tuple[str, Package]]:
        """The package in each catalog that has it."""
        for name, catalog in self.catalogs.items():
            if self.package in catalog.packages:
                yield name, catalog.packages[self.package]

    @property
    def namespace(self) -> str:
        """The namespace of the object, "" where it does not say."""
        return namespace_of(self.object)

    @property
    def name(self) -> str:
        """The name of the object."""
        return name_of(self.object)


_SUBSCRIPTION: Mapping[tuple[str, ...], Asked] = {
    ("spec", "name"): Asked.PACKAGE,
    ("spec", "channel"): Asked.CHANNEL,
    ("spec", "startingCSV"): Asked.VERSION,
    ("spec", "source"): Asked.CATALOG,
    ("spec", "sourceNamespace"): Asked.CATALOG_NAMESPACE,
    ("spec", "installPlanApproval"): Asked.APPROVAL,
}
_FILTER = ("spec", "source", "catalog")
_EXTENSION: Mapping[tuple[str, ...], Asked] = {
    (*_FILTER, "packageName"): Asked.PACKAGE,
    (*_FILTER, "channels"): Asked.CHANNEL,
    (*_FILTER, "version"): Asked.VERSION,
}
_OF_ALL: Mapping[tuple[str, ...], Asked] = {
    ("kind",): Asked.OBJECT,
    ("metadata", "name"): Asked.OBJECT,
    ("metadata", "namespace"): Asked.NAMESPACE,
}
_KINDS = ("CatalogSource", "ClusterServiceVersion", "OperatorGroup", "Subscription")


def subject_at(analysis: Analysis, path: Path, text: str, line: int, column: int) -> tuple[Subject, Cursor] | None:
    """What stands at a line and column, from 1, of a document; None where nothing is known about it.

    Where the text can't be read, it is what stood there when all was well.
    """
    compilation = analysis.compilation
    if compilation is None or compilation.workspace is None:
        return None
    there = cursor(path.name, text, line, column) or _before(analysis, path, text, line, column)
    subject = _subject(there, compilation, compilation.workspace) if there is not None else None
    return (subject, there) if subject is not None and there is not None else None


def _before(analysis: Analysis, path: Path, text: str, line: int, column: int) -> Cursor | None:
    """What stands in the same line of the last text that could be compiled."""
    sound, lines = analysis.sound.get(path, "").split("\n"), text.split("\n")
    same = [number for number, other in enumerate(sound, 1) if line <= len(lines) and other == lines[line - 1]]
    nearest = min(same, key=lambda number: abs(number - line), default=0)
    return cursor(path.name, "\n".join(sound), nearest, column) if nearest else None


def _subject(there: Cursor, compilation: Compilation, workspace: Workspace) -> Subject | None:
    obj, kind = there.object, as_text(there.object.get("kind"))
    api, keys = as_text(obj.get("apiVersion")), there.keys
    is_extension = (api, kind) == (EXTENSIONS_V1, "ClusterExtension")
    if not is_extension and not (api.partition("/")[0] == OLM_GROUP and kind in _KINDS):
        return None
    names = keys[:-1] if keys and isinstance(keys[-1], int) else keys
    fields: Mapping[tuple[str, ...], Asked] = {}
    if is_extension or kind == "Subscription":
        fields = _EXTENSION if is_extension else _SUBSCRIPTION
    path = tuple(map(str, names))
    asked = fields.get(path) or _OF_ALL.get(path)
    if asked is None:
        return None
    catalogs: Mapping[str, Catalog] = {}
    package, channels = "", []
    if is_extension:
        wanted = mapping(there.at(*_FILTER))
        package, channels = as_text(wanted.get("packageName")), texts(wanted.get("channels"))
        catalogs = _extension_catalogs(workspace)
    elif kind == "Subscription" and compilation.settled is not None:
        spec = spec_of(obj)
        package, channels = as_text(spec.get("name")), list(filter(None, [as_text(spec.get("channel"))]))
        sources = visible(
            compilation.settled.cluster, as_text(spec.get("sourceNamespace")), as_text(spec.get("source"))
        )
        catalogs = {f"{each.key.name} in {each.key.namespace}": each.catalog for each in sources if each.catalog}
    text = as_text(there.at(*keys))
    return Subject(asked, kind, obj, text, catalogs, package, tuple(channels))


def visible(cluster: Cluster, namespace: str, name: str) -> list[CatalogSource]:
    """The catalogs that a Subscription means, or may mean as long as it does not say so or says what is not there."""
    known = [source for _, source in sorted(cluster.catalogs.items())]
    for fitting in ((namespace, name), ("", name), (namespace, ""), ("", "")):
        meant = [s for s in known if fitting[0] in ("", s.key.namespace) and fitting[1] in ("", s.key.name)]
        if meant:
            return meant
    return []


def _extension_catalogs(workspace: Workspace) -> dict[str, Catalog]:
    sources = {name_of(m.object) for m in workspace.manifests if m.object["kind"] == "CatalogSource"}
    return {name: c for name, c in sorted(workspace.catalogs.items()) if "/" not in name and name not in sources}
