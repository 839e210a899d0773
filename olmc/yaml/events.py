"""The parser: YAML text to events, by ruamel.yaml's C reader where it is installed; and what documents begin with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.parser import Parser
from ruamel.yaml.scanner import Scanner

from olmc.lean import NamedTuple, regex

BYTE_ORDER_MARK = "\ufeff"

LINE_BREAK = regex("\r\n|[\n\r\x85\u2028\u2029]")
"""What the parser counts as the end of a line."""

PARSE_ERRORS = (YAMLError, UnicodeEncodeError)
"""What iterating events raises for a text that is not YAML (the second: it holds a lone surrogate)."""

# The C reader is libyaml 0.1, which does not know that go-yaml takes [http://host:80] for a text.
_COLON_IN_FLOW = "found unexpected ':'"
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


def c_reader_active() -> bool:
    """Whether the C reader is installed; without it, reading is 20 to 50 times slower."""
    return YAML(typ="safe", pure=False).Parser is not Parser


class _Scanner(Scanner):
    """The scanner in Python, taught to take tabs for white space where the C reader and go-yaml do."""

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


_BETWEEN_DOCUMENTS = regex(r"^---(?=\s|$)", re.MULTILINE)
_AT_MARGIN = regex(r"\n([^ \n].*)")
_NO_KEYS = ("#", "- ", "-\n")
_START = regex(r"(?: *\n|#.*\n)*(?=[A-Za-z])")
_KEY = regex(r"([A-Za-z][A-Za-z0-9]*):(?: .*)?")
_ODD_BREAK = regex("[\x85\u2028\u2029\ufeff]")
_NAME = r"[^\s\"'&*!|>{\[]\S*"
_HEAD = regex(
    r"\s*(?:#.*\n\s*)*apiVersion: (?P<api_version>[\w./-]+)\nkind: (?P<kind>\w+)\nmetadata:\n"
    rf"(?P<metadata>)  name: (?P<name>{_NAME})\n(?:  namespace: (?P<namespace>{_NAME})\n)?",
    re.ASCII,
)
_AFTER_METADATA = regex(r"\n(?=[^ \n#])")
_IN_METADATA = regex(r"^  ([^ :\n#][^:\n]*)", re.MULTILINE)


class Head(NamedTuple):
    """How a document of an object begins; `namespace` is None where its metadata have none."""

    api_version: str
    kind: str
    name: str
    namespace: str | None


def documents_in(text: str) -> list[str]:
    """The documents of a YAML stream, without those that are empty."""
    return [part for part in _BETWEEN_DOCUMENTS.split(text) if part and not part.isspace()]


def head_of(document: str) -> Head | None:
    """How a document begins that is written as olmc writes objects, None for any other.

    No key at its top or in its metadata stands there twice, so that what comes later says nothing else.
    """
    match = _HEAD.match(document)
    if match is None or plain_keys(document) is None:
        return None
    end = _AFTER_METADATA.search(document, match.end())
    keys = _IN_METADATA.findall(document, match.start("metadata"), end.start() + 1 if end else len(document))
    expected = {"name", "namespace"} if match["namespace"] else {"name"}
    if len(set(keys)) < len(keys) or not expected.issuperset({"name", "namespace"}.intersection(keys)):
        return None
    return Head(match["api_version"], match["kind"], match["name"], match["namespace"])


def plain_keys(document: str) -> tuple[str, ...] | None:
    """The keys at the top of a document, None unless all of them stand plainly at the margin, each of them once.

    Whatever stands at the margin has to be such a key, a comment or an item of a list: so no quoted or merged key, no
    flow and no second document can say anything else. Of a value that goes on at the margin, against all custom, a line
    may be taken for a key as well; none is missing.
    """
    is_odd = "\r" in document or (not document.isascii() and _ODD_BREAK.search(document))
    if is_odd or _START.match(document) is None:
        return None
    lines = _AT_MARGIN.findall(f"\n{document}")
    matches = [_KEY.fullmatch(line) for line in lines if not f"{line}\n".startswith(_NO_KEYS)]
    keys = tuple(match[1] for match in matches if match is not None)
    return keys if keys and len(keys) == len(matches) == len(set(keys)) else None
