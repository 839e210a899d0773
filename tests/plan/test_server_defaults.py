"""What an API server has filled in is there after an upgrade as well, so that no plan from a dump tells of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import olmc
from olmc.cli.main import main
from olmc.review.diff.noise import without_defaults

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
POD = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
CONTAINER = {
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent", "resources": {},
}  # fmt: skip


def as_server_has_it(obj: dict[str, Any]) -> dict[str, Any]:
    """An object with what an API server writes into it."""
    uid = f"00000000-0000-0000-0000-{abs(hash(json.dumps(obj, sort_keys=True))) % 10**12:012}"
    obj["metadata"] = {
        "uid": uid,
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **obj["metadata"],
    }
    if obj["kind"] == "Deployment":
        obj["spec"] = {"progressDeadlineSeconds": 600, "strategy": STRATEGY, **obj["spec"]}
        pod = obj["spec"]["template"]["spec"]
        pod |= {"terminationGracePeriodSeconds": 30, "securityContext": {}, **POD} | dict(pod)
        pod["containers"] = [{**CONTAINER, **container} for container in pod["containers"]]
    if obj["kind"] == "CustomResourceDefinition":
        obj["spec"] = {"conversion": {"strategy": "None"}, **obj["spec"]}
        names = obj["spec"]["names"]
        obj["spec"]["names"] = {"listKind": f"{names['kind']}List", "singular": names["kind"].lower(), **names}
    return obj


def plan_from_a_dump(fixture: str, folder: Path) -> dict[str, Any]:
    """The plan of `after` for a cluster of which kubectl says what `before` leaves in it."""
    objects = [rendered.object for rendered in olmc.compile(FIXTURES / fixture / "before").objects]
    items = [as_server_has_it(json.loads(json.dumps(obj))) for obj in objects]
    dump = folder / "dump.yaml"
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    arguments = ["plan", str(FIXTURES / fixture / "after"), "--from", str(dump), "-o", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return dict(json.loads(result.stdout))


@pytest.mark.parametrize("fixture", ["transitions/extension-upgraded", "review-upgrade"])
def test_defaults_are_no_change(fixture: str, tmp_path: Path) -> None:
    """An upgrade under either generation of OLM changes what the bundles differ in, and nothing else."""
    changes = plan_from_a_dump(fixture, tmp_path)["difference"]["changes"]
    told = json.dumps(changes)
    assert "image" in told
    for field in (*POD, *CONTAINER, "progressDeadlineSeconds", "strategy", "listKind", "singular"):
        if field != "resources":
            assert field not in told, field


def test_what_a_cluster_says_of_clusterextensions_counts(tmp_path: Path) -> None:
    """Live objects are those of OLM v1 by their group or its labels; without them nothing would be upgraded."""
    plan = plan_from_a_dump("transitions/extension-upgraded", tmp_path)
    (row,) = plan["operators"]
    assert (row["from"]["version"], row["to"]["version"], row["outcome"]) == ("1.0.0", "1.1.0", "upgraded")


def deployment(**container: object) -> dict[str, Any]:
    spec = {"template": {"spec": {"containers": [{"name": "manager", **container}]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kettle"}, "spec": spec}


def test_only_defaults_of_fields_that_nobody_sets_are_left_out() -> None:
    held = deployment(imagePullPolicy="Always", terminationMessagePath="/tmp/last-words", image="kettle:1")
    held["spec"]["replicas"] = 3
    left = without_defaults(held, deployment(image="kettle:2"))
    assert left["spec"]["replicas"] == 3
    assert left["spec"]["template"]["spec"]["containers"] == [
        {"name": "manager", "terminationMessagePath": "/tmp/last-words", "image": "kettle:1"}
    ]
    requested = deployment(resources={"requests": {"cpu": "1"}})
    assert without_defaults(requested, deployment()) == requested
    assert without_defaults(held, held) == held


def test_lists_are_compared_by_name_or_place() -> None:
    held = deployment(ports=[{"containerPort": 1, "protocol": "TCP"}])
    assert without_defaults(held, deployment(ports=[{"containerPort": 1}])) == deployment(ports=[{"containerPort": 1}])
    assert without_defaults(held, deployment(ports=[{"containerPort": 1}, {"containerPort": 2}])) == held
