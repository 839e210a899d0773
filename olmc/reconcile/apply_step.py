"""How an InstallPlan's step changes the cluster, kind by kind, and what the API server refuses of it (R-CAT-700 …
R-CAT-726)."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from olmc.gojson import DecodeError, decode, decode_failure
from olmc.kube.api_validation.field import Keys, aggregated, invalid_text
from olmc.kube.api_validation.metadata import metadata_errors
from olmc.kube.api_validation.objects import creation_errors, update_errors
from olmc.kube.names import is_dns1123_subdomain
from olmc.kube.restmapper import RestMapper, rest_mapper
from olmc.model.cluster import Cluster, NamespacedName, Step, Subscription
from olmc.model.diagnostics import Cause, Place, PlanFault
from olmc.model.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    object_key,
    owner_references,
    spec_of,
)
from olmc.model.operators import Csv
from olmc.model.options import Options
from olmc.olm.csv_schema import default_csv, list_map_conflicts
from olmc.olm.naming import (
    CORE_KINDS,
    CSV_API,
    TYPED_KINDS,
    csv_reference,
    managed_labels,
    owner_labels,
    prune_unsupported,
    random_suffix,
    with_labels,
)
from olmc.reconcile.crds import CRDError, updated_crd
from olmc.reconcile.operator_groups import is_descoped

# How OLM's steps begin their errors; of some kinds it says the same for creating and updating.
_DOING = {
    "Secret": "error updating secret: {name}",
    "ConfigMap": "error updating configmap: {name}",
    "Service": "error updating service: {name}",
    "ServiceAccount": "error creating service account: {name}",
    "Role": "error creating role {name}",
    "RoleBinding": "error creating rolebinding {name}",
    "ClusterRole": "error creating clusterrole {name}",
    "ClusterRoleBinding": "error creating clusterrolebinding {name}",
}
_OTHER = "error creating unstructured object {name}"


class StepRefusal(NamedTuple):
    """The text of a step's failure, and the keys that lead to the first mistake in the object."""

    text: str
    keys: Keys


def refusal(obj: KubernetesObject, existing: KubernetesObject | None) -> StepRefusal | None:
    """Why the API server refuses to create `obj`, or to put it in the place of what exists; None when it does not."""
    judged = _with_uids(obj)
    errors = creation_errors(judged) if existing is None else update_errors(judged, existing)
    if not errors:
        return None
    name = name_of(obj)
    doing = _DOING.get(obj["kind"], _OTHER).format(name=name)
    group = gvk_of(obj).group
    told = doing if existing is None else doing.replace("creating", "updating")
    return StepRefusal(f"{told}: {invalid_text(obj['kind'], group, name, errors)}", errors[0].keys)


def metadata_problem(obj: KubernetesObject) -> str:
    """What is wrong with the metadata of a custom resource, "" if nothing."""
    judged = {**obj, "metadata": {**obj["metadata"], "namespace": "ns"}}
    errors = metadata_errors(_with_uids(judged), is_dns1123_subdomain, namespaced=True)
    return aggregated(errors) if errors else ""


def _with_uids(obj: KubernetesObject) -> KubernetesObject:
    """An object whose owners have uids: those that OLM adds have one in a cluster."""
    metadata = obj["metadata"]
    refs = [{**ref, "uid": ref.get("uid") or "-"} for ref in mappings(metadata.get("ownerReferences"))]
    return {**obj, "metadata": {**metadata, "ownerReferences": refs}} if refs else obj


CSV = "ClusterServiceVersion"

_OWNED = frozenset({"Secret", "ConfigMap", "Service"})


class StepError(Exception):
    """A step can't be carried out; the text is the one that ends up in the InstallPlan, and `keys` lead to the mistake
    in the object, as far as it has a place there."""

    def __init__(self, text: str, keys: Keys = (), cause: Cause | None = None) -> None:
        super().__init__(text)
        self.keys = keys
        self._cause = cause

    @property
    def cause(self) -> Cause | None:
        """Why, as data: what was given, or what Go refused to decode."""
        return self._cause or decode_failure(self)


class StepTarget(NamedTuple):
    """Where a plan's steps go: the namespace, the plan's name, and what the cluster serves."""

    namespace: str
    plan: str
    options: Options


def apply_step(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """The cluster after a step; raises StepError when OLM could not carry it out."""
    if step.kind.endswith("RoleBinding") and not step.derived and target.options.descoped:
        csv = cluster.csvs.get(NamespacedName(target.namespace, step.resolving))
        if csv is not None and is_descoped(csv, target.options):
            return cluster  # R-DESCOPE-6: bindings are an administrator's
    if step.kind == "Subscription":
        return _with_subscription(cluster, step, target)
    if step.kind not in cluster.profile.bundle_kinds:
        raise StepError("the InstallPlan contains invalid data", cause=PlanFault.UNSUPPORTED_KIND)  # R-CAT-705
    if step.kind == CSV:
        return _with_csv(cluster, step, target)
    if step.kind == CRD_KIND:
        return _with_crd(cluster, step, target)
    return _with_core(cluster, step, target) if step.kind in CORE_KINDS else _with_optional(cluster, step, target)


def _put(cluster: Cluster, obj: KubernetesObject, step: Step, rule: str, origin: Origin) -> Cluster:
    place = Place(step.source) if step.source else None
    rendered = Rendered(obj, Provenance(place, "install_plan", rule, origin))
    return cluster._replace(objects={**cluster.objects, object_key(obj): rendered})


def _with_csv(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """R-CAT-710; what the API server refuses is an error."""
    name = NamespacedName(target.namespace, step.name)
    if name in cluster.csvs:
        return cluster
    conflicts = list_map_conflicts(step.object)
    problem = conflicts[0][1] if conflicts else metadata_problem(step.object)
    if problem:
        text = f'{CSV}.operators.coreos.com "{step.name}" is invalid: {problem}'
        raise StepError(f"error creating csv {step.name}: {text}")
    obj = prune_unsupported(default_csv(step.object), cluster.profile)
    labels = {**labels_of(obj), **managed_labels(cluster.profile.csv_label_managed)}
    obj = {**obj, "apiVersion": CSV_API, "metadata": with_labels(obj["metadata"], labels)}
    return cluster._replace(csvs={**cluster.csvs, name: Csv(obj, step.source)})


def _with_subscription(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """R-CAT-711: a Subscription for a dependency; one of that name that exists stays as it is."""
    name = NamespacedName(target.namespace, step.name)
    if name in cluster.subscriptions:
        return cluster
    metadata = with_labels(step.object["metadata"], managed_labels(cluster.profile.csv_label_managed))
    metadata["annotations"] = {"olm.generated-by": target.plan}
    made = Subscription({**step.object, "metadata": metadata}, None, generated_by=target.plan)
    return cluster._replace(subscriptions={**cluster.subscriptions, name: made})


def _with_crd(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    obj = step.object
    if step.gvk.version not in ("v1", "v1beta1"):
        raise StepError(f"CRD APIVersion from manifest not supported: {step.api_version}")
    _require_served(cluster, step, target)
    existing = cluster.objects.get(ObjectKey(APIEXTENSIONS, CRD_KIND, "", step.name))
    try:
        by = NamespacedName(target.namespace, step.resolving)
        written = updated_crd(obj, existing, cluster, by, legacy=target.options.legacy_crd_rules)
    except CRDError as error:
        raise StepError(str(error), error.keys) from error
    if existing is not None:
        return _put(cluster, written, step, "R-CAT-723", Origin.BUNDLE_UPDATE)
    return _put(cluster, written, step, "R-CAT-720", Origin.BUNDLE)


def mapper_of(cluster: Cluster) -> RestMapper:
    """What the cluster knows about kinds."""
    return rest_mapper(found.object for found in cluster.objects.values())


def unserved(cluster: Cluster, step: Step, target: StepTarget) -> str:
    """What OLM says if the cluster doesn't serve the kind of a step, "" if it does (R-CAT-704).

    Of optional kinds, OLM itself looks first whether the API server knows them.
    """
    api, mapper = step.gvk, mapper_of(cluster)
    extra, kube_version = frozenset(target.options.apis), target.options.kube_version
    if mapper.serves_kind(api, extra, kube_version):
        return ""
    if step.kind != CRD_KIND and mapper.serves_version(api.group, api.version, extra, kube_version):
        return f"Unable to find GVK in discovery: {api.group} {api.version} {api.kind}"
    return (
        f"api-server resource not found installing {step.kind} {step.name}: GroupVersionKind {api} not found on "
        "the cluster. This API may have been deprecated and removed, see "
        "https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information."
    )


def _require_served(cluster: Cluster, step: Step, target: StepTarget) -> None:
    problem = unserved(cluster, step, target)
    if problem:
        raise StepError(problem)


def _with_core(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """R-CAT-712 … R-CAT-715: typed kinds, decided by the kind alone."""
    try:
        typed = _typed(step)
    except DecodeError as error:
        raise StepError(f"error parsing step manifest: {step.name}: {error}", error.path) from error
    metadata = dict(metadata_of(typed))
    if not metadata.get("name"):
        metadata["name"] = _generated_name(step, target)
    labels = {**mapping(metadata.get("labels")), **managed_labels(cluster.profile.csv_label_managed)}
    if step.kind.startswith("Cluster") and not step.derived:
        labels["olm.owner"] = step.resolving
    metadata = with_labels(metadata, labels)
    if step.kind.startswith("Cluster"):
        metadata.pop("namespace", None)
    else:
        metadata["namespace"] = target.namespace
    if step.kind in _OWNED:
        refs = [ref for ref in mappings(metadata.get("ownerReferences")) if ref.get("name") != step.resolving]
        metadata["ownerReferences"] = [*refs, csv_reference(step.resolving)]
    obj = {**typed, "apiVersion": CORE_KINDS[step.kind], "kind": step.kind, "metadata": metadata}
    existing = cluster.objects.get(object_key(obj))
    refused = refusal(obj, existing.object if existing else None)
    if refused:
        raise StepError(refused.text, () if step.derived else refused.keys)
    if step.kind == "ServiceAccount":
        obj = _merged_account(cluster, obj)
    if step.kind == "Secret":
        obj = _stored_secret(obj)
    if step.kind == "Service":
        obj = _stored_service(obj)
    if step.derived:
        return _put(cluster, obj, step, "R-SA-1", Origin.STRATEGY)
    return _put(cluster, obj, step, "R-CAT-712", Origin.BUNDLE if existing is None else Origin.BUNDLE_UPDATE)


def _typed(step: Step) -> KubernetesObject:
    """The object as Go's types keep it; raises DecodeError."""
    return step.object if step.derived else decode(step.kind, step.object)


def _object_meta(step: Step) -> dict[str, Any]:
    """The metadata of a step's object as Go keeps it; raises DecodeError with the whole object's wording."""
    whole = decode("PartialObjectMetadata", {"metadata": step.object.get("metadata") or {}})
    return whole["metadata"]  # type: ignore[no-any-return]


def _generated_name(step: Step, target: StepTarget) -> str:
    """The name of an object that only has a generateName (R-CAT-703, D3); raises StepError if it hasn't one either."""
    if not step.name:
        text = "resource name may not be empty"
        raise StepError(f"error creating {step.kind.lower()}: {text}")
    text = json.dumps(step.object, sort_keys=True, separators=(",", ":"))
    key = f"{step.api_version}|{step.kind}|{target.namespace}|{step.name}|{text}"
    return step.name + random_suffix(key)


def _merged_account(cluster: Cluster, obj: KubernetesObject) -> KubernetesObject:
    """R-CAT-713: owners are united, the new annotations win."""
    existing = cluster.objects.get(object_key(obj))
    if existing is None:
        return obj
    owners = owner_references(existing.object)
    owners += [ref for ref in owner_references(obj) if ref not in owners]
    annotations = {**annotations_of(existing.object), **annotations_of(obj)}
    metadata = {**obj["metadata"], **({"annotations": annotations} if annotations else {})}
    if owners:
        metadata["ownerReferences"] = owners
    secrets = existing.object.get("secrets")
    return {**obj, "metadata": metadata, **({"secrets": secrets} if secrets else {})}


def _stored_secret(obj: KubernetesObject) -> KubernetesObject:
    """A Secret as the API server stores it: `stringData` is moved, encoded, into `data`."""
    data = dict(mapping(obj.get("data")))
    for key, value in mapping(obj.get("stringData")).items():
        data[key] = base64.b64encode(str(value).encode()).decode()
    rest = {key: value for key, value in obj.items() if key not in ("stringData", "data")}
    return {**rest, **({"data": data} if data else {}), "type": obj.get("type") or "Opaque"}


def _stored_service(obj: KubernetesObject) -> KubernetesObject:
    """A Service as the API server stores it: a target port of 0, which Go writes where none is given, is the port."""
    spec = spec_of(obj)
    ports = [{**port, "targetPort": port.get("targetPort") or port.get("port")} for port in mappings(spec.get("ports"))]
    return {**obj, "spec": {**spec, **({"ports": ports} if ports else {})}}


def _with_optional(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """R-CAT-716: generic kinds, owned by reference when namespaced, by labels when not."""
    _require_served(cluster, step, target)
    body = _stored_body(step)
    try:
        metadata = _object_meta(step)
    except DecodeError as error:
        raise StepError(f"error decoding {step.name} object to an unstructured object: {error}") from error
    if not metadata.get("name"):
        metadata["name"] = _generated_name(step, target)
    labels = {**mapping(metadata.get("labels")), **managed_labels(cluster.profile.csv_label_managed)}
    if not mapper_of(cluster).mapping(step.gvk.group_kind).namespaced:
        labels |= owner_labels(cluster.profile, step.resolving, target.namespace)
        metadata.pop("namespace", None)
    else:
        metadata["namespace"] = target.namespace
        metadata["ownerReferences"] = [*mappings(metadata.get("ownerReferences")), csv_reference(step.resolving)]
    metadata = with_labels(metadata, labels)
    obj = {**body, "metadata": metadata}
    existing = cluster.objects.get(object_key(obj))
    refused = refusal(obj, existing.object if existing else None)
    if refused:
        raise StepError(refused.text, () if step.derived else refused.keys)
    return _put(cluster, obj, step, "R-CAT-716", Origin.BUNDLE if existing is None else Origin.BUNDLE_UPDATE)


def _stored_body(step: Step) -> KubernetesObject:
    """An object without its status as the API server keeps it: of a built-in kind the fields that its type has.

    Raises StepError if a value does not fit the type.
    """
    body = {key: value for key, value in step.object.items() if key != "status"}
    go_type = TYPED_KINDS.get((step.api_version, step.kind))
    if go_type is None:
        return body
    try:
        typed: KubernetesObject = decode(go_type, body, exact=True)
    except DecodeError as error:
        text = f'{step.kind} in version "{step.gvk.version}" cannot be handled as a {step.kind}: {error}'
        raise StepError(f"error creating unstructured object {step.name}: {text}", error.path) from error
    typed.pop("status", None)
    return {"apiVersion": step.api_version, "kind": step.kind, **typed}
