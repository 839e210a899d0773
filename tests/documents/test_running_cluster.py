"""Statements of the documents about a cluster that runs already: a transition each, in `running/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from click.testing import CliRunner
from rule_cases import Case
from transition_cases import run_transition, transition_cases

from olmc.cli.main import main

CASES = transition_cases(Path(__file__).parent / "running")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_running(case: Case, tmp_path: Path) -> None:
    """The statement holds from an empty cluster (`before.expect`) and from the cluster that this leaves."""
    problems = run_transition(case, tmp_path)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def operators(*names: str) -> dict[str, Any]:
    """A workspace with proposed Operators of one package."""
    updates = {"package": "kettle", "channel": "stable", "ref": {"name": "cat", "namespace": "olm"}}
    return {
        "groups": {"operators/og": "own"},
        "operators": [
            {
                "name": "kettle.v1.0.0",
                "into": [],
                "annotations": {"operatorframework.io/suggested-namespace": "operators"},
            }
        ],
        "manifests": [
            {
                "apiVersion": "operators.coreos.com/v2alpha1",
                "kind": "Operator",
                "metadata": {"name": name},
                "spec": {"updates": {"type": "CatalogSource", "catalogSource": updates}},
            }
            for name in names
        ],
    }


def test_a_pruned_operator_leaves_its_content_running(tmp_path: Path) -> None:
    """R-OPERATOR-13: a plan reports it as it reports a pruned Subscription; its Install would bring the CSV back."""
    write_workspace(tmp_path / "before", operators("tea"))
    write_workspace(tmp_path / "after", operators())
    options = ["--from", str(tmp_path / "before"), "--enable-v2alpha1", "--approve-installs"]
    result = CliRunner().invoke(main, ["plan", str(tmp_path / "after"), *options])
    assert "- Operator/tea: pruned" in result.output
    assert "operators  kettle    1.0.0  1.0.0  Succeeded  left running" in result.output
    assert "keeps running without upgrades: OLM does not uninstall when its Operator goes" in result.output
    commands = "kubectl delete install kettle.v1.0.0 && kubectl -n operators delete clusterserviceversion kettle.v1.0.0"
    assert f"$ {commands}" in result.output


TEA = [
    {"name": "cosy.v1.0.0", "required": ["Kettle.v1.tea.example.com"]},
    {"name": "kettle.v1.0.0", "owned": ["Kettle.v1.tea.example.com"]},
]
NEXT = {"name": "kettle.v2.0.0", "owned": ["Kettle.v2.tea.example.com"], "replaces": "kettle.v1.0.0"}


def test_a_plan_explains_a_held_back_upgrade(tmp_path: Path) -> None:
    """R-CAT-546: the row of the operator has the reason that `status` gives."""
    write_workspace(tmp_path / "before", {"groups": {"ns/og": "own"}, "operators": TEA})
    write_workspace(tmp_path / "after", {"groups": {"ns/og": "own"}, "operators": [*TEA, NEXT]})
    result = CliRunner().invoke(main, ["plan", str(tmp_path / "after"), "--from", str(tmp_path / "before")])
    assert "unchanged\n      kettle.v2.0.0 is held back: cosy.v1.0.0 requires an operator" in result.output


def test_a_plan_does_not_take_the_plan_of_a_person_for_one_of_olm(tmp_path: Path) -> None:
    """R-CAT-607: it is applied as an object, and OLM installs nothing for it."""
    workspace: dict[str, Any] = {
        "groups": {"ns/og": "own"},
        "operators": [{"name": "kettle.v1.0.0", "subscription": {"spec": {"installPlanApproval": "Manual"}}}],
    }
    written = {
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
        "metadata": {"name": "install-mine", "namespace": "ns"},
        "spec": {"approval": "Manual", "approved": True, "clusterServiceVersionNames": ["kettle.v1.0.0"]},
    }  # fmt: skip
    write_workspace(tmp_path / "before", workspace)
    write_workspace(tmp_path / "after", {**workspace, "manifests": [written]})
    result = CliRunner().invoke(main, ["plan", str(tmp_path / "after"), "--from", str(tmp_path / "before")])
    assert "+ InstallPlan/ns/install-mine: created" in result.output
    assert "nothing: no InstallPlan is made" in result.output
