"""Patterns as in `.gitignore`, which name files of a workspace."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_POSIX_CLASS = re.compile(r"\[[^\]]*\[:[a-z]+:\]")


def spec_of(patterns: Iterable[str]) -> GitIgnoreSpec:
    """What decides whether a path, relative to where the patterns count, is one that they name.

    Raises ValueError for a pattern that can't be used.
    """
    from pathspec import GitIgnoreSpec  # takes its time to import, and hardly any run needs it

    lines = list(patterns)
    for line in lines:
        if _POSIX_CLASS.search(line):
            raise ValueError(f"{line!r} has a class of characters by name; write ranges, such as [a-z]")
    with warnings.catch_warnings():
        # Of brackets in brackets, which Python might read in another way one day.
        warnings.simplefilter("ignore", FutureWarning)
        # Its other backends, which it would take where they are installed, refuse more patterns.
        return GitIgnoreSpec.from_lines(lines, backend="simple")
