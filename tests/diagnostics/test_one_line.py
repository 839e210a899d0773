"""A message is one line: who reads findings from a log goes by lines."""

from __future__ import annotations

import pytest

from olmc.k8s.diagnostics import one_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one line", "one line"),
        ("  as it is ", "  as it is "),
        ("index:\n└── package:\n    └── no bundle", "index: package: no bundle"),
        ("index:\n├── package a:\n│   └── no bundle\n└── package b", "index: package a: no bundle; package b"),
        ("a\n\n b,\nc\n", "a; b, c"),
    ],
)
def test_lines_become_one(text: str, expected: str) -> None:
    assert one_line(text) == expected
