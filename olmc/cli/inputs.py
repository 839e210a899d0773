"""The input if PATH is no directory: files, and the output of other tools in a pipe, as one workspace."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.cli.console import BAD_INPUT, STREAM, Input, Timings, bad_value, is_single, say, tell, wrong_usage
from olmc.compiler.load.bundles import has_many_packages
from olmc.compiler.load.config import CONFIG_FILE, read_config
from olmc.compiler.load.entries import RepositoryEntry, changed_entries, chosen, entries_at
from olmc.compiler.load.files import MAX_FILE_BYTES, ScannedFolder, no_folder, real_path, scan_workspace
from olmc.compiler.load.kustomization import NAMES
from olmc.compiler.load.repository import entry_parts, has_content_of_all, pattern_part, same_part
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace_files import NAMED_MARK
from olmc.compiler.model.catalog import names_of_bundles
from olmc.compiler.model.options import Options
from olmc.compiler.output.messages import clean, seen_from
from olmc.compiler.rules.findings.workspace import LEFT_OUT_BY_CHOICE
from olmc.k8s.diagnostics import Diagnostic, Report, Severity, close_matches, did_you_mean, join_limited, one_line
from olmc.k8s.lean import NamedTuple
from olmc.review.diff.git import GitError, changed_paths, top_of
from olmc.review.diff.revisions import PATTERN_FILES, Extent, Revision, unread_side, write_tree
from olmc.review.plan.engine import Beginning, NamedState, NoStateError, as_begun, joined_states, named_state

if TYPE_CHECKING:
    import click

    from olmc.compiler.api import Compilation
    from olmc.compiler.load.releases import Release
    from olmc.review.check.check import CheckResult
    from olmc.review.check.repository import BundleRepository

_STREAM_FILE = "stdin.yaml"


def is_in_repository() -> bool:
    """Return whether the current directory looks like one of a git repository; only git knows for sure."""
    here = Path.cwd()
    return any((folder / ".git").exists() for folder in (here, *here.parents))


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
    (staged / NAMED_MARK).touch()
    for path in singles:
        _stage(path, staged)
    return [Input(folders[0], staged)] if folders else [Input(staged, staged, is_staged=True)]


def sides_of_entry(old: str, new: str | None, name: str) -> tuple[str, str]:
    """Return the sides that `olmc diff` compares for an entry of the repository that is NEW, or else the work tree: its
    folder on both sides. The diff itself finds it for a git revision without a path."""
    root = Path(new or ".")
    if not root.is_dir() or (old.startswith("git:") and ":" in old.removeprefix("git:")) or ".." in old:
        wrong_usage("--entry goes with git:REF, or a directory, as OLD and a directory as NEW.")
    meant = [_input_of(root, entry) for entry in _chosen_entries([root], [name])]
    if any(one.part is not None for one in meant):
        bad_value(f"{name} is a file with values of a pattern; compare it with `olmc plan --entry {name}`.", "--entry")
    folders = dict.fromkeys(one.root for one in meant)
    if len(folders) > 1 or any(one.release is not None for one in meant):
        problem = "is a Helm chart with values of its own" if len(folders) == 1 else "is several folders"
        bad_value(f"{name} {problem}; give the folder on both sides.", "--entry")
    folder = next(iter(folders))
    below = folder.relative_to(root)
    return (old if old.startswith("git:") else (Path(old) / below).as_posix()), folder.as_posix()


def _entries(paths: Sequence[Path], names: Sequence[str]) -> list[Input]:
    """The entries of a repository that are called so, with how they are installed if they are Helm charts, and with the
    catalogs and bundles of the repository."""
    return [one for entry in _chosen_entries(paths, names) for one in _inputs_of(paths[0], entry)]


def _chosen_entries(paths: Sequence[Path], names: Sequence[str]) -> Iterable[RepositoryEntry]:
    if len(paths) > 1:
        wrong_usage("--entry chooses in one repository; give one PATH.")
    known, report = entries_at(paths[0]), Report()
    entries: dict[tuple[str, Release | None], RepositoryEntry] = {}
    for name in names:
        meant = chosen(known, name)
        if not meant:
            words = [entry.path for entry in known]
            words += (applier.name.rpartition("/")[2] for entry in known for applier in entry.appliers)
            near = did_you_mean(*close_matches(name, words, 3)) or f"There are: {join_limited(words, 12)}."
            bad_value(f"{paths[0]} has no entry {name}. {near}", "--entry")
        changed_entries(meant, report)
        entries.update({(entry.path, entry.release): entry for entry in meant})
    tell(tuple(report), paths[0])
    return entries.values()


def _inputs_of(root: Path, entry: RepositoryEntry) -> list[Input]:
    is_alone = entry.is_pattern or not has_content_of_all(root)
    parts = () if is_alone else entry_parts(root, entry, Options())
    return [Input(root, part=part) for part in parts] or [_input_of(root, entry)]


def _input_of(root: Path, entry: RepositoryEntry) -> Input:
    if entry.is_pattern:
        return Input(root, part=pattern_part(root, entry.path, Options()))
    return Input(root / entry.path, release=entry.release)


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
        say(f"error: {path} can't be read: {error.strerror}.")
        raise SystemExit(BAD_INPUT) from error


def _name(path: Path) -> str:
    """The name that messages have for a file: its own path as far as that stays below the current directory."""
    if str(path) == STREAM:
        return _STREAM_FILE
    is_below = not path.is_absolute() and not any(part.startswith(".") for part in path.parts)
    return path.as_posix() if is_below else path.name.lstrip(".") or "file"


# The state that `--from` names, for commands, which end where there is none.


def state_from(
    names: Sequence[str], beside: str, options: Options, given: frozenset[str], entry: str = ""
) -> NamedState:
    """Return the state that `names` mean, for a compilation of the path `beside`, or of an entry of the repository
    there, with these options.

    Of two, one is a workspace, which says what was applied, and one says what the cluster holds. Ends the command,
    with the reason on stderr, where there is no such state.
    """
    beginning = Beginning(beside, CompileRequest(Path(), options, given), entry=entry)
    return _read(names, beginning, joined_states)


def begun_from(
    names: Sequence[str], beside: str, options: Options, given: frozenset[str], *, may_be_absent: bool, entry: str = ""
) -> NamedState:
    """Return the same with its side; with `may_be_absent` a path that a revision does not have is an empty
    workspace. `entry` is the entry of the repository `beside` that is meant."""
    request = CompileRequest(Path(), options, given, without_idle_bundles=True)
    beginning = Beginning(beside, request, as_side=True, may_be_absent=may_be_absent, entry=entry)
    return _read(names, beginning, lambda states: as_begun(states, " and ".join(names)))


def _read(names: Sequence[str], beginning: Beginning, join: Callable[[Sequence[NamedState]], NamedState]) -> NamedState:
    try:
        return join([_state(name, beginning) for name in names])
    except NoStateError as error:
        bad_value(error.message, "--from")


def _state(name: str, beginning: Beginning) -> NamedState:
    report = Report()
    found = named_state(name, beginning, report)
    # What fails in the state is as it is, unless that is why there is none: a dump with an object that no cluster has.
    tell(tuple(report), least=Severity.ERROR if found is not None else Severity.FAILURE)
    if found is None:
        raise SystemExit(BAD_INPUT)
    settled = found.side.settled if found.side is not None else None
    serves = settled is not None and bool(settled.cluster.catalogs)
    if not (found.state.objects or serves) and name != beginning.beside:
        say(f"olmc: {name} has nothing for OLM; it counts as an empty cluster")
    return found


# `--timings`: how long each stage of a command takes and how much there was to do, on stderr, for reports of bugs.


@contextmanager
def timed() -> Iterator[Timings]:
    """Yield who hears about stages and counts; what they heard is reported in the end."""
    # What happened before is the start, of which only the CPU knows how long it took.
    spent: dict[str, tuple[float, float]] = {"start": (0.0, time.process_time())}
    counts = dict.fromkeys(("files", "bytes", "bundles", "catalog entries", "objects", "bytes written"), 0)
    current = "", time.perf_counter(), time.process_time()

    def stage(name: str) -> None:
        nonlocal current
        before, began, used = current
        now, cpu = time.perf_counter(), time.process_time()
        if before:
            wall, total = spent.get(before, (0.0, 0.0))
            spent[before] = wall + now - began, total + cpu - used
        current = name, now, cpu

    def compiled(root: Path, done: Compilation) -> None:
        stage("report")
        for name, number in _counts(root, done).items():
            counts[name] += number

    def written(number: int) -> None:
        counts["bytes written"] += number

    try:
        yield Timings(stage, compiled, written)
    finally:
        stage("")
        say("olmc: stage         CPU       time")
        for name, (wall, cpu) in spent.items():
            say(f"olmc: {name:<8} {cpu:>6.3f} s" + (f"  {wall:>6.3f} s" if name != "start" else ""))
        say("olmc: " + ", ".join(f"{number:,} {name}" for name, number in counts.items()))


def _counts(root: Path, done: Compilation) -> dict[str, int]:
    """Return how much of what there was to compile."""
    paths = [root / name for name in sorted(done.inputs.files)]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    workspace = done.workspace
    bundles = 1 if workspace is None else len(workspace.bundles) + len(workspace.vendored)
    # Their names do not have packages read that nothing else has asked for, which would take longer than the command.
    entries = sum(len(names_of_bundles([catalog])) for catalog in workspace.catalogs.values()) if workspace else 0
    counts = (len(sizes), sum(sizes), 0 if done.failed else bundles, entries, len(done.objects))
    return dict(zip(("files", "bytes", "bundles", "catalog entries", "objects"), counts, strict=True))


_Key = tuple[str, str, str]


def _is_of_values(one: Input) -> bool:
    """Return whether an input is an entry that a chart or a validated pattern makes of values."""
    if one.part is None:
        return False
    return any(each.entry.release is not None or each.entry.is_pattern for each in one.part.cluster.placements)


def _input_at(place: Path, one: Input) -> Input | None:
    """An input as it is in another version of its directory, None for an entry that is not there."""
    if one.part is None:
        return Input(place)
    part = same_part(place, one.part, Options())
    return Input(place, part=part) if part is not None else None


class SinceResult(NamedTuple):
    """The findings that a revision does not have, and how many it has as well."""

    new: tuple[Diagnostic, ...]
    known: int


class FoundBefore(NamedTuple):
    """The findings of a directory in a revision, those that are accepted there, and the settings of its olmc.yaml."""

    diagnostics: tuple[Diagnostic, ...] = ()
    suppressed: tuple[Diagnostic, ...] = ()
    settings: Mapping[str, Any] = MappingProxyType({})


def findings_at(rev: str, inputs: Sequence[Input], check: Callable[[Input], FoundBefore]) -> list[FoundBefore]:
    """Return the findings of `check` in each directory as the revision has it, none for one that it does not have.

    Ends the command if git does not answer, or if the revision can't be read.
    """
    if any(one.is_staged or one.beside is not None for one in inputs):
        wrong_usage("--since compares directories; files and streams have no revision.")
    if any(one.release is not None or _is_of_values(one) for one in inputs):
        wrong_usage("--since compares folders; what an Application renders a chart with has no revision.")
    report = Report()
    found = []
    with tempfile.TemporaryDirectory(prefix="olmc-since-") as folder:
        try:
            top = top_of()
            for number, one in enumerate(inputs):
                path = real_path(one.root)
                if top is None or not path.is_relative_to(top):
                    wrong_usage(f"--since: {one.root} is not in the repository of the current directory.")
                target = Path(folder, str(number))
                target.mkdir()
                below = path.relative_to(top).as_posix()
                extent = Extent(may_be_absent=True, by_package=True)
                place = write_tree(Revision(rev, below), target, report, extent=extent)
                before = _input_at(place, one) if place is not None and any(place.iterdir()) else None
                found.append(check(before) if before is not None else FoundBefore())
        except GitError as error:
            report.add(unread_side(f"--since {rev}", error))
    tell(tuple(report), least=Severity.ERROR)
    if report.failed:
        raise SystemExit(BAD_INPUT)
    return found


_MOST_NAMED = 2_000
"""The largest number of files that git gets by name; beyond it git lists all."""


class ChangedPackages(NamedTuple):
    """The result for the packages of a repository of bundles that differ from a revision, and their findings there."""

    now: CheckResult
    before: FoundBefore


def findings_of_changed_packages(
    rev: str,
    inputs: Sequence[Input],
    check: Callable[[Path, ScannedFolder, frozenset[str], BundleRepository | None], CheckResult | None],
) -> ChangedPackages | None:
    """Return the findings of `check` in the packages of a repository of bundles that differ from a revision, now and
    there.

    None for any other input, for a repository in which other files have changed, and where git fails.
    """
    from olmc.review.check.repository import bundle_repository, changed_packages

    root = inputs[0].root
    if len(inputs) > 1 or not inputs[0].is_plain or no_folder(root):
        return None
    report = Report()
    with tempfile.TemporaryDirectory(prefix="olmc-since-") as folder, suppress(GitError):
        path, top = real_path(root), top_of()
        if top is None or not path.is_relative_to(top):
            return None
        with changed_paths(rev, root) as changed:
            tree = scan_workspace(root, by_package=True)
            repository = bundle_repository(root, tree) if has_many_packages(tree.folder) else None
            packages = changed_packages(repository, changed()) if repository is not None else None
        now = check(root, tree, packages, repository) if packages is not None else None
        if repository is None or packages is None or now is None:
            return None
        others = (*repository.rest.folder.walk(), *PATTERN_FILES)
        only = (*sorted(packages), *others) if len(others) < _MOST_NAMED else ()
        extent = Extent(may_be_absent=True, only=only, by_package=True)
        place = write_tree(Revision(rev, path.relative_to(top).as_posix()), Path(folder), report, extent=extent)
        before = check(place, scan_workspace(place, by_package=True), packages, None) if place is not None else None
        if before is None:
            return None
        return ChangedPackages(now, FoundBefore(before.diagnostics, before.suppressed, read_config(root, Report())))
    return None


def only_new(now: Iterable[Diagnostic], before: Iterable[Diagnostic]) -> SinceResult:
    """The findings that were not there before, wherever in its file each stands; of equal ones so many as are new."""
    known, listed = Counter(map(_key, before)), tuple(now)
    new: list[Diagnostic] = []
    for diagnostic in listed:
        key = _key(diagnostic)
        # An error stops the compilation, so the other findings are unknown.
        if known[key] and diagnostic.severity is not Severity.ERROR:
            known[key] -= 1
        else:
            new.append(diagnostic)
    return SinceResult(tuple(new), len(listed) - len(new))


_MOST_ACCEPTED = 20


def accepted_since(rev: str, now: CheckResult, before: FoundBefore) -> str:
    """Return the suppressions, the left out content and the settings of a directory that a revision does not have, as
    lines for people; "" for none of them."""
    accepted = only_new(now.suppressed, (*before.diagnostics, *before.suppressed)).new
    lines = []
    if accepted:
        more = len(accepted) - _MOST_ACCEPTED
        are = "finding is" if len(accepted) == 1 else "findings are"
        lines.append(f"olmc: {len(accepted)} {are} new since {rev} and accepted here:")
        for one in seen_from(now.shown_as.rstrip("/"), accepted[:_MOST_ACCEPTED]):
            place = f"{one.location}: " if one.location is not None else ""
            lines.append(f"  {place}{one.severity}: {one_line(one.message)} [{one.code}]")
        lines += [f"  and {more} more"] if more > 0 else []
    left = [one for one in only_new(now.diagnostics, before.diagnostics).new if one.code == LEFT_OUT_BY_CHOICE.code]
    if left:
        lines.append(f"olmc: left out here and not in {rev}:")
    for one in seen_from(now.shown_as.rstrip("/"), left):
        lines.append(f"  {one.location}: {one_line(one.message)} [{one.code}]")
    settings = read_config(now.root, Report())
    names = sorted(
        name for name in settings.keys() | before.settings.keys() if settings.get(name) != before.settings.get(name)
    )
    if names:
        fields = ", ".join(f"spec.{name}" for name in names)
        text = (
            f"has other settings than in {rev}, and this check uses them: {fields}"
            if (now.root / CONFIG_FILE).exists()
            else f"is removed; in {rev} it has these settings: {fields}"
        )
        lines.append(f"olmc: {now.shown_as}{CONFIG_FILE} {text}")
    return "".join(f"{clean(line)}\n" for line in lines)


def _key(diagnostic: Diagnostic) -> _Key:
    path = diagnostic.location.path if diagnostic.location is not None else ""
    return diagnostic.code, path, diagnostic.message
