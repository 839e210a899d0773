"""Objects with values of types that do not belong there, where the proposed APIs look at them."""

from __future__ import annotations

from olmc.k8s.objects import ObjectKey
from olmc.targets.proposed.operator_api.components import abnormal, diverging


def test_an_object_whose_name_is_no_text_is_in_no_cluster() -> None:
    csv = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "a"}}
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": {"a": "b"}}}
    assert diverging([csv, odd], [csv]) == (ObjectKey("", "ConfigMap", "", "{'a': 'b'}"),)


def test_a_condition_whose_type_is_no_text_is_not_known_to_be_normal() -> None:
    plan = {"kind": "InstallPlan", "status": {"conditions": [{"type": {}, "status": "True"}]}}
    assert abnormal(plan) == [{"type": {}, "status": "True"}]
