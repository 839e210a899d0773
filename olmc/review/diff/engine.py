"""The engine of comparisons: `diff` is the function of the Python API, and commands take the same steps."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.model.options import Narrowing, Options
from olmc.k8s.diagnostics import Diagnostic
from olmc.k8s.lean import NamedTuple
from olmc.review.diff.both_sides import read_sides
from olmc.review.diff.compare import Difference, compare, with_approval, with_kept_back
from olmc.review.diff.crd_kinds import SEVERITY_WORDS, DiffChange
from olmc.review.diff.outputs import as_json, as_markdown
from olmc.review.diff.premises import Premises
from olmc.review.diff.settings import Kinds, Sides
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from typing import Unpack

    from olmc.compiler.model.options import OptionFields


class DiffResult(NamedTuple):
    """A difference, None where one side can't be compared, and the diagnostics of both sides."""

    difference: Difference | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Return whether one side can't be compared."""
        return self.difference is None

    @property
    def changes(self) -> tuple[DiffChange, ...]:
        """Return the changes, the most severe of each group first."""
        return self.difference.changes if self.difference is not None else ()

    def write(
        self, output: Literal["text", "markdown", "json", "html"] = "text", *, everything: bool = False
    ) -> str:  # fmt: skip
        """Return the difference as `olmc diff -o` prints it (text with `everything` as with --all), "" for none."""
        return write(self.difference, output, everything=everything) if self.difference is not None else ""

    def __repr__(self) -> str:
        """Summarize the difference in one line."""
        if self.difference is None:
            return "<DiffResult: failed>"
        counts = {word: self.difference.count(severity) for severity, word in reversed(SEVERITY_WORDS.items())}
        shown = [f"{count} {word}" for word, count in counts.items() if count]
        return f"<DiffResult: {', '.join(shown) or 'no changes'}>"


def diff(
    old: Path | str, new: CompileRequest | Path | str = ".", options: Options | None = None, *,
    allow_empty: bool = False, fresh: bool = False, **fields: Unpack[OptionFields],
) -> DiffResult:  # fmt: skip
    """Compare two workspaces, bundles or renderings.

    Each side is a path, or `git:REF[:PATH]`. `options` and further options are those of `olmc.compile` and hold for
    both sides; `include` and `exclude` are the kinds that are compared. A new workspace is applied to the cluster that
    the old one leaves; with `fresh` both sides have a cluster of their own. With `allow_empty` a side that does not
    exist is empty. Nothing is raised for bad input.
    """
    request = request_of(new, options, fields)
    wanted = request.options._replace(include=(), exclude=(), show_secrets=True)
    chosen = Kinds(request.options.include, request.options.exclude)

    def compile_side(path: Path, narrowing: Narrowing | None, premises: Premises) -> Compilation:
        own = request if path == request.root else request._replace(beside=None, release=None)
        fixed = request.fixed - {"include", "exclude"} | premises.decided
        return compile(own._replace(root=path, options=premises.of(wanted, fixed), fixed=fixed, narrowing=narrowing))

    names = os.fspath(old), str(new) if isinstance(new, str) else os.fspath(request.root)
    with tempfile.TemporaryDirectory(prefix="olmc-diff-") as folder:
        reading = read_sides(
            *names, Path(folder), compile_side, allow_empty=allow_empty, kinds=chosen if any(chosen) else None,
            look_ahead=not wanted.approve, fresh=fresh,
        )  # fmt: skip
        difference = difference_of(reading, show_secrets=request.options.show_secrets)
    return DiffResult(difference, reading.diagnostics)


def difference_of(reading: Sides, *, formats: bool = False, show_secrets: bool = False) -> Difference | None:
    """Compare both sides, and what comes after approvals and is kept back; None where one side is missing."""
    if reading.sides is None:
        return None
    difference = compare(*reading.sides, formats=formats, show_secrets=show_secrets)
    if reading.approved is not None:
        later = compare(*reading.approved, formats=formats, show_secrets=show_secrets)
        difference = with_approval(difference, later)
    if reading.kept_back is not None:
        difference = with_kept_back(difference, reading.kept_back, show_secrets=show_secrets)
    return difference


def write(difference: Difference, output: str, *, color: bool = False, everything: bool = False) -> str:
    """Return a difference as text, with or without color and all changes, or as markdown, json or html."""
    match output:
        case "json":
            return as_json(difference)
        case "markdown":
            return as_markdown(difference)
        case "html":
            from olmc.review.diff.html import as_html  # nothing else of it is needed by the other formats

            return as_html(difference)
    from olmc.review.diff.text import as_text

    return as_text(difference, color=color, everything=everything)
