"""Which objects of bundles have a namespace: by group and kind, except where OLM goes by the kind alone."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.compiler.model.options import Options
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.resolver.steps import Content
from olmc.k8s.api.restmapper import BUILTIN
from olmc.k8s.diagnostics import Source
from olmc.k8s.objects import CatalogKey, Manifest
from olmc.targets.proposed.operator_api.approval import namespaces_of, placed_steps

SOURCE = Source("a.yaml", "")


def content_of(api_version: str, kind: str) -> Content:
    csv: dict[str, Any] = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "kettle.v1.0.0", "namespace": "kitchen"},
        "spec": {"version": "1.0.0", "install": {"strategy": "deployment", "spec": {"deployments": []}}},
    }
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
    return Content(Manifest(csv, SOURCE), (("a.yaml", Manifest(obj, SOURCE)),))


@pytest.mark.parametrize(
    ("api_version", "kind", "namespaced"),
    [
        ("operators.coreos.com/v1", "Operator", False),
        ("example.com/v1", "Operator", True),
        ("example.com/v1", "ConsoleLink", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", False),
        ("authorization.openshift.io/v1", "ClusterRole", False),
        ("authorization.openshift.io/v1", "Role", True),
    ],
)
def test_bundle_objects_r_cat_712(api_version: str, kind: str, *, namespaced: bool) -> None:
    content = content_of(api_version, kind)
    assert namespaces_of([content], BUILTIN) == (("default", "kitchen") if namespaced else ("kitchen",))
    profile = profile_of(Options().olm_version)
    *_, step = placed_steps(content, "home", "", "", CatalogKey("", ""), BUILTIN, profile)
    assert (step.kind, step.object["metadata"].get("namespace", "")) == (kind, "home" if namespaced else "")
