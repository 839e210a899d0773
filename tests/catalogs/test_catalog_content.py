"""Inline objects, and CSVs for PackageManifests."""

from __future__ import annotations

from base64 import b64encode
from textwrap import indent

import pytest
from catalog_workshop import loaded, place

from olmc.compiler.catalogs.content import check_content, csv_of, has_inline_content, inline_objects
from olmc.compiler.model.catalog import CatalogBundle, Package
from olmc.k8s.diagnostics import Report

CSV = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: pot.v1}\n"


def pot(*properties: str) -> tuple[Package, CatalogBundle]:
    text = (
        "{schema: olm.package, name: pot, defaultChannel: s, description: Of clay., icon: {base64data: AAAA}}\n---\n"
        "{schema: olm.channel, package: pot, name: s, entries: [{name: pot.v1}]}\n---\n"
        "schema: olm.bundle\npackage: pot\nname: pot.v1\nimage: quay.io/acme/pot\n"
        "relatedImages: [{image: quay.io/acme/lid}]\n"
        "properties:\n- {type: olm.package, value: {packageName: pot, version: 1.0.0}}\n"
    ) + "".join(properties)
    catalog, report = loaded({"catalog.yaml": text})
    assert not list(report)
    return catalog.packages["pot"], catalog.packages["pot"].bundles["pot.v1"]


def obj(text: str) -> str:
    data = b64encode(text.encode()).decode()
    return f'- {{type: olm.bundle.object, value: {{data: "{data}"}}}}\n'


def metadata(text: str) -> str:
    return "- type: olm.csv.metadata\n  value:\n" + indent(text, "    ")


def test_objects_are_decoded_when_asked_for() -> None:
    """R-CAT-122: YAML or JSON, in the order of the properties."""
    _, bundle = pot(obj(CSV), obj('{"kind": "Secret"}'))
    assert has_inline_content(bundle)
    assert bundle.objects == ()
    report = Report()
    assert [each["kind"] for each in inline_objects(bundle, report)] == ["ClusterServiceVersion", "Secret"]
    assert not list(report)


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        (
            "- {type: olm.bundle.object, value: {data: '!'}}\n",
            "parse property at index 1 as bundle object: illegal base64 data at input byte 0",
        ),
        (obj("a: ["), "convert bundle object property at index 1 to JSON: "),
        (obj("- a"), "convert bundle object property at index 1 to JSON: json: cannot unmarshal array into"),
        (obj(""), "convert bundle object property at index 1 to JSON: json: cannot unmarshal null into"),
    ],
)
def test_what_can_not_be_decoded_is_reported_and_left_out(written: str, cause: str) -> None:
    """R-CAT-122."""
    _, bundle = pot(written, obj(CSV))
    report = Report()
    assert [each["kind"] for each in inline_objects(bundle, report)] == ["ClusterServiceVersion"]
    (diagnostic,) = report
    assert place(diagnostic) == "OLMC251 12"
    assert diagnostic.message.startswith(f'read bundle objects: package "pot", bundle "pot.v1": {cause}')


def test_a_whole_catalog_can_be_checked() -> None:
    """R-CAT-122, R-CAT-123: what OLM does at load time is a check of its own."""
    text = (
        "{schema: olm.package, name: pot, defaultChannel: s}\n---\n"
        "{schema: olm.channel, package: pot, name: s, entries: [{name: pot.v1, skips: [pot.v0]}, {name: pot.v0}]}\n"
        "---\n"
        "schema: olm.bundle\npackage: pot\nname: pot.v1\n"
        "properties:\n- {type: olm.package, value: {packageName: pot, version: 1.0.0}}\n"
        + obj(CSV)
        + obj("{")
        + "---\nschema: olm.bundle\npackage: pot\nname: pot.v0\nimage: registry.example.com/pot\n"
        "properties:\n- {type: olm.package, value: {packageName: pot, version: 0.1.0}}\n" + metadata("") + metadata("")
    )
    catalog, report = loaded({"catalog.yaml": text})
    assert not list(report)
    check_content(catalog, report)
    assert [place(each) for each in report] == ["OLMC251 11", "OLMC252 21"]


def test_the_inline_csv_is_shown() -> None:
    """R-CAT-123."""
    package, bundle = pot(obj("kind: Secret"), obj(CSV), metadata("displayName: Other\n"))
    found = csv_of(package, bundle, Report())
    assert found is not None
    assert found["metadata"] == {"name": "pot.v1"}
    assert "spec" not in found


def test_a_csv_is_made_of_its_metadata() -> None:
    """R-CAT-123."""
    package, bundle = pot(
        metadata(
            "annotations: {a: b}\nlabels: {c: d}\ndisplayName: Pot\ncrdDescriptions: {owned: [{name: pots.x}]}\n"
            "apiServiceDefinitions: {}\nprovider: {name: Acme}\nmaturity: alpha\nnativeAPIs: [{kind: Pod}]\n"
        )
    )
    assert csv_of(package, bundle, Report()) == {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "pot.v1", "annotations": {"a": "b"}, "labels": {"c": "d"}},
        "spec": {
            "displayName": "Pot",
            "customresourcedefinitions": {"owned": [{"name": "pots.x"}]},
            "apiservicedefinitions": {},
            "provider": {"name": "Acme"},
            "maturity": "alpha",
            "nativeAPIs": [{"kind": "Pod"}],
            "description": "Of clay.",
            "version": "1.0.0",
            "icon": [{"base64data": "AAAA"}],
            "relatedImages": [{"name": "", "image": "quay.io/acme/lid"}],
            "install": {"strategy": "deployment", "spec": {}},
        },
    }


def test_of_two_metadata_none_is_taken() -> None:
    """R-CAT-123."""
    package, bundle = pot(metadata("displayName: Pot\n"), metadata("displayName: Pan\n"))
    report = Report()
    assert csv_of(package, bundle, report) is None
    assert [each.code for each in report] == ["OLMC252"]
    assert "found 2" in next(iter(report)).message


def test_without_content_there_is_no_csv() -> None:
    """R-CAT-123."""
    package, bundle = pot()
    assert not has_inline_content(bundle)
    assert csv_of(package, bundle, Report()) is None
