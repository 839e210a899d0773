"""What is compiled when PATH is no directory: files, and what other tools print into a pipe, as one workspace."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import say, tell
from olmc.cli.process import BAD_INPUT, STREAM, Input, bad_value, is_single, wrong_usage
from olmc.load.entries import changed_entries, chosen, entries_at
from olmc.load.files import MAX_FILE_BYTES
from olmc.load.kustomization import NAMES
from olmc.load.manifests import SUFFIXES
from olmc.model.diagnostics import Report, close_matches, did_you_mean, join_limited

if TYPE_CHECKING:
    import click

_STREAM_FILE = "stdin.yaml"


def staged_inputs(ctx: click.Context, paths: Sequence[Path], entries: Sequence[str]) -> list[Input]:
    """As `inputs_of`, where there are entries, files or streams among the paths."""
    if entries:
        return _entries(paths, entries)
    # A kustomization stands for its folder.
    paths = [path.parent if path.name in NAMES and path.is_file() else path for path in paths]
    singles = [path for path in dict.fromkeys(paths) if is_single(path)]
    folders = [path for path in paths if not is_single(path)]
    if not singles:
        return [Input(path) for path in folders]
    if len(folders) > 1:
        wrong_usage("files and streams make one workspace with one directory at most; give no second one.")
    staged = Path(ctx.with_resource(tempfile.TemporaryDirectory(prefix="olmc-input-")))
    for path in singles:
        _stage(path, staged)
    return [Input(folders[0], staged)] if folders else [Input(staged, staged, is_staged=True)]


def sides_of_entry(old: str, new: str | None, name: str) -> tuple[str, str]:
    """What `olmc diff` compares for an entry of the repository that is NEW, or else the work tree: its folder on both
    sides. Of a git revision without a path that is found by the diff itself."""
    root = Path(new or ".")
    if not root.is_dir() or (old.startswith("git:") and ":" in old.removeprefix("git:")) or ".." in old:
        wrong_usage("--entry goes with git:REF, or a directory, as OLD and a directory as NEW.")
    meant = _entries([root], [name])
    folders = dict.fromkeys(one.root for one in meant)
    if len(folders) > 1 or any(one.release is not None for one in meant):
        problem = "is a Helm chart with values of its own" if len(folders) == 1 else "is several folders"
        bad_value(f"{name} {problem}; give the folder on both sides.", "--entry")
    folder = next(iter(folders))
    below = folder.relative_to(root)
    return (old if old.startswith("git:") else (Path(old) / below).as_posix()), folder.as_posix()


def _entries(paths: Sequence[Path], names: Sequence[str]) -> list[Input]:
    """The entries of a repository that are called so, with how they are installed if they are Helm charts."""
    if len(paths) > 1:
        wrong_usage("--entry chooses in one repository; give one PATH.")
    known, report = entries_at(paths[0]), Report()
    inputs: dict[Input, None] = {}
    for name in names:
        meant = chosen(known, name)
        if not meant:
            words = [entry.path for entry in known]
            words += (applier.name.rpartition("/")[2] for entry in known for applier in entry.appliers)
            near = did_you_mean(*close_matches(name, words, 3)) or f"There are: {join_limited(words, 12)}."
            bad_value(f"{paths[0]} has no entry {name}. {near}", "--entry")
        changed_entries(meant, report)
        inputs.update(dict.fromkeys(Input(paths[0] / entry.path, release=entry.release) for entry in meant))
    tell(tuple(report), paths[0])
    return list(inputs)


def _stage(path: Path, folder: Path) -> None:
    """Write a file or a stream into a folder, by its own path as far as that stays below."""
    try:
        if str(path) == STREAM:
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with path.open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        target = folder / _name(path)
        while target.exists():
            target = target.with_name(f"_{target.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        say(f"Error: {path} can't be read: {error.strerror}.")
        raise SystemExit(BAD_INPUT) from error


def _name(path: Path) -> str:
    """The name that messages have for a file: its own path, with an ending by which it is read."""
    if str(path) == STREAM:
        return _STREAM_FILE
    is_below = not path.is_absolute() and not any(part.startswith(".") for part in path.parts)
    name = path.as_posix() if is_below else path.name.lstrip(".")
    return name if name.endswith(SUFFIXES) else f"{name}.yaml"
