"""The table of structs that the package ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from field_table import compact, merged, render

from olmc.golang import decode, encode
from olmc.golang.decode import reader
from olmc.golang.table import fields, full_type, printed, underlying

BUILTIN = Path(__file__).with_name("builtin_kinds.json")


def test_the_table_is_the_specification_s(project: Path, shared: Path) -> None:
    """R-JSON-2: fields.json holds what the tables of the specification and the one beside this file say."""
    paths = (shared / "spec/k8s-field-order.json", shared / "spec/v1/olm-v1-crd-fields.json", BUILTIN)
    spec = merged(json.loads(path.read_text("utf-8")) for path in paths)
    assert (project / "olmc/golang/fields.json").read_text("utf-8") == render(compact(spec))


def published_definitions() -> dict[str, Any]:
    """The definitions of Kubernetes' OpenAPI, by the name of the Go type's last two parts (`core.v1.Container`)."""
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / "v1.36.0-local"
    found: dict[str, Any] = json.loads((folder / "_definitions.json").read_text("utf-8"))["$defs"]
    return {".".join(name.split(".")[-3:]): value for name, value in found.items()}


def test_the_table_has_the_fields_that_kubernetes_publishes(project: Path) -> None:
    """Every type of the table that Kubernetes' OpenAPI describes has the same fields there."""
    table = json.loads((project / "olmc/golang/fields.json").read_text("utf-8"))["types"]
    published = published_definitions()
    compared = 0
    for name, rows in table.items():
        described = published.get(_published_name(name), {}).get("properties")
        if rows is not None and described is not None:
            compared += 1
            assert sorted(row[0] for row in rows) == sorted(described), name
    assert compared > 150


def _published_name(name: str) -> str:
    path, _, last = name.rpartition(".")
    for prefix in ("k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/apimachinery/pkg/apis/"):
        if path.startswith(prefix):
            return f"{path.removeprefix(prefix).replace('/', '.')}.{last}"
    return name


def test_embedded_structs_are_expanded_in_place(shared: Path) -> None:
    """R-JSON-2: where the specification gives the expanded list as well, the order is the same."""
    types = json.loads((shared / "spec/k8s-field-order.json").read_text("utf-8"))["types"]
    expanded = {name: entry["flattened"] for name, entry in types.items() if "flattened" in entry}
    assert len(expanded) > 10
    for name, rows in expanded.items():
        assert [field.name for field in fields(name) or ()] == [row[0] for row in rows], name


def test_every_type_has_a_reader_and_a_zero_value(project: Path) -> None:
    """Each type of the table can be compiled, and what Go writes for nothing reads back as itself (R-JSON-6)."""
    table = json.loads((project / "olmc/golang/fields.json").read_text("utf-8"))
    structs = [name for name, rows in table["types"].items() if rows is not None]
    assert len(structs) > 180
    for name in structs:
        zero = decode(name, None)
        assert zero == decode(name, {}) == decode(name, zero)
        assert encode(name, None) == encode(name, zero)
    for name in set(table["types"]) - set(structs):
        assert callable(reader(name))


def test_types_are_named_as_go_prints_them() -> None:
    assert printed("[]k8s.io/api/core/v1.Container") == "[]v1.Container"
    assert printed("v1.Protocol=string") == "v1.Protocol"
    assert printed("v1.ResourceList=map[string]k8s.io/apimachinery/pkg/api/resource.Quantity") == "v1.ResourceList"
    assert underlying("labels.Set=map[string]string") == "map[string]string"
    assert full_type("[]PolicyRule") == "[]k8s.io/api/rbac/v1.PolicyRule"


def test_an_unknown_type_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError, match="no Go type named Nonsense"):
        decode("Nonsense", {})
