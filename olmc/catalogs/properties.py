"""Properties of bundles, the APIs that stand behind them, and image pull specs (R-CAT-104, R-CAT-125, R-CAT-301)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from olmc.gojson import DecodeError, decode, encode_plain
from olmc.kube.restmapper import Crd
from olmc.lean import NamedTuple, regex
from olmc.model.catalog import Property
from olmc.model.objects import CRD_KIND, CRD_V1, CRD_V1BETA1, KubernetesObject
from olmc.model.operators import CSV_KIND, CRDDescription, Csv
from olmc.strconv import quoted


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
    """Why `spec` names no image, in the words of Go's docker reference package; "" when it does."""
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
GVK = "olm.gvk"
GVK_REQUIRED = "olm.gvk.required"
BUNDLE_OBJECT = "olm.bundle.object"
CSV_METADATA = "olm.csv.metadata"
LABEL = "olm.label"
CONTENT = frozenset({BUNDLE_OBJECT, CSV_METADATA})
"""The types that carry a bundle's content and are never shown to the resolver (R-CAT-129)."""

_GO_TYPES: Mapping[str, str] = {
    PACKAGE: "property.Package",
    PACKAGE_REQUIRED: "property.PackageRequired",
    GVK: "property.GVK",
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
    """A JSON value as a catalog serves it: keys sorted at every depth, whatever the file had (R-CAT-301)."""
    if value.__class__ is dict:
        return {key: canonical(value[key]) for key in sorted(value)}
    if value.__class__ is list:
        return [canonical(item) for item in value]
    return value


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
