"""What the API server takes of ClusterExtensions, ClusterCatalogs and ClusterObjectSets, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from v1_vectors import cases

from olmc.compiler.model.workspace import EXTENSIONS_V1, METADATA_NAME
from olmc.k8s.api.validation import objects, webhooks
from olmc.k8s.api.validation.cel_rules import rule_errors
from olmc.k8s.api.validation.field import Path as FieldPath
from olmc.targets.v1.permissions import (
    InstalledBundle,
    api_errors,
    cluster_catalog,
    cluster_extension,
    ignored_fields,
    refusal,
)


def _extension(**spec: Any) -> dict[str, Any]:
    catalog = {"packageName": "kettle", **spec.pop("catalog", {})}
    whole = {"namespace": "brewing", "serviceAccount": {"name": "installer"}, **spec}
    whole.setdefault("source", {"sourceType": "Catalog", "catalog": catalog})
    return {"apiVersion": EXTENSIONS_V1, "kind": "ClusterExtension", "metadata": {"name": "kettle"}, "spec": whole}


def _catalog(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": EXTENSIONS_V1, "kind": "ClusterCatalog", "metadata": {"name": "tools"}, "spec": spec}


def _image(ref: str, **image: Any) -> dict[str, Any]:
    return _catalog(source={"type": "Image", "image": {"ref": ref, **image}})


def test_objects_are_refused_as_an_api_server_refused_them(shared: Path) -> None:
    for case in cases(shared, "api"):
        obj = case["input"]
        errors = _errors(obj)
        answer = refusal(obj, errors) if errors else None
        if obj["kind"] == "Service":
            # The same limit has two words in releases of Kubernetes; the house has that of the others.
            answer = (answer or "").replace("63 bytes", "63 characters")
        assert answer == case.get("error"), obj["metadata"]["name"]


def _errors(obj: Mapping[str, Any]) -> list[Any]:
    if obj["apiVersion"] == EXTENSIONS_V1:
        return api_errors(obj)
    if "webhooks" not in obj:
        return objects.creation_errors(obj)
    return [
        error
        for index, webhook in enumerate(obj["webhooks"])
        for error in webhooks.webhook_errors(webhook, FieldPath().child("webhooks").item(index), mutating=False)
    ]


SUBDOMAIN = (
    "must be a valid DNS1123 subdomain. It must contain only lowercase alphanumeric characters, hyphens (-) or periods "
    "(.), start and end with an alphanumeric character, and be no longer than 253 characters"
)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (_extension(), []),
        (
            _extension(namespace="Brewing"),
            ['spec.namespace: Invalid value: "Brewing": namespace must be a valid DNS1123 label'],
        ),
        (
            _extension(serviceAccount={"name": "_"}),
            [f'spec.serviceAccount.name: Invalid value: "_": name {SUBDOMAIN}'],
        ),
        (
            _extension(catalog={"packageName": "Kettle"}),
            [f'spec.source.catalog.packageName: Invalid value: "Kettle": packageName {SUBDOMAIN}'],
        ),
        (
            _extension(source={"sourceType": "Catalog"}),
            ["spec.source: Invalid value: catalog is required when sourceType is Catalog, and forbidden otherwise"],
        ),
        (
            _extension(catalog={"upgradeConstraintPolicy": "Free"}),
            [
                'spec.source.catalog.upgradeConstraintPolicy: Unsupported value: "Free": supported values: '
                '"CatalogProvided", "SelfCertified"',
                "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
                "correct the existing errors to complete validation",
            ],
        ),
        (_image("registry.example.com/tools:v1"), []),
        (_image("registry.example.com/tools@sha256:" + "a" * 64), []),
        (
            _image("registry.example.com/tools"),
            [
                'spec.source.image.ref: Invalid value: "registry.example.com/tools": must end with a digest or a tag',
            ],
        ),
        (
            _image("registry.example.com/tools@sha256:" + "a" * 64, pollIntervalMinutes=3),
            ["spec.source.image: Invalid value: cannot specify pollIntervalMinutes while using digest-based image"],
        ),
        (
            _image("registry.example.com/tools@sha256:abc"),
            [
                'spec.source.image.ref: Invalid value: "registry.example.com/tools@sha256:abc": digest is not valid. '
                "the encoded string must be at least 32 characters",
            ],
        ),
        (
            _catalog(source={"type": "Image"}),
            ["spec.source: Invalid value: image is required when source type is Image, and forbidden otherwise"],
        ),
    ],
)  # fmt: skip
def test_rules_of_the_crds_hold(obj: dict[str, Any], expected: list[str]) -> None:
    """R-V1-CE-1, R-V1-CC-1."""
    assert [str(error) for error in api_errors(obj)] == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"namespace": "other"}, ['spec.namespace: Invalid value: "other": namespace is immutable']),
        ({"serviceAccount": {"name": "o"}}, ['spec.serviceAccount.name: Invalid value: "o": name is immutable']),
        (
            {"catalog": {"packageName": "pot"}},
            ['spec.source.catalog.packageName: Invalid value: "pot": packageName is immutable'],
        ),
        ({"catalog": {"version": "1.x"}}, []),
    ],
)
def test_what_is_immutable_stays(change: dict[str, Any], expected: list[str]) -> None:
    """R-V1-CE-1."""
    assert [str(error) for error in api_errors(_extension(**change), _extension())] == expected


def _object_set(**spec: Any) -> dict[str, Any]:
    whole = {"lifecycleState": "Active", "revision": 1, "collisionProtection": "Prevent", **spec}
    return {"apiVersion": EXTENSIONS_V1, "kind": "ClusterObjectSet", "metadata": {"name": "kettle-1"}, "spec": whole}


def test_rules_of_object_sets_hold() -> None:
    """R-V1-COS-1."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "brewing"}}
    both = {"object": config, "ref": {"name": "a", "key": "b"}}
    bad = _object_set(phases=[{"name": "Deploy", "objects": [both]}])
    assert [str(error) for error in api_errors(bad)] == [
        'spec.phases[0].name: Invalid value: "Deploy": the value must consist of only lowercase alphanumeric '
        "characters and hyphens, and must start and end with an alphanumeric character.",
        "spec.phases[0].objects[0]: Invalid value: exactly one of the fields in [object ref] must be set",
    ]
    active, archived = _object_set(), _object_set(lifecycleState="Archived")
    assert api_errors(archived, active) == []
    assert [error.detail for error in api_errors(active, archived)] == ["cannot un-archive"]
    assert [error.detail for error in api_errors(_object_set(revision=2), active)] == ["revision is immutable"]


def test_a_rule_that_cannot_be_evaluated_is_said_so() -> None:
    schema = {"x-kubernetes-validations": [{"rule": "self.size > 1", "message": "too small"}]}
    (error,) = rule_errors(schema, {"other": 1})
    assert error.detail == 'rule evaluation error: Key not found in map : "size"'


def test_an_extension_is_read_with_its_defaults() -> None:
    """R-V1-CE-1, R-V1-CE-2."""
    obj = _extension(config={"configType": "Inline", "inline": {"watchNamespace": "x"}}, progressDeadlineMinutes=20)
    obj["status"] = {"install": {"bundle": {"name": "kettle.v1.0.0", "version": "1.0.0"}}}
    extension = cluster_extension(obj)
    assert extension.source.policy == "CatalogProvided"
    assert (extension.checks_crds, extension.config, extension.progress_deadline) == (True, {"watchNamespace": "x"}, 20)
    assert extension.installed == InstalledBundle("kettle.v1.0.0", "1.0.0")
    obj["status"]["conditions"] = [{"message": "Installed bundle example.com/kettle:v1 successfully"}]
    assert cluster_extension(obj).installed == InstalledBundle("kettle.v1.0.0", "1.0.0", None, "example.com/kettle:v1")
    standard = cluster_extension(obj, experimental=False)
    assert (standard.config, standard.progress_deadline) == (None, None)
    assert ignored_fields(obj) == ["config", "progressDeadlineMinutes"]
    unchecked = _extension(install={"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}})
    assert not cluster_extension(unchecked).checks_crds


def test_a_catalog_has_the_label_with_its_name() -> None:
    """R-V1-CC-2: whatever else the label says is replaced."""
    obj = _image("registry.example.com/tools:v1")
    obj["metadata"]["labels"] = {METADATA_NAME: "other", "env": "test"}
    catalog = cluster_catalog(obj)
    assert catalog.labels == {METADATA_NAME: "tools", "env": "test"}
    assert (catalog.priority, catalog.available, catalog.image) == (0, True, "registry.example.com/tools:v1")


def test_what_is_no_text_is_no_reason_to_stop() -> None:
    """Half a character is nothing that a rule could be asked about."""
    for field in ({"namespace": "\ud800"}, {"catalog": {"version": "\ud800", "channels": ["\ud800"]}}):
        assert api_errors(_extension(**field)) == []
