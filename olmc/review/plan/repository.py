"""The plan for a whole repository: what a change does to each of its clusters, equal outcomes once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.compiler.load.bundles import inputs_of
from olmc.compiler.load.config import CONFIG_FILE, LOCK_FILE, options_from, read_config
from olmc.compiler.load.entries import Repository, with_entries_of
from olmc.compiler.load.files import has_file, read_text, scan_workspace
from olmc.compiler.load.repository import BuiltRepository, ClusterPart, build_repository
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.workspace import Inputs
from olmc.compiler.output.messages import clean, json_text
from olmc.k8s.diagnostics import Diagnostic, Report, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ObjectKey, object_key
from olmc.review.check.repository import CompiledCluster, cluster_findings, missing_catalogs
from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.crd_kinds import DiffChange
from olmc.review.diff.outputs import as_data as difference_data
from olmc.review.diff.outputs import as_markdown as difference_markdown
from olmc.review.diff.settings import Side, repository_side
from olmc.review.diff.text import as_text as difference_text
from olmc.review.plan.engine import PlannedPath, begun_at, compile_planned, planned_for
from olmc.review.plan.leftovers import Plan
from olmc.review.plan.outputs import as_data, as_markdown, as_text

_SHOWN = 6
_FILES = "files of the repository"


class ClusterPlan(NamedTuple):
    """The plan for clusters in which the same happens, by their names; an entry without one goes by its folder."""

    names: tuple[str, ...]
    plan: Plan


class RepositoryPlan(NamedTuple):
    """The plans for the clusters that a change reaches, the names of those that it does not reach, those that can't be
    compiled with the reasons, and the entries that can't be built on a side. `files` is how the repository differs in
    its settings, and in files on which the results of GitOps tools depend and which olmc does not compile; `released`
    are the folders that a tool applied before and none applies now. `is_broken`: an entry is left out because a file of
    it can't be read."""

    clusters: tuple[ClusterPlan, ...]
    unchanged: tuple[str, ...] = ()
    failed: tuple[tuple[str, tuple[Diagnostic, ...]], ...] = ()
    left_out: tuple[str, ...] = ()
    files: Difference = Difference(Side("before", ()), Side("after", ()), (), (), MappingProxyType({}), 0)
    released: tuple[str, ...] = ()
    is_broken: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens in any cluster, and no file on which results depend changes."""
        return not self.files.changes and all(each.plan.is_empty for each in self.clusters)

    @property
    def changes(self) -> Iterator[DiffChange]:
        """All changes, of the files and of the clusters."""
        yield from self.files.changes
        yield from chain.from_iterable(each.plan.difference.changes for each in self.clusters)


def plan_repository(
    request: CompileRequest, before: Repository, now: Repository, names: tuple[str, str] = ("before", "after")
) -> RepositoryPlan:
    """Plan what happens in each cluster when a repository becomes what it is `now`.

    `request` has the options, `names` are those of both sides for readers.
    """
    before, now = with_entries_of(before, now), with_entries_of(now, before)
    now, released = _without_released(before, now)
    of_old, of_new = (request._replace(root=each.root, tree=scan_workspace(each.root)) for each in (before, now))
    sides = _built(of_old, before), _built(of_new, now)
    (built_old, built_new), left_out = _without_unbuilt(*sides)
    is_alike = _settings(before.root) == _settings(now.root)
    alike: dict[str, ClusterPlan] = {}
    unchanged, failed = list[str](), list[tuple[str, tuple[Diagnostic, ...]]]()
    staying = _staying(built_old, built_new)
    for name, one, other in (_with_staying(staying, *pair) for pair in _pairs(built_old, built_new)):
        if one is not None and other is not None and is_alike and _objects(one) == _objects(other):
            unchanged += [] if _lacks(left_out, one, other) else [name]
            continue
        made = _plan((of_old, one), (of_new, other), names)
        if not isinstance(made, Plan):
            failed.append((name, made))
            continue
        if made.is_empty:
            unchanged += [] if _lacks(left_out, one, other) else [name]
            continue
        text = as_text(made, verbose=True)
        known = alike.get(text)
        alike[text] = ClusterPlan((*known.names, name), known.plan) if known is not None else ClusterPlan((name,), made)
    files = compare_files((of_old, built_old), (of_new, built_new), names)
    is_broken = any(part.has_broken for part in sides[1].parts)
    outcome = tuple(alike.values()), tuple(unchanged), tuple(failed)
    return RepositoryPlan(*outcome, left_out, files, released, is_broken)


def _lacks(left_out: Collection[str], *parts: ClusterPart | None) -> bool:
    """Return whether an entry of a cluster is left out, so that it may change unseen."""
    paths = (path for part in parts if part is not None for path in part.cluster.paths)
    return any(path in left_out for path in paths)


def _without_released(before: Repository, now: Repository) -> tuple[Repository, tuple[str, ...]]:
    """Return a repository without the entries that a tool applied before and none applies now, and their folders.

    The name of such a folder is no sign of a cluster: the repository named the one that it was in.
    """
    applied, still = ({entry.path for entry in side.entries if entry.appliers} for side in (before, now))
    kept = tuple(entry for entry in now.entries if entry.path in still or entry.path not in applied)
    return now._replace(entries=kept), tuple(sorted(p for p in applied - still if (now.root / p).exists()))


def _pairs(
    before: BuiltRepository, now: BuiltRepository
) -> Iterator[tuple[str, ClusterPart | None, ClusterPart | None]]:
    """Pair the clusters of both sides by name, in order. Without a name it is the folder of an entry: that entry may be
    in a cluster with a name on the other side, or in another folder; then nothing happens to it by itself."""
    old, new = _parts(before), _parts(now)
    named = {path for part in new.values() if part.cluster.names for path in part.cluster.paths}
    alone = {name: part for name, part in new.items() if name not in old and not part.cluster.names}
    moved: dict[str, ClusterPart] = {}
    for name in [name for name, part in old.items() if name not in new and not part.cluster.names]:
        place = next(
            (to for to, part in alone.items() if to not in moved and _objects(part) == _objects(old[name])), ""
        )
        if place:
            moved[place] = old[name]
        if place or named.issuperset(old[name].cluster.paths):
            del old[name]
    old |= moved
    for name in sorted(old.keys() | new.keys()):
        yield name, old.get(name), new.get(name)


def _staying(before: BuiltRepository, now: BuiltRepository) -> frozenset[ObjectKey]:
    """Return the objects that an entry has on both sides alike."""
    old, new = (
        {object_key(m.object): m.object for part in built.parts for each in part.contents for m in each.found.manifests}
        for built in (before, now)
    )
    return frozenset(key for key, obj in new.items() if old.get(key) == obj)


def _with_staying(
    staying: frozenset[ObjectKey], name: str, one: ClusterPart | None, other: ClusterPart | None
) -> tuple[str, ClusterPart | None, ClusterPart | None]:
    """Return both sides of a cluster, each with the objects of other entries that the other side takes from there: they
    stay as they are, so that nothing creates or removes them."""
    parts = [part for part in (one, other) if part is not None]
    own = {object_key(m.object) for part in parts for each in part.contents for m in each.found.manifests}
    taken = {key: m for part in parts for m in part.others if (key := object_key(m.object)) in staying - own}
    if not taken:
        return name, one, other

    def with_taken(part: ClusterPart | None) -> ClusterPart:
        if part is None:
            return parts[0]._replace(contents=(), others=tuple(taken.values()))
        known = {object_key(m.object) for m in part.others}
        return part._replace(others=(*part.others, *(m for key, m in taken.items() if key not in known)))

    return name, with_taken(one), with_taken(other)


def _built(request: CompileRequest, repository: Repository) -> BuiltRepository:
    options = options_from(read_config(repository.root, Report()), request.options, request.fixed)
    return build_repository(repository, options)


def _without_unbuilt(*sides: BuiltRepository) -> tuple[list[BuiltRepository], tuple[str, ...]]:
    """Return both sides without the entries that olmc can't build on one of them, and the folders of these entries.

    Such an entry is unknown: without it on one side only, a plan would remove or create all of its objects.
    """
    left_out = tuple(dict.fromkeys(path for built in sides for part in built.parts for path in part.left_out))
    kept = [
        built._replace(parts=tuple(
            part._replace(contents=tuple(each for each in part.contents if each.placement.entry.path not in left_out))
            for part in built.parts
        ))
        for built in sides
    ]  # fmt: skip
    return kept, left_out


def _parts(built: BuiltRepository) -> dict[str, ClusterPart]:
    """The clusters of a repository by name."""
    return {name: part for part in built.parts for name in part.cluster.names or (part.cluster.title,)}


def compare_files(
    before: tuple[CompileRequest, BuiltRepository], now: tuple[CompileRequest, BuiltRepository], names: tuple[str, str]
) -> Difference:
    """Compare the settings of a repository, and the files on which results depend and which olmc does not compile.

    Only files count that an entry may be built with: those in its folder, beside its files, and above them.
    """
    # What a side compiles is compared as that, and the other side may compile it no longer, or not yet.
    inputs = _inputs((before[1], now[1]))
    folders = frozenset(path.rpartition("/")[0] for path in inputs.files)
    above = {"", *(folder[:at] for folder in folders for at, mark in enumerate(folder) if mark == "/"), *folders}
    entries = {entry.path for _, built in (before, now) for entry in built.repository.entries}

    def counts(path: str) -> bool:
        folder = path.removeprefix("../").rpartition("/")[0]
        return folder in above or any(each in (".", "") or f"{folder}/".startswith(f"{each}/") for each in entries)

    old, new = (
        repository_side(name, request.root, inputs, counts, request.tree)
        for name, (request, _) in zip(names, (before, now), strict=True)
    )
    return compare(old, new)


def _inputs(sides: Iterable[BuiltRepository]) -> Inputs:
    """The files of a repository that are compiled, on a side and in a cluster."""
    parts = [part for built in sides for part in built.parts]
    found = [each for part in parts for each in (part.shared, *(content.found for content in part.contents))]
    bundles = inputs_of(tuple(bundle for each in found for bundle in each.bundles.values()))
    content = bundles.files | {path for each in found for texts in each.catalogs.values() for path in texts}
    made = frozenset(path for each in found for path in each.built)
    files = frozenset(path for each in found for path in each.files)
    return Inputs(files | made | content, built=made, content=content - files)


def _settings(root: Path) -> list[str | None]:
    """The files at the top of a repository that count for all of its clusters."""
    return [read_text(root, name, Report()) if has_file(root, name) else None for name in (CONFIG_FILE, LOCK_FILE)]


def _objects(part: ClusterPart) -> tuple[list[Any], Mapping[str, Any]]:
    """The content of a cluster: its objects, and the catalogs beside them."""
    own = [manifest.object for content in part.contents for manifest in content.found.manifests]
    return [*own, *(manifest.object for manifest in part.others)], part.shared.catalogs


def _plan(
    before: tuple[CompileRequest, ClusterPart | None],
    now: tuple[CompileRequest, ClusterPart | None],
    names: tuple[str, str],
) -> Plan | tuple[Diagnostic, ...]:
    """The plan for a cluster, or the reasons for which there is none; the requests are for the repository."""
    report = Report()
    (of_old, old), (request, new) = before, now
    begun = begun_at(of_old._replace(part=old) if old is not None else None, names[0], report)
    # The files of the repository are compared once, and not for each of its new clusters.
    begun = begun._replace(side=begun.side._replace(settings=None)) if begun is not None else None
    if begun is None:
        return tuple(report)
    if new is None:
        assert old is not None
        new = old._replace(contents=(), others=())
    path = PlannedPath(request._replace(part=new), names[1])
    options = request.options._replace(state=begun.state)
    done, narrowing = compile_planned(path, options)
    if done.failed or done.settled is None:
        return done.diagnostics
    # The way to the content of a catalog is that of `olmc check` at the root.
    cluster = CompiledCluster(new, done)
    found = (*cluster_findings(cluster, done.diagnostics), *missing_catalogs([cluster]))
    done = done._replace(diagnostics=found)
    return planned_for(path, options, begun, done, narrowing)


# What is printed.


def repository_text(planned: RepositoryPlan, *, color: bool = False, verbose: bool = False) -> str:
    """The plans as text, each below the names of its clusters."""
    parts = [f"== {_FILES}\n{difference_text(planned.files, color=color)}"] if planned.files.changes else []
    for each in planned.clusters:
        names = ", ".join(each.names) if verbose else join_limited(each.names, _SHOWN)
        parts.append(f"== {clean(names)}\n{as_text(each.plan, color=color, verbose=verbose)}")
    return "\n".join(parts) + _rest(planned)


def repository_markdown(planned: RepositoryPlan) -> str:
    """The plans as a comment for a pull request."""
    parts = [f"## {_FILES}\n\n{difference_markdown(planned.files)}"] if planned.files.changes else []
    parts += [f"## {clean(join_limited(each.names, _SHOWN))}\n\n{as_markdown(each.plan)}" for each in planned.clusters]
    return "\n".join(parts) + _rest(planned)


def _rest(planned: RepositoryPlan) -> str:
    """Lines for clusters without a plan."""
    lines = []
    if planned.unchanged:
        lines.append(f"unchanged: {_counted(planned.unchanged)}")
    if planned.released:
        counted = _counted(planned.released)
        lines.append(f"no tool applies these any more, so the plans assume that their objects are removed: {counted}")
    lines += [f"{name} can't be compiled: {reasons[0].message if reasons else ''}" for name, reasons in planned.failed]
    if planned.left_out:
        lines.append(f"left out, as olmc can't build them: {_counted(planned.left_out)}")
    return "".join(f"{clean(line)}\n" for line in lines)


def _counted(names: Sequence[str]) -> str:
    return join_limited(names, _SHOWN)


def repository_json(planned: RepositoryPlan) -> str:
    """The plans as JSON, in the format of `schemas/repository-plan.schema.json`."""
    clusters = [{"names": list(each.names), "plan": as_data(each.plan)} for each in planned.clusters]
    failed = [{"name": name, "reasons": _messages(reasons)} for name, reasons in planned.failed]
    data = {
        "version": 1, "files": difference_data(planned.files)["changes"], "clusters": clusters,
        "unchanged": list(planned.unchanged), "failed": failed, "leftOut": list(planned.left_out),
        "released": list(planned.released),
    }  # fmt: skip
    return json_text(data)


def _messages(found: Iterable[Diagnostic]) -> list[str]:
    return [each.message for each in found]
