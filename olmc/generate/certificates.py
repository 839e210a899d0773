"""Serving certificates: what is made for Deployments behind webhooks and API services (R-CERT-1 … R-CERT-3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.generate.world import World, rendered
from olmc.model.coerce import mapping
from olmc.model.objects import Identity, KubernetesObject, Origin, Rendered, namespace_of
from olmc.model.operators import DEFAULT_PORT, Csv, StrategyDeployment
from olmc.model.profile import Profile
from olmc.model.rbac import RBAC, RBAC_V1
from olmc.profiles.ownership import csv_reference, managed_labels, owner_labels, with_labels
from olmc.settle.serving import UNKNOWN_CA_HASH, Serving, servings

STAGE = "certificates"


def certificates(world: World) -> Iterator[Rendered]:
    """Service, Secret and RBAC of everything that serves (R-CERT-2).

    >>> beacon = {"name": "beacon.v1.0.0", "webhooks": [{"generateName": "vbeacon.example.com"}]}
    >>> show(certificates, {"groups": {"ns/og": "own"}, "operators": [beacon]}, "spec.ports", "data")
    Service/ns/beacon-controller-service
      ports: [{name: '443', port: 443, targetPort: 443}]
    Secret/ns/beacon-controller-service-cert
      data: {olmCAKey: '', tls.crt: '', tls.key: ''}
    Role/ns/beacon-controller-service-cert
    RoleBinding/ns/beacon-controller-service-cert
    ClusterRoleBinding/beacon-controller-service-system:auth-delegator
    RoleBinding/kube-system/beacon-controller-service-auth-reader
    """
    for member, _ in world.installed():
        for serving in servings(world.profile, member.csv):
            keys = ("spec", "install", "spec", "deployments", member.csv.deployments.index(serving.deployment))
            for obj in _objects(world.profile, member.csv, serving):
                if not _stays(world, obj):
                    yield rendered(obj, STAGE, "R-CERT-2", member.csv.source, *keys, origin=Origin.CERTIFICATE)
    for csv in world.cluster.retired:
        for obj in _left_behind(world, csv):
            yield rendered(obj, STAGE, "R-CERT-2", csv.source, origin=Origin.CERTIFICATE)


def _stays(world: World, obj: KubernetesObject) -> bool:
    """Whether what is there stays: a Secret, or a Service of the bundle, which overwrites the one made here."""
    key = Identity("", obj["kind"], namespace_of(obj), obj["metadata"]["name"])
    found = world.cluster.stock.get(key)
    return found is not None and (key.kind == "Secret" or found.provenance.origin is not Origin.MANIFEST)


def _left_behind(world: World, csv: Csv) -> Iterator[KubernetesObject]:
    """The RoleBinding in kube-system has no owner and stays, unless the present CSV has it too."""
    profile = world.profile
    present = {each.names["reader"] for member, _ in world.installed() for each in servings(profile, member.csv)}
    for serving in servings(profile, csv):
        if serving.names["reader"] not in present:
            yield _auth_reader(profile, csv, serving)


def _subject(csv: Csv, deployment: StrategyDeployment) -> dict[str, str]:
    account = deployment.pod.get("serviceAccountName") or "default"
    return {"kind": "ServiceAccount", "name": account, "namespace": csv.namespace}


def _objects(profile: Profile, csv: Csv, serving: Serving) -> Iterator[KubernetesObject]:
    subject = _subject(csv, serving.deployment)
    names, secret = serving.names, serving.names["secret"]

    def metadata(kind: str, name: str) -> dict[str, Any]:
        made = with_labels({"name": name, "namespace": csv.namespace}, _labels(profile, csv, kind))
        return {**made, "ownerReferences": [csv_reference(csv.name)]}

    selector = mapping(mapping(serving.deployment.spec.get("selector")).get("matchLabels"))
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata("Service", names["service"]),
        "spec": {"ports": _ports(profile, serving), "selector": dict(selector)},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata("Secret", secret), "annotations": {"olmcahash": UNKNOWN_CA_HASH}},
        # Keys and certificates are made of chance, other ones in every cluster (R-CERT-3): what is known is that they
        # are there.
        "data": dict.fromkeys(sorted(profile.cert_secret_keys), ""),
        "type": "kubernetes.io/tls",
    }
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret]}
    yield {"apiVersion": RBAC_V1, "kind": "Role", "metadata": metadata("Role", secret), "rules": [rule]}
    yield _binding("RoleBinding", metadata("RoleBinding", secret), subject, "Role", secret)
    # An owner lives in the namespace of what it owns, so the CSV owns neither this one nor the one in kube-system
    # (R-CERT-2).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/install/certresources.go#L311-L546
    delegator = with_labels({"name": names["delegator"]}, _labels(profile, csv, "delegator"))
    yield _binding("ClusterRoleBinding", delegator, subject, "ClusterRole", "system:auth-delegator")
    yield _auth_reader(profile, csv, serving)


def _labels(profile: Profile, csv: Csv, which: str) -> dict[str, str]:
    words = profile.cert_labels[which]
    owner = owner_labels(profile, csv.name, csv.namespace) if "owner" in words else {}
    return {**managed_labels("managed" in words), **owner}


def _auth_reader(profile: Profile, csv: Csv, serving: Serving) -> KubernetesObject:
    metadata = {"name": serving.names["reader"], "namespace": "kube-system"}
    metadata = with_labels(metadata, _labels(profile, csv, "reader"))
    subject = _subject(csv, serving.deployment)
    return _binding("RoleBinding", metadata, subject, "Role", "extension-apiserver-authentication-reader")


def _binding(
    kind: str, metadata: dict[str, Any], subject: dict[str, str], role_kind: str, role: str
) -> KubernetesObject:
    return {
        "apiVersion": RBAC_V1,
        "kind": kind,
        "metadata": metadata,
        "subjects": [subject],
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role},
    }


def _ports(profile: Profile, serving: Serving) -> list[dict[str, Any]]:
    """One port for each distinct pair of port and target port that is served (R-CERT-2)."""
    ports: list[dict[str, Any]] = []
    for item in serving.descriptions:
        port, target = item.port, item.target_port if profile.cert_service_port == "targetPort" else None
        made = {"name": str(port), "port": port, "targetPort": target or port}
        if profile.cert_service_port == "443":
            made = {"port": DEFAULT_PORT, "targetPort": port}
        # Two targets behind one port would be two ports of one name: the install fails before it comes to this
        # (R-CERT-2).
        if made not in ports:
            ports.append(made)
    return ports
