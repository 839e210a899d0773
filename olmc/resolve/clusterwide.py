"""Resolution of the whole cluster at once, one connected component of the dependency graph at a time (R-OPERATOR-9)."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from olmc.gojson import DecodeError, decode
from olmc.model.catalog import Property
from olmc.model.cluster import Cluster, Name, Subscription
from olmc.model.objects import CatalogKey
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import Options
from olmc.model.resolution import Candidate, Present, Question, VisibleCatalog, Wish
from olmc.model.workspace import Workspace
from olmc.resolve.constraints import (
    Cel,
    ConstraintError,
    Every,
    InPackage,
    Labelled,
    NoneOf,
    Predicate,
    Provides,
    Some,
    requirements,
)
from olmc.resolve.present import UnreadablePropertiesError
from olmc.resolve.questions import present_of
from olmc.resolve.view import EXISTING, Item, item_of_candidate, item_of_present

CLUSTER = "cluster"
"""What stands in a question in the place of the namespace."""

_ANYTHING = ("anything",)


def cluster_question(
    workspace: Workspace,
    cluster: Cluster,
    wishes: Iterable[Wish],
    subscriptions: Mapping[Name, Subscription],
    options: Options,
) -> Question:
    """The question of the whole cluster: all catalogs, all CSVs, each name once; `subscriptions` may own CSVs."""
    catalogs = [VisibleCatalog(s.key, s.priority, s.entries, s.problem) for _, s in sorted(cluster.catalogs.items())]
    present: dict[str, Present] = {}
    for name, csv in sorted(cluster.csvs.items()):
        try:
            present.setdefault(name.name, present_of(csv, cluster, subscriptions))
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(EXISTING, name.namespace), problem=str(error)))
    shared = _shared(workspace, cluster, options)
    return Question(CLUSTER, tuple(catalogs), tuple(wishes), tuple(present.values()), shared=shared, whole_cluster=True)


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


def components(question: Question) -> tuple[Question, ...]:
    """The parts of a question that have nothing to do with each other, by their lowest wish; the rest is left out.

    Bundles belong together that share a package or an API, or of which one could meet a requirement of the other. A
    requirement that only CEL can judge may be met by any bundle, so it holds everything together. What a wish has
    installed belongs to it, even if the CSV does not say of which package it is (R-CAT-310).
    """
    graph = _Graph()
    entries = [item_of_candidate(entry) for catalog in question.catalogs for entry in catalog.entries]
    existing = [item_of_present(each, question.namespace) for each in question.present]
    needs: list[tuple[Item, Hashable]] = []
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
    found: dict[Hashable, list[Wish]] = defaultdict(list)
    for wish in sorted(question.wishes, key=lambda each: each.name):
        found[graph.root(_wanted(wish))].append(wish)
    return tuple(_part(question, graph, root, wishes) for root, wishes in found.items())


def _part(question: Question, graph: _Graph, root: Hashable, wishes: Sequence[Wish]) -> Question:
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


def _wanted(wish: Wish) -> Hashable:
    return ("package", wish.package)


def _offered(item: Item) -> Iterator[Hashable]:
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
        case Provides(api):
            yield ("api", api)
        case InPackage(name):
            yield ("package", name)
        case Labelled(label):
            yield ("label", label)
        case Cel():
            yield _ANYTHING
        case Every(members) | Some(members) | NoneOf(members):
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
