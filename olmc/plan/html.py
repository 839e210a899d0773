"""A plan as one page of HTML: its sections, then the page of the difference that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.diff.html import FrontSection, PageLink
from olmc.diff.html import as_html as difference_html
from olmc.output.unicode import clean
from olmc.plan.drift_outputs import drift_lines
from olmc.plan.outputs import DRIFT, HEADINGS, front_sections, in_short, operator_rows
from olmc.plan.plan import Plan

_NAMES = ("applied", "olm", "operators", "tasks", "drift")
_HEAD = ("namespace", "operator", "from", "to", "phase", "outcome")


def as_html(plan: Plan, pages: Sequence[PageLink] = ()) -> str:
    """The page, with links to the `pages` beside it."""
    return difference_html(plan.difference, tuple(_front(plan)), headline=in_short(plan), pages=pages)


def _front(plan: Plan) -> Iterator[FrontSection]:
    applied, olm = front_sections(plan)
    tasks = [(clean(task.text), clean(task.command)) for task in plan.tasks]
    parts: tuple[list[tuple[str, str]], ...]
    drift = [(line, "") for line in drift_lines(plan.drift)]
    parts = ([(line.strip(), "") for line in applied], [(line.strip(), "") for line in olm], [], tasks, drift)
    rows = tuple(tuple(row) for row in operator_rows(plan))
    for name, heading, lines in zip(_NAMES, (*HEADINGS, DRIFT), parts, strict=True):
        # The result goes on with the changes below, so it stands behind what is left to do.
        if lines:
            yield FrontSection(name, heading, tuple(lines))
        elif name == "operators" and rows:
            yield FrontSection(name, "Operators", head=_HEAD, rows=rows)
