"""The properties of CSVs that exist already (R-CAT-310)."""

from __future__ import annotations

import json
from collections.abc import Set

from olmc.model.catalog import Property
from olmc.model.operators import APIKey, Csv
from olmc.profiles.ownership import PROPERTIES


class UnreadablePropertiesError(ValueError):
    """The annotation with a CSV's properties is not the JSON that it should be."""


def csv_properties(csv: Csv, packages: Set[str]) -> tuple[Property, ...]:
    """The properties of an existing CSV: those of its annotation, else what its APIs say.

    `packages` are the packages of the Subscriptions that have it installed. Raises UnreadablePropertiesError.
    """
    text = csv.annotations.get(PROPERTIES)
    if text:
        return _annotated(csv.name, text)
    found = [Property("olm.gvk", _gvk(api.key)) for api in csv.owned_apis]
    for item in csv.crd_descriptions("required"):
        group = str(item.get("name") or "").partition(".")[2]
        key = APIKey(group, item.get("version") or "", item.get("kind") or "")
        found.append(Property("olm.gvk.required", _gvk(key)))
    for item in csv.apiservice_descriptions("required"):
        key = APIKey(item.get("group") or "", item.get("version") or "", item.get("kind") or "")
        found.append(Property("olm.gvk.required", _gvk(key)))
    if len(packages) == 1:
        version = str(csv.spec.get("version") or "")
        value = {"packageName": next(iter(packages)), "version": "" if version == "0.0.0" else version}
        found.append(Property("olm.package", value))
    return tuple(found)


def _annotated(name: str, text: str) -> tuple[Property, ...]:
    problem = f'failed to retrieve properties of csv "{name}": failed to unmarshal properties annotation: '
    try:
        listed = (json.loads(text) or {}).get("properties") or []
        return tuple(Property(str(item["type"]), item["value"]) for item in listed)
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise UnreadablePropertiesError(problem + str(error)) from error


def _gvk(api: APIKey) -> dict[str, str]:
    return {"group": api.group, "kind": api.kind, "version": api.version}
