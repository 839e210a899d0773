"""What the cache has of a catalog is what reading it gives: not a byte, an order, a finding or a place differs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from click.testing import CliRunner
from tiers import sampled

from olmc.cli.main import main
from olmc.compiler import cache
from olmc.compiler.catalogs import loading
from olmc.compiler.catalogs.content import content_value, served_candidates
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.load import catalog_files
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace import load, read_beside
from olmc.compiler.model.catalog import Catalog
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import CatalogKey


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cache.Cache:
    """An empty cache, which is used for catalogs of any size."""
    monkeypatch.delenv(cache.NO_CACHE)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "xdg"))
    monkeypatch.setattr(catalog_files, "WORTH_IT", 0)
    found = cache.user_cache()
    assert found is not None
    return found


def in_full(catalog: Catalog) -> Any:
    """All that a catalog says, in order, with what its bundles carry along, and what is served of it."""
    packages = [
        (
            package._replace(bundles={}),
            list(package.channels),
            [(name, bundle._replace(properties=())) for name, bundle in package.bundles.items()],
            [[(each.type, content_value(each)) for each in bundle.properties] for bundle in package.bundles.values()],
        )
        for package in catalog.packages.values()
    ]
    entries = served_candidates(CatalogKey("olm", "cat"), catalog)
    rest = catalog._replace(packages={}, entry_index=None)
    return list(catalog.packages), packages, list(entries), entries.catalog_index, rest


def read(root: Path) -> Any:
    """What loading a workspace finds of its catalogs, and in what order it says so."""
    report = Report()
    workspace = load(CompileRequest(root), report)
    return {name: in_full(catalog) for name, catalog in workspace.catalogs.items()}, report.found


def assert_same(roots: Iterable[Path], store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> int:
    """Each workspace reads the same without a cache, with an empty one and with a full one; how many entries there
    are."""
    for root in roots:
        with monkeypatch.context() as off:
            off.setenv(cache.NO_CACHE, "1")
            without = read(root)
        cold, warm = read(root), read(root)
        assert cold == without, root
        assert warm == without, root
    return cache.usage(store).entries


@pytest.mark.slow
def test_fixtures(project: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = [path.parent for path in sorted((project / "fixtures").glob("*/catalogs"))]
    assert assert_same(roots, store, monkeypatch) > 10


def test_conformance_inputs(shared: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = shared / "conformance" / "cases"
    assert assert_same(sorted(cases.glob("*/*/input")), store, monkeypatch) > 80


def test_the_corpus(shared: Path, tmp_path: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real catalog, as it is, and with a package that is broken, which the cache does not keep."""
    with tarfile.open(shared / "corpus" / "catalog-v4.20.tar.xz") as archive:
        archive.extractall(tmp_path / "sound", filter="data")
    broken = tmp_path / "broken" / "catalogs" / "v4.20"
    for name in ("infinispan", "clusterpulse"):
        shutil.copytree(tmp_path / "sound" / "catalogs" / "v4.20" / name, broken / name)
    path = broken / "infinispan" / "catalog.yaml"
    path.write_text(path.read_text().replace("packageName: infinispan", "packageName: other"))
    assert assert_same([tmp_path / "sound", tmp_path / "broken"], store, monkeypatch) == 1


COMMANDS = (
    ("render", "-o", "json"),
    ("resolve",),
    ("check", "--all"),
    ("status", "-o", "json"),
    ("get", "packagemanifests", "-A", "-o", "json", "--workspace"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=[command[0] for command in COMMANDS])
@pytest.mark.parametrize("fixture", sampled(["upgrade", "installed", "unresolvable", "bundle-objects"], 4))
def test_commands(fixture: str, command: Sequence[str], project: Path, store: cache.Cache) -> None:
    """What commands print without a cache, with --no-cache, with an empty one and with a full one."""
    line = [*command, os.fspath(project / "fixtures" / fixture)]
    runs = [CliRunner().invoke(main, line, env={cache.NO_CACHE: "1"}), CliRunner().invoke(main, [*line, "--no-cache"])]
    assert not store.folder.exists()
    runs += [CliRunner().invoke(main, line) for _ in range(2)]
    assert len({(run.exit_code, run.stdout, run.stderr) for run in runs}) == 1
    assert runs[0].exit_code in (0, 1)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a catalog of two packages."""
    operators = [{"name": "a.v1.0.0", "into": ["ns"]}, {"name": "b.v1.0.0", "into": []}]
    write_workspace(tmp_path / "w", {"groups": {"ns/og": "own"}, "operators": operators})
    return tmp_path / "w"


@pytest.mark.process
def test_small_catalogs_touch_nothing(workspace: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """No module of the cache is imported, nothing is hashed or looked for."""
    monkeypatch.setattr(catalog_files, "WORTH_IT", 1_000_000)
    monkeypatch.setattr(cache, "user_cache", lambda: pytest.fail("the cache was asked"))
    read(workspace)
    assert not store.folder.exists()
    code = "import sys, olmc; olmc.compile(sys.argv[1]); assert 'olmc.compiler.cache' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, workspace], check=True, capture_output=True)


def test_a_change_of_any_file_is_seen(workspace: Path, store: cache.Cache) -> None:
    """The content counts, not its time or size; and so do the limits that reading has."""
    read(workspace)
    path = next((workspace / "catalogs").rglob("*.yaml"))
    status = path.stat()
    path.write_text(path.read_text().replace("a.v1.0.0", "a.v1.0.9").replace("1.0.0", "1.0.9"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    packages = load(CompileRequest(workspace), Report()).catalogs["cat"].packages
    assert [name for package in packages.values() for name in package.bundles] == ["a.v1.0.9", "b.v1.0.9"]
    assert cache.usage(store).entries == 2


@pytest.mark.parametrize("limit", ["FILE_BYTES", "DOCUMENTS"])
def test_limits_count_with_a_cache_as_well(
    limit: str, workspace: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(workspace)
    assert cache.usage(store).entries == 1
    monkeypatch.setenv(f"OLMC_LIMIT_{limit}", "1")
    _, found = read(workspace)
    assert {"FILE_BYTES": "OLMC124", "DOCUMENTS": "OLMC200"}[limit] in {finding.code for finding in found}


def test_templates_are_read_each_time(tmp_path: Path, store: cache.Cache) -> None:
    """What they stand for depends on bundles beside them."""
    root = tmp_path / "w" / "catalogs" / "acme"
    root.mkdir(parents=True)
    text = "schema: olm.template.basic\nentries:\n- {schema: olm.package, name: a, defaultChannel: x}\n"
    (root / "template.yaml").write_text(text)
    read(tmp_path / "w")
    assert cache.usage(store).entries == 0


def _rewritten(store: cache.Cache, change: Any) -> None:
    """Replace the content of the only entry by another one, as only the user himself can: with its digest."""
    (path,) = [path for path in store.folder.rglob("*") if path.is_file()]
    content = cache.read(store, path.name)
    assert content is not None
    assert cache.write(store, path.name, change(bytes(content)))


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"no JSON",
        lambda _: b"[]",
        lambda _: b'{"files": 1}',
        lambda data: data.partition(b"\n")[0],
        lambda data: data.partition(b"\n")[0] + b"\n[]\n{}",
        lambda data: data.replace(b'"counts"', b'"other"').replace(b"null", b"17"),
    ],
    ids=["empty", "text", "list", "fields", "cut", "lines", "values"],
)
def test_an_entry_of_another_form_is_read_anew(change: Any, workspace: Path, store: cache.Cache) -> None:
    """Whole by its digest, and still not what olmc writes."""
    expected = read(workspace)
    _rewritten(store, change)
    assert read(workspace) == expected


def test_a_torn_entry_is_read_anew(workspace: Path, store: cache.Cache) -> None:
    expected = read(workspace)
    (path,) = [path for path in store.folder.rglob("*") if path.is_file()]
    path.write_bytes(path.read_bytes()[:-7])
    assert read(workspace) == expected
    assert path.stat().st_size > 32
    assert cache.read(store, path.name) is not None  # written again


@pytest.mark.parametrize(("variable", "kept"), [("HOME", False), ("XDG_CACHE_HOME", True)])
def test_a_function_keeps_nothing_unless_it_is_told_where(
    variable: str, kept: bool, workspace: Path, store: cache.Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`olmc fn` runs in containers that are thrown away."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv(variable, os.fspath(tmp_path / "there"))
    given = f"""
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig: {{apiVersion: olmc.dev/v1alpha1, kind: Render, metadata: {{name: a}}, spec: {{path: {workspace.name}}}}}
"""
    monkeypatch.chdir(workspace.parent)
    run = CliRunner().invoke(main, ["fn"], input=given)
    assert "kind: ClusterServiceVersion" in run.stdout
    assert any(path.is_file() for path in (tmp_path / "there").rglob("*")) is kept
    assert not store.folder.exists()


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_may_write_into_is_not_used(mode: int, workspace: Path, store: cache.Cache) -> None:
    store.folder.mkdir(parents=True)
    store.folder.chmod(mode)
    read(workspace)
    assert list(store.folder.iterdir()) == []
    run = CliRunner().invoke(main, ["cache", "clear"])
    assert (run.exit_code, run.stdout) == (3, "")
    assert "others may write into it" in CliRunner().invoke(main, ["cache", "info"]).stdout


def test_a_folder_of_somebody_else_is_not_used(store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.folder.mkdir(parents=True)
    assert cache.user_cache() is not None
    monkeypatch.setattr(os, "geteuid", lambda: store.folder.stat().st_uid + 1)
    assert cache.user_cache() is None


def test_what_is_kept_is_told_and_removed(workspace: Path, store: cache.Cache) -> None:
    """`olmc cache`, as text and as JSON."""
    read(workspace)
    size = cache.usage(store).bytes
    told = json.loads(CliRunner().invoke(main, ["cache", "info", "-o", "json"]).stdout)
    assert told == {"folder": os.fspath(store.folder), "used": True, "entries": 1, "bytes": size, "most": 1 << 30}
    assert CliRunner().invoke(main, ["cache", "info"]).stdout.splitlines()[0] == os.fspath(store.folder)
    assert CliRunner().invoke(main, ["cache", "clear"]).stdout == "removed 1 entry, 0.0 MB\n"
    assert cache.usage(store).entries == 0
    run = CliRunner().invoke(main, ["cache", "info"], env={cache.NO_CACHE: "1"})
    assert run.stdout.endswith("not used: OLMC_NO_CACHE is set\n")


def test_a_user_without_a_home_has_no_cache(
    workspace: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose user is just a number: commands run, and `olmc cache` says so."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    expected = read(workspace)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert read(workspace) == expected
    for action in ("info", "clear"):
        run = CliRunner().invoke(main, ["cache", action])
        assert (run.exit_code, run.stdout) == (3, "")
        assert "this user has no home directory" in run.stderr
    assert not store.folder.exists()


@pytest.mark.process
def test_killed_at_any_moment(tmp_path: Path, workspace: Path, store: cache.Cache) -> None:
    """SIGKILL while a run reads and keeps a large catalog: what it writes is whole or not there, and the next run gives
    the same."""
    (path,) = (workspace / "catalogs").rglob("*.yaml")
    text = path.read_text()
    notes = "\n".join(
        f"---\nschema: acme.note\npackage: a\nname: note-{number}\ntext: {'x' * 500}" for number in range(3000)
    )
    path.write_text(f"{text.rstrip()}\n{notes}\n")
    assert path.stat().st_size > 1_000_000
    line = [sys.executable, "-m", "olmc", "render"]
    environment = {**os.environ, "XDG_CACHE_HOME": os.fspath(tmp_path / "other")}
    expected = subprocess.run(
        [*line, workspace], env={**environment, cache.NO_CACHE: "1"}, capture_output=True, check=False
    )
    start = time.monotonic()
    subprocess.run([*line, workspace], env=environment, capture_output=True, check=False)
    whole = time.monotonic() - start
    for part in range(1, 9):
        folder = tmp_path / f"killed-{part}"
        environment = {**os.environ, "XDG_CACHE_HOME": os.fspath(folder)}
        out = tmp_path / f"out-{part}"
        run = subprocess.Popen([*line, workspace, "--output-dir", out], env=environment, stderr=subprocess.DEVNULL)
        time.sleep(whole * part / 8)
        run.send_signal(signal.SIGKILL)
        run.wait()
        for entry in folder.glob("olmc/??/*"):
            partial = entry.name.startswith("partial-")
            assert partial or cache.read(cache.open_cache(folder / "olmc"), entry.name) is not None
        again = subprocess.run([*line, workspace], env=environment, capture_output=True, check=False)
        assert (again.stdout, again.stderr) == (expected.stdout, expected.stderr)
    assert store.folder.parent == tmp_path / "xdg"


@pytest.mark.parametrize("takes", [False, True])
def test_what_counts_beside_several_workspaces_is_read_once(
    takes: bool, workspace: Path, tmp_path: Path, store: cache.Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its catalog is parsed for the first of them, also where the cache does not take what was read."""
    plain = read(workspace)[0]["cat"]
    parsed: list[str] = []

    def counted(root: str, *rest: Any) -> Catalog:
        parsed.append(root)
        return load_catalog(root, *rest)

    monkeypatch.setattr(loading, "load_catalog", counted)
    if not takes:
        cache.clear(store)
        monkeypatch.setattr(cache, "write", lambda *_: False)
    shutil.move(workspace / "catalogs", tmp_path / "shared" / "catalogs")
    beside = read_beside(tmp_path / "shared")
    for _ in range(3):
        assert in_full(load(CompileRequest(workspace, beside=beside), Report()).catalogs["cat"]) == plain
    assert len(parsed) == (not takes)
