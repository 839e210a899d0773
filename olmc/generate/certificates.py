"""Serving certificates: what Deployments behind webhooks and API services get (R-CERT-1 … R-CERT-4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.generate.world import World, rendered
from olmc.model.cluster import Member
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import Csv
from olmc.profiles.ownership import MANAGED_LABELS, csv_reference, owner_labels
from olmc.settle.install import serving_deployments, serving_descriptions

STAGE = "certificates"
RBAC = "rbac.authorization.k8s.io"
UNKNOWN_CA_HASH = ""
DEFAULT_PORT = 443

_MOUNTS = (
    ("apiservice-cert", "/apiserver.local.config/certificates", ("apiserver.crt", "apiserver.key")),
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", ("tls.crt", "tls.key")),
)


def service_name(deployment: str) -> str:
    """The name of the Service in front of a Deployment."""
    return f"{deployment}-service"


def secret_name(deployment: str) -> str:
    """The name of the Secret with a Deployment's serving certificate."""
    return f"{deployment}-service-cert"


def with_certificates(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A Deployment's spec with the certificate's volumes, mounts and a service account (R-CERT-4)."""
    template = dict(spec.get("template") or {})
    pod = dict(template.get("spec") or {})
    pod.setdefault("serviceAccountName", "default")
    for volume, path, (certificate, key) in _MOUNTS:
        items = [{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}]
        source = {"name": volume, "secret": {"secretName": secret_name(name), "items": items}}
        pod["volumes"] = _with_volume(pod.get("volumes") or [], source)
        mount = {"name": volume, "mountPath": path}
        pod["containers"] = [
            {**container, "volumeMounts": _with_mount(container.get("volumeMounts") or [], mount)}
            for container in pod.get("containers") or ()
        ]
    template["spec"] = pod
    return {**spec, "template": template}


def _with_volume(volumes: list[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    if any(volume.get("name") == new["name"] for volume in volumes):
        return [new if volume.get("name") == new["name"] else volume for volume in volumes]
    return [*volumes, new]


def _with_mount(mounts: list[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """A mount of that name stops the search and stays; one at that path is replaced; else the new one is appended."""
    for index, mount in enumerate(mounts):
        if mount.get("name") == new["name"]:
            return mounts
        if mount.get("mountPath") == new["mountPath"]:
            return [*mounts[:index], new, *mounts[index + 1 :]]
    return [*mounts, new]


def certificates(world: World) -> Iterator[Rendered]:
    """Service, Secret and RBAC of every serving Deployment (R-CERT-2)."""
    for member, _ in world.installed():
        for index, item in enumerate(member.csv.deployments):
            name = item.get("name") or ""
            if name in serving_deployments(member.csv):
                keys = ("spec", "install", "spec", "deployments", index)
                for obj in _objects(member, item):
                    if not _is_in_bundle(world, obj):
                        yield rendered(obj, STAGE, "R-CERT-2", member.csv.source, *keys)
    for csv in world.cluster.retired:
        for obj in _left_behind(world, csv):
            yield rendered(obj, STAGE, "R-CERT-2", csv.source)


def _is_in_bundle(world: World, obj: KubernetesObject) -> bool:
    """A Service that the bundle ships under the same name overwrites the one made here."""
    return Identity("", obj["kind"], obj["metadata"].get("namespace") or "", obj["metadata"]["name"]) in (
        world.cluster.stock
    )


def _left_behind(world: World, csv: Csv) -> Iterator[KubernetesObject]:
    """The RoleBinding in kube-system has no owner and stays, unless the present CSV has it too."""
    present = {name for member, _ in world.installed() for name in serving_deployments(member.csv)}
    for item in csv.deployments:
        name = item.get("name") or ""
        if name in serving_deployments(csv) and name not in present:
            yield _auth_reader(name, _subject(csv, item))


def _subject(csv: Csv, item: Mapping[str, Any]) -> dict[str, str]:
    pod = ((item.get("spec") or {}).get("template") or {}).get("spec") or {}
    account = pod.get("serviceAccountName") or "default"
    return {"kind": "ServiceAccount", "name": account, "namespace": csv.namespace}


def _objects(member: Member, item: Mapping[str, Any]) -> Iterator[KubernetesObject]:
    csv, name = member.csv, item.get("name") or ""
    subject = _subject(csv, item)
    secret = secret_name(name)
    owned = {
        "namespace": csv.namespace,
        "labels": dict(MANAGED_LABELS),
        "ownerReferences": [csv_reference(csv.name)],
    }
    selector = ((item.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service_name(name), **owned},
        "spec": {"ports": _ports(csv, name), "selector": dict(selector)},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, **owned, "annotations": {"olmcahash": UNKNOWN_CA_HASH}},
        "data": {"olmCAKey": "", "tls.crt": "", "tls.key": ""},
        "type": "kubernetes.io/tls",
    }
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret]}
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": secret, **owned},
        "rules": [rule],
    }
    yield _binding("RoleBinding", {"name": secret, **owned}, subject, "Role", secret)
    labels = {**MANAGED_LABELS, **owner_labels(csv.name, csv.namespace)}
    delegator = {"name": f"{service_name(name)}-system:auth-delegator", "labels": labels}
    yield _binding("ClusterRoleBinding", delegator, subject, "ClusterRole", "system:auth-delegator")
    yield _auth_reader(name, subject)


def _auth_reader(deployment: str, subject: dict[str, str]) -> KubernetesObject:
    metadata = {
        "name": f"{service_name(deployment)}-auth-reader",
        "namespace": "kube-system",
        "labels": dict(MANAGED_LABELS),
    }
    return _binding("RoleBinding", metadata, subject, "Role", "extension-apiserver-authentication-reader")


def _binding(
    kind: str, metadata: dict[str, Any], subject: dict[str, str], role_kind: str, role: str
) -> KubernetesObject:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "subjects": [subject],
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role},
    }


def _ports(csv: Csv, deployment: str) -> list[dict[str, Any]]:
    """One port for each distinct pair of port and target port that the Deployment serves (R-CERT-2)."""
    ports: list[dict[str, Any]] = []
    for item in serving_descriptions(csv):
        if item.get("deploymentName") != deployment:
            continue
        port = container_port(item)
        made = {"name": str(port), "port": port, "targetPort": item.get("targetPort") or port}
        if made not in ports:
            ports.append(made)
    return ports


def container_port(description: Mapping[str, Any]) -> int:
    """The port of a webhook or API service description, 443 where none is given."""
    port = description.get("containerPort") or 0
    return port if port > 0 else DEFAULT_PORT
