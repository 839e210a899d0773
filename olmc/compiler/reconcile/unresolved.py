"""Describe the failures of the resolver in a settled cluster: no choice of versions, and missing content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmc.compiler.model.catalog import Candidate, Resolution, ResolveRequest
from olmc.compiler.model.cluster import CatalogSource, Cluster, NamespacedName
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import real_csvs
from olmc.compiler.olm.naming import PROPERTIES
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.resolver.explain import HeldUpgrade, derivation, held_back, may_be_held
from olmc.compiler.resolver.resolve import resolve
from olmc.compiler.resolver.rounds import ResolutionRound, UnreadablePropertiesError, csv_properties
from olmc.compiler.resolver.snapshot import EXISTING
from olmc.compiler.resolver.steps import UndecodableCSV
from olmc.compiler.rules.findings import reconcile as rules
from olmc.compiler.rules.findings import workspace as load_rules
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, Report, Severity, closest, did_you_mean
from olmc.k8s.objects import CatalogKey, spec_of
from olmc.k8s.yaml import at, locate, located

_ANNOTATION_HINT = "Correct the annotation, or remove it: OLM then goes by the APIs that the CSV describes."
_FIELDS = ("name", "channel", "source", "sourceNamespace", "startingCSV")


def resolutions(settled: SettledCluster) -> Iterator[Diagnostic]:
    """Yield the resolver's messages: infos of every round, and the failures of the last ones with their derivation."""
    # An object without a namespace is reported as that, and what follows from it depends on who applies it.
    last = [done for namespace, done in settled.rounds.items() if namespace]
    for round_ in (*settled.history, *last):
        if round_.resolve_request is None or round_.resolution is None:
            continue
        # Places cost time to find, and only messages show them: so what was resolved is resolved again, and with places
        # where there is something to say.
        resolve_request, messages = round_.resolve_request, Report()
        if not round_.resolution.message:
            resolve(resolve_request, messages)
            if not messages.found:
                continue
        resolve_request, messages = (
            with_places(resolve_request, settled.cluster, of_fields=bool(round_.resolution.message)),
            Report(),
        )
        resolve(resolve_request, messages)
        for diagnostic in messages:
            if diagnostic.severity is not Severity.FAILURE:
                yield diagnostic
            # Later rounds overcame earlier failures; the last failure blocks the cluster. An unknown catalog, or one
            # without content, is reported once for the catalog (OLMC643, OLMC620).
            elif round_ in last and not unknown_catalogs(resolve_request, round_.resolution, settled.cluster):
                yield with_causes(diagnostic, resolve_request, round_.resolution, settled.cluster)


def unknown_catalogs(resolve_request: ResolveRequest, given: Resolution, cluster: Cluster) -> tuple[CatalogKey, ...]:
    """The catalogs for want of which a resolution fails: nothing in the workspace stands for that of a Subscription, or
    their content is not vendored. What a cluster makes of these is unknown, and no failure of it. Those that
    Subscriptions ask for come first; any other one stops the resolution as well.

    () where it fails for another reason, too.
    """
    unusable = {
        catalog.key: cluster.catalogs.get(catalog.key) for catalog in resolve_request.catalogs if catalog.problem
    }
    removed = {each.catalog for each in cluster.subscriptions.values() if each.had_catalog}
    wanted = {request.catalog for request in resolve_request.requests if request.catalog.name}
    unknown = wanted - cluster.catalogs.keys() - removed
    if unusable:
        if any(source is None or not is_not_vendored(source) for source in unusable.values()):
            return ()
        asked = unknown | (wanted & unusable.keys())
        return (*sorted(asked), *sorted(unusable.keys() - asked))
    texts = {key: f"no operators found from catalog {key.name} in namespace {key.namespace} " for key in unknown}
    return tuple(sorted(key for key, text in texts.items() if any(line.startswith(text) for line in given.conflict)))


def with_causes(
    diagnostic: Diagnostic, resolve_request: ResolveRequest, given: Resolution, cluster: Cluster
) -> Diagnostic:
    """Report that a request has no solution, with the derivation as its hint, or at the object that prevents a
    resolution."""
    lines = derivation(resolve_request, given)
    if given.conflict or any(line.location for line in lines):
        way_out = () if given.conflict else (diagnostic.hint,)
        return diagnostic._replace(hint="\n".join((*map(str, lines), *way_out)))
    unreadable = _of_unreadable_csv(diagnostic, resolve_request, cluster)
    return unreadable or _of_empty_catalog(diagnostic, resolve_request, cluster)


def held_upgrades(settled: SettledCluster) -> Iterator[Diagnostic]:
    """The upgrades that are held back at rest, at the Subscriptions, with the places of what stands in the way."""
    for namespace, done in settled.rounds.items():
        yield from (held_finding(namespace, held) for held in held_in(done, settled.cluster))


def held_finding(namespace: str, held: HeldUpgrade) -> Diagnostic:
    """An upgrade that is held back in a namespace, with the places of what stands in its way."""
    why = "; ".join(reason.text for reason in held.reasons)
    related = tuple((reason.text, reason.location) for reason in held.reasons if reason.location is not None)
    place = held.request.location
    finding = rules.HELD_BACK.finding(place, related=related, upgrade=held.upgrade, namespace=namespace, why=why)
    # A dependency stays at what its operator requires: no person has asked for another version.
    return finding if place is not None else finding._replace(severity=Severity.INFO)


def held_in(done: ResolutionRound, cluster: Cluster) -> tuple[HeldUpgrade, ...]:
    """The upgrades that a round holds back since something else would break, with places."""
    if (
        done.resolve_request is None
        or done.resolution is None
        or not may_be_held(done.resolve_request, done.resolution)
    ):
        return ()  # for which no places are looked up
    return held_back(with_places(done.resolve_request, cluster, of_fields=False), done.resolution)


def _of_unreadable_csv(diagnostic: Diagnostic, resolve_request: ResolveRequest, cluster: Cluster) -> Diagnostic | None:
    """Return the finding at the existing CSV whose unreadable properties prevent a resolution (R-CAT-310), or None."""
    namespaces = [each.key.namespace for each in resolve_request.catalogs if each.key.name == EXISTING]
    for csv in (csv for namespace in namespaces for csv in real_csvs(cluster, namespace)):
        try:
            csv_properties(csv, frozenset())
        except UnreadablePropertiesError:
            annotated = PROPERTIES in csv.annotations
            keys = ("metadata", "annotations", PROPERTIES) if annotated else ("spec", "customresourcedefinitions")
            hint = _ANNOTATION_HINT if annotated else rules.UNUSABLE.hint
            return diagnostic._replace(location=at(csv.source, *keys) or diagnostic.location, hint=hint)
    return None


def is_not_vendored(source: CatalogSource) -> bool:
    """Return whether a CatalogSource names an image whose content the workspace does not have, or is a template without
    its bundles."""
    has_image = bool(spec_of(source.manifest or {}).get("image"))
    return source.lacks_bundles or (source.catalog is None and not source.refused and has_image)


def _of_empty_catalog(diagnostic: Diagnostic, resolve_request: ResolveRequest, cluster: Cluster) -> Diagnostic:
    """Return the finding at the CatalogSource whose missing content prevents a resolution, if that is the reason."""
    visible = [cluster.catalogs[entry.key] for entry in resolve_request.catalogs if entry.key in cluster.catalogs]
    empty = next((source for source in visible if source.catalog is None or source.is_unstarted), None)
    if empty is None:
        return diagnostic
    name = empty.key.name
    spec = spec_of(empty.manifest or {})
    if empty.is_unstarted:
        hint = (
            f"OLM reads the ConfigMap {spec['configMap']} by a Pod, and olmc can't see that it runs. If it does, add "
            f"{empty.key.namespace}/{name} to spec.runningCatalogs of olmc.yaml."
        )
        return diagnostic._replace(location=at(empty.source, "spec", "configMap") or diagnostic.location, hint=hint)
    if spec.get("sourceType") in ("configmap", "internal") and spec.get("configMap"):
        hint = f"Add the ConfigMap {empty.key.namespace}/{spec['configMap']}, which holds the catalog."
        return diagnostic._replace(location=at(empty.source, "spec", "configMap") or diagnostic.location, hint=hint)
    if empty.refused:
        hint = f"Correct CatalogSource {name}, which OLM refuses: {empty.refused}."
        return diagnostic._replace(location=at(empty.source, "spec") or diagnostic.location, hint=hint)
    if is_not_vendored(empty):  # which is reported at the image
        return diagnostic._replace(hint=f"Run `olmc vendor`, or put the file-based catalog into catalogs/{name}/.")
    field = ("spec", "address") if spec.get("address") else ("metadata", "name")
    hint = f"Put the file-based catalog of {name} into catalogs/{name}/."
    return diagnostic._replace(location=at(empty.source, *field) or diagnostic.location, hint=hint)


def with_places(resolve_request: ResolveRequest, cluster: Cluster, *, of_fields: bool) -> ResolveRequest:
    """The request with the place of every Subscription, for messages; `of_fields`: and of the fields of its spec."""
    requests = []
    for request in resolve_request.requests:
        namespace, _, name = request.name.rpartition("/")
        subscription = cluster.subscriptions.get(NamespacedName(namespace or resolve_request.namespace, name))
        source = subscription.source if subscription else None
        spec = subscription.spec if subscription and of_fields else {}
        fields = tuple((field, place) for field in _FIELDS if field in spec and (place := at(source, "spec", field)))
        requests.append(request._replace(location=at(source, "spec"), fields=fields))
    sources = {csv.name: csv.source for csv in real_csvs(cluster, resolve_request.namespace)}
    present = (csv._replace(location=at(sources.get(csv.name), "metadata", "name")) for csv in resolve_request.present)
    return resolve_request._replace(requests=tuple(requests), present=tuple(present))


def missing_content(settled: SettledCluster, bundles: Mapping[str, Bundle]) -> Iterator[Diagnostic]:
    """Yield findings about the selected bundles that can't be unpacked, or whose content is unknown."""
    for round_ in settled.rounds.values():
        yield from map(unread_csv, round_.unreadable)
        for candidate in round_.missing:
            yield without_bundle(candidate, settled.cluster, bundles)


def unread_csv(error: UndecodableCSV) -> Diagnostic:
    """A bundle that can't be unpacked, at what is wrong in its CSV."""
    csv = error.content.csv
    place, name = at(csv.source, *error.keys), csv.object["metadata"]["name"]
    finding = rules.NOT_UNPACKED.finding(place, csv=name, text=error.text, hint=error.hint)
    return finding.caused_by(error.cause)


def without_bundle(candidate: Candidate, cluster: Cluster, bundles: Mapping[str, Bundle]) -> Diagnostic:
    """Report that the content of a bundle is missing; one of its package that no catalog lists was perhaps meant to be
    it."""
    catalog = cluster.catalogs[candidate.catalog].catalog
    package = catalog.packages.get(candidate.package) if catalog else None
    listed = package.bundles if package else {}
    entry = listed.get(candidate.name)
    place = located(candidate.location)
    if entry is not None and entry.location is not None:
        place = locate(entry.location.source, (*entry.location.keys, "image"))
    diagnostic = load_rules.NO_BUNDLE_CONTENT.finding(place, bundle=candidate.name, image=candidate.image)
    names = [name for name, b in bundles.items() if b.package == candidate.package and name not in listed]
    if not names:
        return diagnostic
    best = closest(candidate.name, names, POSSIBLE) or min(names)
    where = bundles[best].directory or "."
    resolve_request = did_you_mean(f"the bundle in {where}")
    hint = f"{resolve_request} Its CSV is called {best}: let catalog and CSV agree.\n{diagnostic.hint}"
    csv = locate(bundles[best].csv.source, ("metadata", "name"))
    return diagnostic._replace(hint=hint, related=((f"the CSV {best}", csv),))
