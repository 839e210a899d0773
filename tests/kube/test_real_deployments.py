"""No Deployment that a cluster has taken is refused, and none that operators were published with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from patching import values_of

from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.reconcile.deployments import serving_deployments, with_certificates
from olmc.k8s.api.validation.workloads import creation_errors
from olmc.k8s.gojson import decode

OBSERVED = 300
PUBLISHED = 260
PROFILE = profile_of(Options().olm_version)

# What the API server refuses of a strategy as it is published, and would take as OLM writes it.
FILLED_IN_BY_OLM = {
    "flink-kubernetes-operator/1.14.0": (
        'spec.template.spec.initContainers[0].volumeMounts[1].name: Not found: "apiservice-cert"'
    )
}


def observed(shared: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The Deployments that lay in clusters, each with where it was recorded."""
    for path in sorted((shared / "conformance").rglob("observed*.json")):
        for obj in json.loads(path.read_text())["items"]:
            if obj["kind"] == "Deployment":
                yield f"{path.parent.name}/{obj['metadata']['name']}", obj


def test_deployments_of_clusters(shared: Path) -> None:
    refused, judged = {}, 0
    for place, obj in observed(shared):
        # A recording has no uids, so that a reference to an owner is not whole.
        metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
        errors = creation_errors(decode("Deployment", {**obj, "metadata": metadata}))
        judged += 1
        if errors:
            refused[place] = list(map(str, errors))
    assert refused == {}
    assert judged > OBSERVED


def published(corpus: list[Path]) -> Iterator[tuple[str, Csv]]:
    for bundle in corpus:
        for path in sorted((bundle / "manifests").iterdir()):
            for obj in values_of(path) if path.suffix in (".yaml", ".yml", ".json") else ():
                if isinstance(obj, dict) and obj.get("kind") == CSV_KIND:
                    yield "/".join(bundle.parts[-2:]), Csv(decode(CSV_KIND, obj))


def test_deployments_of_published_operators(corpus: list[Path]) -> None:
    """As they stand in the strategies, and with the certificates that OLM adds."""
    as_published, as_written, judged = {}, {}, 0
    for bundle, csv in published(corpus):
        for item in csv.deployments:
            name, spec = item.name, item.spec
            errors = creation_errors(_deployment(name, spec))
            judged += 1
            if errors:
                as_published[bundle] = "; ".join(map(str, errors))
            if name in serving_deployments(csv):
                spec = with_certificates(spec, name, csv, PROFILE)
            errors = creation_errors(_deployment(name, spec))
            if errors:
                as_written[bundle] = "; ".join(map(str, errors))
    assert as_written == {}
    assert as_published == FILLED_IN_BY_OLM
    assert judged > PUBLISHED


def _deployment(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "n"}, "spec": spec}
