"""Whatever stands in place of a value, a check ends in findings that every format can print, never in an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_odd_input import EXAMPLES, JUNK, PLACES, Keys, odd_workspace

import olmc
from olmc.compiler.output.ci_reports import Tool, as_github, as_junit, as_sarif
from olmc.compiler.output.messages import as_text
from olmc.k8s.diagnostics import Severity
from olmc.review.check.check import CheckInput, check_directory, located_diagnostics
from olmc.review.check.excerpts import line_reader
from olmc.review.check.validators.findings import ValidatorSettings

ODD = (*JUNK, "${NAME}", "\x1b[31m", "\ud800", ["a", 1], {"": ""})


@pytest.mark.slow
@EXAMPLES
@given(st.sampled_from(PLACES), st.sampled_from(ODD))
def test_no_value_is_too_odd_to_be_checked(place: tuple[str, Keys], junk: Any) -> None:
    with odd_workspace(place, junk) as root:
        made = olmc.compile(root)
        done = check_directory(root, CheckInput(made.workspace, made.settled, made.diagnostics), ValidatorSettings())
        found, line_of = located_diagnostics(done), line_reader([done])
        assert found or place[1] == ("items",)
        assert as_text(found, least=Severity.INFO).count("[OLMC") >= len(found)
        as_github(found, {})
        as_junit(found).encode("utf-8")
        as_sarif(found, Tool("1", {}), line_of).text.encode("utf-8")
