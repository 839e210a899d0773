"""The state of a cluster as a file: what `olmc import` writes, and what a dump lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator

from olmc.load.apis import api_lists
from olmc.load.cluster_state import Dump
from olmc.model.objects import GroupKind, KubernetesObject, ObjectKey, annotations_of, labels_of, metadata_of
from olmc.model.operators import CSV_KIND
from olmc.model.secrets import LAST_APPLIED
from olmc.model.state import ClusterState
from olmc.model.workspace import IMPORTED
from olmc.olm.naming import COPIED_FROM
from olmc.transition.state_commands import ASKED, AskedKind
from olmc.yaml import dump as dump_yaml

_NO_MORE_APIS = {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "v1", "resources": ()}


def state_text(dump: Dump) -> str:
    """A state file that is read back as the same dump: documents sorted by what they are, then the APIs."""
    state = dump.state
    documents = [_document(key, state) for key in sorted(state.objects)]
    apis = api_lists(dump.served) or ([_NO_MORE_APIS] if dump.has_apis else [])
    return f"{IMPORTED}\n{dump_yaml([*documents, *apis])}"


def _document(key: ObjectKey, state: ClusterState) -> KubernetesObject:
    obj = state.objects[key].object
    if key in state.applied:
        noted = json.dumps(state.applied[key], separators=(",", ":"), ensure_ascii=False)
        annotations = {**annotations_of(obj), LAST_APPLIED: noted}
        obj = {**obj, "metadata": {**metadata_of(obj), "annotations": annotations}}
    home = labels_of(obj).get(COPIED_FROM)
    original = state.objects.get(key._replace(namespace=home)) if home and key.kind == CSV_KIND else None
    if original is not None and original.object is not obj and original.object.get("spec") == obj.get("spec"):
        # There is a copy in each namespace, and its spec is most of it.
        obj = {field: value for field, value in obj.items() if field != "spec"}
    return obj


def lacking(dump: Dump) -> tuple[AskedKind, ...]:
    """The kinds of which a dump has no object, in the order in which they are asked for."""
    return tuple(_lacking({GroupKind(key.group, key.kind) for key in dump.state.objects}))


def _lacking(kinds: set[GroupKind]) -> Iterator[AskedKind]:
    yield from (asked for asked in ASKED if asked.kind not in kinds)
