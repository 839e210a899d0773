"""Resolution of the whole cluster at once, a connected component at a time (R-OPERATOR-9), also for descoped operators
(R-DESCOPE-11)."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set

from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    Resolution,
    ResolveRequest,
    Selection,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.compiler.model.cluster import Cluster, NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.facts import is_copy_by_metadata
from olmc.compiler.resolver.predicates import (
    And,
    CelPredicate,
    ConstraintError,
    LabelPredicate,
    Not,
    Or,
    PackagePredicate,
    Predicate,
    ProvidingAPIPredicate,
    requirements,
)
from olmc.compiler.resolver.rounds import (
    ResolutionRound,
    UnreadablePropertiesError,
    make_plan,
    present_of,
    refresh_status,
    request_of,
    resolve_namespace,
    resolve_request_of,
    resolve_with_lock,
    visible_catalog,
    without_missing_plan,
)
from olmc.compiler.resolver.snapshot import (
    EXISTING,
    Entry,
    entry_of_candidate,
    entry_of_installed,
    needed_catalogs,
    visible_catalogs,
)
from olmc.compiler.resolver.steps import content_of
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CelAccount
from olmc.k8s.objects import CatalogKey, KubernetesObject

CLUSTER = "cluster"
"""The value of the namespace in a request for the whole cluster. It is no namespace, and no output shows it."""

_ANYTHING = ("anything",)


def cluster_resolve_request(
    workspace: Workspace,
    cluster: Cluster,
    requests: Iterable[SubscriptionRequest],
    subscriptions: Mapping[NamespacedName, Subscription],
    options: Options,
) -> ResolveRequest:
    """The request of the whole cluster: all catalogs, all CSVs, each name once; `subscriptions` may own CSVs."""
    catalogs = [visible_catalog(source) for source in needed_catalogs(cluster, options, clusterwide=True)]
    present: dict[str, InstalledEntry] = {}
    for name, csv in sorted(cluster.csvs.items()):
        try:
            entry = present_of(csv, cluster, subscriptions)._replace(namespace=name.namespace)
            present.setdefault(name.name, entry)
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(name.namespace, EXISTING), problem=str(error)))
    shared = _shared_apis(workspace, cluster, options)
    return ResolveRequest(
        CLUSTER,
        tuple(catalogs),
        tuple(requests),
        tuple(present.values()),
        shared=shared,
        whole_cluster=True,
        timeout=options.resolve_timeout,
        cel=cluster.cel,
        catalog_error=cluster.profile.resolver_catalog_error,
    )


def _shared_apis(workspace: Workspace, cluster: Cluster, options: Options) -> frozenset[tuple[str, str]]:
    """The group and kind of the APIs that may have several providers (R-DESCOPE-9).

    They are named by their plurals, which CSVs alone know: those of the cluster, of bundles, and inside of catalogs.
    """
    if not options.shared_apis:
        return frozenset()
    objects = [bundle.csv.object for bundle in workspace.bundles.values()]
    objects += _csvs_of_catalogs(workspace, cluster, {name.partition(".")[2] for name in options.shared_apis})
    csvs = [*cluster.csvs.values()]
    for obj in objects:
        with contextlib.suppress(DecodeError):
            csvs.append(Csv(decode(CSV_KIND, obj)))
    apis = {api for csv in csvs for api in csv.owned_apis}
    named = (api for api in apis if f"{api.plural}.{api.key.group}" in options.shared_apis)
    return frozenset((api.key.group, api.key.kind) for api in named)


def _csvs_of_catalogs(workspace: Workspace, cluster: Cluster, groups: Set[str]) -> Iterator[KubernetesObject]:
    """The CSVs, not decoded yet, of what catalogs serve and the workspace has, by an API of one of these groups."""
    for source in cluster.catalogs.values():
        for entry in source.entries:
            if any(api.group in groups for api in entry_of_candidate(entry).apis):
                content = content_of(workspace, cluster, entry)
                if content is not None:
                    yield content.csv.object


def components(resolve_request: ResolveRequest) -> tuple[ResolveRequest, ...]:
    """The parts of a request that have nothing to do with each other, by their lowest request; the rest is left out.

    Bundles belong together that share a package or an API, or of which one could meet a requirement of the other. A
    requirement that only CEL can judge may be met by any bundle, so it holds everything together. What a request has
    installed belongs to it, even if the CSV does not say of which package it is (R-CAT-310).
    """
    graph = _Graph()
    entries = [entry_of_candidate(entry) for catalog in resolve_request.catalogs for entry in catalog.entries]
    existing = [entry_of_installed(csv, resolve_request.namespace) for csv in resolve_request.present]
    needs: list[tuple[Entry, Hashable]] = []
    account = resolve_request.cel or CelAccount()
    for entry in (*entries, *existing):
        offered = list(_offers(entry))
        graph.join(entry.identifier, *offered)
        needs += [(entry, key) for key in _demands(entry.properties, account)]
    # Only CEL asks for anything; to know which bundles a rule accepts, each would have to be judged by it.
    if any(key == _ANYTHING for _, key in needs):
        graph.join(_ANYTHING, *(entry.identifier for entry in (*entries, *existing)))
    # An API without a provider joins nothing: two bundles that lack the same API do not depend on each other.
    for entry, key in needs:
        if key in graph:
            graph.join(entry.identifier, key)
    for request in resolve_request.requests:
        graph.join(_package_key(request), *(entry.identifier for entry in existing if entry.name == request.installed))
    requests_by_root: dict[Hashable, list[SubscriptionRequest]] = defaultdict(list)
    for request in sorted(resolve_request.requests, key=lambda request: request.name):
        requests_by_root[graph.root(_package_key(request))].append(request)
    return tuple(_part(resolve_request, graph, root, requests) for root, requests in requests_by_root.items())


def _part(
    resolve_request: ResolveRequest, graph: _Graph, root: Hashable, requests: Sequence[SubscriptionRequest]
) -> ResolveRequest:
    catalogs = tuple(
        catalog._replace(entries=tuple(e for e in catalog.entries if graph.root(_identifier(e)) == root))
        for catalog in resolve_request.catalogs
    )
    present = tuple(
        csv
        for csv in resolve_request.present
        if graph.root(entry_of_installed(csv, resolve_request.namespace).identifier) == root
    )
    return resolve_request._replace(catalogs=catalogs, present=present, requests=tuple(requests))


def _identifier(entry: Candidate) -> str:
    return entry_of_candidate(entry).identifier


def _package_key(request: SubscriptionRequest) -> Hashable:
    return ("package", request.package)


def _offers(entry: Entry) -> Iterator[Hashable]:
    for package in (entry.package, *(name for name, _ in entry.packages)):
        if package:
            yield ("package", package)
    yield from (("api", api) for api in entry.apis)
    yield from (("label", label) for label in entry.labels)


def _demands(properties: Iterable[Property], account: CelAccount) -> Iterator[Hashable]:
    try:
        predicates = requirements(properties, account)
    except ConstraintError:
        return  # the resolver reports it, if the bundle is looked at at all
    for predicate in predicates:
        yield from _keys(predicate)


def _keys(predicate: Predicate) -> Iterator[Hashable]:
    match predicate:
        case ProvidingAPIPredicate(api):
            yield ("api", api)
        case PackagePredicate(name):
            yield ("package", name)
        case LabelPredicate(label):
            yield ("label", label)
        case CelPredicate():
            yield _ANYTHING
        case And(members) | Or(members) | Not(members):
            for member in members:
                yield from _keys(member)


class _Graph:
    """Disjoint sets of joined nodes."""

    def __init__(self) -> None:
        self._above: dict[Hashable, Hashable] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._above

    def root(self, key: Hashable) -> Hashable:
        while (above := self._above.get(key, key)) != key:
            self._above[key] = self._above.get(above, above)
            key = above
        return key

    def join(self, first: Hashable, *others: Hashable) -> None:
        self._above.setdefault(first, first)
        for other in others:
            self._above.setdefault(other, other)
            self._above[self.root(other)] = self.root(first)


Resolver = Callable[[Workspace, Cluster, str, Options], ResolutionRound]


class _ComponentRound(NamedTuple):
    """The result for a part of a namespace's Subscriptions."""

    subscriptions: dict[NamespacedName, Subscription]
    selections: tuple[Selection, ...] = ()
    resolve_request: ResolveRequest | None = None
    resolution: Resolution | None = None


def resolver_for(options: Options) -> Resolver:
    """The function that makes the rounds: namespace by namespace, or with descoped operators resolved for all."""
    return _resolve_descoped if options.descoped else resolve_namespace


def _resolve_descoped(workspace: Workspace, cluster: Cluster, namespace: str, options: Options) -> ResolutionRound:
    """As `resolve_namespace`, but descoped Subscriptions need no group and are resolved for the whole cluster.

    Each round makes the plan of one component; the next round makes that of the next.
    """
    known = {name: without_missing_plan(s, cluster) for name, s in sorted(cluster.subscriptions.items())}
    refreshed_all = {name: refresh_status(s, cluster) for name, s in known.items()}
    descoped = {name: s for name, s in refreshed_all.items() if _is_descoped(workspace, cluster, s)}
    done = _apart(workspace, cluster, namespace, refreshed_all, descoped, options)
    return done._replace(descoped=frozenset(name for name in descoped if name.namespace == namespace))


def _apart(
    workspace: Workspace,
    cluster: Cluster,
    namespace: str,
    refreshed_all: Mapping[NamespacedName, Subscription],
    descoped: Mapping[NamespacedName, Subscription],
    options: Options,
) -> ResolutionRound:
    """The round of a namespace, of whose Subscriptions, and all others, `descoped` need no group."""
    subscriptions = {name: s for name, s in refreshed_all.items() if name.namespace == namespace}
    groups = cluster.groups_in(namespace)
    if len(groups) > 1 or all(s.plan and s.state == "UpgradePending" for s in subscriptions.values()):
        return ResolutionRound(subscriptions)
    scoped = {name: s for name, s in subscriptions.items() if name not in descoped}
    wanted = tuple(_wanted(workspace, cluster, descoped, options)) if descoped else ()
    results = [_ComponentRound(scoped)]
    if groups and scoped:
        elsewhere = tuple(_elsewhere(cluster, namespace, wanted))
        results = [_in_namespace(workspace, cluster, namespace, scoped, elsewhere, options)]
    results += _in_cluster(namespace, wanted)
    after = dict(sorted((name, s) for result in results for name, s in result.subscriptions.items()))
    for result in results:
        resolution_round = make_plan(workspace, cluster, namespace, after, result.selections, options)
        if resolution_round.plan is not None or resolution_round.missing or resolution_round.unreadable:
            return resolution_round._replace(resolve_request=result.resolve_request, resolution=result.resolution)
    # A round has one resolution to explain: of several the first that fails, since successes explain themselves.
    first = min(results, key=lambda r: (r.resolution is None, not (r.resolution and r.resolution.message)))
    return ResolutionRound(after, resolve_request=first.resolve_request, resolution=first.resolution)


def _in_namespace(
    workspace: Workspace,
    cluster: Cluster,
    namespace: str,
    scoped: dict[NamespacedName, Subscription],
    elsewhere: tuple[InstalledEntry, ...],
    options: Options,
) -> _ComponentRound:
    resolve_request = resolve_request_of(
        cluster, namespace, scoped, visible_catalogs(cluster, namespace, options), options
    )._replace(elsewhere=elsewhere)
    done = resolve_with_lock(resolve_request, workspace, [namespace])
    return _component_round(done, scoped, done[1].selections)


def _elsewhere(cluster: Cluster, namespace: str, wanted: Iterable[_WantedComponent]) -> Iterator[InstalledEntry]:
    """The descoped operators of other namespaces, installed or about to be.

    They serve the whole cluster, so a scoped operator that needs one gets no copy of its own (R-DESCOPE-11).
    """
    for name, csv in sorted(cluster.csvs.items()):
        if name.namespace != namespace and csv.scope != "scoped" and not is_copy_by_metadata(csv.object):
            # Its own namespace reports properties that olmc can't read.
            with contextlib.suppress(UnreadablePropertiesError):
                subscriptions = cluster.subscriptions.within(name.namespace)
                present = present_of(csv, cluster, subscriptions)
                yield present._replace(namespace=name.namespace, elsewhere=True)
    for component in wanted:
        for selection in component.done[1].selections:
            candidate = selection.candidate
            home = component.home_of(candidate)
            known = NamespacedName(home, candidate.name) in cluster.csvs
            if home != namespace and not known and len(cluster.groups_in(home)) <= 1:
                properties = candidate.properties
                yield InstalledEntry(candidate.name, candidate.version, properties, namespace=home, elsewhere=True)


class _WantedComponent(NamedTuple):
    """The resolution of descoped Subscriptions that belong together, with the namespaces that their packages go to.

    Dependencies without a Subscription go to `first`, the namespace of the first Subscription.
    """

    done: tuple[ResolveRequest, Resolution]
    subscriptions: Mapping[NamespacedName, Subscription]
    homes: Mapping[str, str]
    first: str

    def home_of(self, candidate: Candidate) -> str:
        return self.homes.get(candidate.package, self.first)


def _wanted(
    workspace: Workspace, cluster: Cluster, descoped: Mapping[NamespacedName, Subscription], options: Options
) -> Iterator[_WantedComponent]:
    """Resolve all descoped Subscriptions of the cluster, a component at a time."""
    requests = {_subscription_request(s): s for s in descoped.values()}
    for part in components(cluster_resolve_request(workspace, cluster, requests, descoped, options)):
        members = {requests[request].name: requests[request] for request in part.requests}
        homes = {request.package: requests[request].name.namespace for request in part.requests}
        namespaces = sorted({name.namespace for name in members})
        first = requests[part.requests[0]].name.namespace
        yield _WantedComponent(resolve_with_lock(part, workspace, namespaces), members, homes, first)


def _in_cluster(namespace: str, wanted: Iterable[_WantedComponent]) -> Iterator[_ComponentRound]:
    """One result for each component with a Subscription of the namespace."""
    for component in wanted:
        local = {name: s for name, s in component.subscriptions.items() if name.namespace == namespace}
        if local:
            chosen = component.done[1].selections
            installed_here = tuple(each for each in chosen if component.home_of(each.candidate) == namespace)
            yield _component_round(component.done, local, installed_here)


def _subscription_request(subscription: Subscription) -> SubscriptionRequest:
    return request_of(subscription)._replace(name=str(subscription.name))


def _component_round(
    done: tuple[ResolveRequest, Resolution],
    subscriptions: Mapping[NamespacedName, Subscription],
    selections: tuple[Selection, ...],
) -> _ComponentRound:
    resolve_request, resolution = done
    if resolution.message:
        failure = (resolution.reason, resolution.message)
        return _ComponentRound(
            {name: s._replace(failure=failure) for name, s in subscriptions.items()}, (), resolve_request, resolution
        )
    after = {name: s.resolved for name, s in subscriptions.items()}
    return _ComponentRound(after, selections, resolve_request, resolution)


def _is_descoped(workspace: Workspace, cluster: Cluster, subscription: Subscription) -> bool:
    """Return whether the CSV that a Subscription has, or would get first, is descoped."""
    installed = cluster.csvs.get(NamespacedName(subscription.name.namespace, subscription.installed))
    if installed is not None:
        return installed.scope != "scoped"
    scopes = {_scope_of(workspace, cluster, entry) for entry in _first_entries(cluster, subscription)}
    return bool(scopes) and "scoped" not in scopes


def _first_entries(cluster: Cluster, subscription: Subscription) -> Sequence[Candidate]:
    """The entry that the Subscription starts with, else the heads of its channel."""
    source = cluster.catalogs.get(subscription.catalog)
    channel = subscription.channel
    starting = subscription.starting_csv
    entries = [
        entry
        for entry in (source.entries if source else ())
        if entry.package == subscription.package and (entry.channel == channel if channel else entry.default_channel)
    ]
    if starting:
        return [entry for entry in entries if entry.name == starting]
    behind = {entry.replaces for entry in entries} | {name for entry in entries for name in entry.skips}
    return [entry for entry in entries if entry.name not in behind]


def _scope_of(workspace: Workspace, cluster: Cluster, candidate: Candidate) -> str:
    content = content_of(workspace, cluster, candidate)
    if content is None:
        return "scoped"
    try:
        return Csv(decode(CSV_KIND, content.csv.object)).scope
    except DecodeError:
        return "scoped"
