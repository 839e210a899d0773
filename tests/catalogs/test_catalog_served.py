"""What the registry serves, and how the resolver sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from catalog_workshop import loaded

from olmc.compiler.catalogs.content import has_inline_content, served_candidates, served_properties
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.catalogs.properties import properties_text
from olmc.compiler.model.catalog import Candidate, Catalog, CatalogBundle, Property
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import CatalogKey
from olmc.k8s.yaml import located

KEY = CatalogKey("olm", "cat")

CATALOG = """\
{schema: olm.package, name: pot, defaultChannel: beta}
---
{schema: olm.channel, package: pot, name: stable, entries: [{name: pot.v1}]}
---
schema: olm.channel
package: pot
name: beta
entries:
- {name: pot.v2, replaces: pot.v1, skips: [pot.v0], skipRange: '<2.0.0'}
- {name: pot.v1}
---
schema: olm.bundle
package: pot
name: pot.v1
image: quay.io/acme/pot:v1
properties:
- {type: olm.package, value: {packageName: pot, version: 1.0.0}}
- {type: olm.csv.metadata, value: {displayName: Pot}}
---
schema: olm.bundle
package: pot
name: pot.v2
image: quay.io/acme/pot:v2
properties:
- {type: olm.gvk.required, value: {version: v1, kind: Lid, group: acme.example}}
- {type: olm.package, value: {packageName: pot, version: 2.0.0}}
- {type: olm.package.required, value: {versionRange: '>=1.0.0', packageName: stove}}
- {type: olm.constraint, value: {failureMessage: no & never, cel: {rule: 'a < b'}}}
- {type: olm.bundle.object, value: {data: e30=}}
---
{schema: olm.package, name: kettle, defaultChannel: s}
---
{schema: olm.channel, package: kettle, name: s, entries: [{name: kettle.v1}]}
---
schema: olm.bundle
package: kettle
name: kettle.v1
properties:
- {type: olm.package, value: {packageName: kettle, version: 1.0.0}}
- {type: olm.bundle.object, value: {data: e30=}}
"""


def candidates() -> tuple[Candidate, ...]:
    catalog, report = loaded({"catalog.yaml": CATALOG})
    assert not list(report)
    return tuple(served_candidates(KEY, catalog))


def test_entries_are_served_by_package_channel_and_place() -> None:
    """R-CAT-129, R-CAT-303: one candidate for each entry of each channel."""
    found = [(each.package, each.channel, each.name, each.default_channel) for each in candidates()]
    assert found == [
        ("kettle", "s", "kettle.v1", True),
        ("pot", "beta", "pot.v2", True),
        ("pot", "beta", "pot.v1", True),
        ("pot", "stable", "pot.v1", False),
    ]


def test_a_candidate_has_the_edges_of_its_channel() -> None:
    """R-CAT-129."""
    kettle, pot, old, stable = candidates()
    assert (pot.catalog, pot.version, pot.image) == (KEY, "2.0.0", "quay.io/acme/pot:v2")
    assert (pot.replaces, pot.skips, pot.skip_range) == ("pot.v1", ("pot.v0",), "<2.0.0")
    assert (old.replaces, stable.skips, kettle.image) == ("", (), "")
    assert str(located(pot.location)) == "catalogs/acme/catalog.yaml:5:1"


def test_requirements_are_seen_twice_and_content_never() -> None:
    """R-CAT-303: the derived ones follow all others, with keys in the resolver's own order."""
    pot = candidates()[1]
    assert [each.type for each in pot.properties] == [
        "olm.gvk.required",
        "olm.package",
        "olm.package.required",
        "olm.constraint",
        "olm.gvk.required",
        "olm.package.required",
    ]
    assert list(pot.properties[0].value) == ["group", "kind", "version"]
    assert list(pot.properties[4].value.items()) == [("group", "acme.example"), ("version", "v1"), ("kind", "Lid")]
    assert list(pot.properties[5].value.items()) == [("packageName", "stove"), ("versionRange", ">=1.0.0")]
    assert [each.type for each in candidates()[2].properties] == ["olm.package"]


def test_an_entry_without_content_is_not_served() -> None:
    """R-CAT-143."""
    catalog, _ = loaded({"catalog.yaml": CATALOG})
    pot = catalog.packages["pot"]
    bare = Catalog({"pot": type(pot)(pot.name, "beta", pot.channels, {"pot.v1": pot.bundles["pot.v1"]})})
    assert [each.name for each in served_candidates(KEY, bare)] == ["pot.v1", "pot.v1"]


def test_a_bundle_without_package_property_gets_one() -> None:
    """R-CAT-303."""
    catalog, _ = loaded({"catalog.yaml": CATALOG})
    pot = catalog.packages["pot"]
    bundle = CatalogBundle("pot.v1", "pot", "", "1.0.0", ())
    bare = Catalog({"pot": type(pot)(pot.name, "beta", pot.channels, {"pot.v1": bundle})})
    expected = (Property("olm.package", {"packageName": "pot", "version": "1.0.0"}),)
    assert served_candidates(KEY, bare)[0].properties == expected


def test_the_annotation_is_compact_and_escaped() -> None:
    """R-CAT-621: Go escapes < > & in JSON; no properties are an empty object."""
    assert properties_text(()) == "{}"
    pot = candidates()[1]
    assert properties_text(pot.properties[3:]) == (
        '{"properties":[{"type":"olm.constraint","value":{"cel":{"rule":"a \\u003c b"},'
        '"failureMessage":"no \\u0026 never"}},{"type":"olm.gvk.required","value":{"group":"acme.example",'
        '"version":"v1","kind":"Lid"}},{"type":"olm.package.required","value":{"packageName":"stove",'
        '"versionRange":"\\u003e=1.0.0"}}]}'
    )
    odd = (Property("x", None), Property("x", [1.0, 1e21, "é\u2028"]), Property("x", "4.9"), Property("x", {}))
    assert properties_text(odd) == (
        '{"properties":[{"type":"x","value":null},{"type":"x","value":[1,1e+21,"é\\u2028"]},'
        '{"type":"x","value":"4.9"},{"type":"x","value":{}}]}'
    )


def _observed(path: Path) -> dict[str, set[str]]:
    """The texts that a cluster had for each CSV: on bundle lookups and on the CSVs themselves."""
    found: dict[str, set[str]] = {}
    for obj in json.loads(path.read_text(encoding="utf-8"))["items"]:
        annotations = obj["metadata"].get("annotations") or {}
        text = annotations.get("operatorframework.io/properties")
        # Copies of a CSV carry the same text.
        if obj["kind"] == "ClusterServiceVersion" and text:
            found.setdefault(obj["metadata"]["name"], set()).add(text)
        status: Any = obj.get("status") or {}
        for lookup in status.get("bundleLookups") or () if obj["kind"] == "InstallPlan" else ():
            found.setdefault(lookup["identifier"], set()).add(lookup["properties"])
    return found


def _predicted(case: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for folder in sorted((case / "input" / "catalogs").iterdir()):
        files = {
            path.relative_to(case / "input").as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        catalog = load_catalog(f"catalogs/{folder.name}", files, Report())
        for candidate in served_candidates(CatalogKey("olm", folder.name), catalog):
            bundle = catalog.packages[candidate.package].bundles[candidate.name]
            inline = not bundle.image and has_inline_content(bundle)
            properties = served_properties(bundle) if inline else candidate.properties
            found.setdefault(candidate.name, set()).add(properties_text(properties))
    return found


@pytest.mark.parametrize("group", ["real", "synthetic"])
def test_clusters_had_the_same_properties(shared: Path, group: str) -> None:
    """R-CAT-303, R-CAT-621 against all observed clusters, to the byte."""
    compared = 0
    for case in sorted((shared / "conformance" / "cases" / group).iterdir()):
        predicted = _predicted(case)
        for name, texts in _observed(case / "observed.json").items():
            if name in predicted:
                compared += 1
                assert texts <= predicted[name], (case.name, name)
    assert compared >= 50
