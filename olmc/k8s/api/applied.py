"""The objects that kubectl, Argo CD and Flux apply from a document, and the fields that a client-side apply adds.

A client-side apply keeps the whole object in an annotation, whose size the API server limits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT
from olmc.k8s.diagnostics import Source
from olmc.k8s.lean import regex
from olmc.k8s.objects import KubernetesObject, Manifest, mapping, metadata_of
from olmc.k8s.yaml import Document

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The first lets the server merge, the second overwrites the object: neither needs to remember what was applied last.
_NOT_CLIENT_SIDE = regex(r"(^|,)\s*(ServerSideApply|Replace)=true\s*(,|$)")
# Go writes each of these in six bytes (R-JSON-4): by how many they are longer than in UTF-8.
_ESCAPED = {"<": 5, ">": 5, "&": 5, "\u2028": 3, "\u2029": 3}
# As JSON a text takes hardly more than twice its characters, each of at most four bytes.
_SURELY_SMALL = ANNOTATIONS_LIMIT // 8


_TOOLS = (
    "kustomize.config.k8s.io/", "olmc.dev/", "config.kubernetes.io/", "kpt.dev/",
    # Clusters of developers, and what is mirrored for a cluster without a network.
    "kind.x-k8s.io/", "k3d.io/", "kubeadm.k8s.io/", "mirror.openshift.io/",
    # Components of a cluster, which read files of their own.
    "apiserver.config.k8s.io/", "audit.k8s.io/", "kubelet.config.k8s.io/", "kubeproxy.config.k8s.io/",
    "kubescheduler.config.k8s.io/",
    # Steps of tests.
    "kuttl.dev/", "chainsaw.kyverno.io/", "cli.kyverno.io/",
)  # fmt: skip
# Bundles have a configuration of scorecard among their tests.
_NEVER_APPLIED = (*_TOOLS, "scorecard.operatorframework.io/")


def is_object(value: dict[str, Any]) -> bool:
    """Return whether a mapping is a Kubernetes object: it has an apiVersion and a kind, both text."""
    return all(_has_text(value, key) for key in ("apiVersion", "kind"))


def _has_text(value: dict[str, Any], key: str) -> bool:
    return isinstance(value.get(key), str) and value[key] != ""


def is_for_tools(obj: KubernetesObject) -> bool:
    """Return whether an object is read by tools and never applied to a cluster."""
    return bool(obj["apiVersion"].startswith(_TOOLS))


PROCESSED_GROUP = "template.openshift.io"
"""The group of Templates of OpenShift. `oc process` makes objects of a file with one, which has no namespace then."""


def is_applied(obj: KubernetesObject) -> bool:
    """Return whether an object is meant for a cluster, and not for tools that read files."""
    return not obj["apiVersion"].startswith(_NEVER_APPLIED)


def is_whole_object(value: Any) -> bool:
    """Return whether a document is an object with metadata or a list, as kubectl and other tools apply them."""
    return isinstance(value, dict) and is_object(value) and (isinstance(value.get("metadata"), dict) or is_list(value))


def applied_objects(document: Document) -> Iterator[Manifest]:
    """Yield the objects that kubectl and others apply from a document at any place: lists are flattened, even those for
    tools."""
    return _applied(Manifest(document.value, document.source)) if is_whole_object(document.value) else iter(())


def _applied(manifest: Manifest) -> Iterator[Manifest]:
    obj = manifest.object
    if is_list(obj):
        for below in items_of(manifest):
            if is_whole_object(below.object):
                yield from _applied(below)
    elif is_applied(obj):
        yield manifest


def tool_lists(documents: Iterable[Document]) -> Iterator[Manifest]:
    """The objects in lists that are for tools, of which `manifests_in` knows nothing."""
    for document in documents:
        if is_whole_object(document.value) and is_for_tools(document.value):
            yield from applied_objects(document)


def items_of(manifest: Manifest) -> Iterator[Manifest]:
    """Yield all items of a list. As in kubectl, items without apiVersion and kind get those of the list."""
    source = manifest.source
    api, kind = manifest.object["apiVersion"], manifest.object["kind"].removesuffix("List")
    for index, item in enumerate(manifest.object["items"]):
        bare = kind and isinstance(item, dict) and not any(_has_text(item, key) for key in ("apiVersion", "kind"))
        whole = {**item, "apiVersion": api, "kind": kind} if bare else item
        yield Manifest(whole, Source(source.path, source.text, source.document, (*source.prefix, "items", index)))


def is_list(obj: KubernetesObject) -> bool:
    """Return whether an object is a list. kubectl, Argo CD and Flux take each kind for one if its `items` are
    objects."""
    items = obj.get("items")
    if not isinstance(items, list):
        return False
    # Items may have their apiVersion and kind from the list, and then are known by their names alone.
    return bool(obj["kind"].endswith("List")) or any(
        isinstance(item, dict) and (is_object(item) or "name" in metadata_of(item)) for item in items
    )


def is_surely_small(source: Source) -> bool:
    """Return whether no object of a text can be too large, which is known without writing it."""
    return len(source.text) < _SURELY_SMALL


def annotations_of(obj: KubernetesObject) -> dict[str, str]:
    """Return the annotations of an object as texts, also where the values have other types."""
    return {str(key): str(value) for key, value in mapping(metadata_of(obj).get("annotations")).items()}


def size_of(annotations: dict[str, str]) -> int:
    """The bytes of annotations as the API server counts them, keys and values."""
    return sum(len(f"{key}{value}".encode("utf-8", "replace")) for key, value in annotations.items())


def applied_size(obj: KubernetesObject) -> int:
    """The bytes of an object's annotations when kubectl or Argo CD has applied it on the client's side."""
    others = annotations_of(obj)
    # kubectl leaves its own annotation out of the copy, which would otherwise hold the copy before it, and so on.
    if others.pop(_LAST_APPLIED, None) is not None:
        obj = {**obj, "metadata": {**obj["metadata"], "annotations": others}}
    text = json.dumps(obj, separators=(",", ":"), ensure_ascii=False, default=str)
    copy = len(text.encode("utf-8", "replace")) + sum(more * text.count(char) for char, more in _ESCAPED.items())
    # kubectl's encoder ends the JSON with a line break, which is a part of the annotation.
    return size_of(others) + len(_LAST_APPLIED) + copy + len("\n")


def is_applied_by_server(obj: KubernetesObject) -> bool:
    """Return whether an object tells Argo CD to apply it in a way that needs no such annotation."""
    return bool(_NOT_CLIENT_SIDE.search(annotations_of(obj).get(SYNC_OPTIONS, "")))
