"""What a cluster costs does not depend on how many there are: counted, from 100 to 5,000 of them."""

from __future__ import annotations

import cProfile
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fleets import git

from olmc.cli import fleet as fleet_runs
from olmc.cli.main import main
from olmc.integrations.fleet.outputs import packed
from olmc.integrations.fleet.pool import TaskEnd
from olmc.integrations.fleet.trees import READS_VALUES

pytestmark = pytest.mark.process

TOLERANCE = 1.02
"""What happens once or twice whatever the number of clusters is, such as imports and folders of the cache."""

_KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
_OPERATIONS = {"lstat", "stat", "open", "read", "readlink", "scandir", "replace", "openssl_sha256", "openssl_sha1",
               "sha1", "sha256", "loads", "compress", "decompress", "sub", "compile"}  # fmt: skip
"""Functions of the system and of C whose work is what costs: files, digests, JSON, compression, patterns."""

_OF_C = re.compile(r"<(?:built-in method (?:.*\.)?|method ')(\w+)")


def _write_clusters(root: Path, first: int, count: int) -> None:
    """A base, a ring, and clusters of which one in four says its own name in a ConfigMap, and another one where that
    counts."""
    for name, content in (("base", "namespace.yaml"), ("ring", "../base")):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "kustomization.yaml").write_text(f"{_KUSTOMIZATION}- {content}\n")
    (root / "base" / "namespace.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: before}\n")
    for number in range(first, count):
        folder = root / "clusters" / f"c-{number:05}"
        folder.mkdir(parents=True)
        own = "- cluster.yaml\n" * (number % 4 < 2)
        (folder / "kustomization.yaml").write_text(f"{_KUSTOMIZATION}- ../../ring\n{own}")
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster, namespace: default}\n"
        text += f"data: {{name: c-{number:05}}}\n"
        if number % 4:
            text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: cluster, labels: {{name: c-{number:05}}}}}\n"
        if own:
            (folder / "cluster.yaml").write_text(text)


def _compiled(
    tasks: Sequence[bytes], jobs: int, seconds: float, worker_at: Callable[[int], Sequence[str]]
) -> Iterator[TaskEnd]:
    """In the place of workers: a result as large as those of small plans, of which there are five."""
    del jobs, seconds
    blobs = Path(worker_at(0)[1])
    for number, task in enumerate(tasks):
        files = json.loads(task)["after"]
        assert all((blobs / file[2]).exists() for file in files)
        data = {"objects": [{"name": f"object-{each}", "changed": number % 5 == 0} for each in range(50)]}
        text = f"result: {number % 5}"
        result = {"headline": text, "gravity": "change", "text": text, "data": data, READS_VALUES: False}
        yield TaskEnd(number, packed(result))


def _counted(root: Path, starts: list[str]) -> tuple[Counter[str], str, int]:
    """What a plan of all clusters does by operation, `all` for all calls, what it says, and processes it starts."""
    starts.clear()
    arguments = ["fleet", "plan", "clusters/*", "--repository", os.fspath(root), "--from", "git:HEAD", "--jobs", "1"]
    profile = cProfile.Profile()
    done = profile.runcall(CliRunner().invoke, main, arguments)
    assert done.exception is None, done.exception
    assert done.exit_code == 0, done.output
    counts: Counter[str] = Counter()
    for entry in profile.getstats():
        counts["all"] += entry.callcount
        # <built-in method posix.lstat>, <method 'read' of '_io.FileIO' objects>
        named = _OF_C.match(entry.code) if isinstance(entry.code, str) else None
        if named is not None and named[1] in _OPERATIONS:
            counts[named[1]] += entry.callcount
    assert len(counts) > len(_OPERATIONS) / 2
    return counts, done.stderr, len(starts)


def test_cost_per_cluster_is_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cluster more costs the same calls, files, digests and reads of the cache, and no process: in a first run
    with an empty cache, and in one that has everything there. Compiling, which is a matter of one task, is left out."""
    monkeypatch.setattr(fleet_runs, "run_tasks", _compiled)
    monkeypatch.delenv("OLMC_NO_CACHE", raising=False)
    starts: list[str] = []

    class CountedProcess(subprocess.Popen[Any]):
        def __init__(self, *args: Any, **more: Any) -> None:
            starts.append(str(args))
            super().__init__(*args, **more)

    monkeypatch.setattr(subprocess, "Popen", CountedProcess)
    root = tmp_path / "repository"
    costs: dict[int, list[tuple[Counter[str], int]]] = {}
    known = 0
    for clusters in (20, 100, 500, 2500):  # the first is for what is remembered
        _write_clusters(root, known, clusters)
        known = clusters
        if not (root / ".git").exists():
            git(tmp_path, "init", "-q", os.fspath(root))
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"{clusters}")
        monkeypatch.chdir(root)
        monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / f"cache-{clusters}"))
        namespace = root / "base" / "namespace.yaml"
        namespace.write_text(namespace.read_text().replace("before", "after"))
        costs[clusters] = []
        for cached, compiled in ((0, clusters // 4 + 2), (clusters // 2 + 1, 0)):
            counts, told, processes = _counted(root, starts)
            assert f"{cached:,} taken from the cache, {compiled:,} compiled" in told
            costs[clusters].append((counts, processes))
    for run in (0, 1):
        (few, at_few), (many, at_many), (most, at_most) = (costs[clusters][run] for clusters in (100, 500, 2500))
        assert 0 < at_few == at_many == at_most
        for name in most:
            first, then = (many[name] - few[name]) / 400, (most[name] - many[name]) / 2000
            assert then <= first * TOLERANCE + 0.01, (run, name, first, then)
            assert most[name] / 2500 <= few[name] / 100 * TOLERANCE, (run, name)
