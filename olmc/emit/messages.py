"""Diagnostics as text for people: place, severity, message, the way out."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.model.diagnostic import Diagnostic, Severity

SHOWN_FROM = Severity.WARNING


def as_text(diagnostics: Iterable[Diagnostic], *, least: Severity = SHOWN_FROM) -> str:
    """The diagnostics from severity `least` on, each with its hint and its related places."""
    return "".join(_one(diagnostic) for diagnostic in diagnostics if diagnostic.severity >= least)


def _one(diagnostic: Diagnostic) -> str:
    place = f"{diagnostic.location}: " if diagnostic.location else ""
    lines = [f"{place}{diagnostic.severity}: {diagnostic.message} [{diagnostic.code}]"]
    lines += [f"  {place}: {text}" for text, place in diagnostic.related]
    lines += [f"  {line}" for line in diagnostic.hint.splitlines()]
    return "\n".join(lines) + "\n"
