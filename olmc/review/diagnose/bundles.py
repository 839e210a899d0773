"""Mistakes of bundles that no step of an installation reports: permissions, bindings, numbers, upgrade edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from olmc.compiler.model.catalog import Catalog, Channel, ChannelEntry, Package
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.naming import MAXIMUM
from olmc.k8s.api.rbac import decode_rules
from olmc.k8s.api.restmapper import resources_outside_namespaces
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, Location, Place, close_matches, join_limited
from olmc.k8s.lean import regex
from olmc.k8s.objects import PolicyRule, mapping, mappings, name_of, text
from olmc.k8s.semver import range_or_none, tolerant_or_none
from olmc.k8s.yaml import at, locate, located
from olmc.k8s.yaml.edit import value_of
from olmc.review.diagnose import rules
from olmc.review.diagnose.diagnosis import Diagnosis, FieldEdit, RemedyCandidate, Scene, operator_of, row_of

_MOST = 4
_ZERO = regex(r"\d+\.\d*0(?![\w.])")


def cluster_scoped_permissions(scene: Scene) -> Iterator[Diagnosis]:
    """Rules for resources without a namespace under `permissions` of an operator whose group is not for all namespaces:
    OLM makes a Role of them, which gives nothing (R-SING-1)."""
    outside: frozenset[tuple[str, str]] | None = None
    for _, member in sorted(scene.cluster.members.items()):
        csv = member.csv
        if member.group is None or member.group.is_global or not csv.permissions or member.phase == "Replacing":
            continue
        if outside is None:
            outside = resources_outside_namespaces(each.object for each in scene.cluster.objects.values())
        granted = {pair for entry in csv.cluster_permissions for rule in decode_rules(entry.rules)
                   for pair in _pairs(rule, outside)}  # fmt: skip
        lost: dict[str, tuple[str | int, ...]] = {}
        for index, entry in enumerate(csv.permissions):
            for number, rule in enumerate(decode_rules(entry.rules)):
                for group, resource in _pairs(rule, outside):
                    if (group, resource) not in granted:
                        lost.setdefault(resource, ("permissions", index, "rules", number))
        if not lost:
            continue
        names = list(lost)
        finding = rules.CLUSTER_SCOPED.finding(
            at(csv.source, "spec", "install", "spec", *next(iter(lost.values()))), csv=csv.name,
            resources=join_limited(names, _MOST), have="has" if len(names) == 1 else "have",
        )  # fmt: skip
        yield Diagnosis(finding, (operator_of(csv, scene.cluster),))


def _pairs(rule: PolicyRule, known: frozenset[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Group and resource of a rule that are `known`, in its order; a rule may stand for millions of others."""
    groups, order = set(rule.groups), dict[str, int]()
    for number, resource in enumerate(rule.resources):
        order.setdefault(resource.partition("/")[0], number)
    own = (pair for pair in known if pair[0] in groups and pair[1] in order)
    yield from sorted(own, key=lambda pair: (order[pair[1]], pair[0]))


def fixed_subjects(scene: Scene) -> Iterator[Diagnosis]:
    """Bindings of bundles to accounts of a namespace in which the operator is not installed."""
    for _, member in sorted(scene.cluster.members.items()):
        bundle = scene.workspace.bundles.get(member.csv.name)
        if bundle is None or member.phase == "Replacing":
            continue
        accounts = {*member.csv.service_account_names}
        accounts |= {
            name_of(file.manifest.object) for file in bundle.files if _is(file.manifest.object, "ServiceAccount")
        }
        for file in bundle.files:
            obj = file.manifest.object
            if not _is(obj, "RoleBinding", "ClusterRoleBinding"):
                continue
            for index, subject in enumerate(mappings(obj.get("subjects"))):
                fixed, name = text(subject.get("namespace")), text(subject.get("name"))
                if subject.get("kind") != "ServiceAccount" or name not in accounts:
                    continue
                if fixed in ("", member.csv.namespace):
                    continue
                place = locate(file.manifest.source, ("subjects", index, "namespace"))
                finding = rules.FIXED_SUBJECT.finding(
                    place, identity=f"{obj['kind']} {name_of(obj)}", csv=bundle.name, account=name, fixed=fixed,
                    namespace=member.csv.namespace,
                )  # fmt: skip
                edit = FieldEdit(file.manifest.source, ("subjects", index, "namespace"), member.csv.namespace)
                candidates = (RemedyCandidate(f"Bind the account of namespace {member.csv.namespace}", (edit,)),)
                yield Diagnosis(finding, (operator_of(member.csv, scene.cluster),), "", candidates)


def _is(obj: Mapping[str, Any], *kinds: str) -> bool:
    return obj.get("kind") in kinds


def numbers(scene: Scene) -> Iterator[Diagnosis]:
    """Values of olm.maxOpenShiftVersion that YAML reads as another number than what is written."""
    for package, edit, finding in numbers_without_quotes(scene.workspace, _packages_that_count(scene)):
        candidate = RemedyCandidate(f"Write {MAXIMUM} in quotes in {edit.source.path}", (edit,))
        yield Diagnosis(finding, _rows(scene, package), "", (candidate,))


def numbers_without_quotes(
    workspace: Workspace, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, FieldEdit, Diagnostic]]:
    """The findings about such values in bundles and catalogs, each with its package and the edit of it.

    `wanted` has the packages whose entries of catalogs count, None for all.
    """
    for name, bundle in sorted(workspace.bundles.items()):
        source = bundle.properties_source
        for index, prop in enumerate(value_of(source)["properties"]) if source is not None else ():
            if mapping(prop).get("type") == MAXIMUM and source is not None:
                yield from _number(name, bundle.package, Place(source, ("properties", index, "value")), prop["value"])
    for catalog in workspace.catalogs.values():
        for package in packages_of(catalog._replace(documents={}), wanted).values():
            for listed in package.bundles.values():
                for index, each in enumerate(listed.properties):
                    if each.type == MAXIMUM and listed.location is not None:
                        source, keys = listed.location.source, listed.location.keys
                        place = Place(source, (*keys, "properties", index, "value"))
                        yield from _number(listed.name, package.name, place, each.value)


def _number(name: str, package: str, place: Place, value: object) -> Iterator[tuple[str, FieldEdit, Diagnostic]]:
    """The finding about a number whose text has a zero at its end, which the number has not."""
    where = located(place)
    lines = place.source.text.splitlines()
    if not isinstance(value, float | int) or where is None or not 0 < where.line <= len(lines):
        return
    match = _ZERO.match(lines[where.line - 1], where.column - 1)
    if match is None or float(match[0]) != value:
        return
    written = match[0]
    finding = rules.NUMBER.finding(where, field=MAXIMUM, name=name, written=written, value=f"{value:g}")
    yield package, FieldEdit(place.source, place.keys, written), finding


def missing_replaced(scene: Scene) -> Iterator[Diagnosis]:
    """Versions in folders of bundles, and entries of channels, that replace themselves or what does not exist, where
    that leaves another version without an upgrade."""
    yield from _of_folders(scene)
    counting = _packages_that_count(scene)
    for catalog in scene.workspace.catalogs.values():
        for package in packages_of(catalog, counting).values():
            for channel in package.channels.values():
                yield from _of_channel(scene, package, channel)


def _of_folders(scene: Scene) -> Iterator[Diagnosis]:
    csvs = [Csv(bundle.csv.object, bundle.csv.source) for _, bundle in sorted(scene.workspace.bundles.items())]
    if not csvs:
        return
    packages = {bundle.name: bundle.package for bundle in scene.workspace.bundles.values()}
    listed = _listed_names(scene)
    of_package = defaultdict[str, list[Csv]](list)
    for csv in csvs:
        of_package[packages.get(csv.name, "")].append(csv)
    names_of = {package: {csv.name for csv in versions} for package, versions in of_package.items()}
    replaced = {name for csv in csvs for name in (csv.replaces, *_skips(csv))}
    for csv in csvs:
        package = packages.get(csv.name, "")
        if csv.replaces and csv.replaces == csv.name:
            versions = {other.name: other.version for other in of_package[package]}
            own_place = Place(csv.source, ("spec", "replaces")) if csv.source is not None else None
            yield _replaces_itself(csv.name, versions, own_place, _rows(scene, package))
            continue
        if not csv.replaces or csv.replaces in names_of[package] or csv.replaces in listed:
            continue
        same = [other for other in of_package[package] if other.name != csv.name]
        own = tolerant_or_none(csv.version)
        left = [other for other in same if other.name not in replaced and _is_older(other.version, own)]
        left = [other for other in left if not _covers(csv, other.version)]
        if not left or csv.name in listed:
            continue
        place = at(csv.source, "spec", "replaces")
        yield _replaces_nothing(scene, csv, csv.replaces, [other.name for other in left], place, package)


def _replaces_itself(
    name: str, versions: Mapping[str, str], place: Place | None, rows: tuple[NamespacedName, ...]
) -> Diagnosis:
    """A version that replaces itself, and the newest one before it, which may be meant."""
    own, meant = tolerant_or_none(versions.get(name, "")), ""
    for other in (each for each in versions if _is_older(versions[each], own)):
        if not meant or _is_older(versions[meant], tolerant_or_none(versions[other])):
            meant = other
    way = f"Write replaces: {meant}, the version before it; or remove the field." if meant else "Remove the field."
    candidates = [(f"Let {name} replace {meant}", meant)] if meant else []
    candidates.append((f"Remove replaces from {name}", ""))
    finding = rules.REPLACES_ITSELF.finding(located(place), csv=name, way=way)
    edits = tuple(
        RemedyCandidate(words, (FieldEdit(place.source, place.keys, value or None),))
        for words, value in candidates if place is not None
    )  # fmt: skip
    return Diagnosis(finding, rows, "", edits)


def packages_of(catalog: Catalog, counting: Collection[str] | None = None) -> Mapping[str, Package]:
    """The packages of a catalog that count, all for None; of one that can't be served, as its documents have them."""
    names = dict.fromkeys((*catalog.documents, *catalog.packages))
    return {
        name: catalog.packages[name] if name in catalog.packages else catalog.documents[name]
        for name in names if counting is None or name in counting
    }  # fmt: skip


def _packages_that_count(scene: Scene) -> Collection[str] | None:
    """The packages of catalogs that count in a scene, None for all: each of hundreds is decoded to be looked at."""
    return {each.package for each in scene.cluster.subscriptions.values()} if scene.only_operators else None


def _listed_names(scene: Scene) -> frozenset[str]:
    return frozenset(
        name for catalog in scene.workspace.catalogs.values() for package in packages_of(catalog).values()
        for name in package.bundles
    )  # fmt: skip


def _skips(csv: Csv) -> list[str]:
    skips = csv.spec.get("skips")
    return [text(name) for name in skips] if isinstance(skips, list) else []


def _is_older(version: str, than: Any) -> bool:
    own = tolerant_or_none(version)
    return own is not None and than is not None and own.compare(than) < 0


def _covers(csv: Csv, version: str) -> bool:
    covered, own = range_or_none(csv.annotations.get("olm.skipRange", "")), tolerant_or_none(version)
    return covered is not None and own is not None and covered.contains(own)


def _rows(scene: Scene, package: str) -> tuple[NamespacedName, ...]:
    return tuple(row_of(each) for each in scene.cluster.subscriptions.values() if each.package == package)


def _replaces_nothing(
    scene: Scene, csv: Csv, replaced: str, names: list[str], place: Location | None, package: str
) -> Diagnosis:
    meant = next(iter(close_matches(replaced, names, 1, POSSIBLE)), names[0] if len(names) == 1 else "")
    finding = rules.REPLACES_NOTHING.finding(
        place, csv=csv.name, replaced=replaced,
        effect=f", so that no upgrade leads on from {join_limited(names, _MOST)}",
        way=f"Write replaces: {meant}, which is there." if meant else "Name a version that exists.",
    )  # fmt: skip
    candidates: tuple[RemedyCandidate, ...] = ()
    if meant and csv.source is not None:
        edit = FieldEdit(csv.source, ("spec", "replaces"), meant)
        candidates = (RemedyCandidate(f"Let {csv.name} replace {meant}", (edit,)),)
    return Diagnosis(finding, _rows(scene, package), "", candidates)


def _of_channel(scene: Scene, package: Package, channel: Channel) -> Iterator[Diagnosis]:
    names = {entry.name for entry in channel.entries}
    replaced = {name for entry in channel.entries for name in (entry.replaces, *entry.skips)}
    heads = [name for name in names if name not in replaced]
    for entry in channel.entries:
        place = _entry_place(entry)
        if entry.replaces and entry.replaces == entry.name:
            bundles = {name: package.bundles[name].version for name in names if name in package.bundles}
            yield _replaces_itself(entry.name, bundles, place, _rows(scene, package.name))
        if not entry.replaces or entry.replaces in names or entry.replaces in package.bundles:
            continue
        if len(heads) < 2 or entry.name not in heads:
            continue  # the end of a pruned channel names what is not there, and OLM goes by what is
        others = [name for name in heads if name != entry.name]
        meant = _meant(entry.replaces, package, others)
        if not meant:
            continue
        finding = rules.REPLACES_NOTHING.finding(
            located(place), csv=f"the entry of {entry.name} in channel {channel.name}", replaced=entry.replaces,
            effect=f", so that the channel has the heads {join_limited(sorted(heads), _MOST)}",
            way=f"Write replaces: {meant}, which is there.",
        )  # fmt: skip
        candidates: tuple[RemedyCandidate, ...] = ()
        if place is not None:
            edit = FieldEdit(place.source, place.keys, meant)
            candidates = (RemedyCandidate(f"Let {entry.name} replace {meant}", (edit,)),)
        yield Diagnosis(finding, _rows(scene, package.name), "", candidates)


def _entry_place(entry: ChannelEntry) -> Place | None:
    return entry.location._replace(keys=(*entry.location.keys, "replaces")) if entry.location is not None else None


def _meant(replaced: str, package: Package, names: Iterable[str]) -> str:
    """The name that was meant by what does not exist: the one whose version it is, or the one most like it."""
    names = list(names)
    for name in names:
        bundle = package.bundles.get(name)
        if bundle is not None and bundle.version == replaced.removeprefix("v"):
            return name
    return next(iter(close_matches(replaced, names, 1, POSSIBLE)), "")


FINDERS: tuple[Callable[[Scene], Iterator[Diagnosis]], ...] = (
    cluster_scoped_permissions, fixed_subjects, numbers, missing_replaced,
)  # fmt: skip
