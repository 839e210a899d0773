"""Properties of bundles, the APIs that stand behind them, and image pull specs (R-CAT-104, R-CAT-125, R-CAT-301)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from olmc.compiler.model.catalog import (
    Candidate,
    Catalog,
    CatalogBundle,
    CatalogIndex,
    Package,
    Property,
    ServedEntries,
)
from olmc.compiler.model.operators import CSV_KIND, CRDDescription, Csv
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.rules.findings import catalogs as rules
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.diagnostics import DecodeFailure, Location, Place, Report, Severity
from olmc.k8s.gojson import DecodeError, decode, decode_failure, encode_plain, match_keys, unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    CRD_KIND,
    CRD_V1,
    CRD_V1BETA1,
    GVK,
    KubernetesObject,
    annotations_of,
    as_text,
    mappings,
    name_of,
    spec_of,
    text,
)
from olmc.k8s.strconv import number_text, quoted
from olmc.k8s.yaml import locate

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Catalog
    from olmc.k8s.diagnostics import Rule
    from olmc.k8s.yaml.pieces import Known


class APIKey(NamedTuple):
    """OLM's name of an API: a GVK with the plural of its resource, "" where that does not matter.

    Two CRDs that serve one kind under different plurals are different APIs to OLM.
    """

    group: str
    version: str
    kind: str
    plural: str = ""

    def __str__(self) -> str:
        return f"{self.group}/{self.version}/{self.kind} ({self.plural})"


def csv_among(objects: Iterable[KubernetesObject]) -> Csv:
    """The first ClusterServiceVersion, one that says nothing if there is none."""
    return Csv(next((obj for obj in objects if obj.get("kind") == CSV_KIND), {}))


def provided_apis(objects: Iterable[KubernetesObject]) -> tuple[APIKey, ...]:
    """The APIs that a bundle's CRDs and the APIServices of its CSV provide, each once, in order."""
    objects = tuple(objects)
    apis = [api for obj in objects if obj.get("kind") == CRD_KIND for api in crd_apis(obj)]
    csv = csv_among(objects)
    apis += [APIKey(*item.api, item.name) for item in csv.owned_apiservices]
    return tuple(dict.fromkeys(apis))


def required_apis(objects: Iterable[KubernetesObject]) -> tuple[APIKey, ...]:
    """The APIs that a bundle's CSV requires, each once, in order.

    Raises ValueError with OLM's text for the name of a CRD without a dot.
    """
    csv = csv_among(objects)
    apis = list(described_crds(csv.required_crds))
    apis += [APIKey(*item.api, item.name) for item in csv.required_apiservices]
    return tuple(dict.fromkeys(apis))


def crd_apis(crd: KubernetesObject) -> list[APIKey]:
    """The APIs of a CRD, one a version, served or not."""
    if crd.get("apiVersion") not in (CRD_V1, CRD_V1BETA1):
        return []
    # A bundle provides each version that its CRD has, even one that no API server will serve (R-CAT-104).
    decoded = Crd(crd)
    versions = [version.name for version in decoded.versions]
    if crd["apiVersion"] == CRD_V1BETA1 and decoded.only_version:
        versions.append(decoded.only_version)
    return list(dict.fromkeys(APIKey(decoded.group, version, decoded.kind, decoded.plural) for version in versions))


def described_crds(descriptions: Iterable[CRDDescription]) -> Iterator[APIKey]:
    """The CRDs that a CSV describes.

    Raises ValueError with OLM's text for a name without a dot.
    """
    for item in descriptions:
        if "." not in item.name:
            raise ValueError(f"couldn't parse plural.group from crd name: {item.name}")
        yield APIKey(*item.api, item.plural)


DEFAULT_DOMAIN = "docker.io"
_LEGACY_DOMAIN = "index.docker.io"
_PATH_LIMIT = 255

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = regex(
    rf"(?:{_DOMAIN}/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)(?::{_TAG})?(?:@(?P<digest>{_DIGEST}))?", re.ASCII
)
# Docker takes as many hexadecimal digits for the id of an image, never for a name.
_IDENTIFIER = regex(r"[a-f0-9]{64}")
_ANY_DIGEST = regex(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_DIGEST_SIZES = {"sha256": 64, "sha384": 96, "sha512": 128}


def pull_spec_problem(spec: str) -> str:
    """Return why `spec` names no image, in the words of Go's docker reference package; "" when it does."""
    if _IDENTIFIER.fullmatch(spec):
        return f"invalid repository name ({spec}), cannot specify 64-byte hexadecimal strings"
    domain, repository = split_domain(spec)
    name = repository.partition(":")[0]
    if name.lower() != name:
        return f"invalid reference format: repository name ({name}) must be lowercase"
    whole = f"{domain}/{repository}"
    match = _REFERENCE.fullmatch(whole)
    if match is None:
        if _REFERENCE.fullmatch(whole.lower()):
            return "repository name must be lowercase"
        return "invalid reference format"
    if len(match["path"]) > _PATH_LIMIT:
        return f"repository name must not be more than {_PATH_LIMIT} characters"
    return _digest_problem(match["digest"]) if match["digest"] else ""


def split_domain(spec: str) -> tuple[str, str]:
    """The registry and the rest, with what Docker leaves out filled in."""
    first, slash, repository = spec.partition("/")
    # `team/app` is an image of Docker Hub: only what can't be the name of a user there is a registry.
    is_domain = slash and (first == "localhost" or "." in first or ":" in first or first.lower() != first)
    domain, repository = (first, repository) if is_domain else (DEFAULT_DOMAIN, spec)
    if domain == _LEGACY_DOMAIN:
        domain = DEFAULT_DOMAIN
    if domain == DEFAULT_DOMAIN and "/" not in repository:
        repository = f"library/{repository}"
    return domain, repository


def _digest_problem(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    size = _DIGEST_SIZES.get(algorithm)
    if size is None:
        return "unsupported digest algorithm" if _ANY_DIGEST.fullmatch(digest) else "invalid checksum digest format"
    if len(value) != size:
        return "invalid checksum digest length"
    return "" if re.fullmatch("[a-f0-9]+", value) else "invalid checksum digest format"


PACKAGE = "olm.package"
PACKAGE_REQUIRED = "olm.package.required"
GVK_PROPERTY = "olm.gvk"
GVK_REQUIRED = "olm.gvk.required"
BUNDLE_OBJECT = "olm.bundle.object"
CSV_METADATA = "olm.csv.metadata"
LABEL = "olm.label"
CONTENT = frozenset({BUNDLE_OBJECT, CSV_METADATA})
"""The types that carry a bundle's content and are never shown to the resolver (R-CAT-129)."""

_GO_TYPES: Mapping[str, str] = {
    PACKAGE: "property.Package",
    PACKAGE_REQUIRED: "property.PackageRequired",
    GVK_PROPERTY: "property.GVK",
    GVK_REQUIRED: "property.GVKRequired",
    # Whether the data are base 64 is seen when they are decoded, which costs more than the rest of a catalog.
    BUNDLE_OBJECT: "property.BundleObject",
    CSV_METADATA: "property.CSVMetadata",
    "olm.channel": "property.Channel",
}
LIST = "[]property.Property"
"""The Go type of a list of properties, by its name in the tables."""


def decode_value(kind: str, value: Any) -> dict[str, Any]:
    """The fields in the value of a property of type `kind`, none if that is not known here. Raises DecodeError."""
    return decode(_GO_TYPES[kind], value) if kind in _GO_TYPES else {}


SoundItems: TypeAlias = set[tuple[tuple[str, ...], int]]
"""Items of lists that could be decoded, by the keys that lead to their list and by their identity."""


def check_metadata(value: Any, sound: SoundItems) -> None:
    """Raise DecodeError where `decode_value` does for an `olm.csv.metadata`.

    What is sound in it becomes known, and what is known is not decoded again: leaving sound items of a list out changes
    nothing for all the others. Values have to live as long as what is known of them.
    """
    new: SoundItems = set()
    try:
        decode(_GO_TYPES[CSV_METADATA], _not_known(value, (), sound, new))
    except DecodeError:
        decode(_GO_TYPES[CSV_METADATA], value)  # which places the error
        raise
    sound |= new


def _not_known(value: Any, keys: tuple[str, ...], sound: SoundItems, new: SoundItems) -> Any:
    """A value without the items that are known to be sound; the others go to `new`."""
    if value.__class__ is list:
        left = [item for item in value if item.__class__ is not dict or (keys, id(item)) not in sound]
        new.update((keys, id(item)) for item in left if item.__class__ is dict)
        return left
    if value.__class__ is dict and len(keys) < _DEPTH_OF_LISTS:
        return {key: _not_known(item, (*keys, key), sound, new) for key, item in value.items()}
    return value


_DEPTH_OF_LISTS = 2  # crdDescriptions.owned


def parse_problem(index: int, kind: str, cause: object) -> str:
    """OLM's text for a property that can't be read (R-CAT-125)."""
    return f"parse property[{index}] of type {quoted(kind)}: {cause}"


def field_texts(kind: str, value: Any, *names: str) -> tuple[str, ...]:
    """The texts of `names` in a sound value of the known type `kind`, "" for what is not there."""
    fields = decode_value(kind, value)
    return tuple([fields[name] for name in names])


def canonical(value: Any) -> Any:
    """Return a JSON value as a catalog serves it: keys sorted at every depth, and each number a float of 64 bits
    (R-CAT-301)."""
    if value.__class__ is dict:
        return {key: canonical(value[key]) for key in sorted(value)}
    if value.__class__ is list:
        return [canonical(item) for item in value]
    if value.__class__ is int and abs(value) > _LARGEST_EXACT:
        return _rounded(value)
    return value


_LARGEST_EXACT = 2**53


def _rounded(number: int) -> int | float:
    """A large number as Go's float64 holds and writes it; one beyond all of these stays as it is."""
    try:
        value = float(number)
    except OverflowError:
        return number
    text = number_text(value)
    return int(text) if text.lstrip("-").isdigit() else value


def raw(value: Any) -> str:
    """A property's value as compact JSON without HTML escaping (R-CAT-301)."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def properties_text(properties: Iterable[Property]) -> str:
    """The text of the annotation `operatorframework.io/properties`: compact JSON, `{}` for none (R-CAT-621)."""
    items = [f'{{"type":{_go_json(prop.type)},"value":{_in_given_order(prop.value)}}}' for prop in properties]
    return '{"properties":[' + ",".join(items) + "]}" if items else "{}"


def _in_given_order(value: Any) -> str:
    """Go's JSON of a value whose uppermost keys keep their order; deeper ones are sorted in every catalog."""
    if not isinstance(value, dict):
        return _go_json(value)
    return "{" + ",".join(f"{_go_json(key)}:{_go_json(item)}" for key, item in value.items()) + "}"


def _go_json(value: Any) -> str:
    return encode_plain(value).decode()


# The problems of a catalog: all at once and with places, the first error in OLM's words.

Keys = tuple[str | int, ...]


class CatalogError(NamedTuple):
    """One thing wrong: the rule broken, where, and the values that fill the rule's message."""

    rule: Rule
    place: Place | None
    values: Mapping[str, object] = MappingProxyType({})

    @property
    def stops(self) -> bool:
        """Return whether it keeps the catalog from being served."""
        return self.rule.severity >= Severity.FAILURE or self.rule == rules.TEMPLATE_BUNDLE

    @property
    def text(self) -> str:
        """The message, which for what stops OLM is OLM's text."""
        return self.rule.message.format(**self.values)

    @property
    def cause(self) -> DecodeFailure | None:
        """Return the failure of a value of a wrong type in Go, None for other problems."""
        cause = self.values.get("cause")
        return decode_failure(cause) if isinstance(cause, DecodeError) else None


def below(place: Place | None, *keys: str | int) -> Place | None:
    """The place to which `keys` lead from `place`, None for none."""
    return Place(place.source, (*place.keys, *keys)) if place is not None else None


def location_of(place: Place | None) -> Location | None:
    """The line and column of a place."""
    return locate(place.source, place.keys) if place is not None else None


def report_errors(errors: Iterable[CatalogError], report: Report, known: Known | None = None) -> None:
    """Report errors where they stand; `known` is what the files of the catalog were read with."""
    for error in errors:
        from olmc.k8s.yaml.pieces import locate_in_pieces  # most catalogs have no errors

        place = error.place
        location = location_of(place) if place is None or known is None else locate_in_pieces(*place, known)
        diagnostic = error.rule.finding(location, related=(), **error.values)
        report.add(diagnostic.caused_by(error.cause))


def unavailable(problem: str, place: Place | None = None) -> Catalog:
    """The catalog that can't be served because of `problem`."""
    return Catalog({}, problem, place)


# Which packages of a catalog have what others may ask for, so that only these are looked at.

Row: TypeAlias = tuple[str, str, str, Sequence[Property]]
"""An entry as far as the index is concerned: its package, channel and name, and the properties of its bundle."""


def indexed(entries: Sequence[Candidate]) -> ServedEntries:
    """Entries by package, in the order given within each."""
    if isinstance(entries, ServedEntries):
        return entries
    packages: dict[str, list[Candidate]] = {}
    for entry in sorted(entries, key=lambda entry: entry.package):
        packages.setdefault(entry.package, []).append(entry)
    rows = (
        (entry.package, entry.channel, entry.name, entry.properties) for each in packages.values() for entry in each
    )
    return ServedEntries(index_of(rows), lambda package: packages[package])


def rows_of(packages: Mapping[str, Package]) -> Iterator[Row]:
    """The entries of packages, those of one package after the other, without what is derived from their properties."""
    for name, package in sorted(packages.items()):
        properties = {csv: _with_package(bundle) for csv, bundle in package.bundles.items()}
        for channel in package.channels.values():
            for entry in channel.entries:
                if entry.name in properties:
                    yield name, channel.name, entry.name, properties[entry.name]


def _with_package(bundle: CatalogBundle) -> tuple[Property, ...]:
    """The properties of a bundle with the one that every entry has, if they lack it."""
    if any(prop.type == PACKAGE for prop in bundle.properties):
        return bundle.properties
    return (*bundle.properties, Property(PACKAGE, {"packageName": bundle.package, "version": bundle.version}))


def index_of(rows: Iterable[Row]) -> CatalogIndex:
    """Return an index of packages by properties; the entries come package by package in order."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    names: dict[str, dict[str, None]] = {}
    offers: dict[str, dict[Any, dict[str, None]]] = {GVK_PROPERTY: {}, PACKAGE: {}, LABEL: {}}
    read: dict[int, tuple[Property, Any]] = {}
    seen: dict[tuple[str, int], Sequence[Property]] = {}
    for package, channel, name, properties in rows:
        counts[package] += 1
        times[f"{channel}/{name}"] += 1
        names.setdefault(name, {})[package] = None
        if (package, id(properties)) in seen:
            continue
        seen[package, id(properties)] = properties  # kept, so that nothing else gets its identity
        for prop in properties:
            if prop.type in offers:
                if id(prop) not in read:
                    read[id(prop)] = prop, _offer(prop)
                offer = read[id(prop)][1]
                if offer is not None:
                    offers[prop.type].setdefault(offer, {})[package] = None
    apis, packages, labels = (
        {offer: tuple(having) for offer, having in offers[kind].items()} for kind in (GVK_PROPERTY, PACKAGE, LABEL)
    )
    copies = {identifier: number for identifier, number in times.items() if number > 1}
    return CatalogIndex(
        dict(counts), {name: tuple(having) for name, having in names.items()}, apis, packages, labels, copies
    )


def _offer(prop: Property) -> Any:
    """Return the part of a property that others may require; None for one that can't be decoded, which OLM ignores."""
    try:
        fields = decode(prop.type, prop.value)
    except DecodeError:
        return None
    if prop.type == GVK_PROPERTY:
        return GVK(**fields)
    return fields["packageName" if prop.type == PACKAGE else "label"]


# A bundle directory as the entry of a catalog that opm would render from it (R-CAT-110 … R-CAT-112, R-CAT-300).

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
    properties += _gvks(GVK_PROPERTY, provided_apis(bundle.objects))
    # Properties that people wrote come before those of the CSV and the CRDs; the first of two equal ones stays.
    distinct: dict[tuple[str, str], Property] = {}
    for prop in properties:
        distinct.setdefault((prop.type, raw(prop.value)), prop)
    return list(distinct.values())


def _item(value: Mapping[str, Any]) -> Property:
    item = match_keys(value, _ITEM)
    return Property(as_text(item.get("type")), canonical(item.get("value")))


def _package_property(package: str, version: str, release: str) -> Property:
    value = {"packageName": package, "version": version}
    return Property(PACKAGE, {**value, "release": release} if release else value)


def _annotation_properties(bundle: UncataloguedBundle, report: Report) -> list[Property]:
    """The properties in the CSV's annotation `olm.properties` (point 3)."""
    text = bundle.annotations.get(_PROPERTIES)
    if not isinstance(text, str):
        return []
    try:
        return [_item(item) for item in decode(LIST, unmarshal(text)) or ()]
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
        if prop.type == PACKAGE:
            fields = _fields(index, prop)
            # The last one counts, and it alone is written (R-CAT-300, point 5).
            package = _package_property(fields["packageName"], fields["version"], fields["release"])
        elif prop.type == GVK_PROPERTY:
            apis.append(APIKey(**_fields(index, prop)))
        else:
            yield prop
    yield package or _package_property(bundle.package, bundle.version, release_of(bundle))
    yield from _gvks(GVK_PROPERTY, [*apis, *provided_apis(bundle.objects)])


def _fields(index: int, item: Property) -> dict[str, str]:
    try:
        return decode_value(item.type, item.value)
    except DecodeError as error:
        raise ValueError(parse_problem(index, item.type, error)) from None


def _requirements(bundle: UncataloguedBundle, report: Report) -> Iterator[Property]:
    """The properties that dependencies and required APIs become (points 7 and 8)."""
    apis: list[APIKey] = []
    for index, dependency in enumerate(bundle.dependencies):
        item = _item(dependency)
        if item.type == GVK_PROPERTY:
            apis.append(APIKey(**_fields(index, item)))
        elif item.type == PACKAGE:
            fields = _fields(index, item)
            value = {"packageName": fields["packageName"], "versionRange": fields["version"]}
            yield Property(PACKAGE_REQUIRED, value)
        else:
            # A label that is required becomes one that is offered, as opm writes it: the requirement is lost (D14).
            if item.type == LABEL:
                label = item.value.get("label") if isinstance(item.value, dict) else item.value
                report_errors(
                    [CatalogError(rules.LABEL_DEPENDENCY, bundle.location, {"bundle": bundle.name, "label": label})],
                    report,
                )
            yield item
    yield from _gvks(GVK_REQUIRED, [*apis, *required_apis(bundle.objects)])


def _sorted(properties: Iterable[Property]) -> tuple[Property, ...]:
    return tuple(sorted(properties, key=lambda prop: (prop.type, raw(prop.value))))


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
