"""What a command asks the system for is what it is for: no network, no program but git, and nothing written but where
it is told to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from running import READING, run, tree

pytestmark = pytest.mark.process


def is_temporary(path: str) -> bool:
    """Whether olmc made it for itself, below the system's folder for such, or it is nothing that is kept."""
    return os.path.realpath(path).startswith(os.path.realpath(tempfile.gettempdir()) + "/olmc-") or path == os.devnull


def test_commands_that_look_do_nothing_else(repository: Path) -> None:
    """No socket, not even one that is not connected; no program but git; every path that is changed is a temporary one,
    and gone in the end."""
    before = tree(repository)
    outcomes = run(READING, repository)
    for command, outcome in zip(READING, outcomes, strict=True):
        assert outcome.code in (0, 1), (command, outcome.output)
        assert [event for event in outcome.events if event[0] == "socket"] == [], command
        programs = {event[1] for event in outcome.events if event[0] == "program"}
        asks_git = "--since" in command or command[0] == "plan" or any(word.startswith("git:") for word in command)
        assert programs <= ({"git"} if asks_git else set()), command
        changed = [path for event in outcome.events if event[0] == "change" for path in event[1:]]
        assert [path for path in changed if not is_temporary(path)] == [], command
        assert [path for path in changed if path != os.devnull and Path(path).exists()] == [], command
    assert tree(repository) == before


def test_a_run_may_write_into_the_cache_and_nothing_else(repository: Path, tmp_path: Path) -> None:
    """With a large catalog: what is changed is in the cache; with OLMC_NO_CACHE nothing is."""
    (path,) = (repository / "w" / "catalogs").rglob("*.yaml")
    path.write_text(path.read_text() + "# a comment of sixty characters, as long as many lines are\n" * 20_000)
    commands = [["render", "w"], ["check", "w"], ["status", "w"]]
    before, home = tree(repository), tmp_path / "xdg"
    home.mkdir()
    for outcome in run(commands, repository, environment={"XDG_CACHE_HOME": str(home)}):
        assert outcome.code in (0, 1), outcome.output
        assert {event[0] for event in outcome.events} <= {"change"}
        changed = [path for event in outcome.events for path in event[1:]]
        assert [path for path in changed if not (path.startswith(f"{home}/olmc") or is_temporary(path))] == []
    assert len([path for path in home.rglob("*") if path.is_file()]) == 1
    assert not [path for path in home.rglob("*") if path.stat().st_mode & 0o077]
    nothing = {"XDG_CACHE_HOME": str(tmp_path / "other"), "OLMC_NO_CACHE": "1"}
    for outcome in run(commands, repository, environment=nothing):
        assert [path for event in outcome.events for path in event[1:] if not is_temporary(path)] == []
    assert tree(repository) == before


def test_the_watch_sees_what_it_is_to_see(repository: Path) -> None:
    """A command that writes and one that asks git are told of; else the test above would say nothing."""
    written, asked = run([["render", "w", "--output-dir", "out"], ["diff", "git:HEAD", "w"]], repository)
    assert {event[0] for event in written.events} == {"change"}
    assert ("program", "git") in asked.events


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("render w --output-dir out", "out"),
        ("resolve w --pin", "w"),
        ("migrate w --to descoped", "w"),
        ("import w/cluster.yaml -o state.yaml", "state.yaml"),
        ("init github --path w", ".github"),
        ("vendor w --offline", "w"),
    ],
)
def test_commands_that_write_do_so_where_they_are_told(command: str, where: str, repository: Path) -> None:
    before = tree(repository)
    (outcome,) = run([command.split()], repository)
    assert outcome.code in (0, 1, 2), outcome.output
    assert [event for event in outcome.events if event[0] in ("socket", "program") and event[1] != "git"] == []
    after = tree(repository)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert [path for path in changed if path != where and not path.startswith(f"{where}/")] == []
    assert not [path for path in after if ".olmc-" in path]


def test_a_chart_without_helm_starts_nothing(repository: Path) -> None:
    """Of the tools that render what others have written only those are asked that there are; their scripts are data."""
    (repository / "w" / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 1.0.0\n")
    (repository / "w" / "kustomization.yaml").write_text("resources: [operators.yaml]\ngenerators: [x.yaml]\n")
    (repository / "empty").mkdir()
    commands = [["render", "w"], ["check", "w"]]
    for outcome in run(commands, repository, environment={"PATH": str(repository / "empty")}):
        assert [event for event in outcome.events if event[0] in ("socket", "program")] == []
