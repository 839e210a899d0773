"""docs/images.md shows what the commands on it print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from image_kit import as_archive, push, write_layout
from image_workspaces import located, with_images
from registry_servers import docker_registry

PAGE = Path(__file__).resolve().parents[3] / "docs/images.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """The commands of the page, and the output that it shows for each."""
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def as_pattern(output: str) -> str:
    """`...` stands for anything: alone on its line for any number of lines."""
    lines = [
        "(?s:.*?)" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + "\n"
        for line in output.splitlines()
    ]
    return "".join(lines) + r"\Z"


@pytest.mark.registry
@pytest.mark.process
def test_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(tmp_path / "registries.conf"))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "none.json"))
    (tmp_path / "registry").mkdir()
    root = tmp_path / "workspace"
    images = with_images(root, "dependency")
    as_archive(write_layout(tmp_path / "images", images))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with docker_registry(tmp_path / "registry") as host:
        for reference, made in images.items():
            name, _, tag = reference.partition("/")[2].rpartition(":")
            push(host, name, tag, made)
        located(host)
        for command, output in shown():
            done = subprocess.run(
                ["bash", "-c", command], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, check=False,
            )  # fmt: skip
            assert re.match(as_pattern(output), done.stdout), f"{command}\n{done.stdout}"


def test_the_page_shows_commands() -> None:
    commands = [command for command, _ in shown()]
    assert len(commands) >= 10
    assert sum("olmc vendor" in command for command in commands) >= 6
