"""How many examples property tests draw: a share by default, all of them with `--hypothesis-profile=all`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

# The examples of a test that does not say how many it needs.
PROFILES = {"few": 10, "all": 100}


def examples(count: int, **others: Any) -> settings:
    """Return the settings of a test that needs so many examples in CI, and a share of them everywhere else."""
    share = settings.default.max_examples if settings.default is not None else PROFILES["all"]
    return settings(max_examples=max(count * share // PROFILES["all"], PROFILES["few"] // 2), **others)
