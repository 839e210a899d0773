"""Long values of both sides never look alike, in any output (docs/diff.md, "Long values")."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.crd_kinds import contrasted
from olmc.review.diff.html import as_html
from olmc.review.diff.outputs import as_json, as_markdown
from olmc.review.diff.settings import Side
from olmc.review.diff.text import as_text

_LONG = "padding-" * 40
_OUTPUTS: Mapping[str, Callable[[Difference], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "html": as_html,
    "json": as_json,
}


def _deployment(container: dict[str, Any]) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "registry.example.com/a:1", **container}]}
    metadata = {"name": "d", "namespace": "kitchen"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": pod}}}


def _map(value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "annotations": {"a": value}}}


def _webhook(value: str) -> dict[str, Any]:
    resources = ["pods", "a", "b", "c", *(f"filler{number}" for number in range(40)), value]
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": resources}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "w"}, "webhooks": [{"name": "w.example.com", "rules": [rule]}],
    }  # fmt: skip


def _digest(end: str) -> dict[str, Any]:
    # Whoever searches long enough finds an image whose digest begins like another one.
    return _deployment({"image": f"registry.example.com/a@sha256:0123456789abcdef{end * 12}"})


def _value(word: str) -> str:
    return f"{_LONG} {word} {_LONG}"


_VARIANTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "an argument": lambda word: _deployment({"args": [f"--config={_value(word)}"]}),
    "a command among others": lambda word: _deployment({"command": ["sh", "-c", _value(word), f"{_LONG}other"]}),
    "a variable": lambda word: _deployment({"env": [{"name": "A", "value": _value(word)}]}),
    "an annotation": lambda word: _map(_value(word)),
    "a webhook": _webhook,
    "a list": lambda word: {**_map("x"), "data": {"k": [_LONG, word, _LONG]}},
    "a mapping among scalars": lambda word: {**_map("x"), "extra": [{"x": _LONG, "y": word}, _LONG]},
}


def _difference(old: dict[str, Any], new: dict[str, Any]) -> Difference:
    return compare(Side("old", (old,)), Side("new", (new,)))


@pytest.mark.parametrize("variant", _VARIANTS)
@pytest.mark.parametrize("output", _OUTPUTS)
def test_the_difference_is_in_every_output(variant: str, output: str) -> None:
    difference = _difference(_VARIANTS[variant]("harmless"), _VARIANTS[variant]("dangerous"))
    messages = [change["text"] for change in json.loads(as_json(difference))["changes"]]
    shown = "\n".join(messages) if output == "json" else _OUTPUTS[output](difference)
    assert "harmless" in shown and "dangerous" in shown


def test_digests_that_begin_alike_are_whole() -> None:
    text = as_text(_difference(_digest("0"), _digest("1")))
    assert "0" * 12 in text and "1" * 12 in text


def test_equal_parts_are_shortened() -> None:
    text = as_text(_difference(_VARIANTS["an argument"]("harmless"), _VARIANTS["an argument"]("dangerous")))
    assert _LONG not in text and "…" in text


_ALIKE = {
    "a tab": ("see red", "see\tred", "see red", "see\\tred"),
    "a line break": ("see red", "see\nred", "see red", "see\\nred"),
    "a line break at the end": ("see", "see\n", "see", "see\\n"),
    "a carriage return": ("see\nred", "see\r\nred", "see\nred", "see\\r\nred"),
    "another space": ("see red", "see\xa0red", "see red", "see\\u00a0red"),
    "two other spaces": ("see\u2009red", "see\u202fred", "see\\u2009red", "see\\u202fred"),
    "a wide space": ("see red", "see\u3000red", "see red", "see\\u3000red"),
    "one more blank": ("see red", "see  red", "see red", "see \\u0020red"),
    "no width": ("seered", "see\u200bred", "seered", "see\\u200bred"),
    "another without width": ("see\u200dred", "see\u200cred", "see\\u200dred", "see\\u200cred"),
    "a byte order mark": ("see", "\ufeffsee", "see", "\\ufeffsee"),
    "a turned direction": ("see red", "see \u202ered", "see red", "see \\u202ered"),
    "a selector of a variant": ("see\u2764", "see\u2764\ufe0f", "see\u2764", "see\u2764\\ufe0f"),
    "a selector beyond 16 bits": ("see", "see\U000e0101", "see", "see\\U000e0101"),
    "an accent of its own": ("caf\u00e9", "cafe\u0301", "caf\\u00e9", "cafe\\u0301"),
    "a Cyrillic letter": ("paypal", "p\u0430ypal", "paypal", "p\\u0430ypal"),
    "a Greek letter": ("root", "r\u03bfot", "root", "r\\u03bfot"),
    "a wide letter": ("root", "\uff52oot", "root", "\\uff52oot"),
    "a dash": ("a-b", "a\u2010b", "a-b", "a\\u2010b"),
    "a number and a text": (1, "1", "1", '"1"'),
    "an empty text and its quotes": ("", '""', '""', '"\\"\\""'),
}
"""Both values, and how a change shows them."""


@pytest.mark.parametrize("name", _ALIKE)
def test_values_that_look_alike_have_escapes(name: str) -> None:
    old, new, before, after = _ALIKE[name]
    assert [side.text for side in contrasted(old, new)] == [before, after]
    assert [side.text for side in contrasted(new, old)] == [after, before]


@pytest.mark.parametrize("output", _OUTPUTS)
@pytest.mark.parametrize("variant", _VARIANTS)
def test_the_escapes_are_in_every_output(variant: str, output: str) -> None:
    difference = _difference(_VARIANTS[variant]("seered"), _VARIANTS[variant]("s\u0435ered"))
    messages = [change["text"] for change in json.loads(as_json(difference))["changes"]]
    shown = "\n".join(messages) if output == "json" else _OUTPUTS[output](difference)
    assert "s\\u0435ered" in shown.replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a b", "a c"),
        ("a\tb", "a\tc"),
        ("caf\u00e9", "caf\u00e8"),
        ("\u043c\u0438\u0440", "\u0440\u0438\u043c"),
        ("a", "b"),
        (1, 2),
    ],
)
def test_ordinary_values_have_none(old: object, new: object) -> None:
    assert [side.text for side in contrasted(old, new)] == [str(old), str(new)]
