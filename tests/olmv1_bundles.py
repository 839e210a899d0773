"""Bundles for the tests of olmc.targets.v1, and the form in which the vectors have objects."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from olmc.targets.v1.generators import FeatureGates, render_objects
from olmc.targets.v1.object_set import normal_form
from olmc.targets.v1.registry_bundle import RegistryBundle, read_registry_bundle

PACKAGE = "operators.operatorframework.io.bundle.package.v1"


def vectors(shared: Path, name: str) -> Any:
    """The content of a file of vectors."""
    return json.loads(gzip.decompress((shared / "spec" / "v1" / f"{name}.json.gz").read_bytes()))


def bundle_files(folder: Path) -> dict[str, str]:
    """The files of a bundle in a directory, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


def canonical(value: Any) -> str:
    """A value as the vectors are compared: keys sorted, whole numbers as integers."""
    return json.dumps(_with_integers(value), sort_keys=True, separators=(",", ":"))


def _with_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_integers(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_integers(below) for below in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value


def normal_objects(objects: Any) -> list[dict[str, Any]]:
    """Objects in the normal form of the vectors and in their order."""
    return sorted(map(normal_form, objects), key=lambda obj: (identity(obj), canonical(obj)))


def identity(obj: dict[str, Any]) -> list[str]:
    """What a row of a table begins with."""
    metadata = obj["metadata"]
    return [obj["apiVersion"], obj["kind"], metadata.get("namespace") or "", metadata["name"]]


def row(obj: dict[str, Any]) -> list[str]:
    """An object as a row of a table."""
    return [*identity(obj), sha256(canonical(obj).encode()).hexdigest()]


def csv(**spec: Any) -> dict[str, Any]:
    """A CSV for all namespaces with one Deployment; `spec` adds to it or replaces parts."""
    deployment = {
        "name": "op",
        "spec": {
            "selector": {"matchLabels": {"app": "op"}},
            "template": {
                "metadata": {"labels": {"app": "op"}},
                "spec": {"containers": [{"name": "manager", "image": "example.com/op:1"}]},
            },
        },
    }
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "op.v1.0.0"},
        "spec": {
            "version": "1.0.0",
            "installModes": [{"type": "AllNamespaces", "supported": True}],
            "install": {"strategy": "deployment", "spec": {"deployments": [deployment]}},
            **spec,
        },
    }


def files_of(csv_object: dict[str, Any], *others: dict[str, Any], **metadata: str) -> dict[str, str]:
    """The files of a bundle with these objects; `metadata` are more files there, by their names."""
    files = {f"manifests/{number:02}.yaml": json.dumps(obj) for number, obj in enumerate((csv_object, *others))}
    more = {f"metadata/{name}.yaml": text for name, text in metadata.items()}
    return {"metadata/annotations.yaml": f"annotations: {{{PACKAGE}: op}}\n", **files, **more}


CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gears.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "gears", "kind": "Gear"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
HOOK: dict[str, Any] = {
    "type": "ValidatingAdmissionWebhook",
    "generateName": "v.example.com",
    "deploymentName": "op",
    "containerPort": 443,
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
CONVERSION: dict[str, Any] = {**HOOK, "type": "ConversionWebhook", "generateName": "c.example.com"}
OWNED: dict[str, Any] = {
    "customresourcedefinitions": {"owned": [{"name": "gears.example.com", "kind": "Gear", "version": "v1"}]}
}
PERMISSION: dict[str, Any] = {
    "serviceAccountName": "op",
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["<a>"]}],
}
ALL = FeatureGates(
    webhook_provider_cert_manager=True, single_own_namespace_install_support=True, deployment_config=True
)


def modes(*supported: str) -> list[dict[str, Any]]:
    return [{"type": mode, "supported": True} for mode in supported]


def bundle(*others: dict[str, Any], files: dict[str, str] | None = None, **spec: Any) -> RegistryBundle:
    return read_registry_bundle({**files_of(csv(**spec), *others), **(files or {})})


def objects_of(given: RegistryBundle, *args: Any, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Rendered objects by kind and name; those of one kind and name follow one another."""
    objects = render_objects(given, "home", *args, **kwargs)
    return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in objects}


def strategy(**spec: Any) -> dict[str, Any]:
    return {"install": {"strategy": "deployment", "spec": {**csv()["spec"]["install"]["spec"], **spec}}}
