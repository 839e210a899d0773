"""The defaults and the errors of the API server's schema of ClusterServiceVersions for a stored CSV (R-DEP-8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.k8s.gojson import Path, encode_plain
from olmc.k8s.lean import NamedTuple

_ANY = "*"
"""Every element of a list, in a path of keys."""

_DEPLOYMENTS = ("spec", "install", "spec", "deployments", _ANY)
_POD = (*_DEPLOYMENTS, "spec", "template", "spec")
_CONTAINERS = tuple((*_POD, name, _ANY) for name in ("containers", "initContainers", "ephemeralContainers"))
_VOLUMES = (*_POD, "volumes", _ANY)

_CONTAINER_DEFAULTS: tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...] = (
    (("ports", _ANY), {"protocol": "TCP"}),
    (("livenessProbe", "grpc"), {"service": ""}),
    (("readinessProbe", "grpc"), {"service": ""}),
    (("startupProbe", "grpc"), {"service": ""}),
    (("env", _ANY, "valueFrom", "fileKeyRef"), {"optional": False}),
)

# Where the schema has defaults that are visible in Go's types, and which. `name: ""` of references is one, too, but Go
# leaves it out again, being empty (R-DEP-8).
DEFAULTS: tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...] = (
    *((container + path, values) for container in _CONTAINERS for path, values in _CONTAINER_DEFAULTS),
    ((*_VOLUMES, "azureDisk"), {"fsType": "ext4", "readOnly": False}),
    ((*_VOLUMES, "iscsi"), {"iscsiInterface": "default"}),
    ((*_VOLUMES, "rbd"), {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
    ((*_VOLUMES, "scaleIO"), {"fsType": "xfs", "storageMode": "ThinProvisioned"}),
    (("spec", "webhookdefinitions", _ANY), {"containerPort": 443}),
)


class ListMap(NamedTuple):
    """A list in which no two entries may have the same values under all of `keys`."""

    path: tuple[str, ...]
    keys: tuple[str, ...]


_CONTAINER_LISTS = (
    ListMap(("env",), ("name",)),
    ListMap(("ports",), ("containerPort", "protocol")),
    ListMap(("resources", "claims"), ("name",)),
    ListMap(("volumeDevices",), ("devicePath",)),
    ListMap(("volumeMounts",), ("mountPath",)),
)

# The lists of a CSV that the schema treats as maps. Go has no such lists: a CSV that OLM decodes without complaint may
# still be one that the API server does not store (R-DEP-8).
LIST_MAPS: tuple[ListMap, ...] = (
    *(ListMap(container[:-1], ("name",)) for container in _CONTAINERS),
    *(ListMap(container + path, keys) for container in _CONTAINERS for path, keys in _CONTAINER_LISTS),
    ListMap((*_POD, "hostAliases"), ("ip",)),
    ListMap((*_POD, "imagePullSecrets"), ("name",)),
    ListMap((*_POD, "resourceClaims"), ("name",)),
    ListMap((*_POD, "resources", "claims"), ("name",)),
    ListMap((*_POD, "schedulingGates"), ("name",)),
    ListMap((*_POD, "topologySpreadConstraints"), ("topologyKey", "whenUnsatisfiable")),
    ListMap((*_POD, "volumes"), ("name",)),
)


def default_csv(csv: dict[str, Any]) -> dict[str, Any]:
    """The CSV with the schema's defaults filled in (R-DEP-8), as `decode` gives it; the input is not changed.

    A default applies where its parent object is present and the value is absent or null.
    """
    for path, values in DEFAULTS:
        csv = _apply_default(csv, path, values)
    return csv


def _apply_default(node: Any, path: tuple[str, ...], values: Mapping[str, Any]) -> Any:
    """The node with the values at all places of the path; the same object where nothing is missing."""
    if path and path[0] == _ANY:
        if not isinstance(node, list):
            return node
        # Most CSVs have none of these fields, so what does not change is not copied, all the way up.
        entries = [_apply_default(entry, path[1:], values) for entry in node]
        return node if all(new is old for new, old in zip(entries, node, strict=True)) else entries
    if not isinstance(node, dict):
        return node
    if path:
        child = node.get(path[0])
        filled = _apply_default(child, path[1:], values)
        return node if filled is child else {**node, path[0]: filled}
    missing = {key: value for key, value in values.items() if node.get(key) is None}
    return {**node, **missing} if missing else node


def list_map_conflicts(csv: dict[str, Any]) -> list[tuple[Path, str]]:
    """The duplicates for which the API server refuses a CSV (R-DEP-8): path of the second entry and message.

    Defaults count: two ports with one number clash if one says TCP and the other nothing.
    """
    csv = default_csv(csv)
    conflicts = [
        (path, f"{_path_text(path)}: Duplicate value: {encode_plain(identity).decode('utf-8')}")
        for rule in LIST_MAPS
        for entries_path, entries in _lists_at(csv, rule.path, ())
        for path, identity in _duplicates(entries, rule.keys, entries_path)
    ]
    # The API server names the one that it comes to first; indices are numbers, so that the tenth is not before the
    # second.
    return sorted(conflicts, key=lambda conflict: [(isinstance(step, str), step) for step in conflict[0]])


def _lists_at(node: Any, remaining: tuple[str, ...], path: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The lists at a path, each with its own path."""
    if not remaining:
        if isinstance(node, list):
            yield path, node
    elif remaining[0] == _ANY:
        for index, entry in enumerate(node if isinstance(node, list) else ()):
            yield from _lists_at(entry, remaining[1:], (*path, index))
    elif isinstance(node, dict):
        yield from _lists_at(node.get(remaining[0]), remaining[1:], (*path, remaining[0]))


def _duplicates(entries: list[Any], keys: tuple[str, ...], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Of entries that are the same under `keys`, the second: the API server names each clash once."""
    times: dict[bytes, int] = {}
    for index, entry in enumerate(entries):
        # A key that is absent is part of the identity: two entries without it clash as well.
        identity = {key: entry[key] for key in keys if key in entry} if isinstance(entry, dict) else {}
        text = encode_plain(identity)
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:
            yield (*path, index), identity


def _path_text(path: Path) -> str:
    """A path as Kubernetes writes it: `spec.containers[0].env[1]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
