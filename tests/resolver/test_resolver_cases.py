"""The resolver cases of the specification (T-CAT-1 … T-CAT-10, T-CAT-31 … T-CAT-61) and of single rules."""

from __future__ import annotations

from itertools import pairwise

import pytest
from scenes import Scene, carried_out, matches, scenes

from olmc.compiler.resolver.explain import derivation, reasons
from olmc.compiler.resolver.resolve import resolve

SCENES = [scene for name in ("seed.yaml", "further.yaml", "rules.yaml") for scene in scenes(name)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_case(scene: Scene) -> None:
    resolve_request = scene.resolve_request
    given = resolve(resolve_request)
    assert given.message == scene.message
    assert bool(given.reason) == bool(scene.message)
    for number, expected in enumerate(scene.rounds):
        got = [f"{selection.candidate.name} replaces {selection.replaces}" for selection in given.selections]
        assert len(got) == len(expected), got
        assert all(map(matches, given.selections, expected)), got
        if number + 1 < len(scene.rounds):
            resolve_request = carried_out(resolve_request, given)
            given = resolve(resolve_request)
            assert not given.message


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_every_case_can_be_explained(scene: Scene) -> None:
    given = resolve(scene.resolve_request)
    lines = derivation(scene.resolve_request, given)
    if scene.message:
        assert len(lines) > 1
        assert [line.depth for line in lines][:2] == [0, 1]
        assert all(after.depth <= before.depth + 1 for before, after in pairwise(lines))
    else:
        assert lines == ()
        assert len(reasons(scene.resolve_request)) == len(given.selections)


def test_ids_are_unique() -> None:
    assert len({scene.id for scene in SCENES}) == len(SCENES)
