"""Describe the problem of a text that is no YAML, with its place, and the open brackets and quotes in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner, ScannerError

from olmc.k8s.diagnostics import DecodeFailure, Diagnostic, Location, Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.document import BYTE_ORDER_MARK, LINE_BREAK
from olmc.k8s.yaml.rules import SPLIT, YAML_SYNTAX
from olmc.k8s.yaml.scalars import replace_surrogates
from olmc.k8s.yaml.split import FOLLOWED, SEPARATOR, YAML_SPACE, is_separator, separators

# The parser: YAML text to events, by ruamel.yaml's C reader where it is installed.

PARSE_ERRORS = (YAMLError, UnicodeEncodeError)
"""The errors of iterating events for a text that is not YAML (the second: it has a lone surrogate)."""

# The C reader is libyaml 0.1, which does not know that go-yaml takes [http://host:80] for a text.
_COLON_IN_FLOW = "found unexpected ':'"
_BAD_ESCAPE = "found invalid Unicode character escape code"
_BLANKS = " \t"
_BREAKS = "\r\n\x85\u2028\u2029"

Result = TypeVar("Result")


def parse(text: str, use: Callable[[Iterator[Any]], Result], *, pure: bool = False) -> Result:
    """Return the result of `use` for the events (ruamel.yaml.events) of a YAML stream.

    `pure` asks for the reader in Python. It also replaces the C reader, from the beginning, where that rejects a text
    that Kubernetes reads. Raises one of PARSE_ERRORS where the text breaks the grammar.
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
        yaml.Reader = _Reader
    return iter(yaml.parse(text))


class _Reader(Reader):
    """The reader in Python, which counts the line breaks of YAML 1.1 as the C reader and go-yaml do."""

    forward = Reader.forward_1_1


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
    """Return the folded line breaks of several runs; None where a run meets the end of the document."""
    breaks = 0
    for run in folded:
        if run is None:
            return None
        breaks += 1 if run == [" "] else len(run) + 1
    return [" "] if breaks == 1 else ["\n"] * (breaks - 1)


_BRACKET = regex(r"(?:[&!]\S*\s+)*([\[{])")
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
    """Return the open brackets and quotes where the parser stops in `text`, whose lines are `lines`."""
    open_starts: list[Any] = []
    last_scalar: list[Any] = []

    def follow(events: Iterable[Any]) -> None:
        open_starts.clear()  # the reader in Python may begin again where the C reader gave up
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


_REFUSED = regex(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAB_INDENT = regex(r" *\t")
_CONFLICT = regex(r"(?:<{7}|={7}|>{7}|\|{7})(?:\s|$)")
_NO_SPACE = regex(r"\s*(?:- +)*[\w./-]+:[^\s:/]")
_END_OF_DOCUMENT = regex(r"(?:---|\.\.\.)(?:\s|$)")
_EXPECTED_IN_BRACKETS = regex(r"expected ',' or '([\]}])'")
_QUOTED_VALUE = regex(r"""[^"'#]*[:-] +["']""")
_LONGEST_KEY = 1024
_QUOTE_HINT = "Put the whole value in single quotes, and write each single quote inside of it twice."
_INDENT_HINT = "Give the lines that belong together the same indentation, and what belongs below them a deeper one."


class _Explanation(NamedTuple):
    """The text, and the line and column, from 0, if it is another place than where the parser stopped."""

    problem: str
    hint: str
    place: tuple[int, int] | None = None


class _ParserError(NamedTuple):
    """The parser's text, the place where it stopped, and the start of the construct that it was reading; all from 0."""

    problem: str
    context: str
    lines: list[str]
    line: int
    column: int
    began: tuple[int, int]
    unclosed: Unclosed

    def at_the_end(self) -> bool:
        """Return whether the parser came to the end of the document, so that what it misses is missing everywhere."""
        rest = [self.text(self.line)[self.column :], *self.lines[self.line + 1 :]]
        marker = self.column == 0 and _END_OF_DOCUMENT.match(rest[0]) is not None
        return marker or not any(line.strip() for line in rest)

    def text(self, line: int) -> str:
        return self.lines[line] if 0 <= line < len(self.lines) else ""


def syntax_error(path: str, text: str, error: Exception, *, pure: bool = False) -> Diagnostic:
    """The diagnostic for an error of PARSE_ERRORS that parsing `text` raised, with the same `pure`."""
    lines = LINE_BREAK.split(text)
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return _refused_character(path, text)
    context: Any = getattr(error, "context_mark", None) or mark
    problem = str(getattr(error, "problem", "") or "")
    while_reading = str(getattr(error, "context", "") or "")
    begin = (context.line, context.column)
    still_open = unclosed(text, lines, pure=pure)
    finding = _explain(_ParserError(problem, while_reading, lines, mark.line, mark.column, begin, still_open))
    line, column = finding.place or _within(lines, mark.line, mark.column)
    return YAML_SYNTAX.finding(Location(path, line + 1, column + 1), problem=finding.problem, hint=finding.hint)


def add_disagreement(path: str, text: str, report: Report, *, pure: bool = False) -> bool:
    """Return whether Kubernetes and YAML split a stream of YAML differently, which is reported (OLMC112)."""
    found = find_disagreement(text, pure=pure)
    if found is not None:
        before = LINE_BREAK.split(text[: found.offset])
        place = Location(path, len(before), len(before[-1]) + 1)
        diagnostic = SPLIT.finding(place, problem=found.problem, hint=found.hint)
        report.add(diagnostic.caused_by(DecodeFailure(diagnostic.message)))
    return found is not None


def _within(lines: list[str], line: int, column: int) -> tuple[int, int]:
    """A place, or for one behind the last line the end of that line, where editors can show it."""
    last = len(lines) - 1
    if last > 0 and not lines[last]:
        last -= 1
    return (line, column) if line <= last else (last, len(lines[last]))


def _refused_character(path: str, text: str) -> Diagnostic:
    match = _REFUSED.search(text)
    if match is None:
        return YAML_SYNTAX.finding(Location(path), problem="the reader gave up", hint="Save the file as plain UTF-8.")
    before = LINE_BREAK.split(text[: match.start()])
    return YAML_SYNTAX.finding(
        Location(path, len(before), len(before[-1]) + 1),
        problem=f"the character U+{ord(match[0]):04X} is not allowed",
        hint="Delete the character; inside of double quotes it can be written as an escape such as \\x07.",
    )


def _explain(error: _ParserError) -> _Explanation:
    # The parser's own words come last: they are about the place where it gave up, and most mistakes lie before that.
    for explanation in (_from_the_lines, _from_what_is_open, _from_the_scanner, _from_the_parser):
        finding = explanation(error)
        if finding:
            return finding
    return _Explanation(f"{error.context}: {error.problem}".removeprefix(": "), "Check this line and the one before.")


def _from_the_lines(error: _ParserError) -> _Explanation | None:
    """Explain mistakes that the lines themselves show, independent of the parser's message."""
    here = error.text(error.line)
    suspects = (error.began[0], error.line - 1)
    for line in (*suspects, error.line):
        if _CONFLICT.match(error.text(line)):
            hint = "Resolve the conflict and delete the markers."
            return _Explanation("a marker of a merge conflict", hint, (line, 0))
    tab = _TAB_INDENT.match(here)
    if tab and error.column < tab.end():
        return _Explanation("a tab in the indentation", "Indent with spaces: YAML does not allow tabs there.")
    if "expected ':'" in error.problem or "mapping values" in error.problem:
        for line in suspects:
            match = _NO_SPACE.match(error.text(line))
            if match:
                hint = "Write a space after the colon: `key: value`."
                return _Explanation("no space after the colon of a key", hint, (line, match.end() - 1))
    return None


def _from_what_is_open(error: _ParserError) -> _Explanation | None:
    """Explain a bracket or a quote without an end. The place to look at is its start."""
    if "found unexpected end of stream" in error.problem or "found unexpected document" in error.problem:
        return _Explanation("the quote that opens here is never closed", "Close the quote.", error.began)
    bracket, quoted = error.unclosed
    in_brackets = _EXPECTED_IN_BRACKETS.search(error.problem) or "node content" in error.problem
    if bracket and in_brackets and error.at_the_end():
        return _Explanation(
            "the bracket that opens here is never closed",
            f"Close the bracket with {bracket.closing}, or put the whole value in quotes if it is a text.",
            bracket.place,
        )
    if quoted and quoted.begin[0] < quoted.end[0] == error.line:
        between = error.text(error.line)[quoted.end[1] : error.column]
        if quoted.end[1] <= error.column and not between.strip():
            return _Explanation(
                f"the quote that opens here is not closed before line {error.line + 1}, and text follows there",
                "Close the quote where the value ends.",
                quoted.begin,
            )
    return None


def _from_the_scanner(error: _ParserError) -> _Explanation | None:
    problem, here = error.problem, error.text(error.line)
    if "mapping values are not allowed" in problem:
        if ": " in here[: error.column] or here.startswith("--- "):
            return _Explanation("a second colon followed by a space in one line", _QUOTE_HINT)
        if error.column > _LONGEST_KEY:
            return _Explanation(
                "a key of more than 1024 characters", "Write it as `? key`, the value below as `: value`."
            )
        return _Explanation("a key indented below a line that already has a value", _INDENT_HINT)
    if "expected ':'" in problem:
        hint = "Write `key: value` or `- item`, or indent the line so that it belongs to the text above."
        return _Explanation("neither a key nor an item of a list", hint, error.began)
    if "cannot start any token" in problem:
        char = here[error.column : error.column + 1]
        if char == "\t":
            return _Explanation("a tab where only spaces are allowed", "Write a space instead of the tab.")
        return _Explanation(f"a plain value can't begin with {char}", _QUOTE_HINT)
    if "tab character" in problem:
        return _Explanation("a tab in the indentation", "Indent with spaces: YAML does not allow tabs there.")
    if "unknown escape character" in problem:
        hint = "Write a backslash twice (\\\\) inside of double quotes, or use single quotes."
        return _Explanation("an unknown escape sequence in double quotes", hint)
    if "alphabetic or numeric" in problem:
        what = "alias (*)" if "alias" in error.context else "anchor (&)"
        return _Explanation(f"an {what} without a name", _QUOTE_HINT)
    return None


def _from_the_parser(error: _ParserError) -> _Explanation | None:
    problem, began = error.problem, error.began[0] + 1
    in_brackets = _EXPECTED_IN_BRACKETS.search(problem)
    if in_brackets:
        bracket = in_brackets[1]
        hint = f"Close the bracket with {bracket}, or write the comma that is missing."
        return _Explanation(f"the bracket that opens in line {began} is not closed here, nor is there a comma", hint)
    if "<document start>" in problem:
        hint = f"{_INDENT_HINT} Begin another document with ---. (Kubernetes silently ignores this text.)"
        return _Explanation("text after the end of the document", hint)
    if "block mapping" in error.context or "block collection" in error.context:
        before = error.text(error.line)[: error.column]
        if before.rstrip().endswith("}"):
            hint = "Put the whole value in quotes: a plain value can't begin with a brace."
            return _Explanation("text after a closing brace", hint)
        if _QUOTED_VALUE.match(before):
            return _Explanation("text after a closing quote", f"Was the quote meant as part of the text? {_QUOTE_HINT}")
        kind = "mapping" if "mapping" in error.context else "list"
        return _Explanation(f"this does not belong to the {kind} that begins in line {began}", _INDENT_HINT)
    return _instead_of_a_value(error) if "node content" in problem else None


def _instead_of_a_value(error: _ParserError) -> _Explanation | None:
    char = error.text(error.line)[error.column : error.column + 1]
    if char == "," and error.unclosed.bracket:
        return _Explanation("a comma without a value before it", "Delete the comma, or write the value.")
    if char == ",":
        return _Explanation("a plain value can't begin with ,", _QUOTE_HINT)
    if char in ("]", "}") and error.unclosed.bracket:
        closing = error.unclosed.bracket.closing
        line = error.unclosed.bracket.place[0] + 1
        return _Explanation(
            f"a bracket {char} where the one that opens in line {line} is still open",
            f"Close that one with {closing} first, or delete this one.",
        )
    if char in ("]", "}"):
        return _Explanation("a closing bracket without an opening one", _QUOTE_HINT)
    return None


def parser_problem(text: str, *, at_problem: bool = False) -> str:
    """Return go-yaml's error for a text that it can't parse, "" for a text that the parser accepts.

    Its version 3 names the line where the wrong construct begins; `at_problem` is for version 2, which names the line
    where it stops. See fail() in https://github.com/go-yaml/yaml/blob/v2.4.0/decode.go#L60.
    """
    try:
        parse(text, lambda events: [*events])
    except PARSE_ERRORS as error:
        # go-yaml numbers lines from 1 where the scanner gives up, and from 0 where the parser does.
        counted_from = 1 if type(error).__name__ == "ScannerError" else 0
        marks = [getattr(error, "context_mark", None), getattr(error, "problem_mark", None)]
        if at_problem:
            marks.reverse()
        line = next((mark.line for mark in marks if mark is not None and mark.line), None)
        where = f"line {line + counted_from}: " if line is not None else ""
        return f"yaml: {where}{getattr(error, 'problem', None) or error}"
    return ""


_GO_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501

# Where YAML may end a document, or where a line begins with more than its text, although Kubernetes sees no line there.
_HIDDEN = regex("(?:^|[\n\r\x85\u2028\u2029])(?:%|\ufeff|[.]{3})|(?:\r(?!\n)|[\x85\u2028\u2029])---")
_MARK_LINES = regex("(?:^|[\n\r\x85\u2028\u2029])\ufeff")


class Disagreement(NamedTuple):
    """A place at which Kubernetes and YAML split a stream differently, as an offset, and how to solve it."""

    offset: int
    problem: str
    hint: str


_OWN_LINE = "Write `---` alone on the line to end the document. Indent or rename the text if it belongs to a value."
_ENDS = "Kubernetes ends the document at this line, and YAML does not"
_IGNORED = "Kubernetes ignores the rest of this line, and YAML does not"
_CONTINUES = "YAML ends the document here, and Kubernetes ignores what follows"
_BEHIND_END = "Kubernetes ignores the text behind the end of a document"
_LINE_FEED = "End every line of the file with a line feed (LF)."
_DIRECTIVE = "Kubernetes takes a line that begins with % for a document of its own"
_REMOVE_LINE = "Remove the line. Kubernetes reads YAML 1.1 without it."
_MARKED = "a byte order mark (U+FEFF) begins this line, which YAML and Kubernetes read differently"


def find_disagreement(text: str, *, pure: bool = False) -> Disagreement | None:
    """The first place at which Kubernetes and YAML split a stream of YAML differently, None if they agree.

    The text stands without the byte order mark that it may begin with; `pure` is that of `read`. Places that only the
    parser can determine are left out if it can't read the text: it reports them.
    """
    begin = 0
    for at in separators(text):
        end = text.find("\n", at) + 1 or len(text)
        line = text[at:end]
        if not is_separator(line):
            found = _of_line(at, line, is_first=at == begin)
            if found is not None:
                return found
        # Of two such lines that follow each other, Kubernetes takes the second for a line of the next document.
        begin = end if at != begin else begin
    if _HIDDEN.search(text) is None:
        return None
    marked = _MARK_LINES.search(text)
    if marked is not None:
        return Disagreement(marked.end() - len(BYTE_ORDER_MARK), _MARKED, "Delete the character.")
    return _find_by_events(text, pure)


def _of_line(at: int, line: str, *, is_first: bool) -> Disagreement | None:
    """The disagreement about a line that begins with `---`, which may be the first of its document."""
    rest = line[len(SEPARATOR) :].strip(_GO_SPACE)
    if rest and rest[0] != "#":
        return Disagreement(at, FOLLOWED, _OWN_LINE)
    if is_first:
        return None
    # YAML ends a comment at a line break that does not end a line for Kubernetes.
    if line[len(SEPARATOR)] in YAML_SPACE and LINE_BREAK.search(rest) is not None:
        return Disagreement(at, _IGNORED, _LINE_FEED)
    return Disagreement(at, _ENDS, _OWN_LINE)


def _find_by_events(text: str, pure: bool) -> Disagreement | None:
    borders = frozenset(separators(text))

    def find(starts: Iterable[Any]) -> Disagreement | None:
        for number, start in enumerate(starts):
            if start.version not in (None, (1, 1)):
                return None  # which has a rule of its own
            if start.version is not None or start.tags:
                offset = max(text.rfind(f"{end}%", 0, start.start_mark.index + 1) for end in _BREAKS) + 1
                return Disagreement(offset, _DIRECTIVE, _REMOVE_LINE)
            if number and not start.explicit:
                return Disagreement(start.start_mark.index, _BEHIND_END, "Begin another document with `---`.")
            if start.explicit and start.start_mark.index not in borders:
                return Disagreement(start.start_mark.index, _CONTINUES, _LINE_FEED)
        return None

    try:
        return parse(text, lambda events: find(each for each in events if type(each) is DocumentStartEvent), pure=pure)
    except PARSE_ERRORS:
        return None
