"""The files that a text in Jsonnet imports, however it writes their paths."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.k8s.lean import NamedTuple, regex

_TOKEN = regex(r"""[A-Za-z_][A-Za-z0-9_]*|//|/\*|[#"'@]|\|\|\|""")
_NEXT = regex(r"[^\s(]")
_INDENT = regex(r"[ \t]*")
_ENDS = {'"': regex(r'[\\"]'), "'": regex(r"[\\']")}
_IMPORTS = frozenset({"import", "importstr", "importbin"})
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = 4


class JsonnetImport(NamedTuple):
    """An import: its keyword, and the path that it names, None where only an evaluation would know that."""

    keyword: str
    path: str | None


class _StringToken(NamedTuple):
    value: str
    end: int


def imports_of(text: str) -> Iterator[JsonnetImport]:
    """The imports of a text, in order. Comments and strings are skipped; of a text that is cut, what comes before."""
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        word, at = token[0], token.end()
        if word in _IMPORTS:
            start = _skip_space(text, at)
            string = _string_at(text, start)
            yield JsonnetImport(word, string.value if string is not None else None)
            at = string.end if string is not None else start
            if string is not None and text.startswith("+", _skip_space(text, at)):
                yield JsonnetImport(word, None)
        elif (behind := _behind(text, token.start())) is not None:
            at = behind


def _behind(text: str, at: int) -> int | None:
    """Where a comment or a string ends that begins at a place, None where none begins there."""
    if text.startswith(("//", "#"), at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    if text.startswith("|||", at):
        return _end_of_block(text, at + 3)
    string = _string_at(text, at)
    return string.end if string is not None else None


def _skip_space(text: str, at: int) -> int:
    """Where the next token begins behind spaces, comments and opening parentheses."""
    while (found := _NEXT.search(text, at)) is not None:
        at = found.start()
        if not text.startswith(("//", "#", "/*"), at):
            return at
        at = _behind(text, at) or len(text)
    return len(text)


def _end_of_block(text: str, at: int) -> int:
    """Where a block of text ends: at the first line that is indented less than its first one."""
    start = text.find("\n", at) + 1
    while start and text.startswith("\n", start):
        start += 1
    found = _INDENT.match(text, start)
    indent = found[0] if found is not None else ""
    while start and start < len(text) and text.startswith((indent or "\0", "\n"), start):
        start = text.find("\n", start) + 1
    end = text.find("|||", start) if start else -1
    return len(text) if end < 0 else end + 3


def _string_at(text: str, at: int) -> _StringToken | None:
    """The string that begins at a place, None where none does; one without an end takes the rest of the text."""
    is_verbatim = text.startswith("@", at)
    quote = text[at + is_verbatim : at + is_verbatim + 1]
    if quote not in ('"', "'"):
        return None
    start = at + is_verbatim + 1
    return _verbatim(text, start, quote) if is_verbatim else _with_escapes(text, start, quote)


def _verbatim(text: str, at: int, quote: str) -> _StringToken:
    """A string in which two quotes stand for one, and a backslash for itself."""
    parts = []
    while (end := text.find(quote, at)) >= 0:
        parts.append(text[at:end])
        if not text.startswith(quote, end + 1):
            return _StringToken("".join(parts), end + 1)
        parts.append(quote)
        at = end + 2
    return _StringToken("".join([*parts, text[at:]]), len(text))


def _with_escapes(text: str, at: int, quote: str) -> _StringToken:
    parts = []
    while (found := _ENDS[quote].search(text, at)) is not None:
        parts.append(text[at : found.start()])
        at = found.end()
        if found[0] == quote:
            return _StringToken(_joined(parts), at)
        char = text[at : at + 1]
        digits = text[at + 1 : at + 1 + _HEX]
        if char == "u" and len(digits) == _HEX and all(digit in "0123456789abcdefABCDEF" for digit in digits):
            parts.append(chr(int(digits, 16)))
            at += 1 + _HEX
        else:
            parts.append(_SIMPLE.get(char, char))
            at += 1
    return _StringToken(_joined([*parts, text[at:]]), len(text))


def _joined(parts: list[str]) -> str:
    """A text whose halves of a character beyond 16 bits are one character."""
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
