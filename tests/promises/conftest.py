"""Fixtures for the promises of docs/security-model.md."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def repository(project: Path, tmp_path: Path) -> Path:
    """A repository with a workspace whose last change is not committed: `w`, and `v`, as it is in the last commit."""
    return make_repository(project, tmp_path / "repository")


@pytest.fixture(scope="module")
def original(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, to be copied by the tests of a module."""
    return make_repository(project, tmp_path_factory.mktemp("original") / "repository")


def make_repository(project: Path, root: Path) -> Path:
    for name in ("w", "v"):
        shutil.copytree(project / "fixtures" / "upgrade", root / name)
    for arguments in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m first"):
        subprocess.run(["git", *arguments.split()], cwd=root, check=True, capture_output=True)
    operators = root / "w" / "operators.yaml"
    operators.write_text(operators.read_text().replace("kind: OperatorGroup", "kind: OperatorGroup #", 1))
    shutil.copytree(project / "fixtures" / "bundle-objects" / "bundles", root / "w" / "more")
    return root
