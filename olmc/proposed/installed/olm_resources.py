"""What OLM's own CRDs serve: the resources of operators.coreos.com, with the columns that kubectl prints of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.kube.builtin_kinds import SHORT_NAMES
from olmc.model.objects import KubernetesObject, Rendered, mappings
from olmc.model.operators import OLM_GROUP
from olmc.proposed.installed.resources import Listed, PrintedColumn, Resource

_NONE = "<none>"
_NAME = PrintedColumn("Name", "The name of the object")
_TRUE_CONDITIONS = "status.conditions"


def _resource(
    version: str, kind: str, description: str, columns: Mapping[str, str], *, namespaced: bool = True
) -> Resource:
    """A resource with a column for one field: `name → path of the field`, for `-o wide` alone with a `+` in front."""
    printed = [
        PrintedColumn(name.lstrip("+"), f"The field {path}", int(name.startswith("+")))
        for name, path in columns.items()
    ]
    return Resource(
        version,
        kind,
        f"{kind.lower()}s",
        kind.lower(),
        description,
        (_NAME, *printed),
        ("get", "list"),
        ("metadata.name", "metadata.namespace") if namespaced else ("metadata.name",),
        group=OLM_GROUP,
        namespaced=namespaced,
        short_names=tuple(SHORT_NAMES.get(kind, "").split()),
    )


_COLUMNS: dict[tuple[str, str], dict[str, str]] = {
    ("v1", "OperatorGroup"): {"+Targets": "status.namespaces"},
    ("v1", "Operator"): {
        "Package": "spec.updates.catalogSource.package",
        "Channel": "spec.updates.catalogSource.channel",
        "Version": "status.metadata.version",
        "Conditions": _TRUE_CONDITIONS,
    },
    ("v1alpha1", "CatalogSource"): {
        "Display": "spec.displayName",
        "Type": "spec.sourceType",
        "Publisher": "spec.publisher",
    },
    ("v1alpha1", "ClusterServiceVersion"): {
        "Display": "spec.displayName",
        "Version": "spec.version",
        "Replaces": "spec.replaces",
        "Phase": "status.phase",
        "+Reason": "status.reason",
    },
    ("v1alpha1", "InstallPlan"): {
        "CSV": "spec.clusterServiceVersionNames",
        "Approval": "spec.approval",
        "Approved": "spec.approved",
        "+Phase": "status.phase",
    },
    ("v1alpha1", "Subscription"): {
        "Package": "spec.name",
        "Source": "spec.source",
        "Channel": "spec.channel",
        "+Installed": "status.installedCSV",
        "+State": "status.state",
    },
    ("v2alpha1", "Install"): {"Approval": "spec.approval", "Conditions": _TRUE_CONDITIONS},
}
_DESCRIPTIONS = {
    "CatalogSource": "A catalog of operators",
    "ClusterServiceVersion": "A version of an operator that is installed",
    "Install": "A list of things to apply, and the approval that this takes",
    "InstallPlan": "What is applied to install or upgrade operators",
    "Operator": "An operator with all that belongs to it",
    "OperatorGroup": "The namespaces that the operators of its own namespace watch",
    "Subscription": "An operator that is to be installed and kept up to date",
}
OLM_RESOURCES = tuple(
    _resource(version, kind, _DESCRIPTIONS[kind], columns, namespaced=kind not in ("Operator", "Install"))
    for (version, kind), columns in _COLUMNS.items()
)
"""The resources that OLM stores and olmc shows; Operators of both versions are served as one resource."""


def stored(objects: Sequence[Rendered]) -> dict[str, tuple[Listed, ...]]:
    """The objects of each resource, by its kind, ordered by namespace and name; `objects` is all that was rendered."""
    by_kind: dict[str, list[Listed]] = {resource.kind: [] for resource in OLM_RESOURCES}
    for rendered in sorted(objects, key=lambda one: (one.identity.namespace, one.identity.name)):
        if rendered.identity.group == OLM_GROUP and rendered.identity.kind in by_kind:
            by_kind[rendered.identity.kind].append(_listed(rendered.object))
    return {kind: tuple(items) for kind, items in by_kind.items()}


def stored_in(
    objects: Mapping[str, tuple[Listed, ...]], resource: Resource, namespace: str | None
) -> tuple[Listed, ...]:
    """Those of a resource in a namespace, or all: in all namespaces (None), or if the resource has none."""
    items = objects.get(resource.kind, ())
    if namespace is None or not resource.namespaced:
        return items
    return tuple(item for item in items if item.namespace == namespace)


def _listed(obj: KubernetesObject) -> Listed:
    columns = next(columns for (_, kind), columns in _COLUMNS.items() if kind == obj["kind"])
    return Listed(obj, (str(obj["metadata"]["name"]), *(_cell(obj, path) for path in columns.values())))


def _cell(obj: KubernetesObject, path: str) -> str:
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if path == _TRUE_CONDITIONS:
        value = [one["type"] for one in mappings(value) if one.get("status") == "True" and one.get("type")]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(str(one) or "*" for one in value) or _NONE
    return str(value) if value not in (None, "") else _NONE
