"""Which objects have a namespace, and where those are that name none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenarios import write

import olmc
from olmc.kube.scopes import crd_scopes
from olmc.model.rbac import RBAC
from olmc.settle.scopes import scope_of

VERSION = "v1.36.2"


def crd(scope: str, group: str = "tides.example.com", kind: str = "Tide") -> dict[str, Any]:
    spec = {"group": group, "names": {"kind": kind}, "scope": scope}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}


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
        ("tides.example.com/v1", "Tide", ({"kind": "CustomResourceDefinition", "spec": "broken"},), None),
        ("storms.example.com/v1", "Tide", (crd("Cluster"),), None),
        ("storms.example.com/v1", "Namespace", (), None),
        (f"{RBAC}/v1", "ClusterRole", (crd("Namespaced", RBAC, "ClusterRole"),), "Cluster"),
        (f"{RBAC}/v1", "Role", (crd("Cluster", RBAC, "Role"),), "Namespaced"),
    ],
)
def test_scope(api_version: str, kind: str, crds: tuple[dict[str, Any], ...], scope: str | None) -> None:
    """By what Kubernetes has built in, which no CRD overrules, or by a CRD; a kind of the same name in another group is
    another kind."""
    assert scope_of({"apiVersion": api_version, "kind": kind}, crd_scopes(crds), VERSION) == scope


def test_a_workspace_without_namespaces_is_compiled_in_the_default_one(project: Path, tmp_path: Path) -> None:
    """Group, Subscription and all: as if their author had written it there."""
    source = project / "fixtures/own-namespace"
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.yaml")}
    bare = write(tmp_path, {name: text.replace("  namespace: harbour\n", "") for name, text in texts.items()})
    assert "namespace: harbour" in texts["operators.yaml"]
    expected = olmc.compile(source)
    made = olmc.compile(bare, olmc.Options(default_namespace="harbour"))
    assert [each.object for each in made.objects] == [each.object for each in expected.objects]
    assert any(each.object["kind"] == "Deployment" for each in made.objects)
    assert olmc.compile(bare).objects != made.objects


def test_what_a_bundle_by_itself_ships_is_in_its_namespace(project: Path, tmp_path: Path) -> None:
    """Whatever its manifests say: as an InstallPlan does it (R-CAT-712)."""
    source = project / "fixtures/bare-bundle"
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.yaml")}
    shipped = {
        "manifests/lamp.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: lamp}\n",
        "manifests/horn.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: horn, namespace: elsewhere}\n",
    }
    made = olmc.compile(write(tmp_path, {**texts, **shipped}))
    places = {each.object["metadata"]["name"]: each.object["metadata"].get("namespace") for each in made.objects}
    assert (places["lamp"], places["horn"]) == ("lighthouse", "lighthouse")
