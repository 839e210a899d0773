"""Hash what olmc prints, for before and after a change that must not change a byte.

    .venv/bin/python tests/output_hashes.py [FOLDER] > before.txt
    …
    .venv/bin/python tests/output_hashes.py [FOLDER] | diff before.txt -

runs the olmc of the checkout in FOLDER (this one unless given) over the fixtures, the commands that README and docs
show, and, where the shared data is (OLMC_SHARED, or `shared` beside the checkout), over the recorded clusters and the
corpus, and prints a line a command: what stdout and stderr hash to, the exit code, the command. Paths are relative to
where they are found, so that two checkouts give the same lines.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent.parent
ANSWERS = (
    ("render", "-o", "json"),
    ("render", "--for", "apply", "--allow-empty"),
    ("status", "-o", "json"),
    ("check", "-o", "json"),
    ("rbac", "-o", "json"),
    ("resolve", "-o", "json"),
)
FIXTURES = (
    *ANSWERS,
    ("render", "-o", "name"),
    ("render", "--for", "apply", "--certs", "cert-manager"),
    ("check", "--all"),
    ("check", "--all", "-o", "sarif"),
    ("status", "-o", "prometheus"),
    ("rbac",),
    ("resolve",),
    ("get", "installed", "-A", "--workspace"),
    ("get", "packagemanifests", "-A", "--workspace"),
    ("migrate", "--to", "descoped", "--dry-run"),
)
BUNDLES = (("render", "-o", "json"), ("render", "--for", "apply"), ("check", "--all", "-o", "json"))


class Command(NamedTuple):
    """A command of olmc, the folder that it runs in and what that is called; with `writes` it runs in a copy of the
    fixtures."""

    arguments: tuple[str, ...]
    folder: str
    shown: str
    writes: bool = False


def commands(checkout: Path, shared: Path, corpus: Path | None) -> Iterator[Command]:
    """All commands, in order."""
    # Repositories have snapshots of their own: what they are built with is not on every machine.
    named = (checkout / "fixtures").iterdir()
    folders = (path for path in named if path.name not in ("fleet", "olmv1", "repos", "transitions"))
    fixtures = sorted(path for path in folders if path.is_dir())
    for fixture in fixtures:
        for answer in FIXTURES:
            yield Command((*answer, fixture.name), str(fixture.parent), "fixtures")
    for one, other in pairwise(fixtures):
        for form in ("text", "json", "markdown", "html"):
            yield Command(("diff", one.name, other.name, "-o", form), str(one.parent), "fixtures")
    for page in (checkout / "README.md", *sorted((checkout / "docs").glob("*.md"))):
        for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for line in re.findall(r"^\$ olmc (.*)$", block, re.MULTILINE):
                yield Command(tuple(shlex.split(line)), str(checkout), page.name, writes=True)
    for case in sorted((shared / "conformance" / "cases").glob("*/*/input")):
        for answer in ANSWERS:
            yield Command((*answer, "input"), str(case.parent), case.parent.name)
    for pair in sorted((shared / "review" / "pairs").glob("*")):
        for form in ("text", "json", "markdown", "html"):
            yield Command(("diff", "old", "new", "-o", form), str(pair), pair.name)
    for before in sorted((shared / "conformance" / "transitions").glob("*/before")):
        yield Command(("diff", "before", "after", "-v"), str(before.parent), before.parent.name)
        yield Command(("diff", "after", "before", "-o", "json"), str(before.parent), before.parent.name)
        yield Command(("graph", "before"), str(before.parent), before.parent.name)
    for bundle in sorted(corpus.glob("bundles/*/*/manifests")) if corpus is not None else ():
        for answer in BUNDLES:
            yield Command((*answer, bundle.parent.name), str(bundle.parent.parent), bundle.parent.parent.name)


def hashed(command: Command) -> str:
    """The line of a command."""
    from click.testing import CliRunner

    from olmc.cli.main import main

    with tempfile.TemporaryDirectory() as copy:
        if command.writes:
            shutil.copytree(
                Path(command.folder, "fixtures"), Path(copy, "fixtures"), ignore=shutil.ignore_patterns("repos")
            )
        os.chdir(copy if command.writes else command.folder)
        result = CliRunner().invoke(main, list(command.arguments))
        os.chdir(HERE)
    failure = "" if isinstance(result.exception, SystemExit | None) else f" {result.exception!r}"
    digests = (hashlib.sha256(output).hexdigest()[:16] for output in (result.stdout_bytes, result.stderr_bytes))
    return f"{' '.join(digests)} {result.exit_code}{failure} {command.shown}: {shlex.join(command.arguments)}"


def main() -> None:
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else HERE).resolve()
    shared = Path(os.environ.get("OLMC_SHARED", checkout.parent / "shared"))
    os.environ["PYTHONPATH"] = str(checkout)
    os.environ["OLMC_NO_CACHE"] = "1"  # what another checkout has read before must not count as read by this one
    sys.path.insert(0, str(checkout))
    with tempfile.TemporaryDirectory() as folder:
        archive = shared / "corpus" / "bundles.tar.xz"
        if archive.is_file():
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
        corpus = Path(folder) if archive.is_file() else None
        with ProcessPoolExecutor() as pool:
            for line in pool.map(hashed, commands(checkout, shared, corpus), chunksize=8):
                print(line)


if __name__ == "__main__":
    main()
