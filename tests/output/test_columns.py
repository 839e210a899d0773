"""Aligned columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.output.document import GAP, as_columns

HEADER = ("NAME", "PHASE")


def test_columns_are_as_wide_as_their_widest_cell_r_inst_7() -> None:
    """Three blanks between them, and nothing behind the last one."""
    assert as_columns(HEADER, [("kettle", "Succeeded"), ("a", "")]) == "NAME     PHASE\nkettle   Succeeded\na        \n"
    assert as_columns(HEADER, []) == "NAME   PHASE\n"


def test_a_cell_can_not_move_the_cursor() -> None:
    assert as_columns(HEADER, [("\x1b[2J\n", "a\tb")]) == "NAME    PHASE\n\ufffd[2J    a b\n"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_every_row_is_one_line_and_the_second_column_begins_at_one_place(rows: list[tuple[str, str]]) -> None:
    lines = as_columns(HEADER, rows).split("\n")
    assert len(lines) == len(rows) + 2 and lines[-1] == ""
    start = lines[0].index("PHASE")
    assert start == max(len("NAME"), *(len(row[0]) for row in rows), 0) + GAP
    assert all(line[start - GAP : start] == " " * GAP for line in lines[:-1])
