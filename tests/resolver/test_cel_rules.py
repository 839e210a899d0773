"""CEL rules: the environment, the checker's messages, numbers as Go decodes them, versions (R-CAT-320, R-CAT-331)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from olmc.compiler.model.catalog import Candidate, Property, ResolveRequest, SubscriptionRequest, VisibleCatalog
from olmc.compiler.resolver import predicates as cel
from olmc.compiler.resolver.predicates import CelError, compile_rule, printed
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.diagnostics import Report
from olmc.k8s.limits import CelAccount, CelMissingError
from olmc.k8s.objects import CatalogKey

PROPERTIES: list[tuple[str, Any]] = [
    ("olm.package", {"packageName": "p", "version": "4.12.0"}),
    ("certified", "yes"),
    ("number", {"whole": 3, "half": 2.5, "major": 4}),
    ("olm.maxOpenShiftVersion", "4.9"),
]


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("true", True),
        ("properties.exists(p, p.type == 'certified')", True),
        ("properties.exists(p, p.type == 'other')", False),
        ("properties.all(p, p.type != '')", True),
        ("properties.exists_one(p, p.type.startsWith('olm.'))", False),
        ("properties.filter(p, p.type == 'certified').size() == 1", True),
        ("properties[2].value.whole == 3", True),
        ("properties[2].value.whole > 2", True),
        # Go decodes every JSON number as a double, and a double and an integer don't add up.
        ("type(properties[2].value.whole) == double", True),
        ("properties[2].value.whole + 1 == 4", False),
        ("properties[2].value.whole + 1.0 == 4.0", True),
        ("has(properties[2].value.half) && !has(properties[2].value.quarter)", True),
        # An error counts as "does not hold", unless the rest decides.
        ("properties[9].type == 'x'", False),
        ("properties[2].value.quarter == 1", False),
        ("properties.exists(p, p.value.version == '4.12.0')", True),
        ("1 / 0 == 1", False),
        ("properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '4.12') == 0)", True),
        ("properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, 'v4.11.9') > 0)", True),
        ("properties.exists(p, p.type == 'olm.maxOpenShiftVersion' && semver_compare(p.value, '4.10') < 0)", True),
        ("semver_compare(properties[2].value.major, '4.0.0') == 0", True),
        ("semver_compare(2.5, '2.5.0') == 0", True),
        ("semver_compare(4, 4u) == 0", True),
        ("semver_compare('1.0.0-rc.1', '1.0.0') == -1", True),
        ("semver_compare('latest', '1.0.0') == 0", False),
        ("semver_compare('latest', '1.0.0') != 0", False),
        ("semver_compare(true, null) == 0", False),
        ("semver_compare(10000000.0, '10000000.0.0') == 0", False),
    ],
)
def test_rules(rule: str, holds: bool) -> None:
    assert compile_rule(rule)(PROPERTIES) is holds


@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        ("1", "cel expressions must have type Bool"),
        ("properties[0].value", "cel expressions must have type Bool"),
        ("properties", "cel expressions must have type Bool"),
        ("foo", "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^"),
        (
            "1 + 'a' == 2",
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
            " | 1 + 'a' == 2\n"
            " | ..^",
        ),
        (
            "properties.exists(p, doesnt_exist(p.value))",
            "ERROR: <input>:1:34: undeclared reference to 'doesnt_exist' (in container '')\n"
            " | properties.exists(p, doesnt_exist(p.value))\n"
            " | .................................^",
        ),
    ],
)
def test_rules_that_do_not_compile(rule: str, cause: str) -> None:
    with pytest.raises(CelError) as refused:
        compile_rule(rule)
    assert str(refused.value) == cause


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1.2", "1.2"),
        (4, "4"),
        (True, "true"),
        (4.0, "4"),
        (4.12, "4.12"),
        (-0.5, "-0.5"),
        (0.0001, "0.0001"),
        (999999.0, "999999"),
        (1000000.0, "1.000000e+06"),
        (float("inf"), "inf"),
    ],
)
def test_values_are_printed_as_go_does(value: Any, text: str) -> None:
    assert printed(value) == text


def resolve_request() -> ResolveRequest:
    key = CatalogKey("ns", "cat")
    rule = {"cel": {"rule": "properties.exists(p, p.type == 'certified')"}, "failureMessage": "m"}
    entries = (
        Candidate("p.v1", "p", "s", key, "1.0.0", (Property("olm.constraint", rule),)),
        Candidate("c.v1", "c", "s", key, "1.0.0", (Property("certified", {}),)),
    )
    return ResolveRequest("ns", (VisibleCatalog(key, 0, entries),), (SubscriptionRequest("p", "p", "s", key),))


def test_a_rule_finds_its_provider() -> None:
    assert [selection.candidate.name for selection in resolve(resolve_request()).selections] == ["p.v1", "c.v1"]


def test_without_the_library_the_namespace_is_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_rule: str, _account: CelAccount) -> None:
        raise CelMissingError("No module named 'cel_expr_python'")

    monkeypatch.setattr("olmc.compiler.resolver.predicates.compile_rule", missing)
    report = Report()
    given = resolve(resolve_request(), report)
    assert (given.selections, given.reason) == ((), "ErrorPreventedResolution")
    assert [(each.code, "cel_expr_python" in each.message) for each in report] == [("OLMC500", True)]


@pytest.mark.process
def test_the_libraries_are_not_imported_before_they_are_needed() -> None:
    code = "import sys, olmc.compiler.resolver.resolve; print(sorted({'cel_expr_python', 'pysat'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_environment_is_made_once() -> None:
    assert cel._environment() is cel._environment()
