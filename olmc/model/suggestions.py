"""Names in messages: what was probably meant by a misspelt one, and some of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LIKELY = 0.7
"""How like two names are (0 to 1) if one was probably meant by the other, so that it may be said of a name alone."""
POSSIBLE = 0.6
"""How like they are if one may have been meant: enough for a name that is wrong for certain."""
_BEGINNING = 4
"""How many characters a part of a name must have to stand for it."""


def closest(name: str, names: Iterable[str], cutoff: float = LIKELY, *, parts: bool = True) -> str:
    """The one of `names` that is most like `name`, whatever their case, "" when none is like it.

    With `parts` so is the only one that begins or ends with it: approval stands for installPlanApproval.
    """
    known = set(names)
    alike = close_matches(name, known, 1, cutoff)
    if not alike and parts and len(name) >= _BEGINNING:
        lower = name.lower()
        alike = [other for other in known if other.lower().startswith(lower) or other.lower().endswith(lower)]
    return alike[0] if len(alike) == 1 else ""


def close_matches(name: str, names: Iterable[str], most: int, cutoff: float = LIKELY) -> list[str]:
    """Those of `names` that are like `name`, whatever their case: at most `most`, the one most like it first."""
    from difflib import get_close_matches  # takes its time to import, and nearly everything is spelt right

    by_lower = {other.lower(): other for other in sorted(names)}
    return [by_lower[lower] for lower in get_close_matches(name.lower(), by_lower, most, cutoff)]


def did_you_mean(*names: str, inside: bool = False) -> str:
    """The question for what was probably meant, "" if no name is given or all are empty; `inside` a sentence or not."""
    meant = " or ".join(filter(None, names))
    return f"{'did' if inside else 'Did'} you mean {meant}?" if meant else ""


def join_limited(names: Sequence[str], most: int) -> str:
    """The first `most` of the names, and how many more there are: `a, b, c and 2 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
