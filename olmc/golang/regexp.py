"""Regular expressions as Go matches them: with RE2, whose time grows with the length of the text and nothing else."""

from __future__ import annotations


def found(pattern: str, text: str) -> bool:
    """Whether a pattern of a stranger is found in a text; never for one that Go can't compile."""
    import re2  # few runs need it, and it takes time

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options).search(text) is not None
    except re2.error:
        return False
