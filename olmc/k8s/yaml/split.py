"""Where a stream ends one document and begins the next: as the readers of Kubernetes split it.

`kubectl`, Argo CD, OLM and opm split with `YAMLReader` of k8s.io/apimachinery before they read YAML
(https://github.com/kubernetes/apimachinery/blob/v0.34.0/pkg/util/yaml/decoder.go), kustomize splits with the same rule:
a line that begins with `---` ends a document if nothing but white space or a comment follows. White space is that of
Unicode. Any other text there is an error. They read no more than one document of each part. YAML knows other ends, and
it knows lines that begin with `---` and end nothing. olmc accepts only streams that both split alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.document import BYTE_ORDER_MARK, LINE_BREAK

SEPARATOR = "---"

_GO_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
_BREAKS = "\r\n\x85\u2028\u2029"
_YAML_SPACE = f" \t{_BREAKS}"

# Where YAML may end a document, or where a line begins with more than its text, although Kubernetes sees no line there.
_HIDDEN = regex("(?:^|[\n\r\x85\u2028\u2029])(?:%|\ufeff|[.]{3})|(?:\r(?!\n)|[\x85\u2028\u2029])---")
_MARK_LINES = regex("(?:^|[\n\r\x85\u2028\u2029])\ufeff")


class Disagreement(NamedTuple):
    """A place at which Kubernetes and YAML split a stream differently, as an offset, and how to solve it."""

    offset: int
    problem: str
    hint: str


_OWN_LINE = "Write `---` alone on the line to end the document. Indent or rename the text if it belongs to a value."
FOLLOWED = "Kubernetes refuses text behind `---`"
_ENDS = "Kubernetes ends the document at this line, and YAML does not"
_IGNORED = "Kubernetes ignores the rest of this line, and YAML does not"
_CONTINUES = "YAML ends the document here, and Kubernetes ignores what follows"
_BEHIND_END = "Kubernetes ignores the text behind the end of a document"
_LINE_FEED = "End every line of the file with a line feed (LF)."
_DIRECTIVE = "Kubernetes takes a line that begins with % for a document of its own"
_REMOVE_LINE = "Remove the line. Kubernetes reads YAML 1.1 without it."
_MARKED = "a byte order mark (U+FEFF) begins this line, which YAML and Kubernetes read differently"


def is_separator(line: str) -> bool:
    """Whether Kubernetes and YAML both end a document at a line, and take nothing of the line for content."""
    if not line.startswith(SEPARATOR):
        return False
    rest = line[len(SEPARATOR) :]
    comment = rest.strip(_YAML_SPACE)
    if not comment:
        return True
    return comment[0] == "#" and rest[0] != "#" and LINE_BREAK.search(comment) is None


def separators(text: str) -> Iterator[int]:
    """The offsets of the lines of a stream that begin with `---`."""
    at = 0 if text.startswith(SEPARATOR) else text.find("\n---") + 1 or -1
    while at >= 0:
        yield at
        at = text.find("\n---", at) + 1 or -1


def split_documents(text: str) -> list[str] | None:
    """The documents of a YAML stream, without those that are empty and without the line of `---` before each; None if
    Kubernetes and YAML split the stream differently."""
    first, *others = f"\n{text}".split("\n---")
    if not all(part[:1] == "\n" or is_separator(f"---{_first_line(part)}") for part in others):
        return None
    parts = [f"{part}\n" for part in (first[1:], *(part.partition("\n")[2] for part in others))]
    parts[-1] = parts[-1][:-1]
    return [part for part in parts if part and not part.isspace()]


def _first_line(text: str) -> str:
    return text[: text.find("\n") + 1] or text


def parts(text: str) -> Iterator[str]:
    """The texts of which Kubernetes reads one document each, be they empty; it may refuse the lines between them."""
    begin = 0
    for at in separators(text):
        # A part may begin with a line of `---`.
        if at != begin:
            yield text[begin:at]
            begin = text.find("\n", at) + 1 or len(text)
    yield text[begin:]


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
    if line[len(SEPARATOR)] in _YAML_SPACE and LINE_BREAK.search(rest) is not None:
        return Disagreement(at, _IGNORED, _LINE_FEED)
    return Disagreement(at, _ENDS, _OWN_LINE)


def _find_by_events(text: str, pure: bool) -> Disagreement | None:
    # With the parser, which hardly any stream needs.
    from ruamel.yaml.events import DocumentStartEvent

    from olmc.k8s.yaml.problems import PARSE_ERRORS, parse

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
