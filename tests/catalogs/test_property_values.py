"""How values fit the types of properties."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.compiler.catalogs.properties import SoundItems, check_metadata, decode_value, field_texts
from olmc.k8s.gojson import DecodeError, match_keys

PACKAGE, CHANNEL, METADATA = "olm.package", "olm.channel", "olm.csv.metadata"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (PACKAGE, None),
        (PACKAGE, {}),
        (PACKAGE, {"packageName": None, "VERSION": "1.0.0", "other": [1]}),
        (CHANNEL, {"channelName": "a", "priority": 1}),
        (CHANNEL, {"priority": 1.0}),
        ("olm.gvk.required", {"group": "g"}),
        ("olm.package.required", {"versionRange": "any text"}),
        ("olm.bundle.object", {"data": "not base 64, which is seen later"}),
        (METADATA, {"provider": None, "annotations": None, "keywords": None, "installModes": [None]}),
        (METADATA, {"labels": {"a": None}, "installModes": [{"supported": True}], "nativeAPIs": [{"kind": "Pod"}]}),
        (METADATA, {"crdDescriptions": {"owned": [{"specDescriptors": [{"value": {"any": 1}}]}]}}),
        ("olm.constraint", 5),
        ("acme.anything", [None]),
    ],
)
def test_a_value_that_fits(kind: str, value: Any) -> None:
    """R-CAT-125: null fits everything, unknown keys are ignored, unknown types hold anything."""
    decode_value(kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "keys", "text"),
    [
        (PACKAGE, [], (), "json: cannot unmarshal array into Go value of type property.Package"),
        (PACKAGE, {"Version": 1}, ("Version",), "number into Go struct field Package.version of type string"),
        (CHANNEL, {"priority": 1.5}, ("priority",), "number 1.5 into Go struct field Channel.priority of type int"),
        (CHANNEL, {"priority": "1"}, ("priority",), "string into Go struct field Channel.priority of type int"),
        (CHANNEL, {"priority": True}, ("priority",), "bool into Go struct field Channel.priority of type int"),
        ("olm.bundle.object", {"data": {}}, ("data",), "object into Go struct field BundleObject.data of type string"),
        (
            METADATA,
            {"installModes": [{}, {"supported": "yes"}]},
            ("installModes", 1, "supported"),
            "string into Go struct field InstallMode.installModes.supported of type bool",
        ),
        (
            METADATA,
            {"annotations": {"a": "b", "c": 1}},
            ("annotations", "c"),
            "number into Go struct field CSVMetadata.annotations of type string",
        ),
        (
            METADATA,
            {"labels": []},
            ("labels",),
            "array into Go struct field CSVMetadata.labels of type map[string]string",
        ),
        (
            METADATA,
            {"keywords": "one, two"},
            ("keywords",),
            "string into Go struct field CSVMetadata.keywords of type []string",
        ),
    ],
)
def test_a_value_that_does_not_fit(kind: str, value: Any, keys: tuple[str | int, ...], text: str) -> None:
    """R-CAT-125."""
    with pytest.raises(DecodeError) as refused:
        decode_value(kind, value)
    assert refused.value.path == keys
    assert str(refused.value).endswith(text)


def test_of_several_errors_the_first_in_key_order_counts() -> None:
    """R-CAT-121: documents are read with sorted keys."""
    with pytest.raises(DecodeError) as refused:
        decode_value(PACKAGE, {"version": 1, "packageName": 2})
    assert refused.value.path == ("packageName",)


def test_fields_are_found_in_any_case() -> None:
    """R-CAT-121."""
    assert field_texts(PACKAGE, {"PACKAGENAME": "p", "version": None}, "packageName", "version") == ("p", "")
    assert field_texts(PACKAGE, None, "packageName", "version") == ("", "")
    assert match_keys({"a": 1, "A": 2, "b": 3}, frozenset({"a"})) == {"a": 1, "b": 3}
    assert match_keys({"B": 1, "x": 2}, frozenset({"a", "b"})) == {"b": 1, "x": 2}


def test_what_is_sound_in_one_bundle_is_not_read_again_in_the_next() -> None:
    """What is wrong is found all the same, with the path and the words that it has by itself (R-CAT-125)."""
    owned, mode, wrong = {"name": "cups", "version": "v1"}, {"type": "OwnNamespace", "supported": True}, {"name": 1}
    known: SoundItems = set()
    first = {"crdDescriptions": {"owned": [owned]}, "installModes": [mode]}
    check_metadata(first, known)
    assert known == {(("crdDescriptions", "owned"), id(owned)), (("installModes",), id(mode))}
    second: dict[str, Any]
    for second in (
        {"crdDescriptions": {"owned": [owned, wrong]}, "installModes": [mode]},
        {"crdDescriptions": {"owned": [owned]}, "installModes": [mode, mode, 5]},
        {"crdDescriptions": {"owned": owned}},
        {"crdDescriptions": {"required": [mode]}, "links": [wrong]},
        {"links": [mode, owned, {"name": []}]},
    ):
        with pytest.raises(DecodeError) as alone:
            decode_value(METADATA, second)
        with pytest.raises(DecodeError) as together:
            check_metadata(second, known)
        assert (str(together.value), together.value.path) == (str(alone.value), alone.value.path)
    assert len(known) == 2
