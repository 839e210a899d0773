"""Both sides of a comparison, read from what the user names: workspaces and bundles, renderings, revisions of git.

Of two workspaces the new one is what comes of the cluster that the old one leaves, as `olmc plan` has it; what would
come if nothing was stuck there is read as well.
"""

from __future__ import annotations

import posixpath
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, pairwise
from operator import not_
from pathlib import Path
from types import MappingProxyType

from olmc.compiler.api import load
from olmc.compiler.load.bundles import CATALOGS_FOLDER
from olmc.compiler.load.charts import charts_of_operators
from olmc.compiler.load.config import CONFIG_FILE, narrowing_of, read_config
from olmc.compiler.load.deciding_files import tool_files
from olmc.compiler.load.files import (
    MAX_FILE_BYTES,
    Folder,
    git_ignore_lines,
    ignore_lines,
    is_bundle,
    read_bounded,
    read_text,
    real_path,
    scan,
)
from olmc.compiler.load.kustomization import kustomization_in
from olmc.compiler.load.manifests import SUFFIXES, manifests_in
from olmc.compiler.load.workspace import is_empty
from olmc.compiler.load.workspace_files import left_out, left_out_at
from olmc.compiler.model.cluster import APPROVAL
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import GENERATED, Bundle, ClusterState, Inputs, LeftOut, Reason
from olmc.compiler.olm.naming import COPIED_FROM
from olmc.compiler.output.messages import seen_from
from olmc.compiler.rules.findings import output as rules
from olmc.compiler.rules.findings import workspace as workspace_rules
from olmc.compiler.rules.findings.reconcile import VERSION_OF_RENDERING
from olmc.compiler.rules.findings.workspace import EMPTY
from olmc.compiler.transition.state import state_of
from olmc.k8s.api.restmapper import chosen_kinds, rest_mapper
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import CRD_KIND, OLM_GROUP, KubernetesObject, ObjectKey, gvk_of, object_key
from olmc.k8s.yaml import Document, read
from olmc.k8s.yaml.pieces import Known, read_pieces
from olmc.k8s.yaml.split import Head, head_of, split_documents
from olmc.review.diff.extensions import edited_csvs, has_stuck, kept_back_objects
from olmc.review.diff.git import GitError, as_committed, submodules_at
from olmc.review.diff.operators import CSV
from olmc.review.diff.premises import (
    OPEN,
    Assumed,
    CompileUnder,
    Premises,
    bundle_at,
    common_premises,
    compile_assuming,
)
from olmc.review.diff.revisions import (
    STREAM,
    Revision,
    as_revision,
    may_lack,
    meant_revision,
    unread_side,
    with_path,
    write_tree,
)
from olmc.review.diff.settings import KeptBack, Kinds, Side, Sides, SideSettings, workspace_side
from olmc.review.explain.left_out import SettledCompilation

# Renderings: a file, or a folder of files, with objects as they are, such as `olmc render` writes them.
#
# Documents of two renderings need not all be read: most of a large rendering is the same on both sides, or copies of
# CSVs, of which only counts whether they are the same. Both are recognised in the text as olmc writes it; if any
# document is written otherwise, all of them are read.

_OLM_INPUT = regex(
    r"^(?:[\"']|[^\S\n])*+kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|ClusterServiceVersion|OLMConfig)\b",
    re.MULTILINE,
)
_CATALOG = regex(r"^(?:[\"']|[^\S\n])*+schema[\"']?\s*:\s*[\"']?olm\.", re.MULTILINE)
_STATUS = regex(r"^(status|  \"status\"|    \"status\"|      \"status\")\s*\"?:", re.MULTILINE)

Memory = dict[str, tuple[KubernetesObject, ...]]
"""Objects by the text of their document: what both sides have in common is read once, and is the same object."""

# What it means that other objects change depends on these, so they are read although they are the same.
_READ_ANYWAY = frozenset(
    """ClusterRole ClusterRoleBinding ClusterServiceVersion Deployment HelmRelease InstallPlan Kustomization Operator
    OperatorGroup Role RoleBinding Subscription""".split()
)
_CLUSTER_SCOPED = "\n  scope: Cluster\n"
_IN_METADATA = regex(r"^  (?! ).*?(?=:|$)", re.MULTILINE)
_COPIED = regex(rf"^  labels:\n(?:    .*\n)*?    {re.escape(COPIED_FROM)}: ", re.MULTILINE)


def read_rendering(path: Path, report: Report) -> dict[str, str] | None:
    """The texts of a rendering by path: a file, or a folder whose objects are compared as they are.

    None for a workspace, which is to be compiled: a folder with a bundle, a catalog or olmc.yaml, one that a
    kustomization builds, one with a chart of operators, and one with objects of OLM of which none has a status. What
    olmc wrote is a rendering, as is all else. Problems go to `report`.
    """
    if not path.is_dir():
        return _file(path, report)
    problems = Report()
    folder = scan(path, problems)
    if _holds_workspace(folder):
        return None
    texts = _texts(path, folder, problems)
    # Objects of OLM of which none has a status are input, unless olmc itself says that it wrote them.
    if not any(text.startswith(GENERATED) for text in texts.values()):
        has_chart = any(True for _ in charts_of_operators(path, folder))
        if kustomization_in(path, folder) is not None or has_chart:
            return None
        of_olm = [text for text in texts.values() if _OLM_INPUT.search(text)]
        if any(map(_CATALOG.search, texts.values())) or (of_olm and not any(map(_STATUS.search, of_olm))):
            return None
    for diagnostic in problems:
        report.add(diagnostic)
    return texts


def shows_cluster(texts: Mapping[str, str]) -> bool:
    """Return whether texts of plain objects show a cluster with OLM: as olmc writes it, or with an object of OLM."""
    return any(text.startswith(GENERATED) or _OLM_INPUT.search(text) for text in texts.values())


def holds_nothing(folder: Path) -> bool:
    """Return whether a folder has nothing for OLM, and no file that should be for it and can't be read."""
    report = Report()
    return is_empty(load(folder, report)) and not report.failed


def _file(path: Path, report: Report) -> dict[str, str]:
    """A file that the user names, wherever its links lead, or what a process writes (`<(olmc render)`)."""
    if path.is_fifo():
        try:
            return {path.name: read_bounded(path).decode("utf-8")}
        except OSError as error:
            report.add(workspace_rules.UNREADABLE.finding(None, path=path.name, cause=error.strerror))
            return {}
        except UnicodeDecodeError as error:
            report.add(workspace_rules.NOT_UTF8.finding(None, path=path.name, offset=error.start))
            return {}
    real = real_path(path)
    text = read_text(real.parent, real.name, report)
    return {path.name: text} if text is not None else {}


def _holds_workspace(folder: Folder) -> bool:
    if is_bundle(folder) or folder.path.rpartition("/")[2] == CATALOGS_FOLDER or CONFIG_FILE in folder.files:
        return True
    return any(map(_holds_workspace, folder.folders))


def texts_below(path: Path, report: Report, ignored: tuple[str, ...]) -> dict[str, str]:
    """Return the texts in the folder of a rendering except those that patterns name. The folder's own settings do not
    count."""
    return _texts(path, scan(path, report, ignored=ignored, ignore_file=False), report)


def _texts(root: Path, folder: Folder, report: Report) -> dict[str, str]:
    paths = (path for path in folder.walk() if path.endswith(SUFFIXES))
    return {path: text for path in paths if (text := read_text(root, path, report)) is not None}


def rendered_objects(
    texts: Mapping[str, str], report: Report, known: Spared, replaced: list[LeftOut]
) -> tuple[KubernetesObject, ...]:
    """Return the objects in the texts of a rendering, the last of several with one identity. Problems go to `report`,
    and other definitions of an identity to `replaced`.

    Objects of kinds without namespaces have an empty namespace, as in a cluster.
    """
    objects: dict[ObjectKey, KubernetesObject] = {}
    places: dict[ObjectKey, str] = {}
    written = [(path, obj) for path, text in texts.items() for obj in _objects(path, text, report, known)]
    mapper = rest_mapper(obj for _, obj in written)
    for path, as_written in written:
        obj = mapper.in_its_scope(as_written)
        identity = object_key(obj)
        if identity in objects and objects[identity] != obj:
            report.add(workspace_rules.TWICE.finding(Location(path), identity=identity))
            replaced.append(left_out_at(Location(places[identity]), Reason.REDEFINED, [objects[identity]]))
        objects[identity], places[identity] = obj, path
    return tuple(objects.values())


def _objects(path: str, text: str, report: Report, known: Spared) -> Iterator[KubernetesObject]:
    """The objects of a file: the documents that are not known yet are read together.

    If there is anything to say about them, the whole file is read once more, for the places to be those of the file.
    """
    parts, memory = known.documents.get(text) or split_documents(text), known.memory
    if parts is None:
        yield from _objects_of(read(path, text, report), report)
        return
    unread = list(dict.fromkeys(part for part in parts if part not in memory))
    problems = Report()
    documents = read_pieces(path, "---\n".join(("", *unread)), problems, known.pieces) if unread else []
    objects = [_objects_of([document], problems) for document in documents]
    # Documents that were put together have other line numbers than in their file.
    if problems.found or len(objects) != len(unread):
        yield from _objects_of(read(path, text, report), report)
        return
    memory.update(zip(unread, objects, strict=True))
    for part in parts:
        yield from memory[part]


def _objects_of(documents: Sequence[Document], report: Report) -> tuple[KubernetesObject, ...]:
    return tuple(manifest.object for manifest in manifests_in(documents, report, judged=False))


class Spared(NamedTuple):
    """The facts that need no reading: objects by document, and the number of objects that both sides have, which are
    left out; the parsed parts of documents; and the documents of texts."""

    memory: Memory
    shared: int
    pieces: Known
    documents: Mapping[str, list[str]] = MappingProxyType({})


def spared(old: Mapping[str, str], new: Mapping[str, str]) -> Spared:
    """Return the content of two renderings, by path, that need not be read: none, unless olmc has written both."""
    split = {text: split_documents(text) for text in (*old.values(), *new.values())}
    documents = {text: parts for text, parts in split.items() if parts is not None}
    if len(documents) < len(split):
        return Spared({}, 0, {}, documents)
    sides = [[part for text in texts.values() for part in documents[text]] for texts in (old, new)]
    heads = {part: head_of(part) for part in dict.fromkeys(chain(*sides))}
    memory: Memory = {}
    if None in heads.values():
        return Spared(memory, 0, {}, documents)
    known = {part: head for part, head in heads.items() if head is not None}
    copies = (part for part, head in known.items() if head.kind == CSV and _is_copy(part))
    memory.update((part, (_stand_in(known[part], part),)) for part in copies)
    # Of an identity that occurs twice the last one counts, which takes reading both.
    alone = [{head for head, count in Counter(map(known.get, side)).items() if count == 1} for side in sides]
    unique = alone[0] & alone[1]
    both = set(sides[0]) & set(sides[1])
    shared = [part for part in both if known[part] in unique and _tells_nothing(known[part], part)]
    memory.update((part, ()) for part in shared)
    return Spared(memory, len(shared), {}, documents)


def _is_copy(document: str) -> bool:
    """Return whether a CSV has the label of a copy: one whose metadata have no key twice, of which another could
    count."""
    metadata = document[: document.find("\nspec:") + 1 or len(document)]
    if COPIED_FROM not in metadata:
        return False
    keys = _IN_METADATA.findall(metadata)
    return len(keys) == len(set(keys)) and _COPIED.search(metadata) is not None


def _stand_in(head: Head, document: str) -> KubernetesObject:
    """An object with the identity of a copied CSV that equals another one only if their documents are the same."""
    metadata = {"name": head.name, "namespace": head.namespace, "labels": {COPIED_FROM: ""}}
    return {"apiVersion": head.api_version, "kind": head.kind, "metadata": metadata, "document": document}


def _tells_nothing(head: Head, document: str) -> bool:
    """Return whether what other objects mean does not depend on this one; a CRD may say that its objects have no
    namespace."""
    if head.kind == CRD_KIND:
        return _CLUSTER_SCOPED not in document
    return head.kind not in _READ_ANYWAY and "\nitems:" not in document


# What is at a side: where the user's name for it leads, and what is to be read there.


class SideSource(NamedTuple):
    """The content of a side: the directory to compile, or the texts of a rendering by path, or neither; their revision,
    with its path; and the bundle in the directory, if it is one."""

    name: str
    path: Path | None
    texts: Mapping[str, str] | None
    report: Report
    revision: Revision | None = None
    bundle: Bundle | None = None


def source_of(name: str, other: str, folder: Path, allow_empty: bool) -> SideSource:
    report = Report()
    revision, path = _place(name, other, folder, report, allow_empty)
    texts = read_rendering(path, report) if path is not None else None
    bundle = bundle_at(path) if path is not None and texts is None else None
    return SideSource(name, path, texts, report, revision if path is not None else None, bundle)


def narrowing_at(source: SideSource) -> Narrowing:
    """Return the content that a side leaves out by its own settings; for a rendering only files."""
    if source.path is None or not source.path.is_dir():
        return Narrowing()
    if source.texts is not None:
        return Narrowing(ignored=(*git_ignore_lines(source.path), *ignore_lines(source.path)))
    narrowing = narrowing_of(source.path, read_config(source.path, Report()))
    return narrowing._replace(purpose=narrowing.purpose or Options().purpose)


def stops(source: SideSource) -> bool:
    """Return whether a side can't be compared; of a rendering no object may be missing."""
    # What can't be read of a workspace has stopped its compilation; what can't be read of a rendering would just be
    # missing.
    least = Severity.ERROR if source.texts is None else Severity.FAILURE
    return (source.report.worst() or Severity.INFO) >= least


def _place(
    name: str, other: str, folder: Path, report: Report, allow_empty: bool
) -> tuple[Revision | None, Path | None]:
    """The revision that a side is of, and where it is on this machine, None if it is nowhere."""
    revision = as_revision(name)
    if name == STREAM:
        return None, _stream(folder)
    if revision is None:
        path = Path(name)
        if not path.exists() and not allow_empty:
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name, meant=meant_revision(name)))
        # What a .gitignore keeps out of the repository is no difference between its work tree and a revision.
        path = as_committed(path) if as_revision(other) is not None and path.is_dir() else path
        return None, path if path.exists() else None
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        there = with_path(revision, other)
        may_be_absent = allow_empty or may_lack(revision, there)
        return there, write_tree(there, place, report, may_be_absent=may_be_absent)
    except (GitError, OSError) as error:
        report.add(unread_side(name, error))
        return None, None


def _stream(folder: Path) -> Path:
    """A folder with what comes from stdin, which is a workspace or a rendering like any other."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "stdin.yaml").write_bytes(sys.stdin.buffer.read(MAX_FILE_BYTES + 1))
    return place


def diagnostics_of(source: SideSource) -> Iterable[Diagnostic]:
    """Yield the findings about a side, with the paths of files as the user would write them."""
    is_folder = source.path is None or source.path.is_dir()
    if as_revision(source.name) is None and source.name != STREAM:
        name = posixpath.normpath(source.name if is_folder else posixpath.dirname(source.name) or ".")
        return seen_from("" if name == "." else name, source.report)
    root = f"{source.name.rstrip('/')}/"
    if source.path is not None and not is_folder:
        root = source.name.removesuffix(source.path.name)

    def named(place: Location) -> Location:
        return place._replace(path=f"{root}{place.path}")

    return (
        diagnostic._replace(
            location=named(diagnostic.location) if diagnostic.location is not None else None,
            related=tuple((text, named(place)) for text, place in diagnostic.related),
        )
        for diagnostic in source.report
    )


class BegunCluster(NamedTuple):
    """The content of a cluster before an apply: as a side, and as the state to continue from."""

    side: Side
    state: ClusterState


class _Shared(NamedTuple):
    """The common input of both sides: the compiler, the left out content, the compared kinds, the content that need not
    be read, the premises of both, and whether each has a cluster of its own."""

    compile_folder: CompileUnder
    narrowing: Narrowing
    kinds: Kinds
    known: Spared
    premises: Premises = OPEN
    allow_empty: bool = False
    fresh: bool = False


class _MadeSide(NamedTuple):
    """A side, its compilation, if it has one, and the state that its cluster was in before, if it was in one."""

    side: Side
    compilation: SettledCompilation | None = None
    state: ClusterState | None = None


def read_sides(
    old: str | BegunCluster, new: str, folder: Path, compile_folder: CompileUnder, *, allow_empty: bool = False,
    kinds: Kinds | None = None, look_ahead: bool = True, fresh: bool = False,
) -> Sides:  # fmt: skip
    """The two sides of a comparison; with `look_ahead` also as they would be after the plans that wait for approval.

    Each is the path of a workspace, a bundle, a rendering or a file of one, or `git:REF[:PATH]`, or `-` for a stream of
    either; a revision without a path takes that of the other side, or else the current directory. `old` may also be a
    cluster. `folder` is an empty folder to write revisions to, `compile_folder` compiles a directory. With
    `allow_empty` a side that does not exist, or has no objects, is empty.

    A new workspace is applied to the cluster that the old one has settled in. With `fresh` each has a cluster of its
    own, as sides of other sorts always have.

    The settings of the old side decide for both sides what a workspace leaves out: a change of the new side must not
    hide objects from its review. `kinds` are those of the command line, and win.
    """
    if isinstance(old, str):
        first, second = source_of(old, new, folder, allow_empty), source_of(new, old, folder, allow_empty)
        narrowing = narrowing_at(first)
    else:
        first, second = SideSource(old.side.name, None, None, Report()), source_of(new, ".", folder, allow_empty)
        narrowing = Narrowing(old.state.ignored or ())
    if first.texts is not None and second.texts is not None and second.path is not None and second.path.is_dir():
        # A new side that decided itself what is ignored could hide a change from its review.
        second = second._replace(texts=texts_below(second.path, second.report, narrowing.ignored))
    known = Spared({}, 0, {})
    if first.texts is not None and second.texts is not None:
        known = spared(first.texts, second.texts)
    kinds = kinds or Kinds(narrowing.include, narrowing.exclude)
    shared = _Shared(compile_folder, narrowing, kinds, known, _premises(first, second), allow_empty, fresh)
    before = _made(first, shared) if isinstance(old, str) else _MadeSide(_of_kinds(old.side, kinds), state=old.state)
    after = _after(before, second, shared)
    if before.state is not None and before.side.settings is None:  # a cluster says nothing about what is left out
        after = after._replace(side=after.side._replace(settings=None, left_out=()))
    diagnostics = tuple(diagnostic for source in (first, second) for diagnostic in diagnostics_of(source))
    if any(map(stops, (first, second))):
        return Sides(None, diagnostics)
    approved = None
    if look_ahead and _waits(before, after):
        shared = shared._replace(premises=shared.premises._replace(approved=True))
        approved = (_approved(first, before, shared), after)
        approved = (approved[0], _approved(second, after, shared, approved[0]))
    kept_back = _kept_back(*(approved or (before, after)), second, shared)
    sides = (before.side, after.side)
    later = (approved[0].side, approved[1].side) if approved is not None else None
    return Sides(sides, diagnostics, later, kept_back)


def _waits(before: _MadeSide, after: _MadeSide) -> bool:
    """Return whether a plan of a side waits for somebody; in a cluster that was named what waits there already is no
    news."""
    if before.side.settled is None and after.side.settled is None:
        return False

    known = before.state.objects if before.state is not None else {}
    was, now = (side.settled.cluster.plans if side.settled is not None else {} for side in (before.side, after.side))
    # A plan that the new side removes, as in a move to OLM v1, can't be approved any more.
    left = was if after.side.settled is None else {name: plan for name, plan in was.items() if name in now}
    return any(
        plan.phase == APPROVAL and ObjectKey(OLM_GROUP, "InstallPlan", plan.namespace, plan.name) not in known
        for plan in (*left.values(), *now.values())
    )


def _approved(source: SideSource, now: _MadeSide, shared: _Shared, before: _MadeSide | None = None) -> _MadeSide:
    """A side after its plans were approved, on the cluster of the one before; a rendering shows what there is."""
    if now.compilation is None:
        return now
    again, shared = source._replace(report=Report()), shared._replace(allow_empty=True)
    later = _after(before, again, shared) if before is not None else _made(again, shared)
    return later if later.side.settled is not None else now


def _after(before: _MadeSide, source: SideSource, shared: _Shared) -> _MadeSide:
    """The new side: what comes of the cluster before once it is applied there; by itself where there is no such."""
    state = before.state or (_state_of(before.compilation) if before.compilation is not None else None)
    is_workspace = source.texts is None and source.bundle is None and (source.path is not None or shared.allow_empty)
    if state is None or not is_workspace or shared.fresh:
        return _made(source, shared)
    premises = shared.premises._replace(state=state, apis=before.side.assumed.known)
    onward, attempt = shared._replace(premises=premises), source._replace(report=Report())
    if source.path is None:  # of what is not there all that was applied is deleted
        with tempfile.TemporaryDirectory(prefix="olmc-empty-") as empty:
            return _made(source._replace(path=Path(empty)), onward)
    after = _made(attempt, onward)
    made = [each.settled for each in (before.compilation, after.compilation) if each is not None and each.settled]
    if any(
        each.cluster.profile != made[0].cluster.profile for each in made
    ):  # what another OLM wrote, this one may write again, of which nothing is known
        return _made(source, shared)
    source.report.found.extend(attempt.report.found)
    return after._replace(state=state)


def _state_of(made: SettledCompilation) -> ClusterState | None:
    """Return the state of a workspace's cluster; None where no apply continues from it: output without OLM, a bundle by
    itself, and the proposed APIs, whose transitions are not known here."""
    options = made.options
    if made.settled is None or made.workspace is None or options.purpose != "review":
        return None
    if options.descoped or options.operators_and_installs:
        return None
    return state_of(made.objects, made.settled.cluster, made.workspace)


def _kept_back(before: _MadeSide, after: _MadeSide, source: SideSource, shared: _Shared) -> KeptBack | None:
    """Return the sides for operators that are stuck, or have another content under the same name: their state in a
    cluster that was empty before."""
    if after.state is None or after.compilation is None or after.side.settled is None:
        return _withheld(before.side, after.side)

    edited = edited_csvs(before.compilation, after.compilation) if before.compilation is not None else ()
    if not edited and not has_stuck(after.side):
        return None
    fresh = _made(source._replace(report=Report()), shared).side
    objects = kept_back_objects(after.side, fresh, edited)
    return KeptBack((before.side, fresh), objects, edited) if objects or edited else None


def _withheld(before: Side, after: Side) -> KeptBack | None:
    """The accounts and permissions of a bundle by itself whose installation fails before it writes them."""
    if after.bundle is None:
        return None
    left = [
        [obj for stop in side.settled.stopped.values() for obj in stop.withheld] if side.settled is not None else []
        for side in (before, after)
    ]
    was, now = (
        side._replace(objects=(*side.objects, *objects)) for side, objects in zip((before, after), left, strict=True)
    )
    return KeptBack((was, now), frozenset(map(object_key, (*left[0], *left[1])))) if left[1] else None


def read_versions(
    path: str, versions: Sequence[tuple[str, CompileUnder]], folder: Path, *, allow_empty: bool = False,
    kinds: Kinds | None = None,
) -> Sides:  # fmt: skip
    """The two sides of what one path is under two versions of OLM.

    `path` is as in `read_sides`, but no rendering; `versions` are the names of both, each with what compiles for it.
    """
    source = source_of(path, path, folder, allow_empty)
    if source.texts is not None:
        source.report.add(VERSION_OF_RENDERING.finding(None, side=path))
    diagnostics = list(diagnostics_of(source))
    if stops(source):
        return Sides(None, tuple(diagnostics))
    narrowing = narrowing_at(source)
    kinds = kinds or Kinds(narrowing.include, narrowing.exclude)
    sides, is_broken = [], False
    for name, compile_folder in versions:
        # Both versions read the same files, and would say everything twice.
        under = source._replace(report=Report())
        shared = _Shared(compile_folder, narrowing, kinds, Spared({}, 0, {}), allow_empty=allow_empty)
        sides.append(_made(under, shared).side._replace(name=f"{path} under OLM {name}"))
        diagnostics += diagnostics_of(under)
        is_broken |= stops(under)
    return Sides(None if is_broken else (sides[0], sides[1]), tuple(dict.fromkeys(diagnostics)))


def _premises(old: SideSource, new: SideSource) -> Premises:
    """Two bundles are installed alike; what else is compared says itself where it goes."""
    if old.bundle is None or new.bundle is None:
        return OPEN
    return common_premises(old.bundle, new.bundle)


def _made(source: SideSource, shared: _Shared) -> _MadeSide:
    """A side under the premises that `shared` has."""
    made = _MadeSide(Side(source.name, ()))
    if source.path is None:
        made = made._replace(side=made.side._replace(settings=SideSettings({})))
    elif source.texts is not None:
        replaced: list[LeftOut] = []
        objects = rendered_objects(source.texts, source.report, shared.known, replaced)
        side = Side(source.name, objects, shared=shared.known.shared, left_out=tuple(replaced))
        if source.path.is_dir():
            inputs = Inputs(frozenset(source.texts))
            left = left_out(source.path, inputs, ignored=shared.narrowing.ignored, beside_project=True)
            tools = SideSettings(
                {}, (), (), *tool_files(source.path, inputs, source.texts, submodules=submodules_at(source.path))
            )
            side = side._replace(left_out=(*left, *replaced), tools=tools)
        made = made._replace(side=side)
    else:
        made = _compiled(source, source.path, shared)
    side = made.side
    if _is_empty(made, shared) and not shared.allow_empty and not stops(source):
        source.report.add(_emptiness(source))
    return made._replace(side=_of_kinds(side, shared.kinds))


def _emptiness(source: SideSource) -> Diagnostic:
    """Report that a side gives no objects: a folder with nothing for OLM in it is an empty cluster, anything else a
    mistake."""
    if source.path is not None and source.path.is_dir() and holds_nothing(source.path):
        return EMPTY.finding(None, path=source.name)
    finding = rules.EMPTY_SIDE.finding(None, side=source.name)
    return finding._replace(hint="\n".join((*other_comparisons(source.name, source.path), finding.hint)))


def _is_empty(made: _MadeSide, shared: _Shared) -> bool:
    """Return whether a side is empty, without regard to its cluster's earlier state. Catalogs are compared without
    objects."""
    workspace = made.compilation.workspace if made.compilation is not None else None
    if workspace is not None and workspace.catalogs:
        return False
    if workspace is not None and shared.premises.state is not None:
        return not workspace.manifests
    return not made.side.objects and not made.side.shared


def _of_kinds(side: Side, kinds: Kinds) -> Side:
    """A side whose objects are of kinds that are compared."""
    if kinds == Kinds():
        return side
    chosen = chosen_kinds(side.objects, *kinds)
    wanted = [gvk_of(obj).group_kind in chosen for obj in side.objects]
    kept, excluded = (tuple(compress(side.objects, selectors)) for selectors in (wanted, map(not_, wanted)))
    return side._replace(objects=kept, excluded=excluded)


def _compiled(source: SideSource, path: Path, shared: _Shared) -> _MadeSide:
    """A workspace or a bundle as it is without the settings by which it hides something.

    Files that it leaves out itself, and that can't be compiled, stay left out; then the comparison says so.
    """
    # Compile all kinds, also excluded ones: the permissions of hidden objects are compared as well.
    everything = shared.narrowing._replace(include=(), exclude=())

    def under(narrowing: Narrowing, premises: Premises = shared.premises) -> tuple[SettledCompilation, Assumed]:
        return compile_assuming(path, narrowing, premises, shared.compile_folder, source.bundle)

    compilation, assumed = under(everything)
    own = narrowing_of(path, read_config(path, Report())).ignored
    # The files that the new side ignores may be those that can't be compiled, as a side under construction has them.
    if _is_broken(compilation) and not set(own) <= set(everything.ignored):
        wider = everything._replace(ignored=(*everything.ignored, *own))
        again, also_assumed = under(wider)
        if not _is_broken(again):
            compilation, everything, assumed = again, wider, also_assumed
    source.report.found.extend(compilation.diagnostics)
    if _is_broken(compilation):
        return _MadeSide(Side(source.name, ()))
    fresh = shared.premises._replace(state=None)
    begins_fresh = shared.premises.state is None
    side = workspace_side(
        source.name, path, compilation, everything, None if begins_fresh else lambda: under(everything, fresh)[0]
    )
    return _MadeSide(side._replace(bundle=source.bundle, assumed=assumed), compilation)


def _is_broken(compilation: SettledCompilation) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in compilation.diagnostics)


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
    """Return whether two folders are named by versions of one operator, as in a repository of bundles."""
    (home, _, older), (other_home, _, newer) = first.rpartition("/"), second.rpartition("/")
    return home == other_home and all(name.lstrip("v")[:1].isdigit() for name in (older, newer))
