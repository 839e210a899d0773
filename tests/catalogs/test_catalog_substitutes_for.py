"""olm.substitutesFor in the CSVs of catalogs without a graph of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from catalog_workshop import ROOT, bundle, cases
from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.catalogs.bundle_lists import catalog_from_bundles
from olmc.compiler.catalogs.csv_graphs import edges_of
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.catalogs.properties import UncataloguedBundle
from olmc.compiler.model.catalog import Catalog
from olmc.compiler.model.options import Indexing
from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import dump_one

ALPHA = Indexing(alpha=True)


def bundles_of(case: Mapping[str, Any]) -> list[UncataloguedBundle]:
    """The bundles of a case."""
    return [
        bundle(
            name,
            each["version"],
            spec={key: each[key] for key in ("replaces", "skips") if key in each},
            annotations={"olm.substitutesFor": each["for"]} if "for" in each else {},
        )
        for name, each in case["bundles"].items()
    ]


def package_files(bundles: list[UncataloguedBundle], head: str) -> dict[str, str]:
    """The bundles as a directory of package manifests."""
    package = {"packageName": "p", "channels": [{"name": "stable", "currentCSV": head}]}
    csvs = {f"{ROOT}/{each.name}/csv.yaml": dump_one(each.csv) for each in bundles}
    return {f"{ROOT}/p.package.yaml": dump_one(package), **csvs}


def entries(catalog: Catalog) -> dict[str, list[Any]]:
    """The edges in the catalog's only channel."""
    (channel,) = catalog.packages["p"].channels.values()
    return {entry.name: [entry.replaces, list(entry.skips)] for entry in channel.entries}


@pytest.mark.parametrize("case", cases("substitutes_for.yaml"))
def test_bundles_take_the_place_of_others_r_cat_345(case: Mapping[str, Any]) -> None:
    report = Report()
    catalog = catalog_from_bundles(bundles_of(case), ALPHA, report)
    assert catalog.problem == case.get("problem", "")
    assert [each.code for each in report] == (["OLMC250"] if "problem" in case else [])
    if "entries" in case:
        assert entries(catalog) == case["entries"]


@pytest.mark.parametrize("case", [each for each in cases("substitutes_for.yaml") if "entries" in each.values[0]])
def test_package_manifests_have_the_same_graph_r_cat_345(case: Mapping[str, Any]) -> None:
    report = Report()
    files = package_files(bundles_of(case), next(iter(case["entries"])))
    catalog = load_catalog(ROOT, files, report, indexing=ALPHA)
    assert list(report) == []
    assert entries(catalog) == case["entries"]


def test_it_takes_alpha_mode_r_cat_142() -> None:
    """In every format. A graph made of versions has no use for the annotation, but OLM refuses it there, too."""
    case = cases("substitutes_for.yaml")[0].values[0]
    bundles = bundles_of(case)
    for mode in ("replaces", "semver"):
        report = Report()
        catalog = catalog_from_bundles(bundles, Indexing(mode), report)
        assert "SubstitutesFor is an alpha-only feature" in catalog.problem
        assert "OLMC248" in [each.code for each in report]
    assert "alpha-only" in load_catalog(ROOT, package_files(bundles, "c"), Report()).problem


NAMES = ["a", "b", "c", "d", "e"]


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NAMES), max_size=3), st.permutations(NAMES))
def test_the_order_of_bundles_never_matters_r_cat_345(substitutes: dict[str, str], order: list[str]) -> None:
    """Each bundle replaces the one before it by name, some substitute for others: the edges are a matter of names."""

    def made(names: list[str]) -> list[UncataloguedBundle]:
        before = dict(zip(NAMES[1:], NAMES, strict=False))
        return [
            bundle(
                name,
                f"1.{NAMES.index(name)}.0",
                spec={"replaces": before[name]} if name in before else {},
                annotations={"olm.substitutesFor": substitutes[name]} if name in substitutes else {},
            )
            for name in names
        ]

    def edges(names: list[str]) -> tuple[dict[str, tuple[str, set[str]]], bool]:
        found, problems = edges_of({each.name: each for each in made(names)})
        return {name: (own.replaces, set(own.skips)) for name, own in found.items()}, bool(problems)

    assert edges(order) == edges(NAMES)
    found, failed = edges(NAMES)
    if not failed:
        for name, base in substitutes.items():
            assert base in found[name][1]
            assert all(found[other][0] != base for other in {*NAMES} - {*substitutes} - {*substitutes.values()})
