"""What an editor shows at a position: what a name resolves to, which names there are, and where they are defined.

Nothing of a Secret is in any answer: they are about OLM's objects and catalogs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from olmc.compiler.api import Compilation
from olmc.compiler.model.catalog import Catalog, Package
from olmc.compiler.model.cluster import CatalogSource, Cluster, NamespacedName
from olmc.compiler.model.workspace import EXTENSIONS_V1, Workspace
from olmc.compiler.olm.facts import real_csvs
from olmc.compiler.output.messages import clean
from olmc.integrations.lsp.findings import Analysis
from olmc.k8s.diagnostics import Location, Place, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import OLM_GROUP, CatalogKey, as_text, mapping, name_of, namespace_of, spec_of, texts
from olmc.k8s.yaml import located
from olmc.k8s.yaml.places import Cursor, cursor
from olmc.review.explain.extensions import extension_states
from olmc.review.explain.status import OperatorStatus, operators
from olmc.review.graph.upgrade_graph import UpgradeGraph, upgrade_graph

# The targets of a field: the catalogs that it may come from, the package, the channel, the version.


class FieldMeaning(Enum):
    """The target of a field."""

    PACKAGE = "package"
    CHANNEL = "channel"
    VERSION = "version"
    CATALOG = "catalog"
    CATALOG_NAMESPACE = "namespace of a catalog"
    APPROVAL = "approval"
    NAMESPACE = "namespace"
    OBJECT = "object"


class EditorSubject(NamedTuple):
    """What stands at a position: the object with its kind and what is named there.

    `catalogs` are those that the object may get something from, by the names that people know them by; `package` and
    `channels` are what it asks for, and `text` is what stands at the position itself.
    """

    asked: FieldMeaning
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

    def followed(self, package: Package) -> list[str]:
        """The channels of a package that the object follows, as far as it names some that there are."""
        named = [channel for channel in self.channels if channel in package.channels]
        return named or ([package.default_channel] if self.kind == "Subscription" else list(package.channels))

    @property
    def namespace(self) -> str:
        """The namespace of the object, "" where it does not say."""
        return namespace_of(self.object)

    @property
    def name(self) -> str:
        """The name of the object."""
        return name_of(self.object)


_SUBSCRIPTION: Mapping[tuple[str, ...], FieldMeaning] = {
    ("spec", "name"): FieldMeaning.PACKAGE,
    ("spec", "channel"): FieldMeaning.CHANNEL,
    ("spec", "startingCSV"): FieldMeaning.VERSION,
    ("spec", "source"): FieldMeaning.CATALOG,
    ("spec", "sourceNamespace"): FieldMeaning.CATALOG_NAMESPACE,
    ("spec", "installPlanApproval"): FieldMeaning.APPROVAL,
}
_FILTER = ("spec", "source", "catalog")
_EXTENSION: Mapping[tuple[str, ...], FieldMeaning] = {
    (*_FILTER, "packageName"): FieldMeaning.PACKAGE,
    (*_FILTER, "channels"): FieldMeaning.CHANNEL,
    (*_FILTER, "version"): FieldMeaning.VERSION,
}
_OF_ALL: Mapping[tuple[str, ...], FieldMeaning] = {
    ("kind",): FieldMeaning.OBJECT,
    ("metadata", "name"): FieldMeaning.OBJECT,
    ("metadata", "namespace"): FieldMeaning.NAMESPACE,
}
_KINDS = ("CatalogSource", "ClusterServiceVersion", "OperatorGroup", "Subscription")


def subject_at(
    analysis: Analysis, path: Path, text: str, line: int, column: int
) -> tuple[EditorSubject, Cursor] | None:
    """Return the content at a line and column, from 1, of a document; None if it is unknown.

    For a text that can't be read it is the content of the last valid one.
    """
    compilation = analysis.compilation
    if compilation is None or compilation.workspace is None:
        return None
    there = cursor(path.name, text, line, column) or _before(analysis, path, text, line, column)
    subject = _subject(there, compilation, compilation.workspace) if there is not None else None
    return (subject, there) if subject is not None and there is not None else None


def _before(analysis: Analysis, path: Path, text: str, line: int, column: int) -> Cursor | None:
    """Return the content in the same line of the last text that could be compiled."""
    sound, lines = analysis.sound.get(path, "").split("\n"), text.split("\n")
    same = [number for number, other in enumerate(sound, 1) if line <= len(lines) and other == lines[line - 1]]
    nearest = min(same, key=lambda number: abs(number - line), default=0)
    return cursor(path.name, "\n".join(sound), nearest, column) if nearest else None


def _subject(there: Cursor, compilation: Compilation, workspace: Workspace) -> EditorSubject | None:
    obj, kind = there.object, as_text(there.object.get("kind"))
    api, keys = as_text(obj.get("apiVersion")), there.keys
    is_extension = (api, kind) == (EXTENSIONS_V1, "ClusterExtension")
    if not is_extension and not (api.partition("/")[0] == OLM_GROUP and kind in _KINDS):
        return None
    names = keys[:-1] if keys and isinstance(keys[-1], int) else keys
    fields: Mapping[tuple[str, ...], FieldMeaning] = {}
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
    return EditorSubject(asked, kind, obj, text, catalogs, package, tuple(channels))


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


_MARKDOWN = regex(r"([\\`*_{}\[\]<>#|!&~$])")
_SHOWN = 8
_LINES = 12


class Completion(NamedTuple):
    """A name that may stand at a position, and what there is to say about it."""

    name: str
    detail: str


def hover(analysis: Analysis, path: Path, text: str, line: int, column: int) -> str:
    """Return the answer about the content at a line and column, from 1, as Markdown; "" for none."""
    there, compilation = subject_at(analysis, path, text, line, column), analysis.compilation
    if there is None or compilation is None:
        return ""
    subject = there[0]
    lines = [*_about(subject, compilation), *_outcome(subject, compilation)]
    return "\n\n".join(lines[:_LINES])


def _about(subject: EditorSubject, compilation: Compilation) -> Iterator[str]:
    match subject.asked:
        case FieldMeaning.PACKAGE:
            for name, package in subject.packages():
                graph = upgrade_graph(package)
                yield f"**{_plain(package.name)}**, a package of catalog {_plain(name)}"
                yield "\n".join(f"- {line}" for line in _channels(graph))
                yield from _deprecation(graph.deprecated, graph.message)
        case FieldMeaning.CHANNEL:
            yield from _about_channel(subject)
        case FieldMeaning.VERSION:
            yield from _about_version(subject)
        case FieldMeaning.CATALOG | FieldMeaning.CATALOG_NAMESPACE:
            yield from (_about_catalog(source) for source in _sources(subject, compilation))
        case FieldMeaning.OBJECT if subject.kind == "CatalogSource" and compilation.settled is not None:
            key = CatalogKey(subject.namespace, subject.name)
            source = compilation.settled.cluster.catalogs.get(key)
            yield from [_about_catalog(source)] if source is not None else ()
        case FieldMeaning.OBJECT | FieldMeaning.NAMESPACE if compilation.settled is not None:
            yield from _about_groups(subject, compilation.settled.cluster)


def _channels(graph: UpgradeGraph) -> Iterator[str]:
    for channel in graph.channels[:_SHOWN]:
        default = " (default)" if channel.is_default else ""
        head = _versioned(graph, channel.heads) or "no head"
        yield f"{_plain(channel.name)}{default}: {head}"
    if len(graph.channels) > _SHOWN:
        yield f"and {len(graph.channels) - _SHOWN} more channels"


def _versioned(graph: UpgradeGraph, names: Iterable[str]) -> str:
    known = graph.vertices()
    return join_limited([_plain(f"{n} ({known[n].version})" if n in known else n) for n in names], _SHOWN)


def _about_channel(subject: EditorSubject) -> Iterator[str]:
    for name, package in subject.packages():
        channel = package.channels.get(subject.text or package.default_channel)
        if channel is None:
            continue
        graph = upgrade_graph(package, [channel.name])
        view = graph.channels[0]
        default = ", the default channel" if view.is_default else ""
        yield f"**{_plain(view.name)}**, a channel of {_plain(package.name)} in catalog {_plain(name)}{default}"
        yield f"Its head is {_versioned(graph, view.heads) or 'unknown'}."
        others = [member for member in reversed(view.members) if member in view.entries and member not in view.heads]
        yield from [f"It also has {_versioned(graph, others)}."] if others else ()
        yield from [f"OLM can't order it: {_plain(view.problem)}"] if view.problem else ()
        yield from _deprecation(view.deprecated, view.message)


def _about_version(subject: EditorSubject) -> Iterator[str]:
    for name, package in subject.packages():
        graph = upgrade_graph(package)
        vertex = graph.vertices().get(subject.text)
        if vertex is None or vertex.missing:
            continue
        where = join_limited([_plain(channel) for channel in vertex.channels], _SHOWN)
        yield f"**{_plain(vertex.name)}**, version {_plain(vertex.version)} of {_plain(package.name)}"
        yield f"It is in channel {where} of catalog {_plain(name)}."
        for channel in graph.channels:
            after = channel.first.get(vertex.name, "")
            if after and channel.name in subject.followed(package):
                yield f"In channel {_plain(channel.name)} it is upgraded to {_versioned(graph, [after])}."
        yield from _deprecation(vertex.deprecated, vertex.message)


def _deprecation(deprecated: bool, message: str) -> Iterator[str]:
    if deprecated:
        yield f"Deprecated: {_plain(message)}" if message else "Deprecated."


def _sources(subject: EditorSubject, compilation: Compilation) -> list[CatalogSource]:
    spec = spec_of(dict(subject.object))
    cluster = compilation.settled.cluster if compilation.settled is not None else None
    return visible(cluster, as_text(spec.get("sourceNamespace")), as_text(spec.get("source"))) if cluster else []


def _about_catalog(source: CatalogSource) -> str:
    spec, catalog = spec_of(source.manifest or {}), source.catalog
    lines = [f"**{_plain(source.key.name)}**, a CatalogSource in {_plain(source.key.namespace)}"]
    lines += [f"image {_plain(as_text(spec['image']))}"] if "image" in spec else []
    lines += [f"priority {source.priority}"] if source.priority else []
    lines += ["its content is not in the workspace"] if catalog is None else [_size(catalog)]
    problem = source.refused or source.problem
    return ", ".join(lines) + (f"\n\nOLM can't use it: {_plain(problem)}" if problem else "")


def _size(catalog: Catalog) -> str:
    count = len(catalog.packages)
    return f"{count} package{'s' * (count != 1)}"


def _about_groups(subject: EditorSubject, cluster: Cluster) -> Iterator[str]:
    namespace = subject.text if subject.asked is FieldMeaning.NAMESPACE else subject.namespace
    if subject.asked is FieldMeaning.OBJECT and subject.kind != "OperatorGroup":
        return
    for group in cluster.groups_in(namespace):
        if subject.asked is FieldMeaning.NAMESPACE or group.name == subject.name:
            names = [_plain(target) for target in group.targets if target]
            targets = "all namespaces" if group.is_global else join_limited(names, _SHOWN) or "no namespace"
            yield f"**{_plain(group.name)}**, the OperatorGroup of {_plain(namespace)}, selects {targets}."
            yield from [f"It can't be processed: {_plain(group.problem)}"] if group.problem else ()
            members = [csv.name for csv in real_csvs(cluster, namespace)]
            yield from [f"Its members are {join_limited([_plain(m) for m in members], _SHOWN)}."] if members else ()


def _outcome(subject: EditorSubject, compilation: Compilation) -> Iterator[str]:
    """Yield the outcome of the Subscription or ClusterExtension at the position."""
    if subject.kind not in ("Subscription", "ClusterExtension") or subject.asked is FieldMeaning.NAMESPACE:
        return
    for row in rows_of(subject, compilation):
        what = f"{subject.kind} {row.subscription or row.extension}"
        state = " ".join(filter(None, (row.phase, f"({row.reason})" if row.reason else "")))
        yield _plain(f"{what} installs {row.csv}: {state}" if row.csv else f"{what} installs nothing: {state}")
        if row.upgrade:
            yield _plain(f"Next would be {row.upgrade}" + (f", which waits: {row.waits}" if row.waits else ""))
        lines = [f"{'  ' * line.depth}- {_plain(line.text)}" for line in row.missing[:_LINES]]
        yield from ["\n".join(lines)] if lines else ()


def rows_of(subject: EditorSubject, compilation: Compilation) -> Iterator[OperatorStatus]:
    """The rows of `olmc status` for a Subscription or a ClusterExtension."""
    if subject.kind == "ClusterExtension":
        yield from (row for row in extension_states(compilation.extensions) if row.extension == subject.name)
    elif compilation.settled is not None:
        for row in operators(compilation.settled, compilation.operators):
            if row.subscription == subject.name and subject.namespace in ("", row.namespace):
                yield row


def _plain(text: str) -> str:
    """A text of a file as Markdown that shows it, and does nothing else: no link, no picture, no markup."""
    return _MARKDOWN.sub(r"\\\1", " ".join(map(clean, text.split("\n"))))


def completions(analysis: Analysis, path: Path, text: str, line: int, column: int) -> tuple[Completion, ...]:
    """The names that may stand at a line and column, from 1, those first that are likely."""
    there, compilation = subject_at(analysis, path, text, line, column), analysis.compilation
    if there is None or compilation is None or there[1].on_key:
        return ()
    return tuple(dict.fromkeys(_names(there[0], compilation)))


def _names(subject: EditorSubject, compilation: Compilation) -> Iterator[Completion]:
    match subject.asked:
        case FieldMeaning.PACKAGE:
            for name, catalog in subject.catalogs.items():
                yield from (Completion(known, f"catalog {name}") for known in sorted(catalog.packages))
        case FieldMeaning.CHANNEL:
            for name, package in subject.packages():
                graph = upgrade_graph(package)
                for channel in graph.channels:
                    default = ", default" if channel.is_default else ""
                    yield Completion(channel.name, f"{', '.join(channel.heads)}{default}, catalog {name}")
        case FieldMeaning.VERSION:
            yield from _versions(subject)
        case FieldMeaning.CATALOG | FieldMeaning.CATALOG_NAMESPACE if compilation.settled is not None:
            by_name = subject.asked is FieldMeaning.CATALOG
            for key, source in sorted(compilation.settled.cluster.catalogs.items()):
                size = _size(source.catalog) if source.catalog is not None else "no content"
                name, other = (key.name, f"in {key.namespace}") if by_name else (key.namespace, f"has {key.name}")
                yield Completion(name, f"{other}, {size}")
        case FieldMeaning.APPROVAL:
            yield Completion("Automatic", "upgrades do not wait")
            yield Completion("Manual", "every InstallPlan waits for approval")


def _versions(subject: EditorSubject) -> Iterator[Completion]:
    """The versions that a field can name: CSVs for a Subscription, versions for a ClusterExtension; newest first."""
    for name, package in subject.packages():
        graph = upgrade_graph(package, subject.followed(package))
        for vertex in reversed(graph.versions):
            if vertex.missing or vertex.barred:
                continue
            where = f"{', '.join(vertex.channels)}, catalog {name}"
            shown = (vertex.name, vertex.version) if subject.kind == "Subscription" else (vertex.version, vertex.name)
            yield Completion(shown[0], f"{shown[1]}, {where}")


def definitions(analysis: Analysis, path: Path, text: str, line: int, column: int) -> tuple[Location, ...]:
    """Return where that is defined which stands at a line and column, from 1: paths are as findings have them."""
    there, compilation = subject_at(analysis, path, text, line, column), analysis.compilation
    if there is None or compilation is None:
        return ()
    places = (located(place) for place in _places(there[0], compilation))
    return tuple(dict.fromkeys(place for place in places if place is not None))


def _places(subject: EditorSubject, compilation: Compilation) -> Iterator[Place | Location | None]:
    cluster = compilation.settled.cluster if compilation.settled is not None else None
    match subject.asked:
        case FieldMeaning.CATALOG | FieldMeaning.CATALOG_NAMESPACE:
            for source in _sources(subject, compilation):
                yield Place(source.source) if source.source is not None else _first_file(source.catalog)
        case FieldMeaning.NAMESPACE if cluster is not None:
            yield from (Place(group.source) for group in cluster.groups_in(subject.text) if group.source is not None)
        case FieldMeaning.OBJECT if subject.kind == "CatalogSource" and cluster is not None:
            known = cluster.catalogs.get(CatalogKey(subject.namespace, subject.name))
            yield _first_file(known.catalog) if known is not None else None
        case FieldMeaning.PACKAGE | FieldMeaning.CHANNEL | FieldMeaning.VERSION | FieldMeaning.OBJECT:
            yield from _bundle_places(subject, compilation)


def _first_file(catalog: Catalog | None) -> Location | None:
    return Location(min(catalog.files)) if catalog is not None and catalog.files else None


def _bundle_places(subject: EditorSubject, compilation: Compilation) -> Iterator[Place | Location | None]:
    """The CSV of the bundle that is meant: the one that is named, else the one that is installed, else the head."""
    installed = [row.csv for row in rows_of(subject, compilation) if row.csv]
    for _, package in subject.packages():
        graph = upgrade_graph(package, subject.followed(package))
        heads = [head for channel in graph.channels for head in channel.heads]
        named = [n for n, b in package.bundles.items() if subject.text in (n, b.version)]
        wanted = named if subject.asked is FieldMeaning.VERSION and named else installed or heads
        for name in wanted:
            entry = package.bundles.get(name)
            content = _content(name, entry.image if entry is not None else "", compilation)
            yield content or (entry.location if entry is not None else package.location)
        return
    yield from (_content(name, "", compilation) for name in installed)


def _content(name: str, image: str, compilation: Compilation) -> Place | None:
    workspace = compilation.workspace
    if workspace is None:
        return None
    bundle = workspace.vendored.get(image) or workspace.bundles.get(name)
    if bundle is not None:
        return Place(bundle.csv.source, ("metadata", "name"))
    cluster = compilation.settled.cluster if compilation.settled is not None else None
    members = cluster.csvs.items() if cluster is not None else ()
    known = (csv.source for key, csv in members if isinstance(key, NamespacedName) and key.name == name)
    return next((Place(source, ("metadata", "name")) for source in known if source is not None), None)
