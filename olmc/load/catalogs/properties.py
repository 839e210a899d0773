"""Properties of bundles: what the values of known types look like, how values are written (R-CAT-125, R-CAT-301)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from olmc.golang.encode import encode_plain
from olmc.golang.numbers import quoted
from olmc.load.catalogs.shapes import Misfit, Shape, anything, flag, integer, list_of, map_of, renamed, struct, text
from olmc.model.catalog import Property

PACKAGE = "olm.package"
PACKAGE_REQUIRED = "olm.package.required"
GVK = "olm.gvk"
GVK_REQUIRED = "olm.gvk.required"
BUNDLE_OBJECT = "olm.bundle.object"
CSV_METADATA = "olm.csv.metadata"
LABEL = "olm.label"
CONTENT = frozenset({BUNDLE_OBJECT, CSV_METADATA})
"""The types that carry a bundle's content and are never shown to the resolver (R-CAT-129)."""

_TEXTS = list_of(text, "[]string")
_LINK = struct("v1alpha1.AppLink", {"name": text, "url": text})
_DESCRIPTOR = {"path": text, "displayName": text, "description": text, "x-descriptors": _TEXTS, "value": anything}
_DESCRIPTIONS: dict[str, Shape] = {
    "resources": list_of(
        struct("v1alpha1.APIResourceReference", {"name": text, "kind": text, "version": text}),
        "[]v1alpha1.APIResourceReference",
    ),
    "statusDescriptors": list_of(struct("v1alpha1.StatusDescriptor", _DESCRIPTOR), "[]v1alpha1.StatusDescriptor"),
    "specDescriptors": list_of(struct("v1alpha1.SpecDescriptor", _DESCRIPTOR), "[]v1alpha1.SpecDescriptor"),
    "actionDescriptors": list_of(struct("v1alpha1.ActionDescriptor", _DESCRIPTOR), "[]v1alpha1.ActionDescriptor"),
    **dict.fromkeys(("name", "version", "kind", "displayName", "description"), text),
}
_CRDS = list_of(struct("v1alpha1.CRDDescription", _DESCRIPTIONS), "[]v1alpha1.CRDDescription")
_API_SERVICES = list_of(
    struct(
        "v1alpha1.APIServiceDescription",
        {**_DESCRIPTIONS, "group": text, "deploymentName": text, "containerPort": integer},
    ),
    "[]v1alpha1.APIServiceDescription",
)
_GVK_FIELDS: dict[str, Shape] = {"group": text, "kind": text, "version": text}
_CSV_METADATA = struct(
    "property.CSVMetadata",
    {
        "annotations": map_of(text, "map[string]string"),
        "apiServiceDefinitions": struct(
            "v1alpha1.APIServiceDefinitions", {"owned": _API_SERVICES, "required": _API_SERVICES}
        ),
        "crdDescriptions": struct("v1alpha1.CustomResourceDefinitions", {"owned": _CRDS, "required": _CRDS}),
        "installModes": list_of(
            struct("v1alpha1.InstallMode", {"type": text, "supported": flag}), "[]v1alpha1.InstallMode"
        ),
        "keywords": _TEXTS,
        "labels": map_of(text, "map[string]string"),
        "links": list_of(_LINK, "[]v1alpha1.AppLink"),
        "maintainers": list_of(struct("v1alpha1.Maintainer", {"name": text, "email": text}), "[]v1alpha1.Maintainer"),
        "nativeAPIs": list_of(struct("v1.GroupVersionKind", _GVK_FIELDS), "[]v1.GroupVersionKind"),
        "provider": _LINK,
        **dict.fromkeys(("description", "displayName", "maturity", "minKubeVersion"), text),
    },
)
_SHAPES: Mapping[str, Shape] = {
    PACKAGE: struct("property.Package", {"packageName": text, "version": text, "release": text}),
    PACKAGE_REQUIRED: struct("property.PackageRequired", {"packageName": text, "versionRange": text}),
    GVK: struct("property.GVK", _GVK_FIELDS),
    GVK_REQUIRED: struct("property.GVKRequired", _GVK_FIELDS),
    # Whether the data are base 64 is seen when they are decoded, which costs more than the rest of a catalog.
    BUNDLE_OBJECT: struct("property.BundleObject", {"data": text}),
    CSV_METADATA: _CSV_METADATA,
    "olm.channel": struct("property.Channel", {"channelName": text, "priority": integer}),
}
LIST = list_of(struct("property.Property", {"type": text, "value": anything}), "[]property.Property")
"""The shape of a list of properties."""

_MISSING = object()

_FIELDS: Mapping[str, frozenset[str]] = {
    PACKAGE: frozenset({"packageName", "version", "release"}),
    PACKAGE_REQUIRED: frozenset({"packageName", "versionRange"}),
    GVK: frozenset(_GVK_FIELDS),
    GVK_REQUIRED: frozenset(_GVK_FIELDS),
}


def misfit_of(kind: str, value: Any = _MISSING) -> Misfit | None:
    """What is wrong with the value of a property of type `kind`, None when nothing is; no value for an absent one."""
    if value is _MISSING:
        return Misfit((), cause="unexpected end of JSON input")
    shape = _SHAPES.get(kind)
    return shape(value) if shape is not None else None


def parse_problem(index: int, kind: str, misfit: Misfit) -> str:
    """OLM's text for a property that can't be read (R-CAT-125)."""
    return f"parse property[{index}] of type {quoted(kind)}: {misfit}"


def field_texts(kind: str, value: Any, *names: str) -> tuple[str, ...]:
    """The texts of `names` in a sound value of the known type `kind`, "" for what is not there."""
    if value is None:
        return ("",) * len(names)
    fields = renamed(value, _FIELDS[kind])
    return tuple([fields.get(name) or "" for name in names])


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
