"""Diagnostics: what olmc has to say about the input, and the list that collects them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

from olmc.model.causes import Cause
from olmc.model.location import Location


class Severity(IntEnum):
    """How bad it is: an ERROR stops the compilation, a FAILURE is an operator that would fail in the cluster."""

    INFO = 0
    WARNING = 1
    FAILURE = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Tag(Enum):
    """What all findings of a rule have in common that something else than a reader has to know."""

    OF_VALIDATORS = "opm and operator-sdk say it; the compiler says what it means for the cluster"
    IN_STATUS = "the state of an operator shows it already"


class Diagnostic(NamedTuple):
    """One finding: the rule's stable `code`, a message, where it stands, and what to do next.

    These are for people; what goes on with a finding is decided by its severity, its `cause` and the `tags` of its
    rule.
    """

    code: str
    severity: Severity
    message: str
    location: Location | None = None
    hint: str = ""
    related: tuple[tuple[str, Location], ...] = ()
    cause: Cause | None = None
    tags: frozenset[Tag] = frozenset()

    def caused_by(self, cause: Cause | None) -> Diagnostic:
        """The finding with a cause of its own instead of that of its rule; the same for None."""
        return self._replace(cause=cause) if cause is not None else self

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
