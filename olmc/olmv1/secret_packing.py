"""The Secrets that hold the objects of a ClusterObjectSet in the cluster (R-V1-COS-5)."""

from __future__ import annotations

import gzip
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from olmc.gojson import encode_plain
from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, labels_of, mappings, name_of, spec_of
from olmc.olmv1.object_set import PREFIX, SET_KIND, SYSTEM_NAMESPACE, owner_reference
from olmc.olmv1.registry_bundle import BundleError

MAX_DATA = 921_600
"""How many bytes of objects a Secret holds; the rest of what the API takes is for its metadata."""


class PackedSet(NamedTuple):
    """A ClusterObjectSet that refers to its objects, and the Secrets that hold these."""

    object_set: KubernetesObject
    secrets: tuple[KubernetesObject, ...]


def pack(object_set: KubernetesObject, system_namespace: str = SYSTEM_NAMESPACE) -> PackedSet:
    """The set with its objects in Secrets, filled in the order of the phases.

    Raises BundleError for an object that is too large for a Secret even if it is compressed. The bytes of those that
    are compressed, and with them keys and names, differ from upstream's.
    """
    bins: list[dict[str, bytes]] = [{}]
    size = 0
    places: list[list[tuple[str, int]]] = []
    phases = mappings(spec_of(object_set).get("phases"))
    for number, phase in enumerate(phases):
        places.append([])
        for index, entry in enumerate(mappings(phase["objects"])):
            data = _data(entry["object"], number, index)
            key = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            if key not in bins[-1]:
                if bins[-1] and size + len(data) > MAX_DATA:
                    bins.append({})
                    size = 0
                bins[-1][key] = data
                size += len(data)
            places[-1].append((key, len(bins) - 1))
    names = [f"{name_of(object_set)}-{_content_hash(content)}" for content in bins]
    packed = [
        {**phase, "objects": [_reference(names[at], system_namespace, key) for key, at in listed]}
        for phase, listed in zip(phases, places, strict=True)
    ]
    secrets = (
        _secret(name, content, object_set, system_namespace)
        for name, content in zip(names, bins, strict=True)
        if content
    )
    return PackedSet({**object_set, "spec": {**object_set["spec"], "phases": packed}}, tuple(secrets))


def _data(obj: KubernetesObject, phase: int, index: int) -> bytes:
    data = encode_plain(obj)
    if len(data) <= MAX_DATA:
        return data
    compressed = gzip.compress(data, 9, mtime=0)
    if len(compressed) > MAX_DATA:
        raise BundleError(
            f"object in phase {phase} index {index} exceeds maximum Secret data size ({len(compressed)} bytes > "
            f"{MAX_DATA} bytes) even after compression"
        )
    return compressed


def _content_hash(content: Mapping[str, bytes]) -> str:
    return sha256(b"".join(key.encode() + content[key] for key in sorted(content))).hexdigest()[:16]


def _reference(secret: str, namespace: str, key: str) -> dict[str, Any]:
    return {"ref": {"name": secret, "namespace": namespace, "key": key}}


def _secret(name: str, content: Mapping[str, bytes], object_set: KubernetesObject, namespace: str) -> KubernetesObject:
    owner = labels_of(object_set)[f"{PREFIX}owner-name"]
    labels = {f"{PREFIX}owner-name": owner, f"{PREFIX}revision-name": name_of(object_set)}
    references = [owner_reference(SET_KIND, name_of(object_set))]
    metadata = {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": references}
    data = {key: b64encode(content[key]).decode() for key in sorted(content)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "immutable": True,
        "type": f"{PREFIX}object-data",
        "data": data,
    }
