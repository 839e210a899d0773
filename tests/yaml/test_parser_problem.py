"""What go-yaml says about texts that are not YAML."""

from __future__ import annotations

import pytest

from olmc.k8s.yaml.problems import parser_problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1", ""),
        ("a: [b\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
    ],
)
def test_texts(text: str, problem: str) -> None:
    """R-V1-LOAD-2, R-V1-CFG-4."""
    assert parser_problem(text) == problem
