"""Questions that can't be answered as they stand: what is wrong with them, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 8
_ALIKE = 0.7


class AskedError(ValueError):
    """A question that can't be answered as it stands; the message says why, and what would be a better one."""


def not_found(problem: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> AskedError:
    """The error for a name that there is not: what of `known` and `others` was meant, or else what is known."""
    names = list(dict.fromkeys(known))
    best = get_close_matches(name, [*names, *others], n=1, cutoff=_ALIKE)
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    there = f"There is {', '.join(names[:_MOST])}{more}." if names else "There is none at all."
    return AskedError(f"{problem}. {f'Did you mean {best[0]}?' if best else there}")
