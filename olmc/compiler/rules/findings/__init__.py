"""The rules of all findings as constants, one module for each subject; their codes are stable.

Importing a module is all that it takes: `rules.NO_SUCH_PATH.finding(place, ...)` is a diagnostic. A module is read when
the first of its constants is asked for: most runs have nothing to find.
"""

from __future__ import annotations

from typing import Any

from olmc.k8s.lean import module


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return module(f"{__name__}.{name}")
