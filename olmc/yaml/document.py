"""What the readers give, and the bounds that they hold a stranger's file to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olmc.model.location import Source

MAX_DEPTH = 200
"""How many lists and mappings may stand in each other. The deepest real CRDs have some 60."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its value (dict, list, str, int, float, bool or None) and where it comes from."""

    value: Any
    source: Source
