"""Whether constraints can hold together, through python-sat, and which ones OLM names when they can't (R-CAT-570)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count, pairwise
from typing import TYPE_CHECKING

from olmc.compiler.resolver.variables import AppliedConstraint, ConstraintKind, UnfinishedError
from olmc.k8s.lean import module
from olmc.k8s.limits import CONFLICTS

if TYPE_CHECKING:
    from pysat.solvers import Solver  # type: ignore[import-untyped]

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
    """How many conflicts a resolution may still run into, which unlike seconds are the same everywhere."""

    left: int = field(default_factory=lambda: CONFLICTS.most)

    def solve(self, solver: Solver, wanted: Sequence[int]) -> bool:
        """Whether a formula has a solution in which all that is wanted is true; raises UnfinishedError."""
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
        """Whether there is a solution in which all of `names` are true."""
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
    """What follows step by step, and from which texts; `contradiction` are those that a contradiction follows
    from.
    """

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
