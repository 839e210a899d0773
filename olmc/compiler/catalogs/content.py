"""The content of a catalog's bundles, and the part of it that the registry of a catalog serves (R-CAT-122, R-CAT-123,
R-CAT-129, R-CAT-303)."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from olmc.compiler.catalogs import properties as props
from olmc.compiler.catalogs.conversion import Blobs, add_document
from olmc.compiler.catalogs.properties import (
    BUNDLE_OBJECT,
    CSV_METADATA,
    CatalogError,
    below,
    index_of,
    report_errors,
    required_apis,
    rows_of,
)
from olmc.compiler.model.catalog import (
    Candidate,
    Catalog,
    CatalogBundle,
    Channel,
    ChannelEntry,
    Package,
    Property,
    ServedEntries,
)
from olmc.compiler.rules.findings import catalogs as rules
from olmc.k8s.diagnostics import Place, Report, Rule, Severity
from olmc.k8s.gojson import canonical_base64, decode, match_keys, mismatch_text
from olmc.k8s.objects import CatalogKey, KubernetesObject
from olmc.k8s.semver import parse_strict, range_problem
from olmc.k8s.strconv import quoted
from olmc.k8s.yaml import Document, read
from olmc.k8s.yaml.pieces import read_pieces

# The fields of olm.csv.metadata and where they stand in a CSV's spec.
_METADATA_FIELDS = {
    "apiServiceDefinitions": "apiservicedefinitions",
    "crdDescriptions": "customresourcedefinitions",
    "description": "description",
    "displayName": "displayName",
    "installModes": "installModes",
    "keywords": "keywords",
    "links": "links",
    "maintainers": "maintainers",
    "maturity": "maturity",
    "minKubeVersion": "minKubeVersion",
    "nativeAPIs": "nativeAPIs",
    "provider": "provider",
}
_METADATA_NAMES = frozenset({*_METADATA_FIELDS, "annotations", "labels"})


def has_inline_content(bundle: CatalogBundle) -> bool:
    """Return whether a bundle brings its objects along."""
    return bool(bundle.objects) or any(prop.type == BUNDLE_OBJECT for prop in bundle.properties)


def content_value(prop: Property) -> Any:
    """The value of a property that carries content: of a stored catalog that of the document where it stands."""
    if not isinstance(prop.value, Place):
        return prop.value
    source, keys = prop.value
    blobs = Blobs()
    add_document(_documents(source.path, source.text)[source.document].value, source, blobs, is_yaml=False)
    return blobs.bundles[0].properties[int(keys[1])][1]


# A caller that asks for one bundle of a file usually asks for the others as well.
@lru_cache(maxsize=2)
def _documents(path: str, text: str) -> Sequence[Document]:
    return read_pieces(path, text, Report(), {})


def inline_objects(bundle: CatalogBundle, report: Report) -> tuple[KubernetesObject, ...]:
    """The objects inside of a bundle, () when it has none; those that can't be decoded are reported and left out."""
    if bundle.objects:
        return bundle.objects
    objects: list[KubernetesObject] = []
    for index, value in _encoded(bundle):
        try:
            objects.append(_decode(value, index))
        except ValueError as error:
            report_errors([_bad_object(bundle, index, str(error))], report)
    return tuple(objects)


def check_content(catalog: Catalog, report: Report) -> None:
    """Decode every inline object of a catalog and look for the CSV of each bundle, as OLM does when it loads one, and
    report what can't be decoded."""
    for package in catalog.packages.values():
        for bundle in package.bundles.values():
            csv_of(package, bundle, report)


def _encoded(bundle: CatalogBundle) -> Iterator[tuple[int, Any]]:
    values = ((index, prop) for index, prop in enumerate(bundle.properties) if prop.type == BUNDLE_OBJECT)
    return ((index, content_value(prop)) for index, prop in values)


def _decode(value: Any, index: int) -> KubernetesObject:
    """The object in the value of an `olm.bundle.object`; ValueError with OLM's text when there is none."""
    data = decode("property.BundleObject", value)["data"]
    try:
        octets = a2b_base64(canonical_base64(data))
    except ValueError as error:
        raise ValueError(f"parse property at index {index} as bundle object: {error}") from None
    findings = Report()
    documents = read("", octets.decode("utf-8", "replace"), findings)
    decoded = documents[0].value if documents else None
    problem = next((finding.message for finding in findings if finding.severity is Severity.ERROR), "")
    if not problem and isinstance(decoded, dict):
        return decoded
    cause = problem or mismatch_text(decoded, "map[string]interface {}")
    raise ValueError(f"convert bundle object property at index {index} to JSON: {cause}")


def _bad_object(bundle: CatalogBundle, index: int, problem: str) -> CatalogError:
    place = below(bundle.location, "properties", index, "value")
    values = {"package": quoted(bundle.package), "bundle": quoted(bundle.name), "cause": problem}
    return CatalogError(rules.BAD_OBJECT, place, values)


def csv_of(package: Package, bundle: CatalogBundle, report: Report) -> KubernetesObject | None:
    """The CSV that a catalog shows of a bundle: the inline one, or one made of `olm.csv.metadata` (R-CAT-123).

    The latter is good for PackageManifests, not for installing. None when the catalog holds neither.
    """
    for obj in inline_objects(bundle, report):
        if obj.get("kind") == "ClusterServiceVersion":
            return obj
    metadata = [(index, prop) for index, prop in enumerate(bundle.properties) if prop.type == CSV_METADATA]
    if len(metadata) > 1:
        place = below(bundle.location, "properties", metadata[1][0])
        report_errors([CatalogError(rules.SEVERAL_METADATA, place, {"count": len(metadata)})], report)
        return None
    if not metadata:
        return None
    return _synthesize_csv(package, bundle, match_keys(content_value(metadata[0][1]) or {}, _METADATA_NAMES))


def _synthesize_csv(package: Package, bundle: CatalogBundle, fields: Any) -> KubernetesObject:
    metadata: dict[str, Any] = {"name": bundle.name}
    metadata.update({key: fields[key] for key in ("annotations", "labels") if fields.get(key)})
    spec: dict[str, Any] = {
        target: fields[name] for name, target in _METADATA_FIELDS.items() if fields.get(name) is not None
    }
    # The description that package servers show for an operator without one (R-CAT-123).
    if not spec.get("description"):
        spec["description"] = package.description
    spec["version"] = bundle.version
    if package.icon:
        spec["icon"] = [dict(package.icon)]
    spec["relatedImages"] = [{"name": "", "image": image} for image in bundle.related_images]
    spec["install"] = {"strategy": "deployment", "spec": {}}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": metadata,
        "spec": spec,
    }


def served_properties(bundle: CatalogBundle) -> tuple[Property, ...]:
    """The properties that the registry shows: all but those that carry content (R-CAT-129)."""
    return tuple([prop for prop in bundle.properties if prop.type not in props.CONTENT])


def served_candidates(key: CatalogKey, catalog: Catalog) -> ServedEntries:
    """The entries of a catalog by package, channel name and place in the channel (R-CAT-303).

    An entry whose bundle the catalog doesn't have is not served (R-CAT-143). The location is that of the document
    that holds the entry.
    """
    packages = catalog.packages
    index = catalog.entry_index if catalog.entry_index is not None else index_of(rows_of(packages))
    return ServedEntries(index, lambda name: tuple(_candidates(key, packages[name])))


def _candidates(key: CatalogKey, package: Package) -> Iterator[Candidate]:
    properties = {name: _effective_properties(bundle) for name, bundle in package.bundles.items()}
    for _, channel in sorted(package.channels.items()):
        is_default = channel.name == package.default_channel
        for entry in channel.entries:
            bundle = package.bundles.get(entry.name)
            if bundle is not None:
                yield Candidate(
                    entry.name,
                    package.name,
                    channel.name,
                    key,
                    bundle.version,
                    properties[entry.name],
                    is_default,
                    entry.replaces,
                    entry.skips,
                    entry.skip_range,
                    bundle.image,
                    _document(entry.location or bundle.location),
                    bundle=bundle.location,
                )


def _document(place: Place | None) -> Place | None:
    """The place of a whole document."""
    return Place(place.source) if place is not None else None


def _effective_properties(bundle: CatalogBundle) -> tuple[Property, ...]:
    """The properties that count in resolution: those served and the requirements derived from them once more."""
    served = served_properties(bundle)
    # The registry derives dependencies from these properties, and OLM makes properties of them again. So the resolver
    # meets each requirement twice, and the annotation of the CSV has it twice (R-CAT-129, R-CAT-303).
    derived = [
        _derive_requirement(prop) for prop in served if prop.type in (props.GVK_REQUIRED, props.PACKAGE_REQUIRED)
    ]
    if not derived and bundle.objects:
        # Not from a file-based catalog: there the required APIs of the CSV are served beside the properties.
        apis = sorted(required_apis(bundle.objects), key=lambda api: (api.group, api.version, api.kind))
        derived = [_gvk_required(api.group, api.version, api.kind) for api in apis]
    package: tuple[Property, ...] = ()
    if all(prop.type != props.PACKAGE for prop in served):
        package = (Property(props.PACKAGE, {"packageName": bundle.package, "version": bundle.version}),)
    return (*served, *derived, *package)


def _derive_requirement(prop: Property) -> Property:
    if prop.type == props.GVK_REQUIRED:
        return _gvk_required(*props.field_texts(prop.type, prop.value, "group", "version", "kind"))
    name, versions = props.field_texts(prop.type, prop.value, "packageName", "versionRange")
    return Property(props.PACKAGE_REQUIRED, {"packageName": name, "versionRange": versions})


def _gvk_required(group: str, version: str, kind: str) -> Property:
    return Property(props.GVK_REQUIRED, {"group": group, "version": version, "kind": kind})


# The checks that OLM makes of a whole catalog and of each channel's graph, and the tree that it prints of what they
# find (R-CAT-400, R-CAT-401).


def heads(entries: Sequence[ChannelEntry]) -> list[str]:
    """The names of the entries that no entry replaces or skips, sorted; a sound channel has one (R-CAT-401)."""
    incoming = {skip for entry in entries for skip in entry.skips}
    incoming.update(entry.replaces for entry in entries if entry.replaces)
    return sorted(entry.name for entry in entries if entry.name not in incoming)


def graph_problem(entries: Sequence[ChannelEntry]) -> tuple[str, str]:
    """Return the problems of the graph in OLM's words, and the entry to look at; ("", "") for a sound one
    (R-CAT-400)."""
    names_of_heads = heads(entries)
    if not names_of_heads:
        return "no channel head found in graph", ""
    if len(names_of_heads) > 1:
        return f"multiple channel heads found in graph: {', '.join(names_of_heads)}", names_of_heads[0]
    by_name = {entry.name: entry for entry in entries}
    skipped = {skip for entry in entries for skip in entry.skips}
    current = names_of_heads[0]
    chain = {current: 0}
    # The walk ends at an entry that is skipped, so what only that one replaces is stranded (R-CAT-400).
    while (replaced := by_name[current].replaces) in by_name and replaced not in skipped:
        if replaced in chain:
            cycle = " -> ".join([*list(chain)[chain[replaced] :], replaced])
            return f"detected cycle in replaces chain of upgrade graph: {cycle}", current
        chain[replaced] = len(chain)
        current = replaced
    stranded = sorted(by_name.keys() - chain.keys() - skipped)
    if stranded:
        return f"channel contains one or more stranded bundles: {', '.join(stranded)}", stranded[0]
    return "", ""


_NO_MESSAGE = "invalid deprecation: message must be set"


@dataclass(slots=True)
class _Node:
    """A line of the tree and the lines below it, with the errors that they stand for."""

    line: str
    children: list[_Node] = field(default_factory=list)
    errors: list[CatalogError] = field(default_factory=list)

    def add(self, rule: Rule, place: Place | None, where: str, problem: str) -> None:
        self.children.append(_Node(problem))
        self.errors.append(CatalogError(rule, place, {"where": where, "problem": problem}))

    def hang(self, node: _Node) -> None:
        """Add a sub-tree, unless nothing is wrong in it."""
        if node.children:
            self.children.append(node)
            self.errors += node.errors


def check_model(packages: Mapping[str, Package]) -> tuple[str, list[CatalogError]]:
    """Return the errors of the packages: OLM's tree ("" when all is well) and each finding with its place.

    Packages, channels and bundles are visited in the order of their names (D7).
    """
    root = _Node("invalid index")
    for _, package in sorted(packages.items()):
        root.hang(_package_node(package))
    return ("\n".join(_lines(root)) if root.children else ""), root.errors


def _lines(node: _Node) -> Iterable[str]:
    yield f"{node.line}:" if node.children else node.line
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        first, *others = _lines(child)
        yield ("└── " if last else "├── ") + first
        for line in others:
            yield ("    " if last else "│   ") + line


def _package_node(package: Package) -> _Node:
    node = _Node(f"invalid package {quoted(package.name)}")
    where = f"package {quoted(package.name)}"
    if not package.default_channel:
        node.add(rules.NO_DEFAULT_CHANNEL, package.location, where, "default channel must be set")
    if not package.channels:
        node.add(rules.NO_CHANNELS, package.location, where, "package must contain at least one channel")
    unexplained = {(entry.schema, entry.name) for entry in package.deprecations if not entry.message}
    for _, channel in sorted(package.channels.items()):
        node.hang(_channel_node(channel, package, unexplained))
    same = _same_versions(package)
    if same:
        listed = " ".join(f"{{{version}: [{', '.join(names)}]}}" for version, names in same.items())
        second = package.bundles[next(iter(same.values()))[1]]
        problem = f"duplicate versions found in bundles: [{listed}]"
        node.add(rules.SAME_VERSIONS, second.location, where, problem)
    if ("olm.package", "") in unexplained:
        node.add(rules.NO_DEPRECATION_MESSAGE, package.location, where, _NO_MESSAGE)
    return node


def _same_versions(package: Package) -> dict[str, list[str]]:
    """The versions, release included, that several bundles of the package's channels have, with their names."""
    # By name: a bundle in several channels is no duplicate of itself (R-CAT-126).
    named = {entry.name for channel in package.channels.values() for entry in channel.entries}
    by_version: dict[str, list[str]] = {}
    for name in sorted(named):
        bundle = package.bundles[name]
        release = _release(bundle)
        by_version.setdefault(f"{bundle.version}-{release}" if release else bundle.version, []).append(name)
    return {version: names for version, names in sorted(by_version.items()) if len(names) > 1}


_WITHOUT_RELEASE = {"packageName", "version"}


def _release(bundle: CatalogBundle) -> str:
    package = next(prop.value for prop in bundle.properties if prop.type == props.PACKAGE)
    if package.keys() == _WITHOUT_RELEASE:  # as nearly all are
        return ""
    return props.field_texts(props.PACKAGE, package, "release")[0]


def _channel_node(channel: Channel, package: Package, unexplained: set[tuple[str, str]]) -> _Node:
    node = _Node(f"invalid channel {quoted(channel.name)}")
    where = f"package {quoted(package.name)}, channel {quoted(channel.name)}"
    if not channel.entries:
        problem = "channel must contain at least one bundle"
        node.add(rules.EMPTY_CHANNEL, channel.location, where, problem)
    else:
        problem, name = graph_problem(channel.entries)
        if problem:
            place = next((entry.location for entry in channel.entries if entry.name == name), channel.location)
            node.add(rules.BROKEN_GRAPH, place, where, problem)
    for entry in sorted(channel.entries, key=lambda entry: entry.name):
        node.hang(_bundle_node(entry, package.bundles[entry.name], where, ("olm.bundle", entry.name) in unexplained))
    if ("olm.channel", channel.name) in unexplained:
        node.add(rules.NO_DEPRECATION_MESSAGE, channel.location, where, _NO_MESSAGE)
    return node


_Finding = tuple[Rule, Place | None, str]


def _bundle_node(entry: ChannelEntry, bundle: CatalogBundle, where: str, unexplained: bool) -> _Node:
    node = _Node("")
    for rule, place, problem in _bundle_findings(entry, bundle, unexplained):
        node.line = f"invalid bundle {quoted(entry.name)}"
        node.add(rule, place, f"{where}, bundle {quoted(entry.name)}", problem)
    return node


def _bundle_findings(entry: ChannelEntry, bundle: CatalogBundle, unexplained: bool) -> Iterator[_Finding]:
    if not bundle.name:
        yield rules.BUNDLE_WITHOUT_NAME, bundle.location, "name must be set"
    release = _release(bundle)
    normal = f"{bundle.package}-v{bundle.version}-{release}"
    if release and bundle.name != normal:
        problem = f"name {quoted(bundle.name)} does not match normalized name {quoted(normal)}"
        yield rules.NAME_WITHOUT_RELEASE, below(bundle.location, "name"), problem
    for index, skip in enumerate(entry.skips):
        if not skip:
            yield rules.EMPTY_SKIP, below(entry.location, "skips", index), f"skip[{index}] is empty"
    cause = range_problem(entry.skip_range) if entry.skip_range else ""
    if cause:
        problem = f"invalid skipRange {quoted(entry.skip_range)}: {cause}"
        yield rules.BAD_SKIP_RANGE, below(entry.location, "skipRange"), problem
    if not bundle.image and not has_inline_content(bundle):
        yield rules.NO_BUNDLE_IMAGE, bundle.location, "bundle image must be set"
    if unexplained:
        yield rules.NO_DEPRECATION_MESSAGE, bundle.location, _NO_MESSAGE
    if release and parse_strict(bundle.version).build:
        problem = "cannot use build metadata in version with a release version"
        yield rules.BUILD_WITH_RELEASE, bundle.location, problem
