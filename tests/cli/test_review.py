"""`olmc rbac`, `olmc why` and `olmc status`: what they answer, and with which exit code (docs/review.md)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import olmc
from jsonschema import Draft202012Validator
from scenarios import workspace, write
from tiers import marked_slow, sampled

from olmc.cli import inspect
from olmc.cli.compiling import compiled
from olmc.compiler.rules.rulebook import rule_url
from olmc.resources import schema

CASES = yaml.safe_load((Path(__file__).parent.parent / "rbac_report" / "answers.yaml").read_text(encoding="utf-8"))
FIXTURES = sorted(
    path.name
    for path in (Path(__file__).parents[2] / "fixtures").iterdir()
    if path.is_dir() and path.name not in ("several-workspaces", "olmv1", "repos", "transitions")
)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case['title']}: {case['run']}") for case in CASES])
def test_answer(case: dict[str, Any]) -> None:
    result = olmc(*shlex.split(case["run"]))
    assert (result.exit_code, result.stdout) == (case["exit"], case["stdout"])
    assert result.stderr.strip("\n").rpartition("\n")[2] == case.get("stderr", "")


def problems(name: str, text: str) -> list[str]:
    return [error.message for error in Draft202012Validator(schema(name)).iter_errors(json.loads(text))]


@pytest.mark.parametrize("name", sampled(FIXTURES, 3))
def test_json_is_as_the_schemas_say(name: str) -> None:
    for kind, arguments in (
        ("rbac", ["rbac", name]),
        ("who-can", ["rbac", "who-can", "get", "secrets", name]),
        ("status", ["status", name]),
    ):
        assert problems(kind, olmc(*arguments, "-o", "json").stdout) == []
    for package in {each["package"] for each in json.loads(olmc("status", name, "-o", "json").stdout)["operators"]}:
        result = olmc("why", package, name, "-o", "json")
        assert problems("why", result.stdout) == []
        assert json.loads(result.stdout)["target"] == package


def test_several_workspaces_are_told_apart() -> None:
    paths = ["several-workspaces/production", "several-workspaces/staging"]
    found = json.loads(olmc("status", *paths, "-o", "json").stdout)["operators"]
    assert [(each["workspace"], each["version"]) for each in found] == [(paths[0], "1.0.0"), (paths[1], "1.1.0")]


@pytest.mark.parametrize("name", sampled(FIXTURES, 4))
def test_status_fails_when_render_does(name: str) -> None:
    """An operator that would fail is a finding of every command."""
    assert olmc("status", name).exit_code == olmc("render", name, "-o", "name").exit_code


@pytest.mark.parametrize("name", marked_slow(FIXTURES, lambda name: name != "own-namespace"))
def test_everything_that_is_rendered_has_an_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each object by its name in `olmc render -o name`, with the pass and, but for what OLM names itself, the place.

    The workspace is compiled for the first of them.
    """
    kept: list[Any] = []

    def compiled_once(*arguments: Any, **options: Any) -> Any:
        kept[:] = kept or [compiled(*arguments, **options)]
        return kept[0]

    monkeypatch.setattr(inspect, "compiled", compiled_once)
    for line in olmc("render", name, "-o", "name").stdout.splitlines():
        result = olmc("why", line, name, "-o", "json")
        (answer,) = json.loads(result.stdout)["answers"]
        found = answer["object"]
        assert "/".join(filter(None, (found["kind"], found["namespace"], found["name"]))) == line
        assert answer["pass"], line
        assert answer["ruleUrl"] == rule_url(answer["rule"]), line
        assert bool(answer["ruleUrl"]) == bool(answer["rule"]), line
        assert answer["place"] or found["kind"] in ("InstallPlan", "Operator", "Subscription", "Namespace"), line
        assert result.exit_code == (answer["state"] == "failing")


@pytest.mark.parametrize("arguments", [("rbac",), ("rbac", "who-can", "get", "pods"), ("status",), ("why", "x")])
def test_what_can_not_be_compiled(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("x: [{apiVersion: v1, kind: Pod},\n", encoding="utf-8")
    result = olmc(*arguments, tmp_path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "broken.yaml" in result.stderr


def test_nothing_to_tell(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", encoding="utf-8")
    status = olmc("status", tmp_path)
    assert (status.exit_code, status.stdout, status.stderr) == (0, "", "olmc: no operators here\n")
    assert json.loads(olmc("status", tmp_path, "-o", "json").stdout) == {"version": 1, "operators": []}
    assert olmc("rbac", tmp_path).stdout == "No subject has permissions here.\n"


def test_what_no_row_tells_is_told_beside_the_table(tmp_path: Path) -> None:
    """Two groups without an operator; what the rows tell is not told twice."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: %s, namespace: a}\n"
    text = "---\n".join(["apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", group % "one", group % "two"])
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    result = olmc("status", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "namespace a has more than one OperatorGroup: one, two [OLMC306]" in result.stderr
    assert olmc("status", "two-groups").stderr == ""


def test_options_come_from_the_environment() -> None:
    assert json.loads(olmc("status", "upgrade", env={"OLMC_STATUS_OUTPUT": "json"}).stdout)["version"] == 1
    assert olmc("rbac", "permissions", env={"OLMC_RBAC_FAIL_ON": "low"}).exit_code == 1
    asked = olmc("rbac", "who-can", "get", "secrets", "permissions", env={"OLMC_RBAC_WHO_CAN_NAMESPACE": "olm"})
    assert len(asked.stdout.splitlines()) == 2


def test_what_a_workspace_prints_is_not_what_there_is(tmp_path: Path, project: Path) -> None:
    """Its olmc.yaml leaves kinds out and renders for apply; permissions and reasons are those of the cluster."""
    for path in sorted((project / "fixtures/own-namespace").rglob("*")):
        target = tmp_path / path.relative_to(project / "fixtures/own-namespace")
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {for: apply, exclude: [Deployment, ClusterRole]}\n"
    (tmp_path / "olmc.yaml").write_text(config, encoding="utf-8")
    for arguments in (("rbac",), ("status",), ("why", "deploy/beacon-controller")):
        there = project / "fixtures/own-namespace"
        assert olmc("-C", tmp_path, *arguments).stdout == olmc("-C", there, *arguments).stdout


def cases(shared: Path) -> Iterator[Path]:
    yield from sorted((shared / "conformance" / "cases").glob("synthetic/*"))


PACKAGE = "operators.operatorframework.io.bundle.package.v1"

# Where a cluster showed another moment of what never settles; case.yaml accepts the one that olmc gives.
FLAPPING = {"38-webhook-conversion-modes"}


def test_phases_are_those_that_clusters_had(shared: Path, project: Path) -> None:
    waiting = {line.strip() for line in (project / "tests/conformance/waiting.txt").read_text("utf-8").splitlines()}
    told = 0
    for case in cases(shared):
        rows = {
            (row["namespace"], row["csv"]): (row["phase"], row["reason"])
            for row in json.loads(olmc("status", case / "input", "-o", "json").stdout)["operators"]
        }
        for name, observed in originals(case):
            status = observed.get("status") or {}
            if case.name not in FLAPPING | waiting and status.get("phase") != "Replacing":
                assert rows[name] == (status.get("phase") or "", status.get("reason") or ""), case.name
                told += 1
    assert told > 70


def originals(case: Path) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """The CSVs of a case that are no copies."""
    for found in json.loads((case / "observed.json").read_text(encoding="utf-8"))["items"]:
        metadata = found["metadata"]
        if found["kind"] == "ClusterServiceVersion" and "olm.copiedFrom" not in (metadata.get("labels") or {}):
            yield (metadata["namespace"], metadata["name"]), found


def test_every_case_has_reasons(shared: Path) -> None:
    """What is absent or fails has one, of all that the bundles would bring."""
    asked = 0
    for case in cases(shared):
        texts = [path.read_text(encoding="utf-8") for path in case.glob("input/bundles/*/metadata/annotations.yaml")]
        names = {yaml.safe_load(text)["annotations"][PACKAGE] for text in texts}
        for name in sorted(names):
            result = olmc("why", name, case / "input", "-o", "json")
            assert result.exit_code in (0, 1), (case.name, result.stderr)
            for answer in json.loads(result.stdout)["answers"]:
                assert answer["because"] or answer["state"] == "present", (case.name, name)
                asked += 1
    assert asked > 80


def test_each_operator_has_its_own_cause(tmp_path: Path) -> None:
    """A namespace is resolved as a whole, but each row says what is in the way of its Subscription."""
    catalog = ["a.v1 1.0.0 a/stable provides K", "b.v1 1.0.0 b/stable provides K"]
    write(tmp_path, workspace({"catalog": catalog, "subs": ["a a/stable", "b b/stable"]}))
    rows = json.loads(olmc("status", tmp_path, "-o", "json").stdout)["operators"]
    assert [row["package"] for row in rows] == ["a", "b"]
    told = [line for line in olmc("status", tmp_path).stdout.splitlines() if "as does " in line]
    assert ["as does b.v1 " in line for line in told] == [True, False]
    assert ["as does a.v1 " in line for line in told] == [False, True]
