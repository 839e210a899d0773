"""What Helm leaves of a release: which objects are there in the end, and what it reports (R-V1-HELM-4 … R-V1-HELM-8).

Rendered objects and the cluster go in, a `HelmOutcome` comes out: the state in which no further attempt changes
anything. The first attempt of a new release tries every object; each attempt after it is an upgrade, which goes through
the objects in order and stops at the first that can't be created.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from olmc.compiler.olm.naming import HelmMarks, helm_marks
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    labels_of,
    mappings,
    metadata_of,
    name_of,
    text,
)
from olmc.k8s.strconv import quoted
from olmc.targets.v1.api_server import CONFIGURATIONS, ApiServer
from olmc.targets.v1.object_set import EXTENSION_KIND, PREFIX, is_kept, normal_form, owner_labels
from olmc.targets.v1.registry_bundle import CLUSTER_SCOPED_KINDS

# https://github.com/helm/helm/blob/v3.21.1/pkg/releaseutil/kind_sorter.go#L31
_PRIMARY = ("operator-sdk/primary-resource", "operator-sdk/primary-resource-type")
_ORDER = {
    kind: place
    for place, kind in enumerate(
        "PriorityClass Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget "
        "ServiceAccount Secret SecretList ConfigMap StorageClass PersistentVolume PersistentVolumeClaim "
        "CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding ClusterRoleBindingList Role RoleList "
        "RoleBinding RoleBindingList Service DaemonSet Pod ReplicationController ReplicaSet Deployment "
        "HorizontalPodAutoscaler StatefulSet Job CronJob IngressClass Ingress APIService".split()
    )
}
_LABELS = frozenset({*helm_marks("", "").labels, *owner_labels("")})
_ANNOTATIONS = frozenset({*helm_marks("", "").annotations, *_PRIMARY})
_INSTALL, _UPDATE = "Unable to continue with install: ", "Unable to continue with update: "


class HelmOutcome(NamedTuple):
    """What a release comes to: `problem` is the error, "" for none, and `made` are the objects that are there as the
    release has them. `deployed`: the release counts as installed, in spite of a problem that comes later."""

    problem: str
    made: tuple[KubernetesObject, ...]
    deployed: bool


def install_order(objects: Sequence[KubernetesObject]) -> list[KubernetesObject]:
    """Objects in the order in which Helm creates them: by kind, kinds that it does not list last and by name
    (R-V1-HELM-6)."""
    return sorted(
        objects, key=lambda obj: (_ORDER.get(obj["kind"], len(_ORDER)), "" if obj["kind"] in _ORDER else obj["kind"])
    )


def conflict(
    objects: Sequence[KubernetesObject], server: ApiServer, marks: HelmMarks, known: Collection[ObjectKey] | None
) -> str:
    """What the dry run says of objects that are there and not the release's, "" for nothing (R-V1-HELM-4, R-V1-HELM-7).

    `known` are the objects of the release that is there, None for a first installation.
    """
    intro = _INSTALL if known is None else _UPDATE
    for obj in install_order(objects):
        if known is not None and server.key(obj) in known:
            continue
        kind, name, namespace = obj["kind"], name_of(obj), server.key(obj).namespace
        where = f'{kind} "{name}" in namespace "{namespace}"'
        refused = server.forbidden("get", obj)
        if refused:
            return f"{intro}could not get information about the resource {where}: {refused}"
        stored = server.stored(obj)
        wrong = "" if stored is None else _ownership_error(stored, marks)
        if wrong and known is None:
            # internal/operator-controller/action/error/errors.go of operator-controller has other words for this one.
            where = f"in namespace '{namespace}' and cannot be managed by operator-controller"
            return f"{kind} '{name}' already exists {where}"
        if wrong:
            return f"{intro}{where} exists and cannot be imported into the current release: {wrong}"
    return ""


def _ownership_error(stored: KubernetesObject, marks: HelmMarks) -> str:
    """Return the marks of a release that an object lacks, "" for none."""
    errors = [
        *_wrong_values("label", labels_of(stored), marks.labels),
        *_wrong_values("annotation", annotations_of(stored), marks.annotations),
    ]
    return "; ".join(("invalid ownership metadata", *errors)) if errors else ""


def _wrong_values(what: str, present: Mapping[str, object], wanted: Mapping[str, str]) -> list[str]:
    errors = []
    for key, value in wanted.items():
        there = present.get(key)
        if there is None:
            errors.append(f"{what} validation error: missing key {quoted(key)}: must be set to {quoted(value)}")
        elif there != value:
            found = quoted(text(there))
            errors.append(
                f"{what} validation error: key {quoted(key)} must equal {quoted(value)}: current value is {found}"
            )
    return errors


def release_outcome(
    objects: Sequence[KubernetesObject], server: ApiServer, before: Mapping[ObjectKey, KubernetesObject] | None
) -> HelmOutcome:
    """Return the outcome of a release after its dry run has passed; `before` are the objects of the deployed release,
    None for none."""
    ordered = install_order(objects)
    made: dict[ObjectKey, KubernetesObject] = {}
    if before is not None and _is_same_release(ordered, before, server):
        return _watched({server.key(obj): obj for obj in ordered}, server)
    if before is None and not any(server.stored(obj) is not None for obj in ordered):
        # An error keeps Helm from none of the others: https://github.com/helm/helm/blob/v3.21.1/pkg/kube/client.go#L601
        for obj in ordered:
            if server.key(obj) not in made and not server.with_objects(made.values()).creation_error(obj):
                made[server.key(obj)] = obj
        if len(made) == len({server.key(obj) for obj in ordered}):
            # Of two objects with one name the second fails, and the upgrade that follows patches the first one to it.
            made.update((server.key(obj), obj) for obj in ordered)
            return _watched(made, server)
    problem = _upgrade(ordered, server, before or {}, made)
    if problem:
        return HelmOutcome(problem, tuple(made.values()), deployed=False)
    return _watched(made, server)


def _upgrade(
    ordered: Sequence[KubernetesObject], server: ApiServer, before: Mapping[ObjectKey, KubernetesObject],
    made: dict[ObjectKey, KubernetesObject],
) -> str:  # fmt: skip
    """The error of an upgrade, "" for none; what it creates or changes goes to `made`."""
    refused = []
    for obj in ordered:
        key, now = server.key(obj), server.with_objects(made.values())
        forbidden = now.forbidden("get", obj)
        if forbidden:
            return f"could not get information about the resource: {forbidden}"
        if now.stored(obj) is None:
            error = now.creation_error(obj)
            if error:
                return f"failed to create resource: {error}"
        else:
            error = now.update_error(obj) if _is_patched(obj, before.get(key) or made.get(key)) else ""
            if error:
                refused.append(f'cannot patch "{name_of(obj)}" with kind {obj["kind"]}: {error}')
                continue
        made[key] = obj
    return " && ".join(refused)


def _is_patched(obj: KubernetesObject, before: KubernetesObject | None) -> bool:
    """Return whether an object that is there is patched to be this one: it differs from the one before, or it is of a
    kind whose manifest always differs from what the API server stores."""
    return before is None or _always_patched(obj) or _bare(before) != _bare(obj)


def _is_same_release(
    ordered: Sequence[KubernetesObject], before: Mapping[ObjectKey, KubernetesObject], server: ApiServer
) -> bool:
    """Return whether a release has these very objects already."""
    wanted = {server.key(obj): obj for obj in ordered}
    return wanted.keys() == before.keys() and all(_bare(obj) == _bare(before[key]) for key, obj in wanted.items())


def _bare(obj: KubernetesObject) -> KubernetesObject:
    """An object as it stands in the manifest of a release: without what is written onto all of its objects."""
    normal = normal_form(obj)
    metadata = dict(normal["metadata"])
    for field, written in (("labels", _LABELS), ("annotations", _ANNOTATIONS)):
        kept = {key: value for key, value in (metadata.get(field) or {}).items() if key not in written}
        metadata.pop(field, None)
        metadata |= {field: kept} if kept else {}
    if obj["kind"] in CLUSTER_SCOPED_KINDS | CONFIGURATIONS:
        metadata.pop("namespace", None)
    return {**normal, "metadata": metadata}


def _always_patched(obj: KubernetesObject) -> bool:
    """Return whether the API server stores another object than it was given: a CRD, whose manifest has an empty status,
    and webhooks without a scope in their rules."""
    if obj["kind"] in CONFIGURATIONS:
        rules = (rule for webhook in mappings(obj.get("webhooks")) for rule in mappings(webhook.get("rules")))
        return any("scope" not in rule for rule in rules)
    return bool(obj["kind"] == CRD_KIND)


def _watched(made: Mapping[ObjectKey, KubernetesObject], server: ApiServer) -> HelmOutcome:
    """The outcome of a release that is deployed: the next reconciliation patches its objects again, and then all kinds
    are watched in the whole cluster (R-V1-HELM-8)."""
    objects = tuple(made.values())
    ordered = install_order(objects)
    for obj in ordered:
        refused = server.forbidden("get", obj)
        if refused:
            return HelmOutcome(f"could not get object: {refused}", objects, deployed=True)
        refused = server.forbidden("patch", obj) if _always_patched(obj) else ""
        if refused:
            return HelmOutcome(f"patch error: {refused}", objects, deployed=True)
    kinds = {(obj["apiVersion"], obj["kind"]): obj for obj in ordered}
    errors = []
    for obj in kinds.values():
        for verb in ("list", "watch"):
            refused = server.forbidden(verb, obj)
            if refused:
                what = "list" if verb == "list" else "watch"
                errors.append(f"waiting for sync: failed to {what} *unstructured.Unstructured: {refused}")
                break
    return HelmOutcome("\n".join(sorted(errors)), objects, deployed=True)


def by_helm(obj: KubernetesObject, extension: str, namespace: str) -> KubernetesObject:
    """An object with the marks of its release; one that Helm keeps says whose it is in annotations, as it has no owner
    reference (R-V1-HELM-2)."""
    marks = helm_marks(extension, namespace)
    added = dict(marks.annotations)
    if is_kept(obj):
        # https://github.com/operator-framework/helm-operator-plugins/blob/v0.9.1/pkg/client/postrenderer.go
        added |= dict(zip(_PRIMARY, (f"/{extension}", f"{EXTENSION_KIND}.{PREFIX[:-1]}"), strict=True))
    labels = dict(sorted({**labels_of(obj), **marks.labels}.items()))
    annotations = dict(sorted({**annotations_of(obj), **added}.items()))
    return {**obj, "metadata": {**metadata_of(obj), "labels": labels, "annotations": annotations}}
