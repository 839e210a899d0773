"""Diagnostics as SARIF 2.1.0, within what GitHub code scanning accepts.

GitHub refuses a file of more than 10 MB (compressed), of more than 25,000 results or rules a run, and of results with
more than 1,000 places; of a rule it takes 20 tags, of its texts 1,024 characters, and it shows 5,000 results.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from olmc.emit.messages import SHOWN_FROM, LineOf
from olmc.emit.names import json_text
from olmc.model.diagnostic import Diagnostic, Severity
from olmc.model.location import Location

MOST_RESULTS = 25_000
MOST_BYTES = 10_000_000
"""Of the compressed file."""

_MOST_PLACES = 1_000
_MOST_CHARACTERS = 1_024
_ROOT = "%SRCROOT%"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.FAILURE: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class RuleText(Protocol):
    """What is told about a rule."""

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def title(self) -> str: ...
    @property
    def explanation(self) -> str: ...
    @property
    def hint(self) -> str: ...


class RuleHelp(NamedTuple):
    """Where a rule can be read, and its explanation as Markdown with links."""

    url: str
    markdown: str


class Tool(NamedTuple):
    """Who speaks: the version of olmc, its rules by code, and what there is to read about them."""

    version: str
    rules: Mapping[str, RuleText]
    help: Mapping[str, RuleHelp] = MappingProxyType({})


class Sarif(NamedTuple):
    """The file, and how many of the least grave findings are left out of it."""

    text: str
    left_out: int


def as_sarif(diagnostics: Iterable[Diagnostic], tool: Tool, line_of: LineOf, *, least: Severity = SHOWN_FROM) -> Sarif:
    """The diagnostics as one run, the gravest first; `line_of` gives source lines, which fingerprints are made of.

    Paths are relative to the base `%SRCROOT%`, the root of the repository. A finding without a place is put there.
    What is beyond GitHub's limits is left out, the least grave first, and the run says how many that are.
    """
    found = sorted((each for each in diagnostics if each.severity >= least), key=lambda each: -each.severity)
    prints = _fingerprints(found, line_of)
    kept = min(len(found), MOST_RESULTS)
    while True:
        text = _file(found[:kept], prints, tool, len(found) - kept)
        if len(text) <= MOST_BYTES or len(gzip.compress(text.encode(), mtime=0)) <= MOST_BYTES:
            return Sarif(text, len(found) - kept)
        kept = kept * 3 // 4


def _file(found: Sequence[Diagnostic], prints: Sequence[str], tool: Tool, left_out: int) -> str:
    codes = sorted({each.code for each in found})
    numbers = {code: number for number, code in enumerate(codes)}
    run = {
        "tool": {
            "driver": {
                "name": "olmc",
                "semanticVersion": tool.version,
                "rules": [_rule(tool.rules[code], tool.help.get(code)) for code in codes if code in tool.rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(left_out)],
        "results": [_result(each, numbers[each.code], mark) for each, mark in zip(found, prints, strict=False)],
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _invocation(left_out: int) -> dict[str, Any]:
    if not left_out:
        return {"executionSuccessful": True}
    text = f"{left_out} more findings, the least grave, are left out: code scanning would not accept the file."
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [{"level": "warning", "message": {"text": text}}],
    }


def _rule(rule: RuleText, more: RuleHelp | None) -> dict[str, Any]:
    hint = f" {rule.hint}" if rule.hint != "{hint}" else ""
    return {
        "id": rule.code,
        "name": rule.code,
        "shortDescription": {"text": _shortened(rule.title)},
        "fullDescription": {"text": _shortened(rule.explanation)},
        **({"helpUri": more.url} if more is not None else {}),
        "help": {
            "text": f"{rule.explanation}{hint}",
            "markdown": f"{more.markdown if more is not None else rule.explanation}{hint}",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["operator-lifecycle-manager", str(rule.severity)]},
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _result(diagnostic: Diagnostic, number: int, mark: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": number,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": "\n".join(filter(None, (diagnostic.message, diagnostic.hint)))},
        "locations": [_location(diagnostic.location)],
        "partialFingerprints": {"primaryLocationLineHash": mark},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": index, **_location(place), "message": {"text": text}}
            for index, (text, place) in enumerate(diagnostic.related[: _MOST_PLACES - 1], 1)
        ]
    return result


def _location(place: Location | None) -> dict[str, Any]:
    """A place with a line, as code scanning demands: a whole file is shown at its first one."""
    path, line, column = place if place is not None else Location("")
    region = {"startLine": line or 1, **({"startColumn": column} if column else {})}
    artifact = {"uri": quote(path, errors="surrogateescape") if path else ".", "uriBaseId": _ROOT}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _fingerprints(found: Iterable[Diagnostic], line_of: LineOf) -> list[str]:
    """For each diagnostic a mark that stays the same when lines are added above it: of its code, path and line's text,
    and its number among those for which they are the same."""
    seen: Counter[str] = Counter()
    marks = []
    for each in found:
        place = each.location
        line = line_of(place) if place is not None and place.line else None
        parts = (each.code, place.path if place is not None else "", line.strip() if line is not None else each.message)
        mark = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
        seen[mark] += 1
        marks.append(f"{mark}:{seen[mark]}")
    return marks
