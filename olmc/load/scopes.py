"""Manifests as the API server stores them: what has no namespace is in none, whatever its metadata say."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.kube.scopes import SERVED_GROUPS, crd_scopes, ignored_namespace, in_its_scope, kind_of
from olmc.model.diagnostic import Diagnostic, Report
from olmc.model.objects import KubernetesObject, identity
from olmc.model.workspace import Bundle, Manifest
from olmc.rules import scopes as rules
from olmc.yaml import locate


def manifests_in_their_scope(
    manifests: Iterable[Manifest], bundles: Iterable[Bundle], report: Report
) -> tuple[Manifest, ...]:
    """The manifests without the namespaces that the API server clears, each of which is reported.

    What the kinds of others are is said by the CRDs among the manifests, then by those of the bundles.
    """
    found = tuple(manifests)
    asked = any(m.object["metadata"].get("namespace") and kind_of(m.object)[0] not in SERVED_GROUPS for m in found)
    of_bundles = (obj for bundle in bundles for obj in bundle.objects)
    scopes = crd_scopes((*(m.object for m in found), *of_bundles)) if asked else {}
    for manifest in found:
        if ignored_namespace(manifest.object, scopes) is not None:
            report.add(_ignored(manifest))
    return tuple(manifest._replace(object=in_its_scope(manifest.object, scopes)) for manifest in found)


def ignored_in_bundle(manifests: Iterable[Manifest]) -> Iterable[Diagnostic]:
    """What is to be said of the objects of a bundle; they stay as they are, for InstallPlans show them so."""
    return (_ignored(manifest) for manifest in manifests if ignored_namespace(manifest.object, {}) is not None)


def _ignored(manifest: Manifest) -> Diagnostic:
    obj: KubernetesObject = manifest.object
    key = identity(obj)
    place = locate(manifest.source, ("metadata", "namespace"))
    return rules.IGNORED_NAMESPACE.finding(place, kind=key.kind, name=key.name, namespace=key.namespace)
