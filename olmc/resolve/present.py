"""The properties of CSVs that exist already (R-CAT-310)."""

from __future__ import annotations

from collections.abc import Set

from olmc.golang.unmarshal import unmarshal
from olmc.load.catalogs.properties import LIST
from olmc.load.catalogs.shapes import renamed, struct
from olmc.model.catalog import Property
from olmc.model.operators import APIKey, Csv
from olmc.profiles.ownership import PROPERTIES

_ANNOTATION = struct("projection.propertiesAnnotation", {"properties": LIST})


class UnreadablePropertiesError(ValueError):
    """The annotation with a CSV's properties is not the JSON that it should be, or a CRD has no name to be read."""


def csv_properties(csv: Csv, packages: Set[str]) -> tuple[Property, ...]:
    """The properties of an existing CSV: those of its annotation, else what its APIs say.

    `packages` are the packages of the Subscriptions that have it installed. Raises UnreadablePropertiesError.
    """
    text = csv.annotations.get(PROPERTIES)
    if text is not None:
        return _annotated(csv.name, text)
    for item in (*csv.owned_crds, *csv.required_crds):
        if "." not in item.name:
            raise UnreadablePropertiesError(f"error parsing crd name: {item.name}")
    found = [Property("olm.gvk", _gvk(api.key)) for api in csv.owned_apis]
    found += [Property("olm.gvk.required", _gvk(api)) for api in csv.required_apis]
    if len(packages) == 1:
        version = "" if csv.version == "0.0.0" else csv.version
        value = {"packageName": next(iter(packages)), "version": version}
        found.append(Property("olm.package", value))
    return tuple(found)


def _annotated(name: str, text: str) -> tuple[Property, ...]:
    problem = f'failed to retrieve properties of csv "{name}": failed to unmarshal properties annotation: '
    try:
        value = unmarshal(text)
    except ValueError as error:
        raise UnreadablePropertiesError(f"{problem}{error}") from error
    misfit = _ANNOTATION(value)
    if misfit is not None:
        raise UnreadablePropertiesError(f"{problem}{misfit}")
    listed = renamed(value or {}, frozenset({"properties"})).get("properties")
    items = [renamed(item or {}, frozenset({"type", "value"})) for item in listed or ()]
    return tuple(Property(item.get("type") or "", item.get("value")) for item in items)


def _gvk(api: APIKey) -> dict[str, str]:
    return {"group": api.group, "kind": api.kind, "version": api.version}
