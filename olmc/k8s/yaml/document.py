"""The results of the readers, and their limits for untrusted input."""

from __future__ import annotations

from typing import Any

from olmc.k8s.diagnostics import Report, Source
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
