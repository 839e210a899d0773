"""Files of a workspace: which there are, by patterns as in `.gitignore`, and their text. Nothing outside of the root
is ever read.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from olmc.compiler.catalogs.properties import uncatalogued
from olmc.compiler.model.catalog import names_of_bundles
from olmc.compiler.model.options import Indexing, IndexingMode
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.rules.findings import workspace as foreign_rules
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.diagnostics import Diagnostic, Location, Report, did_you_mean
from olmc.k8s.diagnostics import closest as closest_of
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import BUNDLE_FILES, DEPTH, FILE_BYTES, FILES, PATTERNS, Limit
from olmc.k8s.yaml import locate, read
from olmc.k8s.yaml.rules import TOO_LARGE, too_large

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

# Of stars beside each other each may stand for any part of a name; two of them between slashes are one, for folders.
_STARS = regex(r"(?:^!?|(?<=/))\*\*(?=/|$)|\*")
_MOST_STARS = 3
_LONGEST = 1_000
# The text from a bracket to the next one that closes, and whether there is one.
_BRACKETS = regex(r"\[[^\]]*+(\])?")
_NAMED_CLASS = regex(r"\[:[a-z]++:\]\Z")


class PathPatterns:
    """Patterns as in `.gitignore`: whether a path, relative to where they count, is one that they name.

    `effort` is how many patterns had to be put together for it, where that takes its time. Raises ValueError for
    patterns that can't be used.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        from pathspec import GitIgnoreSpec  # takes its time to import, and hardly any run needs it

        # Others, which it would take where they are installed, take longer to begin with. But a name of 40 characters
        # can be divided among a dozen stars in more ways than the one that it takes then could ever try.
        many = any(map(_has_many_stars, lines))
        self.effort = sum(map(_weight, lines)) if many else 0
        patterns = [_pattern_of(line) for line in lines]
        # Those of whole sets are looked at where they name a path; the others, which are few, are always.
        bounds = [0] if many else _bounds_of_sets(len(lines))
        self._sets = [(patterns[at:end], _set_of(tuple(lines[at:end]))) for at, end in pairwise(bounds)]
        self._others = patterns[bounds[-1] :]
        try:
            self._spec = GitIgnoreSpec(self._others, backend="re2" if many else "simple")
        except Exception as error:
            # re2 has one exception for all, of no other kind: a set of patterns has no space in its memory.
            raise ValueError(f"the patterns are too long to be compared: {error}") from error

    def __call__(self, path: str) -> bool:
        # A name need be no text to the system; what can't be encoded is some character to a pattern.
        text = path.encode("utf-8", "replace").decode()
        named = [patterns[index] for patterns, found in self._sets for index in sorted(found.Match(text) or ())]
        # Patterns that do not match the path do not count, so these few decide as all of them would.
        spec = type(self._spec)([*named, *self._others], backend="simple") if named else self._spec
        return bool(spec.match_file(text))


_SETS = (128, 64, 32)
"""So many patterns are compared with a path at once."""


def _bounds_of_sets(number: int) -> list[int]:
    """Return where the sets of so many patterns begin, and where the last one ends; more patterns leave these bounds as
    they are."""
    bounds = [0]
    for size in _SETS:
        while number - bounds[-1] >= size:
            bounds.append(bounds[-1] + size)
    return bounds


@lru_cache(maxsize=128)
def _set_of(lines: tuple[str, ...]) -> Any:
    """A set of patterns for which it takes one look at a path to know those that may name it.

    The folders below a `.gitignore` have its patterns in common, and so their sets. Raises ValueError like
    `PathPatterns`.
    """
    import re2  # takes its time to import, and hardly any run needs it

    options = re2.Options()
    options.log_errors = False
    found = re2.Set.SearchSet(options)
    try:
        for line in lines:
            regex_of = _pattern_of(line).regex
            # A line without a pattern, such as a comment, names no path.
            found.Add(regex_of.pattern if regex_of is not None else r"\z\A.")
        found.Compile()
    except Exception as error:
        # re2 has one exception for all, of no other kind.
        raise ValueError(f"the patterns can't be compared: {error}") from error
    return found


@lru_cache(maxsize=2 * PATTERNS.default)
def _pattern_of(line: str) -> GitIgnoreSpecPattern:
    """A line as a pattern; the lines of a folder count in all folders below it, and are read once."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    if len(line) > _LONGEST:
        raise ValueError(f"a pattern of {len(line):,} characters is longer than the {_LONGEST:,} that olmc compares")
    if any(match[1] and _NAMED_CLASS.search(match[0], 1) for match in _BRACKETS.finditer(line)):
        raise ValueError(f"{line!r} has a class of characters by name; write ranges, such as [a-z]")
    with warnings.catch_warnings():
        # Of brackets in brackets, which Python might read in another way one day.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return GitIgnoreSpecPattern(line)
        except re.error as error:
            raise ValueError(f"{line!r} is no pattern: {error}") from error


def _has_many_stars(line: str) -> bool:
    return len(_STARS.findall(line)) > _MOST_STARS


def _weight(line: str) -> int:
    """Return how many patterns one counts as: what compares those with many stars takes its time for each of the
    stars."""
    stars = len(_STARS.findall(line))
    return stars if stars > _MOST_STARS else 1


def _check_usable(line: str) -> None:
    """Raise ValueError for a pattern that can't be used."""
    _pattern_of(line) if not _has_many_stars(line) else _check_in_set(line)


@lru_cache(maxsize=2 * PATTERNS.default)
def _check_in_set(line: str) -> None:
    PathPatterns([line])


def spec_of(patterns: Iterable[str]) -> PathPatterns:
    """Return a matcher for paths relative to the folder of the patterns.

    Raises ValueError for a pattern that can't be used.
    """
    return PathPatterns(list(patterns))


def fits_parts(parts: Sequence[str], pattern: Iterable[str]) -> bool:
    """Return whether a pattern fits the parts of a path one by one; `**` stands for any number of them."""
    reached = {0}
    for piece in pattern:
        if piece == "**":
            reached = set(range(min(reached, default=len(parts) + 1), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], piece)}
    return len(parts) in reached


MAX_FILE_BYTES = FILE_BYTES.most
IGNORE_FILE = ".olmcignore"
GIT_IGNORE_FILE = ".gitignore"
LFS_POINTER = "version https://git-lfs.github.com/spec/"
"""The start of a file whose content is in Git LFS."""

_GIT = ".git"
_GLOB = regex(r"[\\*?\[\]]")


class Folder(NamedTuple):
    """A directory of the workspace: its path relative to the root ("" for the root), its files and its folders, and
    the names of links that are not followed; and of the files and folders the names of those that are links."""

    path: str
    files: tuple[str, ...]
    folders: tuple[Folder, ...]
    links: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()

    def join(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def folder(self, name: str) -> Folder | None:
        path = self.join(name)
        for folder in self.folders:
            if folder.path == path:
                return folder
        return None

    def walk(self) -> Iterator[str]:
        """All files at any depth, relative to the root, in the order of `in_walk_order`."""
        found: list[str] = []
        self._list_below(found)
        return iter(found)

    def _list_below(self, found: list[str]) -> None:
        """Add all files at any depth to those found."""
        start = f"{self.path}/" if self.path else ""
        paths = [start + name for name in self.files]
        if not self.folders:
            found += paths
            return
        below = {folder.path: folder for folder in self.folders}
        for path in sorted((*paths, *below), key=os.fsencode):
            if path in below:
                below[path]._list_below(found)
            else:
                found.append(path)


MANIFESTS, METADATA = BUNDLE_FOLDERS = ("manifests", "metadata")


def is_bundle(folder: Folder) -> bool:
    """Return whether a directory is a bundle: it has manifests/ and metadata/ (R-CAT-100)."""
    return len(folder.folders) > 1 and folder.folder(MANIFESTS) is not None and folder.folder(METADATA) is not None


_OF_SOURCES = frozenset(
    ("go.mod", "Cargo.toml", "pom.xml", "build.gradle", "package.json", "pyproject.toml", "setup.py", "Makefile")
)


def is_source_tree(folder: Folder) -> bool:
    """Return whether a directory has the source code of a program: no tool applies it as a whole, and a bundle at its
    top is only a part of it."""
    return not _OF_SOURCES.isdisjoint(folder.files)


def in_walk_order(path: str) -> list[bytes]:
    """The key by which Go's `filepath.Walk` sorts files, and so `kubectl apply -R` and Argo CD: the names in each
    folder by their bytes, be it a file's or a folder's."""
    return os.fsencode(path).split(b"/")


def without_files(folder: Folder, paths: Collection[str]) -> Folder:
    """A folder as it would be without some files at any depth."""
    if not paths:
        return folder
    files = tuple(name for name in folder.files if folder.join(name) not in paths)
    return folder._replace(files=files, folders=tuple(without_files(below, paths) for below in folder.folders))


def no_folder(path: Path) -> str:
    """Return the reason why a path is not the directory of a workspace, as in "PATH does not exist"; "" for none."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"can't be read: {error.strerror or error}"
    except ValueError:  # there is a NUL in it, as a path in a file may have
        return "does not exist"
    return "" if stat.S_ISDIR(mode) else "is a file and not a directory"


def real_path(path: Path) -> Path:
    """Follow the links of a path as far as they lead anywhere. Links that go round stay in it: `Path.resolve` raises an
    error of its own for them, which depends on the version of Python. It is a path of the same kind, which may have
    other files than the disk."""
    return type(path)(os.path.realpath(path))


def has_file(root: Path, path: str) -> bool:
    """Return whether a workspace has a file. The reader of the folder reports a path that can't be checked."""
    return is_file(root / path)


def is_file(path: Path) -> bool:
    """Return whether there is a file; no name in untrusted input is too long, or too strange, to ask that."""
    return stat.S_ISREG(mode_of(path))


def mode_of(path: Path) -> int:
    """The mode of what stands at a path, 0 if there is nothing or can't be."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


class WholeFolder(NamedTuple):
    """A folder whose tree has all that is there: no link, no hidden folder, no `.gitignore` and no ignored path at any
    depth. `number`: how many files and folders are below it, `in_bundles` how many of these are in bundles."""

    folder: Folder
    number: int
    in_bundles: int


class ScannedFolder(NamedTuple):
    """The tree of a workspace, the patterns of its olmc.yaml that it was scanned with, and what was reported; `whole`
    are the topmost folders that a scan with other patterns need not list again. `beyond`: the path with which there are
    more files and folders than a workspace may have, "" if there are not; only a repository of bundles is read then."""

    folder: Folder
    ignored: tuple[str, ...] = ()
    found: tuple[Diagnostic, ...] = ()
    whole: tuple[WholeFolder, ...] = ()
    beyond: str = ""

    @property
    def is_cut(self) -> bool:
        """Return whether there are more files than olmc looks at, so that the tree is only a part of the workspace."""
        return any(diagnostic.code == TOO_LARGE.code for diagnostic in self.found)


def scan_workspace(
    root: Path, ignored: tuple[str, ...] = (), *, ignore_file: bool = True, known: ScannedFolder | None = None,
    by_package: bool = False,
) -> ScannedFolder:  # fmt: skip
    """The tree below `root` without hidden folders and without what `.gitignore`, at any depth, `ignored` and
    `.olmcignore` name; the last pattern that fits a path counts.

    Links that leave the root are reported and not followed; neither are links to folders that contain them. A folder
    that can't be read is reported and taken for empty. Without `ignore_file` only `ignored` counts. `known` is an
    earlier scan of the same root. `by_package`: the caller reads a repository of bundles package by package, or without
    its bundles, so what is in them counts for a limit of its own.
    """
    report = Report()
    own = tuple(_usable_lines(root, report))
    patterns = (*ignored, *own) if ignore_file else ignored
    home, seen = real_path(root), _Seen(known, by_package=by_package)
    how = _Scan(root, home, None, report, seen, lines=patterns, git_lines=() if ignore_file else None)
    spec = _spec(how, patterns, patterns, IGNORE_FILE) if patterns else None
    folder = _scan(how._replace(spec=spec), "", frozenset({str(home)}))
    # Behind links it depends on the folders that a scan has seen where it looks.
    whole = tuple(seen.whole.values()) if not seen.has_links else ()
    return ScannedFolder(folder, ignored, tuple(report.found), whole, seen.beyond)


class _Seen:
    """The progress of a scan: the real folders, the number and the limit of files and folders, the patterns and the
    work done with them, and the limit that it met. It also has the whole folders, those that an earlier scan knows to
    be whole, and whether there are links. At last it has the number of files and folders in bundles, if these have a
    limit of their own, and the path beyond the limit of a workspace."""

    def __init__(self, known: ScannedFolder | None = None, *, by_package: bool = False) -> None:
        self.by_package = by_package
        self.in_bundles = 0
        self.beyond = ""
        self.beyond_known = known.beyond if known is not None else ""
        self.most_together = BUNDLE_FILES.most if by_package else FILES.most
        self.known = {each.folder.path: each for each in known.whole} if known is not None else {}
        self.whole: dict[str, WholeFolder] = {}
        self.has_links = False
        self.folders: set[str] = set()
        self.number = 0
        self.most = FILES.most
        self.deepest = DEPTH.most
        self.patterns = 0
        self.effort = 0
        self.limit: Limit | None = None

    def limit_of_number(self) -> Limit | None:
        """The limit that the files and folders are beyond."""
        if self.number - self.in_bundles > self.most:
            return FILES
        return BUNDLE_FILES if self.number > self.most_together else None

    def take(self, known: WholeFolder) -> bool:
        """Count a folder as an earlier scan has it; False where that may be beyond a limit."""
        number, in_bundles = self.number + known.number, self.in_bundles + (known.in_bundles if self.by_package else 0)
        if self.limit is not None or number - in_bundles > self.most or number > self.most_together:
            return False
        self.number, self.in_bundles = number, in_bundles
        self.whole[known.folder.path] = known
        if number > self.most:
            self.beyond = self.beyond or self.beyond_known or known.folder.path
        return True


class _Scan(NamedTuple):
    """The settings of a scan: its root, also with links resolved, the patterns of left out files, and whether it reads
    hidden folders as well. `git_lines` are the patterns of `.gitignore` so far, which count before `lines`; None
    without git's rules. `below_link`: whether a link has led to the present folder."""

    root: Path
    home: Path
    spec: Callable[[str], bool] | None
    report: Report
    seen: _Seen
    hidden: bool = False
    lines: tuple[str, ...] = ()
    git_lines: tuple[str, ...] | None = None
    below_link: bool = False


def scan(root: Path, report: Report, *, ignored: tuple[str, ...] = (), ignore_file: bool = True) -> Folder:
    """The tree as `scan_workspace` has it; the report gets what it finds."""
    tree = scan_workspace(root, ignored, ignore_file=ignore_file)
    report.found.extend(tree.found)
    return tree.folder


def scan_everything(
    root: Path, path: str = "", known: ScannedFolder | None = None, *, by_package: bool = False
) -> Folder:
    """Return the tree in the folder `path` of a workspace with hidden and ignored folders, without git's own files.
    `known` is an earlier scan of the workspace; `by_package` is as for `scan_workspace`."""
    home, seen = real_path(root), _Seen(known, by_package=by_package)
    return _scan(_Scan(root, home, None, Report(), seen, hidden=True), path, frozenset({str(home / path)}))


def scan_below(root: Path, path: str, report: Report) -> Folder | None:
    """Return the tree in the folder `path` of a workspace, also if `.olmcignore` names it; None if it is not inside of
    the workspace."""
    home = real_path(root)
    real = _inside(root / path, home)
    if real is None or not real.is_dir():
        return None
    return _scan(_Scan(root, home, None, report, _Seen()), path, frozenset({str(real)}))


def _scan(how: _Scan, path: str, above: frozenset[str]) -> Folder:
    seen = how.seen
    known = seen.known.get(path) if how.spec is None else None
    if known is not None and seen.take(known):
        return known.folder
    before, in_bundles = seen.number, seen.in_bundles
    files: list[str] = []
    folders: list[Folder] = []
    links: list[str] = []
    followed: list[str] = []
    try:
        children = _children(how, path)
    except OSError as error:
        place = Location(path) if path else None
        cause = error.strerror or str(error)
        how.report.add(rules.UNREADABLE.finding(place, path=path or str(how.root), cause=cause))
        return Folder(path, (), ())
    is_whole = GIT_IGNORE_FILE not in map(_name, children)
    if how.git_lines is not None and not is_whole:
        own = tuple(_git_lines_in(how.root, path))
        lines = (*how.git_lines, *own)
        spec = _spec(how, (*lines, *how.lines), own, f"{path}/{GIT_IGNORE_FILE}" if path else GIT_IGNORE_FILE)
        how = how._replace(git_lines=lines, spec=spec)
    seen.folders |= above
    start = f"{path}/" if path else ""
    is_deep = start.count("/") > seen.deepest
    for entry in children:
        name = entry.name
        below = start + name
        if seen.number < seen.most and seen.limit is None and not is_deep:
            seen.number += 1
        elif not _is_within_limits(how, below):
            is_whole = False
            break
        is_folder = _is_folder(entry)
        # In a linked work tree and in a submodule .git is a file.
        is_hidden = name[0] == "." and (name == _GIT or (is_folder and not how.hidden))
        if is_hidden or (how.spec is not None and how.spec(f"{below}/" if is_folder else below)):
            is_whole = False
            continue
        is_link = entry.is_symlink()
        if is_link:
            seen.has_links = True
            inside = _inside(Path(entry.path), how.home)
            if inside is None:
                how.report.add(_not_followed(how.root, below))
                links.append(name)
                continue
            followed.append(name)
        if is_folder:
            real = str(inside) if is_link else os.path.join(how.home, below)  # noqa: PTH118
            # A link to a folder that contains it would lead into an endless circle. And behind a link olmc does not
            # follow a link to a folder that it has seen: the number of paths through links to folders with links grows
            # without bound.
            if real not in above and not (how.below_link and is_link and real in seen.folders):
                inner = how._replace(below_link=True) if is_link else how
                folders.append(_scan(inner, below, above | {real}))
                is_whole = is_whole and below in seen.whole
        elif _is_file(entry):
            files.append(name)
    folder = Folder(path, tuple(files), tuple(folders), tuple(links), tuple(followed))
    if seen.by_package and is_bundle(folder):
        seen.in_bundles = in_bundles + seen.number - before + bool(path)
    if is_whole:
        for inner_folder in folders:
            del seen.whole[inner_folder.path]
        seen.whole[path] = WholeFolder(folder, seen.number - before, seen.in_bundles - in_bundles)
    return folder


def _children(how: _Scan, path: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, by bytes, as Go lists folders: the first CSV of a bundle depends on it
    (R-CAT-101).

    Raises OSError.
    """
    with os.scandir(f"{how.root}/{path}") as entries:
        children = list(entries)
    if len(children) > 1:
        is_ascii = "".join(map(_name, children)).isascii()
        children.sort(key=_name if is_ascii else lambda entry: os.fsencode(entry.name))
    return children


_name = attrgetter("name")


def _spec(how: _Scan, lines: Sequence[str], new: Iterable[str], path: str) -> PathPatterns | None:
    """The patterns that count from here on, `new` of which did not before; None, which is reported once, where there
    are more of them than olmc compares."""
    seen = how.seen
    seen.patterns += sum(map(_weight, new))
    spec = None
    if seen.patterns <= PATTERNS.most and seen.effort <= _EFFORT * PATTERNS.most:
        with suppress(ValueError):
            spec = spec_of(lines)
            seen.effort += spec.effort
    if spec is None and seen.limit is None:
        seen.limit = PATTERNS
        how.report.add(too_large("the workspace", PATTERNS, place=Location(path)))
    return spec


_EFFORT = 4
"""The number of costly compilations of the largest set of patterns."""


def _is_within_limits(how: _Scan, path: str) -> bool:
    """Count a file or folder; False, which is reported once, when there are more than olmc looks at."""
    seen = how.seen
    seen.number += 1
    if seen.limit is None:
        if seen.number > seen.most:
            seen.limit = seen.limit_of_number()
            seen.beyond = seen.beyond or path
        if path.count("/") > seen.deepest:
            seen.limit = seen.limit or DEPTH
        if seen.limit is not None:
            how.report.add(too_large("the workspace", seen.limit, place=Location(path)))
    return seen.limit is None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # in a folder that may be listed and not entered: the reader of the file reports it
        return True


def _inside(path: Path, home: Path) -> Path | None:
    """Return where a link leads, None if that is outside of the workspace or nowhere."""
    try:
        real = Path(os.path.realpath(path, strict=True))
    except (OSError, ValueError):
        return None
    return real if real.is_relative_to(home) else None


def _not_followed(root: Path, path: str) -> Diagnostic:
    """Return where a link leads that is not followed; of a place outside not even its existence is reported."""
    where, hint = "to a place outside of the workspace", "Copy what it points to into the workspace."
    try:
        (root / path).stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            where, hint = "that leads back to itself", "Correct the link, or delete it."
        elif real_path(root / path).is_relative_to(real_path(root)):
            where, hint = "to something that does not exist", "Correct the link, or delete it."
    return rules.OUTSIDE.finding(Location(path, 1, 1), path=path, where=where, hint=hint)


def read_bounded(path: Path) -> bytes:
    """The bytes of a file that the user names; OSError for one that can't be read, or has more than olmc reads."""
    with path.open("rb") as stream:
        data = _start_of(stream, FILE_BYTES.most + 1)
    if len(data) > FILE_BYTES.most:
        cause = f"it has more than {FILE_BYTES.most:,} bytes ({FILE_BYTES.variable} raises the limit)"
        raise OSError(errno.EFBIG, cause, str(path))
    return data


def _start_of(stream: BinaryIO, most: int) -> bytes:
    """The bytes of a file, so many at most. To ask for all of these would make space for them, which takes a while."""
    expected = min(os.fstat(stream.fileno()).st_size + 1, most)
    data = stream.read(expected)
    # A device says that it has none, and a file may have grown.
    return data if len(data) < expected else data + stream.read(most - expected)


def git_ignore_lines(root: Path, folder: Folder | None = None) -> tuple[str, ...]:
    """The patterns of all `.gitignore` files of a workspace that count, as the one in its root would have them;
    `folder` is its tree, if it was scanned."""
    found = _with_git_ignore(folder if folder is not None else scan(root, Report()))
    in_order = sorted((below.join(GIT_IGNORE_FILE) for below in found), key=in_walk_order)
    lines = (line for path in in_order for line in _git_lines_in(root, path.rpartition("/")[0]))
    return tuple(_up_to_the_limit(lines))


def _with_git_ignore(folder: Folder) -> Iterator[Folder]:
    """The folders of a tree that have a `.gitignore`."""
    if GIT_IGNORE_FILE in folder.files:
        yield folder
    for below in folder.folders:
        yield from _with_git_ignore(below)


def _up_to_the_limit(lines: Iterable[str]) -> Iterator[str]:
    """The lines of which there may be as many; with the first that is too much, which is enough to say so."""
    count = 0
    for line in lines:
        yield line
        count += _weight(line)
        if count > PATTERNS.most:
            return


def _git_lines_in(root: Path, folder: str) -> Iterator[str]:
    """The patterns of the `.gitignore` in a folder, written for the root; "" for one that can't be used."""
    path = f"{folder}/{GIT_IGNORE_FILE}" if folder else GIT_IGNORE_FILE
    text = read_text(root, path, Report()) if has_file(root, path) else None  # a pipe has no patterns, and no end
    above = _GLOB.sub(r"\\\g<0>", folder)
    lines = (line for line in (text or "").splitlines() if not line.startswith("#"))
    for line in _up_to_the_limit(line for line in lines if line.removeprefix("!").strip()):
        pattern = line.removeprefix("!")
        inside = pattern.lstrip("/") if "/" in pattern.rstrip().rstrip("/") else f"**/{pattern}"
        whole = f"{line[: len(line) - len(pattern)]}/{above}/{inside}" if folder else line
        try:
            _check_usable(whole)
        except ValueError:
            whole = ""  # it counts all the same: patterns behind too many of these would be missed without a word
        yield whole


def is_git_ignored(root: Path, path: Path) -> bool:
    """Return whether the `.gitignore` files between the top of a repository and a resolved path, which need not exist,
    name it."""
    if not path.is_relative_to(root):
        return False
    name = path.relative_to(root).as_posix()
    folders = ["", *("/".join(name.split("/")[:depth]) for depth in range(1, name.count("/") + 1))]
    lines = tuple(_up_to_the_limit(line for folder in folders for line in _git_lines_in(root, folder)))
    try:
        return any(lines) and PathPatterns(lines)(name)
    except ValueError:
        return False


def ignore_lines(root: Path) -> tuple[str, ...]:
    """The patterns in a workspace's `.olmcignore`, without those that can't be used; () without such a file."""
    return tuple(_usable_lines(root, Report()))


def _usable_lines(root: Path, report: Report) -> Iterator[str]:
    text = read_text(root, IGNORE_FILE, report) if has_file(root, IGNORE_FILE) else None
    for number, pattern in enumerate(_up_to_the_limit((text or "").splitlines()), 1):
        try:
            _check_usable(pattern)
            yield pattern
        except ValueError as error:
            report.add(rules.BAD_IGNORE.finding(Location(IGNORE_FILE, number), cause=error))


def read_text(root: Path, path: str, report: Report) -> str | None:
    """The text of a file, or None with a diagnostic when it can't be read as UTF-8 or leads out of the workspace."""
    data = read_bytes(root, path, report)
    return decode_utf8(path, data, report) if data is not None else None


def read_bytes(root: Path, path: str, report: Report) -> bytes | None:
    """Return the content of a file, or None with a diagnostic when it can't be read or is outside of the workspace."""
    try:
        if (root / path).is_symlink() and _inside(root / path, real_path(root)) is None:
            report.add(_not_followed(root, path))
            return None
        with (root / path).open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > FILE_BYTES.most:
                report.add(too_large(path, FILE_BYTES, size))
                return None
            data = _start_of(stream, FILE_BYTES.most + 1)
            if len(data) > FILE_BYTES.most:
                report.add(too_large(path, FILE_BYTES))
                return None
    except OSError as error:
        report.add(rules.UNREADABLE.finding(Location(path), path=path, cause=error.strerror or str(error)))
        return None
    return data


def decode_utf8(path: str, data: bytes, report: Report) -> str | None:
    """The text that a file holds, or None with a diagnostic at its first byte that is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8")) + 1
        report.add(rules.NOT_UTF8.finding(Location(path, line, column), path=path, offset=error.start))
        return None


# The facts in the `ci.yaml` of an operator in a repository of bundles about its update graph, as the pipelines of
# community catalogs read it.

CI_FILE = "ci.yaml"
_KEY = "updateGraph"
_MODES: MappingProxyType[str, IndexingMode] = MappingProxyType(
    {"replaces-mode": "replaces", "semver-mode": "semver", "semver-skippatch-mode": "semver-skippatch"}
)


def update_graphs(root: Path, bundles: Iterable[Bundle], report: Report) -> dict[str, IndexingMode]:
    """By package how its versions become a graph, as far as a ci.yaml beside the folders of its bundles says it.

    A value that no pipeline knows is reported and counts as none.
    """
    modes: dict[str, IndexingMode] = {}
    known: dict[str, IndexingMode | None] = {}
    for bundle in bundles:
        if not bundle.directory:
            continue
        folder = bundle.directory.rpartition("/")[0]
        path = f"{folder}/{CI_FILE}" if folder else CI_FILE
        if path not in known:
            known[path] = _mode_in(root, path, report)
        mode = known[path]
        if mode is not None:
            modes.setdefault(bundle.package, mode)
    return modes


def check_update_graphs(root: Path, workspace: Workspace, indexing: Indexing, report: Report) -> None:
    """Report what is wrong with what a pipeline makes of bundles with a ci.yaml, where nothing here makes it."""
    listed = names_of_bundles(workspace.catalogs.values())
    loose = [bundle for name, bundle in workspace.bundles.items() if name not in listed]
    modes = update_graphs(root, loose, report)
    if modes:
        from olmc.compiler.catalogs.bundle_lists import (  # few repositories are of bundles
            catalog_from_bundles,
            report_dropped,
        )

        members = [uncatalogued(bundle) for bundle in loose if bundle.package in modes]
        report_dropped(catalog_from_bundles(members, indexing, report, modes), members, report)


def _mode_in(root: Path, path: str, report: Report) -> IndexingMode | None:
    text = read_text(root, path, Report()) if has_file(root, path) else None
    documents = read(path, text, Report()) if text is not None else []
    value = documents[0].value if documents else None
    if not isinstance(value, dict) or value.get(_KEY) is None:
        return None
    mode = value[_KEY]
    if isinstance(mode, str) and mode in _MODES:
        return _MODES[mode]
    place = locate(documents[0].source, (_KEY,)) or Location(path)
    question = did_you_mean(closest_of(mode, _MODES)) if isinstance(mode, str) else ""
    hint = " ".join(filter(None, (question, f"There is {', '.join(_MODES)}.")))
    report.add(foreign_rules.UNKNOWN_GRAPH.finding(place, value=mode, hint=hint))
    return None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. Raises OSError."""
    import hashlib  # for files of any size, and slower to import than a small one is hashed

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
