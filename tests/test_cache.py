"""The cache: what is whole comes back, everything else counts as not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler import cache


@pytest.fixture
def store(tmp_path: Path) -> cache.Cache:
    """An empty cache in a folder that does not exist yet."""
    return cache.open_cache(tmp_path / "cache")


def _entry(store: cache.Cache, name: str) -> Path:
    return store.folder / name[:2] / name


def test_what_was_written_is_read(store: cache.Cache) -> None:
    """The same bytes under the same key, none under another."""
    name = cache.key(store, "catalog", b"content")
    assert cache.read(store, name) is None
    assert cache.write(store, name, b"\0view\n")
    assert cache.read(store, name) == b"\0view\n"
    assert cache.read(store, cache.key(store, "catalog", b"other")) is None
    assert cache.usage(store)[:2] == (1, len(b"\0view\n") + 32)


@given(first=st.lists(st.binary()), second=st.lists(st.binary()), kinds=st.tuples(st.text(), st.text()))
def test_keys_differ_where_anything_does(first: list[bytes], second: list[bytes], kinds: tuple[str, str]) -> None:
    """No two lists of parts run together into one key; the kind and the program count as well."""
    here = cache.Cache(Path("unused"), b"one")
    same = (kinds[0], first) == (kinds[1], second)
    assert (cache.key(here, kinds[0], *first) == cache.key(here, kinds[1], *second)) is same
    assert cache.key(here, kinds[0], *first) != cache.key(here._replace(program=b"two"), kinds[0], *first)


def test_what_was_found_without_a_library_is_found_anew_with_it(
    store: cache.Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules in CEL that nobody could judge must not stay so once somebody has installed what judges them."""
    monkeypatch.setattr("olmc.resources.find_spec", lambda name: find_spec(name) if name != "cel_expr_python" else None)
    assert cache.open_cache(store.folder).program != store.program


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 32, b"x" * 4000], ids=["empty", "short", "digest", "foreign"])
def test_a_torn_or_foreign_entry_is_none(store: cache.Cache, damage: bytes) -> None:
    """Torn, cut and overwritten files count as not there, and are written again."""
    name = cache.key(store, "view")
    cache.write(store, name, b"content")
    _entry(store, name).write_bytes(damage)
    assert cache.read(store, name) is None
    assert cache.write(store, name, b"content")
    assert cache.read(store, name) == b"content"


def test_an_entry_that_has_no_end_is_none(store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that nobody writes into, a device, and a file with more than all of the cache may have."""
    name = cache.key(store, "view")
    path = _entry(store, name)
    assert cache.write(store, name, b"content")
    path.unlink()
    os.mkfifo(path)
    assert cache.read(store, name) is None
    path.unlink()
    path.symlink_to("/dev/zero")
    assert cache.read(store, name) is None
    path.unlink()
    path.mkdir()
    assert cache.read(store, name) is None
    path.rmdir()
    with path.open("wb") as stream:
        stream.truncate(10**12)
    assert cache.read(store, name) is None
    assert cache.write(store, name, b"content")
    assert cache.read(store, name) == b"content"
    monkeypatch.setenv("OLMC_LIMIT_CACHE_BYTES", "20")
    assert cache.read(store, name) is None


def test_an_entry_under_another_name_is_none(store: cache.Cache) -> None:
    """A whole entry that was copied to another key does not answer for it."""
    name, other = cache.key(store, "a"), cache.key(store, "b")
    cache.write(store, name, b"content")
    _entry(store, other).parent.mkdir(exist_ok=True)
    _entry(store, other).write_bytes(_entry(store, name).read_bytes())
    assert cache.read(store, other) is None


def test_only_its_owner_reads_it(store: cache.Cache) -> None:
    """What is kept may have come of Secrets."""
    name = cache.key(store, "a")
    cache.write(store, name, b"content")
    assert _entry(store, name).stat().st_mode & 0o077 == 0
    assert _entry(store, name).parent.stat().st_mode & 0o077 == 0


def test_a_folder_that_takes_nothing_fails_nobody(tmp_path: Path) -> None:
    """A file in the place of the folder: nothing is kept, nothing is raised."""
    (tmp_path / "cache").write_text("")
    store = cache.open_cache(tmp_path / "cache")
    assert not cache.write(store, cache.key(store, "a"), b"content")
    assert cache.read(store, cache.key(store, "a")) is None
    cache.trim(store)
    assert cache.usage(store).entries == 0


def test_the_oldest_go_first(store: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four entries with room for two, the two that were used last stay; reading is use."""
    names = [cache.key(store, "n", bytes([number])) for number in range(4)]
    for number, name in enumerate(names):
        cache.write(store, name, b"12345678")
        os.utime(_entry(store, name), (number, number))
    assert cache.read(store, names[0]) == b"12345678"
    monkeypatch.setenv("OLMC_LIMIT_CACHE_BYTES", "80")
    cache.trim(store)
    assert [name for name in names if cache.read(store, name)] == [names[0], names[3]]


def test_what_a_killed_run_left_goes_after_an_hour(store: cache.Cache) -> None:
    """A half-written file is nobody's entry; one that may still be written stays."""
    name = cache.key(store, "a")
    cache.write(store, name, b"content")
    old, new = (_entry(store, name).with_name(f"partial-{word}") for word in ("old", "new"))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    cache.trim(store)
    assert (old.exists(), new.exists(), cache.read(store, name)) == (False, True, b"content")


def test_clear_leaves_what_is_not_its_own(store: cache.Cache) -> None:
    """All entries of all versions go; a file that somebody else put there stays."""
    cache.write(store, cache.key(store._replace(program=b"older"), "a"), b"content")
    (store.folder / "notes.txt").write_text("mine")
    assert cache.clear(store).entries == 1
    assert cache.usage(store).entries == 0
    assert (store.folder / "notes.txt").read_text() == "mine"


_WRITER = """
import sys
from pathlib import Path
from olmc.compiler import cache
store = cache.open_cache(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    for number in range(50):
        cache.write(store, cache.key(store, "n", bytes([number])), bytes([number]) * 200_000)
"""


@pytest.mark.process
def test_killed_at_any_moment_it_stays_sound(store: cache.Cache) -> None:
    """SIGKILL while two runs write the same entries: each is whole or not there."""
    command = [sys.executable, "-c", _WRITER, os.fspath(store.folder)]
    for delay in (0.0, 0.003, 0.01, 0.03, 1.0):  # the last one for a busy machine
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        for run in runs:
            assert run.stdout is not None
            run.stdout.readline()
        time.sleep(delay)
        for run in runs:
            run.send_signal(signal.SIGKILL)
            run.communicate()
        for number in range(50):
            content = cache.read(store, cache.key(store, "n", bytes([number])))
            assert content in (None, bytes([number]) * 200_000)
    assert cache.usage(store).entries > 0


@pytest.mark.parametrize(("value", "expected"), [("/var/cache", "/var/cache/olmc"), ("relative", ".cache/olmc")])
def test_the_folder_is_where_the_standard_has_it(value: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME where it is absolute, else ~/.cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache.default_folder().as_posix().endswith(expected)
