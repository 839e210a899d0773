"""The files of `schemas/` and `templates/`, wherever olmc is installed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    """A wheel carries the folders inside of the package; in a checkout they stand beside it."""
    inside = _PACKAGE / "_data" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema `schemas/NAME.schema.json`; raises FileNotFoundError."""
    document: dict[str, Any] = json.loads((_folder("schemas") / f"{name}.schema.json").read_text(encoding="utf-8"))
    return document


def template_text(name: str) -> str:
    """The text of `templates/NAME`; raises FileNotFoundError."""
    return (_folder("templates") / name).read_text(encoding="utf-8")
