"""What a cluster serves, as kubectl tells it: the table of `kubectl api-resources`, or discovery documents as JSON or
YAML (APIGroupDiscoveryList, APIResourceList, and Lists of these)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.diagnostics.rules.workspace import BAD_APIS
from olmc.kube.builtin_kinds import is_native
from olmc.model.diagnostics import Location, Report, Source
from olmc.model.objects import GVK, as_text, mapping, mappings, split_api_version
from olmc.model.options import APIResource, Options
from olmc.model.workspace import IMPORTED
from olmc.yaml import locate, read

_OLD_HEADER = "APIGROUP"
_FLAGS = {"true": True, "false": False}
_HOW = "Write it with `kubectl api-resources -o wide`, which names the versions since kubectl 1.20."
_LISTS = ("APIGroupDiscoveryList", "APIGroupDiscovery", "APIResourceList")


def read_apis(path: str, text: str, report: Report) -> tuple[APIResource, ...]:
    """The kinds that the file says are served, as far as Kubernetes does not always serve them, in their order; what is
    wrong with it goes to `report`, each with its place."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    is_table = first.split()[:1] == ["NAME"] or any(word in _FLAGS for word in first.split()[1:])
    served = _of_table(path, text, report) if is_table else _of_documents(path, text, report)
    resources = _with_versions(served)
    if not resources and not report.failed:
        report.add(BAD_APIS.finding(Location(path), problem="it names no kind that is served", hint=_HOW))
    return resources


def is_api_list(value: Any) -> bool:
    """Whether a document says what a cluster serves."""
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
                report.add(BAD_APIS.finding(Location(path, number, 1), problem=problem, hint=_HOW))
                return
            continue
        flag = next((place for place, word in enumerate(words) if place > 1 and word in _FLAGS), 0)
        if not flag or len(words) <= flag + 1:
            problem = "the line is no row of the table, which has a name, a version, NAMESPACED and a kind"
            report.add(BAD_APIS.finding(Location(path, number, 1), problem=problem, hint=_HOW))
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
        hint = _HOW
        if kind == "APIGroupList":
            hint = f"It has groups and no kinds. {_HOW}"
        problem = f"{kind or 'what stands here'} is none of {', '.join(_LISTS)}"
        report.add(BAD_APIS.finding(locate(source, ("kind",) if kind else ()), problem=problem, hint=hint))
