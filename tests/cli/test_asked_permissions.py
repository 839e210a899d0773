"""`olmc rbac` of operators that would not run: what they ask for is read all the same (docs/review.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from commands import olmc

MONITOR = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "a-monitor"}}
DANGEROUS = {"clusterPermissions": {"brewer": ["escalate clusterroles.rbac.authorization.k8s.io"]}}
KETTLE = {"name": "kettle.v1.0.0", **DANGEROUS}


def bundle(root: Path, **operator: Any) -> Path:
    """The folder of a bundle by itself."""
    write_workspace(root, {"operators": [{**KETTLE, **operator}]})
    return root / "bundles" / "kettle.v1.0.0"


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ({"files": {"a.yaml": MONITOR}}, "monitoring.coreos.com/v1/ServiceMonitor"),
        ({"csv": {"spec": {"minKubeVersion": "9.9.9"}}}, "would not run (Pending: RequirementsNotMet)"),
        ({"required": ["Cup.v1.cup.example.com"]}, "taken as served, although nothing here brings it: cup.example.com"),
        ({"files": {"a.yaml": {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget",
                               "metadata": {"name": "b"}}}}, "ns/kettle.v1.0.0 would not run"),
    ],
    ids=["an API of others", "minKubeVersion", "a required API", "an API that is gone"],
)  # fmt: skip
def test_what_keeps_a_bundle_from_running_hides_nothing(operator: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = bundle(tmp_path, **operator)
    result = olmc("rbac", path, "-n", "ns", "--fail-on", "high")
    assert "escalate clusterroles.rbac.authorization.k8s.io, in the whole cluster" in result.stdout
    assert said in result.stderr
    assert result.exit_code == 1
    who = olmc("rbac", "who-can", "escalate", "clusterroles", path)
    assert "ServiceAccount/kettle/brewer" in who.stdout


def test_an_api_that_the_cluster_serves_need_not_be_assumed(tmp_path: Path) -> None:
    path = bundle(tmp_path, files={"a.yaml": MONITOR})
    result = olmc("rbac", path, "--api", "monitoring.coreos.com/v1/ServiceMonitor", "-o", "json")
    data = json.loads(result.stdout)
    assert (data["assumed"], data["waiting"], data["unknown"]) == ([], [], [])


def test_what_cannot_be_resolved_counts(tmp_path: Path) -> None:
    """The head of the channel is what the Subscription asks for, and its dependency is not there."""
    write_workspace(
        tmp_path, {"groups": {"ns/og": "all"}, "operators": [{**KETTLE, "required": ["Cup.v1.cup.example.com"]}]}
    )
    result = olmc("rbac", tmp_path, "--fail-on", "critical")
    assert result.exit_code == 1
    assert "ServiceAccount ns/brewer, which kettle.v1.0.0 would run under: critical" in result.stdout
    assert "ns/kettle.v1.0.0 would not run (it can't be resolved)" in result.stderr


def test_without_a_group_it_counts_too(tmp_path: Path) -> None:
    write_workspace(tmp_path, {"operators": [KETTLE]})
    assert olmc("rbac", tmp_path, "--fail-on", "critical").exit_code == 1


def test_roles_follow_into_the_namespaces_that_would_be_watched(tmp_path: Path) -> None:
    operator = {"name": "kettle.v1.0.0", "permissions": {"brewer": ["get secrets"]}, "files": {"a.yaml": MONITOR}}
    groups = {"ns/og": ["shop", "ns"]}
    write_workspace(tmp_path, {"groups": groups, "namespaces": {"ns": {}, "shop": {}}, "operators": [operator]})
    assert "get secrets, in ns, shop" in olmc("rbac", tmp_path).stdout


def test_what_nobody_knows_fails(tmp_path: Path) -> None:
    """The bundle is an image that was not vendored: whatever it asks for may be anything."""
    write_workspace(
        tmp_path, {"groups": {"ns/og": "all"}, "operators": [{**KETTLE, "image": "registry.example.com/k:1"}]}
    )
    (bundles,) = (tmp_path / "bundles").iterdir()
    for file in sorted(bundles.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    result = olmc("rbac", tmp_path, "--fail-on", "critical")
    assert result.exit_code == 1
    assert "unknown: Subscription ns/kettle: the content of kettle.v1.0.0 is not here; vendor it" in result.stderr
    assert olmc("rbac", tmp_path).exit_code == 0


@pytest.mark.parametrize(("account", "code"), [("brewer", 1), ("somebody-else", 0)])
def test_a_role_that_nobody_knows_fails_for_operators(account: str, code: int, tmp_path: Path) -> None:
    rbac = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "of-the-cluster"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "ns"}],
    }
    operator = {"name": "kettle.v1.0.0", "permissions": {"brewer": ["get pods"]}}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [operator], "manifests": [binding]})
    result = olmc("rbac", tmp_path, "--fail-on", "critical")
    told = "unknown: what ClusterRole/of-the-cluster lets ServiceAccount/ns/brewer do" in result.stderr
    assert (result.exit_code, told) == (code, bool(code))


@pytest.mark.parametrize("command", [["rbac"], ["status"], ["why", "kettle.v1.0.0"], ["check", "--select=OLMC30"]])
def test_a_bundle_is_installed_where_somebody_says(command: list[str], tmp_path: Path) -> None:
    """With -n, --watch and --all-namespaces as olmc render has them (docs/review.md)."""
    path = bundle(tmp_path, modes=["Own", "Single"])
    there = olmc(*command, path, "-n", "tools", "--watch", "shop", "-o", "json")
    assert "no effect" not in there.stderr
    refused = olmc(*command, path, "--all-namespaces", "-o", "json")
    both = olmc(*command, path, "--all-namespaces", "--watch", "a")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    if command != ["rbac"]:
        assert there.exit_code == 0, there.stdout
        assert refused.exit_code == 1
        assert "UnsupportedOperatorGroup" in refused.stdout
    if command[0] != "check":
        assert '"tools"' in there.stdout or "tools/" in there.stdout
    idle = olmc(*command, tmp_path, "-n", "tools", "--all-namespaces")
    assert "--namespace has no effect, it needs the directory of a bundle as PATH" in idle.stderr
