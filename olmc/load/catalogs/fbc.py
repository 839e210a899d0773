"""File-based catalogs: streams of YAML or JSON documents in files of any name (R-CAT-120 … R-CAT-124)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from olmc.load.catalogs.blobs import Blobs
from olmc.load.catalogs.conversion import packages_of
from olmc.load.catalogs.model_checks import check_model
from olmc.load.catalogs.troubles import tell, unavailable
from olmc.model.catalog import Catalog
from olmc.model.causes import Cause
from olmc.model.diagnostic import Report, Severity
from olmc.model.location import Location
from olmc.yaml import Document, read


class CatalogFile(NamedTuple):
    """A file of a catalog: its documents, whether it is YAML, and why it could not be read ("" if it could)."""

    path: str
    documents: Sequence[Document]
    is_yaml: bool
    problem: str = ""
    location: Location | None = None
    cause: Cause | None = None


def read_file(path: str, text: str, report: Report) -> CatalogFile:
    """The documents of a file.

    What the reader finds odd is reported; that the file can't be read is only noted, since not all formats mind.
    """
    found = Report()
    documents = read(path, text, found)
    for diagnostic in found:
        if diagnostic.severity is not Severity.ERROR:
            report.add(diagnostic)
    is_yaml = text.lstrip()[:1] != "{"
    error = next((each for each in found if each.severity is Severity.ERROR), None)
    if error is None:
        return CatalogFile(path, documents, is_yaml)
    return CatalogFile(path, documents, is_yaml, error.message, error.location, error.cause)


def readable(files: Mapping[str, CatalogFile]) -> tuple[str, ...]:
    """The paths of the files that could be read."""
    return tuple(path for path, file in files.items() if not file.problem)


def catalog_of(blobs: Blobs, report: Report) -> Catalog:
    """The catalog that blobs describe, or an unavailable one with what is wrong with it (R-CAT-124, R-CAT-126)."""
    packages, troubles = packages_of(blobs)
    tell(troubles, report)
    first = next((trouble for trouble in troubles if trouble.stops), None)
    if first is not None:
        return unavailable(first.text, first.place)
    tree, troubles = check_model(packages)
    tell(troubles, report)
    if tree:
        return unavailable(tree, troubles[0].place)
    return Catalog(packages)
