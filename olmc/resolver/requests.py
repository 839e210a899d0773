"""What a namespace asks of the resolver, with the state that it is asked in (R-CAT-310, R-CAT-500 … R-CAT-514)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from olmc.gojson import decode, unmarshal
from olmc.model.catalog import InstalledEntry, Property, ResolveRequest, SubscriptionRequest, VisibleCatalog
from olmc.model.cluster import CatalogSource, Cluster, NamespacedName, Subscription
from olmc.model.objects import GVK, CatalogKey
from olmc.model.operators import Csv, OperatorGroup
from olmc.model.options import Options, upgrades_from_any_catalog
from olmc.olm.naming import PROPERTIES
from olmc.resolver.predicates import REQUIREMENTS
from olmc.resolver.snapshot import EXISTING

_DURATIONS = (
    ("timeout", "operatorframework.io/bundle-unpack-timeout"),
    ("retry", "operatorframework.io/bundle-unpack-min-retry-interval"),
)


def unreadable_duration(group: OperatorGroup) -> tuple[str, str]:
    """The annotation whose duration keeps OLM from resolving the group's namespace, and OLM's text; "" if none does."""
    annotations = group.annotations
    for what, key in _DURATIONS:
        if key not in annotations:
            continue
        from olmc.kube.formats import duration_problem  # few groups have one, and imports take their time

        problem = duration_problem(str(annotations[key]))
        if problem:
            return key, f"failed to parse unpack {what} annotation({key}: {annotations[key]}): {problem}"
    return "", ""


class UnreadablePropertiesError(ValueError):
    """The annotation with a CSV's properties is not the JSON that it should be, or a CRD has no name to be read."""


def csv_properties(csv: Csv, packages: Set[str]) -> tuple[Property, ...]:
    """The properties of an existing CSV: those of its annotation, else what its APIs say.

    `packages` are the packages of the Subscriptions that have it installed. Raises UnreadablePropertiesError.
    """
    text = csv.annotations.get(PROPERTIES)
    if text is not None:
        return _annotation_properties(csv.name, text)
    for item in (*csv.owned_crds, *csv.required_crds):
        if "." not in item.name:
            raise UnreadablePropertiesError(f"error parsing crd name: {item.name}")
    properties = [Property("olm.gvk", _gvk(api.key)) for api in csv.owned_apis]
    properties += [Property("olm.gvk.required", _gvk(api)) for api in csv.required_apis]
    if len(packages) == 1:
        version = "" if csv.version == "0.0.0" else csv.version
        value = {"packageName": next(iter(packages)), "version": version}
        properties.append(Property("olm.package", value))
    return tuple(properties)


def _annotation_properties(name: str, text: str) -> tuple[Property, ...]:
    problem = f'failed to retrieve properties of csv "{name}": failed to unmarshal properties annotation: '
    try:
        annotation = decode("projection.propertiesAnnotation", unmarshal(text))
    except ValueError as error:
        raise UnreadablePropertiesError(f"{problem}{error}") from error
    return tuple(Property(item["type"], item.get("value")) for item in annotation["properties"] or ())


def _gvk(api: GVK) -> dict[str, str]:
    return {"group": api.group, "kind": api.kind, "version": api.version}


def resolve_request_of(
    cluster: Cluster,
    namespace: str,
    subscriptions: Mapping[NamespacedName, Subscription],
    visible: Sequence[CatalogSource],
    options: Options,
) -> ResolveRequest:
    """The request that a namespace's Subscriptions ask of the catalogs that it sees."""
    catalogs = [visible_catalog(source) for source in visible]
    present = []
    for csv in cluster.csvs_in(namespace):
        try:
            present.append(present_of(csv, cluster, subscriptions))
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(namespace, EXISTING), problem=str(error)))
    requests = tuple(request_of(s) for s in subscriptions.values())
    unheeded = REQUIREMENTS.difference(cluster.profile.resolver_constraints)
    fail_forward = fails_forward(cluster, namespace)
    return ResolveRequest(
        namespace, tuple(catalogs), requests, tuple(present), fail_forward,
        unheeded=unheeded, legacy_precedence=upgrades_from_any_catalog(options, cluster.profile),
        timeout=options.resolve_timeout, cel=cluster.cel,
    )  # fmt: skip


def visible_catalog(source: CatalogSource) -> VisibleCatalog:
    """A CatalogSource as the resolver sees it."""
    left_out = source.catalog.left_out if source.catalog is not None else ()
    return VisibleCatalog(source.key, source.priority, source.entries, source.problem, left_out)


def request_of(s: Subscription) -> SubscriptionRequest:
    """A Subscription as the resolver sees it."""
    return SubscriptionRequest(
        name=s.name.name,
        package=s.package,
        channel=s.channel,
        catalog=s.catalog,
        starting=s.starting_csv,
        installed=s.installed,
        current=s.current,
    )


def present_of(csv: Csv, cluster: Cluster, subscriptions: Mapping[NamespacedName, Subscription]) -> InstalledEntry:
    """A CSV as the resolver sees it; `mine` may have it installed. Raises UnreadablePropertiesError."""
    packages = {s.package for s in subscriptions.values() if s.installed == csv.name}
    member = cluster.members.get(NamespacedName(csv.namespace, csv.name))
    return InstalledEntry(
        name=csv.name,
        version=csv.version,
        properties=csv_properties(csv, packages),
        replaces=csv.replaces,
        phase=member.phase if member else "",
    )


def fails_forward(cluster: Cluster, namespace: str) -> bool:
    """Whether the namespace's one OperatorGroup lets upgrades go on from failed CSVs (R-CAT-504, R-CAT-588)."""
    groups = cluster.groups_in(namespace)
    return cluster.profile.resolver_failforward and len(groups) == 1 and groups[0].fails_forward
