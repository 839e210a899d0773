"""Renderings: a file, or a folder of files, with objects as they are, such as `olmc render` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from olmc.kube.restmapper import rest_mapper
from olmc.load.bundles import is_bundle
from olmc.load.config import CONFIG_FILE
from olmc.load.files import Folder, read_text, scan
from olmc.load.manifests import SUFFIXES, manifests_in
from olmc.load.workspace import CATALOGS_FOLDER
from olmc.model.diagnostic import Report
from olmc.model.file_headers import GENERATED
from olmc.model.location import Location
from olmc.model.objects import Identity, KubernetesObject, identity
from olmc.review.diff.documents import Memory
from olmc.rules import load as rules
from olmc.yaml import Document, read
from olmc.yaml.heads import documents_in

__all__ = ["rendered_objects", "rendering", "texts_below"]

_OLM_INPUT = re.compile(
    r"^[\"'\s]*kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|ClusterServiceVersion|OLMConfig)\b",
    re.MULTILINE,
)
_CATALOG = re.compile(r"^[\"'\s]*schema[\"']?\s*:\s*[\"']?olm\.", re.MULTILINE)
_STATUS = re.compile(r"^(status|  \"status\"|    \"status\"|      \"status\")\s*\"?:", re.MULTILINE)


def rendering(path: Path, report: Report) -> dict[str, str] | None:
    """The texts of a rendering by path: a file, or a folder whose objects are compared as they are.

    None for a workspace, which is to be compiled: a folder with a bundle, a catalog or olmc.yaml, and one with objects
    of OLM of which none has a status. What olmc wrote is a rendering, as is all else. Problems go to `report`.
    """
    if not path.is_dir():
        return _file(path, report)
    found = Report()
    folder = scan(path, found)
    if _holds_workspace(folder):
        return None
    texts = _texts(path, folder, found)
    if not any(text.startswith(GENERATED) for text in texts.values()):
        ours = [text for text in texts.values() if _OLM_INPUT.search(text)]
        if any(map(_CATALOG.search, texts.values())) or (ours and not any(map(_STATUS.search, ours))):
            return None
    for diagnostic in found:
        report.add(diagnostic)
    return texts


def _file(path: Path, report: Report) -> dict[str, str]:
    """A file that the user names, wherever its links lead, or what a process writes (`<(olmc render)`)."""
    if path.is_fifo():
        try:
            return {path.name: path.read_bytes().decode("utf-8")}
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


def rendered_objects(texts: Mapping[str, str], report: Report, memory: Memory) -> tuple[KubernetesObject, ...]:
    """The objects in the texts of a rendering, of several for one identity the last; problems go to `report`.

    Those of kinds without namespaces are in none, whatever is written there: as they are in a cluster.
    """
    found: dict[Identity, KubernetesObject] = {}
    written = [(path, obj) for path, text in texts.items() for obj in _objects(path, text, report, memory)]
    mapper = rest_mapper(obj for _, obj in written)
    for path, each in written:
        obj = mapper.in_its_scope(each)
        known = identity(obj)
        if known in found and found[known] != obj:
            report.add(rules.TWICE.finding(Location(path), identity=known))
        found[known] = obj
    return tuple(found.values())


def _objects(path: str, text: str, report: Report, memory: Memory) -> Iterator[KubernetesObject]:
    """The objects of a file: the documents that are not known yet are read together.

    If there is anything to say about them, the whole file is read once more, for the places to be those of the file.
    """
    parts = documents_in(text)
    unread = list(dict.fromkeys(part for part in parts if part not in memory))
    told = Report()
    documents = read(path, "---\n".join(("", *unread)), told) if unread else []
    found = [_objects_of([document], told) for document in documents]
    if told.found or len(found) != len(unread):
        yield from _objects_of(read(path, text, report), report)
        return
    memory.update(zip(unread, found, strict=True))
    for part in parts:
        yield from memory[part]


def _objects_of(documents: Sequence[Document], report: Report) -> tuple[KubernetesObject, ...]:
    return tuple(manifest.object for manifest in manifests_in(documents, report, judged=False))
