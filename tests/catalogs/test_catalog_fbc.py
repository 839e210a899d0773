"""File-based catalogs that OLM serves, and what is read of them."""

from __future__ import annotations

from textwrap import dedent

from catalog_workshop import loaded, place

from olmc.compiler.catalogs.loading import looks_like_catalog
from olmc.compiler.catalogs.properties import location_of
from olmc.k8s.diagnostics import Severity

PACKAGE = """\
schema: olm.package
name: kettle
defaultChannel: stable
description: Boils water.
icon: {base64data: AAAA, mediatype: image/png}
"""
CHANNEL = """\
schema: olm.channel
package: kettle
name: stable
entries:
- name: kettle.v2
  replaces: kettle.v1
  skips: [kettle.v1.5]
  skipRange: '>=1.0.0 <2.0.0'
- name: kettle.v1
"""
BUNDLES = """\
schema: olm.bundle
package: kettle
name: kettle.v1
image: quay.io/acme/kettle:v1
properties:
- {type: olm.package, value: {version: 1.0.0, packageName: kettle}}
---
schema: olm.bundle
package: kettle
name: kettle.v2
image: quay.io/acme/kettle:v2
relatedImages:
- {name: boiler, image: 'quay.io/acme/boiler@sha256:%s'}
- {name: bundle, image: 'quay.io/acme/kettle:v2'}
properties:
- {type: olm.package, value: {version: 2.0.0, packageName: kettle}}
- {type: acme.level, value: {z: 1, a: {x: [1.0], b: null}}}
- {type: acme.none, value: null}
""" % ("a" * 64)
WHOLE = {"catalog.yaml": f"{PACKAGE}---\n{CHANNEL}---\n{BUNDLES}"}


def test_a_catalog_is_read() -> None:
    """R-CAT-122: packages, channels with entries in source order, bundles."""
    catalog, report = loaded(WHOLE)
    assert not list(report)
    assert catalog.problem == ""
    package = catalog.packages["kettle"]
    assert (package.name, package.default_channel, package.description) == ("kettle", "stable", "Boils water.")
    assert package.icon == {"base64data": "AAAA", "mediatype": "image/png"}
    first, second = package.channels["stable"].entries
    assert (first.name, first.replaces, first.skips) == ("kettle.v2", "kettle.v1", ("kettle.v1.5",))
    assert (first.skip_range, second.name, second.replaces) == (">=1.0.0 <2.0.0", "kettle.v1", "")
    bundle = package.bundles["kettle.v2"]
    assert (bundle.image, bundle.version, bundle.package) == ("quay.io/acme/kettle:v2", "2.0.0", "kettle")
    assert bundle.related_images == (f"quay.io/acme/boiler@sha256:{'a' * 64}", "quay.io/acme/kettle:v2")


def test_values_have_their_keys_sorted() -> None:
    """R-CAT-301: a catalog goes through JSON with sorted keys, at every depth."""
    catalog, _ = loaded(WHOLE)
    package, level, none = catalog.packages["kettle"].bundles["kettle.v2"].properties
    assert (level.type, none.type, none.value) == ("acme.level", "acme.none", None)
    assert list(package.value) == ["packageName", "version"]
    assert list(level.value) == ["a", "z"]
    assert list(level.value["a"]) == ["b", "x"]


def test_places_are_kept_for_later() -> None:
    """Entries and bundles know where they stand."""
    catalog, _ = loaded(WHOLE)
    package = catalog.packages["kettle"]
    entry = package.channels["stable"].entries[1]
    assert str(location_of(entry.location)) == "catalogs/acme/catalog.yaml:15:3"
    assert str(location_of(package.bundles["kettle.v1"].location)) == "catalogs/acme/catalog.yaml:17:1"


def test_files_of_all_names_and_depths_are_one_catalog() -> None:
    """R-CAT-120, R-CAT-121: any name, nested folders, hidden ones too, JSON values one after the other."""
    files = {
        "deep/er/package": PACKAGE,
        ".hidden/channel.txt": CHANNEL,
        "bundles.yaml": BUNDLES,
        "more.json": """
            {"schema": "olm.package", "name": "pot", "defaultChannel": "s"}
            {"schema": "olm.channel", "package": "pot", "name": "s", "entries": [{"name": "pot.v1"}]}
            {"schema": "olm.bundle", "package": "pot", "name": "pot.v1", "image": "quay.io/acme/pot",
             "properties": [{"type": "olm.package", "value": {"packageName": "pot", "version": "1.0.0"}}]}
        """,
    }
    catalog, report = loaded(files)
    assert not list(report)
    assert sorted(catalog.packages) == ["kettle", "pot"]


def test_keys_are_read_in_any_case() -> None:
    """R-CAT-121: schema, package, name and all other keys are matched without regard to case."""
    text = """
        {SCHEMA: olm.package, Name: pot, DEFAULTCHANNEL: s}
        ---
        {schema: olm.channel, PackaGe: pot, name: s, Entries: [{NAME: pot.v1, SkipRange: '<1.0.0'}]}
        ---
        schema: olm.bundle
        package: pot
        NAME: pot.v1
        Image: quay.io/acme/pot
        Properties: [{Type: olm.package, VALUE: {PackageName: pot, VERSION: 1.0.0}}]
        RelatedImages: [{Image: quay.io/acme/lid}]
        ---
        schema: olm.deprecations
        package: pot
        Entries: [{Reference: {Schema: olm.bundle, NAME: pot.v1}, Message: old}]
    """
    catalog, report = loaded({"catalog.yaml": dedent(text)})
    assert not list(report)
    package = catalog.packages["pot"]
    assert package.default_channel == "s"
    assert package.channels["s"].entries[0].skip_range == "<1.0.0"
    assert package.bundles["pot.v1"].version == "1.0.0"
    assert package.bundles["pot.v1"].related_images == ("quay.io/acme/lid",)
    assert [(each.schema, each.name, each.message) for each in package.deprecations] == [
        ("olm.bundle", "pot.v1", "old")
    ]


def test_of_two_spellings_of_a_field_the_last_in_key_order_counts() -> None:
    """R-CAT-121: documents are read with sorted keys, and a later key overwrites an earlier one."""
    text = WHOLE["catalog.yaml"].replace("- name: kettle.v1\n", "- {name: kettle.v1, NAME: kettle.v9}\n")
    catalog, _ = loaded({"catalog.yaml": text})
    assert [entry.name for entry in catalog.packages["kettle"].channels["stable"].entries] == ["kettle.v2", "kettle.v1"]


def test_unknown_schemas_and_fields_have_no_effect() -> None:
    """R-CAT-121."""
    other = "schema: acme.notes\nname: kettle\nwhatever: [1, 2]\n"
    catalog, report = loaded({"catalog.yaml": f"{other}---\n{WHOLE['catalog.yaml']}colour: red\n"})
    assert not list(report)
    assert list(catalog.packages) == ["kettle"]


def test_ignored_files_are_no_part_of_the_catalog() -> None:
    """R-CAT-120: .indexignore."""
    catalog, report = loaded({**WHOLE, "README.md": "Boil water.", ".indexignore": "# no catalog\n*.md\n"})
    assert not list(report)
    assert list(catalog.packages) == ["kettle"]


def test_an_empty_document_is_warned_of() -> None:
    """R-CAT-121."""
    catalog, report = loaded({"catalog.yaml": f"{WHOLE['catalog.yaml']}---\n"})
    assert list(catalog.packages) == ["kettle"]
    assert [(each.code, each.severity) for each in report] == [("OLMC257", Severity.WARNING)]


def test_an_api_that_a_bundle_has_twice_is_warned_of() -> None:
    """R-CAT-545, D18."""
    gvk = "- {type: olm.gvk, value: {group: acme.example, kind: Kettle, version: v1}}\n"
    catalog, report = loaded({"catalog.yaml": WHOLE["catalog.yaml"] + gvk + gvk})
    assert list(catalog.packages) == ["kettle"]
    assert [place(each) for each in report] == ["OLMC255 36"]
    assert "acme.example/v1, Kind=Kettle" in next(iter(report)).message


def test_several_troubles_are_told_at_once_and_the_first_is_olms() -> None:
    """R-CAT-124: OLM stops at the first error, the others are told as well."""
    text = WHOLE["catalog.yaml"].replace("1.0.0, packageName", "1.0.x, packageName").replace("@sha256", "@sha")
    catalog, report = loaded({"catalog.yaml": text})
    assert (
        catalog.problem
        == 'error parsing bundle "kettle.v1" version "1.0.x": Invalid character(s) found in patch number "x"'
    )
    assert [place(each) for each in report] == ["OLMC220 22", "OLMC219 29"]


def test_no_documents_make_an_empty_catalog() -> None:
    """R-CAT-126: there is nothing wrong with an index without packages."""
    catalog, report = loaded({".gitkeep": ""})
    assert (catalog.packages, catalog.problem, list(report)) == ({}, "", [])


def test_catalogs_are_told_from_manifests_by_their_schema() -> None:
    """R-CAT-121."""
    assert looks_like_catalog({"schema": "olm.package"})
    assert looks_like_catalog({"Schema": "olm.template.basic"})
    assert not looks_like_catalog({"schema": "acme.notes"})
    assert not looks_like_catalog({"schema": ["olm.package"]})
    assert not looks_like_catalog({"apiVersion": "v1", "kind": "ConfigMap"})
    assert not looks_like_catalog("olm.package")
    assert not looks_like_catalog(None)
