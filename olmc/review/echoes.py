"""One mistake that several stages stumble over: told once."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.model.causes import Mistake
from olmc.model.diagnostic import Diagnostic, Tag


def told_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics in their order; of several at one place that have one cause, only the gravest.

    Of equally grave ones that of the compiler stays, not that of the validators.
    """
    given = tuple(diagnostics)
    best: dict[tuple[object, ...], Diagnostic] = {}
    for each in sorted(given, key=lambda found: (-found.severity, Tag.OF_VALIDATORS in found.tags, found.code)):
        best.setdefault(_key(each), each)
    kept = frozenset(best.values())
    return tuple(each for each in given if each in kept)


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What two findings of one mistake have in common: the mistake, else all that they say."""
    if isinstance(diagnostic.cause, Mistake):
        return diagnostic.location, type(diagnostic.cause), diagnostic.cause
    return diagnostic.location, diagnostic.code, diagnostic.message
