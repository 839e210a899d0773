"""The scaffolds for GitHub and GitLab: their keys, their scripts, and what the scripts do when they are run."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pipeline_workshop import SCRIPTS, copied, run, tool

from olmc.compiler.output.document import LIMIT
from olmc.integrations.pipelines.scaffolds import SCAFFOLDS, files_of

VALUES = {"path": "operators", "url": "oci://registry.example.com/a", "name": "operators", "image": "a"}
MARKDOWN = "## What changes\n\n- Deployment harbour/beacon-controller\n"

# What stands for olmc while only the script is tried: it says what it was asked, and ends as it is told.
OLMC = """#!/bin/sh
echo "$*" >> "$LOG"
case "$*" in
  plan*json) printf '%s' "${PLAN:-"{}"}";;
  plan*) printf '%s' "$MARKDOWN";;
  diff*json) printf '{}'; exit "${FRESH:-0}";;
  diff*) printf '%s' "${DIFFERS:-what differs}"; exit "${FRESH:-0}";;
  *) exit 9;;
esac
exit "$STATUS"
"""
# gh, which knows pages of comments, and gives those that the expression asks for.
GH = """#!{python}
import json, os, re, sys
arguments = sys.argv[1:]
with open(os.environ["LOG"], "a") as log:
    print("gh", *(" ".join(each.split()) for each in arguments), file=log)
fields = dict(each.split("=", 1) for each in arguments if "=" in each)
if "--jq" in arguments:
    if os.environ.get("GH_READS") == "1":
        sys.exit("gh: Resource not accessible by integration")
    assert arguments[:2] == ["api", "graphql"] and "$endCursor" in fields["query"]
    assert (fields["owner"], fields["name"], fields["number"]) == ("harbour", "operators", "3")
    wanted = arguments[arguments.index("--jq") + 1]
    mark = re.search(r'startswith[(]"(.*)"[)]', wanted)[1]
    pages = json.loads(os.environ["COMMENTS"])
    for page in pages if "--paginate" in arguments else pages[:1]:
        for comment in page:
            mine = comment["viewerDidAuthor"] or "select(.viewerDidAuthor and " not in wanted
            if mine and comment["body"].startswith(mark):
                print(comment["id"])
    sys.exit()
with open(fields["body"].removeprefix("@")) as body, open(os.environ["POSTED"], "w") as posted:
    posted.write(body.read())
sys.exit(int(os.environ.get("GH_STATUS", "0")))
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
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert [step["uses"].partition("@")[0] for step in job["steps"]] == ["actions/checkout", "./.github/actions/olmc"]
    assert job["steps"][0]["with"] == {"fetch-depth": 2, "persist-credentials": False}
    assert "pull_request.number" in workflow["concurrency"]["group"]


def test_a_token_is_for_the_step_that_writes_alone() -> None:
    """What renders a stranger's files has none in its environment."""
    action = documents("github")[".github/actions/olmc/action.yml"]
    holders = [step.get("name") for step in action["runs"]["steps"] if "inputs.token" in yaml.safe_dump(step)]
    assert holders == ["Comment"]


PIN = re.compile(r"(?:uses: |image: |FROM |FLUX: |name: (?=\S+/\S+[:@]))(\S+)")


@pytest.mark.parametrize("name", SCAFFOLDS)
def test_actions_and_images_are_pinned(name: str) -> None:
    """By digest; libraries by their hashes."""
    for file, text in files_of(name, VALUES).items():
        for used in PIN.findall(text):
            if used not in ("./.github/actions/olmc", "a"):
                assert re.search(r"@([0-9a-f]{40}|sha256:[0-9a-f]{64})$", used), (file, used)
        for line in re.findall(r"pip install .*", text):
            assert "--no-deps" in line
            assert "--only-binary :all:" in line
            assert ("--require-hashes" in line) == ("requirements.txt" in line), line


def test_the_jobs_for_flux() -> None:
    github = documents("flux-github")[".github/workflows/olmc-flux.yml"]
    assert on(github) == {"push": {"branches": ["main"]}}
    assert github["permissions"] == {}
    assert github["jobs"]["push"]["permissions"] == {"contents": "read", "packages": "write"}
    gitlab = documents("flux-gitlab")[".gitlab/olmc-flux.yml"]
    assert gitlab["olmc-flux"]["needs"] == ["olmc-render"]
    for name in ("flux-github", "flux-gitlab"):
        text = "\n".join(script for _, script in scripts(name))
        assert re.search(r"olmc render \S+ --for apply --flux --output-dir", text)
        assert re.search(r"flux push artifact .*--revision \S+@sha1:", text.replace("\\\n", ""))


def test_the_gitlab_template() -> None:
    """Keywords of a job; what runs for merge requests knows no token, what knows it runs for the default branch."""
    jobs = documents("gitlab")[".gitlab/olmc.yml"]
    known = {
        "stage", "image", "rules", "variables", "before_script", "script", "artifacts", "timeout", "resource_group",
    }  # fmt: skip
    assert all(job.keys() <= known for job in jobs.values())
    assert jobs["olmc-plan"]["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert jobs["olmc-plan"]["variables"]["OLMC_PATH"] == "operators"
    assert "TOKEN" not in yaml.safe_dump(jobs["olmc-plan"])
    assert re.fullmatch(r"[\w -]+", jobs["olmc-plan"]["artifacts"]["expose_as"])
    (rule,) = jobs["olmc-comment"]["rules"]
    assert '$CI_PIPELINE_SOURCE == "schedule" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH' in rule["if"]


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
            "GITHUB_SHA": "0" * 40, "KEY": KEY, "ARTIFACT": "artifact", "COMMIT": "c0ffee", "COMMENTS": "[[]]",
            "GITHUB_WORKFLOW_REF": f"{WORKFLOW}@refs/pull/3/merge", "GITHUB_JOB": JOB,
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
    for name, text in (("olmc", OLMC), ("gh", GH.replace("{python}", sys.executable)), ("python", python)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return Repository(clone, base, tmp_path / "log", tmp_path / "posted", folder)


def step(name: str) -> str:
    """The script of a step of the composite action."""
    (found,) = (text for title, text in scripts("github") if title.endswith(f": {name}"))
    return found


def gitlab_script() -> str:
    (found,) = (text for title, text in scripts("gitlab") if title.endswith("olmc-plan.script"))
    return found


WORKFLOW, JOB = "harbour/operators/.github/workflows/olmc.yml", "plan"
KEY = hashlib.sha256(f"{WORKFLOW}\n{JOB}\noperators\n".encode()).hexdigest()[:16]
MARK = f"<!-- olmc plan {KEY} -->"
END = "\n<sub>Of c0ffee, by [this run](run). [The artifact](artifact) has all of it, as JSON.</sub>\n"


@pytest.mark.parametrize(("status", "changed"), [("0", "false"), ("1", "true")])
def test_the_action_plans(status: str, changed: str, repository: Repository) -> None:
    """From the commit that the pull request starts from, which it fetches, to what is checked out."""
    code, out = repository.runs(step("Plan"), STATUS=status)
    assert code == 0, out
    asked = f"plan operators --from git:{repository.base} --allow-empty --exit-code -o "
    fresh = f"diff git:{repository.base}:operators operators --allow-empty --exit-code -o "
    lines = repository.log.read_text(encoding="utf-8").splitlines()
    assert lines == [f"{each}{form}" for each in (asked, fresh) for form in ("markdown", "json")]
    assert repository.output("output") == f"changed={changed}\nkey={KEY}\n"
    assert repository.output("summary") == repository.output("olmc/plan.md") == MARKDOWN
    assert repository.output("olmc/plan.json") == "{}"


@pytest.mark.parametrize(
    "other",
    [{"GITHUB_WORKFLOW_REF": "harbour/operators/.github/workflows/x.yml@refs/pull/3/merge"}, {"GITHUB_JOB": "x"}],
)
def test_the_comment_is_that_of_the_job(other: dict[str, str], repository: Repository) -> None:
    """All workflows of a repository write as the same author: only what this job wrote begins with its mark."""
    assert repository.runs(step("Plan"), STATUS="0")[0] == 0
    assert f"key={KEY}\n" in repository.output("output")
    (repository.folder.parent / "temp" / "output").unlink()
    assert repository.runs(step("Plan"), STATUS="0", **other)[0] == 0
    assert KEY not in repository.output("output")


@pytest.mark.parametrize("script", ["github", "gitlab"])
def test_the_plan_of_a_whole_repository_is_all(script: str, repository: Repository) -> None:
    """`olmc diff` compares one cluster, and at the root of a repository with several it ends with 3."""
    text = step("Plan") if script == "github" else gitlab_script()
    code, out = repository.runs(text, STATUS="1", FRESH="3", PLAN='{"version": 1, "clusters": []}')
    assert code == 0, out
    assert "diff" not in repository.log.read_text(encoding="utf-8")


def test_what_olm_does_not_touch_is_no_secret(repository: Repository) -> None:
    """A bundle that changed behind its version: OLM does nothing, and a cluster that begins with it gets it."""
    code, out = repository.runs(step("Plan"), STATUS="0", FRESH="1")
    assert (code, repository.output("output")) == (0, f"changed=true\nkey={KEY}\n"), out
    assert repository.runs(step("Comment"), CHANGED="true")[0] == 0
    text = repository.posted.read_text(encoding="utf-8")
    assert text.startswith(f"{MARK}\n{MARKDOWN}\nOLM leaves what is installed as it is. ")
    assert text.endswith(f"\n\nwhat differs{END}")


@pytest.mark.parametrize("status", ["0", "1"])
def test_the_artifact_has_all_of_what_a_comment_has_no_room_for(status: str, repository: Repository) -> None:
    """Both as JSON, in which nothing is left out."""
    assert repository.runs(step("Plan"), STATUS=status, FRESH="1")[0] == 0
    assert repository.output("olmc/plan.json") == repository.output("olmc/diff.json") == "{}"


def test_two_long_texts_are_no_longer_than_a_comment(repository: Repository) -> None:
    """What is in a comment already is the end of it: an old comment must not stay because the new one is too long."""
    texts = {"MARKDOWN": "### nothing happens\n" + "p" * 40_000, "DIFFERS": "d" * 60_000}
    assert repository.runs(step("Plan"), STATUS="0", FRESH="1", **texts)[0] == 0
    assert repository.runs(step("Comment"), CHANGED="true")[0] == 0
    text = repository.posted.read_text(encoding="utf-8")
    assert len(text) < 65_536
    assert "### nothing happens\n\nOLM leaves" in text
    assert "d" * 60_000 in text


def test_a_merged_pull_request_is_compared_with_the_base_that_it_is_merged_into(repository: Repository) -> None:
    """Which may be ahead of the commit that the event names: what came to it since is no change of the pull request."""
    git = tool("git")

    def do(*arguments: str) -> str:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        done = run([git, *author, *arguments], repository.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    ahead = do("rev-parse", "HEAD")
    do("checkout", "--quiet", "-b", "topic")
    do("commit", "--quiet", "--allow-empty", "-m", "three")
    do("checkout", "--quiet", ahead)
    do("merge", "--quiet", "--no-ff", "-m", "merged", "topic")
    code, out = repository.runs(step("Plan"), STATUS="1", GITHUB_SHA=do("rev-parse", "HEAD"))
    assert code == 0, out
    assert f"--from git:{ahead} " in repository.log.read_text(encoding="utf-8")


def test_a_plan_that_failed_fails_the_job(repository: Repository) -> None:
    code, _ = repository.runs(step("Plan"), STATUS="3")
    assert code == 3
    assert repository.output("output") == repository.output("summary") == ""


def comment(number: str, body: str, *, mine: bool = True) -> dict[str, Any]:
    return {"id": number, "body": body, "viewerDidAuthor": mine}


OTHERS = [
    comment("IC_1", "hello"),
    comment("IC_2", f"{MARK}\nnothing happens, merge it", mine=False),
    comment("IC_3", "<!-- olmc plan 0123456789abcdef -->\nof another workspace"),
    comment("IC_4", f"> {MARK}"),
]


@pytest.mark.parametrize(
    ("pages", "known"),
    [([OTHERS], None), ([OTHERS, [comment("IC_5", f"{MARK}\nold")]], "IC_5"),
     ([[comment("IC_6", MARK), comment("IC_7", MARK)], OTHERS], "IC_6")],
)  # fmt: skip
def test_the_action_keeps_one_comment(pages: list[Any], known: str | None, repository: Repository) -> None:
    """Its own, on whatever page, and of this workspace: a stranger's with the same mark is left alone."""
    repository.runs(step("Plan"), STATUS="1")
    code, out = repository.runs(step("Comment"), COMMENTS=json.dumps(pages), CHANGED="true")
    assert code == 0, out
    assert repository.posted.read_text(encoding="utf-8") == f"{MARK}\n{MARKDOWN}{END}"
    posted = repository.log.read_text(encoding="utf-8").splitlines()[-1]
    if known is None:
        assert "--method POST repos/harbour/operators/issues/3/comments " in posted
    else:
        assert "updateIssueComment" in posted
        assert f" id={known} " in posted


def test_nothing_is_said_where_nothing_changes(repository: Repository) -> None:
    """Unless an earlier comment says something else by now."""
    repository.runs(step("Plan"), STATUS="0")
    assert repository.runs(step("Comment"), CHANGED="false")[0] == 0
    assert not repository.posted.exists()
    assert repository.runs(step("Comment"), COMMENTS=json.dumps([[comment("IC_1", MARK)]]), CHANGED="false")[0] == 0
    assert repository.posted.exists()


def test_a_comment_fits_with_all_that_the_pipeline_adds() -> None:
    """GitHub refuses what is longer: the longest plan, the mark and the links."""
    address = "https://github.example.com/" + "x" * 80
    nothing = len("### git:: nothing happens") + 40 + 60 + len("OLM leaves what is installed as it is.") + 70
    assert LIMIT + nothing + len(MARK) + 1 + len(END) + 2 * len(address) <= 65_536


@pytest.mark.parametrize("setting", ["GH_STATUS", "GH_READS"])
def test_a_token_without_rights_is_no_failure(setting: str, repository: Repository) -> None:
    """A pull request from a fork; the summary has it all the same, and nothing is posted twice."""
    repository.runs(step("Plan"), STATUS="1")
    code, out = repository.runs(step("Comment"), CHANGED="true", **{setting: "1"})
    assert (code, "::warning title=olmc::" in out) == (0, True)
    assert repository.posted.exists() == (setting == "GH_STATUS")


def test_the_gitlab_job_leaves_files(repository: Repository) -> None:
    """No token, no note: what it found is its artifact."""
    code, out = repository.runs(gitlab_script(), STATUS="1")
    assert code == 0, out
    folder = repository.folder / "olmc-plan"
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    differs = {"diff.md": "what differs", "diff.json": "{}"}
    assert files == {"plan.md": MARKDOWN, "plan.json": "{}", "status": "10\n", "note.md": MARKDOWN, **differs}
    assert repository.runs(gitlab_script(), STATUS="0", FRESH="1")[0] == 0
    assert (folder / "status").read_text(encoding="utf-8") == "01\n"
    assert (folder / "note.md").read_text(encoding="utf-8").endswith("what differs")
    assert repository.runs(gitlab_script(), STATUS="3")[0] == 3
    assert repository.runs(gitlab_script(), STATUS="0", FRESH="3")[0] == 3


@pytest.mark.process
@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_with_the_real_olmc(ci: str, repository: Repository) -> None:
    """From what the base left to what is checked out, and it is posted."""
    (repository.bin / "olmc").write_text(f'#!/bin/sh\nexec {sys.executable} -m olmc "$@"\n', encoding="utf-8")
    if ci == "github":
        code, out = repository.runs(step("Plan"))
        assert (code, repository.output("output")) == (0, f"changed=true\nkey={KEY}\n"), out
        code, out = repository.runs(step("Comment"), CHANGED="true")
        text = repository.posted.read_text(encoding="utf-8")
    else:
        code, out = repository.runs(gitlab_script())
        text = (repository.folder / "olmc-plan/note.md").read_text(encoding="utf-8")
    assert code == 0, out
    assert "beacon-controller" in text


@pytest.mark.process
@pytest.mark.parametrize("workspace", ["new", "operators"])
def test_the_pull_request_that_brings_or_removes_the_workspace(workspace: str, repository: Repository) -> None:
    """One of both sides does not have it."""
    (repository.bin / "olmc").write_text(f'#!/bin/sh\nexec {sys.executable} -m olmc "$@"\n', encoding="utf-8")
    copied("single-namespace", repository.folder / "new")
    shutil.rmtree(repository.folder / "operators")
    code, out = repository.runs(step("Plan"), WORKSPACE=workspace)
    assert code == 0, out
    assert repository.output("output").startswith("changed=true\n")
