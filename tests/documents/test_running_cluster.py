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
