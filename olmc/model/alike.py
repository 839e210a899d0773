"""What was probably meant by a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable

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
    found = close(name, known, 1, cutoff)
    if not found and parts and len(name) >= _BEGINNING:
        lower = name.lower()
        found = [each for each in known if each.lower().startswith(lower) or each.lower().endswith(lower)]
    return found[0] if len(found) == 1 else ""


def close(name: str, names: Iterable[str], most: int, cutoff: float = LIKELY) -> list[str]:
    """Those of `names` that are like `name`, whatever their case: at most `most`, the one most like it first."""
    from difflib import get_close_matches  # takes its time to import, and nearly everything is spelt right

    by_lower = {each.lower(): each for each in sorted(names)}
    return [by_lower[each] for each in get_close_matches(name.lower(), by_lower, most, cutoff)]
