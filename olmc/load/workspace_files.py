"""What every file of a workspace is, by its content: bundles, catalogs, manifests, and what is none of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.diagnostics.rules import workspace as rules
from olmc.kube.applied import is_whole_object, tool_lists
from olmc.lean import NamedTuple, regex
from olmc.load.bundles import CATALOGS_FOLDER, files_of, is_bundle, read_bundle
from olmc.load.config import CONFIG_FILE
from olmc.load.files import Folder, read_text
from olmc.load.foreign import TEMPLATES_FOLDER, foreign_file, is_chart, is_for_cluster, unrendered_chart
from olmc.load.manifests import SUFFIXES, manifests_in
from olmc.model.diagnostics import Location, Report
from olmc.model.workspace import GENERATED, IMPORTED, SCAFFOLDED, Bundle, Manifest, Reason, Unused
from olmc.yaml import Reader, locate, read

if TYPE_CHECKING:
    from olmc.load.policies import Installed

_OF_CATALOG = "olm.package"

# A key with a text at the beginning of a line, or anywhere in a document that is written in one line: a CRD has a
# `schema` as well, with a mapping below it.
_CATALOG_TEXT = regex(
    r"""^\s*[{,]?\s*["']?(?:schema|packageName)["']?\s*:[ \t]*[^\s{\[#]|[{,]\s*["']?schema["']?\s*:\s*["']?olm\.""",
    re.MULTILINE | re.IGNORECASE,
)


class FoundFiles(NamedTuple):
    """What is found while files are read; by the name of a catalog its texts by path, and the folder it stands in.

    `files` are those in which all objects count, `unused` objects that do not count, `built` the files that manifests
    were built of, `policies` what they install. `is_named`: the files are named by the user, so that none is of
    another tool. `read` reads them.
    """

    bundles: dict[str, Bundle]
    catalogs: dict[str, Mapping[str, str]]
    roots: dict[str, str]
    manifests: list[Manifest]
    files: dict[str, None]
    unused: list[Unused]
    built: dict[str, None]
    policies: list[Installed]
    is_named: bool = False
    read: Reader = read

    def add_catalog(self, name: str, folder: str, texts: Mapping[str, str]) -> None:
        """Texts of a catalog; the first folder of its name is where it stands."""
        known = self.catalogs.get(name)
        self.catalogs[name] = texts if known is None else {**known, **texts}
        self.roots.setdefault(name, folder)


_Add = Callable[[Path, Folder, FoundFiles, Report], None]


def parts(folder: Folder) -> Iterator[tuple[Folder, _Add]]:
    """The folders of the workspace, and for what each is the function that reads it."""
    if is_bundle(folder):
        yield folder, _add_bundle
        return
    yield folder, add_files
    inside_catalogs = folder.path.rpartition("/")[2] == CATALOGS_FOLDER
    if is_chart(folder):
        yield folder, _add_chart
        templates = folder.join(TEMPLATES_FOLDER)
        folder = folder._replace(folders=tuple(below for below in folder.folders if below.path != templates))
    for below in folder.folders:
        if inside_catalogs and not is_bundle(below):
            yield below, _add_catalog
        else:
            yield from parts(below)


def _add_bundle(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    bundle = read_bundle(root, folder, report, reading.read)
    if bundle is None:
        return
    replaced = reading.bundles.get(bundle.name)
    if replaced is not None:
        # The last one counts, as with manifests; what only the first one has is no part of the workspace any more.
        others = (file.manifest for file in replaced.files if file.manifest.object not in bundle.objects)
        reading.unused.extend(Unused(manifest, Reason.REPLACED) for manifest in others)
        reading.files.update(dict.fromkeys(files_of(replaced)))
        related = (("the other one", Location(replaced.directory)),)
        report.add(rules.SAME_BUNDLE.finding(Location(bundle.directory), name=bundle.name, related=related))
    reading.bundles[bundle.name] = bundle


def _add_catalog(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    """A folder in catalogs/: the catalog of its name, or files like any other if none of them looks like one's."""
    from olmc.load.catalog_folders import catalog_texts  # many workspaces have none

    texts = catalog_texts(root, folder, report)
    # By its text: a catalog may have tens of megabytes, and to parse it just to see that it is one costs as much again.
    if any(_CATALOG_TEXT.search(text) for text in texts.values()):
        reading.add_catalog(folder.path.rpartition("/")[2], folder.path, texts)
        return
    for path, text in texts.items():
        if path.endswith(SUFFIXES):
            _add_text(path, text, reading, report)


def _add_chart(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:  # noqa: ARG001
    """What a chart holds beyond files that are read as any other: templates, of which only their existence is
    reported."""
    for diagnostic in unrendered_chart(root, folder, SUFFIXES):
        report.add(diagnostic)


def add_files(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    for name in folder.files:
        path = folder.join(name)
        if name.endswith(SUFFIXES) and path != CONFIG_FILE:
            text = read_text(root, path, report)
            if text is not None:
                _add_text(path, text, reading, report)


def add_catalog_files(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    """Files beside what is built: of them only catalogs count."""
    for name in folder.files:
        path = folder.join(name)
        text = read_text(root, path, Report()) if name.endswith(SUFFIXES) and path != CONFIG_FILE else None
        if text is not None and _OF_CATALOG in text and _CATALOG_TEXT.search(text):
            _add_text(path, text, reading, report)


def _add_text(path: str, text: str, reading: FoundFiles, report: Report) -> None:
    """A file of manifests, or of a catalog that is called like its folder, at the top like the file itself."""
    if text.startswith((GENERATED, SCAFFOLDED, IMPORTED)):
        return  # olmc's own output is no input, nor is what only runs it
    # An object may have a field `schema`, which does not make it a part of a catalog; the rest of its file can be one.
    findings = Report()
    documents = reading.read(path, text, findings)
    if findings.failed and not reading.is_named and not is_for_cluster(text):
        report.add(foreign_file(path, findings))
        return
    report.found.extend(findings.found)
    of_catalogs = [document for document in documents if _has_catalog_schema(document.value)]
    odd = [document for document in of_catalogs if is_whole_object(document.value)]
    for document in odd:
        place = locate(document.source, ())
        report.add(rules.OBJECT_WITH_SCHEMA.finding(place, kind=document.value["kind"]))
    if len(odd) < len(of_catalogs):
        folder, _, file = path.rpartition("/")
        reading.add_catalog(folder.rpartition("/")[2] or file.partition(".")[0], folder, {path: text})
        documents = [document for document in documents if is_whole_object(document.value)]
    reading.files[path] = None
    reading.unused.extend(Unused(manifest, Reason.TOOLS) for manifest in tool_lists(documents))
    reading.manifests.extend(manifests_in(documents, report))


def _has_catalog_schema(value: Any) -> bool:
    """Whether a document says that it is part of a file-based catalog, whose keys count in any case (R-CAT-121)."""
    items = value.items() if isinstance(value, dict) else ()
    return any(key.casefold() == "schema" and isinstance(text, str) and text.startswith("olm.") for key, text in items)
