"""Explain why a namespace can't be resolved, step by step, and the reason of each selection of a successful
resolution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from olmc.compiler.model.catalog import Candidate, Resolution, ResolveRequest, SubscriptionRequest, of_package
from olmc.compiler.resolver.predicates import NotVendoredError, Predicate, wording
from olmc.compiler.resolver.resolve import (
    NOT_SATISFIABLE,
    absent_hint,
    absent_place,
    collect_variables,
    select,
    unmet_hint,
)
from olmc.compiler.resolver.snapshot import Entry, entry_of_candidate, entry_of_installed, snapshot_of
from olmc.compiler.resolver.upgrade_path import upgrades
from olmc.compiler.resolver.variables import (
    AppliedConstraint,
    ConflictBudget,
    ConstraintKind,
    UnfinishedError,
    VariableSet,
    applied,
    indispensable,
    installed_entry,
    problem_of,
    subscription_variable,
)
from olmc.k8s.diagnostics import Location
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CelMissingError
from olmc.k8s.objects import CatalogKey

__all__ = [
    "PREVENTS",
    "ExplanationLine",
    "HeldUpgrade",
    "PickReason",
    "derivation",
    "explain_unresolved",
    "held_back",
    "may_be_held",
    "reasons",
]


PREVENTS = "an error prevents the resolution of"
"""The beginning of an explanation whose next line is the error."""


class ExplanationLine(NamedTuple):
    """A step of an explanation: how deep it is nested, the text, and the place of the fact that it states.

    `subscription` is the name of the Subscription, or Operator, whose request the lines below are about.
    """

    depth: int
    text: str
    location: Location | None = None
    subscription: str = ""

    def __str__(self) -> str:
        """The text, indented, with its place."""
        place = f" ({self.location})" if self.location is not None else ""
        return f"{'  ' * self.depth}{self.text}{place}"


def derivation(resolve_request: ResolveRequest, resolution: Resolution) -> tuple[ExplanationLine, ...]:
    """Return the requests, their candidates and the reason against each; () for a resolution without failure.

    `resolution` must be the resolution to `resolve_request`.
    """
    if not resolution.message:
        return ()
    try:
        variables, errors = collect_variables(resolve_request)
    except (CelMissingError, NotVendoredError):
        return (ExplanationLine(0, resolution.message),)
    if resolution.reason != NOT_SATISFIABLE:
        head = f"{PREVENTS} {resolve_request.scope}"
        causes = [ExplanationLine(1, error.explanation or error.text, error.location) for error in errors]
        # Without an error of its own it is one that shows when the selections are looked up (R-CAT-566).
        return (ExplanationLine(0, head), *dict.fromkeys(causes or [ExplanationLine(1, resolution.message)]))
    return tuple(_Derivation.of(resolve_request, variables, resolution.conflict).lines())


def explain_unresolved(resolve_request: ResolveRequest, resolution: Resolution) -> tuple[ExplanationLine, ...]:
    """Explain step by step why Operators can't be resolved; one without a package asks for its entrypoint
    (R-OPERATOR-8)."""
    (request, *others) = resolve_request.requests
    if others or request.package or resolution.reason != NOT_SATISFIABLE:
        return derivation(resolve_request, resolution)
    catalog = f"catalog {request.catalog.name} in {request.catalog.namespace}"
    asked = f"{request.kind} {request.name} asks for {request.starting} of {catalog}"
    snapshot = snapshot_of(resolve_request, resolve_request.present)
    return (
        ExplanationLine(0, asked, request.location, request.name),
        ExplanationLine(1, absent_hint(snapshot, request), absent_place(snapshot, request)),
    )


class PickReason(NamedTuple):
    """The reason of a selection: a Subscription (or an Operator), or a bundle's requirement."""

    text: str
    is_subscription: bool

    def __str__(self) -> str:
        return self.text


def reasons(resolve_request: ResolveRequest) -> tuple[PickReason, ...]:
    """Return the reason of each selection of a request that can be resolved, in the order of the resolution's
    selections: a Subscription, or a bundle's requirement. Raises cel.CelMissingError."""
    variables, errors = collect_variables(resolve_request)
    if errors:
        return ()
    names = {
        subscription_variable(request.name): f"{request.kind} {request.name}" for request in resolve_request.requests
    }
    pick_reasons = []
    for decision in select(problem_of(variables), resolve_request.conflicts).picked:
        entry = variables.items.get(decision.identifier)
        if entry is not None and not entry.existing:
            subject, requirement = decision.because.subject, decision.because.requirement
            if requirement is None:
                pick_reasons.append(PickReason(names[subject], is_subscription=True))
            else:
                text = f"{variables.items[subject].name} {_demand(requirement)}"
                pick_reasons.append(PickReason(text, is_subscription=False))
    return tuple(pick_reasons)


class HeldUpgrade(NamedTuple):
    """An upgrade that the channel of a Subscription has, and that would break something else.

    `reasons` say what stands in its way, one line each.
    """

    request: SubscriptionRequest
    upgrade: str
    reasons: tuple[ExplanationLine, ...]

    def __str__(self) -> str:
        return f"{self.upgrade} is held back: {'; '.join(reason.text for reason in self.reasons)}"


def held_back(resolve_request: ResolveRequest, resolution: Resolution) -> tuple[HeldUpgrade, ...]:
    """The upgrades that no choice of versions can hold, of Subscriptions that stay as they are (R-CAT-546, R-CAT-547).

    `resolution` must be the resolution to `resolve_request`; what it selections, or fails on, is not held back.
    """
    staying = _staying(resolve_request, resolution)
    if not staying:
        return ()
    try:
        variables, errors = collect_variables(resolve_request)
    except (CelMissingError, NotVendoredError):
        return ()
    return () if errors else tuple(held for request in staying for held in _held(resolve_request, variables, request))


def may_be_held(resolve_request: ResolveRequest, resolution: Resolution) -> bool:
    """Return whether a Subscription stays as it is although its channel has an upgrade."""
    return bool(_staying(resolve_request, resolution))


def _staying(resolve_request: ResolveRequest, resolution: Resolution) -> list[SubscriptionRequest]:
    if resolution.message:
        return []
    moving = {selection.candidate.package for selection in resolution.selections}
    return [request for request in _may_move(resolve_request) if request.package not in moving]


def _may_move(resolve_request: ResolveRequest) -> Iterator[SubscriptionRequest]:
    """The Subscriptions whose channel has an upgrade of what they have installed."""
    installed = {csv.name: csv for csv in resolve_request.present}
    packages = {request.package for request in resolve_request.requests if request.installed in installed}
    entries: dict[tuple[CatalogKey, str], list[Candidate]] = defaultdict(list)
    for catalog, package in product(resolve_request.catalogs, packages):
        shown = (entry for entry in of_package(catalog.entries, package) if not entry.withheld)
        entries[catalog.key, package].extend(shown)
    for request in resolve_request.requests:
        if request.installed in installed:
            present = entry_of_installed(installed[request.installed], resolve_request.namespace)
            in_channel = (e for e in entries[request.catalog, request.package] if request.channel in ("", e.channel))
            if any(upgrades(entry_of_candidate(entry), present) for entry in in_channel):
                yield request


def _held(
    resolve_request: ResolveRequest, variables: VariableSet, request: SubscriptionRequest
) -> Iterator[HeldUpgrade]:
    """The first upgrade that a Subscription would take, and what can't hold together with it."""
    options = [each for each in variables.constraints[subscription_variable(request.name)] if each.requirement is None]
    upgrade = next((variables.items[other] for each in options for other in each.others), None)
    if upgrade is None or upgrade.existing:
        return
    wanted = AppliedConstraint(ConstraintKind.MANDATORY, upgrade.identifier, (), f"{upgrade.identifier} is wanted")
    conflict = _conflict_with(resolve_request, variables, wanted)
    if conflict:
        reasons = _Derivation.of(resolve_request, variables, conflict).reasons_against(upgrade)
        yield HeldUpgrade(request, upgrade.name, tuple(reasons))


def _conflict_with(
    resolve_request: ResolveRequest, variables: VariableSet, wanted: AppliedConstraint
) -> tuple[str, ...]:
    """Return the constraints that conflict with a constraint; () if the search took too long."""
    try:
        return indispensable([*applied(problem_of(variables)), wanted], ConflictBudget(resolve_request.conflicts))
    except UnfinishedError:
        return ()


@dataclass(slots=True)
class _Derivation:
    """The constraints of a conflict by what they are about, and the bundles that have been explained.

    `callers` are the variables that ask for a bundle: Subscriptions, other bundles, or itself when it has to
    stay.
    """

    resolve_request: ResolveRequest
    variables: VariableSet
    by_subject: Mapping[str, list[AppliedConstraint]]
    callers: Mapping[str, set[str]]
    groups: list[AppliedConstraint]
    explained: set[str] = field(default_factory=set)

    @staticmethod
    def of(resolve_request: ResolveRequest, variables: VariableSet, conflict: tuple[str, ...]) -> _Derivation:
        by_subject: dict[str, list[AppliedConstraint]] = defaultdict(list)
        callers: dict[str, set[str]] = defaultdict(set)
        groups = []
        for constraint in applied(problem_of(variables)):
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
        return _Derivation(resolve_request, variables, by_subject, callers, groups)

    def lines(self) -> Iterator[ExplanationLine]:
        yield ExplanationLine(
            0, f"no choice of versions in {self.resolve_request.scope} suits everything that is asked for"
        )
        for request in sorted(self.resolve_request.requests, key=lambda request: request.name):
            if subscription_variable(request.name) in self.by_subject:
                yield from self._request(request)
        who = self.resolve_request.kind
        for anchor in self.variables.anchors:
            entry = self.variables.items.get(anchor)
            if entry is not None and anchor in self.by_subject:
                text = f"{entry.name} is installed without {'an' if who == 'Operator' else 'a'} {who} and has to stay"
                yield ExplanationLine(1, text, entry.location)
                yield from self._objections(entry, anchor, 2)

    def reasons_against(self, upgrade: Entry) -> list[ExplanationLine]:
        """Return the requirements of others that an upgrade would break; without any, the reasons of the upgrade
        itself."""
        demands = [
            ExplanationLine(0, f"{entry.name} {_demand(each.requirement)}", entry.location)
            for subject, constraints in sorted(self.by_subject.items())
            if (entry := self.variables.items.get(subject)) is not None and entry is not upgrade
            for each in constraints
            if each.requirement is not None
        ]
        return demands or [line for line in self._objections(upgrade, "", 0) if line.depth == 0]

    def _request(self, request: SubscriptionRequest) -> Iterator[ExplanationLine]:
        installed = installed_entry(self.variables.snapshot, request)
        channel = f"channel {request.channel}" if request.channel else "any channel"
        asking = f"{request.kind} {request.name} asks for package {request.package} from {channel}"
        source = f" of catalog {request.catalog.name} in {request.catalog.namespace}"
        state = f", starting with {request.starting}" if request.starting else ""
        if installed:
            state = f", and has {installed.name} installed"
        yield ExplanationLine(1, asking + source + state, request.location, request.name)
        for constraint in self.by_subject[subscription_variable(request.name)]:
            if constraint.kind is ConstraintKind.PROHIBITED:
                yield ExplanationLine(
                    2, absent_hint(self.variables.snapshot, request), absent_place(self.variables.snapshot, request)
                )
            elif constraint.kind is ConstraintKind.DEPENDS and not constraint.others:
                yield ExplanationLine(2, "none of its entries is an option", request.location)
            elif constraint.kind is ConstraintKind.DEPENDS:
                yield from self._options(constraint, 2)

    def _options(self, dependency: AppliedConstraint, depth: int) -> Iterator[ExplanationLine]:
        for identifier in dependency.others:
            entry = self.variables.items[identifier]
            yield ExplanationLine(depth, f"{_label(entry)} is a candidate, but", entry.location)
            yield from self._objections(entry, dependency.subject, depth + 1)

    def _objections(self, entry: Entry, caller: str, depth: int) -> Iterator[ExplanationLine]:
        """Yield the reasons of the conflict against a bundle: one fact that suffices, or all facts that have to be
        taken together."""
        # Bundles may require each other, and what is explained once holds everywhere: without this it would not end.
        if entry.identifier in self.explained:
            yield ExplanationLine(depth, "it is ruled out as stated above")
            return
        self.explained.add(entry.identifier)
        own = [rule for rule in self.by_subject.get(entry.identifier, ()) if rule.kind is not ConstraintKind.MANDATORY]
        fatal = [constraint for constraint in own if not constraint.others]
        if fatal:
            yield self._fatal(entry, fatal[0].requirement, depth)
            return
        for constraint in own:
            if constraint.requirement is None:
                rival = self.variables.items[constraint.others[0]]
                yield ExplanationLine(depth, f"it replaces {_label(rival)}, so that only one of the two can stay")
            else:
                yield ExplanationLine(depth, f"it {_demand(constraint.requirement)}", entry.location)
                yield from self._options(constraint, depth + 1)
        shared = [group for group in self.groups if entry.identifier in group.others]
        for group in shared:
            yield self._rivals(entry, caller, group, depth)
        if not own and not shared:
            yield ExplanationLine(depth, "it does not go together with the rest")

    def _fatal(self, entry: Entry, unmet: Predicate | None, depth: int) -> ExplanationLine:
        place = entry.location
        if unmet is None:
            return ExplanationLine(depth, "it has the property olm.deprecated, with which nothing is installed", place)
        hint = unmet_hint(self.variables.snapshot, unmet)
        return ExplanationLine(depth, f"it {_demand(unmet)}, and there is none" + (f": {hint}" if hint else ""), place)

    def _rivals(self, entry: Entry, caller: str, group: AppliedConstraint, depth: int) -> ExplanationLine:
        """The bundles of the group that something else asks for, or all of it when nothing does."""
        provides = group.api is not None
        what = f"provides {group.subject}" if provides else f"is of package {group.subject}"
        if group.others.count(entry.identifier) > 1:
            text = f"its properties say twice that it {what}, which OLM takes for two rivals"
            return ExplanationLine(depth, text, entry.location)
        others = [identifier for identifier in group.others if identifier != entry.identifier]
        # A bundle that nothing else asks for is one more option of the same caller, not what stands in the way.
        needed = [identifier for identifier in others if self.callers.get(identifier, set()) - {caller}]
        rivals = [self.variables.items[identifier] for identifier in needed or others]
        verb = ("do" if provides else "are") if len(rivals) > 1 else ("does" if provides else "is")
        place = rivals[0].location if len(rivals) == 1 else None
        scope = "the cluster" if self.resolve_request.whole_cluster else "a namespace"
        text = f"it {what}, as {verb} {_listed(rivals)}, and {scope} can have only one"
        return ExplanationLine(depth, text, place)


def _listed(items: Sequence[Entry]) -> str:
    names = list(map(_label, items))
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _label(entry: Entry) -> str:
    if entry.existing:
        return f"the installed {entry.name}"
    return f"{entry.name} (channel {entry.channel}, catalog {entry.catalog.name})"


def _demand(requirement: Predicate) -> str:
    return f"requires an operator {wording(requirement)}"
