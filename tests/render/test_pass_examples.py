"""The examples in the docstrings of passes: every pass has one, and what it shows is so."""

from __future__ import annotations

import doctest
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace

import olmc
from olmc.compiler.render.rbac import PASSES
from olmc.compiler.render.webhooks import Pass, render_context

MODES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def show(of: Pass, workspace: Mapping[str, Any], *fields: str, **options: Any) -> None:
    """Print what a pass makes of a workspace, which is described as in tests/reconcile/README.md:
    `Kind/namespace/name` of every object, and of each some fields."""
    with tempfile.TemporaryDirectory() as folder:
        write_workspace(Path(folder), workspace)
        compilation = olmc.compile(folder, olmc.Options(**options))
    assert compilation.settled is not None, compilation.diagnostics
    for found in of(render_context(compilation.settled.cluster, compilation.options)):
        print(found.identity)
        for path in fields:
            value: Any = found.object
            for key in path.split("."):
                value = value[int(key)] if isinstance(value, list) else value.get(key, {})
            if value:
                text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
                print(f"  {path.rpartition('.')[2]}: {text.removesuffix(chr(10)).removesuffix('...').strip()}")


@pytest.mark.parametrize("of", PASSES, ids=lambda of: str(of.__name__))
def test_every_pass_has_an_example_and_it_is_true(of: Callable[..., Any]) -> None:
    globs = {**vars(sys.modules[of.__module__]), "show": show}
    (example,) = doctest.DocTestFinder(recurse=False).find(of, of.__name__, globs=globs)
    assert example.examples, f"{of.__name__} has no example"
    text: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=MODES).run(example, out=text.append)
    assert not failed, "".join(text)
