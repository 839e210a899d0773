"""An editor that has started `olmc lsp`: the client of pytest-lsp, and what a user does with it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient

SECONDS = 60
"""How long to wait for what has to come."""

_T = TypeVar("_T")


def run(scenario: Coroutine[Any, Any, _T]) -> _T:
    """Play a scenario to its end; nothing in it waits for ever."""
    return asyncio.run(asyncio.wait_for(scenario, 4 * SECONDS))


class Editor:
    """An editor with documents; `client` is what speaks to the server."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.said: list[str] = []
        self.registered: list[str] = []
        self.told = asyncio.Event()

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a document, with a text that is not saved or that of the disk; its URI."""
        uri = path.as_uri()
        self.versions[uri], self.texts[uri] = 1, path.read_text(encoding="utf-8") if text is None else text
        item = types.TextDocumentItem(uri, "yaml", 1, self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        """Type until a document has a text."""
        self.versions[uri] += 1
        self.texts[uri] = text
        document = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def close(self, uri: str) -> None:
        """Close a document without saving it."""
        del self.versions[uri]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def shown(
        self, uri: str, wanted: Callable[[Sequence[types.Diagnostic]], bool] = lambda _: True
    ) -> Sequence[types.Diagnostic]:
        """What is shown of a document once it is about its newest text and as it is wanted."""

        def now() -> Sequence[types.Diagnostic] | None:
            newest = self.versions.get(uri)
            about = [each for each in self.published if each.uri == uri and each.version == newest]
            return about[-1].diagnostics if about and wanted(about[-1].diagnostics) else None

        async with asyncio.timeout(SECONDS):
            while (found := now()) is None:
                self.told.clear()
                await self.told.wait()
        return found

    def position(self, uri: str, text: str, *, encoding: str = "utf-16-le", width: int = 2) -> types.Position:
        """The position of the mark `|` in a piece of a document's text, which has no mark."""
        before, _, behind = text.partition("|")
        offset = self.texts[uri].index(before + behind) + len(before)
        lines = self.texts[uri][:offset].split("\n")
        return types.Position(len(lines) - 1, len(lines[-1].encode(encoding)) // width)

    async def hover(self, uri: str, at: str) -> str:
        """What is shown at the mark `|`, "" for nothing."""
        document = types.TextDocumentIdentifier(uri)
        found = await self.client.text_document_hover_async(types.HoverParams(document, self.position(uri, at)))
        assert found is None or isinstance(found.contents, types.MarkupContent)
        return found.contents.value if found is not None else ""

    async def complete(self, uri: str, at: str) -> list[types.CompletionItem]:
        """What is offered at the mark `|`."""
        document = types.TextDocumentIdentifier(uri)
        params = types.CompletionParams(document, self.position(uri, at))
        found = await self.client.text_document_completion_async(params)
        return list(found.items) if isinstance(found, types.CompletionList) else []

    async def define(self, uri: str, at: str) -> list[types.Location]:
        """Where that is defined which stands at the mark `|`."""
        params = types.DefinitionParams(types.TextDocumentIdentifier(uri), self.position(uri, at))
        found = await self.client.text_document_definition_async(params)
        return [each for each in found if isinstance(each, types.Location)] if isinstance(found, list | tuple) else []

    async def fixes(self, uri: str, diagnostic: types.Diagnostic) -> list[types.CodeAction]:
        """The quick fixes for what is shown."""
        context = types.CodeActionContext(diagnostics=[diagnostic])
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), diagnostic.range, context)
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    def applied(self, uri: str, edit: types.TextEdit) -> str:
        """The text of a document with an edit of one line made."""
        lines = self.texts[uri].split("\n")
        units = lines[edit.range.start.line].encode("utf-16-le")
        kept = units[: edit.range.start.character * 2], units[edit.range.end.character * 2 :]
        assert edit.range.start.line == edit.range.end.line
        lines[edit.range.start.line] = kept[0].decode("utf-16-le") + edit.new_text + kept[1].decode("utf-16-le")
        return "\n".join(lines)


@asynccontextmanager
async def editor(
    *folders: Path, options: Sequence[str] = (), encodings: Sequence[types.PositionEncodingKind] = (),
    env: dict[str, str] | None = None,
) -> AsyncIterator[Editor]:  # fmt: skip
    """An editor with folders open, until it is closed; then the server has ended, and with 0."""
    client = LanguageClient(converter_factory=default_converter)
    each = Editor(client)

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: types.PublishDiagnosticsParams) -> None:
        each.published.append(params)
        each.told.set()

    @client.feature(types.WINDOW_LOG_MESSAGE)
    def log(params: types.LogMessageParams) -> None:
        each.said.append(params.message)

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        each.registered += [registration.method for registration in params.registrations]

    await client.start_io(sys.executable, "-m", "olmc", "lsp", *options, env={**os.environ, **(env or {})})
    general = types.GeneralClientCapabilities(position_encodings=list(encodings)) if encodings else None
    named = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
    await client.initialize_session(
        types.InitializeParams(types.ClientCapabilities(general=general), workspace_folders=named or None)
    )
    yield each
    server = client._server
    await client.shutdown_session()
    assert server is not None
    async with asyncio.timeout(SECONDS):
        assert await server.wait() == 0
    await client.stop()
