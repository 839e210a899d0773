"""The selection is the one of R-CAT-560, whatever way it is come by; conflicts are as D22 and OLM's trace have them."""

from __future__ import annotations

import itertools
import random
from collections import deque

import pytest

from olmc.compiler.resolver import resolve as solver
from olmc.compiler.resolver.resolve import select
from olmc.compiler.resolver.variables import (
    AppliedConstraint,
    ConstraintKind,
    ConstraintProblem,
    Oracle,
    applied,
    conflict,
    indispensable,
)


def holds(one: AppliedConstraint, true: frozenset[str]) -> bool:
    chosen = one.subject in true
    match one.kind:
        case ConstraintKind.MANDATORY:
            return chosen
        case ConstraintKind.PROHIBITED:
            return not chosen
        case ConstraintKind.DEPENDS:
            return not chosen or not true.isdisjoint(one.others)
        case ConstraintKind.CONFLICTS:
            return not chosen or true.isdisjoint(one.others)
        case _:
            return sum(each in true for each in one.others) <= 1


def satisfiable(constraints: list[AppliedConstraint], names: list[str], wanted: frozenset[str]) -> bool:
    free = [name for name in names if name not in wanted]
    return any(
        all(holds(one, wanted.union(more)) for one in constraints)
        for size in range(len(free) + 1)
        for more in itertools.combinations(free, size)
    )


def by_the_book(problem: ConstraintProblem) -> list[str] | None:
    """R-CAT-560 word for word, satisfiability by trying everything."""
    constraints = list(applied(problem))
    names = sorted(problem.variables)
    queue: deque[tuple[str, ...]] = deque((anchor,) for anchor in problem.anchors)
    chosen: list[str] = []
    while queue:
        candidates = queue.popleft()
        if any(each in chosen for each in candidates):
            continue
        fitting = (each for each in candidates if satisfiable(constraints, names, frozenset((*chosen, each))))
        selection = next(fitting, None)
        if selection is None:
            return None
        chosen.append(selection)
        queue.extend(
            one.others for one in problem.variables[selection] if one.kind is ConstraintKind.DEPENDS and one.others
        )
    return chosen


def random_problem(seed: int) -> ConstraintProblem:
    choice = random.Random(seed)
    names = [f"v{number}" for number in range(choice.randint(3, 7))]
    variables: dict[str, list[AppliedConstraint]] = {name: [] for name in names}
    for name in names:
        for number in range(choice.choice([0, 0, 1, 1, 2])):
            others = tuple(choice.sample(names, choice.randint(0, 3)))
            variables[name].append(AppliedConstraint(ConstraintKind.DEPENDS, name, others, f"{name} needs {number}"))
        if choice.random() < 0.1:
            variables[name].append(AppliedConstraint(ConstraintKind.PROHIBITED, name, (), f"{name} is prohibited"))
        if choice.random() < 0.2:
            other = (choice.choice(names),)
            variables[name].append(AppliedConstraint(ConstraintKind.CONFLICTS, name, other, f"{name} conflicts"))
    anchors = [f"anchor{number}" for number in range(choice.randint(1, 3))]
    for anchor in anchors:
        options = tuple(choice.sample(names, choice.randint(1, 3)))
        variables[anchor] = [
            AppliedConstraint(ConstraintKind.MANDATORY, anchor, (), f"{anchor} exists"),
            AppliedConstraint(ConstraintKind.DEPENDS, anchor, options, f"{anchor} requires"),
        ]
    for number in range(choice.randint(0, 2)):
        members = tuple(choice.choices(names, k=choice.randint(2, 3)))
        variables[f"group{number}"] = [
            AppliedConstraint(ConstraintKind.AT_MOST_ONE, f"group{number}", members, f"group{number}")
        ]
    return ConstraintProblem({name: tuple(found) for name, found in variables.items()}, tuple(anchors))


@pytest.mark.parametrize("seed", range(300))
def test_selection_is_by_the_book_r_cat_560(seed: int) -> None:
    problem = random_problem(seed)
    expected = by_the_book(problem)
    found = select(problem)
    if expected is None:
        assert found.picked == ()
        assert found.conflict
    else:
        assert [each.identifier for each in found.picked] == expected


def test_what_can_never_be_chosen_is_passed_over_without_the_sat_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prohibited head, and what needs it, are told from the rest by the cheap test alone."""
    names = ("anchor", "head", "needs-head", "older")
    depends, prohibited = ConstraintKind.DEPENDS, ConstraintKind.PROHIBITED
    variables = {
        "anchor": (
            AppliedConstraint(ConstraintKind.MANDATORY, "anchor", (), "anchor exists"),
            AppliedConstraint(depends, "anchor", names[1:], "anchor requires"),
        ),
        "head": (AppliedConstraint(prohibited, "head", (), "head is prohibited"),),
        "needs-head": (AppliedConstraint(depends, "needs-head", ("head",), "needs-head needs head"),),
        "older": (),
    }

    def unavailable(*_: object) -> Oracle:
        raise AssertionError("the SAT solver was asked")

    monkeypatch.setattr("olmc.compiler.resolver.variables.Oracle", unavailable)
    found = select(ConstraintProblem(variables, ("anchor",)))
    assert [each.identifier for each in found.picked] == ["anchor", "older"]


@pytest.mark.parametrize("seed", range(300))
def test_with_and_without_the_sat_solver_it_is_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(seed)
    quick = select(problem)
    monkeypatch.setattr(solver, "_impossible", lambda _: set())
    monkeypatch.setattr(solver, "_satisfies", lambda *_: False)
    assert select(problem) == quick


@pytest.mark.parametrize("seed", range(300))
def test_conflicts_contradict_each_other_and_deletion_leaves_nothing_to_spare(seed: int) -> None:
    problem = random_problem(seed)
    constraints = list(applied(problem))
    names = sorted(problem.variables)
    if satisfiable(constraints, names, frozenset()):
        assert indispensable(constraints) == ()
        return
    minimal = indispensable(constraints)
    assert list(minimal) == sorted(minimal)
    assert not satisfiable([one for one in constraints if one.text in minimal], names, frozenset())
    for text in minimal:
        assert satisfiable([one for one in constraints if one.text in minimal and one.text != text], names, frozenset())
    named = conflict(constraints)
    assert list(named) == sorted(set(named))
    assert not satisfiable([one for one in constraints if one.text in named], names, frozenset())


def test_deletion_goes_from_the_last_text_to_the_first_d22() -> None:
    constraints = [
        AppliedConstraint(ConstraintKind.MANDATORY, "v", (), "d"),
        AppliedConstraint(ConstraintKind.PROHIBITED, "v", (), "a"),
        AppliedConstraint(ConstraintKind.PROHIBITED, "v", (), "b"),
        AppliedConstraint(ConstraintKind.DEPENDS, "v", (), "c"),
    ]
    assert indispensable(constraints) == ("a", "d")


def test_the_same_text_is_one_constraint_d22() -> None:
    constraints = [
        AppliedConstraint(ConstraintKind.MANDATORY, "v", (), "exists"),
        AppliedConstraint(ConstraintKind.DEPENDS, "v", ("w", "x"), "needs"),
        AppliedConstraint(ConstraintKind.PROHIBITED, "w", (), "nothing provides it"),
        AppliedConstraint(ConstraintKind.PROHIBITED, "x", (), "nothing provides it"),
    ]
    assert indispensable(constraints) == ("exists", "needs", "nothing provides it")


def test_of_constraints_that_say_the_same_the_last_is_named_r_cat_541() -> None:
    both = (
        AppliedConstraint(ConstraintKind.PROHIBITED, "v", (), "deprecated"),
        AppliedConstraint(ConstraintKind.DEPENDS, "v", ("w",), "first"),
        AppliedConstraint(ConstraintKind.DEPENDS, "v", (), "nothing"),
        AppliedConstraint(ConstraintKind.DEPENDS, "v", ("w",), "second"),
    )
    assert [one.text for one in applied(ConstraintProblem({"v": both}, ()))] == ["nothing", "second"]


@pytest.mark.parametrize("size", [2, 5, 6, 9])
def test_at_most_one_in_clauses(size: int) -> None:
    members = tuple(f"m{number}" for number in range(size))
    oracle = Oracle([AppliedConstraint(ConstraintKind.AT_MOST_ONE, "group", members, "group")])
    assert oracle.satisfiable(())
    assert all(oracle.satisfiable((member,)) for member in members)
    assert not any(oracle.satisfiable(pair) for pair in itertools.combinations(members, 2))


def test_a_member_given_twice_is_impossible_d18() -> None:
    for filler in ((), ("a", "b", "c", "d", "e")):
        oracle = Oracle([AppliedConstraint(ConstraintKind.AT_MOST_ONE, "group", ("v", "v", *filler), "group")])
        assert not oracle.satisfiable(("v",))
        assert oracle.satisfiable(filler[:1])


def test_a_name_without_constraints_is_free() -> None:
    assert Oracle(()).satisfiable(("anything",))
