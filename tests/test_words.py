"""docs/words.py, which counts phrases that are no plain English in pages, docstrings and comments."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

MODULE = '''"""What it reads, and whatever comes."""

VALUE = "nobody reads a text"  # is told by others


def first(path: str) -> str | None:
    """Return the first line.

    None for an empty file; `nobody` is a name.
    """
    # Nobody calls it.
    return path or None
'''


@pytest.fixture
def words(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", project / "docs" / "words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _found(words: ModuleType, text: str) -> list[tuple[int, str]]:
    return [
        (line.line, hit[0].strip())
        for block in words.paragraphs(text)
        for line in block
        for pattern in words.PHRASES.values()
        for hit in pattern.finditer(line.text)
    ]


def test_docstrings_and_comments_count_and_code_does_not(words: ModuleType) -> None:
    found = _found(words, words.prose_of(MODULE))
    assert found == [(1, "What i"), (1, "whatever"), (3, "is told"), (11, "Nobody")]


def test_a_page_counts_as_a_whole(words: ModuleType) -> None:
    assert _found(words, "A field says it.\n\n```\nnobody\n```\n\nNobody reads `nobody`.\n") == [
        (1, "field says"), (7, "Nobody"),
    ]  # fmt: skip


def test_modules_have_a_limit(words: ModuleType) -> None:
    assert [group.limit for group in words.GROUPS if group.patterns == ("olmc/**/*.py",)] != []
