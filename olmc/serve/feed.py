"""What the server shows at present and showed before, and how those who watch hear of a change."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from olmc.proposed.view import View
from olmc.serve.snapshots import Packages, Snapshot, first_snapshot, next_snapshot

HISTORY = 64
"""How many states are kept: a watch or a list that begins with an older one is refused (410)."""


@dataclass(slots=True)
class Feed:
    """The states of the workspace; the one thing in the server that changes. Only for the thread of the event loop.

    `closing` is set when the server is about to stop.
    """

    history: deque[Snapshot]
    packages: Packages
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watches: int = 0
    requests: int = 0

    @property
    def current(self) -> Snapshot:
        return self.history[-1]

    def publish(self, snapshot: Snapshot, packages: Packages) -> None:
        """Make a new state the present one, and wake all who wait."""
        self.packages = packages
        if snapshot is not self.current:
            self.history.append(snapshot)
        self._wake()

    def close(self) -> None:
        """End all watches."""
        self.closing.set()
        self._wake()

    def _wake(self) -> None:
        waiting, self.changed = self.changed, asyncio.Event()
        waiting.set()

    def at(self, version: str) -> Snapshot | None:
        """The state with a version, None when it is not kept any more or never was."""
        return next((each for each in reversed(self.history) if each.version == version), None)

    def since(self, snapshot: Snapshot) -> list[Snapshot] | None:
        """The states after one, oldest first; None when they are not all kept any more."""
        states = list(self.history)
        for index, each in enumerate(states):
            if each is snapshot:
                return states[index + 1 :]
        return None


def feed_of(view: View) -> Feed:
    """A feed that begins with a view."""
    return Feed(deque([first_snapshot(view)], HISTORY), Packages(view.offers, view.global_namespace, 1))


def updated(snapshot: Snapshot, packages: Packages, view: View) -> tuple[Snapshot, Packages]:
    """The state that follows another one when the workspace shows a view; what is the same stays the same."""
    if (packages.offers, packages.global_namespace) != (view.offers, view.global_namespace):
        packages = Packages(view.offers, view.global_namespace, packages.generation + 1)
    return next_snapshot(snapshot, view), packages
