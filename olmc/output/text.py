"""Objects as one text (a YAML stream, a JSON List, a list of names), and tables and paragraphs for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olmc.model.objects import Rendered
from olmc.output.unicode import clean, json_text
from olmc.yaml import dump


def as_yaml(objects: Sequence[Rendered]) -> str:
    """A stream of YAML documents, "" for no objects."""
    return dump(rendered.object for rendered in objects) if objects else ""


def as_json(objects: Sequence[Rendered]) -> str:
    """One `List` of all objects, indented."""
    items = [rendered.object for rendered in objects]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    return json_text(listed) + "\n"


def as_names(objects: Sequence[Rendered]) -> str:
    """One line an object: `Kind/namespace/name`, without the namespace for cluster-scoped ones."""
    return "".join(f"{clean(str(rendered.identity))}\n" for rendered in objects)


GAP = 3


def as_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A line for the header and one for each row.

    Cells stand left, each column is as wide as its widest cell and three blanks, the last one is not padded (R-INST-7).
    """
    lines = [tuple(header), *(tuple(clean(cell) for cell in row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) + GAP for index in range(len(header) - 1)]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)) + "\n" for line in lines
    )


WIDTH = 100
"""How wide paragraphs are, wherever they are printed: the same input gives the same text."""


def aligned(lines: Iterable[Sequence[str]]) -> str:
    """Lines of cells, padded to columns; a line may be shorter than others."""
    shown = [[clean(cell) for cell in line] for line in lines]
    widths: list[int] = []
    for line in shown:
        widths += [0] * (len(line) - len(widths))
        widths = [max(width, len(cell)) for width, cell in zip(widths, [*line, *[""] * len(widths)], strict=False)]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)) for line in shown)
    return "".join(line.rstrip() + "\n" for line in padded)


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """A text in lines of at most WIDTH characters where its words allow it; `first` and `rest` are their indents."""
    from textwrap import wrap  # few outputs have paragraphs, and imports take their time

    lines = wrap(
        clean(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "".join(f"{line}\n" for line in lines)
