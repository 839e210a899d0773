"""PackageManifests: what the catalogs of a cluster offer (R-CAT-800 … R-CAT-809)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.catalogs.content import csv_of
from olmc.catalogs.model_checks import heads as head_names
from olmc.diagnostics.rules import proposed as rules
from olmc.gojson import DecodeError, decode
from olmc.lean import NamedTuple
from olmc.model.catalog import Channel, Package
from olmc.model.cluster import CatalogSource, Cluster
from olmc.model.diagnostics import Report
from olmc.model.objects import (
    KubernetesObject,
    as_text,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    spec_of,
    text,
)
from olmc.model.operators import Csv
from olmc.proposed.installed.csv_origins import UNKNOWN
from olmc.proposed.installed.resources import PACKAGE_MANIFESTS, Listed
from olmc.semver import Version, VersionError, parse_strict
from olmc.yaml import locate

DEPRECATED = "olm.deprecated"

_CRD_FIELDS = ("name", "version", "kind", "displayName", "description")
_API_FIELDS = ("name", "group", "version", "kind", "displayName", "description")
_ALWAYS_WRITTEN = frozenset({"version", "provider", "customresourcedefinitions", "apiservicedefinitions"})
_PLATFORM = {
    "operatorframework.io/os": "operatorframework.io/os.linux",
    "operatorframework.io/arch": "operatorframework.io/arch.amd64",
}


class PackageOffer(NamedTuple):
    """A package as one catalog offers it: its PackageManifest without icons, and the icons of its channels, by name."""

    catalog: str
    listed: Listed
    icons: Mapping[str, tuple[Mapping[str, Any], ...]]

    @property
    def key(self) -> tuple[str, str, str]:
        """What decides which of several of one name is served (R-CAT-801)."""
        return (self.catalog, self.listed.namespace, self.listed.name)


def offers(cluster: Cluster, report: Report) -> tuple[PackageOffer, ...]:
    """One for each package of each catalog that can be served (R-CAT-800), by name and catalog.

    Packages without one, since no channel has a head with a CSV (R-CAT-803), are reported.
    """
    found: list[PackageOffer] = []
    for source in cluster.catalogs.values():
        if source.catalog is None or source.problem:
            continue
        for package in source.catalog.packages.values():
            heads = _heads(package)
            if heads:
                found.append(_offer(source, package, heads))
            else:
                place = locate(package.location.source, package.location.keys) if package.location else None
                report.add(rules.NO_CHANNELS.finding(place, package=package.name, catalog=source.key.name))
    return tuple(sorted(found, key=lambda offer: (offer.listed.name, *offer.key)))


def offers_in(
    found: tuple[PackageOffer, ...], namespace: str | None, global_namespace: str
) -> tuple[PackageOffer, ...]:
    """What a namespace sees: its own catalogs and the global ones, as if they were its own (R-CAT-801).

    For all namespaces (None) every offer in its own one. By namespace, name and catalog.
    """
    if namespace is None:
        return tuple(sorted(found, key=lambda each: (each.listed.namespace, each.listed.name, each.key)))
    seen = (each for each in found if each.listed.namespace in (namespace, global_namespace))
    if namespace == global_namespace:
        return tuple(seen)
    return tuple(each._replace(listed=_moved(each.listed, namespace)) for each in seen)


def _moved(listed: Listed, namespace: str) -> Listed:
    metadata = {**listed.object["metadata"], "namespace": namespace}
    return listed._replace(object={**listed.object, "metadata": metadata})


def first_called(found: tuple[PackageOffer, ...], name: str) -> PackageOffer | None:
    """The one that a GET by name gets, of several the one with the lowest catalog (R-CAT-801)."""
    return min((each for each in found if each.listed.name == name), key=lambda each: each.key, default=None)


def icon_of(offer: PackageOffer) -> tuple[Mapping[str, Any] | None, str]:
    """The first icon of the default channel, and the channel with its CSV, by which clients know the icon again."""
    status = offer.listed.object["status"]
    default = status["defaultChannel"]
    current = next(each["currentCSV"] for each in status["channels"] if each["name"] == default)
    return next(iter(offer.icons[default]), None), f"{offer.listed.name}.{default}.{current}"


def with_icons(offer: PackageOffer) -> PackageOffer:
    """The offer with the icons in its PackageManifest (R-CAT-805)."""
    obj = offer.listed.object
    channels = [_with_icons(channel, offer.icons[channel["name"]]) for channel in obj["status"]["channels"]]
    shown = {**obj, "status": {**obj["status"], "channels": channels}}
    return offer._replace(listed=offer.listed._replace(object=shown))


def _with_icons(channel: Mapping[str, Any], icons: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    if not icons:
        return dict(channel)
    return {**channel, "currentCSVDesc": {**channel["currentCSVDesc"], "icon": [dict(icon) for icon in icons]}}


class _Head(NamedTuple):
    """A channel and the CSV at its head, as OLM's types keep it."""

    channel: Channel
    csv: KubernetesObject

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.csv)


def _heads(package: Package) -> list[_Head]:
    """The channels, by name, whose head has a CSV that OLM can read (R-CAT-803)."""
    found = []
    for _, channel in sorted(package.channels.items()):
        names = head_names(channel.entries)
        bundle = package.bundles.get(names[0]) if names else None
        csv = csv_of(package, bundle, Report()) if bundle is not None else None
        if csv is None:
            continue
        try:
            found.append(_Head(channel, decode("ClusterServiceVersion", csv)))
        except DecodeError:
            continue
    return found


def _offer(source: CatalogSource, package: Package, found: Sequence[_Head]) -> PackageOffer:
    names = [head.channel.name for head in found]
    default = package.default_channel if package.default_channel in names else names[0]
    main = next(head for head in found if head.channel.name == default)
    given = source.manifest or {}
    spec = spec_of(given)
    messages = {(each.schema, each.name): each.message for each in package.deprecations}
    # Fields that Go writes without omitempty are there even when they are empty (R-CAT-802).
    status: dict[str, Any] = {
        "catalogSource": source.key.name,
        "catalogSourceDisplayName": as_text(spec.get("displayName")),
        "catalogSourcePublisher": as_text(spec.get("publisher")),
        "catalogSourceNamespace": source.key.namespace,
        "provider": _link(main.spec.get("provider")),
        "packageName": package.name,
        **_deprecation(messages.get(("olm.package", ""))),
        "channels": [_channel(head, package, messages) for head in found],
        "defaultChannel": default,
    }
    metadata = {"name": package.name, "namespace": source.key.namespace, "labels": _labels(source, main)}
    created = metadata_of(given).get("creationTimestamp")
    if created:
        metadata["creationTimestamp"] = created
    obj = {
        "apiVersion": PACKAGE_MANIFESTS.api_version,
        "kind": PACKAGE_MANIFESTS.kind,
        "metadata": metadata,
        "spec": {},
        "status": status,
    }
    current = name_of(main.csv)
    cells = (package.name, status["catalogSourceDisplayName"], UNKNOWN, default, current)
    icons = {head.channel.name: tuple(mappings(head.spec.get("icon"))) for head in found}
    return PackageOffer(source.key.name, Listed(obj, cells), icons)


def _channel(head: _Head, package: Package, messages: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """R-CAT-804."""
    return {
        "name": head.channel.name,
        "currentCSV": name_of(head.csv),
        "currentCSVDesc": _description(head),
        **_deprecation(messages.get(("olm.channel", head.channel.name))),
        "entries": _entries(head.channel, package, messages) or None,
    }


def _entries(channel: Channel, package: Package, messages: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """The entries that can be installed, the highest version first (R-CAT-804)."""
    served = [bundle for entry in channel.entries if (bundle := package.bundles.get(entry.name)) is not None]
    served = [bundle for bundle in served if all(each.type != DEPRECATED for each in bundle.properties)]
    served.sort(key=lambda bundle: bundle.name)
    served.sort(key=lambda bundle: _version(bundle.version), reverse=True)
    return [
        {
            "name": bundle.name,
            **({"version": bundle.version} if bundle.version else {}),
            **_deprecation(messages.get(("olm.bundle", bundle.name))),
        }
        for bundle in served
    ]


def _version(text: str) -> Version:
    try:
        return parse_strict(text)
    except VersionError:
        return parse_strict("0.0.0")


def _deprecation(message: str | None) -> dict[str, Any]:
    """The raw message (R-CAT-806)."""
    return {"deprecation": {"message": message}} if message is not None else {}


def _description(head: _Head) -> dict[str, Any]:
    """What is shown of the CSV at the head of a channel (R-CAT-805), in the order of OLM's type."""
    spec = head.spec
    fields: dict[str, Any] = {
        "displayName": spec.get("displayName"),
        "version": spec.get("version"),
        "provider": _link(spec.get("provider")),
        "annotations": head.csv["metadata"].get("annotations"),
        "keywords": spec.get("keywords"),
        "links": [_link(each) for each in mappings(spec.get("links"))],
        "maintainers": [_fields(each, ("name", "email")) for each in mappings(spec.get("maintainers"))],
        "maturity": spec.get("maturity"),
        "description": spec.get("description"),
        "installModes": spec.get("installModes"),
        "customresourcedefinitions": _apis(spec.get("customresourcedefinitions"), _CRD_FIELDS),
        "apiservicedefinitions": _apis(spec.get("apiservicedefinitions"), _API_FIELDS),
        "nativeApis": spec.get("nativeAPIs"),
        "minKubeVersion": spec.get("minKubeVersion"),
        "relatedImages": _images(Csv(head.csv)),
    }
    return {key: value for key, value in fields.items() if value or key in _ALWAYS_WRITTEN}


def _link(value: Mapping[str, Any] | None) -> dict[str, Any]:
    return _fields(value or {}, ("name", "url"))


def _fields(value: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names if value.get(name)}


def _apis(described: Mapping[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any]:
    """Owned and required APIs with nothing but their names and texts."""
    found = {}
    for relation in ("owned", "required"):
        listed = mappings(mapping(described).get(relation))
        if listed:
            found[relation] = [{"name": "", "version": "", "kind": "", **_fields(each, names)} for each in listed]
    return found


def _images(csv: Csv) -> list[str]:
    """The images of the CSV's containers and its related images, each once, sorted."""
    images = {text(item.get("image")) for item in mappings(csv.spec.get("relatedImages"))}
    for pod in (deployment.pod for deployment in csv.deployments):
        for container in mappings(pod.get("containers")) + mappings(pod.get("initContainers")):
            images.add(text(container.get("image")))
    return sorted(images - {""})


def _labels(source: CatalogSource, main: _Head) -> dict[str, str]:
    """R-CAT-808."""
    provider = _link(main.spec.get("provider"))
    labels = {
        **labels_of(source.manifest or {}),
        "catalog": source.key.name,
        "catalog-namespace": source.key.namespace,
        "provider": provider.get("name", ""),
        "provider-url": provider.get("url", ""),
        **labels_of(main.csv),
    }
    for prefix, label in _PLATFORM.items():
        if not any(key.startswith(prefix) for key in labels):
            labels[label] = "supported"
    return dict(sorted(labels.items()))
