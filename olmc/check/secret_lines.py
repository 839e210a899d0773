"""The lines of a file that a finding quotes, of which those of Secrets have the keys alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from olmc.lean import regex
from olmc.model.diagnostics import Report
from olmc.model.secrets import MASK, may_hold_secrets, redacted
from olmc.yaml import read

_DOCUMENT = regex(r"---(\s|$)")
# Without these, nothing says that it is a Secret: the word, or an escape, a tag or an alias that may stand for it.
_MAY_SAY_SECRET = regex(r"(?i:secret)|\\|(?:^|[\s,\[{?:-])[!*][\w!<]")
_FIELD = regex(r"""(?m:^(apiVersion|kind):[ \t]+(["']?)([\w./-]+)\2[ \t]*(?:\#.*)?$)""")
_NAME = r"[\w./-]{1,253}"
_ENTRY = regex(rf"""(?P<key>(?P<pad>\s*(?:[-?]\s+)*)(?:{_NAME}|"{_NAME}"|'{_NAME}')\s*:)(?:$|\s+(?P<value>\S?))""")


def line_masker(path: str, lines: Sequence[str]) -> Callable[[int], str]:
    """A function that gives a line of a file by its number, from 1 on: as it is, or, in a document with Secrets in it,
    the key that it has.

    A document counts as one with Secrets if it may be one: if it can't be read by itself, and does not say plainly
    that it is something else.
    """
    starts = [0, *(number for number, line in enumerate(lines) if number and _DOCUMENT.match(line))]
    ends = [*starts[1:], len(lines)]

    @cache
    def document(index: int) -> Sequence[str]:
        part = lines[starts[index] : ends[index]]
        return list(_masked(part)) if _may_have_values(path, "\n".join(part)) else part

    def line_at(number: int) -> str:
        index = bisect_right(starts, number - 1) - 1
        return document(index)[number - 1 - starts[index]]

    return line_at


def _may_have_values(path: str, text: str) -> bool:
    """Whether a document has, or may have, what a Secret has."""
    if not _MAY_SAY_SECRET.search(text) or _is_something_else(text):
        return False
    report = Report()
    documents = [{"": document.value} for document in read(path, text, report)]
    return bool(report.found) or any(redacted(value) != value for value in documents)


def _is_something_else(text: str) -> bool:
    """Whether a document plainly has one kind, which has no Secrets in it."""
    fields = {(match[1], match[3]) for match in _FIELD.finditer(text)}
    obj = dict(fields)
    if len(fields) != 2 or len(obj) != 2:
        return False
    return "secret" not in obj["kind"].casefold() and not may_hold_secrets(obj)


def _masked(lines: Iterable[str]) -> Iterator[str]:
    """Lines with their keys alone. What is deeper than a key with a value is more of that value, whatever it looks
    like."""
    depth = None
    for line in lines:
        match = _ENTRY.match(line)
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if match is None or depth is not None:
            yield f"{line[:indent]}{MASK}" if line.strip() else line
            continue
        yield f"{match['key']} {MASK}" if match["value"] else match["key"]
        depth = len(match["pad"]) if match["value"] and match["value"] != "#" else None
