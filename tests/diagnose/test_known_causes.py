"""Causes that commands know: workspaces out of terse descriptions, with the diagnosis that each one gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from click.testing import CliRunner

import olmc
from olmc.cli.main import main
from olmc.review.diagnose.engine import diagnose, scene_of

GROUP = {"ns/og": "all"}


def output(*arguments: object) -> str:
    """What a command prints, in this process."""
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return " ".join(result.output.split())


def workspace(root: Path, *operators: Mapping[str, Any] | str, **case: Any) -> Path:
    write_workspace(root, {"groups": GROUP, "operators": operators, **case})
    return root


def upgraded(tmp_path: Path, old: Mapping[str, Any], new: Mapping[str, Any], **case: Any) -> tuple[Path, Path]:
    """A workspace with one version of kettle, and another with two of them."""
    first, second = {"name": "kettle.v1.0.0", **old}, {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0", **new}
    return workspace(tmp_path / "before", first, **case), workspace(tmp_path / "after", first, second, **case)


# A startingCSV that changes while the first InstallPlan waits.


def manual(starting: str) -> dict[str, Any]:
    return {"subscription": {"spec": {"installPlanApproval": "Manual", "startingCSV": starting}}}


def test_a_pin_that_changes_while_the_first_plan_waits(tmp_path: Path) -> None:
    """A Subscription whose InstallPlan waits is not resolved, so that OLM does not read the new value."""
    last = {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0"}
    before = workspace(tmp_path / "before", "kettle.v1.0.0", {**last, **manual("kettle.v1.0.0")})
    after = workspace(tmp_path / "after", "kettle.v1.0.0", {**last, **manual("kettle.v1.1.0")})
    for command in ("check", "status", "plan"):
        told = output(command, after, "--from", before)
        assert "startingCSV of Subscription ns/kettle is kettle.v1.1.0 now and has no effect" in told, command
    assert "for kettle.v1.0.0 waits already" in told
    assert "Approve the InstallPlan for kettle.v1.0.0, which waits. To begin with kettle.v1.1.0, delete" in told
    assert "has no effect" not in output("status", before, "--from", before)


# Accounts that go with an upgrade.

AGENT = {"kettle": ["get pods"], "agent": ["get nodes"]}


def agent(kind: str) -> dict[str, Any]:
    pod = {"spec": {"serviceAccountName": "agent", "containers": [{"name": "a", "image": "registry.example.com/a:1"}]}}
    spec: dict[str, Any] = {"template": pod}
    if kind == "CronJob":
        return workload(kind, "batch/v1", {"schedule": "@daily", "jobTemplate": {"spec": spec}})
    labels = {"matchLabels": {"app": "a"}}
    return workload(kind, "apps/v1", {"selector": labels, "template": {**pod, "metadata": {"labels": {"app": "a"}}}})


def workload(kind: str, api: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "agent", "namespace": "ns"}, "spec": spec}


@pytest.mark.parametrize("kind", ["DaemonSet", "CronJob", ""])
def test_an_account_goes_with_an_upgrade(kind: str, tmp_path: Path) -> None:
    before, after = upgraded(
        tmp_path, {"clusterPermissions": AGENT}, {"clusterPermissions": {"kettle": ["get pods"]}},
        manifests=[agent(kind)] if kind else [],
    )  # fmt: skip
    for command in ("check", "status", "plan"):
        told = output(command, after, "--from", before)
        assert "ServiceAccount ns/agent goes with kettle.v1.0.0, since kettle.v1.1.0 does not have it" in told, command
    assert (f"{kind}/ns/agent can't create pods" if kind else "no Deployment of the CSV uses it") in told


def test_an_account_that_only_the_old_deployment_used_is_no_loss(tmp_path: Path) -> None:
    before, after = upgraded(
        tmp_path, {"clusterPermissions": {"old": ["get pods"]}}, {"clusterPermissions": {"new": ["get pods"]}}
    )
    assert "goes with" not in output("plan", after, "--from", before)


# Removals that hang, with OLM v1.


def test_the_object_of_an_extension_that_goes(project: Path, tmp_path: Path) -> None:
    case = project / "fixtures/transitions/extension-removed"
    roots = {side: tmp_path / side for side in ("before", "after")}
    for side, root in roots.items():
        for path in (case / side).rglob("*.yaml"):
            target = root / path.relative_to(case / side)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    crds = [
        document for path in sorted(roots["before"].rglob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition"
    ]  # fmt: skip
    spec = crds[0]["spec"]
    obj = {
        "apiVersion": f"{spec['group']}/{spec['versions'][0]['name']}", "kind": spec["names"]["kind"],
        "metadata": {"name": "north", "finalizers": ["tools.example.com/drain"]},
    }  # fmt: skip
    if spec["scope"] == "Namespaced":
        obj["metadata"]["namespace"] = "default"
    for root in roots.values():
        (root / "north.yaml").write_text(yaml.safe_dump(obj), encoding="utf-8")
    told = output("plan", roots["after"], "--from", roots["before"])
    assert "has the finalizer tools.example.com/drain, which only the operator" in told
    assert "stays in Terminating" in told
    assert "north: - removed" not in told
    for root in roots.values():
        (root / "north.yaml").write_text(yaml.safe_dump({**obj, "metadata": {**obj["metadata"], "finalizers": []}}))
    assert "Terminating" not in output("plan", roots["after"], "--from", roots["before"])


# Versions that replace themselves.


def test_an_entry_that_replaces_itself(tmp_path: Path) -> None:
    root = workspace(tmp_path, "kettle.v1.0.0", "kettle.v0.9.0", {"name": "kettle.v1.1.0", "replaces": "kettle.v1.1.0"})
    found = [each for each in diagnose(scene_of(olmc.compile(root))) if each.finding.code == "OLMC817"]
    assert {each.candidates[0].text for each in found} == {"Let kettle.v1.1.0 replace kettle.v1.0.0"}
    assert "Write replaces: kettle.v1.0.0, the version before it" in output("check", root)


def test_the_only_version_replaces_itself(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"name": "kettle.v1.1.0", "replaces": "kettle.v1.1.0"})
    found = [each for each in diagnose(scene_of(olmc.compile(root))) if each.finding.code == "OLMC817"]
    assert {text.text for each in found for text in each.candidates} == {"Remove replaces from kettle.v1.1.0"}


# Deprecations, and operators that stall.


def deprecated(schema: str, name: str) -> dict[str, Any]:
    """A new version of kettle with a deprecation."""
    reference = {"schema": schema, **({"name": name} if name else {})}
    blob = {"schema": "olm.deprecations", "package": "kettle", "entries": [{"reference": reference, "message": "old"}]}
    return {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0", "deprecations": blob}


@pytest.mark.parametrize(
    ("schema", "name"), [("olm.package", ""), ("olm.channel", "stable"), ("olm.bundle", "kettle.v1.1.0")]
)
def test_what_is_used_is_deprecated(schema: str, name: str, tmp_path: Path) -> None:
    root = workspace(tmp_path / "after", "kettle.v1.0.0", deprecated(schema, name))
    (tmp_path / "before").mkdir()
    for command in (("check", root), ("status", root), ("plan", root, "--from", tmp_path / "before")):
        assert "which its catalog calls deprecated: old" in output(*command), command


def test_other_versions_may_be_deprecated(tmp_path: Path) -> None:
    root = workspace(tmp_path, "kettle.v1.0.0", deprecated("olm.bundle", "kettle.v1.0.0"))
    assert diagnose(scene_of(olmc.compile(root))) == ()


def test_a_volume_of_the_subscription_stalls_an_operator(tmp_path: Path) -> None:
    config = {"volumes": [{"name": "ca", "configMap": {"name": "trust"}}],
              "volumeMounts": [{"name": "ca", "mountPath": "/ca"}]}  # fmt: skip
    root = workspace(tmp_path / "after", {"name": "kettle.v1.0.0", "subscription": {"spec": {"config": config}}})
    (tmp_path / "before").mkdir()
    (found,) = diagnose(scene_of(olmc.compile(root)))
    assert found.finding.location is not None
    line = (root / "cluster.json").read_text(encoding="utf-8").splitlines()[found.finding.location.line - 1]
    assert line[found.finding.location.column - 1 :].startswith('"trust"')
    assert "1.0.0 Stalled installed nothing creates ConfigMap trust" in output(
        "plan", root, "--from", tmp_path / "before"
    )


# Rules that a Role can't give.

MIXED = {"apiGroups": ["", "apps"], "resources": ["pods", "nodes"], "verbs": ["get"]}


def test_rules_of_a_role_without_effect_are_no_rights(tmp_path: Path) -> None:
    """A resource without a namespace has none in another group of the rule either; that of a CRD counts as well."""
    cups = {"apiGroups": ["kettle.example.com"], "resources": ["cups"], "verbs": ["list"]}
    operator = {"name": "kettle.v1.0.0", "permissions": {"kettle": [MIXED, cups]}, "files": {"cups.yaml": {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "cups.kettle.example.com"},
        "spec": {
            "group": "kettle.example.com", "scope": "Cluster", "names": {"plural": "cups", "kind": "Cup"},
            "versions": [{
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    }}}  # fmt: skip
    root = workspace(tmp_path / "after", operator, groups={"ns/og": "own"})
    (tmp_path / "before").mkdir()
    for told in (output("rbac", root), output("plan", root, "--from", tmp_path / "before")):
        assert "pods" in told
        assert "get nodes" not in told
        assert "nodes." not in told
        assert "list cups" not in told
    assert "asks in permissions for nodes, cups, which have no namespace" in output("check", root)


def test_urls_belong_into_cluster_permissions(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"name": "kettle.v1.0.0", "permissions": {"kettle": ["get /metrics"]}}, groups={
        "ns/og": "own"
    })  # fmt: skip
    for command in ("check", "why"):
        told = output(command, root) if command == "check" else output("why", "kettle.v1.0.0", root)
        assert "Move the rules with nonResourceURLs (/metrics) from permissions to clusterPermissions" in told, command


def test_a_crd_with_the_fields_of_v1beta1(tmp_path: Path) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "cups.kettle.example.com"},
        "spec": {
            "group": "kettle.example.com", "scope": "Namespaced", "names": {"plural": "cups", "kind": "Cup"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
            "validation": {"openAPIV3Schema": {"type": "object"}},
        },
    }  # fmt: skip
    root = workspace(tmp_path / "after", {"name": "kettle.v1.0.0", "files": {"cups.yaml": crd}})
    (tmp_path / "before").mkdir()
    for told in (output("check", root), output("plan", root, "--from", tmp_path / "before")):
        assert "Move spec.validation to spec.versions[*].schema of each version" in told


def test_a_number_in_a_catalog_needs_quotes(tmp_path: Path) -> None:
    root = workspace(tmp_path, "kettle.v1.0.0")
    catalog = root / "catalogs/cat/catalog.yaml"
    package = "schema: olm.package\nname: pot\ndefaultChannel: 4.10\n"
    catalog.write_text(f"{catalog.read_text(encoding='utf-8')}---\n{package}", encoding="utf-8")
    told = output("check", root)
    assert "cannot unmarshal number into Go struct field Package.defaultChannel of type string" in told
    assert "Give the field the type that the message names: put it in quotes" in told


# What is left to do where nothing is installed.

POT = "Pot.v1.pots.example.com"


def left_to_do(root: Path, *operators: Mapping[str, Any] | str, **case: Any) -> str:
    """The last part of a plan from an empty cluster."""
    workspace(root / "after", *operators, **case)
    (root / "before").mkdir(parents=True)
    told = output("plan", root / "after", "--from", root / "before")
    return told.partition("What is left to do")[2].partition(" Drift:")[0]


def test_a_kubernetes_that_is_too_old(tmp_path: Path) -> None:
    """An addition to the workspace does not cure it."""
    way = (
        "Upgrade the cluster to Kubernetes 1.90.0, or install a version of the operator that supports Kubernetes 1.36.2"
    )
    kettle = {"name": "kettle.v1.0.0", "csv": {"spec": {"minKubeVersion": "1.90.0"}}}
    left = left_to_do(tmp_path, kettle)
    assert f"minKubeVersion (1.90.0) > server version (1.36.2). {way}" in left
    assert way in output("check", tmp_path / "after")
    assert "See what is missing below" not in output("check", tmp_path / "after")


def test_a_kubernetes_that_is_too_old_and_an_api_that_is_missing(tmp_path: Path) -> None:
    kettle = {"name": "kettle.v1.0.0", "csv": {"spec": {"minKubeVersion": "1.90.0"}}, "needs": ["Pot"]}
    left = left_to_do(tmp_path, kettle)
    assert "Upgrade the cluster" not in left
    assert "See what is missing below; add it to the workspace" in output("check", tmp_path / "after")


def test_a_dependency_that_no_catalog_has(tmp_path: Path) -> None:
    requires = {"type": "olm.package.required", "value": {"packageName": "stove", "versionRange": ">=2.0.0"}}
    left = left_to_do(tmp_path, {"name": "kettle.v1.0.0", "properties": [requires]})
    assert "Subscription ns/kettle installs nothing: it requires an operator with package: stove" in left
    assert "Add a suitable version to a catalog that namespace ns sees, or remove the Subscription" in left


def test_two_new_operators_with_one_api(tmp_path: Path) -> None:
    left = left_to_do(tmp_path, {"name": "kettle.v1.0.0", "owned": [POT]}, {"name": "pan.v1.0.0", "owned": [POT]})
    assert "Remove Subscription ns/kettle or ns/pan, or move one to a namespace of its own." in left


def test_two_subscriptions_to_one_package(tmp_path: Path) -> None:
    second: dict[str, Any] = {
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": "other", "namespace": "ns"},
        "spec": {"name": "kettle", "channel": "stable", "source": "cat", "sourceNamespace": "olm"},
    }  # fmt: skip
    first = {"name": "kettle.v1.0.0", "subscription": {"spec": {"startingCSV": "kettle.v1.0.0"}}}
    operators = first, {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0"}
    second["spec"]["startingCSV"] = "kettle.v1.1.0"
    left = left_to_do(tmp_path, *operators, manifests=[second])
    assert left == " Keep one Subscription for package kettle in namespace ns."
    second["spec"].update(startingCSV="kettle.v1.0.0", channel="fast")
    assert "Keep one Subscription" not in left_to_do(tmp_path / "other", *operators, manifests=[second])


def test_a_failed_csv_that_is_not_being_replaced(tmp_path: Path) -> None:
    """The catalog is right; OLM reads the chain of CSVs in the cluster (R-CAT-504)."""
    groups = {"ns/og": {"targetNamespaces": ["ns"], "upgradeStrategy": "TechPreviewUnsafeFailForward"}}
    before, after = upgraded(tmp_path, {"modes": ["All"]}, {}, groups=groups)
    told = output("plan", after, "--from", before)
    assert "Correct the cause for which ns/kettle.v1.0.0 is not Replacing." in told
    assert "Correct the catalog" not in told
