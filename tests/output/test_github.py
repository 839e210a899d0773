"""Annotations of GitHub Actions."""

from __future__ import annotations

from olmc.compiler.output.ci_reports import as_github
from olmc.k8s.diagnostics import Diagnostic, Location, Severity

PLACE = Location("a/b.yaml", 12, 5)


def test_an_annotation() -> None:
    """Command, file, line, column, title and message; hint and related places are lines of the message."""
    related = (("the other", Location("c.yaml", 1)),)
    finding = Diagnostic("OLMC306", Severity.FAILURE, "two", PLACE, "Keep one.", related)
    assert as_github([finding], {"OLMC306": "Two groups"}) == (
        "::error file=a/b.yaml,line=12,col=5,title=Two groups (OLMC306)::two%0Ac.yaml:1: the other%0AKeep one.\n"
    )


def test_the_gravest_come_first() -> None:
    """GitHub shows ten of a kind."""
    found = [Diagnostic(f"OLMC{n}00", severity, "m") for n, severity in enumerate(Severity)]
    lines = as_github(found, {}, least=Severity.INFO).splitlines()
    assert [line.split()[0] for line in lines] == ["::error", "::error", "::warning", "::notice"]
    assert as_github(found, {}).count("\n") == 3


def test_what_would_end_a_command_is_escaped() -> None:
    """Percent and line ends everywhere, colons and commas in properties; nothing of a file can begin a command."""
    path = Location("a,b:c%.yaml", 3)
    finding = Diagnostic("OLMC306", Severity.WARNING, "50%\r::error::x\nnext: a, b", path)
    assert as_github([finding], {"OLMC306": "One: two, three"}) == (
        "::warning file=a%2Cb%3Ac%25.yaml,line=3,title=One%3A two%2C three (OLMC306)"
        "::50%25\ufffd::error::x%0Anext: a, b\n"
    )


def test_a_finding_about_a_file_is_put_at_its_first_line() -> None:
    """Without a line it would not be shown among the changed files."""
    finding = Diagnostic("OLMC532", Severity.WARNING, "m", Location("olmc.lock"))
    assert as_github([finding], {}) == "::warning file=olmc.lock,line=1,title=OLMC532::m\n"


def test_a_finding_without_a_place() -> None:
    assert as_github([Diagnostic("OLMC311", Severity.ERROR, "m")], {}) == "::error title=OLMC311::m\n"
