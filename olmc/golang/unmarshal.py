"""JSON of strangers: in annotations, and in what registries answer."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["unmarshal"]


def unmarshal(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError for a text that is none, which one nested too deep to be read counts as."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("exceeded max depth") from None


def _no_number(name: str) -> Any:
    """NaN and the infinities, which Python reads and JSON has not."""
    raise ValueError(f"invalid character {name[:1]!r} looking for beginning of value")
