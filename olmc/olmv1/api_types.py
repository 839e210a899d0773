"""The kinds of `olm.operatorframework.io/v1`: manifests → typed values (R-V1-CE-1, R-V1-CC-1).

What a manifest says goes in; `ClusterExtension` and `ClusterCatalog` come out, defaults filled in, and what the API
server would refuse as `FieldError`s in its own words. The standard CRDs lack some fields, which they drop silently.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from olmc.kube.api_validation.cel_values import with_rules
from olmc.kube.api_validation.field import FieldError
from olmc.kube.api_validation.schema_values import value_errors
from olmc.lean import NamedTuple, regex
from olmc.model.objects import as_text, mapping, mappings, name_of, spec_of, text, texts

METADATA_NAME = "olm.operatorframework.io/metadata.name"
SELF_CERTIFIED = "SelfCertified"
_IMAGE = regex(r"Installed bundle (\S+) successfully")  # the only place where the image stands


class InstalledBundle(NamedTuple):
    """What `status.install.bundle` of a ClusterExtension names; `release` is None where there is no such field."""

    name: str
    version: str
    release: str | None = None
    image: str = ""


class CatalogFilter(NamedTuple):
    """What a ClusterExtension asks catalogs for: `version` is None where any will do, `selector` the catalogs'."""

    package: str
    version: str | None = None
    channels: tuple[str, ...] = ()
    selector: Mapping[str, Any] = {}
    policy: str = "CatalogProvided"


class ClusterExtension(NamedTuple):
    """A ClusterExtension (R-V1-CE-1): `config` is what it sets inline, None for nothing; `installed` what is there."""

    name: str
    namespace: str
    service_account: str
    source: CatalogFilter
    checks_crds: bool = True
    config: Mapping[str, Any] | None = None
    progress_deadline: int | None = None
    installed: InstalledBundle | None = None


class ClusterCatalog(NamedTuple):
    """A ClusterCatalog (R-V1-CC-1): `labels` with the one that bears its name (R-V1-CC-2)."""

    name: str
    labels: Mapping[str, str]
    image: str = ""
    priority: int = 0
    available: bool = True


def api_errors(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[FieldError]:
    """What the API server finds wrong with an object of one of the kinds, or with changing `old` to it."""
    schema = _data()["schemas"][obj["kind"]]
    whole = without_status(obj)
    before = None if old is None else without_status(old)
    return with_rules(value_errors(schema, whole), schema, whole, before)


def refusal(obj: Mapping[str, Any], errors: Sequence[FieldError]) -> str:
    """How the API's client prints errors of an object: one behind the sentence, several as a list."""
    head = f'The {obj["kind"]} "{name_of(obj)}" is invalid: '
    return head + (str(errors[0]) if len(errors) == 1 else "".join(f"\n* {error}" for error in errors))


def ignored_fields(obj: Mapping[str, Any]) -> list[str]:
    """The fields of the spec that the standard CRD drops (R-V1-CE-1)."""
    return [field for field in _data()["experimental"].get(obj["kind"], ()) if field in spec_of(obj)]


def unknown_fields(obj: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """The keys that lead to each field of the spec that no CRD has, so that the API server drops it, and the fields
    that there are in its place."""
    schema = _data()["schemas"][obj["kind"]]["properties"]["spec"]
    yield from _unknown(obj.get("spec"), schema, ("spec",))


def _unknown(value: Any, schema: Mapping[str, Any], keys: tuple[str | int, ...]) -> Iterator[Any]:
    properties = schema.get("properties", {})
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items", {}), (*keys, index))
    elif isinstance(value, Mapping) and properties:
        for key, below in value.items():
            if key in properties:
                yield from _unknown(below, properties[key], (*keys, key))
            else:
                yield (*keys, key), list(properties)


def without_status(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object as one that is created: its status is written by another way."""
    return {key: value for key, value in obj.items() if key != "status"}


def cluster_extension(obj: Mapping[str, Any], *, experimental: bool = True) -> ClusterExtension:
    """The ClusterExtension that an object without errors is, as the experimental or the standard CRD keeps it."""
    spec = spec_of(obj)
    catalog = mapping(mapping(spec.get("source")).get("catalog"))
    source = CatalogFilter(
        text(catalog.get("packageName")),
        as_text(catalog["version"]) if catalog.get("version") is not None else None,
        tuple(texts(catalog.get("channels"))),
        mapping(catalog.get("selector")),
        text(catalog.get("upgradeConstraintPolicy")) or "CatalogProvided",
    )
    preflight = mapping(mapping(spec.get("install")).get("preflight"))
    inline = mapping(spec.get("config")).get("inline") if experimental else None
    return ClusterExtension(
        name_of(obj),
        text(spec.get("namespace")),
        text(mapping(spec.get("serviceAccount")).get("name")),
        source,
        text(mapping(preflight.get("crdUpgradeSafety")).get("enforcement")) != "None",
        inline if isinstance(inline, Mapping) else None,
        spec.get("progressDeadlineMinutes") if experimental else None,
        _installed(obj),
    )


def _installed(obj: Mapping[str, Any]) -> InstalledBundle | None:
    bundle = mapping(mapping(mapping(obj.get("status")).get("install")).get("bundle"))
    if not text(bundle.get("name")):
        return None
    release = bundle.get("release")
    messages = (text(condition.get("message")) for condition in mappings(mapping(obj.get("status")).get("conditions")))
    images = (match[1] for message in messages if (match := _IMAGE.fullmatch(message)))
    known = release if isinstance(release, str) else None
    return InstalledBundle(bundle["name"], as_text(bundle.get("version")), known, next(images, ""))


def cluster_catalog(obj: Mapping[str, Any]) -> ClusterCatalog:
    """The ClusterCatalog that an object without errors is, with the label that a webhook sets (R-V1-CC-2)."""
    spec, name = spec_of(obj), name_of(obj)
    labels = {key: as_text(value) for key, value in mapping(mapping(obj.get("metadata")).get("labels")).items()}
    priority = spec.get("priority")
    return ClusterCatalog(
        name,
        {**labels, METADATA_NAME: name},
        text(mapping(mapping(spec.get("source")).get("image")).get("ref")),
        priority if isinstance(priority, int) else 0,
        spec.get("availabilityMode") != "Unavailable",
    )


@cache
def _data() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / "api_schemas.json").read_text(encoding="utf-8"))
    return content
