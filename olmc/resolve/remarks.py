"""What a person should know about an answer: failures, choices that OLM makes at random, edges that don't
work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.model.diagnostic import Diagnostic
from olmc.model.location import Location
from olmc.model.resolution import Answer, Question, Wish
from olmc.resolve.solver import Applied, Kind, Picked
from olmc.resolve.suggest import absent_place
from olmc.resolve.variables import Draft, Trouble, subscription_variable
from olmc.resolve.view import Item
from olmc.rules import resolve as rules
from olmc.rules.rule import Rule
from olmc.semver import RangeError, parse_range

__all__ = ["failure", "remarks"]


def failure(question: Question, draft: Draft, errors: Sequence[Trouble], given: Answer, rule: Rule) -> Diagnostic:
    """The diagnostic for a namespace that can't be resolved: where the cause stands, else at its first Subscription."""
    wishes = sorted(question.wishes, key=lambda each: each.name)
    placed = [(wish.name, wish.location) for wish in wishes if wish.location]
    cause = next((each.location for each in errors if each.location), None)
    blamed = ("", cause) if cause else _blamed(question, wishes, draft) or next(iter(placed), None)
    name, place = blamed or ("", None)
    related: tuple[tuple[str, Location], ...] = tuple(
        (f"Subscription {each}", location) for each, location in placed if each != name
    )
    return rule.finding(place, related=related, namespace=question.namespace, message=given.message)


def _blamed(question: Question, wishes: Sequence[Wish], draft: Draft) -> tuple[str, Location] | None:
    """The first Subscription that asks for what is not there or can't be read, and the place of the field that does."""
    unusable = {catalog.key for catalog in question.catalogs if catalog.problem}
    for wish in wishes:
        place = wish.place_of("source") if wish.catalog in unusable else None
        kinds = {each.kind for each in draft.constraints.get(subscription_variable(wish.name), ())}
        if Kind.PROHIBITED in kinds:
            place = absent_place(draft.view, wish)
        if place is not None:
            return wish.name, place
    return None


def remarks(question: Question, draft: Draft, picked: tuple[Picked, ...]) -> Iterator[Diagnostic]:
    """Findings about a resolution that came to a result."""
    yield from _unreadable_skip_ranges(draft)
    wishes = {subscription_variable(wish.name): wish for wish in question.wishes}
    for each in picked:
        item = draft.items.get(each.identifier)
        if item is None or item.existing or each.because.kind is not Kind.DEPENDS:
            continue
        wish = wishes.get(each.because.subject)
        others = [draft.items[other] for other in each.because.others]
        if wish is None:
            yield from _other_providers(draft, each.because, item, others)
        else:
            yield from _other_channels(wish, item, others)


def _unreadable_skip_ranges(draft: Draft) -> Iterator[Diagnostic]:
    for item in draft.items.values():
        if item.skip_range:
            try:
                parse_range(item.skip_range)
            except RangeError as error:
                yield rules.SKIP_RANGE_UNREADABLE.finding(
                    item.origin.location, text=item.skip_range, bundle=item.name, cause=error
                )


def _other_channels(wish: Wish, item: Item, others: list[Item]) -> Iterator[Diagnostic]:
    channels = [other.channel for other in others if other.name == item.name]
    if not wish.channel and len(channels) > 1:
        yield rules.CHANNEL_LEFT_OPEN.finding(
            wish.location, name=wish.name, bundle=item.name, channels=", ".join(channels), channel=item.channel
        )


def _other_providers(draft: Draft, because: Applied, item: Item, others: list[Item]) -> Iterator[Diagnostic]:
    packages = sorted({other.package for other in others} - {item.package})
    requiring = draft.items.get(because.subject)
    if packages and requiring is not None:
        yield rules.SEVERAL_PROVIDERS.finding(
            requiring.origin.location,
            bundle=requiring.name,
            wanted=because.text.removeprefix(f"bundle {requiring.name} requires an operator "),
            chosen=item.name,
            others=", ".join(packages),
        )
