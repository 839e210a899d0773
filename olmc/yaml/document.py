"""What the readers give, and the bounds that they set to untrusted input."""

from __future__ import annotations

from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Source

BYTE_ORDER_MARK = "\ufeff"

LINE_BREAK = regex("\r\n|[\n\r\x85\u2028\u2029]")
"""What the parser counts as the end of a line."""

MAX_DEPTH = 200
"""How many lists and mappings may stand in each other. The deepest real CRDs have some 60."""


class Document(NamedTuple):
    """One document of a file: its value, made of JSON's types, and where it comes from."""

    value: Any
    source: Source
