"""APIs that Kubernetes has removed (R-CAT-255, R-CAT-256)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from olmc.check.validators.findings import CsvView, Finding, ascii_list, result_text
from olmc.check.validators.manifests import CRD_KIND, CRD_V1BETA1
from olmc.check.validators.settings import Settings
from olmc.golang.semver import Version, tolerant_or_none
from olmc.model.values import mapping, mappings, text
from olmc.model.workspace import Bundle
from olmc.rules import validation as rules

GUIDE = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"

_IN_1_22 = {
    "scheduling.k8s.io/v1beta1": {"PriorityClass"},
    "rbac.authorization.k8s.io/v1beta1": {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"},
    "apiregistration.k8s.io/v1beta1": {"APIService"},
    "authentication.k8s.io/v1beta1": {"TokenReview"},
    "authorization.k8s.io/v1beta1": {"LocalSubjectAccessReview", "SelfSubjectAccessReview", "SubjectAccessReview"},
    "admissionregistration.k8s.io/v1beta1": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
    "coordination.k8s.io/v1beta1": {"Lease"},
    "extensions/v1beta1": {"Ingress"},
    "networking.k8s.io/v1beta1": {"Ingress", "IngressClass"},
    "storage.k8s.io/v1beta1": {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"},
    "certificates.k8s.io/v1beta1": {"CertificateSigningRequest"},
}
_IN_1_25 = {
    "batch/v1beta1": {"CronJob"},
    "discovery.k8s.io/v1beta1": {"EndpointSlice"},
    "events.k8s.io/v1beta1": {"Event"},
    "autoscaling/v2beta1": {"HorizontalPodAutoscaler"},
    "policy/v1beta1": {"PodDisruptionBudget", "PodSecurityPolicy"},
    "node.k8s.io/v1beta1": {"RuntimeClass"},
}
_IN_1_26 = {"autoscaling/v2beta2": {"HorizontalPodAutoscaler"}}

_SOFT_GROUP, _SOFT_RESOURCE = "policy", "podsecuritypolicies"
_CRDS = "ClusterServiceVersion.Spec.CustomResourceDefinitions"
_STRATEGY = "ClusterServiceVersion.Spec.InstallStrategy.StrategySpec"

Found = Mapping[str, list[str]]
"""Names of objects by the kind, or what stands for it in messages."""


class Removed(NamedTuple):
    """What a bundle has of the APIs that a release of Kubernetes removed; `soft` may be for another version."""

    minor: int
    found: Found
    soft: Found


def removed_api_findings(bundle: Bundle, settings: Settings) -> Iterator[Finding]:
    """APIs in a bundle that Kubernetes has removed: a failure in the version that is asked for, else advice."""
    csv = CsvView(bundle.csv)
    place = csv.place("spec", "minKubeVersion")
    wanted, least = settings.kubernetes, text(csv.spec.get("minKubeVersion"))
    for given, told in (
        (wanted, f"invalid value informed via the k8s key option : {wanted}"),
        (
            least,
            "unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an invalid value: "
            f"{least}",
        ),
    ):
        if given and tolerant_or_none(given) is None:
            yield Finding(rules.REMOVED_APIS, result_text(told, value=csv.name), place)
    versions = [version for version in map(tolerant_or_none, (wanted, least)) if version is not None]
    for removed in (removed_in_1_22(bundle), _removed_in_1_25(bundle), _removed_in_1_26(bundle)):
        gone = any(version >= Version(1, removed.minor) for version in versions)
        for found, rule in (
            (removed.found, rules.REMOVED_APIS if gone else rules.REMOVED_APIS_ADVICE),
            (removed.soft, rules.REMOVED_APIS_ADVICE),
        ):
            if found:
                told = result_text(_message(removed.minor, found), value=csv.name)
                yield Finding(rule, told, csv.place())


def _message(minor: int, found: Found) -> str:
    return (
        f"this bundle is using APIs which were deprecated and removed in v1.{minor}. More info: {GUIDE}#v1-{minor}. "
        f"Migrate the API(s) for {listed(found)}"
    )


def listed(found: Found) -> str:
    """Kinds with the names of their objects, as the messages have them."""
    return ",".join(f"{kind}: ({ascii_list(found[kind])})" for kind in sorted(found))


def removed_in_1_22(bundle: Bundle) -> Removed:
    """What Kubernetes 1.22 has removed, CRDs of v1beta1 first of all."""
    found: dict[str, list[str]] = {}
    for file in bundle.files:
        obj = file.manifest.object
        if (obj.get("kind"), obj.get("apiVersion")) == (CRD_KIND, CRD_V1BETA1):
            found.setdefault("CRD", []).append(text(mapping(obj.get("metadata")).get("name")))
    return Removed(22, found | _objects(bundle, _IN_1_22), {})


def _objects(bundle: Bundle, removed: Mapping[str, set[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in bundle.files:
        obj = file.manifest.object
        kind = text(obj.get("kind"))
        if kind in removed.get(text(obj.get("apiVersion")), ()):
            found.setdefault(kind, []).append(text(mapping(obj.get("metadata")).get("name")))
    return found


def _removed_in_1_25(bundle: Bundle) -> Removed:
    csv = CsvView(bundle.csv)
    found = _objects(bundle, _IN_1_25)
    described: set[str] = set()
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.descriptions("customresourcedefinitions", relation)):
            for number, resource in enumerate(mappings(item.get("resources"))):
                kind = text(resource.get("kind"))
                described.add(f"{kind.lower()}s")
                if kind in _IN_1_25.get(text(resource.get("version")), ()):
                    name = f"{_CRDS}.{relation.capitalize()}[{index}].Resource[{number}]"
                    found.setdefault(kind, []).append(name)
    soft = [
        f"{_STRATEGY}.{field[0].upper()}{field[1:]}[{rule.permission}].Rules[{rule.number}]"
        for field in ("clusterPermissions", "permissions")
        for rule in csv.rules(field)
        if _SOFT_GROUP in rule.names("apiGroups") and _SOFT_RESOURCE in rule.names("resources")
    ]
    return Removed(25, found, {_SOFT_RESOURCE: soft} if soft and _SOFT_RESOURCE not in described else {})


def _removed_in_1_26(bundle: Bundle) -> Removed:
    return Removed(26, _objects(bundle, _IN_1_26), {})
