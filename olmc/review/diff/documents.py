"""Documents of two renderings that need not be read, since what they say can be seen from outside.

Most of a large rendering is the same on both sides, or copies of CSVs, of which only counts whether they are the same.
Both are recognised in the text as olmc writes it; if any document is written otherwise, all of them are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from olmc.kube.restmapper import CRD
from olmc.model.objects import KubernetesObject
from olmc.profiles.ownership import COPIED_FROM
from olmc.review.diff.operators import CSV
from olmc.yaml.heads import Head, documents_in, head_of

__all__ = ["Memory", "Spared", "spared"]

Memory = dict[str, tuple[KubernetesObject, ...]]
"""Objects by the text of their document: what both sides have in common is read once, and is the same object."""

# What it means that other objects change depends on these, so they are read although they are the same.
_READ_ANYWAY = frozenset(
    """ClusterRole ClusterRoleBinding ClusterServiceVersion Deployment InstallPlan Operator OperatorGroup Role
    RoleBinding Subscription""".split()
)
_CLUSTER_SCOPED = "\n  scope: Cluster\n"
_IN_METADATA = re.compile(r"^  (?! ).*?(?=:|$)", re.MULTILINE)
_COPIED = re.compile(rf"^  labels:\n(?:    .*\n)*?    {re.escape(COPIED_FROM)}: ", re.MULTILINE)


class Spared(NamedTuple):
    """What is known without reading: objects by document, and how many of them both sides have, which are left out."""

    memory: Memory
    shared: int


def spared(old: Mapping[str, str], new: Mapping[str, str]) -> Spared:
    """What need not be read of two renderings, given by path: nothing, unless all of both is written as olmc does."""
    sides = [[part for text in texts.values() for part in documents_in(text)] for texts in (old, new)]
    heads = {part: head_of(part) for side in sides for part in side}
    memory: Memory = {}
    if None in heads.values():
        return Spared(memory, 0)
    known = {part: head for part, head in heads.items() if head is not None}
    copies = (part for part, head in known.items() if head.kind == CSV and _is_copy(part))
    memory.update((part, (_stand_in(known[part], part),)) for part in copies)
    alone = [{head for head, count in Counter(map(known.get, side)).items() if count == 1} for side in sides]
    unique = alone[0] & alone[1]
    both = set(sides[0]) & set(sides[1])
    shared = [part for part in both if known[part] in unique and _tells_nothing(known[part], part)]
    memory.update((part, ()) for part in shared)
    return Spared(memory, len(shared))


def _is_copy(document: str) -> bool:
    """Whether a CSV has the label of a copy: one whose metadata have no key twice, of which another could count."""
    metadata = document[: document.find("\nspec:") + 1 or len(document)]
    keys = _IN_METADATA.findall(metadata)
    return len(keys) == len(set(keys)) and _COPIED.search(metadata) is not None


def _stand_in(head: Head, document: str) -> KubernetesObject:
    """An object with the identity of a copied CSV that equals another one only if their documents are the same."""
    metadata = {"name": head.name, "namespace": head.namespace, "labels": {COPIED_FROM: ""}}
    return {"apiVersion": head.api_version, "kind": head.kind, "metadata": metadata, "document": document}


def _tells_nothing(head: Head, document: str) -> bool:
    """Whether what other objects mean does not depend on this one; a CRD may say that its objects have no namespace."""
    if head.kind == CRD:
        return _CLUSTER_SCOPED not in document
    return head.kind not in _READ_ANYWAY and "\nitems:" not in document
