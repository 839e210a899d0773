"""What is inside of a catalog's bundles, and what the registry of a catalog serves of them (R-CAT-122, R-CAT-123,
R-CAT-129, R-CAT-303)."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from olmc.catalogs import properties as props
from olmc.catalogs.blobs import Blobs, add_document
from olmc.catalogs.catalog_errors import CatalogError, below, report_errors
from olmc.catalogs.entries import index_of, rows_of
from olmc.catalogs.properties import BUNDLE_OBJECT, CSV_METADATA, required_apis
from olmc.diagnostics.rules import catalogs as rules
from olmc.gojson import canonical_base64, decode, match_keys, mismatch_text
from olmc.model.catalog import Candidate, Catalog, CatalogBundle, Package, Property
from olmc.model.diagnostics import Place, Report, Severity
from olmc.model.objects import CatalogKey, KubernetesObject
from olmc.model.served import ServedEntries
from olmc.strconv import quoted
from olmc.yaml import Document, read
from olmc.yaml.pieces import read_pieces

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
    """Whether a bundle brings its objects along."""
    return bool(bundle.objects) or any(prop.type == BUNDLE_OBJECT for prop in bundle.properties)


def content_value(prop: Property) -> Any:
    """The value of a property that carries content: of a stored catalog that of the document where it stands."""
    if not isinstance(prop.value, Place):
        return prop.value
    source, keys = prop.value
    blobs = Blobs()
    add_document(_documents(source.path, source.text)[source.document].value, source, blobs, is_yaml=False)
    return blobs.bundles[0].properties[int(keys[1])][1]


# Whoever looks into one bundle of a file looks into the others as well.
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
    # What package servers show of an operator without a description of its own (R-CAT-123).
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
    # The registry derives dependencies from these properties, and OLM makes properties of them again: the resolver
    # meets each requirement twice, and so does whoever reads the annotation of the CSV (R-CAT-129, R-CAT-303).
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
