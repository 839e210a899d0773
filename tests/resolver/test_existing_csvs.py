"""The properties of CSVs that are in the cluster already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenarios import write
from scenes import tea_workspace

import olmc
from olmc.compiler.model.operators import Csv
from olmc.compiler.resolver.rounds import UnreadablePropertiesError, csv_properties
from olmc.k8s.diagnostics import Source

CRD = {"name": "kettles.kitchen.example.com", "version": "v1", "kind": "Kettle"}
SERVICE = {"name": "gauges", "group": "metrics.example.com", "version": "v1", "kind": "Gauge"}
DOTLESS = {"name": "lids", "version": "v1", "kind": "Lid"}
BEGIN = 'failed to retrieve properties of csv "kettle.v1": failed to unmarshal properties annotation: '


def csv(annotation: str | None = None, **spec: Any) -> Csv:
    metadata: dict[str, Any] = {"name": "kettle.v1", "namespace": "kitchen"}
    if annotation is not None:
        metadata["annotations"] = {"operatorframework.io/properties": annotation}
    return Csv({"apiVersion": "operators.coreos.com/v1alpha1", "metadata": metadata, "spec": spec}, Source("", ""))


def shown(found: Csv, *packages: str) -> list[tuple[str, Any]]:
    return [(each.type, each.value) for each in csv_properties(found, set(packages))]


def test_the_apis_of_a_csv_are_its_properties() -> None:
    """R-CAT-310, with the package that all its Subscriptions name."""
    found = csv(
        version="0.0.0",
        customresourcedefinitions={"owned": [CRD], "required": [{**CRD, "kind": "Lid"}]},
        apiservicedefinitions={"owned": [SERVICE], "required": [{**SERVICE, "kind": "Dial"}]},
    )
    kettle = {"group": "kitchen.example.com", "kind": "Kettle", "version": "v1"}
    gauge = {"group": "metrics.example.com", "kind": "Gauge", "version": "v1"}
    apis = [
        ("olm.gvk", kettle),
        ("olm.gvk", gauge),
        ("olm.gvk.required", {**kettle, "kind": "Lid"}),
        ("olm.gvk.required", {**gauge, "kind": "Dial"}),
    ]
    assert shown(found) == shown(found, "kettle", "pot") == apis
    assert shown(found, "kettle") == [*apis, ("olm.package", {"packageName": "kettle", "version": ""})]


@pytest.mark.parametrize("relation", ["owned", "required"])
def test_a_crd_whose_name_has_no_dot_can_not_be_read(relation: str) -> None:
    """R-CAT-310; what the annotation says goes before it."""
    described: dict[str, Any] = {"customresourcedefinitions": {relation: [CRD, DOTLESS]}}
    with pytest.raises(UnreadablePropertiesError, match=r"^error parsing crd name: lids$"):
        shown(csv(**described))
    assert shown(csv("{}", **described)) == []


@pytest.mark.parametrize(
    ("annotation", "properties"),
    [
        ("null", []),
        ('{"properties": null, "more": 1}', []),
        ('{"Properties": [{"Type": "a", "VALUE": [1]}]}', [("a", [1])]),
        ('{"properties": [{"type": "a"}, {"type": null, "value": 5}, null]}', [("a", None), ("", 5), ("", None)]),
    ],
)
def test_the_annotation_is_read_as_go_reads_it(annotation: str, properties: list[tuple[str, Any]]) -> None:
    """R-CAT-310: it replaces everything else."""
    assert shown(csv(annotation, customresourcedefinitions={"owned": [CRD]}), "kettle") == properties


@pytest.mark.parametrize(
    ("annotation", "cause"),
    [
        ("", ""),
        ("{", ""),
        ("[" * 10_000, "exceeded max depth"),
        ("[]", "json: cannot unmarshal array into Go value of type projection.propertiesAnnotation"),
        (
            '{"properties": {}}',
            "json: cannot unmarshal object into Go struct field propertiesAnnotation.properties of type "
            "[]property.Property",
        ),
        (
            '{"properties": [{"type": 5, "value": 1}]}',
            "json: cannot unmarshal number into Go struct field Property.properties.type of type string",
        ),
    ],
)
def test_an_annotation_that_go_refuses_can_not_be_read(annotation: str, cause: str) -> None:
    """R-CAT-310."""
    with pytest.raises(UnreadablePropertiesError) as raised:
        shown(csv(annotation))
    assert str(raised.value).startswith(BEGIN + cause)


@pytest.mark.parametrize(
    ("annotations", "place", "hint"),
    [
        ("{operatorframework.io/properties: '[]'}", "csv.yaml:3:91", "Correct the annotation, or remove it"),
        ("{}", "csv.yaml:7:30", "Write the full names of CRDs"),
    ],
)
def test_a_csv_that_can_not_be_read_is_where_the_resolution_fails(
    annotations: str, place: str, hint: str, tmp_path: Path
) -> None:
    """R-CAT-310: the way out is not in the catalog."""
    files = {
        **tea_workspace(),
        "csv.yaml": "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        f"metadata: {{name: kettle.v1, namespace: ns, annotations: {annotations}}}\n"
        "spec:\n  displayName: Kettle\n  install: {strategy: deployment, spec: {deployments: []}}\n"
        "  customresourcedefinitions: {owned: [{name: lids, version: v1, kind: Lid}]}\n",
    }
    (said,) = (each for each in olmc.compile(write(tmp_path, files)).diagnostics if each.code == "OLMC511")
    assert str(said.location) == place
    assert said.hint.startswith(hint)
