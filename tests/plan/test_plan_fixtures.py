"""Every change of `fixtures/transitions/`, planned as a user would; what is printed, in all formats, are snapshots."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from snapshot_files import MarkdownFile, TextFile
from syrupy.assertion import SnapshotAssertion
from tiers import sampled

from olmc.cli.main import main
from olmc.resources import schema
from olmc.review.diff.text import MOST_LINES

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "transitions"
NAMES = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())
WORKSPACES = [name for name in NAMES if (FIXTURES / name / "before").is_dir()]


@functools.cache
def plan(name: str, *options: str) -> Result:
    """Run the command that the README ends with, inside of the fixtures, and each once."""
    command = (FIXTURES / name / "README.md").read_text(encoding="utf-8").splitlines()[-1]
    program, *arguments = command.replace("fixtures/transitions/", "").split()
    assert program == "olmc"
    assert f"{name}/after" in arguments
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.fixture(autouse=True)
def inside_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are then the same in every checkout."""
    monkeypatch.chdir(FIXTURES)


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str, snapshot: SnapshotAssertion) -> None:
    result = plan(name)
    assert f"{result.stdout}# exit code {result.exit_code}\n" == snapshot(extension_class=TextFile)
    assert result.stdout.count("\n") <= MOST_LINES  # a screen, as olmc diff has it


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_a_cause_stands_once(name: str) -> None:
    """A cause is long: where OLM's own words are stated, every other place refers to them."""
    data = json.loads(plan(name, "-o", "json").stdout)
    stated = {message for install in data["installPlans"] if len(message := install["message"]) > 60}
    for text in (plan(name).stdout, plan(name, "-o", "markdown").stdout):
        assert {message[:60]: text.count(message[:60]) for message in stated} == {message[:60]: 1 for message in stated}


@pytest.mark.parametrize("name", ["manual-waiting", "stuck-upgrade", "subscription-renamed"])
def test_markdown(name: str, snapshot: SnapshotAssertion) -> None:
    assert plan(name, "-o", "markdown").stdout == snapshot(extension_class=MarkdownFile)


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_json_obeys_its_schema(name: str) -> None:
    data: dict[str, Any] = json.loads(plan(name, "-o", "json").stdout)
    errors = [error.message for error in Draft202012Validator(schema("plan")).iter_errors(data)]
    assert errors == []
    Draft202012Validator(schema("diff")).validate(data["difference"])


@pytest.mark.parametrize("name", sampled(WORKSPACES, 4))
def test_nothing_happens_from_before_to_before(name: str) -> None:
    """The plan of a workspace that its cluster has already is empty."""
    arguments = ["plan", f"{name}/before", "--from", f"{name}/before"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    first = result.stdout.partition("\n")[0]
    assert first.partition(";")[0] == f"{name}/before → {name}/before: nothing happens"


@pytest.mark.parametrize("name", ["stuck-upgrade", "uninstalled", "catalog-drops-installed"])
def test_html_has_the_plan_in_front(name: str) -> None:
    page = plan(name, "-o", "html").stdout
    data = json.loads(plan(name, "-o", "json").stdout)
    assert page.startswith("<!DOCTYPE html>\n")
    assert ('<section id="applied"' in page) == bool(data["applied"])
    assert ('<section id="tasks"' in page) == bool(data["tasks"])
    assert '<section id="operators"' in page
    assert "Written by olmc plan." in page


def test_grave_changes_decide_the_exit_code() -> None:
    assert plan("stuck-upgrade", "--fail-on", "breaking").exit_code == 1
    assert plan("config-changed", "--fail-on", "breaking").exit_code == 0
    assert plan("config-changed", "--fail-on", "any").exit_code == 1
    assert plan("config-changed", "--exit-code").exit_code == 1
    assert plan("config-changed").exit_code == 0


def test_a_stuck_operator_fails_whatever_is_asked() -> None:
    """As in `olmc status`: an operator that would fail or get stuck is no mere change."""
    assert plan("stuck-upgrade").exit_code == 1


def test_what_is_not_pruned_stays() -> None:
    data = json.loads(plan("subscription-removed", "--no-prune", "-o", "json").stdout)
    assert data["applied"] == []
    assert [row["outcome"] for row in data["operators"]] == ["unchanged"]


def test_every_change_is_explained() -> None:
    """Each has a README with a title and the command, and the list of all has its title."""
    index = (FIXTURES / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        title, blank, *text = (FIXTURES / name / "README.md").read_text(encoding="utf-8").splitlines()
        assert (title[:2], blank) == ("# ", ""), name
        assert text[-1].startswith(f"    olmc plan fixtures/transitions/{name}/after --from "), name
        assert f"| [{name}]({name}) | {title.removeprefix('# ')} |" in index, name


def test_the_way_out_of_a_failed_plan_works(tmp_path: Path) -> None:
    """observed-48: after what the task says OLM installs again, and the operator works."""
    (task,) = json.loads(plan("failed-plan-mended", "-o", "json").stdout)["tasks"]
    assert "delete subscription/beacon clusterserviceversion/beacon.v1.0.0" in task["command"]
    state = tmp_path / "state.yaml"
    deleted = ["--delete", "Subscription/harbour/beacon", "--delete", "ClusterServiceVersion/harbour/beacon.v1.0.0"]
    workspace = ["failed-plan-mended/after", "--from"]
    rendered = CliRunner().invoke(main, ["render", *workspace, "failed-plan-mended/before", *deleted, "-o", "yaml"])
    state.write_text(rendered.stdout, encoding="utf-8")
    again = CliRunner().invoke(main, ["plan", *workspace, str(state), "-o", "json"])
    (operator,) = json.loads(again.stdout)["operators"]
    assert (operator["phase"], operator["outcome"]) == ("Succeeded", "installed")
