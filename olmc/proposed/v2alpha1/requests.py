"""What Operators ask of the resolver, and why the resolution is what it is, with the places of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.model.catalog import Resolution, ResolveRequest, SubscriptionRequest
from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Location
from olmc.model.objects import mapping
from olmc.model.operators import Operator
from olmc.proposed.v2alpha1.approval import ApprovalContext, OperatorResult
from olmc.resolver.cluster_wide import cluster_resolve_request
from olmc.resolver.explain import ExplanationLine, derivation
from olmc.resolver.resolve import NOT_SATISFIABLE, absent_hint, absent_place, resolve
from olmc.resolver.snapshot import snapshot_of
from olmc.yaml import at

_CATALOG = ("spec", "updates", "catalogSource")
# The fields of a Subscription's spec, and those of an Operator that mean the same.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "name": ("package",),
    "channel": ("channel",),
    "startingCSV": ("entrypoint",),
    "source": ("ref", "name"),
    "sourceNamespace": ("ref", "namespace"),
}


def request_of(outcome: OperatorResult) -> SubscriptionRequest:
    """An Operator as the resolver sees it; for an entrypoint alone its package is "" as long as nothing is known."""
    catalog = outcome.operator.catalog
    return SubscriptionRequest(
        name=outcome.operator.name,
        package=outcome.package,
        channel=outcome.channel,
        catalog=outcome.ref,
        starting=catalog.entrypoint if catalog is not None else "",
        installed=outcome.installed,
        current=outcome.installed,
        kind="Operator",
    )


def resolve_request_of(scene: ApprovalContext, cluster: Cluster, outcomes: Iterable[OperatorResult]) -> ResolveRequest:
    """The request of all Operators that follow a package, or have yet to install their entrypoint."""
    requests = [
        request_of(outcome)
        for outcome in outcomes
        if outcome.operator.catalog is not None and outcome.package and not (outcome.fixed and outcome.installed)
    ]
    return cluster_resolve_request(scene.workspace, cluster, requests, cluster.subscriptions, scene.options)


def with_places(resolve_request: ResolveRequest, operators: Mapping[str, Operator]) -> ResolveRequest:
    """The request with the places of its Operators and of their fields, for messages."""
    requests = tuple(
        request._replace(
            location=at(operators[request.name].source, *_CATALOG), fields=tuple(_places(operators[request.name]))
        )
        for request in resolve_request.requests
    )
    return resolve_request._replace(requests=requests)


def _places(operator: Operator) -> Iterator[tuple[str, Location]]:
    spec = mapping(operator.object.get("spec"))
    given = mapping(mapping(spec.get("updates")).get("catalogSource"))
    for field, keys in _FIELDS.items():
        place = at(operator.source, *_CATALOG, *keys) if keys[0] in given else None
        if place is not None:
            yield field, place


def without_entrypoint(
    scene: ApprovalContext, cluster: Cluster, outcome: OperatorResult
) -> tuple[ResolveRequest, Resolution]:
    """What an Operator of an entrypoint alone asks for, and that its catalog does not have it, or can't be read
    (R-OPERATOR-8)."""
    request, operator = request_of(outcome), outcome.operator
    text = f"no operators found with name {request.starting} in catalog {request.catalog.name} in namespace "
    text += f"{request.catalog.namespace} referenced by {request.in_texts}"
    resolve_request = cluster_resolve_request(scene.workspace, cluster, [request], cluster.subscriptions, scene.options)
    asked = with_places(resolve_request, {operator.name: operator})
    if any(catalog.problem for catalog in resolve_request.catalogs if catalog.key == request.catalog):
        return asked, resolve(asked)
    return asked, Resolution(message=text, reason=NOT_SATISFIABLE)


def explanation(outcome: OperatorResult) -> tuple[ExplanationLine, ...]:
    """Why an Operator can't be resolved, step by step; nothing for one that can."""
    if outcome.unresolved is None:
        return ()
    resolve_request, given = outcome.unresolved
    (request, *others) = resolve_request.requests
    if others or request.package or given.reason != NOT_SATISFIABLE:
        return derivation(resolve_request, given)
    catalog = f"catalog {request.catalog.name} in {request.catalog.namespace}"
    asked = f"{request.kind} {request.name} asks for {request.starting} of {catalog}"
    snapshot = snapshot_of(resolve_request, resolve_request.present)
    return (
        ExplanationLine(0, asked, request.location, request.name),
        ExplanationLine(1, absent_hint(snapshot, request), absent_place(snapshot, request)),
    )
