"""Whatever stands in place of a value, a check ends in findings that every format can print, never in an exception."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from building import write_workspace
from hypothesis import given
from hypothesis import strategies as st
from test_odd_input import CALM, FILES, JUNK, PLACES, WORKSPACE, Keys

import olmc
from olmc.emit.github import as_github
from olmc.emit.junit import as_junit
from olmc.emit.messages import as_text
from olmc.emit.sarif import Tool, as_sarif
from olmc.load.validation.settings import Settings
from olmc.model.diagnostic import Severity
from olmc.review.check import Compiled, checked, named, reader

ODD = (*JUNK, "${NAME}", "\x1b[31m", "\ud800", ["a", 1], {"": ""})


@CALM
@given(st.sampled_from(PLACES), st.sampled_from(ODD))
def test_no_value_is_too_odd_to_be_checked(place: tuple[str, Keys], junk: Any) -> None:
    name, keys = place
    content = copy.deepcopy(FILES[name])
    target = content
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = copy.deepcopy(junk)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, WORKSPACE)
        (root / name).write_text(json.dumps(content), encoding="utf-8")
        made = olmc.compile(root)
        done = checked(root, Compiled(made.workspace, made.settled, made.diagnostics), Settings())
        found, line_of = named(done), reader([done])
        assert found or keys == ("items",)
        assert as_text(found, least=Severity.INFO).count("[OLMC") >= len(found)
        as_github(found, {})
        as_junit(found).encode("utf-8")
        as_sarif(found, Tool("1", {}), line_of).text.encode("utf-8")
