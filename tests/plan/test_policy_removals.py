"""Plans for policies of Open Cluster Management that change: which objects stay, and which go."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from commands import olmc
from scenarios import workspace, write
from test_repository_plan import APPLICATION, CATALOG, NAMESPACE, SOURCE, plan

from olmc.compiler.model.workspace import ClusterState, PolicyRemoval
from olmc.compiler.transition.deletion import removed_by_policies
from olmc.k8s.diagnostics import Source
from olmc.k8s.objects import OLM_GROUP, Manifest, ObjectKey, object_key

POLICY = """\
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: operators, namespace: policies}
spec:
  remediationAction: enforce
  disabled: false
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1beta1
      kind: OperatorPolicy
      metadata: {name: kettle}
      spec:
        remediationAction: enforce
        severity: high
        complianceType: musthave
        upgradeApproval: Automatic
        subscription: {name: kettle, namespace: harbour, channel: stable, source: quay, sourceNamespace: olm}
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {name: cranes}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: cranes, namespace: harbour}
            data: {a: b}
"""
BASE = {
    "apps/hub.yaml": APPLICATION.format("hub", "policies"),
    "apps/north.yaml": APPLICATION.format("north", "clusters/north"),
    "clusters/north/source.yaml": SOURCE,
    "policies/source.yaml": NAMESPACE.replace("NAME", "policies") + "---\n" + SOURCE,
    "policies/operators.yaml": POLICY,
    "catalogs/quay/catalog.yaml": CATALOG,
}
PRUNING = POLICY.replace("severity: low", "pruneObjectBehavior: DeleteIfCreated")


def pruned(tmp_path: Path, old: str, new: str) -> list[str]:
    """The objects that go once the policy changes."""
    base = {**BASE, "policies/operators.yaml": old}
    changed = {"policies/operators.yaml": new} if new else {}
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=base, removed="policies/op").stdout)
    changes = [change for each in planned["clusters"] for change in each["plan"]["applied"]]
    assert changes, "the policy itself changes"
    return [
        f"{change['object']['kind']}/{change['object']['name']}" for change in changes if change["action"] == "prune"
    ]


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        (POLICY, POLICY.replace("remediationAction: enforce", "remediationAction: inform"), []),
        (POLICY, POLICY.replace("disabled: false", "disabled: true"), []),
        (POLICY, "", ["Policy/operators"]),
        (PRUNING, "", ["ConfigMap/cranes", "Policy/operators"]),
        (POLICY, POLICY.replace("e: musthave\n          obj", "e: mustnothave\n          obj"), ["ConfigMap/cranes"]),
        (
            POLICY,
            POLICY.replace("e: musthave\n          obj", "e: mustnothave\n          obj").replace("a: b", "a: c"),
            [],
        ),
        (
            POLICY,
            POLICY.replace("musthave\n        upgrade", "mustnothave\n        upgrade"),
            ["Subscription/kettle", "OperatorGroup/harbour-"],
        ),
        (
            POLICY,
            POLICY.replace(
                "musthave\n        upgrade",
                "mustnothave\n        removalBehavior: {operatorGroups: Keep}\n        upgrade",
            ),
            ["Subscription/kettle"],
        ),
    ],
    ids=["inform", "disabled", "gone", "pruning", "removed", "other-fields", "mustnothave", "kept-group"],
)
def test_the_objects_of_policies_stay_unless_a_policy_removes_them(
    tmp_path: Path, old: str, new: str, gone: list[str]
) -> None:
    """R-OCM-3, R-OCM-14."""
    found = pruned(tmp_path, old, new)
    assert len(found) == len(gone)
    for name, start in zip(sorted(found), sorted(gone), strict=True):
        assert name.startswith(start)


@pytest.mark.parametrize(
    ("old", "new", "risks"),
    [
        ("channel: stable", "channel: other", []),
        ("a: b", "a: c", []),
        ("severity: low", "severity: high", []),
        ("remediationAction: enforce\n  disabled", "remediationAction: inform\n  disabled", ["remediationAction"]),
        ("e: musthave\n          obj", "e: mustnothave\n          obj", ["it deletes the objects"]),
    ],
    ids=["channel", "object", "words", "inform", "mustnothave"],
)
def test_a_change_of_a_policy_has_the_grade_of_its_objects(
    tmp_path: Path, old: str, new: str, risks: list[str]
) -> None:
    """An object that a policy puts into the cluster is compared as that object, and its change is no second risk."""
    changed = {"policies/operators.yaml": POLICY.replace(old, new)}
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=BASE).stdout)
    changes = [change for each in planned["clusters"] for change in each["plan"]["difference"]["changes"]]
    found = [
        change["text"] for change in changes if change["object"]["kind"] == "Policy" and change["severity"] == "risk"
    ]
    assert len(found) == len(risks)
    assert all(risk in message for risk, message in zip(risks, found, strict=True))


def test_an_object_that_a_policy_deletes_is_told_once(tmp_path: Path) -> None:
    """With what deletes it: the same object without a line of its own, but for what OLM loses."""
    changed = {"policies/operators.yaml": POLICY.replace("e: musthave\n          obj", "e: mustnothave\n          obj")}
    planned = json.loads(plan(tmp_path, changed, "-o", "json", base=BASE).stdout)
    changes = [change for each in planned["clusters"] for change in each["plan"]["difference"]["changes"]]
    assert [change["object"]["kind"] for change in changes if "cranes" in json.dumps(change)] == ["Policy"]
    assert pruned(tmp_path / "again", POLICY, changed["policies/operators.yaml"]) == ["ConfigMap/cranes"]


def test_the_csv_goes_with_its_subscription() -> None:
    """R-OCM-14: the installed one and no other; a group that another Subscription uses stays."""

    def manifest(kind: str, name: str, **fields: object) -> Manifest:
        obj = {"apiVersion": f"{OLM_GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name, "namespace": "harbour"}}
        return Manifest({**obj, **fields}, Source("", ""))

    subscription = manifest("Subscription", "kettle", status={"installedCSV": "kettle.v1.0.0"})
    others = [manifest("ClusterServiceVersion", f"{name}.v1.0.0") for name in ("kettle", "beacon")]
    group = manifest("OperatorGroup", "harbour")
    objects = {object_key(each.object): each for each in (subscription, *others, group)}
    kinds = frozenset({"Subscription", "ClusterServiceVersion", "OperatorGroup"})
    removal = PolicyRemoval(ObjectKey(OLM_GROUP, "Subscription", "harbour", "kettle"), kinds)
    state = ClusterState(objects, of_policies=frozenset(objects))
    assert [key.name for key in removed_by_policies(state, (), [removal])] == ["kettle", "kettle.v1.0.0", "harbour"]
    beside = manifest("Subscription", "beacon")
    shared = state._replace(objects={**objects, object_key(beside.object): beside})
    assert [key.name for key in removed_by_policies(shared, (), [removal])] == ["kettle", "kettle.v1.0.0"]
    assert removed_by_policies(state, [subscription], [removal]) == ()


WAITING: dict[str, Any] = {
    "apiVersion": "policy.open-cluster-management.io/v1beta1",
    "kind": "OperatorPolicy",
    "metadata": {"name": "a", "namespace": "policies"},
    "spec": {
        "remediationAction": "enforce",
        "complianceType": "musthave",
        "versions": ["a.v1"],
        "subscription": {"name": "a", "namespace": "ns", "channel": "stable", "source": "cat", "sourceNamespace": "ns"},
    },
}
BY_HAND = (
    " Then set spec.approved: true on the InstallPlan: with upgradeApproval: None the controller approves no upgrade."
)


@pytest.mark.parametrize(("starting", "upgrades"), [("", "None"), ("a.v1", "None"), ("a.v1", "Automatic")])
def test_the_list_of_a_policy_is_the_way_out_of_a_plan_that_it_keeps_waiting(
    tmp_path: Path, starting: str, upgrades: str
) -> None:
    policy = deepcopy(WAITING)
    policy["spec"]["upgradeApproval"] = upgrades
    policy["spec"]["subscription"] |= {"startingCSV": starting} if starting else {}
    bundles = ["a.v1 1.0.0 a/stable provides A", "a.v2 2.0.0 a/stable replaces a.v1 provides A"]
    files = workspace({"catalog": bundles, "manifests": [policy]})
    write(tmp_path / "new", files)
    (tmp_path / "old").mkdir()
    by_hand = BY_HAND if starting and upgrades == "None" else ""
    (path,) = (path for path, text in files.items() if "OperatorPolicy" in text)
    way_out = re.compile(
        rf"Add a\.v2 to spec\.versions of the OperatorPolicy \(\S*{re.escape(path)}:\d+:\d+\): its controller approves "
        rf"only the listed CSVs\.{re.escape(by_hand)}"
    )
    commands = {"status": (), "check": ("-v",), "plan": ("--from", tmp_path / "old")}
    printed = {name: olmc(name, tmp_path / "new", *options).output for name, options in commands.items()}
    shown = {name: " ".join(text.split()) for name, text in printed.items()}
    assert {command for command, text in shown.items() if way_out.search(text)} == set(shown), shown
    assert not any("patch installplan" in text or "Set spec.approved" in text for text in shown.values())
    policy["spec"]["versions"].append("a.v2")
    write(tmp_path / "cured", workspace({"catalog": bundles, "manifests": [policy]}))
    row = olmc("status", tmp_path / "cured").stdout.splitlines()[1].split()
    assert row[2:4] == (["1.0.0", "Succeeded"] if by_hand else ["2.0.0", "Succeeded"])
    assert ("RequiresApproval" in row) == bool(by_hand)
