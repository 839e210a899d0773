"""What is known about kinds: scope, plural, other names, served versions."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.k8s.api.restmapper import (
    BUILTIN,
    CLUSTER_SCOPED,
    RestMapping,
    builtin_kinds,
    closest_kind,
    find_kinds,
    known_kinds,
    kubernetes_kinds,
    plural_of,
    rest_mapper,
)
from olmc.k8s.objects import GVK, RBAC, GroupKind, gvk_of

TIDES = GroupKind("tides.example.com", "Tide")
VERSION = "v1.36.2"


def crd(scope: str, group: str = TIDES.group, kind: str = TIDES.kind, **names: object) -> dict[str, Any]:
    versions = [{"name": "v1", "served": True}, {"name": "v1beta1", "served": False}]
    spec = {"group": group, "names": {"kind": kind, **names}, "scope": scope, "versions": versions}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}


CONSOLE = crd("Namespaced", "console.openshift.io", "ConsoleLink")


CONSOLE = crd("Namespaced", "console.openshift.io", "ConsoleLink")


@pytest.mark.parametrize(
    ("api_version", "kind", "crds", "scope"),
    [
        ("v1", "ConfigMap", (), "Namespaced"),
        ("v1", "Namespace", (), "Cluster"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", (), "Cluster"),
        ("operators.coreos.com/v1alpha1", "Subscription", (), "Namespaced"),
        ("operators.coreos.com/v1", "OLMConfig", (), "Cluster"),
        ("tides.example.com/v1", "Tide", (), None),
        ("tides.example.com/v1", "Tide", (crd("Cluster"),), "Cluster"),
        ("tides.example.com/v2", "Tide", (crd("Namespaced"),), "Namespaced"),
        ("tides.example.com/v1", "Tide", ({**crd("Cluster"), "spec": "broken"},), None),
        ("storms.example.com/v1", "Tide", (crd("Cluster"),), None),
        ("storms.example.com/v1", "Namespace", (), None),
        (f"{RBAC}/v1", "ClusterRole", (crd("Namespaced", RBAC, "ClusterRole"),), "Cluster"),
        (f"{RBAC}/v1", "Role", (crd("Cluster", RBAC, "Role"),), "Namespaced"),
        ("tides.example.com/v1", "Tide", ({**crd("Cluster"), "apiVersion": "other.example.com/v1"},), None),
        ("tides.example.com/v1", "Tide", (crd("Namespaced"), crd("Cluster")), "Namespaced"),
        ("operators.coreos.com/v1", "Operator", (), "Cluster"),
        ("operators.coreos.com/v2alpha1", "Install", (), "Cluster"),
        ("example.com/v1", "Operator", (), None),
        ("example.com/v1", "Operator", (crd("Namespaced", "example.com", "Operator"),), "Namespaced"),
        ("console.openshift.io/v1", "ConsoleLink", (), "Cluster"),
        ("console.openshift.io/v1", "ConsoleLink", (CONSOLE,), "Namespaced"),
        ("networking.k8s.io/v1alpha7", "Tide", (crd("Cluster", "networking.k8s.io"),), "Cluster"),
        ("policy/v1beta1", "PodDisruptionBudget", (), None),
    ],
)
def test_scope(api_version: str, kind: str, crds: tuple[dict[str, Any], ...], scope: str | None) -> None:
    """By what Kubernetes has built in, which no CRD overrules, or by the first CRD; a kind of the same name in another
    group is another kind."""
    assert rest_mapper(crds).scope(gvk_of({"apiVersion": api_version, "kind": kind}), VERSION) == scope


@pytest.mark.parametrize(
    ("api_version", "kind", "cleared"),
    [
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", True),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", True),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", False),
        ("v1", "Namespace", True),
        ("v1", "Secret", False),
        ("operators.coreos.com/v1", "OLMConfig", True),
        ("operators.coreos.com/v1", "Operator", True),
        ("operators.coreos.com/v2alpha1", "Operator", False),
        ("example.com/v1", "Operator", False),
        ("other.example.com/v1", "ClusterRoleBinding", False),
        ("tides.example.com/v3", "Tide", True),
    ],
)
def test_scope_decides_not_the_field(api_version: str, kind: str, *, cleared: bool) -> None:
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "foo", "labels": {}}}
    found = rest_mapper([crd("Cluster")]).in_its_scope(obj)
    assert ("namespace" not in found["metadata"]) == cleared
    assert found["metadata"] | {"namespace": "foo"} == obj["metadata"]


def test_no_crd_has_a_say_in_the_kinds_of_kubernetes() -> None:
    crds = [crd("Namespaced", RBAC, "ClusterRoleBinding"), crd("Cluster", RBAC, "RoleBinding"), {"kind": "Any"}]
    assert rest_mapper(crds).custom == {}
    assert {kind.group for kind in set(builtin_kinds()) - kubernetes_kinds()} == {"operators.coreos.com"}


def test_an_unknown_kind_has_namespaces_and_the_usual_plural() -> None:
    """Whatever it is called: an Operator of another group than OLM's is not OLM's (R-CAT-750)."""
    unknown = RestMapping("example.com", "Operator", "operators", namespaced=True)
    assert BUILTIN.mapping(unknown.group_kind) == unknown
    kinds = known_kinds([{"apiVersion": "example.com/v1", "kind": "Operator", "metadata": {"name": "a"}}])
    seen_without_namespace = unknown._replace(namespaced=False)
    assert [kind for kind in kinds if kind.group == "example.com"] == [seen_without_namespace]


def test_built_in_kinds_of_another_group_are_unknown() -> None:
    for kind in {*builtin_kinds(), *CLUSTER_SCOPED}:
        assert BUILTIN.mapping(kind).namespaced == (kind not in CLUSTER_SCOPED)
        assert BUILTIN.mapping(kind._replace(group="example.com")).namespaced
        assert BUILTIN.scope(GVK("example.com", "v1", kind.kind), VERSION) is None


def test_served_versions() -> None:
    mapper = rest_mapper([crd("Namespaced", plural="tides")])
    for version, served in (("v1", True), ("v1beta1", False), ("v2", False)):
        assert mapper.serves_kind(GVK(TIDES.group, version, "Tide"), (), VERSION) is served
        assert mapper.serves_version(TIDES.group, version, (), VERSION) is served
    assert mapper.serves_kind(GVK(TIDES.group, "v2", "Tide"), ("tides.example.com/v2/Tide",), VERSION)
    assert mapper.serves_version(TIDES.group, "v2", ("tides.example.com/v2/Moon",), VERSION)
    assert not mapper.serves_kind(GVK("storms.example.com", "v1", "Tide"), (), VERSION)
    assert mapper.serves_kind(GVK("policy", "v1beta1", "PodDisruptionBudget"), (), "v1.24.0")
    assert not mapper.serves_kind(GVK("policy", "v1beta1", "PodDisruptionBudget"), (), "v1.25.0")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("deploy", ["Deployment"]),
        ("Deployments", ["Deployment"]),
        ("deployments.apps", ["Deployment"]),
        ("Deployment.apps", ["Deployment"]),
        ("deployments.batch", []),
        ("netpol", ["NetworkPolicy"]),
        ("ingresses", ["Ingress"]),
        ("endpoints", ["Endpoints"]),
        ("events", ["Event", "Event"]),
        ("event.events.k8s.io", ["Event"]),
        ("CSV", ["ClusterServiceVersion"]),
        ("sub", ["Subscription"]),
        ("kettles", ["Kettle"]),
        ("KTL", ["Kettle"]),
        ("kettles.tea.example.com", ["Kettle"]),
        ("sieve", ["Sieve"]),
        ("nothing", []),
    ],
)
def test_kinds(name: str, kinds: list[str]) -> None:
    """The short names are kubectl's; those of a CRD are what it says, those of an unknown kind what is usual."""
    names = {"kind": "Kettle", "plural": "kettles", "shortNames": ["ktl"]}
    spec = {"group": "tea.example.com", "scope": "Cluster", "names": names}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    sieve = {"apiVersion": "tea.example.com/v1", "kind": "Sieve", "metadata": {"name": "a"}}
    assert [each.kind for each in find_kinds(name, known_kinds([crd, sieve]))] == kinds


@pytest.mark.parametrize("spec", [None, [], {}, {"names": []}, {"names": {"kind": ""}}, {"names": {"kind": "A"}}])
def test_odd_crds(spec: Any) -> None:
    assert known_kinds([{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}])


def test_meant_kinds() -> None:
    assert closest_kind("deploymant", known_kinds(())) == "Deployment"
    assert closest_kind("xyzzy", known_kinds(())) == ""
    assert [plural_of(kind) for kind in ("Policy", "Class", "Pod", "Endpoints")] == [
        "policies", "classes", "pods", "endpoints",
    ]  # fmt: skip
