"""Which constraints OLM names when they can't hold together (R-CAT-570).

The base is D22: the set found by deletion, of which nothing can be spared. OLM's message is the trace of its SAT solver
instead, and in 28 of the 526 unsatisfiable namespaces of the specification's vectors it never is that minimal set, in
however many runs. The reason: the solver first draws every conclusion that follows step by step (unit propagation). A
candidate that is known to be impossible by then, say because nothing provides an API that it requires, is out before
the search starts, and whatever is concluded from the choice between the remaining ones rests on that fact as well,
needed or not.

So the texts are traced the same way: from the facts, that is constraints on one variable alone, through D22's set. If
that doesn't get to a contradiction by itself, through all constraints; and if the contradiction takes a search even
then, D22's set is named together with the reasons for which candidates in it were out beforehand. All 526 messages
are then among OLM's, and 445 of them are D22's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from olmc.resolve.sat import indispensable
from olmc.resolve.solver import Applied, Kind

__all__ = ["conflict"]


def conflict(constraints: Iterable[Applied]) -> tuple[str, ...]:
    """The texts of constraints that contradict each other, sorted; there must be no solution."""
    everything = sorted(constraints, key=lambda one: one.text)
    minimal = frozenset(indispensable(everything))
    facts = [one for one in everything if _is_fact(one)]
    core = [one for one in everything if one.text in minimal]
    for follow in (core, core + everything):
        trail = Trail()
        trail.propagate(facts)
        trail.propagate(follow)
        if trail.contradiction:
            return tuple(sorted(trail.contradiction))
    return tuple(sorted(_with_reasons(minimal, core, everything, trail)))


def _is_fact(one: Applied) -> bool:
    return one.kind in (Kind.MANDATORY, Kind.PROHIBITED) or (one.kind is Kind.DEPENDS and not one.others)


def _with_reasons(
    minimal: frozenset[str], core: Iterable[Applied], everything: Iterable[Applied], trail: Trail
) -> frozenset[str]:
    named = minimal
    while True:
        out = [name for one in core if one.kind is Kind.DEPENDS for name in one.others if trail.value(name) is False]
        wider = named.union(*(trail.reasons(name) for name in out))
        if wider == named:
            return named
        named = wider
        core = [one for one in everything if one.text in named]


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

    def propagate(self, constraints: Iterable[Applied]) -> None:
        """Conclude until nothing new follows from `constraints`, or a contradiction does."""
        rounds = list(constraints)
        before = -1
        while before < len(self._known) and not self.contradiction:
            before = len(self._known)
            for one in rounds:
                self._conclude(one)
                if self.contradiction:
                    return

    def _conclude(self, one: Applied) -> None:
        for clause in self._clauses(one):
            open_literals = []
            used = [frozenset((one.text,))]
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

    def _clauses(self, one: Applied) -> Iterator[list[tuple[str, bool]]]:
        match one.kind:
            case Kind.MANDATORY:
                yield [(one.subject, True)]
            case Kind.PROHIBITED:
                yield [(one.subject, False)]
            case Kind.DEPENDS:
                yield [(one.subject, False), *((each, True) for each in one.others)]
            case Kind.CONFLICTS:
                yield from ([(one.subject, False), (each, False)] for each in one.others)
            case Kind.AT_MOST_ONE:
                times = Counter(one.others)
                yield from ([(each, False)] for each in times if times[each] > 1)
                # Without a member that is known to be true, nothing follows for the others.
                for member in [each for each in times if self.value(each)]:
                    yield from ([(member, False), (each, False)] for each in times if each != member)
