"""Rounds of namespaces with descoped operators, which are resolved for the whole cluster (R-DESCOPE-11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from olmc.gojson import DecodeError, decode
from olmc.model.cluster import Cluster, Name, Subscription
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import Options
from olmc.model.resolution import Answer, Candidate, Pick, Question, Wish
from olmc.model.workspace import Workspace
from olmc.resolve.clusterwide import cluster_question, components
from olmc.resolve.contents import content_of
from olmc.resolve.plans import Round, answered, planned, refreshed, resolve_namespace
from olmc.resolve.questions import question_of, wish_of
from olmc.resolve.visibility import visible_catalogs

Resolver = Callable[[Workspace, Cluster, str, Options], Round]


class _Result(NamedTuple):
    """What became of a part of a namespace's Subscriptions."""

    subscriptions: dict[Name, Subscription]
    picks: tuple[Pick, ...] = ()
    question: Question | None = None
    answer: Answer | None = None


def resolver_for(options: Options) -> Resolver:
    """The function that makes the rounds: namespace by namespace, or with descoped operators apart."""
    return _resolve_apart if options.descoped else resolve_namespace


def _resolve_apart(workspace: Workspace, cluster: Cluster, namespace: str, options: Options) -> Round:
    """As `resolve_namespace`, but descoped Subscriptions need no group and are resolved for the whole cluster.

    Each round makes the plan of one component; the next round makes that of the next.
    """
    every = {name: refreshed(s, cluster) for name, s in sorted(cluster.subscriptions.items())}
    descoped = {name: s for name, s in every.items() if _is_descoped(workspace, cluster, s)}
    mine = {name: s for name, s in every.items() if name.namespace == namespace}
    groups = cluster.groups_in(namespace)
    if len(groups) > 1 or all(s.plan and s.state == "UpgradePending" for s in mine.values()):
        return Round(mine)
    scoped = {name: s for name, s in mine.items() if name not in descoped}
    results = [_in_namespace(workspace, cluster, namespace, scoped, options) if groups else _Result(scoped)]
    results += _in_cluster(workspace, cluster, namespace, descoped, options)
    after = dict(sorted((name, s) for result in results for name, s in result.subscriptions.items()))
    for result in results:
        done = planned(workspace, cluster, namespace, after, result.picks, options)
        if done.plan is not None or done.missing or done.unreadable:
            return done._replace(question=result.question, answer=result.answer)
    told = sorted((r for r in results if r.answer is not None), key=lambda r: not (r.answer and r.answer.message))
    return Round(after, question=told[0].question, answer=told[0].answer) if told else Round(after)


def _in_namespace(
    workspace: Workspace, cluster: Cluster, namespace: str, scoped: dict[Name, Subscription], options: Options
) -> _Result:
    if not scoped:
        return _Result({})
    question = question_of(cluster, namespace, scoped, visible_catalogs(cluster, namespace, options), options)
    return _answered(answered(question, workspace, [namespace]), scoped, lambda _: True)


def _in_cluster(
    workspace: Workspace, cluster: Cluster, namespace: str, descoped: Mapping[Name, Subscription], options: Options
) -> list[_Result]:
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


def _cluster_wish(subscription: Subscription) -> Wish:
    return wish_of(subscription)._replace(name=str(subscription.name))


def _answered(
    done: tuple[Question, Answer], mine: Mapping[Name, Subscription], is_mine: Callable[[Candidate], bool]
) -> _Result:
    question, found = done
    if found.message:
        failure = (found.reason, found.message)
        return _Result({name: s._replace(failure=failure) for name, s in mine.items()}, (), question, found)
    after = {name: s.resolved for name, s in mine.items()}
    return _Result(after, tuple(pick for pick in found.picks if is_mine(pick.candidate)), question, found)


def _is_descoped(workspace: Workspace, cluster: Cluster, subscription: Subscription) -> bool:
    """Whether the CSV that a Subscription has, or would get first, is descoped."""
    installed = cluster.csvs.get(Name(subscription.name.namespace, subscription.installed))
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
