"""Validated patterns: files of values from which the chart clustergroup makes Subscriptions, groups and Applications.

Such a repository has `values-NAME.yaml` for each group of clusters. The chart itself is in another repository, but what
it makes of `namespaces`, `subscriptions` and `applications` is plain.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import Folder, read_text
from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import OLM_GROUP, KubernetesObject, Manifest, as_text, mapping, mappings
from olmc.k8s.yaml import locate, read

_KEY = "clusterGroup"
_MARK = regex(r"(?m)^clusterGroup\s*:")
_OF_VERSION = regex(r"\d+\.\d+(?:-|$)")
"""How the names of files begin that are for one version of OpenShift."""
_GLOBAL_NAMESPACE, _SOURCE, _SOURCE_NAMESPACE = "openshift-operators", "redhat-operators", "openshift-marketplace"


class PatternApplication(NamedTuple):
    """A folder of the repository that the pattern applies: its name, path, namespace and the place that says so."""

    name: str
    path: str
    namespace: str
    place: Location


class ClusterGroup(NamedTuple):
    """A group of clusters of a validated pattern: its name, the file of values, and the values with their source."""

    name: str
    path: str
    values: Mapping[str, Any]
    source: Source

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        """The Namespaces, OperatorGroups and Subscriptions that the chart makes of the values."""
        return tuple(Manifest(obj, source) for obj, source in self._objects())

    def _objects(self) -> Iterator[tuple[KubernetesObject, Source]]:
        for name, settings, keys in self._namespaces():
            source = self._at(*keys)
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, source
            if settings.get("operatorGroup") is not False and name != _GLOBAL_NAMESPACE:
                targets = settings.get("targetNamespaces")
                listed = targets if isinstance(targets, list) else [name]
                metadata = {"name": f"{name}-operator-group", "namespace": name}
                yield _olm("OperatorGroup", "v1", metadata, {"targetNamespaces": listed} if listed else {}), source
        for key, given in _entries(self.values.get("subscriptions")):
            if given.get("disabled") is True or not given.get("name"):
                continue
            spec: dict[str, Any] = {
                "name": as_text(given.get("name")),
                "source": as_text(given.get("source")) or _SOURCE,
                "sourceNamespace": as_text(given.get("sourceNamespace")) or _SOURCE_NAMESPACE,
            }
            optional = {"channel": "channel", "installPlanApproval": "installPlanApproval", "config": "config"}
            spec |= {field: given[name] for field, name in optional.items() if given.get(name)}
            namespaces = given.get("namespaces")
            homes = namespaces if isinstance(namespaces, list) else [given.get("namespace") or _GLOBAL_NAMESPACE]
            for home in homes:
                metadata = {"name": spec["name"], "namespace": as_text(home)}
                yield _olm("Subscription", "v1alpha1", metadata, spec), self._at("subscriptions", key)

    @property
    def applications(self) -> tuple[PatternApplication, ...]:
        """The folders of the repository that the pattern applies."""
        found = []
        for key, given in _entries(self.values.get("applications")):
            path = as_text(given.get("path"))
            if path and not given.get("repoURL") and given.get("disabled") is not True:
                place = locate(self.source, (_KEY, "applications", key))
                name = as_text(given.get("name")) or str(key)
                found.append(PatternApplication(name, posixpath.normpath(path), as_text(given.get("namespace")), place))
        return tuple(found)

    def _namespaces(self) -> Iterator[tuple[str, Mapping[str, Any], tuple[str | int, ...]]]:
        listed = self.values.get("namespaces")
        if isinstance(listed, Mapping):
            for name, settings in listed.items():
                yield str(name), mapping(settings), ("namespaces", str(name))
        for number, item in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(item, str):
                yield item, {}, ("namespaces", number)
            for name, settings in mapping(item).items():
                yield str(name), mapping(settings), ("namespaces", number)

    def _at(self, *keys: str | int) -> Source:
        """The source of what the chart makes of some values: an empty object at their key, or at their list item."""
        place = locate(self.source, (_KEY, *keys), of_key=isinstance(keys[-1], str))
        return Source(self.path, "\n" * (place.line - 1) + " " * (place.column - 1) + "{}" if place.line else "")


def cluster_groups(root: Path, folder: Folder) -> Iterator[ClusterGroup]:
    """Read the groups of clusters of a validated pattern, whose values are at the top of the repository at `root`."""
    for name in folder.files:
        if not name.endswith((".yaml", ".yml")) or not name.startswith("values"):
            continue
        text = read_text(root, name, Report()) or ""
        documents = read(name, text, Report()) if _MARK.search(text) else []
        values = mapping(mapping(documents[0].value).get(_KEY)) if documents else {}
        # The chart needs a name. A file without one is read over that of a group, for a platform or a version.
        stem = posixpath.splitext(name)[0].removeprefix("values-")
        is_whole = bool(values.get("name") or (values.get("namespaces") and not _OF_VERSION.match(stem)))
        if is_whole and (values.get("subscriptions") or values.get("applications")):
            yield ClusterGroup(as_text(values.get("name")) or stem, name, values, documents[0].source)


def _entries(given: Any) -> Iterator[tuple[str | int, Mapping[str, Any]]]:
    """The entries of what may be a mapping or a list."""
    if isinstance(given, Mapping):
        yield from ((str(key), mapping(value)) for key, value in given.items())
    else:
        yield from enumerate(mappings(given))


def _olm(kind: str, version: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> KubernetesObject:
    return {"apiVersion": f"{OLM_GROUP}/{version}", "kind": kind, "metadata": dict(metadata), "spec": dict(spec)}
