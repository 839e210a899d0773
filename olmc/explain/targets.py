"""What somebody asks about: an object, a CSV or a package, found by what people call it.

Kinds go by many names on a command line: kind, plural, singular and short names, in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.explain.status import package_of
from olmc.kube.restmapper import BUILTIN, RestMapping, closest_kind, find_kinds, known_kinds
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, did_you_mean
from olmc.model.objects import GroupKind, KubernetesObject, ObjectKey, Rendered, labels_of, object_key
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.workspace import Bundle, LeftObject, LeftOut, Manifest
from olmc.olm.naming import COPIED_FROM
from olmc.output.messages import QueryError, not_found
from olmc.reconcile.loop import SettledCluster

if TYPE_CHECKING:
    from olmc.olmv1.extensions import ExtensionResult
    from olmc.proposed.v2alpha1.approval import InstallDecision, OperatorResult


_WITH_VERSION = regex(r"(?P<kind>[^.]+)\.v\d[a-z0-9]*\.(?P<group>.+)")


class ExplainContext(NamedTuple):
    """What questions are about: the rendered objects, the cluster at rest, the workspace's bundles by CSV name and its
    manifests, the findings about them, what became of the Operators of v2alpha1, what is left out of its folder, and
    what became of all Installs of v2alpha1 and of all ClusterExtensions."""

    objects: tuple[Rendered, ...]
    settled: SettledCluster
    bundles: Mapping[str, Bundle] = MappingProxyType({})
    manifests: tuple[Manifest, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    operators: tuple[OperatorResult, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    installs: tuple[InstallDecision, ...] = ()
    extensions: tuple[ExtensionResult, ...] = ()


class Wanted(NamedTuple):
    """An object that is asked for: the kinds that are meant, its namespace ("" for any), its name."""

    kinds: tuple[RestMapping, ...]
    namespace: str
    name: str

    def is_met_by(self, key: ObjectKey) -> bool:
        """Whether an object is one of those that are asked for."""
        return key.name == self.name and self.begins(key)

    def begins(self, key: ObjectKey) -> bool:
        """Whether an object is one of those that are asked for, but for the end of its name."""
        kinds = {(each.group, each.kind) for each in self.kinds}
        fits = (key.group, key.kind) in kinds and self.namespace in ("", key.namespace)
        return fits and key.name.startswith(self.name)


class ExplainTarget(NamedTuple):
    """What a word can mean: objects that are there, or else an object that is not; and packages of that name."""

    objects: tuple[Rendered, ...] = ()
    absent: Wanted | None = None
    package: str = ""


def target(text: str, scene: ExplainContext) -> ExplainTarget:
    """What `Kind/namespace/name`, `Kind/name`, the name of a CSV, or a package means; QueryError for nothing known.

    Kinds may be plurals and short names, in any case, and with version and group, as kubectl takes them. Any other name
    will do as well, also behind its namespace, if an object has it, or if just one begins so.
    """
    first, *rest = text.split("/")
    if len(rest) > 2 or not all((first, *rest)):
        raise QueryError(f"{text} is no target. Write Kind/namespace/name, Kind/name, a CSV or a package.")
    if not rest:
        return _by_name(text, scene)
    known = known_kinds((*(each.object for each in scene.objects), *_of_bundles(scene)))
    versioned = _WITH_VERSION.fullmatch(first)
    kinds = find_kinds(f"{versioned['kind']}.{versioned['group']}" if versioned else first, known)
    if not kinds:
        here = [each for each in scene.objects if each.identity[2:] == (first, rest[0]) and not is_copy(each)]
        if len(rest) == 1 and _is_csv(rest[0], scene):
            return _object(Wanted(find_kinds(CSV_KIND, known), first, rest[0]), scene)
        if len(rest) == 1 and here:
            return ExplainTarget(tuple(here))
        hint = did_you_mean(closest_kind(first, known)) or "Write it as manifests do."
        raise QueryError(f"There is no kind {first}. {hint}")
    return _object(Wanted(kinds, rest[0] if len(rest) == 2 else "", rest[-1]), scene)


def _of_bundles(scene: ExplainContext) -> Iterator[KubernetesObject]:
    for bundle in scene.bundles.values():
        yield from bundle.objects


def _object(wanted: Wanted, scene: ExplainContext) -> ExplainTarget:
    found = [each for each in scene.objects if wanted.is_met_by(each.identity)]
    originals = [each for each in found if not is_copy(each)]
    if found:
        return ExplainTarget(tuple(originals or found))
    return ExplainTarget(absent=wanted)


def _by_name(name: str, scene: ExplainContext) -> ExplainTarget:
    """A CSV first, then a package, then whatever has that name."""
    csvs = find_kinds(CSV_KIND, known_kinds(()))
    if _is_csv(name, scene):
        return _object(Wanted(csvs, "", name), scene)
    if name in set(packages(scene)):
        return ExplainTarget(package=name)
    found = tuple(each for each in scene.objects if each.identity.name == name and not is_copy(each))
    if found:
        return ExplainTarget(found)
    left = next((each.identity for each in objects_left_out(scene) if each.identity.name == name), None)
    if left is not None:
        kind = BUILTIN.mapping(GroupKind(left.group, left.kind))
        return ExplainTarget(absent=Wanted((kind,), left.namespace, left.name))
    csv_beginning = sorted({each for each in csv_names(scene) if each.startswith(name)})
    if len(csv_beginning) == 1:
        return _object(Wanted(csvs, "", csv_beginning[0]), scene)
    beginning = [each for each in scene.objects if each.identity.name.startswith(name) and not is_copy(each)]
    if len(beginning) == 1:
        return ExplainTarget(tuple(beginning))
    raise not_found(f"There is no CSV, package or object {name}", name, _names(scene), object_names(scene))


def objects_left_out(scene: ExplainContext) -> Iterator[LeftObject]:
    """The objects that are left out of the folder of a workspace."""
    for left in scene.left_out:
        yield from left.objects


def is_copy(found: Rendered) -> bool:
    """Whether an object is OLM's copy of a CSV or Role in another namespace."""
    return COPIED_FROM in labels_of(found.object)


def _is_csv(name: str, scene: ExplainContext) -> bool:
    return name in set(csv_names(scene))


def csv_names(scene: ExplainContext) -> Iterator[str]:
    """The names of all CSVs that are or were installed, or that a catalog or a bundle has."""
    cluster = scene.settled.cluster
    yield from (key.name for key in cluster.csvs)
    yield from (csv.name for csv in cluster.retired)
    yield from (entry.name for source in cluster.catalogs.values() for entry in source.entries)
    yield from (name for _, bundles in _served(cluster) for name in bundles)
    yield from scene.bundles
    refused = (object_key(each.object) for each in scene.manifests)
    yield from (key.name for key in refused if (key.group, key.kind) == (OLM_GROUP, CSV_KIND))


def packages(scene: ExplainContext) -> Iterator[str]:
    """The names of all packages that catalogs and bundles have, or that Subscriptions ask for."""
    cluster = scene.settled.cluster
    yield from (package for package, _ in _served(cluster))
    yield from (subscription.package for subscription in cluster.subscriptions.values())
    yield from (package_of(csv) for csv in cluster.csvs.values())
    yield from (bundle.package for bundle in scene.bundles.values())
    yield from (result.extension.source.package for result in scene.extensions)


def _served(cluster: Cluster) -> Iterator[tuple[str, Iterable[str]]]:
    for source in cluster.catalogs.values():
        for package in source.catalog.packages.values() if source.catalog is not None else ():
            yield package.name, package.bundles


def _names(scene: ExplainContext) -> list[str]:
    return sorted({*packages(scene), *csv_names(scene)})


def object_names(scene: ExplainContext) -> list[str]:
    """The objects that there are, each by its name and as `Kind/namespace/name`."""
    keys = [each.identity for each in scene.objects]
    return sorted({str(key) for key in keys} | {key.name for key in keys})


def subscribing(package: str, cluster: Cluster) -> tuple[NamespacedName, ...]:
    """The Subscriptions for a package."""
    return tuple(name for name, each in sorted(cluster.subscriptions.items()) if each.package == package)


def package_of_csv(name: str, scene: ExplainContext) -> str:
    """The package of a CSV as catalogs or its bundle have it, "" if none does."""
    cluster = scene.settled.cluster
    for package, bundles in _served(cluster):
        if name in bundles:
            return package
    for source in cluster.catalogs.values():
        for entry in source.entries:
            if entry.name == name:
                return entry.package
    bundle = scene.bundles.get(name)
    return bundle.package if bundle is not None else ""
