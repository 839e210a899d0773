"""Catalog templates."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent
from typing import Any

import pytest
from catalog_workshop import bundle, cases, loaded, place

from olmc.compiler.catalogs.properties import UncataloguedBundle
from olmc.compiler.model.catalog import Channel


def workspace(written: Mapping[str, str]) -> dict[str, UncataloguedBundle]:
    """Bundles from `image: name version package [release]`."""
    found = {}
    for image, text in written.items():
        name, version, package, *release = text.split()
        spec = {"release": release[0]} if release else {}
        found[image] = bundle(name, version, package=package, image=image, spec=spec)
    return found


@pytest.mark.parametrize("case", cases("templates.yaml"))
def test_a_template_is_refused_with_opms_text(case: dict[str, Any]) -> None:
    """R-CAT-130 … R-CAT-132 (each case names its rules)."""
    catalog, report = loaded(case["files"], workspace(case["bundles"]))
    assert not catalog.packages
    if "begins" in case:
        assert catalog.problem.startswith(case["begins"])
    else:
        assert catalog.problem == case["problem"]
    assert sorted(map(place, report)) == case["found"]


def test_a_basic_template_is_expanded() -> None:
    """R-CAT-130: bundles are rendered, all else is passed through."""
    text = """\
schema: olm.template.basic
entries:
- {schema: olm.package, name: p, defaultChannel: c}
- {schema: olm.channel, package: p, name: c, entries: [{name: p.v1}]}
- {schema: olm.bundle, image: 'quay.io/acme/p:v1'}
- {schema: olm.deprecations, package: p, entries: [{reference: {schema: olm.package}, message: gone}]}
- {schema: acme.notes}
"""
    catalog, report = loaded({"catalog.yaml": text}, workspace({"quay.io/acme/p:v1": "p.v1 1.0.0 p"}))
    assert not list(report)
    package = catalog.packages["p"]
    found = package.bundles["p.v1"]
    assert (found.image, found.version, found.related_images) == ("quay.io/acme/p:v1", "1.0.0", ("quay.io/acme/p:v1",))
    assert [each.message for each in package.deprecations] == ["gone"]


@pytest.mark.parametrize("written", ["bundles/p", "./bundles/p/", "../../bundles/p"])
def test_a_template_may_name_a_folder(written: str) -> None:
    """R-CAT-110: relative to the workspace or to the template; such a bundle is inline."""
    text = f"""\
schema: olm.template.basic
entries:
- {{schema: olm.package, name: p, defaultChannel: c}}
- {{schema: olm.channel, package: p, name: c, entries: [{{name: p.v1}}]}}
- {{schema: olm.bundle, image: '{written}'}}
"""
    catalog, report = loaded({"catalog.yaml": text}, {"bundles/p": bundle("p.v1", "1.0.0")})
    assert not list(report)
    found = catalog.packages["p"].bundles["p.v1"]
    assert (found.image, found.objects[0]["metadata"]["name"]) == ("", "p.v1")


def test_the_images_of_a_template_are_known_in_any_case() -> None:
    """R-CAT-131, R-CAT-132: what `olmc vendor` has to fetch."""
    text = (
        "Schema: olm.semver\nStable: {Bundles: [{IMAGE: registry.example.com/tea:v1}]}\n---\n"
        "schema: olm.template.substitutes\nentries: []\n"
        "Substitutions: [{Name: registry.example.com/tea:v2, base: tea.v1}]\n"
    )
    catalog, _ = loaded({"catalog.yaml": text})
    assert catalog.images == ("registry.example.com/tea:v1", "registry.example.com/tea:v2")


def test_what_is_wrong_with_an_expanded_catalog_is_told_where_it_stands() -> None:
    """R-CAT-130, R-CAT-126: places lead into the template."""
    text = """\
schema: olm.template.basic
entries:
- {schema: olm.package, name: p, defaultChannel: c}
- schema: olm.channel
  package: p
  name: c
  entries:
  - name: p.v1
    skipRange: later
- schema: olm.bundle
  image: quay.io/acme/p:v1
"""
    catalog, report = loaded({"catalog.yaml": text}, workspace({"quay.io/acme/p:v1": "p.v1 1.0.0 p"}))
    assert "invalid skipRange" in catalog.problem
    assert [place(each) for each in report] == ["OLMC240 9"]


def semver(settings: str = "", **streams: str) -> tuple[Any, Any]:
    """The catalog of a semver template with these versions in its streams."""
    text = f"schema: olm.semver\n{settings}"
    written = {}
    for stream, versions in streams.items():
        text += f"{stream}:\n  bundles:\n"
        for version in versions.split():
            image = f"quay.io/acme/p:v{version}"
            written[image] = f"p.v{version} {version} p"
            text += f"  - image: {image}\n"
    return loaded({"catalog.yaml": text}, workspace(written))


def edges(channel: Channel) -> dict[str, tuple[str, ...]]:
    """What each entry of a channel replaces, and then skips."""
    return {
        entry.name.removeprefix("p.v"): tuple(
            name.removeprefix("p.v") for name in (entry.replaces, *entry.skips) if name or entry.skips
        )
        for entry in channel.entries
    }


def test_semver_channels_and_edges() -> None:
    """R-CAT-131, T-CAT-83."""
    catalog, report = semver(
        "generateMajorChannels: true\ngenerateMinorChannels: true\n",
        candidate="0.3.0 0.1.1 0.1.0 0.2.1 0.2.0 1.1.0 1.0.0",
        fast="0.2.1",
        stable="1.0.0 0.2.1",
    )
    assert not list(report)
    package = catalog.packages["p"]
    assert sorted(package.channels) == [
        "candidate-v0", "candidate-v0.1", "candidate-v0.2", "candidate-v0.3", "candidate-v1", "candidate-v1.0",
        "candidate-v1.1", "fast-v0", "fast-v0.2", "stable-v0", "stable-v0.2", "stable-v1", "stable-v1.0",
    ]  # fmt: skip
    assert package.default_channel == "stable-v1.0"
    assert edges(package.channels["candidate-v0"]) == {
        "0.1.0": (),
        "0.1.1": ("", "0.1.0"),
        "0.2.0": (),
        "0.2.1": ("0.1.1", "0.1.0", "0.2.0"),
        "0.3.0": ("0.2.1", "0.1.0", "0.1.1", "0.2.0"),
    }
    assert edges(package.channels["candidate-v1"]) == {"1.0.0": (), "1.1.0": ("1.0.0",)}
    assert edges(package.channels["candidate-v0.2"]) == {"0.2.0": (), "0.2.1": ("0.1.1", "0.1.0", "0.2.0")}
    assert edges(package.channels["fast-v0"]) == {"0.2.1": ()}
    assert edges(package.channels["stable-v1.0"]) == {"1.0.0": ()}
    assert sorted(package.bundles) == [
        "p.v0.1.0",
        "p.v0.1.1",
        "p.v0.2.0",
        "p.v0.2.1",
        "p.v0.3.0",
        "p.v1.0.0",
        "p.v1.1.0",
    ]


@pytest.mark.parametrize(
    ("settings", "streams", "default"),
    [
        ("", {"candidate": "1.0.0 2.1.0"}, "candidate-v2.1"),
        ("generateMajorChannels: true\n", {"candidate": "1.0.0 2.1.0"}, "candidate-v2"),
        ("", {"candidate": "3.0.0", "fast": "2.0.0", "stable": "1.0.0"}, "stable-v1.0"),
        ("", {"candidate": "0.0.0"}, "candidate-v0.0"),
        ("generateMajorChannels: true\n", {"candidate": "0.0.0"}, "candidate-v0"),
        (
            "GenerateMajorChannels: true\nGENERATEMINORCHANNELS: true\nDefaultChannelTypePreference: major\n",
            {"stable": "1.0.0"},
            "stable-v1",
        ),
        (
            "generateMajorChannels: true\ngenerateMinorChannels: true\ndefaultChannelTypePreference: major\n",
            {"stable": "1.0.0 1.5.0"},
            "stable-v1.5",
        ),
    ],
)
def test_the_default_channel_of_a_semver_template(settings: str, streams: dict[str, str], default: str) -> None:
    """R-CAT-131 points 2, 3 and 7: the lowest bundle of a channel decides how high it is."""
    catalog, report = semver(settings, **streams)
    assert not list(report)
    assert catalog.packages["p"].default_channel == default


def test_a_semver_package_looks_like_its_newest_bundle() -> None:
    """R-CAT-131 point 9."""
    spec = {"description": "Boils.", "icon": [{"base64data": "AAAA", "mediatype": "image/png"}, {"base64data": "B"}]}
    found = {"i1": bundle("p.v1", "1.0.0", spec={"description": "Old."}), "i2": bundle("p.v2", "1.0.1", spec=spec)}
    text = "schema: olm.semver\nfast: {bundles: [{image: i2}, {image: i1}]}\n"
    catalog, report = loaded({"catalog.yaml": text}, found)
    assert not list(report)
    package = catalog.packages["p"]
    assert (package.description, package.icon) == ("Boils.", {"base64data": "AAAA", "mediatype": "image/png"})


ENTRIES = """\
schema: olm.template.substitutes
entries:
- {schema: olm.package, name: p, defaultChannel: c}
- schema: olm.channel
  package: p
  name: c
  entries:
  - {name: p.v3, replaces: p.v2, skips: [p.v1]}
  - {name: p.v2, replaces: p.v1, skipRange: '<1.0.0'}
  - {name: p.v1, skips: [p.v0], skipRange: '<0.5.0'}
- {schema: olm.bundle, package: p, name: p.v1, image: quay.io/acme/p:v1,
   properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}]}
- {schema: olm.bundle, package: p, name: p.v2, image: quay.io/acme/p:v2,
   properties: [{type: olm.package, value: {packageName: p, version: 2.0.0}}]}
- {schema: olm.bundle, package: p, name: p.v3, image: quay.io/acme/p:v3,
   properties: [{type: olm.package, value: {packageName: p, version: 2.5.0}}]}
substitutions:
"""
SUBSTITUTES = {
    "quay.io/acme/p:v1.0.1": "p.v1.0.1 1.0.1 p",
    "quay.io/acme/p:v2.0.1": "p.v2.0.1 2.0.1 p",
    "quay.io/acme/p:v1-1": "p-v1.0.0-1 1.0.0 p 1",
    "quay.io/acme/p:v3": "p.v3.0.0 3.0.0 p",
    "quay.io/acme/p:twin": "p.v2 2.0.2 p",
}


def substituted(*items: Mapping[str, str]) -> tuple[Any, Any]:
    written = "".join(f"- {{name: '{item.get('name', '')}', base: '{item.get('base', '')}'}}\n" for item in items)
    return loaded({"catalog.yaml": ENTRIES + indent(written, "  ")}, workspace(SUBSTITUTES))


def test_a_substitute_takes_over_the_edges_of_its_base() -> None:
    """R-CAT-132."""
    catalog, report = substituted({"name": "quay.io/acme/p:v1.0.1", "base": "p.v1"})
    assert not list(report)
    channel = catalog.packages["p"].channels["c"]
    found = {each.name: (each.replaces, each.skips, each.skip_range) for each in channel.entries}
    assert found == {
        "p.v3": ("p.v2", ("p.v1.0.1",), ""),
        "p.v2": ("p.v1.0.1", ("p.v1",), "<1.0.0"),
        "p.v1": ("", (), ""),
        "p.v1.0.1": ("", ("p.v0", "p.v1"), "<0.5.0"),
    }
    assert catalog.packages["p"].bundles["p.v1.0.1"].image == "quay.io/acme/p:v1.0.1"


def test_a_release_may_substitute() -> None:
    """R-CAT-132, R-CAT-127: no release is below any release of the same version."""
    catalog, report = substituted({"name": "quay.io/acme/p:v1-1", "base": "p.v1"})
    assert not list(report)
    assert "p-v1.0.0-1" in catalog.packages["p"].bundles


@pytest.mark.parametrize("case", cases("substitutions.yaml"))
def test_a_substitution_is_refused_with_opms_text(case: dict[str, Any]) -> None:
    """R-CAT-132."""
    catalog, report = substituted(*case["substitutions"])
    assert not catalog.packages
    if "begins" in case:
        assert catalog.problem.startswith(case["begins"])
    else:
        assert catalog.problem == case["problem"]
    (diagnostic,) = report
    assert diagnostic.message == catalog.problem
    assert diagnostic.location is not None
    assert diagnostic.location.line >= 18
