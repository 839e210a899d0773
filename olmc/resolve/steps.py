"""The steps of an InstallPlan: what a bundle turns into (R-CAT-610 … R-CAT-631, R-SA-1 … R-SA-8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.golang import (
    GoTypeError,
    binding_hash,
    cluster_role_name,
    content_hash_rules,
    decode,
    role_name,
)
from olmc.model.cluster import Step
from olmc.model.location import Source
from olmc.model.objects import CatalogKey, KubernetesObject
from olmc.model.workspace import Bundle, Manifest
from olmc.profiles.ownership import CSV_KIND, PROPERTIES, csv_reference, owner_labels

if TYPE_CHECKING:
    from olmc.model.catalog import Property

RBAC = "rbac.authorization.k8s.io"
RBAC_V1 = f"{RBAC}/v1"

_NOT_IN_KEYS = re.compile(r"[^-A-Za-z0-9_.]")


class Content(NamedTuple):
    """A bundle's content, ready to be turned into steps: its CSV and its other objects, with the names of their files.

    `inline` content came with the catalog, whose properties for it are `served`.
    """

    csv: Manifest
    others: tuple[tuple[str, Manifest], ...]
    inline: bool = False
    served: tuple[Property, ...] = ()


def bundle_content(bundle: Bundle) -> Content:
    """The content of a bundle directory."""
    others = tuple((file.name, file.manifest) for file in bundle.files if file.manifest is not bundle.csv)
    return Content(bundle.csv, others)


class UndecodableCSVError(ValueError):
    """OLM never gets past unpacking the CSV of a bundle (R-CAT-620, R-CAT-631, R-CAT-654); the text is OLM's."""

    def __init__(self, content: Content, text: str) -> None:
        super().__init__(text)
        self.content = content


def csv_object(content: Content, namespace: str, replaces: str, properties: str) -> KubernetesObject:
    """The CSV that an InstallPlan creates (R-CAT-620); raises UndecodableCSVError.

    It keeps the apiVersion that the bundle gives it, odd as that may be: steps and owner references repeat it.
    """
    obj = content.csv.object
    try:
        csv = decode(CSV_KIND, obj)
    except GoTypeError as error:
        raise UndecodableCSVError(content, str(error)) from error
    name = (csv.get("metadata") or {}).get("name")
    if not obj.get("apiVersion"):
        raise UndecodableCSVError(content, f"bundle CSV {name} missing APIVersion")
    if ((csv.get("spec") or {}).get("install") or {}).get("strategy") != "deployment":
        text = f"could not assert strategy implementation as deployment for CSV {name}"
        raise UndecodableCSVError(content, text)
    metadata = dict(csv.get("metadata") or {})
    metadata["namespace"] = namespace
    metadata["annotations"] = {**(metadata.get("annotations") or {}), PROPERTIES: properties}
    spec = {**(csv.get("spec") or {})}
    spec.pop("replaces", None)
    if replaces:
        spec["replaces"] = replaces
    return {"apiVersion": str(obj["apiVersion"]), "kind": CSV_KIND, "metadata": metadata, "spec": spec}


def bundle_steps(content: Content, csv: KubernetesObject, catalog: CatalogKey) -> tuple[Step, ...]:
    """All steps of a bundle in order: the CSV, the other objects by file name, the RBAC (R-CAT-611, R-CAT-613).

    `csv` is the outcome of `csv_object`. Of two steps for one kind and name the first one's content counts for both, as
    steps of unpacked bundles are looked up by kind and name.
    """
    name = csv["metadata"]["name"]
    steps = [Step(name, catalog, csv["apiVersion"], csv["kind"], name, csv, content.csv.source)]
    for _, manifest in sorted(content.others, key=lambda pair: _NOT_IN_KEYS.sub("-", pair[0])):
        steps.append(_file_step(name, catalog, manifest))
    steps += strategy_steps(csv, catalog, content.csv.source)
    if content.inline:
        return tuple(steps)
    first: dict[tuple[str, str], Step] = {}
    for step in steps:
        first.setdefault((step.kind, step.name), step)
    return tuple(first[step.kind, step.name] for step in steps)


def partitioned(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps of inline bundles in plan order: CSVs, then CRDs, then everything else (R-CAT-612)."""
    ranks = {"ClusterServiceVersion": 0, "CustomResourceDefinition": 1}
    return tuple(sorted(steps, key=lambda step: ranks.get(step.kind, 2)))


def _file_step(csv: str, catalog: CatalogKey, manifest: Manifest) -> Step:
    obj = manifest.object
    metadata = obj.get("metadata") if isinstance(obj.get("metadata"), Mapping) else {}
    name = str((metadata or {}).get("name") or (metadata or {}).get("generateName") or "")
    return Step(csv, catalog, str(obj.get("apiVersion") or ""), str(obj["kind"]), name, obj, manifest.source)


def strategy_steps(csv: KubernetesObject, catalog: CatalogKey, source: Source | None) -> Iterator[Step]:
    """ServiceAccounts and RBAC of the install strategy, by service account in order of appearance (R-CAT-625 …)."""
    install = ((csv.get("spec") or {}).get("install") or {}).get("spec") or {}
    name = csv["metadata"]["name"]
    permissions = install.get("permissions") or []
    cluster_permissions = install.get("clusterPermissions") or []
    accounts = dict.fromkeys(entry.get("serviceAccountName") or "" for entry in permissions + cluster_permissions)
    for account in accounts:
        objects = [] if account == "default" else [_service_account(csv, account)]
        objects += [
            obj
            for entry in permissions
            if (entry.get("serviceAccountName") or "") == account
            for obj in _role_pair(csv, entry)
        ]
        objects += [
            obj
            for entry in cluster_permissions
            if (entry.get("serviceAccountName") or "") == account
            for obj in _cluster_role_pair(csv, entry)
        ]
        order = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        for obj in sorted(objects, key=lambda o: order.index(o["kind"])):
            yield Step(
                name, catalog, obj["apiVersion"], obj["kind"], obj["metadata"]["name"], obj, source, derived=True
            )


def _reference(csv: KubernetesObject) -> dict[str, Any]:
    return csv_reference(csv["metadata"]["name"], api_version=csv["apiVersion"])


def _service_account(csv: KubernetesObject, account: str) -> KubernetesObject:
    """R-SA-1."""
    metadata = {
        "name": account,
        "namespace": csv["metadata"]["namespace"],
        "ownerReferences": [_reference(csv)],
    }
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _role_pair(csv: KubernetesObject, entry: Mapping[str, Any]) -> Iterator[KubernetesObject]:
    """R-SA-2, R-SA-3."""
    owner, namespace = csv["metadata"]["name"], csv["metadata"]["namespace"]
    name = role_name(owner, dict(entry))
    subjects = _subjects(entry, namespace)
    for kind, digest, body in (
        ("Role", content_hash_rules(entry.get("rules")), {"rules": entry.get("rules")}),
        ("RoleBinding", binding_hash("Role", name, subjects), _binding("Role", name, subjects)),
    ):
        labels = {**owner_labels(owner, namespace), "olm.permissions.hash": digest}
        metadata = {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [_reference(csv)]}
        yield {"apiVersion": RBAC_V1, "kind": kind, "metadata": metadata, **body}


def _cluster_role_pair(csv: KubernetesObject, entry: Mapping[str, Any]) -> Iterator[KubernetesObject]:
    """R-SA-4, R-SA-5."""
    owner, namespace = csv["metadata"]["name"], csv["metadata"]["namespace"]
    name = cluster_role_name(owner, namespace, dict(entry))
    subjects = _subjects(entry, namespace)
    for kind, digest, body in (
        ("ClusterRole", content_hash_rules(entry.get("rules")), {"rules": entry.get("rules")}),
        ("ClusterRoleBinding", binding_hash("ClusterRole", name, subjects), _binding("ClusterRole", name, subjects)),
    ):
        labels = {**owner_labels(owner, namespace), "olm.permissions.hash": digest}
        metadata = {"name": name, "labels": labels}
        yield {"apiVersion": RBAC_V1, "kind": kind, "metadata": metadata, **body}


def _subjects(entry: Mapping[str, Any], namespace: str) -> list[dict[str, str]]:
    return [{"kind": "ServiceAccount", "name": entry.get("serviceAccountName") or "", "namespace": namespace}]


def _binding(kind: str, name: str, subjects: list[dict[str, str]]) -> dict[str, Any]:
    return {"subjects": subjects, "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}}
