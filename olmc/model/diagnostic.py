"""Diagnostics: what olmc has to say about the input, and the list that collects them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from olmc.model.location import Location


class Severity(IntEnum):
    """How bad it is: an ERROR stops the compilation, a FAILURE is an operator that would fail in the cluster."""

    INFO = 0
    WARNING = 1
    FAILURE = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Diagnostic(NamedTuple):
    """One finding: the rule's stable `code`, a message, where it stands, and what to do next."""

    code: str
    severity: Severity
    message: str
    location: Location | None = None
    hint: str = ""
    related: tuple[tuple[str, Location], ...] = ()

    def sort_key(self) -> tuple[str, int, int, str, str]:
        place = self.location or Location("")
        return (place.path, place.line, place.column, self.code, self.message)


@dataclass(slots=True)
class Report:
    """Collects the diagnostics of one compilation; the only thing that the stages write to."""

    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        self.found.append(diagnostic)

    def __iter__(self) -> Iterator[Diagnostic]:
        """The diagnostics, each once, sorted by place."""
        return iter(sorted(dict.fromkeys(self.found), key=Diagnostic.sort_key))

    @property
    def failed(self) -> bool:
        """Whether anything was reported that stops the compilation."""
        return any(d.severity is Severity.ERROR for d in self.found)

    def worst(self) -> Severity | None:
        """The gravest severity reported so far."""
        return max((d.severity for d in self.found), default=None)
