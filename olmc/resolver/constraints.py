"""What the solver gets: variables, and what their constraints demand of each other (R-CAT-541, R-CAT-563)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class ConstraintKind(Enum):
    """What a constraint demands of its subject v, or of its others alone (AT_MOST_ONE)."""

    MANDATORY = "v"
    PROHIBITED = "not v"
    DEPENDS = "v needs one of the others"
    CONFLICTS = "v excludes each of the others"
    AT_MOST_ONE = "the others exclude each other"


@dataclass(frozen=True, slots=True)
class AppliedConstraint:
    """A constraint on the variable `subject`, and OLM's text for it."""

    kind: ConstraintKind
    subject: str
    others: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class ConstraintProblem:
    """Variables with their constraints in declaration order (R-CAT-563), and the anchors in order (D20)."""

    variables: Mapping[str, tuple[AppliedConstraint, ...]]
    anchors: tuple[str, ...]


def applied(problem: ConstraintProblem) -> tuple[AppliedConstraint, ...]:
    """The constraints of all variables; of those of one variable that say the same the last one only
    (R-CAT-541).
    """
    return tuple(one for constraints in problem.variables.values() for one in _distinct(constraints))


def _distinct(constraints: Iterable[AppliedConstraint]) -> Iterable[AppliedConstraint]:
    found: dict[tuple[ConstraintKind, tuple[str, ...]], AppliedConstraint] = {}
    for one in constraints:
        # A dependency without candidates and a prohibition are the same clause.
        kind = ConstraintKind.PROHIBITED if one.kind is ConstraintKind.DEPENDS and not one.others else one.kind
        found[kind, one.others] = one
    return found.values()
