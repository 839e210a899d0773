"""The kinds of changes of objects as such, of objects of GitOps tools, and of fields without a kind of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.diagnostics import Severity
from olmc.k8s.objects import KubernetesObject, ObjectKey, as_text, mapping, mappings, object_key, spec_of
from olmc.review.diff.crd_kinds import (
    ADDED,
    BREAKING,
    CHANGE,
    CHANGED,
    REMOVED,
    RISK,
    ChangeGroup,
    Judgement,
    Message,
    change_kind,
    changed,
    from_to,
    listed,
    shown,
)

_MOST = 12


@change_kind("ObjectAdded", None, ADDED)
def object_added() -> Judgement:
    """An object that only the new side has."""
    return CHANGE, ("new",)


@change_kind("RiskyObjectAdded", None, ADDED)
def risky_object_added(why: tuple[str, ...]) -> Judgement:
    """An object that only the new side has, and that gives power; `why` has the reasons."""
    return RISK, ("new; ", *listed(why, _MOST))


@change_kind("ObjectSetAdded", None, ADDED)
def object_set_added(objects: tuple[str, ...], weighty: bool) -> Judgement:
    """A ClusterObjectSet that is not as a ClusterExtension of the side has it, with the objects that OLM makes for it;
    `weighty`: roles, bindings, workloads or webhooks are among them."""
    within: Message = ("; with it OLM makes ", *listed(objects, _MOST)) if objects else ()
    return RISK if weighty else CHANGE, ("new, made by no ClusterExtension", *within)


@change_kind("ApplierAdded", None, ADDED)
def applier_added() -> Judgement:
    """An object of Argo CD or Flux that only the new side has, by which the tool applies others."""
    return RISK, ("new; by this object a GitOps tool applies others; check its repository, revision and path",)


@change_kind("ObjectRemoved", None, REMOVED)
def object_removed() -> Judgement:
    """An object that only the old side has."""
    return CHANGE, ("removed",)


@change_kind("ProtectionRemoved", None, REMOVED)
def protection_removed(why: tuple[str, ...]) -> Judgement:
    """An object that only the old side has, and that protected others; `why` has the reasons."""
    return RISK, ("removed; ", *listed(why, _MOST))


@change_kind("WebhookAdded", None, ADDED)
def webhook_added(webhook: str, intercepts: str, fails_closed: bool, own: bool) -> Judgement:
    """A webhook that only the new side has; one for the operator's own API that lets requests pass is harmless."""
    return RISK if fails_closed or not own else CHANGE, ("new webhook ", shown(webhook), ": ", shown(intercepts))


@change_kind("WebhookRemoved", None, REMOVED)
def webhook_removed(webhook: str, intercepts: str, protects: bool) -> Judgement:
    """A webhook that only the old side has; `protects`: it checked objects of others."""
    unchecked = "; its check is removed" * protects
    return RISK if protects else CHANGE, ("webhook ", shown(webhook), " is removed: it ", shown(intercepts), unchecked)


@change_kind("WebhookChanged", None, CHANGED)
def webhook_changed(
    webhook: str, old: str, new: str, widened: bool, own: bool, unchecked: bool, operations: tuple[str, ...]
) -> Judgement:
    """A webhook that intercepts other requests; `widened`: also some that it did not; `own`: of its own API alone;
    `unchecked`: it no longer checks some objects of others; `operations`: those that it did not see of a resource."""
    severity = RISK if (widened and not own) or operations or unchecked else CHANGE
    more = f"; it also sees {', '.join(operations)}" if operations else "; it sees more than before" * widened
    less = "; some requests are not checked any more" if unchecked else ""
    return severity, ("webhook ", shown(webhook), " ", *changed(old, new), more, less)


@change_kind("ConversionServed", None, ADDED)
def conversion_served(webhook: str, crds: tuple[str, ...]) -> Judgement:
    """A conversion webhook of a CSV that answers for more CRDs than before."""
    effect = "; if it does not answer, the API server serves none of these objects in another version"
    return CHANGE, ("conversion webhook ", shown(webhook), " now serves ", *listed(crds, _MOST), effect)


@change_kind("ConversionEnded", None, REMOVED)
def conversion_ended(webhook: str, crds: tuple[str, ...]) -> Judgement:
    """A conversion webhook of a CSV that does not answer for some CRDs any more."""
    return CHANGE, ("conversion webhook ", shown(webhook), " no longer serves ", *listed(crds, _MOST))


@change_kind("FailurePolicyChanged", None, CHANGED)
def failure_policy_changed(webhook: str, old: str, new: str, protects: bool) -> Judgement:
    """Return whether requests fail (Fail) or pass (Ignore) when a webhook does not answer; `protects`: it checks
    objects of others."""
    effect = "requests fail when it does not answer" if new == "Fail" else "requests pass when it does not answer"
    policies: Message = changed(old, new)
    return RISK if new == "Fail" or protects else CHANGE, (
        "webhook ",
        shown(webhook),
        " failurePolicy: ",
        *policies,
        f"; {effect}",
    )


@change_kind("ImmutableChanged", None)
def immutable_changed(path: str, old: Any, new: Any, of_csv: bool) -> Judgement:
    """A field that Kubernetes does not let anybody change once it is written; `of_csv`: OLM updates it for a CSV."""
    fails = "the CSV fails" if of_csv else "the update fails"
    advice = f"; Kubernetes refuses that, and {fails}: keep the value, or change the name"
    return BREAKING, (shown(path), *from_to(old, new), advice)


@change_kind("FieldChanged", None)
def field_changed(path: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """A field with another value, or one that comes or goes; `path` as `spec.ports[http].port`."""
    return severity, (shown(path), *from_to(old, new))


@change_kind("ValuesChanged", None, CHANGED)
def values_changed(tool: str) -> Judgement:
    """A ConfigMap or a Secret, from which a tool takes values of a chart or variables, comes, goes or changes."""
    return RISK, (f"{tool} takes values of a chart, or variables, from this object, which olmc does not follow",)


@change_kind("EmbeddedRisk", None, CHANGED)
def embedded_risk(object: str, change: str) -> Judgement:
    """A risk of an object that another one has in it, for a tool to apply: the object, and its change as a text."""
    return RISK, ("has ", shown(object), " in it: ", shown(change))


@change_kind("VariableRisk", None, CHANGED)
def variable_risk(change: str) -> Judgement:
    """A risk that comes with variables, which Flux fills in: the change as a text."""
    return RISK, ("if Flux fills in variables: ", shown(change))


@change_kind("UnknownVariable", None, CHANGED)
def unknown_variable(variables: tuple[str, ...]) -> Judgement:
    """A role or a binding with variables whose values olmc does not know."""
    return RISK, ("Flux may fill in any rights for ", *listed(variables, _MOST))


@change_kind("RiskyFieldChanged", None)
def risky_field_changed(path: str, old: Any, new: Any, why: tuple[str, ...]) -> Judgement:
    """A field that adds power, or takes a protection away; `why` has the reasons."""
    return RISK, (shown(path), *from_to(old, new), "; ", *listed(why, _MOST))


@change_kind("MembersAdded", ChangeGroup.PERMISSIONS, ADDED)
def members_added(members: tuple[str, ...], gained: tuple[str, ...]) -> Judgement:
    """New members of a group of OpenShift; `gained` are the dangers of what its members may do."""
    more: Message = ("; they may do more: ", *listed(gained, _MOST)) if gained else ()
    return RISK if gained else CHANGE, ("has new members ", *listed(members, _MOST), *more)


@change_kind("PodsReplaced", ChangeGroup.DEPLOYMENTS, CHANGED)
def pods_replaced() -> Judgement:
    """A workload whose pods are replaced, be it for an annotation alone."""
    return CHANGE, ("its pods are replaced, because their template is another",)


@change_kind("Renamed", ChangeGroup.OTHER, CHANGED)
def renamed(old: str, is_bound_by_people: bool) -> Judgement:
    """An object that has another name; the ClusterRoles of OperatorGroups are there to be bound by people."""
    advice = "; bindings to that name have to follow" if is_bound_by_people else ""
    return RISK if is_bound_by_people else CHANGE, ("its name was ", shown(old), advice)


_ARGO, _HELM = "argoproj.io", "helm.toolkit.fluxcd.io"
_KUSTOMIZE, _SOURCE = "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"
_RELEASE = (
    "chart",
    "chartRef",
    "values",
    "valuesFrom",
    "postRenderers",
    "targetNamespace",
    "releaseName",
    "kubeConfig",
)
_CHART = ("chart", "version", "sourceRef", "valuesFiles", "valuesFile", "ignoreMissingValuesFiles")

_ANY = ("*",)
_NAME = ("metadata", "name")
_SYNC = ("sourceType", "git", "oci", "helm", "override")
_PROFILE = (
    "clusterSelector", "clusterRefs", "helmCharts", "policyRefs", "kustomizationRefs", "patches",
    "templateResourceRefs",
)  # fmt: skip

RESOURCE_SET = "addons.cluster.x-k8s.io/resource-set"
"""The type of Secrets with objects that Cluster API applies."""

_DECIDING: Mapping[tuple[str, str], Sequence[str]] = {
    (_ARGO, "Application"): ("source", "sources", "sourceHydrator", "destination"),
    (_ARGO, "ApplicationSet"): (
        "generators", "template", "templatePatch", "goTemplate", "goTemplateOptions", "applyNestedSelectors",
    ),
    (_KUSTOMIZE, "Kustomization"): (
        "path", "sourceRef", "patches", "patchesStrategicMerge", "patchesJson6902", "postBuild", "components", "images",
        "targetNamespace", "namePrefix", "nameSuffix", "commonMetadata", "decryption", "kubeConfig",
        "ignoreMissingComponents",
    ),
    (_HELM, "HelmRelease"): _RELEASE,
    (_SOURCE, "HelmChart"): _CHART,
    (_SOURCE, "HelmRepository"): ("url", "type"),
    (_SOURCE, "GitRepository"): ("url", "ref", "ignore", "include", "recurseSubmodules", "sparseCheckout"),
    (_SOURCE, "OCIRepository"): ("url", "ref", "ignore", "layerSelector"),
    (_SOURCE, "Bucket"): ("bucketName", "endpoint", "provider", "prefix", "region", "ignore"),
    ("apps.open-cluster-management.io", "Channel"): ("type", "pathname"),
    ("apps.open-cluster-management.io", "Subscription"): ("channel", "name", "packageFilter", "packageOverrides"),
    ("kappctrl.k14s.io", "App"): ("fetch", "template", "deploy", "cluster", "serviceAccountName"),
    ("packaging.carvel.dev", "PackageInstall"): ("packageRef", "values", "serviceAccountName", "cluster"),
    ("packaging.carvel.dev", "PackageRepository"): ("fetch",),
    ("helm.cattle.io", "HelmChart"): _ANY,
    ("helm.cattle.io", "HelmChartConfig"): _ANY,
    ("fleet.cattle.io", "GitRepo"): (
        "repo", "revision", "branch", "paths", "targets", "serviceAccount", "targetNamespace", "keepResources",
    ),
    ("fleet.cattle.io", "Bundle"): _ANY,
    ("fleet.cattle.io", "HelmOp"): _ANY,
    ("helm.crossplane.io", "Release"): ("forProvider", "providerConfigRef"),
    ("addons.cluster.x-k8s.io", "ClusterResourceSet"): ("clusterSelector", "resources"),
    ("addons.cluster.x-k8s.io", "HelmChartProxy"): _ANY,
    ("source.extensions.fluxcd.io", "ArtifactGenerator"): ("sources", "artifacts"),
    ("fluxcd.controlplane.io", "ResourceSet"): ("inputs", "inputsFrom", "inputStrategy", "resourcesTemplate"),
    ("fluxcd.controlplane.io", "FluxInstance"): ("sync", "kustomize"),
    ("configsync.gke.io", "RootSync"): _SYNC,
    ("configsync.gke.io", "RepoSync"): _SYNC,
    ("config.projectsveltos.io", "ClusterProfile"): _PROFILE,
    ("config.projectsveltos.io", "Profile"): _PROFILE,
    ("core.oam.dev", "Application"): ("components", "policies", "workflow"),
    ("infra.contrib.fluxcd.io", "Terraform"): ("path", "sourceRef", "vars", "varsFrom", "destroy"),
    ("pulumi.com", "Stack"): ("projectRepo", "branch", "commit", "repoDir", "program", "fluxSource", "config"),
    ("helm.k0sproject.io", "Chart"): _ANY,
    ("tanka.dev", "Environment"): ("namespace", "apiServer", "contextNames", "injectLabels", "resourceDefaults"),
}  # fmt: skip

_APPLYING = frozenset({
    (_ARGO, "Application"), (_ARGO, "ApplicationSet"), (_KUSTOMIZE, "Kustomization"), (_HELM, "HelmRelease"),
    ("apps.open-cluster-management.io", "Subscription"), ("kappctrl.k14s.io", "App"),
    ("packaging.carvel.dev", "PackageInstall"), ("packaging.carvel.dev", "PackageRepository"),
    ("helm.cattle.io", "HelmChart"), ("helm.cattle.io", "HelmChartConfig"), ("fleet.cattle.io", "GitRepo"),
    ("fleet.cattle.io", "Bundle"), ("fleet.cattle.io", "HelmOp"), ("helm.crossplane.io", "Release"),
    ("addons.cluster.x-k8s.io", "ClusterResourceSet"), ("addons.cluster.x-k8s.io", "HelmChartProxy"),
    ("configsync.gke.io", "RootSync"), ("configsync.gke.io", "RepoSync"), ("core.oam.dev", "Application"),
    ("config.projectsveltos.io", "ClusterProfile"), ("config.projectsveltos.io", "Profile"), ("pulumi.com", "Stack"),
    ("infra.contrib.fluxcd.io", "Terraform"), ("helm.k0sproject.io", "Chart"),
})  # fmt: skip


def decides_result(identity: ObjectKey, path: Sequence[Any]) -> bool:
    """Return whether a field of an object decides what a GitOps tool applies."""
    fields = _DECIDING.get((identity.group, identity.kind))
    if fields is None or len(path) < 1 or path[0] != "spec":
        return False
    if identity.kind == "ApplicationSet" and path[1:2] == ("template",) and len(path) > 2:
        return decides_result(identity._replace(kind="Application"), path[2:]) or path[2:] == _NAME
    return len(path) == 1 or fields is _ANY or path[1] in fields


def applies_others(identity: ObjectKey) -> bool:
    """Return whether an object has a GitOps tool apply others."""
    return (identity.group, identity.kind) in _APPLYING


def value_sources(objects: Iterable[KubernetesObject]) -> Mapping[ObjectKey, str]:
    """The ConfigMaps and Secrets from which tools take values of charts, or variables, each with the tool."""
    found: dict[ObjectKey, str] = {}
    for obj in objects:
        found |= dict.fromkeys(_values_of(obj), "Argo CD" if obj.get("kind") == "ApplicationSet" else "Flux")
    return found


def manifest_sources(objects: Iterable[KubernetesObject]) -> frozenset[ObjectKey]:
    """The ConfigMaps and Secrets with objects that a tool applies."""
    return frozenset(known for obj in objects for known in _manifests_of(obj))


_REFERENCES = {
    ("addons.cluster.x-k8s.io", "ClusterResourceSet"): "resources",
    ("config.projectsveltos.io", "ClusterProfile"): "policyRefs",
    ("config.projectsveltos.io", "Profile"): "policyRefs",
    ("hypershift.openshift.io", "NodePool"): "config",
}


def _manifests_of(obj: KubernetesObject) -> Iterator[ObjectKey]:
    field = _REFERENCES.get((as_text(obj.get("apiVersion")).partition("/")[0], as_text(obj.get("kind"))))
    if field is not None:
        own = object_key(obj).namespace
        for entry in mappings(spec_of(obj).get(field)):
            kind, namespace = as_text(entry.get("kind")) or "ConfigMap", as_text(entry.get("namespace")) or own
            yield ObjectKey("", kind, namespace, as_text(entry.get("name")))
    elif obj.get("kind") == "Secret" and obj.get("type") == RESOURCE_SET:
        yield object_key(obj)


def _plugin_maps(generators: Any) -> Iterator[Mapping[str, Any]]:
    """The ConfigMaps of the plugins that generate Applications, at any depth of generators."""
    waiting = [generators]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            reference = mapping(mapping(value.get("plugin")).get("configMapRef"))
            if reference:
                yield {**reference, "kind": "ConfigMap"}
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _values_of(obj: KubernetesObject) -> Iterator[ObjectKey]:
    api, kind = as_text(obj.get("apiVersion")), obj.get("kind")
    if kind not in ("HelmRelease", "Kustomization", "ApplicationSet"):
        return
    spec = spec_of(obj)
    entries: Any = ()
    if api.startswith(f"{_ARGO}/") and kind == "ApplicationSet":
        entries = list(_plugin_maps(spec.get("generators")))
    elif api.startswith(f"{_HELM}/") and kind == "HelmRelease":
        entries = spec.get("valuesFrom")
    elif api.startswith(f"{_KUSTOMIZE}/") and kind == "Kustomization":
        post_build = spec.get("postBuild")
        entries = post_build.get("substituteFrom") if isinstance(post_build, Mapping) else ()
    namespace = object_key(obj).namespace if entries else ""
    for entry in mappings(entries):
        yield ObjectKey("", as_text(entry.get("kind")), namespace, as_text(entry.get("name")))
