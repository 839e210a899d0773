"""A repository's own configuration makes git run nothing and ask nobody, whatever olmc wants to know of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import forks
import pytest
from building import bundle_files, described
from running import run_here
from scenarios import write

pytestmark = pytest.mark.process

PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "core.askPass",
    "core.alternateRefsCommand", "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean",
    "filter.x.smudge", "filter.x.process", "credential.helper", "gpg.program", "merge.x.driver", "pager.ls-tree",
    "pager.rev-parse", "pager.cat-file", "uploadpack.packObjectsHook", "remote.evil.uploadpack",
)  # fmt: skip
HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc")
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: harbour}\n"
OBJECT = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"


def git(repository: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "none"}
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], cwd=repository, check=True,
        capture_output=True, env=environment, text=True,
    ).stdout.strip()  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """A repository in which everything that git can run is a program that leaves a mark, and where the mark is.

    It is a partial clone of a remote that is a program as well, and lacks the content of a file.
    """
    repository, mark = tmp_path / "repository", tmp_path / "mark"
    (repository / "hooks").mkdir(parents=True)
    (repository / "a.yaml").write_text(OBJECT)
    (repository / "whole").mkdir()
    (repository / "whole/b.yaml").write_text(OBJECT.replace("harbour", "quay"))
    (repository / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "x")
    missing = git(repository, "rev-parse", "HEAD:a.yaml")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    program.chmod(0o755)
    for hook in HOOKS:
        (repository / "hooks" / hook).symlink_to(program)
    (repository / ".git/objects" / missing[:2] / missing[2:]).unlink()
    settings = {
        **dict.fromkeys(PROGRAMS, str(program)), "core.hooksPath": str(repository / "hooks"),
        "alias.ls-tree": f"!{program}", "alias.cat-file": f"!{program}", "alias.rev-parse": f"!{program}",
        "core.repositoryformatversion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::{program} %S", "protocol.allow": "always", "protocol.ext.allow": "always",
    }  # fmt: skip
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    for line in lines.splitlines():
        git(repository, "-c", "core.fsmonitor=false", "config", *line.split("=", 1))
    mark.unlink(missing_ok=True)
    return repository, mark


@pytest.mark.parametrize(
    "command",
    ["diff git:HEAD .", "diff git:HEAD..HEAD", "diff git:nowhere .", "diff git:HEAD:whole whole",
     "plan --from git:HEAD", "check . --since HEAD", "fleet plan . --from git:HEAD", "fleet status whole", "status"],
)  # fmt: skip
def test_the_configuration_of_a_repository_runs_nothing(command: str, hostile: tuple[Path, Path]) -> None:
    repository, mark = hostile
    done = forks.run_text(command.split(), cwd=repository, env=os.environ, timeout=60)
    assert "Traceback" not in done.stderr
    assert not mark.exists()
    if "whole" in command:
        assert done.returncode == 0, done.stderr
    elif "git:HEAD" in command and "fleet" not in command:
        assert "the content of a.yaml is not in the repository" in done.stderr


def test_the_configuration_would_run_it_otherwise(hostile: tuple[Path, Path]) -> None:
    """Of an attack that is none nothing could be learned."""
    repository, mark = hostile
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False)
    assert mark.exists()
    mark.unlink()
    subprocess.run(["git", "cat-file", "-p", "HEAD:a.yaml"], cwd=repository, capture_output=True, check=False)
    assert mark.exists()


@pytest.fixture
def hostile_packages(tmp_path: Path) -> tuple[Path, Path]:
    """A repository of bundles of which git reads changed files by a program, and where the mark of the program is.

    The names of two of its filters have signs of settings, and a repository inside of it has a configuration as well.
    """
    repository, mark = tmp_path / "repository", tmp_path / "mark"
    for number in range(20):
        bundle = bundle_files(described({"name": f"p{number}.v1.0.0", "owned": ["Kettle"]}))
        write(repository, {f"operators/p{number}/1.0.0/{path.split('/', 2)[2]}": text for path, text in bundle.items()})
        write(repository, {f"operators/p{number}/1.0.0/manifests/a.yaml": CONFIG_MAP})
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {mark}\ncat\n")
    program.chmod(0o755)
    inner = repository / "operators/p1/1.0.0/inner"
    inner.mkdir()
    for where in (inner, repository):
        git(where, "init", "-q")
        (where / ".gitattributes").write_text("p0/** filter=x\np2/** filter=a.b=c\n* filter=x\n")
        (where / "x.txt").write_text(OBJECT)
        git(where, "add", "-A")
        git(where, "commit", "-qm", "x")
    (repository / ".git/info/attributes").write_text("operators/p2/** filter=a.b=c\noperators/p3/** filter=y\n")
    (tmp_path / "more").write_text(f'[filter "y"]\n\tprocess = {program}\n\trequired = true\n')
    for where in (inner, repository):
        for name in ("x", "a.b=c"):
            git(where, "config", f"filter.{name}.clean", str(program))
            git(where, "config", f"filter.{name}.required", "true")
        git(where, "config", "include.path", str(tmp_path / "more"))
        git(where, "config", "core.fsmonitor", str(program))
    for number in (0, 2, 3):
        write(repository, {f"operators/p{number}/1.0.0/manifests/a.yaml": CONFIG_MAP.replace("harbour", "quay")})
    (inner / "x.txt").write_text(OBJECT.replace("harbour", "quay"))
    mark.unlink(missing_ok=True)
    return repository, mark


@pytest.mark.parametrize("own", [(), ("user.name", "filter.z.clean")], ids=["plain", "with-settings-in-variables"])
def test_no_filter_of_a_repository_of_bundles_runs(
    own: tuple[str, ...], hostile_packages: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings that a user has in variables stay, and olmc adds its own behind them."""
    repository, mark = hostile_packages
    if own:
        monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(own)))
    for number, name in enumerate(own):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", "z")
    done = run_here(["check", ".", "--since", "HEAD"], repository)
    assert not mark.exists()
    assert "17 unchanged packages not looked at" in done.output, done.output


def test_filters_of_a_repository_of_bundles_would_run(hostile_packages: tuple[Path, Path]) -> None:
    repository, mark = hostile_packages
    subprocess.run(["git", "-c", "core.fsmonitor=false", "diff"], cwd=repository, capture_output=True, check=False)
    assert mark.exists()


BOMBS = {
    "one file at many places": {f"w/{number}.yaml": "#" * 1_000 for number in range(40)},
    "many files": {f"w/{number}.yaml": f"{number}" + "#" * 1_000 for number in range(40)},
    "a folder at many places": {f"w/{number % 8}/{number // 8}.yaml": "#" * 500 for number in range(80)},
    "what a kustomization reads": {
        "w/kustomization.yaml": "resources: [../base]\n",
        "base/kustomization.yaml": "resources: [a.yaml]\n",
        "base/a.yaml": "#" * 40_000,
    },
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("command", ["diff git:HEAD w", "plan w --from git:HEAD"])
def test_a_revision_that_unpacks_to_too_much_is_refused(
    command: str, bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git knows the sizes, so that nothing of it is written; the work tree counts by its own limits."""
    for name, text in BOMBS[bomb].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for arguments in ("init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m x"):
        subprocess.run(["git", *arguments.split()], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setenv("OLMC_LIMIT_REVISION_BYTES", "30000")
    done = run_here(command.split(), tmp_path)
    assert done.code == 3
    assert "its files have more than 30,000 bytes (OLMC_LIMIT_REVISION_BYTES raises the limit)" in done.output
