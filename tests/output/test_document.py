"""Documents within a limit: what stays, what is counted, and that nothing is cut inside."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.output.document import (
    Group,
    OutputDocument,
    PageItem,
    Section,
    as_whole,
    code,
    code_cell,
    details,
    fence,
    table_head,
    table_row,
    within,
)

SIZES = st.one_of(st.integers(1, 80), st.sampled_from([1_999, 2_001, 9_000]))
FENCED = Group((), details("more")[0] + "```text\n", "```\n" + details("more")[1], "… and {:,} more lines\n")


@st.composite
def documents(draw: st.DrawFn) -> OutputDocument:
    """Draw a document of lists and of blocks of code; each item has a mark of its own."""
    sections = []
    for at in range(draw(st.integers(0, 5))):
        groups = []
        is_code = draw(st.booleans())
        for number in range(draw(st.integers(0, 6))):
            sizes = draw(st.lists(SIZES, min_size=1, max_size=9))
            has_alone = not is_code and draw(st.booleans())
            ranks = [0] * len(sizes) if is_code else draw(st.lists(st.integers(0, 3), min_size=9, max_size=9))
            items = tuple(
                PageItem(f"<{at}.{number}.{index}>{'x' * size}\n", draw(st.integers(1, 4)), ranks[index], alone)
                for index, size in enumerate(sizes)
                for alone in ([f"- {at}.{number}: <{at}.{number}.{index}>{'x' * size}\n"] if has_alone else [""])
            )
            groups.append(FENCED._replace(items=items) if is_code else Group(items, f"- {at}.{number}\n"))
        weight = draw(st.sampled_from([0.5, 1, 8]))
        sections.append(Section(f"# {at}\n", tuple(groups), "- {} more\n", "\n", weight, f"section {at}"))
    return OutputDocument("head\n", tuple(sections), "**{} left** ({})\n")


def marks(text: str) -> list[str]:
    return re.findall(r"<\d+\.\d+\.\d+>", text)


def least(document: OutputDocument) -> int:
    """Return the size of the texts that are always there."""
    return max(len(within(document, 0)), 1)


@given(documents(), st.integers(0, 30_000))
def test_a_document_keeps_its_limit(document: OutputDocument, more: int) -> None:
    limit = least(document) + more
    text = within(document, limit)
    assert len(text) <= limit
    assert (text == as_whole(document)) == (len(as_whole(document)) <= limit)


@given(documents(), st.integers(0, 30_000), st.integers(0, 3_000))
def test_a_larger_limit_never_shows_less(document: OutputDocument, limit: int, more: int) -> None:
    assert set(marks(within(document, limit))) <= set(marks(within(document, limit + more)))


@given(documents(), st.integers(0, 30_000))
def test_all_items_are_there_or_counted(document: OutputDocument, limit: int) -> None:
    """Each shown item is whole and in its place, and the numbers of the others add up in sections and in the note."""
    text = within(document, limit)
    shown = marks(text)
    assert shown == [mark for mark in marks(as_whole(document)) if mark in set(shown)]
    noted = 0
    for at, section in enumerate(document.sections):
        (part,) = re.findall(rf"^# {at}\n((?:.|\n)*?)\n(?=# |\*\*|\Z)", text, re.MULTILINE)
        missing = 0
        for number, group in enumerate(section.groups):
            items = [item for item in group.items if item.text in part]  # also alone, behind the head of its group
            assert len(items) == part.count(f"<{at}.{number}.")
            if group.more and items:
                assert items == list(group.items[: len(items)]), "a block shows its beginning"
            missing += sum(one.total for one in group.items if one not in items) if not group.more else not items
        assert re.findall(r"^- (\d+) more$", part, re.MULTILINE) == ([str(missing)] if missing else [])
        noted += missing
    assert re.findall(r"^\*\*(\d+) left", text, re.MULTILINE) == ([str(noted)] if noted else [])


@given(documents(), st.integers(0, 30_000))
def test_all_that_is_opened_is_closed(document: OutputDocument, limit: int) -> None:
    text = within(document, limit)
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") == 2 * text.count("```text\n") == 2 * text.count("<details>")


@given(
    st.lists(st.tuples(st.integers(5, 300), st.sampled_from([1, 2, 12])), min_size=1, max_size=6), st.integers(0, 40)
)
def test_each_section_has_its_share(parts: list[tuple[int, int]], hundreds: int) -> None:
    """A section has less than its weight's share, but for one item, only where it has no more items."""
    sections = tuple(
        Section("", (Group(tuple(PageItem(f"{at:09}\n") for _ in range(count))),), "{:3} more\n", weight=weight)
        for at, (count, weight) in enumerate(parts)
    )
    document = OutputDocument("", sections)
    space = 100 * hundreds
    text = within(document, least(document) + space)
    total = sum(weight for _, weight in parts)
    for at, (count, weight) in enumerate(parts):
        assert 10 * text.count(f"{at:09}") >= min(10 * count, space * weight // total - 10 * len(parts))


def test_a_long_item_hides_no_other() -> None:
    items = (PageItem("a" * 90_000), PageItem("b" * 3_000), PageItem("c"))
    document = OutputDocument("", (Section("", (Group(items),), "{} more"), Section("", (Group((PageItem("d"),)),))))
    assert within(document, 100) == "c2 mored"
    assert within(document, 4_000) == "b" * 3_000 + "c1 mored"


def test_a_limit_may_count_lines() -> None:
    items = tuple(PageItem(f"{number}{'x' * number}\n") for number in range(9))
    document = OutputDocument("", (Section("head\n", (Group(items),), "and {} more\n"),))
    assert within(document, 4, lambda text: text.count("\n")) == "head\n0\n1x\nand 7 more\n"


def test_an_item_alone_stands_behind_its_head() -> None:
    items = tuple(PageItem(f"  {text}\n", alone=f"head: {text}\n") for text in "ab")
    document = OutputDocument("", (Section("", (Group(items, "head\n"),), "{} more\n"),))
    assert within(document, 3, lambda text: text.count("\n")) == "head\n  a\n  b\n"
    assert within(document, 2, lambda text: text.count("\n")) == "head: a\n1 more\n"


def test_a_block_and_a_cell_hold_any_text() -> None:
    assert fence("a ```` b") == "`````"
    assert code_cell("a | `b`") == "`` a \\| `b` ``"
    assert code_cell("-") == "-"
    assert code("") == "`   `"
    assert table_head(["A", "B"], numbers=1) + table_row("12") == "| A | B |\n|---:|---|\n| 1 | 2 |\n"
