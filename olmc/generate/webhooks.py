"""Webhook configurations, API services, and the conversion that CRDs get (R-API-1, R-WH-1 … R-WH-9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.generate.certificates import container_port
from olmc.generate.world import World, group_uid_label, rendered
from olmc.golang import deep_hash, random_suffix
from olmc.model.cluster import Member
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import Group, apiservice_name
from olmc.model.profile import Profile
from olmc.profiles.ownership import managed_labels, owner_labels
from olmc.profiles.resolve import filled
from olmc.settle.known import CONVERSION
from olmc.settle.serving import apiservice_descriptions, serving_deployments, serving_names
from olmc.settle.start import NAME_LABEL
from olmc.settle.subscription_config import subscription_config

STAGE = "webhooks"
_ADMISSION_GROUP = "admissionregistration.k8s.io"
ADMISSION = f"{_ADMISSION_GROUP}/v1"
_IDENTIFYING = frozenset(
    ("olm.owner", "olm.owner.kind", "olm.owner.namespace", "olm.webhook-description-generate-name")
)

_KINDS = {
    "ValidatingAdmissionWebhook": "ValidatingWebhookConfiguration",
    "MutatingAdmissionWebhook": "MutatingWebhookConfiguration",
}
_COPIED = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "sideEffects", "timeoutSeconds")
_GENERATED_NAME_BASE = 58


def apiservices(world: World) -> Iterator[Rendered]:
    """The API services that CSVs own (R-API-1).

    >>> beacon = {"name": "beacon.v1.0.0", "serves": ["Gauge"]}
    >>> show(apiservices, {"groups": {"ns/og": "own"}, "operators": [beacon]}, "spec.service", "spec.caBundle")
    APIService/v1.beacon.example.com
      service: {namespace: ns, name: beacon-controller-service, port: 443}
    """
    for member, _ in world.installed():
        # OLM writes API services after each Deployment, so a strategy without any never gets to them (R-API-2).
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
    profile = world.profile
    labels = {**managed_labels(profile.csv_label_managed), **owner_labels(profile, csv.name, csv.namespace)}
    if existing is not None:
        return _adopted(existing.object, labels, _apiservice_backend(world.profile, csv.namespace, item))
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    annotations = subscription_config(world.cluster, csv, replaced=member.phase == "Replacing").get("annotations")
    if annotations:
        metadata["annotations"] = dict(annotations)
    spec = {
        "caBundle": "",
        "group": item.get("group") or "",
        "groupPriorityMinimum": 2000,
        "service": _apiservice_backend(profile, csv.namespace, item),
        "version": item.get("version") or "",
        "versionPriority": 15,
    }
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


def _apiservice_backend(profile: Profile, namespace: str, item: Mapping[str, Any]) -> dict[str, Any]:
    service = serving_names(profile, item.get("deploymentName") or "", item)["service"]
    port = {"port": container_port(item)} if profile.cert_apiservice_port else {}
    return {"namespace": namespace, "name": service, **port}


def _adopted(obj: KubernetesObject, labels: Mapping[str, str], backend: Mapping[str, Any]) -> KubernetesObject:
    """An API service that was there: it keeps its priorities and annotations."""
    metadata = {**obj["metadata"], "labels": {**(obj["metadata"].get("labels") or {}), **labels}}
    return {**obj, "metadata": metadata, "spec": {**(obj.get("spec") or {}), "caBundle": "", "service": backend}}


def webhooks(world: World) -> Iterator[Rendered]:
    """The configurations of validating and mutating webhooks (R-WH-3).

    >>> beacon = {"name": "beacon.v1.0.0", "webhooks": [{"generateName": "vbeacon.example.com"}]}
    >>> workspace = {"groups": {"ns/og": "own"}, "operators": [beacon]}
    >>> show(webhooks, workspace, "webhooks.0.clientConfig", "webhooks.0.namespaceSelector")
    ValidatingWebhookConfiguration/vbeacon.example.com-...
      clientConfig: {service: {namespace: ns, name: beacon-controller-service, port: 443}, caBundle: ''}
      namespaceSelector: {matchLabels: {olm.operatorgroup.uid/cda27ab5-d9ab-5ab1-a5dd-afd9fdfd81cd: ''}}
    """
    for member, _ in world.installed():
        written = member.installation.webhooks if member.installation else 0
        for index, item in enumerate(member.csv.webhooks[:written]):
            # A conversion webhook is no object by itself: it becomes part of the CRD, see `crds` (R-WH-8).
            if item.get("type") in _KINDS and member.group is not None:
                obj = _configuration(world.profile, member, namespace_selector(world, member.group), item)
                obj = _updated(obj, world.cluster.stock)
                keys = ("spec", "webhookdefinitions", index)
                yield rendered(obj, STAGE, "R-WH-3", member.csv.source, *keys)


def _configuration(
    profile: Profile, member: Member, selector: Mapping[str, Any] | None, item: Mapping[str, Any]
) -> KubernetesObject:
    csv, base = member.csv, item.get("generateName") or ""
    digest = deep_hash("WebhookDescription", item)
    labels = filled(profile.webhook_labels, csv=csv.name, csv_ns=csv.namespace, generateName=base, hash=digest)
    kind = _KINDS[item["type"]]
    obj: KubernetesObject = {
        "apiVersion": ADMISSION,
        "kind": kind,
        "metadata": {"generateName": f"{base}-", "labels": dict(sorted(labels.items()))},
        "webhooks": [_entry(profile, member, selector, item)],
    }
    # In a cluster the API server adds five characters by chance; ours come from the content, the same in every run
    # (D3).
    discriminator = json.dumps(obj, sort_keys=True, separators=(",", ":"))
    suffix = random_suffix(f"{ADMISSION}|{kind}||{base}-|{discriminator}")
    obj["metadata"] = {"name": f"{base}-"[:_GENERATED_NAME_BASE] + suffix, **obj["metadata"]}
    return obj


def _updated(obj: KubernetesObject, stock: Mapping[Identity, Rendered]) -> KubernetesObject:
    """The configuration under the name of the one that exists for the same CSV and generateName, if any (R-WH-3)."""
    labels = obj["metadata"]["labels"]
    mine = {key: value for key, value in labels.items() if key in _IDENTIFYING}.items()
    if len(mine) != len(_IDENTIFYING):
        return obj
    for identity, found in stock.items():
        existing = found.object["metadata"]
        known = existing.get("labels") or {}
        if identity.kind == obj["kind"] and identity.group == _ADMISSION_GROUP and mine <= known.items():
            return {**obj, "metadata": {**existing, "labels": dict(sorted({**known, **labels}.items()))}}
    return obj


def _entry(
    profile: Profile, member: Member, selector: Mapping[str, Any] | None, item: Mapping[str, Any]
) -> dict[str, Any]:
    """R-WH-4."""
    client: dict[str, Any] = {"service": _client_service(profile, member, item)}
    if item.get("deploymentName") in serving_deployments(member.csv):
        client["caBundle"] = ""
    entry: dict[str, Any] = {"name": item.get("generateName") or "", "clientConfig": client}
    for key in _COPIED:
        if item.get(key) is not None:
            entry[key] = item[key]
    if selector is not None:
        entry["namespaceSelector"] = dict(selector)
    if item.get("admissionReviewVersions"):
        entry["admissionReviewVersions"] = item["admissionReviewVersions"]
    if item["type"] == "MutatingAdmissionWebhook" and item.get("reinvocationPolicy"):
        entry["reinvocationPolicy"] = item["reinvocationPolicy"]
    return entry


def _client_service(profile: Profile, member: Member, item: Mapping[str, Any]) -> dict[str, Any]:
    """Dots of the Deployment's name become dashes here, though its Service keeps them."""
    deployment = (item.get("deploymentName") or "").replace(".", "-")
    service = {"namespace": member.csv.namespace, "name": serving_names(profile, deployment, {})["service"]}
    if item.get("webhookPath"):
        service["path"] = item["webhookPath"]
    return service if profile.webhook_admission == "no port" else {**service, "port": container_port(item)}


def namespace_selector(world: World, group: Group) -> dict[str, Any] | None:
    """Which namespaces a member's webhooks see (R-WH-1).

    Without OLM nobody labels the targets; they are selected by the label with its name that every namespace has.
    """
    targets = [name for name in group.targets if name]
    if targets and world.options.purpose == "apply":
        return {"matchExpressions": [{"key": NAME_LABEL, "operator": "In", "values": targets}]}
    if group.spec.get("targetNamespaces"):
        return {"matchLabels": group_uid_label(world.profile, group)}
    selector: dict[str, Any] | None = group.spec.get("selector")
    return selector


def crds(world: World) -> Iterator[Rendered]:
    """All CRDs, with the conversion that webhooks bring (R-WH-8).

    >>> webhook = {"type": "ConversionWebhook", "conversionCRDs": ["beacons.beacon.example.com"]}
    >>> beacon = {"name": "beacon.v1.0.0", "modes": ["All"], "owned": ["Beacon"], "webhooks": [webhook]}
    >>> show(crds, {"groups": {"ns/og": "all"}, "operators": [beacon]}, "spec.conversion.webhook.clientConfig")
    CustomResourceDefinition/beacons.beacon.example.com
      clientConfig: {service: {namespace: ns, name: beacon-controller-service, ..., path: /}, caBundle: ''}
    """
    conversions = dict(_conversions(world))
    for identity, found in world.cluster.stock.items():
        if identity.kind != "CustomResourceDefinition":
            continue
        obj = {key: value for key, value in found.object.items() if key != "status"}
        if identity in conversions:
            obj["spec"] = {**(obj.get("spec") or {}), "conversion": conversions[identity]}
        yield found._replace(object=obj)


def _conversions(world: World) -> Iterator[tuple[Identity, dict[str, Any]]]:
    """The conversion of each CRD that a webhook converts, or an admission webhook says so; the last one stays."""
    # `installed` has a CSV before those that it replaces, and what the newer one writes is what stays.
    for member, _ in reversed(list(world.installed())):
        written = member.installation.webhooks if member.installation else 0
        for item in member.csv.webhooks[:written]:
            names = item.get("conversionCRDs") or ()
            if item.get("type") != CONVERSION and world.profile.webhook_conversion != "conversionCRDs":
                continue
            for key in (Identity("apiextensions.k8s.io", "CustomResourceDefinition", "", name) for name in names):
                if item.get("type") == CONVERSION:
                    yield key, _conversion(world.profile, member, item)
                elif key in world.cluster.stock:
                    yield from _redirected(world, member, item, key)


def _conversion(profile: Profile, member: Member, item: Mapping[str, Any]) -> dict[str, Any]:
    service = _client_service(profile, member, item)
    service = {**service, "path": service.get("path") or "/"}
    webhook = {
        "clientConfig": {"service": service, "caBundle": ""},
        "conversionReviewVersions": item.get("admissionReviewVersions") or [],
    }
    return {"strategy": "Webhook", "webhook": webhook}


def _redirected(
    world: World, member: Member, item: Mapping[str, Any], key: Identity
) -> Iterator[tuple[Identity, dict[str, Any]]]:
    """The conversion that a CRD has, with the admission webhook's Service; nothing if it doesn't convert by webhook."""
    conversion = (world.cluster.stock[key].object.get("spec") or {}).get("conversion") or {}
    if conversion.get("strategy") == "Webhook":
        webhook = conversion.get("webhook") or {}
        client = webhook.get("clientConfig") or {}
        ours = {name: _client_service(world.profile, member, item)[name] for name in ("namespace", "name")}
        client = {**client, "service": {**(client.get("service") or {}), **ours}, "caBundle": ""}
        yield key, {**conversion, "webhook": {**webhook, "clientConfig": client}}
