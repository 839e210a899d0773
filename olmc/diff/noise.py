"""What of an object is worth comparing.

What an upgrade changes although nothing changes for anybody is left out: owner references and labels that name the CSV,
digests, what the API server and OLM write into `status`, annotations that OLM projects from the CSV into every
Deployment, what OLM derives from the CRDs that an operator owns (their list in the CSV with its descriptors for
consoles, olm.providedAPIs), and what other groups of changes say better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from olmc.diff.change import WORKLOADS
from olmc.diff.deployments import DeploymentWriter, deployment_writers
from olmc.diff.operators import CSV, DiffOperator
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    RBAC,
    KubernetesObject,
    ObjectKey,
    mapping,
    mappings,
    metadata_of,
    object_key,
    spec_of,
    status_of,
    text,
)
from olmc.model.operators import OLM_GROUP

_IMAGE_VARIABLE = "RELATED_IMAGE_"
_IMAGE = regex(r"[\w.-]+(?::[0-9]+)?(?:/[\w.-]+)+(?::[\w.-]+)?(?:@[a-z0-9]+:[0-9a-f]+)?")

SUBSCRIBED = ("name", "channel", "source", "sourceNamespace", "startingCSV", "installPlanApproval")
"""The fields of a Subscription that changes of versions are about."""

_METADATA = frozenset(
    """name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp managedFields
    selfLink ownerReferences""".split()
)
_LABELS = frozenset(
    """olm.owner olm.owner.kind olm.owner.namespace olm.deployment-spec-hash olm.permissions.hash
    olm.webhook-description-hash olm.copiedFrom app.kubernetes.io/version helm.sh/chart""".split()
)
_ANNOTATIONS = frozenset(
    """kubectl.kubernetes.io/last-applied-configuration controller-gen.kubebuilder.io/version createdAt
    operators.operatorframework.io/builder operators.operatorframework.io/project_layout operatorframework.io/properties
    olm.operatorGroup olm.operatorNamespace olm.targetNamespaces olm.skipRange olm.properties containerImage
    alm-examples description capabilities categories repository support certified olm.deprecationMessage
    operators.operatorframework.io/internal-objects console.openshift.io/operator-monitoring-default""".split()
)
_PREFIXES = (
    "operatorframework.io/installed-alongside-", "olm.operatorgroup.uid/", "app.kubernetes.io/", "helm.sh/",
    "features.operators.openshift.io/", "operators.openshift.io/", "olm.operatorframework.io/",
    "meta.helm.sh/", "olm.opgroup.permissions/aggregate-to-",
)  # fmt: skip
_SELECTED = frozenset(("Namespace", "Pod"))
_PROVIDED = "olm.providedAPIs"
_PROJECTED = frozenset(("alm-examples", "olm.generated-by", "olmcahash", *_ANNOTATIONS))
_RBAC_FIELDS = frozenset(("rules", "subjects", "roleRef", "aggregationRule"))
_CSV_REPORTED_ELSEWHERE = frozenset(
    ("version", "replaces", "skips", "relatedImages", "install", "installModes", "minKubeVersion")
)
# What only people read, in a console.
_CSV_TEXTS = frozenset(
    "annotations description displayName icon keywords labels links maintainers maturity provider selector".split()
)
# Go writes some of these structures even when they are empty (R-JSON-5), and then they say nothing.
_EMPTY_MEANS_NOTHING = frozenset(("resources", "securityContext", "strategy", "cleanup", "affinity"))


class Makers(NamedTuple):
    """Who makes the objects of a side: its operators, who wrote which of its Deployments, what nobody makes because the
    workspace has it, and what there is."""

    operators: Mapping[NamespacedName, DiffOperator]
    writers: Mapping[ObjectKey, DeploymentWriter]
    manifests: Collection[ObjectKey]
    objects: Collection[ObjectKey]

    @staticmethod
    def of(
        objects: Iterable[KubernetesObject], operators: Mapping[NamespacedName, DiffOperator],
        manifests: Collection[ObjectKey] = (),
    ) -> Makers:  # fmt: skip
        """Those of a side with these objects and operators."""
        keyed = {object_key(obj): obj for obj in objects}
        made = (obj for key, obj in keyed.items() if key not in manifests)
        return Makers(operators, deployment_writers(made, operators), manifests, keyed.keys())


def without_noise(obj: KubernetesObject, makers: Makers) -> dict[str, Any]:
    """What of an object is worth comparing; the object is not changed. `makers` are those of its side."""
    metadata = metadata_of(obj)
    kept = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    kept["metadata"] = metadata_without_noise(metadata, is_selected=obj.get("kind") in _SELECTED)
    if obj.get("kind") == CSV:
        kept["spec"] = _csv_spec(spec_of(obj), status_of(obj).get("phase") == "Succeeded")
    elif obj.get("kind") in WORKLOADS:
        kept["spec"] = _workload_spec(
            spec_of(obj), _owner(metadata, makers.operators), makers.writers.get(object_key(obj))
        )
    elif text(obj.get("apiVersion")).startswith(f"{RBAC}/"):
        kept = {key: value for key, value in kept.items() if key not in _RBAC_FIELDS}
    elif obj.get("kind") == "OperatorCondition":
        kept["spec"] = _spec_without(obj, ("deployments", "serviceAccounts"))
    elif obj.get("kind") == "OperatorGroup" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, ("targetNamespaces", "selector"))
        # Unless the list is static OLM derives it from its members.
        if not kept["spec"].get("staticProvidedAPIs") and isinstance(kept["metadata"].get("annotations"), dict):
            annotations = kept["metadata"]["annotations"]
            kept["metadata"]["annotations"] = {k: v for k, v in annotations.items() if k != _PROVIDED} or None
    elif obj.get("kind") == "Subscription" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, SUBSCRIBED)
    return kept


def metadata_without_noise(metadata: Mapping[str, Any], *, is_selected: bool = False) -> dict[str, Any]:
    """What of the metadata of an object is worth comparing; `is_selected`: Services, NetworkPolicies and their like go
    by its labels."""
    labels = (frozenset[str](), ("olm.",)) if is_selected else (_LABELS, _PREFIXES)
    kept = {key: value for key, value in metadata.items() if key not in _METADATA}
    for field, names, prefixes in (("labels", *labels), ("annotations", _ANNOTATIONS, _PREFIXES)):
        if isinstance(kept.get(field), dict):
            left = {k: v for k, v in kept[field].items() if k not in names and not k.startswith(prefixes)}
            kept[field] = left or None
    return kept


def _csv_spec(spec: Mapping[str, Any], is_installed: bool) -> dict[str, Any]:
    # Where a CSV is installed its webhooks are objects, and compared as such; elsewhere the CSV is all that there is.
    ignored = {*_CSV_REPORTED_ELSEWHERE, *_CSV_TEXTS, *(("webhookdefinitions",) if is_installed else ())}
    kept = {key: value for key, value in spec.items() if key not in ignored and not _is_nothing(key, value)}
    crds = mapping(spec.get("customresourcedefinitions"))
    kept["customresourcedefinitions"] = {key: value for key, value in crds.items() if key != "owned"} or None
    return kept


def _spec_without(obj: KubernetesObject, fields: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in spec_of(obj).items() if key not in fields}


def _owner(metadata: Mapping[str, Any], owners: Mapping[NamespacedName, DiffOperator]) -> DiffOperator | None:
    labels = mapping(metadata.get("labels"))
    return owners.get(NamespacedName(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner"))))


def _workload_spec(
    spec: Mapping[str, Any], owner: DiffOperator | None, writer: DeploymentWriter | None
) -> dict[str, Any]:
    kept = dict(spec)
    template = dict(mapping(spec.get("template")))
    metadata = dict(metadata_of(template))
    # OLM copies the annotations of the CSV into every pod template; a change of them is reported with the CSV.
    projected = owner.annotations if owner is not None else {}
    annotations = {
        key: value
        for key, value in mapping(metadata.get("annotations")).items()
        if key not in _PROJECTED and (key not in projected or projected[key] != value)
    }
    template["metadata"] = {**metadata_without_noise(metadata, is_selected=True), "annotations": annotations or None}
    template["spec"] = _pod(spec_of(template), writer)
    kept["template"] = template
    return {key: value for key, value in kept.items() if not _is_nothing(key, value)}


def _pod(pod: Mapping[str, Any], writer: DeploymentWriter | None) -> dict[str, Any]:
    kept = {key: value for key, value in pod.items() if not _is_nothing(key, value)}
    volumes = writer.certificate_volumes(pod) if writer is not None else {}
    for field in ("containers", "initContainers"):
        if isinstance(pod.get(field), list):
            # OLM writes into the containers alone.
            of_olm = (volumes, writer) if field == "containers" else ({}, None)
            kept[field] = [_container(container, *of_olm) for container in mappings(pod[field])]
    if isinstance(pod.get("volumes"), list):
        kept["volumes"] = [v for v in mappings(pod["volumes"]) if text(v.get("name")) not in volumes] or None
    return kept


def _container(
    container: Mapping[str, Any], volumes: Mapping[str, str], writer: DeploymentWriter | None
) -> dict[str, Any]:
    """A container without what OLM writes into it; `volumes` are those of certificates, with their paths."""
    kept = {key: value for key, value in container.items() if key != "image" and not _is_nothing(key, value)}
    if isinstance(container.get("volumeMounts"), list):
        of_olm = [{"name": name, "mountPath": path} for name, path in volumes.items()]
        kept["volumeMounts"] = [mount for mount in mappings(container["volumeMounts"]) if mount not in of_olm] or None
    if isinstance(container.get("env"), list):
        kept["env"] = [
            variable for variable in mappings(container["env"])
            if not image_of(variable) and not (writer is not None and variable == writer.condition_variable)
        ] or None  # fmt: skip
    return kept


def image_of(variable: Mapping[str, Any]) -> str:
    """The image that a variable of a container tells an operator to use, "" if it is about something else.

    Those that begin with RELATED_IMAGE_ are, and others by their name if the value has a tag or a digest.
    """
    name, value = text(variable.get("name")), text(variable.get("value"))
    if name.startswith(_IMAGE_VARIABLE):
        return value
    has_version = ":" in value.rpartition("/")[2]
    return value if "image" in name.lower() and has_version and _IMAGE.fullmatch(value) else ""


def _is_nothing(key: str, value: Any) -> bool:
    return key in _EMPTY_MEANS_NOTHING and value in ({}, None)
