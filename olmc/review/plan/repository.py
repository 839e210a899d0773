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
from olmc.compiler.load.files import has_file, read_text, real_path, scan_workspace
from olmc.compiler.load.kustomization import kustomization_in, read_tree
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.repository import BuiltRepository, ClusterPart, EntryContent, build_repository, headings_of
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.workspace import Inputs
from olmc.compiler.output.messages import clean, json_text, seen_from
from olmc.k8s.diagnostics import Diagnostic, Report, Severity, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    GroupKind,
    Manifest,
    ObjectKey,
    annotations_of,
    gvk_of,
    mapping,
    name_of,
    namespace_of,
    object_key,
    text,
)
from olmc.k8s.yaml import read
from olmc.review.check.repository import CompiledCluster, cluster_findings, missing_catalogs
from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.crd_kinds import DiffChange
from olmc.review.diff.outputs import as_data as difference_data
from olmc.review.diff.outputs import as_markdown as difference_markdown
from olmc.review.diff.settings import Side, repository_side
from olmc.review.diff.text import as_text as difference_text
from olmc.review.plan.appliers import HeldEntry, applier_changes, followed_files, held_entries, without_undetermined
from olmc.review.plan.engine import PlannedPath, begun_at, compile_planned, plan_from, planned_for
from olmc.review.plan.leftovers import Plan
from olmc.review.plan.outputs import as_data, as_markdown, as_text

_SHOWN = 6
_FILES = "files of the repository"


class ClusterPlan(NamedTuple):
    """The plan for clusters in which the same happens, by their names; an entry without one goes by its folder."""

    names: tuple[str, ...]
    plan: Plan


class ReleasedEntry(NamedTuple):
    """An entry that a tool applied to a cluster before and does not apply to it any more."""

    cluster: str
    path: str

    def __str__(self) -> str:
        return self.path if self.cluster == self.path else f"{self.path} ({self.cluster})"


class RepositoryPlan(NamedTuple):
    """The plans for the clusters that a change reaches, the names of those that it does not reach, those that can't be
    compiled with the reasons, and the entries that can't be built on a side. `files` is how the repository differs in
    its settings, and in files on which the results of GitOps tools depend and which olmc does not compile; `released`
    are the entries that leave a cluster. `is_broken`: an entry is left out because a file of it can't be read.
    `undetermined` are the entries that olmc knows on one side alone; `problems` are why it can't build some; `held` are
    the entries in a plan that the change may not reach."""

    clusters: tuple[ClusterPlan, ...]
    unchanged: tuple[str, ...] = ()
    failed: tuple[tuple[str, tuple[Diagnostic, ...]], ...] = ()
    left_out: tuple[str, ...] = ()
    files: Difference = Difference(Side("before", ()), Side("after", ()), (), (), MappingProxyType({}), 0)
    released: tuple[ReleasedEntry, ...] = ()
    is_broken: bool = False
    undetermined: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    held: tuple[HeldEntry, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing happens in any cluster, and no file on which results depend changes."""
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
    before, now, undetermined = without_undetermined(with_entries_of(before, now), with_entries_of(now, before))
    now = _without_released(before, now)
    appliers = applier_changes(before, now)
    of_old, of_new = (request._replace(root=each.root, tree=scan_workspace(each.root)) for each in (before, now))
    whole_old, whole_new = _built(of_old, before), _built(of_new, now)
    (built_old, built_new), unbuilt = _without_unbuilt(whole_old, whole_new)
    undetermined = tuple(dict.fromkeys((*undetermined, *unbuilt.on_one_side)))
    unseen = {*undetermined, *unbuilt.on_both, *chain.from_iterable(paths for _, paths in appliers)}
    is_alike = _settings(before.root) == _settings(now.root)
    alike: dict[str, ClusterPlan] = {}
    planned: set[str] = set()
    unchanged, failed = list[str](), list[tuple[str, tuple[Diagnostic, ...]]]()
    pairs, released = pair_clusters(built_old, built_new)
    for name, one, other in pairs:
        is_same = one is not None and is_alike and _content(before.root, one) == _content(now.root, other)
        made = _plan((of_old, one), (of_new, other), names) if not is_same else None
        if made is None or (isinstance(made, Plan) and made.is_empty):
            is_seen = unseen.isdisjoint(other.cluster.paths) and all(name != each.cluster for each in released)
            unchanged += [name] if is_seen else []
            continue
        if not isinstance(made, Plan):
            failed.append((name, made))
            continue
        planned.update(other.cluster.paths)
        text = as_text(made, verbose=True)
        known = alike.get(text)
        alike[text] = ClusterPlan((*known.names, name), known.plan) if known is not None else ClusterPlan((name,), made)
    unknown = (*unbuilt.on_both, *unbuilt.on_one_side)
    files = compare_files((of_old, built_old), (of_new, built_new), names, unknown)
    files = files._replace(changes=(*files.changes, *(change for change, _ in appliers)))
    is_broken = any(part.has_broken for part in whole_new.parts)
    outcome = tuple(alike.values()), tuple(unchanged), tuple(failed)
    held = tuple(each for each in held_entries(before, now) if each.path in planned)
    return RepositoryPlan(*outcome, unbuilt.on_both, files, released, is_broken, undetermined, unbuilt.problems, held)


def _without_released(before: Repository, now: Repository) -> Repository:
    """Return a repository without the entries that a tool applied before and none applies now.

    The name of such a folder is no sign of a cluster: the repository named the one that it was in.
    """
    applied, still = ({entry.path for entry in side.entries if entry.appliers} for side in (before, now))
    return now._replace(entries=tuple(each for each in now.entries if each.path in still or each.path not in applied))


# Which objects a cluster has on both sides.

_Pair = tuple[str, ClusterPart | None, ClusterPart]


def pair_clusters(before: BuiltRepository, now: BuiltRepository) -> tuple[list[_Pair], tuple[ReleasedEntry, ...]]:
    """Pair the clusters of both sides by name, in order, and return the entries that leave a cluster.

    Whether the objects of such an entry go depends on its tool, so they stay in the plan. So does an object that moves
    to an entry that may be in the same cluster, or to a file that is new to it and belongs to no entry; it is not new
    there. Without a name a cluster is the folder of an entry, and any other entry may be in it.
    """
    old, new = _parts(before, now)
    own_old, own_new = ({name: _own(part) for name, part in side.items()} for side in (old, new))
    lost = _missing(own_old, own_new)
    gained = _missing(own_new, own_old)
    staying = _staying(own_old, own_new)
    come = {key for keys in gained.values() for key in keys}
    deleted = {key for keys in lost.values() for key in keys}
    added = _beside(now, before.repository, deleted)
    removed = _beside(before, now.repository, come)
    # Where tools of the repository apply entries, one without a tool was in no cluster.
    left = lost if not any(entry.appliers for entry in before.repository.entries) else {
        name: keys for name, keys in lost.items() if old[name].cluster.names
    }  # fmt: skip
    released: list[ReleasedEntry] = []
    pairs: list[_Pair] = []
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        there = _taken_over(name, old, new, gained) | added
        held = _held_by_tools(one, other)
        stays = {
            key: m for key, m in lost.get(name, {}).items() if key in there or key in held or _is_never_pruned(m)
        }  # fmt: skip
        for content in one.contents if one is not None else ():
            path = content.placement.entry.path
            keys = {object_key(m.object) for m in content.found.manifests} & lost.get(name, {}).keys()
            if (other is None or path not in other.cluster.paths) and not keys <= stays.keys():
                released.append(ReleasedEntry(name, path))
                stays |= {key: lost[name][key] for key in keys}
        if other is None:
            continue
        known = _taken_over(name, new, old, left if other.cluster.names else lost) | removed
        was = {key: _as_before(key, m, lost) for key, m in gained.get(name, {}).items() if key in known}
        begun = one if one is not None or not was else other._replace(contents=(), others=())
        # What other entries have is in their plans, unless it comes or goes for good.
        kept = staying | (deleted & (come | added)) | (come & removed)
        parts = [part for part in (one, other) if part is not None]
        others = {key: m for part in parts for m in part.others if (key := object_key(m.object)) in kept}
        if begun is not None:
            begun = _with_others(begun, others | was)
        elif others:
            begun = _with_others(other._replace(contents=(), others=()), others)
        pairs.append((name, begun, _with_others(other, others | stays)))
    return pairs, tuple(dict.fromkeys(released))


def _held_by_tools(before: ClusterPart | None, now: ClusterPart | None) -> set[ObjectKey]:
    """Return the objects of entries whose tools remove nothing, as their objects in the repository say now."""
    if before is None or now is None:
        return set()
    keeping = {
        content.placement.entry.path
        for content in now.contents
        if (appliers := content.placement.entry.appliers) and not any(each.is_pruning for each in appliers)
    }
    contents = (content for content in before.contents if content.placement.entry.path in keeping)
    return {object_key(manifest.object) for content in contents for manifest in content.found.manifests}


def _is_never_pruned(manifest: Manifest) -> bool:
    """Return whether annotations keep the tools of GitOps from removing an object."""
    annotations = annotations_of(manifest.object)
    options = text(annotations.get("argocd.argoproj.io/sync-options")).split(",")
    keeps = text(annotations.get("helm.sh/resource-policy")) == "keep"
    return keeps or "Prune=false" in options or annotations.get("kustomize.toolkit.fluxcd.io/prune") == "disabled"


_Objects = dict[ObjectKey, Manifest]


def _own(part: ClusterPart) -> _Objects:
    """The manifests of the entries of a cluster."""
    return {object_key(m.object): m for content in part.contents for m in content.found.manifests}


def _missing(here: Mapping[str, _Objects], there: Mapping[str, _Objects]) -> dict[str, _Objects]:
    """The manifests that a cluster has on this side alone."""
    return {name: {key: m for key, m in own.items() if key not in there.get(name, {})} for name, own in here.items()}


def _taken_over(
    name: str, here: Mapping[str, ClusterPart], there: Mapping[str, ClusterPart], come: Mapping[str, _Objects]
) -> set[ObjectKey]:
    """The objects that come to other entries on the side `there`, which may be in the cluster of this name."""
    part = here.get(name) or there[name]
    is_open = not part.cluster.names
    return {
        key for other, keys in come.items() if other != name and (is_open or not there[other].cluster.names)
        for key in keys
    }  # fmt: skip


def _as_before(key: ObjectKey, manifest: Manifest, lost: Mapping[str, _Objects]) -> Manifest:
    """Return an object as the entry had it that loses it, else as it is now."""
    return next((keys[key] for keys in lost.values() if key in keys), manifest)


def _staying(old: Mapping[str, _Objects], new: Mapping[str, _Objects]) -> frozenset[ObjectKey]:
    """Return the objects that an entry has on both sides alike."""
    was, now = (chain.from_iterable(own.items() for own in side.values()) for side in (old, new))
    known = {key: m.object for key, m in was}
    return frozenset(key for key, m in now if known.get(key) == m.object)


def _with_others(part: ClusterPart, more: Mapping[ObjectKey, Manifest]) -> ClusterPart:
    """Return a cluster with objects that it has from elsewhere; its own ones count."""
    known = {object_key(m.object) for m in part.others} | _own(part).keys()
    return part._replace(others=(*part.others, *(m for key, m in more.items() if key not in known)))


def _beside(built: BuiltRepository, there: Repository, keys: Collection[ObjectKey]) -> set[ObjectKey]:
    """Return those objects that stand in a file of a repository which another version of it has without them, and of
    which no entry is built."""
    here, compiled = built.repository, _inputs((built,)).files
    names = {key.name for key in keys}
    found: set[ObjectKey] = set()
    for path in here.folder.walk() if keys else ():
        if not path.endswith(SUFFIXES) or path in compiled:
            continue
        text = read_text(here.root, path, Report()) or ""
        if "{{" in text or not any(name in text for name in names):
            continue
        other = (read_text(there.root, path, Report()) or "") if has_file(there.root, path) else ""
        if text != other:
            found |= _named_in(path, text, keys) - _named_in(path, other, keys)
    return found


def _named_in(path: str, text: str, keys: Collection[ObjectKey]) -> set[ObjectKey]:
    """Return the objects that a text has; a kustomization or a tool may give them their namespace."""
    objects = [mapping(document.value) for document in read(path, text, Report())]
    heads = {(gvk_of(obj).group_kind, name_of(obj)): namespace_of(obj) for obj in objects if obj.get("kind")}
    return {
        key for key in keys
        if heads.get((GroupKind(key.group, key.kind), key.name)) in ("", key.namespace)
    }  # fmt: skip


def _built(request: CompileRequest, repository: Repository) -> BuiltRepository:
    options = options_from(read_config(repository.root, Report()), request.options, request.fixed)
    return build_repository(repository, options)


class _Unbuilt(NamedTuple):
    """The folders of entries that olmc can't build: those of which it can build the other side, and the rest; and
    why."""

    on_one_side: tuple[str, ...]
    on_both: tuple[str, ...]
    problems: tuple[Diagnostic, ...]


def _without_unbuilt(*sides: BuiltRepository) -> tuple[list[BuiltRepository], _Unbuilt]:
    """Return both sides without the entries that olmc can't build on one of them, and which these are.

    Such an entry is unknown: without it on one side only, a plan would remove or create all of its objects.
    """
    contents = [[each for part in built.parts for each in part.contents] for built in sides]
    broken = [{_application(each) for each in of_side if each.problems} for of_side in contents]
    whole = [{_application(each) for each in of_side if not each.problems} for of_side in contents]
    unknown = set().union(*broken)
    kept = [
        built._replace(parts=tuple(
            part._replace(contents=tuple(each for each in part.contents if _application(each) not in unknown))
            for part in built.parts
        ))
        for built in sides
    ]  # fmt: skip
    half = unknown & set().union(*whole)
    first = (each.problems[0] for of_side in contents for each in of_side if each.problems)
    problems = {(str(each.location), each.message): each for each in first}
    on_one_side, on_both = (tuple(sorted({path for path, *_ in some})) for some in (half, unknown - half))
    return kept, _Unbuilt(on_one_side, on_both, tuple(problems.values()))


def _application(content: EntryContent) -> tuple[str, ...]:
    """Return the folder of an entry and the objects that apply it: a chart is an entry for each of its releases."""
    entry = content.placement.entry
    return entry.path, *(applier.name for applier in entry.appliers)


def _parts(*sides: BuiltRepository) -> list[dict[str, ClusterPart]]:
    """The clusters of each side of a repository by name, and those without one by a heading that both sides have."""
    headings = headings_of(*([part.cluster for part in built.parts] for built in sides))
    return [
        {name: part for part, heading in zip(built.parts, of_side, strict=True)
         for name in part.cluster.names or (heading,)}
        for built, of_side in zip(sides, headings, strict=True)
    ]  # fmt: skip


def compare_files(
    before: tuple[CompileRequest, BuiltRepository],
    now: tuple[CompileRequest, BuiltRepository],
    names: tuple[str, str],
    unbuilt: Sequence[str] = (),
) -> Difference:
    """Compare the settings of a repository, and the files on which results depend and which olmc does not compile.

    Only files count that an entry may be built with: those in its folder, beside its files, and above them. Of the
    entries that are `unbuilt` the folders of all kustomizations count that they are built with.
    """
    # What a side compiles is compared as that, and the other side may compile it no longer, or not yet.
    inputs = _inputs((before[1], now[1]))
    folders = frozenset(path.rpartition("/")[0] for path in inputs.files)
    above = {"", *(folder[:at] for folder in folders for at, mark in enumerate(folder) if mark == "/"), *folders}
    entries = {entry.path for _, built in (before, now) for entry in built.repository.entries}
    for _, built in (before, now):
        above |= _folders_of_builds(built.repository.root, unbuilt)

    def counts(path: str) -> bool:
        folder = path.removeprefix("../").rpartition("/")[0]
        return folder in above or any(each in (".", "") or f"{folder}/".startswith(f"{each}/") for each in entries)

    followed = followed_files(*(built.repository for _, built in (before, now)))
    old, new = (
        repository_side(name, request.root, inputs, counts, followed, request.tree)
        for name, (request, _) in zip(names, (before, now), strict=True)
    )
    return compare(old, new)


def _folders_of_builds(root: Path, entries: Iterable[str]) -> set[str]:
    """Return the folders of the kustomizations that entries are built with, also if the build fails."""
    home, found = real_path(root), set[str]()
    for path in entries:
        kustomization = kustomization_in(root / path, scan_workspace(root / path).folder)
        tree = read_tree(kustomization, root) if kustomization is not None else None
        folders = [each.parent for each in tree.kustomizations] if tree is not None else []
        found |= {each.relative_to(home).as_posix() for each in folders if each.is_relative_to(home)}
    return found


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


def _content(root: Path, part: ClusterPart) -> tuple[list[Any], ...]:
    """The content of a cluster of the repository at `root`: its objects, its catalogs and bundles, what policies
    install, the locks of its entries, and what is refused."""
    found = [part.shared, *(content.found for content in part.contents)]
    own = [manifest.object for content in part.contents for manifest in content.found.manifests]
    grave = (each for content in part.contents for each in content.findings if each.severity >= Severity.FAILURE)
    homes = [root / path for path in part.cluster.paths]
    return (
        [*own, *(manifest.object for manifest in part.others)],
        [(each.catalogs, each.bundles, each.policies) for each in found],
        [read_text(home, LOCK_FILE, Report()) if has_file(home, LOCK_FILE) else None for home in homes],
        # An object that is refused for the same reason may have other content.
        [f"{each.message} {getattr(each.cause, 'content', '')}" for each in grave],
    )


def _plan(
    before: tuple[CompileRequest, ClusterPart | None], now: tuple[CompileRequest, ClusterPart], names: tuple[str, str]
) -> Plan | tuple[Diagnostic, ...]:
    """The plan for a cluster, or the reasons for which there is none; the requests are for the repository."""
    report = Report()
    (of_old, old), (request, new) = before, now
    begun = begun_at(of_old._replace(part=old) if old is not None else None, names[0], report)
    # The files of the repository are compared once, and not for each of its new clusters.
    begun = begun._replace(side=begun.side._replace(settings=None)) if begun is not None else None
    if begun is None:
        return tuple(report)
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


def repository_plan_from(folder: str, planned: RepositoryPlan) -> RepositoryPlan:
    """Return the plans with their places and commands as one gives them where `folder` is that of the repository."""
    clusters = tuple(each._replace(plan=plan_from(folder, each.plan)) for each in planned.clusters)
    return planned._replace(clusters=clusters, problems=tuple(seen_from(folder, planned.problems)))


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
        listed = _counted([str(each) for each in planned.released])
        lines.append(f"no longer applied: {listed}; whether the objects go depends on the tool, the plans keep them")
    lines += [str(each) for each in planned.held]
    lines += [f"{name} can't be compiled: {reasons[0].message if reasons else ''}" for name, reasons in planned.failed]
    if planned.left_out:
        lines.append(f"left out, as olmc can't build them: {_counted(planned.left_out)}")
    if planned.undetermined:
        lines.append(f"left out, as olmc knows them on one side only: {_counted(planned.undetermined)}")
    lines += [f"  {each.location}: {each.message}" for each in planned.problems[:_SHOWN] if each.location]
    return "".join(f"{clean(line)}\n" for line in lines)


def _counted(names: Sequence[str]) -> str:
    return join_limited(names, _SHOWN)


def repository_json(planned: RepositoryPlan) -> str:
    """The plans as JSON, in the format of `schemas/repository-plan.schema.json`."""
    clusters = [{"names": list(each.names), "plan": as_data(each.plan)} for each in planned.clusters]
    failed = [{"name": name, "reasons": _messages(reasons)} for name, reasons in planned.failed]
    data = {
        "version": 1, "files": difference_data(planned.files)["changes"], "clusters": clusters,
        "unchanged": list(planned.unchanged), "failed": failed, "leftOut": [*planned.undetermined, *planned.left_out],
        "released": [{"cluster": each.cluster, "entry": each.path} for each in planned.released],
        "held": [{"entry": each.path, "reason": each.reason} for each in planned.held],
    }  # fmt: skip
    return json_text(data)


def _messages(found: Iterable[Diagnostic]) -> list[str]:
    return [each.message for each in found]
