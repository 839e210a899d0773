"""Diagnostics as people see them who stand elsewhere than in the workspace: places, and the commands of hints."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from olmc.k8s.diagnostics import Diagnostic, Location
from olmc.k8s.lean import regex

# A command about the workspace whose last argument is its folder; options may have a value in capitals.
_COMMAND = regex(r"`olmc (?:vendor|init workspace|resolve|check)(?: --?[a-z-]+(?: [A-Z]+)?)*(?=`)")
# The place of a step, as the derivation of what can't be resolved has it at the end of a line.
_PLACE = regex(r"\(([^\s():]+)(:\d+:\d+)\)$", re.MULTILINE)


def below(folder: str, path: str) -> str:
    """The path of a file of the workspace in `folder`, "" where that is the current directory."""
    return posixpath.normpath(posixpath.join(folder, path)) if folder or path.startswith("../") else path


def seen_from(folder: str, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Diagnostics of the workspace in `folder` with their places, and the commands that they advise, as one gives them
    where one stands: `olmc vendor` is about the current directory."""
    for diagnostic in diagnostics:
        place = diagnostic.location
        yield diagnostic._replace(
            location=_moved(folder, place) if place is not None else None,
            related=tuple((text, _moved(folder, where)) for text, where in diagnostic.related),
            hint=_hint(folder, diagnostic.hint) if folder else diagnostic.hint,
        )


def _moved(folder: str, place: Location) -> Location:
    return place._replace(path=below(folder, place.path))


def _hint(folder: str, hint: str) -> str:
    import shlex  # few hints name a command

    with_folder = _COMMAND.sub(lambda match: f"{match[0]} {shlex.quote(folder)}", hint)
    return _PLACE.sub(lambda match: f"({below(folder, match[1])}{match[2]})", with_folder)
