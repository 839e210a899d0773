"""The table of structs that the package ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

import olmc.k8s.gojson
from olmc.k8s.gojson import decode, encode
from olmc.k8s.gojson.decode_errors import field_of, fields, full_type, printed, struct_name, underlying
from olmc.k8s.gojson.decoder import reader
from olmc.k8s.gojson.generate import compact, merge, render

TYPES = Path(olmc.k8s.gojson.__file__).parent / "types"


def all_types() -> dict[str, Any]:
    tables = ("kubernetes", "olm", "catalogs", "constraints")
    return {
        name: rows
        for table in tables
        for name, rows in json.loads((TYPES / f"{table}.json").read_text("utf-8"))["types"].items()
    }


def test_the_tables_are_the_specification_s(shared: Path) -> None:
    """R-JSON-2: the generated tables hold what those of the specification and the one beside them say."""
    paths = ("spec/k8s-field-order.json", "spec/v1/olm-v1-crd-fields.json")
    spec = (shared / paths[0], shared / paths[1], TYPES / "builtin_kinds.json")
    table = compact(merge(json.loads(path.read_text("utf-8")) for path in spec))
    assert (TYPES / "kubernetes.json").read_text("utf-8") == render(table, of_olm=False)
    assert (TYPES / "olm.json").read_text("utf-8") == render(table, of_olm=True)


def published_definitions() -> dict[str, Any]:
    """The definitions of Kubernetes' OpenAPI, by the name of the Go type's last two parts (`core.v1.Container`)."""
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / "v1.36.0-local"
    found: dict[str, Any] = json.loads((folder / "_definitions.json").read_text("utf-8"))["$defs"]
    return {".".join(name.split(".")[-3:]): value for name, value in found.items()}


def test_the_table_has_the_fields_that_kubernetes_publishes() -> None:
    """Every type of the table that Kubernetes' OpenAPI describes has the same fields there."""
    table = all_types()
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


def test_every_type_has_a_reader_and_a_zero_value() -> None:
    """Each type of the table can be compiled, and what Go writes for nothing reads back as itself (R-JSON-6)."""
    table = all_types()
    structs = [name for name, rows in table.items() if rows is not None]
    assert len(structs) > 180
    for name in structs:
        zero = decode(name, None)
        assert zero == decode(name, {}) == decode(name, zero)
        assert encode(name, None) == encode(name, zero)
    for name in set(table) - set(structs):
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


CONSTRAINT = "github.com/operator-framework/api/pkg/constraints."
CRD_NAMES = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.CustomResourceDefinitionNames"


@pytest.mark.parametrize(
    ("struct", "key", "name"),
    [
        (CRD_NAMES, "plural", "plural"),
        (CRD_NAMES, "PLURAL", "plural"),
        # The only letters outside of ASCII that simple case folding makes ASCII: long s and the sign for Kelvin.
        (CRD_NAMES, "\u017fingular", "singular"),
        (CRD_NAMES, "\u212aind", "kind"),
        (f"{CONSTRAINT}PackageConstraint", "ver\u017fionRange", "versionRange"),
        (CRD_NAMES, "l\u0131stKind", None),
        # Full case folding, which Go does not do here, would have the sharp s stand for two.
        ("k8s.io/api/core/v1.LoadBalancerStatus", "ingre\u00df", None),
    ],
)
def test_keys_are_folded_as_go_folds_them_r_json_11(struct: str, key: str, name: str | None) -> None:
    """A key stands for a field of the same name, else for one whose name is the same under simple case folding."""
    field = field_of(struct, key)
    assert (field and field.name) == name
    assert field_of(struct, key, exact=True) == (field if key == name else None)


def test_a_struct_without_a_name_has_none_before_its_fields() -> None:
    assert struct_name("k8s.io/api/core/v1.Container") == "Container"
    assert struct_name(full_type("olm.label")) == ""
    assert printed(full_type("olm.label")) == 'struct { Label string "json:\\"label\\"" }'
