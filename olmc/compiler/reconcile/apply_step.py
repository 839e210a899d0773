"""Apply the steps of an InstallPlan to the cluster, kind by kind, with the API server's errors (R-CAT-700 …
R-CAT-726)."""

from __future__ import annotations

import json
from typing import Any

from olmc.compiler.load.json_schema import surely_valid, without_nulls
from olmc.compiler.model.cluster import Cluster, NamespacedName, Step, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options, asks_owners_of_crds
from olmc.compiler.olm.csv_schema import default_csv, list_map_conflicts
from olmc.compiler.olm.naming import (
    CORE_KINDS,
    CSV_API,
    OWNER,
    TYPED_KINDS,
    csv_reference,
    managed_labels,
    owner_labels,
    prune_unsupported,
    random_suffix,
    with_labels,
)
from olmc.compiler.reconcile.crds import StepError, updated_crd
from olmc.compiler.reconcile.operator_groups import is_descoped
from olmc.compiler.rules.findings import reconcile as rules
from olmc.k8s.api.restmapper import RestMapper, is_native, removal_of, rest_mapper
from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.api.validation.field import FieldError, Keys, aggregated, invalid_text
from olmc.k8s.api.validation.metadata import metadata_errors
from olmc.k8s.api.validation.objects import creation_errors, update_errors
from olmc.k8s.diagnostics import Cause, Place, PlanFault, StoredVersion, UnfitResource, UnservedKind
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import NamedTuple, module
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    KubernetesObject,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    crd_key,
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
from olmc.k8s.strconv import decimal, number_text
from olmc.resources import schema

_binascii = module("binascii")  # for Secrets alone, which few bundles have

# How OLM's steps begin their errors; of some kinds it says the same for creating and updating (R-CAT-710 … R-CAT-716).
CREATING = {
    CSV_KIND: "creating csv",
    "Subscription": "creating subscription",
    "Secret": "updating secret:",
    "ConfigMap": "updating configmap:",
    "Service": "updating service:",
    "ServiceAccount": "creating service account:",
    "Role": "creating role",
    "RoleBinding": "creating rolebinding",
    "ClusterRole": "creating clusterrole",
    "ClusterRoleBinding": "creating clusterrolebinding",
}
CREATING_OTHER = "creating unstructured object"


class StepRefusal(NamedTuple):
    """The text of a step's failure, and the keys that lead to the first mistake in the object."""

    text: str
    keys: Keys


def refusal(obj: KubernetesObject, existing: KubernetesObject | None) -> StepRefusal | None:
    """Return why the API server refuses to create `obj`, or to put it in the place of what exists; None when it does
    not."""
    sent = _with_uids(obj)
    errors = creation_errors(sent) if existing is None else update_errors(sent, existing)
    if not errors:
        return None
    name, doing = name_of(obj), CREATING.get(obj["kind"], CREATING_OTHER)
    doing = doing if existing is None else doing.replace("creating", "updating")
    text = invalid_text(obj["kind"], gvk_of(obj).group, name, errors)
    return StepRefusal(f"error {doing} {name}: {text}", errors[0].keys)


def _metadata_errors(csv: KubernetesObject) -> list[FieldError]:
    """Return the errors of the metadata of a CSV."""
    # The plan's namespace replaces that of the bundle (R-CAT-717).
    sent = {**csv, "metadata": {**csv["metadata"], "namespace": "ns"}}
    return metadata_errors(_with_uids(sent), is_dns1123_subdomain, namespaced=True)


_CSV_SCHEMA = "clusterserviceversion"


def _schema_errors(csv: KubernetesObject) -> list[FieldError]:
    """Return the errors of a CSV by its CRD's schema, as far as OLM's types accept it (R-DEP-8).

    OLM writes null for an absent list. The API server drops it, and reports it as missing where it is required.
    """
    sent = without_nulls(_CSV_SCHEMA, csv)
    if surely_valid(schema(_CSV_SCHEMA), sent):
        return []
    from olmc.k8s.api.validation.schema_values import value_errors  # few CSVs are refused, and imports take time

    return value_errors(schema(_CSV_SCHEMA), sent)


def _with_uids(obj: KubernetesObject) -> KubernetesObject:
    """An object whose owners have uids: those that OLM adds have one in a cluster."""
    metadata = obj["metadata"]
    refs = [{**ref, "uid": ref.get("uid") or "-"} for ref in mappings(metadata.get("ownerReferences"))]
    return {**obj, "metadata": {**metadata, "ownerReferences": refs}} if refs else obj


# Of the kinds that OLM writes as types of its own, only these get an owner from the step itself (R-CAT-712).
_OWNED = frozenset({"Secret", "ConfigMap", "Service"})


class StepTarget(NamedTuple):
    """The target of a plan's steps: the namespace, the plan's name, and the kinds that the cluster serves."""

    namespace: str
    plan: str
    options: Options


def apply_step(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """The cluster after a step; raises StepError when OLM could not carry it out."""
    if step.kind.endswith("RoleBinding") and not step.derived and target.options.descoped:
        csv = cluster.csvs.get(NamespacedName(target.namespace, step.resolving))
        # A descoped operator's bindings are an administrator's to write (R-DESCOPE-6).
        if csv is not None and is_descoped(csv, target.options):
            return cluster
    # One for a dependency comes from the resolver, so no list of what bundles may hold applies to it.
    if step.kind == "Subscription":
        return _with_subscription(cluster, step, target)
    if step.kind not in cluster.profile.bundle_kinds:
        raise StepError("the InstallPlan contains invalid data", cause=PlanFault.UNSUPPORTED_KIND)  # R-CAT-705
    if step.kind == CSV_KIND:
        return _with_csv(cluster, step, target)
    if step.kind == CRD_KIND:
        return _with_crd(cluster, step, target)
    problem = missing_owner(cluster, step, target)
    if problem:
        raise StepError(problem)
    # OLM goes by the kind alone: an example.com Secret becomes a core one, or fails as one (observed-22).
    return _with_core(cluster, step, target) if step.kind in CORE_KINDS else _with_optional(cluster, step, target)


_FOR_OWNERS = {
    "Secret": "secret",
    "Service": "service:",
    "ConfigMap": "configmap:",
    "ServiceAccount": "service account:",
    "Role": "role",
    "RoleBinding": "rolebinding",
}


def missing_owner(cluster: Cluster, step: Step, target: StepTarget) -> str:
    """OLM's error if a CSV that owns the object of a step does not exist, "" if all do or none is asked for: it looks
    them up with its own rights before it writes (R-CAT-712)."""
    is_core = step.kind in CORE_KINDS
    if (is_core and step.kind not in _FOR_OWNERS) or step.kind not in cluster.profile.bundle_kinds:
        return ""
    if not is_core and step.kind in (CSV_KIND, CRD_KIND, "Subscription"):
        return ""
    names = [str(ref.get("name")) for ref in owner_references(step.object) if ref.get("kind") == CSV_KIND]
    if is_core and step.kind in _OWNED:
        names.append(step.resolving)
    elif not is_core:
        # OLM asks for the owners of what has a namespace, once it knows that the cluster serves the kind (R-CAT-716).
        if not mapper_of(cluster, target.options).mapping(step.gvk.group_kind).namespaced:
            return ""
        names.append(step.resolving)
    deleted = next((name for name in names if not cluster.has_csv(NamespacedName(target.namespace, name))), "")
    if not deleted or (not is_core and unserved(cluster, step, target)):
        return ""
    what = _FOR_OWNERS.get(step.kind, "unstructured object:")
    problem = f'clusterserviceversions.{OLM_GROUP} "{deleted}" not found'
    return f"error generating ownerrefs for {what} {step.name}: {problem}"


def _put(cluster: Cluster, obj: KubernetesObject, step: Step, rule: str, origin: Origin) -> Cluster:
    place = Place(step.source) if step.source else None
    rendered = Rendered(obj, Provenance(place, "install_plan", rule, origin))
    return cluster._replace(objects=cluster.objects.updated({object_key(obj): rendered}))


def _with_csv(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """R-CAT-710; what the API server refuses is an error."""
    name = NamespacedName(target.namespace, step.name)
    # Plans run more than once (observed-2), and by then the olm-operator has written on the CSV. The copy of a CSV from
    # another namespace counts as well: the operator then gets no CSV of its own (R-CAT-710).
    if cluster.has_csv(name):
        return cluster
    # Deployments are made of the CSV as it is stored, and so are their hashes (R-DEP-8).
    obj = default_csv(step.object)
    problems = [*_metadata_errors(obj), *_schema_errors(obj), *(text for _, text in list_map_conflicts(obj))]
    if problems:
        text = f'{CSV_KIND}.{OLM_GROUP} "{step.name}" is invalid: {aggregated(problems)}'
        raise StepError(f"error creating csv {step.name}: {text}")
    obj = prune_unsupported(obj, cluster.profile)
    labels = {**labels_of(obj), **managed_labels(cluster.profile.csv_label_managed)}
    obj = {**obj, "apiVersion": CSV_API, "metadata": with_labels(obj["metadata"], labels)}
    return cluster._replace(csvs=cluster.csvs.updated({name: Csv(obj, step.source)}))


def _with_subscription(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """Create a Subscription for a dependency (R-CAT-711); one of that name that exists stays as it is.

    OLM ignores its API and its namespace in the bundle, and creates its own kind in the namespace of the plan.
    """
    # Metadata has one type in all kinds, of which this one has hardly anything else.
    typed = _decoded({"metadata": step.object["metadata"]}, "ServiceAccount", step)
    metadata = with_labels(metadata_of(typed), managed_labels(cluster.profile.csv_label_managed))
    metadata |= {"namespace": target.namespace, "annotations": {"olm.generated-by": target.plan}}
    if not metadata.get("name"):
        metadata["name"] = _generated_name(step, target)
    name = NamespacedName(target.namespace, metadata["name"])
    if name in cluster.subscriptions:
        return cluster
    obj = {**step.object, "apiVersion": CSV_API, "metadata": metadata}
    subscription = Subscription(obj, None, generated_by=target.plan)
    return cluster._replace(subscriptions=cluster.subscriptions.updated({name: subscription}))


def _with_crd(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    obj = step.object
    if step.gvk.version not in ("v1", "v1beta1"):
        raise StepError(f"CRD APIVersion from manifest not supported: {step.gvk.version}")
    _require_served(cluster, step, target)
    existing = cluster.objects.get(crd_key(step.name))
    by = NamespacedName(target.namespace, step.resolving)
    written = updated_crd(obj, existing, cluster, by, legacy=asks_owners_of_crds(target.options, cluster.profile))
    if existing is not None:
        return _put(cluster, written, step, "R-CAT-723", Origin.BUNDLE_UPDATE)
    return _put(cluster, written, step, "R-CAT-720", Origin.BUNDLE)


def mapper_of(cluster: Cluster, options: Options) -> RestMapper:
    """Return the kinds that the cluster knows."""
    crds = cluster.objects.within((APIEXTENSIONS, CRD_KIND)).values()
    return rest_mapper((rendered.object for rendered in crds), options.api_resources)


def unserved(cluster: Cluster, step: Step, target: StepTarget) -> str:
    """Return OLM's error if the cluster does not serve the kind of a step, "" if it does (R-CAT-704)."""
    api, extra, kube_version = step.gvk, frozenset(target.options.apis), target.options.kube_version
    # Most steps are of built-in kinds, CRDs among them, and need not ask what all CRDs of the cluster say.
    if is_native(api, kube_version):
        return ""
    mapper = mapper_of(cluster, target.options)
    if mapper.serves_kind(api, extra, kube_version):
        return ""
    # Of optional kinds OLM asks discovery itself, before it writes: where the group is there but not the kind, the
    # words are its own and not the API server's.
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
        removal = removal_of(step.gvk, target.options.kube_version)
        raise StepError(problem, cause=UnservedKind(step.gvk.path, removal.minor if removal is not None else 0))


def way_out(cause: Cause | None) -> str:
    """Return the hint for a step that fails because of `cause`."""
    match cause:
        case UnservedKind():
            return rules.REMOVED_HINT.format(*cause) if cause.removed else rules.UNSERVED_HINT.format(*cause)
        case StoredVersion():
            unmoved = cause.storage == cause.version
            return (rules.STORAGE_VERSION_HINT if unmoved else rules.STORED_VERSION_HINT).format(cause)
        case UnfitResource():
            return rules.UNFIT_RESOURCE_HINT.format(cause)
        case _:
            return rules.FAILED_STEP_HINT


def _with_core(cluster: Cluster, step: Step, target: StepTarget) -> Cluster:
    """R-CAT-712 … R-CAT-715: typed kinds, decided by the kind alone."""
    # Objects of the install strategy are always of Go's types.
    typed = step.object if step.derived else _decoded(step.object, step.kind, step)
    metadata = dict(metadata_of(typed))
    if not metadata.get("name"):
        metadata["name"] = _generated_name(step, target)
    labels = {**mapping(metadata.get("labels")), **managed_labels(cluster.profile.csv_label_managed)}
    # OLM adds it when it updates, and as it runs every plan twice, in the end all have it (R-CAT-715, observed-23).
    if step.kind.startswith("Cluster") and not step.derived:
        labels[OWNER] = step.resolving
    metadata = with_labels(metadata, labels)
    # Namespaces in a bundle count for nothing: the kind has none, or it is that of the plan (R-CAT-717).
    if step.kind.startswith("Cluster"):
        metadata.pop("namespace", None)
    else:
        metadata["namespace"] = target.namespace
    if step.kind in _OWNED:
        refs = [ref for ref in mappings(metadata.get("ownerReferences")) if ref.get("name") != step.resolving]
        metadata["ownerReferences"] = [*refs, csv_reference(step.resolving)]
    obj = {**typed, "apiVersion": CORE_KINDS[step.kind], "kind": step.kind, "metadata": metadata}
    existing = cluster.objects.get(object_key(obj))
    invalid = refusal(obj, existing.object if existing else None)
    if invalid:
        # Objects that OLM derives have no place in the file: the keys would lead to another place in its CSV.
        raise StepError(invalid.text, () if step.derived else invalid.keys)
    if step.kind == "ServiceAccount":
        obj = _merged_account(obj, existing)
    if step.kind == "Secret":
        obj = _stored_secret(obj)
    if step.kind == "Service":
        obj = _stored_service(obj)
    if step.derived:
        return _put(cluster, obj, step, "R-SA-1", Origin.STRATEGY)
    return _put(cluster, obj, step, "R-CAT-712", Origin.BUNDLE if existing is None else Origin.BUNDLE_UPDATE)


def _decoded(obj: KubernetesObject, go_type: str, step: Step) -> KubernetesObject:
    """An object as Go's type has it; raises StepError for what that can't hold."""
    try:
        decoded: KubernetesObject = decode(go_type, obj)
    except DecodeError as error:
        raise StepError(f"error parsing step manifest: {step.name}: {error}", error.path) from error
    return decoded


def _generated_name(step: Step, target: StepTarget) -> str:
    """The name of an object that only has a generateName (R-CAT-703, D3); raises StepError if it hasn't one either."""
    # A step without a name is one of an object that has neither: with a generateName it has that (R-CAT-610).
    if not step.name:
        text = "resource name may not be empty"
        raise StepError(f"error creating {step.kind.lower()}: {text}")
    text = json.dumps(step.object, sort_keys=True, separators=(",", ":"))
    key = f"{step.api_version}|{step.kind}|{target.namespace}|{step.name}|{text}"
    return step.name + random_suffix(key)


def _merged_account(obj: KubernetesObject, existing: Rendered | None) -> KubernetesObject:
    """R-CAT-713: owners are united, the new annotations win."""
    if existing is None:
        return obj
    # Two CSVs may use one account; the deletion of the first must not delete it.
    owners = owner_references(existing.object)
    owners += [ref for ref in owner_references(obj) if ref not in owners]
    annotations = {**annotations_of(existing.object), **annotations_of(obj)}
    metadata = {**obj["metadata"], **({"annotations": annotations} if annotations else {})}
    if owners:
        metadata["ownerReferences"] = owners
    # Bundles do not know the tokens and pull secrets that Kubernetes has added.
    secrets = existing.object.get("secrets")
    return {**obj, "metadata": metadata, **({"secrets": secrets} if secrets else {})}


def _stored_secret(obj: KubernetesObject) -> KubernetesObject:
    """A Secret as the API server stores it: `stringData` is moved, encoded, into `data`."""
    data = dict(mapping(obj.get("data")))
    for key, value in mapping(obj.get("stringData")).items():
        data[key] = _binascii.b2a_base64(str(value).encode(), newline=False).decode()
    others = {key: value for key, value in obj.items() if key not in ("stringData", "data")}
    return {**others, **({"data": data} if data else {}), "type": obj.get("type") or "Opaque"}


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
        # An error has the words for a whole object, though OLM decodes no more than the metadata of this one.
        metadata = decode("PartialObjectMetadata", {"metadata": step.object.get("metadata") or {}})["metadata"]
    except DecodeError as error:
        raise StepError(f"error decoding {step.name} object to an unstructured object: {error}") from error
    if not metadata.get("name"):
        metadata["name"] = _generated_name(step, target)
    labels = {**mapping(metadata.get("labels")), **managed_labels(cluster.profile.csv_label_managed)}
    if not mapper_of(cluster, target.options).mapping(step.gvk.group_kind).namespaced:
        labels |= owner_labels(cluster.profile, step.resolving, target.namespace)
        metadata.pop("namespace", None)
    else:
        metadata["namespace"] = target.namespace
        metadata["ownerReferences"] = [*mappings(metadata.get("ownerReferences")), csv_reference(step.resolving)]
    metadata = with_labels(metadata, labels)
    obj = {**body, "metadata": metadata}
    existing = cluster.objects.get(object_key(obj))
    invalid = refusal(obj, existing.object if existing else None)
    if invalid:
        raise StepError(invalid.text, () if step.derived else invalid.keys)
    return _put(cluster, obj, step, "R-CAT-716", Origin.BUNDLE if existing is None else Origin.BUNDLE_UPDATE)


def _unstructured(value: Any) -> Any:
    """A value of an object without a Go type: an integer beyond int64 is a float, of which Go writes as few digits as
    tell it apart, filled up with zeros (R-CAT-716)."""
    if value.__class__ is int and decimal(str(abs(value))) is None:
        return int(number_text(float(value)))
    if value.__class__ is dict:
        return {key: _unstructured(item) for key, item in value.items()}
    return [_unstructured(item) for item in value] if value.__class__ is list else value


def _stored_body(step: Step) -> KubernetesObject:
    """An object without its status as the API server keeps it: of a built-in kind the fields that its type has.

    Raises StepError if a value does not fit the type.
    """
    body = {key: value for key, value in step.object.items() if key != "status"}
    go_type = TYPED_KINDS.get((step.api_version, step.kind))
    if go_type is None:
        return {key: _unstructured(value) for key, value in body.items()}
    try:
        typed: KubernetesObject = decode(go_type, body, exact=True)
    except DecodeError as error:
        text = f'{step.kind} in version "{step.gvk.version}" cannot be handled as a {step.kind}: {error}'
        raise StepError(f"error creating unstructured object {step.name}: {text}", error.path) from error
    typed.pop("status", None)
    return {"apiVersion": step.api_version, "kind": step.kind, **typed}
