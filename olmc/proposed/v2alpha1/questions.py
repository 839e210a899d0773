"""What Operators ask of the resolver, and why the answer is what it is, with the places of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.model.catalog import Resolution, ResolveRequest, SubscriptionRequest
from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Location
from olmc.model.objects import mapping
from olmc.model.operators import Operator
from olmc.proposed.v2alpha1.approval import ApprovalContext, OperatorResult
from olmc.resolver.cluster_wide import cluster_question
from olmc.resolver.explain import ExplanationLine, derivation
from olmc.resolver.resolve import NOT_SATISFIABLE, absent_hint, absent_place, answer
from olmc.resolver.snapshot import view_of
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


def wish_of(outcome: OperatorResult) -> SubscriptionRequest:
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


def question_of(scene: ApprovalContext, cluster: Cluster, outcomes: Iterable[OperatorResult]) -> ResolveRequest:
    """The question of all Operators that follow a package, or have yet to install their entrypoint."""
    wishes = [
        wish_of(outcome)
        for outcome in outcomes
        if outcome.operator.catalog is not None and outcome.package and not (outcome.fixed and outcome.installed)
    ]
    return cluster_question(scene.workspace, cluster, wishes, cluster.subscriptions, scene.options)


def with_places(question: ResolveRequest, operators: Mapping[str, Operator]) -> ResolveRequest:
    """The question with the places of its Operators and of their fields, for messages."""
    wishes = tuple(
        wish._replace(location=at(operators[wish.name].source, *_CATALOG), fields=tuple(_places(operators[wish.name])))
        for wish in question.wishes
    )
    return question._replace(wishes=wishes)


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
    wish, operator = wish_of(outcome), outcome.operator
    text = f"no operators found with name {wish.starting} in catalog {wish.catalog.name} in namespace "
    text += f"{wish.catalog.namespace} referenced by {wish.in_texts}"
    question = cluster_question(scene.workspace, cluster, [wish], cluster.subscriptions, scene.options)
    asked = with_places(question, {operator.name: operator})
    if any(catalog.problem for catalog in question.catalogs if catalog.key == wish.catalog):
        return asked, answer(asked)
    return asked, Resolution(message=text, reason=NOT_SATISFIABLE)


def explanation(outcome: OperatorResult) -> tuple[ExplanationLine, ...]:
    """Why an Operator can't be resolved, step by step; nothing for one that can."""
    if outcome.unresolved is None:
        return ()
    question, given = outcome.unresolved
    (wish, *others) = question.wishes
    if others or wish.package or given.reason != NOT_SATISFIABLE:
        return derivation(question, given)
    catalog = f"catalog {wish.catalog.name} in {wish.catalog.namespace}"
    asked = f"{wish.kind} {wish.name} asks for {wish.starting} of {catalog}"
    view = view_of(question, question.present)
    return (
        ExplanationLine(0, asked, wish.location, wish.name),
        ExplanationLine(1, absent_hint(view, wish), absent_place(view, wish)),
    )
