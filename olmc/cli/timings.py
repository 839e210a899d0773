"""`--timings`: how long each stage of a command takes and how much there was to do, on stderr, for reports of bugs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import Timings, say
from olmc.model.catalog import names_of_bundles

if TYPE_CHECKING:
    from olmc.api import Compilation


@contextmanager
def timed() -> Iterator[Timings]:
    """Who hears about stages and counts; what they heard is reported in the end."""
    # What happened before is the start, of which only the CPU knows how long it took.
    spent: dict[str, tuple[float, float]] = {"start": (0.0, time.process_time())}
    counts = dict.fromkeys(("files", "bytes", "bundles", "catalog entries", "objects", "bytes written"), 0)
    current = "", time.perf_counter(), time.process_time()

    def stage(name: str) -> None:
        nonlocal current
        before, began, used = current
        now, cpu = time.perf_counter(), time.process_time()
        if before:
            wall, total = spent.get(before, (0.0, 0.0))
            spent[before] = wall + now - began, total + cpu - used
        current = name, now, cpu

    def compiled(root: Path, done: Compilation) -> None:
        stage("report")
        for name, number in _counts(root, done).items():
            counts[name] += number

    def written(number: int) -> None:
        counts["bytes written"] += number

    try:
        yield Timings(stage, compiled, written)
    finally:
        stage("")
        say("olmc: stage         CPU       time")
        for name, (wall, cpu) in spent.items():
            say(f"olmc: {name:<8} {cpu:>6.3f} s" + (f"  {wall:>6.3f} s" if name != "start" else ""))
        say("olmc: " + ", ".join(f"{number:,} {name}" for name, number in counts.items()))


def _counts(root: Path, done: Compilation) -> dict[str, int]:
    """How much of what there was to compile."""
    paths = [root / name for name in sorted(done.inputs.files)]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    workspace = done.workspace
    bundles = 1 if workspace is None else len(workspace.bundles) + len(workspace.vendored)
    # Their names do not have packages read that nothing else has asked for, which would take longer than the command.
    entries = sum(len(names_of_bundles([catalog])) for catalog in workspace.catalogs.values()) if workspace else 0
    counts = (len(sizes), sum(sizes), 0 if done.failed else bundles, entries, len(done.objects))
    return dict(zip(("files", "bytes", "bundles", "catalog entries", "objects"), counts, strict=True))
