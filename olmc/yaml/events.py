"""The parser: YAML text to events, by ruamel.yaml's C reader where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.parser import Parser
from ruamel.yaml.scanner import Scanner, ScannerError

from olmc.yaml.scalars import replace_surrogates

PARSE_ERRORS = (YAMLError, UnicodeEncodeError)
"""What iterating events raises for a text that is not YAML (the second: it holds a lone surrogate)."""

# The C reader is libyaml 0.1, which does not know that go-yaml takes [http://host:80] for a text.
_COLON_IN_FLOW = "found unexpected ':'"
_BAD_ESCAPE = "found invalid Unicode character escape code"
_BLANKS = " \t"
_BREAKS = "\r\n\x85\u2028\u2029"

Result = TypeVar("Result")


def parse(text: str, use: Callable[[Iterator[Any]], Result], *, pure: bool = False) -> Result:
    """What `use` makes of the events (ruamel.yaml.events) of a YAML stream.

    `pure` asks for the reader in Python, which also steps in, from the beginning, where the C reader refuses
    what Kubernetes reads. Raises one of PARSE_ERRORS where the text breaks the grammar.
    """
    try:
        return use(_events(text, pure))
    except YAMLError as error:
        if getattr(error, "problem", None) != _COLON_IN_FLOW:
            raise
    return use(_events(text, True))


def _events(text: str, pure: bool) -> Iterator[Any]:
    yaml = YAML(typ="safe", pure=pure)
    # The C reader knows YAML 1.1 only, as go-yaml v2 does; the one in Python would read 1.2.
    if yaml.Parser is Parser:
        yaml.version = (1, 1)
        yaml.Scanner = _Scanner
    return iter(yaml.parse(text))


class _Scanner(Scanner):
    """The scanner in Python, taught to take tabs for white space where the C reader and go-yaml do, and to refuse
    the escapes that they refuse: of surrogates, and of what is beyond Unicode."""

    def scan_to_next_token(self) -> Any:
        super().scan_to_next_token()
        # As in C: a tab may not stand where a key could begin, for it would be indentation.
        while self.reader.peek() == "\t" and not self.allow_simple_key:
            self._skip_blanks()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: Any, start_mark: Any) -> Any:
        blanks = self._blanks()
        if "\t" in blanks:
            self.reader.forward(len(blanks))
            if self.reader.peek() not in _BREAKS:
                return [blanks]
        spaces = super().scan_plain_spaces(indent, start_mark)
        while spaces and self.reader.peek() == "\t" and self.reader.column >= indent:
            self._skip_blanks()
            if self.reader.peek() in _BREAKS:
                spaces = _join_folded(spaces, super().scan_plain_spaces(indent, start_mark))
        return spaces

    def scan_flow_scalar(self, style: Any) -> Any:
        start = self.reader.get_mark()
        try:
            token = super().scan_flow_scalar(style)
        except (ValueError, OverflowError):  # chr() of a number that is no character's
            token = None
        if token is None or replace_surrogates(token.value) != token.value:
            raise ScannerError("while parsing a quoted scalar", start, _BAD_ESCAPE, start)
        return token

    def _blanks(self) -> str:
        length = 0
        while self.reader.peek(length) in _BLANKS:
            length += 1
        return str(self.reader.prefix(length))

    def _skip_blanks(self) -> None:
        self.reader.forward(len(self._blanks()))


def _join_folded(*folded: list[str] | None) -> list[str] | None:
    """What the line breaks of several runs fold to; None where a run meets the end of the document."""
    breaks = 0
    for run in folded:
        if run is None:
            return None
        breaks += 1 if run == [" "] else len(run) + 1
    return [" "] if breaks == 1 else ["\n"] * (breaks - 1)
