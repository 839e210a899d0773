"""The state of a cluster from the output of kubectl or a must-gather: the texts, and the objects without noise.

olmc leaves out values of Secrets, fields that controllers and the API server write at their own pace, and objects that
it does not need.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from olmc.compiler.load.files import MAX_FILE_BYTES, decode_utf8, read_text, scan
from olmc.compiler.load.manifests import SUFFIXES, is_sound
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import EXTENSIONS_V1, IMPORTED, ClusterState
from olmc.compiler.olm.facts import original_of
from olmc.compiler.olm.naming import COMPONENT_PREFIX, MANAGED, OWNER
from olmc.compiler.rules.findings import workspace as rules
from olmc.compiler.rules.findings import workspace as state_rules
from olmc.compiler.rules.findings.workspace import BAD_APIS, NO_STATE, TWICE
from olmc.k8s.api.applied import is_for_tools, is_list, is_object, items_of
from olmc.k8s.api.restmapper import is_native
from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import FILE_BYTES
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CA_HASH,
    CRD_KIND,
    GVK,
    LAST_APPLIED,
    OLM_GROUP,
    RBAC,
    REDACTED,
    APIResource,
    GroupKind,
    KubernetesObject,
    Manifest,
    ObjectKey,
    annotations_of,
    as_text,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    may_hold_secrets,
    metadata_of,
    object_key,
    owner_references,
    redacted,
    spec_of,
    split_api_version,
    text,
)
from olmc.k8s.yaml import Document, locate, read
from olmc.k8s.yaml.rules import too_large
from olmc.k8s.yaml.split import SEPARATOR

_V1_GROUP = EXTENSIONS_V1.partition("/")[0]
_SECRET = GroupKind("", "Secret")
_CONFIGMAP = GroupKind("", "ConfigMap")
_ADMISSION = "admissionregistration.k8s.io"
STATE_KINDS = frozenset(
    {
        GroupKind("", "Namespace"), GroupKind("", ACCOUNT), GroupKind("", "Service"), _SECRET,
        GroupKind("apps", "Deployment"), GroupKind(APIEXTENSIONS, CRD_KIND),
        GroupKind("apiregistration.k8s.io", "APIService"), GroupKind("scheduling.k8s.io", "PriorityClass"),
        GroupKind(_ADMISSION, "MutatingWebhookConfiguration"), GroupKind(_ADMISSION, "ValidatingWebhookConfiguration"),
        *(GroupKind(RBAC, kind) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    }
)  # fmt: skip
"""The kinds outside of OLM's own groups of which all objects count."""

# OLM makes objects again that it made to unpack a bundle or to serve a catalog, and that belong to one of these.
_HELPERS = frozenset({GroupKind(OLM_GROUP, "CatalogSource"), _CONFIGMAP})
_ALWAYS_NEW = ("managedFields", "resourceVersion", "generation", "selfLink", "uid")
_BY_CONTROLLERS = ("deployment.kubernetes.io/revision",)
_TIMES = frozenset(
    "lastTransitionTime lastUpdateTime lastUpdated lastProbeTime lastHeartbeatTime lastConnect startTime createdAt "
    "completionTime latestImageRegistryPoll certsLastUpdated certsRotateAt observedGeneration resourceVersion "
    "uid".split()
)
# Of the annotations of a Secret these say whose token it is, and for which certificate OLM made it.
_OF_SECRETS = ("kubernetes.io/service-account.name", CA_HASH)
_GROUP_UID = "olm.operatorgroup.uid/"


def is_live(obj: KubernetesObject) -> bool:
    """Return whether an object is as an API server returned it, with what only that one writes."""
    metadata = metadata_of(obj)
    return any(metadata.get(key) for key in ("uid", "resourceVersion", "managedFields"))


class Asked(NamedTuple):
    """The objects that count in addition to the usual kinds: ConfigMaps that CatalogSources name, and objects of kinds
    whose CRDs operators own, or have left."""

    configmaps: frozenset[ObjectKey]
    kinds: frozenset[GroupKind]


def asked_by(objects: Mapping[ObjectKey, KubernetesObject]) -> Asked:
    """Return the objects and kinds that count because CatalogSources and CSVs among the objects name them."""
    configmaps, kinds = set(), set()
    for key, obj in objects.items():
        if (key.group, key.kind) == (OLM_GROUP, "CatalogSource"):
            configmaps.add(ObjectKey("", "ConfigMap", key.namespace, as_text(spec_of(obj).get("configMap"))))
        elif (key.group, key.kind) == (OLM_GROUP, CSV_KIND):
            definitions = mapping(spec_of(obj).get("customresourcedefinitions"))
            for owned in mappings(definitions.get("owned")):
                _, _, group = as_text(owned.get("name")).partition(".")
                kinds.add(GroupKind(group, as_text(owned.get("kind"))))
        elif (key.group, key.kind) == (APIEXTENSIONS, CRD_KIND) and _is_labelled(obj):
            spec = spec_of(obj)
            kinds.add(GroupKind(as_text(spec.get("group")), as_text(mapping(spec.get("names")).get("kind"))))
    return Asked(frozenset(configmaps), frozenset(kinds))


def counts(key: ObjectKey, obj: KubernetesObject, asked: Asked) -> bool:
    """Return whether an object is a part of the state that olmc begins with; all of a rendering is."""
    if not is_live(obj):
        return True
    kind = GroupKind(key.group, key.kind)
    owners = {gvk_of(ref).group_kind for ref in owner_references(obj)}
    # OLM owns the ConfigMap of a catalog as well, but does not make it.
    if owners & _HELPERS and key not in asked.configmaps:
        return False
    if kind in STATE_KINDS or key.group in (OLM_GROUP, _V1_GROUP) or kind in asked.kinds or key in asked.configmaps:
        return True
    # Objects of a bundle can be of any kind; and objects that a person has applied may be absent from the repository.
    is_of_olm = GroupKind(OLM_GROUP, CSV_KIND) in owners or _is_labelled(obj)
    return kind.kind not in ("Pod", "Job", "Event") and (is_of_olm or LAST_APPLIED in annotations_of(obj))


def _is_labelled(obj: KubernetesObject) -> bool:
    """Return whether OLM has marked an object as its own, or as a part of an operator or of a ClusterExtension."""
    prefixes = (COMPONENT_PREFIX, f"{_V1_GROUP}/owner-")
    return any(label in (OWNER, MANAGED) or label.startswith(prefixes) for label in labels_of(obj))


def group_uids(objects: Iterable[KubernetesObject]) -> frozenset[str]:
    """The uids of OperatorGroups that labels of namespaces and selectors of webhooks go by."""
    uids: set[str] = set()
    for obj in objects:
        selectors = [mapping(mapping(hook.get("namespaceSelector")).get("matchLabels"))
                     for hook in mappings(obj.get("webhooks"))]  # fmt: skip
        for labels in (labels_of(obj) if obj["kind"] == "Namespace" else {}, *selectors):
            uids |= {str(label).removeprefix(_GROUP_UID) for label in labels if str(label).startswith(_GROUP_UID)}
    return frozenset(uids)


def without_noise(obj: KubernetesObject, kept_uids: frozenset[str] = frozenset()) -> KubernetesObject:
    """Return an object without kubectl's annotation and without fields that change by themselves. Of a Secret keep only
    its purpose, of a rendering all other fields. Remove values of Secrets from other objects."""
    metadata = {**metadata_of(obj)}
    annotations = {**annotations_of(obj)}
    annotations.pop(LAST_APPLIED, None)
    status: Any = None
    if is_live(obj):
        uid = as_text(metadata.get("uid"))
        metadata = {key: value for key, value in metadata.items() if key not in _ALWAYS_NEW}
        metadata |= {"uid": uid} if uid and uid in kept_uids else {}
        annotations = {key: value for key, value in annotations.items() if key not in _BY_CONTROLLERS}
        if "ownerReferences" in metadata:
            references = owner_references(obj)
            metadata["ownerReferences"] = [{k: v for k, v in ref.items() if k != "uid"} for ref in references]
        status = _without_times(obj.get("status"))
    if gvk_of(obj).group_kind == _SECRET and not _is_redacted(obj):
        labels = metadata_of(redacted(obj)).get("labels")
        return _bare_secret(obj, {**metadata, "labels": labels}, annotations)
    # kubectl's templates print nothing where there is nothing.
    metadata = {key: value for key, value in metadata.items() if value is not None}
    if annotations.get(_OF_SECRETS[0]) == "":
        del annotations[_OF_SECRETS[0]]
    if annotations:
        metadata["annotations"] = annotations
    elif annotations_of(obj):
        del metadata["annotations"]
    changed = {**obj, "metadata": metadata, **({"status": status} if status is not None else {})}
    return redacted(changed) if may_hold_secrets(changed) else changed


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _is_redacted(obj: KubernetesObject) -> bool:
    """Return whether a Secret is one of a rendering, which has no values."""
    values = [value for field in ("data", "stringData") for value in (mapping(obj.get(field)).values() or ())]
    fields = all(isinstance(obj.get(field) or {}, dict) for field in ("data", "stringData"))
    return not is_live(obj) and fields and all(value in (REDACTED, "", None) for value in values)


def _bare_secret(
    obj: KubernetesObject, metadata: Mapping[str, Any], annotations: Mapping[str, Any]
) -> KubernetesObject:
    """Return a Secret without its data: its name, its owner and its purpose."""
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "ownerReferences") if metadata.get(key)}
    if metadata.get("creationTimestamp"):
        kept["creationTimestamp"] = metadata["creationTimestamp"]
    remaining = {key: annotations[key] for key in _OF_SECRETS if annotations.get(key)}
    kept |= {"annotations": remaining} if remaining else {}
    bare: KubernetesObject = {"apiVersion": "v1", "kind": "Secret", "metadata": kept}
    return {**bare, "type": obj["type"]} if isinstance(obj.get("type"), str) else bare


# The kinds that a cluster serves in the output of kubectl: the table of `kubectl api-resources`, or discovery documents
# as JSON or YAML (APIGroupDiscoveryList, APIResourceList, and Lists of these).

_OLD_HEADER = "APIGROUP"
_FLAGS = {"true": True, "false": False}
_HOW_TO_LIST_APIS = "Write it with `kubectl api-resources -o wide`, which names the versions since kubectl 1.20."
_LISTS = ("APIGroupDiscoveryList", "APIGroupDiscovery", "APIResourceList")


def read_apis(path: str, text: str, report: Report) -> tuple[APIResource, ...]:
    """The kinds that the file says are served, as far as Kubernetes does not always serve them, in their order; what is
    wrong with it goes to `report`, each with its place."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    is_table = first.split()[:1] == ["NAME"] or any(word in _FLAGS for word in first.split()[1:])
    served = _of_table(path, text, report) if is_table else _of_documents(path, text, report)
    resources = _with_versions(served)
    if not resources and not report.failed:
        report.add(BAD_APIS.finding(Location(path), problem="it names no kind that is served", hint=_HOW_TO_LIST_APIS))
    return resources


def read_api_file(path: Path, report: Report) -> tuple[APIResource, ...]:
    """Read the kinds that a file says are served, as `read_apis`; report a file that can't be read."""
    # Not as given: `read_text` goes by a folder and a name in it.
    text = read_text(path.parent, path.name, report)
    return read_apis(path.as_posix(), text, report) if text is not None else ()


def is_api_list(value: Any) -> bool:
    """Return whether a document says what a cluster serves."""
    return isinstance(value, Mapping) and value.get("kind") in _LISTS


def apis_in(value: Any, source: Source, report: Report) -> tuple[APIResource, ...]:
    """The kinds that such a document says are served, as `read_apis` gives them."""
    return _with_versions(_of_value(value, source, report))


def apis_in_table(path: str, text: str, report: Report) -> tuple[APIResource, ...]:
    """The kinds in a table of `kubectl api-resources`, none if Kubernetes has all of them anyway."""
    return _with_versions(_of_table(path, text, report))


def together(resources: Iterable[APIResource]) -> tuple[APIResource, ...]:
    """The resources, those that stand for one kind as one with all of their versions."""
    return _with_versions((each._replace(versions=()), version) for each in resources for version in each.versions)


def api_lists(resources: Iterable[APIResource]) -> list[dict[str, Any]]:
    """The resources as documents that `read_apis` reads, sorted."""
    by_version: dict[str, list[dict[str, Any]]] = {}
    for resource in sorted(resources):
        for version in resource.versions:
            group_version = f"{resource.group}/{version}" if resource.group else version
            row = {"name": resource.plural, "namespaced": resource.namespaced, "kind": resource.kind}
            by_version.setdefault(group_version, []).append(row)
    head = {"apiVersion": "v1", "kind": "APIResourceList"}
    return [{**head, "groupVersion": name, "resources": rows} for name, rows in sorted(by_version.items())]


def _with_versions(served: Iterable[tuple[APIResource, str]]) -> tuple[APIResource, ...]:
    known: dict[APIResource, list[str]] = {}
    for resource, version in served:
        versions = known.setdefault(resource, [])
        # Which of Kubernetes' own kinds there are goes by its version; only what that one lacks is reported here.
        native = is_native(GVK(resource.group, version, resource.kind), Options().kube_version)
        if version not in versions and not native:
            versions.append(version)
    return tuple(resource._replace(versions=tuple(versions)) for resource, versions in known.items() if versions)


def _of_table(path: str, text: str, report: Report) -> Iterator[tuple[APIResource, str]]:
    """The rows, each with its version; short names and what comes behind the kind may be missing."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or (words[0], words[-1]) == ("NAME", words[-1]):
            if _OLD_HEADER in words:
                problem = "the table has groups and no versions"
                report.add(BAD_APIS.finding(Location(path, number, 1), problem=problem, hint=_HOW_TO_LIST_APIS))
                return
            continue
        flag = next((place for place, word in enumerate(words) if place > 1 and word in _FLAGS), 0)
        if not flag or len(words) <= flag + 1:
            problem = "the line is no row of the table, which has a name, a version, NAMESPACED and a kind"
            report.add(BAD_APIS.finding(Location(path, number, 1), problem=problem, hint=_HOW_TO_LIST_APIS))
            continue
        group, version = split_api_version(words[flag - 1])
        yield APIResource(group, words[flag + 1], words[0], _FLAGS[words[flag]], ()), version


def _of_documents(path: str, text: str, report: Report) -> Iterator[tuple[APIResource, str]]:
    for document in read(path, text, report):
        # A state file has the objects of the cluster as well.
        if document.value is not None and (not text.startswith(IMPORTED) or is_api_list(document.value)):
            yield from _of_value(document.value, document.source, report)


def _of_value(value: Any, source: Source, report: Report) -> Iterator[tuple[APIResource, str]]:
    kind = as_text(value.get("kind")) if isinstance(value, Mapping) else ""
    if kind in ("List", "APIGroupDiscoveryList"):
        for number, item in enumerate(mappings(value.get("items"))):
            # The items of a list of groups don't say what they are.
            item = item if kind == "List" else {"kind": "APIGroupDiscovery", **item}
            yield from _of_value(item, source._replace(prefix=(*source.prefix, "items", number)), report)
    elif kind == "APIGroupDiscovery":
        group = as_text(mapping(value.get("metadata")).get("name"))
        for listed in mappings(value.get("versions")):
            for item in mappings(listed.get("resources")):
                served = mapping(item.get("responseKind"))
                name = as_text(item.get("resource"))
                resource = APIResource(group, as_text(served.get("kind")), name, item.get("scope") != "Cluster", ())
                yield resource, as_text(listed.get("version"))
    elif kind == "APIResourceList":
        group, version = split_api_version(as_text(value.get("groupVersion")))
        for item in mappings(value.get("resources")):
            name = as_text(item.get("name"))
            if "/" not in name:  # what is below another resource, as its status
                own = as_text(item.get("group")) or group, as_text(item.get("version")) or version
                yield APIResource(own[0], as_text(item.get("kind")), name, bool(item.get("namespaced")), ()), own[1]
    else:
        hint = _HOW_TO_LIST_APIS
        if kind == "APIGroupList":
            hint = f"It has groups and no kinds. {_HOW_TO_LIST_APIS}"
        problem = f"{kind or 'what stands here'} is none of {', '.join(_LISTS)}"
        report.add(BAD_APIS.finding(locate(source, ("kind",) if kind else ()), problem=problem, hint=hint))


# The state of a cluster, read from what kubectl prints, from must-gathers, from state files and renderings.

_HOW = "Print objects with `-o yaml` or `-o json`; `olmc import --print-command` has the whole command."


class Dump(NamedTuple):
    """The content of dumps of a cluster: its state, and the kinds that it serves in addition to those of Kubernetes and
    OLM. `has_apis`: whether the dumps list any APIs."""

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
    copied = original_of(obj) if (key.group, key.kind) == (OLM_GROUP, CSV_KIND) else None
    if copied is None or "spec" in obj:
        return manifest
    original = manifests.get(key._replace(namespace=copied.namespace))
    if original is None or "spec" not in original.object:
        return manifest
    head = {field: obj[field] for field in ("apiVersion", "kind", "metadata")}
    return manifest._replace(object={**head, "spec": original.object["spec"], **obj})


def _last_applied(key: ObjectKey, manifest: Manifest, report: Report) -> KubernetesObject | None:
    """Return the configuration that the last client applied and recorded; None if no client has recorded any."""
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


MAX_ARCHIVE_BYTES = 16 * MAX_FILE_BYTES
"""The largest size of an unpacked archive; must-gathers are mostly logs, and have some hundred megabytes."""
MAX_MEMBERS = 1_000_000
MAX_TABLES = 16
STREAM = "-"

_CHUNK = 1 << 20

_TABLES = (".txt",)
# Where `oc adm inspect`, which writes must-gathers, keeps objects.
_OF_MUST_GATHER = regex(r"(^|/)(cluster-scoped-resources|namespaces)/")
# Kinds that change all the time, make up most of a must-gather, and are not needed.
_NEVER_ASKED = regex(
    r"/(pods|events|leases|nodes|endpoints|endpointslices|replicasets|replicationcontrollers|machineconfigs|images|"
    r"imagestreams|controllerrevisions|packagemanifests|certificatesigningrequests)([./]|$)"
)
_TAR_MAGIC = (257, b"ustar")
_GZIP_MAGIC = b"\x1f\x8b"
_TABLE = regex(r"^NAME +SHORTNAMES +API(VERSION|GROUP)\b.*$", re.MULTILINE)
_NO_LINE_BREAK = regex(r"[^\n]+")


class DumpText(NamedTuple):
    """A part of a dump: the name of its file for messages, its text, and whether that is the table of
    `kubectl api-resources`. In a part of a file all other lines are empty, so that places are right."""

    name: str
    text: str
    is_table: bool = False


def dump_texts(path: Path, report: Report) -> Iterator[DumpText]:
    """The texts of the file, the folder or the archive `path`, or of stdin for `-`, in their order; what can't be read
    goes to `report`."""
    for name, content in _texts(path, report):
        yield from _parts(name, content, report)


def _texts(path: Path, report: Report) -> Iterator[tuple[str, str]]:
    if str(path) == STREAM:
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        yield from _of_stream("stdin", io.BytesIO(data), len(data), report)
    elif path.is_dir():
        for name in _wanted(list(scan(path, report, ignore_file=False).walk())):
            text = read_text(path, name, report)
            if text is not None:
                yield str(path / name), text
    else:
        try:
            with path.open("rb") as stream:
                size = 0 if _is_archive(stream) else stream.seek(0, io.SEEK_END)
                stream.seek(0)
                yield from _of_stream(str(path), stream, size, report)
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            report.add(rules.UNREADABLE.finding(Location(str(path)), path=str(path), cause=cause))


def _wanted(names: list[str]) -> Iterator[str]:
    """The files that can hold what is asked for; in a must-gather only those that hold objects."""
    is_must_gather = any(_OF_MUST_GATHER.search(name) for name in names)
    for name in names:
        if is_must_gather and (not _OF_MUST_GATHER.search(name) or _NEVER_ASKED.search(name)):
            continue
        if name.endswith(SUFFIXES) or (name.endswith(_TABLES) and not is_must_gather):
            yield name


def _is_archive(stream: IO[bytes]) -> bool:
    head = stream.read(_TAR_MAGIC[0] + len(_TAR_MAGIC[1]))
    stream.seek(0)
    return head.startswith(_GZIP_MAGIC) or head[_TAR_MAGIC[0] :] == _TAR_MAGIC[1]


def _of_stream(name: str, stream: IO[bytes], size: int, report: Report) -> Iterator[tuple[str, str]]:
    """The texts of what a stream holds: of a text itself, of an archive its files."""
    if _is_archive(stream):
        yield from _of_archive(name, stream, report)
    elif size > MAX_FILE_BYTES:
        report.add(too_large(name, FILE_BYTES, size))
    else:
        data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:  # a device says that it has none
            report.add(too_large(name, FILE_BYTES))
            return
        text = decode_utf8(name, data, report)
        if text is not None:
            yield name, text


class _TooMuchError(Exception):
    """An archive holds more than anybody reads."""


@dataclass(slots=True)
class _Bounded:
    """A stream of which no single read, nor all of them, gives more than its bounds: tarfile believes any header."""

    stream: IO[bytes]

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_FILE_BYTES or self.stream.tell() + size > MAX_ARCHIVE_BYTES:
            raise _TooMuchError
        return self.stream.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset > MAX_ARCHIVE_BYTES:
            raise _TooMuchError
        return self.stream.seek(offset)

    def tell(self) -> int:
        return self.stream.tell()


def _of_archive(name: str, stream: IO[bytes], report: Report) -> Iterator[tuple[str, str]]:
    is_zipped = stream.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    stream.seek(0)
    plain: IO[bytes] = gzip.GzipFile(fileobj=stream) if is_zipped else stream  # type: ignore[assignment]
    try:
        if is_zipped and not _is_archive(plain):
            data = plain.read(MAX_FILE_BYTES + 1)
            yield from _of_stream(name, io.BytesIO(data), len(data), report)
            return
        bounded = _Bounded(plain)
        with tarfile.open(fileobj=bounded, mode="r:") as archive:  # type: ignore[call-overload]
            members = _regular_members(name, archive, report)
            _read_to_the_end(bounded, archive.offset)
            yield from _contents(name, archive, members, report)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError) as error:
        problem = f"the archive is damaged ({str(error) or type(error).__name__})"
        hint = "Make it again; `tar -tf` says whether it can be read."
        report.add(state_rules.NO_STATE.finding(Location(name), problem=problem, hint=hint))
    except _TooMuchError:
        problem = f"the archive holds more than olmc reads: {MAX_ARCHIVE_BYTES:,} bytes, or {MAX_MEMBERS:,} files"
        hint = "Unpack it, and give the folders namespaces and cluster-scoped-resources in it."
        report.add(state_rules.NO_STATE.finding(Location(name), problem=problem, hint=hint))


def _read_to_the_end(stream: _Bounded, offset: int) -> None:
    """Make sure that an archive ends where tarfile stops. tarfile takes any block that is no header for the end, and
    checksums follow all other content. Raises the errors of the reader."""
    stream.seek(offset)
    if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it breaks off")
    while stream.read(min(_CHUNK, MAX_FILE_BYTES)):
        pass


def _regular_members(name: str, archive: tarfile.TarFile, report: Report) -> dict[str, tarfile.TarInfo]:
    """The files in an archive by their names, of several with one name the last; all else is reported."""
    members: dict[str, tarfile.TarInfo] = {}
    for number, member in enumerate(archive):
        if number == MAX_MEMBERS:
            raise _TooMuchError
        if member.isreg() and not member.issparse():
            members[member.name] = member
        elif not member.isdir():
            where = "or something else that is no file, in an archive"
            hint = "Nothing is to be done unless it stands for objects."
            place = Location(f"{name}/{member.name}")
            report.add(rules.OUTSIDE.finding(place, path=member.name, where=where, hint=hint))
    return members


def _contents(
    name: str, archive: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo], report: Report
) -> Iterator[tuple[str, str]]:
    # Read in the order in which they lie there: going back would unpack all of it once more.
    for path in sorted(_wanted(list(members)), key=lambda path: members[path].offset_data):
        size, shown = members[path].size, f"{name}/{path}"
        if size > MAX_FILE_BYTES:
            report.add(too_large(shown, FILE_BYTES, size))
            continue
        content = archive.extractfile(members[path])
        text = decode_utf8(shown, content.read(), report) if content is not None else None
        if text is not None:
            yield shown, text


def _parts(name: str, text: str, report: Report) -> Iterator[DumpText]:
    """The tables of a text, each by itself, and the rest."""
    ranges: list[tuple[int, int]] = []
    for match in _TABLE.finditer(text):
        if ranges and match.start() < ranges[-1][1]:
            continue  # a line of the table before
        if len(ranges) == MAX_TABLES:
            problem, hint = f"it has more than {MAX_TABLES} tables of APIs", "Give the table of one cluster, once."
            report.add(state_rules.NO_STATE.finding(Location(name), problem=problem, hint=hint))
            return
        following = text.find(f"\n{SEPARATOR}", match.end()) + 1
        ranges.append((match.start(), following or len(text)))
    rest = text
    for start, end in ranges:
        yield DumpText(name, _blank(text[:start]) + text[start:end], is_table=True)
        rest = rest[:start] + _NO_LINE_BREAK.sub(lambda line: " " * len(line[0]), text[start:end]) + rest[end:]
    if not ranges or rest.strip():
        yield DumpText(name, rest)


def _blank(text: str) -> str:
    """As many lines, all empty."""
    return "\n" * text.count("\n")
