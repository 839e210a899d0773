"""`olmc init`: the files that a pipeline needs to run olmc, as a start that people go on from."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from olmc.compiler.model.workspace import SCAFFOLDED
from olmc.compiler.output.directory import put
from olmc.integrations.pipelines.argocd import announcements
from olmc.k8s.lean import NamedTuple
from olmc.k8s.yaml import dump_one
from olmc.resources import REPOSITORY, template_files, template_text
from olmc.version import __version__

Values = Mapping[str, str]

INSTALL = f"git+{REPOSITORY}@v{__version__}"
"""The requirement that pipelines install as olmc by default: this version, out of its repository."""


class Scaffold(NamedTuple):
    """Templates by the files that they become, and what to do with these; both take `{values}`."""

    files: Mapping[str, str]
    next_step: str


class State(StrEnum):
    """What became of a file, or would."""

    NEW = "new"
    SAME = "unchanged"
    DIFFERENT = "differs"


_REQUIREMENTS = "requirements.txt"

SCAFFOLDS: Mapping[str, Scaffold] = {
    "argocd": Scaffold(
        {
            "plugin.yaml": "argocd/plugin.yaml.j2",
            "Containerfile": "argocd/Containerfile.j2",
            "requirements.txt": _REQUIREMENTS,
            "repo-server-patch.yaml": "argocd/repo-server-patch.yaml.j2",
        },
        "Build and push the image:\n"
        "  docker build -t {image} -f {folder}/Containerfile {folder}\n"
        "  docker push {image}\n"
        "Add the sidecar to Argo CD:\n"
        "  kubectl patch deployment argocd-repo-server -n argocd --patch-file {folder}/repo-server-patch.yaml\n"
        "Applications whose source has an olmc.yaml are then rendered by olmc.",
    ),
    "flux-github": Scaffold(
        {
            ".github/workflows/olmc-flux.yml": "flux/github-job.yaml.j2",
            ".github/olmc-requirements.txt": _REQUIREMENTS,
            "flux/ocirepository.yaml": "flux/ocirepository.yaml.j2",
            "flux/sync.yaml": "flux/sync.yaml.j2",
        },
        "Commit the files; the job pushes {url} when main changes. Then tell Flux:\n"
        "  kubectl apply -f {folder}/flux/ocirepository.yaml -f {folder}/flux/sync.yaml",
    ),
    "flux-gitlab": Scaffold(
        {
            ".gitlab/olmc-flux.yml": "flux/gitlab-job.yaml.j2",
            ".gitlab/olmc-requirements.txt": _REQUIREMENTS,
            "flux/ocirepository.yaml": "flux/ocirepository.yaml.j2",
            "flux/sync.yaml": "flux/sync.yaml.j2",
        },
        "Add to .gitlab-ci.yml:\n"
        "  include:\n"
        "  - local: .gitlab/olmc-flux.yml\n"
        "Commit the files; the job pushes {url} when the default branch changes. Then tell Flux:\n"
        "  kubectl apply -f {folder}/flux/ocirepository.yaml -f {folder}/flux/sync.yaml",
    ),
    "github": Scaffold(
        {
            ".github/actions/olmc/action.yml": "github/action.yml.j2",
            ".github/actions/olmc/requirements.txt": _REQUIREMENTS,
            ".github/workflows/olmc.yml": "github/workflow.yml.j2",
        },
        "Commit the files; pull requests then get a comment with what merging them does to the cluster.",
    ),
    "gitlab": Scaffold(
        {
            ".gitlab/olmc.yml": "gitlab/olmc.yml.j2",
            ".gitlab/olmc-comment.py": "gitlab/olmc-comment.py",
            ".gitlab/olmc-requirements.txt": _REQUIREMENTS,
        },
        "Add to .gitlab-ci.yml:\n"
        "  include:\n"
        "  - local: .gitlab/olmc.yml\n"
        "Merge requests then link to what merging them does to the cluster. To have it as a note, set the CI/CD\n"
        "variable OLMC_TOKEN (masked, hidden, protected) to a project access token with the scope api and the role\n"
        "Reporter, and schedule a pipeline of the default branch with the variable OLMC_COMMENT set to true.",
    ),
}


EXAMPLE = (("first", "Install lantern 1.0.0"), ("second", "Update the catalog: lantern 1.1.0 and 1.2.0"))
"""The commits of the example repository: the folder of its files below templates/example/, and its message."""
# Every user gets the same commits: the configuration of git does not count.
_GIT = (
    "-c", "init.defaultBranch=main", "-c", "user.name=olmc", "-c", "user.email=olmc@example.com", "-c",
    "commit.gpgSign=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.autocrlf=false",
)  # fmt: skip
_DATE = "2026-01-01T00:00:00+00:00"


def write_example(folder: Path) -> None:
    """Write a repository with a catalog, an operator and two commits into an empty folder.

    Raises OSError, also for a git that can't be run or refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet")
    for part, message in EXAMPLE:
        write(folder, template_files(f"example/{part}"))
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", message)


def _git(folder: Path, *arguments: str) -> None:
    import subprocess  # takes its time to import, and few commands need it

    # Variables such as GIT_DIR, as hooks have them, would lead to another repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    dates = {"GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
    done = subprocess.run(
        ["git", *_GIT, *arguments], cwd=folder, env={**kept, **dates}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"git {arguments[0]}: {done.stderr.strip() or 'git failed'}")


def files_of(name: str, values: Values) -> dict[str, str]:
    """The texts of a scaffold by file, relative to its folder; raises jinja2.UndefinedError for a value missing."""
    from jinja2 import Environment, StrictUndefined  # takes long to import

    # GitHub's expressions and the shell have the usual delimiters for themselves.
    environment = Environment(
        variable_start_string="{@",
        variable_end_string="@}",
        comment_start_string="{@#",
        comment_end_string="#@}",
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
    )
    environment.filters["tojson"] = _quoted
    parameters = dump_one(announcements()).rstrip("\n")
    pins = json.loads(template_text("pins.json"))
    known = {"install": INSTALL, "parameters": parameters, "mark": SCAFFOLDED, "pins": pins, **values}
    return {
        file: environment.from_string(template_text(template)).render(known)
        for file, template in SCAFFOLDS[name].files.items()
    }


def _quoted(text: str) -> str:
    """A text as a YAML scalar."""
    return dump_one(text).rstrip("\n")


def states(folder: Path, files: Mapping[str, str]) -> dict[str, State]:
    """How each file stands to what is in the folder already."""
    return {name: _state(folder / name, text) for name, text in files.items()}


def _state(path: Path, text: str) -> State:
    if not path.exists() and not path.is_symlink():
        return State.NEW
    return State.SAME if path.is_file() and path.read_bytes() == text.encode() else State.DIFFERENT


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write those files that are new or differ; raises OSError."""
    for name, state in states(folder, files).items():
        if state is not State.SAME:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path, files[name])


_HEAD = """\
# What olmc needs, for CPython 3.13 on Linux (x86_64, aarch64). To pin olmc itself, add its line:
#     olmc==VERSION --hash=sha256:…    (pip download --no-deps olmc==VERSION, then pip hash on the file)
"""
_DEVELOPMENT = """\
# All libraries of olmc and of its development, for CPython 3.11 to 3.13 on Linux (x86_64, aarch64). make pins
# writes it, make venv installs by it.
"""


def requirements(wheels: Iterable[Path], head: str = _HEAD) -> str:
    """The lines of a requirements file for wheels: each library with its version and the hashes of all its files."""
    hashes: dict[str, set[str]] = {}
    for wheel in wheels:
        name, version, *_ = wheel.name.split("-")
        library = f"{name.lower().replace('_', '-')}=={version}"
        hashes.setdefault(library, set()).add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    lines = (
        " \\\n    ".join((library, *(f"--hash=sha256:{digest}" for digest in sorted(digests))))
        for library, digests in sorted(hashes.items())
    )
    return head + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    is_development = sys.argv[1:2] == ["--development"]
    folders = sys.argv[2:] if is_development else sys.argv[1:]
    found = (wheel for folder in folders for wheel in Path(folder).glob("*.whl"))
    sys.stdout.write(requirements(found, _DEVELOPMENT if is_development else _HEAD))
