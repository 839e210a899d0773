"""Webhook configurations, API services, and the conversion that CRDs get (R-API-1, R-WH-1 … R-WH-9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.kube.restmapper import Crd
from olmc.model.cluster import CsvState
from olmc.model.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Rendered,
    labels_of,
    mapping,
    spec_of,
    texts,
)
from olmc.model.operators import CONVERSION, APIServiceDescription, OperatorGroup, WebhookDescription
from olmc.model.options import Profile
from olmc.olm.naming import deep_hash, managed_labels, owner_labels, random_suffix
from olmc.olm.profiles.data import filled
from olmc.reconcile.deployments import subscription_config
from olmc.reconcile.initial_state import NAME_LABEL
from olmc.reconcile.serving import apiservice_descriptions, serving_deployments, serving_names
from olmc.render.context import RenderContext, group_uid_label, rendered

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


def apiservices(world: RenderContext) -> Iterator[Rendered]:
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
        for item in apiservice_descriptions(member.csv):
            if item in member.csv.owned_apiservices:
                yield rendered(_apiservice(world, member, item), "apiservices", "R-API-1", member.csv.source)


def _apiservice(world: RenderContext, member: CsvState, item: APIServiceDescription) -> KubernetesObject:
    csv, name = member.csv, item.service_name
    existing = world.cluster.objects.get(ObjectKey("apiregistration.k8s.io", "APIService", "", name))
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
        "group": item.group,
        "groupPriorityMinimum": 2000,
        "service": _apiservice_backend(profile, csv.namespace, item),
        "version": item.version,
        "versionPriority": 15,
    }
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


def _apiservice_backend(profile: Profile, namespace: str, item: APIServiceDescription) -> dict[str, Any]:
    service = serving_names(profile, item.deployment, item)["service"]
    port = {"port": item.port} if profile.cert_apiservice_port else {}
    return {"namespace": namespace, "name": service, **port}


def _adopted(obj: KubernetesObject, labels: Mapping[str, str], backend: Mapping[str, Any]) -> KubernetesObject:
    """An API service that was there: it keeps its priorities and annotations."""
    metadata = {**obj["metadata"], "labels": {**labels_of(obj), **labels}}
    return {**obj, "metadata": metadata, "spec": {**spec_of(obj), "caBundle": "", "service": backend}}


def webhooks(world: RenderContext) -> Iterator[Rendered]:
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
            if item.type in _KINDS and member.group is not None:
                obj = _configuration(world.profile, member, namespace_selector(world, member.group), item)
                obj = _updated(obj, world.cluster.objects)
                keys = ("spec", "webhookdefinitions", index)
                yield rendered(obj, STAGE, "R-WH-3", member.csv.source, *keys)


def _configuration(
    profile: Profile, member: CsvState, selector: Mapping[str, Any] | None, item: WebhookDescription
) -> KubernetesObject:
    csv, base = member.csv, item.name
    digest = deep_hash("WebhookDescription", item.object)
    labels = filled(profile.webhook_labels, csv=csv.name, csv_ns=csv.namespace, generateName=base, hash=digest)
    kind = _KINDS[item.type]
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


def _updated(obj: KubernetesObject, objects: Mapping[ObjectKey, Rendered]) -> KubernetesObject:
    """The configuration under the name of the one that exists for the same CSV and generateName, if any (R-WH-3)."""
    labels = obj["metadata"]["labels"]
    mine = {key: value for key, value in labels.items() if key in _IDENTIFYING}.items()
    if len(mine) != len(_IDENTIFYING):
        return obj
    for identity, found in objects.items():
        existing, known = found.object["metadata"], labels_of(found.object)
        if identity.kind == obj["kind"] and identity.group == _ADMISSION_GROUP and mine <= known.items():
            return {**obj, "metadata": {**existing, "labels": dict(sorted({**known, **labels}.items()))}}
    return obj


def _entry(
    profile: Profile, member: CsvState, selector: Mapping[str, Any] | None, item: WebhookDescription
) -> dict[str, Any]:
    """R-WH-4."""
    client: dict[str, Any] = {"service": _client_service(profile, member, item)}
    if item.deployment in serving_deployments(member.csv):
        client["caBundle"] = ""
    entry: dict[str, Any] = {"name": item.name, "clientConfig": client}
    given = item.object
    for key in _COPIED:
        if given.get(key) is not None:
            entry[key] = given[key]
    if selector is not None:
        entry["namespaceSelector"] = dict(selector)
    if given.get("admissionReviewVersions"):
        entry["admissionReviewVersions"] = given["admissionReviewVersions"]
    if item.type == "MutatingAdmissionWebhook" and given.get("reinvocationPolicy"):
        entry["reinvocationPolicy"] = given["reinvocationPolicy"]
    return entry


def _client_service(profile: Profile, member: CsvState, item: WebhookDescription) -> dict[str, Any]:
    """Dots of the Deployment's name become dashes here, though its Service keeps them."""
    deployment = item.deployment.replace(".", "-")
    service: dict[str, Any] = {"namespace": member.csv.namespace, "name": serving_names(profile, deployment)["service"]}
    if item.object.get("webhookPath"):
        service["path"] = item.object["webhookPath"]
    return service if profile.webhook_admission == "no port" else {**service, "port": item.port}


def namespace_selector(world: RenderContext, group: OperatorGroup) -> dict[str, Any] | None:
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


def crds(world: RenderContext) -> Iterator[Rendered]:
    """All CRDs, with the conversion that webhooks bring (R-WH-8).

    >>> webhook = {"type": "ConversionWebhook", "conversionCRDs": ["beacons.beacon.example.com"]}
    >>> beacon = {"name": "beacon.v1.0.0", "modes": ["All"], "owned": ["Beacon"], "webhooks": [webhook]}
    >>> show(crds, {"groups": {"ns/og": "all"}, "operators": [beacon]}, "spec.conversion.webhook.clientConfig")
    CustomResourceDefinition/beacons.beacon.example.com
      clientConfig: {service: {namespace: ns, name: beacon-controller-service, ..., path: /}, caBundle: ''}
    """
    conversions = dict(_conversions(world))
    for identity, found in world.cluster.objects.items():
        if identity.kind != CRD_KIND:
            continue
        obj = {key: value for key, value in found.object.items() if key != "status"}
        if identity in conversions:
            obj["spec"] = {**spec_of(obj), "conversion": conversions[identity]}
        yield found._replace(object=obj)


def _conversions(world: RenderContext) -> Iterator[tuple[ObjectKey, dict[str, Any]]]:
    """The conversion of each CRD that a webhook converts, or an admission webhook says so; the last one stays."""
    # `installed` has a CSV before those that it replaces, and what the newer one writes is what stays.
    for member, _ in reversed(list(world.installed())):
        written = member.installation.webhooks if member.installation else 0
        for item in member.csv.webhooks[:written]:
            if item.type != CONVERSION and world.profile.webhook_conversion != "conversionCRDs":
                continue
            for name in item.converted_crds:
                key = ObjectKey(APIEXTENSIONS, CRD_KIND, "", name)
                if item.type == CONVERSION:
                    yield key, _conversion(world.profile, member, item)
                elif key in world.cluster.objects:
                    yield from _redirected(world, member, item, key)


def _conversion(profile: Profile, member: CsvState, item: WebhookDescription) -> dict[str, Any]:
    service = _client_service(profile, member, item)
    service = {**service, "path": service.get("path") or "/"}
    webhook = {
        "clientConfig": {"service": service, "caBundle": ""},
        "conversionReviewVersions": texts(item.object.get("admissionReviewVersions")),
    }
    return {"strategy": "Webhook", "webhook": webhook}


def _redirected(
    world: RenderContext, member: CsvState, item: WebhookDescription, key: ObjectKey
) -> Iterator[tuple[ObjectKey, dict[str, Any]]]:
    """The conversion that a CRD has, with the admission webhook's Service; nothing if it doesn't convert by webhook."""
    crd = Crd(world.cluster.objects[key].object)
    if crd.conversion.get("strategy") == "Webhook":
        ours = {name: _client_service(world.profile, member, item)[name] for name in ("namespace", "name")}
        service = {**mapping(crd.client_config.get("service")), **ours}
        client = {**crd.client_config, "service": service, "caBundle": ""}
        yield key, {**crd.conversion, "webhook": {**mapping(crd.conversion.get("webhook")), "clientConfig": client}}
