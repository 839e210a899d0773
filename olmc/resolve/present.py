"""The properties of CSVs that exist already (R-CAT-310)."""

from __future__ import annotations

from collections.abc import Set

from olmc.gojson import decode, unmarshal
from olmc.model.catalog import Property
from olmc.model.gvk import GVK
from olmc.model.operators import Csv
from olmc.profiles.ownership import PROPERTIES


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
        annotation = decode("projection.propertiesAnnotation", unmarshal(text))
    except ValueError as error:
        raise UnreadablePropertiesError(f"{problem}{error}") from error
    return tuple(Property(item["type"], item.get("value")) for item in annotation["properties"] or ())


def _gvk(api: GVK) -> dict[str, str]:
    return {"group": api.group, "kind": api.kind, "version": api.version}
