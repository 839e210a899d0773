"""Write a fleet: a repository with many clusters, most of them alike.

    fleet.py FOLDER [--clusters N] [--operators N] [--named N] [--odd N] [--generated]

A base with all operators, overlays of five rings, of which the first follows the channel `candidate`, and a folder for
each cluster. Of a hundred clusters `--named` say in an object of their own what they are called, half of them in a
ConfigMap, which changes nothing, and `--odd` have a patch of their own. The catalog and the bundles, which all clusters
share, are in `operators`: two versions each of real operators, where the folder `corpus` is beside the specification
and has so many, else, or with `--generated`, of operators that are made from their number alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from corpus import SHARED, unpacked
from plan import catalog_of, made, subscribed, write_bundle

RINGS = ("canary", "early", "main", "late", "last")
SHARES = (5, 15, 30, 30, 20)  # of a hundred clusters
_CHANNELS = {"canary": "candidate"}


class FleetOperator(NamedTuple):
    """An operator: its name, its objects in a cluster, and its catalog, whose channel `candidate` has one version more
    than `stable`."""

    name: str
    objects: list[dict[str, Any]]
    catalog: list[dict[str, Any]]


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


def write_fleet(
    root: Path, clusters: int, operators: int, *, named: int = 25, odd: int = 3, generated: bool = False
) -> str:
    """Write the repository below `root`; says of what operators it is."""
    bundles = root / "operators" / "bundles"
    written = [] if generated else _corpus_operators(bundles, operators)
    kind = "of the corpus" if written else "generated"
    written = written or [_generated_operator(bundles, f"op{number:02}") for number in range(operators)]
    _write(root / "operators" / "catalogs" / "cat" / "catalog.yaml", [d for one in written for d in one.catalog])
    _write_base(root / "base", written)
    names = [one.name for one in written]
    for ring in RINGS:
        write_ring(root, ring, _CHANNELS.get(ring, ""), names)
    for number in range(clusters):
        is_odd = number % 100 >= 100 - odd
        _write_cluster(root, number, names, is_named=number * 37 % 100 < named, is_odd=is_odd)
    return kind


def write_ring(root: Path, ring: str, channel: str, names: list[str]) -> None:
    """Write the overlay of a ring, all of whose operators follow a channel; with "" each follows that of the base."""
    target = {"group": "operators.coreos.com", "kind": "Subscription"}
    patch = f'[{{"op": "replace", "path": "/spec/channel", "value": "{channel}"}}]'
    patches = [{"target": target, "patch": patch}] if names and channel else []
    _write(root / "rings" / ring / "kustomization.yaml", [{"resources": ["../../base"], "patches": patches}])


def _corpus_operators(bundles: Path, count: int) -> list[FleetOperator]:
    """So many real operators of which the corpus has several versions, their newest two; none if it has not so many."""
    from olmc.k8s.semver import parse_tolerant

    archive = SHARED / "corpus" / "bundles.tar.xz"
    folders = sorted((unpacked(archive) / "bundles").iterdir()) if archive.exists() else []
    operators: list[FleetOperator] = []
    for folder in folders:
        versions = sorted(
            (path for path in folder.iterdir() if path.is_dir()), key=lambda path: parse_tolerant(path.name)
        )
        if len(versions) > 1 and len(operators) < count:
            operators.append(_corpus_operator(bundles, folder.name, versions[-2:]))
    return operators if len(operators) == count else []


def _corpus_operator(bundles: Path, name: str, versions: list[Path]) -> FleetOperator:
    catalog: list[dict[str, Any]] = [{"schema": "olm.package", "name": name, "defaultChannel": "stable"}]
    entries: list[dict[str, Any]] = []
    modes: set[str] = set()
    for path in versions:
        shutil.copytree(path, bundles / f"{name}-{path.name}")
        manifests = (yaml.safe_load(file.read_text("utf-8")) for file in (path / "manifests").glob("*.yaml"))
        csv = next(one for one in manifests if one["kind"] == "ClusterServiceVersion")
        owned = csv["spec"].get("customresourcedefinitions", {}).get("owned", [])
        apis = [
            {"group": crd["name"].partition(".")[2], "version": crd["version"], "kind": crd["kind"]} for crd in owned
        ]
        value = {"packageName": name, "version": str(csv["spec"]["version"])}
        properties = [{"type": "olm.package", "value": value}, *({"type": "olm.gvk", "value": api} for api in apis)]
        catalog.append({
            "schema": "olm.bundle", "name": csv["metadata"]["name"], "package": name, "properties": properties,
            "image": f"registry.example.com/{name}:{path.name}",
        })  # fmt: skip
        entries.append({"name": csv["metadata"]["name"], **({"replaces": entries[-1]["name"]} if entries else {})})
        modes = {mode["type"] for mode in csv["spec"]["installModes"] if mode["supported"]}
    for channel, count in (("stable", 1), ("candidate", 2)):
        catalog.append({"schema": "olm.channel", "package": name, "name": channel, "entries": entries[:count]})
    return FleetOperator(name, subscribed(name, [name] if "OwnNamespace" in modes else []), catalog)


def _generated_operator(bundles: Path, name: str) -> FleetOperator:
    catalog = catalog_of(name, newest=2)
    channel = next(document for document in catalog if document["schema"] == "olm.channel")
    catalog.append({**channel, "name": "candidate"})
    channel["entries"] = [{"name": f"{name}.v1.0.0"}]
    for version in range(2):
        write_bundle(bundles / f"{name}-{version}", name, version)
    return FleetOperator(name, subscribed(name, [name]), catalog)


def _write_base(folder: Path, operators: list[FleetOperator]) -> None:
    source = {"sourceType": "grpc", "image": "registry.example.com/cat:v1"}
    home = {"name": "cat", "namespace": "olm"}
    catalog = made("operators.coreos.com/v1alpha1", "CatalogSource", home, spec=source)
    _write(folder / "catalog.yaml", [made("v1", "Namespace", {"name": "olm"}), catalog])
    for one in operators:
        _write(folder / "operators" / f"{one.name}.yaml", one.objects)
    files = sorted(os.fspath(path.relative_to(folder)) for path in folder.glob("operators/*.yaml"))
    _write(folder / "kustomization.yaml", [{"resources": ["catalog.yaml", *files]}])


def _write_cluster(root: Path, number: int, names: list[str], *, is_named: bool, is_odd: bool) -> None:
    folder = root / "clusters" / cluster_name(number)
    content: dict[str, Any] = {"resources": [f"../../rings/{ring_of(number)}"]}
    if is_named:
        _write(folder / "cluster.yaml", [_named(number)])
        content["resources"].append("cluster.yaml")
    if is_odd:
        name = names[number % len(names)]
        target = {"kind": "Subscription", "name": name}
        patch = '[{"op": "add", "path": "/spec/installPlanApproval", "value": "Manual"}]'
        content["patches"] = [{"target": target, "patch": patch}]
    _write(folder / "kustomization.yaml", [content])


def _named(number: int) -> dict[str, Any]:
    """An object that says what a cluster is called: every other time where that may count, in a label by which
    OperatorGroups could select."""
    name = cluster_name(number)
    if number % 2:
        return made("v1", "Namespace", {"name": "cluster", "labels": {"name": name}})
    return made("v1", "ConfigMap", {"name": "cluster", "namespace": "default"}, data={"name": name})


def _write(path: Path, documents: list[dict[str, Any]]) -> None:
    from olmc.k8s.yaml import dump

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(documents), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clusters", type=int, default=2000)
    parser.add_argument("--operators", type=int, default=20)
    parser.add_argument("--named", type=int, default=25, help="of a hundred clusters, how many say their name")
    parser.add_argument("--odd", type=int, default=3, help="of a hundred clusters, how many have a patch of their own")
    parser.add_argument("--generated", action="store_true", help="generated operators, not those of the corpus")
    args = parser.parse_args()
    kind = write_fleet(
        args.folder, args.clusters, args.operators, named=args.named, odd=args.odd, generated=args.generated
    )
    print(f"{args.clusters:,} clusters × {args.operators} operators, {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
