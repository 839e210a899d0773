"""Names of files that are not UTF-8, in all that olmc writes."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree as Xml

from olmc.compiler.output.ci_reports import Tool, as_github, as_junit, as_sarif
from olmc.compiler.output.messages import ESCAPED, as_json, as_text, json_text, legible, register
from olmc.k8s.diagnostics import Diagnostic, Location, Severity

NAME = b"gr\xfcn/\xe2\x98\x83.yaml".decode("utf-8", "surrogateescape")
SHOWN = r"gr\xfcn/☃.yaml"
FINDING = Diagnostic("OLMC121", Severity.ERROR, f"{NAME} can't be read", Location(NAME), "", (("", Location(NAME)),))


def test_what_is_no_character_is_an_escape() -> None:
    assert legible(NAME) == SHOWN
    assert legible("plain") == "plain"
    assert legible("\ud83d, half of a pair") == r"\ud83d, half of a pair"


def test_json_reads_as_people_do() -> None:
    assert json.loads(json_text({NAME: [NAME]})) == {SHOWN: [SHOWN]}
    assert json_text({"a": "ü"}, indent=None) == '{"a": "ü"}'


def test_findings_with_such_a_name() -> None:
    """In every format, and all of them can be written."""
    assert as_text([FINDING]) == f"{SHOWN}: error: {SHOWN} can't be read [OLMC121]\n  {SHOWN}: \n"
    (record,) = json.loads(as_json([FINDING]))["findings"]
    assert (record["path"], record["message"]) == (SHOWN, f"{SHOWN} can't be read")
    assert as_github([FINDING], {}).startswith(f"::error file={SHOWN},line=1,title=OLMC121::{SHOWN} can't be read")
    case = next(Xml.fromstring(as_junit([FINDING])).iter("testcase"))
    assert case.get("classname") == SHOWN


def test_a_uri_has_the_very_bytes() -> None:
    text = as_sarif([FINDING], Tool("1.0", {}), lambda _: None).text
    (result,) = json.loads(text)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "gr%FCn/%E2%98%83.yaml"
    assert result["message"]["text"] == f"{SHOWN} can't be read"


def test_streams() -> None:
    register()
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding="utf-8", errors=ESCAPED) as stream:
        stream.write(NAME)
        stream.flush()
        assert written.getvalue().decode("utf-8") == SHOWN
