"""Questions that can't be answered as they stand: what is wrong with them, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.emit.messages import printable
from olmc.model.alike import LIKELY, POSSIBLE, closest
from olmc.model.some import some

_MOST = 8
_SHORT = 4
"""Of so few letters two that changed places are much."""


class QueryError(ValueError):
    """A question that can't be answered as it stands; the message says why, and what would be a better one."""


def not_found(problem: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> QueryError:
    """The error for a name that there is not: what of `known` and `others` was meant, or else what is known."""
    names = list(dict.fromkeys(known))
    best = closest(name, [*names, *others], POSSIBLE if len(name) <= _SHORT else LIKELY)
    there = f"There is {some(names, _MOST)}." if names else "There is none at all."
    return QueryError(printable(f"{problem}. {f'Did you mean {best}?' if best else there}"))
