"""Label and field selectors of queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.integrations.serve.handlers import StatusError, selection
from olmc.targets.proposed.installed.resources import INSTALLED, PACKAGE_MANIFESTS, Listed


def item(**labels: str) -> Listed:
    named = {key.replace("__", "/"): value for key, value in labels.items()}
    return Listed({"metadata": {"name": "kettle.v1", "namespace": "ns", "labels": named}}, ())


def selects(labels: str, fields: str = "", **given_labels: str) -> bool:
    return selection(INSTALLED, labels, fields).selects(item(**given_labels))


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("   ", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a==1", {"a": "1"}, True),
        ("a=1", {"a": "2"}, False),
        ("a=", {"a": ""}, True),
        ("a=,b", {"a": "", "b": "x"}, True),
        ("a!=1", {"a": "2"}, True),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1, 2)", {"a": "3"}, False),
        ("a in (,2)", {"a": ""}, True),
        ("a in ()", {"a": ""}, True),
        ("a notin (1,2)", {"a": "3"}, True),
        ("a notin (1,2)", {}, True),
        ("a notin (1,2)", {"a": "1"}, False),
        ("a > 3", {"a": "4"}, True),
        ("a>3", {"a": "3"}, False),
        ("a<3", {"a": "2"}, True),
        ("a<3", {"a": "x"}, False),
        ("a<3", {}, False),
        ("in in (in,notin)", {"in": "notin"}, True),
        ("x.example.com/a=1,b in (2),!c", {"x.example.com__a": "1", "b": "2"}, True),
        ("x.example.com/a=1,b in (2),!c", {"x.example.com__a": "1", "b": "2", "c": "3"}, False),
    ],
)
def test_label_selectors_are_those_of_kubernetes(text: str, labels: dict[str, str], expected: bool) -> None:
    assert selects(text, **labels) is expected


@pytest.mark.parametrize(
    "text",
    [",", "a,", "=1", "a=1 b=2", "a in 1", "a in (1", "a in (1 2)", "a notin )", "!", "a>x", "a=!", "a b", "-a=1",
     "a=-", "a/b/c=1", "a=" + "x" * 64, "a in (=)", "(a)", "a=1,,b=2", "a in ((1))"],
)  # fmt: skip
def test_selectors_that_can_not_be_read_are_bad_requests(text: str) -> None:
    with pytest.raises(StatusError) as error:
        selection(INSTALLED, text, "")
    assert (error.value.code, error.value.status["reason"]) == (400, "BadRequest")
    assert error.value.status["message"].startswith("unable to parse requirement: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metadata.name=kettle.v1", True),
        ("metadata.name==kettle.v1,metadata.namespace=ns", True),
        ("metadata.name!=kettle.v1", False),
        ("metadata.namespace=other", False),
        (" metadata.name = kettle.v1 ,", True),
    ],
)
def test_field_selectors(text: str, expected: bool) -> None:
    assert selects("", text) is expected


def test_fields_that_are_not_supported_r_cat_809() -> None:
    with pytest.raises(StatusError, match=r"^field label not supported: metadata\.namespace$"):
        selection(PACKAGE_MANIFESTS, "", "metadata.namespace=olm")
    with pytest.raises(StatusError, match=r"^field label not supported: spec\.x$"):
        selection(INSTALLED, "", "spec.x!=1")
    with pytest.raises(StatusError, match=r"^invalid selector: 'x'; can't understand 'x'$"):
        selection(INSTALLED, "", "x")


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_selector_or_a_bad_request(labels: str, fields: str) -> None:
    try:
        selection(INSTALLED, labels, fields).selects(item(a="1"))
    except StatusError as error:
        assert error.code == 400


KEYS, VALUES = st.sampled_from(["a", "b", "x.example.com/c"]), st.sampled_from(["", "1", "two"])


@given(st.dictionaries(KEYS, VALUES), KEYS, st.lists(VALUES, min_size=1))
def test_every_requirement_has_its_opposite(labels: dict[str, str], key: str, values: list[str]) -> None:
    """`in` and `notin`, `=` and `!=`, a key and `!` of it never agree."""
    named = {name.replace("/", "__"): value for name, value in labels.items()}
    listed = ",".join(values)
    for text, opposite in (
        (f"{key} in ({listed})", f"{key} notin ({listed})"),
        (f"{key}={values[0]}", f"{key}!={values[0]}"),
        (key, f"!{key}"),
    ):
        assert selects(text, **named) is not selects(opposite, **named)
