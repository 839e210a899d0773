"""The sides of a comparison, from what the user names: workspaces and bundles, renderings, revisions of git."""

from __future__ import annotations

import posixpath
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import not_
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.diagnostics.rules import output as rules
from olmc.diagnostics.rules.reconcile import VERSION_OF_RENDERING
from olmc.diff.git import STREAM, GitError, Revision, as_revision, submodules, with_path, write_tree
from olmc.diff.loose_bundles import other_comparisons
from olmc.diff.premises import OPEN, Assumed, CompileUnder, Premises, bundle_at, common_premises, compile_assuming
from olmc.diff.renderings import Spared, read_rendering, rendered_objects, spared, texts_below
from olmc.explain.left_out import SettledCompilation, left_out_of
from olmc.explain.provenance import APPROVAL
from olmc.kube.restmapper import chosen_kinds
from olmc.lean import NamedTuple
from olmc.load.config import narrowing_of, read_config
from olmc.load.files import MAX_FILE_BYTES, git_ignore_lines, ignore_lines, scan
from olmc.load.left_out import build_files, left_out
from olmc.load.suppressions import Suppression, collect_suppressions
from olmc.model.diagnostics import Diagnostic, Location, Report, Severity
from olmc.model.objects import KubernetesObject, gvk_of
from olmc.model.options import Narrowing, Options
from olmc.model.workspace import Bundle, Inputs, LeftOut
from olmc.output.places import seen_from

if TYPE_CHECKING:
    from olmc.reconcile.loop import SettledCluster


class SideSettings(NamedTuple):
    """What a workspace says about itself: the `spec` of olmc.yaml, the patterns of .olmcignore, and what it accepts.

    `builds` are the files by which other tools build what they apply, each with a digest.
    """

    config: Mapping[str, Any]
    ignore_lines: tuple[str, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    builds: Mapping[str, str] = MappingProxyType({})


class Side(NamedTuple):
    """`settled` is the cluster at rest where the objects were compiled: it knows the catalogs.

    `shared` is how many more objects the other side has just so; nobody had to read them. `excluded` are objects of
    kinds that are not compared, `left_out` what the directory holds besides; `settings` are those of a workspace, None
    for a rendering. `bundle` is the bundle of a side that is one alone, `assumed` what was taken as there.
    """

    name: str
    objects: tuple[KubernetesObject, ...]
    settled: SettledCluster | None = None
    shared: int = 0
    excluded: tuple[KubernetesObject, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    settings: SideSettings | None = None
    bundle: Bundle | None = None
    assumed: Assumed = Assumed()

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


class Sides(NamedTuple):
    """Both sides, None when one can't be compared, and what there is to say, with the sides' names in places.

    `approved` are the sides as they would be if somebody approved the plans that wait, None where none does.
    """

    sides: tuple[Side, Side] | None
    diagnostics: tuple[Diagnostic, ...]
    approved: tuple[Side, Side] | None = None


def read_sides(
    old: str, new: str, folder: Path, compile_folder: CompileUnder, *, allow_empty: bool = False,
    kinds: Kinds | None = None, look_ahead: bool = True,
) -> Sides:  # fmt: skip
    """The two sides of a comparison; with `look_ahead` also as they would be after the plans that wait for approval.

    Each is the path of a workspace, a bundle, a rendering or a file of one, or `git:REF[:PATH]`, or `-` for a stream of
    either; a revision without a path takes that of the other side, or else the current directory. `folder` is an empty
    folder to write revisions to, `compile_folder` compiles a directory. With `allow_empty` a side that does not exist,
    or has no objects, is empty.

    What a workspace leaves out by its own settings is decided by the old side for both: whoever changes the new one
    must not choose what a review gets to see. `kinds` are those of the command line, and win.
    """
    first = _source(old, new, folder, allow_empty)
    second = _source(new, old, folder, allow_empty)
    narrowing = _narrowing(first)
    if first.texts is not None and second.texts is not None and second.path is not None and second.path.is_dir():
        # A new side that decided itself what is ignored could hide a change from its review.
        second = second._replace(texts=texts_below(second.path, second.report, narrowing.ignored))
    known = Spared({}, 0, {})
    if first.texts is not None and second.texts is not None:
        known = spared(first.texts, second.texts)
    shared = _Shared(known, narrowing, kinds or Kinds(narrowing.include, narrowing.exclude), _premises(first, second))
    sides = [_side(source, compile_folder, shared, allow_empty) for source in (first, second)]
    diagnostics = tuple(diagnostic for source in (first, second) for diagnostic in _diagnostics(source))
    if any(map(_stops, (first, second))):
        return Sides(None, diagnostics)
    if first.revision is not None and second.revision is not None:  # in a work tree submodules are folders
        sides = [
            side._replace(left_out=(*side.left_out, *submodules(revision)))
            for side, revision in zip(sides, (first.revision, second.revision), strict=True)
        ]
    approved = None
    if look_ahead and any(map(_waits, sides)):
        after = shared._replace(premises=shared.premises._replace(approved=True))
        approved = (
            _approved(first, sides[0], compile_folder, after), _approved(second, sides[1], compile_folder, after)
        )  # fmt: skip
    return Sides((sides[0], sides[1]), diagnostics, approved)


def _waits(side: Side) -> bool:
    """Whether a plan of a side waits for somebody."""
    return side.settled is not None and any(plan.phase == APPROVAL for plan in side.settled.cluster.plans.values())


def _approved(source: _Source, side: Side, compile_folder: CompileUnder, shared: _Shared) -> Side:
    """A side after its plans were approved; a rendering shows what there is."""
    if side.settled is None:
        return side
    after = _side(source._replace(report=Report()), compile_folder, shared, allow_empty=True)
    return after if after.settled is not None else side


def read_versions(
    path: str, versions: Sequence[tuple[str, CompileUnder]], folder: Path, *, allow_empty: bool = False,
    kinds: Kinds | None = None,
) -> Sides:  # fmt: skip
    """The two sides of what one path is under two versions of OLM.

    `path` is as in `read_sides`, but no rendering; `versions` are the names of both, each with what compiles for it.
    """
    source = _source(path, path, folder, allow_empty)
    if source.texts is not None:
        source.report.add(VERSION_OF_RENDERING.finding(None, side=path))
    diagnostics = list(_diagnostics(source))
    if _stops(source):
        return Sides(None, tuple(diagnostics))
    narrowing = _narrowing(source)
    shared = _Shared(Spared({}, 0, {}), narrowing, kinds or Kinds(narrowing.include, narrowing.exclude))
    sides, stops = [], False
    for name, compile_folder in versions:
        # Both versions read the same files, and would say everything twice.
        under = source._replace(report=Report())
        sides.append(_side(under, compile_folder, shared, allow_empty)._replace(name=f"{path} under OLM {name}"))
        diagnostics += _diagnostics(under)
        stops |= _stops(under)
    return Sides(None if stops else (sides[0], sides[1]), tuple(dict.fromkeys(diagnostics)))


class _Source(NamedTuple):
    """What is at a side: the directory to compile, or the texts of a rendering by path, or neither; the revision that
    they are from, with its path; and the bundle that the directory is, if it is one."""

    name: str
    path: Path | None
    texts: Mapping[str, str] | None
    report: Report
    revision: Revision | None = None
    bundle: Bundle | None = None


class _Shared(NamedTuple):
    """What holds for both sides: what need not be read, what is left out, the kinds that are compared, and the premises
    that bundles are installed in."""

    known: Spared
    narrowing: Narrowing
    kinds: Kinds
    premises: Premises = OPEN


def _premises(old: _Source, new: _Source) -> Premises:
    """Two bundles are installed alike; what else is compared says itself where it goes."""
    if old.bundle is None or new.bundle is None:
        return OPEN
    return common_premises(old.bundle, new.bundle)


def _source(name: str, other: str, folder: Path, allow_empty: bool) -> _Source:
    report = Report()
    revision, path = _place(name, other, folder, report, allow_empty)
    texts = read_rendering(path, report) if path is not None else None
    bundle = bundle_at(path) if path is not None and texts is None else None
    return _Source(name, path, texts, report, revision if path is not None else None, bundle)


def _narrowing(source: _Source) -> Narrowing:
    """What a side leaves out by its own settings; of a rendering that is files alone."""
    if source.path is None or not source.path.is_dir():
        return Narrowing()
    if source.texts is not None:
        return Narrowing(ignored=(*git_ignore_lines(source.path), *ignore_lines(source.path)))
    narrowing = narrowing_of(source.path, read_config(source.path, Report()))
    return narrowing._replace(purpose=narrowing.purpose or Options().purpose)


def _stops(source: _Source) -> bool:
    """Whether a side can't be compared; of a rendering no object may be missing."""
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
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name))
        return None, path if path.exists() else None
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        revision = with_path(revision, other)
        return revision, write_tree(revision, place, report, may_be_absent=allow_empty)
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=name, problem=problem))
        return None, None


def _stream(folder: Path) -> Path:
    """A folder with what comes from stdin, which is a workspace or a rendering like any other."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "stdin.yaml").write_bytes(sys.stdin.buffer.read(MAX_FILE_BYTES + 1))
    return place


def _side(source: _Source, compile_folder: CompileUnder, shared: _Shared, allow_empty: bool) -> Side:
    side = Side(source.name, ())
    if source.path is None:
        side = side._replace(settings=SideSettings({}))
    elif source.texts is not None:
        objects = rendered_objects(source.texts, source.report, shared.known)
        side = Side(source.name, objects, shared=shared.known.shared)
        if source.path.is_dir():
            left = left_out(source.path, Inputs(frozenset(source.texts)), ignored=shared.narrowing.ignored)
            side = side._replace(left_out=left)
    else:
        side = _compiled_side(source, source.path, compile_folder, shared)
    if not side.objects and not side.shared and not allow_empty and not _stops(source):
        finding = rules.EMPTY_SIDE.finding(None, side=source.name)
        source.report.add(
            finding._replace(hint="\n".join((*other_comparisons(source.name, source.path), finding.hint)))
        )
    return _of_kinds(side, shared.kinds)


def _of_kinds(side: Side, kinds: Kinds) -> Side:
    """A side whose objects are of kinds that are compared."""
    if kinds == Kinds():
        return side
    chosen = chosen_kinds(side.objects, *kinds)
    wanted = [gvk_of(obj).group_kind in chosen for obj in side.objects]
    kept, excluded = (tuple(compress(side.objects, selectors)) for selectors in (wanted, map(not_, wanted)))
    return side._replace(objects=kept, excluded=excluded)


def _compiled_side(source: _Source, path: Path, compile_folder: CompileUnder, shared: _Shared) -> Side:
    """A workspace or a bundle as it is without the settings by which it hides something.

    Files that it leaves out itself, and that can't be compiled, stay left out; then the comparison says so.
    """
    # All kinds are compiled, whatever the settings exclude: who may do what is compared even where it is not shown.
    narrowing, premises = shared.narrowing, shared.premises
    config, everything = read_config(path, Report()), narrowing._replace(include=(), exclude=())
    compilation, assumed = compile_assuming(path, everything, premises, compile_folder, source.bundle)
    own = narrowing_of(path, config).ignored
    # The files that the new side ignores may be those that can't be compiled, as a side under construction has them.
    if _is_broken(compilation) and not set(own) <= set(narrowing.ignored):
        wider = everything._replace(ignored=(*narrowing.ignored, *own))
        again, also_assumed = compile_assuming(path, wider, premises, compile_folder, source.bundle)
        if not _is_broken(again):
            compilation, everything, assumed = again, wider, also_assumed
    source.report.found.extend(compilation.diagnostics)
    if _is_broken(compilation):
        return Side(source.name, ())
    files = scan(path, Report(), ignored=everything.ignored, ignore_file=False).walk()
    patterns = tuple(filter(_is_pattern, ignore_lines(path)))
    # What is built is compared as it is built.
    builds = {name: digest for name, digest in build_files(path).items() if name not in compilation.inputs.built}
    settings = SideSettings(config, patterns, tuple(collect_suppressions(path, config, files)), builds)
    objects = tuple(rendered.object for rendered in compilation.objects)
    left = left_out_of(path, compilation, everything)
    return Side(
        source.name, objects, compilation.settled, left_out=left, settings=settings, bundle=source.bundle,
        assumed=assumed,
    )  # fmt: skip


def _is_broken(compilation: SettledCompilation) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in compilation.diagnostics)


def _is_pattern(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _diagnostics(source: _Source) -> Iterable[Diagnostic]:
    """What there is to say about a side, with the paths of files as the user would write them."""
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
