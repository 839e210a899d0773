"""PackageManifests (R-CAT-800 … R-CAT-809), of the workspace in `packages/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import olmc
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.options import Options
from olmc.targets.proposed.installed.resources import PACKAGE_MANIFESTS, icon_of
from olmc.targets.proposed.installed.view import (
    InstalledView,
    ObjectQuery,
    answer,
    item_called,
    items_in,
    view_as_text,
    view_of,
)

WORKSPACE = Path(__file__).parent / "packages"
ICON = {"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}


def seen(*, icons: bool = False, root: Path = WORKSPACE) -> InstalledView:
    done = olmc.compile(root)
    assert done.settled is not None, done.diagnostics
    return view_of(done.settled, done.objects, done.workspace, Options(), icons=icons)


@pytest.fixture(scope="module")
def view() -> InstalledView:
    return seen()


def package(view: InstalledView, name: str, namespace: str = "olm") -> dict[str, Any]:
    found = item_called(view, PACKAGE_MANIFESTS, NamespacedName(namespace, name))
    assert found is not None
    return found.object


def channel(view: InstalledView, name: str, wanted: str) -> dict[str, Any]:
    return next(each for each in package(view, name)["status"]["channels"] if each["name"] == wanted)


def names(view: InstalledView, namespace: str | None) -> list[str]:
    return [f"{each.namespace}/{each.name}" for each in items_in(view, PACKAGE_MANIFESTS, namespace)]


def test_one_for_each_package_of_each_available_catalog_r_cat_800(view: InstalledView) -> None:
    """The CatalogSource without content has none; the object's namespace and age are those of the CatalogSource."""
    assert names(view, None) == ["docks/crane", "olm/crane", "olm/kettle", "olm/spoon"]
    kettle = package(view, "kettle")
    assert (kettle["apiVersion"], kettle["kind"]) == ("packages.operators.coreos.com/v1", "PackageManifest")
    assert kettle["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert kettle["spec"] == {}


def test_namespaces_see_their_own_catalogs_and_the_global_ones_r_cat_801(view: InstalledView) -> None:
    assert names(view, "docks") == ["docks/crane", "docks/crane", "docks/kettle", "docks/spoon"]
    assert names(view, "elsewhere") == ["elsewhere/crane", "elsewhere/kettle", "elsewhere/spoon"]
    assert names(view, "olm") == ["olm/crane", "olm/kettle", "olm/spoon"]
    # Of two of one name the catalog with the lower name is served.
    assert package(view, "crane", "docks")["status"]["catalogSource"] == "alpha"
    assert package(view, "crane", "olm")["status"]["catalogSource"] == "tea"
    assert item_called(view, PACKAGE_MANIFESTS, NamespacedName("docks", "fork")) is None


def test_scalars_are_there_even_when_they_are_empty_r_cat_802(view: InstalledView) -> None:
    status = package(view, "kettle")["status"]
    assert {key: value for key, value in status.items() if isinstance(value, str)} == {
        "catalogSource": "tea",
        "catalogSourceNamespace": "olm",
        "catalogSourceDisplayName": "Tea Things",
        "catalogSourcePublisher": "Tea Ltd.",
        "packageName": "kettle",
        "defaultChannel": "stable",
    }
    assert status["deprecation"] == {"message": "kettle is old"}
    crane = package(view, "crane", "docks")["status"]
    assert (crane["catalogSourceDisplayName"], crane["catalogSourcePublisher"]) == ("", "")
    assert "deprecation" not in crane


def test_channels_whose_head_has_no_csv_are_omitted_r_cat_803(view: InstalledView) -> None:
    """Sorted by name; without the default channel the first one that is left takes its place."""
    assert [each["name"] for each in package(view, "kettle")["status"]["channels"]] == ["fast", "stable"]
    spoon = package(view, "spoon")["status"]
    assert ([each["name"] for each in spoon["channels"]], spoon["defaultChannel"]) == (["alpha", "beta"], "alpha")


def test_packages_without_a_channel_are_no_packages_r_cat_803(view: InstalledView) -> None:
    told = [(each.code, each.message, str(each.location)) for each in view.not_offered]
    text = "package fork of catalog tea: packagemanifest has no valid channels"
    assert told == [("OLMC654", text, "catalogs/tea/fork.yaml:1:1")]


def test_entries_are_sorted_by_version_r_cat_804(view: InstalledView) -> None:
    """The highest first, what is no version as 0.0.0, ties by name; entries that OLM never installs are left out."""
    stable = channel(view, "kettle", "stable")
    assert stable["currentCSV"] == "kettle.v1.10.0"
    assert stable["entries"] == [
        {"name": "kettle.v1.10.0", "version": "1.10.0"},
        {"name": "kettle.v1.9.0", "version": "1.9.0", "deprecation": {"message": "1.9.0 leaks"}},
        {"name": "kettle.v1.2.0", "version": "1.2.0"},
    ]
    assert channel(view, "spoon", "beta")["entries"] is None


def test_description_of_the_csv_r_cat_805(view: InstalledView) -> None:
    """Only the names and texts of APIs; images of containers, of initContainers and related ones, each once, sorted."""
    assert channel(view, "kettle", "stable")["currentCSVDesc"] == {
        "displayName": "Kettle",
        "version": "1.10.0",
        "provider": {"name": "Tea Ltd.", "url": "https://tea.example.com"},
        "annotations": {"capabilities": "Seamless Upgrades"},
        "keywords": ["tea"],
        "links": [{"name": "Home", "url": "https://kettle.example.com"}],
        "maintainers": [{"name": "Ann", "email": "ann@example.com"}],
        "maturity": "stable",
        "description": "Boils water.",
        "installModes": [{"type": "AllNamespaces", "supported": True}],
        "customresourcedefinitions": {
            "owned": [
                {
                    "name": "teas.tea.example.com",
                    "version": "v1",
                    "kind": "Tea",
                    "displayName": "Tea",
                    "description": "A cup",
                }
            ],
            "required": [{"name": "cups.tea.example.com", "version": "v1", "kind": "Cup"}],
        },
        "apiservicedefinitions": {
            "owned": [{"name": "pots", "group": "pots.example.com", "version": "v1", "kind": "Pot"}]
        },
        "nativeApis": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
        "minKubeVersion": "1.20.0",
        "relatedImages": [
            "registry.example.com/init:1",
            "registry.example.com/kettle:1.10.0",
            "registry.example.com/side:1",
        ],
    }


def test_icons_are_omitted_unless_asked_for_r_cat_805(view: InstalledView) -> None:
    assert "icon" not in json.dumps(package(view, "kettle"))
    shown = channel(seen(icons=True), "kettle", "stable")
    assert shown["currentCSVDesc"]["icon"] == [ICON]
    assert "icon" not in channel(seen(icons=True), "kettle", "fast")["currentCSVDesc"]


def test_the_icon_is_that_of_the_default_channel_r_cat_805(view: InstalledView) -> None:
    by_name = {each.listed.name: each for each in view.offers}
    assert icon_of(by_name["kettle"]) == (ICON, "kettle.stable.kettle.v1.10.0")
    assert icon_of(by_name["spoon"]) == (None, "spoon.alpha.spoon.v1.0.0")


def test_deprecation_messages_are_raw_r_cat_806(view: InstalledView) -> None:
    assert channel(view, "kettle", "fast")["deprecation"] == {"message": "fast is closed"}
    assert "deprecation" not in channel(view, "kettle", "stable")


def test_the_provider_is_that_of_the_default_channel_r_cat_807(view: InstalledView) -> None:
    assert package(view, "kettle")["status"]["provider"] == {"name": "Tea Ltd.", "url": "https://tea.example.com"}
    assert package(view, "spoon")["status"]["provider"] == {"name": "Alpha Spoons"}
    assert package(view, "crane", "docks")["status"]["provider"] == {}


def test_labels_r_cat_808(view: InstalledView) -> None:
    """Those of the CatalogSource, the catalog and the provider, then those of the CSV, then the platforms."""
    assert package(view, "kettle")["metadata"]["labels"] == {
        "catalog": "tea",
        "catalog-namespace": "olm",
        "operatorframework.io/arch.arm64": "supported",
        "operatorframework.io/os.linux": "supported",
        "provider": "Tea of the CSV",
        "provider-url": "https://tea.example.com",
        "team": "tea",
    }
    assert package(view, "crane", "docks")["metadata"]["labels"] == {
        "catalog": "alpha",
        "catalog-namespace": "docks",
        "operatorframework.io/arch.amd64": "supported",
        "operatorframework.io/os.linux": "supported",
        "provider": "",
        "provider-url": "",
    }


def test_table_r_cat_809(view: InstalledView) -> None:
    """Name, display name of the catalog, and an age that only a clock could tell."""
    asked = ObjectQuery(PACKAGE_MANIFESTS, "elsewhere")
    assert view_as_text(asked, answer(view, asked), "", "table") == (
        "NAME     CATALOG      AGE\n"
        "crane    Tea Things   <unknown>\n"
        "kettle   Tea Things   <unknown>\n"
        "spoon    Tea Things   <unknown>\n"
    )
    assert PACKAGE_MANIFESTS.fields == ("metadata.name",)
    assert PACKAGE_MANIFESTS.verbs == ("get", "list")
