"""The scaffolds for GitHub and GitLab: their keys, their scripts, and what the scripts do when they are run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pipeline_workshop import SCRIPTS, copied, run, tool

from olmc.cli.main import MODULES
from olmc.pipelines.scaffolds import SCAFFOLDS, files_of

VALUES = {"path": "operators", "url": "oci://registry.example.com/a", "name": "operators", "image": "a"}
MARKDOWN = "## What changes\n\n- Deployment harbour/beacon-controller\n"

# What stands for olmc while only the script is tried: it says what it was asked, and ends as it is told.
OLMC = """#!/bin/sh
echo "$*" >> "$LOG"
[ "$1" = diff ] || exit 9
printf '%s' "$MARKDOWN"
exit "$STATUS"
"""
# gh, which knows one comment or none.
GH = """#!/bin/sh
echo "gh $*" >> "$LOG"
for argument in "$@"; do
  case "$argument" in
    --jq) printf '%s' "$KNOWN"; exit 0;;
    body=@*) cat "${argument#body=@}" > "$POSTED"; exit "${GH_STATUS:-0}";;
  esac
done
exit 1
"""
CURL = """#!/bin/sh
echo "curl $*" >> "$LOG"
for argument in "$@"; do
  case "$argument" in
    body@*) cat "${argument#body@}" > "$POSTED"; exit 0;;
  esac
done
printf '%s' "$NOTES"
"""


def documents(name: str) -> dict[str, Any]:
    """The YAML files of a scaffold."""
    return {file: yaml.safe_load(text) for file, text in files_of(name, VALUES).items() if file.endswith("ml")}


def on(workflow: Mapping[Any, Any]) -> Any:
    """What a workflow runs on; PyYAML reads the key as YAML 1.1 does."""
    return workflow[True]


def scripts(name: str) -> Iterator[tuple[str, str]]:
    """The shell scripts of a scaffold."""
    for file, document in documents(name).items():
        jobs = document.get("jobs", {}).values() if "jobs" in document else [document.get("runs", {})]
        for job in jobs:
            for step in job.get("steps", ()):
                if "run" in step:
                    yield f"{file}: {step['name']}", step["run"]
        for key, job in document.items():
            if isinstance(job, dict):
                for part in ("before_script", "script"):
                    yield from ((f"{file}: {key}.{part}", line) for line in job.get(part, ()))


ALL = [pytest.param(text, id=title) for name in SCAFFOLDS for title, text in scripts(name)]


@pytest.mark.parametrize("script", ALL)
def test_scripts_are_sound(script: str, tmp_path: Path) -> None:
    """bash reads them, and shellcheck has nothing to say; values come from variables, never from GitHub's text."""
    assert "${{" not in script
    path = tmp_path / "script.sh"
    path.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
    assert run(["bash", "-n", path], tmp_path).returncode == 0
    checked = run([SCRIPTS / "shellcheck", path], tmp_path)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_composite_action() -> None:
    """The keys of action.yml, and those that each step of a composite action needs."""
    action = documents("github")[".github/actions/olmc/action.yml"]
    assert action.keys() == {"name", "description", "inputs", "outputs", "runs"}
    assert all(each.keys() <= {"description", "required", "default"} for each in action["inputs"].values())
    assert all(each.keys() == {"description", "value"} for each in action["outputs"].values())
    assert action["runs"].keys() == {"using", "steps"}
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert step.keys() <= {"name", "id", "if", "uses", "with", "run", "shell", "env"}
        assert ("run" in step) == ("shell" in step) == ("uses" not in step)
    assert action["inputs"]["path"]["default"] == "operators"


def test_the_workflow() -> None:
    workflow = documents("github")[".github/workflows/olmc.yml"]
    assert "pull_request" in on(workflow)
    assert "pull_request_target" not in on(workflow)
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    (job,) = workflow["jobs"].values()
    assert [step["uses"].partition("@")[0] for step in job["steps"]] == ["actions/checkout", "./.github/actions/olmc"]


def test_the_jobs_for_flux() -> None:
    github = documents("flux-github")[".github/workflows/olmc-flux.yml"]
    assert on(github) == {"push": {"branches": ["main"]}}
    assert github["permissions"] == {"contents": "read", "packages": "write"}
    gitlab = documents("flux-gitlab")[".gitlab/olmc-flux.yml"]
    assert gitlab["olmc-flux"]["needs"] == ["olmc-render"]
    for name in ("flux-github", "flux-gitlab"):
        text = "\n".join(script for _, script in scripts(name))
        assert re.search(r"olmc render \S+ --for apply --flux --output-dir", text)
        assert re.search(r"flux push artifact .*--revision \S+@sha1:", text.replace("\\\n", ""))


def test_the_gitlab_template() -> None:
    """Keywords of a job, and only for merge requests."""
    (job,) = documents("gitlab")[".gitlab/olmc.yml"].values()
    assert job.keys() <= {"stage", "image", "rules", "variables", "before_script", "script", "artifacts"}
    assert job["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert job["variables"]["OLMC_PATH"] == "operators"
    assert all(isinstance(value, str) for value in job["variables"].values())


class Repository(NamedTuple):
    """A clone in which a branch has changed a workspace, and the commit that it started from."""

    folder: Path
    base: str
    log: Path
    posted: Path
    bin: Path

    def runs(self, script: str, **variables: str) -> tuple[int, str]:
        """The exit code of a script as a runner runs it, and what it printed."""
        path = self.folder.parent / "script.sh"
        path.write_text(script, encoding="utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(path)]
        temporary = self.folder.parent / "temp"
        temporary.mkdir(exist_ok=True)
        known = {
            "LOG": self.log, "POSTED": self.posted, "MARKDOWN": MARKDOWN, "RUNNER_TEMP": temporary,
            "GITHUB_STEP_SUMMARY": temporary / "summary", "GITHUB_OUTPUT": temporary / "output",
            "GITHUB_REPOSITORY": "harbour/operators", "WORKSPACE": "operators", "BASE": self.base,
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.base, "OLMC_PATH": "operators", "CI_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_IID": "3", "CI_API_V4_URL": "https://git.example.com/api/v4", "NUMBER": "3", "RUN": "run",
        }  # fmt: skip
        environment = {key: str(value) for key, value in known.items()} | variables
        done = run(command, self.folder, extra={**environment, "PATH": f"{self.bin}:{SCRIPTS}:/usr/bin:/bin"})
        return done.returncode, done.stdout + done.stderr

    def output(self, name: str) -> str:
        path = self.folder.parent / "temp" / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A checkout of the last commit alone, as actions/checkout makes it."""
    git = tool("git")
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]

    def do(*arguments: str, cwd: Path = origin) -> str:
        done = run([git, *author, *arguments], cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    copied("own-namespace", origin / "operators")
    do("init", "--quiet", "--initial-branch=main")
    do("config", "uploadpack.allowAnySHA1InWant", "true")
    do("add", "-A")
    do("commit", "--quiet", "-m", "one")
    base = do("rev-parse", "HEAD")
    csv = next((origin / "operators/bundles").rglob("*.clusterserviceversion.yaml"))
    csv.write_text(csv.read_text(encoding="utf-8").replace("replicas: 1", "replicas: 2"), encoding="utf-8")
    do("commit", "--quiet", "-am", "two")
    do("clone", "--quiet", "--depth=1", f"file://{origin}", str(clone), cwd=tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    python = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
    for name, text in (("olmc", OLMC), ("gh", GH), ("curl", CURL), ("python", python)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return Repository(clone, base, tmp_path / "log", tmp_path / "posted", folder)


def step(name: str) -> str:
    """The script of a step of the composite action."""
    (found,) = (text for title, text in scripts("github") if title.endswith(f": {name}"))
    return found


def gitlab_script() -> str:
    (found,) = (text for title, text in scripts("gitlab") if title.endswith(".script"))
    return found


@pytest.mark.parametrize(("status", "changed"), [("0", "false"), ("1", "true")])
def test_the_action_compares(status: str, changed: str, repository: Repository) -> None:
    """Both sides: the commit that the pull request starts from, which it fetches, and what is checked out."""
    code, out = repository.runs(step("Compare"), STATUS=status)
    assert code == 0, out
    asked = f"diff git:{repository.base}:operators operators -o markdown --allow-empty"
    assert repository.log.read_text(encoding="utf-8").splitlines() == [asked]
    assert repository.output("output") == f"changed={changed}\n"
    assert repository.output("summary") == MARKDOWN


def test_a_comparison_that_failed_fails_the_job(repository: Repository) -> None:
    code, _ = repository.runs(step("Compare"), STATUS="3")
    assert code == 3
    assert repository.output("output") == repository.output("summary") == ""


@pytest.mark.parametrize(
    ("known", "method", "target"),
    [("", "POST", "repos/harbour/operators/issues/3/comments"),
     ("41", "PATCH", "repos/harbour/operators/issues/comments/41"),
     ("41\n42", "PATCH", "repos/harbour/operators/issues/comments/41")],
)  # fmt: skip
def test_the_action_keeps_one_comment(known: str, method: str, target: str, repository: Repository) -> None:
    repository.runs(step("Compare"), STATUS="1")
    code, out = repository.runs(step("Comment"), KNOWN=known, CHANGED="true")
    assert code == 0, out
    assert repository.posted.read_text(encoding="utf-8") == f"<!-- olmc review -->\n{MARKDOWN}"
    posted = repository.log.read_text(encoding="utf-8").splitlines()[-1]
    assert f"--method {method} {target} " in posted


def test_nothing_is_said_where_nothing_changes(repository: Repository) -> None:
    """Unless an earlier comment says something else by now."""
    repository.runs(step("Compare"), STATUS="0")
    assert repository.runs(step("Comment"), KNOWN="", CHANGED="false")[0] == 0
    assert not repository.posted.exists()
    assert repository.runs(step("Comment"), KNOWN="41", CHANGED="false")[0] == 0
    assert repository.posted.exists()


def test_a_long_comment_is_cut_where_github_would_refuse_it(repository: Repository) -> None:
    long = "ä" * 40_000
    repository.runs(step("Compare"), STATUS="1", MARKDOWN=long)
    code, out = repository.runs(step("Comment"), KNOWN="", CHANGED="true")
    assert code == 0, out
    posted = repository.posted.read_text(encoding="utf-8")
    assert len(posted) < 65_536
    assert "[the summary of the run](run) has all of it" in posted
    assert repository.output("summary") == long


CUTS = [
    pytest.param(*cut, id=f"{title}, {cut[1]}")
    for name in ("github", "gitlab")
    for title, text in scripts(name)
    for cut in re.findall(r"(head -c (\d+) [^;}\n]*?\|\| true)", text)
]


@pytest.mark.parametrize(("command", "size"), CUTS)
def test_a_text_is_cut_between_characters(command: str, size: str, tmp_path: Path) -> None:
    """Half a character would be refused, and is no failure: a comment, GitHub's summary of 1 MiB, GitLab's note."""
    (tmp_path / "olmc.md").write_text("a" + "ä" * int(size), encoding="utf-8")
    shell = ["bash", "-eo", "pipefail", "-c", f"{{ {command}; }} > out; echo after"]
    done = run(shell, tmp_path, extra={"RUNNER_TEMP": "."})
    assert (done.returncode, done.stdout, done.stderr) == (0, "after\n", "")
    assert len((tmp_path / "out").read_text(encoding="utf-8").encode()) == int(size) - 1


def test_each_place_for_a_text_has_a_limit() -> None:
    assert [int(str(cut.values[1])) for cut in CUTS] == [1_000_000, 60_000, 900_000]


def test_a_token_without_rights_is_no_failure(repository: Repository) -> None:
    """A pull request from a fork; the summary has it all the same."""
    repository.runs(step("Compare"), STATUS="1")
    code, out = repository.runs(step("Comment"), KNOWN="", CHANGED="true", GH_STATUS="1")
    assert (code, "::warning title=olmc::" in out) == (0, True)


NOTES = '[{"id": 5, "body": "hello"}, {"id": 6, "body": "<!-- olmc review -->\\nold"}]'


@pytest.mark.parametrize(("notes", "request_line"), [("[]", "--request POST"), (NOTES, "--request PUT")])
def test_the_gitlab_job_keeps_one_note(notes: str, request_line: str, repository: Repository) -> None:
    code, out = repository.runs(gitlab_script(), STATUS="1", OLMC_TOKEN="t", NOTES=notes)
    assert code == 0, out
    posted = repository.log.read_text(encoding="utf-8").splitlines()[-1]
    assert request_line in posted
    assert posted.endswith("merge_requests/3/notes/6" if notes == NOTES else "merge_requests/3/notes")
    assert repository.posted.read_text(encoding="utf-8") == f"<!-- olmc review -->\n{MARKDOWN}"


def test_the_gitlab_job_without_a_token_or_a_change(repository: Repository) -> None:
    code, out = repository.runs(gitlab_script(), STATUS="1")
    assert (code, "OLMC_TOKEN is not set" in out) == (0, True)
    assert repository.runs(gitlab_script(), STATUS="0", OLMC_TOKEN="t", NOTES="[]")[0] == 0
    assert not repository.posted.exists()
    assert repository.runs(gitlab_script(), STATUS="3", OLMC_TOKEN="t", NOTES="[]")[0] == 3


@pytest.mark.skipif("diff" not in MODULES, reason="needs olmc diff, which this olmc does not have")
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_with_the_real_olmc(ci: str, repository: Repository) -> None:
    """Both sides are rendered, and the difference is posted."""
    (repository.bin / "olmc").write_text(f'#!/bin/sh\nexec {sys.executable} -m olmc "$@"\n', encoding="utf-8")
    if ci == "github":
        code, out = repository.runs(step("Compare"))
        assert (code, repository.output("output")) == (0, "changed=true\n"), out
        code, out = repository.runs(step("Comment"), KNOWN="", CHANGED="true")
    else:
        code, out = repository.runs(gitlab_script(), OLMC_TOKEN="t", NOTES="[]")
    assert code == 0, out
    assert "beacon-controller" in repository.posted.read_text(encoding="utf-8")


@pytest.mark.skipif("diff" not in MODULES, reason="needs olmc diff, which this olmc does not have")
def test_the_pull_request_that_brings_the_workspace(repository: Repository) -> None:
    """Its base does not have it."""
    (repository.bin / "olmc").write_text(f'#!/bin/sh\nexec {sys.executable} -m olmc "$@"\n', encoding="utf-8")
    copied("single-namespace", repository.folder / "new")
    code, out = repository.runs(step("Compare"), WORKSPACE="new")
    assert (code, repository.output("output")) == (0, "changed=true\n"), out
