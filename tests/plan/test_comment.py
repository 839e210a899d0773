"""A plan as a comment on a pull request: its limit, and paths that one of the sides does not have."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from olmc.cli.main import main
from olmc.compiler.output.document import LIMIT
from olmc.k8s.objects import ObjectKey
from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.settings import Side
from olmc.review.plan.leftovers import Action, AppliedChange, Plan, Task
from olmc.review.plan.outcomes import OperatorOutcome, PlannedInstall
from olmc.review.plan.outputs import as_markdown


def difference(maps: int) -> Difference:
    def side(name: str, value: str) -> Side:
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        objects = ({**kind, "metadata": {"name": f"m{at:05}", "namespace": "n"}, "data": {"a": f"{value}{at}"}}
                   for at in range(maps))  # fmt: skip
        return Side(name, tuple(objects))

    return compare(side("old", "v"), side("new", "w"))


def applied(action: Action, number: int) -> AppliedChange:
    return AppliedChange(action, ObjectKey("", "ConfigMap", "n", f"{action}-{number}"))


@given(
    created=st.integers(0, 2000), pruned=st.integers(0, 10), operators=st.integers(0, 800), tasks=st.integers(0, 300),
    maps=st.integers(0, 1200),
)  # fmt: skip
@examples(15)
def test_each_part_has_its_share(created: int, pruned: int, operators: int, tasks: int, maps: int) -> None:
    """However long one is, all others are there; what is pruned and what fails before what is new; counts add up."""
    rows = [
        OperatorOutcome("n", f"p{at}", "", "", f"p{at}.v1", "1", "Succeeded", "installed") for at in range(operators)
    ]
    rows += [OperatorOutcome("n", "broken", "", "", "broken.v1", "1", "Failed", "failing", "it fails")]
    plan = Plan(
        (*(applied("create", at) for at in range(created)), *(applied("prune", at) for at in range(pruned))),
        tuple(PlannedInstall("n", f"i{at}", (("", f"p{at}.v1"),), "Automatic", "Complete", "", 3, 3)
              for at in range(operators)),
        tuple(rows), (), difference(maps), tuple(Task(f"Approve {at}.", f"kubectl {at}") for at in range(tasks)),
    )  # fmt: skip
    text = as_markdown(plan)
    assert len(text) <= LIMIT
    assert "`broken`" in text
    assert all(f"ConfigMap/n/prune-{at}: " in text for at in range(pruned))
    assert ("**What is left to do**" in text) == (tasks > 0)
    assert ("`data.a`: " in text) == (maps > 0)
    for shown, total, heading in (
        (r"^- `[+-] ConfigMap", created + pruned, "What is applied"), (r"^- `InstallPlan ", operators, "What OLM does"),
        (r"^- `Approve ", tasks, "What is left"),
    ):  # fmt: skip
        part = re.search(rf"\*\*{heading}[^*]*\*\*\n\n((?:.|\n)*?)(?=\n\*\*|\n\||\n###|\Z)", text)
        more = re.search(r"^- … and (\d+) more$", part[1], re.MULTILINE) if part else None
        assert len(re.findall(shown, text, re.MULTILINE)) + (int(more[1]) if more else 0) == total
    table = re.search(r"^\| … \| (\d+) more", text, re.MULTILINE)
    assert len(re.findall(r"^\| `n` ", text, re.MULTILINE)) + (int(table[1]) if table else 0) == operators + 1


def test_what_is_too_long_hides_nothing_else() -> None:
    """It comes first, is left out, and is counted."""
    why = ("x" * 90_000, "it fails")
    rows = [
        OperatorOutcome("n", f"p{at}", "", "", "a.v1", "1", "Failed", "failing", text) for at, text in enumerate(why)
    ]
    tasks = (Task("y" * 90_000, ""), Task("Approve it.", ""))
    text = as_markdown(Plan((), (), tuple(rows), (), difference(900), tasks))
    assert len(text) <= LIMIT
    assert "`failing: it fails` |\n| … | 1 more |" in text
    assert "- `Approve it.`\n- … and 1 more\n" in text


def test_a_bar_ends_no_cell() -> None:
    row = OperatorOutcome("n", "p", "", "", "p.v1", "1", "Failed", "failing", "a | b")
    text = as_markdown(Plan((), (), (row,), (), difference(0), ()))
    assert r"`failing: a \| b`" in text


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose commit has the workspace `old`, and whose work tree has `new` instead."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    (tmp_path / "old").mkdir()
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: quay, namespace: harbour}\n"
    (tmp_path / "old/a.yaml").write_text(f"{namespace}---\n{group}", encoding="utf-8")
    for arguments in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "one"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["plan", *arguments, "--from", "git:HEAD", "--exit-code"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(("path", "says"), [("new", "+ Namespace/harbour: created"), ("old", "- Namespace/harbour: ")])
def test_a_side_that_lacks_the_path_is_empty(path: str, says: str) -> None:
    """A pull request that brings a workspace, and one that removes it."""
    result = run(path, "--allow-empty", "-o", "markdown")
    assert (result.exit_code, says in result.stdout) == (1, True), result.output


@pytest.mark.usefixtures("repository")
def test_without_the_option_olmc_names_the_empty_side() -> None:
    """A commit without the workspace is an empty cluster; a path that does not exist is a mistake."""
    result = run("new")
    assert (result.exit_code, "git:HEAD has nothing for OLM; it counts as an empty" in result.stderr) == (1, True)
    assert run("old").exit_code == 3
