"""What goes with an object that is deleted: what it alone owns, what a CSV's finalizer removes, what a namespace
holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olmc.model.objects import CRD_KIND, KubernetesObject, ObjectKey, labels_of, object_key, owner_references, spec_of, mapping, text
from olmc.model.workspace import Manifest
from olmc.olm.naming import COPIED_FROM, owner_labels
from olmc.model.options import Profile

# A CSV can't own what has no namespace, so its finalizer deletes these by owner labels (R-CAT-752).
_FINALIZED = frozenset(
    "APIService ClusterRole ClusterRoleBinding MutatingWebhookConfiguration ValidatingWebhookConfiguration".split()
)


def delete(objects: Mapping[ObjectKey, Manifest], gone: Iterable[ObjectKey], profile: Profile) -> dict[ObjectKey, Manifest]:
    """The objects once some are deleted, with what goes along."""
    remaining = dict(objects)
    waiting = [key for key in gone if key in remaining]
    while waiting:
        key = waiting.pop()
        if key not in remaining:
            continue
        obj = remaining.pop(key).object
        waiting += _along(key, obj, remaining, profile)
        for other, manifest in _without_owner(key, remaining).items():
            remaining[other] = manifest
    return remaining


def _along(key: ObjectKey, obj: KubernetesObject, remaining: Mapping[ObjectKey, Manifest], profile: Profile) -> list[ObjectKey]:
    """What is deleted because an object is."""
    along = [other for other, manifest in remaining.items() if _owners(other, manifest.object) == [key]]
    if (key.group, key.kind) == ("", "Namespace"):
        along += [other for other in remaining if other.namespace == key.name]
    elif key.kind == CRD_KIND:
        spec = spec_of(obj)
        kind = (spec.get("group"), mapping(spec.get("names")).get("kind"))
        along += [other for other in remaining if (other.group, other.kind) == kind]
    elif key.kind == "ClusterServiceVersion" and COPIED_FROM not in labels_of(obj):
        owner = owner_labels(profile, key.name, key.namespace).items()
        along += [
            other
            for other, manifest in remaining.items()
            if other.kind in _FINALIZED and owner <= labels_of(manifest.object).items()
        ]
        along += [
            other
            for other, manifest in remaining.items()
            if other.kind == key.kind and other.name == key.name and labels_of(manifest.object).get(COPIED_FROM) == key.namespace
        ]
        along.append(key._replace(kind="OperatorCondition"))
    return along


def _owners(key: ObjectKey, obj: KubernetesObject) -> list[ObjectKey]:
    """The owners of an object; OLM writes the kind of CRDs in lower case."""
    owners = []
    for ref in owner_references(obj):
        group = text(ref.get("apiVersion")).rpartition("/")[0]
        kind = text(ref.get("kind"))
        kind = CRD_KIND if kind.lower() == CRD_KIND.lower() else kind
        # An owner has the namespace of what it owns, or none.
        owners.append(ObjectKey(group, kind, "" if kind in _CLUSTER_WIDE else key.namespace, text(ref.get("name"))))
    return owners


_CLUSTER_WIDE = frozenset({CRD_KIND, "APIService", "ClusterRole", "ClusterRoleBinding", "Operator", "Namespace"})


def _without_owner(gone: ObjectKey, objects: Mapping[ObjectKey, Manifest]) -> dict[ObjectKey, Manifest]:
    """The objects that had an owner that is gone and others beside it, without the reference to that one."""
    changed = {}
    for key, manifest in objects.items():
        owners = _owners(key, manifest.object)
        if len(owners) > 1 and gone in owners:
            refs = [ref for ref, owner in zip(owner_references(manifest.object), owners, strict=True) if owner != gone]
            metadata = {**manifest.object["metadata"], "ownerReferences": refs}
            changed[key] = manifest._replace(object={**manifest.object, "metadata": metadata})
    return changed
