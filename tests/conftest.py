"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with OLM's specification data, conformance cases and corpus, which lies beside the project."""
    folder = Path(os.environ.get("OLMC_SHARED", PROJECT.parent / "shared"))
    if not (folder / "spec").is_dir():
        pytest.skip("needs the specification's data (OLMC_SHARED or ../shared), which is not here")
    return folder
