"""Upgrades that are there and not taken, since another operator would lose what it requires (R-CAT-546, R-CAT-547)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from click.testing import CliRunner

from olmc.cli.main import main

NEEDS_LEAF = {"name": "kettle.v1.0.0", "required": ["Leaf.v1.tea.example.com"]}
LEAF = {
    "name": "garden.v1.0.0",
    "owned": ["Leaf.v1.tea.example.com"],
    "subscription": {"spec": {"startingCSV": "garden.v1.0.0"}},
}
NO_LEAF = {"name": "garden.v2.0.0", "owned": ["Herb.v1.tea.example.com"], "replaces": "garden.v1.0.0", "into": []}
RIVAL = {"name": "meadow.v1.0.0", "owned": ["Herb.v1.tea.example.com"]}
REASON = "kettle.v1.0.0 requires an operator providing an API with group: tea.example.com, version: v1, kind: Leaf"


def run(root: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments, str(root)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.stdout


def workspace(root: Path, *operators: dict[str, Any]) -> Path:
    write_workspace(root, {"namespaces": {"ns": {}}, "groups": {"ns/og": "own"}, "operators": list(operators)})
    return root


@pytest.fixture
def deprecating(tmp_path: Path) -> Path:
    """A workspace in which garden.v2.0.0 no longer has what kettle requires."""
    return workspace(tmp_path, NEEDS_LEAF, LEAF, NO_LEAF)


def test_resolve_says_what_holds_it_back(deprecating: Path) -> None:
    """R-CAT-547: an upgrade that takes an API away from another operator waits until nobody requires it."""
    table = run(deprecating, "resolve")
    assert f"garden.v1.0.0  stable   garden.v2.0.0 is held back: {REASON}" in table
    (namespace,) = json.loads(run(deprecating, "resolve", "-o", "json"))["namespaces"]
    (held,) = namespace["held"]
    assert (held["subscription"], held["upgrade"]) == ("garden", "garden.v2.0.0")
    assert held["reasons"] == [
        {"text": REASON, "location": "bundles/kettle.v1.0.0/manifests/kettle.clusterserviceversion.yaml:1:103"}
    ]


def test_status_and_why_say_it_as_well(deprecating: Path) -> None:
    """R-CAT-547: the operator runs on and nothing of it fails, but its upgrade is named, with who requires what."""
    assert "  garden.v2.0.0  HeldBack\n" in run(deprecating, "status")
    shown = run(deprecating, "why", "Subscription/ns/garden")
    assert "Subscription/ns/garden is there\n" in shown
    assert "garden.v2.0.0 is held back (" in " ".join(shown.split())
    assert REASON in " ".join(shown.split())


def test_check_names_it(deprecating: Path) -> None:
    """OLMC512 stands at the Subscription, with the place of the operator that requires the API."""
    report = json.loads(run(deprecating, "check", "--all", "-o", "json"))
    (diagnostic,) = [each for each in report["findings"] if each["code"] == "OLMC512"]
    assert diagnostic["severity"] == "warning"
    assert REASON in diagnostic["message"]


def test_what_another_one_provides_is_named_too(tmp_path: Path) -> None:
    """R-CAT-548: an upgrade to an API that another operator of the namespace provides can't be taken either."""
    root = workspace(tmp_path, {**LEAF, "required": []}, NO_LEAF, RIVAL)
    table = run(root, "resolve")
    assert "garden.v2.0.0 is held back: it provides" in table
    assert "as does the installed meadow.v1.0.0, and a namespace can have only one" in table


def test_what_can_be_taken_is_not_held_back(tmp_path: Path) -> None:
    """R-CAT-546: an upgrade that breaks nothing is taken, and nothing is held back."""
    root = workspace(tmp_path, LEAF, NO_LEAF)
    table = run(root, "resolve")
    assert "held back" not in table
    assert "garden.v2.0.0" in table
