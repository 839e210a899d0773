"""Print one table: what work takes today, beside its target and what kubectl takes for as many objects.

    table.py [--olmc CMD] [--shared FOLDER] [--runs N]

User and system time of the whole process, as seconds and as multiples of `python -c pass` in the same loop, which says
the same on a slow machine; and the memory that the process holds at most. A target in seconds is one for a machine that
an empty Python takes 9 ms on, and is compared with the time that the work would take there. A line ends in `ok`, or in
the missed target, the floor (floors.py), the reason, and the packages of olmc that take the time.
Nothing is failed for: the limits of the other benchmarks are for that. Lines that need the shared data (OLMC_SHARED, or
the folder `shared` beside the checkout) are left out without it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import NamedTuple

from catalog import MANIFESTS
from copies import write_workspace as write_copied
from corpus import SHARED, unpacked
from diff import rendering
from floors import least, modules_of
from peers import has_helm, write_chart, write_kustomization, yaml_files
from profiled import profile_of
from render import MEDIAN_SIZE, bundles_in, size

PROJECT = Path(__file__).resolve().parent.parent
FINE = (0, 1)  # done, or done with findings
EMPTY_RUNS = 3  # before each run, and behind it
PEERS = (sys.executable, os.fspath(Path(__file__).with_name("peers.py")))
ASKED = (("infinispan", 0), ("project-quay", 1), ("sailoperator", 2), ("hive-operator", 3), ("patterns-operator", 4))
"""Packages that are asked for in the large catalogs, each with the number of its copy."""
COPIES = 7  # of the catalog of 15 MB, under other names: 102 MB


class Cost(NamedTuple):
    """Seconds of CPU, the most megabytes held, megabytes printed or written, and the seconds of an empty Python right
    before and after: the speed of a machine that others work on changes from one second to the next."""

    seconds: float
    held: float
    size: float
    empty: float


class Work(NamedTuple):
    """A line: its words, the command, and its targets, 0 for none: multiples of an empty Python, seconds, megabytes
    held, megabytes a second; of a peer, the most of its CPU that olmc may take for the same, `inf` for no target.

    Then come the number of runs, the folder that it writes, and the folder for its cache. `reason` explains a missed
    target. `documents` and `texts` are for its floor: the YAML that it has to read, and files that it goes through.
    """

    words: str
    command: Sequence[str]
    multiple: float = 0
    seconds: float = 0
    held: float = 0
    speed: float = 0
    share: float = 0
    runs: int = 3
    written: Path | None = None
    cache: Path | None = None
    reason: str = ""
    documents: Sequence[Path] = ()
    texts: Sequence[Path] = ()


# The reasons for missed targets. Only lines that miss one have a floor and a profile.
MODULES = "a module costs 0.01 P, and these are needed"
ONCE = "each line is read, decoded as Go does and written once"
CATALOG = "entries that can be asked for are decoded, and the whole file is cut"
DIFFERING = "an empty olmc holds a quarter; the rest is what differs between objects"
COMPARED = "what differs is read and compared once"
KEPT = "the file is hashed, its view read and the answer made; a quarter is an empty olmc"
FOUND = "a catalog with a fault is read again each time, since OLM v1 serves parts of it"

QUIET = 0.009
"""Seconds that an empty Python takes on the machine that the targets in seconds are for."""


def cost_of(
    command: Sequence[str], runs: int, written: Path | None = None, cache: Path | None = None,
    fine: Collection[int] = FINE,
) -> Cost:  # fmt: skip
    """What a command takes, of several runs the median; `written` is a folder that it makes again, `cache` the one
    that it may keep things in. Ends the program for an exit code that is not in `fine`."""
    costs = []
    env = environment_of(cache)
    for _ in range(runs):
        if written is not None:
            shutil.rmtree(written, ignore_errors=True)
        empty = [_seconds_of_empty() for _ in range(EMPTY_RUNS)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdout=out, stderr=errors, env=env)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in fine:
                errors.seek(0)
                sys.exit(
                    f"bench: {shlex.join(command[:3])} … exited with {process.returncode}:\n{errors.read()[-2000:]!r}"
                )
            folder = [] if written is None else list(written.iterdir())
            size = out.seek(0, os.SEEK_END) + sum(path.stat().st_size for path in folder)
        empty += [_seconds_of_empty() for _ in range(EMPTY_RUNS)]
        seconds = usage.ru_utime + usage.ru_stime
        costs.append(Cost(seconds, usage.ru_maxrss / 1024, size / 1e6, statistics.median(empty)))
    # The run whose multiple is in the middle: medians of seconds and of empty runs may be of different moments.
    return sorted(costs, key=lambda cost: cost.seconds / cost.empty)[len(costs) // 2]


def _seconds_of_empty() -> float:
    process = subprocess.Popen([sys.executable, "-c", "pass"], env=environment_of(None))
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def works(olmc: Sequence[str], shared: Path, folder: Path) -> Iterator[Work]:
    """All lines; what they need is made below `folder`."""
    yield Work("`olmc version`", [*olmc, "version"], multiple=3, runs=5, reason=MODULES)
    yield from of_corpus(olmc, shared / "corpus" / "bundles.tar.xz", folder)
    yield from of_catalogs(olmc, shared / "corpus" / "catalog-v4.20.tar.xz", folder)
    render = [*olmc, "render", write_copied(folder / "fleet", 40, 1000)]
    out = folder / "written"
    yield Work("40 operators × 1,000 namespaces as YAML", render, held=100, speed=250, reason=DIFFERING)
    yield Work("the same as JSON", [*render, "-o", "json"], held=100, speed=250, reason=DIFFERING)
    yield Work(
        "the same with --output-dir",
        [*render, "--output-dir", os.fspath(out)],
        held=120,
        speed=130,
        written=out,
        reason=DIFFERING,
    )
    kubectl = shutil.which("kubectl")
    if kubectl is not None:
        small = folder / "small"
        subprocess.run(
            [*olmc, "render", write_copied(folder / "less", 40, 10), "--output-dir", small],
            check=True,
            capture_output=True,
        )
        yield Work("`olmc render`, 40 operators × 10 namespaces", [*olmc, "render", os.fspath(folder / "less")])
        yield Work("`kubectl kustomize` of what that gives", [kubectl, "kustomize", os.fspath(small)], runs=1)
    for name, upgraded in (("old", 0), ("new", 5000)):
        (folder / f"{name}.yaml").write_text(rendering(5000, upgraded), encoding="utf-8")
    sides = (os.fspath(folder / "old.yaml"), os.fspath(folder / "new.yaml"))
    yield Work(
        "diff of 5,000 objects, all changed", [*olmc, "diff", *sides], seconds=1, reason=COMPARED,
        texts=list(map(Path, sides)),
    )  # fmt: skip


def of_corpus(olmc: Sequence[str], archive: Path, folder: Path) -> Iterator[Work]:
    if not archive.is_file():
        return
    bundles = bundles_in(unpacked(archive))
    median = min(bundles, key=lambda bundle: abs(size(bundle) - MEDIAN_SIZE))
    large = min(bundles, key=lambda bundle: abs(size(bundle) - 1_600_000))
    render = [*olmc, "render"]
    files = yaml_files(median)
    yield Work("bundle of 100 kB", [*render, os.fspath(median)], multiple=5.5, runs=5, reason=MODULES, documents=files)
    yield from of_peers(median, folder / "peers")
    files = yaml_files(large)
    yield Work("bundle of 1.6 MB", [*render, os.fspath(large)], multiple=9, runs=5, reason=ONCE, documents=files)
    every = [*render, "--jobs", "1", *map(os.fspath, bundles)]
    files = [path for bundle in bundles for path in yaml_files(bundle)]
    words = f"{len(bundles)} bundles in one process"
    yield Work(words, every, seconds=0.01 * len(bundles), held=250, reason=ONCE, documents=files)
    yield Work("PyYAML's C loader reads their files", [*PEERS, "yaml", *map(os.fspath, files)], share=inf, runs=1)


def of_peers(bundle: Path, folder: Path) -> Iterator[Work]:
    """What others take for the bundle of the line before: to build its manifests, to render them, and to read them."""
    kubectl = shutil.which("kubectl")
    if kubectl is not None:
        built = write_kustomization(bundle, folder / "kustomization")
        yield Work("`kubectl kustomize` of its manifests", [kubectl, "kustomize", os.fspath(built)], share=0.75, runs=5)
    if has_helm():
        chart = write_chart(bundle, folder / "chart")
        yield Work("Helm as a library renders them", [*PEERS, "helm", os.fspath(chart)], share=inf, runs=5)


def of_catalogs(olmc: Sequence[str], archive: Path, folder: Path) -> Iterator[Work]:
    if not archive.is_file():
        return
    root = folder / "catalog"
    shutil.copytree(unpacked(archive), root)
    (root / "manifests.yaml").write_text(MANIFESTS, encoding="utf-8")
    cache = folder / "cache"
    resolve = [*olmc, "resolve", os.fspath(root)]
    texts = sorted(root.glob("catalogs/*/*/catalog.yaml"))
    asked = [path for path in texts if path.parent.name == "infinispan"]
    yield Work("catalog of 15 MB, resolve", resolve, seconds=0.45, reason=CATALOG, documents=asked, texts=texts)
    yield Work("the first run that keeps what it has read", resolve, cache=cache, runs=1)
    yield Work("unchanged since the last run", resolve, seconds=0.12, cache=cache, runs=5, reason=KEPT, texts=texts)
    for name, renamed, limit, reason in (
        ("102 MB, five packages asked for", _renamed, 1.5, KEPT),
        ("the same with many findings", _half_renamed, 2.25, FOUND),
    ):
        path = folder / renamed.__name__
        _write_copies(root / "catalogs" / "v4.20", path, renamed)
        resolve = [*olmc, "resolve", os.fspath(path)]
        words = f"catalog of {name}" if "MB" in name else name
        texts = sorted(path.glob("catalogs/big/*/catalog.yaml"))
        asked = [path / "catalogs" / "big" / f"{package}-{number}" / "catalog.yaml" for package, number in ASKED]
        yield Work(words, resolve, seconds=limit, reason=CATALOG, documents=asked, texts=texts)
        yield Work("the first run that keeps what it has read", resolve, cache=cache, runs=1)
        yield Work(
            "unchanged since the last run", resolve, seconds=0.3, cache=cache, runs=5, reason=reason, texts=texts
        )


def _half_renamed(text: str, number: int) -> str:
    """A package file under another name, but for the property of its bundles that has it as well."""
    text = re.sub(r"^(package: .*)$", rf"\1-{number}", text, flags=re.MULTILINE)
    return re.sub(r"^(name: .*)(?=\nschema: olm.package$)", rf"\1-{number}", text, flags=re.MULTILINE)


def _renamed(text: str, number: int) -> str:
    pattern = r"^(- type: olm.package\n  value:\n    packageName: .*)$"
    return re.sub(pattern, rf"\1-{number}", _half_renamed(text, number), flags=re.MULTILINE)


def _write_copies(catalog: Path, root: Path, renamed: Callable[[str, int], str]) -> None:
    """A workspace with the packages of a catalog several times, and Subscriptions to five of them."""
    for path in sorted(catalog.glob("*/catalog.yaml")):
        text = path.read_text(encoding="utf-8")
        for number in range(COPIES):
            target = root / "catalogs" / "big" / f"{path.parent.name}-{number}" / path.name
            target.parent.mkdir(parents=True)
            target.write_text(renamed(text, number) if number else text, encoding="utf-8")
    group, _, _ = MANIFESTS.partition("---")
    wishes = (
        "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
        f"metadata: {{name: {name}, namespace: tools}}\n"
        f"spec: {{name: {name}, source: big, sourceNamespace: olm}}\n"
        for name in (f"{package}-{number}" if number else package for package, number in ASKED)
    )
    (root / "manifests.yaml").write_text(group + "".join(wishes), encoding="utf-8")


def environment_of(cache: Path | None) -> dict[str, str]:
    """The environment of a command, with the folder that it may keep things in."""
    # Otherwise Python compiles modules in every run and writes each piece of an output by itself, which is unusual.
    unusual = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    env = {name: value for name, value in os.environ.items() if name not in unusual}
    # 40 operators in 1,000 namespaces have more copied CSVs than the default allows.
    env.setdefault("OLMC_LIMIT_CSV_BYTES", "2000000000")
    # Only lines that ask for it use results of an earlier run; the user's own cache is not touched.
    return env | ({"OLMC_NO_CACHE": "1"} if cache is None else {"OLMC_NO_CACHE": "0", "XDG_CACHE_HOME": str(cache)})


def line_of(work: Work, cost: Cost, explain: Callable[[Work], tuple[str, str]], olmc: float = 0) -> str:
    """A line of the table; `explain` gives the floor of some work and the shares of its profile, if it takes too long.
    `olmc`: the multiple that olmc takes for the work of a peer."""
    multiple, speed, empty = cost.seconds / cost.empty, cost.size / cost.seconds, cost.empty
    targets = (
        (work.multiple, multiple, f"≤ {work.multiple:g} P", work.multiple < multiple),
        (work.seconds, cost.seconds, f"≤ {work.seconds:.2f} s", work.seconds < cost.seconds * QUIET / empty),
        (work.speed, speed, f"≥ {work.speed:.0f} MB/s", work.speed > speed * empty / QUIET),
        (work.held, cost.held, f"≤ {work.held:.0f} MB", work.held < cost.held),
    )
    if work.share:
        share = olmc / multiple
        target = "" if work.share == inf else f"olmc ≤ {work.share:g} of it"
        verdict = "" if work.share == inf else "ok, " if share <= work.share else "misses it, "
        figures = (work.words, f"{cost.seconds:.2f} s", f"{multiple:.1f} P", "", f"{cost.held:.0f} MB", target)
        return f"| {' | '.join((*figures, f'{verdict}olmc takes {share:.2f} of it'))} |"
    wanted = [text for target, _, text, _ in targets if target]
    missed = [text for target, _, text, is_missed in targets if target and is_missed]
    fast = f"{speed:.0f} MB/s" if work.speed else ""
    is_slow = any(target and is_missed for target, _, _, is_missed in targets[:3])
    floor, shares = explain(work) if is_slow else ("", "")
    reason = f"; floor {floor}" if floor else ""
    reason += f": {work.reason}" if work.reason else ""
    reason += f" ({shares})" if shares else ""
    verdict = f"misses {', '.join(missed)}{reason}" if missed else "ok" if wanted else ""
    cells = (work.words, f"{cost.seconds:.2f} s", f"{multiple:.1f} P", fast, f"{cost.held:.0f} MB", ", ".join(wanted))
    return f"| {' | '.join((*cells, verdict))} |"


def explained(work: Work, words: int, given: Path) -> tuple[str, str]:
    """The floor of some work, and where its time goes; so many words of its command are olmc itself. `given` is a file
    for the names of its modules."""
    arguments, environment = work.command[words:], environment_of(work.cache)
    command = least(modules_of(arguments, environment), given, documents=work.documents, texts=work.texts)
    cost = cost_of(command, work.runs, fine=(0,))
    return f"{cost.seconds / cost.empty:.1f} P", profile_of(arguments, environment)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(PROJECT / ".venv" / "bin" / "olmc"), help="the command to measure")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the shared data")
    args = parser.parse_args()
    olmc = shlex.split(args.olmc)
    cost_of([*olmc, "version"], 1)  # once unmeasured: modules are compiled, files come from memory
    print("| work | CPU | multiple of `python -c pass` | speed | memory | target | |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        compared, explain = 0.0, partial(explained, words=len(olmc), given=Path(folder, "modules"))
        for work in works(olmc, args.shared, Path(folder)):
            cost = cost_of(work.command, work.runs, work.written, work.cache)
            print(line_of(work, cost, explain, compared), flush=True)
            compared = compared if work.share else cost.seconds / cost.empty
    return 0


if __name__ == "__main__":
    sys.exit(main())
