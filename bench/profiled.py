"""Where the time of a command goes, by packages of olmc: what the table says of a target that is missed."""

from __future__ import annotations

import os
import pstats
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
LEAST = 0.08  # a share that is worth a word
_CODE = """\
import cProfile, sys, threading
profile = cProfile.Profile()
try:
    profile.run("import sys; sys.argv[:2] = ['olmc']; from olmc.__main__ import run; run()")
except SystemExit:
    pass
profile.dump_stats(sys.orig_argv[3])
"""  # threading: without it a run ends at once, profile and all


def profile_of(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The largest shares of the time that `olmc` with these arguments takes, such as `yaml 40 %, gojson 12 %`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "profile")
        subprocess.run(
            [sys.executable, "-c", _CODE, path, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False, env={**environment, "PYTHONPATH": os.fspath(PROJECT)},
        )  # fmt: skip
        return in_words(shares_of(pstats.Stats(os.fspath(path)).stats)) if path.is_file() else ""  # type: ignore[attr-defined]


def shares_of(stats: Mapping[tuple[str, int, str], Any]) -> dict[str, float]:
    """The share of each package in the time of a profile; what C does counts for who calls it."""
    times: dict[str, float] = {}
    for place, (_, _, own, _, callers) in stats.items():
        parts = [(place, own)] if place[0] != "~" or not callers else [(who, each[2]) for who, each in callers.items()]
        for who, seconds in parts:
            name = _package(who[0])
            times[name] = times.get(name, 0.0) + seconds
    total = sum(times.values()) or 1.0
    return {name: seconds / total for name, seconds in times.items()}


def in_words(shares: Mapping[str, float]) -> str:
    """The shares that are worth a word, the largest first."""
    largest = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {share:.0%}".replace("%", " %") for name, share in largest if share >= LEAST)


def _package(file: str) -> str:
    """The package of olmc that a file is in, `imports` for Python's import system, `Python` for everything else."""
    if "importlib" in file:
        return "imports"
    _, inside, rest = file.replace(os.sep, "/").rpartition("/olmc/")
    if not inside:
        return "Python"
    wing, _, below = rest.partition("/")
    return (below.partition("/")[0] or wing).removesuffix(".py")
