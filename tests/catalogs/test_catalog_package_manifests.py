"""Directories of package manifests."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest
from catalog_workshop import loaded, place

from olmc.compiler.catalogs.content import inline_objects, served_candidates
from olmc.compiler.model.catalog import Catalog, Channel
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import CatalogKey

PACKAGE = """\
packageName: pot
channels:
- {name: alpha, currentCSV: pot.v2}
- {name: beta, currentCSV: pot.v3}
defaultChannel: beta
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pots.acme.example}
spec:
  group: acme.example
  names: {kind: Pot, plural: pots}
  versions: [{name: v1}]
"""


def csv(name: str, version: str, more: str = "", annotations: str = "{}") -> str:
    spec = f"spec:\n  version: {version}\n"
    return (
        f"apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        f"metadata: {{name: {name}, annotations: {annotations}}}\n{spec}"
        + "".join(f"  {line}\n" for line in more.splitlines())
    )


FILES = {
    "pot.package.yaml": PACKAGE,
    "1/pot.yaml": csv("pot.v1", "1.0.0"),
    "2/pot.yaml": csv("pot.v2", "2.0.0", "replaces: pot.v1\nskips: [pot.v1.5, pot.v0]", "{olm.skipRange: '<2.0.0'}"),
    "1.5/pot.yaml": csv("pot.v1.5", "1.5.0", "replaces: pot.v1"),
    "3/pot.yaml": csv(
        "pot.v3",
        "3.0.0",
        "replaces: pot.v2\n"
        "customresourcedefinitions:\n"
        "  owned: [{name: pots.acme.example, version: v1, kind: Pot}]\n"
        "  required: [{name: lids.acme.example, version: v1, kind: Lid}]",
    ),
    "3/crd.yaml": CRD,
    "3/notes.txt": "Boil: water\n",
    "3/.hidden.yaml": "broken: [",
    "3/broken.yaml": "broken: [",
    ".git/x.package.yaml": "packageName: other\n",
}


def catalog(changes: Mapping[str, str | None] | None = None) -> tuple[Catalog, Report]:
    files = {**FILES, **(changes or {})}
    return loaded({name: text for name, text in files.items() if text is not None})


def entries(channel: Channel) -> dict[str, tuple[str, tuple[str, ...], str]]:
    return {entry.name: (entry.replaces, entry.skips, entry.skip_range) for entry in channel.entries}


def test_channels_come_from_the_csvs() -> None:
    """R-CAT-140 … R-CAT-142: down through replaces; a skipped bundle with content is an entry without edges."""
    found, report = catalog()
    assert not list(report)
    package = found.packages["pot"]
    assert list(found.packages) == ["pot"]
    assert package.default_channel == "beta"
    below = {"pot.v2": ("pot.v1", ("pot.v1.5", "pot.v0"), "<2.0.0"), "pot.v1": ("", (), ""), "pot.v1.5": ("", (), "")}
    assert entries(package.channels["alpha"]) == below
    assert entries(package.channels["beta"]) == {"pot.v3": ("pot.v2", (), ""), **below}


def test_a_bundle_is_what_lies_beside_its_csv() -> None:
    """R-CAT-140: inline, without other CSVs."""
    other = csv("unused.v1", "1.0.0")
    found, report = catalog({"3/unused.yaml": other})
    assert {diagnostic.code for diagnostic in report} == {"OLMC258"}
    bundle = found.packages["pot"].bundles["pot.v3"]
    assert (bundle.image, bundle.version) == ("", "3.0.0")
    kinds = [(obj["kind"], obj["metadata"]["name"]) for obj in inline_objects(bundle, Report())]
    assert kinds == [("CustomResourceDefinition", "pots.acme.example"), ("ClusterServiceVersion", "pot.v3")]


def test_requirements_are_served_beside_the_properties() -> None:
    """R-CAT-129, R-CAT-303: the old database knows no properties `.required`; the resolver derives them once."""
    found, _ = catalog()
    candidates = served_candidates(CatalogKey("olm", "cat"), found)
    (pot,) = [each for each in candidates if each.name == "pot.v3"]
    assert [(each.type, list(each.value.values())) for each in pot.properties] == [
        ("olm.gvk", ["acme.example", "Pot", "v1"]),
        ("olm.package", ["pot", "3.0.0"]),
        ("olm.gvk.required", ["acme.example", "v1", "Lid"]),
    ]


def test_a_single_channel_is_the_default_one() -> None:
    """R-CAT-141, R-CAT-430."""
    found, report = catalog({"pot.package.yaml": "packageName: pot\nchannels: [{name: a, currentCSV: pot.v1}]\n"})
    assert {diagnostic.code for diagnostic in report} == {"OLMC258"}
    assert found.packages["pot"].default_channel == "a"


DEPRECATED = '{olm.properties: \'[{"type":"olm.deprecated","value":{}}]\'}'


def test_below_a_deprecated_bundle_a_channel_ends() -> None:
    """R-CAT-141: a channel whose head is deprecated is dropped."""
    found, report = catalog({"2/pot.yaml": csv("pot.v2", "2.0.0", "replaces: gone", DEPRECATED)})
    assert {diagnostic.code for diagnostic in report} == {"OLMC258"}
    package = found.packages["pot"]
    assert list(package.channels) == ["beta"]
    assert entries(package.channels["beta"]) == {"pot.v3": ("pot.v2", (), ""), "pot.v2": ("gone", (), "")}


@pytest.mark.parametrize(
    ("changes", "problem", "found"),
    [
        (
            {"pot.package.yaml": PACKAGE.replace("defaultChannel: beta\n", "")},
            "error loading package into db: no default channel specified for pot",
            ["OLMC247 pot.package.yaml:1"],
        ),
        (
            {"1/pot.yaml": csv("pot.v1", "1.0.0", "replaces: pot.v2")},
            "error loading package into db: Cycle detected, pot.v1 replaces pot.v2",
            ["OLMC247 1/pot.yaml:6"],
        ),
        (
            {"1/pot.yaml": None},
            "error loading package into db: [Invalid bundle pot.v2, replaces nonexistent bundle pot.v1, "
            "Invalid bundle pot.v3, replaces nonexistent bundle pot.v1]",
            ["OLMC247 2/pot.yaml:6"],
        ),
        (
            {"3/pot.yaml": None},
            "error loading package into db: no bundle found for bundlename pot.v3",
            ["OLMC247 pot.package.yaml:4"],
        ),
        (
            {"3/crd.yaml": None},
            "error checking provided apis in bundle pot.v3: couldn't find acme.example/v1/Pot (pots) in bundle. "
            "found: map[]",
            ["OLMC247 3/pot.yaml:1"],
        ),
        (
            {"1/pot.yaml": csv("pot.v1", "1.0.0", "", "{olm.substitutesFor: pot.v0}")},
            "SubstitutesFor is an alpha-only feature. You must enable alpha features with the flag --enable-alpha in "
            "order to use this feature.",
            ["OLMC248 1/pot.yaml:1"],
        ),
    ],
)
def test_what_keeps_a_package_from_being_loaded(changes: dict[str, str | None], problem: str, found: list[str]) -> None:
    """R-CAT-141, R-CAT-142."""
    refused, report = catalog(changes)
    assert not refused.packages
    assert refused.problem == problem
    assert [place(each) for each in report] == found


def test_a_package_file_of_the_wrong_shape_is_some_other_file() -> None:
    """R-CAT-140: what can't be decoded is passed over."""
    found, report = catalog({"other.package.yaml": dedent("packageName: other\nchannels: all\n")})
    assert not list(report)
    assert list(found.packages) == ["pot"]


def test_a_patch_release_that_nothing_leads_to_is_named() -> None:
    """R-CAT-141, and the manual on z-streams: a patch release replaces or skips those before it, or they are lost."""
    served, report = loaded(
        {
            "pot.package.yaml": "packageName: pot\nchannels:\n- {name: alpha, currentCSV: pot.v3}\n",
            "1/csv.yaml": csv("pot.v1", "1.0.0"),
            "2/csv.yaml": csv("pot.v2", "1.0.1"),
            "3/csv.yaml": csv("pot.v3", "1.0.2", "replaces: pot.v1"),
        }
    )
    assert list(served.packages["pot"].bundles) == ["pot.v3", "pot.v1"]
    (finding,) = report
    assert place(finding) == "OLMC258 2/csv.yaml:3"
    assert "pot.v2 is in no channel" in finding.message
