"""Mistakes that people make in a workspace, and what `olmc render` says of each: cause, place, way out.

A case of `mistakes.yaml` changes files of the fixture own-namespace: a list of two is what is replaced, and by what; a
text is the whole file; null takes the file or folder away. `says` is all that stands on stderr.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import olmc
from patching import values_of

CASES = values_of(Path(__file__).with_name("mistakes.yaml"))


def changed(root: Path, change: Mapping[str, Any]) -> None:
    """Make the changes of a case in the workspace `root`."""
    for name, new in change.items():
        path = root / name
        if new is None:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif isinstance(new, str):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
        else:
            text = path.read_text(encoding="utf-8")
            assert new[0] in text
            path.write_text(text.replace(new[0], new[1], 1), encoding="utf-8")


@pytest.mark.parametrize("case", [pytest.param(case, id=case["title"].replace(" ", "-")) for case in CASES])
def test_mistake(case: Mapping[str, Any], project: Path, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    shutil.copytree(project / "fixtures" / "own-namespace", root)
    changed(root, case["change"])
    done = olmc("render", root / case.get("of", "."), *case.get("options", ()))
    assert (done.stderr.replace(f"{root}/", ""), done.exit_code) == (case["says"], case["exit"])
