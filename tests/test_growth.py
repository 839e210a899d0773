"""How much there is to do grows as the input does: twice as much of it is twice as much work.

Work is the lines of olmc that are run, a comprehension counting one a round: so it is the same on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from building import write_workspace

import olmc
from olmc.compiler.load import bundles as bundles_of_load
from olmc.compiler.load import catalog_files
from olmc.k8s.yaml import dump, dump_one

OLMC = os.fspath(Path(olmc.__file__).parent)
TOLERANCE = 1.02  # what only happens once or twice, and what is remembered


LinesRun = Callable[..., int]


@pytest.fixture
def lines_run(benchmark: Callable[[str], ModuleType]) -> LinesRun:
    """A function that counts the lines of olmc that a command runs."""
    lines_of = benchmark("measuring").lines_of

    def run(*command: str, fine: tuple[int, ...] = (0,)) -> int:
        lines: int = lines_of(command, below=OLMC, fine=fine)
        return lines

    return run


def assert_linear(work: list[int]) -> None:
    """Each doubling of the input adds twice what the one before added."""
    first, second = (more - less for less, more in pairwise(work))
    assert 0 < second <= 2 * first * TOLERANCE, work


def channel(root: Path, count: int) -> Iterator[str]:
    """A channel of entries each of which replaces the one before, and a Subscription to it."""
    operators = [{"name": f"a.v1.{n}.0", "into": ["ns"] if n == count - 1 else []} for n in range(count)]
    for older, newer in pairwise(operators):
        newer["replaces"] = older["name"]
    write_workspace(root, {"groups": {"ns/og": "own"}, "operators": operators})
    yield from ("render", os.fspath(root))


def namespaces(root: Path, count: int) -> Iterator[str]:
    """Namespaces with an OperatorGroup and a Subscription each."""
    names = [f"ns-{number}" for number in range(count)]
    permissions = [{"serviceAccountName": "a", "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}]
    operator = {"name": "a.v1.0.0", "into": names, "csv": {"spec": {"install": {"spec": {"permissions": permissions}}}}}
    case = {
        "namespaces": dict.fromkeys(names),
        "groups": {f"{name}/og": "own" for name in names},
        "operators": [operator],
    }
    write_workspace(root, case)
    yield from ("render", os.fspath(root))


def groups(root: Path, count: int) -> Iterator[str]:
    """OperatorGroups that target two namespaces each, with a CSV that owns APIs in every one of theirs."""
    names = [f"ns-{number}" for number in range(count)]
    targets = {f"{name}/og": [name, f"{name}-other"] for name in names}
    operators = [
        {"name": f"a{n}.v1.0.0", "into": [name], "applied": "all", "owned": ["Cup"]} for n, name in enumerate(names)
    ]
    write_workspace(root, {"namespaces": dict.fromkeys(names), "groups": targets, "operators": operators})
    yield from ("render", os.fspath(root))


def bundles(root: Path, count: int) -> Iterator[str]:
    """Bundles side by side, all compiled by this process: the lines of others are not counted."""
    operators = [{"name": f"a{n}.v1.0.0", "owned": [f"Cup{n}"]} for n in range(count)]
    write_workspace(root, {"operators": operators})
    yield from ("render", "--jobs", "1", *(os.fspath(path.parent) for path in sorted(root.glob("*/*/manifests"))))


def packages(root: Path, count: int) -> Iterator[str]:
    """A catalog in one file, of which one package is asked for."""
    write_workspace(root, {"groups": {"ns/og": "own"}, "operators": []})
    wish = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": "p0", "namespace": "ns"},
    }
    (root / "wish.yaml").write_text(
        dump_one({**wish, "spec": {"name": "p0", "source": "cat", "sourceNamespace": "olm"}})
    )
    (root / "catalogs" / "cat").mkdir(parents=True)
    documents = [document for number in range(count) for document in package(f"p{number}")]
    (root / "catalogs" / "cat" / "catalog.yaml").write_text("---\n" + dump(documents))
    yield from ("resolve", os.fspath(root))


def package(name: str) -> Iterator[dict[str, Any]]:
    yield {"schema": "olm.package", "name": name, "defaultChannel": "stable"}
    yield {"schema": "olm.channel", "package": name, "name": "stable", "entries": [{"name": f"{name}.v1.0.0"}]}
    about = {"type": "olm.csv.metadata", "value": {"description": "long\n" * 100, "displayName": "Cup"}}
    version = {"type": "olm.package", "value": {"packageName": name, "version": "1.0.0"}}
    bundle = {"schema": "olm.bundle", "package": name, "name": f"{name}.v1.0.0", "properties": [version, about]}
    yield {**bundle, "image": f"registry.example.com/{name}:1"}


@pytest.mark.slow
def test_cached_catalogs(lines_run: LinesRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a catalog with the cache, into which it is written and of which it is read, grows as the catalog
    does; with a full cache it is a fraction, as only what is asked for is looked at. All are so short that places are
    looked for in the whole stream."""
    monkeypatch.delenv("OLMC_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "xdg"))
    monkeypatch.setattr(catalog_files, "WORTH_IT", 0)
    lines_run(*packages(tmp_path / "warm", 4), fine=(0, 1))
    empty, full = [], []
    for count in (8, 16, 32):
        command = tuple(packages(tmp_path / str(count), count))
        empty.append(lines_run(*command, fine=(0, 1)))
        full.append(lines_run(*command, fine=(0, 1)))
    assert_linear(empty)
    assert_linear(full)
    assert full[2] - full[1] < (empty[2] - full[2]) / 4


def test_a_small_channel(lines_run: LinesRun, tmp_path: Path) -> None:
    """What the slow ones do, with inputs that take no time."""
    lines_run(*channel(tmp_path / "warm", 2), fine=(0, 1))
    assert_linear([lines_run(*channel(tmp_path / str(count), count), fine=(0, 1)) for count in (2, 4, 8)])


@pytest.mark.slow
@pytest.mark.parametrize("make", [channel, namespaces, groups, bundles, packages])
def test_compiling(make: Callable[[Path, int], Iterator[str]], lines_run: LinesRun, tmp_path: Path) -> None:
    lines_run(*make(tmp_path / "warm", 4), fine=(0, 1))
    assert_linear([lines_run(*make(tmp_path / str(count), count), fine=(0, 1)) for count in (16, 32, 64)])


@pytest.mark.slow
def test_comparing(benchmark: Callable[[str], ModuleType], lines_run: LinesRun, tmp_path: Path) -> None:
    def compared(count: int) -> int:
        sides = [tmp_path / f"{count}-{upgraded}.yaml" for upgraded in (0, count)]
        for upgraded, side in zip((0, count), sides, strict=True):
            side.write_text(benchmark("diff").rendering(50 * count, upgraded))
        return lines_run("diff", *map(os.fspath, sides), fine=(0, 1))

    compared(1)
    assert_linear([compared(count) for count in (2, 4, 8)])


@pytest.mark.slow
@pytest.mark.parametrize("side", ["same", "some", "gone"])
def test_planning(benchmark: Callable[[str], ModuleType], lines_run: LinesRun, tmp_path: Path, side: str) -> None:
    """A plan is as linear in the namespaces of a fleet as its renderings, and at most 1.3 times as much work as two."""
    bench, operators = benchmark("plan"), 4

    def workspace(name: str, targets: int) -> str:
        path = tmp_path / f"{name}-{targets}"
        if not path.exists():
            upgraded, gone = (operators // 4 if name == one else 0 for one in ("some", "gone"))
            bench.write_workspace(path, operators, operators + targets, upgraded, gone)
        return os.fspath(path)

    def planned(targets: int) -> int:
        return lines_run("plan", workspace(side, targets), "--from", workspace("before", targets), fine=(0, 1))

    planned(4)
    work = [planned(count) for count in (16, 32, 64)]
    assert_linear(work)
    rendered = sum(lines_run("render", workspace(name, 64)) for name in ("before", side))
    assert work[-1] <= bench.LIMIT * rendered


@pytest.mark.slow
def test_each_dimension_of_a_check(
    benchmark: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bench/growth.py` counts the same for all commands, at larger sizes."""
    monkeypatch.setenv("OLMC_NO_CACHE", "1")
    growth = benchmark("growth")
    over = {}
    for name, make in growth.DIMENSIONS.items():
        size = growth.SIZES.get(name, 6)
        work, exponent = growth.growth_of(make, ("check",), size, tmp_path / name)
        if exponent > growth.MOST and work[-1] - work[-2] > growth.LEAST_WORK * 2 * size:
            over[name] = exponent
    assert not over


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("name", ["both sides", "git history"])
def test_comparisons_grow_with_both_sides(
    name: str, benchmark: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLMC_NO_CACHE", "1")
    growth = benchmark("growth")
    compared, size = growth.COMPARED[name], 6
    for command in compared.commands:
        work, exponent = growth.growth_of_comparison(compared, command, size, tmp_path)
        assert exponent <= growth.MOST or work[-1] - work[-2] <= growth.LEAST_WORK * 2 * size, (command, work)


@pytest.mark.slow
def test_a_repository_of_bundles(
    benchmark: Callable[[str], ModuleType], lines_run: LinesRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work for each bundle is the same in a repository of twice as many packages."""
    monkeypatch.setattr(bundles_of_load, "LEAST_PACKAGES", 2)
    growth = benchmark("growth")

    def checked(packages: int) -> int:
        files = {
            path.replace("bundles/", f"operators/op{number}/"): content
            for number in range(packages)
            for at in range(3)
            for path, content in growth.bundle(f"op{number}.v1.{at}.0", version=f"1.{at}.0").items()
        }
        return lines_run("check", os.fspath(growth.write(tmp_path / str(packages), files)), "--jobs", "1", fine=(0, 1))

    checked(2)
    assert_linear([checked(count) for count in (4, 8, 16)])
