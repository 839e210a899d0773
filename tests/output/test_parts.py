"""Output in parts says what the whole text says, and holds once what many objects have in common."""

from __future__ import annotations

from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from olmc.model.objects import Origin, Provenance, Rendered
from olmc.output.directory import files_of
from olmc.output.text import as_json, as_json_parts, as_name_parts, as_names, as_yaml, as_yaml_parts
from olmc.output.unicode import legible
from olmc.yaml import dump_one

ODD = ["", "metadata", "a: b", "- c", "ü\n", "\n x", "y", "\ud800", "\x07", "#", "k" * 1100]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(ODD), inner, max_size=3),
    max_leaves=12,
)


def rendered(obj: dict[str, Any]) -> Rendered:
    return Rendered(obj, Provenance(None, "test", "", Origin.MANIFEST))


def copies(values: list[Any], count: int) -> list[Rendered]:
    """Objects with the same values at the top and in the metadata, out of order; and some with them elsewhere."""
    objects: list[dict[str, Any]] = [
        {
            "status": values[0],
            "kind": "Cup",
            "metadata": {"namespace": f"ns-{number}", "name": "a", "annotations": values[1]},
            "apiVersion": "example.com/v1",
            "spec": values[2],
            "metadata2": "metadata",
        }
        for number in range(count)
    ]
    nested = {
        "kind": "Cup",
        "apiVersion": "example.com/v1",
        "metadata": {},
        "spec": {"metadata": values[1], "a": values[0]},
    }
    return [rendered(obj) for obj in (*objects, nested, {**nested, "metadata": values[0]})]


@given(st.lists(VALUES, min_size=3, max_size=3), st.integers(0, 4))
def test_the_same_text(values: list[Any], count: int) -> None:
    objects = copies(values, count)
    assert b"".join(as_yaml_parts(objects)).decode() == as_yaml(objects)
    assert b"".join(as_json_parts(objects)).decode() == legible(as_json(objects))


def test_nothing() -> None:
    assert b"".join(as_yaml_parts([])) == b""
    assert b"".join(as_json_parts([])).decode() == as_json([])
    assert b"".join(as_name_parts([])) == b""


def test_names() -> None:
    objects = copies([1, 2, 3], 2)[:2]
    assert b"".join(as_name_parts(objects)).decode() == as_names(objects) == "Cup/ns-0/a\nCup/ns-1/a\n"


def test_files() -> None:
    objects = copies([{"a": [1]}, {"b": "c\nd"}, [2]], 3)[:3]
    files = files_of(objects)
    for number, obj in enumerate(objects):
        assert b"".join(files[f"cup_ns-{number}_a.yaml"]).decode().partition("\n")[2] == dump_one(obj.object)


def test_a_fleet_is_held_once() -> None:
    """What is held grows by little more than a name with each namespace."""
    spec = {"description": "long " * 10_000}

    def held(count: int) -> list[int]:
        objects = copies([{"phase": "Succeeded"}, {"alm-examples": "[]\n" * 1000}, spec], count)
        everything = (as_yaml_parts(objects), as_json_parts(objects), [*chain(*files_of(objects).values())])
        return [sum(map(len, {id(part): part for part in parts}.values())) for parts in everything]

    for few, many in zip(held(100), held(200), strict=True):
        assert 0 < many - few < 100 * 1000
