"""Why a namespace can't be resolved, step by step, and why each pick of one that can was picked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, Resolution, ResolveRequest, SubscriptionRequest
from olmc.model.cel_account import CelMissingError
from olmc.model.diagnostics import Location
from olmc.model.objects import CatalogKey
from olmc.model.served_entries import of_package
from olmc.resolver.left_out import NotVendoredError
from olmc.resolver.predicates import Predicate, wording
from olmc.resolver.resolve import NOT_SATISFIABLE, absent_hint, absent_place, collect_variables, unmet_hint
from olmc.resolver.snapshot import Entry, item_of_candidate, item_of_present
from olmc.resolver.solver import select
from olmc.resolver.unsat import ConflictBudget, indispensable
from olmc.resolver.upgrade_path import upgrades
from olmc.resolver.variables import (
    AppliedConstraint,
    ConstraintKind,
    UnfinishedError,
    VariableSet,
    applied,
    installed_item,
    problem_of,
    subscription_variable,
)

__all__ = ["ExplanationLine", "HeldUpgrade", "PickReason", "derivation", "held_back", "may_be_held", "reasons"]


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
        draft, errors = collect_variables(question)
    except (CelMissingError, NotVendoredError):
        return (ExplanationLine(0, answer.message),)
    if answer.reason != NOT_SATISFIABLE:
        head = f"an error prevents the resolution of {question.scope}"
        causes = [ExplanationLine(1, error.explanation or error.text, error.location) for error in errors]
        # Without an error of its own it is one that shows when the picks are looked up (R-CAT-566).
        return (ExplanationLine(0, head), *dict.fromkeys(causes or [ExplanationLine(1, answer.message)]))
    return tuple(_Derivation.of(question, draft, answer.conflict).lines())


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
    draft, errors = collect_variables(question)
    if errors:
        return ()
    names = {subscription_variable(wish.name): f"{wish.kind} {wish.name}" for wish in question.wishes}
    pick_reasons = []
    for decision in select(problem_of(draft), question.conflicts).picked:
        item = draft.items.get(decision.identifier)
        if item is not None and not item.existing:
            subject, requirement = decision.because.subject, decision.because.requirement
            if requirement is None:
                pick_reasons.append(PickReason(names[subject], is_subscription=True))
            else:
                text = f"{draft.items[subject].name} {_demand(requirement)}"
                pick_reasons.append(PickReason(text, is_subscription=False))
    return tuple(pick_reasons)


class HeldUpgrade(NamedTuple):
    """An upgrade that the channel of a Subscription has, and that would break something else.

    `reasons` say what stands in its way, one line each.
    """

    wish: SubscriptionRequest
    upgrade: str
    reasons: tuple[ExplanationLine, ...]

    def __str__(self) -> str:
        return f"{self.upgrade} is held back: {'; '.join(reason.text for reason in self.reasons)}"


def held_back(question: ResolveRequest, answer: Resolution) -> tuple[HeldUpgrade, ...]:
    """The upgrades that no choice of versions can hold, of Subscriptions that stay as they are (R-CAT-546, R-CAT-547).

    `answer` must be the answer to `question`; what it picks, or fails on, is not held back.
    """
    staying = _staying(question, answer)
    if not staying:
        return ()
    try:
        draft, errors = collect_variables(question)
    except (CelMissingError, NotVendoredError):
        return ()
    return () if errors else tuple(held for wish in staying for held in _held(question, draft, wish))


def may_be_held(question: ResolveRequest, answer: Resolution) -> bool:
    """Whether a Subscription stays as it is although its channel has an upgrade."""
    return bool(_staying(question, answer))


def _staying(question: ResolveRequest, answer: Resolution) -> list[SubscriptionRequest]:
    if answer.message:
        return []
    moving = {pick.candidate.package for pick in answer.picks}
    return [wish for wish in _may_move(question) if wish.package not in moving]


def _may_move(question: ResolveRequest) -> Iterator[SubscriptionRequest]:
    """The Subscriptions whose channel has an upgrade of what they have installed."""
    installed = {csv.name: csv for csv in question.present}
    packages = {wish.package for wish in question.wishes if wish.installed in installed}
    entries: dict[tuple[CatalogKey, str], list[Candidate]] = defaultdict(list)
    for catalog, package in product(question.catalogs, packages):
        shown = (entry for entry in of_package(catalog.entries, package) if not entry.withheld)
        entries[catalog.key, package].extend(shown)
    for wish in question.wishes:
        if wish.installed in installed:
            present = item_of_present(installed[wish.installed], question.namespace)
            in_channel = (e for e in entries[wish.catalog, wish.package] if wish.channel in ("", e.channel))
            if any(upgrades(item_of_candidate(entry), present) for entry in in_channel):
                yield wish


def _held(question: ResolveRequest, draft: VariableSet, wish: SubscriptionRequest) -> Iterator[HeldUpgrade]:
    """The first upgrade that a Subscription would take, and what can't hold together with it."""
    options = [each for each in draft.constraints[subscription_variable(wish.name)] if each.requirement is None]
    upgrade = next((draft.items[other] for each in options for other in each.others), None)
    if upgrade is None or upgrade.existing:
        return
    wanted = AppliedConstraint(ConstraintKind.MANDATORY, upgrade.identifier, (), f"{upgrade.identifier} is wanted")
    conflict = _conflict_with(question, draft, wanted)
    if conflict:
        reasons = _Derivation.of(question, draft, conflict).reasons_against(upgrade)
        yield HeldUpgrade(wish, upgrade.name, tuple(reasons))


def _conflict_with(question: ResolveRequest, draft: VariableSet, wanted: AppliedConstraint) -> tuple[str, ...]:
    """What can't hold together with a constraint; () where nobody has found out in time."""
    try:
        return indispensable([*applied(problem_of(draft)), wanted], ConflictBudget(question.conflicts))
    except UnfinishedError:
        return ()


@dataclass(slots=True)
class _Derivation:
    """The constraints of a conflict by what they are about, and the bundles that have been explained.

    `callers` are the variables that ask for a bundle: Subscriptions, other bundles, or itself when it has to
    stay.
    """

    question: ResolveRequest
    draft: VariableSet
    by_subject: Mapping[str, list[AppliedConstraint]]
    callers: Mapping[str, set[str]]
    groups: list[AppliedConstraint]
    explained: set[str] = field(default_factory=set)

    @staticmethod
    def of(question: ResolveRequest, draft: VariableSet, conflict: tuple[str, ...]) -> _Derivation:
        by_subject: dict[str, list[AppliedConstraint]] = defaultdict(list)
        callers: dict[str, set[str]] = defaultdict(set)
        groups = []
        for constraint in applied(problem_of(draft)):
            # Constraints of the same text are one to OLM, so the text is what a conflict knows them by (D22).
            if constraint.text not in conflict:
                continue
            if constraint.kind is ConstraintKind.AT_MOST_ONE:
                groups.append(constraint)
                continue
            by_subject[constraint.subject].append(constraint)
            if constraint.kind is ConstraintKind.MANDATORY:
                callers[constraint.subject].add(constraint.subject)
            elif constraint.kind is ConstraintKind.DEPENDS:
                for option in constraint.others:
                    callers[option].add(constraint.subject)
        return _Derivation(question, draft, by_subject, callers, groups)

    def lines(self) -> Iterator[ExplanationLine]:
        yield ExplanationLine(0, f"no choice of versions in {self.question.scope} suits everything that is asked for")
        for wish in sorted(self.question.wishes, key=lambda wish: wish.name):
            if subscription_variable(wish.name) in self.by_subject:
                yield from self._wish(wish)
        who = self.question.kind
        for anchor in self.draft.anchors:
            item = self.draft.items.get(anchor)
            if item is not None and anchor in self.by_subject:
                text = f"{item.name} is installed without {'an' if who == 'Operator' else 'a'} {who} and has to stay"
                yield ExplanationLine(1, text, item.location)
                yield from self._objections(item, anchor, 2)

    def reasons_against(self, upgrade: Entry) -> list[ExplanationLine]:
        """What others require and would lose by an upgrade; if that is not it, what stands against it by itself."""
        demands = [
            ExplanationLine(0, f"{item.name} {_demand(each.requirement)}", item.location)
            for subject, constraints in sorted(self.by_subject.items())
            if (item := self.draft.items.get(subject)) is not None and item is not upgrade
            for each in constraints
            if each.requirement is not None
        ]
        return demands or [line for line in self._objections(upgrade, "", 0) if line.depth == 0]

    def _wish(self, wish: SubscriptionRequest) -> Iterator[ExplanationLine]:
        installed = installed_item(self.draft.view, wish)
        channel = f"channel {wish.channel}" if wish.channel else "any channel"
        request = f"{wish.kind} {wish.name} asks for package {wish.package} from {channel}"
        source = f" of catalog {wish.catalog.name} in {wish.catalog.namespace}"
        state = f", starting with {wish.starting}" if wish.starting else ""
        if installed:
            state = f", and has {installed.name} installed"
        yield ExplanationLine(1, request + source + state, wish.location, wish.name)
        for constraint in self.by_subject[subscription_variable(wish.name)]:
            if constraint.kind is ConstraintKind.PROHIBITED:
                yield ExplanationLine(2, absent_hint(self.draft.view, wish), absent_place(self.draft.view, wish))
            elif constraint.kind is ConstraintKind.DEPENDS and not constraint.others:
                yield ExplanationLine(2, "none of its entries is an option", wish.location)
            elif constraint.kind is ConstraintKind.DEPENDS:
                yield from self._options(constraint, 2)

    def _options(self, dependency: AppliedConstraint, depth: int) -> Iterator[ExplanationLine]:
        for identifier in dependency.others:
            item = self.draft.items[identifier]
            yield ExplanationLine(depth, f"{_label(item)} is a candidate, but", item.location)
            yield from self._objections(item, dependency.subject, depth + 1)

    def _objections(self, item: Entry, caller: str, depth: int) -> Iterator[ExplanationLine]:
        """What the conflict has against a bundle: one fact that suffices, or all that has to be taken
        together.
        """
        # Bundles may require each other, and what is explained once holds everywhere: without this it would not end.
        if item.identifier in self.explained:
            yield ExplanationLine(depth, "it is ruled out as said above")
            return
        self.explained.add(item.identifier)
        own = [rule for rule in self.by_subject.get(item.identifier, ()) if rule.kind is not ConstraintKind.MANDATORY]
        fatal = [constraint for constraint in own if not constraint.others]
        if fatal:
            yield self._fatal(item, fatal[0].requirement, depth)
            return
        for constraint in own:
            if constraint.requirement is None:
                rival = self.draft.items[constraint.others[0]]
                yield ExplanationLine(depth, f"it replaces {_label(rival)}, so that only one of the two can stay")
            else:
                yield ExplanationLine(depth, f"it {_demand(constraint.requirement)}", item.location)
                yield from self._options(constraint, depth + 1)
        shared = [group for group in self.groups if item.identifier in group.others]
        for group in shared:
            yield self._rivals(item, caller, group, depth)
        if not own and not shared:
            yield ExplanationLine(depth, "it does not go together with the rest")

    def _fatal(self, item: Entry, unmet: Predicate | None, depth: int) -> ExplanationLine:
        place = item.location
        if unmet is None:
            return ExplanationLine(depth, "it has the property olm.deprecated, with which nothing is installed", place)
        hint = unmet_hint(self.draft.view, unmet)
        return ExplanationLine(depth, f"it {_demand(unmet)}, and there is none" + (f": {hint}" if hint else ""), place)

    def _rivals(self, item: Entry, caller: str, group: AppliedConstraint, depth: int) -> ExplanationLine:
        """The bundles of the group that something else asks for, or all of it when nothing does."""
        provides = group.api is not None
        what = f"provides {group.subject}" if provides else f"is of package {group.subject}"
        if group.others.count(item.identifier) > 1:
            text = f"its properties say twice that it {what}, which OLM takes for two rivals"
            return ExplanationLine(depth, text, item.location)
        others = [identifier for identifier in group.others if identifier != item.identifier]
        # A bundle that nothing else asks for is one more option of the same caller, not what stands in the way.
        needed = [identifier for identifier in others if self.callers.get(identifier, set()) - {caller}]
        rivals = [self.draft.items[identifier] for identifier in needed or others]
        verb = ("do" if provides else "are") if len(rivals) > 1 else ("does" if provides else "is")
        place = rivals[0].location if len(rivals) == 1 else None
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


def _demand(requirement: Predicate) -> str:
    return f"requires an operator {wording(requirement)}"
