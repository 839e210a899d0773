"""Output in parts says what the whole text says, and holds once what many objects have in common."""

from __future__ import annotations

from io import BytesIO
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.output import directory
from olmc.compiler.output.directory import files_of
from olmc.compiler.output.messages import legible
from olmc.compiler.output.text import FORMATS, as_json, as_names, as_yaml, held_parts, hold, roomy, whole_text
from olmc.k8s.objects import Origin, Provenance, Rendered
from olmc.k8s.yaml import dump_one

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


def text_of(form: str, *paths: list[Rendered]) -> str:
    """The text of the objects of several paths."""
    texts = [FORMATS[form].parts_of(objects) for objects in paths if objects]
    return b"".join(whole_text(FORMATS[form], texts)).decode()


@given(st.lists(VALUES, min_size=3, max_size=3), st.integers(0, 4), st.integers(0, 4))
def test_the_same_text(values: list[Any], count: int, cut: int) -> None:
    objects = copies(values, count)
    for paths in ([objects], [objects[:cut], objects[cut:]]):
        assert text_of("yaml", *paths) == as_yaml(objects)
        assert text_of("json", *paths) == legible(as_json(objects))
        assert text_of("name", *paths) == as_names(objects)


def test_objects_that_differ_in_more_than_their_namespace() -> None:
    """Also where it is no text, stands elsewhere, or the metadata stand there a second time."""
    spec = {"namespace": "inner", "metadata": {"namespace": "deep"}}
    metadata: list[dict[str, Any]] = [
        {"name": "a", "namespace": name} for name in ("x", "y", "null", "é: ü", 3, None, ["z"])
    ]
    metadata += [{"namespace": "x", "name": "a"}, {"name": "b", "namespace": "x", "metadata": {"namespace": "w"}}]
    objects = [
        rendered({"apiVersion": "v1", "kind": "Cup", "metadata": each, **more, "spec": spec})
        for each in metadata
        for more in ({}, {"namespace": "top"}, {"again": each}, {"kind": "Mug"})
    ]
    assert text_of("yaml", objects) == as_yaml(objects)
    assert text_of("json", objects) == as_json(objects)


def test_nothing() -> None:
    assert text_of("yaml", []) == ""
    assert text_of("json", []) == as_json([])
    assert text_of("name", []) == ""


@given(st.lists(st.lists(st.binary(max_size=4), max_size=6), max_size=4))
def test_what_is_held_comes_back(texts: list[list[bytes]]) -> None:
    file = BytesIO()
    held = [hold(file, text) for text in texts]
    assert [list(held_parts(file, text)) for text in held] == texts


def test_what_is_large_leaves_memory_and_is_held_once() -> None:
    part, file = b"x" * (1 << 20), BytesIO()
    first = hold(file, [part, b"y", part])
    assert roomy(file) is file
    assert file.tell() == len(part) + 1
    rest = [hold(file, [bytes([number]) * (1 << 20)]) for number in range(16)]
    larger = roomy(file)
    assert not isinstance(larger, BytesIO)
    assert roomy(larger) is larger
    last = hold(larger, [b"end"])
    assert list(held_parts(larger, first)) == [part, b"y", part]
    assert [list(held_parts(larger, each)) for each in (*rest, last)] == [
        *([bytes([number]) * (1 << 20)] for number in range(16)),
        [b"end"],
    ]
    larger.close()


def test_names() -> None:
    objects = copies([1, 2, 3], 2)[:2]
    assert text_of("name", objects) == as_names(objects) == "Cup/ns-0/a\nCup/ns-1/a\n"


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
        everything = (
            *(FORMATS[form].parts_of(objects) for form in ("yaml", "json")),
            [*chain(*files_of(objects).values())],
        )
        return [sum(map(len, {id(part): part for part in parts}.values())) for parts in everything]

    for few, many in zip(held(100), held(200), strict=True):
        assert 0 < many - few < 100 * 1000


def test_each_object_has_a_file_whatever_digests_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digests in names are short, so names can be chosen that have the same: none takes another one's file."""
    monkeypatch.setattr(directory, "_digest", lambda _: "0" * 8)
    objects = [
        rendered({"apiVersion": f"{group}.example.com/v1", "kind": "Cup", "metadata": {"name": f"{'a' * 150}{name}"}})
        for group in ("one", "two")
        for name in ("a", "b", "c")
    ]
    files = files_of(objects)
    assert len(files) == len(objects) + 1
    assert max(map(len, files)) < 255
