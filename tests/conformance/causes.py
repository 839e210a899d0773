"""The reasons for what differs from the recorded clusters (differences.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

_INDEX = re.compile(r"\[\d+\]")
_PATH = re.compile(r"[-+~] (.*?): (?:observed|rendered) ")
_SIDES = ("missing", "extra")
_PARTS = ("different", "status_different")


class Cause(NamedTuple):
    """A reason for differences; the patterns are as in differences.yaml."""

    why: str
    kind: Literal["random", "timing"]
    objects: tuple[str, ...]
    paths: tuple[str, ...]
    cases: tuple[str, ...] = ("*",)


class Difference(NamedTuple):
    """An object, or the status of one, that differs: where, and in which paths."""

    case: str
    object: str
    paths: tuple[str, ...]
    of_status: bool = False

    def __str__(self) -> str:
        return f"{self.case}: {self.object}: {', '.join(self.paths)}"


def causes(documents: Sequence[Mapping[str, Any]]) -> tuple[Cause, ...]:
    """The causes of differences.yaml as it was read; TypeError for an unknown key."""
    return tuple(
        Cause(**{key: tuple(value) if isinstance(value, list) else value for key, value in each.items()})
        for each in documents
    )


def differences(results: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    """Everything that differs in the results that compare.py writes."""
    for result in results:
        for side in _SIDES:
            for name in result.get(side, ()):
                yield Difference(result["case"], name, (side,))
        for part in _PARTS:
            for name, lines in result.get(part, {}).items():
                paths = dict.fromkeys(_INDEX.sub("[]", _path(line)) for line in lines)
                yield Difference(result["case"], name, tuple(paths), part == "status_different")


def _path(line: str) -> str:
    """The path that a line of compare.py is about."""
    found = _PATH.match(line)
    return found[1] if found else line


def cause_of(difference: Difference, known: Sequence[Cause]) -> Cause | None:
    """The first cause that a difference fits, None for one that nobody has explained."""
    return next((cause for cause in known if _fits(difference, cause)), None)


def _fits(difference: Difference, cause: Cause) -> bool:
    return (
        _any(difference.case, cause.cases)
        and _any(difference.object, cause.objects)
        and all(_any(path, cause.paths) for path in difference.paths)
    )


def _any(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern.replace("[]", "[[][]]")) for pattern in patterns)
