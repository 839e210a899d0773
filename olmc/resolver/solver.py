"""Choosing what to install: the problem, and OLM's preferences among its solutions (R-CAT-560 … R-CAT-570).

OLM searches depth first with backtracking over a queue of choices, asking a SAT solver whether the guesses
made so far still fit the formula F of all constraints. `select` walks the same queue without backtracking,
and gets the same set: a guess is only kept if F together with all guesses so far has a solution, so a prefix
that was kept can always be completed, and nothing is ever taken back. Which solver answers "does it have a
solution" can't matter, because it only ever says yes or no.

Most problems need no solver. First the walk is done with the cheapest test there is, one that refuses only
what can never be chosen in any solution. If the set that comes out satisfies every constraint, then it is itself
a solution that contains each of its prefixes, so the exact test would have let each of its selections pass; and it
would have refused everything that was passed over. Otherwise the walk is repeated with the SAT solver as the
test.

Nothing is installed but what was selected (R-CAT-561): the set is closed under its dependencies, so making
everything else false is a solution, and no solution that contains the selections is smaller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olmc.model.limits import CONFLICTS
from olmc.resolver.variables import AppliedConstraint, ConstraintKind, ConstraintProblem, applied

__all__ = ["Decision", "Solution", "select"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A variable that was selected, and the constraint that called for it."""

    identifier: str
    because: AppliedConstraint


@dataclass(frozen=True, slots=True)
class Solution:
    """The selections in order, or, when there is no solution, the texts of the constraints that can't hold
    together.
    """

    picked: tuple[Decision, ...] = ()
    conflict: tuple[str, ...] = ()


Acceptable = Callable[[Sequence[str], str], bool]


def select(problem: ConstraintProblem, conflicts: int = CONFLICTS.default) -> Solution:
    """The solution of `problem` that OLM prefers, or the conflict (D22); UnfinishedError where finding it takes
    more than `conflicts`."""
    # Every solution holds all anchors: if one of them can be in none, the search need not begin.
    dead = _impossible(problem)
    if not dead.isdisjoint(problem.anchors):
        return Solution(conflict=_conflict(problem, conflicts))
    picked = _walk(problem, lambda _, name: name not in dead)
    if picked is None or not _satisfies(problem, {name.identifier for name in picked}):
        # The solver costs more to import than all the rest of a small resolution.
        from olmc.resolver.unsat import ConflictBudget, Oracle

        oracle = Oracle(applied(problem), ConflictBudget(conflicts))
        if not oracle.satisfiable(problem.anchors):
            return Solution(conflict=_conflict(problem, conflicts))
        picked = _walk(problem, lambda chosen, name: oracle.satisfiable((*problem.anchors, *chosen, name)))
    if picked is None:
        raise AssertionError("a choice without an acceptable candidate in a problem that has a solution")
    return Solution(tuple(picked))


def _conflict(problem: ConstraintProblem, conflicts: int) -> tuple[str, ...]:
    from olmc.resolver.unsat import ConflictBudget, conflict

    return conflict(applied(problem), ConflictBudget(conflicts))


def _walk(problem: ConstraintProblem, acceptable: Acceptable) -> list[Decision] | None:
    """The selections of R-CAT-560, None when a choice is left without an acceptable candidate."""
    queue: deque[tuple[tuple[str, ...], AppliedConstraint]] = deque(
        ((anchor,), constraint)
        for anchor in problem.anchors
        for constraint in problem.variables[anchor]
        if constraint.kind is ConstraintKind.MANDATORY
    )
    chosen: dict[str, Decision] = {}
    order: list[str] = []
    while queue:
        candidates, because = queue.popleft()
        # What an earlier selection happens to meet is met, even if something better could be had (R-CAT-564).
        if any(candidate in chosen for candidate in candidates):
            continue
        # Candidates are in the order of preference, and a worse one is taken rather than none: so OLM falls back to an
        # older version when the channel head can't be installed (R-CAT-411, R-CAT-420).
        selection = next((candidate for candidate in candidates if acceptable(order, candidate)), None)
        if selection is None:
            return None
        chosen[selection] = Decision(selection, because)
        order.append(selection)
        # Behind the anchors that still wait: what they prefer goes before what a dependency prefers (R-CAT-560).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/registry/resolver/solver/search.go
        queue.extend(
            (constraint.others, constraint)
            for constraint in problem.variables[selection]
            if constraint.kind is ConstraintKind.DEPENDS and constraint.others
        )
    return list(chosen.values())


def _impossible(problem: ConstraintProblem) -> set[str]:
    """The variables that no solution contains, because they are prohibited or need only such variables."""
    # Of each variable the dependencies that it could meet, with the options that those have left: every loss is looked
    # at once, so that a catalog of thousands of bundles costs no more than its edges.
    waiting: dict[str, list[tuple[str, set[str]]]] = {}
    dead: set[str] = set()
    fresh: list[str] = []
    for name, constraints in problem.variables.items():
        for constraint in constraints:
            if constraint.rules_out_subject:
                fresh.append(name)
            elif constraint.kind is ConstraintKind.DEPENDS:
                left = set(constraint.others)
                for candidate in left:
                    waiting.setdefault(candidate, []).append((name, left))
    while fresh:
        name = fresh.pop()
        if name in dead:
            continue
        dead.add(name)
        for dependent, left in waiting.get(name, ()):
            left.discard(name)
            if not left:
                fresh.append(dependent)
    return dead


def _satisfies(problem: ConstraintProblem, chosen: set[str]) -> bool:
    """Whether the chosen variables, all others being false, satisfy every constraint."""
    return all(_holds(constraint, chosen) for constraints in problem.variables.values() for constraint in constraints)


def _holds(constraint: AppliedConstraint, chosen: set[str]) -> bool:
    match constraint.kind:
        case ConstraintKind.AT_MOST_ONE:
            return sum(each in chosen for each in constraint.others) <= 1
        case ConstraintKind.MANDATORY:
            return constraint.subject in chosen
        case ConstraintKind.PROHIBITED:
            return constraint.subject not in chosen
        case ConstraintKind.DEPENDS:
            return constraint.subject not in chosen or any(each in chosen for each in constraint.others)
        case ConstraintKind.CONFLICTS:
            return constraint.subject not in chosen or not any(each in chosen for each in constraint.others)
