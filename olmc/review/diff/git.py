"""Ask git about a repository, by its plumbing: names of commits, entries of trees, contents, and the work tree.

olmc runs no code of the repository and fetches nothing: contents are the blobs themselves, without filters.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO

from olmc.compiler.load.files import GIT_IGNORE_FILE, real_path
from olmc.compiler.load.kustomization import REPOSITORY_MARK, repository_of
from olmc.compiler.load.unsaved import without_files
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import REVISION

# git must not fetch, prompt, or write into the repository, and its messages must not depend on the locale.
_OFFLINE = {
    "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
    # Refs and files of a clone may put other objects in the place of those that a name means to everybody else.
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull,
}  # fmt: skip
_LISTING = ("ls-tree", "-r", "-z", "--full-tree")
_PIECE = 1024 * 1024
FILE, LINK, SUBMODULE, TREE = "100644", "120000", "160000", "040000"

HEAD = "HEAD"
ANCESTOR = regex(r"[~^@]")


class GitError(Exception):
    """git can't be run or refuses; the message is its own, behind it may stand its exit code."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingObjectError(GitError):
    """The clone does not have an object of git, as a partial clone has not all of them."""


class AmbiguousRefError(GitError):
    """A name stands for several commits of the clone; `way_out` names one of them in full."""

    def __init__(self, problem: str, way_out: str) -> None:
        super().__init__(problem)
        self.way_out = way_out


class TreeEntry(NamedTuple):
    """An entry of a tree: mode and name of its object, and its path below the tree."""

    mode: str
    name: str
    path: str


def submodules_at(root: Path) -> dict[str, str]:
    """The commits of the submodules below a folder of a work tree by their paths, fetched or not; nothing where git
    can't tell."""
    home = repository_of(root)
    if home is None or is_mark(home / REPOSITORY_MARK) or not _may_have_submodules(home):
        return {}
    try:
        listing = run_git("-C", os.fspath(root), "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z", "--", ".")
    except GitError:
        return {}
    lines = (os.fsdecode(line) for line in listing.split(b"\0") if line.startswith(SUBMODULE.encode("ascii")))
    entries = (line.split(maxsplit=2) for line in lines)
    return {about.partition("\t")[2]: name for _, name, about in entries}


def _may_have_submodules(home: Path) -> bool:
    """Return whether the index of a repository may have submodules: most have none, and need no git to say so."""
    mark = home / REPOSITORY_MARK
    try:
        return _SUBMODULE_MODE in (mark / "index").read_bytes()
    except OSError:  # another work tree has its index elsewhere
        return mark.is_file()


_SUBMODULE_MODE = (0o160000).to_bytes(4, "big")
"""The mode of a submodule as it stands in an index (https://git-scm.com/docs/index-format)."""


def is_mark(path: Path) -> bool:
    """Return whether this is no repository of git but what `write_tree` has marked as one."""
    return path.is_file() and not path.stat().st_size


@contextmanager
def changed_paths(ref: str, root: Path) -> Iterator[Callable[[], frozenset[str]]]:
    """Ask git for the files below a folder of the work tree that differ from a revision, and those that it does not
    know; give a function that waits for them.

    git goes through the work tree while olmc does something else. It stops at the end, also without an answer. Raises
    GitError, as the function does.
    """
    if ref.startswith("-"):
        raise GitError(f"{ref} is no revision")
    here = ("-C", os.fspath(root), "-c", "core.fsmonitor=false")  # which may be a program
    shown = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative")
    # In a submodule git would obey the configuration of the submodule.
    compared = [*here, "diff", *shown, "--ignore-submodules=dirty", ref, "--", "."]
    listed = [*here, "ls-files", "-z", "--others", "--", "."]
    with (
        _start(compared, subprocess.DEVNULL, settings=_without_filters(here)) as changed,
        _start(listed, subprocess.DEVNULL) as unknown,
    ):

        def answer() -> frozenset[str]:
            names = _output_of(changed) + _output_of(unknown)
            return frozenset(map(os.fsdecode, filter(None, names.split(b"\0"))))

        yield answer
        # A kill could leave a lock of the index behind.
        changed.terminate()
        unknown.terminate()


def _without_filters(here: Sequence[str]) -> dict[str, str]:
    """Return the settings, as variables for git, that turn off the programs by which it reads changed files.

    The configuration of a repository names the programs. Without them a changed file counts as its bytes are.
    """
    try:
        listing = run_git(*here, "config", "--null", "--name-only", "--get-regexp", _FILTERS)
    except GitError as error:
        if error.args[1:] == (1,):  # there are none
            return {}
        raise
    first = int(os.environ.get(_COUNT) or 0)
    names = sorted(set(map(os.fsdecode, filter(None, listing.split(b"\0")))))
    found = {_COUNT: str(first + len(names))}
    for number, name in enumerate(names, first):
        found[f"GIT_CONFIG_KEY_{number}"] = name
        found[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
    return found


_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
_COUNT = "GIT_CONFIG_COUNT"
"""The number of settings in variables, by which a name may have any signs (https://git-scm.com/docs/git-config)."""


def as_committed(root: Path) -> Path:
    """A folder of a work tree as a clone has it: what a build names is missing there if a `.gitignore` keeps it out of
    the repository. The folder itself where git can't tell."""
    home = repository_of(root)
    if home is None or is_mark(home / REPOSITORY_MARK):
        return root
    ignored = ("--others", "--ignored", f"--exclude-per-directory={GIT_IGNORE_FILE}", "--directory")
    try:
        listing = run_git("-C", os.fspath(home), "-c", "core.fsmonitor=false", "ls-files", "-z", *ignored)
    except GitError:
        return root
    return without_files(root, (home / os.fsdecode(name).rstrip("/") for name in filter(None, listing.split(b"\0"))))


def folder_here() -> str:
    """The current directory from the top of its repository, "" for the top; raises GitError."""
    return os.fsdecode(run_git("rev-parse", "--show-prefix").removesuffix(b"\n")).rstrip("/")


def top_of() -> Path | None:
    """The top of the work tree that the current directory is in, None for a repository without one; GitError."""
    if run_git("rev-parse", "--is-inside-work-tree").strip() != b"true":
        return None
    return real_path(Path(os.fsdecode(run_git("rev-parse", "--show-toplevel").removesuffix(b"\n"))))


def entries_of(tree: str, only: tuple[str, ...] = ()) -> Iterator[TreeEntry]:
    """All entries below a tree, by one line of git each: ten trees with ten names each for the next one are a small
    repository and more files than anybody can list."""
    # Its messages go to a file, as a pipe could fill up without a reader.
    with (
        tempfile.TemporaryFile() as errors,
        _start([*_LISTING, tree, *(("--", *only) if only else ())], subprocess.DEVNULL, errors) as process,
    ):
        assert process.stdout is not None
        count, rest = 0, b""
        while piece := process.stdout.read(_PIECE):
            *lines, rest = (rest + piece).split(b"\0")
            count += len(lines)
            if count > REVISION.most:
                process.kill()
                raise GitError(
                    f"there are more than {REVISION.most:,} files in it ({REVISION.variable} raises the limit)"
                )
            # Names in one piece are decoded much faster than one by one.
            yield from map(entry_of, os.fsdecode(b"\0".join(lines)).split("\0") if lines else ())
        errors.seek(0)
        _check_ended(process.wait(), errors.read())


def listed_entries(listing: bytes) -> Iterator[TreeEntry]:
    """The entries that a short listing of git has."""
    return map(entry_of, filter(None, os.fsdecode(listing).split("\0")))


def entry_of(line: str) -> TreeEntry:
    """An entry as git lists it."""
    about, _, path = line.partition("\t")
    mode, _, name = about.split()
    return TreeEntry(mode, name, path)


def contents_of(entries: Sequence[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
    """The contents of blobs, all out of one process."""
    if entries:
        with _asked(entries, "--batch") as stream:
            for entry in entries:
                yield entry, _blob(stream, entry)


def sizes_of(entries: Sequence[TreeEntry]) -> list[int]:
    """The sizes of blobs, 0 for one that the repository lacks, all out of one process.

    A listing with sizes takes ten times as long, because git has to open each object of the revision for it.
    """
    if not entries:
        return []
    with _asked(entries, "--batch-check") as stream:
        headers = [stream.readline().split() for _ in entries]
    return [int(header[2]) if len(header) == _HEADER else 0 for header in headers]


@contextmanager
def _asked(entries: Sequence[TreeEntry], how: str) -> Iterator[IO[bytes]]:
    """The stream with git's answers about the objects of entries."""
    # From a file, as a pipe could fill up on both ends while olmc writes.
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{entry.name}\n" for entry in entries).encode("ascii"))
        names.seek(0)
        with _start(["cat-file", how], names) as process:
            assert process.stdout is not None
            yield process.stdout


_HEADER = 3
"""How many words git has about an object that there is: its name, its type and its size."""


def _blob(stream: IO[bytes], entry: TreeEntry) -> bytes:
    header = stream.readline().split()
    if len(header) != _HEADER:
        raise MissingObjectError(f"the content of {entry.path} is not in the repository")
    content = stream.read(int(header[2]))
    stream.read(1)
    return content


def tree_of(ref: str) -> str | None:
    """The name of the tree that a revision means, None if git knows none; raises AmbiguousRefError.

    A clone has the tags and branches of everybody who may push, and git prefers a tag to a branch of the same name.
    """
    name = ANCESTOR.split(ref, maxsplit=1)[0]
    if name and name != HEAD and not name.startswith("refs/"):
        known = _commits_named(name)
        if len(set(known.values())) > 1:
            meant = " and ".join(sorted(known))
            # A user who may push a tag may lack the right to change the branch.
            branch = min(known, key=lambda ref: (not ref.startswith(_BRANCHES), ref.startswith(_TAGS), ref))
            raise AmbiguousRefError(
                f"{name} stands for different commits, {meant}", f"Name one of them in full, such as {branch}."
            )
    return object_name(f"{ref}^{{tree}}")


_TAGS, _BRANCHES = "refs/tags/", ("refs/heads/", "refs/remotes/")
_REFS = ("refs/", _TAGS, *_BRANCHES)
_SHORT = regex(r"[0-9a-f]{4,63}")


def _commits_named(name: str) -> dict[str, str]:
    """The commits that a name may stand for, by the refs or the beginnings of names of commits that it is."""
    wanted = {f"{start}{name}" for start in _REFS} | {f"refs/remotes/{name}/HEAD"}
    listing = run_git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", *sorted(wanted))
    lines = [os.fsdecode(line).split(" ") for line in listing.splitlines()]
    found = {ref: peeled or own for ref, own, peeled in lines if ref in wanted}
    if found and _SHORT.fullmatch(name):
        begun = run_git("rev-parse", f"--disambiguate={name}").decode("ascii").split()
        found |= {each: each for each in begun if each != name and object_name(f"{each}^{{commit}}") == each}
    return found


def object_name(text: str) -> str | None:
    """The name of the object that a text means to git, None if it means nothing."""
    try:
        return run_git("rev-parse", "--verify", "--quiet", text).decode("ascii").strip()
    except GitError as error:
        # With --quiet, git's exit code 1 says that there is no such object; any other code is trouble.
        if error.args[1:] == (1,):
            return None
        raise


def run_git(*arguments: str) -> bytes:
    """What a git command prints; GitError with its message and its exit code."""
    with _start(arguments, subprocess.DEVNULL) as process:
        return _output_of(process)


def _output_of(process: subprocess.Popen[bytes]) -> bytes:
    """Everything that a process of git prints until it ends; GitError with its message and its exit code."""
    out, errors = process.communicate()
    _check_ended(process.returncode, errors)
    return out


def _check_ended(code: int, errors: bytes) -> None:
    if code:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        # Advice and warnings may stand above it.
        message = next((line for line in lines if line.startswith(_FATAL)), lines[0] if lines else "git failed")
        kind = MissingObjectError if message.endswith(_OF_PROMISOR) else GitError
        raise kind(message.removeprefix(_FATAL), code)


_FATAL, _OF_PROMISOR = "fatal: ", " from promisor remote"


@contextmanager
def _start(
    arguments: Sequence[str],
    stdin: int | IO[bytes],
    stderr: int | IO[bytes] = subprocess.PIPE,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            ["git", "--no-pager", *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
            env={**os.environ, **_OFFLINE, **settings},
        )  # fmt: skip
    except OSError as error:
        raise GitError(f"git can't be run: {error.strerror}") from error
    with process:
        try:
            yield process
        except BaseException:
            process.kill()  # Ctrl-C ends olmc at once, however long git would go on
            raise
