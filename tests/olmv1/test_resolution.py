"""The choice of a bundle for a ClusterExtension, and the conditions that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from v1_vectors import cases

from olmc.compiler.catalogs.conversion import Blobs, add_document, unchecked_packages
from olmc.compiler.model.workspace import METADATA_NAME
from olmc.k8s.diagnostics import Source
from olmc.targets.v1.installing import account_missing, conditions_after, mirrored
from olmc.targets.v1.permissions import CatalogFilter, ClusterCatalog, InstalledBundle
from olmc.targets.v1.resolution import ExtensionResolution, ServedCatalog, resolve
from olmc.targets.v1.status import condition

IMAGE = "example.com/installed@sha256:0"


def _served(name: str, fbc: Sequence[Any], priority: int = 0, **values: Any) -> ServedCatalog:
    blobs = Blobs()
    for document in fbc:
        assert not add_document(document, Source("catalog.yaml", ""), blobs, is_yaml=False)
    labels = {METADATA_NAME: name, **values.get("labels", {})}
    catalog = ClusterCatalog(name, labels, "", priority, values.get("available", True))
    return ServedCatalog(catalog, unchecked_packages(blobs), values.get("problem", ""))


def _source(given: Mapping[str, Any]) -> CatalogFilter:
    policy = given.get("upgradeConstraintPolicy", "CatalogProvided")
    channels = tuple(given.get("channels") or ())
    return CatalogFilter(given["packageName"], given.get("version"), channels, given.get("selector") or {}, policy)


def test_resolutions_are_as_the_controller_has_them(shared: Path) -> None:
    """R-V1-RES-1 … R-V1-RES-14, R-V1-CND-1, R-V1-CND-2."""
    for case in cases(shared, "resolve"):
        given, expected = case["installed"], case["expect"]
        installed = None
        if given is not None:
            installed = InstalledBundle(given["name"], given["version"], given.get("release"), IMAGE)
        catalogs = [_of_case(catalog) for catalog in case["catalogs"]]
        source = _source(case["catalog"])
        resolution = resolve(source, installed, catalogs, releases=case["bundleReleaseSupport"])
        assert _facts(resolution) == {key: expected[key] for key in _facts(resolution)}, case["id"]
        deprecations = [entry._asdict() for entry in resolution.deprecations]
        assert deprecations == (expected.get("deprecations") or []), case["id"]
        assert resolution.error == expected.get("error", ""), case["id"]
        status, conditions = conditions_after(source, installed, resolution)
        named = sorted(conditions)
        assert [item._asdict() for item in named] == expected["conditions"], case["id"]
        fields = ("name", "version", "release")
        shown = {key: value for key in fields if (value := getattr(status, key)) is not None} if status else None
        assert shown == expected.get("install"), case["id"]


def _of_case(catalog: Mapping[str, Any]) -> ServedCatalog:
    name = catalog["name"]
    problem = f'catalog "{name}" is not being served' if catalog["notServing"] else ""
    available = catalog["availabilityMode"] != "Unavailable"
    return _served(
        name, catalog["fbc"], catalog["priority"], labels=catalog["labels"], available=available, problem=problem
    )


def _facts(resolution: ExtensionResolution) -> dict[str, Any]:
    if resolution.bundle is None or resolution.version is None:
        return {}
    return {
        "bundle": resolution.bundle.name,
        "image": resolution.bundle.image,
        "version": str(resolution.version.version),
        "release": resolution.version.release,
    }


def _package(
    *versions: str, channel: str = "stable", skip_range: str = "", deprecated: Sequence[str] = ()
) -> list[Any]:
    entries: list[dict[str, Any]] = []
    for version in versions:
        replaced = {"replaces": entries[-1]["name"]} if entries else {}
        entries.append({"name": f"kettle.v{version}", **replaced, "skipRange": skip_range})
    documents: list[Any] = [
        {"schema": "olm.package", "name": "kettle", "defaultChannel": channel},
        {"schema": "olm.channel", "package": "kettle", "name": channel, "entries": entries},
        {
            "schema": "olm.deprecations", "package": "kettle",
            "entries": [{"reference": {"schema": "olm.bundle", "name": name}, "message": "old"} for name in deprecated],
        },
    ]  # fmt: skip
    return documents + [_bundle(version) for version in versions]


def _bundle(version: str, *properties: Any, name: str = "") -> dict[str, Any]:
    value = {"packageName": "kettle", "version": version}
    return {
        "schema": "olm.bundle", "package": "kettle", "name": name or f"kettle.v{version}",
        "image": f"example.com/kettle:{version}",
        "properties": [{"type": "olm.package", "value": value}, *properties],
    }  # fmt: skip


def _resolve(
    catalogs: list[ServedCatalog], installed: str = "", releases: bool = False, **given: Any
) -> ExtensionResolution:
    there = InstalledBundle(f"kettle.v{installed}", installed, image=IMAGE) if installed else None
    return resolve(_source({"packageName": "kettle", **given}), there, catalogs, releases=releases)


def _chosen(resolution: ExtensionResolution) -> str:
    return resolution.bundle.name if resolution.bundle is not None else resolution.error


ONE = [_served("tools", _package("1.0.0", "1.1.0", "2.0.0"))]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "kettle.v2.0.0"),
        ({"version": "1.x"}, "kettle.v1.1.0"),
        ({"version": ">2"}, 'no bundles found for package "kettle" matching version ">2"'),
        ({"channels": ["b", "a"]}, 'no bundles found for package "kettle" in channels [b a]'),
        ({"installed": "1.0.0"}, "kettle.v1.1.0"),
        ({"installed": "1.0.0", "upgradeConstraintPolicy": "SelfCertified"}, "kettle.v2.0.0"),
        (
            {"installed": "0.1.0"},
            'error upgrading from currently installed version "0.1.0": no bundles found for package "kettle"',
        ),
        ({"version": ">=a"}, 'desired version range ">=a" is invalid: improper constraint: ">=a"'),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}, "version": ">=a"},
            'desired catalog selector is invalid: "Is" is not a valid label selector operator',
        ),
        ({"selector": {"matchLabels": {METADATA_NAME: "tools"}}}, "kettle.v2.0.0"),
        ({"selector": {"matchLabels": {"env": "test"}}}, 'no bundles found for package "kettle"'),
        (
            {"installed": "one"},
            "error walking catalogs: error finding upgrade edges: failed to get version and release of installed "
            "bundle: No Major.Minor.Patch elements found",
        ),
    ],
)
def test_what_is_asked_for_decides(given: dict[str, Any], expected: str) -> None:
    """R-V1-RES-1, R-V1-RES-4, R-V1-RES-8, R-V1-RES-9, R-V1-RES-14."""
    assert _chosen(_resolve(ONE, **given)) == expected


def test_a_skip_range_is_an_edge() -> None:
    """R-V1-RES-9."""
    catalogs = [_served("tools", _package("1.5.0", "2.0.0", skip_range=">=1.0.0 <2.0.0"))]
    assert _chosen(_resolve(catalogs, installed="1.2.0")) == "kettle.v2.0.0"


def test_catalogs_are_ranked_by_priority_never_by_version() -> None:
    """R-V1-RES-11."""
    high, low = _served("a", _package("1.0.0"), 10), _served("b", _package("2.0.0"), 5)
    assert _chosen(_resolve([low, high])) == "kettle.v1.0.0"
    third = _served("c", _package("3.0.0"), 10)
    text = 'found bundles for package "kettle" in multiple catalogs with the same priority [a b c]'
    assert _chosen(_resolve([low, third, high])) == text


def test_what_is_not_deprecated_goes_first() -> None:
    """R-V1-RES-10, R-V1-RES-11, R-V1-RES-12."""
    high = _served("a", _package("1.0.0", "2.0.0", deprecated=["kettle.v2.0.0"]), 10)
    assert _chosen(_resolve([high])) == "kettle.v1.0.0"
    old = _served("a", _package("2.0.0", deprecated=["kettle.v2.0.0"]), 10)
    low = _served("b", _package("1.0.0"), 5)
    resolution = _resolve([old, low])
    assert (_chosen(resolution), resolution.catalog) == ("kettle.v1.0.0", "b")
    assert resolution.outcomes[0].dropped == "its bundle is deprecated, and another catalog's is not"


def test_one_broken_catalog_blocks_whoever_selects_it() -> None:
    """R-V1-RES-2; a disabled one is left out silently (R-V1-RES-1)."""
    broken = _served("aaa", [], problem='catalog "aaa" is not being served')
    text = (
        'error walking catalogs: error getting package "kettle" from catalog "aaa": catalog "aaa" is not being served'
    )
    assert _chosen(_resolve([*ONE, broken])) == text
    off = _served("aaa", [], problem="whatever", available=False)
    assert _chosen(_resolve([*ONE, off])) == "kettle.v2.0.0"


def test_ties_go_by_the_names_of_files() -> None:
    """R-V1-RES-3."""
    documents = [*_package("1.0.0"), _bundle("1.0.0", name="kettle.a"), _bundle("1.0.0", name="kettle-x")]
    assert _chosen(_resolve([_served("tools", documents)])) == "kettle-x"
    last = {**_bundle("3.0.0"), "name": "kettle-x", "image": "example.com/last"}
    assert _resolve([_served("tools", [*documents, last])]).bundle is not None
    assert _chosen(_resolve([_served("tools", [*documents, last])], version="3.0.0")) == "kettle-x"


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        (
            [_bundle("1.0.0", {"type": "olm.gvk.required", "value": {}})],
            'validating bundle "kettle.v1.0.0": bundle "kettle.v1.0.0" has a dependency declared via property '
            '"olm.gvk.required" which is currently not supported',
        ),
        (
            [{**_bundle("1.0.0"), "properties": []}],
            'error getting resolved bundle version for bundle "kettle.v1.0.0": no package property found in bundle '
            '"kettle.v1.0.0"',
        ),
        (
            [_bundle("v1")],
            'error getting resolved bundle version for bundle "kettle.vv1": No Major.Minor.Patch elements found',
        ),
    ],
)
def test_what_was_chosen_is_checked_afterwards(documents: list[Any], expected: str) -> None:
    """R-V1-RES-5, R-V1-RES-13."""
    assert _chosen(_resolve([_served("tools", documents)])) == expected


def test_a_release_is_build_metadata_or_a_field_of_its_own() -> None:
    """R-V1-RES-6, R-V1-RES-7."""
    catalogs = [_served("tools", [_bundle("1.0.0+2"), _bundle("1.0.0+10"), _bundle("1.0.0")])]
    resolution = _resolve(catalogs)
    assert resolution.installed == InstalledBundle("kettle.v1.0.0+10", "1.0.0+10", None, "example.com/kettle:1.0.0+10")
    with_gate = _resolve(catalogs, releases=True).installed
    assert with_gate is not None
    assert (with_gate.version, with_gate.release) == ("1.0.0", "10")
    explicit = _bundle("1.0.0+2")
    explicit["properties"][0]["value"]["release"] = ""
    kept = _resolve([_served("tools", [explicit])], releases=True).installed
    assert kept is not None
    assert (kept.version, kept.release) == ("1.0.0+2", "")


def test_conditions_of_other_situations() -> None:
    """R-V1-CND-1, R-V1-SA-1, R-V1-COS-8."""
    progressing, installed = account_missing("installer", "brewing", checked=True)
    text = (
        "operation cannot proceed due to the following validation error(s): "
        'service account "installer" not found in namespace "brewing"'
    )
    assert progressing == ("Progressing", "True", "Retrying", text)
    assert installed == ("Installed", "Unknown", "Failed", text)
    progressing, installed = account_missing("installer", "brewing", checked=False)
    assert progressing.message == "installation cannot proceed due to missing ServiceAccount"
    assert installed.message.endswith("unable to authenticate with the Kubernetes cluster.")
    rolling = condition("Progressing", "True", "RollingOut", "Revision 1.0.0 is rolling out.")
    assert mirrored(rolling, None) == [rolling, ("Installed", "False", "Absent", "No bundle installed")]
    stuck = rolling._replace(reason="Retrying")
    assert mirrored(stuck, None) == [stuck, ("Installed", "False", "Failed", "No bundle installed")]
    cut = condition("Progressing", "True", "Retrying", "x" * 40000).message
    assert (len(cut), cut[-24:]) == (32768, "\n... [message truncated]")
