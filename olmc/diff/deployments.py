"""What OLM itself writes into the Deployments of an operator, so that nothing else is taken for it.

A volume, a mount or a variable may have the name that OLM gives it and be anything: what counts is all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olmc.diff.accounts import DEFAULT_ACCOUNT
from olmc.diff.extensions import owner_of
from olmc.diff.operators import DiffOperator
from olmc.lean import NamedTuple, module
from olmc.model.cluster import NamespacedName
from olmc.model.objects import KubernetesObject, ObjectKey, labels_of, mapping, mappings, object_key, pod_of, text
from olmc.olm.certificates import CERTIFICATE_VOLUMES, certificate_volume
from olmc.olm.naming import CONDITION_NAME

v1_certificates = module("olmc.olmv1.certificates")  # which comparisons without ClusterExtensions do without

_SERVER_MODE = 0o644
"""The mode that the API server fills in for the files of a volume."""


class DeploymentWriter(NamedTuple):
    """Who wrote a Deployment: its CSV, None where OLM v1 did, and the Secrets that its certificate may be in."""

    csv: str | None
    secrets: tuple[str, ...]

    @property
    def condition_variable(self) -> Mapping[str, str] | None:
        """The variable by which an operator finds its OperatorCondition."""
        return {"name": CONDITION_NAME, "value": self.csv} if self.csv is not None else None

    def certificate_volumes(self, pod: Mapping[str, Any]) -> Mapping[str, str]:
        """The volumes of a pod that are exactly as OLM writes them for a certificate, each with the path at which it
        mounts it (R-CERT-4, R-V1-CERT-1)."""
        there = {text(volume.get("name")): _as_written(volume) for volume in mappings(pod.get("volumes"))}
        return {
            name: path for name, path, *_ in CERTIFICATE_VOLUMES
            if any(there.get(name) == certificate_volume(name, secret) for secret in self.secrets)
        }  # fmt: skip


def _as_written(volume: Mapping[str, Any]) -> dict[str, Any]:
    """A volume without the mode that the API server fills in."""
    secret = mapping(volume.get("secret"))
    if secret.get("defaultMode") != _SERVER_MODE:
        return dict(volume)
    return {**volume, "secret": {key: value for key, value in secret.items() if key != "defaultMode"}}


def deployment_writers(
    objects: Iterable[KubernetesObject], owners: Mapping[NamespacedName, DiffOperator]
) -> dict[ObjectKey, DeploymentWriter]:
    """By Deployment who wrote it, of those of OLM; `owners` are the operators of the side.

    That labels say so is not enough: the CSV has to be there, and to have a Deployment of that name in that namespace.
    """
    strategies = {(name, text(item.get("name"))) for name, owner in owners.items() for item in _deployments(owner)}
    writers = {}
    for obj in objects:
        if obj.get("kind") != "Deployment":
            continue
        known, labels = object_key(obj), labels_of(obj)
        name = NamespacedName(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner")))
        if owner_of(obj):
            writers[known] = DeploymentWriter(None, (v1_certificates.secret_name(known.name),))
        elif (name, known.name) in strategies and name.namespace == known.namespace:
            writers[known] = DeploymentWriter(name.name, _secrets(owners[name], known.name))
    return writers


def _deployments(owner: DiffOperator) -> list[Mapping[str, Any]]:
    return mappings(mapping(mapping(owner.spec.get("install")).get("spec")).get("deployments"))


def certificate_accounts(owners: Mapping[NamespacedName, DiffOperator]) -> dict[NamespacedName, str]:
    """By Secret that OLM would write a certificate into the ServiceAccount of the Deployment that serves with it."""
    return {
        NamespacedName(owner.namespace, secret): text(pod_of(item).get("serviceAccountName")) or DEFAULT_ACCOUNT
        for owner in owners.values() for item in _deployments(owner)
        for secret in _secrets(owner, text(item.get("name")))
    }  # fmt: skip


def _secrets(owner: DiffOperator, deployment: str) -> tuple[str, ...]:
    """The Secrets that a Deployment's certificates may be in; before 0.15 they were called like the API services that
    it serves (R-CERT-2)."""
    described = mapping(owner.spec.get("apiservicedefinitions"))
    return (
        f"{deployment}-service-cert",
        *(
            f"{text(api.get('version'))}.{text(api.get('group'))}-cert"
            for field in ("owned", "required") for api in mappings(described.get(field))
            if text(api.get("deploymentName")) == deployment
        ),
    )  # fmt: skip
