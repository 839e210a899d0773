"""Properties of bundles: what the values of known types look like, how values are written (R-CAT-125, R-CAT-301)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from olmc.gojson import decode, encode_plain
from olmc.model.catalog import Property
from olmc.strconv import quoted

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
    items = [f'{{"type":{_go_json(each.type)},"value":{_in_given_order(each.value)}}}' for each in properties]
    return '{"properties":[' + ",".join(items) + "]}" if items else "{}"


def _in_given_order(value: Any) -> str:
    """Go's JSON of a value whose uppermost keys keep their order; deeper ones are sorted in every catalog."""
    if not isinstance(value, dict):
        return _go_json(value)
    return "{" + ",".join(f"{_go_json(key)}:{_go_json(item)}" for key, item in value.items()) + "}"


def _go_json(value: Any) -> str:
    return encode_plain(value).decode()
