"""What olmc renders for Operators is the state of a cluster in which nothing is left to do."""

from __future__ import annotations

import shutil
from pathlib import Path

from operator_manifests import as_list

import olmc


def test_operators_are_at_rest(project: Path, tmp_path: Path) -> None:
    """R-OPERATOR-8, R-INSTALL-11: rendered again, the objects of a fixture are the same, Installs with all content."""
    root = tmp_path / "workspace"
    shutil.copytree(project / "fixtures" / "operator-v2alpha1", root)
    options = olmc.Options(operators_and_installs=True, approve_installs=True)
    first = [rendered.object for rendered in olmc.compile(root, options).objects]
    for name in ("cluster", "operators", "users"):
        (root / f"{name}.yaml").unlink()
    (root / "rendered.json").write_text(as_list(first), encoding="utf-8")
    again = olmc.compile(root, olmc.Options(operators_and_installs=True))
    assert [rendered.object for rendered in again.objects] == first
    assert not [d for d in again.diagnostics if d.severity is not olmc.Severity.INFO]
