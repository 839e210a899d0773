"""OperatorGroups that do something else than they seem to, and objects of OLM without a namespace."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.kube.selectors import is_empty
from olmc.model.diagnostic import Diagnostic
from olmc.model.objects import annotations_of, spec_of
from olmc.review.lints.subject import Lint, Subject, full_name, of_kind
from olmc.rules import lints as rules
from olmc.yaml import at

PROVIDED_APIS = "olm.providedAPIs"


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


_NAMESPACED = (
    "OperatorGroup", "Subscription", "CatalogSource", "ClusterServiceVersion", "InstallPlan", "OperatorCondition",
)  # fmt: skip


def without_namespace(subject: Subject) -> Iterator[Diagnostic]:
    """Objects that must be in a namespace, and name none."""
    for manifest in of_kind(subject, *_NAMESPACED):
        if not manifest.object["metadata"].get("namespace"):
            name, kind = manifest.object["metadata"]["name"], manifest.object["kind"]
            yield rules.NO_NAMESPACE.finding(at(manifest.source, "metadata"), kind=kind, name=name)


LINTS: tuple[Lint, ...] = (empty_targets, kept_apis, without_namespace)
