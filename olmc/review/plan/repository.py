"""The plan for a whole repository: what a change does to each of its clusters, equal outcomes once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.compiler.load.bundles import inputs_of
from olmc.compiler.load.config import CONFIG_FILE, LOCK_FILE, options_from, read_config
from olmc.compiler.load.entries import Repository
from olmc.compiler.load.files import has_file, read_text, scan_workspace
from olmc.compiler.load.repository import BuiltRepository, ClusterPart, build_repository
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.workspace import Inputs
from olmc.compiler.output.messages import clean, json_text
from olmc.k8s.diagnostics import Diagnostic, Report, join_limited
from olmc.k8s.lean import NamedTuple
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
    compiled with the reasons, and the entries that can't be built. `files` is how the repository differs in its
    settings, and in files on which the results of GitOps tools depend and which olmc does not compile. `is_broken`: an
    entry is left out because a file of it can't be read."""

    clusters: tuple[ClusterPlan, ...]
    unchanged: tuple[str, ...] = ()
    failed: tuple[tuple[str, tuple[Diagnostic, ...]], ...] = ()
    left_out: tuple[str, ...] = ()
    files: Difference = Difference(Side("before", ()), Side("after", ()), (), (), MappingProxyType({}), 0)
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


def plan_repository(request: CompileRequest, before: Repository, now: Repository) -> RepositoryPlan:
    """Plan what happens in each cluster when a repository becomes what it is `now`; `request` has the options."""
    of_old, of_new = (request._replace(root=each.root, tree=scan_workspace(each.root)) for each in (before, now))
    built_old, built_new = _built(of_old, before), _built(of_new, now)
    old, new = _parts(built_old), _parts(built_new)
    is_alike = _settings(before.root) == _settings(now.root)
    alike: dict[str, ClusterPlan] = {}
    unchanged, failed = list[str](), list[tuple[str, tuple[Diagnostic, ...]]]()
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if one is not None and other is not None and is_alike and _objects(one) == _objects(other):
            unchanged.append(name)
            continue
        made = _plan((of_old, one), (of_new, other))
        if not isinstance(made, Plan):
            failed.append((name, made))
            continue
        text = as_text(made, verbose=True)
        known = alike.get(text)
        alike[text] = ClusterPlan((*known.names, name), known.plan) if known is not None else ClusterPlan((name,), made)
    left_out = dict.fromkeys(path for part in new.values() for path in part.left_out)
    files = compare_files((of_old, built_old), (of_new, built_new))
    is_broken = any(part.has_broken for part in new.values())
    return RepositoryPlan(tuple(alike.values()), tuple(unchanged), tuple(failed), tuple(left_out), files, is_broken)


def _built(request: CompileRequest, repository: Repository) -> BuiltRepository:
    options = options_from(read_config(repository.root, Report()), request.options, request.fixed)
    return build_repository(repository, options)


def _parts(built: BuiltRepository) -> dict[str, ClusterPart]:
    """The clusters of a repository by name."""
    return {name: part for part in built.parts for name in part.cluster.names or (part.cluster.title,)}


def compare_files(
    before: tuple[CompileRequest, BuiltRepository], now: tuple[CompileRequest, BuiltRepository]
) -> Difference:
    """Compare the settings of a repository, and the files on which results depend and which olmc does not compile.

    Only files count that an entry may be built with: those in its folder, beside its files, and above them.
    """
    sides = [_inputs(built) for _, built in (before, now)]
    folders = frozenset(path.rpartition("/")[0] for side in sides for path in side.files)
    above = {"", *(folder[:at] for folder in folders for at, mark in enumerate(folder) if mark == "/"), *folders}
    entries = {entry.path for _, built in (before, now) for entry in built.repository.entries}

    def counts(path: str) -> bool:
        folder = path.removeprefix("../").rpartition("/")[0]
        return folder in above or any(each in (".", "") or f"{folder}/".startswith(f"{each}/") for each in entries)

    old, new = (
        repository_side(name, request.root, inputs, counts, request.tree)
        for name, (request, _), inputs in zip(("before", "after"), (before, now), sides, strict=True)
    )
    return compare(old, new)


def _inputs(built: BuiltRepository) -> Inputs:
    """The files of a repository that are compiled, in any of its clusters."""
    found = [content.found for part in built.parts for content in part.contents]
    found += [part.shared for part in built.parts[:1]]
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
    before: tuple[CompileRequest, ClusterPart | None], now: tuple[CompileRequest, ClusterPart | None]
) -> Plan | tuple[Diagnostic, ...]:
    """The plan for a cluster, or the reasons for which there is none; the requests are for the repository."""
    report = Report()
    (of_old, old), (request, new) = before, now
    begun = begun_at(of_old._replace(part=old) if old is not None else None, "before", report)
    # The files of the repository are compared once, and not for each of its new clusters.
    begun = begun._replace(side=begun.side._replace(settings=None)) if begun is not None else None
    if begun is None:
        return tuple(report)
    if new is None:
        assert old is not None
        new = old._replace(contents=(), others=())
    path = PlannedPath(request._replace(part=new), "after")
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
    }  # fmt: skip
    return json_text(data)


def _messages(found: Iterable[Diagnostic]) -> list[str]:
    return [each.message for each in found]
