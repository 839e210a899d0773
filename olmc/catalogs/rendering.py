"""A bundle directory as the entry of a catalog that opm would render from it (R-CAT-110 … R-CAT-112, R-CAT-300)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.catalogs import properties as props
from olmc.catalogs.catalog_errors import CatalogError, below, report_errors
from olmc.catalogs.properties import APIKey, provided_apis, required_apis
from olmc.diagnostics.rules import catalogs as rules
from olmc.gojson import DecodeError, decode, match_keys, unmarshal
from olmc.lean import NamedTuple
from olmc.model.catalog import Property
from olmc.model.diagnostics import Place, Report
from olmc.model.objects import KubernetesObject, annotations_of, as_text, mappings, name_of, spec_of, text
from olmc.model.operators import Csv
from olmc.model.workspace import Bundle

_ITEM = frozenset({"type", "value"})
_PROPERTIES = "olm.properties"


class UncataloguedBundle(NamedTuple):
    """A bundle outside of any catalog: what its directory says about it.

    `objects` are in file order and include `csv`; `properties` and `dependencies` are the items of the files in
    metadata/; `image` is the reference it was pulled by, "" for a directory. `location` is where the CSV stands.
    """

    package: str
    channels: tuple[str, ...]
    default_channel: str
    csv: KubernetesObject
    objects: tuple[KubernetesObject, ...]
    properties: tuple[Mapping[str, Any], ...] = ()
    dependencies: tuple[Mapping[str, Any], ...] = ()
    image: str = ""
    location: Place | None = None

    @property
    def name(self) -> str:
        """The bundle's name: that of its CSV."""
        return name_of(self.csv)

    @property
    def spec(self) -> Mapping[str, Any]:
        """The CSV's spec."""
        return spec_of(self.csv)

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The CSV's annotations."""
        return annotations_of(self.csv)

    @property
    def version(self) -> str:
        """The raw text of the CSV's version, "" for none (R-CAT-108)."""
        return text(self.spec.get("version"))


def uncatalogued(bundle: Bundle, image: str = "") -> UncataloguedBundle:
    """A bundle of the workspace as an UncataloguedBundle."""
    return UncataloguedBundle(
        bundle.package,
        bundle.channels,
        bundle.default_channel,
        bundle.csv.object,
        bundle.objects,
        bundle.properties,
        bundle.dependencies,
        image,
        Place(bundle.csv.source),
    )


def release_of(bundle: UncataloguedBundle) -> str:
    """The release of a bundle, "" for none (R-CAT-108); ValueError with OLM's text for what can't be one."""
    release = bundle.spec.get("release")
    if release is None or isinstance(release, str):
        return release or ""
    if isinstance(release, bool) or not isinstance(release, int | float):
        raise ValueError("release field must be a string or number")
    return str(int(release)) if release == int(release) else f"{release:g}"


def bundle_properties(bundle: UncataloguedBundle, report: Report) -> tuple[Property, ...]:
    """The properties of a bundle in a catalog, without its objects, sorted by type and value (R-CAT-300, R-CAT-112).

    What can't be read is reported, and () returned.
    """
    try:
        properties = derived_properties(bundle, report)
        return _sorted([*_rebuild(properties, bundle), *_requirements(bundle, report)])
    except ValueError as error:
        report_errors([CatalogError(rules.BAD_DEPENDENCY, bundle.location, {"cause": error})], report)
        return ()


def derived_properties(bundle: UncataloguedBundle, report: Report) -> list[Property]:
    """The properties as the bundle's files give them: points 1 to 4 of R-CAT-300, each once.

    Raises ValueError with OLM's text for a bad release.
    """
    properties = [_item(prop) for prop in bundle.properties]
    if bundle.package:
        properties.append(_package_property(bundle.package, bundle.version, release_of(bundle)))
    properties += _annotation_properties(bundle, report)
    properties += _gvks(props.GVK, provided_apis(bundle.objects))
    # What people wrote comes before what follows from the CSV and the CRDs; of the same twice the first stays.
    distinct: dict[tuple[str, str], Property] = {}
    for prop in properties:
        distinct.setdefault((prop.type, props.raw(prop.value)), prop)
    return list(distinct.values())


def _item(value: Mapping[str, Any]) -> Property:
    item = match_keys(value, _ITEM)
    return Property(as_text(item.get("type")), props.canonical(item.get("value")))


def _package_property(package: str, version: str, release: str) -> Property:
    value = {"packageName": package, "version": version}
    return Property(props.PACKAGE, {**value, "release": release} if release else value)


def _annotation_properties(bundle: UncataloguedBundle, report: Report) -> list[Property]:
    """The properties in the CSV's annotation `olm.properties` (point 3)."""
    text = bundle.annotations.get(_PROPERTIES)
    if not isinstance(text, str):
        return []
    try:
        return [_item(item) for item in decode(props.LIST, unmarshal(text)) or ()]
    except ValueError as error:
        place = below(bundle.location, "metadata", "annotations", _PROPERTIES)
        report_errors([CatalogError(rules.UNREAD_PROPERTIES, place, {"cause": error})], report)
        return []


def _gvks(kind: str, apis: Iterable[APIKey]) -> list[Property]:
    values = dict.fromkeys((api.group, api.kind, api.version) for api in apis)
    return [Property(kind, {"group": g, "kind": k, "version": v}) for g, k, v in values]


def _rebuild(properties: list[Property], bundle: UncataloguedBundle) -> Iterator[Property]:
    """The properties with package and APIs in their standard form (points 5 and 6)."""
    package = None
    apis: list[APIKey] = []
    for index, prop in enumerate(properties):
        if prop.type == props.PACKAGE:
            fields = _fields(index, prop)
            # The last one counts, and it alone is written (R-CAT-300, point 5).
            package = _package_property(fields["packageName"], fields["version"], fields["release"])
        elif prop.type == props.GVK:
            apis.append(APIKey(**_fields(index, prop)))
        else:
            yield prop
    yield package or _package_property(bundle.package, bundle.version, release_of(bundle))
    yield from _gvks(props.GVK, [*apis, *provided_apis(bundle.objects)])


def _fields(index: int, item: Property) -> dict[str, str]:
    try:
        return props.decode_value(item.type, item.value)
    except DecodeError as error:
        raise ValueError(props.parse_problem(index, item.type, error)) from None


def _requirements(bundle: UncataloguedBundle, report: Report) -> Iterator[Property]:
    """The properties that dependencies and required APIs become (points 7 and 8)."""
    apis: list[APIKey] = []
    for index, dependency in enumerate(bundle.dependencies):
        item = _item(dependency)
        if item.type == props.GVK:
            apis.append(APIKey(**_fields(index, item)))
        elif item.type == props.PACKAGE:
            fields = _fields(index, item)
            value = {"packageName": fields["packageName"], "versionRange": fields["version"]}
            yield Property(props.PACKAGE_REQUIRED, value)
        else:
            # A label that is required becomes one that is offered, as opm writes it: the requirement is lost (D14).
            if item.type == props.LABEL:
                label = item.value.get("label") if isinstance(item.value, dict) else item.value
                report_errors(
                    [CatalogError(rules.LABEL_DEPENDENCY, bundle.location, {"bundle": bundle.name, "label": label})],
                    report,
                )
            yield item
    yield from _gvks(props.GVK_REQUIRED, [*apis, *required_apis(bundle.objects)])


def _sorted(properties: Iterable[Property]) -> tuple[Property, ...]:
    return tuple(sorted(properties, key=lambda prop: (prop.type, props.raw(prop.value))))


def related_images(bundle: UncataloguedBundle) -> tuple[str, ...]:
    """The images that a bundle needs: those its CSV lists, its own, those of its containers (R-CAT-111)."""
    listed = bundle.spec.get("relatedImages")
    images = [as_text(image.get("image")) for image in _list(listed) if isinstance(image, dict)]
    more = [bundle.image] if bundle.image else []
    csv = Csv(bundle.csv)
    if csv.strategy_name == "deployment":
        more += _container_images(csv)
    images += [image for image in dict.fromkeys(more) if image not in images]
    return tuple(sorted(images))


def _container_images(csv: Csv) -> Iterator[str]:
    for pod in (deployment.pod for deployment in csv.deployments):
        for container in mappings(pod.get("containers")) + mappings(pod.get("initContainers")):
            if isinstance(container.get("image"), str):
                yield container["image"]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
