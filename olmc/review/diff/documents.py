"""Documents of two renderings that need not be read, since what they say can be seen from outside.

Most of a large rendering is the same on both sides, or copies of CSVs, of which only counts whether they are the same.
Both are recognised in the text as olmc writes it; if any document is written otherwise, all of them are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from olmc.model.objects import KubernetesObject
from olmc.profiles.ownership import COPIED_FROM
from olmc.review.diff.operators import CSV

__all__ = ["Memory", "Spared", "documents_in", "spared"]

Memory = dict[str, tuple[KubernetesObject, ...]]
"""Objects by the text of their document: what both sides have in common is read once, and is the same object."""

# What it means that other objects change depends on these, so they are read although they are the same.
_READ_ANYWAY = frozenset(
    """ClusterRole ClusterRoleBinding ClusterServiceVersion Deployment InstallPlan Operator OperatorGroup Role
    RoleBinding Subscription""".split()
)
_BETWEEN_DOCUMENTS = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_HEAD = re.compile(
    r"\s*(?:#.*\n)*apiVersion: (\S+)\nkind: (\S+)\nmetadata:\n  name: (\S+)\n(?:  namespace: (\S+)\n)?", re.ASCII
)
_COPIED = re.compile(rf"^  labels:\n(?:    .*\n)*?    {re.escape(COPIED_FROM)}: ", re.MULTILINE)


class _Head(NamedTuple):
    """How a document begins, as it is written there."""

    api_version: str
    kind: str
    name: str
    namespace: str | None


class Spared(NamedTuple):
    """What is known without reading: objects by document, and how many of them both sides have, which are left out."""

    memory: Memory
    shared: int


def documents_in(text: str) -> list[str]:
    """The documents of a YAML stream, without those that are empty."""
    return [part for part in _BETWEEN_DOCUMENTS.split(text) if part and not part.isspace()]


def spared(old: Mapping[str, str], new: Mapping[str, str]) -> Spared:
    """What need not be read of two renderings, given by path: nothing, unless all of both is written as olmc does."""
    sides = [[part for text in texts.values() for part in documents_in(text)] for texts in (old, new)]
    heads = {part: _head(part) for side in sides for part in side}
    memory: Memory = {}
    if None in heads.values():
        return Spared(memory, 0)
    known = {part: head for part, head in heads.items() if head is not None}
    copies = (part for part, head in known.items() if head.kind == CSV and _is_copy(part))
    memory.update((part, (_stand_in(known[part], part),)) for part in copies)
    alone = [{head for head, count in Counter(map(known.get, side)).items() if count == 1} for side in sides]
    unique = alone[0] & alone[1]
    shared = [part for part in set(sides[0]) & set(sides[1]) if known[part] in unique and _tells_nothing(known[part])]
    memory.update((part, ()) for part in shared)
    return Spared(memory, len(shared))


def _head(document: str) -> _Head | None:
    found = _HEAD.match(document)
    return _Head(*found.groups()) if found is not None else None


def _is_copy(document: str) -> bool:
    end = document.find("\nspec:")
    return _COPIED.search(document, 0, end if end > 0 else len(document)) is not None


def _stand_in(head: _Head, document: str) -> KubernetesObject:
    """An object with the identity of a copied CSV that equals another one only if their documents are the same."""
    metadata = {"name": head.name, "namespace": head.namespace, "labels": {COPIED_FROM: ""}}
    return {"apiVersion": head.api_version, "kind": head.kind, "metadata": metadata, "document": document}


def _tells_nothing(head: _Head) -> bool:
    return head.kind not in _READ_ANYWAY and not head.kind.endswith("List")
