"""The state that a compilation ends in, as another one begins with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import is_
from typing import Any

from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.workspace import ClusterState, Workspace
from olmc.compiler.reconcile.install_plans import unpacked_by
from olmc.k8s.api.selectors import matches
from olmc.k8s.diagnostics import Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    RBAC,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Rendered,
    labels_of,
    mapping,
    mappings,
    object_key,
)

# What a rendering does not show of a Secret.
_VALUES = ("data", "stringData")


def state_of(objects: Iterable[Rendered], cluster: Cluster, workspace: Workspace) -> ClusterState:
    """The state that a compilation ends in: its objects, with Secrets as they are stored, and its workspace."""
    known: dict[ObjectKey, Manifest] = {}
    for entry in objects:
        key = entry.identity
        stored = cluster.objects.get(key) if (key.group, key.kind) == ("", "Secret") else None
        place = entry.provenance.place
        values = {name: stored.object[name] for name in _VALUES if name in stored.object} if stored is not None else {}
        known[key] = Manifest({**entry.object, **values}, place.source if place is not None else Source("", ""))
    by_key = {object_key(manifest.object): manifest.object for manifest in workspace.manifests}
    unpacked = {image: bundle for plan in cluster.plans.values() for image, bundle in unpacked_by(plan, workspace)}
    return ClusterState(
        with_aggregated_rules(known), by_key, frozenset(by_key), documents=workspace.documents, unpacked=unpacked
    )


def with_aggregated_rules(objects: dict[ObjectKey, Manifest]) -> dict[ObjectKey, Manifest]:
    """The objects with the rules that the controller of Kubernetes fills into ClusterRoles which select others."""
    roles = {key: m.object for key, m in sorted(objects.items()) if (key.group, key.kind) == (RBAC, "ClusterRole")}
    by_label: dict[tuple[str, Any], dict[ObjectKey, KubernetesObject]] = {}
    for key, role in roles.items():
        for name, value in labels_of(role).items():
            if isinstance(value, str):
                by_label.setdefault((name, value), {})[key] = role
    for key, role in roles.items():
        selectors = mappings(mapping(role.get("aggregationRule")).get("clusterRoleSelectors"))
        if selectors and not role.get("rules"):
            rules: list[Mapping[str, Any]] = []
            for selected in _selected(selectors, key, roles, by_label):
                rules += (rule for rule in mappings(selected.get("rules")) if rule not in rules)
            objects[key] = objects[key]._replace(object={**role, "rules": rules})
    return objects


def in_known_order(objects: Iterable[Rendered], state: ClusterState) -> tuple[Rendered, ...]:
    """The objects, each that is as it was with the keys in the order that they had: what has not changed is written
    with the same bytes, and is the very value that the state has."""
    ordered, compared = [], _Compared({})
    for entry in objects:
        known = state.objects.get(entry.identity)
        kept = compared.in_order(known.object, entry.object) if known is not None else entry.object
        ordered.append(entry._replace(object=kept))
    return tuple(ordered)


class _Compared(NamedTuple):
    """The values that were put in order, by the ids of what was known and of what is there: copies share much."""

    pairs: dict[tuple[int, int], tuple[Any, Any, Any]]

    def in_order(self, known: Any, value: Any) -> Any:
        """A value in the order of what was known of it; that itself if they are the same."""
        if known is value:
            return value
        kind = next((kind for kind in (dict, list) if isinstance(value, kind)), None)
        if kind is None or not isinstance(known, kind):  # to Python 1.0 is 1, and 1 is true
            return known if type(known) is type(value) in (str, int, bool) and known == value else value
        pair = id(known), id(value)
        if pair not in self.pairs:  # with the values themselves, so that no others get their ids
            self.pairs[pair] = known, value, self._of_parts(known, value)
        return self.pairs[pair][2]

    def _of_parts(self, known: Any, value: Any) -> Any:
        if isinstance(value, list):
            if len(value) != len(known):
                return value
            items = [*map(self.in_order, known, value)]
            return known if all(map(is_, items, known)) else items
        ordered = {key: self.in_order(was, value[key]) for key, was in known.items() if key in value}
        if len(ordered) == len(value) == len(known) and all(map(is_, ordered.values(), known.values())):
            return known
        return {**ordered, **{key: value[key] for key in value if key not in known}}


def _selected(
    selectors: Iterable[Mapping[str, Any]], own: ObjectKey, roles: Mapping[ObjectKey, KubernetesObject],
    by_label: Mapping[tuple[str, Any], Mapping[ObjectKey, KubernetesObject]],
) -> Iterator[KubernetesObject]:  # fmt: skip
    for selector in selectors:
        label = next((item for item in mapping(selector.get("matchLabels")).items() if isinstance(item[1], str)), None)
        among = roles if label is None else by_label.get(label, {})
        yield from (role for key, role in among.items() if key != own and matches(selector, labels_of(role)))
