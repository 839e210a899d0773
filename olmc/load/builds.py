"""Files by which tools build what they apply of a folder: Kustomize, Helm and Jsonnet, none of which olmc follows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from olmc.load.files import Folder, no_folder, read_text, scan_everything
from olmc.model.coerce import mapping
from olmc.model.diagnostic import Report
from olmc.model.file_headers import GENERATED
from olmc.yaml import read

_NAMES = {
    "kustomization.yaml": "Kustomize", "kustomization.yml": "Kustomize", "Kustomization": "Kustomize",
    "Chart.yaml": "Helm",
}  # fmt: skip
_ENDS = {".jsonnet": "Jsonnet", ".libsonnet": "Jsonnet"}


def build_files(root: Path) -> dict[str, str]:
    """The files at any depth by which a folder is built, whatever patterns name, each with a digest of its content.

    What can't be read, or is a link that is not followed, has a digest of its own.
    """
    return {} if no_folder(root) else dict(_below(root, scan_everything(root)))


def builder(path: str) -> str:
    """The tool that builds a folder by a file, "" if it is no such file."""
    name = path.rpartition("/")[2]
    return _NAMES.get(name, "") or next((tool for end, tool in _ENDS.items() if name.endswith(end)), "")


def _below(root: Path, folder: Folder) -> Iterator[tuple[str, str]]:
    for name in (*folder.files, *folder.links):
        if builder(name):
            path, is_link = folder.join(name), name in folder.links
            if is_link or not _only_lists_output(root, path):
                yield path, _digest(root / path, is_link=is_link)
    for below in folder.folders:
        yield from _below(root, below)


def _only_lists_output(root: Path, path: str) -> bool:
    """Whether a file is as olmc render writes it, so that it does no more than name the files beside it."""
    text = read_text(root, path, Report()) or ""
    if not text.startswith(GENERATED):
        return False
    report = Report()
    values = [document.value for document in read(path, text, report)]
    if report.failed or len(values) != 1 or mapping(values[0]).keys() != {"apiVersion", "kind", "resources"}:
        return False
    resources = values[0]["resources"]
    return isinstance(resources, list) and all(isinstance(each, str) and "/" not in each for each in resources)


def _digest(path: Path, *, is_link: bool) -> str:
    try:
        if is_link:
            return f"link to {path.readlink()}"
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
