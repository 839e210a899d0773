"""Diagnostics as text and as data."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from olmc.compiler.output.messages import as_counts, as_json, as_text, as_text_with_source
from olmc.k8s.diagnostics import Diagnostic, Location, Severity
from olmc.resources import schema

PLACE = Location("a/b.yaml", 12, 5)
HINT = "Fill the kettle.\nThen try again."
FAILURE = Diagnostic("OLMC999", Severity.FAILURE, "no water", PLACE, HINT, (("tap", Location("c.yaml", 1)),))
REMARK = Diagnostic("OLMC998", Severity.INFO, "tea time")


def with_line(line: str | None, place: Location = PLACE, message: str = "no water") -> str:
    """A diagnostic printed with this source line."""
    return as_text_with_source([Diagnostic("OLMC999", Severity.FAILURE, message, place)], lambda _: line)


def test_text() -> None:
    assert as_text([FAILURE, REMARK]) == (
        "a/b.yaml:12:5: failure: no water [OLMC999]\n  c.yaml:1: tap\n  Fill the kettle.\n  Then try again.\n"
    )
    assert as_text([REMARK], least=Severity.INFO) == "info: tea time [OLMC998]\n"


def test_text_with_source() -> None:
    """The line with its number, and a caret below the place; what is related and what to do come behind."""
    assert as_text_with_source([FAILURE, REMARK], lambda _: "    kettle: empty") == (
        "a/b.yaml:12:5: failure: no water [OLMC999]\n"
        "  12 |     kettle: empty\n"
        "     |     ^\n"
        "  c.yaml:1: tap\n  Fill the kettle.\n  Then try again.\n"
    )


def test_findings_with_one_cause_are_one_text() -> None:
    """The first one has the line and the hints of all, and names the places of the others."""
    places = [Location(f"{name}.yaml", 2, 1) for name in "abcdefg"]
    found = [
        Diagnostic("OLMC999", Severity.FAILURE, "no water", place, hint=f"Fill it.\nIt lacks: {place.path}.")
        for place in places[:2]
    ]
    other = Diagnostic("OLMC999", Severity.FAILURE, "no water", places[2], hint="Buy some.")
    assert as_text_with_source([found[0], other, found[1]], lambda _: "x") == (
        "a.yaml:2:1: failure: no water [OLMC999]\n  2 | x\n    | ^\n"
        "  and 1 more: b.yaml:2:1\n"
        "  Fill it.\n  It lacks: a.yaml.\n  It lacks: b.yaml.\n"
        "c.yaml:2:1: failure: no water [OLMC999]\n  2 | x\n    | ^\n  Buy some.\n"
    )
    many = as_text([Diagnostic("OLMC999", Severity.FAILURE, "no water", place) for place in places])
    assert many.splitlines()[1:] == [f"  and 6 more: {', '.join(f'{name}.yaml:2:1' for name in 'bcdefg')}"]
    far = [Location(f"{number:03}.yaml", 2, 1) for number in range(300)]
    hundreds = as_text([Diagnostic("OLMC999", Severity.FAILURE, "no water", place) for place in far])
    shown = ", ".join(f"{number:03}.yaml:2:1" for number in range(1, 11))
    assert hundreds.splitlines()[1:] == [f"  and 299 more, such as {shown}"]


@pytest.mark.parametrize("line", [None, "", "   \t "])
def test_no_line_to_show(line: str | None) -> None:
    assert with_line(line) == "a/b.yaml:12:5: failure: no water [OLMC999]\n"


def test_a_whole_file_has_no_line() -> None:
    assert with_line("kettle", Location("a.yaml")) == "a.yaml: failure: no water [OLMC999]\n"


def test_a_place_without_column_has_no_caret() -> None:
    assert with_line("kettle", Location("a.yaml", 3)).splitlines()[1:] == ["  3 | kettle"]


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    """A hundred characters; the caret stands below the right one."""
    line = "x" * 5000 + "HERE" + "y" * 5000
    _, shown, caret = with_line(line, Location("a.json", 1, 5001)).splitlines()
    assert shown == "  1 | …" + "x" * 50 + "HERE" + "y" * 46
    assert shown[caret.index("^") :].startswith("HERE")


def test_wide_and_combining_characters_keep_the_caret_in_place() -> None:
    """Columns of a terminal: two for a wide character, none for a combining one."""
    assert with_line("茶: e\u0301 X", Location("a.yaml", 1, 7)).splitlines()[2] == "    |       ^"


def test_a_place_behind_the_line() -> None:
    assert with_line("ab", Location("a.yaml", 1, 99)).splitlines()[1:] == ["  1 | ab", "    |   ^"]


def test_nothing_of_a_file_reaches_the_terminal_as_a_command() -> None:
    """Escapes, bells and turned writing are replaced, in the line and in the message; tabs are blanks."""
    text = with_line("\x1b[2Ja\tb\u202ec", message="\x1b[31mred\nnext\x07")
    assert text.splitlines() == [
        "a/b.yaml:12:5: failure: \ufffd[31mred",
        "next\ufffd [OLMC999]",
        "  12 | \ufffd[2Ja b\ufffdc",
        "     |     ^",
    ]


def test_json() -> None:
    """Every key is always there; nothing but the severity decides what is left out."""
    data = json.loads(as_json([FAILURE, REMARK], least=Severity.INFO))
    Draft202012Validator(schema("findings")).validate(data)
    assert data == {
        "version": 1,
        "findings": [
            {
                "code": "OLMC999", "severity": "failure", "message": "no water",
                "path": "a/b.yaml", "line": 12, "column": 5, "hint": HINT,
                "related": [{"message": "tap", "path": "c.yaml", "line": 1, "column": 0}],
            },
            {
                "code": "OLMC998", "severity": "info", "message": "tea time",
                "path": "", "line": 0, "column": 0, "hint": "", "related": [],
            },
        ],
    }  # fmt: skip
    assert json.loads(as_json([REMARK])) == {"version": 1, "findings": []}


def test_counts() -> None:
    warning = FAILURE._replace(severity=Severity.WARNING)
    assert as_counts([FAILURE, warning, warning, REMARK]) == "1 failure, 2 warnings"
    assert as_counts([REMARK, REMARK], least=Severity.INFO) == "2 infos"
    assert as_counts([]) == "no findings"
