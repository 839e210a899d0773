"""What a review of two bundles, or of two workspaces with catalogs, says: one small pair for each kind of fact."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from bundles import PAIRS, pair_difference
from kit import lines


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_pair(path: Path) -> None:
    """`changes` is all that is said, but for the version itself and its images, which every upgrade has."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    said = [line for line in lines(pair_difference(path)) if case.get("all") or not _is_usual(line)]
    assert said == case["changes"]


def _is_usual(line: str) -> bool:
    return line.endswith((
        "kettle 1.0.0 → 1.1.0, in one hop (replaces)",
        "container manager: registry.example.com/kettle :v1.0.0 → :v1.1.0",
    ))  # fmt: skip
