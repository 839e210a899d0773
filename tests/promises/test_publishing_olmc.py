"""How olmc is published: nothing goes out that was not checked, and what runs for it is pinned."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from olmc.integrations.pipelines.scaffolds import files_of
from olmc.resources import REPOSITORY
from olmc.version import __version__

PROJECT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
PIN = re.compile(r"uses: (\S+)@([0-9a-f]{40} # v[0-9.]+)$")


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """The release script."""
    spec = importlib.util.spec_from_file_location("release_script", PROJECT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def index() -> Iterator[Callable[[int, Any], str]]:
    """A function that has an index of packages answer so, and gives its address."""
    servers: list[ThreadingHTTPServer] = []

    def serve(status: int, answer: Any) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                assert self.path == "/pypi/olmc/json"
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


OURS = {
    "author": "The olmc authors",
    "summary": "A compiler for Operator Lifecycle Manager: see what OLM would leave in the cluster, before it does",
}


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (404, {}, "olmc is free on"),
        (200, {"info": OURS, "releases": {"0.0.9": []}}, "is this project's, without 0.1.0"),
    ],
)
def test_the_name_may_be_used(
    status: int, answer: Any, said: str, release: ModuleType, index: Callable[[int, Any], str]
) -> None:
    assert said in release.check_name(PROJECT, "0.1.0", index(status, answer))


@pytest.mark.parametrize(
    ("status", "answer", "why"),
    [
        (200, {"info": {"author": "Somebody", "summary": "other"}, "releases": {}}, "is somebody else's: other"),
        (200, {"info": OURS, "releases": {"0.1.0": []}}, "olmc 0.1.0 is on"),
        (200, {"info": {**OURS, "summary": "other"}, "releases": {}}, "is somebody else's"),
        (503, {}, "does not say whether olmc is free"),
    ],
)
def test_the_name_may_not_be_used(
    status: int, answer: Any, why: str, release: ModuleType, index: Callable[[int, Any], str]
) -> None:
    with pytest.raises(release.NotReadyError, match=re.escape(why)):
        release.check_name(PROJECT, "0.1.0", index(status, answer))


def test_an_index_that_is_not_there_allows_nothing(release: ModuleType) -> None:
    with pytest.raises(release.NotReadyError, match="does not say whether"):
        release.check_name(PROJECT, "0.1.0", "http://127.0.0.1:9")


def test_a_tag_is_the_version(release: ModuleType) -> None:
    version = release.version_of(PROJECT)
    release.check_tag(version, f"v{version}")
    release.check_tag(version, "")
    with pytest.raises(release.NotReadyError, match=r"the tag is v9\.9\.9"):
        release.check_tag(version, "v9.9.9")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("## [Unreleased]\n\n## [1.0.0] - 2026-01-01\n\n- All of it.\n", ""),
        ("## [1.0.0] - 2026-01-01\n\n- All of it.\n", ""),
        ("## [Unreleased]\n\n- More.\n\n## [1.0.0]\n\n- All of it.\n", "still has something under"),
        ("## [Unreleased]\n\n## [0.9.0]\n\n- Some of it.\n", "says nothing under"),
    ],
)
def test_the_changelog_says_what_is_in_it(text: str, why: str, release: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{text}", encoding="utf-8")
    if not why:
        release.check_changelog(tmp_path, "1.0.0")
        return
    with pytest.raises(release.NotReadyError, match=why):
        release.check_changelog(tmp_path, "1.0.0")


@pytest.mark.process
def test_what_is_built_is_committed(release: ModuleType, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    release.check_tree(tmp_path)
    (tmp_path / "new.py").write_text("")
    with pytest.raises(release.NotReadyError, match=r"not committed:\n\?\? new\.py"):
        release.check_tree(tmp_path)


@pytest.mark.process
def test_the_wheel_of_the_sdist_is_the_wheel(release: ModuleType, tmp_path: Path) -> None:
    """What distributions build of the sdist is what the index has, byte for byte."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("needs hatchling, which make venv installs")
    source = tmp_path / "source"
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, source / name)
    sdist, wheel, bill = release.build(source, tmp_path / "dist")
    assert (sdist.name, wheel.name) == ("olmc-0.1.0.tar.gz", "olmc-0.1.0-py3-none-any.whl")
    assert json.loads(bill.read_text())["bomFormat"] == "CycloneDX"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_workflows_run_what_is_pinned(path: Path) -> None:
    """Actions by digest, the same ones that scaffolds have; no right that a job does not need."""
    text = path.read_text(encoding="utf-8")
    used = [line.strip().removeprefix("- ") for line in text.splitlines() if "uses:" in line]
    pins = json.loads((PROJECT / "templates" / "pins.json").read_text())
    for line in used:
        matched = PIN.match(line)
        assert matched is not None, line
        assert pins.get(matched[1], matched[2]) == matched[2]
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert "pull_request_target" not in text
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert set(job["permissions"]) <= {"contents", "id-token", "packages"}
        assert job["permissions"].get("contents", "read") == "read"
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_scripts_of_workflows_are_sound(path: Path, tmp_path: Path) -> None:
    shellcheck = shutil.which("shellcheck") or Path(sys.executable).parent / "shellcheck"
    if not Path(shellcheck).exists():
        pytest.skip("needs shellcheck, which make venv installs")
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        for step in job["steps"]:
            if "run" in step:
                script = tmp_path / "script.sh"
                script.write_text(f"#!/usr/bin/env bash\n{step['run']}\n", encoding="utf-8")
                checked = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)
                assert (checked.returncode, checked.stdout) == (0, "")


def test_publishing_is_one_switch_away() -> None:
    """The jobs that publish ask for the variable, build nothing, and take what was built and checked before."""
    jobs = yaml.safe_load((PROJECT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    publishing = {name: job for name, job in jobs.items() if set(job["permissions"]) & {"id-token", "packages"}}
    assert set(publishing) == {"pypi", "image"}
    for job in publishing.values():
        assert (job["if"], job["needs"]) == ("vars.PUBLISH == 'true'", "build")
        assert any("sha256sum --check" in step.get("run", "") for step in job["steps"])
    assert publishing["pypi"]["environment"] == "pypi"


def test_the_image_is_built_on_what_is_pinned() -> None:
    text = (PROJECT / ".ci" / "Containerfile").read_text(encoding="utf-8")
    pins = json.loads((PROJECT / "templates" / "pins.json").read_text())
    (base,) = re.findall(r"^FROM (\S+)$", text, re.MULTILINE)
    name, _, digest = base.partition("@")
    assert pins[name] == digest
    assert "--require-hashes" in text
    assert re.search(r"^USER [1-9]", text, re.MULTILINE)


def test_the_action_is_the_scaffold() -> None:
    """`uses: …/.github/actions/olmc@DIGEST` runs what `olmc init github` writes; `olmc init github` wrote it."""
    install = f"git+{REPOSITORY}@v{__version__}"
    values = {"path": ".", "url": "", "name": "olmc", "image": "olmc", "install": install}
    for name, text in files_of("github", values).items():
        if "/actions/" in name:
            assert (PROJECT / name).read_text(encoding="utf-8") == text
