"""Whatever fails, and whenever: every file is as it was or as it is to be, and the next run makes all of it whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from image_kit import bundle_image, catalog_image, write_layout
from running import BYTECODE, PROJECT, run_here, tree

from olmc.cli.main import main

pytestmark = pytest.mark.process

COMMANDS: Mapping[str, str] = {
    "render": "render w --output-dir out --provenance out.intoto.jsonl",
    "resolve": "resolve w --update",
    "migrate": "migrate w --to descoped",
    "import": "import w/cluster.yaml -o state.yaml",
    "init": "init github --path w",
    "vendor": "vendor images --from layout --offline",
}
ENVIRONMENT = {"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **BYTECODE}
_PARTIAL = re.compile(r"(^|/)\.olmc-")


@pytest.fixture
def before(prepared: Path, tmp_path: Path) -> Path:
    """A folder in which each of the commands has something to change, and something is there already."""
    return shutil.copytree(prepared, tmp_path / "repository", symlinks=True)


@pytest.fixture(scope="module")
def prepared(original: Path, project: Path) -> Path:
    """The same, to be copied by the tests of the module."""
    repository = original
    shutil.rmtree(repository / ".git")
    shutil.rmtree(repository / "w" / "more")
    run_here(["render", "v", "--output-dir", "out"], repository)
    (repository / "out" / "notes.md").write_text("Somebody's own.\n")
    kustomization = repository / "out" / "kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("resources:", "resources:\n- stale.yaml", 1))
    shutil.copy(kustomization, repository / "out" / "stale.yaml")
    source = project / "fixtures" / "own-namespace"
    shutil.copytree(source, repository / "images", ignore=shutil.ignore_patterns("catalogs", "bundles"))
    folder = repository / "images"
    source_of_catalog = "kind: CatalogSource\nmetadata: {name: harbour, namespace: olm}\n"
    with (folder / "cluster.yaml").open("a") as stream:
        stream.write(f"---\napiVersion: operators.coreos.com/v1alpha1\n{source_of_catalog}")
        stream.write("spec: {sourceType: grpc, image: registry.example.com/harbour:v1}\n")
    images = {"registry.example.com/harbour:v1": catalog_image(source / "catalogs" / "harbour")}
    for bundle in (source / "bundles").iterdir():
        images[f"registry.example.com/bundles/{bundle.name.replace('-', ':v')}"] = bundle_image(bundle)
    write_layout(repository / "layout", images)
    return repository


def whole(folder: Path) -> dict[str, bytes]:
    """The files of a folder without those that were never finished, which nobody reads."""
    return {path: data for path, data in tree(folder).items() if not _PARTIAL.search(path)}


def steps(before: Path, command: str, kind: str, work: Path) -> list[tuple[int, int, str]]:
    work.mkdir(parents=True)
    request = {"command": command.split(), "before": str(before), "work": str(work), "kind": kind}
    script = PROJECT / "tests" / "promises" / "faults.py"
    done = subprocess.run(
        [sys.executable, script], input=json.dumps(request), capture_output=True, text=True, check=False,
        cwd=before, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [(number, status, output) for number, status, output in json.loads(done.stdout)]


def check_files(folder: Path, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
    """Each file is as before or as it is to be; none is half of either, and none is there that belongs to neither."""
    there = whole(folder)
    for path in old.keys() | new.keys() | there.keys():
        assert there.get(path) in (old.get(path), new.get(path)), f"{folder}: {path}"


@pytest.fixture(scope="module", params=sorted(COMMANDS))
def changed(
    request: pytest.FixtureRequest, prepared: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, bytes], dict[str, bytes]]:
    """A command, the files before it, and those after it if nothing fails."""
    command = COMMANDS[request.param]
    clean = tmp_path_factory.mktemp("changed") / "clean"
    shutil.copytree(prepared, clean)
    outcome = run_here(command.split(), clean)
    old, new = tree(prepared), tree(clean)
    assert new != old, outcome.output
    return command, old, new


def test_killed_at_any_change(
    changed: tuple[str, dict[str, bytes], dict[str, bytes]], before: Path, tmp_path: Path
) -> None:
    command, old, new = changed
    outcomes = steps(before, command, "SIGKILL", tmp_path / "work")
    assert len(outcomes) > 2
    assert {status for _, status, _ in outcomes[:-1]} == {-9}
    for number, _, _ in outcomes:
        folder = tmp_path / "work" / str(number)
        check_files(folder, old, new)
        again = run_here(command.split() if "init" not in command else [*command.split(), "--force"], folder)
        assert whole(folder) == new, f"after the change number {number} and another run: {again.output}"


@pytest.mark.parametrize("kind", ["ENOSPC", "EROFS", "EACCES", "FSIZE"])
def test_a_disk_that_refuses(
    kind: str, changed: tuple[str, dict[str, bytes], dict[str, bytes]], before: Path, tmp_path: Path
) -> None:
    """Full, read-only, not permitted, or full in the middle of a file: it is said, and what is there stays whole."""
    command, old, new = changed
    outcomes = steps(before, command, kind, tmp_path / "work")
    assert len(outcomes) > 2
    for number, status, output in outcomes[: len(outcomes) if kind == "FSIZE" else -1]:
        folder = tmp_path / "work" / str(number)
        check_files(folder, old, new)
        assert status in (0, 1, 2, 3), output
        assert "Traceback" not in output
        assert status or tree(folder) == new, output
        if kind == "ENOSPC":
            assert whole(folder) == tree(folder), "what was not finished is removed"


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to kill at system calls")
@pytest.mark.parametrize("call", ["write", "rename", "fchmod,chmod,unlink"])
def test_killed_at_a_system_call(call: str, before: Path, tmp_path: Path) -> None:
    """Between Python's own steps as well: while a part of a file is written."""
    command = COMMANDS["render"].split()
    clean = tmp_path / "clean"
    shutil.copytree(before, clean)
    run_here(command, clean)
    old, new = tree(before), tree(clean)
    killed = 0
    for number in (1, 2, 5, 9, 20):
        folder = tmp_path / str(number)
        shutil.copytree(before, folder)
        trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={number}"]
        arguments = [*trace, sys.executable, "-m", "olmc", *command]
        done = subprocess.run(arguments, cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
        if b"ptrace" in done.stderr:
            pytest.skip("strace may not trace here")
        killed += done.returncode != 0
        check_files(folder, old, new)
        run_here(command, folder)
        assert whole(folder) == new
    assert killed


def test_two_runs_at_once(before: Path) -> None:
    """Both write the same; whatever each of them sees of the other, the outcome is whole."""
    command = [sys.executable, "-m", "olmc", *COMMANDS["render"].split()]
    environment = {"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", **BYTECODE}
    for _ in range(3):
        shutil.rmtree(before / "out")
        runs = [subprocess.Popen(command, cwd=before, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
        said = [one.communicate()[1].decode() for one in runs]
        assert all(one.returncode in (0, 1, 3) for one in runs), said
        assert not any("internal error" in text for text in said), said
        assert any(one.returncode != 3 for one in runs), said
        outcome = run_here(["render", "w", "--output-dir", "out", "--check"], before)
        assert outcome.code == 0, outcome.output
        assert whole(before / "out") == tree(before / "out")


def test_files_that_change_while_they_are_read(before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut, gone, exchanged for a folder or a link, and back: what olmc says may differ, but it says it in words."""
    monkeypatch.chdir(before)
    files = list((before / "w").rglob("*.yaml"))
    done = threading.Event()

    def change() -> None:
        for number, (path, data) in enumerate(for_ever(files)):
            if done.is_set():
                return
            path.unlink(missing_ok=True)
            match number % 4:
                case 0:
                    path.write_bytes(data[: len(data) // 2])
                case 1:
                    path.mkdir()
                    path.rmdir()
                case 2:
                    path.symlink_to("nowhere")
                    path.unlink()
            path.write_bytes(data)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for command in ["check w", "render w", "diff v w", "status w", "rbac w", "resolve w", "plan w --from v"] * 6:
            result = CliRunner().invoke(main, command.split())
            # What the system refuses is said in a line by whoever runs the command (olmc.__main__.exit_code).
            if result.exception is not None and not isinstance(result.exception, (SystemExit, OSError)):
                raise result.exception
            assert result.exit_code in (0, 1, 2, 3)
    finally:
        done.set()
        thread.join()


def for_ever(files: list[Path]) -> Iterator[tuple[Path, bytes]]:
    """The files with what is in them now, for ever."""
    contents = [(path, path.read_bytes()) for path in files]
    while True:
        yield from contents
