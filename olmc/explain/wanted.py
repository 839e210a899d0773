"""Operators that somebody wants and that would not run: what they bring, and which APIs of others they wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from olmc.explain.provenance import APPROVAL, plan_of
from olmc.explain.resolution import channel_entries
from olmc.kube.builtin_kinds import builtin_kinds, plural_of
from olmc.kube.restmapper import rest_mapper
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, NamespacedName, Subscription
from olmc.model.objects import GVK, KubernetesObject, gvk_of
from olmc.model.operators import Csv
from olmc.model.options import APIResource, Options
from olmc.model.workspace import Manifest, Workspace
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.snapshot import entry_of_candidate
from olmc.resolver.steps import Content, bundle_content, content_of
from olmc.resolver.upgrade_path import ChannelError, ordered

_ROUNDS = 3
"""How often APIs are assumed: what an operator lacks may show only once it has the first of them."""

C = TypeVar("C")


class WantedOperator(NamedTuple):
    """An operator that would not run: the namespace it is for, its content, in a few words why, and whether OLM would
    begin to install it."""

    namespace: str
    content: Content
    why: str
    is_chosen: bool = True

    @property
    def csv(self) -> Csv:
        """As it is written."""
        return Csv(self.content.csv.object, self.content.csv.source)


class WantedOperators(NamedTuple):
    """The operators that would not run, and a sentence about each of which not even the content is known."""

    known: tuple[WantedOperator, ...] = ()
    unknown: tuple[str, ...] = ()


def wanted_operators(settled: SettledCluster, workspace: Workspace) -> WantedOperators:
    """What Subscriptions ask for and do not get, or not yet, and CSVs that don't succeed.

    `workspace` has the bundles; of a bundle by itself that one.
    """
    cluster = settled.cluster
    wanted: dict[tuple[str, str], WantedOperator] = {}
    unknown: list[str] = []
    for name, member in sorted(cluster.members.items()):
        stopped = name.name in settled.stopped
        broken = not member.succeeded and member.phase not in ("Replacing", "Deleting")
        if (broken or stopped) and member.csv.source is not None:
            bundle = workspace.bundles.get(name.name)
            content = Content(Manifest(member.csv.object, member.csv.source), ())
            content = bundle_content(bundle) if bundle is not None else content
            why = f"{member.phase}: {member.reason}" if member.phase else "it gets no status"
            why = "its installation ends early" if stopped else why
            wanted[name.namespace, name.name] = WantedOperator(name.namespace, content, why)
    for _, subscription in sorted(cluster.subscriptions.items()):
        for found in _asked(subscription, settled, workspace):
            if isinstance(found, str):
                unknown.append(found)
            else:
                wanted.setdefault((found.namespace, found.csv.name), found)
    return WantedOperators(tuple(wanted.values()), tuple(dict.fromkeys(unknown)))


def _asked(subscription: Subscription, settled: SettledCluster, workspace: Workspace) -> Iterator[WantedOperator | str]:
    """What a Subscription would install by its plan, or else the version that it asks for; a text for the unknown."""
    cluster, namespace = settled.cluster, subscription.name.namespace
    plan = plan_of(subscription, cluster)
    names = plan.csvs if plan is not None and plan.phase != "Complete" else ()
    entries = {entry.name: entry for source in cluster.catalogs.values() for entry in source.entries}
    why = ("waits for approval" if plan.phase == APPROVAL else f"its InstallPlan ends {plan.phase}") if plan else ""
    done = settled.rounds.get(namespace)
    missing = done.missing if done is not None else ()
    names = (*names, *(each.name for each in missing if each.package == subscription.package))
    is_chosen = bool(names)
    if not names and not subscription.installed:
        names, why = _head(subscription, cluster), "it can't be resolved"
        if not names:
            yield f"Subscription {subscription.name}: no catalog here has what it asks for"
    for name in names:
        bundle = workspace.bundles.get(name)
        entry = entries.get(name)
        content = content_of(workspace, cluster, entry) if entry is not None else None
        if content is None and bundle is not None:
            content = bundle_content(bundle)
        if content is None:
            yield f"Subscription {subscription.name}: the content of {name} is not here; vendor it"
        elif NamespacedName(namespace, name) not in cluster.members or (plan is not None and plan.phase == "Failed"):
            yield WantedOperator(namespace, content, why, is_chosen=is_chosen)


def _head(subscription: Subscription, cluster: Cluster) -> tuple[str, ...]:
    """The version with which a Subscription begins: its startingCSV, or the head of its channel."""
    entries = list(channel_entries(cluster, subscription))
    if subscription.starting_csv in {entry.name for entry in entries}:
        return (subscription.starting_csv,)
    try:
        return tuple(item.name for item in ordered([entry_of_candidate(entry) for entry in entries])[:1])
    except ChannelError:
        return ()


def outside_apis(settled: SettledCluster, workspace: Workspace, options: Options) -> tuple[APIResource, ...]:
    """The APIs that operators wait for and that nothing here brings: those of operators that somebody else installs.

    What Kubernetes itself serves, or has served, is not among them.
    """
    # What the resolver finds no operator for, no API of the cluster makes good.
    operators = [each for each in wanted_operators(settled, workspace).known if each.is_chosen]
    brought = [manifest.object for each in operators for _, manifest in each.content.others]
    wanted = [resource for each in operators for resource in (*required_apis(each.csv), *_kinds(each.content))]
    kubernetes = {kind.group for kind in builtin_kinds()}
    needed = [each for each in unserved(wanted, settled.cluster, brought, options) if each.group not in kubernetes]
    # Of one API the description in the CSV comes first, which has the plural.
    first = {(each.group, each.kind, each.versions): each for each in reversed(needed)}
    return tuple(sorted(first.values()))


def unserved(
    wanted: Iterable[APIResource], cluster: Cluster, brought: Iterable[KubernetesObject], options: Options
) -> Iterator[APIResource]:
    """Those of some APIs, each with one version, that nothing serves: not the cluster, with what is installed there and
    what is `brought`, nor what the options say of it."""
    there = (*(rendered.object for rendered in cluster.objects.values()), *brought)
    mapper, given_apis = rest_mapper(there, options.api_resources), frozenset(options.apis)
    for resource in dict.fromkeys(wanted):
        if not mapper.serves_kind(gvk_of_api(resource), given_apis, options.kube_version):
            yield resource


def gvk_of_api(resource: APIResource) -> GVK:
    """The kind of an API with one version."""
    return GVK(resource.group, resource.versions[0], resource.kind)


def required_apis(csv: Csv) -> Iterator[APIResource]:
    """The APIs that a CSV requires and does not bring itself."""
    owned = {item.name for item in csv.owned_crds}
    for crd in csv.required_crds:
        if crd.name not in owned:
            yield APIResource(crd.api.group, crd.kind, crd.plural, True, (crd.version,))
    provided = {item.api for item in csv.owned_apiservices}
    for service in csv.required_apiservices:
        if service.api not in provided:
            yield APIResource(service.group, service.kind, service.name, True, (service.version,))
    yield from map(api_of, csv.native_apis)


def _kinds(content: Content) -> Iterator[APIResource]:
    yield from (api_of(gvk_of(manifest.object)) for _, manifest in content.others)


def api_of(kind: GVK) -> APIResource:
    """A kind as an API that is served in its version."""
    return APIResource(kind.group, kind.kind, plural_of(kind.kind), True, (kind.version,))


def with_outside_apis(
    options: Options, compile_with: Callable[[Options], C], lacking: Callable[[C, Options], tuple[APIResource, ...]]
) -> tuple[C, tuple[APIResource, ...]]:
    """What `compile_with` makes of a cluster that serves what others bring, and what that is, () for nothing.

    `lacking` says which APIs a compilation lacks, as `outside_apis` does. A review wants to know what an operator does
    once it runs, which nobody learns where the APIs of others keep it from running.
    """
    made = compile_with(options)
    assumed: tuple[APIResource, ...] = ()
    for _ in range(_ROUNDS):
        more = tuple(api for api in lacking(made, options) if api not in assumed)
        if not more:
            break
        assumed = tuple(sorted({*assumed, *more}))
        made = compile_with(options._replace(api_resources=(*options.api_resources, *assumed)))
    return made, assumed


def in_words(apis: Iterable[APIResource]) -> str:
    """APIs as `--api` takes them."""
    return ", ".join(f"{api.group}/{version}/{api.kind}" for api in apis for version in api.versions)
