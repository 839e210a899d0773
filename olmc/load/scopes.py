"""Which namespace manifests are in: none if their kind has none, the default one if they name none."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.diagnostics.rules import workspace as rules
from olmc.kube.restmapper import BUILTIN, rest_mapper
from olmc.model.diagnostics import Diagnostic, Report
from olmc.model.objects import gvk_of, object_key
from olmc.model.operators import OLM_GROUP
from olmc.model.options import APIResource, Options
from olmc.model.workspace import Bundle, Manifest
from olmc.yaml import at, locate


def manifests_in_their_scope(
    manifests: Iterable[Manifest], bundles: Iterable[Bundle], report: Report, resources: Iterable[APIResource] = ()
) -> tuple[Manifest, ...]:
    """The manifests without the namespaces that the API server clears, each of which is reported.

    What the kinds of others are follows from the CRDs among the manifests, then by those of the bundles, then by the
    `resources` of the cluster.
    """
    manifests = tuple(manifests)
    of_bundles = (obj for bundle in bundles for obj in bundle.objects)
    mapper = rest_mapper((*(manifest.object for manifest in manifests), *of_bundles), resources)
    for manifest in manifests:
        if mapper.ignored_namespace(manifest.object) is not None:
            report.add(_ignored(manifest))
    return tuple(manifest._replace(object=mapper.in_its_scope(manifest.object)) for manifest in manifests)


def ignored_in_bundle(manifests: Iterable[Manifest]) -> Iterable[Diagnostic]:
    """The findings about the objects of a bundle; they stay as they are, for InstallPlans show them so."""
    return (_ignored(manifest) for manifest in manifests if BUILTIN.ignored_namespace(manifest.object) is not None)


def _ignored(manifest: Manifest) -> Diagnostic:
    key = object_key(manifest.object)
    place = locate(manifest.source, ("metadata", "namespace"))
    return rules.IGNORED_NAMESPACE.finding(place, kind=key.kind, name=key.name, namespace=key.namespace)


def in_default_namespace(manifests: tuple[Manifest, ...], options: Options, report: Report) -> tuple[Manifest, ...]:
    """The manifests as they are applied to the default namespace of the options.

    Namespaced ones that name no namespace are in the default one. Without a default one they stay as they are, which is
    reported: where they end up is decided by whoever applies them.
    """
    unplaced = [m for m in manifests if not m.object["metadata"].get("namespace")]
    mapper = rest_mapper((m.object for m in manifests if unplaced), options.api_resources)
    nowhere = [m for m in unplaced if mapper.scope(gvk_of(m.object), options.kube_version) == "Namespaced"]
    if not nowhere:
        return manifests
    if not options.default_namespace:
        for manifest in nowhere:
            obj = manifest.object
            if gvk_of(obj).group != OLM_GROUP:  # of what OLM looks at, the consequences are reported
                place = at(manifest.source, "metadata")
                report.add(rules.UNPLACED.finding(place, kind=obj["kind"], name=obj["metadata"]["name"]))
        return manifests
    homeless = {id(manifest) for manifest in nowhere}
    placed = (_in_namespace(m, options.default_namespace) if id(m) in homeless else m for m in manifests)
    from olmc.load.manifests import without_duplicates  # a bundle by itself has no manifests

    return without_duplicates(tuple(placed), report)


def _in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    obj = manifest.object
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    return manifest._replace(object={**obj, "metadata": {**metadata, "namespace": namespace}})
