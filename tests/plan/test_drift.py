"""Drift: a recorded cluster is what olmc predicts, what somebody changed in it is found, and who would repair it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from olmc.cli.main import main
from olmc.compiler.olm.facts import serves_catalog
from olmc.k8s.objects import object_key
from olmc.resources import schema
from olmc.review.diff.deltas import path_text
from olmc.review.plan.repair import AT_ONCE, NEVER, TOOL, DriftedObject, Repair, compare_state
from olmc.targets.pipeline import compile

Object = dict[str, Any]

# What a Job of unpacking says about an image that nobody has is its own.
OF_A_JOB = "status.conditions.BundleUnpackFailed.message"


@pytest.fixture(scope="module")
def workspace(project: Path) -> Path:
    return project / "fixtures" / "upgrade"


@pytest.fixture
def held(workspace: Path) -> list[Object]:
    """What the workspace leaves, as a copy that a test may change."""
    return [json.loads(json.dumps(rendered.object)) for rendered in compile(workspace).objects]


def drift(workspace: Path, held: list[Object]) -> tuple[DriftedObject, ...]:
    done = compile(workspace)
    assert done.workspace is not None
    applied = {object_key(manifest.object): manifest.object for manifest in done.workspace.manifests}
    return compare_state(held, [rendered.object for rendered in done.objects], applied).drift


def one(held: list[Object], kind: str, namespace: str = "harbour") -> Object:
    return next(o for o in held if o["kind"] == kind and o["metadata"].get("namespace", "") == namespace)


def test_recorded_states_have_no_drift(shared: Path) -> None:
    """Each cluster that was recorded is the one that olmc predicts, but for the words of a Job."""
    drifted = {}
    for path in sorted((shared / "conformance" / "transitions").glob("*/observed-before.json")):
        items = json.loads(path.read_text(encoding="utf-8"))["items"]
        found = drift(path.parent / "before", items)
        fields = [path_text(delta.path) for item in found for delta in item.deltas]
        drifted[path.parent.name] = [*fields, *(f"{item.key} {item.kind}" for item in found if not item.deltas)]
    assert drifted
    assert {field for fields in drifted.values() for field in fields} <= {OF_A_JOB}


def test_what_was_rendered_has_no_drift(workspace: Path, held: list[Object]) -> None:
    assert drift(workspace, held) == ()


def test_what_api_servers_write_is_none(workspace: Path, held: list[Object]) -> None:
    for number, obj in enumerate(held):
        obj["metadata"] |= {"uid": f"u{number}", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    deployment = one(held, "Deployment")
    deployment["spec"] |= {"progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate"}}
    deployment["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "File"
    deployment["status"] = {"readyReplicas": 1}
    assert drift(workspace, held) == ()


@pytest.mark.parametrize(
    ("kind", "change", "field", "repair"),
    [
        ("Deployment", lambda o: o["spec"].update(replicas=3), "spec.replicas",
         "not repaired: OLM compares the label"),
        ("Deployment", lambda o: o["metadata"]["labels"].update({"olm.deployment-spec-hash": "x"}),
         "metadata.labels[\"olm.deployment-spec-hash\"]", "repaired by OLM, at once"),
        ("ServiceAccount", lambda o: o["metadata"].update(labels={"a": "b"}), "metadata.labels",
         "not repaired: OLM writes it in an InstallPlan only"),
        ("OperatorGroup", lambda o: o["spec"].update(targetNamespaces=["olm"]), "spec.targetNamespaces", TOOL.text),
        ("Subscription", lambda o: o["spec"].update(channel="beta"), "spec.channel", TOOL.text),
        ("ClusterServiceVersion", lambda o: o["status"].update(phase="Failed"), "status.phase",
         "repaired by OLM, once what it waits for"),
    ],
)  # fmt: skip
def test_what_differs(
    workspace: Path, held: list[Object], kind: str, change: Callable[[Object], None], field: str, repair: str
) -> None:
    """observed-63, R-DEP-8."""
    change(one(held, kind))
    (found,) = drift(workspace, held)
    assert found.kind == "different"
    assert any(path_text(delta.path).startswith(field) for delta in found.deltas)
    assert found.repair.text.startswith(repair)


@pytest.mark.parametrize(
    ("kind", "repair"),
    [("Deployment", Repair("OLM", AT_ONCE, "observed-63")), ("ServiceAccount", NEVER), ("Subscription", TOOL),
     ("OperatorCondition", Repair("OLM", AT_ONCE, "R-OC-1"))],
)  # fmt: skip
def test_what_is_missing(workspace: Path, held: list[Object], kind: str, repair: Repair) -> None:
    """observed-63: what a CSV makes is made again, what a plan has made is not."""
    held.remove(one(held, kind))
    (found,) = drift(workspace, held)
    assert (found.kind, found.repair) == ("missing", repair)


def test_what_nobody_expects(workspace: Path, held: list[Object]) -> None:
    """Only of OLM: the rest of a cluster is its own business."""
    csv = json.loads(json.dumps(one(held, "ClusterServiceVersion")))
    csv["metadata"]["name"] = "kettle.v1.0.0"
    held += [csv, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "harbour"}}]
    assert [(found.kind, found.key.name) for found in drift(workspace, held)] == [("extra", "kettle.v1.0.0")]


def test_what_follows_is_told_with_its_cause(held: list[Object]) -> None:
    """observed-36: a CSV that nothing asks for counts with all that belongs to it, and with what its group writes."""
    expected = [obj for obj in held if obj["kind"] in ("Namespace", "CatalogSource")]
    group = json.loads(json.dumps(one(held, "OperatorGroup")))
    group["metadata"].pop("annotations", None)
    one(held, "OperatorGroup")["metadata"]["annotations"] = {"olm.providedAPIs": "Tide.v1.sea.example.com"}
    there = [obj for obj in held if obj["kind"] not in ("Subscription", "InstallPlan", "Operator")]
    compared = compare_state(there, [*expected, group], {object_key(group): group})
    (found,) = (item for item in compared.drift if item.key.kind == "ClusterServiceVersion")
    assert (found.kind, found.repair.rule) == ("extra", "observed-36")
    kinds = {key.kind for key in found.along}
    assert {"Deployment", "ServiceAccount", "Role", "OperatorCondition", "OperatorGroup"} <= kinds


@pytest.mark.parametrize(
    ("kind", "when", "rule"),
    [
        ("ClusterRole", "at its next resync", "R-OG-18"),
        ("Role", "at once", "R-OC-2"),
        ("Operator", "at once", "R-COMP-1"),
    ],
)
def test_what_olm_makes_again(workspace: Path, held: list[Object], kind: str, when: str, rule: str) -> None:
    """U-15: at once what it watches, at its resync what it writes again and again."""
    gone = next(o for o in held if o["kind"] == kind and (kind != "ClusterRole" or o["metadata"]["name"][:3] == "olm")
                and (kind != "Role" or "olm.owner" not in o["metadata"]["labels"]))  # fmt: skip
    held.remove(gone)
    (found,) = drift(workspace, held)
    assert (found.repair.by, found.repair.rule) == ("OLM", rule)
    assert found.repair.when.startswith(when)


def test_labels_of_groups_come_back_and_others_do_not(workspace: Path, held: list[Object]) -> None:
    """R-OG-19."""
    namespace = next(o for o in held if o["kind"] == "Namespace" and o["metadata"]["name"] == "harbour")
    namespace["metadata"]["labels"] = {}
    (found,) = drift(workspace, held)
    assert (found.repair.by, found.repair.rule) == ("OLM", "R-OG-19")


def test_what_no_rule_speaks_of_is_unknown(held: list[Object]) -> None:
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "harbour"}}
    (found,) = compare_state(held, [*held, thing], {}).drift
    assert found.repair.by == "unknown"
    assert found.repair.text.startswith("whether it is repaired is unknown")


def test_objects_are_counted(workspace: Path, held: list[Object]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "harbour"}}
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "harbour"}}
    compared = compare_state([*held, pod, mine], held, {})
    assert (compared.compared, compared.drift) == (compared.equal, ())
    assert compared.not_compared["nothing expects it, and OLM did not make it"] == 1
    assert compared.not_compared["Pod: others write it"] == 1
    one(held, "Deployment")["spec"]["replicas"] = 3
    original = compile(workspace)
    again = compare_state(held, [rendered.object for rendered in original.objects], {})
    assert (again.compared - again.equal, again.count("different")) == (1, 1)


def run(*arguments: object) -> Any:
    result = CliRunner().invoke(main, ["plan", *map(str, arguments), "--exit-code", "-o", "json"])
    assert result.exit_code in (0, 1), result.output
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("twice", [False, True])
def test_a_plan_from_a_state_tells_drift(workspace: Path, held: list[Object], tmp_path: Path, twice: bool) -> None:
    """With what was applied, and with the state alone, where PATH is what was."""
    one(held, "Deployment")["spec"]["replicas"] = 3
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": held}), encoding="utf-8")
    code, plan = run(workspace, "--from", state, *(["--from", workspace] if twice else []))
    assert code == 1
    assert [(item["fields"], item["stays"]) for item in plan["drift"]] == [(["spec.replicas"], True)]
    assert plan["difference"]["changes"] == []  # nor does OLM repair it


@pytest.mark.parametrize("output", ["text", "markdown", "html", "json"])
def test_all_formats_show_drift(workspace: Path, output: str) -> None:
    state = Path(__file__).parent / "drift" / "state.yaml"
    shown = CliRunner().invoke(main, ["plan", str(workspace), "--from", str(state), "-o", output]).stdout
    assert "OLM compares the label" in shown
    assert "tide-controller" in shown.replace("<wbr>", "")
    if output == "json":
        Draft202012Validator(schema("plan")).validate(json.loads(shown))


def test_a_plan_from_a_workspace_has_no_drift(workspace: Path) -> None:
    code, plan = run(workspace, "--from", workspace)
    assert code == 0
    assert "drift" not in plan


def test_a_plan_shows_the_approval_that_waits_and_no_later_one(project: Path, tmp_path: Path) -> None:
    """R-CAT-602: an approval is one of one InstallPlan. A pin needs no remark of its own."""
    before, after = project / "fixtures/review-upgrade/before", tmp_path / "after"
    shutil.copytree(project / "fixtures/review-upgrade/after", after)
    subscription = after / "operators.yaml"
    text = subscription.read_text(encoding="utf-8")
    assert "startingCSV: lantern.v1.0.0" in text
    subscription.write_text(
        text.replace("startingCSV: lantern.v1.0.0", "startingCSV: lantern.v1.1.0\n  installPlanApproval: Manual"),
        encoding="utf-8",
    )
    result = CliRunner().invoke(main, ["plan", str(after), "--from", str(before)])
    assert "ClusterServiceVersion/tower/lantern.v1.1.0: ~ lantern 1.0.0 → 1.1.0" in result.stdout
    assert "+ the plan for lantern.v1.2.0 waits for approval" in result.stdout
    assert "→ 1.2.0" not in result.stdout
    assert "startingCSV of Subscription" not in result.stdout


def test_a_walk_approves_one_plan_after_the_other(project: Path) -> None:
    folder = project / "tests" / "plan" / "platform-upgrade" / "cluster"
    _, walk = run(folder, "--from", folder, "--walk")
    assert [(hop["index"], hop["approved"]) for hop in walk["hops"]] == [(0, ""), (1, "tide/tide.v1.1.0")]
    (install,) = walk["hops"][1]["plan"]["installPlans"]
    assert (install["phase"], install["hops"]) == ("Complete", [{"from": "tide.v1.0.0", "to": "tide.v1.1.0"}])
    _, alone = run(folder, "--from", folder, "--at", "1")
    assert alone["hops"] == walk["hops"][1:]


def test_a_hop_that_there_is_not(workspace: Path) -> None:
    result = CliRunner().invoke(main, ["plan", str(workspace), "--from", str(workspace), "--at", "7"])
    assert result.exit_code == 2
    assert "there are the hops 0 to 0" in result.output


def test_what_serves_a_catalog_is_no_news(project: Path, tmp_path: Path) -> None:
    """A dump has none of it, and neither a plan nor a comparison nor a drift is about it (R-CAT-760)."""
    port = project / "fixtures" / "port"
    objects = [rendered.object for rendered in compile(port).objects]
    dumped = [obj for obj in objects if not serves_catalog(obj)]
    assert len(objects) - len(dumped) == 4
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": dumped}), encoding="utf-8"
    )
    result = CliRunner().invoke(main, ["plan", str(port), "--from", str(tmp_path / "dump.json")])
    assert "nothing happens" in result.stdout.partition("\n")[0], result.output
    assert drift(port, dumped) == ()
