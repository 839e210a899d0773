"""Diagnostics as annotations of GitHub Actions: workflow commands, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olmc.emit.messages import SHOWN_FROM, printable
from olmc.emit.names import legible
from olmc.model.diagnostic import Diagnostic, Severity
from olmc.model.location import Location

_COMMANDS = {Severity.ERROR: "error", Severity.FAILURE: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(diagnostics: Iterable[Diagnostic], titles: Mapping[str, str], *, least: Severity = SHOWN_FROM) -> str:
    """The diagnostics as `::error file=…,line=…,col=…,title=…::message`, the gravest first.

    GitHub shows ten errors and ten warnings of a step as annotations and the others in its log only, hence the order.
    `titles` are those of the rules by code. A finding about a whole file is put at its first line, since without a line
    it would not be shown among the changed files.
    """
    found = sorted((each for each in diagnostics if each.severity >= least), key=lambda each: -each.severity)
    return "".join(f"{_annotation(each, titles.get(each.code, ''))}\n" for each in found)


def _annotation(diagnostic: Diagnostic, title: str) -> str:
    path, line, column = diagnostic.location or Location("")
    properties = {
        "file": legible(path),
        "line": str(line or 1) if path else "",
        "col": str(column or ""),
        "title": f"{title} ({diagnostic.code})" if title else diagnostic.code,
    }
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    related = (f"{where}: {text}" for text, where in diagnostic.related)
    lines = "\n".join(filter(None, (diagnostic.message, *related, diagnostic.hint))).split("\n")
    text = _data("\n".join(map(printable, lines)))
    return f"::{_COMMANDS[diagnostic.severity]} {told}::{text}"


def _data(text: str) -> str:
    """A text with what would end the command escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value among properties, in which colons and commas mean something as well."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
