"""Rules about suppressions: comments and entries of olmc.yaml that accept a finding."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

UNUSED = Rule(
    "OLMC440",
    Severity.WARNING,
    "A suppression of nothing",
    "nothing here is reported as {code}",
    "Remove the suppression, or move it: a comment counts for its own line, or for the next line that is no comment.",
    "A suppression that no longer suppresses anything would hide the next finding of its kind that appears there.",
    found_by=FoundBy.OTHERS,
)
NO_REASON = Rule(
    "OLMC441",
    Severity.WARNING,
    "A suppression without a reason",
    "{code} is suppressed without a reason",
    "Write it behind the bracket: # olmc: ignore[{code}] why this is as it should be.",
    "Whoever reads the file next should not have to find out again why a finding was accepted.",
    found_by=FoundBy.OTHERS,
)
MEANINGLESS = Rule(
    "OLMC442",
    Severity.WARNING,
    "A suppression that says nothing",
    "this suppresses nothing: {cause}",
    "Write # olmc: ignore[CODE] reason; several codes are separated by commas.",
    "A suppression names the codes that it accepts, so that everything else is still reported.",
    found_by=FoundBy.OTHERS,
)
