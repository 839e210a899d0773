"""What operator-controller refuses of the content of a bundle: thirteen checks, and which kinds it supports
(R-V1-VAL-1, R-V1-VAL-2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from olmc.compiler.model.operators import CONVERSION
from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.objects import mappings, name_of, text, texts
from olmc.k8s.strconv import quoted
from olmc.targets.v1.registry_bundle import ALL_NAMESPACES, RegistryBundle

NAMESPACED_KINDS = frozenset(
    "ClusterServiceVersion Service ServiceAccount Role RoleBinding PrometheusRule ServiceMonitor PodMonitor Secret "
    "ConfigMap PodDisruptionBudget NetworkPolicy".split()
)
"""The supported kinds that are put into the namespace of the installation, whatever their group."""

CLUSTER_SCOPED_KINDS = frozenset(
    "CustomResourceDefinition ClusterRole ClusterRoleBinding PriorityClass VerticalPodAutoscaler ConsoleYAMLSample "
    "ConsoleQuickStart ConsoleCLIDownload ConsoleLink ConsolePlugin".split()
)
"""The other supported kinds; a VerticalPodAutoscaler is taken for one of them, although it has a namespace."""

VALIDATING, MUTATING = "ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"
_FORBIDDEN_GROUPS = frozenset({"*", "olm.operatorframework.io"})
_ADMISSION = "admissionregistration.k8s.io"
_FORBIDDEN_RESOURCES = frozenset(
    "* mutatingwebhookconfiguration mutatingwebhookconfigurations validatingwebhookconfiguration "
    "validatingwebhookconfigurations".split()
)

_Webhook = Mapping[str, Any]


def validation_errors(bundle: RegistryBundle) -> list[str]:
    """Everything that operator-controller refuses of a bundle, in its order and words; [] for a valid one."""
    return [error for check in _CHECKS for error in check(bundle)]


def go_list(entries: Iterable[str]) -> str:
    """Texts as Go prints a list of them: `[a b]`."""
    return f"[{' '.join(entries)}]"


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _name_problems(name: str) -> list[str]:
    # Kubernetes counts in bytes by now; operator-controller has a version that still counts characters.
    return sorted(message.replace(" bytes", " characters") for message in is_dns1123_subdomain(name))


def _deployment_names(bundle: RegistryBundle) -> list[str]:
    return [text(deployment.get("name")) for deployment in bundle.deployments]


def _key(webhook: _Webhook) -> tuple[str, str]:
    return text(webhook.get("type")), text(webhook.get("generateName"))


def _conversions(bundle: RegistryBundle) -> list[_Webhook]:
    return [webhook for webhook in bundle.webhooks if webhook.get("type") == CONVERSION]


def _duplicate_deployments(bundle: RegistryBundle) -> Iterator[str]:
    for name in _repeated(_deployment_names(bundle)):
        yield f"cluster service version contains duplicate strategy deployment spec '{name}'"


def _deployment_name_shapes(bundle: RegistryBundle) -> Iterator[str]:
    for name in sorted(set(_deployment_names(bundle))):
        problems = _name_problems(name)
        if problems:
            yield f"invalid cluster service version strategy deployment name '{name}': {', '.join(problems)}"


def _duplicate_crds(bundle: RegistryBundle) -> Iterator[str]:
    for name in _repeated(name_of(crd) for crd in bundle.crds):
        yield f"bundle contains duplicate custom resource definition '{name}'"


def _absent_owned_crds(bundle: RegistryBundle) -> Iterator[str]:
    for name in sorted(set(bundle.owned_crds) - {name_of(crd) for crd in bundle.crds}):
        yield (f"cluster service definition references owned custom resource definition '{name}' not found in bundle")


def _package_name(bundle: RegistryBundle) -> Iterator[str]:
    if not bundle.package:
        yield "package name is empty"


def _conversion_modes(bundle: RegistryBundle) -> Iterator[str]:
    modes = bundle.install_modes
    if modes == (ALL_NAMESPACES,):
        return
    for webhook in _conversions(bundle):
        yield (
            f"bundle contains conversion webhook {quoted(_key(webhook)[1])} and supports install modes "
            f"{go_list(modes)} - conversion webhooks are only supported for bundles that only support AllNamespaces "
            "install mode"
        )


def _webhook_deployments(bundle: RegistryBundle) -> Iterator[str]:
    known = set(_deployment_names(bundle))
    for deployment, kind, name in sorted((text(item.get("deploymentName")), *_key(item)) for item in bundle.webhooks):
        if deployment not in known:
            yield f"webhook of type '{kind}' with name '{name}' references non-existent deployment '{deployment}'"


def _duplicate_webhooks(bundle: RegistryBundle) -> Iterator[str]:
    counts = Counter(map(_key, bundle.webhooks))
    for kind, name in sorted(key for key, count in counts.items() if count > 1):
        yield f"duplicate webhook '{name}' of type '{kind}'"


def _webhook_names(bundle: RegistryBundle) -> Iterator[str]:
    for kind, name in sorted(set(map(_key, bundle.webhooks))):
        problems = _name_problems(name)
        if problems:
            yield f"webhook of type '{kind}' has invalid name '{name}': {','.join(problems)}"


def _crds_converted_twice(bundle: RegistryBundle) -> Iterator[str]:
    webhooks_by_crd: dict[str, list[str]] = {}
    for webhook in _conversions(bundle):
        for crd in texts(webhook.get("conversionCRDs")):
            webhooks_by_crd.setdefault(crd, []).append(_key(webhook)[1])
    for crd, names in sorted(webhooks_by_crd.items()):
        if len(names) > 1:
            yield f"conversion webhooks [{','.join(sorted(names))}] reference same custom resource definition '{crd}'"


def _conversions_of_others(bundle: RegistryBundle) -> Iterator[str]:
    owned = set(bundle.owned_crds)
    pairs = (
        (_key(webhook)[1], crd) for webhook in _conversions(bundle) for crd in texts(webhook.get("conversionCRDs"))
    )
    for name, crd in sorted(pairs):
        if crd not in owned:
            yield f"conversion webhook '{name}' references custom resource definition '{crd}' not owned bundle"


def _forbidden_rules(bundle: RegistryBundle) -> Iterator[str]:
    for webhook in bundle.webhooks:
        if webhook.get("type") not in (VALIDATING, MUTATING):
            continue
        prefix = f"webhook {quoted(_key(webhook)[1])} contains forbidden rule: admission webhook rules cannot reference"
        for rule in mappings(webhook.get("rules")):
            for group in texts(rule.get("apiGroups")):
                if group in _FORBIDDEN_GROUPS:
                    yield f"{prefix} API group {quoted(group)}"
                for resource in texts(rule.get("resources")) if group == _ADMISSION else ():
                    if resource.lower() in _FORBIDDEN_RESOURCES:
                        yield f"{prefix} resource {quoted(resource)} for API group {quoted(group)}"


def _unsupported_kinds(bundle: RegistryBundle) -> Iterator[str]:
    for obj in bundle.others:
        if obj["kind"] not in NAMESPACED_KINDS | CLUSTER_SCOPED_KINDS:
            yield f"unsupported resource {quoted(name_of(obj))} with kind {quoted(obj['kind'])}"


_CHECKS: tuple[Callable[[RegistryBundle], Iterator[str]], ...] = (
    _duplicate_deployments,
    _deployment_name_shapes,
    _duplicate_crds,
    _absent_owned_crds,
    _package_name,
    _conversion_modes,
    _webhook_deployments,
    _duplicate_webhooks,
    _webhook_names,
    _crds_converted_twice,
    _conversions_of_others,
    _forbidden_rules,
    _unsupported_kinds,
)
