"""ResourceLists: what the orchestrators of KRM functions hand over, and what they get back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.diagnostics.rules import output as rules
from olmc.kube.applied import is_object
from olmc.model.diagnostics import Report, Source
from olmc.model.objects import KubernetesObject
from olmc.yaml import dump_one, read

API_VERSION = "config.kubernetes.io/v1"
_GROUP = "config.kubernetes.io/"
STDIN = "stdin"

# By these an orchestrator knows its objects again; they are no part of what is applied.
_BOOKKEEPING = (
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "kustomize.config.k8s.io/id",
)
_INTERNAL = "internal.config.kubernetes.io/"
_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_INDEXES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


class ResourceList(NamedTuple):
    """A ResourceList, or a plain List: its `items` are objects unless an error says otherwise.

    `function_config` is None where there is none; `text` is what the list was read from.
    """

    api_version: str
    kind: str
    items: tuple[KubernetesObject, ...]
    function_config: Mapping[str, Any] | None
    text: str

    def source(self, index: int) -> Source:
        """Where an item stands: it is called by its file, if it has one."""
        path, number = file_of(self.items[index])
        name = f"{path}[{number}]" if path else f"items[{index}]"
        return Source(name, self.text, 0, ("items", index))


EMPTY = ResourceList(API_VERSION, "ResourceList", (), None, "")


def read_list(text: str, report: Report) -> ResourceList:
    """The ResourceList in a text; when it is none, that is reported, and as much as can be read of it comes back."""
    found = Report()
    documents = [document for document in read(STDIN, text, found) if document.value is not None]
    problem = next((diagnostic.message for diagnostic in found), "") if not documents else ""
    report.found.extend(found if documents else ())
    value = documents[0].value if documents else None
    if not problem:
        problem = "it is empty" if value is None else _problem(value, len(documents))
    if problem:
        report.add(rules.NO_RESOURCE_LIST.finding(None, problem=problem))
    if not isinstance(value, dict) or not is_object(value) or not value["kind"].endswith("List"):
        return EMPTY
    items = value.get("items")
    config = value.get("functionConfig")
    return ResourceList(
        value["apiVersion"],
        value["kind"],
        tuple(items) if isinstance(items, list) else (),
        config if isinstance(config, dict) else None,
        text,
    )


def _problem(value: Any, documents: int) -> str:
    """What keeps a document from being a ResourceList or a List, "" if nothing."""
    if not isinstance(value, dict) or not is_object(value):
        return "it has no apiVersion and kind"
    if documents > 1:
        return f"it has {documents} documents"
    if not value["kind"].endswith("List"):
        return f"it is a {value['kind']}"
    if value["kind"] == "ResourceList" and not value["apiVersion"].startswith(f"{_GROUP}v1"):
        return f"its apiVersion is {value['apiVersion']}, not {API_VERSION}"
    if not isinstance(value.get("functionConfig") or {}, dict):
        return "functionConfig is no map"
    items = value.get("items")
    if items is not None and not isinstance(items, list):
        return "items is no list"
    for index, item in enumerate(items or ()):
        if not isinstance(item, dict) or not is_object(item):
            return f"items[{index}] has no apiVersion and kind"
        metadata = item.get("metadata") or {}
        if not isinstance(metadata, dict):
            return f"items[{index}].metadata is no map"
        for key in ("name", "namespace"):
            if not isinstance(metadata.get(key) or "", str):
                return f"items[{index}].metadata.{key} is no text"
    return ""


def list_text(given: ResourceList, items: Iterable[KubernetesObject], results: Sequence[Mapping[str, Any]]) -> str:
    """What a function prints: a list of the kind that it was given, with its results."""
    made: dict[str, Any] = {"apiVersion": given.api_version, "kind": given.kind, "items": list(items)}
    if given.function_config is not None:
        made["functionConfig"] = given.function_config
    if given.kind == "ResourceList" and results:
        made["results"] = list(results)
    return dump_one(made)


def file_of(item: KubernetesObject) -> tuple[str, int]:
    """The file that an item was read from, "" if none is known, and which of its objects the item is, from 0."""
    annotations = annotations_of(item)
    path = next((str(annotations[key]) for key in _PATHS if annotations.get(key)), "")
    index = next((str(annotations[key]) for key in _INDEXES if annotations.get(key)), "")
    return path, int(index) if index.isdecimal() else 0


def annotations_of(item: KubernetesObject) -> Mapping[str, Any]:
    """The annotations of an item, {} if it has none."""
    metadata = item.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def bookkeeping_of(item: KubernetesObject) -> dict[str, Any]:
    """Those annotations of an item by which the orchestrator knows it again."""
    return {
        key: value for key, value in annotations_of(item).items() if key in _BOOKKEEPING or key.startswith(_INTERNAL)
    }


def without_bookkeeping(item: KubernetesObject) -> KubernetesObject:
    """The item as its author wrote it."""
    annotations, extra = annotations_of(item), bookkeeping_of(item)
    if not extra:
        return item
    kept = {key: value for key, value in annotations.items() if key not in extra}
    metadata = {key: value for key, value in item["metadata"].items() if key != "annotations"}
    return {**item, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def annotated(obj: KubernetesObject, extra: Mapping[str, Any]) -> KubernetesObject:
    """An object with more annotations."""
    if not extra:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations_of(obj), **extra}}}
