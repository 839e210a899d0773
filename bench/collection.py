"""Measure the commands on a repository like community-operators: 330 packages of 1 to 60 versions, 80,000 files.

    collection.py [--olmc CMD] [--packages N] [--keep FOLDER]

The bundles are those of the corpus with other names and versions, and are the same for the same number of packages. A
version has its own CSV, and every second one of its other files is its own as well. The targets are per bundle, so a
small repository measures the same. Then come a package of 60 versions by itself, and the same bundles in three layouts
at one root. Exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus import SHARED, unpacked

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = 330
MOST_VERSIONS = 60
SCORECARD = "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\n"
_CSV = re.compile(r"^kind: ClusterServiceVersion\s*$", re.MULTILINE)
_CSV_NAME = re.compile(r"""^metadata:\n(?:[ #].*\n)*?  name: ["']?([^\s"']+)""", re.MULTILINE)
_PACKAGE = re.compile(r"(operators\.operatorframework\.io\.bundle\.package\.v1:).*")
_BUNDLES = re.compile(r"\((\d+) bundles? validated, (\d+) older versions? not looked at")
_GIT = (
    "git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false",
    "-c", "gc.auto=0",
)  # fmt: skip

CPU_PER_BUNDLE = 60 / 7_000
"""Seconds of each processor for a bundle."""
CPU_ALONE = 2 * CPU_PER_BUNDLE
"""Seconds for a bundle of a package by itself, which is one process: as many as for one of many on two processors."""
QUICK = 2.0
"""Seconds until a command ends that needs one package of the repository at most."""
MOST_MEMORY = 500
LAYOUTS = ("bundles", "operators", "deploy/olm-catalog")
"""Folders for the bundles of a package; each bundle is in the folder of its version."""


class Source(NamedTuple):
    """A bundle of the corpus: the name of its CSV, and its files by their path in the bundle."""

    csv: str
    files: dict[str, str]


class Measured(NamedTuple):
    """What a command takes: CPU of all its processes, elapsed time, and megabytes of its largest process."""

    cpu: float
    elapsed: float
    memory: int
    printed: str
    code: int


def sources(corpus: Path) -> dict[str, Source]:
    """The newest bundle of each operator of the corpus, by package."""
    found = {}
    for operator in sorted(corpus.glob("bundles/*")):
        bundle = max(operator.iterdir(), key=lambda path: path.name)
        paths = sorted(path for path in bundle.rglob("*") if path.is_file())
        files = {path.relative_to(bundle).as_posix(): path.read_text(encoding="utf-8") for path in paths}
        csv = next(text for text in files.values() if _CSV.search(text))
        name = _CSV_NAME.search(csv)
        if name is not None:
            found[operator.name] = Source(name[1], files)
    return found


def versions_of(packages: int) -> list[int]:
    """How many versions each package has: 1 to 60, and 21 on average."""
    drawn = random.Random(packages)
    return [round(1 + (MOST_VERSIONS - 1) * drawn.betavariate(0.6, 1.15)) for _ in range(packages)]


def write_collection(root: Path, packages: int) -> int:
    """Write the repository; the number of its bundles."""
    corpus = list(sources(unpacked(SHARED / "corpus" / "bundles.tar.xz")).items())
    counts = versions_of(packages)
    step = max(len(corpus) // packages, 1)
    for number, count in enumerate(counts):
        operator, source = corpus[number * step % len(corpus)]
        package = operator if number * step < len(corpus) else f"{operator}-{number * step // len(corpus) + 1}"
        home = root / "operators" / package
        home.mkdir(parents=True)
        (home / "ci.yaml").write_text("---\nupdateGraph: replaces-mode\n", encoding="utf-8")
        for at in range(count):
            for path, text in bundle_files(package, source, at):
                target = home / f"1.{at}.0" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
    return sum(counts)


def write_package(root: Path, layouts: Sequence[str]) -> int:
    """Write 60 versions of an operator of average size, in turn below each of the folders; the bytes of one."""
    corpus = sources(unpacked(SHARED / "corpus" / "bundles.tar.xz"))
    sizes = {name: sum(len(each.encode()) for each in source.files.values()) for name, source in corpus.items()}
    average = sum(sizes.values()) / len(sizes)
    package = min(sizes, key=lambda name: (abs(sizes[name] - average), name))
    for at in range(MOST_VERSIONS):
        for path, text in bundle_files(package, corpus[package], at):
            target = root / layouts[at % len(layouts)] / package / f"1.{at}.0" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    return sizes[package]


def bundle_files(package: str, source: Source, at: int) -> Iterator[tuple[str, str]]:
    """The files of the version 1.`at`.0 of a package."""
    yield "tests/scorecard/config.yaml", SCORECARD
    for number, (path, text) in enumerate(source.files.items()):
        if path.startswith("metadata/"):
            yield path, _PACKAGE.sub(rf"\1 {package}", text)
        elif _CSV.search(text):
            yield path, csv_of_version(package, source.csv, text, at)
        else:
            yield path, f"{text.rstrip()}\n# of version {at}\n" if number % 2 and text.strip() else text


def csv_of_version(package: str, name: str, text: str, at: int) -> str:
    """A CSV as that of another version and package."""
    named = re.compile(rf"^(  name: )[\"']?{re.escape(name)}[\"']?[ ]*$", re.MULTILINE)
    text = named.sub(rf"\g<1>{package}.v1.{at}.0", text)
    text = re.sub(r"^  replaces: .*\n", "", text, flags=re.MULTILINE)
    replaces = f"\n  replaces: {package}.v1.{at - 1}.0" if at else ""
    return re.sub(r"^  version: .*$", f"  version: 1.{at}.0{replaces}", text, flags=re.MULTILINE)


def run(command: Sequence[str], folder: Path, **variables: str) -> Measured:
    """Run a command in a folder and measure it with all its processes."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | variables
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, env=env)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read().decode(errors="replace")
    elapsed = time.perf_counter() - began
    return Measured(used.ru_utime + used.ru_stime, elapsed, used.ru_maxrss // 1024, printed, process.returncode)


def change_a_bundle(root: Path) -> None:
    """Change a bundle of the package of median size."""
    sizes = {
        package: sum(path.stat().st_size for path in package.rglob("*") if path.is_file())
        for package in root.glob("operators/*")
    }
    package = sorted(sizes, key=lambda path: (sizes[path], path))[len(sizes) // 2]
    path = next(path for path in sorted(package.glob("1.0.0/manifests/*")) if _CSV.search(path.read_text()))
    path.write_text(f"{path.read_text(encoding='utf-8').rstrip()}\n# changed\n", encoding="utf-8")


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to measure")
    parser.add_argument("--packages", type=int, default=PACKAGES, help="how many packages the repository has")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the repository, and where it is if it exists")
    given = parser.parse_args()
    command = shlex.split(given.olmc)
    command[0] = os.path.abspath(command[0]) if os.sep in command[0] else command[0]  # noqa: PTH100
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep or Path(temporary, "collection")
        if not root.exists():
            write_collection(root, given.packages)
            for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
                subprocess.run([*_GIT, *arguments], cwd=root, check=True)
            change_a_bundle(root)
        of_collection = _collection_holds(command, root)
        of_package = _package_holds(command, Path(temporary))
        return 0 if of_collection and of_package else 1


def _is_met(what: str, done: Measured, limit: float, *, note: str = "", is_elapsed: bool = False) -> bool:
    """Print the line of a target; whether it is met."""
    is_met = (done.elapsed if is_elapsed else done.cpu) <= limit and done.memory <= MOST_MEMORY
    cpu, target = f"{done.cpu:.2f} s of CPU", f" (target {limit:.2f} s)"
    times = f"{done.elapsed:.2f} s{target}, {cpu}" if is_elapsed else f"{cpu}{target}"
    print(f"{what}: {times}, {done.memory} MB{note}: {'ok' if is_met else 'MISSED'}", flush=True)
    return is_met


def _package_holds(command: Sequence[str], folder: Path) -> bool:
    """Print a line for each target of a package of 60 versions; whether all hold."""
    holds = True
    for words, layouts in (("a package", LAYOUTS[:1]), ("a package in three layouts", LAYOUTS)):
        root = folder / words.replace(" ", "-")
        size = write_package(root, layouts)
        for name in ("check", "status"):
            done = run([*command, name], root)
            if done.code not in (0, 1):
                sys.exit(f"bench: olmc {name} exited with {done.code}:\n{done.printed[-2000:]}")
            what = f"{name} of {words}, {MOST_VERSIONS} versions of {size / 1e6:.2f} MB"
            limit = CPU_ALONE * MOST_VERSIONS
            holds &= _is_met(what, done, limit, note=f", {done.cpu / MOST_VERSIONS * 1000:.1f} ms a bundle")
    return holds


def _collection_holds(command: Sequence[str], root: Path) -> bool:
    """Print a line for each target of the collection; whether all hold."""
    run([*command, "check"], root, OLMC_LIMIT_FILES="100")  # unmeasured: Python compiles modules
    over = run([*command, "check"], root, OLMC_LIMIT_FILES="100")
    note = "" if "OLMC_LIMIT_FILES" in over.printed else ", NOT REPORTED"
    holds = _is_met("check of too many files", over, 1.0, note=note)
    processors = len(os.sched_getaffinity(0))
    done = run([*command, "check"], root)
    match = _BUNDLES.search(done.printed)
    if match is None:
        sys.exit(f"bench: no bundles were checked:\n{done.printed[-2000:]}")
    bundles = sum(map(int, match.groups()))
    each = f", {done.cpu / bundles * 1000:.1f} ms a bundle, {done.elapsed:.0f} s elapsed"
    holds &= _is_met(f"check of {bundles} bundles", done, CPU_PER_BUNDLE * processors * bundles, note=each)
    for arguments in (["check", "--since", "HEAD"], ["status"], ["plan", "--from", "git:HEAD"]):
        done = run([*command, *arguments], root)
        holds &= _is_met(shlex.join(arguments), done, QUICK, is_elapsed=True)
    return holds


if __name__ == "__main__":
    sys.exit(main())
