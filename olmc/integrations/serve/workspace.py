"""The workspace that is served: compiled once, and again whenever one of its files changes."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from watchfiles import awatch

from olmc.compiler.load.files import scan
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.compiler.output.messages import as_text, clean
from olmc.integrations.serve.app import Say
from olmc.integrations.serve.store import InstalledSnapshot, Store, changes, update
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.k8s.lean import NamedTuple
from olmc.targets.pipeline import compile
from olmc.targets.proposed import rules
from olmc.targets.proposed.installed.view import InstalledView, view_of, viewing

LOOK_AGAIN_SECONDS = 5
"""How often files are looked at although the operating system reports no change; not every file system does."""
_CALM_MILLISECONDS = 200

State = tuple[tuple[str, int, int, int], ...]
_GONE: State = (("", 0, 0, 0),)


class ServedWorkspace(NamedTuple):
    """What a workspace shows, None when it can't be compiled; and what there is to say about it."""

    view: InstalledView | None
    diagnostics: Sequence[Diagnostic]


def compile_workspace(root: Path, base: Options, given: frozenset[str] = frozenset()) -> ServedWorkspace:
    """Compile the workspace at `root`, with the options that it has itself, except for the fields in `given`."""
    options = viewing(root, base, given)
    done = compile(CompileRequest(root, options, frozenset(Options._fields)))
    if done.failed or done.settled is None:
        return ServedWorkspace(None, done.diagnostics)
    view = view_of(done.settled, done.objects, done.workspace, options, operators=done.operators)
    return ServedWorkspace(view, done.diagnostics)


def state_of(root: Path) -> State:
    """By what a change of a file is seen: path, time of change, size and number of each."""
    if not root.is_dir():
        return _GONE
    files = []
    try:
        for path in scan(root, Report()).walk():
            facts = (root / path).stat()
            files.append((path, facts.st_mtime_ns, facts.st_size, facts.st_ino))
    except OSError:  # a file went away meanwhile: that is a change, and the next look finds what came of it
        return (*_GONE, *files)
    return tuple(files)


async def follow(
    store: Store, root: Path, base: Options, seen: State, say: Say, given: frozenset[str] = frozenset()
) -> None:
    """Keep a store up to date with the files below `root`, until the store closes.

    `seen` is the state of the files that the store shows, `given` as for `compile_workspace`. A workspace that can't be
    compiled leaves the store as it is; `say` hears of it, and of every change.
    """
    async for _ in _looks(root, store):
        now = await asyncio.to_thread(state_of, root)
        if now == seen:
            continue
        # Before compiling: what changes meanwhile is seen at the next look.
        seen = now
        try:
            served = await asyncio.to_thread(_recompile, root, base, given)
        except Exception as error:  # a bug, or files that go away while they are read: the next look may fare better
            seen = ()
            say(clean(f"olmc: internal error: {type(error).__name__}: {error}") + "\n")
            continue
        if served.view is None:
            say(as_text(served.diagnostics) + as_text([rules.NOT_SERVED.finding(None, path=root)]))
            continue
        # Made in a thread, published in this one: the store belongs to the event loop.
        before = store.current
        store.publish(*await asyncio.to_thread(update, before, store.packages, served.view))
        if store.current is not before:
            say(_summary(before, store.current))


async def _looks(root: Path, store: Store) -> AsyncIterator[object]:
    """Something now and then: whenever a file has changed, and every few seconds in any case."""
    polling = False
    while not store.closing.is_set():
        try:
            async for changes in awatch(
                root,
                watch_filter=lambda _, path: is_of_interest(root.resolve(), Path(path)),
                debounce=_CALM_MILLISECONDS,
                stop_event=store.closing,
                rust_timeout=LOOK_AGAIN_SECONDS * 1000,
                yield_on_timeout=True,
                force_polling=polling or None,
            ):
                yield changes
        except OSError:  # no more watches to be had from the operating system, or the folder is gone for the moment
            polling = root.is_dir()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            yield ()


def is_of_interest(root: Path, path: Path) -> bool:
    """Whether the change of a file may matter: hidden folders are not read, and that of git changes often."""
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    return not any(part.startswith(".") for part in inside.parts[:-1])


def _recompile(root: Path, base: Options, given: frozenset[str]) -> ServedWorkspace:
    """A new compilation; what the one before left behind is collected, as a server lives long."""
    try:
        return compile_workspace(root, base, given)
    finally:
        gc.collect()


def _summary(before: InstalledSnapshot, after: InstalledSnapshot) -> str:
    """What a change did to all namespaces, for the log."""
    counts = Counter(event.type.lower() for event in changes(before, after, None, lambda _: True))
    shown = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{after.version}: {shown or 'nothing that an existing namespace shows'}\n"
