"""One mistake that several stages stumble over: told once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from olmc.model.diagnostic import Diagnostic

# What several stages say of one thing, or what decoders say to them; some stages add the line.
_CAUSE = re.compile(
    r"csv in bundle|find annotations file|has no metadata.namespace"
    r"|(?:not valid (?:YAML|JSON): |json: )(?:(?! \(line \d+\)).)*"
    r"|[A-Z]\w*(?=\S* would have [\d,]+ bytes of annotations)"  # as written in a file, and as rendered
)
# What the validators of opm and operator-sdk find; the compiler says what it means for the cluster.
_VALIDATORS = "OLMC26"


def told_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics in their order; of several at one place that have one cause, only the gravest.

    Of equally grave ones that of the compiler stays, not that of the validators.
    """
    given = tuple(diagnostics)
    best: dict[tuple[object, str], Diagnostic] = {}
    for each in sorted(given, key=lambda found: (-found.severity, found.code.startswith(_VALIDATORS), found.code)):
        best.setdefault(_key(each), each)
    kept = frozenset(best.values())
    return tuple(each for each in given if each in kept)


def _key(diagnostic: Diagnostic) -> tuple[object, str]:
    """What two findings of one mistake have in common."""
    cause = _CAUSE.search(diagnostic.message)
    return diagnostic.location, cause[0] if cause else f"{diagnostic.code} {diagnostic.message}"
