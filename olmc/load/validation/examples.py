"""The examples of custom resources that a CSV carries in an annotation (R-CAT-211)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.gojson import encode_plain, mismatch_text, unmarshal
from olmc.load.validation.json_offsets import invalid_offset
from olmc.load.validation.result import Finding, about, result_text
from olmc.model.coerce import text
from olmc.model.gvk import GVK, gvk_of
from olmc.model.location import Place
from olmc.model.operators import Csv
from olmc.rules import validation as rules

_KEYS = ("alm-examples", "olm.examples")


def example_findings(csv: Csv) -> Iterator[Finding]:
    """What is wrong with the examples of a CSV, and which of its APIs have none."""
    key = next((each for each in _KEYS if each in csv.annotations), "")
    if not csv.annotations or not key:
        missing = "example annotations not found" if csv.annotations else "annotations not found"
        yield Finding(rules.EXAMPLES_ADVICE, about(csv.name, missing), csv.place("metadata", "annotations"))
        return
    place = csv.place("metadata", "annotations", key)
    if all(each in csv.annotations for each in _KEYS):
        told = "both `alm-examples` and `olm.examples` are present. Checking only `alm-examples`"
        yield Finding(rules.EXAMPLES_ADVICE, about(csv.name, told), place, of_key=True)
    problem, examples = _decoded(csv.annotations[key])
    if problem:
        yield Finding(rules.EXAMPLES, problem, place)
        return
    yield from _nameless(csv)
    provided = _provided(csv)
    for api in sorted(set(examples) - provided.keys()):
        yield Finding(rules.EXAMPLES, result_text("example must have a provided API", value=str(api)), place)
    for api in sorted(provided.keys() - set(examples)):
        told = result_text("provided API should have an example annotation", value=str(api))
        yield Finding(rules.EXAMPLES_ADVICE, told, provided[api])


def _decoded(written: str) -> tuple[str, list[GVK]]:
    """The text of what keeps the examples from being read ("" for nothing), and the APIs that they are of."""
    data = written.encode("utf-8", "surrogatepass")
    offset = invalid_offset(data) if data else None
    if offset is not None:
        read = data[:offset].decode("utf-8", "replace")
        cause = f"invalid character at {offset}\n {read}<--(see the invalid character)"
        return result_text("invalid example", value=cause), []
    try:
        items = unmarshal(written) if written else None
        cause = _misfit(items)
    except ValueError as error:
        items, cause = None, str(error)
    if cause:
        return result_text("error decoding example CustomResource", value=cause), []
    return "", [_api(item) for item in items or ()]


def _misfit(items: Any) -> str:
    """Why a JSON value is no list of objects, in the manner of Kubernetes' decoder."""
    if items is None:
        return ""
    if not isinstance(items, list):
        return mismatch_text(items, "[]unstructured.Unstructured")
    for item in items:
        if not isinstance(item, dict):
            return mismatch_text(item, "map[string]interface {}")
        if not text(item.get("kind")):
            return f"Object 'Kind' is missing in '{encode_plain(item).decode()}'"
    return ""


def _api(item: dict[str, Any]) -> GVK:
    api = gvk_of(item)
    return GVK("", "", "") if "/" in api.group else api


def _nameless(csv: Csv) -> Iterator[Finding]:
    for index, item in enumerate(csv.owned_crds):
        if "." not in item.name:
            told = result_text(f"couldn't parse plural.group from crd name: {item.name}")
            place = csv.place("spec", "customresourcedefinitions", "owned", index, "name")
            yield Finding(rules.EXAMPLES, told, place)


def _provided(csv: Csv) -> dict[GVK, Place]:
    """The APIs that a CSV owns, each with where it says so."""
    found: dict[GVK, Place] = {}
    for index, item in enumerate(csv.owned_crds):
        if "." in item.name:
            found.setdefault(GVK(*item.api), csv.place("spec", "customresourcedefinitions", "owned", index))
    for index, service in enumerate(csv.owned_apiservices):
        found.setdefault(GVK(*service.api), csv.place("spec", "apiservicedefinitions", "owned", index))
    return found
