"""Reading and writing `olmc.lock`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.load.files import has_file, read_text
from olmc.load.json_schema import problems
from olmc.model.diagnostic import Report
from olmc.model.location import Location, Place
from olmc.model.lock import Lock, LockedImage, LockedOperator, LockFile
from olmc.rules import lock as rules
from olmc.yaml import dump_one, read

LOCK_FILE = "olmc.lock"
HEADER = "# Written by olmc resolve --update and olmc vendor. Commit it; olmc render obeys it.\n"

_FIELDS = ("package", "name", "version", "channel", "catalog", "catalogNamespace", "digest")
_IMAGE_FIELDS = LockedImage._fields


def read_lock(root: Path, report: Report) -> LockFile:
    """The lock in the root of a workspace, an empty one without it; problems are reported, each with its place.

    Problems with the operators cost no image: what was vendored is no choice that `olmc resolve` could make anew.
    """
    if not has_file(root, LOCK_FILE):
        return LockFile()
    text = read_text(root, LOCK_FILE, report)
    if text is None:
        return LockFile()
    said = Report()
    documents = read(LOCK_FILE, text, said)
    for diagnostic in said:
        report.add(diagnostic)
    if len(documents) != 1:
        if not said.failed:
            problem = f"it should hold one document, not {len(documents)}"
            report.add(rules.BAD_LOCK.finding(Location(LOCK_FILE), where="the file", problem=problem))
        return LockFile()
    value, source = documents[0].value, documents[0].source
    found = problems("lock", value)
    for broken in found:
        where = broken.where or "the document"
        report.add(rules.BAD_LOCK.finding(broken.place(source), where=where, problem=broken.text))
    if any(broken.keys[:1] in ((), ("images",)) for broken in found):
        return LockFile()
    images = tuple(LockedImage(*(item.get(field, "") for field in _IMAGE_FIELDS)) for item in value.get("images", ()))
    if found or "namespaces" not in value:
        return LockFile(None, images)
    operators = {item["namespace"]: _operators(item["operators"]) for item in value["namespaces"]}
    return LockFile(Lock(operators, Place(source)), images)


def _operators(items: list[dict[str, Any]]) -> tuple[LockedOperator, ...]:
    return tuple(LockedOperator(*(item[field] for field in _FIELDS)) for item in items)


def lock_text(lock: Lock | None, images: Sequence[LockedImage] = ()) -> str:
    """The text of the file: namespaces and images in order."""
    value: dict[str, Any] = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Lock"}
    if lock is not None:
        value["namespaces"] = [
            {"namespace": name, "operators": list(map(_item, operators))}
            for name, operators in sorted(lock.namespaces.items())
        ]
    if images:
        value["images"] = [{key: text for key, text in each._asdict().items() if text} for each in sorted(images)]
    return HEADER + dump_one(value)


def _item(operator: LockedOperator) -> Mapping[str, str]:
    return dict(zip(_FIELDS, operator, strict=True))
