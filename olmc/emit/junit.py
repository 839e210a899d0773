"""Diagnostics as a JUnit report, as Jenkins, GitLab and most other CI systems read it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as Xml

from olmc.emit.messages import SHOWN_FROM
from olmc.emit.names import legible
from olmc.model.diagnostic import Diagnostic, Severity

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(
    diagnostics: Iterable[Diagnostic], *, least: Severity = SHOWN_FROM, failing: Severity = Severity.FAILURE
) -> str:
    """The diagnostics as `testsuites`: a suite a file, a test case a finding; one that passes if nothing is found.

    From severity `failing` on a test case has a failure, or an error for what stops the compilation; what is less grave
    passes and says so in its output. Times are left out: they would differ from run to run.
    """
    found = [each for each in diagnostics if each.severity >= least]
    root = Xml.Element("testsuites", {"name": "olmc check"})
    suites = [(path, list(group)) for path, group in groupby(sorted(found, key=_path), key=_path)]
    for path, group in suites or [("", [])]:
        _add_suite(root, path or "olmc check", group, failing)
    _count(root, list(root.iter("testcase")))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _path(diagnostic: Diagnostic) -> str:
    return diagnostic.location.path if diagnostic.location is not None else ""


def _add_suite(root: Xml.Element, name: str, group: list[Diagnostic], failing: Severity) -> None:
    suite = Xml.SubElement(root, "testsuite", {"name": _text(name)})
    for each in group:
        place = each.location
        where = f" at {place.line}:{place.column}" if place is not None and place.line else ""
        case = Xml.SubElement(suite, "testcase", {"classname": _text(name), "name": f"{each.code}{where}"})
        lines = [f"{place or name}: {each.severity}: {each.message} [{each.code}]"]
        lines += [f"{where}: {text}" for text, where in each.related] + [each.hint]
        text = _text("\n".join(filter(None, lines)))
        if each.severity >= failing:
            kind = "error" if each.severity is Severity.ERROR else "failure"
            Xml.SubElement(case, kind, {"message": _text(each.message), "type": each.code}).text = text
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
    """A text without the characters that XML has no way to write."""
    return _NOT_XML.sub("\ufffd", legible(text))
