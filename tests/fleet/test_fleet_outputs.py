"""What `olmc fleet` prints: comments within the limit of GitHub, and pages in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CONTRAST, Page, in_chromium, opened, shown
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from olmc.cli.main import main
from olmc.fleet.outputs import as_html, as_markdown
from olmc.fleet.results import FleetReport, OutcomeGroup, ordered

GITHUB = 65_536
HOSTILE = "</pre><script>alert(1)</script> | `a` <!-- "


def outcome(number: int, gravity: str, lines: int) -> OutcomeGroup:
    text = "".join(f"what happens in step {step} of {number}\n" for step in range(lines))
    return OutcomeGroup(f"outcome {number}", gravity, (f"clusters/c-{number:04}",), text, None, str(number))


def report(*counts: tuple[str, int, int]) -> FleetReport:
    """So many outcomes of a gravity, with so many lines each."""
    groups = [(gravity, lines) for gravity, count, lines in counts for _ in range(count)]
    return ordered("plan", len(groups), [outcome(at, *group) for at, group in enumerate(groups)])


def test_a_comment_that_is_short_has_everything() -> None:
    text = as_markdown(report(("breaking", 3, 5), ("change", 40, 5), ("none", 1, 0)))
    assert text.count("<details>") == 43
    assert text.count("of gravity") == text.count("more lines") == 0


def test_each_gravity_has_its_share_of_a_comment() -> None:
    """A thousand outcomes that matter little leave room for the rows and details of those that do."""
    text = as_markdown(report(("breaking", 20, 40), ("risk", 1, 9000), ("change", 2000, 20)))
    assert len(text) <= GITHUB
    folded = re.findall(r"<summary>.*?outcome (\d+)</summary>", text)
    rows = re.findall(r"^\| 1 \| outcome (\d+) \| (\w+) ", text, re.MULTILINE)
    assert [int(number) for number in folded[:21]] == list(range(21))
    assert [gravity for _, gravity in rows[:21]] == ["breaking"] * 20 + ["risk"]
    assert re.search(r"what happens in step 39 of 19\n```", text), "all lines of the gravest are there"
    kept = len(re.findall("of 20$", text, re.MULTILINE))
    assert kept > 200
    assert f"… and {9000 - kept:,} more lines" in text
    changes = [number for number, gravity in rows if gravity == "change"]
    assert len(changes) > 100
    assert f"| | … {2000 - len(changes):,} more of gravity change | change | |" in text
    assert f"… {2000 - len(folded) + 21:,} more of gravity change without room for details" in text


@given(
    st.lists(st.tuples(st.sampled_from(["error", "risk", "none"]), st.integers(0, 60), st.integers(0, 90)), max_size=5),
    st.integers(2000, 20000),
)
def test_a_comment_keeps_its_limit(counts: list[tuple[str, int, int]], limit: int) -> None:
    """Whatever there is: within the limit, all that is opened is closed, and nothing is left out where all fits."""
    whole = as_markdown(report(*counts), 10**9)
    text = as_markdown(report(*counts), limit)
    assert len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") == 2 * text.count("<details>")
    assert (text == whole) == (len(whole) <= limit)
