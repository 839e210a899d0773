"""The lines of a file that a finding quotes; those of Secrets have their keys alone."""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.compiler.load.files import is_file, read_bounded, real_path
from olmc.compiler.output.messages import LineOf
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import regex
from olmc.k8s.objects import MASK, may_hold_secrets, redacted
from olmc.k8s.yaml import read
from olmc.k8s.yaml.split import SEPARATOR, is_separator

if TYPE_CHECKING:
    from olmc.review.check.check import CheckResult

# A Secret has the word, or an escape, a tag or an alias that may produce it.
_MAY_SAY_SECRET = regex(r"(?i:secret)|\\|(?:^|[\s,\[{?:-])[!*][\w!<]")
_FIELD = regex(r"""(?m:^(apiVersion|kind):[ \t]+(["']?)([\w./-]+)\2[ \t]*(?:\#.*)?$)""")
_NAME = r"[\w./-]{1,253}"
_ENTRY_KEY = rf"""(?P<key>(?P<pad>\s*(?:[-?]\s+)*)(?:{_NAME}|"{_NAME}"|'{_NAME}')\s*:)"""
_ENTRY = regex(rf"{_ENTRY_KEY}(?:$|\s+(?P<value>\S?))")


def line_masker(path: str, lines: Sequence[str]) -> Callable[[int], str]:
    """A function that gives a line of a file by its number, from 1 on: as it is, or, in a document with Secrets in it,
    the key that it has.

    A document counts as one with Secrets if it may be one: if it can't be read by itself, and does not say plainly
    that it is something else.
    """
    marked = [number for number, line in enumerate(lines) if number and line.startswith(SEPARATOR)]
    # Where Kubernetes may end documents in other places, a line may belong to any of them.
    is_split = all(is_separator(line) for line in lines if line.startswith(SEPARATOR))
    starts = [0, *(marked if is_split else ())]
    ends = [*starts[1:], len(lines)]

    may_have_values = partial(_may_have_values, path) if is_split else _mentions_secrets

    @cache
    def document(index: int) -> Sequence[str]:
        part = lines[starts[index] : ends[index]]
        return list(_masked(part)) if may_have_values("\n".join(part)) else part

    def line_at(number: int) -> str:
        index = bisect_right(starts, number - 1) - 1
        line: str = document(index)[number - 1 - starts[index]]
        return line

    return line_at


def _mentions_secrets(text: str) -> bool:
    return _MAY_SAY_SECRET.search(text) is not None


def _may_have_values(path: str, text: str) -> bool:
    """Return whether a document has, or may have, what a Secret has."""
    if not _mentions_secrets(text) or _is_something_else(text):
        return False
    report = Report()
    documents = [{"": document.value} for document in read(path, text, report)]
    return bool(report.found) or any(redacted(value) != value for value in documents)


def _is_something_else(text: str) -> bool:
    """Return whether a document plainly has one kind, which has no Secrets in it."""
    fields = {(match[1], match[3]) for match in _FIELD.finditer(text)}
    obj = dict(fields)
    if len(fields) != 2 or len(obj) != 2:
        return False
    return "secret" not in obj["kind"].casefold() and not may_hold_secrets(obj)


# These lines say of which object they are, and no value: a line at the top, or in the metadata there.
_VERSION = regex(r"""apiVersion:[ ]+(["']?)(?:[a-z0-9.-]+/)?v\d+(?:(?:alpha|beta)\d+)?\1[ ]*""")
_KIND = regex(r"""kind:[ ]+(["']?)[A-Z][A-Za-z]*\1[ ]*""")
_METADATA = regex(r"metadata:[ ]*")
_OWN_NAME = regex(r"""(?P<pad>[ ]+)(?:name|namespace):[ ]+(["']?)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\2[ ]*""")
# An instruction of a template that only names values, which are elsewhere: it has no text of its own.
_REFERENCE = (
    r"\{\{-?[ ]*(?:(?:else[ ]+)?(?:if|with|range)[ ]+)?\$?\.[A-Za-z_][\w.]*"
    r"(?:[ ]*\|[ ]*[a-z][A-Za-z]*(?:[ ]+\d{1,2})?)*[ ]*-?\}\}"
)
_INSTRUCTION = regex(rf"\s*(?:{_REFERENCE}|\{{\{{-?[ ]*(?:end|else)[ ]*-?\}}\}})\s*")
_REFERRING = regex(rf"""{_ENTRY_KEY}[ ]+(?P<quote>["']?){_REFERENCE}(?P=quote)[ ]*""")


def _masked(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with their keys alone, and lines that show no value. Lines that are deeper than a key with a value
    are part of that value."""
    depth = None
    plain = _lines_of_identity(lines)
    for number, line in enumerate(lines):
        match = _ENTRY.match(line)
        indent = len(line) - len(line.lstrip())
        # An instruction of a template ends no value, wherever it begins.
        if depth is not None and line.strip() and indent <= depth and not line.lstrip().startswith("{{"):
            depth = None
        is_open = _INSTRUCTION.fullmatch(line) is not None
        if match is None or depth is not None:
            yield line if is_open or not line.strip() else f"{line[:indent]}{MASK}"
            continue
        is_open = number in plain or _REFERRING.fullmatch(line) is not None
        key = f"{match['key']} {MASK}" if match["value"] else match["key"]
        yield line if is_open else key
        depth = len(match["pad"]) if match["value"] and match["value"] != "#" else None


def _lines_of_identity(lines: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines with the apiVersion, the kind, the name and the namespace of the object as a whole; no
    kind and no name where there seem to be several."""
    found = {number for number, line in enumerate(lines) if _VERSION.fullmatch(line)}
    kinds = [number for number, line in enumerate(lines) if line.startswith("kind")]
    found |= {number for number in kinds if len(kinds) == 1 and _KIND.fullmatch(lines[number])}
    metadata = [number for number, line in enumerate(lines) if line.startswith("metadata")]
    if len(metadata) != 1 or not _METADATA.fullmatch(lines[metadata[0]]):
        return frozenset(found)
    pad = ""
    for number in range(metadata[0] + 1, len(lines)):
        line = lines[number]
        indent = line[: len(line) - len(line.lstrip())]
        pad = pad or indent
        if line.strip() and not indent:
            break
        match = _OWN_NAME.fullmatch(line)
        found |= {number} if match is not None and match["pad"] == pad else set()
    return frozenset(found)


# The ends of lines in YAML, by which its reader counts; in JSON only the line feed is one.
_YAML_BREAK = regex("[\n\x85\u2028\u2029]")


def _may_be_quoted(root: Path, file: Path) -> bool:
    """Return whether a message may show a line of a file: no link leads to it out of the directory, where any secret
    may be.

    A base may stand beside what is built on it. What is no file may have no end.
    """
    there, base = real_path(file), real_path(root)
    return is_file(there) and (
        there.is_relative_to(base) or there == Path(os.path.normpath(base / file.relative_to(root)))
    )


def line_reader(results: Iterable[CheckResult], *, show_secrets: bool = False) -> LineOf:
    """A function that gives the line of a place, read from the file below the directory that was checked; what is in
    Secrets is masked."""
    roots = [(result.shown_as, result.root) for result in results]

    @cache
    def lines(path: str) -> list[str]:
        for shown_as, root in roots:
            file = root / posixpath.relpath(path, shown_as or ".")
            try:
                if not _may_be_quoted(root, file):
                    continue
                text = read_bounded(file).decode("utf-8-sig")
            except (OSError, ValueError):
                continue
            return text.split("\n") if path.endswith(".json") else _YAML_BREAK.split(text)
        return []

    @cache
    def masked(path: str) -> Callable[[int], str]:
        return line_masker(path, lines(path))

    def line_of(place: Location) -> str | None:
        of_file = lines(place.path)
        if not 0 < place.line <= len(of_file):
            return None
        return of_file[place.line - 1] if show_secrets else masked(place.path)(place.line)

    return line_of
