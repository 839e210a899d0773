"""The steps of an InstallPlan: what a bundle turns into, wherever its manifests are (R-CAT-164, R-CAT-610 … R-CAT-631,
R-SA-1 … R-SA-8).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any

from olmc.compiler.catalogs.properties import indexed
from olmc.compiler.model.catalog import Candidate, ResolveRequest, Selection, of_package
from olmc.compiler.model.cluster import Cluster, NamespacedName, Step
from olmc.compiler.model.operators import CSV_KIND, Csv, StrategyPermissions
from olmc.compiler.model.options import Profile
from olmc.compiler.model.workspace import Bundle, Lock, LockedOperator, Workspace
from olmc.compiler.olm.facts import MAX_BUNDLE_SIZE, compressed_size
from olmc.compiler.olm.naming import (
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
from olmc.k8s.api.selectors import KEY_CHARACTERS
from olmc.k8s.diagnostics import DecodeFailure, Report, Source
from olmc.k8s.gojson import DecodeError, decode, decode_failure, decode_hint
from olmc.k8s.lean import NamedTuple, sha256
from olmc.k8s.objects import (
    CRD_KIND,
    RBAC,
    RBAC_V1,
    CatalogKey,
    KubernetesObject,
    Manifest,
    annotations_of,
    as_text,
    metadata_of,
    spec_of,
    text,
)

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Candidate, CatalogBundle, Property


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
    from olmc.compiler.catalogs.content import served_properties

    # Without an image it is a catalog made of the workspace's own bundles: their content is part of it.
    if candidate.image:
        return content
    return content._replace(csv=bundle.csv, inline=True, served=served_properties(entry))


def inline_content(entry: CatalogBundle) -> Content | None:
    """The manifests that a catalog has of a bundle, None without a CSV among them."""
    from olmc.compiler.catalogs.content import inline_objects, served_properties  # few catalogs have content

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

    `inline` content came with the catalog, whose properties for it are `served`. `subfolder`: a folder among the files.
    """

    csv: Manifest
    others: tuple[tuple[str, Manifest], ...]
    inline: bool = False
    served: tuple[Property, ...] = ()
    subfolder: str = ""


def bundle_content(bundle: Bundle) -> Content:
    """The content of a bundle directory, as OLM unpacks it."""
    others = tuple((file.name, file.manifest) for file in bundle.files if file.manifest is not bundle.csv)
    return Content(bundle.installed, others, subfolder=bundle.subfolder)


class UndecodableCSV(NamedTuple):
    """A bundle whose CSV can't be decoded: OLM's text, the keys that lead to the problem, and a hint.

    OLM reports a `fatal` one at the Subscriptions. It retries any other one and only writes to its log. `of_job`: the
    Job of the bundle fails, independent of the bundle's content.
    """

    content: Content
    text: str
    keys: tuple[str | int, ...]
    hint: str
    fatal: bool = False
    cause: DecodeFailure | None = None
    of_job: bool = False


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


def check_files(content: Content, profile: Profile) -> None:
    """Raise UndecodableCSVError for a bundle with a folder among its files, and for one whose files do not fit into the
    ConfigMap for them (R-CAT-614)."""
    if content.subfolder:
        hint = f"Move the files of {content.subfolder} one folder up, or out of the bundle."
        place = "/".join(content.subfolder.split("/")[-2:])
        text = f"read /bundle/{place}: is a directory"
        raise UndecodableCSVError(UndecodableCSV(content, text, (), hint, of_job=True))
    manifests = (content.csv, *(manifest for _, manifest in content.others))
    texts = {manifest.source.path: manifest.source.text for manifest in manifests}
    size = sum(map(len, texts.values()))
    if size * 6 < MAX_BUNDLE_SIZE:
        return  # a character has at most four bytes, and base 64 adds a third
    packed, files = profile.bundle_unpacking == "compressed", [each.encode() for each in texts.values()]
    # Most bundles are so much smaller than the limit that the quickest compression shows it.
    if packed and 2 * sum(compressed_size(each, level=1) for each in files) <= MAX_BUNDLE_SIZE:
        return
    size = sum(map(compressed_size if packed else len, files))
    if size <= MAX_BUNDLE_SIZE:
        return
    hint = "Make the bundle smaller, for example with its ConfigMaps outside of it."
    if not packed:
        hint += " OLM 0.19 and later compress the files: update OLM."
    what = "compressed files" if packed else "files"
    limit = f"bundle files exceeded {MAX_BUNDLE_SIZE} bytes limit ({len(texts)} {what} have {size} bytes)"
    raise UndecodableCSVError(UndecodableCSV(content, limit, (), hint, of_job=True))


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


# Obeying `olmc.lock`: what of the catalogs a locked namespace may still choose from, and whether the lock holds.
#
# The lock lists every bundle that the plans of a namespace go through, not only where they end: the same hops leave the
# same traces, and what is selected without ever being installed (R-CAT-583) is needed for the next resolution as well.


def restrictions(resolve_request: ResolveRequest, locked: Sequence[LockedOperator]) -> Iterator[ResolveRequest]:
    """Yield three requests: without all versions that are not locked, except for requested packages that the lock
    lacks; then with other packages that the lock lacks, so that olmc finds and names a missing dependency; at last the
    request itself."""
    names = {_identity(operator) for operator in locked}
    packages = {operator.package for operator in locked}
    requested = {request.package for request in resolve_request.requests}
    catalogs = [(catalog, indexed(catalog.entries)) for catalog in resolve_request.catalogs]
    strict = {package for _, entries in catalogs for package in entries.catalog_index.counts} - (requested - packages)
    for restricted in (strict, packages):
        withheld = partial(_withheld, packages=restricted, names=names)
        yield resolve_request._replace(
            catalogs=tuple(catalog._replace(entries=entries.changed(withheld)) for catalog, entries in catalogs)
        )
    yield resolve_request


def _withheld(entry: Candidate, packages: Set[str], names: Set[tuple[str, ...]]) -> Candidate:
    """An entry, withheld if it is of one of the packages and none of the names."""
    return entry._replace(withheld=entry.package in packages and _identity_of(entry) not in names)


def _identity(operator: LockedOperator) -> tuple[str, ...]:
    return operator.name, operator.package, operator.channel, operator.catalog, operator.catalog_namespace


def _identity_of(entry: Candidate) -> tuple[str, ...]:
    return entry.name, entry.package, entry.channel, entry.catalog.name, entry.catalog.namespace


def lock_of(workspace: Workspace, cluster: Cluster, selections: Iterable[tuple[str, Selection]]) -> Lock:
    """The lock for a settled cluster: `selections` are the bundles that were selected on the way, in order, with their
    namespaces; what the Subscriptions were at before counts as well."""
    chosen: dict[str, dict[tuple[str, ...], Candidate]] = {}
    for name in sorted(cluster.subscriptions):
        entry = _entry_of(cluster, name)
        if entry is not None:
            chosen.setdefault(name.namespace, {})[_identity_of(entry)] = entry
    for namespace, selection in selections:
        # The last one of a package is the one that is to be at rest: what was selected again goes to the end.
        entries = chosen.setdefault(namespace, {})
        entries.pop(_identity_of(selection.candidate), None)
        entries[_identity_of(selection.candidate)] = selection.candidate
    return Lock(
        {
            namespace: tuple(
                _lock_entry(workspace, cluster, entry)
                for entry in sorted(entries.values(), key=lambda each: each.package)
            )
            for namespace, entries in sorted(chosen.items())
        }
    )


def _lock_entry(workspace: Workspace, cluster: Cluster, entry: Candidate) -> LockedOperator:
    digest = digest_of(workspace, cluster, entry)
    catalog = entry.catalog
    return LockedOperator(
        entry.package, entry.name, entry.version, entry.channel, catalog.name, catalog.namespace, digest
    )


def _entry_of(cluster: Cluster, name: NamespacedName) -> Candidate | None:
    """The catalog entry of the CSV that a Subscription is at, from its own channel if it names one.

    A CSV that its channel doesn't have stands for itself: it is not to be upgraded unnoticed either.
    """
    subscription = cluster.subscriptions[name]
    csv = cluster.csvs.get(NamespacedName(name.namespace, subscription.current))
    channel = subscription.channel
    source = cluster.catalogs.get(subscription.catalog)
    fitting = [
        entry
        for entry in (of_package(source.entries, subscription.package) if source else ())
        if entry.name == subscription.current and channel in ("", entry.channel)
    ]
    if not fitting and csv is not None:
        version = csv.version
        return Candidate(csv.name, subscription.package, channel, subscription.catalog, version, ())
    return next((entry for entry in fitting if entry.default_channel), fitting[0] if fitting else None)


def digest_of(workspace: Workspace, cluster: Cluster, entry: Candidate) -> str:
    """The digest of an entry and of its bundle's content, as `sha256:…`; where it stands doesn't count."""
    content = content_of(workspace, cluster, entry)
    manifests = [content.csv, *(manifest for _, manifest in content.others)] if content else []
    fields = entry._replace(location=None, withheld=False)._asdict()
    what = {
        # The digests of locks that exist stay what they are: fields in this order, without the place of the bundle.
        "entry": [
            [value.name, value.namespace] if isinstance(value, CatalogKey) else value
            for value in list(fields.values())[: Candidate._fields.index("bundle")]
        ],
        "objects": [manifest.object for manifest in manifests],
    }
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def find_deviations(lock: Lock, present: Lock) -> Iterator[tuple[str, str]]:
    """Yield where the present choice is not the locked one: namespace and what differs."""
    for namespace in sorted({*lock.namespaces, *present.namespaces}):
        locked, chosen = lock.namespaces.get(namespace, ()), present.namespaces.get(namespace, ())
        goals = {operator.package: operator for operator in locked}
        ends = {operator.package: operator for operator in chosen}
        known = set(map(_identity, locked))
        new = [operator for operator in chosen if _identity(operator) not in known]
        for operator in new:
            goal = goals.get(operator.package)
            if goal is None:
                yield namespace, f"{operator.name} is needed and not locked"
            else:
                where = f"channel {goal.channel} of catalog {goal.catalog}"
                yield namespace, f"{goal.name} from {where} is locked, {operator.name} would be chosen"
        changed = {operator.package for operator in new}
        for package, goal in sorted(goals.items()):
            end = ends.get(package)
            if end is None:
                yield namespace, f"{goal.name} is locked and not chosen any more"
            elif package not in changed and end.name != goal.name:
                yield namespace, f"{goal.name} is locked, the upgrades end at {end.name}"


def find_changed(lock: Lock, present: Lock) -> Iterator[tuple[str, str]]:
    """The locked operators whose entry or content changed: namespace and name."""
    for namespace, locked in sorted(lock.namespaces.items()):
        now = {_identity(operator): operator.digest for operator in present.namespaces.get(namespace, ())}
        for operator in locked:
            if now.get(_identity(operator), operator.digest) != operator.digest:
                yield namespace, operator.name
