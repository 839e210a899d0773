"""Webhook configurations, API services, and the conversion that CRDs get (R-API-1, R-WH-1 … R-WH-9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.generate.certificates import container_port, service_name
from olmc.generate.config import subscription_config
from olmc.generate.world import World, group_uid_label, rendered
from olmc.golang import deep_hash, random_suffix
from olmc.model.cluster import Member
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import Group, apiservice_name
from olmc.profiles.ownership import MANAGED_LABELS, owner_labels
from olmc.settle.install import CONVERSION, apiservice_descriptions, serving_deployments

STAGE = "webhooks"
ADMISSION = "admissionregistration.k8s.io/v1"

_KINDS = {
    "ValidatingAdmissionWebhook": "ValidatingWebhookConfiguration",
    "MutatingAdmissionWebhook": "MutatingWebhookConfiguration",
}
_COPIED = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "sideEffects", "timeoutSeconds")
_GENERATED_NAME_BASE = 58


def apiservices(world: World) -> Iterator[Rendered]:
    """The API services that CSVs own (R-API-1)."""
    for member, _ in world.installed():
        if not member.installation or not member.installation.deployments:
            continue
        owned = member.csv.apiservice_descriptions("owned")
        for item in apiservice_descriptions(member.csv):
            if item in owned:
                yield rendered(_apiservice(world, member, item), "apiservices", "R-API-1", member.csv.source)


def _apiservice(world: World, member: Member, item: Mapping[str, Any]) -> KubernetesObject:
    csv = member.csv
    name = apiservice_name(item)
    existing = world.cluster.stock.get(Identity("apiregistration.k8s.io", "APIService", "", name))
    labels = {**MANAGED_LABELS, **owner_labels(csv.name, csv.namespace)}
    if existing is not None:
        return _adopted(existing.object, labels, csv.namespace, item)
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    annotations = subscription_config(world, member).get("annotations")
    if annotations:
        metadata["annotations"] = dict(annotations)
    spec = {
        "caBundle": "",
        "group": item.get("group") or "",
        "groupPriorityMinimum": 2000,
        "service": _apiservice_backend(csv.namespace, item),
        "version": item.get("version") or "",
        "versionPriority": 15,
    }
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


def _apiservice_backend(namespace: str, item: Mapping[str, Any]) -> dict[str, Any]:
    name = service_name(item.get("deploymentName") or "")
    return {"namespace": namespace, "name": name, "port": container_port(item)}


def _adopted(
    obj: KubernetesObject, labels: Mapping[str, str], namespace: str, item: Mapping[str, Any]
) -> KubernetesObject:
    """An API service that was there: it keeps its priorities and annotations."""
    metadata = {**obj["metadata"], "labels": {**(obj["metadata"].get("labels") or {}), **labels}}
    backend = _apiservice_backend(namespace, item)
    return {**obj, "metadata": metadata, "spec": {**(obj.get("spec") or {}), "caBundle": "", "service": backend}}


def webhooks(world: World) -> Iterator[Rendered]:
    """The configurations of validating and mutating webhooks (R-WH-3)."""
    for member, _ in world.installed():
        written = member.installation.webhooks if member.installation else 0
        for index, item in enumerate(member.csv.webhooks[:written]):
            if item.get("type") in _KINDS and member.group is not None:
                obj = _configuration(member, member.group, item)
                keys = ("spec", "webhookdefinitions", index)
                yield rendered(obj, STAGE, "R-WH-3", member.csv.source, *keys)


def _configuration(member: Member, group: Group, item: Mapping[str, Any]) -> KubernetesObject:
    csv, base = member.csv, item.get("generateName") or ""
    labels = {
        **MANAGED_LABELS,
        **owner_labels(csv.name, csv.namespace),
        "olm.webhook-description-generate-name": base,
        "olm.webhook-description-hash": deep_hash("WebhookDescription", item),
    }
    kind = _KINDS[item["type"]]
    obj: KubernetesObject = {
        "apiVersion": ADMISSION,
        "kind": kind,
        "metadata": {"generateName": f"{base}-", "labels": dict(sorted(labels.items()))},
        "webhooks": [_entry(member, group, item)],
    }
    discriminator = json.dumps(obj, sort_keys=True, separators=(",", ":"))
    suffix = random_suffix(f"{ADMISSION}|{kind}||{base}-|{discriminator}")
    obj["metadata"] = {"name": f"{base}-"[:_GENERATED_NAME_BASE] + suffix, **obj["metadata"]}
    return obj


def _entry(member: Member, group: Group, item: Mapping[str, Any]) -> dict[str, Any]:
    """R-WH-4."""
    client: dict[str, Any] = {"service": _client_service(member, item)}
    if item.get("deploymentName") in serving_deployments(member.csv):
        client["caBundle"] = ""
    entry: dict[str, Any] = {"name": item.get("generateName") or "", "clientConfig": client}
    for key in _COPIED:
        if item.get(key) is not None:
            entry[key] = item[key]
    selector = namespace_selector(group)
    if selector is not None:
        entry["namespaceSelector"] = selector
    if item.get("admissionReviewVersions"):
        entry["admissionReviewVersions"] = item["admissionReviewVersions"]
    if item["type"] == "MutatingAdmissionWebhook" and item.get("reinvocationPolicy"):
        entry["reinvocationPolicy"] = item["reinvocationPolicy"]
    return entry


def _client_service(member: Member, item: Mapping[str, Any]) -> dict[str, Any]:
    """Dots of the Deployment's name become dashes here, though its Service keeps them."""
    service = {
        "namespace": member.csv.namespace,
        "name": service_name((item.get("deploymentName") or "").replace(".", "-")),
    }
    if item.get("webhookPath"):
        service["path"] = item["webhookPath"]
    return {**service, "port": container_port(item)}


def namespace_selector(group: Group) -> dict[str, Any] | None:
    """Which namespaces a member's webhooks see (R-WH-1)."""
    if group.spec.get("targetNamespaces"):
        return {"matchLabels": {group_uid_label(group): ""}}
    selector: dict[str, Any] | None = group.spec.get("selector")
    return selector


def crds(world: World) -> Iterator[Rendered]:
    """All CRDs, with the conversion that webhooks bring (R-WH-8)."""
    conversions = dict(_conversions(world))
    for identity, found in world.cluster.stock.items():
        if identity.kind != "CustomResourceDefinition":
            continue
        obj = {key: value for key, value in found.object.items() if key != "status"}
        if identity in conversions:
            obj["spec"] = {**(obj.get("spec") or {}), "conversion": conversions[identity]}
        yield found._replace(object=obj)


def _conversions(world: World) -> Iterator[tuple[Identity, dict[str, Any]]]:
    for member, _ in world.installed():
        written = member.installation.webhooks if member.installation else 0
        for item in member.csv.webhooks[:written]:
            if item.get("type") != CONVERSION:
                continue
            service = _client_service(member, item)
            service = {**service, "path": service.get("path") or "/"}
            webhook = {
                "clientConfig": {"service": service, "caBundle": ""},
                "conversionReviewVersions": item.get("admissionReviewVersions") or [],
            }
            for name in item.get("conversionCRDs") or ():
                key = Identity("apiextensions.k8s.io", "CustomResourceDefinition", "", name)
                yield key, {"strategy": "Webhook", "webhook": webhook}
