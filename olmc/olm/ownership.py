"""Owner labels and annotations, the kinds that bundles may hold (R-CAT-107), and what an OLM version knows of a CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.model.objects import KubernetesObject, mapping, mappings, spec_of
from olmc.model.operators import CONVERSION, CSV_KIND, OperatorGroup
from olmc.model.options import Profile
from olmc.olm.profiles.data import filled

# Decided by kind alone, whatever the API group says: these become the core object of that kind.
CORE_KINDS = {
    "Secret": "v1",
    "ConfigMap": "v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
}

# Written as they are, and decoded by the API server into types of its own: the names of these in olmc.gojson.
TYPED_KINDS = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): "CustomResourceDefinition",
    ("networking.k8s.io/v1", "NetworkPolicy"): "NetworkPolicy",
    ("policy/v1", "PodDisruptionBudget"): "PodDisruptionBudget",
    ("policy/v1beta1", "PodDisruptionBudget"): "PodDisruptionBudget",
    ("scheduling.k8s.io/v1", "PriorityClass"): "PriorityClass",
}


CSV_API = "operators.coreos.com/v1alpha1"
MANAGED = "olm.managed"
COPIED_FROM = "olm.copiedFrom"
COMPONENT_PREFIX = "operators.coreos.com/"
PROPERTIES = "operatorframework.io/properties"
ALONGSIDE = "operatorframework.io/installed-alongside-"
PERMISSIONS_HASH = "olm.permissions.hash"
TARGETS = "olm.targetNamespaces"


def managed_labels(wanted: bool) -> dict[str, str]:
    """The label of what OLM manages, where the profile wants it."""
    return {MANAGED: "true"} if wanted else {}


def with_labels(metadata: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Metadata with these labels, and without the field if there are none."""
    made = {**metadata, "labels": dict(labels)}
    return made if labels else {key: value for key, value in made.items() if key != "labels"}


def owner_labels(profile: Profile, name: str, namespace: str) -> dict[str, str]:
    """The labels that name a CSV as owner."""
    known = {"olm.owner": name, "olm.owner.kind": CSV_KIND, "olm.owner.namespace": namespace}
    return {key: value for key, value in known.items() if key in profile.owner_labels}


def group_annotations(profile: Profile, group: OperatorGroup) -> dict[str, str]:
    """The annotations that a group puts on the CSVs of its namespace (R-OG-10)."""
    known = filled(profile.csv_annotations_og, og=group.name, og_ns=group.namespace, targets=",".join(group.targets))
    return {key: value for key, value in known.items() if group.targets or key != TARGETS}


def owner_reference(api_version: str, kind: str, name: str, *, controller: bool = False) -> dict[str, Any]:
    """An ownerReference as OLM writes it, both flags spelt out; the uid can't be known and is empty."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": "",
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def csv_reference(name: str, *, controller: bool = False, api_version: str = CSV_API) -> dict[str, Any]:
    """The ownerReference to a CSV (R-CAT-630)."""
    return owner_reference(api_version, CSV_KIND, name, controller=controller)


def prune_unsupported(csv: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A CSV without the field and the webhooks that mean nothing to the profile's OLM; `csv` itself if it knows all."""
    spec = spec_of(csv)
    if not profile.csv_cleanup and "cleanup" in spec:
        spec = {key: value for key, value in spec.items() if key != "cleanup"}
        csv = {**csv, "spec": spec}
    webhooks = mappings(spec.get("webhookdefinitions"))
    if profile.webhook_conversion == CONVERSION or not webhooks:
        return csv
    kept = [item for item in webhooks if profile.webhook_admission and item.get("type") != CONVERSION]
    rest = {key: value for key, value in spec.items() if key != "webhookdefinitions"}
    return {**csv, "spec": {**rest, **({"webhookdefinitions": kept} if kept else {})}}


def unknown_config(subscription: KubernetesObject, profile: Profile) -> list[str]:
    """The fields of a Subscription's config that the CRD of the profile's OLM does not have, in their order."""
    config, known = mapping(spec_of(subscription).get("config")), profile.subscription_config
    return [str(key) for key in config if known is not None and key not in known]


def with_known_config(subscription: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A Subscription without these fields, which the API server drops; the object itself if it has none."""
    unknown = unknown_config(subscription, profile)
    if not unknown:
        return subscription
    spec = subscription["spec"]
    config = {key: value for key, value in spec["config"].items() if key not in unknown}
    return {**subscription, "spec": {**spec, "config": config}}


def cleanup_status(profile: Profile) -> dict[str, Any]:
    """The part of a CSV's status about a cleanup that OLM never carries out, where there is such a field."""
    return {"cleanup": {}} if profile.csv_cleanup else {}
