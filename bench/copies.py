"""Operators that watch all of many namespaces, each of which gets a copy of every ClusterServiceVersion."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from growth import OLM, csv

DESCRIPTION = 21_000  # characters: what the CSV of a usual operator takes


def write_workspace(root: Path, operators: int, namespaces: int) -> str:
    """Write the workspace, whose operators are installed each in a namespace of its own; its path."""
    objects: list[dict[str, Any]] = []
    for number in range(namespaces):
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{number:04}"}})
    for number in range(operators):
        name = f"op{number:02}"
        metadata = {"name": name, "namespace": name}
        objects.append({"apiVersion": f"{OLM}/v1", "kind": "OperatorGroup", "metadata": metadata})
        spec = {"name": name, "source": "local", "sourceNamespace": "olm"}
        objects.append({"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription", "metadata": metadata, "spec": spec})
        bundle = root / "bundles" / name
        (bundle / "manifests").mkdir(parents=True)
        (bundle / "metadata").mkdir()
        (bundle / "manifests" / "csv.json").write_text(json.dumps(_csv(name)), encoding="utf-8")
        mark = "operators.operatorframework.io.bundle"
        annotations = {f"{mark}.package.v1": name, f"{mark}.channels.v1": "stable"}
        (bundle / "metadata" / "annotations.yaml").write_text(
            json.dumps({"annotations": annotations}), encoding="utf-8"
        )
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    (root / "manifests.json").write_text(json.dumps(listed), encoding="utf-8")
    return os.fspath(root)


def _csv(name: str) -> dict[str, Any]:
    """A CSV for all namespaces, of the usual size."""
    obj = csv(f"{name}.v1.0.0", "1.0.0")
    lines = "\n".join(
        f"What {name} is for, in many words, of which this is line {n}." for n in range(DESCRIPTION // 55)
    )
    modes = [{"type": "AllNamespaces", "supported": True}]
    return {**obj, "spec": {**obj["spec"], "description": lines, "installModes": modes}}
