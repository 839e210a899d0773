"""The preflight that compares the CRDs of a bundle with those of the cluster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from v1_vectors import cases

from olmc.k8s.diagnostics import Report
from olmc.k8s.strconv import quoted
from olmc.k8s.yaml import read
from olmc.targets.v1.crd_upgrade import UNHANDLED, crd_errors, flatten, is_checked, upgrade_errors

_CUT = re.compile(
    rf"{UNHANDLED}|oneOf (?:constraint added when there was none previously|schemas \w+):|oneOf schemas \w+:"
)


def test_crds_are_judged_as_the_preflight_judged_them(shared: Path, corpus: list[Path]) -> None:
    """R-V1-CRD-1 … R-V1-CRD-5; what follows after `unhandled changes found` and `oneOf …:` are dumps of Go's."""
    folders = {"/".join(path.parts[-2:]): path for path in corpus}
    for case in cases(shared, "crd-upgrade"):
        if "oldDir" in case:
            old, new = (_crds(folders[case[key]]) for key in ("oldDir", "newDir"))
        else:
            old, new = [case["old"]] if case.get("old") else [], [case["new"]]
        expected = {head: sorted(map(_cut, lines)) for head, lines in (case["expect"].get("errors") or {}).items()}
        assert _found(old, new) == expected, case["id"]
        assert (upgrade_errors(old, new) == "") == case["expect"]["ok"]


def _crds(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "manifests").iterdir())
    values = [document.value for file in files for document in read(file.name, file.read_text(), Report())]
    return [value for value in values if isinstance(value, dict) and is_checked(value)]


def _found(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, list[str]]:
    before = {crd["metadata"]["name"]: crd for crd in old if is_checked(crd)}
    found = {}
    for crd in new:
        name = crd["metadata"]["name"]
        lines = crd_errors(before[name], crd) if name in before and is_checked(crd) else []
        if lines:
            found[f"validating upgrade for CRD {quoted(name)}: "] = sorted(map(_cut, lines))
    return found


def _cut(line: str) -> str:
    match = _CUT.search(line)
    return line[: match.end()] if match else line


def _crd(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    listed = [
        {
            "name": "v1",
            "served": True,
            "storage": not index,
            "schema": {"openAPIV3Schema": {"type": "object"}},
            **version,
        }
        for index, version in enumerate(versions)
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "kettles.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {}, "versions": listed, **spec},
    }  # fmt: skip


def _of(field: dict[str, Any] | None, name: str = "v1", **version: Any) -> dict[str, Any]:
    properties = {} if field is None else {"f": field}
    return {"name": name, "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}, **version}


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (TEXT, TEXT, []),
        (None, TEXT, []),
        (TEXT, None, ["existingFieldRemoval: removed field : v1.^.f", 'v1: ^.f: type: type changed : "string" -> ""']),
        (TEXT, {"type": "integer"}, ['v1: ^.f: type: type changed : "string" -> "integer"']),
        (TEXT, {**TEXT, "description": "better words"}, []),
        (
            TEXT,
            {**TEXT, "default": "<x>"},
            [r'v1: ^.f: default: default added when there was none previously : "\"\\u003cx\\u003e\""'],
        ),
        ({**TEXT, "enum": ["b", "a"]}, {**TEXT, "enum": ["c", "b", "a"]}, []),
        ({**TEXT, "enum": ["b", "a"]}, TEXT, ['v1: ^.f: enum: allowed enum values removed : ["a" "b"]']),
        (
            {"type": "number", "maximum": 1000000},
            {"type": "number", "maximum": 0.25},
            ["v1: ^.f: maximum: maximum decreased : 1e+06 -> 0.25"],
        ),
        (
            {**TEXT, "maxLength": 2000000},
            {**TEXT, "maxLength": 1000000},
            ["v1: ^.f: maxLength: maximum decreased : 2000000 -> 1000000"],
        ),
        ({**TEXT, "minLength": 3}, {**TEXT, "minLength": 2}, []),
        ({**TEXT, "pattern": "^a$"}, TEXT, ['v1: ^.f: pattern: pattern removed : "^a$" -> ""']),
        (TEXT, {**TEXT, "nullable": True}, ["v1: ^.f: nullable: nullable added : false -> true"]),
        ({**TEXT, "nullable": False}, TEXT, []),
        ({"default": 1}, {"default": True}, [r'v1: ^.f: default: default value changed : "1" -> "true"']),
        ({"enum": [0]}, {"enum": [False]}, ["v1: ^.f: enum: allowed enum values removed : [0]"]),
        (
            {"additionalProperties": {"default": {"a": [1]}}},
            {"additionalProperties": {"default": {"a": [True]}}},
            [
                r'v1: ^.f.additionalProperties: default: default value changed : "{\"a\":[1]}" -> "{\"a\":[true]}"',
                "v1: ^.f: unhandled: unhandled changes found",
            ],
        ),
        (TEXT, {**TEXT, "format": "date-time"}, ["v1: ^.f: unhandled: unhandled changes found"]),
        (
            {"type": "object", "additionalProperties": {**TEXT, "maxLength": 5}},
            {"type": "object", "additionalProperties": {**TEXT, "maxLength": 4}},
            [
                "v1: ^.f.additionalProperties: maxLength: maximum decreased : 5 -> 4",
                "v1: ^.f: unhandled: unhandled changes found",
            ],
        ),
        (
            {"type": "object", "properties": {"a": TEXT}},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["b", "a"]},
            ["v1: ^.f: required: new required fields: [a b]"],
        ),
    ],
)
def test_a_field_that_changes(old: Any, new: Any, expected: list[str]) -> None:
    """R-V1-CRD-2, R-V1-CRD-4."""
    assert crd_errors(_crd(_of(old)), _crd(_of(new))) == expected


def test_the_whole_crd() -> None:
    """R-V1-CRD-1, R-V1-CRD-2: the stored versions are those of the status, else the one with storage."""
    old = _crd({"name": "v1alpha1"}, {"name": "v1"})
    new = _crd({"name": "v1"}, scope="Cluster")
    expected = [
        'scope: scope changed : "Namespaced" -> "Cluster"',
        "storedVersionRemoval: stored versions removed : [v1alpha1]",
    ]
    assert crd_errors(old, new) == expected
    assert upgrade_errors([old], [new]) == 'validating upgrade for CRD "kettles.example.com": ' + "\n".join(expected)
    assert crd_errors({**old, "status": {"storedVersions": ["v1"]}}, new) == expected[:1]
    assert upgrade_errors([], [new]) == ""


def test_served_versions_are_compared_with_each_other() -> None:
    """R-V1-CRD-5: by their priority, unless a webhook converts or the difference is an old one."""
    number = {"type": "integer"}
    old = _crd(_of(TEXT))
    new = _crd(_of(TEXT), _of(number, "v1beta1"), _of(number, "v2", served=False))
    assert crd_errors(old, new) == ['v1beta1 -> v1: ^.f: type: type changed : "integer" -> "string"']
    assert crd_errors(new, new) == []
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
    assert crd_errors(old, _crd(*new["spec"]["versions"], conversion=webhook)) == []


def test_versions_of_other_names_are_ordered_too() -> None:
    """R-V1-CRD-5: the first by name has the highest priority, also of one that another one begins with."""
    number = {"type": "integer"}
    new = _crd(_of(TEXT, "next"), _of(number, "next2"))
    assert crd_errors(_crd(_of(TEXT, "next")), new) == [
        'next2 -> next: ^.f: type: type changed : "integer" -> "string"'
    ]


def test_paths() -> None:
    """R-V1-CRD-3: a property that is called as a keyword takes its place."""
    schema = {
        "items": TEXT, "properties": {"items": {"type": "integer"}, "a.b": {"not": {}}},
        "anyOf": [{}], "patternProperties": {"^x": {}},
    }  # fmt: skip
    flat = flatten(schema)
    assert sorted(flat) == ["^", "^.a.b", "^.a.b.not", "^.anyOf[0]", "^.items", "^.patternProperties[^x]"]
    assert flat["^.items"] == {"type": "integer"}


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # the check that sees it: a field before and after
    "type": (TEXT, {"type": "integer"}),
    "default": ({**TEXT, "default": "a"}, {**TEXT, "default": "b"}),
    "enum": ({**TEXT, "enum": ["a", "b"]}, {**TEXT, "enum": ["a"]}),
    "minimum": ({"type": "number", "minimum": 1}, {"type": "number", "minimum": 2}),
    "maximum": ({"type": "number", "maximum": 2}, {"type": "number", "maximum": 1}),
    "minLength": (TEXT, {**TEXT, "minLength": 1}),
    "maxItems": ({"type": "array", "maxItems": 2}, {"type": "array", "maxItems": 1}),
    "required": ({"type": "object"}, {"type": "object", "required": ["a"]}),
    "pattern": (TEXT, {**TEXT, "pattern": "^a$"}),
    "nullable": (TEXT, {**TEXT, "nullable": True}),
    "oneOf": (TEXT, {**TEXT, "oneOf": [{"minLength": 1}]}),
    "unhandled": (TEXT, {**TEXT, "format": "date"}),
}


def _with_fields(fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields}
    return _crd({"name": "v1", "schema": {"openAPIV3Schema": schema}})


@given(st.sets(st.sampled_from(sorted(CHANGES))))
def test_changes_of_several_fields_add_up(changed: set[str]) -> None:
    """R-V1-CRD-4: each field is judged by itself, whatever happens to the others."""
    old = _with_fields({f"f{name}": CHANGES[name][0] for name in CHANGES})
    new = _with_fields({f"f{name}": CHANGES[name][name in changed] for name in CHANGES})
    lines = crd_errors(old, new)
    assert [line.split(": ")[1:3] for line in lines] == [[f"^.f{name}", name] for name in sorted(changed)]


@given(st.sets(st.sampled_from(sorted(CHANGES)), min_size=1).filter(lambda names: "type" not in names))
def test_changes_of_one_field_add_up(changed: set[str]) -> None:
    """R-V1-CRD-4: each check looks at its own keyword, in one field as well."""
    before, after = ({"type": "string"} for _ in range(2))
    for name in sorted(changed):
        before |= {key: value for key, value in CHANGES[name][0].items() if key != "type"}
        after |= {key: value for key, value in CHANGES[name][1].items() if key != "type"}
    lines = crd_errors(_with_fields({"f": before}), _with_fields({"f": after}))
    assert {line.split(": ")[2] for line in lines} == changed
    assert len(lines) == len(changed)


@given(st.sampled_from(sorted(CHANGES)), st.sampled_from(["items", "additionalProperties", "properties"]))
def test_a_crd_is_always_safe_for_itself(name: str, keyword: str) -> None:
    """R-V1-CRD-1, R-V1-CRD-4: and new fields, descriptions and what only becomes wider harm nobody."""
    before, after = CHANGES[name]
    held = {"g": after} if keyword == "properties" else after
    same = _with_fields({"f": {"type": "object", keyword: held, "description": "a"}})
    assert crd_errors(same, same) == []
    fields = {"f": {"type": "object", keyword: held, "description": "b"}, "new": before}
    assert crd_errors(same, _with_fields(fields)) == []
    if name in ("enum", "minimum", "maximum", "minLength", "maxItems", "required"):
        assert crd_errors(_with_fields({"f": after}), _with_fields({"f": before})) == []
