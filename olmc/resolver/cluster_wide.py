"""Resolution of the whole cluster at once, a connected component at a time (R-OPERATOR-9), also for descoped operators
(R-DESCOPE-11)."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.gojson import DecodeError, decode
from olmc.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    Resolution,
    ResolveRequest,
    Selection,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.model.cluster import Cluster, NamespacedName, Subscription
from olmc.model.objects import CatalogKey
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.resolver.predicates import (
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
from olmc.resolver.requests import UnreadablePropertiesError, present_of, question_of, wish_of
from olmc.resolver.rounds import ResolutionRound, answered, planned, refreshed, resolve_namespace
from olmc.resolver.snapshot import EXISTING, Entry, item_of_candidate, item_of_present, visible_catalogs
from olmc.resolver.steps import content_of

CLUSTER = "cluster"
"""What stands in a question in the place of the namespace; it is no namespace, and nobody gets to read it."""

_ANYTHING = ("anything",)


def cluster_question(
    workspace: Workspace,
    cluster: Cluster,
    wishes: Iterable[SubscriptionRequest],
    subscriptions: Mapping[NamespacedName, Subscription],
    options: Options,
) -> ResolveRequest:
    """The question of the whole cluster: all catalogs, all CSVs, each name once; `subscriptions` may own CSVs."""
    catalogs = [VisibleCatalog(s.key, s.priority, s.entries, s.problem) for _, s in sorted(cluster.catalogs.items())]
    present: dict[str, InstalledEntry] = {}
    for name, csv in sorted(cluster.csvs.items()):
        try:
            entry = present_of(csv, cluster, subscriptions)._replace(namespace=name.namespace)
            present.setdefault(name.name, entry)
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(name.namespace, EXISTING), problem=str(error)))
    shared = _shared(workspace, cluster, options)
    return ResolveRequest(
        CLUSTER, tuple(catalogs), tuple(wishes), tuple(present.values()), shared=shared, whole_cluster=True
    )


def _shared(workspace: Workspace, cluster: Cluster, options: Options) -> frozenset[tuple[str, str]]:
    """The group and kind of the APIs that may have several providers (R-DESCOPE-9)."""
    if not options.shared_apis:
        return frozenset()
    csvs = [*cluster.csvs.values()]
    for bundle in workspace.bundles.values():
        with contextlib.suppress(DecodeError):
            csvs.append(Csv(decode(CSV_KIND, bundle.csv.object)))
    apis = {api for csv in csvs for api in csv.owned_apis}
    named = (api for api in apis if f"{api.plural}.{api.key.group}" in options.shared_apis)
    return frozenset((api.key.group, api.key.kind) for api in named)


def components(question: ResolveRequest) -> tuple[ResolveRequest, ...]:
    """The parts of a question that have nothing to do with each other, by their lowest wish; the rest is left out.

    Bundles belong together that share a package or an API, or of which one could meet a requirement of the other. A
    requirement that only CEL can judge may be met by any bundle, so it holds everything together. What a wish has
    installed belongs to it, even if the CSV does not say of which package it is (R-CAT-310).
    """
    graph = _Graph()
    entries = [item_of_candidate(entry) for catalog in question.catalogs for entry in catalog.entries]
    existing = [item_of_present(each, question.namespace) for each in question.present]
    needs: list[tuple[Entry, Hashable]] = []
    for item in (*entries, *existing):
        offered = list(_offered(item))
        graph.join(item.identifier, *offered)
        needs += [(item, key) for key in _needed(item.properties)]
    if any(key == _ANYTHING for _, key in needs):
        graph.join(_ANYTHING, *(item.identifier for item in (*entries, *existing)))
    for item, key in needs:
        if key in graph:
            graph.join(item.identifier, key)
    for wish in question.wishes:
        graph.join(_wanted(wish), *(item.identifier for item in existing if item.name == wish.installed))
    found: dict[Hashable, list[SubscriptionRequest]] = defaultdict(list)
    for wish in sorted(question.wishes, key=lambda each: each.name):
        found[graph.root(_wanted(wish))].append(wish)
    return tuple(_part(question, graph, root, wishes) for root, wishes in found.items())


def _part(
    question: ResolveRequest, graph: _Graph, root: Hashable, wishes: Sequence[SubscriptionRequest]
) -> ResolveRequest:
    catalogs = tuple(
        catalog._replace(entries=tuple(e for e in catalog.entries if graph.root(_identifier(e)) == root))
        for catalog in question.catalogs
    )
    present = tuple(
        each for each in question.present if graph.root(item_of_present(each, question.namespace).identifier) == root
    )
    return question._replace(catalogs=catalogs, present=present, wishes=tuple(wishes))


def _identifier(entry: Candidate) -> str:
    return item_of_candidate(entry).identifier


def _wanted(wish: SubscriptionRequest) -> Hashable:
    return ("package", wish.package)


def _offered(item: Entry) -> Iterator[Hashable]:
    for package in (item.package, *(name for name, _ in item.packages)):
        if package:
            yield ("package", package)
    yield from (("api", api) for api in item.apis)
    yield from (("label", label) for label in item.labels)


def _needed(properties: Iterable[Property]) -> Iterator[Hashable]:
    try:
        wanted = requirements(properties)
    except ConstraintError:
        return  # the resolver reports it, if the bundle is looked at at all
    for predicate in wanted:
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
    """Disjoint sets of whatever was joined."""

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
    """What became of a part of a namespace's Subscriptions."""

    subscriptions: dict[NamespacedName, Subscription]
    picks: tuple[Selection, ...] = ()
    question: ResolveRequest | None = None
    answer: Resolution | None = None


def resolver_for(options: Options) -> Resolver:
    """The function that makes the rounds: namespace by namespace, or with descoped operators apart."""
    return _resolve_apart if options.descoped else resolve_namespace


def _resolve_apart(workspace: Workspace, cluster: Cluster, namespace: str, options: Options) -> ResolutionRound:
    """As `resolve_namespace`, but descoped Subscriptions need no group and are resolved for the whole cluster.

    Each round makes the plan of one component; the next round makes that of the next.
    """
    every = {name: refreshed(s, cluster) for name, s in sorted(cluster.subscriptions.items())}
    descoped = {name: s for name, s in every.items() if _is_descoped(workspace, cluster, s)}
    mine = {name: s for name, s in every.items() if name.namespace == namespace}
    groups = cluster.groups_in(namespace)
    if len(groups) > 1 or all(s.plan and s.state == "UpgradePending" for s in mine.values()):
        return ResolutionRound(mine)
    scoped = {name: s for name, s in mine.items() if name not in descoped}
    results = [_in_namespace(workspace, cluster, namespace, scoped, options) if groups else _ComponentRound(scoped)]
    results += _in_cluster(workspace, cluster, namespace, descoped, options)
    after = dict(sorted((name, s) for result in results for name, s in result.subscriptions.items()))
    for result in results:
        done = planned(workspace, cluster, namespace, after, result.picks, options)
        if done.plan is not None or done.missing or done.unreadable:
            return done._replace(question=result.question, answer=result.answer)
    told = sorted((r for r in results if r.answer is not None), key=lambda r: not (r.answer and r.answer.message))
    return ResolutionRound(after, question=told[0].question, answer=told[0].answer) if told else ResolutionRound(after)


def _in_namespace(
    workspace: Workspace, cluster: Cluster, namespace: str, scoped: dict[NamespacedName, Subscription], options: Options
) -> _ComponentRound:
    if not scoped:
        return _ComponentRound({})
    question = question_of(cluster, namespace, scoped, visible_catalogs(cluster, namespace, options), options)
    return _answered(answered(question, workspace, [namespace]), scoped, lambda _: True)


def _in_cluster(
    workspace: Workspace,
    cluster: Cluster,
    namespace: str,
    descoped: Mapping[NamespacedName, Subscription],
    options: Options,
) -> list[_ComponentRound]:
    """One result for each component with a Subscription of the namespace.

    Dependencies that nobody asked for go where the component's first Subscription is.
    """
    wishes = {_cluster_wish(s): s for s in descoped.values()}
    results = []
    for part in components(cluster_question(workspace, cluster, wishes, descoped, options)):
        mine = {wishes[wish].name: wishes[wish] for wish in part.wishes if wishes[wish].name.namespace == namespace}
        if mine:
            asked = {wish.package: wishes[wish].name.namespace for wish in part.wishes}
            home = wishes[part.wishes[0]].name.namespace

            def is_mine(candidate: Candidate, asked: Mapping[str, str] = asked, home: str = home) -> bool:
                return asked.get(candidate.package, home) == namespace

            namespaces = sorted({wishes[wish].name.namespace for wish in part.wishes})
            results.append(_answered(answered(part, workspace, namespaces), mine, is_mine))
    return results


def _cluster_wish(subscription: Subscription) -> SubscriptionRequest:
    return wish_of(subscription)._replace(name=str(subscription.name))


def _answered(
    done: tuple[ResolveRequest, Resolution],
    mine: Mapping[NamespacedName, Subscription],
    is_mine: Callable[[Candidate], bool],
) -> _ComponentRound:
    question, found = done
    if found.message:
        failure = (found.reason, found.message)
        return _ComponentRound({name: s._replace(failure=failure) for name, s in mine.items()}, (), question, found)
    after = {name: s.resolved for name, s in mine.items()}
    return _ComponentRound(after, tuple(pick for pick in found.picks if is_mine(pick.candidate)), question, found)


def _is_descoped(workspace: Workspace, cluster: Cluster, subscription: Subscription) -> bool:
    """Whether the CSV that a Subscription has, or would get first, is descoped."""
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
