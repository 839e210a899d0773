"""Tasks that come to the same: their files differ in nothing but the values in ConfigMaps, which hardly anything reads.

Clusters tend to have a ConfigMap that says what they are called. Which tasks are alike by their files is decided here,
before anything is compiled; whether values were read after all says the result of the first of them (`READS_VALUES`),
and then each of the others is done by itself.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.load.kustomization import NAMES
from olmc.compiler.model.cluster import Cluster
from olmc.integrations.fleet.trees import digest_of
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, mapping, name_of, spec_of
from olmc.k8s.yaml import read

READS_VALUES = "readsValues"
"""What is set in the result of a task to which the values in its ConfigMaps matter."""

COMMANDS = frozenset({"plan", "status"})
"""The commands whose results show no values in ConfigMaps but those that change."""

_MOST = 64 * 1024  # bytes: far below what the API server takes, so that no limit depends on a value
_SUFFIXES = (".yaml", ".yml")
_KIND = re.compile(r"[A-Za-z]+")
# What a kustomization may say without a value of one object getting into another, or into a name.
_HARMLESS = frozenset(
    "apiVersion kind metadata resources components namespace namePrefix nameSuffix labels commonLabels "
    "commonAnnotations images replicas patches".split()
)


class SameTasks(NamedTuple):
    """How to find the tasks that are alike: what reads a content by its digest, and what is known of contents already:
    what is left of one without the values in its ConfigMaps, None for one with anything else; and the files that a
    kustomization patches with, None for one that may do anything with values."""

    content: Callable[[str], bytes]
    left: dict[str, str | None]
    patches: dict[str, frozenset[str] | None]

    def firsts(self, tasks: Iterable[bytes]) -> Iterator[int]:
        """For each task the number of the first that is like it, which may be itself."""
        known: dict[str, int] = {}
        for number, task in enumerate(tasks):
            yield known.setdefault(self._key(json.loads(task)) or str(number), number)

    def _key(self, task: Mapping[str, Any]) -> str:
        """What all tasks like this one have in common; "" for one that is like no other."""
        sides = [task[name] for name in ("before", "after") if task.get(name) is not None]
        if task["command"] not in COMMANDS or task.get("release") is not None or len(sides) < ("before" in task) + 1:
            return ""
        named = self._patched_with(sides)
        if named is None:
            return ""
        # A value that differs between the sides is a change, and a plan shows changes.
        same = {tuple(file) for file in sides[0]}.intersection(*({tuple(file) for file in side} for side in sides))
        replaced = {
            file: [file[0], file[1], left, 0]
            for file in same
            if posixpath.basename(file[0]) not in named and (left := self._left(file)) is not None
        }
        files = [[replaced.get(tuple(file), file) for file in side] for side in sides]
        rest = {key: value for key, value in task.items() if key not in ("before", "after")}
        return json.dumps([rest, files], sort_keys=True)

    def _left(self, file: Sequence[Any]) -> str | None:
        path, _, digest, _ = file
        if not digest or not path.endswith(_SUFFIXES):
            return None
        if digest not in self.left:
            left = without_values(self.content(digest))
            self.left[digest] = f"without values: {digest_of(left)}" if left is not None else None
        return self.left[digest]

    def _patched_with(self, sides: Iterable[Sequence[Sequence[Any]]]) -> frozenset[str] | None:
        """The names of the files that kustomizations patch with; None where one may do anything with values."""
        names: set[str] = set()
        for path, _, digest, _ in (file for side in sides for file in side):
            if posixpath.basename(path) not in NAMES:
                continue
            if not digest:
                return None
            if digest not in self.patches:
                self.patches[digest] = patch_files(self.content(digest))
            found = self.patches[digest]
            if found is None:
                return None
            names |= found
        return frozenset(names)


def without_values(content: bytes) -> bytes | None:
    """What is left of a file of ConfigMaps without the values of their data; None for a file with anything else, or
    with anything that would be reported."""
    report = Report()
    text = _text(content)
    documents = read("", text, report) if text is not None else []
    values = [document.value for document in documents]
    if not values or report.found or not all(map(_is_config_map, values)):
        return None
    left = [{**value, "data": dict.fromkeys(value["data"], "")} for value in values]
    return json.dumps(left, sort_keys=True).encode()


def _text(content: bytes) -> str | None:
    try:
        return content.decode() if len(content) <= _MOST else None
    except UnicodeDecodeError:
        return None


def _is_config_map(value: Any) -> bool:
    obj = mapping(value)
    data = obj.get("data")
    return (
        (obj.get("apiVersion"), obj.get("kind")) == ("v1", "ConfigMap")
        and obj.keys() <= {"apiVersion", "kind", "metadata", "data"}
        and isinstance(data, dict)
        and all(isinstance(each, str) for each in data.values())
    )


def patch_files(content: bytes) -> frozenset[str] | None:
    """The names of the files that a kustomization patches with; None for one that may do anything with values."""
    report = Report()
    text = _text(content)
    documents = read("", text, report) if text is not None else []
    value = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, dict) or report.found or not value.keys() <= _HARMLESS:
        return None
    patches = value.get("patches") or []
    if not isinstance(patches, list) or not all(map(_leaves_config_maps, patches)):
        return None
    return frozenset(posixpath.basename(str(patch["path"])) for patch in patches if "path" in patch)


def _leaves_config_maps(patch: Any) -> bool:
    """Whether a patch is one for other kinds; a target's kind is a pattern."""
    kind = mapping(mapping(patch).get("target")).get("kind")
    return isinstance(kind, str) and _KIND.fullmatch(kind) is not None and kind != "ConfigMap"


def reads_values(given: Iterable[KubernetesObject], clusters: Iterable[Cluster]) -> bool:
    """Whether values in the ConfigMaps of a workspace matter to what it comes to: a CatalogSource has its catalog in
    one (R-CAT-150), or a step of an InstallPlan writes one of the same name."""
    names: set[str] = set()
    for obj in given:
        if obj["kind"] == "CatalogSource" and spec_of(obj).get("configMap"):
            return True
        if obj["kind"] == "ConfigMap":
            names.add(name_of(obj))
    return any(
        step.kind == "ConfigMap" and step.name in names
        for cluster in (clusters if names else ())
        for plan in cluster.plans.values()
        for step in plan.steps
    )
