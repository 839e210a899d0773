"""How documents begin, determined from their text without reading them."""

from __future__ import annotations

import re

from olmc.k8s.lean import NamedTuple, regex

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
    """How a document of an object begins; `namespace` is None where its metadata have none."""

    api_version: str
    kind: str
    name: str
    namespace: str | None


def head_of(document: str) -> Head | None:
    """How a document begins that is written as olmc writes objects, None for any other.

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
    """The keys at the top of a document, None unless all of them stand plainly at the margin, each of them once.

    Whatever stands at the margin has to be such a key, a comment or an item of a list: so no quoted or merged key, no
    flow and no second document can say anything else. Of a value that goes on at the margin, against all custom, a line
    may be taken for a key as well; none is missing.
    """
    is_odd = "\r" in document or (not document.isascii() and _ODD_BREAK.search(document))
    if is_odd or _START.match(document) is None:
        return None
    lines = _AT_MARGIN.findall(f"\n{document}")
    is_plain = lines and min(map(len, lines)) > len("\n:") and len(lines) == len(set(lines))
    return tuple(line[1:-1] for line in lines) if is_plain else None
