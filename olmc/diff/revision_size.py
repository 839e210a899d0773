"""How much of a revision would be read, counted from its listing: before contents are asked for or files written."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from olmc.diagnostics.rules import workspace as rules
from olmc.load.config import CONFIG_FILE, narrowing_of, read_config
from olmc.load.files import GIT_IGNORE_FILE, IGNORE_FILE, spec_of
from olmc.model.diagnostics import Location, Report
from olmc.model.limits import FILES

PATTERN_FILES = (GIT_IGNORE_FILE, IGNORE_FILE, CONFIG_FILE)
"""The files at the top of a folder that say what is left out of it."""


def fits(paths: Iterable[str], patterns: Callable[[], Mapping[str, bytes]], report: Report) -> bool:
    """Whether a folder has no more files and folders than olmc reads; if it has more, the report names the limit.

    `patterns` gives the contents of `PATTERN_FILES`, and is called only where the number alone would be too much:
    folders that they name are not looked into.
    """
    listed = tuple(paths)
    beyond = _first_beyond(listed, lambda _: False)
    if beyond is not None:
        beyond = _first_beyond(listed, _spec(patterns()))
    if beyond is not None:
        report.add(rules.too_large("the revision", FILES, place=Location(beyond)))
    return beyond is None


def _spec(contents: Mapping[str, bytes]) -> Callable[[str], bool]:
    with tempfile.TemporaryDirectory(prefix="olmc-patterns-") as name:
        root = Path(name)
        for file, content in contents.items():
            (root / file).write_bytes(content)
        # What is wrong with the patterns is for whoever reads the folder.
        try:
            return spec_of(narrowing_of(root, read_config(root, Report())).ignored)
        except ValueError:
            return lambda _: False


def _first_beyond(paths: Iterable[str], is_ignored: Callable[[str], bool]) -> str | None:
    """The path with which there are more files and folders than the limit, None if there are not."""
    most, count = FILES.most, 0
    is_left_out = {"": False}
    for path in paths:
        folder = posixpath.dirname(path)
        for new in reversed(tuple(_unknown(folder, is_left_out))):
            is_within = is_left_out[posixpath.dirname(new)]
            count += not is_within
            is_left_out[new] = is_within or posixpath.basename(new).startswith(".") or is_ignored(f"{new}/")
        count += not is_left_out[folder]
        if count > most:
            return path
    return None


def _unknown(folder: str, known: Mapping[str, bool]) -> Iterable[str]:
    while folder not in known:
        yield folder
        folder = posixpath.dirname(folder)
