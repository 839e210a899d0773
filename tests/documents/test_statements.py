"""The documents statement by statement: each is shown by a test, differs for a reason, or is open (README.md)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from click.testing import CliRunner
from rule_cases import EXPECTATIONS, differences, options
from statements import PAGE, Document, Statement, documents, page

import olmc
from olmc.cli.main import main

DOCUMENTS = list(documents())
STATEMENTS = [row for document in DOCUMENTS for row in document.statements]
# How many statements do not hold. Who mends one takes `fails` from its row, and one from here.
OPEN = 0
# The statements about a change of a running cluster: an upgrade, other targets, a deletion, another setting.
CHANGES = frozenset(
    """
    D0-009 D0-019 D0-020 D0-064 D0-075 D0-077 D0-087 D1-065 D2-049 D2-056 D2-060 D2-107 D2-130 D3-060 D3-074
    D4-016 D4-031 D4-047 D4-056 D4-069 D4-073 D4-077 D4-080 D4-082 D4-122 D4-139 D4-140
    """.split()
)

OF_A_CHANGE = re.compile(r"\b(no longer|goes on once|is deleted|are deleted|has resolved|held back)\b")


def as_parameter(document: Document, row: Statement) -> Any:
    """A row that is open has to fail: what holds is not open any more."""
    marks = pytest.mark.xfail(reason=row.fails, raises=pytest.fail.Exception, strict=True) if row.fails else ()
    return pytest.param(document, row, id=row.id, marks=marks)


CASES = [as_parameter(document, row) for document in DOCUMENTS for row in document.statements if row.is_case]


def run(command: list[str]) -> tuple[int, str]:
    """The exit code of a command in this folder, and what it prints."""
    result = CliRunner().invoke(main, command)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def printed_wrong(row: Mapping[str, Any]) -> Iterator[str]:
    """What the command of a row prints too much or too little, a line each."""
    for command in row.get("steps", ()):
        run(command)
    _, output = run(row["run"])
    missing = [text for text in row.get("prints", ()) if text not in output]
    unwanted = [text for text in row.get("lacks", ()) if text in output]
    if missing or unwanted:
        yield f"olmc {' '.join(row['run'])} lacks {missing} and prints {unwanted}:\n{output}"


@pytest.mark.parametrize(("document", "row"), CASES)
def test_statement(document: Document, row: Statement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = document.workspaces[row.row["workspace"]]
    write_workspace(tmp_path, workspace)
    monkeypatch.chdir(tmp_path)
    problems = list(printed_wrong(row.row)) if "run" in row.row else []
    if "expect" in row.row:
        chosen = {**document.olmc, **workspace.get("olmc", {}), **row.row.get("olmc", {})}
        made = olmc.compile(tmp_path, options(chosen))
        if wrong := list(differences(row.row["expect"], made)):
            problems += [*wrong, "olmc said:", *(f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics)]
    if problems:
        pytest.fail("\n".join([row.says, *problems]), pytrace=False)


def test_ids_are_unique_and_in_order() -> None:
    ids = [row.id for row in STATEMENTS]
    assert ids == sorted(set(ids))
    assert len(ids) >= 280


def test_every_statement_is_shown_or_has_a_reason() -> None:
    assert [row.id for row in STATEMENTS if not (row.shown_by or row.differs or row.fails)] == []
    assert [row.id for row in STATEMENTS if row.differs and row.fails] == []
    assert [row.id for row in STATEMENTS if row.is_case and not row.row.get("expect", {}).keys() <= EXPECTATIONS] == []


def test_every_statement_about_a_change_has_a_transition() -> None:
    """From the cluster that was there before; `CHANGES` has the statements about a change of a cluster."""
    shown = {
        row.id for row in STATEMENTS if any("running_cluster" in test or "/transition/" in test for test in row.tests)
    }
    assert sorted(CHANGES - shown) == []


def test_words_of_a_change_are_in_a_statement_about_one() -> None:
    """A statement that says so of a running cluster counts as one about a change."""
    told = [row.id for row in STATEMENTS if not row.differs and OF_A_CHANGE.search(row.says)]
    assert len(told) >= 5
    assert sorted(set(told) - CHANGES) == []


def test_every_workspace_is_used() -> None:
    for document in DOCUMENTS:
        used = {row.row["workspace"] for row in document.statements if row.is_case}
        assert used == document.workspaces.keys(), document.word


def test_open_statements_are_counted() -> None:
    assert sum(bool(row.fails) for row in STATEMENTS) == OPEN


@pytest.mark.process
def test_tests_that_are_named_exist(project: Path) -> None:
    """By pytest's own collection of the files that the rows name."""
    named = {name for row in STATEMENTS for name in row.tests}
    files = sorted({name.partition("::")[0] for name in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=-p no:asyncio", "-q", *files]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert named - set(done.stdout.splitlines()) == set()


def test_the_page_is_current() -> None:
    """`.venv/bin/python tests/documents/statements.py --write` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()
