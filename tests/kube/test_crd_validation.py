"""What the API server says of CRDs, rule by rule."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cpu_time import measure
from hypothesis import given
from hypothesis import strategies as st
from patching import patched, values_of
from properties import examples

from olmc.compiler.reconcile.crds import as_v1
from olmc.k8s.api.validation import cel_rules
from olmc.k8s.api.validation.crds import creation_errors, update_errors
from olmc.k8s.api.validation.field import FieldError, invalid_text
from olmc.k8s.gojson import DecodeError, decode

HERE = Path(__file__).parent
BASE, *CASES = values_of(HERE / "crd_validation.yaml")[0]
UPDATES = values_of(HERE / "crd_updates.yaml")[0]
RECORDED = values_of(HERE / "crd_recorded.yaml")[0]
SCHEMA = "spec.validation.openAPIV3Schema"
PLACES = {"$a": f"{SCHEMA}.properties[spec].properties[a]", "$s": SCHEMA}


def decoded(crd: Any) -> dict[str, Any]:
    """A CRD as Go keeps it."""
    kept: dict[str, Any] = decode("CustomResourceDefinition", crd, exact=True)
    return kept


def made(case: dict[str, Any]) -> dict[str, Any]:
    """The CRD of a case as Go keeps it."""
    return decoded(raw(case))


def raw(case: dict[str, Any]) -> dict[str, Any]:
    """The CRD of a case."""
    crd = patched(copy.deepcopy(BASE), case.get("patch", {}))
    versions = crd["spec"].get("versions") or [{}]
    validation = versions[0].get("schema") or {}
    if "schema" in case:
        validation["openAPIV3Schema"] = case["schema"]
    if "a" in case:
        validation["openAPIV3Schema"]["properties"]["spec"]["properties"]["a"] = case["a"]
    if "schemas" in case:
        for version, schema in zip(versions, case["schemas"], strict=True):
            version["schema"] = {"openAPIV3Schema": schema}
    made_of_it: dict[str, Any] = crd
    return made_of_it


def texts(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


def expected(case: dict[str, Any]) -> list[str]:
    spelled = []
    for text in case["errors"]:
        for sign, place in PLACES.items():
            text = text.replace(sign, place) if not text.startswith("$a.$ref") else text
        spelled.append(text.replace("$a.$ref", f"{PLACES['$a']}.$ref"))
    return spelled


def test_the_base_is_right() -> None:
    assert texts(creation_errors(decoded(BASE))) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["rule"])
def test_creation(case: dict[str, Any]) -> None:
    assert texts(creation_errors(made(case))) == expected(case)


def test_without_the_library_for_cel_nothing_is_said_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be judged is not refused; with the library the same rules are."""
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    cel_rules._environment.cache_clear()
    cel_rules._compile.cache_clear()
    rules = [case for case in CASES if case["rule"] in ("a rule is CEL", "a rule is of type bool")]
    assert len(rules) == 2
    assert [texts(creation_errors(made(case))) for case in rules] == [[], []]
    monkeypatch.undo()
    cel_rules._compile.cache_clear()
    assert [texts(creation_errors(made(case))) for case in rules] == [expected(case) for case in rules]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["rule"])
def test_keys_lead_to_the_place_or_to_where_it_should_be(case: dict[str, Any]) -> None:
    crd = made(case)
    for error in creation_errors(crd):
        value: Any = crd
        for key in error.keys[:-1]:
            value = value.get(key) if isinstance(value, dict) else value[key]
            if value is None:
                break
        assert isinstance(value, dict | list | None), error


@pytest.mark.parametrize("case", UPDATES, ids=lambda case: case["rule"])
def test_update(case: dict[str, Any]) -> None:
    old, new = made(case.get("old", {})), made(case.get("new", {}))
    assert texts(update_errors(new, old)) == expected(case)


@pytest.mark.parametrize("case", [case for case in CASES if not case["errors"]], ids=lambda case: case["rule"])
def test_what_can_be_created_can_take_its_own_place(case: dict[str, Any]) -> None:
    crd = made(case)
    assert texts(update_errors(crd, crd)) == []


def answer(crd: dict[str, Any]) -> str:
    """What comes back when a manifest is to be created, as OLM writes it."""
    try:
        errors = creation_errors(decoded(crd))
    except DecodeError as error:
        return f"v1 crd unmarshaling failed: {error}"
    name = crd["metadata"]["name"]
    return invalid_text("CustomResourceDefinition", "apiextensions.k8s.io", name, errors) if errors else ""


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["case"])
def test_what_a_real_api_server_answered(case: dict[str, Any]) -> None:
    assert answer(raw(case)) == case["says"]


def test_recorded_clusters(shared: Path) -> None:
    """The message of the InstallPlan is the answer to the bundle's CRD."""
    for folder in sorted((shared / "conformance" / "cases" / "synthetic").glob("19*")):
        observed = json.loads((folder / "observed.json").read_text(encoding="utf-8"))["items"]
        plans = [obj for obj in observed if obj["kind"] == "InstallPlan"]
        crds = [crd for _, crd in crds_in(sorted(folder.glob("input/bundles/*/manifests/*")))]
        assert [answer(crd) for crd in crds] == [plan["status"]["message"] for plan in plans], folder.name


def crds_in(paths: list[Path]) -> Iterator[tuple[Path, Any]]:
    """The CRDs of v1 in files; clusters that were recorded serve no other version."""
    for path in paths:
        source = path.read_text(encoding="utf-8", errors="replace")
        if "CustomResourceDefinition" in source and "apiextensions.k8s.io/v1\n" in f"{source}\n":
            for value in yaml.load_all(source, Loader=yaml.CSafeLoader):
                if isinstance(value, dict) and value.get("kind") == "CustomResourceDefinition":
                    yield path, value


@pytest.fixture(scope="module")
def published(corpus: list[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """All CRDs of v1 in the corpus, with their bundles."""
    return [
        (bundle, decoded(as_v1(crd))) for bundle in corpus for _, crd in crds_in(sorted(bundle.glob("manifests/*")))
    ]


def test_nothing_is_refused_that_was_published(published: list[tuple[Path, dict[str, Any]]]) -> None:
    assert len(published) > 700
    for bundle, crd in published:
        assert texts(creation_errors(crd)) == [], bundle
        assert texts(update_errors(crd, crd)) == [], bundle


def test_nothing_is_refused_that_recorded_clusters_took(shared: Path) -> None:
    folders = (folder for folder in sorted((shared / "conformance").glob("*/*/*")) if folder.name[:2] != "19")
    judged = 0
    for folder in folders:
        for path, crd in crds_in(sorted(folder.glob("**/manifests/*"))):
            assert texts(creation_errors(decoded(as_v1(crd)))) == [], path
            judged += 1
    assert judged > 200


def test_updates_that_were_published(published: list[tuple[Path, dict[str, Any]]]) -> None:
    """Of all CRDs in the corpus that are there in several versions, one operator's lost a version that was stored."""
    older: dict[tuple[str, str], dict[str, Any]] = {}
    refused = set()
    for bundle, crd in published:
        name = (bundle.parent.name, crd["metadata"]["name"])
        stored = [version["name"] for version in crd["spec"]["versions"] if version["storage"]]
        errors = update_errors(crd, older[name]) if name in older else []
        refused |= {(name[0], error.detail.partition(";")[0]) for error in errors}
        older[name] = {**crd, "status": {"storedVersions": stored}}
    assert refused == {("slurm-operator", "missing from spec.versions")}


STRANGE: list[Any] = [None, True, False, 0, -1, 1.5, 10**30, "", "x", "a\n", "\ud800", [], [{}], [None], {}, {"": None}]
PLAIN = st.none() | st.integers() | st.text(max_size=3)
ODD = st.sampled_from(STRANGE) | st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=2), max_leaves=3)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is a value in a value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*path, key))


EVERYTHING = values_of(HERE / "crd_everything.yaml")[0]
PLACES_IN_IT = list(places(EVERYTHING))[1:]


def test_the_crd_with_everything_is_right() -> None:
    assert texts(creation_errors(decoded(EVERYTHING))) == []


@examples(400)
@given(st.lists(st.tuples(st.sampled_from(PLACES_IN_IT), ODD), min_size=1, max_size=3))
def test_any_value_may_stand_anywhere(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    """Neither what Go would refuse nor what it keeps is too odd to be judged."""
    crd = copy.deepcopy(EVERYTHING)
    for path, odd in changes:
        crd = replaced(crd, path, odd)
    for error in (*creation_errors(crd), *update_errors(crd, EVERYTHING), *update_errors(EVERYTHING, crd)):
        assert str(error)


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """A value with another one in a place, if there is still something."""
    if not path:
        return odd
    key, rest = path[0], path[1:]
    if isinstance(value, dict) and key in value:
        return {**value, key: replaced(value[key], rest, odd)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [replaced(item, rest, odd) if index == key else item for index, item in enumerate(value)]
    return value


def test_a_large_crd_takes_no_time() -> None:
    """One of a megabyte that has nothing but structure, which is more than real ones have."""
    leaf = {"type": "string", "description": "how green the tea is", "pattern": "^[a-z]+$", "minLength": 1}
    kinds = {
        "text": leaf,
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "pots": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": leaf, "size": leaf}},
        },
        "level": {"type": "integer", "format": "int32", "default": 3},
    }
    fields = {f"field{number}": {"type": "object", "properties": kinds} for number in range(1_650)}
    crd = made({"schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}})
    assert len(json.dumps(crd)) > 1_000_000
    seconds = measure()
    assert creation_errors(crd) == []
    assert seconds() < 0.5


@pytest.mark.parametrize(("given_versions", "expected"), [(None, ["v1beta1"]), ([], ["v1beta1"]), (["v1"], ["v1"])])
def test_the_versions_of_reviews_in_v1beta1(given_versions: list[str] | None, expected: list[str]) -> None:
    """D28: v1beta1 has a default for them, and v1 writes them into the webhook."""
    conversion: dict[str, Any] = {"strategy": "Webhook", "webhookClientConfig": {"url": "https://hook.example.com"}}
    if given_versions is not None:
        conversion["conversionReviewVersions"] = given_versions
    spec = {"group": "tea.example.com", "version": "v1", "conversion": conversion}
    crd = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "spec": spec}
    assert as_v1(crd)["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://hook.example.com"}, "conversionReviewVersions": expected,
        },
    }  # fmt: skip
