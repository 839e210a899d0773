"""The language server: the protocol on stdin and stdout, the times of compilations and of reports.

The documents are those that pygls keeps. One task compiles, in a thread, one workspace after the other. The last
compilation answers requests about positions. The server opens no port and no connection.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from olmc.compiler.output.messages import clean, replaced
from olmc.integrations.lsp import answers
from olmc.integrations.lsp.findings import (
    NOTHING,
    Analysis,
    Compiled,
    EditorFinding,
    EditorPosition,
    OpenDocuments,
    Span,
    TextLines,
    by_place,
    compiled,
    editor_lines,
    fixes_of,
    normal,
    offset_at,
    olmc_lines,
    position_at,
    root_of,
    span_of,
    written,
)
from olmc.k8s.diagnostics import Fix, Location, RuleTag, Severity
from olmc.k8s.lean import regex
from olmc.version import __version__

CALM_SECONDS = 0.15
"""The pause in typing after which a compilation starts,"""
PATIENCE_SECONDS = 1.0
"""unless somebody has typed all the time for so long."""

_LOGGED = 500
"""The kept length of a line of the log, in characters."""

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.FAILURE: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_WATCHED = ("**/*.{yaml,yml,json,tpl,lock}", "**/{.olmcignore,.gitignore,.indexignore,.helmignore}")
_WORD = regex(r"[\w.+~/-]*")
_Answer = TypeVar("_Answer")
_Ask = Callable[[Analysis, Path, str, int, int], _Answer]


@dataclass
class EditorSession:
    """The server's knowledge of its editor: the compiled content, the shown part, and the changes since.

    `woken` is set as long as a compilation is due, `settled` as long as none is; `changed` are the files that have
    changed, none for all.
    """

    least: Severity
    compiled: Compiled = NOTHING
    shown: frozenset[Path] = frozenset()
    changed: set[Path] = field(default_factory=set)
    everything: bool = False
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    ended: bool = False

    def wake(self, *paths: Path) -> None:
        """Have something compiled: what the files concern, or everything."""
        self.changed.update(paths)
        self.everything = self.everything or not paths
        self.settled.clear()
        self.woken.set()


def serve(*, least: Severity = Severity.WARNING) -> int:
    """Serve the editor at stdin and stdout until it says that it ends; the exit code that the protocol wants."""
    server, session = language_server(least)
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing but the protocol goes to the editor
    logs = logging.StreamHandler(sys.stderr)
    logs.setFormatter(_OneLine())
    logging.getLogger("pygls").addHandler(logs)
    server.start_io(sys.stdin.buffer, out)
    return 0 if session.ended else 1


class _OneLine(logging.Formatter):
    """A library's log message about a message that it can't read, as one line of text for any content of the
    message."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        cause = f" ({type(error).__name__}: {error})" if error is not None else ""
        first, *_ = record.getMessage().split("\n", 1)
        return clean(f"olmc: {first}{cause}".replace("\n", " ")[:_LOGGED])


def language_server(least: Severity) -> tuple[LanguageServer, EditorSession]:
    """The server with all that it answers, and its session."""
    # In whole texts: what ends a line is not the same for everybody, so that parts would be put to other places.
    server = LanguageServer("olmc", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = EditorSession(least)
    _follow_documents(server, session)
    _answer(server, session)
    return server, session


def _follow_documents(server: LanguageServer, session: EditorSession) -> None:
    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        session.task = asyncio.create_task(_compile_when_calm(server, session))
        session.wake()
        watched = server.client_capabilities.workspace
        dynamic = watched.did_change_watched_files if watched is not None else None
        if dynamic is not None and dynamic.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions(
                [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
            )
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            await server.client_register_capability_async(
                types.RegistrationParams([types.Registration("olmc-files", method, options)])
            )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        _wake(session, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        _wake(session, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        _wake(session, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        _wake(session, params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        _wake(session, *(change.uri for change in params.changes))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(_: types.DidChangeWorkspaceFoldersParams) -> None:
        session.wake()

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        session.ended = True
        if session.task is not None:
            session.task.cancel()


def _wake(session: EditorSession, *changed: str) -> None:
    paths = [path for uri in changed if (path := path_of(uri)) is not None]
    if paths:
        session.wake(*paths)


async def _compile_when_calm(server: LanguageServer, session: EditorSession) -> None:
    """Compile again and again, never twice at once; what has changed meanwhile is compiled next, and nothing is shown
    that is older than what somebody has typed."""
    loop = asyncio.get_running_loop()
    while True:
        await session.woken.wait()
        since = loop.time()
        while session.woken.is_set() and loop.time() - since < PATIENCE_SECONDS:
            session.woken.clear()
            await asyncio.sleep(CALM_SECONDS)
        session.woken.clear()
        changed = frozenset() if session.everything else frozenset(session.changed)
        session.changed, session.everything = set(), False
        opened, versions = _opened(server), {doc.uri: doc.version for doc in server.workspace.text_documents.values()}
        try:
            session.compiled = await asyncio.to_thread(compiled, opened, changed, session.compiled, session.least)
        except Exception as error:  # a bug, or files that go away while they are read: the next change may fare better
            session.everything = True
            message = clean(f"olmc: internal error: {type(error).__name__}: {error}")
            server.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
        else:
            if not session.woken.is_set():
                _publish(server, session, versions)
        if not session.woken.is_set():
            session.settled.set()
            await asyncio.to_thread(gc.collect)  # a server lives long


def _opened(server: LanguageServer) -> OpenDocuments:
    """Return the documents that the editor has open now."""
    workspace = server.workspace
    named = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
    folders = tuple(path for uri in named if (path := path_of(uri)) is not None)
    documents = ((path_of(uri), document.source) for uri, document in workspace.text_documents.items())
    return OpenDocuments(folders, {path: text for path, text in documents if path is not None})


def _encoding(server: LanguageServer) -> str:
    """The units in which editor and server count what stands in a line."""
    agreed = server.workspace.position_encoding
    return str(agreed.value if isinstance(agreed, types.PositionEncodingKind) else agreed or "utf-16")


def path_of(uri: str) -> Path | None:
    """Return the file of a URI, None if it is no file or has an impossible name. olmc compiles all open documents, and
    one such document must not stop the others."""
    try:
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        found = normal(Path(path)) if path else None
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            _ = found is not None and found.lstat()
    except (OSError, ValueError):
        return None
    return found


def _publish(server: LanguageServer, session: EditorSession, versions: dict[str, int | None]) -> None:
    """Show what is wrong, file by file, and take back what is not wrong any more."""
    by_path = {path_of(uri): uri for uri in versions}
    done, encoding = session.compiled, _encoding(server)
    open_paths = {path for path in by_path if path is not None and done.of(path) is not None}
    for path in sorted(done.findings.keys() | session.shown | open_paths):
        uri = by_path.get(path) or uris.from_fs_path(str(path)) or ""
        listed = [_diagnostic(each, done, encoding) for each in done.findings.get(path, ())]
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, listed, versions.get(uri)))
    session.shown = frozenset(done.findings)


def _diagnostic(finding: EditorFinding, done: Compiled, encoding: str) -> types.Diagnostic:
    found = finding.diagnostic
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uris.from_fs_path(str(span.path)) or "", _range(done.lines[span.path], span, encoding)), text
        )
        for text, span in finding.related
    ]
    return types.Diagnostic(
        range=_range(done.lines[finding.span.path], finding.span, encoding),
        message=finding.message,
        severity=_SEVERITIES[found.severity],
        code=found.code,
        code_description=types.CodeDescription(finding.page),
        source="olmc",
        related_information=related or None,
        tags=[types.DiagnosticTag.Unnecessary] if RuleTag.FOREIGN_FILE in found.tags else None,
    )


def _range(lines: TextLines, span: Span, encoding: str) -> types.Range:
    start, end = (types.Position(*position_at(lines, offset, encoding)) for offset in (span.start, span.end))
    return types.Range(start, end)


def _answer(server: LanguageServer, session: EditorSession) -> None:
    async def ask(
        params: types.HoverParams | types.CompletionParams | types.DefinitionParams, question: _Ask[_Answer]
    ) -> tuple[Analysis, str, int, _Answer] | None:
        """The answer to a question about a position, with the text that it is in and its offset there."""
        path = path_of(params.text_document.uri)
        if path is None or root_of(path, _opened(server).folders) is None:
            return None
        if session.compiled.of(path) is None:
            await session.settled.wait()
        analysis = session.compiled.of(path)
        if analysis is None:
            return None
        text = server.workspace.get_text_document(params.text_document.uri).source
        position = EditorPosition(params.position.line, params.position.character)
        offset = offset_at(editor_lines(text), position, _encoding(server))
        lines = olmc_lines(path.name, text)
        line = lines.line_at(offset)
        column = offset - lines.starts[line] + 1
        return analysis, text, offset, await asyncio.to_thread(question, analysis, path, text, line + 1, column)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        asked = await ask(params, answers.hover)
        if asked is None or not asked[-1]:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, asked[-1]))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", '"']))
    async def complete(params: types.CompletionParams) -> types.CompletionList | None:
        asked = await ask(params, answers.completions)
        if asked is None:
            return None
        _, text, offset, names = asked
        lines, encoding = editor_lines(text), _encoding(server)
        place = _range(lines, _word(text, offset), encoding)
        blank = " " if text[offset - 1 : offset] == ":" else ""
        return types.CompletionList(
            is_incomplete=False,
            items=[
                types.CompletionItem(
                    label=name.name,
                    detail=name.detail,
                    kind=types.CompletionItemKind.Value,
                    sort_text=f"{number:06}",
                    text_edit=types.TextEdit(place, f"{blank}{name.name}"),
                )
                for number, name in enumerate(names)
            ],
        )

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def define(params: types.DefinitionParams) -> list[types.Location] | None:
        asked = await ask(params, answers.definitions)
        return list(_locations(asked[0], asked[-1], server)) if asked is not None else None

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def offer_fixes(params: types.CodeActionParams) -> list[types.CodeAction]:
        await session.settled.wait()
        path, done = path_of(params.text_document.uri), session.compiled
        lines = done.lines.get(path) if path is not None else None
        if path is None or lines is None:
            return []
        encoding = _encoding(server)
        here = (EditorPosition(each.line, each.character) for each in (params.range.start, params.range.end))
        span = Span(path, *(offset_at(lines, position, encoding) for position in here))
        actions = []
        for finding in by_place(done.findings, span):
            words = list(fixes_of(finding, lines.text))
            proven = finding.diagnostic.fix
            # A change that writes another word is offered once.
            if proven is not None and {change.after for change in proven.changes}.isdisjoint(
                written(lines.text, fix) for fix in words
            ):
                actions.append(_proven(finding, proven, done, encoding))
            for number, fix in enumerate(words):
                edit = types.TextEdit(_range(lines, fix.span, encoding), fix.after)
                actions.append(
                    types.CodeAction(
                        title=fix.title,
                        kind=types.CodeActionKind.QuickFix,
                        diagnostics=[_diagnostic(finding, done, encoding)],
                        is_preferred=number == 0,
                        edit=types.WorkspaceEdit(changes={params.text_document.uri: [edit]}),
                    )
                )
        return actions


def _proven(finding: EditorFinding, fix: Fix, done: Compiled, encoding: str) -> types.CodeAction:
    """The change that cures a finding, which may be one of several files."""
    changes: dict[str, list[types.TextEdit]] = {}
    for path, line, deleted, inserted in replaced(fix):
        lines = types.Range(types.Position(line - 1, 0), types.Position(line - 1 + deleted, 0))
        changes.setdefault(Path(path).as_uri(), []).append(types.TextEdit(lines, inserted))
    return types.CodeAction(
        title=fix.title, kind=types.CodeActionKind.QuickFix, diagnostics=[_diagnostic(finding, done, encoding)],
        edit=types.WorkspaceEdit(changes=changes),
    )  # fmt: skip


def _word(text: str, offset: int) -> Span:
    """The name that an offset is in or at the end of; the file does not matter."""
    start = offset
    while start and _WORD.fullmatch(text, start - 1, start):
        start -= 1
    end = _WORD.match(text, offset)
    return Span(Path(), start, end.end() if end is not None else offset)


def _locations(analysis: Analysis, places: Iterable[object], server: LanguageServer) -> Iterable[types.Location]:
    """The places in files as an editor wants them."""
    encoding = _encoding(server)
    for place in places:
        assert isinstance(place, Location)
        path = analysis.place_of(place.path)
        text = None
        with suppress(OSError):
            text = analysis.text_of(path)
        if text is not None:
            span = Span(path, *span_of(olmc_lines(path.name, text), place))
            yield types.Location(uris.from_fs_path(str(path)) or "", _range(editor_lines(text), span, encoding))
