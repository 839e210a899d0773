"""What a cluster stored, against what this layer makes of the same bundles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from olmc.compiler.olm.csv_schema import default_csv, list_map_conflicts
from olmc.compiler.olm.naming import cluster_role_name, content_hash_rules, deep_hash, role_name
from olmc.compiler.olm.profiles.data import profile_of
from olmc.k8s.diagnostics import Report
from olmc.k8s.gojson import decode
from olmc.k8s.yaml import read

NEWEST = profile_of("0.46")

Object = dict[str, Any]


class Observed(NamedTuple):
    """A CSV that a cluster held, the manifest that it came from, and the other objects with its owner labels."""

    case: str
    stored: Object
    source: Object
    owned: tuple[Object, ...]


@pytest.fixture(scope="module")
def observed(shared: Path) -> list[Observed]:
    return [found for case in sorted((shared / "conformance/cases").glob("*/*")) for found in _of_case(case)]


def _of_case(case: Path) -> Iterator[Observed]:
    listed = json.loads((case / "observed.json").read_text("utf-8"))
    objects = listed if isinstance(listed, list) else listed["items"]
    stored = [o for o in objects if o["kind"] == "ClusterServiceVersion" and not _labels(o).get("olm.copiedFrom")]
    sources = _manifests(case / "input") if stored else {}
    for csv in stored:
        name, namespace = csv["metadata"]["name"], csv["metadata"]["namespace"]
        mine = {"olm.owner": name, "olm.owner.namespace": namespace}
        owned = tuple(o for o in objects if mine.items() <= _labels(o).items())
        yield Observed(case.name, csv, sources[name], owned)


def _labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _manifests(folder: Path) -> dict[str, Object]:
    """The CSVs below a folder by name, as they are in YAML."""
    found: dict[str, Object] = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".yaml", ".yml", ".json")):
        text = path.read_text("utf-8")
        if "ClusterServiceVersion" in text:
            for document in read(path.name, text, Report()):
                value = document.value
                if isinstance(value, dict) and (value.get("kind") or value.get("Kind")) == "ClusterServiceVersion":
                    found.setdefault(value["metadata"]["name"], value)
    return found


def strategy(csv: Object) -> Object:
    spec: Object = csv["spec"]["install"].get("spec") or {}
    return spec


def test_the_stored_spec_is_the_bundle_s_decoded_and_defaulted(observed: list[Observed]) -> None:
    """R-JSON-5 … R-JSON-11, R-DEP-8. OLM sets spec.replaces itself when it resolves (R-SA-9)."""
    assert len(observed) > 130
    for found in observed:
        made = default_csv(decode("ClusterServiceVersion", found.source))["spec"]
        expected = found.stored["spec"]
        without = {"replaces": None}
        assert {**made, **without} == {**expected, **without}, f"{found.case} {found.stored['metadata']['name']}"


def test_what_a_cluster_stored_has_no_conflicts(observed: list[Observed]) -> None:
    """R-DEP-8: the API server took them all."""
    assert [list_map_conflicts(found.stored) for found in observed] == [[] for _ in observed]


def test_hashes_of_deployments(observed: list[Observed]) -> None:
    """R-DEP-1, R-DEP-9, for Deployments that get neither certificates nor a Subscription's config."""
    checked = 0
    for found in observed:
        specs = {entry["name"]: entry["spec"] for entry in strategy(found.stored).get("deployments", [])}
        for deployment in found.owned:
            if deployment["kind"] != "Deployment" or found.case.startswith("48-subconfig"):
                continue
            annotations = deployment["spec"]["template"]["metadata"]["annotations"]
            if "olmcahash" in annotations:
                continue
            spec = finished(specs[deployment["metadata"]["name"]], annotations, found.stored["metadata"]["name"])
            assert deep_hash("DeploymentSpec", spec) == _labels(deployment)["olm.deployment-spec-hash"], found.case
            checked += 1
    assert checked > 100


def finished(spec: Object, annotations: dict[str, str], csv: str) -> Object:
    """The spec as OLM completes it: annotations of the CSV, the condition's name in every container, one revision."""
    template = spec["template"]
    containers = [{**c, "env": with_condition(c.get("env") or [], csv)} for c in template["spec"]["containers"]]
    metadata = {**template.get("metadata", {}), "annotations": annotations}
    pod = {**template["spec"], "containers": containers}
    return {**spec, "revisionHistoryLimit": 1, "template": {"metadata": metadata, "spec": pod}}


def with_condition(env: list[Object], csv: str) -> list[Object]:
    condition = {"name": "OPERATOR_CONDITION_NAME", "value": csv}
    merged = [condition if entry["name"] == condition["name"] else entry for entry in env]
    return merged if condition in merged else [*merged, condition]


def test_names_and_hashes_of_roles(observed: list[Observed]) -> None:
    """R-SA-2, R-SA-4: every Role and ClusterRole of a CSV's permissions; some ClusterRoles are copies of Roles."""
    checked = 0
    for found in observed:
        csv, namespace = found.stored["metadata"]["name"], found.stored["metadata"]["namespace"]
        spec = strategy(found.stored)
        roles = {role_name(NEWEST, csv, namespace, p): p for p in spec.get("permissions", [])}
        cluster_roles = {cluster_role_name(NEWEST, csv, namespace, p): p for p in spec.get("clusterPermissions", [])}
        for obj in found.owned:
            if obj["kind"] not in ("Role", "ClusterRole") or "olm.permissions.hash" not in _labels(obj):
                continue
            ours = (roles if obj["kind"] == "Role" else cluster_roles).get(obj["metadata"]["name"])
            if ours is None:
                assert obj["metadata"]["name"] in roles, f"{found.case} {obj['metadata']['name']}"
                continue
            assert content_hash_rules(ours["rules"]) == _labels(obj)["olm.permissions.hash"]
            checked += 1
    assert checked > 200


def test_hashes_of_webhooks(observed: list[Observed]) -> None:
    """R-WH-5."""
    hashes = [
        (label, {deep_hash("WebhookDescription", w) for w in found.stored["spec"].get("webhookdefinitions", [])})
        for found in observed
        for obj in found.owned
        if (label := _labels(obj).get("olm.webhook-description-hash"))
    ]
    assert len(hashes) > 30
    assert all(label in own for label, own in hashes)
