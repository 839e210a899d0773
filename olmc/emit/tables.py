"""Tables and paragraphs for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from olmc.emit.messages import printable

WIDTH = 100
"""How wide paragraphs are, wherever they are printed: the same input gives the same text."""


def aligned(lines: Iterable[Sequence[str]]) -> str:
    """Lines of cells, padded to columns; a line may be shorter than others."""
    shown = [[printable(cell) for cell in line] for line in lines]
    widths: list[int] = []
    for line in shown:
        widths += [0] * (len(line) - len(widths))
        widths = [max(width, len(cell)) for width, cell in zip(widths, [*line, *[""] * len(widths)], strict=False)]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)) for line in shown)
    return "".join(line.rstrip() + "\n" for line in padded)


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """A text in lines of at most WIDTH characters where its words allow it; `first` and `rest` are their indents."""
    lines = wrap(
        printable(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "".join(f"{line}\n" for line in lines)
