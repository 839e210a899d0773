"""Feed olmc with changed inputs for a while, and keep those that it can't take.

    fuzz.py [--minutes N] [--target NAME] [--found FOLDER] [--work FOLDER]

Each target (fuzz_targets.py) gets its share of the time, in rounds of some minutes, each in a process of its own. Most
inputs are changes of seeds, the small ones the more often: an hour of one core makes a million of them. In long runs
with atheris, which needs a wheel for this Python, a part of the time goes to inputs that are changed again if they
reach new code; these are kept below WORK. An input that raises, takes more than 5 s of CPU time or a process to more
than 1 GiB is written to FOUND/TARGET, where tests/fuzz/test_found.py runs it from then on. How many there were of each
target, and of all, is printed at the end. Exits 1 if olmc could not take one of them.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUND_SECONDS = 300.0
# Which part of a target's time is atheris', and how long that has to be at least: it takes a while to begin, and has a
# tenth of the inputs in the same time.
GUIDED, GUIDED_SECONDS = 0.1, 30.0
# What is added to the size of a seed before it is weighed: the smaller ones are taken the more often.
_BASE = 1000
# Wall-clock time after which a process that does not come back is ended: others may have the processor meanwhile.
HUNG_SECONDS = 60
GIBIBYTE = 1024
# What atheris adds to the code in order to see what is reached takes its time.
_SLOWER = 4
_RUNS = re.compile(r"^(?:stat::number_of_executed_units:|runs:)\s+(\d+)", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="how long, all targets together")
    parser.add_argument("--target", action="append", help="only this one (may be repeated)")
    parser.add_argument("--found", type=Path, default=HERE / "found", help="where inputs that olmc can't take are kept")
    parser.add_argument(
        "--work", type=Path, default=HERE.parents[1] / "build" / "fuzz", help="where the others are kept"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers; 0 for another one each time")
    parser.add_argument("--round", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--guided", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--latest", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=ROUND_SECONDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]
    if args.round:
        return run_round(args)
    from fuzz_targets import TARGETS

    shares = {name: target.share for name, target in TARGETS.items() if not args.target or name in args.target}
    before, counts = kept(args.found), dict.fromkeys(shares, 0)
    print(f"{len(shares)} targets for {args.minutes:g} minutes", flush=True)
    for name, share in shares.items():
        left = args.minutes * 60 * share / sum(shares.values())
        guided = left * GUIDED if importlib.util.find_spec("atheris") else 0.0
        if guided >= GUIDED_SECONDS:
            counts[name] += start_round(name, guided, args, guided=True)
            left -= guided
        while left > 0:
            # More rounds than one, since each begins with other random numbers, also after one that ended early.
            start = time.monotonic()
            counts[name] += start_round(name, min(left, ROUND_SECONDS), args)
            left -= max(time.monotonic() - start, 1)
        print(f"{name}: {counts[name]:,} inputs; {sum(counts.values()):,} inputs so far", flush=True)
    fresh = sorted(kept(args.found) - before)
    for name, count in counts.items():
        print(f"{name}: {count:,} inputs")
    print(f"{sum(counts.values()):,} inputs, {len(fresh)} that olmc can't take")
    for path in fresh:
        print(f"  {path}")
    return 1 if fresh else 0


def kept(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*/*") if path.is_file()}


def start_round(name: str, seconds: float, args: argparse.Namespace, *, guided: bool = False) -> int:
    """Run one target in a process of its own; how many inputs it had. What ends the process is found as well."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-latest-", dir=memory if memory.is_dir() else None) as folder:
        latest = Path(folder) / "input"
        count = run_process(name, seconds, args, [*(["--guided"] if guided else []), "--latest", str(latest)])
        if latest.exists():
            keep(args.found / name, latest.read_bytes())
        return count


def keep(folder: Path, data: bytes) -> None:
    """Write an input that olmc can't take to where the tests find it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"crash-{hashlib.sha1(data).hexdigest()[:16]}").write_bytes(data)


def run_process(name: str, seconds: float, args: argparse.Namespace, more: list[str]) -> int:
    command = [sys.executable, __file__, "--round", name, "--seconds", str(seconds), "--found", str(args.found)]
    seed = args.seed or random.randrange(2**31)
    command += ["--work", str(args.work), "--seed", str(seed), *more]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        why = said[said.find("Uncaught Python exception") :] if "Uncaught Python exception" in said else said[-3000:]
        print(f"{name} (seed {seed}): exit code {done.returncode}\n{why[:3000]}", flush=True)
    numbers = _RUNS.findall(said) or re.findall(r"^#(\d+)\t", said, re.MULTILINE)
    return int(numbers[-1]) if numbers else 0


def run_round(args: argparse.Namespace) -> int:
    """Fuzz one target in this process."""
    (args.found / args.round).mkdir(parents=True, exist_ok=True)
    return with_atheris(args) if args.guided else without_atheris(args)


def with_atheris(args: argparse.Namespace) -> int:
    import atheris

    corpus = args.work / args.round
    corpus.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["olmc"]):
        from fuzz_targets import SECONDS, TARGETS, within_limits

        target = TARGETS[args.round]
        seeds = list(target.seeds())
        for data in seeds[:3]:  # imports what is imported when it is needed
            target.run(data)
    for data in seeds:
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        changed = target.mutate(data if data.strip() else rng.choice(seeds), rng)
        return changed if len(changed) <= most else data[:most]

    flags = [f"-max_total_time={int(args.seconds)}", f"-timeout={HUNG_SECONDS}", f"-rss_limit_mb={GIBIBYTE}"]
    flags += [f"-artifact_prefix={args.found / args.round}/", "-max_len=250000", f"-seed={args.seed}", "-len_control=0"]
    flags += ["-print_final_stats=1", "-verbosity=0"]
    atheris.Setup(
        [sys.argv[0], *flags, str(corpus)],
        lambda data: within_limits(target.run, data, _SLOWER * SECONDS),
        custom_mutator=mutate,
    )
    atheris.Fuzz()
    return 0


def without_atheris(args: argparse.Namespace) -> int:
    import resource
    import signal

    from fuzz_targets import TARGETS, within_limits

    target = TARGETS[args.round]
    seeds, ends, runs, failed = list(target.seeds()), time.monotonic() + args.seconds, 0, 0
    weights = [1 / (_BASE + len(data)) for data in seeds]
    most = GIBIBYTE * 1024**2 + int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    rng = random.Random(args.seed)
    while time.monotonic() < ends:
        data = rng.choices(seeds, weights)[0]
        for _ in range(rng.choice((1, 1, 2, 4))):
            data = target.mutate(data, rng)
        args.latest.write_bytes(data)
        runs += 1
        if runs % 100 == 0:  # one that ends the process leaves the number of those before
            print(f"runs: {runs}", flush=True)
        signal.alarm(HUNG_SECONDS)  # ends the process, whatever it is busy with
        try:
            within_limits(target.run, data)
        except (Exception, RecursionError, MemoryError):
            failed = 1
            keep(args.found / args.round, data)
            traceback.print_exc()
    signal.alarm(0)
    args.latest.unlink(missing_ok=True)
    print(f"runs: {runs}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
