"""What checks look at in a CSV, with where it stands: containers and policy rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmc.model.coerce import mappings, text, texts
from olmc.model.operators import Csv
from olmc.model.workspace import Manifest

Keys = tuple[str | int, ...]


class Container(NamedTuple):
    """A container of a CSV's deployment: its object, that of its pod, and the keys that lead to it."""

    object: Mapping[str, Any]
    pod: Mapping[str, Any]
    deployment: int
    keys: Keys

    @property
    def name(self) -> str:
        return text(self.object.get("name"))

    @property
    def image(self) -> str:
        return text(self.object.get("image"))


class Rule(NamedTuple):
    """A policy rule of a CSV's permissions: the list it stands in ("permissions" …) and its numbers there."""

    object: Mapping[str, Any]
    field: str
    permission: int
    number: int

    @property
    def keys(self) -> Keys:
        return ("spec", "install", "spec", self.field, self.permission, "rules", self.number)

    def names(self, field: str) -> list[str]:
        """The texts of a field of the rule, such as its verbs."""
        return texts(self.object.get(field))


def csv_of(manifest: Manifest) -> Csv:
    """The CSV in a file."""
    return Csv(manifest.object, manifest.source)


def containers(csv: Csv) -> Iterator[Container]:
    """The containers of all deployments, without init containers."""
    for index, deployment in enumerate(csv.deployments):
        keys = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", "containers")
        for number, container in enumerate(mappings(deployment.pod.get("containers"))):
            yield Container(container, deployment.pod, index, (*keys, number))


def policy_rules(csv: Csv, field: str) -> Iterator[Rule]:
    """The policy rules in "permissions" or "clusterPermissions"."""
    for entry, permission in enumerate(csv.permissions if field == "permissions" else csv.cluster_permissions):
        for index, rule in enumerate(permission.rules):
            yield Rule(rule, field, entry, index)
