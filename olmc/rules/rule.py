"""What a rule is: a stable code with everything that `olmc explain` and the docs say about it."""

from __future__ import annotations

from typing import NamedTuple

from olmc.model.diagnostic import Diagnostic, Severity
from olmc.model.location import Location

_DRAWN = " \t\r│├└─"


class Rule(NamedTuple):
    """A kind of finding.

    `message` and `hint` are format strings, filled with the values given to `finding`.
    `explanation` tells someone new why this matters (plain Markdown).
    """

    code: str
    severity: Severity
    title: str
    message: str
    hint: str
    explanation: str

    def finding(
        self, location: Location | None, *, related: tuple[tuple[str, Location], ...] = (), **values: object
    ) -> Diagnostic:
        """A diagnostic of this rule at `location`; `values` fill the message, which is one line, and the hint."""
        message = one_line(self.message.format(**values))
        return Diagnostic(self.code, self.severity, message, location, self.hint.format(**values), related)


def one_line(text: str) -> str:
    """A text of several lines, perhaps a tree of causes as OLM draws it, in one: what reads findings goes by lines."""
    lines = (line.strip(_DRAWN) for line in text.splitlines())
    told = ""
    for line in filter(None, lines):
        told += f"{' ' if told.endswith((':', ',', ';')) else '; ' if told else ''}{line}"
    return told if "\n" in text else text
