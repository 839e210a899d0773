"""The solver's variables for a namespace, their constraints, and whether these can hold together.

Variables are bundles, Subscriptions, and what excludes what (R-CAT-520 … R-CAT-547). python-sat decides, and finds the
constraints that OLM names when they can't hold (R-CAT-570).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations, count, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from olmc.compiler.model.catalog import Candidate, SubscriptionRequest
from olmc.compiler.resolver.predicates import (
    ConstraintError,
    LabelPredicate,
    PackagePredicate,
    Predicate,
    ProvidingAPIPredicate,
    check_request,
    check_requirement,
    matches,
    requirements,
    wording,
)
from olmc.compiler.resolver.snapshot import ChannelKey, Entry, Snapshot
from olmc.compiler.resolver.upgrade_path import ChannelError, Precedence, offer, ordered, precedence
from olmc.k8s.diagnostics import Location
from olmc.k8s.lean import NamedTuple, module
from olmc.k8s.limits import CONFLICTS, CelAccount
from olmc.k8s.objects import GVK, CatalogKey
from olmc.k8s.semver import Comparator, Range
from olmc.k8s.yaml import locate

if TYPE_CHECKING:
    from pysat.solvers import Solver  # type: ignore[import-untyped]

__all__ = [
    "AppliedConstraint",
    "ConstraintKind",
    "ConstraintProblem",
    "ResolveError",
    "VariableSet",
    "VersionIndex",
    "add_existing",
    "add_subscription",
    "applied",
    "installed_entry",
    "problem_of",
    "subscription_variable",
    "version_index",
]

# Which bundles of a package are in a range of versions, for many ranges (R-CAT-320).
#
# A bundle may require a thousand ranges of a package with as many versions. Comparing each pair takes longer than all
# else that a resolution needs; so the versions are sorted once, and a comparator cuts the row.


@dataclass(frozen=True, slots=True)
class VersionIndex:
    """Bundles in their order, and the precedences of all their versions, ascending, with the number of the bundle."""

    entries: tuple[Entry, ...]
    keys: tuple[Precedence, ...]
    numbers: tuple[int, ...]

    def inside(self, allowed: Range) -> list[Entry]:
        """The bundles with a version inside the range, in their order (R-CAT-455)."""
        accepted = sorted(span for alternative in allowed.alternatives for span in self._spans(alternative))
        found: set[int] = set()
        reached = 0
        for start, end in accepted:
            found.update(self.numbers[max(start, reached) : end])
            reached = max(reached, end)
        return [self.entries[number] for number in sorted(found)]

    def _spans(self, comparators: Iterable[Comparator]) -> Iterator[tuple[int, int]]:
        """From where to where the keys are that all comparators accept."""
        start, end = 0, len(self.keys)
        excluded: set[tuple[int, int]] = set()
        for comparator in comparators:
            key = precedence(comparator.version)
            left, right = bisect_left(self.keys, key), bisect_right(self.keys, key)
            match comparator.operator:
                case "==":
                    start, end = max(start, left), min(end, right)
                case "!=":
                    excluded.add((left, right))
                case "<":
                    end = min(end, left)
                case "<=":
                    end = min(end, right)
                case ">":
                    start = max(start, right)
                case _:
                    start = max(start, left)
        for left, right in sorted(excluded):
            if start < min(left, end):
                yield start, min(left, end)
            start = max(start, right)
        if start < end:
            yield start, end


def version_index(entries: Iterable[Entry]) -> VersionIndex:
    """The index of bundles by their versions."""
    entries = tuple(entries)
    keyed = sorted(
        {(precedence(version), number) for number, entry in enumerate(entries) for version in entry.versions}
    )
    return VersionIndex(entries, tuple(key for key, _ in keyed), tuple(number for _, number in keyed))


class UnfinishedError(Exception):
    """A search has run into more conflicts than it may."""


class ConstraintKind(Enum):
    """The demand of a constraint on its subject v, or on its others alone (AT_MOST_ONE)."""

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
        """Return whether the subject can never be selected: it is prohibited, or lacks a dependency."""
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

    `entries` are the bundles included by identifier, `replaced` the CSV that a bundle would replace
    (R-CAT-414); `asking` is the kind of those who ask, as texts have it.
    """

    snapshot: Snapshot
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
    versions: dict[str, VersionIndex] = field(default_factory=dict)


def subscription_variable(name: str) -> str:
    """The identifier of a Subscription's variable (R-CAT-520)."""
    return f"subscription:{name}"


def add_existing(variables: VariableSet, requests: Iterable[SubscriptionRequest]) -> list[ResolveError]:
    """Include the existing CSVs; those that no Subscription has installed are anchors (R-CAT-503, R-CAT-543).

    Returns the errors, here and below in the order in which OLM meets them.
    """
    variables.owned = frozenset(request.installed for request in requests)
    # No plan of OLM takes away a CSV that no Subscription has installed, so every solution has to hold it (R-CAT-543).
    here = [entry for entry in variables.snapshot.existing if not entry.elsewhere]
    variables.anchors += [entry.identifier for entry in here if entry.name not in variables.owned]
    return _include(variables, here)


def add_subscription(
    variables: VariableSet, request: SubscriptionRequest, *, legacy_precedence: bool = False
) -> list[ResolveError]:
    """Include a Subscription and all that it could lead to (R-CAT-546, R-CAT-547, R-CAT-571).

    Raises left_out.NotVendoredError.
    """
    check_request(variables.snapshot, request, any_catalog=legacy_precedence)
    installed = installed_entry(variables.snapshot, request)
    try:
        offered = offer(variables.snapshot, request, installed, legacy_precedence=legacy_precedence)
    except ChannelError as error:
        return [ResolveError(str(error), error.location)]
    # OLM gives up on a Subscription at the first candidate that can't be included, but still looks at the next
    # Subscription: the message has the errors of all (R-CAT-514).
    for candidate in offered.candidates:
        errors = _include(variables, [candidate])
        if errors:
            return errors
    options = list(offered.candidates)
    # To stay as it is comes last: a Subscription moves whenever any candidate fits (R-CAT-546). Old and new exclude
    # each other, since the one replaces the other (R-CAT-547).
    if installed and not offered.absent:
        for candidate in offered.candidates:
            identifier = candidate.identifier
            text = f"{identifier} conflicts with {installed.identifier}"
            variables.replaced[identifier] = installed.name
            variables.constraints[identifier].append(
                AppliedConstraint(ConstraintKind.CONFLICTS, identifier, (installed.identifier,), text)
            )
        options.append(installed)
    subject = subscription_variable(request.name)
    identifiers = tuple(option.identifier for option in options)
    variables.anchors.append(subject)
    variables.constraints[subject] = [
        AppliedConstraint(ConstraintKind.MANDATORY, subject, (), f"{request.in_texts} exists"),
        # A package that is no longer in its catalog stops the namespace, though the operator is installed (R-CAT-571).
        AppliedConstraint(ConstraintKind.PROHIBITED, subject, (), offered.absent)
        if offered.absent
        else AppliedConstraint(ConstraintKind.DEPENDS, subject, identifiers, _request_text(request, identifiers)),
    ]
    return []


def installed_entry(snapshot: Snapshot, request: SubscriptionRequest) -> Entry | None:
    """The existing CSV that a Subscription has installed."""
    here = (entry for entry in snapshot.existing if not entry.elsewhere)
    return next((entry for entry in here if entry.name == request.installed), None)


def _request_text(request: SubscriptionRequest, identifiers: Sequence[str]) -> str:
    match identifiers:
        case []:
            return f"no operators found matching the criteria of {request.in_texts}"
        case [one]:
            return f"{request.in_texts} requires {one}"
        case _:
            return f"{request.in_texts} requires at least one of {_listed(identifiers, 'or')}"


def _listed(parts: Sequence[str], conjunction: str) -> str:
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def _include(variables: VariableSet, stack: list[Entry]) -> list[ResolveError]:
    """Include the bundles of `stack` and all that could meet their requirements, depth first (R-CAT-521)."""
    errors: list[ResolveError] = []
    while stack:
        entry = stack.pop()
        if entry.identifier in variables.items:
            continue
        variables.items[entry.identifier] = entry
        if entry.elsewhere:
            variables.constraints[entry.identifier] = []
            continue
        variables.constraints[entry.identifier] = constraints = list(_own_constraints(variables, entry))
        try:
            predicates = requirements(
                (each for each in entry.properties if each.type not in variables.unheeded), variables.cel
            )
        except ConstraintError as error:
            errors.append(_unreadable(entry, str(error)))
            continue
        for predicate in predicates:
            try:
                options = _options(variables, predicate, entry)
            except ChannelError as error:
                errors.append(ResolveError(str(error), error.location))
                continue
            # All that could be chosen is collected before anything is: the solver needs to see each way out
            # (R-CAT-521).
            stack += options
            text = f"bundle {entry.name} requires an operator {wording(predicate)}"
            identifiers = tuple(option.identifier for option in options)
            constraints.append(
                AppliedConstraint(ConstraintKind.DEPENDS, entry.identifier, identifiers, text, requirement=predicate)
            )
    return errors


def _unreadable(entry: Entry, text: str) -> ResolveError:
    """Report that a requirement of a bundle can't be read, at the properties of the bundle."""
    origin = entry.origin
    bundle = origin.bundle if isinstance(origin, Candidate) else None
    location = locate(bundle.source, (*bundle.keys, "properties")) if bundle is not None else entry.location
    return ResolveError(text, location, f"a requirement of {entry.name} can't be read: {text}")


def _own_constraints(variables: VariableSet, entry: Entry) -> Iterator[AppliedConstraint]:
    identifier = entry.identifier
    # Its requirements still count, so a leftover CSV with an unmet one stops the whole namespace (R-CAT-543).
    if entry.existing and entry.name not in variables.owned:
        text = f"clusterserviceversion {entry.name} exists and is not referenced by {variables.asking}"
        yield AppliedConstraint(ConstraintKind.MANDATORY, identifier, (), text)
    # A deprecated bundle stays in its channel, and can be its head, but nothing gets it any more (R-CAT-431).
    if any(declared.type == "olm.deprecated" for declared in entry.properties):
        yield AppliedConstraint(ConstraintKind.PROHIBITED, identifier, (), f"bundle {identifier} is deprecated")


def _options(variables: VariableSet, predicate: Predicate, requiring: Entry) -> tuple[Entry, ...]:
    """The bundles that meet a requirement of a bundle, best first (R-CAT-540).

    Whole channels are ordered, not only the bundles that match, so that a broken channel is an error either
    way.
    """
    own = requiring.catalog
    cached = variables.options.get((predicate, own))
    if cached is not None:
        return cached
    check_requirement(variables.snapshot, predicate, requiring)
    # The matching bundles only say which channels to look at: a channel is then walked from its head, and what another
    # entry skips is not on the way, however well it would match (R-CAT-540).
    by_catalog: dict[CatalogKey, dict[ChannelKey, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in _matching(variables, predicate):
        by_catalog[entry.catalog][ChannelKey(entry.catalog, entry.package, entry.channel)].append(entry)
    options: list[Entry] = []
    for key in variables.snapshot.order(own):
        channels = by_catalog.get(key, {})
        for channel in sorted(channels, key=lambda each: _rank(variables.snapshot, each)):
            # Existing CSVs count one by one; they have no channel to be ordered with.
            matched = channels[channel]
            chain = ordered(matched) if matched[0].existing else _chain(variables, channel)
            # Entries of a channel are all of one package, so if one of them was looked at, all were.
            fitting = set(matched)
            options += [entry for entry in chain if entry in fitting]
    variables.options[predicate, own] = tuple(options)
    return variables.options[predicate, own]


def _matching(variables: VariableSet, predicate: Predicate) -> Iterable[Entry]:
    snapshot = variables.snapshot
    match predicate:
        case ProvidingAPIPredicate(api):
            return snapshot.providing(api)
        case LabelPredicate(label):
            return snapshot.labelled(label)
        case PackagePredicate(name):
            if name not in variables.versions:
                variables.versions[name] = version_index(snapshot.of_package(name))
            return variables.versions[name].inside(predicate.range)
        case _:
            return (entry for entry in snapshot.items() if matches(predicate, entry))


def _chain(variables: VariableSet, channel_key: ChannelKey) -> tuple[Entry, ...]:
    if channel_key not in variables.chains:
        variables.chains[channel_key] = ordered(variables.snapshot.in_channel(channel_key))
    return variables.chains[channel_key]


def _rank(snapshot: Snapshot, channel_key: ChannelKey) -> tuple[bool, str, str]:
    """Return the rank of a channel: default channels of any package come first (R-CAT-531)."""
    default = any(entry.default_channel for entry in snapshot.in_channel(channel_key))
    return (not default, channel_key.package, channel_key.channel)


def problem_of(variables: VariableSet) -> ConstraintProblem:
    """The solver's problem: the variables, and "at most one" per API and per package (R-CAT-545)."""
    constraints = dict(variables.constraints)
    providers: dict[GVK, list[str]] = defaultdict(list)
    of_package: dict[str, list[str]] = defaultdict(list)
    for identifier, entry in variables.items.items():
        # OLM looks the bundle up by name and channel and gives up on what isn't unique.
        if identifier not in variables.snapshot.copies and not entry.elsewhere:
            for api in entry.apis:
                if (api.group, api.kind) not in variables.snapshot.shared:
                    providers[api].append(identifier)
            for package, _ in entry.packages:
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
            constraints.setdefault(name, []).append(
                AppliedConstraint(ConstraintKind.AT_MOST_ONE, name, tuple(sorted(members)), text, api=provided)
            )
    return ConstraintProblem({name: tuple(each) for name, each in constraints.items()}, tuple(variables.anchors))


__all__ = ["ConflictBudget", "Encoding", "Oracle", "Trail", "conflict", "indispensable"]


_solvers = module("pysat.solvers")  # nothing is searched for in most runs
# Small formulas, asked thousands of times: what counts is a cheap incremental call, not preprocessing.
_ENGINE = "minisat22"
# Up to here, one clause a pair is no longer than the ladder.
_PAIRWISE = 5


# After so many conflicts the solver comes back to Python, where Ctrl-C is heard.
_AT_ONCE = 2_000


@dataclass(slots=True)
class ConflictBudget:
    """The number of conflicts that a resolution may still run into, which unlike seconds are the same everywhere."""

    left: int = field(default_factory=lambda: CONFLICTS.most)

    def solve(self, solver: Solver, wanted: Sequence[int]) -> bool:
        """Return whether a formula has a solution in which all that is wanted is true; raises UnfinishedError."""
        before = solver.accum_stats()["conflicts"]
        while self.left > 0:
            solver.conf_budget(min(self.left, _AT_ONCE))
            # Declared interruptible, it leaves the signals to Python.
            outcome = solver.solve_limited(assumptions=wanted, expect_interrupt=True)
            after = solver.accum_stats()["conflicts"]
            self.left -= after - before
            before = after
            if outcome is not None:
                return bool(outcome)
        raise UnfinishedError


class Encoding:
    """Turns constraints into clauses; `numbers` are the SAT variables of the names."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._next = count(1)

    def fresh(self) -> int:
        """A SAT variable that stands for no name."""
        return next(self._next)

    def clauses(self, constraint: AppliedConstraint) -> Iterator[tuple[int, ...]]:
        """The clauses of a constraint."""
        others = [self._number(each) for each in constraint.others]
        if constraint.kind is ConstraintKind.AT_MOST_ONE:
            yield from self._at_most_one(others)
            return
        subject = self._number(constraint.subject)
        match constraint.kind:
            case ConstraintKind.MANDATORY:
                yield (subject,)
            case ConstraintKind.PROHIBITED:
                yield (-subject,)
            case ConstraintKind.DEPENDS:
                yield (-subject, *others)
            case ConstraintKind.CONFLICTS:
                yield from ((-subject, -each) for each in others)

    def _number(self, name: str) -> int:
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = self.fresh()
        return number

    def _at_most_one(self, members: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """One rung a member: it is true from the first member that is true on, and excludes the members after
        it.
        """
        if len(members) <= _PAIRWISE:
            yield from ((-left, -right) for left, right in combinations(members, 2))
            return
        rungs = [self.fresh() for _ in members]
        yield from ((-member, rung) for member, rung in zip(members, rungs, strict=True))
        yield from ((-lower, upper) for lower, upper in pairwise(rungs))
        yield from ((-rung, -member) for rung, member in zip(rungs, members[1:], strict=False))


class Oracle:
    """Tells whether constraints can hold while some variables are true.

    It keeps the last solution: while that one contains all that is asked for, the resolution needs no search.
    """

    def __init__(self, constraints: Iterable[AppliedConstraint], budget: ConflictBudget | None = None) -> None:
        self._budget = budget or ConflictBudget()
        encoding = Encoding()
        clauses = [clause for constraint in constraints for clause in encoding.clauses(constraint)]
        self._numbers = encoding.numbers
        self._solver = _solvers.Solver(name=_ENGINE, bootstrap_with=clauses)
        self._solution: frozenset[int] | None = None

    def satisfiable(self, names: Iterable[str]) -> bool:
        """Return whether there is a solution in which all of `names` are true."""
        # A variable without a clause is free: it can always be true.
        wanted = [self._numbers[name] for name in names if name in self._numbers]
        if self._solution is not None and self._solution.issuperset(wanted):
            return True
        if not self._budget.solve(self._solver, wanted):
            return False
        self._solution = frozenset(self._solver.get_model())
        return True


def indispensable(constraints: Iterable[AppliedConstraint], budget: ConflictBudget | None = None) -> tuple[str, ...]:
    """The texts of constraints that can't hold together, found by deletion (D22): sorted, and none of them
    dispensable.

    Identical texts are one constraint. A core that the solver reports saves requests, never changes an
    answer: what is outside a core of the rest can be left out without asking.
    """
    budget = budget or ConflictBudget()
    encoding = Encoding()
    switches: dict[str, int] = {}
    clauses = []
    for constraint in constraints:
        if constraint.text not in switches:
            switches[constraint.text] = encoding.fresh()
        clauses += [(*clause, -switches[constraint.text]) for clause in encoding.clauses(constraint)]
    # A constraint applies only while its switch is assumed, so one solver answers for all subsets.
    kept = dict.fromkeys(sorted(switches))
    with _solvers.Solver(name=_ENGINE, bootstrap_with=clauses) as solver:
        if budget.solve(solver, list(switches.values())):
            return ()
        core = frozenset(solver.get_core())
        # From the last to the first: which of several minimal sets is left depends on the order, and D22 fixes it.
        for text in reversed(list(kept)):
            others = [switches[each] for each in kept if each != text]
            if switches[text] in core:
                if budget.solve(solver, others):
                    continue
                core = frozenset(solver.get_core() or ())
            del kept[text]
    return tuple(kept)


def conflict(constraints: Iterable[AppliedConstraint], budget: ConflictBudget | None = None) -> tuple[str, ...]:
    """The texts of constraints that contradict each other, sorted; there must be no solution."""
    everything = sorted(constraints, key=lambda constraint: constraint.text)
    minimal = frozenset(indispensable(everything, budget))
    # OLM names the trace of its SAT solver, not a minimal set, so we follow the same propagation: from the facts, then
    # from what is left by deletion, and only if that does not get there, from everything (D22).
    facts = [one for one in everything if one.kind is ConstraintKind.MANDATORY or one.rules_out_subject]
    core = [constraint for constraint in everything if constraint.text in minimal]
    for follow in (core, core + everything):
        trail = Trail()
        trail.propagate(facts)
        trail.propagate(follow)
        if trail.contradiction:
            return tuple(sorted(trail.contradiction))
    # A contradiction that takes guesses has no trace: the minimal set, and why candidates in it were out before (D22).
    return tuple(sorted(_with_reasons(minimal, core, everything, trail)))


def _with_reasons(
    minimal: frozenset[str], core: Iterable[AppliedConstraint], everything: Iterable[AppliedConstraint], trail: Trail
) -> frozenset[str]:
    named = minimal
    while True:
        out = [
            name
            for constraint in core
            if constraint.kind is ConstraintKind.DEPENDS
            for name in constraint.others
            if trail.value(name) is False
        ]
        wider = named.union(*(trail.reasons(name) for name in out))
        if wider == named:
            return named
        named = wider
        core = [constraint for constraint in everything if constraint.text in named]


@dataclass(slots=True)
class Trail:
    """The conclusions step by step, and the texts that they follow from; `contradiction` are those of a
    contradiction."""

    contradiction: frozenset[str] = frozenset()
    _known: dict[str, tuple[bool, frozenset[str]]] = field(default_factory=dict)

    def value(self, name: str) -> bool | None:
        known = self._known.get(name)
        return known[0] if known else None

    def reasons(self, name: str) -> frozenset[str]:
        return self._known[name][1]

    def propagate(self, constraints: Iterable[AppliedConstraint]) -> None:
        """Conclude until nothing new follows from `constraints`, or a contradiction does."""
        rounds = list(constraints)
        before = -1
        while before < len(self._known) and not self.contradiction:
            before = len(self._known)
            for constraint in rounds:
                self._conclude(constraint)
                if self.contradiction:
                    return

    def _conclude(self, constraint: AppliedConstraint) -> None:
        for clause in self._clauses(constraint):
            open_literals = []
            used = [frozenset((constraint.text,))]
            for name, wanted in clause:
                known = self._known.get(name)
                if known is None:
                    open_literals.append((name, wanted))
                elif known[0] == wanted:
                    break
                else:
                    used.append(known[1])
            else:
                if not open_literals:
                    self.contradiction = frozenset().union(*used)
                    return
                if len(open_literals) == 1:
                    name, wanted = open_literals[0]
                    self._known[name] = (wanted, frozenset().union(*used))

    def _clauses(self, constraint: AppliedConstraint) -> Iterator[list[tuple[str, bool]]]:
        match constraint.kind:
            case ConstraintKind.MANDATORY:
                yield [(constraint.subject, True)]
            case ConstraintKind.PROHIBITED:
                yield [(constraint.subject, False)]
            case ConstraintKind.DEPENDS:
                yield [(constraint.subject, False), *((each, True) for each in constraint.others)]
            case ConstraintKind.CONFLICTS:
                yield from ([(constraint.subject, False), (each, False)] for each in constraint.others)
            case ConstraintKind.AT_MOST_ONE:
                # A bundle that gives a property twice is a rival of itself (R-CAT-545).
                times = Counter(constraint.others)
                yield from ([(each, False)] for each in times if times[each] > 1)
                # Without a member that is known to be true, nothing follows for the others.
                for member in [each for each in times if self.value(each)]:
                    yield from ([(member, False), (each, False)] for each in times if each != member)
