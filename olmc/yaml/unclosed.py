"""What still stands open where the YAML parser gave up: brackets, and the text in quotes that it read last."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from ruamel.yaml.events import MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from olmc.yaml.events import PARSE_ERRORS, parse

_BRACKET = re.compile(r"(?:[&!]\S*\s+)*([\[{])")
_CLOSING = {"[": "]", "{": "}"}


class Bracket(NamedTuple):
    """A bracket that has no partner: its line and column, from 0, and the character that would close it."""

    place: tuple[int, int]
    closing: str


class Quoted(NamedTuple):
    """A text in quotes: where it begins and what comes after it, each line and column from 0."""

    begin: tuple[int, int]
    end: tuple[int, int]


class Unclosed(NamedTuple):
    """The innermost open bracket, and the last text if it stood in quotes; both None where there is no such thing."""

    bracket: Bracket | None
    quoted: Quoted | None


def unclosed(text: str, lines: list[str], *, pure: bool = False) -> Unclosed:
    """What stands open where the parser gives up on `text`, whose lines are `lines`."""
    open_starts: list[Any] = []
    last_scalar: list[Any] = []

    def follow(events: Iterable[Any]) -> None:
        open_starts.clear()  # the reader in Python may begin anew where the C reader gave up
        for event in events:
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                open_starts.append(event)
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                open_starts.pop()
            elif isinstance(event, ScalarEvent):
                last_scalar[:] = [event]

    with suppress(*PARSE_ERRORS):
        parse(text, follow, pure=pure)
    brackets = (_bracket(event, lines) for event in reversed(open_starts) if event.flow_style)
    return Unclosed(next(filter(None, brackets), None), _quoted(last_scalar))


def _bracket(event: Any, lines: list[str]) -> Bracket | None:
    """The bracket of a flow collection; a pair in a list, as in [a: b], is a mapping without one."""
    line, column = event.start_mark.line, event.start_mark.column
    match = _BRACKET.match(lines[line], column) if line < len(lines) else None
    return Bracket((line, match.start(1)), _CLOSING[match[1]]) if match else None


def _quoted(last_scalar: list[Any]) -> Quoted | None:
    if not last_scalar or last_scalar[0].style not in ("'", '"'):
        return None
    begin, end = last_scalar[0].start_mark, last_scalar[0].end_mark
    return Quoted((begin.line, begin.column), (end.line, end.column))
