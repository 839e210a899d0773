"""Objects with variables of Flux are compared once more with the defaults of these variables (`variable_changes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olmc.k8s.objects import KubernetesObject, object_key
from olmc.review.diff.crd_kinds import DiffChange
from olmc.review.diff.matching import Pair
from olmc.review.diff.related_risks import SideObjects, variable_changes

Sides = tuple[Sequence[KubernetesObject], Sequence[KubernetesObject]]


def compared(old: KubernetesObject, new: KubernetesObject, changes: int = 0) -> list[Sides]:
    """The objects of each comparison after a change of an object, which find nothing. `variable_changes` then gives so
    many `changes` of its own."""
    calls: list[Sides] = []

    def compare(was: Sequence[KubernetesObject], now: Sequence[KubernetesObject]) -> list[DiffChange]:
        calls.append((was, now))
        return []

    sides = SideObjects((old,), ()), SideObjects((new,), ())
    assert len(list(variable_changes(*sides, [Pair(object_key(new), old, new)], compare))) == changes
    return calls


def crd(scope: str, description: str, default: Any = "on") -> KubernetesObject:
    field: dict[str, Any] = {"type": "string", "description": description, "default": default}
    schema = {
        "description": description,
        "properties": {"description": field, "all": {"type": "array", "items": field}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.example.com"},
        "spec": {"scope": scope, "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]},
    }  # fmt: skip


def role(verb: str) -> KubernetesObject:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}
    metadata = {"name": "reader", "namespace": "lamps"}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": [rule]}


def test_variables_without_a_default_need_no_comparison() -> None:
    assert compared(role("get"), role("${VERB}"), changes=1) == []


def test_a_default_is_compared_in_the_place_of_its_variable() -> None:
    as_written, filled = compared(role("get"), role("${VERB:-delete}"))
    assert as_written == ([role("get")], [role("${VERB:-delete}")])
    assert filled == ([role("get")], [role("delete")])


def test_a_default_in_the_description_of_a_crd_changes_nothing() -> None:
    assert compared(crd("Namespaced", "one"), crd("Namespaced", "The default is ${field-id}.")) == []
    _, filled = compared(crd("Namespaced", "one"), crd("${SCOPE:-Cluster}", "The default is ${field-id}."))
    assert filled[1] == [crd("Cluster", "The default is ${field-id}.")]


def test_a_description_in_a_default_of_a_crd_counts() -> None:
    _, filled = compared(crd("Namespaced", "one"), crd("Namespaced", "one", {"description": "${LIGHT:-dim}"}))
    assert filled[1] == [crd("Namespaced", "one", {"description": "dim"})]


def test_a_definition_of_another_group_counts_as_a_whole() -> None:
    def other(description: str) -> KubernetesObject:
        return {**crd("Namespaced", description), "apiVersion": "example.com/v1"}

    _, filled = compared(other("one"), other("${TEXT:-two}"))
    assert filled[1] == [other("two")]


def test_a_text_named_description_counts_in_other_objects() -> None:
    def config(value: str) -> KubernetesObject:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"description": value}}

    _, filled = compared(config("one"), config("${TEXT:-two}"))
    assert filled[1] == [config("two")]
