"""The upgrade graph: what is in it, and that it says what the resolver does."""

from __future__ import annotations

import json

import pytest
from graph_kit import CATALOGS, EXPECTED, NAMES, package, packages
from hypothesis import given
from jsonschema import Draft202012Validator

from olmc.compiler.catalogs.content import served_candidates
from olmc.compiler.model.catalog import (
    Catalog,
    Deprecation,
    InstalledEntry,
    Package,
    ResolveRequest,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.compiler.resolver.snapshot import entry_of_installed, snapshot_of
from olmc.compiler.resolver.upgrade_path import ChannelError, offer
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import CatalogKey
from olmc.resources import schema
from olmc.review.graph.catalogs import catalogs_at
from olmc.review.graph.output import as_json, draw_package
from olmc.review.graph.upgrade_graph import ChannelView, Edge, UpgradeGraph, upgrade_graph, walk

KEY = CatalogKey("ns", "cat")


def lane(graph: UpgradeGraph, name: str) -> ChannelView:
    return next(lane for lane in graph.channels if lane.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_graph_of_a_catalog(name: str) -> None:
    """R-CAT-400 … R-CAT-402, R-CAT-410, R-CAT-430, R-CAT-431: each catalog says what it is about."""
    (shelf,) = catalogs_at(CATALOGS / name, Report())
    (package_name,) = shelf.packages
    text = draw_package(shelf, package_name, (), "json").text
    assert text == (EXPECTED / f"{name}.json").read_text(encoding="utf-8")
    assert list(Draft202012Validator(schema("graph")).iter_errors(json.loads(text))) == []


def test_a_channel_alone_keeps_only_its_own() -> None:
    """R-CAT-401: what is drawn of a graph is what its channels have."""
    made = package({"stable": ["2.0.0 > 1.0.0", "1.0.0"], "fast": ["3.0.0 > 2.0.0"]})
    graph = upgrade_graph(made, ["fast"])
    assert [each.name for each in graph.channels] == ["fast"]
    assert graph.edges == (Edge("p.v2.0.0", "p.v3.0.0", "replaces", ("fast",)),)
    assert [(each.name, each.channels, each.missing) for each in graph.versions] == [
        ("p.v2.0.0", (), False),
        ("p.v3.0.0", ("fast",), False),
    ]


def test_order_of_channels_and_versions() -> None:
    """R-CAT-430, R-CAT-532, R-CAT-451: the default channel first, then by name; versions in their order."""
    entries = ["10.0.0 > 9.0.0", "9.0.0 > 9.0.0-rc.1 skips x.y", "9.0.0-rc.1"]
    graph = upgrade_graph(package({"a": ["10.0.0"], "b": entries, "c": ["10.0.0"]}, default="b"))
    assert [each.name for each in graph.channels] == ["b", "a", "c"]
    assert [each.name for each in graph.versions] == ["p.vx.y", "p.v9.0.0-rc.1", "p.v9.0.0", "p.v10.0.0"]


def test_deprecations() -> None:
    """R-CAT-431: the package, a channel and a version, each with its message."""
    deprecations = [
        Deprecation("olm.package", "", "gone"),
        Deprecation("olm.channel", "stable", "moved"),
        Deprecation("olm.bundle", "p.v1.0.0", "leaks"),
    ]
    graph = upgrade_graph(package({"stable": ["1.0.0", "2.0.0 > 1.0.0"]}, barred=["2.0.0"], deprecations=deprecations))
    assert (graph.deprecated, graph.message) == (True, "gone")
    assert (graph.channels[0].deprecated, graph.channels[0].message) == (True, "moved")
    assert [(each.deprecated, each.message, each.barred) for each in graph.versions] == [
        (True, "leaks", False),
        (True, "", True),
    ]


def test_an_entry_alone_is_a_candidate_whatever_it_skips() -> None:
    """R-CAT-402: OLM orders only several entries."""
    graph = upgrade_graph(package({"stable": ["2.0.0 > 1.0.0 skips 2.0.0"]}))
    assert graph.channels[0].candidates == ("p.v2.0.0",)
    assert graph.channels[0].first == {"p.v1.0.0": "p.v2.0.0"}


def test_a_head_that_is_prohibited_strands_all_others() -> None:
    """R-CAT-431, T-CAT-45: it stays the head, but nobody ever gets there."""
    graph = upgrade_graph(package({"stable": ["1.0.0", "2.0.0 > 1.0.0", "3.0.0 > 2.0.0"]}, barred=["3.0.0"]))
    assert graph.channels[0].heads == ("p.v3.0.0",)
    assert [each.name for each in graph.versions if each.stranded] == ["p.v1.0.0", "p.v2.0.0"]
    assert [edge.target for edge in graph.edges] == ["p.v2.0.0"]


def test_a_package_without_channels() -> None:
    """R-CAT-126 lets none through, but a refused catalog can have one."""
    graph = upgrade_graph(Package("p", "", {}, {}))
    assert (graph.channels, graph.versions, graph.edges) == ((), (), ())


def test_a_channel_of_a_hundred_versions_is_stranded_where_the_chain_breaks() -> None:
    """R-CAT-402, R-CAT-410: behind a skipped entry in the middle of the chain nobody gets on."""
    entries = [f"1.{number}.0 > 1.{number - 1}.0" for number in range(1, 100)]
    graph = upgrade_graph(package({"stable": ["1.0.0", *entries, "1.100.0 > 1.99.0 skips 1.50.0"]}))
    stranded = [each.version for each in graph.versions if each.stranded]
    assert stranded == [f"1.{number}.0" for number in range(50)]


def offered(made: Package, name: str, channel: ChannelView) -> list[str] | None:
    """What the resolver would upgrade `name` to in a channel, prohibited ones left out; None where it can't say."""
    candidates = served_candidates(KEY, Catalog({"p": made}))
    bundle = made.bundles[name]
    present = InstalledEntry(name, bundle.version, bundle.properties)
    wish = SubscriptionRequest("p", "p", channel.name, KEY, installed=name)
    question = ResolveRequest("ns", (VisibleCatalog(KEY, 0, candidates),), (wish,), (present,))
    try:
        found = offer(snapshot_of(question, (present,)), wish, entry_of_installed(present, "ns"))
    except ChannelError:
        return None
    barred = {each.name for each in made.bundles.values() if any(p.type == "olm.deprecated" for p in each.properties)}
    return [item.name for item in found.candidates if item.name not in barred]


@given(packages)
def test_edges_are_what_the_resolver_offers(made: Package) -> None:
    """R-CAT-402, R-CAT-410, R-CAT-431, D16."""
    graph = upgrade_graph(made)
    for channel in graph.channels:
        into: dict[str, set[str]] = {}
        for edge in graph.edges:
            if channel.name in edge.channels:
                into.setdefault(edge.source, set()).add(edge.target)
        for name in channel.entries:
            expected = offered(made, name, channel)
            assert (expected is None) == bool(channel.problem)
            if expected is not None:
                assert into.get(name, set()) == set(expected)
                assert channel.first.get(name) == (expected[0] if expected else None)


@given(packages)
def test_who_is_not_stranded_walks_to_the_head(made: Package) -> None:
    """R-CAT-401, R-CAT-410, R-CAT-415: and a walk comes to no version twice, unless it goes in circles."""
    graph = upgrade_graph(made)
    pairs = {(edge.source, edge.target, channel) for edge in graph.edges for channel in edge.channels}
    for channel in graph.channels:
        if channel.problem:
            continue
        for vertex in graph.versions:
            if vertex.name not in channel.entries:
                assert channel.name not in vertex.stranded
                continue
            found = walk(graph, channel, vertex)
            assert all((hop.source, hop.target, channel.name) in pairs for hop in found.hops)
            stops = found.stops[:-1] if found.circles else found.stops
            assert len(set(stops)) == len(stops)
            assert not found.circles or found.stops[-1] in stops
            assert (channel.name in vertex.stranded) == (not set(stops) & set(channel.heads))


@given(packages)
def test_the_order_of_the_input_does_not_matter(made: Package) -> None:
    """And the graph of any package fits its schema."""
    graph = upgrade_graph(made)
    channels = dict(sorted(made.channels.items(), reverse=True))
    bundles = dict(sorted(made.bundles.items(), reverse=True))
    assert upgrade_graph(made._replace(channels=channels, bundles=bundles)) == graph
    assert list(Draft202012Validator(schema("graph")).iter_errors(json.loads(as_json(graph, "cat")))) == []


def test_every_result_has_its_catalog() -> None:
    assert sorted({path.stem for path in EXPECTED.iterdir()}) == NAMES
