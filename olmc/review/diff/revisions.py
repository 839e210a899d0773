"""A folder of a git revision, written to another place; the work tree is never touched.

Links are created after all files, so that no file is written through one. Readers of the folder do not follow links
out of it.
"""

from __future__ import annotations

import os
import posixpath
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from olmc.compiler.load.bundles import LEAST_PACKAGES
from olmc.compiler.load.charts import read_chart
from olmc.compiler.load.config import CONFIG_FILE, narrowing_of, read_config
from olmc.compiler.load.deciding_files import SUBMODULE_MARK, paths_above
from olmc.compiler.load.files import (
    BUNDLE_FOLDERS,
    GIT_IGNORE_FILE,
    IGNORE_FILE,
    LFS_POINTER,
    MAX_FILE_BYTES,
    real_path,
    scan,
    spec_of,
)
from olmc.compiler.load.kustomization import NAMES as KUSTOMIZATIONS
from olmc.compiler.load.kustomization import REPOSITORY_MARK, read_tree
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.workspace import installs_nothing
from olmc.compiler.load.workspace_files import CHART_FILE
from olmc.compiler.rules.findings import output as rules
from olmc.k8s.diagnostics import Diagnostic, Location, Report, close_matches, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import BUNDLE_FILES, DEPTH, FILES, REVISION_BYTES
from olmc.k8s.yaml.rules import too_large
from olmc.review.diff.git import (
    ANCESTOR,
    FILE,
    HEAD,
    LINK,
    SUBMODULE,
    TREE,
    AmbiguousRefError,
    GitError,
    MissingObjectError,
    TreeEntry,
    contents_of,
    entries_of,
    folder_here,
    listed_entries,
    object_name,
    run_git,
    sizes_of,
    top_of,
    tree_of,
)

# How much of a revision would be read, counted from its listing: before contents are asked for or files written.

PATTERN_FILES = (GIT_IGNORE_FILE, IGNORE_FILE, CONFIG_FILE)
"""The files at the top of a folder that say what is left out of it."""


def fits(paths: Iterable[str], patterns: Callable[[], Mapping[str, bytes]], report: Report) -> bool:
    """Return whether a folder has no more files and folders than olmc reads; if it has more, the report names the
    limit.

    `patterns` gives the contents of `PATTERN_FILES`, and is called only where the number alone would be too much:
    folders that they name are not looked into.
    """
    listed = tuple(paths)
    if len(listed) + len(_folders_above(listed)) <= FILES.most:
        return True
    beyond = _first_beyond(listed, lambda _: False)
    if beyond is not None:
        beyond = _first_beyond(listed, _spec(patterns()))
    if beyond is not None:
        report.add(too_large("the revision", FILES, place=Location(beyond)))
    return beyond is None


def _folders_above(paths: Iterable[str]) -> set[str]:
    """The folders at any depth that hold one of the paths."""
    new = {path.rpartition("/")[0] for path in paths} - {""}
    found = set(new)
    while new:
        new = {path.rpartition("/")[0] for path in new} - found - {""}
        found |= new
    return found


def _spec(contents: Mapping[str, bytes]) -> Callable[[str], bool]:
    with tempfile.TemporaryDirectory(prefix="olmc-patterns-") as name:
        root = Path(name)
        for file, content in contents.items():
            (root / file).write_bytes(content)
        # The reader of the folder reports problems of the patterns.
        try:
            return spec_of(narrowing_of(root, read_config(root, Report())).ignored)
        except ValueError:
            return lambda _: False


def _first_beyond(paths: Iterable[str], is_ignored: Callable[[str], bool]) -> str | None:
    """The path with which there are more files and folders than the limit, None if there are not."""
    most, count = FILES.most, 0
    is_left_out = {"": False}
    for path in paths:
        folder = posixpath.dirname(path)
        for new in reversed(tuple(_unknown(folder, is_left_out))):
            is_within = is_left_out[posixpath.dirname(new)]
            count += not is_within
            is_left_out[new] = is_within or posixpath.basename(new).startswith(".") or is_ignored(f"{new}/")
        count += not is_left_out[folder]
        if count > most:
            return path
    return None


def _unknown(folder: str, known: Mapping[str, bool]) -> Iterable[str]:
    while folder not in known:
        yield folder
        folder = posixpath.dirname(folder)


_MOST_LINKS, _MOST_TARGETS = 8, 500
"""The number of links in a chain, and of followed links of a folder."""


_TOP = "repository"
"""The name of the folder for a repository."""
_LFS = LFS_POINTER.encode()
STREAM = "-"
"""The side that is read from stdin."""

_PREFIX = "git:"


# A branch of a remote is called origin/main here, so that main with one slip in it is not very like it.
_ALIKE = 0.5


_REFETCH = (
    "The clone lacks an object, as a partial clone does: fetch all with `git fetch --refetch --no-filter` (git 2.36 or "
    "later)."
)


def unread_side(side: str, error: GitError | OSError) -> Diagnostic:
    """Report that git can't answer, with the way out."""
    problem = error.strerror if isinstance(error, OSError) else error.args[0]
    finding = rules.NO_GIT.finding(None, side=side, problem=problem)
    if isinstance(error, AmbiguousRefError):
        return finding._replace(hint=error.way_out)
    return finding._replace(hint=_REFETCH) if isinstance(error, MissingObjectError) else finding


class Revision(NamedTuple):
    """The request in `git:REF[:PATH]`; `path` is None without one."""

    ref: str
    path: str | None

    def __str__(self) -> str:
        return f"{_PREFIX}{self.ref}" if self.path is None else f"{_PREFIX}{self.ref}:{self.path}"


def as_revision(side: str) -> Revision | None:
    """The revision that a side names, None for a path. A colon in braces (`main@{10:30}`) is part of the revision."""
    if not side.startswith(_PREFIX):
        return None
    rest, depth = side.removeprefix(_PREFIX), 0
    for number, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if char == ":" and not depth:
            return Revision(rest[:number], rest[number + 1 :])
    return Revision(rest, None)


def sides_of(side: str) -> tuple[str, str] | None:
    """Both sides that one revision stands for: `git:A..B` two revisions, `git:A` it and the work tree.

    None for a path. An end of a range that is left out is HEAD, as it is to git.
    """
    revision = as_revision(side)
    if revision is None:
        return None
    path = "" if revision.path is None else f":{revision.path}"
    first, dots, second = revision.ref.partition("..")
    if dots:
        return f"{_PREFIX}{first or HEAD}{path}", f"{_PREFIX}{second or HEAD}{path}"
    return side, _in_work_tree(revision.path)


def _in_work_tree(path: str | None) -> str:
    """Return where a path of a revision is in the work tree: from the top of the repository, or with a dot from
    here."""
    if path is None or path == ".":
        return "."
    if path.startswith("./"):
        return path.removeprefix("./") or "."
    try:
        top = top_of()
    except GitError:
        return path  # reading the revision says what is wrong
    return path if top is None else os.path.relpath(top / path)


def with_path(revision: Revision, other: str) -> Revision:
    """The revision with a path from the top of the repository; raises GitError."""
    if revision.path is not None and not revision.path.startswith("./") and revision.path != ".":
        return revision
    if revision.path is not None:
        return revision._replace(path=(PurePosixPath(folder_here()) / revision.path).as_posix())
    beside = as_revision(other)
    if beside is not None:
        path = beside.path if beside.path is not None else "."
        return with_path(revision._replace(path=path), other)
    top = top_of()
    there = real_path(Path("." if other == STREAM else other))
    if top is not None and there.is_relative_to(top):
        return revision._replace(path=there.relative_to(top).as_posix())
    return revision._replace(path=folder_here())


def may_lack(asked: Revision, there: Revision) -> bool:
    """Return whether a revision may lack the path that it was asked for, which is `there` from the top of the
    repository: one that was not typed, or that the work tree has, is no mistake. Raises GitError."""
    if asked.path is None:
        return True
    top = top_of()
    return top is not None and (top / (there.path or "")).exists()


class Extent(NamedTuple):
    """How much of a revision is needed. With `may_be_absent` a path that the revision does not have is an empty folder.
    With `without_idle_bundles` the bundles of a repository of bundles are left out if nothing there installs one.
    `only` are the files and folders below the path that are needed, () for all. `by_package`: the caller reads a
    repository of bundles package by package, so it may have more files than another workspace."""

    may_be_absent: bool = False
    without_idle_bundles: bool = False
    only: tuple[str, ...] = ()
    by_package: bool = False


def write_tree(
    revision: Revision, target: Path, report: Report, *, may_be_absent: bool = False, extent: Extent | None = None
) -> Path | None:
    """Write what a revision has at its path below `target`; where that is: a folder, or a single file.

    None, with the reason in `report`, when there is nothing to write. Raises GitError, also for what can't be written.
    """
    try:
        return _written(revision, target, report, extent or Extent(may_be_absent))
    except OSError as error:
        raise GitError(error.strerror or str(error)) from error


def _written(revision: Revision, target: Path, report: Report, extent: Extent) -> Path | None:
    path = revision.path or ""
    # To git, a revision that begins with a dash would be an option.
    if revision.ref.startswith("-") or not revision.ref:
        ref = revision.ref or "revision without a name"
        report.add(rules.UNKNOWN_REF.finding(None, ref=ref, hint=_hint(revision.ref)))
        return None
    commit = tree_of(revision.ref)
    if commit is None and revision.ref == HEAD:  # nothing is committed yet
        (target / _TOP).mkdir()
        return target / _TOP
    if commit is None:
        report.add(rules.UNKNOWN_REF.finding(None, ref=revision.ref, hint=_hint(revision.ref)))
        return None
    obj: str | None = commit
    if path not in ("", ".", "/"):
        path = _without_links(commit, path.rstrip("/"))
        obj = object_name(f"{commit}:{path}") if path else commit
    name = path.rstrip("/").rpartition("/")[2] or "repository"
    place = target / (name if _is_plain(name) else "folder")
    if obj is None:
        if not extent.may_be_absent:
            meant = did_you_mean(_nearest_path(commit, path), inside=True)
            meant = f"; {meant}" if meant else ""
            report.add(rules.UNKNOWN_PATH.finding(None, ref=revision.ref, path=path, meant=meant))
            return None
        place.mkdir()
        return place
    if run_git("cat-file", "-t", obj).strip() == b"blob":
        _write_files([TreeEntry(FILE, obj, place.name)], target, revision, report)
        return place
    entries = _entries(obj, revision, report, 0, extent.only)
    if any(entry.path in (*KUSTOMIZATIONS, CHART_FILE) for entry in entries):
        return _write_with_bases(commit, path.rstrip("/"), target, revision, report)
    bundles = _bundles_in(entries) if extent.without_idle_bundles or extent.by_package else frozenset()
    packages = {posixpath.dirname(bundle) for bundle in bundles}
    of_bundles = _paths_in(bundles, entries) if len(packages) >= LEAST_PACKAGES else frozenset()
    others = [entry for entry in entries if entry.path not in of_bundles]
    if not _fits(others, "", report) or not _fits_together(entries, report):
        return None
    folder = path.strip("/") if path not in ("", ".", "/") else ""
    if folder and _is_plain(folder):
        place = _top_below(target) / folder
        _write_files(_deciding_above(commit, folder), target / _TOP, revision, Report())
        _write(_linked_elsewhere(commit, folder, entries), target / _TOP, revision, Report())
    place.mkdir(parents=True, exist_ok=True)
    if not folder and obj == commit:
        (place / REPOSITORY_MARK).touch()
    _write(others, place, revision, report)
    if of_bundles:
        if extent.without_idle_bundles and installs_nothing(place, scan(place, Report())):
            return place
        if not extent.by_package and not _fits(entries, "", report):
            return None
        _write([entry for entry in entries if entry.path in of_bundles], place, revision, report)
    return place


def _without_links(commit: str, path: str) -> str:
    """Give a path of a tree without the links on it, as a tool finds the folder in a checkout; raises GitError for
    links that lead out of the repository, or round."""
    for _ in range(_MOST_LINKS):
        parts = path.split("/")
        above = ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]
        listing = run_git("ls-tree", "-z", "--full-tree", commit, "--", *above)
        # git lists the folders on the path by their content, with links that are beside it.
        link = next((entry for entry in listed_entries(listing) if entry.mode == LINK and entry.path in above), None)
        if link is None:
            return path
        target = os.fsdecode(next(content for _, content in contents_of([link])))
        below = path.removeprefix(link.path).strip("/")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(link.path), target, below))
        if there.startswith(("/", "..")):
            raise GitError(f"{link.path} is a link that leads out of the repository")
        if there == ".":
            return ""
        path = there
    raise GitError(f"the links at {path} lead to each other")


def _nearest_path(commit: str, path: str) -> str:
    """Return the path of a tree that is most like `path`, "" where none is: one from here, or the nearest name."""
    here = folder_here()
    if here not in ("", ".") and object_name(f"{commit}:{here}/{path}") is not None:
        return f"./{path}"
    parts = path.strip("/").split("/")
    for number, part in enumerate(parts):
        folder = "/".join(parts[:number])
        listing = run_git("ls-tree", "-z", "--name-only", f"{commit}:{folder}" if folder else commit)
        names = [os.fsdecode(name) for name in filter(None, listing.split(b"\0"))]
        if part in names:
            continue
        for name in close_matches(part, names, 1):
            guess = "/".join((*parts[:number], name, *parts[number + 1 :]))
            return guess if object_name(f"{commit}:{guess}") else "/".join((*parts[:number], name))
        return ""
    return ""


def _bundles_in(entries: Sequence[TreeEntry]) -> frozenset[str]:
    """The folders of bundles that a revision has."""
    folders = {entry.path.rpartition("/")[0] for entry in entries}
    parts = [folder.rpartition("/") for folder in folders]
    first, second = ({above for above, _, part in parts if part == name} for name in BUNDLE_FOLDERS)
    return frozenset((first & second) - {""})


def _paths_in(folders: Collection[str], entries: Sequence[TreeEntry]) -> frozenset[str]:
    """The paths of the entries that are below one of the folders."""
    known = {"": False}

    def is_in(folder: str) -> bool:
        if folder not in known:
            known[folder] = folder in folders or is_in(folder.rpartition("/")[0])
        return known[folder]

    return frozenset(entry.path for entry in entries if folders and is_in(entry.path.rpartition("/")[0]))


def _top_below(target: Path) -> Path:
    """A folder in the place of the repository, which is marked so that nothing above it is read."""
    top = real_path(target) / _TOP
    top.mkdir()
    (top / REPOSITORY_MARK).touch()
    return top


def _deciding_above(commit: str, folder: str) -> list[TreeEntry]:
    """The files in the folders above that decide what tools make of a folder."""
    listing = run_git("ls-tree", "-z", "--full-tree", commit, "--", *paths_above(folder))
    return [entry for entry in listed_entries(listing) if entry.mode not in (LINK, SUBMODULE, TREE)]


def _linked_elsewhere(commit: str, folder: str, entries: Sequence[TreeEntry]) -> list[TreeEntry]:
    """The files and links outside of a folder, in its repository, to which links of the folder lead."""
    found: dict[str, TreeEntry] = {}
    links = [entry._replace(path=f"{folder}/{entry.path}") for entry in entries if entry.mode == LINK]
    for _ in range(_MOST_LINKS):
        targets = (
            posixpath.normpath(posixpath.join(posixpath.dirname(link.path), os.fsdecode(content)))
            for link, content in contents_of(links[:_MOST_TARGETS])
        )
        wanted = {path for path in targets if not path.startswith(("/", "..")) and not _is_below(path, folder)}
        paths = sorted(wanted - found.keys() - {"."})
        if not paths:
            break
        listing = run_git("ls-tree", "-z", "--full-tree", commit, "--", *paths)
        new = [*listed_entries(listing)]
        found |= {entry.path: entry for entry in new if entry.mode not in (SUBMODULE, TREE)}
        links = [entry for entry in new if entry.mode == LINK]
    return [entry for entry in found.values() if not set(paths_above(folder)) & {entry.path}]


def _fits(entries: Sequence[TreeEntry], folder: str, report: Report) -> bool:
    """Return whether the entries below a folder are no more than olmc reads, by their number alone."""
    above = f"{folder}/" if folder else ""
    below = {entry.path.removeprefix(above): entry for entry in entries}

    def patterns() -> dict[str, bytes]:
        files = [below[name] for name in PATTERN_FILES if name in below and below[name].mode != LINK]
        small = [entry for entry, size in zip(files, sizes_of(files), strict=True) if size <= MAX_FILE_BYTES]
        return {entry.path.removeprefix(above): content for entry, content in contents_of(small)}

    return fits(below, patterns, report)


def _fits_together(entries: Sequence[TreeEntry], report: Report) -> bool:
    """Return whether the entries of a revision, those of its bundles included, are no more than olmc reads package by
    package."""
    if len(entries) <= max(BUNDLE_FILES.most, FILES.most):
        return True
    report.add(too_large("the revision", BUNDLE_FILES))
    return False


def _write(entries: Sequence[TreeEntry], target: Path, revision: Revision, report: Report) -> None:
    _write_files([entry for entry in entries if entry.mode not in (LINK, SUBMODULE)], target, revision, report)
    for entry in entries:
        if entry.mode == SUBMODULE:
            _new_path(target, entry.path).write_text(entry.name, encoding="ascii")
    _write_links([entry for entry in entries if entry.mode == LINK], target)


def _write_with_bases(commit: str, path: str, target: Path, revision: Revision, report: Report) -> Path | None:
    """Write the folder of a kustomization or a chart, and all folders of its build, at their places in the
    repository."""
    path = "" if path in (".", "/") else path
    top = _top_below(target)
    place = top / path
    place.mkdir(parents=True, exist_ok=True)
    # What there is to say of files elsewhere in the repository is no part of this folder.
    waiting = {entry.path: entry for entry in _entries(commit, revision, Report(), path.count("/") + 1)}
    wanted = [path]
    while wanted:
        chosen = [name for name in waiting if any(_is_below(name, folder) for folder in wanted)]
        if not chosen:
            break
        entries = [waiting.pop(name) for name in chosen]
        if not _fits(entries, path if wanted == [path] else "", report):
            return None
        _write(entries, top, revision, report)
        wanted = list(_missing(top, place))
    above = [waiting[name] for name in paths_above(path) if name in waiting]
    _write_files([entry for entry in above if entry.mode != LINK], top, revision, Report())
    return place


def _missing(top: Path, place: Path) -> Iterator[str]:
    """The paths in the repository that a build of a folder, or a rendering of a chart, lacks."""
    kustomization = next((place / name for name in KUSTOMIZATIONS if (place / name).is_file()), None)
    for missing in read_tree(kustomization, place).missing if kustomization is not None else ():
        path = missing.path.relative_to(top)
        yield path.as_posix()
        yield from ((folder / GIT_IGNORE_FILE).as_posix() for folder in path.parents)  # it may name the file
    if (place / CHART_FILE).is_file():
        for dependency in read_chart(place, place).dependencies:
            if dependency.missing is not None and dependency.missing.is_relative_to(top):
                yield dependency.missing.relative_to(top).as_posix()


def _is_below(path: str, folder: str) -> bool:
    return folder in ("", ".", path) or path.startswith(f"{folder}/")


def _entries(
    tree: str, revision: Revision, report: Report, above: int | None = None, only: tuple[str, ...] = ()
) -> list[TreeEntry]:
    """The files, links and submodules below a tree, of these a mark in the folder that each is; those that can't be
    written are reported and left out. Where `above` is known, as `within_depth` has it, folders that are too deep are
    a file each."""
    entries = []
    deep: set[str] = set()
    most = above + DEPTH.most + _BEYOND if above is not None else sys.maxsize
    for entry in entries_of(tree, only):
        path = entry.path
        if _is_ordinary(path) and entry.mode != SUBMODULE and path.count("/") < most:
            entries.append(entry)
        elif not _is_plain(path):
            report.add(rules.ODD_PATH.finding(None, ref=revision.ref, path=ascii(path)))
        elif entry.mode == SUBMODULE:
            report.add(rules.SUBMODULE.finding(Location(path), path=path, ref=revision.ref))
            entries += [entry._replace(path=f"{path}/{SUBMODULE_MARK}")] if path.count("/") < most else []
        elif path.count("/") >= most:
            short = _first_folders(path, most)
            entries += [entry._replace(mode=FILE, path=short)] if short not in deep else []
            deep.add(short)
        elif not _is_hidden(path) or path.endswith(SUFFIXES):  # of hidden folders only that they are there
            entries.append(entry)
    return entries


def _is_ordinary(path: str) -> bool:
    """Return whether a path certainly is plain and not hidden; most are."""
    return path != "" and not (
        "/." in path or "//" in path or "\\" in path or path.startswith((".", "/")) or path.endswith("/")
    )


def _is_hidden(path: str) -> bool:
    return any(folder.startswith(".") for folder in path.split("/")[:-1])


def _is_plain(path: str) -> bool:
    """Return whether a path stays below the folder that it is joined to, and out of git's own folders."""
    parts = path.split("/")
    return all(part not in ("", ".", "..") and part.lower() != ".git" and "\\" not in part for part in parts)


def _write_files(entries: Sequence[TreeEntry], target: Path, revision: Revision, report: Report) -> None:
    """Write files; of files that are too large to read only their size."""
    small = []
    sizes = sizes_of(entries)
    # A pack of 100 kB holds 100 MB of one character, and may have them at any number of places.
    if sum(size for size in sizes if size <= MAX_FILE_BYTES) > REVISION_BYTES.most:
        limit = f"{REVISION_BYTES.most:,} bytes ({REVISION_BYTES.variable} raises the limit)"
        raise GitError(f"its files have more than {limit}")
    for entry, size in zip(entries, sizes, strict=True):
        if size <= MAX_FILE_BYTES:
            small.append(entry)
            continue
        place = _new_path(target, entry.path)
        place.touch()
        # The reader rejects it because of its size, so an empty file of that size is enough.
        os.truncate(place, size)
    for entry, content in contents_of(small):
        if content.startswith(_LFS) and entry.path.endswith(SUFFIXES) and not _is_hidden(entry.path):
            report.add(rules.LFS_POINTER.finding(Location(entry.path), path=entry.path, ref=revision.ref))
        _new_path(target, entry.path).write_bytes(content)


def _write_links(entries: Sequence[TreeEntry], target: Path) -> None:
    """Make the links of a tree; where they lead is the reader's business, as it is in a work tree."""
    for entry, content in contents_of(entries):
        if not content or b"\0" in content:
            raise GitError(f"{entry.path} is a link to nothing")
        _new_path(target, entry.path).symlink_to(os.fsdecode(content))


def within_depth(path: str, above: int) -> str:
    """A path below a folder that is `above` folders deep, as far as it matters: what is deeper the reader refuses by
    its depth, for which the first folders will do, and those below could be too many for the system."""
    return _first_folders(path, above + DEPTH.most + _BEYOND)


_BEYOND = 3


def _first_folders(path: str, most: int) -> str:
    return "/".join(path.split("/", most)[:most])


def _new_path(target: Path, path: str) -> Path:
    """The place of a file that does not exist yet, with the folders above it."""
    place = target / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(place):
        raise GitError(f"{path} is there twice")
    return place


def meant_revision(side: str) -> str:
    """Return the end of a sentence about a missing side: the revision of that name, "" where git knows none."""
    try:
        is_known = not side.startswith("-") and object_name(f"{side}^{{commit}}") is not None
    except GitError:  # git is not installed, or this is no repository
        return ""
    return f"; {did_you_mean(f'{_PREFIX}{side}', inside=True)}" if is_known else ""


def _hint(ref: str) -> str:
    """What to do about a revision that isn't there."""
    if not ref:
        return "Name a revision: git:REF, such as git:main or git:HEAD~1."
    is_shallow = run_git("rev-parse", "--is-shallow-repository").strip() == b"true"
    base = ANCESTOR.split(ref, maxsplit=1)[0]
    if not is_shallow and base != ref and object_name(f"{base}^{{commit}}") is not None:
        count = int(run_git("rev-list", "--count", base))
        return f"The history of {base} has {count} commit{'s' * (count != 1)}."
    names = run_git("for-each-ref", "--format=%(refname:short)").decode("utf-8", "replace").split()
    near = [name for name in names if name.rpartition("/")[2] == ref] or close_matches(ref, names, 2, _ALIKE)
    if near:
        return did_you_mean(*(f"{_PREFIX}{name}" for name in near))
    if is_shallow:
        return "The clone is shallow: fetch more of it (git fetch --unshallow; in GitHub Actions fetch-depth: 0)."
    return "Fetch it first (git fetch origin REF), or see what there is with git branch --all."


class RevisionFile(NamedTuple):
    """A file or link of a revision: its mode, the name of its object, and its size."""

    mode: str
    name: str
    size: int


def revision_files(ref: str, report: Report) -> dict[str, RevisionFile] | None:
    """All files and links of a revision by their path, asked of git once; None, with the reason in `report`, for one
    that there is not. Raises GitError."""
    commit = None if ref.startswith("-") or not ref else tree_of(ref)
    if commit is None and ref == HEAD:  # nothing is committed yet
        return {}
    if commit is None:
        report.add(rules.UNKNOWN_REF.finding(None, ref=ref or "revision without a name", hint=_hint(ref)))
        return None
    entries = _entries(commit, Revision(ref, None), Report())
    return {
        entry.path: RevisionFile(entry.mode, entry.name, size)
        for entry, size in zip(entries, sizes_of(entries), strict=True)
    }


def blob_contents(names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The contents of blobs by their names, all out of one process; raises GitError."""
    for entry, content in contents_of([TreeEntry("", name, name) for name in names]):
        yield entry.name, content
