"""Who issues the certificates of webhooks, and what that makes of the objects (R-V1-GEN-9, R-V1-CERT-1 … 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.model.objects import KubernetesObject, annotations_of, mapping, mappings, spec_of, text
from olmc.model.options import Certificates
from olmc.olm.certificates import CERTIFICATE_VOLUMES, certificate_volume
from olmc.olm.naming import joined_name

_NAMES = frozenset(name for name, *_ in CERTIFICATE_VOLUMES)
_PATHS = frozenset(path for _, path, *_ in CERTIFICATE_VOLUMES)


def service_name(deployment: str) -> str:
    """The name of the Service before a Deployment's webhooks (R-V1-GEN-9)."""
    return joined_name(deployment.replace(".", "-"), "service")


def secret_name(deployment: str) -> str:
    """The name of the Secret with its certificate, and of the Certificate (R-V1-GEN-9)."""
    return joined_name(service_name(deployment), "cert")


def with_certificate_volumes(pod: Mapping[str, Any], deployment: str) -> dict[str, Any]:
    """A pod spec with the certificate in every container, instead of what is mounted at its places (R-V1-CERT-1)."""
    containers = mappings(pod.get("containers"))
    mounts = [mount for container in containers for mount in mappings(container.get("volumeMounts"))]
    replaced = _NAMES | {text(mount.get("name")) for mount in mounts if mount.get("mountPath") in _PATHS}
    return {
        **pod,
        "containers": [
            {
                **container,
                "volumeMounts": [
                    *(m for m in mappings(container.get("volumeMounts")) if text(m.get("name")) not in replaced),
                    *({"name": name, "mountPath": path} for name, path, *_ in CERTIFICATE_VOLUMES),
                ],
            }
            for container in containers
        ],
        "volumes": [
            *(volume for volume in mappings(pod.get("volumes")) if text(volume.get("name")) not in replaced),
            *(certificate_volume(name, secret_name(deployment)) for name, *_ in CERTIFICATE_VOLUMES),
        ],
    }


def with_injected_ca(
    obj: KubernetesObject, deployment: str, namespace: str, provider: Certificates
) -> KubernetesObject:
    """A webhook configuration or CRD with the annotation by which the provider fills in its caBundle (R-V1-CERT-2,
    R-V1-CERT-3)."""
    if provider == "none":
        return obj
    if provider == "cert-manager":
        return _annotated(obj, "cert-manager.io/inject-ca-from", f"{namespace}/{secret_name(deployment)}")
    return _annotated(obj, "service.beta.openshift.io/inject-cabundle", "true")


def with_serving_certificate(service: KubernetesObject, deployment: str, provider: Certificates) -> KubernetesObject:
    """A Service with the annotation by which service-ca writes its Secret (R-V1-CERT-3)."""
    if provider != "service-ca":
        return service
    return _annotated(service, "service.beta.openshift.io/serving-cert-secret-name", secret_name(deployment))


def _annotated(obj: KubernetesObject, key: str, value: str) -> KubernetesObject:
    annotations = dict(sorted({**annotations_of(obj), key: value}.items()))
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def certificate_objects(deployment: str, namespace: str, provider: Certificates) -> Iterator[KubernetesObject]:
    """What has cert-manager issue a Deployment's certificate; other providers need no objects (R-V1-GEN-12)."""
    if provider != "cert-manager":
        return
    certificate = secret_name(deployment)
    issuer = joined_name(certificate, "selfsigned-issuer")
    host = f"{service_name(deployment)}.{namespace}"
    spec = {
        "commonName": host,
        "dnsNames": [host, f"{host}.svc", f"{host}.svc.cluster.local"],
        "duration": "17520h0m0s",
        "renewBefore": "24h0m0s",
        "issuerRef": {"name": issuer},
        "secretName": certificate,
        "usages": ["server auth"],
    }
    for kind, name, content in (("Issuer", issuer, {"selfSigned": {}}), ("Certificate", certificate, spec)):
        metadata = {"name": name, "namespace": namespace}
        yield {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": content}


def serving_deployments(webhooks: list[Mapping[str, Any]]) -> frozenset[str]:
    """The names of the Deployments that webhooks are in, conversion webhooks included."""
    return frozenset(text(webhook.get("deploymentName")) for webhook in webhooks)


def matched_labels(deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    """The labels of the pods of an entry of an install strategy, by its selector."""
    return mapping(mapping(spec_of(deployment).get("selector")).get("matchLabels"))
