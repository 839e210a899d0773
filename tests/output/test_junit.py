"""JUnit reports, as CI systems read them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import xmlschema

from olmc.compiler.output.ci_reports import as_junit
from olmc.k8s.diagnostics import Diagnostic, Location, Severity

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
PLACE = Location("a/b.yaml", 12, 5)
FAILURE = Diagnostic("OLMC306", Severity.FAILURE, 'two <"groups">', PLACE, "Keep one.")
WARNING = Diagnostic("OLMC401", Severity.WARNING, "empty", PLACE)
ERROR = Diagnostic("OLMC100", Severity.ERROR, "not YAML", Location("c.yaml"))
REMARK = Diagnostic("OLMC140", Severity.INFO, "implied")


def report(*diagnostics: Diagnostic, failing: Severity = Severity.FAILURE) -> Xml.Element:
    """The root of a report that the schema accepts."""
    text = as_junit(diagnostics, failing=failing)
    SCHEMA.validate(text)
    return Xml.fromstring(text)


def counts(element: Xml.Element) -> tuple[str | None, ...]:
    return tuple(element.get(name) for name in ("tests", "failures", "errors"))


def test_a_suite_a_file_and_a_case_a_finding() -> None:
    root = report(FAILURE, WARNING, ERROR, REMARK)
    suites = [(suite.get("name"), *counts(suite)) for suite in root]
    assert suites == [("a/b.yaml", "2", "1", "0"), ("c.yaml", "1", "0", "1")]
    assert counts(root) == ("3", "1", "1")
    case = root[0][0]
    assert (case.get("classname"), case.get("name")) == ("a/b.yaml", "OLMC306 at 12:5")
    (failure,) = case
    assert (failure.tag, failure.get("type"), failure.get("message")) == ("failure", "OLMC306", 'two <"groups">')
    assert failure.text == 'a/b.yaml:12:5: failure: two <"groups"> [OLMC306]\nKeep one.'
    assert [child.tag for child in root[1][0]] == ["error"]


def test_what_does_not_count_passes_and_says_so() -> None:
    """A warning passes, unless --strict makes a finding of it."""
    assert [child.tag for child in report(WARNING)[0][0]] == ["system-out"]
    assert [child.tag for child in report(WARNING, failing=Severity.WARNING)[0][0]] == ["failure"]


def test_nothing_found_is_a_case_that_passes() -> None:
    root = report()
    assert counts(root) == ("1", "0", "0")
    assert root[0][0].get("name") == "no findings"


def test_characters_that_xml_can_not_hold_are_replaced() -> None:
    root = report(FAILURE._replace(message="a\x1b[31m\ud800\uffffb"))
    assert root[0][0][0].get("message") == "a\ufffd[31m\\ud800\ufffdb"
