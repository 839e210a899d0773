"""The pages of a report as files of a folder, of which olmc changes those that it wrote."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from olmc.compiler.output.directory import link_below, put
from olmc.review.report.operators import OPERATORS

MARK = '<meta name="generator" content="olmc '
_HEAD = 500
"""In how many characters from the beginning of a page the mark is looked for."""


class ForeignFileError(Exception):
    """A file that olmc report did not write stands where a page would be."""


def write_site(folder: Path, pages: Mapping[str, str]) -> None:
    """Write the pages, and remove those of an earlier report that are no more.

    Raises ForeignFileError before anything is written, and OSError.
    """
    if link_below(folder, OPERATORS) is not None:
        raise ForeignFileError(f"{(folder / OPERATORS).as_posix()} leads elsewhere and is not of olmc report")
    for name in pages:
        if os.path.lexists(folder / name) and not _is_ours(folder / name):
            raise ForeignFileError(f"{(folder / name).as_posix()} is not of olmc report")
    for place in (folder, folder / OPERATORS):
        place.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        put(folder / name, text)
    for path in (*folder.glob("*.html"), *(folder / OPERATORS).glob("*.html")):
        if path.relative_to(folder).as_posix() not in pages and _is_ours(path):
            path.unlink()


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as stream:
        return MARK in stream.read(_HEAD)
