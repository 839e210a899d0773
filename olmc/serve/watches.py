"""Watches: the events of a list as a stream, one JSON object a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from olmc.serve.encoders import Form, bookmark, encode, expired, status, whole_item
from olmc.serve.handlers import Query, versions_of
from olmc.serve.store import Event, InstalledSnapshot, Store, as_bookmark, changes

BOOKMARK_SECONDS = 60.0
_TOO_OLD = "The resourceVersion for the provided watch is too old."


class Watch:
    """A watch under way: what is watched, and the state up to which everything has been sent."""

    __slots__ = ("_columns_sent", "form", "namespace", "query", "snapshot", "store")

    def __init__(self, store: Store, form: Form, namespace: str | None, query: Query) -> None:
        """Begin a watch; StatusError (400, 410) when it can't begin with the version that is asked for."""
        self.store, self.form, self.namespace, self.query = store, form, namespace, query
        self.snapshot = beginning(store, query) or store.current
        self._columns_sent = False

    async def lines(self, pause: float = BOOKMARK_SECONDS) -> AsyncIterator[bytes]:
        """The events until time is up, the server stops, or the client has fallen too far behind.

        `pause` is how many seconds go by without an event before a bookmark is sent.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self.query.seconds
        for line in self._initial():
            yield line
        while not self.store.closing.is_set() and loop.time() < end:
            # Taken before the states are read: what changes meanwhile sets this very event.
            changed = self.store.changed
            later = self.store.since(self.snapshot)
            # The client has been too slow for the history; with 410 it lists again.
            if later is None:
                yield self._line("ERROR", status(410, _TOO_OLD))
                return
            for line in self._news(later):
                yield line
            if changed.is_set():
                continue
            has_changed = await _wait(changed, min(pause, end - loop.time()))
            if not has_changed and self.query.bookmarks:
                yield self._line("BOOKMARK", self._bookmark())
        if self.query.bookmarks:
            yield self._line("BOOKMARK", self._bookmark())

    def _initial(self) -> Iterator[bytes]:
        """Everything that is there, for a watch that does not begin with a version it has seen."""
        if not _begins_with_everything(self.query):
            return
        for item in self.snapshot.in_namespace(self.namespace).values():
            if self.query.selection.selects(item):
                yield self._event(Event("ADDED", item))
        if self.query.initial:
            yield self._line("BOOKMARK", self._bookmark(initial_end=True))

    def _news(self, later: list[InstalledSnapshot]) -> Iterator[bytes]:
        for snapshot in later:
            for event in changes(self.snapshot, snapshot, self.namespace, self.query.selection.selects):
                yield self._event(event)
            self.snapshot = snapshot

    def _event(self, event: Event) -> bytes:
        obj = whole_item(self.form, event.item, with_columns=not self._columns_sent)
        self._columns_sent = True
        return self._line(event.type, obj)

    def _bookmark(self, *, initial_end: bool = False) -> Any:
        resource = self.form.resource
        obj = as_bookmark(self.snapshot, resource.api_version, resource.kind, initial_end=initial_end)
        return bookmark(self.form, obj)

    def _line(self, kind: str, obj: Any) -> bytes:
        return encode({"type": kind, "object": obj}, "application/json")


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Whether an event comes within some seconds."""
    try:
        await asyncio.wait_for(event.wait(), max(seconds, 0))
    except TimeoutError:
        return False
    return True


def _begins_with_everything(query: Query) -> bool:
    if query.initial is not None:
        return query.initial
    return versions_of(query.version) is None


def beginning(store: Store, query: Query) -> InstalledSnapshot | None:
    """The state that a watch goes on from, None for the present one.

    StatusError: 400 for a version that can't be read, 410 for one that is not kept, or that is of another server.
    """
    if versions_of(query.version) is None or query.initial is not None:
        return None
    snapshot = store.at(query.version)
    if snapshot is None:
        raise expired(_TOO_OLD)
    return snapshot
