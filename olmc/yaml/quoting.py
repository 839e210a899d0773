"""How a text is written so that every reader of YAML takes it for that very text."""

from __future__ import annotations

import re
from functools import cache

from olmc.yaml.scalars import replace_surrogates, resolve

# The common case: begins with a letter, holds no colon or hash that could be syntax, does not end in a space.
_HARMLESS = re.compile(r'[A-Za-z/$(][ -"$-9;-~]*(?::[!"$-9;-~][ -"$-9;-~]*)*(?<! )')
_WORD_STARTS = frozenset("yYnNtTfFoO")

# What may stand unescaped beyond ASCII.
_WIDE = r"\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_ASCII_LINE = re.compile(r"[ -~]*")
_ASCII_LINES = re.compile(r"[\t\n -~]*")
_SYNTAX = re.compile(
    r"""
      [ ,\[\]{}\#&*!|>'"%@`]    # begins with a space or an indicator
    | [-?:](?:\ |\Z)            # begins as an item, a key or a value
    | ---|\.\.\.                # begins as the mark between documents
    | .*\ \Z                    # ends in a space
    | .*:(?:\ |\Z)              # holds the end of a key
    | .*\ \#                    # holds the beginning of a comment
    | \Z                        # is empty
    """,
    re.VERBOSE,
)
_DIFFERS_ELSEWHERE = re.compile(
    r"""
      =|<<                                                          # the tags !!value and !!merge of YAML 1.1
    | [0-9]{4}-[0-9][0-9]?-[0-9][0-9]?                              # dates and times
      (?:(?:[Tt]|\ +)[0-9][0-9]?:[0-9][0-9]?:[0-9][0-9]?.*)?
    | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?              # numbers of base 60
    | [-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9_]+)
    | [-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?
    | [-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)
    """,
    re.VERBOSE,
)
_DIFFERING_STARTS = frozenset("0123456789+-.=<")

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    """Patterns over all of Unicode take a millisecond each to compile, and few runs need them."""
    return re.compile(pattern)


def _is_one_line(text: str) -> bool:
    pattern = _ASCII_LINE if text.isascii() else _pattern(f"[ -~{_WIDE}]*")
    return pattern.fullmatch(text) is not None


def _is_lines(text: str) -> bool:
    pattern = _ASCII_LINES if text.isascii() else _pattern(f"[\\t\\n -~{_WIDE}]*")
    return pattern.fullmatch(text) is not None


def plain_is_safe(text: str) -> bool:
    """Whether a text may stand in a block mapping or list without quotes, as a value and as a key.

    True when go-yaml v2 reads it back as that very string, except for texts that other readers take for
    something else: `=`, `<<`, dates, numbers of base 60, numbers beyond go-yaml's range, numbers of YAML 1.2.
    A text with a tab is never safe.
    """
    if _HARMLESS.fullmatch(text):
        return text[0] not in _WORD_STARTS or type(resolve(text)) is str
    if not _is_one_line(text) or _SYNTAX.match(text) or type(resolve(text)) is not str:
        return False
    return text[0] not in _DIFFERING_STARTS or not _DIFFERS_ELSEWHERE.fullmatch(text)


def one_line(text: str) -> str:
    """A text as one line of YAML: plain where that is safe, else in single quotes.

    Double quotes are for what only an escape can express. A lone surrogate becomes U+FFFD, as in Go.
    """
    if plain_is_safe(text):
        return text
    if _is_one_line(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + _pattern(rf'["\\]|[^ -~{_WIDE}]').sub(_escape, replace_surrogates(text)) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def literal_header(text: str) -> str | None:
    """The header (`|`, `|-`, `|+`, with `2` for the indentation) of the literal block that holds a text.

    None for a text of one line, and for what no literal block can hold.
    """
    # Of a text of blanks only, readers disagree about which belong to the indentation.
    if "\n" not in text or not text.strip(" \t\n") or not _is_lines(text):
        return None
    indent = "2" if text.lstrip("\n")[0] in " \t" else ""
    if not text.endswith("\n"):
        return f"|{indent}-"
    return f"|{indent}+" if text.endswith("\n\n") else f"|{indent}"
