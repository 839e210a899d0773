"""Differences as Markdown: fit for a comment, the gravest first, and nothing of a stranger's is markup."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import compared

from olmc.diff.outputs import LIMIT, as_markdown, as_text, code

HOSTILE = "x` <script>alert(1)</script> ``[a](javascript:b)``` @team #1 | **b** \n# heading\n- \x1b[31m\u202e"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": data}


def without_code(text: str) -> str:
    """Markdown without its inline code, as CommonMark finds it: runs of as many backticks on both ends."""
    return re.sub(r"(?<!`)(`+)(?!`)(?:.|\n)*?(?<!`)\1(?!`)", "", text)


def test_hostile_names_are_code() -> None:
    """Whatever of a name or a value is markup stays inside of inline code, and on its line."""
    old = [config_map("a", **{HOSTILE: "x"}), config_map(HOSTILE)]
    new = [config_map("a", **{HOSTILE: HOSTILE})]
    text = as_markdown(compared(old, new))
    outside = without_code(text)
    for bad in ("script", "javascript", "@team", "# heading", "\x1b", "\u202e", "**b**"):
        assert bad not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_hostile_names_in_a_terminal() -> None:
    text = as_text(compared([config_map("a", b=HOSTILE)], [config_map("a", b="c")]))
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(st.text(max_size=40))
def test_inline_code_holds_any_text(text: str) -> None:
    """R-CommonMark: a run of backticks inside is shorter than the one around, so nothing gets out."""
    assert without_code(f"a {code(text)} b") == "a  b"
    assert "\n" not in code(text)


def many(count: int, value: str) -> list[dict[str, Any]]:
    return [config_map(f"settings-{number:05}", key=f"{value}{number}".ljust(50, "x")) for number in range(count)]


@pytest.mark.parametrize("count", [100, 2000, 4000])
def test_the_limit(count: int) -> None:
    """What is cut is counted, and the lists stay whole."""
    text = as_markdown(compared(many(count, "v"), many(count, "w")))
    assert len(text) <= LIMIT
    shown = text.count("  - ✏️ `data.key`: ")
    cut = re.search(r"\*\*(\d+) changes do not fit into a comment\*\* \((\d+) in Everything else\)", text)
    assert shown + (int(cut[1]) if cut else 0) == count
    assert (cut is None) == (count == 100)
    assert text.count("<details>") == text.count("</details>")


def test_the_gravest_is_never_cut_for_the_rest() -> None:
    """A breaking change stands first, however much else there is."""
    group = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a.b.c"}}
    text = as_markdown(compared([group, *many(4000, "v")], many(4000, "w")))
    assert "#### 🛑 Breaking (1)\n\n- `CustomResourceDefinition/a.b.c`\n" in text
    assert text.index("Breaking") < text.index("settings-00000")


def test_a_tiny_limit_still_names_the_cut() -> None:
    text = as_markdown(compared(many(50, "v"), many(50, "w")), 1000)
    assert len(text) <= 1000
    assert "do not fit" in text
