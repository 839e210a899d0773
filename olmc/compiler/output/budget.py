"""How a text with a limit is shared out: each part gets something, and what one does not need goes to the others."""

from __future__ import annotations

from collections.abc import Sequence


def shares(needs: Sequence[int], weights: Sequence[int], space: int) -> list[int]:
    """How much each of several parts gets of a space: never more than it needs, and as much in all as there is.

    A part that needs less than its weight's share leaves the rest to those that need more, by their weights.

    >>> shares([900, 10, 50], [2, 1, 1], 100)
    [60, 10, 30]
    >>> shares([5, 10], [1, 1], 100)
    [5, 10]
    """
    given = [0] * len(needs)
    wanting = [number for number, need in enumerate(needs) if need > 0]
    left = max(space, 0)
    while wanting:
        total = sum(weights[number] for number in wanting)
        content = [number for number in wanting if needs[number] * total <= left * weights[number]]
        if not content:
            for number in wanting:
                given[number] = left * weights[number] // total
            return given
        for number in content:
            given[number] = needs[number]
        left -= sum(needs[number] for number in content)
        wanting = [number for number in wanting if number not in content]
    return given
