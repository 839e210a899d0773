"""What goes with an object that is deleted: what it alone owns, what is in a namespace, the resources of a CRD, and
what the controllers of OLM clean up behind CSVs and OperatorGroups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.lean import NamedTuple
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    crd_key,
    labels_of,
    mapping,
    owner_references,
    spec_of,
    split_api_version,
    text,
)
from olmc.model.operators import CONVERSION, CSV_KIND, Csv
from olmc.model.options import Profile
from olmc.model.workspace import Manifest
from olmc.olm.naming import COPIED_FROM, owner_labels
from olmc.olm.profiles.data import filled
from olmc.reconcile.garbage_collection import FINALIZED_KINDS

Objects = Mapping[ObjectKey, Manifest]

# What may own an object in any namespace; of all other owners the namespace is that of the object.
_CLUSTER_SCOPED = FINALIZED_KINDS | {CRD_KIND, "Namespace", "Operator", "ClusterExtension", "ClusterObjectSet"}


class DeletionIndex(NamedTuple):
    """What goes with what among objects, so that nobody has to look at all of them for each that is deleted.

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
    """The objects without those of `keys`, and without what goes along (observed-36, observed-57, observed-59)."""
    keys = list(keys)
    if not keys:
        return dict(objects)
    index = deletion_index(objects)
    gone = cascade(index, keys, {}, profile)
    remaining = {
        key: _without_owners(key, manifest, index, gone) for key, manifest in objects.items() if key not in gone
    }
    for key in gone:
        if key.kind == CSV_KIND:
            remaining |= _unconverted(key, objects, remaining)
    return remaining


def cascade(
    index: DeletionIndex, keys: Iterable[ObjectKey], before: Mapping[ObjectKey, None], profile: Profile
) -> dict[ObjectKey, None]:
    """What goes when the objects of `keys` are deleted, themselves included, in order; `before` are gone already."""
    waiting = [key for key in keys if key in index.objects]
    gone: dict[ObjectKey, None] = {}
    while waiting:
        key = waiting.pop()
        if key in gone or key in before or key not in index.objects:
            continue
        gone[key] = None
        waiting += _cleaned_up(key, index, profile)
        waiting += [
            other
            for other in index.dependents.get(key, ())
            if all(owner in gone or owner in before for owner in index.owners[other])
        ]
    return gone


def _owners(key: ObjectKey, obj: KubernetesObject) -> Iterator[ObjectKey]:
    for ref in owner_references(obj):
        group, kind = split_api_version(ref.get("apiVersion"))[0], text(ref.get("kind"))
        # OLM writes this kind in lower case into the owners of an API's ClusterRoles, which go all the same (R-CR-2).
        kind = CRD_KIND if kind.lower() == CRD_KIND.lower() else kind
        yield ObjectKey(group, kind, "" if kind in _CLUSTER_SCOPED else key.namespace, text(ref.get("name")))


def _without_owners(
    key: ObjectKey, manifest: Manifest, index: DeletionIndex, gone: Mapping[ObjectKey, None]
) -> Manifest:
    """An object that stays, without its references to owners that are gone."""
    owners = index.owners.get(key, ())
    if not any(owner in gone for owner in owners):
        return manifest
    references = owner_references(manifest.object)
    kept = [ref for ref, owner in zip(references, owners, strict=True) if owner not in gone]
    metadata = {**manifest.object["metadata"], "ownerReferences": kept}
    return manifest._replace(object={**manifest.object, "metadata": metadata})


def _cleaned_up(key: ObjectKey, index: DeletionIndex, profile: Profile) -> Iterator[ObjectKey]:
    """What is deleted because an object is, though no reference leads from one to the other."""
    obj = index.objects[key].object
    if (key.group, key.kind) == ("", "Namespace"):
        yield from index.inside.get(key.name, ())
    elif key.kind == CRD_KIND:
        spec = spec_of(obj)
        yield from index.kinds.get((text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))), ())
    elif key.kind == CSV_KIND and COPIED_FROM not in labels_of(obj):
        yield key._replace(kind="OperatorCondition")
        yield from _labelled(index, owner_labels(profile, key.name, key.namespace), FINALIZED_KINDS)
        for other in index.copies.get(key.name, ()):
            if labels_of(index.objects[other].object).get(COPIED_FROM) == key.namespace:
                yield other
    elif key.kind == "OperatorGroup":
        labels = filled(profile.og_clusterrole_labels, og=key.name, og_ns=key.namespace)
        yield from _labelled(index, labels, frozenset({"ClusterRole"}))


def _labelled(index: DeletionIndex, labels: Mapping[str, str], kinds: frozenset[str]) -> Iterator[ObjectKey]:
    having = [index.labelled.get(label, ()) for label in labels.items()]
    for key in min(having, key=len, default=()):
        if key.kind in kinds and labels.items() <= labels_of(index.objects[key].object).items():
            yield key


def _unconverted(gone: ObjectKey, objects: Objects, remaining: Objects) -> Iterator[tuple[ObjectKey, Manifest]]:
    """The CRDs that a CSV's webhooks converted, without conversion, unless another CSV replaces it (observed-62)."""
    csv = Csv(objects[gone].object)
    csvs = (Csv(m.object) for key, m in remaining.items() if (key.kind, key.namespace) == (CSV_KIND, gone.namespace))
    if csv.counts_as_copy or any(other.replaces == csv.name for other in csvs):
        return
    for webhook in csv.webhooks:
        for name in webhook.converted_crds if webhook.type == CONVERSION else ():
            crd = remaining.get(crd_key(name))
            if crd is not None:
                spec = {**spec_of(crd.object), "conversion": {"strategy": "None"}}
                yield crd_key(name), crd._replace(object={**crd.object, "spec": spec})
