"""All kinds of changes: each has a case, says a sentence, and is told in JSON with everything that it knows."""

from __future__ import annotations

import dataclasses
import importlib
import json
from functools import cache
from pkgutil import iter_modules

import pytest
from test_algebra import CASES
from test_settings import SIDES

import olmc.review.diff
from olmc.review.diff.as_json import as_json
from olmc.review.diff.change import Change, Foreign, Gravity, Group, Sign
from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.sides import Side


def kinds() -> dict[str, type]:
    """The classes of changes in all modules of the comparison."""
    found = {}
    for module in iter_modules(olmc.review.diff.__path__):
        for name, value in vars(importlib.import_module(f"{olmc.review.diff.__name__}.{module.name}")).items():
            if isinstance(value, type) and dataclasses.is_dataclass(value) and hasattr(value, "sentence"):
                found[name] = value
    return found


@cache
def differences() -> tuple[Difference, ...]:
    """Those of all cases, both ways, of each object with nothing, of settings, and with what versions of OLM change."""
    sides = [(Side("old", tuple(old)), Side("new", tuple(new))) for old, new in CASES]
    pairs = [*sides, *((new, old) for old, new in sides), *((Side("none", ()), new) for _, new in sides)]
    pairs += SIDES
    return (*(compare(*pair) for pair in pairs), *(compare(*pair, formats=True) for pair in sides))


@cache
def changes() -> tuple[Change, ...]:
    return tuple(change for difference in differences() for change in difference.changes)


def test_there_are_kinds() -> None:
    assert len(kinds()) > 40


@pytest.mark.parametrize("name", sorted(kinds()))
def test_every_kind_has_a_case(name: str) -> None:
    """None of them is dead, and each is what it is said to be: immutable, comparable, with a docstring."""
    kind = kinds()[name]
    assert any(type(change) is kind for change in changes())
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{name}(")
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_sentences() -> None:
    """They are not empty, what comes from the input is quoted, and olmc's own words are plain."""
    for change in changes():
        sentence = change.sentence()
        own = [piece for piece in sentence if not isinstance(piece, Foreign)]
        assert "".join(own).strip(), change
        assert all("\n" not in piece and "`" not in piece for piece in own), change
        assert isinstance(change.group, Group)
        assert isinstance(change.gravity, Gravity)
        assert isinstance(change.sign, Sign)


def test_details_are_whole() -> None:
    """JSON has every field of a change: the object, the gravity, and the details."""
    for difference in differences():
        data = json.loads(as_json(difference))["changes"]
        for change, told in zip(difference.changes, data, strict=True):
            named = {field.name for field in dataclasses.fields(change)} - {"identity", "gravity", "old", "new"}  # type: ignore[arg-type]
            assert len(named) == len(set(told["details"]) - {"old", "new"}), told
            assert told["kind"] in kinds()
