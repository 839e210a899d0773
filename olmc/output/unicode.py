"""How untrusted text is printed: for people by `clean`, as JSON by `json_text`; YAML's emitter has the same escapes.

A terminal executes control characters, a reader is deceived by those that turn the direction of text, and a CI system
takes lines that begin in its own way for commands. Names of files need not be UTF-8: Python keeps each byte that it
can't read as half of a surrogate pair, which no output can hold: it is shown as an escape, `gr\\xfcn.yaml`."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from typing import Any

from olmc.lean import regex
from olmc.yaml.emitter import OBEYED

ESCAPED = "olmc.escaped"
"""What streams that show such names have for `errors`; see `register`."""

_HALF = regex("[\ud800-\udfff]")
_FIRST_OCTET, _LAST_OCTET = 0xDC80, 0xDCFF


def legible(text: str) -> str:
    """The text with an escape for each byte that is no part of a character."""
    return text if text.isascii() else _HALF.sub(lambda match: _escape(match[0]), text)


# By number, not by what the Unicode of a Python says of them: the same text gives the same bytes everywhere.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_UNSEEN = "\xad\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_UNSAFE = regex(f"[{_TURNING}{_CONTROL}{_UNSEEN}]")
_ESCAPED_IN_JSON = regex(f"[\x7f-\x9f\u2028\u2029{_TURNING}]")
# GitHub takes such lines for commands, wherever they come from, and whatever blanks they begin with.
_COMMAND = regex(r"\s*::[A-Za-z][\w-]*(\s[^:]*)?::")


def clean(text: str) -> str:
    """A line for people, of which no terminal, no reader and no CI system takes a part for something else: line breaks
    are blanks, and what can't be seen is U+FFFD."""
    shown = text if text.isprintable() else _UNSAFE.sub(_visible, legible(text))
    shown = OBEYED.sub("#\ufffd#", shown) if "##" in shown else shown
    return f"\ufffd{shown}" if _COMMAND.match(shown) else shown


def _visible(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\n" else "\ufffd"


def json_text(value: Any, *, indent: int | None = 2, default: Callable[[Any], Any] | None = None) -> str:
    """Data as JSON for machines, in which names read as they do for people; without a line break at the end."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=default)
    text = OBEYED.sub(r"#\\u0023", text) if "##" in text else text
    if text.isascii() and "\x7f" not in text:
        return text
    text = _ESCAPED_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _HALF.sub(lambda match: f"\\{_escape(match[0])}", text)


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
