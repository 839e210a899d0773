"""The fleet that the tests of this folder begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from fleets import Fleet, fleet_at


@pytest.fixture
def fleet(tmp_path: Path, project: Path) -> Fleet:
    """Twelve clusters, of which a new version of their operator is committed for none yet."""
    return fleet_at(tmp_path, project / "fixtures" / "fleet")
