"""The resolver cases of the specification (T-CAT-1 … T-CAT-10, T-CAT-31 … T-CAT-61) and of single rules."""

from __future__ import annotations

from itertools import pairwise

import pytest
from scenes import Scene, carried_out, matches, scenes

from olmc.resolver.explain import derivation, reasons
from olmc.resolver.resolve import answer

SCENES = [scene for name in ("seed.yaml", "further.yaml", "rules.yaml") for scene in scenes(name)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_case(scene: Scene) -> None:
    question = scene.question
    given = answer(question)
    assert given.message == scene.message
    assert bool(given.reason) == bool(scene.message)
    for number, expected in enumerate(scene.rounds):
        got = [f"{pick.candidate.name} replaces {pick.replaces}" for pick in given.picks]
        assert len(got) == len(expected), got
        assert all(map(matches, given.picks, expected)), got
        if number + 1 < len(scene.rounds):
            question = carried_out(question, given)
            given = answer(question)
            assert not given.message


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_every_case_can_be_explained(scene: Scene) -> None:
    given = answer(scene.question)
    lines = derivation(scene.question, given)
    if scene.message:
        assert len(lines) > 1
        assert [line.depth for line in lines][:2] == [0, 1]
        assert all(after.depth <= before.depth + 1 for before, after in pairwise(lines))
    else:
        assert lines == ()
        assert len(reasons(scene.question)) == len(given.picks)


def test_ids_are_unique() -> None:
    assert len({scene.id for scene in SCENES}) == len(SCENES)
