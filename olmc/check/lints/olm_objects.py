"""OLM's own objects: OperatorGroups, CatalogSources, catalogs, and copies of CSVs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from olmc.check.lints.subject import Subject, full_name, of_kind
from olmc.generate.csvs import copy_targets
from olmc.generate.world import world
from olmc.graph.upgrade_graph import upgrade_graph
from olmc.kube.selectors import is_empty
from olmc.model.catalog import Catalog
from olmc.model.diagnostic import Diagnostic
from olmc.model.objects import annotations_of, spec_of
from olmc.model.suggestions import join_limited
from olmc.rules import lints as rules
from olmc.semver import dropped_parts, range_or_none
from olmc.settle.sources import spec_problem
from olmc.yaml import at

PROVIDED_APIS = "olm.providedAPIs"
_NAMESPACED = (
    "OperatorGroup", "Subscription", "CatalogSource", "ClusterServiceVersion", "InstallPlan", "OperatorCondition",
)  # fmt: skip
_MOST = 5
MUCH = 5_000_000
"""Bytes of all copies of one CSV from which on they are worth a word."""


def empty_targets(subject: Subject) -> Iterator[Diagnostic]:
    """`targetNamespaces: []`, which targets everything (R-OG-1)."""
    for manifest in of_kind(subject, "OperatorGroup"):
        spec = spec_of(manifest.object)
        if "targetNamespaces" in spec and not spec["targetNamespaces"]:
            everything = is_empty(spec.get("selector"))
            effect = "the group targets all namespaces" if everything else "the selector decides"
            place = at(manifest.source, "spec", "targetNamespaces")
            yield rules.EMPTY_TARGETS.finding(place, name=full_name(manifest.object), effect=effect)


def kept_apis(subject: Subject) -> Iterator[Diagnostic]:
    """The annotation `olm.providedAPIs` of a group that is not static (R-OG-13)."""
    for manifest in of_kind(subject, "OperatorGroup"):
        annotations = annotations_of(manifest.object)
        static = spec_of(manifest.object).get("staticProvidedAPIs")
        if PROVIDED_APIS in annotations and not static:
            place = at(manifest.source, "metadata", "annotations", PROVIDED_APIS)
            yield rules.KEPT_APIS.finding(place, name=full_name(manifest.object))


def without_namespace(subject: Subject) -> Iterator[Diagnostic]:
    """Objects that must be in a namespace, and name none."""
    for manifest in of_kind(subject, *_NAMESPACED):
        if not manifest.object["metadata"].get("namespace"):
            name, kind = manifest.object["metadata"]["name"], manifest.object["kind"]
            yield rules.NO_NAMESPACE.finding(at(manifest.source, "metadata"), kind=kind, name=name)


def refused_sources(subject: Subject) -> Iterator[Diagnostic]:
    """CatalogSources whose spec does not say where the catalog comes from."""
    for manifest in of_kind(subject, "CatalogSource"):
        problem = spec_problem(spec_of(manifest.object))
        if problem:
            place = at(manifest.source, "spec", "sourceType")
            yield rules.REFUSED_SOURCE.finding(place, source=full_name(manifest.object), problem=problem)


def stranded_versions(subject: Subject) -> Iterator[Diagnostic]:
    """Versions of a channel from which no upgrade leads to its head, one finding a channel (R-CAT-410)."""
    for catalog in _distinct(subject):
        for _, package in sorted(catalog.packages.items()):
            graph = upgrade_graph(package)
            for channel in graph.channels:
                names = [vertex.name for vertex in graph.versions if channel.name in vertex.stranded]
                if channel.problem or not names:
                    continue  # of a channel without order the resolver tells
                place = package.channels[channel.name].location
                yield rules.STRANDED_VERSIONS.finding(
                    at(place.source, *place.keys) if place is not None else None,
                    package=package.name, channel=channel.name, head=" or ".join(channel.heads),
                    names=join_limited(names, _MOST),
                )  # fmt: skip


def half_ranges(subject: Subject) -> Iterator[Diagnostic]:
    """Ranges of which OLM drops a part (R-CAT-453)."""
    for catalog in _distinct(subject):
        for _, package in sorted(catalog.packages.items()):
            for channel in package.channels.values():
                for entry in channel.entries:
                    parts = dropped_parts(entry.skip_range)
                    if parts and range_or_none(entry.skip_range) is not None:
                        place = entry.location
                        yield rules.DROPPED_PART.finding(
                            at(place.source, *place.keys, "skipRange") if place is not None else None,
                            parts=" and ".join(map(repr, parts)), text=entry.skip_range, name=entry.name,
                        )  # fmt: skip


def _distinct(subject: Subject) -> Iterator[Catalog]:
    """The catalogs of the workspace, each once under however many names."""
    yield from {id(catalog): catalog for _, catalog in sorted(subject.workspace.catalogs.items())}.values()


def many_copies(subject: Subject) -> Iterator[Diagnostic]:
    """CSVs whose copies in target namespaces take much room together (R-COPY-2)."""
    if subject.settled is None:
        return
    cluster = subject.settled.cluster
    scene = world(cluster, subject.options)
    for name, member in sorted(cluster.members.items()):
        count = len(copy_targets(scene, member))
        size = count * len(json.dumps(member.csv.object, separators=(",", ":"), default=str)) if count else 0
        if size >= MUCH:
            place = at(member.csv.source, "metadata", "name")
            yield rules.MANY_COPIES.finding(place, csv=name.name, count=count, size=round(size / 1e6))
