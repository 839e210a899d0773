"""The steps of an InstallPlan: what a bundle turns into (R-CAT-610 … R-CAT-631, R-SA-1 … R-SA-8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.golang import (
    GoTypeError,
    binding_hash,
    binding_name,
    cluster_role_name,
    content_hash_rules,
    decode,
    role_name,
)
from olmc.golang.errors import decode_failure
from olmc.model.causes import DecodeFailure
from olmc.model.cluster import Step
from olmc.model.location import Source
from olmc.model.objects import CatalogKey, KubernetesObject
from olmc.model.operators import CSV_KIND
from olmc.model.profile import Profile
from olmc.model.rbac import RBAC, RBAC_V1
from olmc.model.workspace import Bundle, Manifest
from olmc.profiles.ownership import PERMISSIONS_HASH, csv_reference, owner_labels, with_labels

if TYPE_CHECKING:
    from olmc.model.catalog import Property


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


class Undecodable(NamedTuple):
    """A bundle whose CSV can't be decoded: OLM's text, the keys that lead to what is wrong, and what to do about it.

    OLM reports what is `fatal` at the Subscriptions; anything else it tries again, and tells only its log.
    """

    content: Content
    text: str
    keys: tuple[str | int, ...]
    hint: str
    fatal: bool = False
    cause: DecodeFailure | None = None


class UndecodableCSVError(ValueError):
    """OLM never gets past unpacking the CSV of a bundle (R-CAT-620, R-CAT-631, R-CAT-654)."""

    def __init__(self, found: Undecodable) -> None:
        super().__init__(found.text)
        self.found = found


def csv_object(content: Content, namespace: str, replaces: str, properties: str, profile: Profile) -> KubernetesObject:
    """The CSV that an InstallPlan creates (R-CAT-620); raises UndecodableCSVError.

    It keeps the apiVersion that the bundle gives it, odd as that may be: steps and owner references repeat it.
    """
    obj = content.csv.object
    try:
        csv = decode(CSV_KIND, obj)
    except GoTypeError as error:
        from olmc.load.refusal_words import way_out  # few CSVs are wrong, and imports take their time

        cause = decode_failure(error)
        undecodable = Undecodable(content, str(error), error.path, way_out(error), cause=cause)
        raise UndecodableCSVError(undecodable) from error
    name = (csv.get("metadata") or {}).get("name")
    if not obj.get("apiVersion"):
        hint = "Add apiVersion: operators.coreos.com/v1alpha1."
        raise UndecodableCSVError(Undecodable(content, f"bundle CSV {name} missing APIVersion", (), hint, fatal=True))
    if ((csv.get("spec") or {}).get("install") or {}).get("strategy") != "deployment":
        text = f"could not assert strategy implementation as deployment for CSV {name}"
        hint = "Write strategy: deployment, the only strategy that there is."
        raise UndecodableCSVError(Undecodable(content, text, ("spec", "install", "strategy"), hint))
    metadata = dict(csv.get("metadata") or {})
    metadata["namespace"] = namespace
    if profile.csv_annotation_properties:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), profile.csv_annotation_properties: properties}
    spec = {**(csv.get("spec") or {})}
    if not profile.csv_cleanup:
        spec.pop("cleanup", None)
    spec.pop("replaces", None)
    if replaces:
        spec["replaces"] = replaces
    return {"apiVersion": str(obj["apiVersion"]), "kind": CSV_KIND, "metadata": metadata, "spec": spec}


def bundle_steps(content: Content, csv: KubernetesObject, catalog: CatalogKey, profile: Profile) -> tuple[Step, ...]:
    """All steps of a bundle in order: the CSV, the other objects by file name, the RBAC (R-CAT-611, R-CAT-613).

    `csv` is the outcome of `csv_object`. Of two steps for one kind and name the first one's content counts for both, as
    steps of unpacked bundles are looked up by kind and name.
    """
    name = csv["metadata"]["name"]
    steps = [Step(name, catalog, csv["apiVersion"], csv["kind"], name, csv, content.csv.source)]
    for _, manifest in sorted(content.others, key=lambda pair: _NOT_IN_KEYS.sub("-", pair[0])):
        steps.append(_file_step(name, catalog, manifest))
    steps += strategy_steps(csv, catalog, content.csv.source, profile)
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


def strategy_steps(
    csv: KubernetesObject, catalog: CatalogKey, source: Source | None, profile: Profile
) -> Iterator[Step]:
    """ServiceAccounts and RBAC of the install strategy, by service account in order of appearance (R-CAT-625 …)."""
    install = ((csv.get("spec") or {}).get("install") or {}).get("spec") or {}
    name = csv["metadata"]["name"]
    permissions = install.get("permissions") or []
    cluster_permissions = install.get("clusterPermissions") or []
    accounts = dict.fromkeys(entry.get("serviceAccountName") or "" for entry in permissions + cluster_permissions)
    for account in accounts:
        is_owned = profile.rbac_owner_cluster["account"] or any(
            (entry.get("serviceAccountName") or "") == account for entry in permissions
        )
        is_written = account != "default" or profile.rbac_sa_default
        objects = [_service_account(csv, account, is_owned)] if is_written else []
        objects += [
            obj
            for entry in permissions
            if (entry.get("serviceAccountName") or "") == account
            for obj in _role_pair(csv, entry, profile)
        ]
        objects += [
            obj
            for entry in cluster_permissions
            if (entry.get("serviceAccountName") or "") == account
            for obj in _cluster_role_pair(csv, entry, profile)
        ]
        order = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        for obj in sorted(objects, key=lambda o: order.index(o["kind"])):
            yield Step(
                name, catalog, obj["apiVersion"], obj["kind"], obj["metadata"]["name"], obj, source, derived=True
            )


def _reference(csv: KubernetesObject) -> dict[str, Any]:
    return csv_reference(csv["metadata"]["name"], api_version=csv["apiVersion"])


def _service_account(csv: KubernetesObject, account: str, is_owned: bool) -> KubernetesObject:
    """R-SA-1."""
    metadata = {"name": account, "namespace": csv["metadata"]["namespace"]}
    metadata |= {"ownerReferences": [_reference(csv)]} if is_owned else {}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _role_pair(csv: KubernetesObject, entry: Mapping[str, Any], profile: Profile) -> Iterator[KubernetesObject]:
    """R-SA-2, R-SA-3."""
    owner, namespace = csv["metadata"]["name"], csv["metadata"]["namespace"]
    name = role_name(profile, owner, namespace, dict(entry))
    for obj in _pair("Role", name, csv, entry, profile):
        metadata = {"name": obj["metadata"]["name"], "namespace": namespace, **obj["metadata"]}
        yield {**obj, "metadata": {**metadata, "ownerReferences": [_reference(csv)]}}


def _cluster_role_pair(csv: KubernetesObject, entry: Mapping[str, Any], profile: Profile) -> Iterator[KubernetesObject]:
    """R-SA-4, R-SA-5."""
    name = cluster_role_name(profile, csv["metadata"]["name"], csv["metadata"]["namespace"], dict(entry))
    refs = [_reference(csv)] if profile.rbac_owner_cluster["reference"] else []
    for obj in _pair("ClusterRole", name, csv, entry, profile):
        yield {**obj, "metadata": {**obj["metadata"], "ownerReferences": refs}} if refs else obj


def _pair(
    kind: str, name: str, csv: KubernetesObject, entry: Mapping[str, Any], profile: Profile
) -> Iterator[KubernetesObject]:
    """A Role or ClusterRole, as `kind` says, and its binding, with the labels that lead to the CSV."""
    owner, namespace = csv["metadata"]["name"], csv["metadata"]["namespace"]
    account = entry.get("serviceAccountName") or ""
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
    bound = binding_name(profile, f"{kind}Binding", name, namespace, account)
    labels = owner_labels(profile, owner, namespace)
    hashed = PERMISSIONS_HASH in profile.rbac_labels_extra
    for made, its_name, digest, body in (
        (kind, name, content_hash_rules(entry.get("rules")), {"rules": entry.get("rules")}),
        (f"{kind}Binding", bound, binding_hash(kind, name, subjects), _binding(kind, name, subjects)),
    ):
        metadata = with_labels({"name": its_name}, {**labels, **({PERMISSIONS_HASH: digest} if hashed else {})})
        yield {"apiVersion": RBAC_V1, "kind": made, "metadata": metadata, **body}


def _binding(kind: str, name: str, subjects: list[dict[str, str]]) -> dict[str, Any]:
    return {"subjects": subjects, "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}}
