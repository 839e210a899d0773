"""docs/glossary.md: each word once, in one sentence, with whose word it is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

# Names of code that newcomers meet first.
WANTED = (
    "`Cluster`", "`initial_state`", "`apply_step`", "`ResolveRequest`", "`Resolution`", "`Snapshot`", "`ResolveError`",
    "`NamespacedName`", "`ObjectKey`", "`Severity`", "`UntrustedText`", "`copied_csvs`", "`existing_install_plans`",
)  # fmt: skip


@pytest.fixture(scope="module")
def rows(project: Path) -> list[list[str]]:
    """The cells of all tables but their heads."""
    lines = (project / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] != "word"]


def test_every_word_is_defined_once(rows: list[list[str]]) -> None:
    words = Counter(word for row in rows for word in re.split(r", | \(|\)", row[0]) if word)
    assert [word for word, count in words.items() if count > 1] == []
    assert [name for name in WANTED if name not in words] == []
    assert len(words) > 150


def test_a_definition_is_one_sentence_with_its_origin(rows: list[list[str]]) -> None:
    for row in rows:
        word, meaning, origin = row
        assert 15 < len(meaning) < 160, word
        assert not re.search(r"\. [A-Z]", meaning), word
        assert not meaning.endswith("."), word
        assert origin, word
