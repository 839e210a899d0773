"""Every row of the specification's vectors that this layer can express; OLM's own functions made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmc.compiler.olm.naming import (
    binding_hash,
    cluster_role_name,
    component_label_key,
    content_hash_rules,
    deep_hash,
    gvk_hash,
    operator_group_role_name,
    role_name,
)
from olmc.compiler.olm.profiles.data import profile_of
from olmc.k8s.gojson import encode
from olmc.k8s.gojson.scalars import quantity

NEWEST = profile_of("0.46")

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Rows]:
    rows: dict[str, Rows] = json.loads((shared / "spec/olm-operator-vectors.json").read_text("utf-8"))
    return rows


def test_names_and_hashes_of_rbac(vectors: dict[str, Rows]) -> None:
    """R-SA-2 … R-SA-7, R-HASH-2, R-HASH-3."""
    assert len(vectors["rbac"]) == 8
    for row in vectors["rbac"]:
        account, namespace = row["serviceAccount"], row["namespace"]
        permission = {"serviceAccountName": account, "rules": row["rules"]}
        subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
        assert role_name(NEWEST, row["csv"], namespace, permission) == row["role"]
        assert cluster_role_name(NEWEST, row["csv"], namespace, permission) == row["clusterRole"]
        assert content_hash_rules(row["rules"]) == row["rulesHash"]
        assert binding_hash("Role", row["role"], subjects) == row["roleBindingHash"]
        assert binding_hash("ClusterRole", row["clusterRole"], subjects) == row["crbHash"]
        written = encode("StrategyDeploymentPermissions", permission).decode()
        assert row["roleJSON"].endswith(f',"permission":{written}}}')


def test_gvk_hash(vectors: dict[str, Rows]) -> None:
    """R-HASH-6."""
    assert {row["hash"]: gvk_hash(*row["gvk"]) for row in vectors["gvkHash"]} == {
        row["hash"]: row["hash"] for row in vectors["gvkHash"]
    }
    assert len(vectors["gvkHash"]) == 5


def test_cluster_roles_of_operator_groups(vectors: dict[str, Rows]) -> None:
    """R-OG-16. The long names stand in the vectors by their length and their last fifty characters."""
    assert len(vectors["operatorGroupClusterRole"]) == 8
    letters = {"len253": "x" * 253, "len200": "y" * 200, "len201": "y" * 201, "len202": "z" * 202}
    for row in vectors["operatorGroupClusterRole"]:
        namespace, group, suffix = row["og"]
        name = operator_group_role_name(NEWEST, namespace, letters.get(group, group), suffix)
        assert len(name) == row["len"]
        assert name.endswith(row["name"])
        assert group in letters or name == row["name"]


def test_component_label_keys(vectors: dict[str, Rows]) -> None:
    """R-COMP-2."""
    assert len(vectors["componentLabelKey"]) == 5
    for row in vectors["componentLabelKey"]:
        assert component_label_key(*row["pkg"]) == row["key"]


def test_bytes_and_deep_hashes(vectors: dict[str, Rows]) -> None:
    """R-HASH-2, R-JSON-1 … R-JSON-9, R-WH-5."""
    assert len(vectors["deepHash"]) == 8
    for row in vectors["deepHash"]:
        assert encode(row["type"], row["in"]).decode() == row["json"]
        assert deep_hash(row["type"], row["in"]) == row["hash"]


def test_quantities(vectors: dict[str, Rows]) -> None:
    """R-JSON-9."""
    assert len(vectors["quantity"]) == 55
    assert [quantity(row["in"]) for row in vectors["quantity"]] == [row["out"] for row in vectors["quantity"]]


def test_deployment_specs(vectors: dict[str, Rows]) -> None:
    """R-DEP-9: the finished spec, decoded and in any key order, gives the same bytes and the hash of the label."""
    assert len(vectors["deployment"]) == 2
    for row in vectors["deployment"]:
        spec = json.loads(row["specJSON"])
        backwards = dict(reversed(spec.items()))
        assert encode("DeploymentSpec", backwards).decode() == row["specJSON"].rstrip("\n")
        assert deep_hash("DeploymentSpec", spec) == row["hash"]
