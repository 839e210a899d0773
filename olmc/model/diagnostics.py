"""Where something stands in the files of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, IntEnum
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


class Missing(Enum):
    """What is not there and would have to be."""

    CSV = "a CSV in a bundle"
    ANNOTATIONS = "the annotations of a bundle"
    NAMESPACE = "the namespace of an object"


class LockFault(Enum):
    """Why a lock does not hold."""

    UNMET = "the workspace needs something else than what is locked"
    CHANGED = "what is locked is no longer what it was"


class SourceFault(Enum):
    """Why an image is not had from a source, what says most about it first."""

    WRONG_DIGEST = "the source has something else under this digest"
    BAD_MANIFEST = "the source has a manifest that can't be used"
    DENIED = "the source wants to know who asks"
    NOT_FOUND = "the source does not have it"


class PlanFault(Enum):
    """Why an InstallPlan is not carried out, or not to its end."""

    UNMANAGED = "its namespace has no OperatorGroup that manages it (R-CAT-604)"
    NO_TOKEN = "OLM has no token for the ServiceAccount of the group"
    FORBIDDEN = "the ServiceAccount of the group lacks rights, for which OLM tries again for ever (D23)"
    UNSUPPORTED_KIND = "OLM does not install objects of the step's kind (R-CAT-705)"


class DecodeFailure(NamedTuple):
    """A text or a value that a decoder refuses, with the decoder's words."""

    message: str


class RefusedObject(NamedTuple):
    """An object that the API server refuses."""

    kind: str
    name: str


class OversizedAnnotations(NamedTuple):
    """An object that has too many bytes of annotations once `kubectl apply` has put a copy of it into one."""

    kind: str


Mistake = Missing | DecodeFailure | OversizedAnnotations
"""What is wrong with the input itself, so that whoever comes upon it at the same place means the same."""

Cause = Mistake | LockFault | SourceFault | PlanFault | RefusedObject


class Severity(IntEnum):
    """How bad it is: an ERROR stops the compilation, a FAILURE is an operator that would fail in the cluster."""

    INFO = 0
    WARNING = 1
    FAILURE = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class RuleTag(Enum):
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
    tags: frozenset[RuleTag] = frozenset()

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
