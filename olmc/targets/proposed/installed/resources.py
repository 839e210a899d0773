"""The resources of packages.operators.coreos.com: names, columns, the objects that register their API server, and the
channel, catalog and next version of each CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmc.compiler.catalogs.content import csv_of
from olmc.compiler.catalogs.content import heads as head_names
from olmc.compiler.model.catalog import Candidate, Channel, Package, named
from olmc.compiler.model.cluster import CatalogSource, Cluster, NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.naming import CSV_API
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.api.restmapper import SHORT_NAMES
from olmc.k8s.diagnostics import Report
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Rendered,
    as_text,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    spec_of,
    text,
)
from olmc.k8s.semver import Version, VersionError, parse_strict
from olmc.k8s.yaml import locate
from olmc.targets.proposed import rules

if TYPE_CHECKING:
    from olmc.compiler.results import OperatorResult

UNKNOWN = "<unknown>"


class CsvOrigin(NamedTuple):
    """The origin of a CSV; "" for unknown parts, as for a CSV that was applied by hand.

    `target` is the version that is going to replace it, "" if there is none.
    """

    channel: str = ""
    catalog: str = ""
    target: str = ""


NO_ORIGIN = CsvOrigin()


def origins(settled: SettledCluster, operators: Sequence[OperatorResult]) -> dict[NamespacedName, CsvOrigin]:
    """The origin of every CSV that a Subscription or an Operator of v2alpha1 has brought (R-INST-7)."""
    cluster = settled.cluster
    by_csv = {name: origin for outcome in operators for name, origin in _of_operator(outcome, cluster)}
    channels = _channels(settled)
    for name, csv in cluster.csvs.items():
        subscription = subscription_of(csv, cluster)
        if subscription is not None:
            moves = subscription.current not in ("", csv.name)
            target = _version_of(subscription.current, name.namespace, subscription.catalog, cluster) if moves else ""
            catalog = _shown(subscription.catalog)
            by_csv[name] = CsvOrigin(_channel_of_csv(subscription, cluster, channels), catalog, target)
    return by_csv


def subscription_of(csv: Csv, cluster: Cluster) -> Subscription | None:
    """The Subscription that a CSV is installed by, of several the one with the lowest name (R-INST-5)."""
    mine = [
        one
        for name, one in sorted(cluster.subscriptions.items())
        if name.namespace == csv.namespace and one.installed == csv.name
    ]
    return mine[0] if mine else None


def _of_operator(outcome: OperatorResult, cluster: Cluster) -> Iterator[tuple[NamespacedName, CsvOrigin]]:
    """Yield the CSVs of an Operator: its own, and those that its Installs brought, with their catalogs."""
    names = {
        str(obj["metadata"]["name"])
        for install in outcome.installs
        for obj in install.content.objects
        if obj["kind"] == CSV_KIND
    }
    for name in cluster.csvs:
        if name.name == outcome.installed:
            waiting = outcome.waiting.install.name if outcome.waiting is not None else ""
            target = _version_of(waiting, name.namespace, outcome.ref, cluster) if waiting else ""
            yield name, CsvOrigin(outcome.channel, _shown(outcome.ref), target)
        elif name.name in names and name in cluster.installed:
            entry = _entry(name.name, cluster)
            yield name, CsvOrigin(entry.channel, _shown(entry.catalog)) if entry is not None else NO_ORIGIN


def _entry(csv: str, cluster: Cluster) -> Candidate | None:
    """An entry that a CSV can have been resolved from, that of a default channel before others."""
    entries = (entry for source in cluster.catalogs.values() for entry in named(source.entries, csv))
    return min(entries, key=lambda one: (not one.default_channel, one.catalog, one.channel), default=None)


def _shown(catalog: CatalogKey) -> str:
    return f"{catalog.namespace}/{catalog.name}" if any(catalog) else ""


def _channel_of_csv(subscription: Subscription, cluster: Cluster, channels: Mapping[NamespacedName, str]) -> str:
    """Return the channel of the Subscription, else that in which the resolver found the bundle, else the package's
    default channel."""
    resolved = channels.get(NamespacedName(subscription.name.namespace, subscription.installed), "")
    source = cluster.catalogs.get(subscription.catalog)
    package = source.catalog.packages.get(subscription.package) if source and source.catalog else None
    return subscription.channel or resolved or (package.default_channel if package else "")


def _channels(settled: SettledCluster) -> dict[NamespacedName, str]:
    """The channel that one CSV was resolved from, by all InstallPlans in order."""
    by_csv: dict[NamespacedName, str] = {}
    for done in settled.history:
        if done.plan is not None and done.resolution is not None:
            for selection in done.resolution.selections:
                by_csv[NamespacedName(done.plan.namespace, selection.candidate.name)] = selection.candidate.channel
    return by_csv


def _version_of(name: str, namespace: str, catalog: CatalogKey, cluster: Cluster) -> str:
    """The version of a CSV that is there, or that a catalog has."""
    csv = cluster.csvs.get(NamespacedName(namespace, name))
    if csv is not None:
        return csv.version
    source = cluster.catalogs.get(catalog)
    packages = source.catalog.packages.values() if source and source.catalog else ()
    versions = (package.bundles[name].version for package in packages if name in package.bundles)
    return next(versions, "") or UNKNOWN


GROUP = "packages.operators.coreos.com"


class PrintedColumn(NamedTuple):
    """A column of a resource's table; those with a `priority` above 0 are for `-o wide`."""

    name: str
    description: str
    priority: int = 0


class Resource(NamedTuple):
    """A read-only resource: what discovery and clients call it, and how it is shown.

    `verbs` is what can be done with it, `fields` what field selectors may use, `parts` are its sub-resources.
    """

    version: str
    kind: str
    plural: str
    singular: str
    description: str
    columns: tuple[PrintedColumn, ...]
    verbs: tuple[str, ...]
    fields: tuple[str, ...]
    parts: tuple[str, ...] = ()
    group: str = GROUP
    namespaced: bool = True
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def qualified(self) -> str:
        """The name that messages use: `installed.packages.operators.coreos.com`."""
        return f"{self.plural}.{self.group}"


class Listed(NamedTuple):
    """An object of a list and its cells, one for each column of the resource."""

    object: KubernetesObject
    cells: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.object["metadata"].get("namespace") or "")


INSTALLED = Resource(
    "v2alpha1",
    "Installed",
    "installed",
    "installed",
    "Installed is a resource generated from installed operator CSVs and their Subscriptions",
    (
        PrintedColumn("NAME", "The name of the operator's ClusterServiceVersion"),
        PrintedColumn("INSTALLATION_NAMESPACE", "The namespace that the operator is installed in"),
        PrintedColumn("CHANNEL", "The channel that the Subscription follows"),
        PrintedColumn("CURRENT_VERSION", "The version that is installed"),
        PrintedColumn("TARGET_VERSION", "The version that the Subscription is going to install"),
        PrintedColumn("PHASE", "The phase of the ClusterServiceVersion"),
        PrintedColumn("REASON", "Why it is in this phase", 1),
        PrintedColumn("SUBSCRIPTION", "The Subscription that the operator is installed by", 1),
        PrintedColumn("CATALOG", "The namespace and name of the CatalogSource that it comes from", 1),
    ),
    ("get", "list", "watch"),
    ("metadata.name", "metadata.namespace"),
)
PACKAGE_MANIFESTS = Resource(
    "v1",
    "PackageManifest",
    "packagemanifests",
    "packagemanifest",
    "A PackageManifest is a resource generated from existing CatalogSources and their ConfigMaps",
    (
        PrintedColumn("Name", "The name of the package"),
        PrintedColumn("Catalog", "The display name of the CatalogSource"),
        PrintedColumn("Age", "How long the CatalogSource exists"),
        PrintedColumn("Default Channel", "The channel that a Subscription without one follows", 1),
        PrintedColumn("Current CSV", "The head of the default channel", 1),
    ),
    ("get", "list"),
    ("metadata.name",),
    ("icon",),
)
RESOURCES = (PACKAGE_MANIFESTS, INSTALLED)


def resource_called(name: str, resources: Iterable[Resource]) -> Resource | None:
    """The resource that a user means as kubectl takes it: plural, singular or short name, with or without group and
    version."""
    for resource in resources:
        for short in (resource.plural, resource.singular, *resource.short_names):
            end = f".{resource.group}"
            if name.lower() in (short, f"{short}{end}", f"{short}.{resource.version}{end}"):
                return resource
    return None


def as_list(resource: Resource, items: Iterable[KubernetesObject], version: str) -> KubernetesObject:
    """The list object of a resource; `version` is its resourceVersion, "" for none."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.list_kind,
        "metadata": {"resourceVersion": version},
        "items": list(items),
    }


PORT = 5443
_VERSION = "0.46.0"
_IMAGE = f"quay.io/operator-framework/olm:v{_VERSION}"
_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


def packageserver_csv(profile: Profile) -> KubernetesObject:
    """packageserver's CSV with both versions of the API: owned API services, and a Deployment for each (R-INST-10)."""
    # The proposal has dots in these names. Since OLM names the Services of Deployments after them, none may be there.
    mark = "-" if profile.cert_naming["per"] == "deployment" else "."
    names = {resource: f"packageserver{mark}{resource.version}" for resource in RESOURCES}
    return {
        "apiVersion": CSV_API,
        "kind": CSV_KIND,
        "metadata": {"name": "packageserver", "namespace": "olm"},
        "spec": {
            "displayName": "Package Server",
            "description": "Shows the packages of the catalogs, and the operators that are installed",
            "version": _VERSION,
            "minKubeVersion": "1.11.0",
            "provider": {"name": "Operator Framework"},
            "installModes": [{"type": mode, "supported": True} for mode in _MODES],
            "apiservicedefinitions": {"owned": [_described(*each) for each in names.items()]},
            "install": {
                "strategy": "deployment",
                "spec": {"deployments": [_deployment(name) for name in names.values()]},
            },
        },
    }


def _described(resource: Resource, deployment: str) -> dict[str, Any]:
    return {
        "group": GROUP,
        "version": resource.version,
        "kind": resource.kind,
        "name": resource.plural,
        "displayName": resource.kind,
        "description": resource.description,
        "deploymentName": deployment,
        "containerPort": PORT,
    }


def _deployment(name: str) -> dict[str, Any]:
    container = {
        "name": "packageserver",
        "image": _IMAGE,
        "command": ["/bin/package-server", "-v=4", "--secure-port", str(PORT), "--global-namespace", "olm"],
        "ports": [{"containerPort": PORT, "protocol": "TCP"}],
    }
    pod = {"serviceAccountName": "olm-operator-serviceaccount", "containers": [container]}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {"name": name, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}}


# What OLM's own CRDs serve: the resources of operators.coreos.com, with the columns that kubectl prints of them.

_NONE = "<none>"
_NAME = PrintedColumn("Name", "The name of the object")
_TRUE_CONDITIONS = "status.conditions"


def _resource(
    version: str, kind: str, description: str, columns: Mapping[str, str], *, namespaced: bool = True
) -> Resource:
    """A resource with a column for one field: `name → path of the field`, for `-o wide` alone with a `+` in front."""
    printed = [
        PrintedColumn(name.lstrip("+"), f"The field {path}", int(name.startswith("+")))
        for name, path in columns.items()
    ]
    return Resource(
        version,
        kind,
        f"{kind.lower()}s",
        kind.lower(),
        description,
        (_NAME, *printed),
        ("get", "list"),
        ("metadata.name", "metadata.namespace") if namespaced else ("metadata.name",),
        group=OLM_GROUP,
        namespaced=namespaced,
        short_names=tuple(SHORT_NAMES.get(kind, "").split()),
    )


_COLUMNS: dict[tuple[str, str], dict[str, str]] = {
    ("v1", "OperatorGroup"): {"+Targets": "status.namespaces"},
    ("v1", "Operator"): {
        "Package": "spec.updates.catalogSource.package",
        "Channel": "spec.updates.catalogSource.channel",
        "Version": "status.metadata.version",
        "Conditions": _TRUE_CONDITIONS,
    },
    ("v1alpha1", "CatalogSource"): {
        "Display": "spec.displayName",
        "Type": "spec.sourceType",
        "Publisher": "spec.publisher",
    },
    ("v1alpha1", "ClusterServiceVersion"): {
        "Display": "spec.displayName",
        "Version": "spec.version",
        "Replaces": "spec.replaces",
        "Phase": "status.phase",
        "+Reason": "status.reason",
    },
    ("v1alpha1", "InstallPlan"): {
        "CSV": "spec.clusterServiceVersionNames",
        "Approval": "spec.approval",
        "Approved": "spec.approved",
        "+Phase": "status.phase",
    },
    ("v1alpha1", "Subscription"): {
        "Package": "spec.name",
        "Source": "spec.source",
        "Channel": "spec.channel",
        "+Installed": "status.installedCSV",
        "+State": "status.state",
    },
    ("v2alpha1", "Install"): {"Approval": "spec.approval", "Conditions": _TRUE_CONDITIONS},
}
_DESCRIPTIONS = {
    "CatalogSource": "A catalog of operators",
    "ClusterServiceVersion": "A version of an operator that is installed",
    "Install": "A list of things to apply, and the approval that this takes",
    "InstallPlan": "What is applied to install or upgrade operators",
    "Operator": "An operator with all that belongs to it",
    "OperatorGroup": "The namespaces that the operators of its own namespace watch",
    "Subscription": "An operator that is to be installed and kept up to date",
}
OLM_RESOURCES = tuple(
    _resource(version, kind, _DESCRIPTIONS[kind], columns, namespaced=kind not in ("Operator", "Install"))
    for (version, kind), columns in _COLUMNS.items()
)
"""The resources that OLM stores and olmc shows; Operators of both versions are served as one resource."""


def stored(objects: Sequence[Rendered]) -> dict[str, tuple[Listed, ...]]:
    """The objects of each resource, by its kind, ordered by namespace and name; `objects` is all that was rendered."""
    by_kind: dict[str, list[Listed]] = {resource.kind: [] for resource in OLM_RESOURCES}
    for rendered in sorted(objects, key=lambda one: (one.identity.namespace, one.identity.name)):
        if rendered.identity.group == OLM_GROUP and rendered.identity.kind in by_kind:
            by_kind[rendered.identity.kind].append(_listed(rendered.object))
    return {kind: tuple(items) for kind, items in by_kind.items()}


def stored_in(
    objects: Mapping[str, tuple[Listed, ...]], resource: Resource, namespace: str | None
) -> tuple[Listed, ...]:
    """Those of a resource in a namespace, or all: in all namespaces (None), or if the resource has none."""
    items = objects.get(resource.kind, ())
    if namespace is None or not resource.namespaced:
        return items
    return tuple(item for item in items if item.namespace == namespace)


def _listed(obj: KubernetesObject) -> Listed:
    columns = next(columns for (_, kind), columns in _COLUMNS.items() if kind == obj["kind"])
    return Listed(obj, (str(obj["metadata"]["name"]), *(_cell(obj, path) for path in columns.values())))


def _cell(obj: KubernetesObject, path: str) -> str:
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if path == _TRUE_CONDITIONS:
        value = [one["type"] for one in mappings(value) if one.get("status") == "True" and one.get("type")]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(str(one) or "*" for one in value) or _NONE
    return str(value) if value not in (None, "") else _NONE


# PackageManifests: what the catalogs of a cluster offer (R-CAT-800 … R-CAT-809).

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
        """Return the key that decides which of several packages of one name is served (R-CAT-801)."""
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
    """Return the offers that a namespace sees: its own catalogs and the global ones, as if they were its own
    (R-CAT-801).

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
    """Return the description of the CSV at the head of a channel (R-CAT-805), in the order of OLM's type."""
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
