"""Subscriptions that become Operators (R-OPERATOR-13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.golang import component_label_key
from olmc.load.v2alpha1 import V2ALPHA1
from olmc.model.cluster import Cluster, Name, Subscription
from olmc.model.diagnostic import Diagnostic
from olmc.model.objects import KubernetesObject
from olmc.model.proposed import CatalogUpdates, Operator
from olmc.proposed.operators import entrypoint_of
from olmc.rules import migrate
from olmc.rules import v2alpha1 as rules
from olmc.yaml import locate


class Association(NamedTuple):
    """Subscriptions and their Operators: `operators` are all there are now, `by_subscription` their names.

    `refused` are findings about Subscriptions that stay as they are.
    """

    operators: tuple[Operator, ...]
    by_subscription: Mapping[Name, str]
    refused: tuple[Diagnostic, ...]


def associated(cluster: Cluster, operators: Sequence[Operator]) -> Association:
    """Every Subscription with the Operator of the same package, channel and catalog; one is made if there is none."""
    followed = {_followed(cluster, operator): operator.name for operator in operators if operator.catalog is not None}
    every = list(operators)
    found: dict[Name, str] = {}
    refused = []
    for name, subscription in sorted(cluster.subscriptions.items()):
        if subscription.spec.get("config"):
            place = locate(subscription.source, ("spec", "config")) if subscription.source else None
            refused.append(rules.CONFIG_LOST.finding(place, namespace=name.namespace, name=name.name))
            continue
        key = (subscription.package, channel_of(cluster, subscription), subscription.catalog)
        if key not in followed:
            names = _names(cluster, subscription)
            free = next((each for each in names if each not in {operator.name for operator in every}), "")
            if not free:
                refused.append(_name_taken(subscription, names[-1]))
                continue
            followed[key] = free
            every.append(operator_for(cluster, subscription, free))
        found[name] = followed[key]
    return Association(tuple(sorted(every, key=lambda each: each.name)), found, tuple(refused))


def _followed(cluster: Cluster, operator: Operator) -> tuple[object, ...]:
    """The package, channel and catalog of an Operator; for an entrypoint alone they are looked up."""
    catalog = operator.catalog
    if catalog is None:
        return ()
    entry = None if catalog.package else entrypoint_of(cluster, catalog)
    if entry is not None:
        return (entry.package, entry.channel, catalog.ref)
    return (catalog.package, catalog.channel, catalog.ref)


def channel_of(cluster: Cluster, subscription: Subscription) -> str:
    """The channel of a Subscription; the default channel of its package if it names none."""
    channel = subscription.channel
    source = cluster.catalogs.get(subscription.catalog)
    package = source.catalog.packages.get(subscription.package) if source and source.catalog else None
    return channel or (package.default_channel if package else "")


def _names(cluster: Cluster, subscription: Subscription) -> tuple[str, ...]:
    """What the Operator in a Subscription's place may be called: the package, unless another Subscription of the
    workspace has it, else the package and the namespace, which also helps where an Operator is called like the package.
    """
    given = [each for each in cluster.subscriptions.values() if each.source is not None]
    alone = not any(each.package == subscription.package for each in given if each is not subscription)
    longer = f"{subscription.package}.{subscription.name.namespace}"
    return (subscription.package, longer) if alone else (longer,)


def _name_taken(subscription: Subscription, name: str) -> Diagnostic:
    place = locate(subscription.source, ("spec",)) if subscription.source else None
    why = f"there is another Operator {name} already, which does not follow the same package, channel and catalog"
    return migrate.LEFT_ALONE.finding(place, what=f"Subscription {subscription.name}", why=why)


def operator_for(cluster: Cluster, subscription: Subscription, name: str) -> Operator:
    """The Operator that takes a Subscription's place, by its name."""
    updates = CatalogUpdates(
        subscription.catalog,
        subscription.package,
        channel_of(cluster, subscription),
        subscription.starting_csv,
        subscription.approval == "Manual",
    )
    return Operator(operator_object(name, updates, subscription.approval), subscription.source, updates)


def operator_object(name: str, updates: CatalogUpdates, approval: str) -> KubernetesObject:
    """The Operator as its manifest has it; what is "" is left out."""
    fields = (
        ("package", updates.package),
        ("channel", updates.channel),
        ("entrypoint", updates.entrypoint),
        ("approval", approval),
    )
    catalog = {key: value for key, value in fields if value}
    ref = {"name": updates.ref.name, "namespace": updates.ref.namespace}
    spec = {"updates": {"type": "CatalogSource", "catalogSource": {**catalog, "ref": ref}}}
    return {"apiVersion": V2ALPHA1, "kind": "Operator", "metadata": {"name": name}, "spec": spec}


def without(cluster: Cluster, subscriptions: Mapping[Name, str]) -> Cluster:
    """The cluster without those Subscriptions, and without the InstallPlans that belonged to them alone."""
    left = {name: s for name, s in cluster.subscriptions.items() if name not in subscriptions}
    plans = tuple(
        plan
        for plan in cluster.plans
        if plan.given is not None
        or not plan.owners
        or any(Name(plan.namespace, owner) not in subscriptions for owner in plan.owners)
    )
    gone = frozenset(_keys(cluster, subscriptions))
    adopted = {name: keys - gone for name, keys in cluster.adopted.items()}
    return cluster._replace(subscriptions=left, plans=plans, adopted=adopted)


def _keys(cluster: Cluster, subscriptions: Mapping[Name, str]) -> Iterator[str]:
    for name in subscriptions:
        yield component_label_key(cluster.subscriptions[name].package, name.namespace)
