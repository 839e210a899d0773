"""Compare the settings of a workspace: its olmc.yaml, left out files, and accepted findings.

A change of these settings can hide other changes from a review, so a review shows it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from olmc.compiler.load.build_files import BuildFile
from olmc.compiler.load.config import CONFIG_FILE, read_config
from olmc.compiler.load.deciding_files import BESIDE_CHART, LINKED, Deciders, tool_files
from olmc.compiler.load.files import IGNORE_FILE, ScannedFolder, ignore_lines, scan_workspace
from olmc.compiler.load.gitops_files import ARGO_FOLDER, ARGO_GENERATES, objects_to_fill
from olmc.compiler.load.manifests import written_object
from olmc.compiler.load.suppressions import Suppression, collect_suppressions, with_subjects
from olmc.compiler.model.options import Narrowing
from olmc.compiler.model.workspace import Bundle, Inputs, LeftObject, LeftOut, Reason
from olmc.k8s.diagnostics import Diagnostic, Location, RefusedObject, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ACCOUNT, KubernetesObject, ObjectKey, PolicyRule, object_key
from olmc.review.diff.crd_kinds import (
    ADDED,
    CHANGE,
    CHANGED,
    REMOVED,
    RISK,
    ChangeGroup,
    DiffChange,
    Judgement,
    Message,
    change_kind,
    from_to,
    listed,
    shown,
)
from olmc.review.diff.deltas import deltas, path_text
from olmc.review.diff.git import submodules_at
from olmc.review.diff.object_grades import KnownPlaces, explained, risks_of_change
from olmc.review.diff.premises import Assumed
from olmc.review.explain.left_out import SettledCompilation, left_out_of, rank

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Catalog
    from olmc.compiler.reconcile.loop import SettledCluster

# The kinds of changes of settings and of left out files: these changes decide the content of a review.

_MOST = 12


@change_kind("SettingChanged", ChangeGroup.SETTINGS)
def setting_changed(path: str, old: Any, new: Any, is_narrowing: bool, why: tuple[str, ...]) -> Judgement:
    """A setting of olmc.yaml with another value, or one that comes or goes; `path` as `spec.exclude`, `why` has the
    reasons for which it is a risk."""
    effect = "; it decides what is compiled, and does not count here" if is_narrowing else ""
    reasons: Message = ("; ", *listed(why, len(why))) if why else ()
    return RISK if is_narrowing or why else CHANGE, (shown(path), *from_to(old, new), effect, *reasons)


@change_kind("PatternAdded", ChangeGroup.SETTINGS, ADDED)
def pattern_added(pattern: str) -> Judgement:
    """A line of .olmcignore that only the new side has."""
    severity = CHANGE if pattern.startswith("!") else RISK
    return severity, (*_effect(pattern), "; it does not count here")


@change_kind("PatternRemoved", ChangeGroup.SETTINGS, REMOVED)
def pattern_removed(pattern: str) -> Judgement:
    """A line of .olmcignore that only the old side has."""
    severity = RISK if pattern.startswith("!") else CHANGE
    return severity, ("no longer ", *_effect(pattern), "; it still counts here")


def _effect(pattern: str) -> Message:
    verb = "takes back in what matches " if pattern.startswith("!") else "leaves out what matches "
    return (verb, shown(pattern.removeprefix("!")))


@change_kind("SuppressionAdded", ChangeGroup.SETTINGS, ADDED)
def suppression_added(code: str, reason: str, files: str, is_grave: bool) -> Judgement:
    """A finding that somebody accepts from now on, by a comment in a file or in olmc.yaml; `files` is the pattern of
    the files for which olmc.yaml accepts it."""
    return RISK if is_grave else CHANGE, ("accepts ", *_accepted(code, reason, files))


@change_kind("SuppressionRemoved", ChangeGroup.SETTINGS, REMOVED)
def suppression_removed(code: str, reason: str, files: str) -> Judgement:
    """A finding that is not accepted any more; the values are those of SuppressionAdded."""
    return CHANGE, ("no longer accepts ", *_accepted(code, reason, files))


def _accepted(code: str, reason: str, files: str) -> Message:
    where: Message = (" in ", shown(files)) if files else ()
    return (shown(code or "nothing"), *where, *((": ", shown(reason)) if reason else (", without a reason",)))


_UNCOMPARED = ", and olmc cannot compare the results"
"""The reason why a build needs a review: olmc builds it on neither side, or on one side only."""


@change_kind("BuildAdded", ChangeGroup.SETTINGS, ADDED)
def build_added(tool: str) -> Judgement:
    """A file that only the new side has, by which `tool` builds what is applied of its folder, and olmc does not."""
    return RISK, ("new: GitOps tools build this folder with ", tool, _UNCOMPARED)


@change_kind("BuildChanged", ChangeGroup.SETTINGS, CHANGED)
def build_changed(tool: str) -> Judgement:
    """Such a file that both sides have, with another content."""
    return RISK, ("another content: GitOps tools build this folder with ", tool, _UNCOMPARED)


@change_kind("BuildRemoved", ChangeGroup.SETTINGS, REMOVED)
def build_removed(tool: str) -> Judgement:
    """Such a file that only the old side has: what is applied of the folder is no longer what it made of it."""
    return RISK, ("gone: GitOps tools no longer build this folder with ", tool, " by it", _UNCOMPARED)


@change_kind("BuildReadsAdded", ChangeGroup.SETTINGS, ADDED)
def build_reads_added(tool: str, files: tuple[str, ...]) -> Judgement:
    """Files that only the new side has, and that `tool` reads to build the folder of this one."""
    return RISK, ("more to build this with: ", *listed(files, _MOST), *_read_by(tool))


@change_kind("BuildReadsChanged", ChangeGroup.SETTINGS, CHANGED)
def build_reads_changed(tool: str, files: tuple[str, ...]) -> Judgement:
    """Such files that both sides have, with another content."""
    return RISK, ("another content of what this is built with: ", *listed(files, _MOST), *_read_by(tool))


@change_kind("BuildReadsRemoved", ChangeGroup.SETTINGS, REMOVED)
def build_reads_removed(tool: str, files: tuple[str, ...]) -> Judgement:
    """Such files that only the old side has, or that the build no longer reads."""
    return RISK, ("no longer there to build this with: ", *listed(files, _MOST), *_read_by(tool))


def _read_by(tool: str) -> Message:
    return ("; GitOps tools build this folder with ", tool, _UNCOMPARED)


@change_kind("DecidingFileAdded", ChangeGroup.SETTINGS, ADDED)
def deciding_file_added(files: tuple[str, ...], effect: str) -> Judgement:
    """A file that only the new side has, and on which the result of a tool depends; or `files` of which a tool knows by
    this one. `effect` says how the result depends on them."""
    return RISK, ("new: ", *_deciding(files, effect))


@change_kind("DecidingFileChanged", ChangeGroup.SETTINGS, CHANGED)
def deciding_file_changed(files: tuple[str, ...], effect: str) -> Judgement:
    """Such a file, or files, that both sides have, with another content."""
    return RISK, ("another content: ", *_deciding(files, effect))


@change_kind("DecidingFileRemoved", ChangeGroup.SETTINGS, REMOVED)
def deciding_file_removed(files: tuple[str, ...], effect: str) -> Judgement:
    """Such a file, or files, that only the old side has."""
    return RISK, ("removed: ", *_deciding(files, effect))


def _deciding(files: tuple[str, ...], effect: str) -> Message:
    return (*listed(files, _MOST), "; " * bool(files), effect, ", which olmc does not follow")


@change_kind("LeftOutAdded", ChangeGroup.SETTINGS, ADDED)
def left_out_added(reason: str, objects: tuple[str, ...], unread: str, severity: Severity) -> Judgement:
    """Objects that are left out from now on: in a file, or in all files of a folder that are left out for one reason.

    A tool that applies the whole folder applies them. `unread` describes content that olmc can't read, "" for none.
    """
    return severity, ("left out, and applied by other tools: ", *_content(objects, unread), f"; {reason}")


@change_kind("LeftOutChanged", ChangeGroup.SETTINGS, CHANGED)
def left_out_changed(reason: str, objects: tuple[str, ...], unread: str, severity: Severity) -> Judgement:
    """Objects that are left out on both sides, and not the same; the values are those of LeftOutAdded."""
    return severity, ("left out on both sides, and another: ", *_content(objects, unread), f"; {reason}")


@change_kind("LeftOutRemoved", ChangeGroup.SETTINGS, REMOVED)
def left_out_removed(reason: str, objects: tuple[str, ...], unread: str, severity: Severity) -> Judgement:
    """Objects that are no longer left out, or no longer there; the values are those of LeftOutAdded."""
    return min(severity, CHANGE), ("no longer among what is left out: ", *_content(objects, unread), f"; {reason}")


def _content(objects: tuple[str, ...], unread: str) -> Message:
    return (*listed(objects, _MOST), " and " * bool(objects and unread), unread)


# The sides of a comparison: what a cluster holds, or is going to, and what a workspace says about itself.


class SideSettings(NamedTuple):
    """The settings of a workspace: the `spec` of olmc.yaml, the patterns of .olmcignore, and the accepted findings.

    `builds` are the files by which other tools build what they apply, `deciders` those on which the result of a tool
    depends in another way.
    """

    config: Mapping[str, Any]
    ignore_lines: tuple[str, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    builds: Mapping[str, BuildFile] = MappingProxyType({})
    deciders: Deciders = Deciders({})


class Side(NamedTuple):
    """`settled` is the cluster at rest where the objects were compiled: it knows the catalogs. `shared` is how many
    more objects the other side has unchanged; they were not read. `excluded` are objects of kinds that are
    not compared, `left_out` other content of the directory; `settings` are those of a workspace, None for a
    rendering; `tools` are the files on which results of tools depend, of a rendering that is a folder. `bundle`
    is the bundle of a side that is one alone, `assumed` what was taken as there. `is_held`: the objects are
    what a cluster holds, so that all of it is known. `served` is what ClusterCatalogs serve, by name;
    `requested` are the ClusterExtensions as the workspace has them, which the API server may refuse;
    `installing` is what the accounts that install them need to be allowed: rules, each with its namespace, ""
    for the whole cluster. `manifests` are the objects that the workspace has written, and not OLM; of a
    rendering they are unknown. `unfilled` are objects that none is before Flux fills in variables. `refused` are
    those that the API server refuses, None of a side that was not compiled.
    """

    name: str
    objects: tuple[KubernetesObject, ...]
    settled: SettledCluster | None = None
    shared: int = 0
    excluded: tuple[KubernetesObject, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    settings: SideSettings | None = None
    tools: SideSettings | None = None
    bundle: Bundle | None = None
    assumed: Assumed = Assumed()
    is_held: bool = False
    served: Mapping[str, Catalog] = MappingProxyType({})
    requested: Mapping[ObjectKey, KubernetesObject] = MappingProxyType({})
    installing: Mapping[ObjectKey, tuple[tuple[str, PolicyRule], ...]] = MappingProxyType({})
    manifests: frozenset[ObjectKey] = frozenset()
    unfilled: tuple[KubernetesObject, ...] = ()
    refused: tuple[LeftOut, ...] | None = None

    @property
    def home(self) -> str:
        """The namespace that a bundle by itself is installed in, "" for anything else."""
        settled, bundle = self.settled, self.bundle
        groups = settled.cluster.groups if settled is not None and bundle is not None else ()
        return next((name.namespace for name in groups), "")

    @property
    def kube_version(self) -> str:
        """The version of Kubernetes that it was compiled for, "" where it was not compiled."""
        return self.assumed.kube_version


class Kinds(NamedTuple):
    """The kinds that are compared: only those in `include`, if there are any, and not those in `exclude`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class KeptBack(NamedTuple):
    """The results of operators if they were not stuck, or not installed already: the sides without that, and the
    objects of these operators. `edited` are the CSVs whose content changed under the same name."""

    sides: tuple[Side, Side]
    objects: frozenset[ObjectKey]
    edited: tuple[ObjectKey, ...] = ()


class Sides(NamedTuple):
    """Both sides, None when one can't be compared, and what there is to say, with the sides' names in places.

    `approved` are the sides as they would be if somebody approved the plans that wait, None where none does;
    `kept_back` is None where nothing new is stuck.
    """

    sides: tuple[Side, Side] | None
    diagnostics: tuple[Diagnostic, ...]
    approved: tuple[Side, Side] | None = None
    kept_back: KeptBack | None = None


def compiled_side(name: str, compilation: SettledCompilation) -> Side:
    """Return the compilation of a workspace as a side, without its settings."""
    objects = tuple(rendered.object for rendered in compilation.objects)
    workspace, default = compilation.workspace, compilation.options.default_namespace
    written = {object_key(m.object) for m in workspace.manifests} if workspace is not None else set()
    placed = {key._replace(namespace=default or "") for key in written if not key.namespace}
    refused = tuple(_refused(compilation.diagnostics))
    return Side(name, objects, compilation.settled, manifests=frozenset(written | placed), refused=refused)


def _refused(diagnostics: Iterable[Diagnostic]) -> Iterator[LeftOut]:
    """List the objects that the API server refuses, each with what is wrong with it."""
    for each in diagnostics:
        if isinstance(each.cause, RefusedObject) and each.location is not None:
            digest = f"{each.message} {each.cause.content}"
            left = LeftObject(ObjectKey("", each.cause.kind, "", each.cause.name), digest)
            yield LeftOut(each.location, Reason.UNFILLED if each.cause.has_variables else Reason.REFUSED, (left,))


def workspace_side(
    name: str, path: Path, compilation: SettledCompilation, narrowing: Narrowing,
    compile_fresh: Callable[[], SettledCompilation] | None = None,
) -> Side:  # fmt: skip
    """The workspace at `path` as a side: what it was compiled to with `narrowing`, and what it says about itself.

    `compile_fresh` compiles it for a cluster that holds nothing, where `compilation` began with a state.
    """
    config = read_config(path, Report())
    known = compilation.tree
    files = scan_workspace(path, narrowing.ignored, ignore_file=False, known=known, by_package=True).folder.walk()
    if compilation.workspace is not None and compilation.workspace.has_idle_bundles:
        files = (file for file in files if file not in compilation.inputs.content)
    patterns = tuple(filter(_is_pattern, ignore_lines(path)))
    # Also files in other folders of the repository are built into it, and what comments there accept is accepted here.
    commented = dict.fromkeys((*files, *sorted(compilation.inputs.built)))
    accepted = tuple(with_subjects(path, collect_suppressions(path, config, commented)))
    read = compilation.workspace.documents if compilation.workspace is not None else {}
    texts = {file: text for file, text in read if file not in compilation.inputs.content}
    tools = tool_files(path, compilation.inputs, texts, known, submodules_at(path))
    settings = SideSettings(config, patterns, accepted, *tools)
    left = left_out_of(path, compilation, narrowing, beside_project=True)
    if compile_fresh is not None and (
        any(each.reason is Reason.RENDERED for each in left) or _has_only_kept(compilation)
    ):  # what was rendered into the workspace knew no state, and what the cluster has need not be from there
        left = left_out_of(path, compile_fresh(), narrowing, beside_project=True)
    side = cluster_side(name, compilation)
    unfilled = tuple(obj for obj in objects_to_fill(texts) if object_key(obj) not in side.manifests)
    return side._replace(left_out=left, settings=settings, unfilled=unfilled)


def cluster_side(name: str, compilation: SettledCompilation) -> Side:
    """Return what was compiled as a side, with what its ClusterCatalogs serve and its ClusterExtensions ask for."""
    side = compiled_side(name, compilation)
    workspace = compilation.workspace
    if workspace is None:
        return side
    names = workspace.extension_catalog_names
    served = {called: catalog for called, catalog in workspace.catalogs.items() if called in names}
    installing: dict[ObjectKey, tuple[tuple[str, PolicyRule], ...]] = {}
    for result in compilation.extensions:
        account = ObjectKey("", ACCOUNT, result.extension.namespace, result.extension.service_account)
        rules = ((scoped.namespace, scoped.rule) for scoped in result.required)
        installing[account] = (*installing.get(account, ()), *rules)
    requested = {object_key(m.object): m.object for m in workspace.extensions}
    return side._replace(served=served, requested=requested, installing=installing)


def repository_side(
    name: str, root: Path, inputs: Inputs, counts: Callable[[str], bool], followed: Collection[str],
    known: ScannedFolder | None,
) -> Side:  # fmt: skip
    """A repository as a side without objects: its settings, and the files on which results of tools depend and which
    are not among its `inputs`.

    `counts` says of the path of a file whether it concerns what is compiled. `followed` are files of ApplicationSets
    whose Applications count as entries, so that what their generators read does. `known` is an earlier scan.
    """
    config = read_config(root, Report())
    accepted = with_subjects(root, collect_suppressions(root, config, sorted(inputs.files - inputs.content)))
    builds, deciders = tool_files(root, inputs, {}, known, submodules_at(root))
    builds = {path: file for path, file in builds.items() if counts(path)}
    decide = (
        one for one in deciders.digests
        if (counts(one.path) or (one.lead and counts(one.lead)))
        and not (one.lead in followed and one.effect in (ARGO_FOLDER, ARGO_GENERATES))
    )  # fmt: skip
    deciders = deciders._replace(digests={one: deciders.digests[one] for one in decide})
    patterns = tuple(filter(_is_pattern, ignore_lines(root)))
    return Side(name, (), settings=SideSettings(config, patterns, tuple(accepted), builds, deciders))


def _has_only_kept(made: SettledCompilation) -> bool:
    """Return whether the cluster has CSVs of which there are bundles, and which no catalog has any more."""
    if made.settled is None or made.workspace is None:
        return False
    catalogs = made.settled.cluster.catalogs.values()
    listed = {entry.name for source in catalogs for entry in source.entries}
    return any(name.name in made.workspace.bundles.keys() - listed for name in made.settled.cluster.csvs)


def _is_pattern(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


_CONFIG = ObjectKey("olmc.dev", "Config", "", CONFIG_FILE)
_NARROWING = frozenset({"exclude", "for", "ignore", "include"})
"""Settings that decide what there is to see."""


def setting_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """Yield how two workspaces differ in what they say about themselves; of a folder of plain objects, which says
    nothing, only the files on which results of tools depend."""
    if old.settings is None or new.settings is None:
        was, now = (side.settings or side.tools for side in (old, new))
        if was is not None and now is not None and _are_alike(was, now, old, new):
            yield from _tools(old, new, was, now)
        return
    yield from _config(old.settings, new.settings)
    yield from _patterns(old.settings.ignore_lines, new.settings.ignore_lines)
    yield from _suppressions(old.settings.suppressions, new.settings.suppressions)
    yield from _tools(old, new, old.settings, new.settings)


def _are_alike(was: SideSettings, now: SideSettings, old: Side, new: Side) -> bool:
    """Return whether two sides are folders of plain objects, or the same folder of a repository, of which one is a
    workspace: beside a rendering there is nothing of what it was made of."""
    place = was.deciders.place
    return old.settings is new.settings or (place is not None and place == now.deciders.place)


def _file(path: str) -> ObjectKey:
    """Return the identity of a file of a workspace among objects."""
    return ObjectKey("", "File", "", path)


def _config(old: SideSettings, new: SideSettings) -> Iterator[DiffChange]:
    before, after = ({key: value for key, value in side.config.items() if key != "suppress"} for side in (old, new))
    tested = KnownPlaces({}, {})
    for delta in deltas(before, after, ("spec",)):
        is_narrowing = len(delta.path) > 1 and delta.path[1] in _NARROWING
        why = explained(risks_of_change(_CONFIG, {"spec": before}, {"spec": after}, delta, tested), delta.path)
        yield setting_changed(_file(CONFIG_FILE), path_text(delta.path), delta.old, delta.new, is_narrowing, why)


def _patterns(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[DiffChange]:
    file = _file(IGNORE_FILE)
    removed, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    yield from (pattern_added(file, pattern) for pattern in sorted(added))
    yield from (pattern_removed(file, pattern) for pattern in sorted(removed))
    if old != new and not removed and not added:  # of patterns that contradict each other, the last one counts
        yield setting_changed(file, "order", list(old), list(new), is_narrowing=True, why=())


def _suppressions(old: Iterable[Suppression], new: Iterable[Suppression]) -> Iterator[DiffChange]:
    before, after = Counter(map(_key, old)), Counter(map(_key, new))
    # Accepting a warning is a matter of taste, accepting a failure hides that something does not work.
    grave = _grave_codes() if after - before else frozenset()
    for path, code, files, reason, _ in sorted((after - before).elements()):
        yield suppression_added(_file(path), code, reason, files, code in grave)
    for path, code, files, reason, _ in sorted((before - after).elements()):
        yield suppression_removed(_file(path), code, reason, files)


def _key(suppression: Suppression) -> tuple[str, str, str, str, str]:
    return suppression.place.path, suppression.code, suppression.pattern, suppression.reason, suppression.about


def _grave_codes() -> frozenset[str]:
    """The codes of findings that are more than warnings."""
    from olmc.review.rules.catalogue import all_rules  # it imports every module of rules

    return frozenset(rule.code for rule in all_rules() if rule.severity >= Severity.FAILURE)


def _tools(old: Side, new: Side, was: SideSettings, now: SideSettings) -> Iterator[DiffChange]:
    """Yield how two sides differ in the files on which the results of tools depend."""
    reported = _reported_as_left_out(old, new)
    yield from _builds(was.builds, now.builds, reported)
    yield from _deciders(was.deciders, now.deciders, reported)


def _builds(
    before: Mapping[str, BuildFile], after: Mapping[str, BuildFile], reported: frozenset[str]
) -> Iterator[DiffChange]:
    """Compare the inputs of other tools' builds: the files that make a folder a build, and one change for each of these
    files for all other files that the build reads."""
    read: dict[tuple[str, str, str], list[str]] = {}
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        file = now or was
        if file is None or (was is not None and now is not None and was.digest == now.digest):
            continue
        how = "added" if was is None else "removed" if now is None else "changed"
        if not file.lead:
            yield _BUILDS[how](_file(path), file.tool)
        # Of a build that is new, or gone, all files are.
        elif (file.lead in before) == (file.lead in after) and path not in reported:
            read.setdefault((file.lead, file.tool, how), []).append(path)
    for (lead, tool, how), paths in read.items():
        yield _READ[how](_file(lead), tool, tuple(paths))


def _deciders(old: Deciders, new: Deciders, reported: frozenset[str]) -> Iterator[DiffChange]:
    """Yield how two sides differ in the other files on which a result depends: one change for each that stands for
    itself, and for all that a tool reads by the same file."""
    before, after = old.digests, new.digests
    groups: dict[tuple[str, str, str], list[str]] = {}
    for decider in sorted(before.keys() | after.keys()):
        path, lead, effect = decider
        if before.get(decider) == after.get(decider):
            continue
        if effect == LINKED and (path in reported or not (path in old.paths and path in new.paths)):
            continue  # what a new link leads to is new itself
        if path.startswith("../") and old.place != new.place:
            continue  # the folders above are others
        if effect == BESIDE_CHART and not (old.has_own_values and new.has_own_values):
            continue  # a side has the values of a release
        how = "added" if decider not in before else "removed" if decider not in after else "changed"
        groups.setdefault((lead or path, effect, how), []).extend([path] if lead else ())
    for (path, effect, how), files in groups.items():
        yield _DECIDING[how](_file(path), tuple(files), effect)


_DECIDING = {
    "added": deciding_file_added, "changed": deciding_file_changed, "removed": deciding_file_removed,
}  # fmt: skip
_BUILDS = {"added": build_added, "changed": build_changed, "removed": build_removed}
_READ = {"added": build_reads_added, "changed": build_reads_changed, "removed": build_reads_removed}


def _reported_as_left_out(old: Side, new: Side) -> frozenset[str]:
    """The files of which a change is reported as one of what is left out."""
    before, after = (
        {
            (left.location.path, left.reason, left.objects, left.problem, left.digest if left.problem else "")
            for left in side.left_out
        }
        for side in (old, new)
    )
    return frozenset(path for path, *_ in before ^ after)


class _Unread(NamedTuple):
    """Unread content of a file in addition to its objects, and the digest of the file."""

    problem: str
    digest: str


class _Pile(NamedTuple):
    """Left out content of one group: the digests of the objects, and by path the unreadable content."""

    objects: dict[ObjectKey, list[str]]
    unread: dict[str, _Unread]


_Key = TypeVar("_Key", ObjectKey, str)


def left_out_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """Compare the content that is left out of the sides, by file; content that is left out by choice, by folder.

    Each change of it is reported: a tool that applies the whole directory applies this content as well.
    """
    is_known = old.refused is not None and new.refused is not None
    stopped = tuple(tuple(_stopped(side)) for side in (old, new))
    before, after = (
        _piles((*side.left_out, *(_refused_only(side) if is_known else ()), *(found if all(stopped) else ())))
        for side, found in zip((old, new), stopped, strict=True)
    )
    for place, reason in sorted(before.keys() | after.keys()):
        was, now = (piles.get((place, reason), _Pile({}, {})) for piles in (before, after))
        yield from _pile_changes(_file(place), reason, was, now, _weight(reason, old, new))


def _refused_only(side: Side) -> Iterator[LeftOut]:
    """List the refused objects of a side without those that it leaves out anyway, which have their groups there."""
    named = {(obj.identity.kind, obj.identity.name) for left in side.left_out for obj in left.objects}
    for left in side.refused or ():
        if all((obj.identity.kind, obj.identity.name) not in named for obj in left.objects):
            yield left


def _stopped(side: Side) -> Iterator[LeftOut]:
    """List the objects of a bundle by itself that nothing writes because its installation fails before them."""
    if side.bundle is None or side.settled is None or not side.settled.stopped:
        return
    applied = {(key.group, key.kind, key.name) for key in map(object_key, (*side.objects, *side.excluded))}
    for file in side.bundle.files:
        key = object_key(file.manifest.object)
        if (key.group, key.kind, key.name) not in applied:
            left = LeftObject(key, written_object(file.manifest.object))
            path = "/".join(filter(None, (side.bundle.directory, "manifests", file.name)))
            yield LeftOut(Location(path), Reason.STOPPED, (left,))


def _piles(left_out: Iterable[LeftOut]) -> dict[tuple[str, Reason], _Pile]:
    piles: dict[tuple[str, Reason], _Pile] = {}
    for left in left_out:
        path = left.location.path
        place = f"{path.rpartition('/')[0]}/".lstrip("/") or "." if left.reason.is_chosen else path
        pile = piles.setdefault((place, left.reason), _Pile({}, {}))
        for obj in left.objects:
            pile.objects.setdefault(obj.identity, []).append(obj.digest)
        if left.problem:
            pile.unread[path] = _Unread(left.problem, left.digest)
    return piles


def _weight(reason: Reason, old: Side, new: Side) -> Severity:
    """Grade what is left out; objects with variables are graded as they are with the defaults of these. Of two bundles
    by themselves no tool applies the folder, in which there are tests."""
    are_alone = all(side.bundle is not None and not side.bundle.directory for side in (old, new))
    return CHANGE if reason is Reason.UNFILLED or (reason is Reason.BUNDLE and are_alone) else RISK


def _pile_changes(file: ObjectKey, reason: Reason, old: _Pile, new: _Pile, severity: Severity) -> Iterator[DiffChange]:
    for kind, objects, unread in (
        (left_out_added, new.objects.keys() - old.objects.keys(), new.unread.keys() - old.unread.keys()),
        (left_out_changed, _differing(old.objects, new.objects), _differing(old.unread, new.unread)),
        (left_out_removed, old.objects.keys() - new.objects.keys(), old.unread.keys() - new.unread.keys()),
    ):
        if objects or unread:
            names = tuple(str(obj) for obj in sorted(objects, key=lambda obj: (rank(obj.kind), obj)))
            problems = {(new.unread.get(path) or old.unread[path]).problem for path in unread}
            yield kind(file, reason.text, names, " and ".join(sorted(problems)), severity)


def _differing(old: Mapping[_Key, object], new: Mapping[_Key, object]) -> set[_Key]:
    return {key for key in old.keys() & new.keys() if old[key] != new[key]}
