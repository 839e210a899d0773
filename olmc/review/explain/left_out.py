"""The left out content: files that tools would apply and olmc does not compile, and objects that filters exclude."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from olmc.compiler.load.config import narrowing_of, read_config
from olmc.compiler.load.files import scan_workspace
from olmc.compiler.load.workspace_files import left_out, objects_of
from olmc.compiler.model.catalog import Catalog, names_of_bundles
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import LeftObject, LeftOut, Reason, Unused, Workspace
from olmc.compiler.output.messages import clean
from olmc.compiler.output.text import as_yaml
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.render.rbac import render
from olmc.compiler.rules.findings import output as apply_rules
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.applied import is_applied, is_object
from olmc.k8s.diagnostics import Diagnostic, Report, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ObjectKey, spec_of, text
from olmc.targets.pipeline import PROPOSED

if TYPE_CHECKING:
    from olmc.compiler.load.files import ScannedFolder
    from olmc.compiler.model.options import Options
    from olmc.compiler.model.workspace import Inputs, Workspace
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.compiler.results import ExtensionOutcome
    from olmc.k8s.diagnostics import Diagnostic
    from olmc.k8s.objects import Rendered

_SHOWN = 3


class IncompleteOutput(NamedTuple):
    """That the options include, exclude and phase have left out everything: `problem` as in "PATH gives no objects: …",
    and what there would be."""

    problem: str
    hint: str


def output_left_out(compiled: Sequence[tuple[Cluster, Options]]) -> IncompleteOutput | None:
    """Return the content that is left out of compilations without objects; None if there are no objects at all."""
    chosen = [options for _, options in compiled]
    filters = [name for name in ("include", "exclude") if any(getattr(options, name) for options in chosen)]
    filters += sorted({f"phase {options.phase}" for options in chosen if options.phase and options.purpose == "apply"})
    if not filters:
        return None
    whole = [
        found.identity.kind
        for cluster, options in compiled
        for found in render(cluster, options._replace(include=(), exclude=(), phase=0), Report())
    ]
    if not whole:
        return None
    verb = "leave" if len(filters) > 1 else "leaves"
    return IncompleteOutput(
        f": {' and '.join(filters)} {verb} none of the {len(whole)} that there are",
        f"There are objects of kind {', '.join(sorted(set(whole)))}.",
    )


def incomplete(lacking: Sequence[str], *, done: str, keep_going: str) -> Diagnostic:
    """Report that half an output is not `done` ("written"), and how to go on: `keep_going` is what to do to have it all
    the same."""
    hint = f"Fix this first. To continue without it, {keep_going}; pruning by it removes the rest."
    return apply_rules.INCOMPLETE.finding(None, done=done, missing=join_limited(lacking, _SHOWN), hint=hint)


_SHOWN_FILES = 5
_SHOWN_OBJECTS = 6
_RELATED = 20
_WARNED_OF = frozenset({Reason.FURTHER, Reason.LINK, Reason.REDEFINED, Reason.REPLACED, Reason.TEMPLATE})
# What says who may do what, or has a say in all that others do: named before all else.
_POWERFUL = (
    "ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration", "APIService", "Subscription", "InstallPlan", "ClusterServiceVersion",
)  # fmt: skip


def left_out_of(
    root: Path, made: SettledCompilation, narrowing: Narrowing | None = None, *, beside_project: bool = False
) -> tuple[LeftOut, ...]:
    """What is left out of the directory `root`, which was compiled, with `narrowing` if it was not its own.

    With `beside_project` that includes what a project of operator-sdk has beside its bundle. Of files that say that
    olmc wrote them, what it would write now is not among that: there it is compiled.
    """
    if made.workspace is not None and made.workspace.has_idle_bundles:
        return ()  # no tool applies a repository of bundles
    in_force = narrowing or narrowing_of(
        root, read_config(root, Report()), scan_workspace(root, known=made.tree).folder
    )
    inputs = made.inputs
    if made.workspace is not None and made.settled is not None:
        inputs = inputs._replace(unused=(*inputs.unused, *uninstalled(made.workspace, made.settled)))
    found = left_out(root, inputs, ignored=in_force.ignored, beside_project=beside_project, known=made.tree)
    wanted = {each.identity for left in found if left.reason is Reason.RENDERED for each in left.objects}
    if not wanted or made.settled is None:
        return found
    known = frozenset(_written_now(made, made.settled, wanted))
    return tuple(left for each in found if (left := _without(each, known)) is not None)


def _without(left: LeftOut, known: frozenset[LeftObject]) -> LeftOut | None:
    """Return the content that is left out of a file of olmc's own, without known objects; None for none."""
    if left.reason is not Reason.RENDERED:
        return left
    objects = tuple(each for each in left.objects if each not in known)
    return left._replace(objects=objects) if objects or left.problem else None


def _written_now(made: SettledCompilation, settled: SettledCluster, wanted: set[ObjectKey]) -> Iterator[LeftObject]:
    """The objects of these identities as olmc writes them, for review and for being applied."""
    everything = made.options._replace(include=(), exclude=())
    for purpose in ("review", "apply"):
        options = everything._replace(purpose=purpose)
        objects = made.objects if options == made.options else render(settled.cluster, options, Report())
        for found in objects:
            if found.identity in wanted:
                yield from objects_of(as_yaml([found]))[0]


def counted(found: Iterable[LeftOut]) -> str:
    """Return how much is left out: `3 objects in 2 files`; what can't be read counts as a file. "" for nothing."""
    lefts = _applied_as_they_are(found)
    if not lefts:
        return ""
    objects, files = sum(len(left.objects) for left in lefts), len({left.location.path for left in lefts})
    return f"{_number(objects, 'object')} in {_number(files, 'file')}"


def _applied_as_they_are(found: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
    """Return the part that tools apply as it is: a template is for Helm alone, and charts have findings."""
    return tuple(left for left in found if left.reason is not Reason.TEMPLATE)


def content(left: LeftOut, most: int = _SHOWN_OBJECTS) -> str:
    """Return the objects of a file, the most important ones first, and its unread content."""
    ordered = sorted((each.identity for each in left.objects), key=lambda key: (rank(key.kind), key))
    names = join_limited(list(map(str, ordered)), most)
    return " and ".join(filter(None, (names, left.problem)))


def note(found: Sequence[LeftOut], where: str = "") -> str:
    """Return the left out content in a few lines for people; "" for none. `where` is the prefix of the paths."""
    found = _applied_as_they_are(found)
    if not found:
        return ""
    lines = [f"olmc: left out, and applied by kubectl apply -R, Argo CD or Flux: {counted(found)}"]
    for left in sorted(found, key=lambda left: (left.reason.is_chosen, left.location))[:_SHOWN_FILES]:
        lines.append(clean(f"  {where}{left.location.path}: {content(left)}; {left.reason.text}"))
    more = len(found) - _SHOWN_FILES
    check = "olmc check --all" + (f" {shlex.quote(where.rstrip('/'))}" if where else "")
    lines += [f"  and {_number(more, 'file')} more; {check} lists them"] if more > 0 else []
    return "".join(f"{line}\n" for line in lines)


def findings(found: Iterable[LeftOut]) -> Iterator[Diagnostic]:
    """A finding for each file with something that is left out; of what is left out by choice one for each reason.

    Of what loading has a warning for, there is none.
    """
    chosen: dict[Reason, list[LeftOut]] = {}
    for left in found:
        if left.reason in _WARNED_OF:
            continue
        if left.reason.is_chosen:
            chosen.setdefault(left.reason, []).append(left)
        else:
            finding = rules.LEFT_OUT.finding(left.location, what=content(left), reason=left.reason.text)
            is_bundle = left.reason is Reason.UNINSTALLED
            yield finding._replace(hint=rules.UNINSTALLED_HINT) if is_bundle else finding
    for reason, lefts in chosen.items():
        places = tuple((content(left), left.location) for left in lefts[1:_RELATED])
        what = f"{counted(lefts)} ({_by_kind(lefts)})"
        yield rules.LEFT_OUT_BY_CHOICE.finding(lefts[0].location, what=what, reason=reason.text, related=places)


def _by_kind(lefts: Iterable[LeftOut]) -> str:
    """Return how many objects there are of each kind: `1 ClusterRoleBinding, 2 ConfigMap`."""
    numbers = Counter(each.identity.kind for left in lefts for each in left.objects)
    return ", ".join(f"{numbers[kind]} {kind}" for kind in sorted(numbers, key=rank)) or "unknown"


def rank(kind: str) -> tuple[int, str]:
    """A sort key for kinds: those first that say who may do what."""
    return _POWERFUL.index(kind) if kind in _POWERFUL else len(_POWERFUL), kind


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def uninstalled(workspace: Workspace, settled: SettledCluster) -> Iterator[Unused]:
    """The objects of bundles that no catalog lists and that are not installed.

    Bundles may make up a catalog by themselves (D8): of a package that is installed, or that a Subscription is for, its
    other bundles are for upgrades. A workspace without manifests installs nothing and is a store of bundles; in one
    with kinds of another target any bundle may be meant, which they name by image.
    """
    if not workspace.manifests or any(each.object["apiVersion"] in PROPOSED.kinds for each in workspace.manifests):
        return
    cluster = settled.cluster
    arrived = {csv for plan in cluster.plans.values() for csv in plan.csvs} | {each.name for each in cluster.retired}
    arrived |= {each.name for each in (*settled.beginning.csvs, *cluster.csvs)}
    written, implied = (_listed(each) for each in _catalogs(workspace))
    wanted = {bundle.package for name, bundle in workspace.bundles.items() if name in arrived}
    wanted |= {
        text(spec_of(manifest.object).get("name"))
        for manifest in workspace.manifests
        if manifest.object["kind"] == "Subscription"
    }
    for name, bundle in workspace.bundles.items():
        is_upgrade = name in implied and bundle.package in wanted
        if name not in arrived and name not in written and not is_upgrade:
            objects = (file.manifest for file in bundle.files if is_object(file.manifest.object))
            yield from (Unused(each, Reason.UNINSTALLED) for each in objects if is_applied(each.object))


def _catalogs(workspace: Workspace) -> tuple[list[Catalog], list[Catalog]]:
    """The catalogs that somebody wrote, and those that are made of bundles alone, which have no files."""
    found: tuple[list[Catalog], list[Catalog]] = ([], [])
    for key, catalog in workspace.catalogs.items():
        found[not catalog.files and "/" not in key].append(catalog)
    return found


def _listed(catalogs: Iterable[Catalog]) -> set[str]:
    catalogs = tuple(catalogs)
    # Where there is an index, it has all entries, and each has its bundle.
    packages = [package for each in catalogs if each.entry_index is None for package in each.packages.values()]
    entries = (entry for package in packages for channel in package.channels.values() for entry in channel.entries)
    return {entry.name for entry in entries} | names_of_bundles(catalogs)


class SettledCompilation(Protocol):
    """The objects and what was reported about them; `settled` and `workspace` are None where an error stopped it
    before."""

    @property
    def objects(self) -> tuple[Rendered, ...]: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    @property
    def settled(self) -> SettledCluster | None: ...

    @property
    def workspace(self) -> Workspace | None: ...

    @property
    def inputs(self) -> Inputs: ...

    @property
    def options(self) -> Options: ...

    @property
    def extensions(self) -> tuple[ExtensionOutcome, ...]: ...

    @property
    def tree(self) -> ScannedFolder | None: ...
