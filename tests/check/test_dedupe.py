"""One mistake that several stages stumble over is told once."""

from __future__ import annotations

from olmc.k8s.diagnostics import DecodeFailure, Diagnostic, Location, LockFault, RuleTag, Severity
from olmc.review.check.check import dedupe

PLACE = Location("bundle/manifests/csv.yaml", 6, 1)
GO = "json: cannot unmarshal string into Go value of type []string"
TAB = DecodeFailure("not valid YAML: a tab in the indentation")
OF_TOOLS = frozenset({RuleTag.OF_VALIDATORS})


def test_the_gravest_of_one_cause_at_one_place_stays() -> None:
    broken = Diagnostic("OLMC100", Severity.ERROR, TAB.message, PLACE, cause=TAB)
    told = "unable to decode object: not valid YAML: a tab in the indentation (line 6)"
    tools = Diagnostic("OLMC263", Severity.FAILURE, told, PLACE, cause=TAB, tags=OF_TOOLS)
    other = tools._replace(location=PLACE._replace(line=7))
    assert dedupe([tools, broken, other]) == (broken, other)


def test_of_equals_the_one_of_the_compiler_stays() -> None:
    cause = DecodeFailure(GO)
    tools = Diagnostic("OLMC263", Severity.FAILURE, f"unable to parse CSV: {GO}", PLACE, cause=cause, tags=OF_TOOLS)
    compiler = Diagnostic("OLMC309", Severity.FAILURE, f"bundle kettle can't be unpacked: {GO}", PLACE, cause=cause)
    assert dedupe([tools, compiler]) == (compiler,)
    assert dedupe([tools]) == (tools,)


def test_different_mistakes_at_one_place_stay() -> None:
    one = Diagnostic("OLMC270", Severity.WARNING, "one thing", PLACE)
    two = one._replace(message="another thing")
    assert dedupe([one, two, one]) == (one, two, one)


def test_what_has_one_cause_can_be_about_several_things() -> None:
    """What is not wrong with the text itself is a mistake of its own for each thing that it is said of."""
    one = Diagnostic("OLMC532", Severity.WARNING, "kettle has changed", cause=LockFault.CHANGED)
    two = one._replace(message="teapot has changed")
    assert dedupe([one, two]) == (one, two)
