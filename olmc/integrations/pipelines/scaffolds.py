"""`olmc init`: the files that a pipeline needs to run olmc, and the catalogs that the cluster of a workspace has.

The catalogs that Subscriptions name become data in olmc.yaml and no manifests. Otherwise the user who applies the
workspace would own objects of the platform.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import posixpath
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.files import read_text, scan
from olmc.compiler.load.manifests import SUFFIXES, manifests_in
from olmc.compiler.model.workspace import SCAFFOLDED
from olmc.compiler.olm.profiles.data import (
    OPENSHIFT_PREFIX,
    OPERATORHUB,
    PlatformCatalog,
    openshift,
    openshift_catalogs,
)
from olmc.compiler.output.directory import link_below, rewrite
from olmc.compiler.output.document import templates
from olmc.integrations.pipelines.argocd import announcements
from olmc.k8s.diagnostics import POSSIBLE, Location, Report, closest, did_you_mean
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import OLM_GROUP, CatalogKey, as_text, gvk_of, mapping, namespace_of, spec_of
from olmc.k8s.yaml import dump_one, locate, read
from olmc.resources import REPOSITORY, template_files, template_text
from olmc.version import __version__

Values = Mapping[str, str]

_RELEASED = f"git+{REPOSITORY}@v{__version__}"
_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOCAL = "file://"
_ADDRESS = regex(r"(?:https|ssh)://[\w@.~:/-]+")


def own_requirement() -> str:
    """Return the requirement that pipelines install as olmc by default.

    If pip has installed olmc from a commit, it is this commit, as the metadata of the installation have it (PEP 610).
    If pip has installed it from a clone, it is the commit of the clone, if origin has that. Otherwise it is the tag of
    this version in the repository of olmc.
    """
    try:
        noted = json.loads(distribution("olmc").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return _RELEASED
    url, commit = as_text(mapping(noted).get("url")), as_text(mapping(mapping(noted).get("vcs_info")).get("commit_id"))
    if not commit and url.startswith(_LOCAL):
        url, commit = _pushed(Path(unquote(url.removeprefix(_LOCAL))))
    is_whole = _COMMIT.fullmatch(commit) is not None and _ADDRESS.fullmatch(url) is not None
    return f"git+{url}@{commit}" if is_whole else _RELEASED


def _pushed(clone: Path) -> tuple[str, str]:
    """Return the address of origin and the current commit of a clone, two empty texts if origin has no such commit.
    An address with a user is empty, too: a password may follow."""
    try:
        if _git(clone, "rev-parse", "--show-prefix") or not _git(clone, "branch", "--remotes", "--contains", "HEAD"):
            return "", ""
        url, commit = _git(clone, "config", "--get", "remote.origin.url"), _git(clone, "rev-parse", "HEAD")
    except OSError:
        return "", ""
    return ("", "") if url.startswith("https:") and "@" in url else (url, commit)


class Scaffold(NamedTuple):
    """Templates by the files that they become, and what to do with these; both take `{values}`."""

    files: Mapping[str, str]
    next_step: str


class State(StrEnum):
    """The state of a file after the run."""

    NEW = "new"
    SAME = "unchanged"
    DIFFERENT = "differs"
    REPLACED = "replaced"


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


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of a git command in a folder; raises OSError."""
    # Variables such as GIT_DIR, as hooks have them, would lead to another repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    dates = {"GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
    done = subprocess.run(
        ["git", *_GIT, *arguments], cwd=folder, env={**kept, **dates}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"git {arguments[0]}: {done.stderr.strip() or 'git failed'}")
    return done.stdout.strip()


def files_of(name: str, values: Values) -> dict[str, str]:
    """The texts of a scaffold by file, relative to its folder; raises jinja2.UndefinedError for a value missing."""
    # GitHub's expressions and the shell have the usual delimiters for themselves.
    environment = templates(
        variable_start_string="{@",
        variable_end_string="@}",
        comment_start_string="{@#",
        comment_end_string="#@}",
        keep_trailing_newline=True,
        trim_blocks=False,
        lstrip_blocks=False,
        autoescape=False,
    )
    environment.filters["tojson"] = _quoted
    parameters = dump_one(announcements()).rstrip("\n")
    pins = json.loads(template_text("pins.json"))
    known = {"install": own_requirement(), "parameters": parameters, "mark": SCAFFOLDED, "pins": pins, **values}
    return {file: environment.get_template(template).render(known) for file, template in SCAFFOLDS[name].files.items()}


def _quoted(text: str) -> str:
    """A text as a YAML scalar."""
    return dump_one(text).rstrip("\n")


def states(folder: Path, files: Mapping[str, str]) -> dict[str, State]:
    """Return how each file stands to what is in the folder already."""
    return {name: _state(folder / name, text) for name, text in files.items()}


def _state(path: Path, text: str) -> State:
    if not path.exists() and not path.is_symlink():
        return State.NEW
    return State.SAME if path.is_file() and path.read_bytes() == text.encode() else State.DIFFERENT


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write those files that are new or differ, all or none of them; raises OSError."""
    texts = {folder / name: files[name] for name, state in states(folder, files).items() if state is not State.SAME}
    for name in files:
        # A link in a checkout decides for no file where it goes.
        link = link_below(folder, posixpath.dirname(name))
        if link is not None:
            raise OSError(errno.ELOOP, "it is a link that leads elsewhere", os.fspath(link))
    for path in texts:
        if path.is_dir() and not path.is_symlink():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
    rewrite(texts, new=texts.keys())


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


class PlatformError(ValueError):
    """It is not clear what the cluster is; the text says what to ask for."""


class NamedSource(NamedTuple):
    """A catalog that Subscriptions name and no manifest defines, and the first place where it is named."""

    key: CatalogKey
    location: Location


class WorkspaceConfig(NamedTuple):
    """An olmc.yaml: its text, the part of it that an existing file needs, unknown facts about the named catalogs, and
    the next steps."""

    text: str
    part: str
    unknown: tuple[str, ...]
    next_step: str


def named_sources(root: Path) -> tuple[NamedSource, ...]:
    """Return the catalogs that Subscriptions below `root` name and that no CatalogSource there defines, in order.

    Content that can't be read is skipped: `olmc check` reports it.
    """
    named: dict[CatalogKey, Location] = {}
    defined: set[CatalogKey] = set()
    for path in scan(root, Report()).walk():
        text = read_text(root, path, Report()) if path.endswith(SUFFIXES) and path != CONFIG_FILE else None
        # By its text first: most files of a repository are about something else.
        if not text or OLM_GROUP not in text or not ("Subscription" in text or "CatalogSource" in text):
            continue
        for manifest in manifests_in(read(path, text, Report()), Report(), judged=False):
            obj, spec = manifest.object, spec_of(manifest.object)
            if gvk_of(obj).group != OLM_GROUP:
                continue
            if obj["kind"] == "CatalogSource":
                defined.add(CatalogKey(namespace_of(obj), as_text(obj["metadata"].get("name"))))
            elif obj["kind"] == "Subscription" and as_text(spec.get("source")):
                key = CatalogKey(as_text(spec.get("sourceNamespace")), as_text(spec["source"]))
                named.setdefault(key, locate(manifest.source, ("spec", "source")))
    return tuple(NamedSource(key, named[key]) for key in sorted(named) if key not in defined)


def config_for(sources: Sequence[NamedSource], release: str | None, *, operatorhub: bool) -> WorkspaceConfig:
    """The olmc.yaml for a cluster of an OpenShift `release`, of OperatorHub.io, or for that which the sources tell.

    Raises PlatformError.
    """
    home = openshift()["globalCatalogNamespace"]
    named = {source.key for source in sources}
    if release is None and not operatorhub:
        if any(key.namespace == home for key in named):
            raise PlatformError("Subscriptions name catalogs of OpenShift; say which release it is: --openshift 4.18.")
        if _key(OPERATORHUB) not in named:
            raise PlatformError(
                "no Subscription names a catalog of OpenShift or OperatorHub.io; give --openshift RELEASE or "
                "--operatorhub."
            )
    known: tuple[PlatformCatalog, ...] = (OPERATORHUB,)
    platform = {"globalCatalogNamespace": OPERATORHUB.namespace}
    if release is not None:
        minor = _minor(release)
        known = openshift_catalogs(minor)
        platform = {"olmVersion": OPENSHIFT_PREFIX + minor, "globalCatalogNamespace": home}
    # A new workspace has no Subscription yet: with all catalogs, later ones find theirs.
    wanted = [catalog for catalog in known if not named or _key(catalog) in named]
    spec = {**platform, "catalogs": list(map(_entry, wanted))}
    value = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Config", "spec": spec}
    others = [_entry(catalog) for catalog in known if catalog not in wanted]
    unknown = tuple(_unknown(source, known) for source in sources if source.key not in set(map(_key, known)))
    return WorkspaceConfig(
        _CONFIG_HEAD + dump_one(value) + _commented(others), dump_one({"spec": spec}), unknown, _NEXT
    )


_CONFIG_HEAD = "# The cluster of this workspace. It already has these catalogs: olmc does not render or apply them.\n"
_NEXT = (
    f"Commit {CONFIG_FILE}; see that nothing else is missing, and bring the catalogs into the workspace:\n"
    "  olmc check\n"
    "  olmc vendor"
)


def _key(catalog: PlatformCatalog) -> CatalogKey:
    return CatalogKey(catalog.namespace, catalog.name)


def _entry(catalog: PlatformCatalog) -> dict[str, Any]:
    """A catalog as olmc.yaml has it."""
    return {field: value for field, value in catalog._asdict().items() if value is not None}


def _minor(text: str) -> str:
    """A release as the data has it; raises PlatformError."""
    release = text.removeprefix(OPENSHIFT_PREFIX).removeprefix("v")
    known = openshift()["kubernetes"]
    minor = ".".join(release.split(".")[:2])
    if minor not in known:
        *_, last = known
        raise PlatformError(f"--openshift: olmc knows no release {text} of OpenShift; it knows 4.1 … {last}.")
    return minor


def _commented(others: Sequence[Mapping[str, Any]]) -> str:
    """Return the catalogs that no Subscription names as comments, for users who want to resolve over them as well."""
    if not others:
        return ""
    lines = ("No Subscription names these, which the cluster has, too; operators may depend on what they serve.",)
    return "".join(f"  # {line}\n" for line in (*lines, *dump_one(others).splitlines()))


def _unknown(source: NamedSource, known: Sequence[PlatformCatalog]) -> str:
    """Return the task for a catalog that the platform does not bring."""
    key = source.key
    homes = [catalog.namespace for catalog in known if catalog.name == key.name]
    meant = did_you_mean(closest(key.name, [catalog.name for catalog in known], POSSIBLE), inside=True)
    way_out = f"it is in namespace {homes[0]}" if homes else meant
    way_out = way_out or f"add it to spec.catalogs in {CONFIG_FILE}, with its image"
    there = f"catalog {key.name} in namespace {key.namespace or '(none)'} ({source.location})"
    return f"{there} is none that the platform brings: {way_out}"
