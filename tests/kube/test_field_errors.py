"""Errors about fields in the API server's words."""

from __future__ import annotations

from olmc.k8s.api.validation.field import FieldError, JsonText, Path, Struct, invalid_text


def text(*errors: FieldError) -> str:
    return invalid_text("Deployment", "apps", "web", errors)


def test_one_error_stands_alone() -> None:
    error = Path("spec.volumes[0].name", ("spec",)).not_found("data")
    assert text(error) == 'Deployment.apps "web" is invalid: spec.volumes[0].name: Not found: "data"'


def test_several_errors_stand_in_brackets_and_none_twice() -> None:
    one, other = Path("a", ("a",)).duplicate("x"), Path("b", ("b",)).too_long(3)
    assert text(one, other, one) == (
        'Deployment.apps "web" is invalid: [a: Duplicate value: "x", b: Too long: may not be more than 3 bytes]'
    )


def test_a_structure_is_shown_as_json_in_its_own_order() -> None:
    error = Path("roleRef", ("roleRef",)).invalid(JsonText.of({"Name": "b", "Kind": "<a>"}), "cannot change roleRef")
    assert str(error) == r'roleRef: Invalid value: {"Name":"b","Kind":"\u003ca\u003e"}: cannot change roleRef'


def test_a_core_kind_has_no_group() -> None:
    error = Path("a", ("a",)).duplicate(1)
    assert invalid_text("Service", "", "web", [error]).startswith('Service "web" is invalid: a:')


def test_a_structure_gives_its_fields_in_their_types_whatever_they_are() -> None:
    struct = Struct({"name": 1, "port": True, "items": "x", "inner": ["x"]}, Path("spec", ("spec",)))
    assert (struct.text("name"), struct.number("port"), struct.integer("port")) == ("", 0, None)
    assert (struct.structs("items"), struct.items("items"), struct.map("items")) == ([], [], {})
    assert struct.pointer("inner") is None
    assert struct.child("inner", "most") == Struct({}, Path("spec.inner.most", ("spec", "inner", "most")))


def test_an_empty_text_is_unset_unless_it_is_behind_a_pointer() -> None:
    struct = Struct({"policy": ""}, Path())
    assert list(struct.unsupported("policy", ("Always",))) == []
    (error,) = struct.unsupported("policy", ("Always",), is_pointer=True)
    assert str(error) == 'policy: Unsupported value: "": supported values: "Always"'
