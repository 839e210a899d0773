"""The options of the proposed APIs on the commands that take them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olmc.cli.main import main


@pytest.fixture(autouse=True)
def inside_fixtures(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "fixtures")


def olmc(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def test_resolve_shows_operators() -> None:
    """Hops of Operators are in the table; an Install that waits says so."""
    assert olmc("resolve", "operator-v2alpha1", "--approve-installs").stdout.splitlines()[1].split() == [
        "operators", "ferry", "-", "ferry.v1.0.0", "stable", "Operator", "ferry",
    ]  # fmt: skip
    assert "Operator ferry; waits for approval" in olmc("resolve", "operator-v2alpha1").stdout


def test_resolve_shows_operators_to_machines() -> None:
    """Dependencies are part of what an Install's solution lists."""
    data = json.loads(olmc("resolve", "operator-v2alpha1", "-o", "json", "--approve-installs").stdout)
    (operator,) = data["operators"]
    (install,) = operator["installs"]
    assert [(each["name"], each["package"]) for each in install.pop("solution")] == [
        ("ferry.v1.0.0", "ferry"),
        ("beacon.v1.0.0", "beacon"),
    ]
    assert data["operators"] == [
        {
            "name": "ferry",
            "installed": "ferry.v1.0.0",
            "installs": [{"name": "ferry.v1.0.0", "applied": True}],
            "message": "",
        }
    ]


def test_check_says_what_waits() -> None:
    """What olmc.yaml switches on counts for check as well; the option says the same."""
    assert "OLMC672" in olmc("check", "operator-v2alpha1").stdout
    assert "OLMC664" in olmc("check", "own-namespace", "--descoped").stdout
    assert "OLMC66" not in olmc("check", "own-namespace").stdout


def test_check_takes_install_modes_as_optional_with_descoping() -> None:
    """R-DESCOPE-1: a CSV without install modes is nothing to complain about then."""
    assert "install modes not found" not in olmc("check", "descoped").stdout


@pytest.mark.parametrize("name", ["all-namespaces", "dependency", "upgrade"])
def test_an_option_without_matter_changes_nothing(name: str) -> None:
    """With v2alpha1 on, a workspace without Operators and Installs gives what it gives without."""
    assert olmc("render", name, "--enable-v2alpha1").stdout == olmc("render", name).stdout


@pytest.mark.parametrize("name", ["descoped", "operator-v2alpha1", "install-v2alpha1"])
def test_apply_output_holds_nothing_of_olm(name: str) -> None:
    """Operators and Installs are OLM's own; what they bring can be applied without it."""
    result = olmc("render", name, "--for", "apply", "--approve-installs", "-o", "json")
    objects = json.loads(result.stdout)["items"]
    assert objects
    assert not [each for each in objects if "operators.coreos.com" in each["apiVersion"]]
    assert not [each for each in objects if "generateName" in each["metadata"]]


def test_a_bundle_alone_can_be_descoped(project: Path) -> None:
    """R-DESCOPE-3: a bundle without install modes is rendered without a group, unless somebody names namespaces."""
    bundle = str(project / "fixtures/descoped/bundles/beacon-1.0.0")
    assert "OperatorGroup" not in olmc("render", bundle, "--descoped", "-o", "name").stdout
    watching = olmc("render", bundle, "--descoped", "--watch", "pier", "-o", "name").stdout
    assert "OperatorGroup/beacon/beacon" in watching
    assert "RoleBinding/pier/beacon-required-perms" in watching


@pytest.mark.parametrize(
    "arguments",
    [
        ["get", "installed", "-n", "operators", "-C", "operator-v2alpha1"],
        ["status", "operator-v2alpha1"],
        ["why", "ferry", "operator-v2alpha1"],
        ["rbac", "operator-v2alpha1"],
        ["rbac", "who-can", "get", "ferries.water.example.com", "operator-v2alpha1"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_that_look_closer_take_the_options(arguments: list[str]) -> None:
    """What --approve-installs installs is there for every command; without it they wait."""
    assert olmc(*arguments, "--approve-installs").stdout != olmc(*arguments).stdout
    assert "v1.0.0" in olmc("get", "installed", "-A", "-C", "operator-v2alpha1", "--approve-installs").stdout
