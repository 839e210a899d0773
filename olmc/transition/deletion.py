"""What goes with an object that is deleted: what it alone owns, what is in a namespace, the resources of a CRD, and
what the controllers of OLM clean up behind CSVs and OperatorGroups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

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

Objects = Mapping[ObjectKey, Manifest]

# A CSV can't own what has no namespace, so its finalizer deletes these by owner labels (R-CAT-752).
_FINALIZED = frozenset(
    "APIService ClusterRole ClusterRoleBinding MutatingWebhookConfiguration ValidatingWebhookConfiguration".split()
)
# What may own an object in any namespace; of all other owners the namespace is that of the object.
_CLUSTER_SCOPED = _FINALIZED | {CRD_KIND, "Namespace", "Operator"}


def delete(objects: Objects, keys: Iterable[ObjectKey], profile: Profile) -> dict[ObjectKey, Manifest]:
    """The objects without those of `keys`, and without what goes along (observed-36, observed-57, observed-59)."""
    dependents = _dependents(objects)
    waiting = [key for key in keys if key in objects]
    gone: dict[ObjectKey, None] = {}
    while waiting:
        key = waiting.pop()
        if key in gone or key not in objects:
            continue
        gone[key] = None
        waiting += _cleaned_up(key, objects, profile)
        waiting += [
            other for other in dependents.get(key, ()) if all(o in gone for o in _owners(other, objects[other].object))
        ]
    remaining = {key: _without_owners(key, objects[key], gone) for key in objects if key not in gone}
    for key in gone:
        if key.kind == CSV_KIND:
            remaining |= _unconverted(key, objects, remaining)
    return remaining


def _dependents(objects: Objects) -> dict[ObjectKey, list[ObjectKey]]:
    dependents: dict[ObjectKey, list[ObjectKey]] = defaultdict(list)
    for key, manifest in objects.items():
        for owner in _owners(key, manifest.object):
            dependents[owner].append(key)
    return dependents


def _owners(key: ObjectKey, obj: KubernetesObject) -> Iterator[ObjectKey]:
    for ref in owner_references(obj):
        group, kind = split_api_version(ref.get("apiVersion"))[0], text(ref.get("kind"))
        # OLM writes this kind in lower case into the owners of an API's ClusterRoles, which go all the same (R-CR-2).
        kind = CRD_KIND if kind.lower() == CRD_KIND.lower() else kind
        yield ObjectKey(group, kind, "" if kind in _CLUSTER_SCOPED else key.namespace, text(ref.get("name")))


def _without_owners(key: ObjectKey, manifest: Manifest, gone: Mapping[ObjectKey, None]) -> Manifest:
    """An object that stays, without its references to owners that are gone."""
    owners = list(_owners(key, manifest.object))
    if not any(owner in gone for owner in owners):
        return manifest
    references = owner_references(manifest.object)
    kept = [ref for ref, owner in zip(references, owners, strict=True) if owner not in gone]
    metadata = {**manifest.object["metadata"], "ownerReferences": kept}
    return manifest._replace(object={**manifest.object, "metadata": metadata})


def _cleaned_up(key: ObjectKey, objects: Objects, profile: Profile) -> Iterator[ObjectKey]:
    """What is deleted because an object is, though no reference leads from one to the other."""
    obj = objects[key].object
    if (key.group, key.kind) == ("", "Namespace"):
        yield from (other for other in objects if other.namespace == key.name)
    elif key.kind == CRD_KIND:
        spec = spec_of(obj)
        group, kind = spec.get("group"), mapping(spec.get("names")).get("kind")
        yield from (other for other in objects if (other.group, other.kind) == (group, kind))
    elif key.kind == CSV_KIND and COPIED_FROM not in labels_of(obj):
        yield key._replace(kind="OperatorCondition")
        yield from _labelled(objects, owner_labels(profile, key.name, key.namespace), _FINALIZED)
        copies = ((other, labels_of(m.object)) for other, m in objects.items() if other.kind == CSV_KIND)
        yield from (o for o, labels in copies if o.name == key.name and labels.get(COPIED_FROM) == key.namespace)
    elif key.kind == "OperatorGroup":
        labels = filled(profile.og_clusterrole_labels, og=key.name, og_ns=key.namespace)
        yield from _labelled(objects, labels, frozenset({"ClusterRole"}))


def _labelled(objects: Objects, labels: Mapping[str, str], kinds: frozenset[str]) -> Iterator[ObjectKey]:
    for key, manifest in objects.items():
        if labels and key.kind in kinds and labels.items() <= labels_of(manifest.object).items():
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
