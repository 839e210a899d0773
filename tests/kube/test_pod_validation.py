"""What the API server refuses of Deployments: each rule with a Deployment that breaks it, and the server's own words.

The cases are data in `deployments/`: `patch`, `pod` and `container` are merge patches over `base.yaml`, over the spec
of its pods, and over their first container; `errors` are the messages in the order in which Kubernetes gives them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patching import patched, values_of
from properties import examples

from olmc.k8s.api.validation.field import FieldError
from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT
from olmc.k8s.api.validation.workloads import creation_errors, update_errors
from olmc.k8s.gojson import DecodeError, decode

ROOM = Path(__file__).parent / "deployments"
BASE = values_of(ROOM / "base.yaml")[0]
POD = "spec.template.spec"


def cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['rule']}")
        for path in sorted(ROOM.glob("*.yaml"))
        if path.stem not in ("base", "updates")
        for case in values_of(path)
    ]


def deployment(case: dict[str, Any]) -> Any:
    made = patched(BASE, case.get("patch") or {})
    made = patched(made, {"spec": {"template": {"spec": case.get("pod") or {}}}})
    container = {"containers": {"0": case["container"]}} if "container" in case else {}
    return decode("Deployment", patched(made, {"spec": {"template": {"spec": container}}}))


SHORT = {
    "$N": f"{POD}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    "$pod": POD,
    "$c": f"{POD}.containers[0]",
}


def in_full(line: str) -> str:
    for short, full in SHORT.items():
        line = full + line.removeprefix(short) if line.startswith(short) else line
    return line


def texts(errors: list[FieldError]) -> list[str]:
    return list(map(str, errors))


@pytest.mark.parametrize("case", cases())
def test_refusal(case: dict[str, Any]) -> None:
    assert texts(creation_errors(deployment(case))) == [in_full(line) for line in case["errors"]]


@pytest.mark.parametrize("case", values_of(ROOM / "updates.yaml"), ids=lambda case: case["rule"])
def test_immutable_on_update(case: dict[str, Any]) -> None:
    assert texts(update_errors(deployment(case), decode("Deployment", BASE))) == case["errors"]


def test_a_deployment_without_mistakes() -> None:
    assert creation_errors(deployment({})) == []


def test_keys_lead_to_the_place_of_the_mistake() -> None:
    """Also where the message names another field."""
    case = {"container": {"volumeMounts": [{"name": "data", "mountPath": "/x"}, {"name": "data", "subPath": "/a"}]}}
    keys = [error.keys for error in creation_errors(deployment(case))]
    mount = ("spec", "template", "spec", "containers", 0, "volumeMounts", 1)
    assert keys == [(*mount, "mountPath"), (*mount, "subPath")]


def test_annotations_of_the_template_are_not_too_many() -> None:
    case = {"patch": {"spec": {"template": {"metadata": {"annotations": {"a": "x" * ANNOTATIONS_LIMIT}}}}}}
    assert texts(creation_errors(deployment(case))) == [
        "spec.template.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_bad_quantities_are_met_while_decoding() -> None:
    """They are no matter of validation: the API server, and OLM before it, can't even read them."""
    with pytest.raises(DecodeError, match="quantities must match the regular expression"):
        deployment({"container": {"resources": {"limits": {"cpu": "lots"}}}})


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
PLACES = [
    place
    for path in ROOM.glob("*.yaml")
    for case in values_of(path)
    for kind in ("patch", "pod", "container")
    for place in ([] if kind not in case else [(case, kind)])
]


def spoiled(value: Any, junk: Any, at: int) -> tuple[Any, int]:
    """A value with its `at`-th part replaced."""
    if at == 0:
        return junk, -1
    at -= 1
    if isinstance(value, dict):
        made = dict(value)
        for key in value:
            made[key], at = spoiled(value[key], junk, at)
        return made, at
    if isinstance(value, list):
        listed = []
        for item in value:
            new, at = spoiled(item, junk, at)
            listed.append(new)
        return listed, at
    return value, at


@examples(300)
@given(st.sampled_from(PLACES), JUNK, st.integers(1, 60))
def test_odd_values_never_raise(place: tuple[dict[str, Any], str], junk: Any, at: int) -> None:
    """Whatever Go's decoder lets through, and even what it doesn't, has errors or none."""
    case, kind = place
    made = deployment({kind: case[kind]})
    odd, _ = spoiled(made, junk, at)
    assert isinstance(odd, dict)
    texts(creation_errors(odd))
    texts(update_errors(odd, made))
    try:
        decoded = decode("Deployment", odd)
    except DecodeError:
        return
    texts(creation_errors(decoded))
