"""What a rule is: a stable code with everything that `olmc explain` and the docs say about it."""

from __future__ import annotations

from typing import NamedTuple

from olmc.model.diagnostic import Diagnostic, Severity
from olmc.model.location import Location


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
        """A diagnostic of this rule at `location`; `values` fill the message and the hint."""
        return Diagnostic(
            self.code, self.severity, self.message.format(**values), location, self.hint.format(**values), related
        )
