"""Rows as aligned columns, as kubectl prints them."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.emit.messages import printable

GAP = 3


def as_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A line for the header and one for each row.

    Cells stand left, each column is as wide as its widest cell and three blanks, the last one is not padded (R-INST-7).
    """
    lines = [tuple(header), *(tuple(printable(cell) for cell in row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) + GAP for index in range(len(header) - 1)]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)) + "\n" for line in lines
    )
