"""Print the rows of the table for fleets: what `olmc fleet` takes for many clusters.

    fleet_table.py [--olmc CMD] [--clusters N] [--operators N] [--jobs N] [--generated]

The fleet is the one that fleet.py writes. Seconds are the CPU of the command and of all that it starts, divided by the
processors that it may use: what it takes at least on a machine that has nothing else to do. Memory is that of all
processes together at its highest, as far as the system tells it, where pages that several share count for each.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

from fleet import write_fleet, write_ring

PROJECT = Path(__file__).resolve().parent.parent
FIRST, AGAIN, HELD = 360.0, 60.0, 1500.0
_PAGE = os.sysconf("SC_PAGE_SIZE")


class FleetCost(NamedTuple):
    """Seconds of CPU, megabytes held at most by all processes together, and what the command says of itself."""

    seconds: float
    held: float
    messages: str


def cost_of(command: list[str], root: Path, cache: Path) -> FleetCost:
    """What a command takes in a repository."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command, cwd=root, env={**env, "XDG_CACHE_HOME": os.fspath(cache)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    most, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            most[0] = max(most[0], _held_below(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, messages = process.communicate()
    done.set()
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        sys.exit(f"bench: {shlex.join(command[:3])} … exited with {process.returncode}:\n{messages[-2000:]}")
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return FleetCost(seconds, most[0], messages.strip())


def _held_below(pid: int) -> float:
    """Megabytes that a process and all below it hold."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)], sizes[int(folder.name)] = int(fields[1]), int(fields[21]) * _PAGE / 1e6
    below, total = {pid}, 0.0
    while below:
        total += sum(sizes.get(one, 0.0) for one in below)
        below = {one for one, parent in parents.items() if parent in below}
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(PROJECT / ".venv" / "bin" / "olmc"), help="the command to measure")
    parser.add_argument("--clusters", type=int, default=2000)
    parser.add_argument("--operators", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--generated", action="store_true", help="generated operators, not those of the corpus")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root, cache = Path(folder, "repository"), Path(folder, "cache")
        kind = write_fleet(root, args.clusters, args.operators, generated=args.generated)
        who = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
        for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "state"]):
            subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
        command = [*shlex.split(args.olmc), "fleet"]
        common = ["clusters/*", "--beside", "operators", "--jobs", str(args.jobs)]
        base = min((root / "base" / "operators").iterdir())
        names = sorted(path.stem for path in (root / "base" / "operators").iterdir())
        what = f"{args.clusters:,} clusters × {args.operators} operators, {kind}"
        print(f"| {what} | CPU | of {args.jobs} processors | memory | target | |")
        print("|---|---|---|---|---|---|")
        base.write_text(base.read_text().replace("channel: stable", "channel: candidate"))
        works = [
            ("a plan of a change of the base of all", FIRST),
            ("the same again after one in the base of a ring", AGAIN),
        ]
        for words, most in works:
            cost = cost_of([*command, "plan", *common, "--from", "git:HEAD"], root, cache)
            took = cost.seconds / args.jobs
            missed = [f"≤ {most:.0f} s"] * (took > most) + [f"≤ {HELD:.0f} MB"] * (cost.held > HELD)
            verdict = f"misses {', '.join(missed)}" if missed else "ok"
            targets = f"≤ {most:.0f} s, ≤ {HELD:.0f} MB"
            print(
                f"| {words} | {cost.seconds:.0f} s | {took:.0f} s | {cost.held:.0f} MB | {targets} | {verdict} |",
                flush=True,
            )
            print(f"  {cost.messages}", file=sys.stderr)
            write_ring(root, "late", "candidate", names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
