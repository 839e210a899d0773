"""What is compiled when documents change: of the workspaces with an open document those that a change concerns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from olmc.lean import NamedTuple
from olmc.lsp.findings import EditorFinding, findings_by_file
from olmc.lsp.positions import TextLines, editor_lines
from olmc.lsp.workspace import Analysis, WorkspaceEntry, analyse, concerns, entries_of, root_of, text_of
from olmc.model.diagnostics import Severity


class OpenDocuments(NamedTuple):
    """What an editor has open: its folders, and the texts of its documents in the order in which they were opened."""

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
    """What was compiled, by entry in the order of the folders, and what is wrong, by file; `lines` are those of the
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
    """Compile what has an open document: anew what one of the `changed` files concerns, or all where that is unknown
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
