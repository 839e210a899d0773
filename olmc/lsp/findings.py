"""What is wrong, as an editor shows it: file by file, from where to where, and the edits that put it right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from olmc.diagnostics.catalogue import rule_page
from olmc.lean import NamedTuple
from olmc.load.config import CONFIG_FILE
from olmc.lsp.positions import TextLines, olmc_lines, span_of
from olmc.lsp.workspace import Analysis
from olmc.model.diagnostics import Diagnostic, Location, Misspelling, Severity
from olmc.output.unicode import clean

_QUOTES = "\"'"


class Span(NamedTuple):
    """A part of a file, by offsets."""

    path: Path
    start: int
    end: int


class EditorFix(NamedTuple):
    """What can be written in the place of what a finding is about."""

    span: Span
    before: str
    after: str

    @property
    def title(self) -> str:
        """What the edit does, for a menu."""
        return f"Write {self.after} instead of {self.before}"


class EditorFinding(NamedTuple):
    """A finding with the part of a file that it is about, a link to its rule, and what there is to see elsewhere."""

    span: Span
    diagnostic: Diagnostic
    page: str
    related: tuple[tuple[str, Span], ...] = ()

    @property
    def message(self) -> str:
        """The message and what to do, without characters that are not meant to be seen."""
        texts = (self.diagnostic.message, self.diagnostic.hint)
        return "\n".join(clean(line) for text in texts if text for line in text.split("\n"))


def findings_by_file(
    analyses: Iterable[Analysis], beside: Sequence[Path], *, least: Severity = Severity.WARNING
) -> dict[Path, tuple[EditorFinding, ...]]:
    """All that there is to show, by file; what is about no file stands in olmc.yaml, else in the first of the documents
    `beside` that is compiled. Where workspaces share a file, each finding about it is shown once."""
    by_file: dict[Path, dict[EditorFinding, None]] = {}
    for analysis in analyses:
        lines: dict[Path, TextLines] = {}
        for diagnostic in analysis.findings:
            if diagnostic.severity >= least:
                span = _span(diagnostic.location, analysis, lines, beside)
                if span is not None:
                    related = tuple(
                        (clean(text), there)
                        for text, place in diagnostic.related
                        if (there := _span(place, analysis, lines, ())) is not None
                    )
                    finding = EditorFinding(span, diagnostic, rule_page(diagnostic.code), related)
                    by_file.setdefault(span.path, {})[finding] = None
    return {path: tuple(findings) for path, findings in by_file.items()}


def _span(
    place: Location | None, analysis: Analysis, known: dict[Path, TextLines], beside: Sequence[Path]
) -> Span | None:
    path = analysis.place_of(place.path if place is not None else "")
    if path not in known:
        text = analysis.text_of(path)
        if text is None:  # a folder, or nothing at all
            config = analysis.place_of(CONFIG_FILE)
            own = (document for document in beside if document.is_relative_to(analysis.entry.root))
            shown = config if config.is_file() else next(own, next(iter(beside), None))
            return Span(shown, 0, 0) if shown is not None else None
        known[path] = olmc_lines(path.name, text)
    return Span(path, *span_of(known[path], place or Location("")))


def fixes_of(finding: EditorFinding, text: str) -> Iterator[EditorFix]:
    """The edits that put a finding right, in the text of its file: the names that were probably meant."""
    cause, (path, start, end) = finding.diagnostic.cause, finding.span
    if not isinstance(cause, Misspelling):
        return
    quote = text[start : start + 1] if text[start : start + 1] in tuple(_QUOTES) else ""
    first, last = start + len(quote), end - len(quote)
    if text[first:last] == cause.written:
        yield from (EditorFix(Span(path, first, last), cause.written, meant) for meant in cause.meant)


def by_place(findings: Mapping[Path, Sequence[EditorFinding]], span: Span) -> Iterator[EditorFinding]:
    """The findings that a part of a file touches."""
    for finding in findings.get(span.path, ()):
        if finding.span.start <= span.end and span.start <= finding.span.end:
            yield finding
