"""What the API server refuses of a bundle's objects, in the words of OLM's steps (R-CAT-702, R-CAT-712 … R-CAT-716)."""

from __future__ import annotations

from typing import NamedTuple

from olmc.golang import is_dns1123_subdomain
from olmc.kube.api_validation.field import Keys, aggregated, invalid_text
from olmc.kube.api_validation.metadata import metadata_errors
from olmc.kube.api_validation.objects import creation_errors, update_errors
from olmc.model.coerce import mappings
from olmc.model.gvk import gvk_of
from olmc.model.objects import KubernetesObject, name_of

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


class Refusal(NamedTuple):
    """The text of a step's failure, and the keys that lead to the first mistake in the object."""

    text: str
    keys: Keys


def refusal(obj: KubernetesObject, existing: KubernetesObject | None) -> Refusal | None:
    """Why the API server refuses to create `obj`, or to put it in the place of what exists; None when it does not."""
    judged = _with_uids(obj)
    errors = creation_errors(judged) if existing is None else update_errors(judged, existing)
    if not errors:
        return None
    name = name_of(obj)
    doing = _DOING.get(obj["kind"], _OTHER).format(name=name)
    group = gvk_of(obj).group
    told = doing if existing is None else doing.replace("creating", "updating")
    return Refusal(f"{told}: {invalid_text(obj['kind'], group, name, errors)}", errors[0].keys)


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
