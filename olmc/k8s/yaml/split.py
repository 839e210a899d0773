"""Split a stream into documents as the readers of Kubernetes do.

`kubectl`, Argo CD, OLM and opm split with `YAMLReader` of k8s.io/apimachinery before they read YAML
(https://github.com/kubernetes/apimachinery/blob/v0.34.0/pkg/util/yaml/decoder.go), kustomize splits with the same rule:
a line that begins with `---` ends a document if only white space or a comment follows. White space is that of Unicode.
Any other text there is an error. They read no more than one document of each part. YAML has other ends of documents,
and lines that begin with `---` and end none. olmc accepts only streams that both split alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.document import LINE_BREAK

SEPARATOR = "---"

YAML_SPACE = " \t\r\n\x85\u2028\u2029"


FOLLOWED = "Kubernetes refuses text behind `---`"


def is_separator(line: str) -> bool:
    """Return whether Kubernetes and YAML both end a document at a line, and take nothing of the line for content."""
    if not line.startswith(SEPARATOR):
        return False
    rest = line[len(SEPARATOR) :]
    comment = rest.strip(YAML_SPACE)
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


# A key, or the first sign of what is neither one nor a comment nor an item of a list. Most lines are indented, and the
# longer it takes to see that, the longer everything takes.
_AT_MARGIN = regex(r"\n(?:[A-Za-z][A-Za-z0-9]*:(?![^ \n])|[^ \n#-]|-(?![ \n]|\Z))")
_START = regex(r"(?: *\n|#.*\n)*(?=[A-Za-z])")
_ODD_BREAK = regex("[\x85\u2028\u2029\ufeff]")
_NAME = r"[^\s\"'&*!|>{\[]\S*"
_HEAD = regex(
    r"\s*(?:#.*\n\s*)*apiVersion: (?P<api_version>[\w./-]+)\nkind: (?P<kind>\w+)\nmetadata:\n"
    rf"(?P<metadata>)  name: (?P<name>{_NAME})\n(?:  namespace: (?P<namespace>{_NAME})\n)?",
    re.ASCII,
)
_AFTER_METADATA = regex(r"\n(?=[^ \n#])")
_IN_METADATA = regex(r"\n  ([^ :\n#][^:\n]*)")


class Head(NamedTuple):
    """The start of a document of an object; `namespace` is None where its metadata have none."""

    api_version: str
    kind: str
    name: str
    namespace: str | None


def head_of(document: str) -> Head | None:
    """Return how a document begins that is written as olmc writes objects, None for any other.

    No key at its top or in its metadata stands there twice, so that what comes later says nothing else.
    """
    match = _HEAD.match(document)
    if match is None or plain_keys(document) is None:
        return None
    end = _AFTER_METADATA.search(document, match.end())
    # From the end of the line before: where lines begin is looked for at every character.
    keys = _IN_METADATA.findall(document, match.start("metadata") - 1, end.start() + 1 if end else len(document))
    expected = {"name", "namespace"} if match["namespace"] else {"name"}
    if len(set(keys)) < len(keys) or not expected.issuperset({"name", "namespace"}.intersection(keys)):
        return None
    return Head(match["api_version"], match["kind"], match["name"], match["namespace"])


def plain_keys(document: str) -> tuple[str, ...] | None:
    """Return the keys at the top of a document, None unless all of them are plain, at the margin, and unique.

    Each line at the margin has to be such a key, a comment or an item of a list. So the document has no quoted or
    merged key, no flow and no second document. A line of a value that continues at the margin may count as a key, too;
    no key is missing.
    """
    is_odd = "\r" in document or (not document.isascii() and _ODD_BREAK.search(document))
    if is_odd or _START.match(document) is None:
        return None
    lines = _AT_MARGIN.findall(f"\n{document}")
    is_plain = lines and min(map(len, lines)) > len("\n:") and len(lines) == len(set(lines))
    return tuple(line[1:-1] for line in lines) if is_plain else None
