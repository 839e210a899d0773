"""The most similar names to a name: the answer of difflib.get_close_matches, at a limited cost.

Names come from untrusted input, and a comparison of two of them character by character costs more than the square of
their length. So cheap bounds of the likeness come first, and the remaining names are compared in the order of these. It
ends when no better one can follow or enough was compared. Every answer depends on the question alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

__all__ = ["similar_names"]

# No API server accepts a longer name, so a longer one is never the intended name.
_LONGEST = 253
# How many characters of names are compared in sequence for one question, of those that share enough of them: 750 names.
_SEQUENCES = 15_000
# How many pairs of characters are compared as difflib does it for one question: 25 names of twenty each.
_PAIRS = 10_000
# Names of which more pairs than this would be compared are as like as their longest common subsequence is long.
_LONG_PAIR = 80 * 80
# Letters of ASCII are counted each by itself; others share their place with one, which only makes bounds higher.
_PLACES = 128


def similar_names(name: str, names: Iterable[str], most: int, cutoff: float) -> list[str]:
    """Return at most `most` of the names that are at least `cutoff` (0 to 1) like `name`, without regard to case.

    The most similar comes first, and of those that are equally similar the last in the alphabet.
    """
    if len(name) > _LONGEST:
        return []
    return list(_similar(name.lower(), _known(frozenset(names)), most, cutoff))


@dataclass(frozen=True, eq=False, slots=True)
class _Known:
    """The names that may be meant by their lower case, and the characters of each for `_common_characters`."""

    by_lower: Mapping[str, str]
    characters: Mapping[str, int]


# Many questions are about the same names, and the same question comes up for each command, round and finding.
@lru_cache(maxsize=16)
def _known(names: frozenset[str]) -> _Known:
    # Of names that differ in their case the last one counts, and output must not depend on the order of a set.
    by_lower = {name.lower(): name for name in sorted(names) if len(name) <= _LONGEST}
    return _Known(by_lower, {name: _characters(name) for name in by_lower})


@lru_cache(maxsize=4096)
def _similar(name: str, known: _Known, most: int, cutoff: float) -> tuple[str, ...]:
    found: list[tuple[float, str]] = []
    pairs = 0
    for bound, other in _by_subsequence(name, known, cutoff):
        if len(found) == most and (bound, other) < found[-1]:
            break
        likeness = bound
        if len(name) * len(other) <= _LONG_PAIR:
            pairs += len(name) * len(other)
            if pairs > _PAIRS:
                break
            likeness = SequenceMatcher(None, other, name).ratio()
        if likeness >= cutoff:
            found = sorted([*found, (likeness, other)], reverse=True)[:most]
    return tuple(known.by_lower[other] for _, other in found)


def _by_subsequence(name: str, known: _Known, cutoff: float) -> list[tuple[float, str]]:
    """The names that may be like another one, each with the most that it can be like it, in descending order."""
    positions = _positions(name)
    bounds, compared = [], 0
    for other in _by_characters(name, known, cutoff):
        compared += len(other)
        if compared > _SEQUENCES:
            break
        bound = _ratio(_common_subsequence(positions, len(name), other), len(name) + len(other))
        if bound >= cutoff:
            bounds.append((bound, other))
    return sorted(bounds, reverse=True)


def _by_characters(name: str, known: _Known, cutoff: float) -> list[str]:
    """The names with enough of the characters of another one, those with the most first."""
    own = _characters(name)
    bounds = (
        (_ratio((own & characters).bit_count(), len(name) + len(other)), other)
        for other, characters in known.characters.items()
    )
    return [other for _, other in sorted((each for each in bounds if each[0] >= cutoff), reverse=True)]


def _characters(name: str) -> int:
    """A bit for each character of a name, another one where it comes again, so that `&` leaves what two names share."""
    places = [ord(character) % _PLACES for character in name]
    rows = dict.fromkeys(places, 0)
    bits = 0
    for place in places:
        bits |= 1 << (rows[place] * _PLACES + place)
        rows[place] += 1
    return bits


def _positions(name: str) -> dict[str, int]:
    """For each character a bit at each of its positions."""
    positions: dict[str, int] = {}
    for position, character in enumerate(name):
        positions[character] = positions.get(character, 0) | 1 << position
    return positions


def _common_subsequence(positions: Mapping[str, int], length: int, other: str) -> int:
    """Return how many characters of a name with these `positions` are in `other` in the same order, at most.

    This is Hyyrö's way: a bit of `open_` falls for each step that the subsequence grows by.
    """
    open_ = (1 << length) - 1
    for character in other:
        here = open_ & positions.get(character, 0)
        open_ = (open_ + here) | (open_ - here)
    return length - (open_ & ((1 << length) - 1)).bit_count()


def _ratio(common: int, both: int) -> float:
    """Return how like two names are that have so many characters in common, and `both` altogether; difflib's
    measure."""
    return 2.0 * common / both if both else 1.0
