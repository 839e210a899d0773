"""Why a namespace can't be resolved, step by step, and why each pick of one that can was picked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from olmc.model.catalog import Resolution, ResolveRequest, SubscriptionRequest
from olmc.model.diagnostics import Location
from olmc.resolver.predicates import CelMissingError, requirements, wording
from olmc.resolver.resolve import NOT_SATISFIABLE, absent_hint, absent_place, drafted, unmet_hint
from olmc.resolver.snapshot import Entry
from olmc.resolver.solver import select
from olmc.resolver.variables import (
    AppliedConstraint,
    ConstraintKind,
    VariableSet,
    applied,
    installed_item,
    problem_of,
    subscription_variable,
)

__all__ = ["ExplanationLine", "PickReason", "derivation", "reasons"]


class ExplanationLine(NamedTuple):
    """A step of an explanation: how deep it is nested, the text, and the place of the fact that it states.

    `subscription` is the name of the Subscription, or Operator, whose wish the lines below are about.
    """

    depth: int
    text: str
    location: Location | None = None
    subscription: str = ""

    def __str__(self) -> str:
        """The text, indented, with its place."""
        place = f" ({self.location})" if self.location is not None else ""
        return f"{'  ' * self.depth}{self.text}{place}"


def derivation(question: ResolveRequest, answer: Resolution) -> tuple[ExplanationLine, ...]:
    """What was asked, which candidates there were and what ruled out each; nothing for an answer without
    failure.

    `answer` must be the answer to `question`.
    """
    if not answer.message:
        return ()
    try:
        draft, errors = drafted(question)
    except CelMissingError:
        return (ExplanationLine(0, answer.message),)
    if answer.reason != NOT_SATISFIABLE:
        head = f"an error prevents the resolution of {question.scope}"
        found = [ExplanationLine(1, each.told or each.text, each.location) for each in errors] or [
            ExplanationLine(1, answer.message)
        ]
        return (ExplanationLine(0, head), *dict.fromkeys(found))
    return tuple(_Story.of(question, draft, answer.conflict).told())


class PickReason(NamedTuple):
    """What called for a pick: a Subscription (or an Operator), or a bundle's requirement."""

    text: str
    is_subscription: bool

    def __str__(self) -> str:
        return self.text


def reasons(question: ResolveRequest) -> tuple[PickReason, ...]:
    """What called for each pick of a question that can be resolved, in the order of the answer's picks: a
    Subscription, or a bundle's requirement. Raises cel.CelMissingError.
    """
    draft, errors = drafted(question)
    if errors:
        return ()
    names = {subscription_variable(wish.name): f"{wish.kind} {wish.name}" for wish in question.wishes}
    found = []
    for each in select(problem_of(draft)).picked:
        item = draft.items.get(each.identifier)
        if item is not None and not item.existing:
            named = names.get(each.because.subject, "")
            found.append(PickReason(named or each.because.text.removeprefix("bundle "), bool(named)))
    return tuple(found)


@dataclass(slots=True)
class _Story:
    """The constraints of a conflict by what they are about, and the bundles that have been told of.

    `callers` are the variables that ask for a bundle: Subscriptions, other bundles, or itself when it has to
    stay.
    """

    question: ResolveRequest
    draft: VariableSet
    by_subject: Mapping[str, list[AppliedConstraint]]
    callers: Mapping[str, set[str]]
    groups: list[AppliedConstraint]
    told_of: set[str] = field(default_factory=set)

    @staticmethod
    def of(question: ResolveRequest, draft: VariableSet, conflict: tuple[str, ...]) -> _Story:
        by_subject: dict[str, list[AppliedConstraint]] = defaultdict(list)
        callers: dict[str, set[str]] = defaultdict(set)
        groups = []
        for one in applied(problem_of(draft)):
            if one.text not in conflict:
                continue
            if one.kind is ConstraintKind.AT_MOST_ONE:
                groups.append(one)
                continue
            by_subject[one.subject].append(one)
            if one.kind is ConstraintKind.MANDATORY:
                callers[one.subject].add(one.subject)
            elif one.kind is ConstraintKind.DEPENDS:
                for each in one.others:
                    callers[each].add(one.subject)
        return _Story(question, draft, by_subject, callers, groups)

    def told(self) -> Iterator[ExplanationLine]:
        yield ExplanationLine(0, f"no choice of versions in {self.question.scope} suits everything that is asked for")
        for wish in sorted(self.question.wishes, key=lambda each: each.name):
            if subscription_variable(wish.name) in self.by_subject:
                yield from self._wish(wish)
        who = self.question.kind
        for anchor in self.draft.anchors:
            item = self.draft.items.get(anchor)
            if item is not None and anchor in self.by_subject:
                text = f"{item.name} is installed without {'an' if who == 'Operator' else 'a'} {who} and has to stay"
                yield ExplanationLine(1, text, item.origin.location)
                yield from self._objections(item, anchor, 2)

    def _wish(self, wish: SubscriptionRequest) -> Iterator[ExplanationLine]:
        installed = installed_item(self.draft.view, wish)
        channel = f"channel {wish.channel}" if wish.channel else "any channel"
        asked = f"{wish.kind} {wish.name} asks for package {wish.package} from {channel}"
        source = f" of catalog {wish.catalog.name} in {wish.catalog.namespace}"
        state = f", starting with {wish.starting}" if wish.starting else ""
        if installed:
            state = f", and has {installed.name} installed"
        yield ExplanationLine(1, asked + source + state, wish.location, wish.name)
        for one in self.by_subject[subscription_variable(wish.name)]:
            if one.kind is ConstraintKind.PROHIBITED:
                yield ExplanationLine(2, absent_hint(self.draft.view, wish), absent_place(self.draft.view, wish))
            elif one.kind is ConstraintKind.DEPENDS and not one.others:
                yield ExplanationLine(2, "none of its entries is an option", wish.location)
            elif one.kind is ConstraintKind.DEPENDS:
                yield from self._options(one, 2)

    def _options(self, one: AppliedConstraint, depth: int) -> Iterator[ExplanationLine]:
        for identifier in one.others:
            item = self.draft.items[identifier]
            yield ExplanationLine(depth, f"{_label(item)} is a candidate, but", item.origin.location)
            yield from self._objections(item, one.subject, depth + 1)

    def _objections(self, item: Entry, caller: str, depth: int) -> Iterator[ExplanationLine]:
        """What the conflict has against a bundle: one fact that suffices, or all that has to be taken
        together.
        """
        if item.identifier in self.told_of:
            yield ExplanationLine(depth, "it is ruled out as said above")
            return
        self.told_of.add(item.identifier)
        own = [one for one in self.by_subject.get(item.identifier, ()) if one.kind is not ConstraintKind.MANDATORY]
        fatal = [one for one in own if not one.others]
        if fatal:
            yield self._fatal(item, fatal[0], depth)
            return
        for one in own:
            if one.kind is ConstraintKind.CONFLICTS:
                rival = self.draft.items[one.others[0]]
                yield ExplanationLine(depth, f"it replaces {_label(rival)}, so that only one of the two can stay")
            else:
                yield ExplanationLine(depth, f"it {_wanted(item, one)}", item.origin.location)
                yield from self._options(one, depth + 1)
        shared = [group for group in self.groups if item.identifier in group.others]
        for group in shared:
            yield self._rivals(item, caller, group, depth)
        if not own and not shared:
            yield ExplanationLine(depth, "it does not go together with the rest")

    def _fatal(self, item: Entry, one: AppliedConstraint, depth: int) -> ExplanationLine:
        place = item.origin.location
        if one.kind is ConstraintKind.PROHIBITED:
            return ExplanationLine(depth, "it has the property olm.deprecated, with which nothing is installed", place)
        wanted = _wanted(item, one)
        known = {f"requires an operator {wording(each)}": each for each in requirements(item.properties)}
        hint = unmet_hint(self.draft.view, known[wanted])
        return ExplanationLine(depth, f"it {wanted}, and there is none" + (f": {hint}" if hint else ""), place)

    def _rivals(self, item: Entry, caller: str, group: AppliedConstraint, depth: int) -> ExplanationLine:
        """The bundles of the group that something else asks for, or all of it when nothing does."""
        provides = group.text.endswith(f" provide {group.subject}")
        what = f"provides {group.subject}" if provides else f"is of package {group.subject}"
        if group.others.count(item.identifier) > 1:
            text = f"its properties say twice that it {what}, which OLM takes for two rivals"
            return ExplanationLine(depth, text, item.origin.location)
        others = [each for each in group.others if each != item.identifier]
        wanted = [each for each in others if self.callers.get(each, set()) - {caller}]
        rivals = [self.draft.items[each] for each in wanted or others]
        verb = ("do" if provides else "are") if len(rivals) > 1 else ("does" if provides else "is")
        place = rivals[0].origin.location if len(rivals) == 1 else None
        scope = "the cluster" if self.question.whole_cluster else "a namespace"
        text = f"it {what}, as {verb} {_listed(rivals)}, and {scope} can have only one"
        return ExplanationLine(depth, text, place)


def _listed(items: Sequence[Entry]) -> str:
    names = list(map(_label, items))
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _label(item: Entry) -> str:
    if item.existing:
        return f"the installed {item.name}"
    return f"{item.name} (channel {item.channel}, catalog {item.catalog.name})"


def _wanted(item: Entry, one: AppliedConstraint) -> str:
    return one.text.removeprefix(f"bundle {item.name} ")
