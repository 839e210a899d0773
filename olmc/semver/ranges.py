"""Version ranges of blang/semver v4, quirks included (R-CAT-453 … R-CAT-455)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from olmc.semver.version import Version, VersionError, parse_strict
from olmc.strconv import SPACES, quoted

_OPERATORS = {"": "==", "=": "==", "==": "==", "!": "!=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
_SIGNED = re.compile(r"[+-]?[0-9]+")


class RangeError(ValueError):
    """A text that is no range; its message is the one of blang/semver."""


@dataclass(frozen=True, slots=True)
class Comparator:
    """One comparison with a version; `operator` is one of == != < <= > >=."""

    operator: str
    version: Version

    def accepts(self, version: Version) -> bool:
        order = version.compare(self.version)
        match self.operator:
            case "==":
                return order == 0
            case "!=":
                return order != 0
            case "<":
                return order < 0
            case "<=":
                return order <= 0
            case ">":
                return order > 0
            case _:
                return order >= 0


@dataclass(frozen=True, slots=True)
class Range:
    """A range: alternatives, each of them comparators that must all hold; `text` as written."""

    text: str
    alternatives: tuple[tuple[Comparator, ...], ...]

    def contains(self, version: Version) -> bool:
        """Whether `version` lies inside, by plain precedence: pre-releases get no special treatment
        (R-CAT-455).
        """
        return any(all(one.accepts(version) for one in alternative) for alternative in self.alternatives)


@lru_cache(maxsize=8192)
def parse_range(text: str) -> Range:
    """The range that `text` writes (R-CAT-453); RangeError with blang's message when it can't be read."""
    alternatives = [_expand(tokens) for tokens in _alternatives(_tokens(text))]
    return Range(text, tuple(tuple(_comparator(token) for token in tokens) for tokens in alternatives))


def range_or_none(text: str) -> Range | None:
    """A skipRange as the resolver reads it: an empty or unreadable one is no skipRange (R-CAT-456)."""
    if not text:
        return None
    try:
        return parse_range(text)
    except RangeError:
        return None


def range_problem(text: str) -> str:
    """What is wrong with a range, in blang's words; "" for a good one."""
    try:
        parse_range(text)
    except ValueError as error:  # halves of characters, which no byte stands for, count as well
        return str(error)
    return ""


def dropped_parts(text: str) -> list[str]:
    """The parts of a range that blang drops without a word: those of one byte (R-CAT-453)."""
    return [part for part in _parts(text) if len(part.encode()) == 1]


def _tokens(text: str) -> list[str]:
    """The parts that count, without the spaces in them; a byte alone is dropped."""
    return [part.replace(" ", "") for part in _parts(text) if len(part.encode()) > 1]


def _parts(text: str) -> list[str]:
    """Split at spaces, except after an operator (Go counts bytes, hence Latin-1)."""
    data = text.encode().decode("latin-1")
    found: list[str] = []
    start = 0
    before = ""
    for position, char in enumerate(data):
        if char != " ":
            before = char
        elif before not in ("<", ">", "="):
            found.append(data[start:position])
            start = position + 1
    found.append(data[start:])
    return [part.encode("latin-1").decode() for part in found]


def _alternatives(tokens: list[str]) -> list[list[str]]:
    if tokens[:1] == ["||"]:
        raise RangeError("First element in range is '||'")
    if not tokens or tokens[-1] == "||":
        raise RangeError("Last element in range is '||'")
    found: list[list[str]] = [[]]
    for token in tokens:
        if token == "||":
            found.append([])
        else:
            found[-1].append(token)
    if not all(found):
        # D31: blang reads it and then crashes while comparing.
        raise RangeError("Empty alternative in range")
    return found


def _split(token: str) -> tuple[str, str]:
    for position, char in enumerate(token):
        if char.isdecimal():
            return token[:position].strip(SPACES), token[position:]
    raise RangeError(f"Could not get version from string: {quoted(token)}")


def _expand(tokens: list[str]) -> list[str]:
    return [expanded for token in tokens for expanded in (_wildcard(token) if "x" in token else [token])]


def _wildcard(token: str) -> list[str]:
    """The comparators that a token with an `x` stands for (R-CAT-454)."""
    operator, version = _split(token)
    floor = version.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    if floor.count(".") == 1:
        floor += ".0"
    match operator:
        case "" | "=" | "==":
            return [">=" + floor, "<" + _ceiling(version, floor)]
        case "!" | "!=":
            return ["<" + floor, ">=" + _ceiling(version, floor)]
        case ">":
            return [">=" + _ceiling(version, floor)]
        case "<=":
            return ["<" + _ceiling(version, floor)]
        case "<" | ">=":
            return [operator + floor]
        case _:
            return [floor]


def _ceiling(version: str, floor: str) -> str:
    """The lowest version above the wildcard, "" where blang can't tell (which makes it an error)."""
    parts = version.split(".")
    if parts[-1] != "x" or len(parts) not in (2, 3):
        return ""
    place = len(parts) - 2
    bounds = floor.split(".")
    if not _SIGNED.fullmatch(bounds[place]) or len(bounds[place]) > 20 or not -(2**63) <= int(bounds[place]) < 2**63:
        return ""
    bounds[place] = str(int(bounds[place]) + 1)
    return ".".join(bounds)


def _comparator(token: str) -> Comparator:
    sign, text = _split(token)
    operator = _OPERATORS.get(sign)
    if operator is None:
        cause = f"Could not parse comparator {quoted(sign)} in {quoted(sign + text)}"
        raise RangeError(f"Could not parse Range {quoted(token)}: {cause}")
    try:
        return Comparator(operator, parse_strict(text))
    except VersionError as error:
        cause = f"Could not parse version {quoted(text)} in {quoted(sign + text)}: {error}"
        raise RangeError(f"Could not parse Range {quoted(token)}: {cause}") from None
