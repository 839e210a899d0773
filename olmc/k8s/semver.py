"""Versions, releases and ranges as OLM compares them: blang/semver v4 with all of its quirks (R-CAT-450 … R-CAT-455,
R-CAT-127).

Texts go in; `Version` and `Range` come out, or VersionError and RangeError with blang's own messages. Versions are
strict where OLM is (`parse_strict`: catalogs, CSV names) and tolerant where it is (`parse_tolerant`: `spec.version`,
the versions that the resolver compares, CEL). `olmc.compiler.resolver.upgrade_path` asks a range about many
versions at once.

The versions themselves are those of the semver package, which orders them as blang does (R-CAT-451: build metadata is
ignored, a pre-release is lower than its release). Reading is our own, because blang refuses, trims and words its
refusals differently.
"""

from __future__ import annotations

from functools import lru_cache

from semver import Version as Version

from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.strconv import SPACES, quoted

_MAX = 2**64 - 1
_LONGEST_RELEASE = 20
_DIGITS = regex(r"[0-9]*")
_WORD = regex(r"[0-9A-Za-z-]*")


class VersionError(ValueError):
    """A text that is no version; its message is the one of blang/semver."""


@lru_cache(maxsize=8192)
def parse_strict(text: str) -> Version:
    """The version `M.m.p[-pre][+build]` (R-CAT-450); VersionError with blang's message when it isn't one."""
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = _number("major", parts[0]), _number("minor", parts[1]), _number("patch", patch)
    if dash:
        check_prerelease(prerelease)
    if plus:
        for identifier in build.split("."):
            _check_build(identifier)
    return Version(*numbers, prerelease=prerelease if dash else None, build=build if plus else None)


def _number(kind: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise VersionError(f"Invalid character(s) found in {kind} number {quoted(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise VersionError(f"{kind.capitalize()} number must not contain leading zeroes {quoted(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise VersionError('strconv.ParseUint: parsing "": invalid syntax')
    # The length first: Python refuses to convert numbers of more than 4,300 digits.
    if len(text) > 20 or int(text) > _MAX:
        raise VersionError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def check_prerelease(text: str) -> None:
    """Refuse what is no dot-joined list of pre-release identifiers; raises VersionError with blang's message."""
    for identifier in text.split("."):
        _check_identifier(identifier)


def _check_identifier(identifier: str) -> None:
    if not identifier:
        raise VersionError("Prerelease is empty")
    if _DIGITS.fullmatch(identifier):
        if len(identifier) > 1 and identifier.startswith("0"):
            text = quoted(identifier)
            raise VersionError(f"Numeric PreRelease version must not contain leading zeroes {text}")
        _unsigned(identifier)
    elif not _WORD.fullmatch(identifier):
        raise VersionError(f"Invalid character(s) found in prerelease {quoted(identifier)}")


def _check_build(identifier: str) -> None:
    if not identifier:
        raise VersionError("Build meta data is empty")
    if not _WORD.fullmatch(identifier):
        raise VersionError(f"Invalid character(s) found in build meta data {quoted(identifier)}")


@lru_cache(maxsize=8192)
def parse_tolerant(text: str) -> Version:
    """The version that `text` means read leniently (R-CAT-452): `v1.2` is 1.2.0; VersionError otherwise."""
    parts = [_without_zeros(part) for part in text.strip(SPACES).removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise VersionError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_strict(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in "0123456789" else "0" + stripped


def strict_or_none(text: str) -> Version | None:
    """The version that a property declares, None where blang refuses it."""
    try:
        return parse_strict(text)
    except VersionError:
        return None


def tolerant_or_none(text: str) -> Version | None:
    """The version for range checks, None where there is none to be read (R-CAT-304)."""
    try:
        return parse_tolerant(text)
    except VersionError:
        return None


def parse_release(text: str) -> Version | None:
    """A release as the pre-release of a version, which is how releases compare; None for none (R-CAT-127).

    Raises ValueError with OLM's text.
    """
    if not text:
        return None
    if len(text.encode()) > _LONGEST_RELEASE:
        raise ValueError(f"invalid release {quoted(text)}: exceeds maximum length of {_LONGEST_RELEASE} characters")
    problems = []
    for index, segment in enumerate(text.split(".")):
        try:
            check_prerelease(segment)
        except VersionError as error:
            problems.append(f"segment {index}: {error}")
    if problems:
        raise ValueError(f"invalid release {quoted(text)}: " + "\n".join(problems))
    return parse_strict(f"0.0.0-{text}")


def order_with_release(left: tuple[Version, Version | None], right: tuple[Version, Version | None]) -> int:
    """Compare two (version, release): by version, then none before any release, then as pre-releases (R-CAT-127)."""
    order = left[0].compare(right[0])
    if order or left[1] is right[1]:
        return order
    if left[1] is None or right[1] is None:
        return -1 if left[1] is None else 1
    return left[1].compare(right[1])


_OPERATORS = {"": "==", "=": "==", "==": "==", "!": "!=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
# Go reads the part before a wildcard with Atoi, which allows a sign.
_SIGNED = regex(r"[+-]?[0-9]+")


class RangeError(ValueError):
    """A text that is no range; its message is the one of blang/semver."""


class Comparator(NamedTuple):
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


class Range(NamedTuple):
    """A range: alternatives, each of them comparators that must all hold; `text` as written."""

    text: str
    alternatives: tuple[tuple[Comparator, ...], ...]

    def contains(self, version: Version) -> bool:
        """Return whether `version` lies inside, by plain precedence: pre-releases are not special (R-CAT-455)."""
        return any(all(comparator.accepts(version) for comparator in alternative) for alternative in self.alternatives)


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
    """Return the problem of a range, in blang's words; "" for a good one."""
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
    parts: list[str] = []
    start = 0
    before = ""
    for position, char in enumerate(data):
        if char != " ":
            before = char
        # After `!` a space does split, so that `! 1.0.0` is a dropped byte and a version (R-CAT-453).
        elif before not in ("<", ">", "="):
            parts.append(data[start:position])
            start = position + 1
    parts.append(data[start:])
    return [part.encode("latin-1").decode() for part in parts]


def _alternatives(tokens: list[str]) -> list[list[str]]:
    if tokens[:1] == ["||"]:
        raise RangeError("First element in range is '||'")
    if not tokens or tokens[-1] == "||":
        raise RangeError("Last element in range is '||'")
    alternatives: list[list[str]] = [[]]
    for token in tokens:
        if token == "||":
            alternatives.append([])
        else:
            alternatives[-1].append(token)
    if not all(alternatives):
        # D31: blang reads it and then crashes while comparing.
        raise RangeError("Empty alternative in range")
    return alternatives


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
    # In the order in which blang does it, which makes odd floors of odd wildcards: `1.x.x.x` becomes `1.0.x`.
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
