"""The results of the readers, their limits for untrusted input, and the places of their values.

`places` is imported when the first place is asked for: most runs ask for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olmc.k8s.diagnostics import Location, Place, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import DOCUMENTS, KEYS
from olmc.k8s.yaml.rules import too_large

BYTE_ORDER_MARK = "\ufeff"

LINE_BREAK = regex("\r\n|[\n\r\x85\u2028\u2029]")
"""The texts that the parser counts as the end of a line."""

MAX_DEPTH = 200
"""The largest depth of nested lists and mappings. The deepest real CRDs have some 60 levels."""


class Document(NamedTuple):
    """One document of a file: its value, made of JSON's types, and where it comes from."""

    value: Any
    source: Source


# The limits of a text, checked before it is read: reading it is the cost.

_NEXT_VALUE = regex(r"[}\]]\s*[{\[]")


def exceeds_limits(path: str, text: str, report: Report, *, is_json: bool) -> bool:
    """Return whether there are more documents or keys in a text than olmc reads, which is reported.

    Of YAML these are counted by what may be one: marks of documents, and colons with a blank behind them.
    """
    if is_json:
        # Only at the top do values follow each other without a comma.
        least = text.count("}") + text.count("]")
        counts = [(DOCUMENTS, 1 + sum(1 for _ in _NEXT_VALUE.finditer(text)) if least > DOCUMENTS.most else 0)]
    else:
        # Every one of them takes two characters, so that most texts need no count.
        many = len(text) >= 2 * min(DOCUMENTS.most, KEYS.most)
        counts = [(DOCUMENTS, 1 + text.count("\n---")), (KEYS, text.count(": ") + text.count(":\n"))] if many else []
    for limit, number in counts:
        if number > limit.most:
            report.add(too_large(path, limit, number))
            return True
    return False


def locate(source: Source, keys: Sequence[str | int], *, of_key: bool = False) -> Location:
    """The place of the value at a path of keys (str) and indices (int) in a document, or with `of_key` of its key.

    Keys are as `read` gives them, below the prefix of the source. Of a key that stands twice, the last counts, as in
    `read`. Where the path ends early, it is the place of what there is of it; for a missing document, the file.
    """
    from olmc.k8s.yaml.line_places import find_by_lines

    path = (*source.prefix, *keys)
    place = find_by_lines(source, path, of_key=of_key)
    if place is not None:
        return place
    from olmc.k8s.yaml.places import find  # with the parser, which most texts do without

    return find(source, path, of_key=of_key)


def at(source: Source | None, *keys: str | int) -> Location | None:
    """As `locate`, and None for what comes from no document."""
    return locate(source, keys) if source is not None else None


def located(place: Place | Location | None) -> Location | None:
    """The line and column of a place that may have been found before."""
    return locate(place.source, place.keys) if isinstance(place, Place) else place
