"""Renderings: a file, or a folder of files, with objects as they are, such as `olmc render` writes them.

Documents of two renderings need not all be read: most of a large rendering is the same on both sides, or copies of
CSVs, of which only counts whether they are the same. Both are recognised in the text as olmc writes it; if any document
is written otherwise, all of them are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from olmc.diagnostics.rules import workspace as rules
from olmc.diff.operators import CSV
from olmc.kube.restmapper import rest_mapper
from olmc.lean import NamedTuple, regex
from olmc.load.bundles import CATALOGS_FOLDER, is_bundle
from olmc.load.config import CONFIG_FILE
from olmc.load.files import Folder, read_bounded, read_text, scan
from olmc.load.foreign import is_chart_of_operators
from olmc.load.kustomization import kustomization_in
from olmc.load.manifests import SUFFIXES, manifests_in
from olmc.model.diagnostics import Location, Report
from olmc.model.objects import CRD_KIND, KubernetesObject, ObjectKey, object_key
from olmc.model.workspace import GENERATED
from olmc.olm.naming import COPIED_FROM
from olmc.yaml import Document, read
from olmc.yaml.heads import Head, documents_in, head_of
from olmc.yaml.pieces import Known, read_pieces

_OLM_INPUT = regex(
    r"^[\"'\s]*kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|ClusterServiceVersion|OLMConfig)\b",
    re.MULTILINE,
)
_CATALOG = regex(r"^[\"'\s]*schema[\"']?\s*:\s*[\"']?olm\.", re.MULTILINE)
_STATUS = regex(r"^(status|  \"status\"|    \"status\"|      \"status\")\s*\"?:", re.MULTILINE)

Memory = dict[str, tuple[KubernetesObject, ...]]
"""Objects by the text of their document: what both sides have in common is read once, and is the same object."""

# What it means that other objects change depends on these, so they are read although they are the same.
_READ_ANYWAY = frozenset(
    """ClusterRole ClusterRoleBinding ClusterServiceVersion Deployment InstallPlan Operator OperatorGroup Role
    RoleBinding Subscription""".split()
)
_CLUSTER_SCOPED = "\n  scope: Cluster\n"
_IN_METADATA = regex(r"^  (?! ).*?(?=:|$)", re.MULTILINE)
_COPIED = regex(rf"^  labels:\n(?:    .*\n)*?    {re.escape(COPIED_FROM)}: ", re.MULTILINE)


def read_rendering(path: Path, report: Report) -> dict[str, str] | None:
    """The texts of a rendering by path: a file, or a folder whose objects are compared as they are.

    None for a workspace, which is to be compiled: a folder with a bundle, a catalog or olmc.yaml, one that a
    kustomization builds, and one with objects of OLM of which none has a status. What olmc wrote is a rendering, as is
    all else. Problems go to `report`.
    """
    if not path.is_dir():
        return _file(path, report)
    problems = Report()
    folder = scan(path, problems)
    if _holds_workspace(folder):
        return None
    texts = _texts(path, folder, problems)
    # Objects of OLM of which none has a status are input, unless olmc itself says that it wrote them.
    if not any(text.startswith(GENERATED) for text in texts.values()):
        if kustomization_in(path, folder) is not None or is_chart_of_operators(path, folder):
            return None
        of_olm = [text for text in texts.values() if _OLM_INPUT.search(text)]
        if any(map(_CATALOG.search, texts.values())) or (of_olm and not any(map(_STATUS.search, of_olm))):
            return None
    for diagnostic in problems:
        report.add(diagnostic)
    return texts


def _file(path: Path, report: Report) -> dict[str, str]:
    """A file that the user names, wherever its links lead, or what a process writes (`<(olmc render)`)."""
    if path.is_fifo():
        try:
            return {path.name: read_bounded(path).decode("utf-8")}
        except OSError as error:
            report.add(rules.UNREADABLE.finding(None, path=path.name, cause=error.strerror))
            return {}
        except UnicodeDecodeError as error:
            report.add(rules.NOT_UTF8.finding(None, path=path.name, offset=error.start))
            return {}
    real = path.resolve()
    text = read_text(real.parent, real.name, report)
    return {path.name: text} if text is not None else {}


def _holds_workspace(folder: Folder) -> bool:
    if is_bundle(folder) or folder.path.rpartition("/")[2] == CATALOGS_FOLDER or CONFIG_FILE in folder.files:
        return True
    return any(map(_holds_workspace, folder.folders))


def texts_below(path: Path, report: Report, ignored: tuple[str, ...]) -> dict[str, str]:
    """The texts in the folder of a rendering but for those that patterns name, whatever the folder itself says."""
    return _texts(path, scan(path, report, ignored=ignored, ignore_file=False), report)


def _texts(root: Path, folder: Folder, report: Report) -> dict[str, str]:
    paths = (path for path in folder.walk() if path.endswith(SUFFIXES))
    return {path: text for path in paths if (text := read_text(root, path, report)) is not None}


def rendered_objects(texts: Mapping[str, str], report: Report, known: Spared) -> tuple[KubernetesObject, ...]:
    """The objects in the texts of a rendering, of several for one identity the last; problems go to `report`.

    Those of kinds without namespaces are in none, whatever is written there: as they are in a cluster.
    """
    objects: dict[ObjectKey, KubernetesObject] = {}
    written = [(path, obj) for path, text in texts.items() for obj in _objects(path, text, report, known)]
    mapper = rest_mapper(obj for _, obj in written)
    for path, as_written in written:
        obj = mapper.in_its_scope(as_written)
        identity = object_key(obj)
        if identity in objects and objects[identity] != obj:
            report.add(rules.TWICE.finding(Location(path), identity=identity))
        objects[identity] = obj
    return tuple(objects.values())


def _objects(path: str, text: str, report: Report, known: Spared) -> Iterator[KubernetesObject]:
    """The objects of a file: the documents that are not known yet are read together.

    If there is anything to say about them, the whole file is read once more, for the places to be those of the file.
    """
    parts, memory = known.documents.get(text) or documents_in(text), known.memory
    unread = list(dict.fromkeys(part for part in parts if part not in memory))
    problems = Report()
    documents = read_pieces(path, "---\n".join(("", *unread)), problems, known.pieces) if unread else []
    objects = [_objects_of([document], problems) for document in documents]
    # Documents that were put together have other line numbers than in their file.
    if problems.found or len(objects) != len(unread):
        yield from _objects_of(read(path, text, report), report)
        return
    memory.update(zip(unread, objects, strict=True))
    for part in parts:
        yield from memory[part]


def _objects_of(documents: Sequence[Document], report: Report) -> tuple[KubernetesObject, ...]:
    return tuple(manifest.object for manifest in manifests_in(documents, report, judged=False))


class Spared(NamedTuple):
    """What is known without reading: objects by document, and how many of them both sides have, which are left out;
    what parts of documents say that were read; and the documents of texts."""

    memory: Memory
    shared: int
    pieces: Known
    documents: Mapping[str, list[str]] = MappingProxyType({})


def spared(old: Mapping[str, str], new: Mapping[str, str]) -> Spared:
    """What need not be read of two renderings, given by path: nothing, unless all of both is written as olmc does."""
    documents = {text: documents_in(text) for text in (*old.values(), *new.values())}
    sides = [[part for text in texts.values() for part in documents[text]] for texts in (old, new)]
    heads = {part: head_of(part) for part in dict.fromkeys(chain(*sides))}
    memory: Memory = {}
    if None in heads.values():
        return Spared(memory, 0, {}, documents)
    known = {part: head for part, head in heads.items() if head is not None}
    copies = (part for part, head in known.items() if head.kind == CSV and _is_copy(part))
    memory.update((part, (_stand_in(known[part], part),)) for part in copies)
    # Of an identity that occurs twice the last one counts, which takes reading both.
    alone = [{head for head, count in Counter(map(known.get, side)).items() if count == 1} for side in sides]
    unique = alone[0] & alone[1]
    both = set(sides[0]) & set(sides[1])
    shared = [part for part in both if known[part] in unique and _tells_nothing(known[part], part)]
    memory.update((part, ()) for part in shared)
    return Spared(memory, len(shared), {}, documents)


def _is_copy(document: str) -> bool:
    """Whether a CSV has the label of a copy: one whose metadata have no key twice, of which another could count."""
    metadata = document[: document.find("\nspec:") + 1 or len(document)]
    if COPIED_FROM not in metadata:
        return False
    keys = _IN_METADATA.findall(metadata)
    return len(keys) == len(set(keys)) and _COPIED.search(metadata) is not None


def _stand_in(head: Head, document: str) -> KubernetesObject:
    """An object with the identity of a copied CSV that equals another one only if their documents are the same."""
    metadata = {"name": head.name, "namespace": head.namespace, "labels": {COPIED_FROM: ""}}
    return {"apiVersion": head.api_version, "kind": head.kind, "metadata": metadata, "document": document}


def _tells_nothing(head: Head, document: str) -> bool:
    """Whether what other objects mean does not depend on this one; a CRD may say that its objects have no namespace."""
    if head.kind == CRD_KIND:
        return _CLUSTER_SCOPED not in document
    return head.kind not in _READ_ANYWAY and "\nitems:" not in document
