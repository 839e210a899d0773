"""The state of a cluster, read from what kubectl prints, from must-gathers, from state files and renderings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.diagnostics.rules.cluster_state import NO_STATE
from olmc.diagnostics.rules.workspace import TWICE
from olmc.kube.applied import is_for_tools, is_list, is_object, items_of
from olmc.lean import NamedTuple
from olmc.load.apis import apis_in, apis_in_table, is_api_list, together
from olmc.load.dumps import dump_texts
from olmc.load.live_objects import asked_by, counts, group_uids, without_noise
from olmc.load.manifests import is_sound
from olmc.model.diagnostics import Location, Report
from olmc.model.objects import KubernetesObject, ObjectKey, annotations_of, labels_of, metadata_of, object_key, text
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.options import APIResource
from olmc.model.secrets import LAST_APPLIED
from olmc.model.state import ClusterState
from olmc.model.workspace import Manifest
from olmc.olm.naming import COPIED_FROM
from olmc.yaml import Document, locate, read

_HOW = "Print objects with `-o yaml` or `-o json`; `olmc import --print-command` has the whole command."


class Dump(NamedTuple):
    """What dumps of a cluster say: its state, and the kinds that it serves besides those that Kubernetes and OLM bring;
    `has_apis` is whether they say anything of that."""

    state: ClusterState
    served: tuple[APIResource, ...] = ()
    has_apis: bool = False


def read_state(path: Path, report: Report) -> ClusterState | None:
    """The state in a file, a folder or an archive (`-`: in stdin); None if something is wrong with it, which goes to
    `report`, each with its place. Of Secrets it has no values."""
    dump = read_dump([path], report)
    return dump.state if dump is not None else None


def read_served(path: Path, report: Report) -> tuple[APIResource, ...]:
    """The kinds that a state file or a dump says are served; () if it says nothing of it."""
    dump = read_dump([path], report)
    return dump.served if dump is not None else ()


def read_dump(paths: Sequence[Path], report: Report) -> Dump | None:
    """All that several dumps of one cluster say together; None if something is wrong with one of them."""
    manifests: dict[ObjectKey, Manifest] = {}
    served: list[APIResource] = []
    is_whole, has_apis = True, False
    for path in paths:
        for part in dump_texts(path, report):
            if part.is_table:
                has_apis = True
                served += apis_in_table(part.name, part.text, report)
                continue
            for document in read(part.name, part.text, report):
                for manifest in _objects_in(document, report):
                    if is_api_list(manifest.object):
                        has_apis = True
                        served += apis_in(manifest.object, manifest.source, report)
                    elif is_sound(manifest, report, judged=False):
                        _add(manifests, manifest, report)
                    else:
                        is_whole = False
    if not manifests and is_whole and not report.failed:
        shown = str(paths[0]) if paths else "stdin"
        report.add(NO_STATE.finding(Location(shown), problem="there is no object in it", hint=_HOW))
    if report.failed or not is_whole:
        return None
    state = _state_of(manifests, report)
    return None if report.failed else Dump(state, together(served), has_apis)


def _objects_in(document: Document, report: Report) -> Iterator[Manifest]:
    if document.value is not None:
        yield from _flattened(Manifest(document.value, document.source), report)


def _flattened(manifest: Manifest, report: Report) -> Iterator[Manifest]:
    """The objects and lists of APIs in lists of lists."""
    value: Any = manifest.object
    if is_api_list(value):
        yield manifest
    elif not isinstance(value, dict) or not is_object(value):
        what = "a text" if isinstance(value, str) else "something without apiVersion and kind"
        problem = f"what stands here is {what}, and no object"
        report.add(NO_STATE.finding(locate(manifest.source, ()), problem=problem, hint=_HOW))
    elif is_list(value):
        for below in items_of(manifest):
            yield from _flattened(below, report)
    elif not (value["kind"].endswith("List") and value.get("items", ()) is None) and not is_for_tools(value):
        yield manifest


def _add(manifests: dict[ObjectKey, Manifest], manifest: Manifest, report: Report) -> None:
    """Take an object in; of two that are the same the newer one stays, as dumps often have an object twice."""
    key = object_key(manifest.object)
    other = manifests.get(key)
    if other is None:
        manifests[key] = manifest
        return
    versions = [_version(each.object) for each in (other, manifest)]
    if other.object != manifest.object and versions[0] == versions[1]:
        place = locate(manifest.source, ())
        related = (("the other one", locate(other.source, ())),)
        report.add(TWICE.finding(place, identity=key, related=related))
    if versions[1] >= versions[0]:
        manifests[key] = manifest


def _version(obj: KubernetesObject) -> int:
    version = text(metadata_of(obj).get("resourceVersion"))
    return int(version) if version.isascii() and version.isdigit() and len(version) < len(str(1 << 64)) else -1


def _state_of(manifests: Mapping[ObjectKey, Manifest], report: Report) -> ClusterState:
    asked = asked_by({key: manifest.object for key, manifest in manifests.items()})
    uids = group_uids(manifest.object for manifest in manifests.values())
    objects: dict[ObjectKey, Manifest] = {}
    applied: dict[ObjectKey, KubernetesObject] = {}
    for key, manifest in manifests.items():
        if not counts(key, manifest.object, asked):
            continue
        manifest = _whole(key, manifest, manifests)
        last = _last_applied(key, manifest, report)
        if last is not None:
            applied[key] = without_noise(last)
        objects[key] = manifest._replace(object=without_noise(manifest.object, uids))
    return ClusterState(objects, applied)


def _whole(key: ObjectKey, manifest: Manifest, manifests: Mapping[ObjectKey, Manifest]) -> Manifest:
    """A copy of a CSV with the spec that state files leave out of it, since it is that of the original."""
    obj = manifest.object
    home = labels_of(obj).get(COPIED_FROM)
    if (key.group, key.kind) != (OLM_GROUP, CSV_KIND) or not home or "spec" in obj:
        return manifest
    original = manifests.get(key._replace(namespace=home))
    if original is None or "spec" not in original.object:
        return manifest
    head = {field: obj[field] for field in ("apiVersion", "kind", "metadata")}
    return manifest._replace(object={**head, "spec": original.object["spec"], **obj})


def _last_applied(key: ObjectKey, manifest: Manifest, report: Report) -> KubernetesObject | None:
    """What was applied last by a client that notes it down, None for an object that nobody has applied so."""
    noted = annotations_of(manifest.object).get(LAST_APPLIED)
    if noted is None:
        return None
    documents = read("annotation.json", noted, Report())
    value = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, dict) or not is_object(value) or not isinstance(value.get("metadata"), dict):
        place = locate(manifest.source, ("metadata", "annotations", LAST_APPLIED))
        problem = f"the annotation {LAST_APPLIED} of {key} holds no object"
        hint = "Take the annotation off the object: kubectl could not go by it either."
        report.add(NO_STATE.finding(place, problem=problem, hint=hint))
        return None
    # An object without a namespace was applied to that of the context.
    name = {"name": key.name, "namespace": key.namespace} if key.namespace else {"name": key.name}
    return {**value, "metadata": {**value["metadata"], **name}}
