"""The sides of a comparison: what a cluster holds, or is going to, and what a workspace says about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.diff.premises import Assumed
from olmc.explain.left_out import SettledCompilation, left_out_of
from olmc.lean import NamedTuple
from olmc.load.build_files import BuildFile, build_files
from olmc.load.config import read_config
from olmc.load.files import ignore_lines, scan
from olmc.load.suppression_subjects import with_subjects
from olmc.load.suppressions import Suppression, collect_suppressions
from olmc.model.diagnostics import Diagnostic, Report
from olmc.model.objects import ACCOUNT, KubernetesObject, ObjectKey, PolicyRule, object_key
from olmc.model.options import Narrowing
from olmc.model.workspace import Bundle, LeftOut, Reason

if TYPE_CHECKING:
    from olmc.model.catalog import Catalog
    from olmc.reconcile.loop import SettledCluster


class SideSettings(NamedTuple):
    """What a workspace says about itself: the `spec` of olmc.yaml, the patterns of .olmcignore, and what it accepts.

    `builds` are the files by which other tools build what they apply.
    """

    config: Mapping[str, Any]
    ignore_lines: tuple[str, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    builds: Mapping[str, BuildFile] = MappingProxyType({})


class Side(NamedTuple):
    """`settled` is the cluster at rest where the objects were compiled: it knows the catalogs.

    `shared` is how many more objects the other side has just so; nobody had to read them. `excluded` are objects of
    kinds that are not compared, `left_out` what the directory holds besides; `settings` are those of a workspace, None
    for a rendering. `bundle` is the bundle of a side that is one alone, `assumed` what was taken as there. `is_held`:
    the objects are what a cluster holds, so that all of it is known. `served` is what ClusterCatalogs serve, by name;
    `requested` are the ClusterExtensions as the workspace has them, which the API server may refuse; `installing` is
    what the accounts that install them need to be allowed: rules, each with its namespace, "" for the whole cluster.
    `manifests` are the objects that the workspace has written, and not OLM; of a rendering nobody knows which.
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
    is_held: bool = False
    served: Mapping[str, Catalog] = MappingProxyType({})
    requested: Mapping[ObjectKey, KubernetesObject] = MappingProxyType({})
    installing: Mapping[ObjectKey, tuple[tuple[str, PolicyRule], ...]] = MappingProxyType({})
    manifests: frozenset[ObjectKey] = frozenset()

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
    """What would come of operators if they were not stuck, or not there already: the sides without that, and the
    objects that this is about. `edited` are the CSVs whose content changed under the same name."""

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
    """What a workspace was compiled to as a side, without what it says about itself."""
    objects = tuple(rendered.object for rendered in compilation.objects)
    workspace, default = compilation.workspace, compilation.options.default_namespace
    written = {object_key(m.object) for m in workspace.manifests} if workspace is not None else set()
    placed = {key._replace(namespace=default or "") for key in written if not key.namespace}
    return Side(name, objects, compilation.settled, manifests=frozenset(written | placed))


def workspace_side(
    name: str, path: Path, compilation: SettledCompilation, narrowing: Narrowing,
    compile_fresh: Callable[[], SettledCompilation] | None = None,
) -> Side:  # fmt: skip
    """The workspace at `path` as a side: what it was compiled to with `narrowing`, and what it says about itself.

    `compile_fresh` compiles it for a cluster that holds nothing, where `compilation` began with a state.
    """
    config = read_config(path, Report())
    files = scan(path, Report(), ignored=narrowing.ignored, ignore_file=False).walk()
    patterns = tuple(filter(_is_pattern, ignore_lines(path)))
    # Also files in other folders of the repository are built into it, and what comments there accept is accepted here.
    commented = dict.fromkeys((*files, *sorted(compilation.inputs.built)))
    accepted = tuple(with_subjects(path, collect_suppressions(path, config, commented)))
    settings = SideSettings(config, patterns, accepted, build_files(path, compilation.inputs))
    left = left_out_of(path, compilation, narrowing)
    if compile_fresh is not None and (
        any(each.reason is Reason.RENDERED for each in left) or _has_only_kept(compilation)
    ):  # what was rendered into the workspace knew no state, and what the cluster has need not be from there
        left = left_out_of(path, compile_fresh(), narrowing)
    side = compiled_side(name, compilation)._replace(left_out=left, settings=settings)
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


def _has_only_kept(made: SettledCompilation) -> bool:
    """Whether the cluster has CSVs of which there are bundles, and which no catalog has any more."""
    if made.settled is None or made.workspace is None:
        return False
    catalogs = made.settled.cluster.catalogs.values()
    listed = {entry.name for source in catalogs for entry in source.entries}
    return any(name.name in made.workspace.bundles.keys() - listed for name in made.settled.cluster.csvs)


def _is_pattern(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")
