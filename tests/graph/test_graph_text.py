"""Graphs as Mermaid and Graphviz, and which edges are drawn."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from graph_kit import CATALOGS, EXPECTED, hostile, package, packages
from hypothesis import given

from olmc.compiler.model.catalog import Deprecation, Package
from olmc.k8s.diagnostics import Report
from olmc.review.graph.catalogs import MARKS, Arrow, ChannelRow, NamedCatalog, catalogs_at, channel_rows
from olmc.review.graph.output import as_dot, as_mermaid, draw_package
from olmc.review.graph.upgrade_graph import upgrade_graph


def drawn(made: Package, *, all_ranges: bool = False) -> tuple[ChannelRow, ...]:
    return channel_rows(upgrade_graph(made), all_ranges=all_ranges)


def marks(row: ChannelRow) -> dict[str, tuple[str, ...]]:
    return {cell.label: cell.marks for cell in row.cells}


@pytest.mark.parametrize(("output", "suffix"), [("mermaid", "mmd"), ("dot", "dot")])
def test_drawing_of_a_catalog(output: str, suffix: str) -> None:
    """R-CAT-401, R-CAT-410: channels, heads, edges, and what is skipped, deprecated or missing."""
    (shelf,) = catalogs_at(CATALOGS / "kettle", Report())
    expected = (EXPECTED / f"kettle.{suffix}").read_text(encoding="utf-8")
    assert draw_package(shelf, "kettle", (), output).text == expected


def test_two_versions_are_joined_by_one_line_at_most() -> None:
    """R-CAT-410: replaces before skips before skipRange."""
    made = package({"s": ["1.0.0", "1.1.0", "2.0.0 > 1.1.0 skips 1.0.0 1.1.0 range <2.0.0"]})
    (row,) = drawn(made, all_ranges=True)
    assert row.arrows == (Arrow("p.v1.1.0", "p.v2.0.0", "replaces", True), Arrow("p.v1.0.0", "p.v2.0.0", "skips", True))


def test_of_the_skip_ranges_only_those_that_olm_takes_first() -> None:
    """R-CAT-410: unless all are asked for."""
    entries = ["1.0.0", "1.1.0 > 1.0.0", "1.2.0 > 1.1.0 range <1.2.0", "1.3.0 > 1.2.0 range >=1.1.0 <1.3.0"]
    made = package({"s": entries})
    some = [(arrow.source[-5:], arrow.target[-5:], arrow.kind, arrow.first) for arrow in drawn(made)[0].arrows]
    assert some == [
        ("1.0.0", "1.1.0", "replaces", False),
        ("1.1.0", "1.2.0", "replaces", False),
        ("1.0.0", "1.2.0", "skipRange", True),
        ("1.2.0", "1.3.0", "replaces", True),
        ("1.1.0", "1.3.0", "skipRange", True),
    ]
    assert {*drawn(made, all_ranges=True)[0].arrows} == {*drawn(made)[0].arrows}
    further = package({"s": [*entries, "1.4.0 > 1.3.0 range <1.4.0"]})
    more = {*drawn(further, all_ranges=True)[0].arrows} - {*drawn(further)[0].arrows}
    expected = [("p.v1.0.0", "p.v1.2.0"), ("p.v1.1.0", "p.v1.3.0")]
    assert more == {Arrow(source, target, "skipRange", False) for source, target in expected}


def test_marks() -> None:
    """R-CAT-401, R-CAT-402, R-CAT-410, R-CAT-431: every mark, and the meaning of each."""
    entries = ["0.8.0", "1.0.0 > 0.9.0", "1.1.0 > 1.0.0", "1.2.0 > 1.1.0", "1.2.1 > 1.1.0 skips 1.2.0", "2.0.0 > 1.2.1"]
    made = package(
        {"stable": [*entries, "2.1.0 > 2.0.0 skips 0.8.0"], "fast": ["3.0.0 > 2.1.0"]},
        barred=["2.0.0"],
        deprecations=[Deprecation("olm.bundle", "p.v1.0.0", "leaks")],
    )
    fast, stable = sorted(drawn(made), key=lambda row: row.channel.name)
    assert marks(stable) == {
        "0.8.0": ("skipped",),
        "0.9.0": ("missing",),
        "1.0.0": ("deprecated", "stranded"),
        "1.1.0": ("stranded",),
        "1.2.0": ("skipped", "stranded"),
        "1.2.1": ("stranded",),
        "2.0.0": ("prohibited",),
        "2.1.0": ("head",),
    }
    assert marks(fast) == {"2.1.0": ("elsewhere",), "3.0.0": ("head",)}
    assert {mark for row in (fast, stable) for cell in row.cells for mark in cell.marks} == MARKS.keys()
    notes = {cell.label: cell.notes for cell in stable.cells}
    assert notes["1.2.1"] == (
        "p.v1.2.1",
        "stranded: its upgrades never lead to the head of the channel",
        "no way on to p.v2.0.0: OLM never installs it (property olm.deprecated)",
    )
    assert notes["1.0.0"][1] == "deprecated: leaks"


def test_channels_are_drawn_in_the_order_of_their_numbers() -> None:
    made = package({name: ["1.0.0"] for name in ("c-9", "c-10", "a", "z")}, default="z")
    assert [row.channel.name for row in drawn(made)] == ["z", "a", "c-9", "c-10"]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(20, ""), (502, "501 edges and 2.,... characters are more than Mermaid draws by default .*-o svg has no such")],
)
def test_what_is_too_large_for_mermaid_is_said(count: int, expected: str) -> None:
    entries = [f"1.{number}.0" + (f" > 1.{number - 1}.0" if number else "") for number in range(count)]
    made = package({"s": entries})
    answer = draw_package(NamedCatalog("cat", {"p": made}), "p", (), "mermaid")
    assert re.match(expected or "$", answer.remark), answer.remark


def test_names_of_strangers_stay_text_in_mermaid() -> None:
    text = as_mermaid(upgrade_graph(hostile()), drawn(hostile()))
    grammar = "|".join(
        (
            r"%% .*",
            r"flowchart LR",
            r'  subgraph c\d+\["[^"<>]*"\]',
            r"    direction LR",
            r'    c\d+v\d+[(\[{/]+"[^"]*"[)\]}/]+(:::\w+)?',
            r"    c\d+v\d+ (-->|-\.->|==>) c\d+v\d+",
            r"  end",
            r"  classDef \w+ [\w:#,. -]+",
        )
    )
    assert [line for line in text.splitlines() if not re.fullmatch(grammar, line)] == []
    assert "<script" not in re.sub("%%.*", "", text)
    assert "\x00" not in text


def test_names_of_strangers_stay_text_in_dot() -> None:
    text = as_dot(upgrade_graph(hostile()), drawn(hostile()))
    quoted = r'"(?:[^"\\\n]|\\.)*"'
    outside = re.sub(quoted, '""', text)
    assert "script" not in outside
    assert outside.count("{") == outside.count("}") == 2
    assert "\\\\N" in text


@given(packages)
def test_every_edge_of_a_drawing_is_one_of_the_graph(made: Package) -> None:
    """R-CAT-410."""
    graph = upgrade_graph(made)
    edges = {(edge.source, edge.target, edge.kind, channel) for edge in graph.edges for channel in edge.channels}
    for row in channel_rows(graph, all_ranges=True):
        arrows = {(arrow.source, arrow.target, arrow.kind, row.channel.name) for arrow in row.arrows}
        assert arrows <= edges
        joined = {(source, target) for source, target, _, channel in edges if channel == row.channel.name}
        assert {(source, target) for source, target, _, _ in arrows} == joined
        assert {cell.vertex.name for cell in row.cells} >= {name for pair in joined for name in pair}


def test_graphviz_reads_it() -> None:
    if shutil.which("dot") is None:
        pytest.skip("needs Graphviz, which is not installed")
    for made in (hostile(), package({"s": ["1.0.0", "2.0.0 > 1.0.0"]})):
        text = as_dot(upgrade_graph(made), drawn(made))
        done = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
