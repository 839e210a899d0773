"""The check of a repository of bundles, package by package, so that memory does not grow with their number.

Such a repository has a folder for each package, as community-operators has, and nothing that would install a bundle.
Then a package depends on no other one, unless its bundles have names in common with those of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from olmc.compiler.load.bundles import CATALOGS_FOLDER, PROJECT_FILE, package_folders
from olmc.compiler.load.entries import entries_to_choose, has_kustomizations
from olmc.compiler.load.files import Folder, ScannedFolder, is_bundle
from olmc.compiler.load.vendored import is_vendored
from olmc.compiler.load.workspace_files import is_chart
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import FILES


class BundleRepository(NamedTuple):
    """The folders of the packages, and the tree of the repository without them."""

    rest: ScannedFolder
    packages: tuple[Folder, ...]


def package_tree(packages: Sequence[Folder], tree: ScannedFolder) -> ScannedFolder:
    """Return the tree of packages that are checked together, out of the tree of their repository."""
    is_beyond = sum(map(_number_below, packages)) > FILES.most
    return ScannedFolder(tree_of(packages), tree.ignored, beyond=packages[0].path if is_beyond else "")


def _number_below(folder: Folder) -> int:
    """How many files and folders are below a folder."""
    return len(folder.files) + len(folder.folders) + sum(map(_number_below, folder.folders))


def bundle_repository(root: Path, tree: ScannedFolder) -> BundleRepository | None:
    """Return the repository of bundles that a tree is, None for any other workspace."""
    folder = tree.folder
    if tree.is_cut or PROJECT_FILE in folder.files or is_bundle(folder):
        return None
    packages = tuple(package_folders(folder))
    if any(not package.path for package in packages):
        return None
    if any(is_vendored(root, child) for child in folder.folders):
        return None
    if any(is_chart(each) or each.path.rpartition("/")[2] == CATALOGS_FOLDER for each in _folders(folder)):
        return None
    if has_kustomizations(root, folder) or entries_to_choose(root, folder):
        return None
    rest = without_folders(folder, frozenset(package.path for package in packages))
    return BundleRepository(ScannedFolder(rest, tree.ignored, tree.found), packages)


def _folders(folder: Folder) -> Iterator[Folder]:
    """A folder and all below it, without what is in bundles."""
    yield folder
    for below in folder.folders if not is_bundle(folder) else ():
        yield from _folders(below)


def without_folders(folder: Folder, paths: frozenset[str]) -> Folder:
    """A tree without some of its folders."""
    below = tuple(without_folders(each, paths) for each in folder.folders if each.path not in paths)
    return folder._replace(folders=below)


def changed_packages(repository: BundleRepository, changed: frozenset[str]) -> frozenset[str] | None:
    """The folders of the packages with a changed file; None if a file beside them has changed."""
    packages = frozenset(package.path for package in repository.packages)
    found: set[str] = set()
    for path in changed:
        parts = path.split("/")
        package = next((above for n in range(len(parts)) if (above := "/".join(parts[:n])) in packages), None)
        if package is None:
            return None
        found.add(package)
    return frozenset(found)


def folders_at(folder: Folder, paths: frozenset[str]) -> Iterator[Folder]:
    """The folders of a tree with these paths, none of which is in another one."""
    for below in folder.folders:
        if below.path in paths:
            yield below
        else:
            yield from folders_at(below, paths)


def tree_of(packages: Iterable[Folder]) -> Folder:
    """The tree of a repository with nothing but these folders in it."""
    children = defaultdict[str, dict[str, Folder | None]](dict)
    for package in packages:
        path, folder = package.path, package
        children[path.rpartition("/")[0]][path] = folder
        while path := path.rpartition("/")[0]:
            children[path.rpartition("/")[0]].setdefault(path, None)

    def made(path: str) -> Folder:
        below = children[path]
        return Folder(path, (), tuple(below[each] or made(each) for each in sorted(below)))

    return made("")


class BundleNames(NamedTuple):
    """The names of the bundles of a part of a repository, of those that they replace, and of their packages."""

    bundles: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()


def dependent_parts(parts: Sequence[BundleNames]) -> list[list[int]]:
    """The numbers of the parts that depend on each other, group by group: they have a bundle or a package of one name,
    or one replaces a bundle of the other."""
    first: dict[tuple[str, str], int] = {}
    group = list(range(len(parts)))

    def root_of(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    for number, part in enumerate(parts):
        for key in (*(("bundle", name) for name in part.bundles), *(("package", name) for name in part.packages)):
            group[root_of(number)] = root_of(first.setdefault(key, number))
    for number, part in enumerate(parts):
        for name in part.replaced:
            group[root_of(number)] = root_of(first.get(("bundle", name), number))
    members = defaultdict[int, list[int]](list)
    for number in range(len(parts)):
        members[root_of(number)].append(number)
    return [numbers for numbers in members.values() if len(numbers) > 1]
