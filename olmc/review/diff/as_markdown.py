"""A difference as Markdown for a comment on a pull request: the gravest first, and no longer than a comment may be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from olmc.emit.names import clean
from olmc.model.objects import Identity
from olmc.review.diff.as_text import by_object, folded_text, summary
from olmc.review.diff.change import Change, Foreign, Gravity, Group, Sentence
from olmc.review.diff.compare import Difference

__all__ = ["LIMIT", "as_markdown"]

LIMIT = 65_536
"""How many characters GitHub and GitLab take for a comment."""

_RUN_OF_TICKS = re.compile(r"`+")
_ROOM_FOR_THE_CUT = 600
_OPEN_UP_TO = 12


class _Section(NamedTuple):
    """A heading, and the changes below it, the gravest first; a folded one is opened by the reader."""

    heading: str
    changes: tuple[Change, ...]
    folded: bool


def as_markdown(difference: Difference, limit: int = LIMIT) -> str:
    """The changes as lists: what breaks, what is a risk, then the rest by group, in at most `limit` characters.

    What does not fit is left out from the end, and the last lines say how much of what that is.
    """
    text = "\n".join((*_head(difference), ""))
    sections = _sections(difference)
    full = text + "".join(_written(section, section.changes) for section in sections)
    if len(full) <= limit:
        return full
    left: Counter[str] = Counter()
    for section in sections:
        room = limit - _ROOM_FOR_THE_CUT - len(text)
        kept = _fitting(section, room) if not left else ()
        if kept:
            text += _written(section, kept)
        if len(kept) < len(section.changes):
            left[section.heading] += len(section.changes) - len(kept)
    return text + _cut(left)


def _head(difference: Difference) -> Iterator[str]:
    old, new = (code(side.name) for side in (difference.old, difference.new))
    yield f"### {old} → {new}: {summary(difference)}"
    if difference.changes:
        counts = ((group.heading, len(difference.in_group(group))) for group in Group)
        yield ""
        yield " · ".join(f"{heading}: {count}" for heading, count in counts if count)
    folded = folded_text(difference)
    if folded:
        yield ""
        yield f"<sub>{_escaped(folded)}</sub>"


def _sections(difference: Difference) -> list[_Section]:
    """Breaking changes and risks of all groups first; the rest by group, folded if it is long."""
    rest = Gravity.CHANGE
    found = [
        _Section("🛑 Breaking", _of(difference.changes, Gravity.BREAKING), False),
        _Section("⚠️ Risks", _of(difference.changes, Gravity.RISK), False),
    ]
    for group in Group:
        changes = tuple(change for change in difference.in_group(group) if change.gravity <= rest)
        found.append(_Section(group.heading, changes, len(changes) > _OPEN_UP_TO))
    return [section for section in found if section.changes]


def _of(changes: Iterable[Change], gravity: Gravity) -> tuple[Change, ...]:
    return tuple(change for change in changes if change.gravity is gravity)


def _written(section: _Section, changes: Sequence[Change]) -> str:
    lines = [f"- {_object(known)}\n{''.join(map(_line, mine))}" for known, mine in by_object(changes).items()]
    title = f"{section.heading} ({len(section.changes)})"
    if section.folded:
        return f"\n<details><summary><b>{title}</b></summary>\n\n{''.join(lines)}\n</details>\n"
    return f"\n#### {title}\n\n{''.join(lines)}"


def _line(change: Change) -> str:
    sign = {"+": "➕", "-": "➖", "~": "✏️"}[change.sign]
    return f"  - {sign} {marked(change.sentence())}\n"


def _object(identity: Identity) -> str:
    return code(str(identity))


def _fitting(section: _Section, room: int) -> tuple[Change, ...]:
    """As many of the first changes of a section as there is room for."""
    low, high = 0, len(section.changes)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_written(section, section.changes[:middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return section.changes[:low]


def _cut(left: Counter[str]) -> str:
    what = ", ".join(f"{count} in {heading}" for heading, count in left.items())
    return (
        f"\n> **{sum(left.values())} changes do not fit into a comment** ({what}). "
        "`olmc diff` with the same sides prints them all; `-o html` makes a page of them.\n"
    )


def marked(sentence: Sentence) -> str:
    """A sentence with everything that comes from the input as code, which Markdown leaves alone."""
    return "".join(code(piece.text) if isinstance(piece, Foreign) else _escaped(piece) for piece in sentence)


def code(text: str) -> str:
    """A text as inline code, in more backticks than it has in a row itself."""
    shown = clean(text)
    ticks = "`" * (max(map(len, _RUN_OF_TICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{ticks}{pad}{shown or ' '}{pad}{ticks}"


def _escaped(text: str) -> str:
    """Words of olmc's own, in which nothing is markup."""
    return re.sub(r"([\\`*_<>\[\]#|~@])", r"\\\1", text)
