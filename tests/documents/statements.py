"""What the documents state, what shows it, and the page that says so.

    .venv/bin/python tests/documents/statements.py           # counts
    .venv/bin/python tests/documents/statements.py --write   # counts, and docs/statements.md again

Each YAML file beside this module is a document (README.md has its keys).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "statements.md"
OWN_TEST = "tests/documents/test_statements.py::test_statement"
ROW_KEYS = {"id", "section", "says", "test", "differs", "fails"} | {
    "workspace", "olmc", "expect", "steps", "run", "prints", "lacks",
}  # fmt: skip
HEAD = """\
# The documents, statement by statement

Every statement of the five documents that olmc implements, in our words, and the tests that show it, named below
`tests/`. Intended differences have a reason; [Where olmc and the documents differ](differences.md) and
[the rule book](spec/documents.md) have more about it. Open statements do not hold yet. The page is made of
[tests/documents](../tests/documents/README.md).
""".splitlines()


class Statement(NamedTuple):
    """One statement of a document; `row` is all that its file says about it."""

    id: str
    section: str
    says: str
    tests: tuple[str, ...]
    differs: str
    fails: str
    row: Mapping[str, Any]

    @property
    def is_case(self) -> bool:
        """Whether its row says what olmc must do, so that it is a test itself."""
        return "expect" in self.row or "run" in self.row

    @property
    def shown_by(self) -> tuple[str, ...]:
        """The tests that show it, its own row last."""
        own = (f"{OWN_TEST}[{self.id}]",) if self.is_case and not self.fails else ()
        return (*self.tests, *own)


class Document(NamedTuple):
    """A document: its title, the word that other pages have for it, what all of its cases have in common."""

    title: str
    word: str
    olmc: Mapping[str, Any]
    workspaces: Mapping[str, Mapping[str, Any]]
    statements: tuple[Statement, ...]


def statement(row: Mapping[str, Any]) -> Statement:
    """A row of a file; a key that there is not is an error."""
    if unknown := row.keys() - ROW_KEYS:
        text = f"{row.get('id')}: unknown keys {sorted(unknown)}"
        raise ValueError(text)
    tests = row.get("test", ())
    names = (tests,) if isinstance(tests, str) else tuple(tests)
    differs, fails = row.get("differs", ""), row.get("fails", "")
    return Statement(row["id"], row["section"], row["says"], names, differs, fails, row)


def documents() -> Iterator[Document]:
    """The documents in the order of their files."""
    for path in sorted(HERE.glob("*.yaml")):
        data = yaml.load(path.read_text(encoding="utf-8"), LOADER)
        rows = tuple(statement(row) for row in data["statements"])
        yield Document(data["title"], data["word"], data.get("olmc", {}), data.get("workspaces", {}), rows)


def counts(rows: Sequence[Statement]) -> tuple[int, int, int, int]:
    """How many statements there are, how many are held, how many differ on purpose, and how many are open."""
    differing = sum(bool(row.differs) for row in rows)
    failing = sum(bool(row.fails) for row in rows)
    return len(rows), len(rows) - differing - failing, differing, failing


def counts_table(shown: Sequence[Document]) -> Iterator[str]:
    """The counts of each document, and of all."""
    yield "| document | statements | held | differing on purpose | open |"
    yield "|---|---|---|---|---|"
    for document in shown:
        numbers = " | ".join(str(number) for number in counts(document.statements))
        yield f"| *{document.word}*: {document.title} | {numbers} |"
    everything = counts([row for document in shown for row in document.statements])
    yield f"| all | {' | '.join(str(number) for number in everything)} |"


def text_cell(text: str) -> str:
    """A text in a cell of a table: lines and bars would end it, angle brackets would be HTML."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def evidence(row: Statement) -> str:
    """What the last column says of a statement."""
    tests = [f"`{name.removeprefix('tests/')}`" for name in row.shown_by]
    reason = f"**open**: {text_cell(row.fails)}" if row.fails else f"*differs*: {text_cell(row.differs)}"
    return "<br>".join([reason, *tests] if row.fails or row.differs else tests)


def page() -> str:
    """The page docs/statements.md."""
    shown = list(documents())
    lines = [*HEAD, "", *counts_table(shown)]
    for document in shown:
        lines += ["", f"## {document.title}", "", "| id | section | statement | shown by |", "|---|---|---|---|"]
        for row in document.statements:
            lines.append(f"| {row.id} | {text_cell(row.section)} | {text_cell(row.says)} | {evidence(row)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8", newline="\n")
    sys.stdout.write("\n".join(counts_table(list(documents()))) + "\n")
