"""The solver's variables for a namespace and what their constraints demand: bundles, Subscriptions, and what excludes
what (R-CAT-520 … R-CAT-547)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter

from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, SubscriptionRequest
from olmc.model.cel_account import CelAccount
from olmc.model.diagnostics import Location
from olmc.model.objects import GVK, CatalogKey
from olmc.resolver.left_out import check_requirement, check_wish
from olmc.resolver.predicates import (
    ConstraintError,
    LabelPredicate,
    PackagePredicate,
    Predicate,
    ProvidingAPIPredicate,
    matches,
    requirements,
    wording,
)
from olmc.resolver.snapshot import ChannelKey, Entry, Snapshot
from olmc.resolver.upgrade_path import ChannelError, offer, ordered
from olmc.yaml import locate

__all__ = [
    "AppliedConstraint",
    "ConstraintKind",
    "ConstraintProblem",
    "ResolveError",
    "VariableSet",
    "add_existing",
    "add_subscription",
    "applied",
    "installed_item",
    "problem_of",
    "subscription_variable",
]


class UnfinishedError(Exception):
    """A search has run into more conflicts than it may."""


class ConstraintKind(Enum):
    """What a constraint demands of its subject v, or of its others alone (AT_MOST_ONE)."""

    MANDATORY = "v"
    PROHIBITED = "not v"
    DEPENDS = "v needs one of the others"
    CONFLICTS = "v excludes each of the others"
    AT_MOST_ONE = "the others exclude each other"


@dataclass(frozen=True, slots=True)
class AppliedConstraint:
    """A constraint on the variable `subject`, and OLM's text for it, which is for people.

    `requirement` is what a bundle asks for (DEPENDS), `api` what its others all provide (AT_MOST_ONE; None if what they
    have in common is the package `subject`).
    """

    kind: ConstraintKind
    subject: str
    others: tuple[str, ...]
    text: str
    requirement: Predicate | None = None
    api: GVK | None = None

    @property
    def rules_out_subject(self) -> bool:
        """Whether the subject can't be true, whatever else is: it is prohibited, or lacks what it depends on."""
        return self.kind is ConstraintKind.PROHIBITED or (self.kind is ConstraintKind.DEPENDS and not self.others)


@dataclass(frozen=True, slots=True)
class ConstraintProblem:
    """Variables with their constraints in declaration order (R-CAT-563), and the anchors in order (D20)."""

    variables: Mapping[str, tuple[AppliedConstraint, ...]]
    anchors: tuple[str, ...]


def applied(problem: ConstraintProblem) -> tuple[AppliedConstraint, ...]:
    """The constraints of all variables; of those of one variable that say the same the last one only
    (R-CAT-541).
    """
    return tuple(constraint for constraints in problem.variables.values() for constraint in _distinct(constraints))


def _distinct(constraints: Iterable[AppliedConstraint]) -> Iterable[AppliedConstraint]:
    clauses: dict[tuple[ConstraintKind, tuple[str, ...]], AppliedConstraint] = {}
    for constraint in constraints:
        # A dependency without candidates and a prohibition are the same clause.
        kind = ConstraintKind.PROHIBITED if constraint.rules_out_subject else constraint.kind
        clauses[kind, constraint.others] = constraint
    return clauses.values()


class ResolveError(NamedTuple):
    """An error that stops the resolution: OLM's text, the place of what is wrong, and what explains it to people where
    the text does not say what it is about."""

    text: str
    location: Location | None
    explanation: str = ""


@dataclass(slots=True)
class VariableSet:
    """The variables of one resolution while they are collected.

    `items` are the bundles included by identifier, `replaced` the CSV that a bundle would replace
    (R-CAT-414); `asking` is the kind of those who ask, as texts have it.
    """

    view: Snapshot
    items: dict[str, Entry] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    constraints: dict[str, list[AppliedConstraint]] = field(default_factory=dict)
    anchors: list[str] = field(default_factory=list)
    owned: frozenset[str] = frozenset()
    asking: str = "a subscription"
    unheeded: frozenset[str] = frozenset()
    chains: dict[ChannelKey, tuple[Entry, ...]] = field(default_factory=dict)
    cel: CelAccount = field(default_factory=CelAccount)
    options: dict[tuple[Predicate, CatalogKey], tuple[Entry, ...]] = field(default_factory=dict)


def subscription_variable(name: str) -> str:
    """The identifier of a Subscription's variable (R-CAT-520)."""
    return f"subscription:{name}"


def add_existing(draft: VariableSet, wishes: Iterable[SubscriptionRequest]) -> list[ResolveError]:
    """Include the existing CSVs; those that no Subscription has installed are anchors (R-CAT-503, R-CAT-543).

    Returns the errors, here and below in the order in which OLM meets them.
    """
    draft.owned = frozenset(wish.installed for wish in wishes)
    # No plan of OLM takes away a CSV that no Subscription has installed, so every solution has to hold it (R-CAT-543).
    draft.anchors += [item.identifier for item in draft.view.existing if item.name not in draft.owned]
    return _include(draft, list(draft.view.existing))


def add_subscription(
    draft: VariableSet, wish: SubscriptionRequest, *, legacy_precedence: bool = False
) -> list[ResolveError]:
    """Include a Subscription and all that it could lead to (R-CAT-546, R-CAT-547, R-CAT-571).

    Raises left_out.NotVendoredError.
    """
    check_wish(draft.view, wish, any_catalog=legacy_precedence)
    installed = installed_item(draft.view, wish)
    try:
        offered = offer(draft.view, wish, installed, legacy_precedence=legacy_precedence)
    except ChannelError as error:
        return [ResolveError(str(error), error.location)]
    # OLM gives up on a Subscription at the first candidate that can't be included, but still looks at the next
    # Subscription: the message has the errors of all (R-CAT-514).
    for candidate in offered.candidates:
        errors = _include(draft, [candidate])
        if errors:
            return errors
    options = list(offered.candidates)
    # To stay as it is comes last: a Subscription moves whenever any candidate fits (R-CAT-546). Old and new exclude
    # each other, since the one replaces the other (R-CAT-547).
    if installed and not offered.absent:
        for candidate in offered.candidates:
            identifier = candidate.identifier
            text = f"{identifier} conflicts with {installed.identifier}"
            draft.replaced[identifier] = installed.name
            draft.constraints[identifier].append(
                AppliedConstraint(ConstraintKind.CONFLICTS, identifier, (installed.identifier,), text)
            )
        options.append(installed)
    subject = subscription_variable(wish.name)
    identifiers = tuple(option.identifier for option in options)
    draft.anchors.append(subject)
    draft.constraints[subject] = [
        AppliedConstraint(ConstraintKind.MANDATORY, subject, (), f"{wish.in_texts} exists"),
        # A package that is no longer in its catalog stops the namespace, though the operator is installed (R-CAT-571).
        AppliedConstraint(ConstraintKind.PROHIBITED, subject, (), offered.absent)
        if offered.absent
        else AppliedConstraint(ConstraintKind.DEPENDS, subject, identifiers, _wish_text(wish, identifiers)),
    ]
    return []


def installed_item(view: Snapshot, wish: SubscriptionRequest) -> Entry | None:
    """The existing CSV that a Subscription has installed."""
    return next((item for item in view.existing if item.name == wish.installed), None)


def _wish_text(wish: SubscriptionRequest, identifiers: Sequence[str]) -> str:
    match identifiers:
        case []:
            return f"no operators found matching the criteria of {wish.in_texts}"
        case [one]:
            return f"{wish.in_texts} requires {one}"
        case _:
            return f"{wish.in_texts} requires at least one of {_listed(identifiers, 'or')}"


def _listed(parts: Sequence[str], conjunction: str) -> str:
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def _include(draft: VariableSet, stack: list[Entry]) -> list[ResolveError]:
    """Include the bundles of `stack` and all that could meet their requirements, depth first (R-CAT-521)."""
    errors: list[ResolveError] = []
    while stack:
        item = stack.pop()
        if item.identifier in draft.items:
            continue
        draft.items[item.identifier] = item
        draft.constraints[item.identifier] = constraints = list(_own_constraints(draft, item))
        try:
            predicates = requirements((each for each in item.properties if each.type not in draft.unheeded), draft.cel)
        except ConstraintError as error:
            errors.append(_unreadable(item, str(error)))
            continue
        for predicate in predicates:
            try:
                options = _options(draft, predicate, item)
            except ChannelError as error:
                errors.append(ResolveError(str(error), error.location))
                continue
            # All that could be chosen is collected before anything is: the solver needs to see each way out
            # (R-CAT-521).
            stack += options
            text = f"bundle {item.name} requires an operator {wording(predicate)}"
            identifiers = tuple(option.identifier for option in options)
            constraints.append(
                AppliedConstraint(ConstraintKind.DEPENDS, item.identifier, identifiers, text, requirement=predicate)
            )
    return errors


def _unreadable(item: Entry, text: str) -> ResolveError:
    """That a requirement of a bundle can't be read, at the properties of the bundle."""
    origin = item.origin
    bundle = origin.bundle if isinstance(origin, Candidate) else None
    location = locate(bundle.source, (*bundle.keys, "properties")) if bundle is not None else item.location
    return ResolveError(text, location, f"a requirement of {item.name} can't be read: {text}")


def _own_constraints(draft: VariableSet, item: Entry) -> Iterator[AppliedConstraint]:
    identifier = item.identifier
    # Its requirements still count, so a leftover CSV with an unmet one stops the whole namespace (R-CAT-543).
    if item.existing and item.name not in draft.owned:
        text = f"clusterserviceversion {item.name} exists and is not referenced by {draft.asking}"
        yield AppliedConstraint(ConstraintKind.MANDATORY, identifier, (), text)
    # A deprecated bundle stays in its channel, and can be its head, but nothing gets it any more (R-CAT-431).
    if any(declared.type == "olm.deprecated" for declared in item.properties):
        yield AppliedConstraint(ConstraintKind.PROHIBITED, identifier, (), f"bundle {identifier} is deprecated")


def _options(draft: VariableSet, predicate: Predicate, requiring: Entry) -> tuple[Entry, ...]:
    """The bundles that meet a requirement of a bundle, best first (R-CAT-540).

    Whole channels are ordered, not only the bundles that match, so that a broken channel is an error either
    way.
    """
    own = requiring.catalog
    cached = draft.options.get((predicate, own))
    if cached is not None:
        return cached
    check_requirement(draft.view, predicate, requiring)
    # The matching bundles only say which channels to look at: a channel is then walked from its head, and what another
    # entry skips is not on the way, however well it would match (R-CAT-540).
    by_catalog: dict[CatalogKey, dict[ChannelKey, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for item in _matching(draft.view, predicate):
        by_catalog[item.catalog][ChannelKey(item.catalog, item.package, item.channel)].append(item)
    options: list[Entry] = []
    for key in draft.view.order(own):
        channels = by_catalog.get(key, {})
        for channel in sorted(channels, key=lambda each: _rank(draft.view, each)):
            # Existing CSVs count one by one; they have no channel to be ordered with.
            matched = channels[channel]
            chain = ordered(matched) if matched[0].existing else _chain(draft, channel)
            options += [item for item in chain if matches(predicate, item)]
    draft.options[predicate, own] = tuple(options)
    return draft.options[predicate, own]


def _matching(view: Snapshot, predicate: Predicate) -> Iterable[Entry]:
    match predicate:
        case ProvidingAPIPredicate(api):
            return view.providing(api)
        case LabelPredicate(label):
            return view.labelled(label)
        case PackagePredicate(name):
            return (item for item in view.of_package(name) if matches(predicate, item))
        case _:
            return (item for item in view.items() if matches(predicate, item))


def _chain(draft: VariableSet, shelf: ChannelKey) -> tuple[Entry, ...]:
    if shelf not in draft.chains:
        draft.chains[shelf] = ordered(draft.view.in_channel(shelf))
    return draft.chains[shelf]


def _rank(view: Snapshot, shelf: ChannelKey) -> tuple[bool, str, str]:
    """Default channels first, of whatever package (R-CAT-531)."""
    default = any(item.default_channel for item in view.in_channel(shelf))
    return (not default, shelf.package, shelf.channel)


def problem_of(draft: VariableSet) -> ConstraintProblem:
    """The solver's problem: the draft, and "at most one" per API and per package (R-CAT-545)."""
    variables = dict(draft.constraints)
    providers: dict[GVK, list[str]] = defaultdict(list)
    of_package: dict[str, list[str]] = defaultdict(list)
    for identifier, item in draft.items.items():
        # OLM looks the bundle up by name and channel and gives up on what isn't unique.
        if identifier not in draft.view.copies:
            for api in item.apis:
                if (api.group, api.kind) not in draft.view.shared:
                    providers[api].append(identifier)
            for package, _ in item.packages:
                of_package[package].append(identifier)
    groups: list[tuple[str, str, GVK | None, list[str]]] = [
        *((api.bracketed, "provide", api, members) for api, members in providers.items()),
        *((package, "originate from package", None, members) for package, members in of_package.items()),
    ]
    # A bundle that lists a property twice is here twice, excludes itself and is never installed, as in OLM (R-CAT-545,
    # D18).
    for name, verb, provided, members in sorted(groups, key=itemgetter(0, 1)):
        if len(members) > 1:
            text = f"{_listed(sorted(members), 'and')} {verb} {name}"
            variables.setdefault(name, []).append(
                AppliedConstraint(ConstraintKind.AT_MOST_ONE, name, tuple(sorted(members)), text, api=provided)
            )
    return ConstraintProblem(
        {name: tuple(constraints) for name, constraints in variables.items()}, tuple(draft.anchors)
    )
