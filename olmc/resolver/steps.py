"""The steps of an InstallPlan: what a bundle turns into, wherever its manifests are (R-CAT-164, R-CAT-610 … R-CAT-631,
R-SA-1 … R-SA-8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olmc.gojson import DecodeError, decode, decode_failure, decode_hint
from olmc.kube.names import KEY_CHARACTERS
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, Step
from olmc.model.diagnostics import DecodeFailure, Report, Source
from olmc.model.objects import (
    CRD_KIND,
    RBAC,
    RBAC_V1,
    CatalogKey,
    KubernetesObject,
    annotations_of,
    as_text,
    metadata_of,
    spec_of,
    text,
)
from olmc.model.operators import CSV_KIND, Csv, StrategyPermissions
from olmc.model.options import Profile
from olmc.model.workspace import Bundle, Manifest, Workspace
from olmc.olm.naming import (
    PERMISSIONS_HASH,
    binding_hash,
    binding_name,
    cluster_role_name,
    content_hash_rules,
    csv_reference,
    owner_labels,
    role_name,
    with_labels,
)

if TYPE_CHECKING:
    from olmc.model.catalog import Candidate, CatalogBundle, Property


def content_of(workspace: Workspace, cluster: Cluster, candidate: Candidate) -> Content | None:
    """The manifests of a served bundle: those inline in the catalog, the workspace's bundle with that CSV name, or the
    vendored one with that image (R-CAT-164); None when none is there."""
    bundle = workspace.bundles.get(candidate.name) or workspace.vendored.get(candidate.image)
    source = cluster.catalogs.get(candidate.catalog)
    package = source.catalog.packages.get(candidate.package) if source and source.catalog else None
    entry = package.bundles.get(candidate.name) if package else None
    carries_content = entry is not None and any(each.type == "olm.bundle.object" for each in entry.properties)
    if entry is None or bundle is None or (carries_content and not candidate.image):
        return inline_content(entry) if entry is not None else None
    content = bundle_content(bundle)
    from olmc.catalogs.content import served_properties

    # Without an image it is a catalog made of the workspace's own bundles: their content is part of it.
    return content if candidate.image else content._replace(inline=True, served=served_properties(entry))


def inline_content(entry: CatalogBundle) -> Content | None:
    """The manifests that a catalog has of a bundle, None without a CSV among them."""
    from olmc.catalogs.content import inline_objects, served_properties  # few catalogs have content

    source = entry.location.source if entry.location else None
    objects = inline_objects(entry, Report())
    csv = next((obj for obj in objects if obj.get("kind") == "ClusterServiceVersion"), None)
    if csv is None or source is None:
        return None
    others = [obj for obj in objects if obj.get("kind") != "ClusterServiceVersion"]
    named = tuple((f"{index:06}", Manifest(obj, source)) for index, obj in enumerate(others))
    return Content(Manifest(csv, source), named, inline=not entry.image, served=served_properties(entry))


def _as_key(name: str) -> str:
    """The name of a file as the key that it gets in the ConfigMap of an unpacked bundle."""
    return "".join(char if char in KEY_CHARACTERS else "-" for char in name)


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


class UndecodableCSV(NamedTuple):
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

    def __init__(self, undecodable: UndecodableCSV) -> None:
        super().__init__(undecodable.text)
        self.undecodable = undecodable


def csv_object(content: Content, namespace: str, replaces: str, properties: str, profile: Profile) -> KubernetesObject:
    """The CSV that an InstallPlan creates (R-CAT-620); raises UndecodableCSVError.

    It keeps the apiVersion that the bundle gives it, odd as that may be: steps and owner references repeat it.
    """
    obj = content.csv.object
    try:
        csv = decode(CSV_KIND, obj)
    except DecodeError as error:
        undecodable = UndecodableCSV(content, str(error), error.path, decode_hint(error), cause=decode_failure(error))
        raise UndecodableCSVError(undecodable) from error
    decoded = Csv(csv)
    name = decoded.name
    if not obj.get("apiVersion"):
        hint = "Add apiVersion: operators.coreos.com/v1alpha1."
        raise UndecodableCSVError(
            UndecodableCSV(content, f"bundle CSV {name} missing APIVersion", (), hint, fatal=True)
        )
    if decoded.strategy_name != "deployment":
        cause = f"could not assert strategy implementation as deployment for CSV {name}"
        hint = "Write strategy: deployment, the only strategy that there is."
        raise UndecodableCSVError(UndecodableCSV(content, cause, ("spec", "install", "strategy"), hint))
    metadata = dict(metadata_of(csv))
    metadata["namespace"] = namespace
    if profile.csv_annotation_properties:
        metadata["annotations"] = {**annotations_of(csv), profile.csv_annotation_properties: properties}
    spec = {**spec_of(csv)}
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
    for _, manifest in sorted(content.others, key=lambda pair: _as_key(pair[0])):
        steps.append(_file_step(name, catalog, manifest))
    steps += strategy_steps(Csv(csv), catalog, content.csv.source, profile)
    if content.inline:
        return tuple(steps)
    first: dict[tuple[str, str], Step] = {}
    for step in steps:
        first.setdefault((step.kind, step.name), step)
    return tuple(first[step.kind, step.name] for step in steps)


def partitioned(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps of inline bundles in plan order: CSVs, then CRDs, then everything else (R-CAT-612)."""
    ranks = {"ClusterServiceVersion": 0, CRD_KIND: 1}
    return tuple(sorted(steps, key=lambda step: ranks.get(step.kind, 2)))


def _file_step(csv: str, catalog: CatalogKey, manifest: Manifest) -> Step:
    obj = manifest.object
    metadata = metadata_of(obj)
    name = as_text(metadata.get("name") or metadata.get("generateName"))
    return Step(csv, catalog, text(obj.get("apiVersion")), str(obj["kind"]), name, obj, manifest.source)


def strategy_steps(csv: Csv, catalog: CatalogKey, source: Source | None, profile: Profile) -> Iterator[Step]:
    """ServiceAccounts and RBAC of the install strategy, by service account in order of appearance (R-CAT-625 …)."""
    for account in csv.service_account_names:
        local = [entry for entry in csv.permissions if entry.account == account]
        everywhere = [entry for entry in csv.cluster_permissions if entry.account == account]
        is_written = account != "default" or profile.rbac_sa_default
        is_owned = profile.rbac_owner_cluster["account"] or bool(local)
        objects = [_service_account(csv, account, is_owned)] if is_written else []
        objects += [obj for entry in local for obj in _role_pair(csv, entry, profile)]
        objects += [obj for entry in everywhere for obj in _cluster_role_pair(csv, entry, profile)]
        order = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        for obj in sorted(objects, key=lambda o: order.index(o["kind"])):
            yield Step(
                csv.name, catalog, obj["apiVersion"], obj["kind"], obj["metadata"]["name"], obj, source, derived=True
            )


def _reference(csv: Csv) -> dict[str, Any]:
    return csv_reference(csv.name, api_version=csv.object["apiVersion"])


def _service_account(csv: Csv, account: str, is_owned: bool) -> KubernetesObject:
    """R-SA-1."""
    metadata: dict[str, Any] = {"name": account, "namespace": csv.namespace}
    metadata |= {"ownerReferences": [_reference(csv)]} if is_owned else {}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _role_pair(csv: Csv, entry: StrategyPermissions, profile: Profile) -> Iterator[KubernetesObject]:
    """R-SA-2, R-SA-3."""
    name = role_name(profile, csv.name, csv.namespace, dict(entry.object))
    for obj in _pair("Role", name, csv, entry, profile):
        metadata = {"name": obj["metadata"]["name"], "namespace": csv.namespace, **obj["metadata"]}
        yield {**obj, "metadata": {**metadata, "ownerReferences": [_reference(csv)]}}


def _cluster_role_pair(csv: Csv, entry: StrategyPermissions, profile: Profile) -> Iterator[KubernetesObject]:
    """R-SA-4, R-SA-5."""
    name = cluster_role_name(profile, csv.name, csv.namespace, dict(entry.object))
    refs = [_reference(csv)] if profile.rbac_owner_cluster["reference"] else []
    for obj in _pair("ClusterRole", name, csv, entry, profile):
        yield {**obj, "metadata": {**obj["metadata"], "ownerReferences": refs}} if refs else obj


def _pair(kind: str, name: str, csv: Csv, entry: StrategyPermissions, profile: Profile) -> Iterator[KubernetesObject]:
    """A Role or ClusterRole, as `kind` says, and its binding, with the labels that lead to the CSV."""
    subjects = [{"kind": "ServiceAccount", "name": entry.account, "namespace": csv.namespace}]
    bound = binding_name(profile, f"{kind}Binding", name, csv.namespace, entry.account)
    labels = owner_labels(profile, csv.name, csv.namespace)
    rules = entry.object.get("rules")  # absent ones and none at all have different hashes
    hashed = PERMISSIONS_HASH in profile.rbac_labels_extra
    for object_kind, object_name, digest, body in (
        (kind, name, content_hash_rules(rules), {"rules": rules}),
        (f"{kind}Binding", bound, binding_hash(kind, name, subjects), _binding(kind, name, subjects)),
    ):
        metadata = with_labels({"name": object_name}, {**labels, **({PERMISSIONS_HASH: digest} if hashed else {})})
        yield {"apiVersion": RBAC_V1, "kind": object_kind, "metadata": metadata, **body}


def _binding(kind: str, name: str, subjects: list[dict[str, str]]) -> dict[str, Any]:
    return {"subjects": subjects, "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}}
