"""Measure how the CPU time of rendering grows with namespaces and with the entries of a channel.

    growth.py [--olmc CMD]

The inputs are made from their sizes alone. Each size is twice the one before; behind the figures stands the exponent by
which the last two grow, without what an empty workspace takes, the limit and the target. Exits 1 when a limit is
exceeded.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from measuring import measured

PROJECT = Path(__file__).resolve().parent.parent
OLM = "operators.coreos.com"
# Done, or done with findings: a channel's bundles have no content.
RENDERED = (0, 1)


class Growth(NamedTuple):
    """What grows, up to which size, and how many seconds of CPU that may take and should."""

    manifests: Callable[[int], Iterator[dict[str, Any]]]
    bundles: Callable[[int], int]
    largest: int
    limit: float
    target: float


def namespaces(count: int) -> Iterator[dict[str, Any]]:
    """Namespaces with an OperatorGroup and a Subscription each, and the catalog."""
    for number in range(count):
        name = f"ns-{number:04}"
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        metadata = {"name": "op", "namespace": name}
        spec = {"targetNamespaces": [name]}
        yield {"apiVersion": f"{OLM}/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": spec}
        wish = {"name": "op", "channel": "stable", "source": "cat", "sourceNamespace": "olm"}
        yield {"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription", "metadata": metadata, "spec": wish}
    source = {"sourceType": "grpc", "image": "registry.example.com/cat:1"}
    home = {"name": "cat", "namespace": "olm"}
    yield {"apiVersion": f"{OLM}/v1alpha1", "kind": "CatalogSource", "metadata": home, "spec": source}


def catalog(entries: int) -> Iterator[dict[str, Any]]:
    """A catalog with one channel, each entry of which replaces the one before."""
    names = [f"op.v1.{number}.0" for number in range(entries)]
    yield {"schema": "olm.package", "name": "op", "defaultChannel": "stable"}
    listed = [{"name": name, **({"replaces": names[at - 1]} if at else {})} for at, name in enumerate(names)]
    yield {"schema": "olm.channel", "package": "op", "name": "stable", "entries": listed}
    for at, name in enumerate(names):
        version = {"packageName": "op", "version": f"1.{at}.0"}
        content = base64.b64encode(json.dumps(csv(name, f"1.{at}.0")).encode()).decode()
        yield {
            "schema": "olm.bundle", "package": "op", "name": name, "image": f"registry.example.com/op:{at}",
            "properties": [
                {"type": "olm.package", "value": version},
                *([{"type": "olm.bundle.object", "value": {"data": content}}] if entries == 1 else []),
            ],
        }  # fmt: skip


def csv(name: str, version: str) -> dict[str, Any]:
    container = {"name": "op", "image": f"registry.example.com/op:{version}"}
    pod = {"metadata": {"labels": {"app": "op"}}, "spec": {"serviceAccountName": "op", "containers": [container]}}
    deployment = {"name": "op", "spec": {"selector": {"matchLabels": {"app": "op"}}, "template": pod}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    strategy = {"permissions": [{"serviceAccountName": "op", "rules": rules}], "deployments": [deployment]}
    spec = {
        "version": version,
        "installModes": [{"type": "OwnNamespace", "supported": True}],
        "install": {"strategy": "deployment", "spec": strategy},
    }
    kind = {"apiVersion": f"{OLM}/v1alpha1", "kind": "ClusterServiceVersion"}
    return {**kind, "metadata": {"name": name, "namespace": "placeholder"}, "spec": spec}


GROWTHS = {
    "namespaces, each with a group and a Subscription": Growth(namespaces, lambda _: 1, 1000, 8.0, 4.0),
    "entries of a channel, each replacing the one before": Growth(lambda _: namespaces(1), int, 8000, 2.0, 1.0),
}


def written(folder: Path, growth: Growth, size: int) -> str:
    """A workspace of a size."""
    (folder / "catalogs" / "cat").mkdir(parents=True)
    listed = {"apiVersion": "v1", "kind": "List", "items": [*growth.manifests(size)]}
    (folder / "manifests.json").write_text(json.dumps(listed), encoding="utf-8")
    documents = "\n".join(json.dumps(document) for document in catalog(growth.bundles(size)))
    (folder / "catalogs" / "cat" / "catalog.json").write_text(documents, encoding="utf-8")
    return os.fspath(folder)


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to measure")
    command = [*shlex.split(parser.parse_args().olmc), "render"]
    ok = True
    for what, growth in GROWTHS.items():
        with tempfile.TemporaryDirectory() as root:
            sizes = [growth.largest // 4, growth.largest // 2, growth.largest]
            paths = [written(Path(root, str(size)), growth, size) for size in (1, *sizes)]
            measured([*command, paths[0]], 1, fine=RENDERED)  # once unmeasured: modules are compiled
            least, *times = (measured([*command, path], 1, fine=RENDERED)[0] for path in paths)
        exponent = math.log2((times[-1] - least) / (times[-2] - least))
        verdict = "ok" if times[-1] <= growth.limit else "TOO SLOW"
        ok &= times[-1] <= growth.limit
        shown = ", ".join(f"{size}: {seconds:.2f} s" for size, seconds in zip(sizes, times, strict=True))
        aims = f"limit {growth.limit:.0f} s, target {growth.target:.0f} s"
        print(f"{what}: {shown} of CPU, exponent {exponent:.2f}, {aims}: {verdict}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
