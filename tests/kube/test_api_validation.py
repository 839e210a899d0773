"""What the API server says to the kinds that a bundle may hold (R-CAT-702)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from patching import patched

from olmc.k8s.api.selectors import is_dns1123_subdomain, is_qualified_name
from olmc.k8s.api.validation.metadata import config_key_problems
from olmc.k8s.api.validation.objects import creation_errors, update_errors

DATA = yaml.safe_load(Path(__file__).with_name("api_validation.yaml").read_text(encoding="utf-8"))
VALID: dict[str, Any] = DATA["valid"]
WORDS = {
    "SUBDOMAIN": is_dns1123_subdomain("A_b")[0],
    "KEY": is_qualified_name("a b")[0],
    "CONFIGKEY": config_key_problems("a/b")[0],
}


@pytest.mark.parametrize("kind", VALID)
def test_a_valid_object(kind: str) -> None:
    assert creation_errors(VALID[kind]) == []
    assert update_errors(VALID[kind], VALID[kind]) == []


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: f"{case['of']}-{json.dumps(case['patch'])[:60]}")
def test_errors_in_the_server_s_words(case: dict[str, Any]) -> None:
    valid = VALID[case["of"]]
    new = patched(valid, case["patch"])
    found = update_errors(new, patched(valid, case["old"])) if "old" in case else creation_errors(new)
    expected = []
    for error in case["errors"]:
        start, _, word = error.rpartition(": ")
        expected.append(f"{start}: {WORDS[word]}" if word in WORDS else error)
    assert list(map(str, found)) == expected


def test_what_a_cluster_holds_has_no_errors(shared: Path) -> None:
    """No object of the recorded clusters is refused: none of the rules is too strict."""
    judged = 0
    for path in sorted(shared.glob("conformance/*/**/observed.json")):
        for obj in json.loads(path.read_text(encoding="utf-8"))["items"]:
            if obj["kind"] in VALID and obj.get("type") != "kubernetes.io/tls":  # recorded without what they hold
                metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
                assert creation_errors({**obj, "metadata": metadata}) == [], (path.parent.name, obj["metadata"]["name"])
                judged += 1
    assert judged > 2000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 70000) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.data())
def test_odd_values_are_judged_without_failing(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(VALID)))
    obj = json.loads(json.dumps(VALID[kind]))
    holder, key = data.draw(st.sampled_from(list(places(obj))))
    holder[key] = data.draw(JSON)
    if isinstance(obj.get("metadata"), dict) and isinstance(obj.get("kind"), str):
        assert isinstance(creation_errors(obj), list)
        assert isinstance(update_errors(obj, VALID[kind]), list)


def places(value: Any) -> Any:
    """Every place of a value, as what holds it and its key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])
