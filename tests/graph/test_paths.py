"""The way of an upgrade, and what is said of it."""

from __future__ import annotations

import pytest
from graph_kit import package

from olmc.compiler.output.messages import QueryError
from olmc.review.graph.upgrade_graph import (
    UpgradeGraph,
    Walk,
    channel_named,
    obstacle,
    route,
    route_text,
    upgrade_graph,
    version_named,
    walk,
)

Z_STREAM = ["4.1.0", "4.1.2 > 4.1.0 range >=4.1.0 <4.1.2"]


def walked(graph: UpgradeGraph, start: str, goal: str = "", channel: str = "") -> Walk:
    end = version_named(graph, goal).name if goal else ""
    return walk(graph, channel_named(graph, channel), version_named(graph, start, absent=True), end)


def hops(found: Walk) -> list[str]:
    return [f"{hop.source} {hop.kind} {hop.target}".replace("p.v", "") for hop in found.hops]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("4.1.0", ["4.1.0 replaces 4.1.2"]),
        ("p.v4.1.0", ["4.1.0 replaces 4.1.2"]),
        ("v4.1.0", ["4.1.0 replaces 4.1.2"]),
        ("4.1.1", [" skipRange 4.1.2"]),
        ("p.v4.1.1", ["4.1.1 skipRange 4.1.2"]),
        ("4.1.2-rc1", [" skipRange 4.1.2"]),
        ("4.1.2", []),
    ],
)
def test_z_stream(start: str, expected: list[str]) -> None:
    """T-CAT-9, R-CAT-410: what is installed need not be in the catalog."""
    graph = upgrade_graph(package({"stable": Z_STREAM}))
    assert hops(walked(graph, start)) == expected


@pytest.mark.parametrize("start", ["4.1.0-rc1", "4.0.9", "5.0.0", "p.v5.0.0", "nothing"])
def test_a_version_that_nothing_upgrades_is_unknown(start: str) -> None:
    """T-CAT-9, R-CAT-410: below the range there is no update, so there is nothing to tell of it."""
    with pytest.raises(QueryError, match=r"^p has no version"):
        walked(upgrade_graph(package({"stable": Z_STREAM})), start)


def test_skipped_release() -> None:
    """T-CAT-7 (a) to (c): the skipped one is never gone to, and left for the one that skips it."""
    graph = upgrade_graph(package({"alpha": ["0.9.0", "0.9.1 > 0.9.0", "0.9.2 > 0.9.0 skips 0.9.1"]}))
    assert hops(walked(graph, "0.9.0")) == ["0.9.0 replaces 0.9.2"]
    assert hops(walked(graph, "0.9.1")) == ["0.9.1 skips 0.9.2"]
    assert hops(walked(graph, "0.9.2")) == []


def test_replaces_chain() -> None:
    """T-CAT-8, R-CAT-415: one hop after the other."""
    graph = upgrade_graph(package({"stable": ["0.1.1", "0.1.2 > 0.1.1", "0.1.3 > 0.1.2"]}))
    assert hops(walked(graph, "0.1.1")) == ["0.1.1 replaces 0.1.2", "0.1.2 replaces 0.1.3"]
    assert hops(walked(graph, "0.1.1", "0.1.2")) == ["0.1.1 replaces 0.1.2"]
    assert walked(graph, "0.1.1", "0.1.1") == Walk("stable", version_named(graph, "0.1.1"), (), reached=True)


def test_order_of_precedence() -> None:
    """T-CAT-10 (a) and (c), R-CAT-410: the first in the order of the channel that qualifies, by whatever edge."""
    head = upgrade_graph(package({"stable": ["1.0.0", "2.0.0 > 1.0.0", "3.0.0 > 2.0.0 range <3.0.0"]}))
    assert hops(walked(head, "1.0.0")) == ["1.0.0 skipRange 3.0.0"]
    below = upgrade_graph(package({"stable": ["1.0.0", "2.0.0 > 1.0.0 range <2.0.0", "3.0.0 > 2.0.0"]}))
    assert hops(walked(below, "1.0.0")) == ["1.0.0 replaces 2.0.0", "2.0.0 replaces 3.0.0"]


def test_a_version_of_another_channel() -> None:
    """T-CAT-40, R-CAT-410: after a switch of channels only its own entries count, and only by their skipRange."""
    newer = ["2.0.0", "2.1.0 > 2.0.0 range <2.0.0"]
    channels = {"stable": ["1.0.0", "1.1.0 > 1.0.0"], "beta": ["5.0.0"], "next": newer}
    graph = upgrade_graph(package(channels))
    assert hops(walked(graph, "1.0.0", channel="beta")) == []
    assert hops(walked(graph, "1.0.0", channel="next")) == ["1.0.0 skipRange 2.1.0"]


def test_circles_are_seen() -> None:
    """R-CAT-410: an entry need not have a higher version; R-CAT-590 calls it an upgrade loop."""
    graph = upgrade_graph(package({"stable": ["1.0.0 range <9.0.0", "2.0.0 > 1.0.0"]}))
    found = walked(graph, "1.0.0")
    assert hops(found) == ["1.0.0 replaces 2.0.0", "2.0.0 skipRange 1.0.0"]
    assert found.circles
    assert not found.reached
    text = route_text(
        graph, channel_named(graph, ""), route(graph, channel_named(graph, ""), version_named(graph, "1.0.0"))
    )
    assert text.splitlines()[-1] == "The upgrades go round in circles: 1.0.0 was installed before"


def test_a_name_without_bundle_has_the_version_of_its_name() -> None:
    """R-CAT-410: a skipped name need not exist, and an installed CSV of that name also has a version."""
    graph = upgrade_graph(package({"stable": ["1.0.0", "1.2.0 > 1.0.0 skips 1.1.0", "2.0.0 > 1.2.0 range <1.2.0"]}))
    assert hops(walked(graph, "p.v1.1.0")) == ["1.1.0 skipRange 2.0.0"]
    assert hops(walked(graph, "1.1.0")) == ["1.1.0 skipRange 2.0.0"]


def test_the_other_channels_that_get_there() -> None:
    """R-CAT-410, in each channel by itself."""
    channels = {"a": ["1.0.0", "2.0.0 > 1.0.0"], "b": ["1.0.0", "1.5.0 > 1.0.0"], "c": ["1.0.0", "1.5.0 > 1.0.0"]}
    graph = upgrade_graph(package(channels))
    found = route(graph, channel_named(graph, ""), version_named(graph, "1.0.0"), version_named(graph, "1.5.0"))
    assert (found.walk.reached, [other.channel for other in found.others]) == (False, ["b", "c"])


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("1.0.0", ""),
        ("1.2.0", "p.v1.3.0 skips it, and OLM never upgrades to a skipped entry"),
        ("1.1.0", "OLM never installs it (property olm.deprecated)"),
        ("3.0.0", "it is not in channel stable"),
        ("p.v0.9.0", "the catalog has no bundle of that name"),
    ],
)
def test_why_nothing_leads_to_a_version(goal: str, expected: str) -> None:
    """R-CAT-402, R-CAT-431."""
    entries = ["1.0.0 > 0.9.0", "1.1.0 > 1.0.0", "1.2.0 > 1.1.0", "1.3.0 > 1.1.0 skips 1.2.0"]
    graph = upgrade_graph(package({"stable": entries, "fast": ["3.0.0"]}, barred=["1.1.0"]))
    assert obstacle(channel_named(graph, "stable"), version_named(graph, goal)) == expected


def test_a_channel_that_olm_cant_order_leads_nowhere() -> None:
    """R-CAT-402: its text says why."""
    graph = upgrade_graph(package({"stable": ["1.0.0", "2.0.0"]}))
    stable = channel_named(graph, "stable")
    assert walked(graph, "1.0.0").hops == ()
    assert obstacle(stable, version_named(graph, "2.0.0")).startswith(
        "OLM can't order the channel: a unique replacement chain"
    )


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("1.1", "p has no version 1.1. Did you mean 1.1.0?"),
        ("p.v1.1", "p has no version p.v1.1. Did you mean p.v1.1.0?"),
        ("q", "p has no version q. There is 1.0.0, 1.1.0."),
        ("2.0.0", "2.0.0 is the version of p.v2.0.0 and p2.v2.0.0; give the name of one."),
    ],
)
def test_unknown_versions(wanted: str, expected: str) -> None:
    made = package({"stable": ["1.0.0", "1.1.0 > 1.0.0"]})
    if wanted == "2.0.0":
        made = package({"stable": ["1.0.0", "2.0.0 > 1.0.0"]})
        twin = made.bundles["p.v2.0.0"]._replace(name="p2.v2.0.0")
        stable = made.channels["stable"]
        both = stable._replace(entries=(*stable.entries, stable.entries[1]._replace(name=twin.name)))
        made = made._replace(channels={"stable": both}, bundles={**made.bundles, twin.name: twin})
    with pytest.raises(QueryError) as caught:
        version_named(upgrade_graph(made), wanted)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("default", "wanted", "expected"),
    [
        ("stable", "stabel", "p has no channel stabel. Did you mean stable?"),
        ("stable", "x", "p has no channel x. There is stable."),
        ("gone", "", "p has no channel gone. There is stable."),
    ],
)
def test_unknown_channels(default: str, wanted: str, expected: str) -> None:
    """R-CAT-430."""
    graph = upgrade_graph(package({"stable": ["1.0.0"]}, default=default))
    with pytest.raises(QueryError) as caught:
        channel_named(graph, wanted)
    assert str(caught.value) == expected
