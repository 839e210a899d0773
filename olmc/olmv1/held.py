"""What ClusterExtensions have in a cluster already, and what is there once another bundle is applied over it
(R-V1-HELM-4, R-V1-COS-7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.lean import NamedTuple
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    Rendered,
    annotations_of,
    labels_of,
    mappings,
    metadata_of,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.olmv1.object_set import EXTENSION_KIND, PREFIX, SET_KIND, is_kept

_ARCHIVED = 5
_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


class HeldRevision(NamedTuple):
    """A ClusterObjectSet that is there: its number, and the object as it is written."""

    number: int
    written: Rendered


def held_objects(objects: Iterable[Rendered]) -> Mapping[str, tuple[Rendered, ...]]:
    """By ClusterExtension the objects that its labels say it has, ClusterObjectSets included."""
    held: dict[str, list[Rendered]] = defaultdict(list)
    for rendered in objects:
        labels = labels_of(rendered.object)
        if labels.get(f"{PREFIX}owner-kind") == EXTENSION_KIND:
            held[text(labels.get(f"{PREFIX}owner-name"))].append(rendered)
    return {name: tuple(some) for name, some in held.items()}


def latest_revision(held: Iterable[Rendered]) -> HeldRevision | None:
    """The ClusterObjectSet with the highest number, None without any."""
    return max(_revisions(held), key=lambda revision: revision.number, default=None)


def _revisions(held: Iterable[Rendered]) -> Iterator[HeldRevision]:
    for rendered in held:
        number = spec_of(rendered.object).get("revision")
        if rendered.identity.kind == SET_KIND and isinstance(number, int):
            yield HeldRevision(number, rendered)


def is_same_revision(there: KubernetesObject, wanted: KubernetesObject) -> bool:
    """Whether a ClusterObjectSet has the objects of another one; where they are packed into Secrets, of the bundle."""
    phases = mappings(spec_of(there).get("phases"))
    if any("ref" in member for phase in phases for member in mappings(phase.get("objects"))):
        return annotations_of(there) == annotations_of(wanted)
    return phases == spec_of(wanted).get("phases")


def applied_over(held: Sequence[Rendered], objects: Iterable[Rendered]) -> tuple[Rendered, ...]:
    """The objects that are there once `objects` are applied: with what the server keeps of those before them.

    What has no place any more is deleted, CRDs included, but for what Helm is configured to keep; ClusterObjectSets
    that are followed by another one are archived, and five of them stay.
    """
    before = {rendered.identity: rendered for rendered in held}
    applied = [_over(before[new.identity], new) if new.identity in before else new for new in objects]
    there = {rendered.identity for rendered in applied}
    by_helm = not any(key.kind == SET_KIND for key in there)
    kept = [old for key, old in before.items() if key not in there and by_helm and is_kept(old.object)]
    followed = sorted(_revisions(old for key, old in before.items() if key not in there), key=lambda each: each.number)
    archived = (revision.written for revision in followed[-_ARCHIVED:])
    return (*applied, *kept, *(old._replace(object=_archived(old.object)) for old in archived))


def _archived(revision: KubernetesObject) -> KubernetesObject:
    return {**revision, "spec": {**spec_of(revision), "lifecycleState": "Archived"}}


def _over(old: Rendered, new: Rendered) -> Rendered:
    """An object with the status of the one before, and with what the server has written into its metadata."""
    was = metadata_of(old.object)
    metadata = {**metadata_of(new.object), **{key: was[key] for key in _SERVER if key in was}}
    status = dict(status_of(old.object))
    if new.identity.kind == CRD_KIND and (status or _stored(new.object) != _stored(old.object)):
        stored = texts(status.get("storedVersions")) or _stored(old.object)
        status["storedVersions"] = [*stored, *(name for name in _stored(new.object) if name not in stored)]
    written = {**new.object, "metadata": metadata, **({"status": status} if status else {})}
    return new._replace(object=written)


def _stored(crd: KubernetesObject) -> list[str]:
    versions = mappings(spec_of(crd).get("versions"))
    return [text(version.get("name")) for version in versions if version.get("storage") is True]
