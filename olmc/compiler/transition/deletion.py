"""The objects that are deleted with an object: those that it alone owns, those in a namespace, the resources of a CRD,
and those that the controllers of OLM clean up after CSVs and OperatorGroups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.operators import CONVERSION, CSV_KIND, Csv
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import EXTENSIONS_V1, ClusterState, PolicyRemoval, Workspace
from olmc.compiler.olm.facts import (
    FAMILIES_AT_WORK,
    csv_by_label,
    family,
    foreign_finalizers,
    is_copy,
    is_copy_by_metadata,
    original_of,
    terminating,
)
from olmc.compiler.olm.naming import COMPONENT_PREFIX, helm_marks, owner_labels
from olmc.compiler.olm.profiles.data import filled, profile_of
from olmc.compiler.reconcile.initial_state import served_folder
from olmc.compiler.reconcile.loop import FINALIZED_KINDS
from olmc.compiler.rules.findings.workspace import NOTHING_TO_DELETE
from olmc.k8s.api.restmapper import (
    BUILTIN,
    closest_kind,
    find_kinds,
    known_kinds,
    rest_mapper,
    versions_of,
    without_version,
)
from olmc.k8s.api.selectors import is_label_value
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, closest, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    GroupKind,
    KubernetesObject,
    Manifest,
    ObjectKey,
    annotations_of,
    crd_key,
    gvk_of,
    labels_of,
    mapping,
    metadata_of,
    object_key,
    owner_references,
    spec_of,
    split_api_version,
    status_of,
    text,
)

Objects = Mapping[ObjectKey, Manifest]

# The kinds that may own an object in any namespace; all other owners are in the namespace of the object.
_CLUSTER_SCOPED = FINALIZED_KINDS | {CRD_KIND, "Namespace", "Operator", "ClusterExtension", "ClusterObjectSet"}


class DeletionIndex(NamedTuple):
    """An index of the objects that are deleted together, so that a deletion need not search all objects.

    `owners`: the owners of each object that has some, `dependents`: the other way round. `inside`: by namespace,
    `kinds`: by group and kind, `labelled`: by each label, as far as controllers delete by labels, `copies`: the CSVs by
    name.
    """

    objects: Objects
    owners: Mapping[ObjectKey, tuple[ObjectKey, ...]]
    dependents: Mapping[ObjectKey, Sequence[ObjectKey]]
    inside: Mapping[str, Sequence[ObjectKey]]
    kinds: Mapping[tuple[str, str], Sequence[ObjectKey]]
    labelled: Mapping[tuple[str, str], Sequence[ObjectKey]]
    copies: Mapping[str, Sequence[ObjectKey]]


def deletion_index(objects: Objects) -> DeletionIndex:
    """The index of objects."""
    owners: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
    dependents: dict[ObjectKey, list[ObjectKey]] = defaultdict(list)
    inside: dict[str, list[ObjectKey]] = defaultdict(list)
    kinds: dict[tuple[str, str], list[ObjectKey]] = defaultdict(list)
    labelled: dict[tuple[str, str], list[ObjectKey]] = defaultdict(list)
    copies: dict[str, list[ObjectKey]] = defaultdict(list)
    for key, manifest in objects.items():
        named = tuple(_owners(key, manifest.object))
        if named:
            owners[key] = named
        for owner in named:
            dependents[owner].append(key)
        inside[key.namespace].append(key)
        kinds[key.group, key.kind].append(key)
        if key.kind in FINALIZED_KINDS:
            for label in labels_of(manifest.object).items():
                labelled[label].append(key)
        elif key.kind == CSV_KIND:
            copies[key.name].append(key)
    return DeletionIndex(objects, owners, dependents, inside, kinds, labelled, copies)


def delete(objects: Objects, keys: Iterable[ObjectKey], profile: Profile) -> dict[ObjectKey, Manifest]:
    """Return the objects without those of `keys`, and without the objects deleted with them (observed-36, observed-57,
    observed-59).

    An object whose finalizer is never removed stays, and so do the objects that wait for it (observed-83).
    """
    keys = list(keys)
    if not keys:
        return dict(objects)
    index = deletion_index(objects)
    deleted = cascade(index, keys, {}, profile)
    held = held_by_finalizers(index, deleted, profile)
    removed = {key: None for key in deleted if key not in held}
    remaining = {
        key: _terminating(manifest) if key in held else _without_owners(key, manifest, index, removed)
        for key, manifest in objects.items()
        if key not in removed
    }
    for key in removed:
        if key.kind == CSV_KIND:
            remaining |= _unconverted(key, objects, remaining)
    return remaining


def cascade(
    index: DeletionIndex, keys: Iterable[ObjectKey], before: Mapping[ObjectKey, None], profile: Profile
) -> dict[ObjectKey, None]:
    """Return `keys` and all objects that are deleted with them, in order; `before` are deleted already."""
    waiting = [key for key in keys if key in index.objects]
    removed: dict[ObjectKey, None] = {}
    while waiting:
        key = waiting.pop()
        if key in removed or key in before or key not in index.objects:
            continue
        removed[key] = None
        waiting += _cleaned_up(key, index, profile)
        waiting += [
            other
            for other in index.dependents.get(key, ())
            if all(owner in removed or owner in before for owner in index.owners[other])
        ]
    return removed


def held_by_finalizers(
    index: DeletionIndex, deleted: Mapping[ObjectKey, None], profile: Profile
) -> frozenset[ObjectKey]:
    """Return the deleted objects that stay (observed-83): custom resources with finalizers whose operator is deleted
    with them, and objects with a finalizer of no controller of the cluster. The objects that they own, and the
    namespaces and CRDs of such resources stay, too. So does a CSV by whose name OLM can't select its objects, with its
    copies (R-CSV-1)."""
    waiting = [key for key in deleted if metadata_of(index.objects[key].object).get("finalizers")]
    stuck = {key for key in deleted if _cannot_be_selected(key, index.objects[key].object, profile)}
    if not stuck and not waiting:
        return frozenset()
    left_alone = _owned_kinds(index, {}) - _owned_kinds(index, deleted)
    held = stuck | held_by_others(index, deleted).keys() | {
        key for key in waiting if key.kind not in _FINALIZED_BY_OTHERS and (key.group, key.kind) in left_alone
    }  # fmt: skip
    kinds, namespaces = {(key.group, key.kind) for key in held}, {key.namespace for key in held}
    for key in deleted:
        is_home = key[:2] == ("", "Namespace") and key.name in namespaces
        defines = key.kind == CRD_KIND and _defined_kind(index.objects[key].object) in kinds
        owners = (*index.owners.get(key, ()), *_original(key, index), *_api_owner(key, index))
        is_owned = any(owner in held for owner in owners)
        if is_home or defines or (is_owned and not _goes_with_namespace(key, deleted)):
            held.add(key)
    return frozenset(held)


def held_by_others(index: DeletionIndex, deleted: Mapping[ObjectKey, None]) -> dict[ObjectKey, tuple[str, ...]]:
    """The finalizers that no controller of the cluster has, by the deleted objects that they hold (observed-83)."""
    waiting = [key for key in deleted if metadata_of(index.objects[key].object).get("finalizers")]
    if not waiting:
        return {}
    left_alone = _owned_kinds(index, {}) - _owned_kinds(index, deleted)
    crds = (_defined_kind(index.objects[key].object) for key in index.kinds.get((APIEXTENSIONS, CRD_KIND), ()))
    at_work = {family(group) for group, kind in crds if (group, kind) not in left_alone} | FAMILIES_AT_WORK
    found = {key: tuple(foreign_finalizers(index.objects[key].object, key.group, at_work)) for key in waiting}
    return {key: finalizers for key, finalizers in found.items() if finalizers}


def _cannot_be_selected(key: ObjectKey, obj: KubernetesObject, profile: Profile) -> bool:
    is_own = key.kind == CSV_KIND and bool(profile.csv_finalizer) and not is_copy(obj)
    return is_own and bool(is_label_value(key.name))


def _original(key: ObjectKey, index: DeletionIndex) -> Iterator[ObjectKey]:
    """The CSV of which another one is a copy."""
    original = original_of(index.objects[key].object) if key.kind == CSV_KIND else None
    if original is not None:
        yield key._replace(namespace=original.namespace)


def _defined_kind(crd: KubernetesObject) -> tuple[str, str]:
    spec = spec_of(crd)
    return text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))


def _goes_with_namespace(key: ObjectKey, deleted: Mapping[ObjectKey, None]) -> bool:
    return ObjectKey("", "Namespace", "", key.namespace) in deleted


# OLM and Kubernetes take their own finalizers away.
_FINALIZED_BY_OTHERS = frozenset({CSV_KIND, CRD_KIND})


def _api_owner(key: ObjectKey, index: DeletionIndex) -> Iterator[ObjectKey]:
    """The CSV that an APIService names in its labels: OLM deletes it only once that does not exist any more."""
    owner = csv_by_label(index.objects[key].object) if key.kind == "APIService" else None
    if owner is not None:
        yield ObjectKey(OLM_GROUP, CSV_KIND, *owner)


def _owned_kinds(index: DeletionIndex, without: Mapping[ObjectKey, None]) -> set[tuple[str, str]]:
    """Group and kind of the custom resources that CSVs own, or CRDs of ClusterExtensions define; copies own none."""
    csvs = (Csv(m.object) for key, m in index.objects.items() if key.kind == CSV_KIND and key not in without)
    kinds = {(item.api.group, item.api.kind) for csv in csvs if not is_copy(csv.object) for item in csv.owned_crds}
    return kinds | {
        _defined_kind(manifest.object) for key, manifest in index.objects.items()
        if key.kind == CRD_KIND and any(_is_operator(it) and it not in without for it in index.owners.get(key, ()))
    }  # fmt: skip


def _is_operator(key: ObjectKey) -> bool:
    """Return whether an operator goes with an object: its CSV, or its ClusterExtension with the revisions of it."""
    return key.kind == CSV_KIND or key.group == EXTENSIONS_V1.partition("/")[0]


def _terminating(manifest: Manifest) -> Manifest:
    """An object that is deleted and waits for its finalizers: a namespace says so, and OLM sees it at a CSV."""
    obj = manifest.object
    if obj["kind"] == CSV_KIND and not is_copy(obj):
        return manifest._replace(object=terminating(obj))
    if (obj["kind"], obj["apiVersion"]) != ("Namespace", "v1"):
        return manifest
    return manifest._replace(object={**obj, "status": {**status_of(obj), "phase": "Terminating"}})


def _owners(key: ObjectKey, obj: KubernetesObject) -> Iterator[ObjectKey]:
    for ref in owner_references(obj):
        group, kind = split_api_version(ref.get("apiVersion"))[0], text(ref.get("kind"))
        # OLM writes this kind in lower case into the owners of an API's ClusterRoles, which go all the same (R-CR-2).
        kind = CRD_KIND if kind.lower() == CRD_KIND.lower() else kind
        yield ObjectKey(group, kind, "" if kind in _CLUSTER_SCOPED else key.namespace, text(ref.get("name")))


def _without_owners(
    key: ObjectKey, manifest: Manifest, index: DeletionIndex, removed: Mapping[ObjectKey, None]
) -> Manifest:
    """Return an object that stays, without its references to deleted owners."""
    owners = index.owners.get(key, ())
    if not any(owner in removed for owner in owners):
        return manifest
    references = owner_references(manifest.object)
    kept = [ref for ref, owner in zip(references, owners, strict=True) if owner not in removed]
    metadata = {**manifest.object["metadata"], "ownerReferences": kept}
    return manifest._replace(object={**manifest.object, "metadata": metadata})


def _cleaned_up(key: ObjectKey, index: DeletionIndex, profile: Profile) -> Iterator[ObjectKey]:
    """Yield the objects that are deleted with an object without a reference from one to the other."""
    obj = index.objects[key].object
    if (key.group, key.kind) == ("", "Namespace"):
        yield from index.inside.get(key.name, ())
    elif key.kind == CRD_KIND:
        yield from index.kinds.get(_defined_kind(obj), ())
    elif key.kind == CSV_KIND and not is_copy(obj):
        yield key._replace(kind="OperatorCondition")
        yield from _labelled(index, owner_labels(profile, key.name, key.namespace), FINALIZED_KINDS)
        for other in index.copies.get(key.name, ()):
            if original_of(index.objects[other].object) == (key.namespace, key.name):
                yield other
    elif key.kind == "OperatorGroup":
        labels = filled(profile.og_clusterrole_labels, og=key.name, og_ns=key.namespace)
        yield from _labelled(index, labels, frozenset({"ClusterRole"}))


def _labelled(index: DeletionIndex, labels: Mapping[str, str], kinds: frozenset[str]) -> Iterator[ObjectKey]:
    having = [index.labelled.get(label, ()) for label in labels.items()]
    for key in min(having, key=len, default=()):
        if key.kind in kinds and labels.items() <= labels_of(index.objects[key].object).items():
            yield key


def _unconverted(removed: ObjectKey, objects: Objects, remaining: Objects) -> Iterator[tuple[ObjectKey, Manifest]]:
    """The CRDs that a CSV's webhooks converted, without conversion, unless another CSV replaces it (observed-62)."""
    csv = Csv(objects[removed].object)
    csvs = (Csv(m.object) for key, m in remaining.items() if (key.kind, key.namespace) == (CSV_KIND, removed.namespace))
    if is_copy_by_metadata(csv.object) or any(other.replaces == csv.name for other in csvs):
        return
    for webhook in csv.webhooks:
        for name in webhook.converted_crds if webhook.type == CONVERSION else ():
            crd = remaining.get(crd_key(name))
            if crd is not None:
                spec = {**spec_of(crd.object), "conversion": {"strategy": "None"}}
                yield crd_key(name), crd._replace(object={**crd.object, "spec": spec})


# The actions of a GitOps tool in a cluster: it applies the objects of the repository, then prunes those that it no
# longer has.

# The fields that the API server and controllers write, and that an apply keeps.
_KEPT = ("status",)


def _is_served(obj: KubernetesObject) -> bool:
    api = gvk_of(obj)
    return api.group == OLM_GROUP and api.version in versions_of(api.group_kind)


def apply(state: ClusterState, manifests: Iterable[Manifest]) -> ClusterState:
    """The state once all manifests are applied."""
    manifests = tuple(manifests)
    objects, applied = dict(state.objects), dict(state.applied)
    for manifest in manifests:
        key = object_key(manifest.object)
        live = objects.get(key)
        if live is not None:
            merged = _merged(applied.get(key, {}), live.object, manifest.object)
            manifest = manifest._replace(object=merged)
        elif _is_served(manifest.object) and "status" in manifest.object:
            # The API server takes the status of OLM's kinds from their controllers alone.
            manifest = manifest._replace(object={k: v for k, v in manifest.object.items() if k not in _KEPT})
        objects[key] = manifest
        applied[key] = manifest.object
    tracked = state.tracked | {object_key(m.object) for m in manifests}
    return ClusterState(objects, applied, tracked, of_policies=state.of_policies)


def pruned(
    state: ClusterState, manifests: Iterable[Manifest], refused: Iterable[ObjectKey] = ()
) -> tuple[ObjectKey, ...]:
    """Return the objects that the tool deletes: it has applied them before, and the repository no longer has them.
    Objects of policies are not the tool's, and stay (R-OCM-3). So does an object whose new manifest the API server
    rejects."""
    kept = state.of_policies.union(object_key(manifest.object) for manifest in manifests)
    kept = kept.union(filter(None, (kept_for(key, state.applied) for key in refused)))
    return tuple(key for key in state.applied if key in state.tracked - kept and key in state.objects)


def kept_for(refused: ObjectKey, applied: Iterable[ObjectKey]) -> ObjectKey | None:
    """Return the object that stays as it is because its new manifest is refused, None if there is none.

    It has the name and the kind of the refused one; a kind that does not exist is a misspelt one. A manifest without
    a namespace may be in any.
    """
    group, _, namespace, name = refused
    beside = {
        key.kind: key for key in applied if (key.group, key.name) == (group, name) and namespace in ("", key.namespace)
    }
    return beside.get(refused.kind) or beside.get(closest(refused.kind, beside))


def removed_by_policies(
    state: ClusterState, manifests: Iterable[Manifest], removals: Iterable[PolicyRemoval]
) -> tuple[ObjectKey, ...]:
    """Return the objects that policies delete from a state with the applied manifests: forbidden objects without a
    manifest, and with a Subscription its CSV and OperatorGroup (R-OCM-3, R-OCM-14)."""
    removals = tuple(removals)
    wanted = {object_key(manifest.object) for manifest in manifests} if removals else set()
    removed: dict[ObjectKey, None] = {}
    for key, kinds, fields in removals:
        live = state.objects.get(key)
        if live is None or key in wanted or not _has_fields(live.object, fields):
            continue
        beside = [each for each in state.objects if each.group == OLM_GROUP and each.namespace == key.namespace]
        is_last = not any(each.kind == key.kind and each != key for each in beside)
        csv = text(status_of(live.object).get("installedCSV"))
        removed |= {key: None} if key.kind in kinds else {}
        for other in beside if key.kind == "Subscription" else ():
            is_group = other.kind == "OperatorGroup" and is_last and other in state.of_policies - wanted
            if other.kind in kinds and (is_group or (other.kind, other.name) == (CSV_KIND, csv)):
                removed[other] = None
    return tuple(removed)


def _has_fields(live: Any, wanted: Any) -> bool:
    """Return whether a value has what is wanted of it at least."""
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(k in live and _has_fields(live[k], v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and all(any(_has_fields(item, each) for item in live) for each in wanted)
    return bool(live == wanted)


def _merged(before: KubernetesObject, live: KubernetesObject, after: KubernetesObject) -> KubernetesObject:
    """The object that an apply leaves: the fields of `after`, without those of `before` that it no longer has, on top
    of all others that are live."""
    merged = _three_way(before, live, {k: v for k, v in after.items() if k not in _KEPT})
    return {**merged, **{key: live[key] for key in _KEPT if key in live}}


def _three_way(before: Mapping[str, Any], live: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in live.items() if key in after or key not in before}
    for key, value in after.items():
        old = live.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            earlier = before.get(key)
            kept[key] = _three_way(earlier if isinstance(earlier, dict) else {}, old, value)
        else:
            kept[key] = value
    return kept


# Operators that move from OLM v0 to OLM v1: what is done before a ClusterExtension takes the place of a Subscription.
#
# OLM v1 takes over nothing that belongs to somebody else, so what a repository changes is applied once the steps of
# `olmc migrate --to olm-v1 --steps` are taken (R-V1-MIG-2).

_EXTENSION = "ClusterExtension"


class Handover(NamedTuple):
    """A Subscription in whose place a ClusterExtension of the same package comes: what is deleted of OLM v0."""

    extension: str
    package: str
    namespace: str
    deleted: tuple[ObjectKey, ...]


def handovers(state: ClusterState, manifests: Iterable[Manifest]) -> tuple[Handover, ...]:
    """The operators that the manifests move: their Subscription has been applied and is not among them any more, and a
    new ClusterExtension installs their package into the same namespace."""
    manifests = tuple(manifests)
    if all(manifest.object["kind"] != _EXTENSION for manifest in manifests):
        return ()  # most workspaces have none
    wanted = {object_key(manifest.object): manifest.object for manifest in manifests}
    come = {
        (text(spec_of(obj).get("namespace")), _package(obj)): key.name
        for key, obj in wanted.items()
        if key.kind == _EXTENSION and obj["apiVersion"] == EXTENSIONS_V1 and key not in state.objects
    }
    moved = []
    for key, manifest in state.objects.items() if come else ():
        package = text(spec_of(manifest.object).get("name"))
        extension = come.get((key.namespace, package))
        csv = text(status_of(manifest.object).get("installedCSV"))
        if (key.group, key.kind) != (OLM_GROUP, "Subscription") or key in wanted or extension is None or not csv:
            continue
        groups = (other for other in state.objects if _is_group(other, key.namespace) and other not in wanted)
        deleted = (key, ObjectKey(OLM_GROUP, CSV_KIND, key.namespace, csv), *groups)
        moved.append(Handover(extension, package, key.namespace, deleted))
    return tuple(sorted(moved))


def _package(extension: KubernetesObject) -> str:
    return text(mapping(mapping(spec_of(extension).get("source")).get("catalog")).get("packageName"))


def _is_group(key: ObjectKey, namespace: str) -> bool:
    return (key.group, key.kind, key.namespace) == (OLM_GROUP, "OperatorGroup", namespace)


def handed_over(
    state: ClusterState, moved: Iterable[Handover], manifests: Iterable[Manifest], profile: Profile
) -> ClusterState:
    """The state without what OLM v0 has of the operators that move; their CRDs stay, marked for Helm (R-V1-HELM-4)."""
    wanted = {object_key(manifest.object) for manifest in manifests}
    for move in moved:
        csv = state.objects.get(move.deleted[1])
        crds = {text(crd.get("name")) for crd in _owned(csv.object)} if csv is not None else set()
        objects: dict[ObjectKey, Manifest] = {}
        for key, manifest in delete(state.objects, move.deleted, profile).items():
            if key.kind == CRD_KIND and key.name in crds and key not in wanted:
                objects[key] = manifest._replace(object=_marked(manifest.object, move))
            elif key in wanted or not _is_left(key, manifest.object, move, crds):
                objects[key] = manifest
        state = state._replace(objects=objects)
    return state


def _owned(csv: KubernetesObject) -> list[Mapping[str, object]]:
    owned = mapping(spec_of(csv).get("customresourcedefinitions")).get("owned")
    return [crd for crd in owned if isinstance(crd, dict)] if isinstance(owned, list) else []


def _is_left(key: ObjectKey, obj: KubernetesObject, move: Handover, crds: set[str]) -> bool:
    """Return whether an object is what OLM v0 leaves behind of an operator, which the steps delete."""
    component = f"{move.package}.{move.namespace}"
    if (key.group, key.kind) == (OLM_GROUP, "Operator"):
        return key.name == component
    of_api = key.kind == "ClusterRole" and any(text(ref.get("name")) in crds for ref in owner_references(obj))
    return of_api or f"{COMPONENT_PREFIX}{component}" in labels_of(obj)


def _marked(crd: KubernetesObject, move: Handover) -> KubernetesObject:
    """A CRD as the steps leave it: without the labels of OLM v0, and with the marks by which Helm knows its own."""
    labels = {k: v for k, v in labels_of(crd).items() if not k.startswith((COMPONENT_PREFIX, "olm.managed"))}
    marks = helm_marks(move.extension, move.namespace)
    annotations = {**annotations_of(crd), **marks.annotations}
    metadata = {**crd["metadata"], "labels": {**labels, **marks.labels}, "annotations": annotations}
    return {**crd, "metadata": metadata}


# The workspace that OLM goes on with: what a cluster held, once a repository's manifests are applied to it.


def successor_workspace(state: ClusterState, workspace: Workspace, options: Options) -> Workspace:
    """The workspace whose manifests are everything that the cluster holds once a GitOps tool has applied those of
    `workspace` and pruned what it no longer has, and a person has deleted what `options.delete` names.

    The tool applies first and prunes afterwards (observed-37). What moves to OLM v1 has been handed over before.
    """
    profile = profile_of(options.olm_version)
    if options.prune:  # what is not pruned goes on under OLM v0
        moved = handovers(state, workspace.manifests)
        state = handed_over(state, moved, workspace.manifests, profile) if moved else state
    applied = apply(state, workspace.manifests)
    removed = pruned(applied, workspace.manifests, workspace.refused) if options.prune else ()
    removed = (*removed, *removed_by_policies(applied, workspace.manifests, workspace.removals))
    objects = delete(applied.objects, removed, profile)
    by_hand = [key for text in options.delete for key in named(text, objects)]
    objects = delete(objects, by_hand, profile)
    # A folder whose CatalogSource has just been deleted stands for none any more; OLM v1 may still read it.
    deleted = [key for key in applied.objects.keys() - objects.keys() if key.kind == "CatalogSource"]
    closed = _served((applied.objects[key] for key in deleted), workspace) - workspace.extension_catalog_names
    if closed:
        closed -= _served((*objects.values(), *workspace.cluster_catalogs), workspace)
    catalogs = {name: catalog for name, catalog in workspace.catalogs.items() if name not in closed}
    manifests = tuple(objects.values())
    return workspace._replace(manifests=manifests, catalogs=catalogs, is_live=True, unpacked=state.unpacked)


def _served(manifests: Iterable[Manifest], workspace: Workspace) -> set[str]:
    """The catalog folders that the CatalogSources among some objects serve."""
    sources = (m.object for m in manifests if m.object["kind"] == "CatalogSource")
    return {served_folder(source, workspace.catalogs) for source in sources}


def named(text: str, objects: Mapping[ObjectKey, Manifest]) -> list[ObjectKey]:
    """The objects that `KIND/NAMESPACE/NAME`, or `KIND/NAME`, means; the kind goes by any name that kubectl accepts."""
    kind, namespace, name = _parts(text)
    found = [key for key in objects if (key.namespace, key.name) == (namespace, name)]
    mapper = rest_mapper(objects[crd].object for crd in objects if crd.kind == CRD_KIND) if found else BUILTIN
    return [key for key in found if mapper.mapping(GroupKind(key.group, key.kind)).is_called(kind)]


def _parts(text: str) -> tuple[str, str, str]:
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.rpartition("/")
    return without_version(kind), namespace, name


def unknown_deletions(state: ClusterState, workspace: Workspace, options: Options) -> Iterator[tuple[str, Diagnostic]]:
    """The texts of `options.delete` that name no object of the cluster, each with its finding; the way out is the
    nearest name."""
    objects = apply(state, workspace.manifests).objects if options.delete else {}
    for target in options.delete:
        if named(target, objects):
            continue
        kind, namespace, name = _parts(target)
        kinds = known_kinds(manifest.object for manifest in objects.values())
        found = {each.group_kind for each in find_kinds(kind, kinds)}
        if not found:
            hint = did_you_mean(closest_kind(kind, kinds)) or "Write a kind that the cluster has."
            yield target, NOTHING_TO_DELETE.finding(None, target=target, hint=hint)
            continue
        alike = {f"{key.namespace}/{key.name}": key for key in objects if GroupKind(key.group, key.kind) in found}
        same = [full for full, key in alike.items() if key.name == name]
        best = min(same, default="") or closest(f"{namespace}/{name}", alike, POSSIBLE)
        hint = did_you_mean(str(alike[best])) if best else f"The cluster has no object of kind {kind}."
        yield target, NOTHING_TO_DELETE.finding(None, target=target, hint=hint)
