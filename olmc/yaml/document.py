"""What the readers give, and the bounds that they set to untrusted input."""

from __future__ import annotations

from typing import Any

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Source

MAX_DEPTH = 200
"""How many lists and mappings may stand in each other. The deepest real CRDs have some 60."""


class Document(NamedTuple):
    """One document of a file: its value, made of JSON's types, and where it comes from."""

    value: Any
    source: Source
