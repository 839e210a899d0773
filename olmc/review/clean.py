"""Texts of strangers, made fit for a drawing or a terminal."""

from __future__ import annotations

from olmc.emit.names import legible


def clean(text: str) -> str:
    """A text without characters that no drawing can hold, and of which none moves the cursor of a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in legible(text))
