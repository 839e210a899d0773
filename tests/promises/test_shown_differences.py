"""Long values of both sides never look alike, in any output (docs/diff.md, "Long values")."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from olmc.review.diff.compare import Difference, compare
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
