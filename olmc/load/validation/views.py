"""What checks look at: a CSV with its containers and policy rules, whatever a stranger has written there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmc.model.location import Place
from olmc.model.objects import metadata_of, spec_of
from olmc.model.values import mapping, mappings, text, texts
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


class CsvView(NamedTuple):
    """A CSV as the checks see it."""

    manifest: Manifest

    @property
    def metadata(self) -> Mapping[str, Any]:
        return metadata_of(self.manifest.object)

    @property
    def name(self) -> str:
        return text(self.metadata.get("name"))

    @property
    def annotations(self) -> Mapping[str, str]:
        return {key: text(value) for key, value in mapping(self.metadata.get("annotations")).items()}

    @property
    def labels(self) -> Mapping[str, str]:
        return {key: text(value) for key, value in mapping(self.metadata.get("labels")).items()}

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.manifest.object)

    @property
    def strategy(self) -> Mapping[str, Any]:
        """`spec.install.spec`: deployments and permissions."""
        return mapping(mapping(self.spec.get("install")).get("spec"))

    @property
    def containers(self) -> Iterator[Container]:
        """The containers of all deployments, without init containers."""
        for index, deployment in enumerate(mappings(self.strategy.get("deployments"))):
            pod = mapping(mapping(spec_of(deployment).get("template")).get("spec"))
            keys = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", "containers")
            for number, container in enumerate(mappings(pod.get("containers"))):
                yield Container(container, pod, index, (*keys, number))

    def rules(self, field: str) -> Iterator[Rule]:
        """The policy rules in "permissions" or "clusterPermissions"."""
        for entry, permission in enumerate(mappings(self.strategy.get(field))):
            for index, rule in enumerate(mappings(permission.get("rules"))):
                yield Rule(rule, field, entry, index)

    def descriptions(self, field: str, relation: str) -> list[Mapping[str, Any]]:
        """The items of "customresourcedefinitions" or "apiservicedefinitions" that are "owned" or "required"."""
        return mappings(mapping(self.spec.get(field)).get(relation))

    def place(self, *keys: str | int) -> Place:
        """The place of a value in the CSV."""
        return Place(self.manifest.source, keys)


class GVK(NamedTuple):
    """A group, version and kind, printed as Kubernetes prints it."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"
