"""Moving a workspace to the proposed APIs (`olmc migrate`)."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

LEFT_ALONE = Rule(
    "OLMC695",
    Severity.WARNING,
    "Something that only a person can migrate",
    "{what} is left as it is: {why}",
    "Change it by hand, then run olmc migrate again.",
    "olmc migrate makes those changes that need no decision, and writes nothing that would lose something.",
    found_by=FoundBy.OTHERS,
)
