"""Whether a cluster is what olmc predicts from what it holds: recorded clusters are, changed ones are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from olmc.cli.main import main
from olmc.review.diff.deltas import Delta, ListItem
from olmc.review.plan.outputs import shape
from olmc.targets.pipeline import compile

Object = dict[str, Any]

# Nobody can know these: the dump of two has no OLMConfig, which switches copies off; and one Service is written by its
# bundle and by OLM.
UNKNOWN = {
    "85-olmconfig-disable-copies", "35a-copies-switched-off",
    "kubernetes-imagepuller-operator-all-head", "kubernetes-imagepuller-operator-all-walk",
}  # fmt: skip


def verify(path: Path, *options: str) -> Result:
    result = CliRunner().invoke(main, ["import", str(path), "--verify", *options])
    assert result.exit_code in (0, 1), result.output
    return result


@pytest.fixture
def objects(project: Path) -> list[Object]:
    """What a cluster with webhooks, copies and a group for all namespaces holds."""
    path = project / "fixtures" / "transitions" / "uninstalled-server" / "before"
    return [json.loads(json.dumps(rendered.object)) for rendered in compile(path).objects]


def dump(objects: list[Object], folder: Path) -> Path:
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return path


def test_recorded_clusters_are_as_predicted(shared: Path) -> None:
    """observed-36 … observed-78: what OLM writes again and again is what it wrote."""
    paths = sorted((shared / "conformance").glob("**/observed.json"))
    assert len(paths) > 80
    unlike = {path.parent.name for path in paths if verify(path, "--no-names").exit_code}
    assert unlike == UNKNOWN & {path.parent.name for path in paths}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("Subscription", "status", "fine"),
        ("OperatorGroup", "status", {"namespaces": [1, "a", None]}),
        ("InstallPlan", "spec", {"generation": "first", "clusterServiceVersionNames": [[], 1]}),
        ("InstallPlan", "spec", ["a"]),
        ("ValidatingWebhookConfiguration", "webhooks", ["a", {"namespaceSelector": 1, "clientConfig": []}]),
        ("ValidatingWebhookConfiguration", "webhooks", {"a": 1}),
        ("Deployment", "spec", {"template": {"metadata": {"annotations": ["olmcahash"]}}}),
    ],
)
def test_odd_values_differ_and_are_no_exception(
    kind: str, field: str, value: Any, objects: list[Object], tmp_path: Path
) -> None:
    changed = [{**obj, field: value} if obj["kind"] == kind else obj for obj in objects]
    assert changed != objects
    assert verify(dump(changed, tmp_path)).output


def test_a_cluster_as_olm_leaves_it(objects: list[Object], tmp_path: Path) -> None:
    result = verify(dump(objects, tmp_path))
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    count = int(first.split()[0])
    assert first == (
        f"{count} objects predicted from the rest of the cluster: {count} are as predicted, none are not"
    )  # fmt: skip
    assert count > 25
    assert f"Not compared: {len(objects) - count}" in result.stdout


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("Deployment", "  Deployment/harbour/beacon-controller: is not there; repaired by OLM, at once"),
        ("Service", "  Service/harbour/beacon-controller-service: is not there; repaired by OLM, at once"),
        (
            "OperatorCondition",
            "  OperatorCondition/harbour/beacon.v1.0.0: is not there, and with it 1 Role, 1 RoleBinding",
        ),
    ],
)
def test_what_is_missing(objects: list[Object], tmp_path: Path, kind: str, line: str) -> None:
    objects = [obj for obj in objects if obj["kind"] != kind and "OperatorCondition" not in owners(obj, kind)]
    result = verify(dump(objects, tmp_path))
    assert result.exit_code == 1
    assert line in result.stdout


def owners(obj: Object, kind: str) -> list[str]:
    """The kinds that own an object, if it is about an owner of this kind."""
    return [ref["kind"] for ref in obj["metadata"].get("ownerReferences", ()) if ref["kind"] == kind]


def test_what_somebody_changed(objects: list[Object], tmp_path: Path) -> None:
    service = next(obj for obj in objects if obj["kind"] == "Service")
    service["spec"]["selector"] = {"app": "somebody-elses"}
    shown = verify(dump(objects, tmp_path)).stdout
    assert "spec.selector.app beacon-controller → somebody-elses" in shown


def test_without_names_nothing_of_the_cluster_is_told(objects: list[Object], tmp_path: Path) -> None:
    service = next(obj for obj in objects if obj["kind"] == "Service")
    service["spec"]["selector"] = {"app": "somebody-elses"}
    objects = [obj for obj in objects if obj["kind"] != "Deployment"]
    result = verify(dump(objects, tmp_path), "--no-names")
    assert result.exit_code == 1
    assert "Deployment: is not there" in result.stdout
    assert "spec.selector.app: text → text" in result.stdout
    assert not {name for name in ("beacon", "harbour", "docks", "quay", "somebody", "lights") if name in result.stdout}


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (Delta(("spec", "replicas"), 1, 3), "spec.replicas: number → number"),
        (Delta(("metadata", "labels", "acme.example.com/secret"), "x", None), "metadata.labels.…: text → null"),
        (Delta(("spec", "template", "containers", ListItem("acme"), "image"), "a", "b"),
         "spec.template.containers[].image: text → text"),
        (Delta(("spec", "a.b/c", "d"), {}, []), "spec.…: mapping → list"),
    ],
)  # fmt: skip
def test_shapes(delta: Delta, expected: str) -> None:
    assert shape(delta) == expected


def test_the_state_is_written_as_well(objects: list[Object], tmp_path: Path) -> None:
    state = tmp_path / "state.yaml"
    result = verify(dump(objects, tmp_path), "-o", str(state))
    assert f"objects written to {state}" in result.stderr
    assert verify(state).stdout == result.stdout


@pytest.mark.parametrize("options", [["--no-names"], ["--olm-version", "v0.30.0"]])
def test_options_that_need_verify(objects: list[Object], tmp_path: Path, options: list[str]) -> None:
    result = CliRunner().invoke(main, ["import", str(dump(objects, tmp_path)), *options])
    assert result.exit_code == 2
    assert "are for --verify" in result.output
