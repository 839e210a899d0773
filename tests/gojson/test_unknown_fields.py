"""Which keys of a value no field takes."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.k8s.gojson import unknown_keys


@pytest.mark.parametrize(
    ("type_name", "value", "exact", "lost"),
    [
        ("PolicyRule", {"verbs": [], "verb": []}, True, {"verb": ("apiGroups", "resources")}),
        ("PolicyRule", {"Verbs": []}, False, {}),
        ("PolicyRule", {"Verbs": []}, True, {"Verbs": ("verbs", "apiGroups")}),
        ("[]PolicyRule", [{}, {"a": 1}], True, {"1.a": ("verbs", "apiGroups")}),
        ("Role", {"metadata": {"labels": {"a": "b"}, "x": 1}}, True, {"metadata.x": ("name", "generateName")}),
        ("DeploymentSpec", {"template": {"Spec": {"x": 1}}}, False, {"template.Spec.x": ("volumes", "initContainers")}),
        ("DeploymentSpec", {"template": [{"x": 1}], "replicas": {"x": 1}}, True, {}),
        ("Operator", {"spec": {"x": 1}}, True, {"spec.x": ()}),
        # below what decodes itself as a schema, a list of schemas or a boolean
        (
            "CustomResourceDefinition",
            {
                "spec": {
                    "versions": [
                        {
                            "schema": {
                                "openAPIV3Schema": {
                                    "properties": {"a": {"items": {"x-descriptors": []}, "additionalProperties": True}},
                                    "items": {"readOnly": True},
                                    "dependencies": {"a": ["b"], "b": {"x": 1}},
                                    "default": {"x": 1},
                                }
                            }
                        }
                    ]
                }
            },
            True,
            {
                "spec.versions.0.schema.openAPIV3Schema.properties.a.items.x-descriptors": ("id", "$schema"),
                "spec.versions.0.schema.openAPIV3Schema.items.readOnly": ("id", "$schema"),
                "spec.versions.0.schema.openAPIV3Schema.dependencies.b.x": ("id", "$schema"),
            },
        ),
    ],
)
def test_unknown_keys_r_json_11(type_name: str, value: Any, exact: bool, lost: dict[str, tuple[str, ...]]) -> None:
    """Each with the first two fields that could stand there; what does not fit its type is not looked into."""
    found = {".".join(map(str, keys)): others[:2] for keys, others in unknown_keys(type_name, value, exact=exact)}
    assert found == lost
