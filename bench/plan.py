"""Measure the CPU time of a plan for a workspace with 20 operators and 200 namespaces, and hold it against that of two
renderings of the workspace.

    plan.py [--olmc CMD] [--operators N] [--namespaces N] [--runs N]

The workspaces are made from these numbers alone: in the namespace of each operator a Subscription and an OperatorGroup
that targets its part of the other namespaces, and a catalog. Three plans are measured:

- same: nothing changes;
- some: one operator in four is upgraded;
- gone: one operator in four is pruned, with its namespace.

A plan costs a compilation of each side and the comparison of both; `olmc plan` may take 1.3 times as long as rendering
the workspace twice. Exits 1 when one takes longer.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import measured

PROJECT = Path(__file__).resolve().parent.parent

LIMIT = 1.3  # of two renderings
RULES = 40
FIELDS = 150


def write_workspace(root: Path, operators: int, namespaces: int, upgraded: int, removed: int) -> None:
    """A workspace in which the operators before the number `upgraded` have a newer version, and those before `gone` are
    not there."""
    from olmc.k8s.yaml import dump

    objects: list[dict[str, Any]] = [made("v1", "Namespace", {"name": "olm"})]
    objects.append(
        made("operators.coreos.com/v1alpha1", "CatalogSource", {"name": "cat", "namespace": "olm"},
             spec={"sourceType": "grpc", "image": "registry.example.com/cat:v1"})
    )  # fmt: skip
    objects += (made("v1", "Namespace", {"name": f"target-{number:03}"}) for number in range(namespaces - operators))
    documents: list[dict[str, Any]] = []
    for number in range(operators):
        name = f"op{number:02}"
        documents += catalog_of(name, newest=1 + (number < upgraded))
        for version in range(1 + (number < upgraded)):
            write_bundle(root / "bundles" / f"{name}-{version}", name, version)
        if number >= removed:
            targets = [f"target-{each:03}" for each in range(number, namespaces - operators, operators)]
            objects += subscribed(name, [name, *targets])
    (root / "catalogs" / "cat").mkdir(parents=True)
    (root / "catalogs" / "cat" / "catalog.yaml").write_text(dump(documents), encoding="utf-8")
    (root / "cluster.yaml").write_text(dump(objects), encoding="utf-8")


def made(api: str, kind: str, metadata: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def subscribed(name: str, targets: list[str]) -> list[dict[str, Any]]:
    metadata = {"name": name, "namespace": name}
    spec = {"name": name, "channel": "stable", "source": "cat", "sourceNamespace": "olm"}
    return [
        made("v1", "Namespace", {"name": name}),
        made("operators.coreos.com/v1", "OperatorGroup", metadata, spec={"targetNamespaces": targets}),
        made("operators.coreos.com/v1alpha1", "Subscription", metadata, spec=spec),
    ]


def catalog_of(name: str, newest: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"name": f"{name}.v1.0.0"}]
    entries += [{"name": f"{name}.v1.{at}.0", "replaces": f"{name}.v1.{at - 1}.0"} for at in range(1, newest)]
    documents: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": name, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": name, "name": "stable", "entries": entries},
    ]
    for at in range(newest):
        value = {"packageName": name, "version": f"1.{at}.0"}
        api = {"group": f"{name}.example.com", "version": "v1", "kind": "Thing"}
        documents.append({
            "schema": "olm.bundle", "name": f"{name}.v1.{at}.0", "package": name,
            "image": f"registry.example.com/{name}:v1.{at}.0",
            "properties": [{"type": "olm.package", "value": value}, {"type": "olm.gvk", "value": api}],
        })  # fmt: skip
    return documents


def write_bundle(folder: Path, name: str, version: int) -> None:
    from olmc.k8s.yaml import dump

    group = f"{name}.example.com"
    rules = [
        {"apiGroups": [f"group{each}.example.com"], "resources": [f"things{each}"], "verbs": ["get", "list", "watch"]}
        for each in range(RULES)
    ]
    container = {"name": "manager", "image": f"registry.example.com/{name}:1.{version}.0"}
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"serviceAccountName": name, "containers": [container]}}
    deployment = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    spec = {
        "displayName": name,
        "version": f"1.{version}.0",
        **({"replaces": f"{name}.v1.{version - 1}.0"} if version else {}),
        "description": f"An operator for {name}. " * 40,
        "installModes": [{"type": mode, "supported": True} for mode in modes],
        "customresourcedefinitions": {"owned": [{"name": f"things.{group}", "version": "v1", "kind": "Thing"}]},
        "install": {"strategy": "deployment", "spec": {
            "deployments": [{"name": name, "spec": deployment}],
            "permissions": [{"serviceAccountName": name, "rules": rules}],
        }},
    }  # fmt: skip
    csv = made("operators.coreos.com/v1alpha1", "ClusterServiceVersion", {"name": f"{name}.v1.{version}.0"}, spec=spec)
    fields = {f"field{each}": {"type": "string", "description": f"The field {each}."} for each in range(FIELDS)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    served = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    crd = made(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", {"name": f"things.{group}"},
        spec={"group": group, "scope": "Namespaced", "names": names, "versions": served},
    )  # fmt: skip
    prefix = "operators.operatorframework.io.bundle"
    annotations = {
        f"{prefix}.mediatype.v1": "registry+v1", f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/", f"{prefix}.package.v1": name, f"{prefix}.channels.v1": "stable",
        f"{prefix}.channel.default.v1": "stable",
    }  # fmt: skip
    for path, value in (("manifests/csv.yaml", csv), ("manifests/crd.yaml", crd)):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dump([value]), encoding="utf-8")
    (folder / "metadata").mkdir()
    (folder / "metadata" / "annotations.yaml").write_text(dump([{"annotations": annotations}]), encoding="utf-8")


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to measure")
    parser.add_argument("--operators", type=int, default=20)
    parser.add_argument("--namespaces", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3, help="runs of each command; their median counts")
    args = parser.parse_args()
    command = shlex.split(args.olmc)
    some = args.operators // 4
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        sides = {}
        for name, upgraded, removed in (("before", 0, 0), ("same", 0, 0), ("some", some, 0), ("gone", 0, some)):
            sides[name] = Path(folder, name)
            write_workspace(sides[name], args.operators, args.namespaces, upgraded, removed)
        before = os.fspath(sides["before"])
        rendered, size = measured([*command, "render", before], args.runs, fine=(0, 1))
        print(f"{args.operators} operators, {args.namespaces} namespaces: {size / 1e6:.1f} MB in {rendered:.2f} s CPU")
        for name in ("same", "some", "gone"):
            two = rendered + measured([*command, "render", os.fspath(sides[name])], args.runs, fine=(0, 1))[0]
            planned = [*command, "plan", os.fspath(sides[name]), "--from", before]
            seconds, _ = measured(planned, args.runs, fine=(0, 1))
            verdict = "ok" if seconds <= LIMIT * two else f"more than {LIMIT} × two renderings"
            ok &= seconds <= LIMIT * two
            print(f"  {name:5} {seconds:6.2f} s CPU, {seconds / two:.2f} × two renderings  {verdict}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
