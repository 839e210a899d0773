"""ClusterCatalogs as the cluster has them: with defaults, the label of their name, and the status of catalogd
(R-V1-CC-1, R-V1-CC-2, R-V1-CC-4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.k8s.objects import KubernetesObject, labels_of, metadata_of, name_of, object_key, spec_of, status_of
from olmc.targets.v1.extension_status import (
    Condition,
    condition,
    merged_conditions,
    read_conditions,
    written_conditions,
)
from olmc.targets.v1.permissions import api_errors, cluster_catalog, without_status
from olmc.targets.v1.releases import release_of
from olmc.targets.v1.resolution import ServedCatalog

_UNAVAILABLE = "Catalog availability mode is set to Unavailable"
_CONTENT = ("lastUnpacked", "resolvedSource", "urls")


def stored_catalogs(
    workspace: Workspace, served: Iterable[ServedCatalog], lacking: Mapping[str, str], options: Options
) -> Mapping[str, KubernetesObject]:
    """By name the ClusterCatalogs of a workspace that the API server takes; of one whose content is not here the status
    can't be known."""
    known = {each.catalog.name: each for each in served}
    stored = {}
    for manifest in workspace.extension_catalogs:
        obj = manifest.object
        content = None if name_of(obj) in lacking else known.get(name_of(obj))
        live = options.state.objects.get(object_key(obj)) if options.state is not None else None
        if not api_errors(obj):
            stored[name_of(obj)] = _stored(obj, content, options)
        elif live is not None:
            stored[name_of(obj)] = live.object
    return stored


def _stored(obj: KubernetesObject, served: ServedCatalog | None, options: Options) -> KubernetesObject:
    state = options.state
    live = state.objects.get(object_key(obj)) if state is not None else None
    labels = {**labels_of(obj), **cluster_catalog(obj).labels}
    spec = {"priority": 0, "availabilityMode": "Available", **spec_of(obj)}
    written = {**without_status(obj), "metadata": {**metadata_of(obj), "labels": labels}, "spec": spec}
    before = status_of(live.object) if live is not None else {}
    status = _status(obj, served, before, options)
    return {**written, **({"status": status} if status else {})}


def _status(
    obj: KubernetesObject, served: ServedCatalog | None, before: Mapping[str, Any], options: Options
) -> Mapping[str, Any]:
    """The status of a ClusterCatalog (R-V1-CC-4): a catalog that can't be unpacked keeps what it served before."""
    catalog = cluster_catalog(obj)
    conditions: tuple[Condition, ...]
    content: dict[str, Any] = {}
    if not catalog.available:
        conditions = (
            condition("Progressing", "True", "Succeeded", _UNAVAILABLE),
            condition("Serving", "False", "UserSpecifiedUnavailable", _UNAVAILABLE),
        )
    elif served is None:
        return before
    elif served.unpacking:
        content = {key: before[key] for key in _CONTENT if key in before}
        conditions = (condition("Progressing", "True", "Retrying", served.unpacking),)
    else:
        home = release_of(options.olm_version).catalogs_namespace
        content = {
            "resolvedSource": {"type": "Image", "image": {"ref": _resolved(catalog.image)}},
            "urls": {"base": f"https://catalogd-service.{home}.svc/catalogs/{catalog.name}"},
        }
        done = "Successfully unpacked and stored content from resolved source"
        conditions = (
            condition("Progressing", "True", "Succeeded", done),
            condition("Serving", "True", "Available", "Serving desired content from resolved source"),
        )
    merged = merged_conditions(read_conditions(before.get("conditions")), conditions)
    return {"conditions": written_conditions(merged), **content}


def _resolved(image: str) -> str:
    """A reference with a digest: its own, or one made of the reference, since no input tells that of the image."""
    name, at, digest = image.partition("@")
    if at:
        return f"{_untagged(name)}@{digest}"
    return f"{_untagged(image)}@sha256:{sha256(image.encode()).hexdigest()}"


def _untagged(name: str) -> str:
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"
