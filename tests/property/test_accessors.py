"""Whatever stands in an object of a stranger, its accessors say something of the right type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from olmc.compiler.model.cluster import Subscription
from olmc.compiler.model.operators import CONVERSION, Csv, OperatorGroup
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.objects import (
    annotations_of,
    labels_of,
    metadata_of,
    name_of,
    namespace_of,
    object_key,
    owner_references,
    pod_of,
    spec_of,
    status_of,
)

KEYS = st.sampled_from(
    "metadata spec status name namespace labels annotations ownerReferences install strategy deployments template "
    "permissions clusterPermissions rules serviceAccountName installModes type supported webhookdefinitions version "
    "generateName conversionCRDs containerPort targetPort customresourcedefinitions apiservicedefinitions owned kind "
    "required group names versions storedVersions schema openAPIV3Schema channel source nativeAPIs conversion".split()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=25
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def everything_of(value: Any) -> dict[str, Any]:
    """What all public attributes of a value give that are no methods."""
    found = {name: getattr(value, name) for name in dir(type(value)) if not name.startswith("_")}
    return {name: each for name, each in found.items() if not callable(each)}


@examples(50)
@given(OBJECTS)
def test_accessors_take_any_object(obj: dict[str, Any]) -> None:
    for value in (Csv(obj), Crd(obj), OperatorGroup(obj, None, ()), Subscription(obj, None)):
        everything_of(value)
    csv = Csv(obj)
    for entry in (*csv.deployments, *csv.permissions, *csv.webhooks, *csv.owned_apiservices, *csv.required_crds):
        everything_of(entry)
    for mapping in (metadata_of(obj), spec_of(obj), status_of(obj), labels_of(obj), annotations_of(obj), pod_of(obj)):
        assert isinstance(mapping, dict)
    assert all(isinstance(reference, dict) for reference in owner_references(obj))
    assert isinstance(name_of(obj) + namespace_of(obj) + object_key(obj).name, str)


@given(OBJECTS)
def test_entries_stand_where_they_are_written(obj: dict[str, Any]) -> None:
    install = spec_of(obj).get("install")
    listed = spec_of(install) if isinstance(install, dict) else {}
    written = listed.get("deployments")
    assert len(Csv(obj).deployments) == (len(written) if isinstance(written, list) else 0)


@pytest.mark.parametrize(("port", "expected"), [(None, 443), (0, 443), (-5, 443), (8443, 8443), ("x", 443)])
def test_ports_that_are_none_mean_443(port: Any, expected: int) -> None:
    webhook = {"type": CONVERSION, "generateName": "hook", "deploymentName": "kettle", "containerPort": port}
    owned = {"name": "pots", "group": "tea.example", "version": "v1", "kind": "Pot", "containerPort": port}
    csv = Csv({"spec": {"webhookdefinitions": [webhook], "apiservicedefinitions": {"owned": [owned]}}})
    (hook,), (service,) = csv.webhooks, csv.owned_apiservices
    assert (hook.port, service.port) == (expected, expected)
