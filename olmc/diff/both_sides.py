"""Both sides of a comparison, read from what the user names: workspaces and bundles, renderings, revisions of git.

Of two workspaces the new one is what comes of the cluster that the old one leaves, as `olmc plan` has it; what would
come if nothing was stuck there is read as well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from itertools import compress
from operator import not_
from pathlib import Path

from olmc.diagnostics.rules import output as rules
from olmc.diagnostics.rules.reconcile import VERSION_OF_RENDERING
from olmc.diff.git import submodules
from olmc.diff.kept_back import edited_csvs, has_stuck, kept_back_objects
from olmc.diff.loose_bundles import other_comparisons
from olmc.diff.premises import OPEN, Assumed, CompileUnder, Premises, common_premises, compile_assuming
from olmc.diff.renderings import Spared, rendered_objects, spared, texts_below
from olmc.diff.sides import KeptBack, Kinds, Side, Sides, SideSettings, workspace_side
from olmc.diff.sources import SideSource, diagnostics_of, narrowing_at, source_of, stops
from olmc.explain.left_out import SettledCompilation
from olmc.explain.provenance import APPROVAL
from olmc.kube.restmapper import chosen_kinds
from olmc.lean import NamedTuple
from olmc.load.config import narrowing_of, read_config
from olmc.load.left_out import left_out
from olmc.model.diagnostics import Report, Severity
from olmc.model.objects import ObjectKey, gvk_of
from olmc.model.operators import OLM_GROUP
from olmc.model.options import Narrowing
from olmc.model.state import ClusterState
from olmc.model.workspace import Inputs, LeftOut
from olmc.transition.state import state_of


class BegunCluster(NamedTuple):
    """What a cluster holds before anything is applied to it: as a side, and as the state to go on from."""

    side: Side
    state: ClusterState


class _Shared(NamedTuple):
    """What holds for both sides: what compiles them, what is left out, the kinds that are compared, what need not be
    read, the premises of both, and whether each has a cluster of its own."""

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

    What a workspace leaves out by its own settings is decided by the old side for both: whoever changes the new one
    must not choose what a review gets to see. `kinds` are those of the command line, and win.
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
    if first.revision is not None and second.revision is not None:  # in a work tree submodules are folders
        was, now = submodules(first.revision), submodules(second.revision)
        sides = (_with_left_out(before.side, was), _with_left_out(after.side, now))
    later = (approved[0].side, approved[1].side) if approved is not None else None
    return Sides(sides, diagnostics, later, kept_back)


def _with_left_out(side: Side, more: Iterable[LeftOut]) -> Side:
    return side._replace(left_out=(*side.left_out, *more))


def _waits(before: _MadeSide, after: _MadeSide) -> bool:
    """Whether a plan of a side waits for somebody; in a cluster that was named what waits there already is no news."""
    known = before.state.objects if before.state is not None else {}
    was, now = (side.settled.cluster.plans if side.settled is not None else {} for side in (before.side, after.side))
    # A plan that goes, as with an operator that moves to OLM v1, nobody approves any more.
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
    ):  # what another OLM wrote, this one may write anew, of which nothing is known
        return _made(source, shared)
    source.report.found.extend(attempt.report.found)
    return after._replace(state=state)


def _state_of(made: SettledCompilation) -> ClusterState | None:
    """What the cluster of a workspace holds; None where nothing goes on from it: what is applied without OLM, a bundle
    by itself, and the proposed APIs, whose way from one state to another is not known here."""
    options = made.options
    if made.settled is None or made.workspace is None or options.purpose != "review":
        return None
    if options.descoped or options.v2alpha1:
        return None
    return state_of(made.objects, made.settled.cluster, made.workspace)


def _kept_back(before: _MadeSide, after: _MadeSide, source: SideSource, shared: _Shared) -> KeptBack | None:
    """What would come where operators are stuck, or have another content by their name: what they are in a cluster that
    held nothing before."""
    if after.state is None or after.compilation is None or after.side.settled is None:
        return None
    edited = edited_csvs(before.compilation, after.compilation) if before.compilation is not None else ()
    if not edited and not has_stuck(after.side):
        return None
    fresh = _made(source._replace(report=Report()), shared).side
    objects = kept_back_objects(after.side, fresh, edited)
    return KeptBack((before.side, fresh), objects, edited) if objects or edited else None


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
        objects = rendered_objects(source.texts, source.report, shared.known)
        side = Side(source.name, objects, shared=shared.known.shared)
        if source.path.is_dir():
            left = left_out(source.path, Inputs(frozenset(source.texts)), ignored=shared.narrowing.ignored)
            side = side._replace(left_out=left)
        made = made._replace(side=side)
    else:
        made = _compiled(source, source.path, shared)
    side = made.side
    if _is_empty(made, shared) and not shared.allow_empty and not stops(source):
        finding = rules.EMPTY_SIDE.finding(None, side=source.name)
        source.report.add(
            finding._replace(hint="\n".join((*other_comparisons(source.name, source.path), finding.hint)))
        )
    return made._replace(side=_of_kinds(side, shared.kinds))


def _is_empty(made: _MadeSide, shared: _Shared) -> bool:
    """Whether there is nothing at a side, whatever its cluster held before."""
    workspace = made.compilation.workspace if made.compilation is not None else None
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
    # All kinds are compiled, whatever the settings exclude: who may do what is compared even where it is not shown.
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
