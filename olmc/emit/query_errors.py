"""Questions that can't be answered as they stand: what is wrong with them, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.emit.messages import printable
from olmc.model.suggestions import LIKELY, POSSIBLE, closest, did_you_mean, join_limited

_MOST = 8
_SHORT = 4
"""Of so few letters two that changed places are much."""


class QueryError(ValueError):
    """A question that can't be answered as it stands; the message says why, and what would be a better one."""


def not_found(problem: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> QueryError:
    """The error for a name that there is not: what of `known` and `others` was meant, or else what is known."""
    names = list(dict.fromkeys(known))
    best = closest(name, [*names, *others], POSSIBLE if len(name) <= _SHORT else LIKELY)
    there = f"There is {join_limited(names, _MOST)}." if names else "There is none at all."
    return QueryError(printable(f"{problem}. {did_you_mean(best) or there}"))
