"""Diagnostics as CI systems read them: annotations of GitHub Actions, JUnit, SARIF 2.1.0."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from olmc.compiler.output.messages import SHOWN_FROM, LineOf, clean, json_text, replaced
from olmc.k8s.diagnostics import Diagnostic, Fix, Location, Severity
from olmc.k8s.lean import NamedTuple, regex

_COMMANDS = {Severity.ERROR: "error", Severity.FAILURE: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(diagnostics: Iterable[Diagnostic], titles: Mapping[str, str], *, least: Severity = SHOWN_FROM) -> str:
    """The diagnostics as `::error file=…,line=…,col=…,title=…::message`, the gravest first.

    GitHub shows ten errors and ten warnings of a step as annotations and the others in its log only, hence the order.
    `titles` are those of the rules by code. A finding about a whole file is put at its first line, since without a line
    it would not be shown among the changed files.
    """
    shown = _gravest_first(diagnostics, least)
    return "".join(f"{_annotation(diagnostic, titles.get(diagnostic.code, ''))}\n" for diagnostic in shown)


def _gravest_first(diagnostics: Iterable[Diagnostic], least: Severity) -> list[Diagnostic]:
    shown = (diagnostic for diagnostic in diagnostics if diagnostic.severity >= least)
    return sorted(shown, key=lambda diagnostic: -diagnostic.severity)


def _annotation(diagnostic: Diagnostic, title: str) -> str:
    path, line, column = diagnostic.location or Location("")
    properties = {
        "file": clean(path),
        "line": str(line or 1) if path else "",
        "col": str(column or ""),
        "title": f"{title} ({diagnostic.code})" if title else diagnostic.code,
    }
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    related = (f"{where}: {text}" for text, where in diagnostic.related)
    lines = "\n".join(filter(None, (diagnostic.message, *related, diagnostic.hint))).split("\n")
    text = _data("\n".join(map(clean, lines)))
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{text}"


def _data(text: str) -> str:
    """A text with what would end the command escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value among properties, in which colons and commas mean something as well."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_NOT_XML = regex("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(
    diagnostics: Iterable[Diagnostic], *, least: Severity = SHOWN_FROM, failing: Severity = Severity.FAILURE
) -> str:
    """The diagnostics as `testsuites`: a suite a file, a test case a finding; one that passes if nothing is found.

    From severity `failing` on a test case has a failure, or an error for what stops the compilation; what is less grave
    passes and says so in its output. Times are left out: they would differ from run to run.
    """
    shown = [diagnostic for diagnostic in diagnostics if diagnostic.severity >= least]
    root = Xml.Element("testsuites", {"name": "olmc check"})
    suites = [(path, list(group)) for path, group in groupby(sorted(shown, key=_path), key=_path)]
    # Without any test case some CI systems take the report for broken.
    for path, group in suites or [("", [])]:
        _add_suite(root, path or "olmc check", group, failing)
    _count(root, list(root.iter("testcase")))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _path(diagnostic: Diagnostic) -> str:
    return diagnostic.location.path if diagnostic.location is not None else ""


def _add_suite(root: Xml.Element, name: str, group: list[Diagnostic], failing: Severity) -> None:
    suite = Xml.SubElement(root, "testsuite", {"name": _text(name)})
    for diagnostic in group:
        place = diagnostic.location
        where = f" at {place.line}:{place.column}" if place is not None and place.line else ""
        case = Xml.SubElement(suite, "testcase", {"classname": _text(name), "name": f"{diagnostic.code}{where}"})
        lines = [f"{place or name}: {diagnostic.severity}: {diagnostic.message} [{diagnostic.code}]"]
        lines += [f"{where}: {text}" for text, where in diagnostic.related] + [diagnostic.hint]
        text = _text("\n".join(filter(None, lines)))
        if diagnostic.severity >= failing:
            kind = "error" if diagnostic.severity is Severity.ERROR else "failure"
            Xml.SubElement(case, kind, {"message": _text(diagnostic.message), "type": diagnostic.code}).text = text
        else:
            Xml.SubElement(case, "system-out").text = text
    if not group:
        Xml.SubElement(suite, "testcase", {"classname": name, "name": "no findings"})
    _count(suite, list(suite.iter("testcase")))


def _count(element: Xml.Element, cases: list[Xml.Element]) -> None:
    element.set("tests", str(len(cases)))
    for kind, name in (("failure", "failures"), ("error", "errors")):
        element.set(name, str(sum(case.find(kind) is not None for case in cases)))


def _text(text: str) -> str:
    """Lines without what is not meant to be seen, and without the characters that XML has no way to write."""
    return _NOT_XML.sub("\ufffd", "\n".join(map(clean, text.split("\n"))))


MOST_RESULTS = 25_000
MOST_BYTES = 10_000_000
"""Of the compressed file."""

_MOST_PLACES = 1_000
_MOST_CHARACTERS = 1_024
_ROOT = "%SRCROOT%"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.FAILURE: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class RuleText(Protocol):
    """The facts about a rule that a report needs."""

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
    """The address of a rule's page, and its explanation as Markdown with links."""

    url: str
    markdown: str


class Tool(NamedTuple):
    """The tool of a report: the version of olmc, its rules by code, and their documentation."""

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
    shown = _gravest_first(diagnostics, least)
    prints = _fingerprints(shown, line_of)
    kept = min(len(shown), MOST_RESULTS)
    while True:
        text = _file(shown[:kept], prints, tool, len(shown) - kept)
        if len(text) <= MOST_BYTES or len(gzip.compress(text.encode(), mtime=0)) <= MOST_BYTES:
            return Sarif(text, len(shown) - kept)
        # How far a file compresses shows only when it is written, so it is tried with fewer.
        kept = kept * 3 // 4


def _file(shown: Sequence[Diagnostic], prints: Sequence[str], tool: Tool, left_out: int) -> str:
    codes = sorted({diagnostic.code for diagnostic in shown})
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
        "results": [_result(item, numbers[item.code], mark) for item, mark in zip(shown, prints, strict=False)],
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
    if diagnostic.fix is not None:
        result["fixes"] = [{"description": {"text": diagnostic.fix.title}, "artifactChanges": _changes(diagnostic.fix)}]
    return result


def _changes(fix: Fix) -> list[dict[str, Any]]:
    replacements: dict[str, list[dict[str, Any]]] = {}
    for path, line, deleted, inserted in replaced(fix):
        # A region ends before its last column, so this one has whole lines.
        region = {"startLine": line, "startColumn": 1, "endLine": line + deleted, "endColumn": 1}
        replacements.setdefault(path, []).append({"deletedRegion": region, "insertedContent": {"text": inserted}})
    return [{"artifactLocation": _artifact(path), "replacements": each} for path, each in replacements.items()]


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path, errors="surrogateescape") if path else ".", "uriBaseId": _ROOT}


def _location(place: Location | None) -> dict[str, Any]:
    """A place with a line, as code scanning demands: a whole file is shown at its first one."""
    path, line, column = place if place is not None else Location("")
    region = {"startLine": line or 1, **({"startColumn": column} if column else {})}
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": region}}


def _fingerprints(diagnostics: Iterable[Diagnostic], line_of: LineOf) -> list[str]:
    """For each diagnostic a mark that stays the same when lines are added above it: of its code, path and line's text,
    and its number among those for which they are the same."""
    seen: Counter[str] = Counter()
    marks = []
    for diagnostic in diagnostics:
        place = diagnostic.location
        line = line_of(place) if place is not None and place.line else None
        text = line.strip() if line is not None else diagnostic.message
        parts = (diagnostic.code, place.path if place is not None else "", text)
        # Code scanning knows a finding again by this, when the lines above it have changed.
        mark = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
        seen[mark] += 1
        marks.append(f"{mark}:{seen[mark]}")
    return marks
