"""Catalogs in ConfigMaps."""

from __future__ import annotations

from typing import Any

import pytest
from catalog_workshop import value

from olmc.compiler.catalogs.bundle_lists import catalog_from_configmap
from olmc.compiler.catalogs.content import inline_objects, served_candidates
from olmc.compiler.model.catalog import Catalog
from olmc.k8s.diagnostics import Report, Severity, Source
from olmc.k8s.objects import CatalogKey

CRDS = """\
- apiVersion: apiextensions.k8s.io/v1beta1
  kind: CustomResourceDefinition
  metadata: {name: pots.acme.example}
  spec: {group: acme.example, version: v1, names: {kind: Pot, plural: pots}}
- apiVersion: apiextensions.k8s.io/v1beta1
  kind: CustomResourceDefinition
  metadata: {name: lids.acme.example}
  spec: {group: acme.example, versions: [{name: v1}, {name: v2}], names: {kind: Lid, plural: lids}}
"""
CSVS = """\
- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: pot.v1}
  spec:
    version: 1.0.0
    customresourcedefinitions:
      owned:
      - {name: lids.acme.example, version: v2, kind: Lid}
      - {name: pots.acme.example, version: v1, kind: Pot}
      - {name: lids.acme.example, version: v1, kind: Lid}
      required: [{name: stoves.acme.example, version: v1, kind: Stove}]
"""
PACKAGES = """\
- packageName: pot
  channels: [{name: alpha, currentCSV: pot.v1}]
"""
DATA = {"customResourceDefinitions": CRDS, "clusterServiceVersions": CSVS, "packages": PACKAGES}


def catalog(**changes: str | None) -> tuple[Catalog, Report]:
    data = {key: text for key, text in {**DATA, **changes}.items() if text is not None}
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
    text += "".join(
        f"  {key}: |\n" + "".join(f"    {line}\n" for line in content.splitlines()) for key, content in data.items()
    )
    report = Report()
    return catalog_from_configmap(value(text), Source("cm.yaml", text), report), report


def test_a_configmap_is_a_catalog_of_inline_bundles() -> None:
    """R-CAT-150, D9: the CSV, then the CRDs in the order in which it owns them, each once."""
    found, report = catalog()
    assert not list(report)
    package = found.packages["pot"]
    bundle = package.bundles["pot.v1"]
    assert (package.default_channel, bundle.image, bundle.version) == ("alpha", "", "1.0.0")
    names = [obj["metadata"]["name"] for obj in inline_objects(bundle, Report())]
    assert names == ["pot.v1", "lids.acme.example", "pots.acme.example"]


def test_a_crd_with_one_version_gets_a_list_of_it() -> None:
    """R-CAT-150."""
    found, _ = catalog()
    crd = found.packages["pot"].bundles["pot.v1"].objects[2]
    assert crd["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True}]


def test_its_requirements_are_derived_once() -> None:
    """R-CAT-303."""
    found, _ = catalog()
    (pot,) = served_candidates(CatalogKey("olm", "cat"), found)
    assert [(each.type, list(each.value.values())) for each in pot.properties] == [
        ("olm.gvk", ["acme.example", "Lid", "v1"]),
        ("olm.gvk", ["acme.example", "Lid", "v2"]),
        ("olm.gvk", ["acme.example", "Pot", "v1"]),
        ("olm.package", ["pot", "1.0.0"]),
        ("olm.gvk.required", ["acme.example", "v1", "Stove"]),
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"customResourceDefinitions": None}, "couldn't find expected key customResourceDefinitions in configmap"),
        ({"clusterServiceVersions": None}, "couldn't find expected key clusterServiceVersions in configmap"),
        ({"packages": None}, "couldn't find expected key packages in configmap"),
        (
            {"customResourceDefinitions": CRDS + CRDS.split("- apiVersion")[1].join(["- apiVersion", ""])},
            "can't add the same CRD twice in one configmap: acme.example/v1/Pot (pots)",
        ),
        (
            {"customResourceDefinitions": CRDS.replace("name: v2", "name: v3")},
            "couldn't find owned CRD in crd list acme.example/v2/Lid (lids): %!s(<nil>)",
        ),
        (
            {"clusterServiceVersions": CSVS.replace("name: pots.acme.example", "name: pots")},
            "error parsing owned name: %!s(<nil>)",
        ),
        (
            {"clusterServiceVersions": CSVS.replace("stoves.acme.example", "stoves")},
            "[error adding operator bundle pot.v1/1.0.0/: couldn't parse plural.group from crd name: stoves, "
            "error loading package pot: no bundle found for bundlename pot.v1]",
        ),
        (
            {
                "clusterServiceVersions": CSVS.replace(
                    "{name: pot.v1}", "{name: pot.v1, annotations: {olm.substitutesFor: x}}"
                )
            },
            "SubstitutesFor is an alpha-only feature. You must enable alpha features with the flag --enable-alpha in "
            "order to use this feature.",
        ),
        (
            {"packages": PACKAGES.replace("pot.v1", "pot.v2")},
            "error loading package pot: no bundle found for bundlename pot.v2",
        ),
        (
            {"packages": PACKAGES.replace("alpha", "alpha, currentCSV: pot.v1}, {name: beta")},
            "error loading package pot: no default channel specified for pot",
        ),
    ],
)
def test_what_keeps_a_configmap_from_being_served(changes: dict[str, str | None], problem: str) -> None:
    """R-CAT-150."""
    refused, report = catalog(**changes)
    assert not refused.packages
    assert refused.problem == problem
    assert all(each.location is not None and each.location.path == "cm.yaml" for each in report)
    assert {each.severity for each in report} == {Severity.FAILURE}


@pytest.mark.parametrize(
    ("key", "text", "begins"),
    [
        ("customResourceDefinitions", "x: [", ""),
        ("customResourceDefinitions", "x: 1", ""),
        ("clusterServiceVersions", "x: [", "error loading CSV list: "),
        ("clusterServiceVersions", "x: 1", "error parsing CSV list: "),
        ("clusterServiceVersions", "- 1", "error parsing CSV list: "),
        (
            "clusterServiceVersions",
            "- metadata: pot.v1",
            "error parsing CSV list: json: cannot unmarshal string into Go struct field ClusterServiceVersion.metadata "
            "of type v1.ObjectMeta",
        ),
        ("packages", "'", "error loading package list: "),
        ("packages", "5", "error parsing package list: "),
        ("packages", "- packageName: []", "error parsing package list: json: cannot unmarshal array"),
    ],
)
def test_lists_that_can_not_be_read(key: str, text: str, begins: str) -> None:
    """R-CAT-150."""
    refused, report = catalog(**{key: text})
    assert not refused.packages
    assert refused.problem
    assert refused.problem.startswith(begins)
    (diagnostic,) = report
    assert (diagnostic.code, diagnostic.message) == ("OLMC249", refused.problem)


def test_empty_lists_make_an_empty_catalog() -> None:
    """R-CAT-150."""
    found, report = catalog(customResourceDefinitions="", clusterServiceVersions="[]", packages="null")
    assert (found.packages, found.problem, list(report)) == ({}, "", [])


def test_a_configmap_without_data_is_no_catalog() -> None:
    """R-CAT-150."""
    report = Report()
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    found = catalog_from_configmap(obj, Source("cm.yaml", "kind: ConfigMap\n"), report)
    assert found.problem == "couldn't find expected key customResourceDefinitions in configmap"
