"""Names that the API server would make up for what the proposed APIs generate (D3)."""

from __future__ import annotations

import json

from olmc.golang import random_suffix
from olmc.model.objects import KubernetesObject


def named(obj: KubernetesObject, prefix: str) -> KubernetesObject:
    """The object with `generateName: prefix` and the name that comes of it, at the front of its metadata."""
    metadata = {"generateName": prefix, **obj["metadata"]}
    text = json.dumps({**obj, "metadata": metadata}, sort_keys=True, separators=(",", ":"))
    key = f"{obj['apiVersion']}|{obj['kind']}|{metadata.get('namespace', '')}|{prefix}|{text}"
    return {**obj, "metadata": {"name": prefix + random_suffix(key), **metadata}}
