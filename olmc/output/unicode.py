"""Names of files that are not UTF-8. Python keeps each byte that it can't read as half of a surrogate pair, which no
output can hold: everywhere it is shown as an escape, `gr\\xfcn.yaml`."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from typing import Any

from olmc.lean import regex

ESCAPED = "olmc.escaped"
"""What streams that show such names have for `errors`; see `register`."""

_HALF = regex("[\ud800-\udfff]")
_FIRST_OCTET, _LAST_OCTET = 0xDC80, 0xDCFF


def legible(text: str) -> str:
    """The text with an escape for each byte that is no part of a character."""
    return text if text.isascii() else _HALF.sub(lambda match: _escape(match[0]), text)


def clean(text: str) -> str:
    """A text without characters that no drawing can hold, and of which none moves the cursor of a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in legible(text))


def json_text(value: Any, *, indent: int | None = 2, default: Callable[[Any], Any] | None = None) -> str:
    """Data as JSON for machines, in which names read as they do for people; without a line break at the end."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=default)
    return text if text.isascii() else _HALF.sub(lambda match: f"\\{_escape(match[0])}", text)


def register() -> None:
    """Have the codecs know `ESCAPED`, so that a stream shows what it is given as `legible` does."""
    codecs.register_error(ESCAPED, _escaped)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escape, error.object[error.start : error.end])), error.end


def _escape(half: str) -> str:
    code = ord(half)
    return f"\\x{code - 0xDC00:02x}" if _FIRST_OCTET <= code <= _LAST_OCTET else f"\\u{code:04x}"
