"""How much the evaluation of a CEL rule may cost, from its text: CEL's library has no budget, and any bundle may bring
any rule. What a rule could cost at most is the same on every machine; what it does cost is never more.

Without recursion, a rule takes more steps than it has words only by its macros (`all`, `exists`, `exists_one`, `map`,
`filter`), each of which goes through a list, and those inside of it for each item once more; and lists and texts grow
only where they are added to each other, at most to twice the length each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from olmc.lean import NamedTuple, regex

_TOKENS = regex(
    r'''(?P<text>[rRbB]{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))'''
    r"|(?P<skip>\s+|//[^\n]*)|(?P<macro>\.\s*(?:all|exists|exists_one|map|filter)\s*\()"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<plus>\+)|(?P<comma>,)|(?P<word>\w+|.)",
    re.DOTALL,
)
_LONGEST_TEXT = 64
"""How many characters of a text count as one item."""


class RuleCost(NamedTuple):
    """Of a rule: how many words stand how deep in macros, how many items its longest list or text has, and how often
    something is added."""

    words: tuple[int, ...]
    longest: int
    additions: int

    def steps(self, longest: int) -> int:
        """The most steps that it takes where no list or text of the input has more items."""
        size = max(self.longest, longest, 1) << min(self.additions, 64)
        steps: int = size
        for depth, words in enumerate(self.words):
            steps += words * size**depth
        return steps


@lru_cache(maxsize=256)
def rule_cost(rule: str) -> RuleCost:
    """What a rule's text says of its cost."""
    words, opened, items = [0], [], [1]
    depth = longest = additions = 0
    for match in _TOKENS.finditer(rule):
        kind = match.lastgroup
        if kind == "skip":
            continue
        words[depth] += 1
        if kind in ("open", "macro"):
            opened.append(kind == "macro")
            items.append(1)
            depth += kind == "macro"
            words += [0] * (depth == len(words))
        elif kind == "close" and opened:
            depth -= opened.pop()
            longest = max(longest, items.pop())
        elif kind == "comma":
            items[-1] += 1
        elif kind == "text":
            longest = max(longest, len(match[0]) // _LONGEST_TEXT)
        additions += kind == "plus"
    return RuleCost(tuple(words), max(longest, *items), additions)


def longest_in(value: Any) -> int:
    """The most items that a list, a mapping or a text has in a value."""
    if isinstance(value, str):
        return len(value) // _LONGEST_TEXT
    if isinstance(value, Mapping):
        return _longest(value.values(), len(value))
    return _longest(value, len(value)) if isinstance(value, list | tuple) else 0


def _longest(values: Iterable[Any], own: int) -> int:
    return max((own, *map(longest_in, values)))
