"""Catalogs made of bare bundles."""

from __future__ import annotations

import pytest
from catalog_workshop import bundle

from olmc.compiler.catalogs.bundle_lists import catalog_from_bundles, report_dropped
from olmc.compiler.catalogs.properties import UncataloguedBundle
from olmc.compiler.model.catalog import Catalog, Channel
from olmc.compiler.model.options import Indexing
from olmc.k8s.diagnostics import Report


def made(mode: str, *bundles: UncataloguedBundle) -> Catalog:
    report = Report()
    catalog = catalog_from_bundles(bundles, Indexing(mode), report)  # type: ignore[arg-type]
    assert catalog.problem == ""
    assert not list(report)
    return catalog


def edges(channel: Channel) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {entry.name: (entry.replaces, entry.skips) for entry in channel.entries}


def test_in_replaces_mode_the_highest_version_is_the_head() -> None:
    """R-CAT-144, R-CAT-141."""
    catalog = made(
        "replaces",
        bundle("p.v2", "2.0.0", channels="beta", spec={"replaces": "p.v1", "skips": ["p.v1.5"]}, default="beta"),
        bundle("p.v1", "1.0.0", channels="stable,beta"),
        bundle("p.v1.5", "1.5.0", channels="other", annotations={"olm.skipRange": "<1.5.0"}),
        bundle("q.v1", "1.0.0", package="q", image="quay.io/acme/q"),
    )
    p, q = catalog.packages["p"], catalog.packages["q"]
    assert (p.default_channel, q.default_channel) == ("beta", "stable")
    assert edges(p.channels["beta"]) == {"p.v2": ("p.v1", ("p.v1.5",)), "p.v1": ("", ()), "p.v1.5": ("", ())}
    assert edges(p.channels["stable"]) == {"p.v1": ("", ())}
    assert p.channels["other"].entries[0].skip_range == "<1.5.0"
    assert (q.bundles["q.v1"].image, p.bundles["p.v2"].image) == ("quay.io/acme/q", "")


@pytest.mark.parametrize(
    ("versions", "head"),
    [
        (["1.0.0", "1.0.0+1"], "1.0.0+1"),
        (["1.0.0+2", "1.0.0+10"], "1.0.0+10"),
        (["1.0.0+b", "1.0.0+10"], "1.0.0+b"),
        (["", "0.0.0-a"], ""),
        (["", "0.0.0"], "0.0.0"),
    ],
)
def test_build_metadata_and_missing_versions_have_an_order(versions: list[str], head: str) -> None:
    """R-CAT-144: build metadata like pre-releases, none below any; no version is 0.0.0-z."""
    catalog = made("replaces", *(bundle(f"p.v{version}", version) for version in versions))
    assert [entry.name for entry in catalog.packages["p"].channels["stable"].entries] == [f"p.v{head}"]


def test_the_highest_bundle_that_declares_a_default_channel_decides() -> None:
    """R-CAT-144: scanned in the order of the list."""
    low = bundle("p.v1", "1.0.0", channels="a,b", default="a")
    middle = bundle("p.v2", "2.0.0", channels="a,b", default="b", spec={"replaces": "p.v1"})
    high = bundle("p.v3", "3.0.0", channels="a,b", spec={"replaces": "p.v2"})
    assert made("replaces", low, middle, high).packages["p"].default_channel == "b"
    assert made("replaces", middle, low, high).packages["p"].default_channel == "b"
    # What comes after a higher one is not asked.
    assert made("replaces", low, high, middle).packages["p"].default_channel == "a"


def test_semver_mode_makes_one_chain() -> None:
    """R-CAT-144."""
    catalog = made(
        "semver", bundle("p.v3", "1.1.0"), bundle("p.v1", "1.0.0-rc.1"), bundle("p.v2", "1.0.0", channels="x,stable")
    )
    package = catalog.packages["p"]
    assert edges(package.channels["stable"]) == {"p.v1": ("", ()), "p.v2": ("p.v1", ()), "p.v3": ("p.v2", ())}
    assert edges(package.channels["x"]) == {"p.v2": ("", ())}
    assert package.default_channel == "stable"


def test_skip_patch_mode_skips_older_patches() -> None:
    """R-CAT-144."""
    catalog = made("semver-skippatch", *(bundle(f"p.v{v}", v) for v in ("1.1.1", "1.0.0", "1.1.0", "1.0.1", "2.0.0")))
    assert edges(catalog.packages["p"].channels["stable"]) == {
        "p.v1.0.0": ("", ()),
        "p.v1.0.1": ("", ("p.v1.0.0",)),
        "p.v1.1.0": ("", ()),
        "p.v1.1.1": ("p.v1.0.1", ("p.v1.1.0",)),
        "p.v2.0.0": ("p.v1.1.1", ()),
    }


@pytest.mark.parametrize(
    ("mode", "bundles", "problem"),
    [
        (
            "replaces",
            [bundle("p.v1", "1.0")],
            "error parsing bundle p.v1 version 1.0: No Major.Minor.Patch elements found",
        ),
        (
            "replaces",
            [bundle("p.v1", "1.0.0"), bundle("p.v2", "1.0.0", channels="b", default="b")],
            "more than one bundle with maximum version 1.0.0",
        ),
        (
            "replaces",
            [bundle("p.v1", "1.0.0"), bundle("p.v2", "1.0.0")],
            "more than one bundle with maximum version 1.0.0",
        ),
        (
            "replaces",
            [bundle("a", "1.0.0"), bundle("b", "1.0.0"), bundle("c", "2.0.0", channels="x")],
            "more than one potential channel head for stable",
        ),
        (
            "replaces",
            [bundle("a", "1.0.0"), bundle("b", "2.0.0", channels="x")],
            "unable to determine default channel among channel heads: map[stable:a x:b]",
        ),
        (
            "replaces",
            [bundle("a", "1.0.0", spec={"replaces": "z"})],
            "error loading package into db: Invalid bundle a, replaces nonexistent bundle z",
        ),
        ("semver", [bundle("a", "1.0.0+1"), bundle("b", "1.0.0+2")], "Bundle version 1.0.0+2 already added to index"),
        ("semver", [bundle("a")], "Bundle version  is not valid"),
        ("semver", [bundle("a", "1.0.0", channels="")], "Default channel is missing and can't be inferred"),
        (
            "semver-skippatch",
            [bundle("a", "1.0.0", spec={"customresourcedefinitions": {"owned": [{"name": "pots"}]}})],
            "error checking provided apis in bundle a: couldn't parse plural.group from crd name: pots",
        ),
    ],
)
def test_what_makes_no_catalog(mode: str, bundles: list[UncataloguedBundle], problem: str) -> None:
    """R-CAT-144."""
    report = Report()
    catalog = catalog_from_bundles(bundles, Indexing(mode), report)  # type: ignore[arg-type]
    assert not catalog.packages
    assert catalog.problem == problem
    assert [each.code for each in report] == ["OLMC250"]


def test_properties_are_those_of_a_rendered_bundle() -> None:
    """R-CAT-144, R-CAT-300."""
    catalog = made("semver", bundle("p.v1", "1.0.0", properties=({"type": "x", "value": 1},)))
    found = catalog.packages["p"].bundles["p.v1"]
    assert [each.type for each in found.properties] == ["olm.package", "x"]
    assert found.objects[0]["kind"] == "ClusterServiceVersion"


def test_versions_that_no_channel_has_are_named() -> None:
    """R-CAT-141, R-CAT-144: what nothing replaces or skips is in no channel."""
    members = [bundle("p.v1", "1.0.0"), bundle("p.v2", "2.0.0"), bundle("p.v3", "3.0.0", spec={"replaces": "p.v2"})]
    report = Report()
    report_dropped(made("replaces", *members), members, report)
    assert [each.code for each in report] == ["OLMC259"]
    assert (
        "package p has versions outside of its channels, since no version replaces or skips them: p.v1"
        in next(iter(report)).message
    )
    report_dropped(made("semver", *members), members, report)
    assert len(tuple(report)) == 1


def test_a_package_may_have_a_mode_of_its_own() -> None:
    """R-CAT-144, D8."""
    members = [bundle("p.v1", "1.0.0"), bundle("p.v2", "2.0.0")]
    report = Report()
    catalog = catalog_from_bundles(members, Indexing("replaces"), report, {"p": "semver", "q": "replaces"})
    entries = catalog.packages["p"].channels["stable"].entries
    assert [(entry.name, entry.replaces) for entry in entries] == [("p.v1", ""), ("p.v2", "p.v1")]
