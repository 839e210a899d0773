"""The problems in an editor: file by file, with their ranges, and the edits that fix them."""

from __future__ import annotations

import os.path
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from re import Pattern
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.compiler.api import Compilation
from olmc.compiler.load.catalog_files import CatalogTexts, read_catalog
from olmc.compiler.load.config import CONFIG_FILE, read_config
from olmc.compiler.load.entries import read_repository
from olmc.compiler.load.files import no_folder, read_text, scan
from olmc.compiler.load.kustomization import REPOSITORY_MARK
from olmc.compiler.load.releases import Release
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.unsaved import with_unsaved
from olmc.compiler.model.catalog import Catalog
from olmc.compiler.model.options import Indexing
from olmc.compiler.output.messages import clean
from olmc.compiler.resolver.predicates import cel_problem
from olmc.k8s.diagnostics import Diagnostic, Location, Misspelling, Report, Severity
from olmc.k8s.lean import NamedTuple, regex
from olmc.review.check.check import CheckRules, check_compiled
from olmc.review.check.validators.findings import ValidatorSettings
from olmc.review.rules.catalogue import rule_page
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from olmc.compiler.catalogs.properties import UncataloguedBundle
    from olmc.compiler.load.catalog_files import CatalogLoader

# Places as editors count them, in units of UTF-16 mostly, and as olmc does, in characters; between them offsets.

# The ends of lines for an editor and for YAML; for JSON only the line feed is one.
_EDITOR_BREAK = regex("\r\n|\n|\r")
_YAML_BREAK = regex("\r\n|[\n\r\x85\u2028\u2029]")
# A text in quotes, else what stands up to the end of a key, a comment, an item or the line; blanks are taken as one.
_END = r"$|[\r\n]|:(?:\s|$)|[,\]}]"
_TOKEN = regex(rf"""\"(?:[^"\\\n]|\\.)*+\"|'(?:[^'\n]|'')*'|(?:(?!{_END})\S|[^\S\r\n]++(?!{_END}|\#))*+""")
_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class EditorPosition(NamedTuple):
    """A line and a place in it, both from 0, in the units that editor and server have agreed on."""

    line: int
    character: int


class TextLines(NamedTuple):
    """A text with the offsets at which its lines begin, as one of the two counts them."""

    text: str
    starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """The number of the line that an offset is in, from 0."""
        return bisect_right(self.starts, offset) - 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and a column, both from 0, or the end of what there is."""
        if line >= len(self.starts):
            return len(self.text)
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        return min(self.starts[line] + column, end)


def editor_lines(text: str) -> TextLines:
    """A text by the lines of an editor."""
    return _by_lines(text, _EDITOR_BREAK, "\r")


def olmc_lines(path: str, text: str) -> TextLines:
    """A text by the lines that places of olmc have."""
    return _by_lines(text, _YAML_BREAK, "" if path.endswith(".json") else "\r\x85\u2028\u2029")


def _by_lines(text: str, breaks: Pattern[str], unusual: str) -> TextLines:
    if any(each in text for each in unusual):
        return TextLines(text, (0, *(match.end() for match in breaks.finditer(text))))
    *lines, _ = text.split("\n")  # catalogs have tens of megabytes
    return TextLines(text, (0, *accumulate(len(line) + 1 for line in lines)))


def position_at(lines: TextLines, offset: int, encoding: str) -> EditorPosition:
    """The position of an offset; `lines` are those of the editor."""
    line = lines.line_at(offset)
    codec, width = _WIDTHS[encoding]
    before = lines.text[lines.starts[line] : offset]
    return EditorPosition(line, len(before.encode(codec, "surrogatepass")) // width)


def offset_at(lines: TextLines, position: EditorPosition, encoding: str) -> int:
    """The offset of a position, at most the end of its line."""
    codec, width = _WIDTHS[encoding]
    if position.line >= len(lines.starts):
        return len(lines.text)
    start = lines.starts[position.line]
    line = lines.text[start : lines.offset(position.line + 1, 0)].rstrip("\r\n")
    units = line.encode(codec, "surrogatepass")[: position.character * width]
    return start + len(units.decode(codec, "ignore"))


def span_of(lines: TextLines, place: Location) -> tuple[int, int]:
    """The offsets between which that stands which a place of olmc means; (0, 0) for a whole file."""
    if not place.line:
        return 0, 0
    start = lines.offset(place.line - 1, max(place.column - 1, 0))
    match = _TOKEN.match(lines.text, start)
    end = match.end() if match is not None else start
    return (start, end) if place.column else (start, lines.offset(place.line, 0))


# The input of a compilation for an editor: the workspace of a document, with texts that are not saved yet.

_TEMPLATES = ("olm.template.", "olm.semver")


class WorkspaceEntry(NamedTuple):
    """A folder that is compiled by itself; a Helm chart with how it is installed."""

    root: Path
    release: Release | None = None


class LoadedCatalog(NamedTuple):
    """A catalog, all that it was loaded from, and what was reported about it."""

    texts: Mapping[str, str]
    indexing: Indexing
    bundles: Mapping[str, UncataloguedBundle]
    catalog: Catalog
    findings: tuple[Diagnostic, ...]


class Analysis(NamedTuple):
    """The result of a compilation: the problems, the last complete compilation (None: none so far), the files that were
    read, relative to the root, the texts that the editor had of them, and the catalogs; `sound` are the texts of that
    last compilation."""

    entry: WorkspaceEntry
    findings: tuple[Diagnostic, ...] = ()
    compilation: Compilation | None = None
    files: frozenset[str] = frozenset()
    texts: Mapping[Path, str] = MappingProxyType({})
    catalogs: Mapping[str, LoadedCatalog] = MappingProxyType({})
    sound: Mapping[Path, str] = MappingProxyType({})

    def place_of(self, path: str) -> Path:
        """The file that a path in a finding means."""
        return normal(self.entry.root / path)

    def text_of(self, path: Path) -> str | None:
        """The text of a file as it was compiled, or as it is on the disk; None where it can't be read."""
        return text_of(path, self.texts)


def text_of(path: Path, texts: Mapping[Path, str]) -> str | None:
    """The text of a file, which is that of the disk unless it is among `texts`; None where it can't be read."""
    if path in texts:
        return texts[path]
    return read_text(path.parent, path.name, Report()) if path.is_file() else None


def normal(path: Path) -> Path:
    """A path without `..` in it."""
    return Path(os.path.normpath(path))


def root_of(document: Path, folders: Sequence[Path]) -> Path | None:
    """The folder that a document is compiled with: the nearest with an olmc.yaml up to the folder that the editor has
    open, or else that one; None outside of all. An editor without folders has that of the repository."""
    holding = [folder for folder in folders if document.is_relative_to(folder)]
    top = max(holding, key=lambda folder: len(folder.parts), default=None)
    if folders and top is None:
        return None
    for folder in document.parents:
        if (folder / CONFIG_FILE).is_file():
            return folder
        if folder == top or (top is None and (folder / REPOSITORY_MARK).exists()):
            return folder
    return None


def entries_of(root: Path, texts: Mapping[Path, str]) -> tuple[WorkspaceEntry, ...]:
    """Return the entries to compile of a folder: itself, or each workspace of a repository with several."""
    laid = with_unsaved(root, texts)
    if no_folder(laid):
        return ()
    ignored = tuple(read_config(laid, Report()).get("ignore") or ())
    entries = read_repository(laid, scan(laid, Report(), ignored=ignored)).entries
    chosen = dict.fromkeys(WorkspaceEntry(normal(root / entry.path), entry.release) for entry in entries)
    return tuple(chosen) or (WorkspaceEntry(root),)


def analyse(entry: WorkspaceEntry, texts: Mapping[Path, str], before: Analysis | None = None) -> Analysis:
    """Compile and check an entry as `olmc check` does, with `texts` in the place of files.

    Of the analysis `before` are the catalogs that are still the same, and the compilation if this one fails.
    """
    root = with_unsaved(entry.root, texts)
    catalogs: dict[str, LoadedCatalog] = {}
    loader = _loader(before.catalogs if before is not None else {}, catalogs)
    request = CompileRequest(root, release=entry.release, loader=loader)
    made = compile(request)
    result = check_compiled(request, made, CheckRules(ValidatorSettings(cel_problem=cel_problem), remedies=_SECONDS))
    files = made.inputs.files | {each.location.path for each in result.diagnostics if each.location is not None}
    given = MappingProxyType(dict(texts))
    now = Analysis(entry, result.diagnostics, made, frozenset(files), given, catalogs, given)
    if not made.failed:
        return now
    last = before or Analysis(entry)
    return now._replace(
        compilation=last.compilation, sound=last.sound, files=now.files | last.files, catalogs=catalogs or last.catalogs
    )


def concerns(analysis: Analysis, documents: Iterable[Path]) -> bool:
    """Return whether one of the documents may change what an analysis came to: it was read, or stands below its
    folder."""
    read = {analysis.place_of(path) for path in analysis.files}
    return any(document in read or document.is_relative_to(analysis.entry.root) for document in documents)


def _loader(before: Mapping[str, LoadedCatalog], now: dict[str, LoadedCatalog]) -> CatalogLoader:
    """Return a loader of catalogs that reuses those loaded before from the same texts; `now` gets all of them."""

    def load(
        root: str, texts: Mapping[str, str], report: Report, bundles: Mapping[str, UncataloguedBundle],
        indexing: Indexing,
    ) -> Catalog:  # fmt: skip
        # Bundles of the workspace are part of a catalog by its templates only.
        is_stored = isinstance(texts, CatalogTexts) and texts.stored is not None  # which none with templates is
        has_templates = not is_stored and any(mark in text for text in texts.values() for mark in _TEMPLATES)
        named = bundles if has_templates else {}
        known = before.get(root)
        if known is None or known[:3] != (texts, indexing, named):
            findings = Report()
            catalog = read_catalog(root, texts, findings, bundles, indexing)
            known = LoadedCatalog(texts, indexing, named, catalog, tuple(findings.found))
        now[root] = known
        report.found.extend(known.findings)
        return known.catalog

    return load


_SECONDS = 2.0
"""The CPU time of the search for changes after each input."""
_QUOTES = "\"'"


class Span(NamedTuple):
    """A part of a file, by offsets."""

    path: Path
    start: int
    end: int


class EditorFix(NamedTuple):
    """A replacement for the text of a finding."""

    span: Span
    before: str
    after: str

    @property
    def title(self) -> str:
        """Return the title of the edit for a menu."""
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
                    finding = EditorFinding(
                        span, _with_places(diagnostic, analysis), rule_page(diagnostic.code), related
                    )
                    by_file.setdefault(span.path, {})[finding] = None
    return {path: tuple(findings) for path, findings in by_file.items()}


def _with_places(diagnostic: Diagnostic, analysis: Analysis) -> Diagnostic:
    """A finding whose fix names files as the editor does, without one that makes a file."""
    fix = diagnostic.fix
    if fix is None or not all(change.before for change in fix.changes):
        return diagnostic._replace(fix=None)
    changes = (change._replace(path=str(analysis.place_of(change.path))) for change in fix.changes)
    return diagnostic._replace(fix=fix._replace(changes=tuple(changes)))


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


def written(text: str, fix: EditorFix) -> str:
    """The text of a file after a fix."""
    return f"{text[: fix.span.start]}{fix.after}{text[fix.span.end :]}"


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


# The entries to compile when documents change: of the workspaces with an open document those that a change concerns.


class OpenDocuments(NamedTuple):
    """The open content of an editor: its folders, and the texts of its documents in the order in which they were
    opened."""

    folders: tuple[Path, ...]
    texts: Mapping[Path, str]

    def roots(self) -> dict[Path, list[Path]]:
        """The folders that are compiled, each with the documents in it that are open."""
        roots: dict[Path, list[Path]] = {}
        for document in self.texts:
            root = root_of(document, self.folders)
            if root is not None:
                roots.setdefault(root, []).append(document)
        return roots


class Compiled(NamedTuple):
    """The compiled content, by entry in the order of the folders, and the problems, by file; `lines` are those of the
    files with findings, as they were compiled."""

    analyses: Mapping[WorkspaceEntry, Analysis]
    findings: Mapping[Path, Sequence[EditorFinding]]
    lines: Mapping[Path, TextLines]

    def of(self, document: Path) -> Analysis | None:
        """The analysis that a document is part of: one that has read it, else one whose folder it is in."""
        holding = [each for each in self.analyses.values() if concerns(each, (document,))]
        read = (each for each in holding if document in {each.place_of(path) for path in each.files})
        return next(read, next(iter(holding), None))


NOTHING = Compiled({}, {}, {})


def compiled(opened: OpenDocuments, changed: Collection[Path], before: Compiled, least: Severity) -> Compiled:
    """Compile what has an open document: again what one of the `changed` files concerns, or all where that is unknown
    (`changed` is empty), and what has not been compiled yet. Workspaces without an open document are forgotten."""
    analyses: dict[WorkspaceEntry, Analysis] = {}
    for root in opened.roots():
        for entry in entries_of(root, opened.texts):
            known = before.analyses.get(entry)
            if known is None or not changed or concerns(known, changed):
                known = analyse(entry, opened.texts, known)
            analyses[entry] = known
    findings = findings_by_file(analyses.values(), tuple(opened.texts), least=least)
    spans = (
        span for listed in findings.values() for each in listed for span in (each.span, *(s for _, s in each.related))
    )
    lines = {path: editor_lines(text_of(path, opened.texts) or "") for path in {span.path for span in spans}}
    return Compiled(analyses, findings, lines)
