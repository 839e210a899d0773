"""The hooks, run by the real pre-commit in a repository of somebody who uses olmc."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from pipeline_workshop import PROJECT, copied, run, tool

pytestmark = pytest.mark.process

# How pip says that it found no index to ask.
NO_INDEX = re.compile("No matching distribution|Could not find a version|NewConnectionError|timed out")
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


class Repository(NamedTuple):
    """A git repository that uses the hooks, and where pre-commit keeps what it installs."""

    folder: Path
    home: Path

    def git(self, *arguments: str) -> str:
        done = run(["git", *AUTHOR, *arguments], self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hook(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run a hook as `git commit` would, on what is staged."""
        self.git("add", "-A")
        command = [sys.executable, "-m", "pre_commit", "run", "--verbose", "--color=never", name]
        return run(command, self.folder, extra={"PRE_COMMIT_HOME": str(self.home), "PIP_NO_INPUT": "1"})


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """This checkout as a repository with all of it committed, and the commit."""
    git = tool("git")
    folder = tmp_path_factory.mktemp("published") / "olmc"
    listed = run([git, "ls-files", "--cached", "--others", "--exclude-standard"], PROJECT)
    if listed.returncode != 0:
        pytest.skip("needs a checkout, from which pre-commit clones; this is none")
    for name in listed.stdout.splitlines():
        if (PROJECT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PROJECT / name, folder / name)
    for arguments in (("init", "--quiet"), ("add", "-A"), ("commit", "--quiet", "-m", "all")):
        done = run([git, *AUTHOR, *arguments], folder)
        assert done.returncode == 0, done.stderr
    return folder, run([git, "rev-parse", "HEAD"], folder).stdout.strip()


@pytest.fixture(scope="module")
def installed(published: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pre-commit has installed: it asks the package index for olmc's dependencies, once."""
    home = tmp_path_factory.mktemp("pre-commit")
    folder = used(tmp_path_factory.mktemp("first") / "repository", published)
    command = [sys.executable, "-m", "pre_commit", "install-hooks"]
    # Without compiling the libraries, most of whose modules no hook imports.
    extra = {"PRE_COMMIT_HOME": str(home), "PIP_NO_INPUT": "1", "PIP_NO_COMPILE": "1"}
    done = run(command, folder, extra=extra)
    if done.returncode != 0 and NO_INDEX.search(done.stdout + done.stderr):
        pytest.skip("pip reaches no index to get olmc's dependencies from")
    assert done.returncode == 0, done.stdout + done.stderr
    return home


def used(folder: Path, published: tuple[Path, str], arguments: Sequence[str] = ()) -> Path:
    """A repository with a workspace and a .pre-commit-config.yaml."""
    copied("own-namespace", folder)
    hooks = [{"id": "olmc-check"}, {"id": "olmc-render", **({"args": list(arguments)} if arguments else {})}]
    config = {"repos": [{"repo": str(published[0]), "rev": published[1], "hooks": hooks}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert run(["git", "init", "--quiet"], folder).returncode == 0
    return folder


@pytest.fixture
def repository(published: tuple[Path, str], installed: Path, tmp_path: Path) -> Repository:
    return Repository(used(tmp_path / "repository", published), installed)


def csv_of(repository: Repository) -> Path:
    return next((repository.folder / "bundles").rglob("*.clusterserviceversion.yaml"))


def test_the_hooks_have_what_pre_commit_asks_for(tmp_path: Path) -> None:
    """Validated by pre-commit itself."""
    path = PROJECT / ".pre-commit-hooks.yaml"
    done = run([sys.executable, "-m", "pre_commit", "validate-manifest", path], tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    hooks = {hook["id"]: hook for hook in yaml.safe_load(path.read_text(encoding="utf-8"))}
    assert hooks.keys() == {"olmc-check", "olmc-plan", "olmc-render"}
    for hook in hooks.values():
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)


def test_check_passes_and_fails_on_a_finding(repository: Repository) -> None:
    done = repository.hook("olmc-check")
    assert done.returncode == 0, done.stdout
    csv = csv_of(repository)  # it still states its kind: olmc leaves files of other tools aside
    csv.write_text(csv.read_text(encoding="utf-8") + "broken: [", encoding="utf-8")
    done = repository.hook("olmc-check")
    assert done.returncode == 1
    assert re.search(r"error: .* \[OLMC1..\]", done.stdout)
    assert "exit code: 3" in done.stdout


def test_render_writes_and_fails_on_a_stale_rendering(repository: Repository) -> None:
    """The first time as well, when git does not know the files yet."""
    first = repository.hook("olmc-render")
    assert first.returncode == 1, first.stdout
    assert "new, 0 changed, 0 removed" in first.stdout
    assert (repository.folder / "rendered/kustomization.yaml").is_file()
    again = repository.hook("olmc-render")
    assert again.returncode == 0, again.stdout
    repository.git("commit", "--quiet", "--no-verify", "-m", "rendered")
    csv = csv_of(repository)
    csv.write_text(csv.read_text(encoding="utf-8").replace("replicas: 1", "replicas: 2"), encoding="utf-8")
    stale = repository.hook("olmc-render")
    assert stale.returncode == 1
    assert "2 changed" in stale.stdout  # the Deployment, and the CSV that has it
    deployment = repository.folder / "rendered/deployment_harbour_beacon-controller.yaml"
    assert "replicas: 2" in deployment.read_text(encoding="utf-8")
    assert repository.hook("olmc-render").returncode == 0


def test_a_commit_runs_them(repository: Repository) -> None:
    """Nothing is committed until the rendering is part of the commit."""
    environment = {"PRE_COMMIT_HOME": str(repository.home)}
    assert run([sys.executable, "-m", "pre_commit", "install"], repository.folder, extra=environment).returncode == 0
    commit = ["git", *AUTHOR, "commit", "-m", "operators"]
    repository.git("add", "-A")
    assert run(commit, repository.folder, extra=environment).returncode == 1
    repository.git("add", "-A")
    done = run(commit, repository.folder, extra=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rendered/kustomization.yaml" in repository.git("ls-files")


def test_arguments_choose_the_workspace_and_the_directory(
    published: tuple[Path, str], installed: Path, tmp_path: Path
) -> None:
    folder = used(tmp_path / "repository", published, ["--output-dir", "out/apply", "--for", "apply", "."])
    repository = Repository(folder, installed)
    assert repository.hook("olmc-render").returncode == 1
    assert (folder / "out/apply/kustomization.yaml").is_file()
    assert not (folder / "rendered").exists()
    assert repository.hook("olmc-render").returncode == 0
