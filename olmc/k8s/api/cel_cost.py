"""The maximum cost of a CEL rule, from its text and the bundle that it evaluates. CEL's library has no budget for it,
and any bundle may bring any rule. The maximum is the same on every machine, and the actual cost is never more.

Without recursion, only macros (`all`, `exists`, `exists_one`, `map`, `filter`) make a rule take more steps than it has
words. Each of them goes through a list, and inner ones once more for each item; `map` and `filter` copy their result
with each item that they add. Lists and texts grow only by additions, at most to twice the length each time. In addition
a single function may take many steps for a long text, a large value, or the pattern of a regular expression, which may
match far more than its length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from olmc.k8s.lean import NamedTuple, regex

# A quote that nothing closes is no CEL; looking for its end from each one again would take forever.
_TEXT = r'''[rRbB]{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')'''
_TOKENS = regex(
    rf"\.\s*(?P<search>matches|contains)\s*\(\s*(?P<wanted>{_TEXT})\s*(?=\))"
    rf"|(?P<text>{_TEXT}|[\"'].*)|(?P<skip>\s+|//[^\n]*)"
    r"|(?P<macro>\.\s*(?:all|exists|exists_one|(?P<copying>map|filter))\s*\()"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<plus>\+)|(?P<comma>,)|(?P<compare>[=!]=|\bin\b)"
    r"|(?P<known>\b(?:matches|contains|size|string|bytes|semver_compare)\b)|(?P<word>\w+|.)",
    re.DOTALL,
)
_REPEATED = regex(r"\{(\d*+)(?:,(\d*+))?\}")
_ESCAPED = regex(r"\\[xXuU0-7]")
_CLASS = regex(r"\\[pP]|[^\x00-\x7f]")

TEXT_UNIT = 64
"""The number of characters of a text that one step scans."""
_VALUE_UNIT = 16  # how many values are compared in a step
_COMPILED = 40  # steps for compiling a character
_COMPILED_ITEMS = 10  # a list's items are compared with each other: how many of these are a step
_PATTERN, _CLASSES = 10, 500  # steps for compiling a character of a pattern; one with classes of Unicode's
_WORST_PATTERN = 1_000_000  # beyond which the library of regular expressions gives up
_WORDS = {"size": 1, "string": 1, "bytes": 1, "semver_compare": 100}


class BundleSize(NamedTuple):
    """Of the properties of a bundle: the items of the longest list or mapping, the characters of the longest text, the
    values of the largest property, and all values."""

    items: int = 0
    characters: int = 0
    largest: int = 0
    values: int = 0


class RuleCost(NamedTuple):
    """Of a rule, by how deep it stands in macros: how many steps its words take, how many once more for each unit of
    text, for each unit squared, and for each unit of values; the items of its longest list and the characters of its
    longest text; how often something is added; and how many steps it takes to compile it."""

    words: tuple[int, ...]
    texts: tuple[int, ...]
    searches: tuple[int, ...]
    comparisons: tuple[int, ...]
    longest: int
    characters: int
    additions: int
    compilation: int

    def steps(self, bundle: BundleSize = BundleSize()) -> int:  # noqa: B008 (immutable)
        """The most steps that it takes for properties of such a size."""
        growth = min(self.additions, 64)
        size = max(self.longest, bundle.items, 1) << growth
        text = (max(self.characters, bundle.characters) << growth) // TEXT_UNIT
        value = max(self.longest, bundle.largest) // _VALUE_UNIT << growth
        steps: int = size + bundle.values
        for depth, words in enumerate(self.words):
            once = words + self.texts[depth] * text + self.searches[depth] * text**2 + self.comparisons[depth] * value
            steps += once * size**depth
        return steps


def least_compilation(rule: str) -> int:
    """Return how many steps it takes to compile a rule, at least: by its length alone."""
    return len(rule) * _COMPILED


@lru_cache(maxsize=256)
def rule_cost(rule: str) -> RuleCost:
    """Return the cost of a rule as far as its text determines it."""
    words, texts, searches, comparisons = counts = [0], [0], [0], [0]
    opened, items = [False], [1]
    depth = longest = characters = additions = 0
    for match in _TOKENS.finditer(rule):
        kind = match.lastgroup
        if kind == "skip":
            continue
        words[depth] += 1
        if kind in ("open", "macro"):
            for each in counts:
                each += [0] * (depth + 3 - len(each))
            # Each item that is added copies those before, for each way to get here.
            words[depth + 2] += bool(match["copying"])
            opened.append(kind == "macro")
            items.append(1)
            depth += kind == "macro"
        elif kind == "close" and len(opened) > 1:
            depth -= opened.pop()
            longest = max(longest, items.pop())
        elif kind == "comma":
            items[-1] += 1
        elif kind == "text":
            characters = max(characters, len(match[0]))
        elif kind == "wanted":
            compiling, running = _search(match["search"], match["wanted"])
            words[depth] += compiling
            texts[depth] += running
        elif kind == "compare":
            comparisons[depth] += 1
            texts[depth] += 1
        elif kind == "known":
            # A pattern or a text that is looked for, but is not written here, may be any.
            searches[depth] += match[0] == "contains"
            words[depth] += _WORST_PATTERN if match[0] == "matches" else _WORDS.get(match[0], 0)
            texts[depth] += 1
        additions += kind == "plus"
    longest = max(longest, *items)
    compilation = least_compilation(rule) + longest**2 // _COMPILED_ITEMS
    return RuleCost(
        tuple(words), tuple(texts), tuple(searches), tuple(comparisons), longest, characters, additions, compilation
    )


def _search(function: str, literal: str) -> tuple[int, int]:
    """Return the number of steps before the scan of a text for a pattern or another text, and of steps per unit of
    it."""
    if function == "contains":
        return 1, 1 + len(literal) // TEXT_UNIT
    if _ESCAPED.search(literal):
        return _WORST_PATTERN, len(literal)
    # One inside of another one multiplies; so they are taken to be.
    size = len(literal) * math.prod(
        min(max(int(number[:6]) for number in (*match.groups(), "1") if number) or 1, 10_000)
        for match in _REPEATED.finditer(literal)
    )
    return min(size * (_CLASSES if _CLASS.search(literal) else _PATTERN), _WORST_PATTERN), min(
        1 + size // 2, _WORST_PATTERN
    )


def bundle_size(properties: Sequence[tuple[str, object]]) -> BundleSize:
    """Return the size of the properties that a rule reads."""
    sizes = [_size(value) for _, value in properties]
    total = _together(sizes, len(properties))
    return total._replace(largest=max((size.values for size in sizes), default=0))


def _size(value: Any) -> BundleSize:
    if isinstance(value, str):
        return BundleSize(0, len(value), 0, 1)
    if isinstance(value, Mapping):
        keys = BundleSize(0, max((len(str(key)) for key in value), default=0))
        return _together([*map(_size, value.values()), keys], len(value))
    return _together([*map(_size, value)], len(value)) if isinstance(value, list | tuple) else BundleSize(values=1)


def _together(sizes: Iterable[BundleSize], own: int) -> BundleSize:
    items, characters, values = own, 0, 1
    for size in sizes:
        items, characters = max(items, size.items), max(characters, size.characters)
        values += size.values
    return BundleSize(items, characters, 0, values)
