"""Keep `olmc serve` busy for some minutes, and look at its memory, its answers and its watches.

    serve.py [--olmc CMD] [--seconds N] [--clients N] [--watches N] [--pause N] [--change N] [--namespaces N]

A workspace with two operators that watch all of its namespaces is served with TLS. Each client does again and again
what kubectl does for `get installed`: a new connection, discovery, a list as a table; some take whole objects. The
watches hear of a file that changes every second. Exits 1 when a request fails, a watch misses an event, the server has
something to complain about, or its memory grows after it has taken what it needs.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import re
import shlex
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent

GROWTH_LIMIT = 1.10  # of resident memory, from the third fifth of the time, when the history is full, to the last
BEGINNING = 60  # seconds: a shorter run sees little more than memory being taken for the first time,
BEGINNING_LIMIT = 1.80  # and shows no more than that this has an end
GROWTH_FREE = 4 * 1024  # kB that may come on top
SETTLE_SECONDS = 2.0  # for the last change to reach every watch
BASE = "/apis/packages.operators.coreos.com/v2alpha1"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
CSV = "bundles/beacon-0.9.4/manifests/beacon.clusterserviceversion.yaml"


@dataclass
class Run:
    """What is known about the run: where the server is, and what has been seen."""

    port: int
    tls: ssl.SSLContext
    workspace: Path
    end: float
    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    changes: int = 0
    states: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(PROJECT / ".venv" / "bin" / "olmc"), help="the command to measure")
    parser.add_argument("--seconds", type=float, default=300, help="how long")
    parser.add_argument("--clients", type=int, default=200, help="clients at the same time")
    parser.add_argument("--watches", type=int, default=50, help="open watches")
    parser.add_argument("--pause", type=float, default=4, help="seconds between two commands of a client")
    parser.add_argument("--change", type=float, default=1, help="seconds between two changes of a file")
    parser.add_argument("--namespaces", type=int, default=50, help="namespaces that are watched")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="olmc-bench-") as folder:
        workspace = made_workspace(Path(folder), args.namespaces)
        command = [*shlex.split(args.olmc), "serve", str(workspace), "--port", "0"]
        command += ["--kubeconfig", str(Path(folder, "kubeconfig"))]
        log = Path(folder, "log")
        with log.open("wb") as stream, subprocess.Popen(command, stderr=stream) as server:
            try:
                run = begun(server, log, Path(folder, "kubeconfig"), workspace, args.seconds)
                asyncio.run(busy(run, server.pid, args))
                cpu = cpu_seconds(server.pid)
            finally:
                server.terminate()
                server.wait(30)
        return report(run, args, cpu, log.read_text(encoding="utf-8"))


def made_workspace(folder: Path, namespaces: int) -> Path:
    """A copy of `fixtures/installed` with more namespaces, all of which are watched."""
    workspace = shutil.copytree(PROJECT / "fixtures" / "installed", folder / "workspace")
    operators = workspace / "operators.yaml"
    text = operators.read_text(encoding="utf-8")
    operators.write_text(text.replace("spec:\n  targetNamespaces:\n  - default\n", "spec: {}\n"), encoding="utf-8")
    names = "".join(
        f"---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: n{number}\n" for number in range(namespaces)
    )
    (workspace / "namespaces.yaml").write_text(names, encoding="utf-8")
    return workspace


def begun(server: subprocess.Popen[bytes], log: Path, kubeconfig: Path, workspace: Path, seconds: float) -> Run:
    """Wait until the server serves."""
    while "read-only" not in log.read_text(encoding="utf-8"):
        if server.poll() is not None:
            sys.exit(f"bench: the server ended:\n{log.read_text(encoding='utf-8')}")
        time.sleep(0.05)
    text = kubeconfig.read_text(encoding="utf-8")
    port = int(re.findall(r"server: https://127\.0\.0\.1:([0-9]+)", text)[0])
    trusted = base64.b64decode(re.findall(r"certificate-authority-data: (\S+)", text)[0]).decode()
    return Run(port, ssl.create_default_context(cadata=trusted), workspace, time.monotonic() + seconds)


async def busy(run: Run, pid: int, args: argparse.Namespace) -> None:
    """Clients, watches, changes and measurements side by side."""
    _, listed = await get(run, f"{BASE}/installed?limit=1", "application/json")
    version = json.loads(listed)["metadata"]["resourceVersion"]
    run.seen = [0] * args.watches
    watching = [asyncio.create_task(watch(run, number, version, args.namespaces)) for number in range(args.watches)]
    tasks = [client(run, number, args.pause, args.namespaces) for number in range(args.clients)]
    await asyncio.gather(*tasks, changing(run, args.change), measuring(run, pid))
    await asyncio.sleep(SETTLE_SECONDS)
    _, listed = await get(run, f"{BASE}/installed?limit=1", "application/json")
    run.states = int(json.loads(listed)["metadata"]["resourceVersion"].partition(",")[0].partition(":")[2])
    for task in watching:
        if task.done():
            run.failures.append("a watch ended early")
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)


async def client(run: Run, number: int, pause: float, namespaces: int) -> None:
    """What kubectl does for `get installed`; every fourth client wants whole objects, every tenth all namespaces."""
    await asyncio.sleep(pause * (number % 97) / 97)
    scope = "" if number % 10 == 0 else f"/namespaces/n{number % namespaces}"
    accept = "application/json" if number % 4 == 0 else TABLE
    while time.monotonic() < run.end:
        begin = time.monotonic()
        try:
            for path, form in (("/api", DISCOVERY), ("/apis", DISCOVERY), (f"{BASE}{scope}/installed", accept)):
                code, body = await get(run, path, form)
                if code != 200:
                    run.failures.append(f"{path}: {code}: {body[:200]!r}")
        except (OSError, asyncio.IncompleteReadError) as error:
            run.failures.append(f"{type(error).__name__}: {error}")
        run.latencies.append(time.monotonic() - begin)
        await asyncio.sleep(max(0.0, min(begin + pause, run.end) - time.monotonic()))


async def get(run: Run, path: str, accept: str) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    reader, writer = await opened(run, path, accept, "close")
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        return int(head.split()[1]), await reader.read()
    finally:
        writer.close()


async def opened(run: Run, path: str, accept: str, after: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", run.port, ssl=run.tls, limit=2**24)
    lines = (f"GET {path} HTTP/1.1", "Host: localhost", f"Accept: {accept}", f"Connection: {after}", "", "")
    writer.write("\r\n".join(lines).encode())
    return reader, writer


async def watch(run: Run, number: int, version: str, namespaces: int) -> None:
    """Count the changes that a watch of one namespace tells of."""
    path = f"{BASE}/namespaces/n{number % namespaces}/installed?watch=1&resourceVersion={version}"
    reader, writer = await opened(run, path, TABLE, "keep-alive")
    try:
        await reader.readuntil(b"\r\n\r\n")
        while line := await reader.readline():
            run.seen[number] += line.count(b'"type":"MODIFIED"')
            if b'"type":"ERROR"' in line:
                run.failures.append(f"watch {number}: {line[:200]!r}")
    finally:
        writer.close()


async def changing(run: Run, pause: float) -> None:
    """Change the phase of an operator now and then."""
    path = run.workspace / CSV
    plain = path.read_text(encoding="utf-8")
    waiting = plain.replace("spec:\n", "spec:\n  minKubeVersion: 1.99.0\n", 1)
    while time.monotonic() < run.end - pause - SETTLE_SECONDS:
        await asyncio.sleep(pause)
        run.changes += 1
        path.write_text(waiting if run.changes % 2 else plain, encoding="utf-8")


async def measuring(run: Run, pid: int) -> None:
    while time.monotonic() < run.end:
        run.memory.append(resident(pid))
        await asyncio.sleep(0.5)


def resident(pid: int) -> int:
    """The resident memory of a process, in kB."""
    found = re.search(r"VmRSS:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def report(run: Run, args: argparse.Namespace, cpu: float, log: str) -> int:
    """Print the figures; 0 when all is well."""
    fifth = max(len(run.memory) // 5, 1)
    used = [statistics.median(run.memory[part * fifth : (part + 1) * fifth]) for part in range(5)]
    early, late = used[2], used[4]
    limit = GROWTH_LIMIT if args.seconds >= BEGINNING else BEGINNING_LIMIT
    slow = sorted(run.latencies)
    print(f"{args.clients} clients and {args.watches} watches for {args.seconds:.0f} s, {cpu:.1f} s of CPU")
    print(f"commands: {len(slow)}, of three requests each; failed: {len(run.failures)}")
    print(f"latency of a command: median {1000 * statistics.median(slow):.0f} ms, "
          f"99 % {1000 * slow[int(len(slow) * 0.99)]:.0f} ms, worst {1000 * slow[-1]:.0f} ms")  # fmt: skip
    print(f"changes of the file: {run.changes}; states of the server: {run.states}; "
          f"received by each watch: {min(run.seen)} to {max(run.seen)}")  # fmt: skip
    print(f"memory, fifth by fifth: {', '.join(f'{each / 1024:.1f}' for each in used)} MB; "
          f"{max(run.memory) / 1024:.1f} MB at most")  # fmt: skip
    checks: dict[str, Callable[[], bool]] = {
        "no request fails": lambda: not run.failures,
        "every watch hears of every change": lambda: set(run.seen) == {run.states} != {0},
        "memory is stable": lambda: late <= early * limit + GROWTH_FREE,
        "the server has nothing to complain about": lambda: "rror" not in log and "arning" not in log,
    }
    results = {name: check() for name, check in checks.items()}
    for name, ok in results.items():
        print(f"{name}: {'ok' if ok else 'FAILED'}")
    for failure in run.failures[:5]:
        print(f"  {failure}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
