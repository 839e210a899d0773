"""Workspaces that subscribe to published operators, for the migrations."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from operator_manifests import OLM

from olmc.compiler.catalogs.properties import GVK_PROPERTY, bundle_properties, uncatalogued
from olmc.compiler.load.bundles import read_bundle
from olmc.compiler.load.files import scan
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.workspace import Bundle
from olmc.k8s.diagnostics import Report

NAMESPACE = "home"
TARGETS: dict[str, dict[str, Any]] = {
    "AllNamespaces": {},
    "OwnNamespace": {"targetNamespaces": [NAMESPACE]},
    "SingleNamespace": {"targetNamespaces": ["team-a"]},
    "MultiNamespace": {"targetNamespaces": ["team-a", "team-b"]},
}


def operator_workspace(
    root: Path, bundle: Path, mode: str, types: tuple[str, ...] | None = ("olm.package", GVK_PROPERTY)
) -> str:
    """A workspace that subscribes to a real bundle from a catalog, with a group for an install mode; the CSV's name."""
    read = read_published(bundle)
    name, image = str(read.csv.object["metadata"]["name"]), "registry.example.com/bundle:v1"
    properties = [
        {"type": each.type, "value": json.loads(json.dumps(each.value))}
        for each in bundle_properties(uncatalogued(read, image), Report())
        if types is None or each.type in types
    ]
    catalog = [
        {"schema": "olm.package", "name": read.package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": read.package, "name": "stable", "entries": [{"name": name}]},
        {"schema": "olm.bundle", "name": name, "package": read.package, "image": image, "properties": properties},
    ]
    source = {"sourceType": "grpc", "image": "registry.example.com/catalog:v1"}
    subscription = {"name": read.package, "channel": "stable", "source": "cat", "sourceNamespace": "olm"}
    group = {"apiVersion": f"{OLM}/v1", "kind": "OperatorGroup"}
    manifests = [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in (NAMESPACE, "team-a", "team-b")),
        {
            "apiVersion": f"{OLM}/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "cat", "namespace": "olm"}, "spec": source,
        },
        {**group, "metadata": {"name": "group", "namespace": NAMESPACE}, "spec": TARGETS[mode]},
        {
            "apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "it", "namespace": NAMESPACE}, "spec": subscription,
        },
    ]  # fmt: skip
    (root / "catalogs/cat").mkdir(parents=True)
    (root / "catalogs/cat/catalog.json").write_text("\n".join(map(json.dumps, catalog)))
    (root / "cluster.yaml").write_text("---\n".join(yaml.safe_dump(each) for each in manifests))
    shutil.copytree(bundle, root / "bundles/it")
    return name


@functools.lru_cache(maxsize=16)
def read_published(folder: Path) -> Bundle:
    """Read a published bundle, once for those that ask for it one after the other."""
    found = scan(folder, Report())
    assert found is not None
    bundle = read_bundle(folder, found, Report())
    assert bundle is not None
    return bundle


def supported_modes(bundle: Path) -> list[str]:
    """The install modes that a bundle supports."""
    supported = {each.type for each in Csv(read_published(bundle).csv.object).install_modes if each.supported}
    return [mode for mode in TARGETS if mode in supported]


def supported_mode(bundle: Path, number: int) -> str:
    """One of them, so that over the corpus all modes come up."""
    modes = supported_modes(bundle)
    return modes[number % len(modes)]
