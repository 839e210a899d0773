"""The annotation in which a client-side apply keeps the whole object, and the room that there is for it."""

from __future__ import annotations

import json
import re

from olmc.kube.api_validation.metadata import ANNOTATIONS_LIMIT
from olmc.model.coerce import mapping
from olmc.model.location import Source
from olmc.model.objects import KubernetesObject

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_CLIENT_SIDE = re.compile(r"(^|,)\s*(ServerSideApply|Replace)=true\s*(,|$)")
# Go writes each of these in six bytes (R-JSON-3): by how many they are longer than in UTF-8.
_ESCAPED = {"<": 5, ">": 5, "&": 5, "\u2028": 3, "\u2029": 3}
# As JSON a text takes hardly more than twice its characters, each of at most four bytes.
_SURELY_SMALL = ANNOTATIONS_LIMIT // 8


def is_surely_small(source: Source) -> bool:
    """Whether no object of a text can be too large, which is known without writing it."""
    return len(source.text) < _SURELY_SMALL


def annotations_of(obj: KubernetesObject) -> dict[str, str]:
    """The annotations of an object, whatever is written there, in texts."""
    found = mapping(mapping(obj.get("metadata")).get("annotations"))
    return {str(key): str(value) for key, value in found.items()}


def size_of(annotations: dict[str, str]) -> int:
    """The bytes of annotations as the API server counts them, keys and values."""
    return sum(len(f"{key}{value}".encode("utf-8", "replace")) for key, value in annotations.items())


def applied_size(obj: KubernetesObject) -> int:
    """The bytes of an object's annotations when kubectl or Argo CD has applied it on the client's side."""
    others = annotations_of(obj)
    if others.pop(_LAST_APPLIED, None) is not None:
        obj = {**obj, "metadata": {**obj["metadata"], "annotations": others}}
    text = json.dumps(obj, separators=(",", ":"), ensure_ascii=False, default=str)
    copy = len(text.encode("utf-8", "replace")) + sum(more * text.count(char) for char, more in _ESCAPED.items())
    return size_of(others) + len(_LAST_APPLIED) + copy + len("\n")


def is_applied_by_server(obj: KubernetesObject) -> bool:
    """Whether an object tells Argo CD to apply it in a way that needs no such annotation."""
    return bool(_NOT_CLIENT_SIDE.search(annotations_of(obj).get(SYNC_OPTIONS, "")))
