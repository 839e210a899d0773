"""Fields that an input lacks: those that Go's types and the schemas know for a place, and those that others have there.

Changes of what stands in a seed reach the code for the fields of the seeds. What a field may be is known: from the
tables of Go's structs, from the schemas, and from the fixtures, where it stands below a key of the same name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from olmc.k8s.gojson.decode_errors import Field, fields, full_type, underlying

PROJECT = Path(__file__).resolve().parents[2]
# A value that is made up has no more parts in each other.
_DEPTH = 5
# How often a value is one that the type does not have.
_WRONG = 0.1
# How often it is a whole object that is added, and how often, but for that, a field of a type that is known.
_WHOLE, _TYPED = 0.1, 0.7
# Values and objects of others are no longer, in characters of JSON.
_VALUE, _OBJECT = 2000, 8000
_ROOTS: Mapping[str, str] = {
    **{kind: kind for kind in (
        "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "MutatingWebhookConfiguration", "NetworkPolicy",
        "PodDisruptionBudget", "PriorityClass", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount",
        "ValidatingWebhookConfiguration", "CustomResourceDefinition", "ClusterServiceVersion", "OperatorCondition",
        "OperatorGroup",
    )},
    "olm.bundle": "declcfg.Bundle", "olm.channel": "declcfg.Channel", "olm.package": "declcfg.Package",
    "olm.deprecations": "declcfg.Deprecation", "olm.template.semver": "semver.SemverTemplateData",
    "olm.csv.metadata": "property.CSVMetadata", "olm.constraint": "olm.constraint",
}  # fmt: skip
_QUANTITIES = ("1", "100m", "1.5Gi", "1e3", "0.1n", "1Ei", "-1", "1e-400", "1E400", ".5", "+.5k", "12e", "1 Gi", "")
_STRINGS = (
    "a", "app", "example.com", "v1", "1.2.3", ">=1.0.0", "*", "Always", "IfNotPresent", "AllNamespaces", "OwnNamespace",
    "Cluster", "Namespaced", "In", "NotIn", "Exists", "DoesNotExist", "Equal", "Fail", "Ignore", "Equivalent", "None",
    "ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook", "Webhook", "olm.package", "10m",
    "1d", "object", "array", "string", "integer", "2001-01-01T00:00:00Z", "", "$(X)", "A" * 64, "::warning::x", "true",
    "\u202e",
)  # fmt: skip


def add_known_field(documents: list[Any], rng: Random) -> None:
    """Give one object of some documents a field that belongs there, or is taken to; at times they get an object."""
    if rng.random() < _WHOLE:
        text = rng.choice(_known_objects())
        documents.extend([json.loads(text)] if len(text) < _OBJECT else [])
        return
    places = [place for document in documents for place in _typed_places(document)]
    if places and rng.random() < _TYPED:
        parent, known = rng.choice(places)
        strings = _strings_of(documents)
        if isinstance(known, dict):
            key = rng.choice(sorted(known))
            parent[key] = _by_schema(known[key], rng, strings)
        else:
            field = rng.choice(known)
            parent[field.name] = _by_type(field.type, rng, strings)
        return
    objects = [place for document in documents for place in _objects(document, "")]
    if objects:
        parent, name = rng.choice(objects)
        key, text = rng.choice(_seen().get(name) or _seen()[""])
        parent[key] = json.loads(text)


def _typed_places(document: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """The objects in a document with what may stand in them: fields of a struct, or properties of a schema."""
    if not isinstance(document, dict):
        return
    kind = document.get("kind") or document.get("schema")
    if not isinstance(kind, str):
        return
    if kind in _ROOTS:
        yield from _structs(document, full_type(_ROOTS[kind]))
    elif kind in _schemas():
        yield from _schema_places(document, _schemas()[kind])
    for below in (document.get("items"), document.get("properties")):
        for item in below if isinstance(below, list) else ():
            yield from _typed_places(item)


def _structs(value: Any, go_type: str) -> Iterator[tuple[dict[str, Any], Sequence[Field]]]:
    go_type = underlying(go_type.removeprefix("*"))
    if go_type.startswith("[]"):
        for item in value if isinstance(value, list) else ():
            yield from _structs(item, go_type[2:])
    elif go_type.startswith("map[string]"):
        for item in value.values() if isinstance(value, dict) else ():
            yield from _structs(item, go_type.removeprefix("map[string]"))
    elif isinstance(value, dict) and (known := _fields(go_type)):
        yield value, known
        for field in known:
            if field.name in value:
                yield from _structs(value[field.name], field.type)


def _schema_places(value: Any, schema: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if not isinstance(schema, dict):
        return
    if isinstance(value, list):
        for item in value:
            yield from _schema_places(item, schema.get("items"))
    elif isinstance(value, dict):
        known = schema.get("properties") or {}
        if known:
            yield value, known
        for key, below in value.items():
            yield from _schema_places(below, known.get(key, schema.get("additionalProperties")))


def _fields(struct: str) -> tuple[Field, ...]:
    try:
        return fields(struct) or ()
    except KeyError:
        return ()


def _by_type(go_type: str, rng: Random, strings: Sequence[str], depth: int = 0) -> Any:
    """A value of a Go type, or at times none of it."""
    if rng.random() < _WRONG or depth > _DEPTH:
        return rng.choice((None, "", 0, -1, True, [], {}, [None], {"a": None}, "a", 1.5, 2**70, [[]], 10**400))
    go_type = underlying(go_type.removeprefix("*"))
    if go_type == "[]uint8":
        return rng.choice(("YQ==", "e30=", "!", "YQ"))
    if go_type.startswith("[]"):
        return [_by_type(go_type[2:], rng, strings, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
    if go_type.startswith("map[string]"):
        of = go_type.removeprefix("map[string]")
        return {_string(rng, strings): _by_type(of, rng, strings, depth + 1) for _ in range(rng.choice((0, 1, 2)))}
    if go_type == "string":
        return _string(rng, strings)
    if go_type == "bool":
        return rng.random() < 0.5
    if go_type.startswith(("int", "uint", "float")):
        return rng.choice((0, 1, 2, 443, -1, 65535, 65536, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 1.0, 0.5))
    if known := _fields(go_type):
        some = rng.sample(known, min(len(known), rng.choice((1, 2, 3, 8))))
        return {field.name: _by_type(field.type, rng, strings, depth + 1) for field in some}
    if go_type.endswith(("Quantity", "IntOrString")):
        return rng.choice((*_QUANTITIES, 1, 0.1, 2**63, -5))
    return rng.choice(
        ({"a": 1}, {"type": "object"}, [], "a", 1, None, True, {"spec": {"a": [1]}}, _string(rng, strings))
    )


def _by_schema(schema: Any, rng: Random, strings: Sequence[str], depth: int = 0) -> Any:
    """A value that a schema describes, or at times another one."""
    schema = schema if isinstance(schema, dict) else {}
    if rng.random() < _WRONG or depth > _DEPTH:
        return _by_type("*", rng, strings, _DEPTH + 1)
    for key in ("enum", "examples"):
        if schema.get(key) and rng.random() < 0.6:
            return rng.choice(schema[key])
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    kind = rng.choice(kind) if isinstance(kind, list) and kind else kind
    if kind == "object":
        known = schema.get("properties") or {}
        made = {
            key: _by_schema(known[key], rng, strings, depth + 1)
            for key in rng.sample(sorted(known), min(len(known), rng.choice((1, 2, 3, 8))))
        }
        if schema.get("additionalProperties"):
            made[_string(rng, strings)] = _by_schema(schema["additionalProperties"], rng, strings, depth + 1)
        return made
    if kind == "array":
        return [_by_schema(schema.get("items"), rng, strings, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
    go_type = {"string": "string", "boolean": "bool", "integer": "int32", "number": "float64", "null": ""}.get(
        str(kind), ""
    )
    return _by_type(go_type, rng, strings, depth + 1)


def _string(rng: Random, strings: Sequence[str]) -> str:
    """A text, most often one that the documents have, so that it names something."""
    return rng.choice(strings) if strings and rng.random() < 0.6 else rng.choice(_STRINGS)


def _strings_of(documents: Sequence[Any]) -> list[str]:
    found: dict[str, None] = {}
    for document in documents:
        for parent, _ in _objects(document, ""):
            found.update((value, None) for value in parent.values() if isinstance(value, str) and len(value) < 100)
    return list(found)


def _objects(value: Any, name: str, depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """All objects with the key that they stand below."""
    if depth > 60:
        return
    if isinstance(value, dict):
        yield value, name
        for key, below in list(value.items()):
            yield from _objects(below, str(key), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, name, depth + 1)


@cache
def _schemas() -> Mapping[str, Any]:
    """The schemas of what olmc reads, by kind."""
    found = {}
    for path in sorted((PROJECT / "schemas").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        kind = schema.get("properties", {}).get("kind", {}).get("const")
        if kind and kind not in _ROOTS:
            found[kind] = schema
    return found


@cache
def _seen() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Which keys stand below a key in the objects that are known, each with a value as JSON."""
    found: dict[str, dict[tuple[str, str], None]] = {"": {}}
    for text in _known_objects():
        for parent, name in _objects(json.loads(text), ""):
            for key, value in parent.items():
                value_text = json.dumps(value)
                if len(value_text) < _VALUE:
                    found.setdefault(name, {})[(key, value_text)] = None
    return {name: tuple(pairs) for name, pairs in found.items()}


@cache
def _known_objects() -> Sequence[str]:
    """The objects of the fixtures, and those of recorded clusters where OLMC_SHARED has them, as JSON."""
    shared = Path(os.environ.get("OLMC_SHARED", PROJECT.parent / "shared")) / "conformance" / "transitions"
    paths = [*sorted((PROJECT / "fixtures").rglob("*.yaml")), *sorted(shared.glob("*/observed-before.json"))[::4]]
    found: dict[str, None] = {}
    for path in paths:
        try:
            documents = list(yaml.load_all(path.read_bytes(), yaml.CSafeLoader))
        except yaml.YAMLError:  # fixtures may have errors
            continue
        for document in documents:
            items = document.get("items") if isinstance(document, dict) else None
            for item in items if isinstance(items, list) else [document]:
                if isinstance(item, dict):
                    found[json.dumps(item, default=str)] = None
    return tuple(found)
