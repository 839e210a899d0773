"""What the resolver could not do in a settled cluster, in words: no choice of versions, content that is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmc.diagnostics.rules import reconcile as rules
from olmc.diagnostics.rules import workspace as load_rules
from olmc.model.catalog import Candidate, Resolution, ResolveRequest
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import POSSIBLE, Diagnostic, Report, Severity, closest, did_you_mean
from olmc.model.objects import spec_of
from olmc.model.workspace import Bundle
from olmc.olm.naming import PROPERTIES
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.explain import derivation
from olmc.resolver.requests import UnreadablePropertiesError, csv_properties
from olmc.resolver.resolve import answer
from olmc.resolver.snapshot import EXISTING
from olmc.yaml import at, locate

_ANNOTATION_HINT = "Correct the annotation, or remove it: OLM then goes by the APIs that the CSV describes."
_FIELDS = ("name", "channel", "source", "sourceNamespace", "startingCSV")


def resolutions(settled: SettledCluster) -> Iterator[Diagnostic]:
    """What the resolver has to say: remarks of every round, and the failures of the last ones with their derivation."""
    last = list(settled.rounds.values())
    for done in (*settled.history, *last):
        if done.question is None or done.answer is None:
            continue
        question = with_places(done.question, settled.cluster, of_fields=bool(done.answer.message))
        said = Report()
        answer(question, said)
        for diagnostic in said:
            if diagnostic.severity is not Severity.FAILURE:
                yield diagnostic
            elif done in last:
                yield with_causes(diagnostic, question, done.answer, settled.cluster)


def with_causes(diagnostic: Diagnostic, question: ResolveRequest, given: Resolution, cluster: Cluster) -> Diagnostic:
    """That a question has no solution, with the derivation as its hint, or at the object that prevents an answer."""
    lines = derivation(question, given)
    if given.conflict or any(line.location for line in lines):
        way_out = () if given.conflict else (diagnostic.hint,)
        return diagnostic._replace(hint="\n".join((*map(str, lines), *way_out)))
    unreadable = _of_unreadable_csv(diagnostic, question, cluster)
    return unreadable or _of_empty_catalog(diagnostic, question, cluster)


def _of_unreadable_csv(diagnostic: Diagnostic, question: ResolveRequest, cluster: Cluster) -> Diagnostic | None:
    """What prevents a resolution, at the existing CSV whose properties can't be read (R-CAT-310), if it is that."""
    namespaces = [each.key.namespace for each in question.catalogs if each.key.name == EXISTING]
    for csv in (csv for namespace in namespaces for csv in cluster.csvs_in(namespace)):
        try:
            csv_properties(csv, frozenset())
        except UnreadablePropertiesError:
            annotated = PROPERTIES in csv.annotations
            keys = ("metadata", "annotations", PROPERTIES) if annotated else ("spec", "customresourcedefinitions")
            hint = _ANNOTATION_HINT if annotated else rules.UNUSABLE.hint
            return diagnostic._replace(location=at(csv.source, *keys) or diagnostic.location, hint=hint)
    return None


def _of_empty_catalog(diagnostic: Diagnostic, question: ResolveRequest, cluster: Cluster) -> Diagnostic:
    """What prevents a resolution, at the CatalogSource whose content is not in the workspace, if it is that."""
    seen = [cluster.catalogs[each.key] for each in question.catalogs if each.key in cluster.catalogs]
    empty = next((each for each in seen if each.catalog is None), None)
    if empty is None:
        return diagnostic
    name = empty.key.name
    spec = spec_of(empty.manifest or {})
    if spec.get("sourceType") in ("configmap", "internal") and spec.get("configMap"):
        hint = f"Add the ConfigMap {empty.key.namespace}/{spec['configMap']}, which holds the catalog."
        return diagnostic._replace(location=at(empty.source, "spec", "configMap") or diagnostic.location, hint=hint)
    if empty.refused:
        hint = f"Correct CatalogSource {name}, which OLM refuses: {empty.refused}."
        return diagnostic._replace(location=at(empty.source, "spec") or diagnostic.location, hint=hint)
    if spec.get("image"):  # which is reported at the image
        return diagnostic._replace(hint=f"Run `olmc vendor`, or put the file-based catalog into catalogs/{name}/.")
    field = ("spec", "address") if spec.get("address") else ("metadata", "name")
    hint = f"Put the file-based catalog of {name} into catalogs/{name}/."
    return diagnostic._replace(location=at(empty.source, *field) or diagnostic.location, hint=hint)


def with_places(question: ResolveRequest, cluster: Cluster, *, of_fields: bool) -> ResolveRequest:
    """The question with the place of every Subscription, for messages; `of_fields`: and of the fields of its spec."""
    wishes = []
    for wish in question.wishes:
        namespace, _, name = wish.name.rpartition("/")
        found = cluster.subscriptions.get(NamespacedName(namespace or question.namespace, name))
        source = found.source if found else None
        spec = found.spec if found and of_fields else {}
        fields = tuple((field, place) for field in _FIELDS if field in spec and (place := at(source, "spec", field)))
        wishes.append(wish._replace(location=at(source, "spec"), fields=fields))
    return question._replace(wishes=tuple(wishes))


def missing_content(settled: SettledCluster, bundles: Mapping[str, Bundle]) -> Iterator[Diagnostic]:
    """The bundles that were picked and can't be unpacked, or whose content nobody has."""
    for done in settled.rounds.values():
        for found in done.unreadable:
            csv = found.content.csv
            place, name = at(csv.source, *found.keys), csv.object["metadata"]["name"]
            finding = rules.NOT_UNPACKED.finding(place, csv=name, text=found.text, hint=found.hint)
            yield finding.caused_by(found.cause)
        for candidate in done.missing:
            yield without_bundle(candidate, settled.cluster, bundles)


def without_bundle(candidate: Candidate, cluster: Cluster, bundles: Mapping[str, Bundle]) -> Diagnostic:
    """That the content of a bundle is missing; one of its package that no catalog lists was perhaps meant to be it."""
    catalog = cluster.catalogs[candidate.catalog].catalog
    package = catalog.packages.get(candidate.package) if catalog else None
    listed = package.bundles if package else {}
    entry = listed.get(candidate.name)
    place = candidate.location
    if entry is not None and entry.location is not None:
        place = locate(entry.location.source, (*entry.location.keys, "image"))
    found = load_rules.NO_BUNDLE_CONTENT.finding(place, bundle=candidate.name, image=candidate.image)
    alike = [name for name, each in bundles.items() if each.package == candidate.package and name not in listed]
    if not alike:
        return found
    best = closest(candidate.name, alike, POSSIBLE) or min(alike)
    where = bundles[best].directory or "."
    hint = (
        f"{did_you_mean(f'the bundle in {where}')} Its CSV is called {best}: let catalog and CSV agree.\n{found.hint}"
    )
    csv = locate(bundles[best].csv.source, ("metadata", "name"))
    return found._replace(hint=hint, related=((f"the CSV {best}", csv),))
