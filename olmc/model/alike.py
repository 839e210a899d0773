"""What was probably meant by a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable

_BEGINNING = 4
"""How many characters a part of a name must have to stand for it."""


def closest(name: str, names: Iterable[str], cutoff: float = 0.7, *, parts: bool = True) -> str:
    """The one of `names` that is most like `name`, whatever their case, "" when none is like it.

    With `parts` so is the only one that begins or ends with it: approval stands for installPlanApproval.
    """
    by_lower = {each.lower(): each for each in names}
    lower = name.lower()
    if lower in by_lower:
        return by_lower[lower]
    from difflib import get_close_matches  # takes its time to import, and nearly everything is spelt right

    close = get_close_matches(lower, by_lower, n=1, cutoff=cutoff)
    if close:
        return by_lower[close[0]]
    if not parts or len(lower) < _BEGINNING:
        return ""
    longer = [each for each in by_lower if each.startswith(lower) or each.endswith(lower)]
    return by_lower[longer[0]] if len(longer) == 1 else ""
