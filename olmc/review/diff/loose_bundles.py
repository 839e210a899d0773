"""Repositories of bundles, which nothing installs: what can be compared in them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from olmc.compiler.load.bundles import is_bundle
from olmc.compiler.load.files import Folder, scan
from olmc.k8s.diagnostics import Report
from olmc.review.diff.git import as_revision


def other_comparisons(side: str, path: Path | None) -> Iterator[str]:
    """For a side of bundles that nothing installs: what can be compared instead."""
    is_folder = path is not None and path.is_dir() and as_revision(side) is None
    folder = scan(path, Report()) if path is not None and is_folder else None
    bundles = list(_bundle_paths(folder)) if folder is not None else []
    versions = next((pair for pair in pairwise(bundles) if _are_versions(*pair)), None)
    if versions is None:
        return
    side = side.rstrip("/")
    prefix = "" if side == "." else f"{side}/"
    number = f"{len(bundles)} bundle{'s' * (len(bundles) != 1)}"
    command = f"olmc diff {' '.join(f'{prefix}{path}' for path in versions)}"
    yield f"It has {number} that no Subscription installs. Compare one with another: `{command}`."


def _bundle_paths(folder: Folder) -> Iterator[str]:
    if is_bundle(folder):
        yield folder.path
        return
    for below in folder.folders:
        yield from _bundle_paths(below)


def _are_versions(first: str, second: str) -> bool:
    """Whether two folders are named by versions of one operator, as in a repository of bundles."""
    (home, _, older), (other_home, _, newer) = first.rpartition("/"), second.rpartition("/")
    return home == other_home and all(name.lstrip("v")[:1].isdigit() for name in (older, newer))
