"""All commands agree on an operator's phase, version, next upgrade and cause: each says what `olmc status` says."""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from test_invariants import FIXTURES, WORKSPACES, compiling_once, deletes
from tiers import marked_slow

from olmc.cli.main import main
from olmc.compiler import api

Row = Mapping[str, Any]
# A bundle is no cluster, and has no catalogs.
BUNDLES = ("bare-csv", "two-groups", "several-workspaces/production", "several-workspaces/staging")
EXTENSIONS = ("olmv1/extension", "olmv1/upgrade", "olmv1/installer-rights")
ALONE = tuple(name for name in WORKSPACES if name not in BUNDLES and not name.startswith("transitions/"))
RUNNING = tuple(
    path.name
    for path in sorted((FIXTURES / "transitions").iterdir())
    if (path / "before").is_dir() and not deletes(path / "after")
)
FEW = {
    ("unsupported-mode", "check"), ("requirements-not-met", "plan"), ("subscription-config", "fleet"),
    ("upgrade-held-back", "why"), ("approval-changed", "resolve"), ("manual-approval", "graph"),
    ("operator-v2alpha1", "plan"), ("unsupported-mode", "report"),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _compiled_once() -> Iterator[None]:
    """All commands for a workspace that ask for the same compilation get the same one; none may change it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "compile", compiling_once(api.compile, 8))
        yield


def run(*command: str) -> Any:
    """The JSON that a command prints, whatever its exit code is."""
    result = CliRunner().invoke(main, [*command, "-o", "json"])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return json.loads(result.stdout)


@functools.lru_cache(maxsize=4)
def rows_of_status(path: str, cluster: tuple[str, ...]) -> list[Row]:
    """The operators that `olmc status` shows, for all commands that are compared with it; none may change them."""
    rows: list[Row] = run("status", path, *cluster)["operators"]
    return rows


def causes(row: Row) -> list[str]:
    return [line["text"] for line in row["missing"]]


def is_said(text: str, lines: Iterable[str]) -> bool:
    """Whether one of the lines has the text; a place where more is said may put other words before it."""
    core = re.sub(r" \(and \d+ more\)$", "", text.removeprefix("it runs on, but "))
    return any(core in line or line in core for line in lines)


@functools.cache
def rows_of_fleet(*paths: str) -> dict[str, list[Row]]:
    """The operators of each cluster of a fleet; none may change them. A worker starts for all of them."""
    outcomes = run("fleet", "status", *paths, "--jobs", "1")["outcomes"]
    # Their names are paths in the repository.
    return {
        str(FIXTURES.parent / cluster): outcome["operators"] for outcome in outcomes for cluster in outcome["clusters"]
    }


def of_fleet(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:
    if cluster:
        return  # a fleet is of clusters
    others = [str(FIXTURES / name) for name in (*ALONE, *EXTENSIONS) if (name, "fleet") not in FEW]
    found = rows_of_fleet(*others)[path] if path in others else rows_of_fleet(path)[path]
    yield from (f"{mine} instead of {row}" for row, mine in zip(rows, found, strict=True) if row != mine)


def of_plan(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:
    plan = run("plan", path, *(cluster or ("--from", path)))
    found: dict[tuple[str, str], list[Any]] = {}
    for each in plan["operators"]:
        found.setdefault((each["namespace"], each["package"]), []).append(each)
    for row in rows:
        name = row["namespace"], row["package"]
        same = [e for e in found.get(name, ()) if e["to"] == {"csv": row["csv"], "version": row["version"]}]
        phases = {row["phase"], row["reason"]}
        mine = next((each for each in same if each["phase"] in phases), None)
        if mine is None:
            yield f"{name}: {found.get(name)} instead of {row}"
        elif mine["why"] and mine["outcome"] != "moved" and not is_said(mine["why"], causes(row)):
            yield f"{name}: {mine['why']} instead of {causes(row)}"
        elif row["fails"] and not mine["why"]:
            yield f"{name}: no cause instead of {causes(row)}"


def of_why(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:
    for row in rows:
        targets = [
            (f"Subscription/{row['namespace']}/{row['subscription']}", row["subscription"]),
            (row["upgrade"], row["waits"] == "HeldBack"),
            (f"ClusterServiceVersion/{row['namespace']}/{row['csv']}", row["phase"] in ("Failed", "Pending")),
            (f"ClusterExtension/{row.get('extension')}", row.get("extension")),
        ]
        for target in (target for target, is_there in targets if is_there):
            answers = run("why", target, path, *cluster)["answers"]
            lines = [line["text"] for answer in answers for line in answer["because"]]
            if causes(row) and not any(is_said(text, lines) for text in causes(row)):
                yield f"{target}: {lines} instead of {causes(row)}"


def of_check(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:
    findings = run("check", path, *cluster)["findings"]
    grave = [each["message"] for each in findings if each["severity"] in ("failure", "error")]
    by_csv = {(row["csv"], row["namespace"]): row for row in rows}
    for row in rows:
        names = {row["csv"], row["upgrade"], row["package"], f"namespace {row['namespace']}"} - {""}
        if row["fails"] and not any(name in message for name in names for message in grave):
            yield f"nothing about {row}"
    for message in grave:
        said = re.match(r"(\S+) in namespace (\S+) would (?:be|stay) (\w+) \((\w+)\)", message)
        found = by_csv.get((said[1], said[2])) if said is not None else None
        if said is not None and found is not None and (found["phase"], found["reason"]) != (said[3], said[4]):
            yield f"{message}, but {found}"


def of_resolve(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:
    found = {each["namespace"]: each for each in run("resolve", path, *cluster)["namespaces"]}
    for row in rows:
        if not row["subscription"] or row["namespace"] not in found:
            continue
        mine = found[row["namespace"]]
        planned = {name for plan in mine["plans"] for name in plan["install"]}
        solved = {each["name"] for each in mine["solution"]}
        if row["csv"] and row["csv"] not in mine["settled"]:
            yield f"{row['csv']} is not settled: {mine}"
        if row["upgrade"] and row["upgrade"] not in planned | solved:
            yield f"{row['upgrade']} is not planned: {mine}"


def of_graph(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG001 - of catalogs alone
    for row in (row for row in rows if row["upgrade"] and row["csv"] and not row.get("extension")):
        graph = run("graph", row["package"], path)
        after = {each["name"]: each["next"] for each in graph["versions"]}
        if after.get(row["csv"], {}).get(row["channel"]) != row["upgrade"]:
            yield f"{row['upgrade']} does not follow {row['csv']} in {after}"


def of_report(rows: list[Row], path: str, cluster: tuple[str, ...]) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        result = CliRunner().invoke(main, ["report", path, *cluster, "-o", folder])
        assert isinstance(result.exception, SystemExit | None), result.exception
        pages = [html.unescape(page.read_text(encoding="utf-8")) for page in sorted(Path(folder).rglob("*.html"))]
    for row in rows:
        shown = [row["package"], row["version"], row["upgrade"], row["phase"] or row["reason"], *causes(row)[:1]]
        if not any(all(text in page for text in shown) for page in pages):
            yield f"no page has {[text for text in shown if not any(text in page for page in pages)]} of {row}"


COMMANDS: dict[str, Callable[[list[Row], str, tuple[str, ...]], Iterator[str]]] = {
    "fleet": of_fleet, "plan": of_plan, "why": of_why, "check": of_check, "resolve": of_resolve, "graph": of_graph,
    "report": of_report,
}  # fmt: skip
EVERY = [(name, command) for name in (*ALONE, *EXTENSIONS, *RUNNING) for command in COMMANDS]


@pytest.mark.parametrize("pair", marked_slow(EVERY, lambda pair: pair not in FEW), ids="-".join)
def test_a_command_says_what_status_says(pair: tuple[str, str]) -> None:
    name, command = pair
    root = FIXTURES / name
    cluster: tuple[str, ...] = ()
    if name in RUNNING:
        root = FIXTURES / "transitions" / name / "after"
        cluster = ("--from", str(root.parent / "before"))
    rows = rows_of_status(str(root), cluster)
    assert list(COMMANDS[command](rows, str(root), cluster)) == []


def test_a_way_out_begins_with_the_same_cluster() -> None:
    """What status advises works as it stands: here the plan for an upgrade is one of the running cluster."""
    root = FIXTURES / "transitions" / "approval-changed"
    status = ["status", str(root / "after"), "--from", str(root / "before")]
    shown = CliRunner().invoke(main, status).output
    command = re.search(r"`olmc (.*)`", shown)
    assert command is not None, shown
    result = CliRunner().invoke(main, command[1].split())
    assert "1.1.0    Succeeded" in result.output


def test_an_extension_explains_a_csv_that_is_not_there() -> None:
    answers = run("why", "kettle.v1.1.0", str(FIXTURES / "olmv1" / "extension"))["answers"]
    assert [line["text"] for line in answers[0]["because"]] == [
        "ClusterExtension kettle asks for package kettle",
        "it has kettle.v1.1.0 installed; OLM v1 applies the objects of a bundle without its ClusterServiceVersion",
    ]
