"""A difference in the format that was asked for."""

from __future__ import annotations

from olmc.review.diff.compare import Difference

__all__ = ["written"]


def written(difference: Difference, output: str, *, color: bool = False) -> str:
    """The text of a difference as `output`: text, with or without color, markdown, json or html."""
    if output == "json":
        from olmc.review.diff.as_json import as_json

        return as_json(difference)
    if output == "html":
        from olmc.review.diff.as_html import as_html

        return as_html(difference)
    if output == "markdown":
        from olmc.review.diff.as_markdown import as_markdown

        return as_markdown(difference)
    from olmc.review.diff.as_text import as_text

    return as_text(difference, color=color)
