"""Custom resources against the schemas of their CRDs (R-CAT-723)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from cpu_time import measure
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.api.validation.schema_values import violations

CASES = yaml.safe_load(Path(__file__).with_name("schema_validation.yaml").read_text(encoding="utf-8"))


def judged(schema: Any, value: Any) -> str:
    """What is said of an object whose field `spec.a` has a schema and a value."""
    spec = {"type": "object", "properties": {"a": schema}}
    metadata = {"name": {"type": "string"}}
    whole = {
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {"metadata": {"type": "object", "properties": metadata}, "spec": spec},
    }
    return violations(whole, {"apiVersion": "v1", "kind": "Kettle", "metadata": {"name": "k"}, "spec": {"a": value}})


@pytest.mark.parametrize("case", [each for each in CASES if "says" in each], ids=lambda case: str(case["schema"]))
def test_what_the_api_server_says_r_cat_723(case: dict[str, Any]) -> None:
    texts = [text if text.startswith("[]") else f"[].{text}" for text in case["says"]]
    assert judged(case["schema"], case["value"]) == (texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


@pytest.mark.parametrize("case", [each for each in CASES if "right" in each], ids=lambda case: str(case["schema"]))
def test_what_it_takes_r_cat_723(case: dict[str, Any]) -> None:
    assert [judged(case["schema"], value) for value in case["right"]] == [""] * len(case["right"])


def test_a_pattern_of_a_stranger_takes_no_time() -> None:
    """One that keeps a matcher busy which tries every way to split a text."""
    seconds = measure()
    said = judged({"type": "string", "pattern": "^(a+)+$"}, "a" * 5_000 + "!")
    assert said.endswith("should match '^(a+)+$'")
    assert seconds() < 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def schema_of(value: Any) -> dict[str, Any]:
    """The narrowest schema that a value has by its types."""
    if value is None:
        return {"type": "object", "nullable": True}
    made: dict[str, Any] = {"type": TYPES[type(value)]}
    if isinstance(value, dict):
        made |= {"properties": {key: schema_of(item) for key, item in value.items()}, "required": list(value)}
    if isinstance(value, list):
        size = len(value)
        made |= {"items": {"anyOf": [schema_of(item) for item in value]}, "minItems": size, "maxItems": size}
    return made


@given(VALUES)
def test_a_value_fits_its_own_schema_and_not_the_opposite_r_cat_723(value: Any) -> None:
    own = schema_of(value)
    assert judged(own, value) == ""
    assert judged({"allOf": [own], "oneOf": [own], "not": {"not": own}}, value) == ""
    # Of null the API server looks at type and enum alone.
    assert value is None or "must not validate" in judged({"not": own}, value)
