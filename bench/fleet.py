"""Write a fleet: a repository with many clusters, most of them alike.

    fleet.py FOLDER [--clusters N] [--operators N] [--named N] [--odd N]

A base with all operators, overlays of five rings, of which the first follows the channel `candidate`, and a folder for
each cluster. Of a hundred clusters `--named` say in an object of their own what they are called, so that no two of them
are alike, and `--odd` have a patch of their own. The operators are made from their number
alone. The catalog and the bundles, which all clusters share, are in `operators`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from plan import catalog_of, made, subscribed, write_bundle

RINGS = ("canary", "early", "main", "late", "last")
SHARES = (5, 15, 30, 30, 20)  # of a hundred clusters
_CHANNELS = {"canary": "candidate"}


def ring_of(number: int) -> str:
    """The ring of a cluster."""
    place, total = number % 100, 0
    for ring, share in zip(RINGS, SHARES, strict=True):
        total += share
        if place < total:
            return ring
    raise AssertionError(number)


def cluster_name(number: int) -> str:
    return f"c-{number:05}"


def write_fleet(root: Path, clusters: int, operators: int, *, named: int = 25, odd: int = 3) -> None:
    """Write the repository below `root`."""
    names = [f"op{number:02}" for number in range(operators)]
    _write_operators(root / "operators", names)
    _write_base(root / "base", names)
    for ring in RINGS:
        write_ring(root, ring, _CHANNELS.get(ring, "stable"), names)
    for number in range(clusters):
        is_odd = number % 100 >= 100 - odd
        _write_cluster(root, number, names, is_named=number * 37 % 100 < named, is_odd=is_odd)


def write_ring(root: Path, ring: str, channel: str, names: list[str]) -> None:
    """Write the overlay of a ring, all of whose operators follow a channel."""
    target = {"group": "operators.coreos.com", "kind": "Subscription"}
    patch = f'[{{"op": "replace", "path": "/spec/channel", "value": "{channel}"}}]'
    patches = [{"target": target, "patch": patch}] if names else []
    _write(root / "rings" / ring / "kustomization.yaml", [{"resources": ["../../base"], "patches": patches}])


def _write_operators(folder: Path, names: list[str]) -> None:
    documents: list[dict[str, Any]] = []
    for name in names:
        documents += catalog_of(name, newest=2)
        entries = [{"name": f"{name}.v1.0.0"}]
        channel = next(document for document in documents if document.get("package") == name)
        documents.append({**channel, "name": "candidate"})
        channel["entries"] = entries
        for version in range(2):
            write_bundle(folder / "bundles" / f"{name}-{version}", name, version)
    _write(folder / "catalogs" / "cat" / "catalog.yaml", documents)


def _write_base(folder: Path, names: list[str]) -> None:
    source = {"sourceType": "grpc", "image": "registry.example.com/cat:v1"}
    home = {"name": "cat", "namespace": "olm"}
    catalog = made("operators.coreos.com/v1alpha1", "CatalogSource", home, spec=source)
    _write(folder / "catalog.yaml", [made("v1", "Namespace", {"name": "olm"}), catalog])
    for name in names:
        _write(folder / f"{name}.yaml", subscribed(name, [name]))
    _write(folder / "kustomization.yaml", [{"resources": ["catalog.yaml", *(f"{name}.yaml" for name in names)]}])


def _write_cluster(root: Path, number: int, names: list[str], *, is_named: bool, is_odd: bool) -> None:
    folder = root / "clusters" / cluster_name(number)
    content: dict[str, Any] = {"resources": [f"../../rings/{ring_of(number)}"]}
    if is_named:
        metadata = {"name": "cluster", "namespace": "default"}
        _write(folder / "cluster.yaml", [made("v1", "ConfigMap", metadata, data={"name": cluster_name(number)})])
        content["resources"].append("cluster.yaml")
    if is_odd:
        name = names[number % len(names)]
        target = {"kind": "Subscription", "name": name}
        patch = '[{"op": "add", "path": "/spec/installPlanApproval", "value": "Manual"}]'
        content["patches"] = [{"target": target, "patch": patch}]
    _write(folder / "kustomization.yaml", [content])


def _write(path: Path, documents: list[dict[str, Any]]) -> None:
    from olmc.yaml import dump

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(documents), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clusters", type=int, default=2000)
    parser.add_argument("--operators", type=int, default=20)
    parser.add_argument("--named", type=int, default=25, help="of a hundred clusters, how many say their name")
    parser.add_argument("--odd", type=int, default=3, help="of a hundred clusters, how many have a patch of their own")
    args = parser.parse_args()
    write_fleet(args.folder, args.clusters, args.operators, named=args.named, odd=args.odd)
    return 0


if __name__ == "__main__":
    sys.exit(main())
