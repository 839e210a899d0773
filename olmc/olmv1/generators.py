"""The objects that operator-controller makes of a bundle, kind by kind (R-V1-GEN-1 … 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.gojson import encode_decoded
from olmc.lean import NamedTuple
from olmc.model.objects import (
    RBAC_V1,
    KubernetesObject,
    annotations_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    spec_of,
    text,
    texts,
)
from olmc.model.operators import CONVERSION
from olmc.model.options import Certificates
from olmc.olm.naming import TARGETS, h36, joined_name
from olmc.olmv1.certificates import (
    certificate_objects,
    matched_labels,
    service_name,
    serving_deployments,
    with_certificate_volumes,
    with_injected_ca,
    with_serving_certificate,
)
from olmc.olmv1.deployment_config import NO_CONFIG, DeploymentConfig, configured_deployment
from olmc.olmv1.registry_bundle import BundleError, RegistryBundle
from olmc.olmv1.validators import MUTATING, NAMESPACED_KINDS, VALIDATING
from olmc.strconv import MAX_INT64, decimal

_READ_NAMESPACES = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
_ADMISSION_V1 = "admissionregistration.k8s.io/v1"


class Installation(NamedTuple):
    """Where a bundle is installed and how: the namespace, the namespaces that it watches ("" alone: all), who issues
    certificates, and the configuration of its Deployments."""

    namespace: str
    targets: tuple[str, ...]
    certificates: Certificates = "none"
    config: DeploymentConfig = NO_CONFIG

    @property
    def watches_all(self) -> bool:
        return self.targets == ("",)


def generate(bundle: RegistryBundle, installation: Installation) -> list[KubernetesObject]:
    """All objects, in the order of operator-controller. Raises BundleError (R-V1-GEN-6)."""
    return [obj for generator in _GENERATORS for obj in generator(bundle, installation)]


def _account_of(permission: Mapping[str, Any]) -> str:
    """The ServiceAccount that a permission is for; without a name, that of every namespace."""
    return text(permission.get("serviceAccountName")) or "default"


def _permissions(bundle: RegistryBundle, key: str) -> list[Mapping[str, Any]]:
    return mappings(bundle.strategy.get(key))


def _service_accounts(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """One for each name in the permissions, but for that which every namespace has (R-V1-GEN-3)."""
    permissions = _permissions(bundle, "permissions") + _permissions(bundle, "clusterPermissions")
    # Kubernetes makes the account `default` in every namespace; to own it would be to delete it on removal.
    for name in sorted(set(map(_account_of, permissions)) - {"default"}):
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": at.namespace}}


def _roles(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """In each namespace that is watched; who watches all gets ClusterRoles instead (R-V1-GEN-4)."""
    for target in () if at.watches_all else at.targets:
        for permission in _permissions(bundle, "permissions"):
            yield from _granted(bundle, permission, at.namespace, target)


def _cluster_roles(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """Also what would be Roles, where all namespaces are watched, with the right to see these (R-V1-GEN-5)."""
    permissions = _permissions(bundle, "clusterPermissions")
    # Who watches all namespaces lists them to see that new ones come, which OLM v0 grants by the group's ClusterRole.
    for permission in _permissions(bundle, "permissions") if at.watches_all else ():
        permissions.append({**permission, "rules": [*(permission.get("rules") or ()), _READ_NAMESPACES]})
    for permission in permissions:
        yield from _granted(bundle, permission, at.namespace, "")


def _granted(
    bundle: RegistryBundle, permission: Mapping[str, Any], home: str, target: str
) -> Iterator[KubernetesObject]:
    """The role for a permission and its binding, in the namespace `target`, or in none (R-V1-GEN-2)."""
    account = _account_of(permission)
    # The hash is of the permission as it is written there, so of an account without a name.
    name = joined_name(f"{bundle.name}-{account}", h36(encode_decoded(permission) + b"\n"))
    metadata = {"name": name, **({"namespace": target} if target else {})}
    role = "Role" if target else "ClusterRole"
    yield {"apiVersion": RBAC_V1, "kind": role, "metadata": metadata, "rules": permission.get("rules")}
    yield {
        "apiVersion": RBAC_V1,
        "kind": f"{role}Binding",
        "metadata": metadata,
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
    }


def _crds(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """The CRDs, those that a webhook converts with its address (R-V1-GEN-6). Raises BundleError."""
    webhooks_by_crd = {
        crd: webhook
        for webhook in bundle.webhooks
        if webhook.get("type") == CONVERSION
        for crd in texts(webhook.get("conversionCRDs"))
    }
    for crd in bundle.crds:
        webhook = webhooks_by_crd.get(name_of(crd))
        yield crd if webhook is None else _converted(crd, webhook, at)


def _converted(crd: KubernetesObject, webhook: Mapping[str, Any], at: Installation) -> KubernetesObject:
    # The API server refuses such a CRD; the controller says so before anything is written.
    if spec_of(crd).get("preserveUnknownFields"):
        raise BundleError(
            f"custom resource definition '{name_of(crd)}' must have .spec.preserveUnknownFields set to false to let "
            "API Server call webhook to do the conversion"
        )
    deployment = text(webhook.get("deploymentName"))
    address = _webhook_address({**webhook, "webhookPath": webhook.get("webhookPath", "/")}, at)
    called = {"clientConfig": address, "conversionReviewVersions": webhook.get("admissionReviewVersions")}
    spec = {**crd["spec"], "conversion": {"strategy": "Webhook", "webhook": called}}
    return with_injected_ca({**crd, "spec": spec}, deployment, at.namespace, at.certificates)


def _webhook_address(webhook: Mapping[str, Any], at: Installation) -> dict[str, Any]:
    """Where the API server calls a webhook; a port that is not given is written as 0 (R-V1-GEN-10)."""
    path = {} if webhook.get("webhookPath") is None else {"path": webhook["webhookPath"]}
    name = service_name(text(webhook.get("deploymentName")))
    return {"service": {"namespace": at.namespace, "name": name, **path, "port": webhook.get("containerPort") or 0}}


def _others(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """All other objects as they are, what has a namespace in that of the installation (R-V1-GEN-7)."""
    for obj in bundle.others:
        namespaced = obj["kind"] in NAMESPACED_KINDS
        yield {**obj, "metadata": {**metadata_of(obj), "namespace": at.namespace}} if namespaced else obj


def _deployments(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """The Deployments of the install strategy (R-V1-GEN-8)."""
    serving = serving_deployments(bundle.webhooks)
    for entry in bundle.deployments:
        name, labels = text(entry.get("name")), mapping(entry.get("label"))
        spec = mapping(entry.get("spec"))
        template = mapping(spec.get("template"))
        # As in OLM v0 the CSV's annotations go onto the pods: operators read their target namespaces from there.
        annotations = {**annotations_of(bundle.csv), **annotations_of(template), TARGETS: ",".join(at.targets)}
        pod = dict(spec_of(template))
        # Without a provider the renderer still makes the Deployment; the support checks have refused the bundle before.
        if name in serving and at.certificates != "none":
            pod = with_certificate_volumes(pod, name)
        metadata = {**metadata_of(template), "annotations": dict(sorted(annotations.items()))}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": at.namespace, **({"labels": dict(labels)} if labels else {})},
            "spec": {**spec, "template": {**template, "metadata": metadata, "spec": pod}, "revisionHistoryLimit": 1},
        }
        yield configured_deployment(deployment, at.config)


def _webhook_configurations(kind: str) -> Callable[[RegistryBundle, Installation], Iterator[KubernetesObject]]:
    """What makes the configurations for webhooks of a kind, one for each of them (R-V1-GEN-10)."""
    # In the order of Go's type, which has reinvocationPolicy where a webhook can change objects.
    optional = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "timeoutSeconds", "reinvocationPolicy")

    def generator(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
        for webhook in bundle.webhooks:
            if webhook.get("type") != kind:
                continue
            # OLM v0 leaves the rest of the name to the API server; here names are fixed, so that an upgrade finds its
            # objects.
            name = text(webhook.get("generateName")).removesuffix("-")
            called = {
                "name": name,
                "clientConfig": _webhook_address(webhook, at),
                **{key: webhook[key] for key in optional if key in webhook and not _is_foreign(key, kind)},
                **_namespace_selector(at),
                "sideEffects": webhook.get("sideEffects"),
                "admissionReviewVersions": webhook.get("admissionReviewVersions"),
            }
            configuration = {
                "apiVersion": _ADMISSION_V1,
                "kind": kind.replace("AdmissionWebhook", "WebhookConfiguration"),
                # The API server drops the namespace of what belongs to the cluster; it is written all the same.
                "metadata": {"name": name, "namespace": at.namespace},
                "webhooks": [called],
            }
            yield with_injected_ca(configuration, text(webhook.get("deploymentName")), at.namespace, at.certificates)

    return generator


def _is_foreign(key: str, kind: str) -> bool:
    return key == "reinvocationPolicy" and kind != MUTATING


def _namespace_selector(at: Installation) -> dict[str, Any]:
    if at.watches_all:
        return {}
    expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(at.targets)}
    return {"namespaceSelector": {"matchExpressions": [expression]}}


def _services(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """One Service before each Deployment that webhooks are in (R-V1-GEN-11)."""
    serving = serving_deployments(bundle.webhooks)
    for entry in bundle.deployments:
        name = text(entry.get("name"))
        if name not in serving:
            continue
        webhooks = [webhook for webhook in bundle.webhooks if webhook.get("deploymentName") == name]
        labels = matched_labels(entry)
        spec = {"ports": _ports(webhooks), **({"selector": dict(labels)} if labels else {})}
        metadata = {"name": service_name(name), "namespace": at.namespace}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        yield with_serving_certificate(service, name, at.certificates)


def _ports(webhooks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    pairs = set()
    for webhook in webhooks:
        port = webhook.get("containerPort") or 0
        # A Service needs a port where the webhook configuration may leave it to the API server.
        port = port if port > 0 else 443
        target = webhook.get("targetPort")
        pairs.add((port, port if target is None else target))
    # The port 80 and one that is called "80" are two, which only their types tell apart.
    ordered = sorted(pairs, key=lambda pair: (pair[0], _port_number(pair[1]), str(pair[1]), isinstance(pair[1], str)))
    return [{"name": str(port), "port": port, "targetPort": target} for port, target in ordered]


def _port_number(target: int | str) -> int:
    """A port as a number; one with a name counts as none, unless the name is a number."""
    if isinstance(target, int):
        return target
    if not (target.isascii() and target.isdigit()):
        return 0
    number = decimal(target)
    return MAX_INT64 if number is None else number


def _certificates(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    for name in sorted(serving_deployments(bundle.webhooks)):
        yield from certificate_objects(name, at.namespace, at.certificates)


_GENERATORS = (
    _service_accounts,
    _roles,
    _cluster_roles,
    _crds,
    _others,
    _deployments,
    _webhook_configurations(VALIDATING),
    _webhook_configurations(MUTATING),
    _services,
    _certificates,
)
