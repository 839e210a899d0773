"""Which kinds have namespaces, and what becomes of the namespaces of those that have none."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.kube.scopes import CLUSTER_SCOPED, SERVED_GROUPS, crd_scopes, in_its_scope
from olmc.settle.builtin import builtin_kinds

TIDES = ("tides.example.com", "Tide")


def crd(scope: str, group: str = TIDES[0], kind: str = TIDES[1]) -> dict[str, Any]:
    spec = {"group": group, "names": {"kind": kind}, "scope": scope}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}


def test_the_groups_are_those_of_the_kinds_that_are_built_in() -> None:
    """Besides groups of kinds that are gone, and of OpenShift, which bundles may hold."""
    assert {group for group, _ in builtin_kinds()} | {"extensions"} == SERVED_GROUPS
    assert {group for group, _ in CLUSTER_SCOPED} <= SERVED_GROUPS | {"console.openshift.io"}


@pytest.mark.parametrize(
    ("api_version", "kind", "cleared"),
    [
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", True),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", True),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", False),
        ("v1", "Namespace", True),
        ("v1", "Secret", False),
        ("operators.coreos.com/v1", "OLMConfig", True),
        ("other.example.com/v1", "ClusterRoleBinding", False),
        ("tides.example.com/v3", "Tide", True),
    ],
)
def test_scope_decides_not_the_field(api_version: str, kind: str, *, cleared: bool) -> None:
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "foo", "labels": {}}}
    found = in_its_scope(obj, crd_scopes([crd("Cluster")]))
    assert ("namespace" not in found["metadata"]) == cleared
    assert found["metadata"] | {"namespace": "foo"} == obj["metadata"]


def test_no_crd_has_a_say_in_the_kinds_of_kubernetes() -> None:
    rbac = "rbac.authorization.k8s.io"
    assert crd_scopes([crd("Namespaced", rbac, "ClusterRoleBinding"), crd("Cluster", rbac, "RoleBinding")]) == {}
    assert crd_scopes([crd("Cluster"), crd("Namespaced")]) == {TIDES: "Cluster"}
    assert crd_scopes([{"kind": "CustomResourceDefinition", "spec": [1]}]) == {}
