"""Regular expressions as Go matches them: with RE2, whose time grows with the length of the text and nothing else."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r"""\\[][./+*?(){}|^$dDwWsS-]                                           # an escape
    |\[\^?-?(?:[\w ./:@%#~=+*,;!'<>&$(){}|?]|a-z|A-Z|[0-4]-9|0-[0-9]|a-f|A-F|\\[][./dws-]|-(?=\]))+\]   # a class
    |\{(?P<least>[0-9]{1,3})(?:,(?P<most>[0-9]{0,3}))?\}                    # a count
    |[^][\\(){}*+?|]                                                        # a character""",
    re.VERBOSE | re.ASCII,
)
_SIMPLE = r"(?:a(?:[*+?]\??)?|\|)*"
_GROUP, _WHOLE = re.compile(rf"\((?:\?:)?{_SIMPLE}\)"), re.compile(_SIMPLE)
_MOST = 1000
"""How often Go repeats at most."""
_DEEPEST = 50
"""With how many groups a pattern is still read without the library, which takes a step for each that is in another."""

_LOOKS_BEHIND = ("(?<=", "(?<!")
_WORDS = {
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "unexpected )": "unexpected )",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
"""What RE2 calls an error in its way, with Go's words."""


def found(pattern: str, text: str) -> bool:
    """Whether a pattern of a stranger is found in a text; never for one that Go can't compile."""
    import re2  # few runs need it, and it takes time

    try:
        return re2.compile(_whole(pattern), _options()).search(_whole(text)) is not None
    except re2.error:
        return False


@lru_cache(maxsize=4096)
def problem(pattern: str) -> str:
    """Go's error for a pattern that it can't compile.

    "" for one that it can, or may: newer releases of RE2's libraries know more classes of characters.
    """
    if _is_plain(pattern):
        return ""
    import re2

    try:
        re2.compile(_whole(pattern), _options())
    except re2.error as error:
        kind, _, at = error.args[0].decode("utf-8", "replace").partition(": ")
        return _in_go(kind, at, pattern)
    return ""


def _is_plain(pattern: str) -> bool:
    """Whether a pattern compiles without a doubt, so that no library need be loaded for it."""
    if pattern.count("(") > _DEEPEST:
        return False
    times = 1
    for count in _TOKEN.finditer(pattern):
        if count["least"]:
            least, most = int(count["least"]), int(count["most"] or count["least"])
            times *= max(most, 1) if least <= most else _MOST + 1
    shape = _TOKEN.sub(lambda token: "*" if token["least"] else "a", pattern)
    while (outer := _GROUP.sub("a", shape)) != shape:
        shape = outer
    return times <= _MOST and _WHOLE.fullmatch(shape) is not None


def _in_go(kind: str, at: str, pattern: str) -> str:
    if kind not in _WORDS or (kind == "invalid character class range" and at[:2] in (r"\p", r"\P")):
        return ""  # newer libraries know more classes
    if at in _LOOKS_BEHIND:
        kind, at = "invalid named capture group", pattern[pattern.find(at) :]
        at = at[: at.find(">") + 1] or at
    elif kind == "invalid repetition size":
        at = at.removesuffix("?")
    return f"error parsing regexp: {_WORDS[kind]}: `{at}`"


def _whole(text: str) -> str:
    """A text without halves of characters, which the library doesn't take."""
    return text.encode("utf-8", "replace").decode()


def _options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return options
