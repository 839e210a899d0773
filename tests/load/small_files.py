"""Small texts for workspaces, and what `olmc.load` makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from scenarios import write

import olmc
from olmc import Report

BUNDLE = "operators.operatorframework.io.bundle"
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n"


def namespace(name: str) -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n"


def config_map(name: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}})


def bundle(folder: str, version: str = "1.0.0", *, replaces: str = "") -> dict[str, str]:
    """The files of a bundle `kettle.vVERSION` without Deployments."""
    csv = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"kettle.v{version}"},
        "spec": {
            "version": version,
            "installModes": [{"type": "OwnNamespace", "supported": True}],
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
        }
        | ({"replaces": replaces} if replaces else {}),
    }
    annotations = {f"{BUNDLE}.package.v1": "kettle", f"{BUNDLE}.channels.v1": "stable"}
    return {
        f"{folder}/manifests/kettle.csv.yaml": json.dumps(csv),
        f"{folder}/metadata/annotations.yaml": json.dumps({"annotations": annotations}),
    }


def catalog(package: str, *versions: str) -> str:
    """A file-based catalog in which each version replaces the one before it."""
    names = [f"{package}.v{version}" for version in versions]
    entries = [
        {"name": name} | ({"replaces": before} if before else {})
        for name, before in zip(names, ["", *names], strict=False)
    ]
    documents: list[dict[str, object]] = [
        {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries},
    ]
    for name, version in zip(names, versions, strict=True):
        properties = [{"type": "olm.package", "value": {"packageName": package, "version": version}}]
        image = f"registry.example.com/{name}"
        documents.append(
            {"schema": "olm.bundle", "name": name, "package": package, "image": image, "properties": properties}
        )
    return "".join(f"---\n{json.dumps(document)}\n" for document in documents)


def loaded(root: Path, given: Mapping[str, str]) -> tuple[olmc.Workspace, list[str]]:
    """The workspace with these files, and what is said about it: severity, code and place."""
    report = Report()
    workspace = olmc.load(write(root, given), report)
    return workspace, [f"{found.severity} {found.code} {found.location}" for found in report]


def names(workspace: olmc.Workspace) -> list[str]:
    """Kind and name of the manifests, in order."""
    return [f"{manifest.object['kind']} {manifest.object['metadata']['name']}" for manifest in workspace.manifests]
