"""What a rule is: a stable code with everything that `olmc explain` and the docs say about it."""

from __future__ import annotations

from enum import Enum

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Cause, Diagnostic, Location, RuleTag, Severity

IN_STATUS = frozenset({RuleTag.IN_STATUS})
_DRAWN = " \t\r│├└─"


class FoundBy(Enum):
    """Which command finds what a rule is about: `olmc check` knows by this which suppressions it can call unused."""

    CHECK = "olmc check, whatever its options"
    OPTIONAL_VALIDATORS = "olmc check with all optional validators"
    DESCOPED = "olmc check with --descoped"
    V2ALPHA1 = "olmc check with --enable-v2alpha1"
    AS_USER = "olmc check with --enable-v2alpha1 and --as"
    OTHERS = "other commands alone"


class Rule(NamedTuple):
    """A kind of finding.

    `message` and `hint` are format strings, filled with the values given to `finding`.
    `explanation` says to someone new why this matters (plain Markdown). `cause` is that of every finding that does not
    bring its own.
    """

    code: str
    severity: Severity
    title: str
    message: str
    hint: str
    explanation: str
    found_by: FoundBy = FoundBy.CHECK
    cause: Cause | None = None
    tags: frozenset[RuleTag] = frozenset()

    def finding(
        self, location: Location | None, *, related: tuple[tuple[str, Location], ...] = (), **values: object
    ) -> Diagnostic:
        """A diagnostic of this rule at `location`; `values` fill the message, which is one line, and the hint."""
        message = one_line(self.message.format(**values))
        hint = self.hint.format(**values)
        return Diagnostic(self.code, self.severity, message, location, hint, related, self.cause, self.tags)


def one_line(text: str) -> str:
    """A text of several lines, perhaps a tree of causes as OLM draws it, in one: what reads findings goes by lines."""
    lines = (line.strip(_DRAWN) for line in text.splitlines())
    joined = ""
    for line in filter(None, lines):
        joined += f"{' ' if joined.endswith((':', ',', ';')) else '; ' if joined else ''}{line}"
    return joined if "\n" in text else text
