"""`olmc why` and `olmc status` go on to the cause and the way out, whatever somebody calls what they ask about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from commands import olmc

MONITOR = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "a"}}
BUDGET = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
DEPLOYMENT = "Deployment/shop/kettle-v5-controller is there"


def kettle(root: Path, **operator: Any) -> Path:
    """A workspace with one operator."""
    write_workspace(
        root, {"groups": {"shop/og": "all"}, "operators": [{"name": "kettle.v1.0.0", "into": ["shop"], **operator}]}
    )
    return root


@pytest.mark.parametrize(
    ("obj", "way_out"),
    [
        (MONITOR, "or declare it with --api monitoring.coreos.com/v1/ServiceMonitor"),
        (BUDGET, "Kubernetes serves policy/v1beta1/PodDisruptionBudget no longer since 1.25"),
    ],
)
@pytest.mark.parametrize("where", ["", "bundles/kettle.v1.0.0"])
def test_a_kind_that_is_not_served_has_a_way_out(obj: dict[str, Any], way_out: str, where: str, tmp_path: Path) -> None:
    """In check, status and why, for a plan and for a bundle by itself."""
    root = kettle(tmp_path, files={"a.yaml": obj}) / where
    for command in (["check", "--select", "OLMC3"], ["status", "-o", "wide"], ["why", "kettle"]):
        result = olmc(*command, root)
        assert way_out in " ".join(result.stdout.split()), command
        assert result.exit_code == 1, command
    told = olmc("status", root)
    assert (told.exit_code, told.stderr) == (1, "")


def test_a_way_out_leads_out(tmp_path: Path) -> None:
    path = kettle(tmp_path, files={"a.yaml": MONITOR})
    assert olmc("status", path, "--api", "monitoring.coreos.com/v1/ServiceMonitor").exit_code == 0
    bundle = kettle(tmp_path / "b", required=["Cup.v1.cup.example.com"]) / "bundles" / "kettle.v1.0.0"
    assert olmc("status", bundle).exit_code == 1
    assert olmc("status", bundle, "--api", "cup.example.com/v1/Cup").exit_code == 0


@pytest.mark.parametrize(
    "spelling",
    [
        "Deployment/kettle-v5",
        "deploy/shop/kettle",
        "deployments.apps/kettle-v5-controller",
        "deployments.v1.apps/kettle-v5-controller",
        "shop/kettle-v5-controller",
        "kettle-v5",
    ],
)
def test_spellings_of_a_target(spelling: str, tmp_path: Path) -> None:
    result = olmc("why", spelling, kettle(tmp_path, deployments=["kettle-v5-controller"]))
    assert (result.exit_code, DEPLOYMENT in result.stdout) == (0, True), result.output


def test_the_beginning_of_what_a_bundle_would_bring(tmp_path: Path) -> None:
    operator = {"deployments": ["kettle-v5-controller"], "required": ["Cup.v1.cup.example.com"]}
    result = olmc("why", "deploy/kettle-v5", kettle(tmp_path, **operator))
    assert result.stdout.startswith("Deployment/kettle-v5-controller is not there\n")
    assert "there is none" in result.stdout
    assert olmc("why", "deploy/cup", tmp_path).exit_code == 2
