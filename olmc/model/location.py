"""Where something stands in the files of a workspace."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """A place in a file: `path` relative to the workspace, `line`, `column` from 1 (0: the whole file)."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.path
        return f"{self.path}:{self.line}:{self.column}" if self.column else f"{self.path}:{self.line}"


class Source(NamedTuple):
    """One document of a file, kept so that line and column of any of its keys can be found when asked for.

    `path` as in Location, `text` the whole file, `document` the number of the document in it, from 0,
    `prefix` the keys that lead to the part meant, for an item of a `List`.
    """

    path: str
    text: str
    document: int = 0
    prefix: tuple[str | int, ...] = ()


class Place(NamedTuple):
    """A place inside a document, kept by its keys: cheap by the ten thousand, a Location only when one asks.

    `source` is the document, `keys` lead to the value meant (() for the document itself).
    """

    source: Source
    keys: tuple[str | int, ...] = ()
