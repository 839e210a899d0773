"""Graphs of channels."""

from __future__ import annotations

import pytest

from olmc.compiler.catalogs.content import graph_problem, heads
from olmc.compiler.model.catalog import ChannelEntry


def channel(written: str) -> list[ChannelEntry]:
    """Entries from `name>replaced-skipped-skipped`, blank-separated."""
    entries = []
    for word in written.split():
        edge, *skips = word.split("-")
        name, _, replaces = edge.partition(">")
        entries.append(ChannelEntry(name, replaces, tuple(skips)))
    return entries


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("a", ""),
        ("c>b b>a a", ""),
        ("c>b b>a a>gone", ""),
        ("c-b-a b a", ""),
        ("c-x b>a-c a", ""),
        ("c-x b>a a", "multiple channel heads found in graph: b, c"),
        ("d>c c-b b-a a", ""),
        ("d>c-c c>b b", "channel contains one or more stranded bundles: b"),
        ("a>b b>a", "no channel head found in graph"),
        ("b a", "multiple channel heads found in graph: a, b"),
        ("e>d d>d", "detected cycle in replaces chain of upgrade graph: d -> d"),
        ("d>c c>b b>a a>c", "detected cycle in replaces chain of upgrade graph: c -> b -> a -> c"),
        ("d>c c>b b>a-c a>c", "channel contains one or more stranded bundles: a, b"),
        ("c-b b>a a", "channel contains one or more stranded bundles: a"),
    ],
)
def test_a_graph_has_one_chain_from_one_head(written: str, problem: str) -> None:
    """R-CAT-400."""
    found, _ = graph_problem(channel(written))
    assert found == problem


def test_the_head_is_what_nothing_replaces_or_skips() -> None:
    """R-CAT-401."""
    assert heads(channel("c>b-a b a")) == ["c"]


def test_long_chains_are_no_burden() -> None:
    """R-CAT-400: a chain of ten thousand entries is followed once."""
    entries = [ChannelEntry(f"p.v{n}", f"p.v{n - 1}" if n else "") for n in range(10_000)]
    assert graph_problem(entries) == ("", "")
