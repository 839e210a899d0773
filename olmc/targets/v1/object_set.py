"""The ClusterObjectSet of rendered objects: labels, phases, probes (R-V1-COS-2 … R-V1-COS-6), and its rollout.

The rollout goes phase after phase, each checked before anything of it is applied (R-V1-COS-7, R-V1-COS-9,
R-V1-COS-10). It takes the phases and the cluster, and returns a `Rollout`: the objects that are there in the end, and
the conditions of the ClusterObjectSet. Deployments, certificates and CRDs count as ready unless an input states
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from olmc.k8s.gojson import encode_plain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    KubernetesObject,
    annotations_of,
    labels_of,
    metadata_of,
    name_of,
    owner_references,
    split_api_version,
    text,
)
from olmc.k8s.strconv import quoted
from olmc.targets.v1.api_server import ApiServer
from olmc.targets.v1.registry_bundle import PROPERTIES_ANNOTATION, RegistryBundle
from olmc.targets.v1.status import Condition, condition

if TYPE_CHECKING:
    pass

API_VERSION = "olm.operatorframework.io/v1"


EXTENSION_KIND, SET_KIND = "ClusterExtension", "ClusterObjectSet"


PREFIX = "olm.operatorframework.io/"


SYSTEM_NAMESPACE = "olmv1-system"


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


_METADATA = ("annotations", "labels", "name", "namespace")


_RBAC, _CONSOLE, _MONITORING = "rbac.authorization.k8s.io", "console.openshift.io", "monitoring.coreos.com"


# Kinds that are not listed are deployed with the Deployments (R-V1-COS-3).
_REST = "deploy"


_PHASES: Mapping[str, Mapping[str, str]] = {
    # phase: kinds by their group
    "namespaces": {"": "Namespace"},
    "policies": {
        "networking.k8s.io": "NetworkPolicy",
        "policy": "PodDisruptionBudget",
        "scheduling.k8s.io": "PriorityClass",
    },
    "identity": {"": "ServiceAccount"},
    "configuration": {"": "Secret ConfigMap"},
    "storage": {"": "PersistentVolume PersistentVolumeClaim", "storage.k8s.io": "StorageClass"},
    "crds": {"apiextensions.k8s.io": "CustomResourceDefinition"},
    "roles": {_RBAC: "ClusterRole Role"},
    "bindings": {_RBAC: "ClusterRoleBinding RoleBinding"},
    "infrastructure": {"": "Service", "cert-manager.io": "Issuer Certificate"},
    _REST: {"apps": "Deployment"},
    "scaling": {"autoscaling.k8s.io": "VerticalPodAutoscaler"},
    "publish": {
        _MONITORING: "PrometheusRule ServiceMonitor PodMonitor",
        "networking.k8s.io": "Ingress",
        "route.openshift.io": "Route",
        _CONSOLE: "ConsoleYAMLSample ConsoleQuickStart ConsoleCLIDownload ConsoleLink ConsolePlugin",
    },
    "admission": {"admissionregistration.k8s.io": "ValidatingWebhookConfiguration MutatingWebhookConfiguration"},
}


MAX_PHASE = 50
"""The largest number of objects that the API takes in one phase (R-V1-COS-1)."""


class Owner(NamedTuple):
    """The ClusterExtension that a ClusterObjectSet belongs to, as far as it shows there; "" for an account that the
    release does not use."""

    name: str
    namespace: str
    service_account: str
    deadline_minutes: int | None = None


class RevisionBundle(NamedTuple):
    """The bundle that was resolved: its name, package and version, the image, the release where one is set, and the
    number of the revision that it is applied as."""

    name: str
    package: str
    version: str
    image: str
    release: str | None = None
    revision: int = 1


def is_kept(obj: KubernetesObject) -> bool:
    """Return whether Helm deletes an object neither with its release nor in an upgrade (R-V1-HELM-2)."""
    return str(annotations_of(obj).get("helm.sh/resource-policy", "")).strip().lower() == "keep"


def owner_labels(extension: str) -> dict[str, str]:
    """The labels of everything that a ClusterExtension has applied (R-V1-HELM-2)."""
    return {f"{PREFIX}owner-kind": EXTENSION_KIND, f"{PREFIX}owner-name": extension}


def labelled(obj: KubernetesObject, extension: str) -> KubernetesObject:
    """An object with these labels over its own; pod templates have none of them (R-V1-HELM-2)."""
    labels = dict(sorted({**labels_of(obj), **owner_labels(extension)}.items()))
    return {**obj, "metadata": {**metadata_of(obj), "labels": labels}}


def normal_form(obj: KubernetesObject) -> KubernetesObject:
    """An object without its status and without all metadata but annotations, labels and names (R-V1-COS-2)."""
    metadata = {key: value for key, value in metadata_of(obj).items() if key in _METADATA}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def revision_object(obj: KubernetesObject, extension: str, resolved: RevisionBundle) -> KubernetesObject:
    """A rendered object as it stands in a revision (R-V1-COS-2)."""
    normal = normal_form(labelled(obj, extension))
    annotations = {key: value for key, value in annotations_of(obj).items() if key != _LAST_APPLIED}
    added = {f"{PREFIX}bundle-version": resolved.version, f"{PREFIX}package-name": resolved.package}
    annotations |= {key: value for key, value in added.items() if value}
    metadata = {key: value for key, value in normal["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {**normal, "metadata": metadata}


def phase_of(obj: KubernetesObject) -> str:
    """The phase in which an object is applied, by its group and kind (R-V1-COS-3)."""
    group, _ = split_api_version(obj.get("apiVersion"))
    kinds = ((phase, names.get(group, "").split()) for phase, names in _PHASES.items())
    return next((phase for phase, names in kinds if obj["kind"] in names), _REST)


class RevisionPhase(NamedTuple):
    """A phase of a revision: its name and its objects, in the order in which they are listed."""

    name: str
    objects: tuple[KubernetesObject, ...]


def phases_of(objects: Sequence[KubernetesObject]) -> tuple[RevisionPhase, ...]:
    """Objects by phases, in their order; phases without objects are left out (R-V1-COS-3)."""
    by_phase: dict[str, list[KubernetesObject]] = {name: [] for name in _PHASES}
    for obj in objects:
        by_phase[phase_of(obj)].append(obj)
    return tuple(
        RevisionPhase(name, tuple(sorted(members, key=_phase_key))) for name, members in by_phase.items() if members
    )


def _phase_key(obj: KubernetesObject) -> tuple[str, ...]:
    metadata = metadata_of(obj)
    return (*split_api_version(obj.get("apiVersion")), obj["kind"], text(metadata.get("namespace")), name_of(obj))


def object_set(
    bundle: RegistryBundle,
    objects: Sequence[KubernetesObject],
    owner: Owner,
    resolved: RevisionBundle,
    revision: int = 1,
) -> KubernetesObject:
    """The ClusterObjectSet with these rendered objects of a bundle, each inline (R-V1-COS-4).

    The uid of the owner can't be known and is empty.
    """
    members = phases_of([revision_object(obj, owner.name, resolved) for obj in objects])
    deadline = {} if owner.deadline_minutes is None else {"progressDeadlineMinutes": owner.deadline_minutes}
    metadata = {
        "name": f"{owner.name}-{revision}",
        "labels": owner_labels(owner.name),
        "annotations": _set_annotations(bundle, owner, resolved),
        "ownerReferences": [owner_reference(EXTENSION_KIND, owner.name)],
    }
    spec = {
        "lifecycleState": "Active",
        "revision": revision,
        "phases": [{"name": phase.name, "objects": [{"object": obj} for obj in phase.objects]} for phase in members],
        "progressionProbes": _probes(),
        "collisionProtection": "Prevent",
        **deadline,
    }
    return {"apiVersion": API_VERSION, "kind": SET_KIND, "metadata": metadata, "spec": spec}


def _set_annotations(bundle: RegistryBundle, owner: Owner, resolved: RevisionBundle) -> dict[str, str]:
    annotations = {
        f"{PREFIX}bundle-name": resolved.name,
        f"{PREFIX}package-name": resolved.package,
        f"{PREFIX}bundle-version": resolved.version,
        f"{PREFIX}bundle-reference": resolved.image,
    }
    if owner.service_account:  # releases that use none leave both out (R-V1-REL-1)
        annotations[f"{PREFIX}service-account-name"] = owner.service_account
        annotations[f"{PREFIX}service-account-namespace"] = owner.namespace
    if resolved.release is not None:
        annotations[f"{PREFIX}bundle-release"] = resolved.release
    properties = annotations_of(bundle.csv).get(PROPERTIES_ANNOTATION)
    if properties is not None:
        annotations[PROPERTIES_ANNOTATION] = properties
    return dict(sorted(annotations.items()))


def owner_reference(kind: str, name: str) -> dict[str, Any]:
    """The reference to a ClusterExtension or ClusterObjectSet that controls an object; the uid can't be known."""
    flags = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": "", **flags}


def _probes() -> list[dict[str, Any]]:
    """Return the probes of objects before the next phase, by kind (R-V1-COS-6)."""
    established, ready, available = map(_condition, ("Established", "Ready", "Available"))
    updated = {"type": "FieldsEqual", "fieldsEqual": {"fieldA": "status.updatedReplicas", "fieldB": "status.replicas"}}
    return [
        _probe("apiextensions.k8s.io", "CustomResourceDefinition", established),
        _probe("cert-manager.io", "Certificate", ready),
        _probe("cert-manager.io", "Issuer", ready),
        _probe("", "Namespace", _phase_is("Active")),
        _probe("", "PersistentVolumeClaim", _phase_is("Bound")),
        _probe("apps", "StatefulSet", updated, available),
        _probe("apps", "Deployment", updated, available),
    ]


def _probe(group: str, kind: str, *assertions: Mapping[str, Any]) -> dict[str, Any]:
    selector = {"type": "GroupKind", "groupKind": {"group": group, "kind": kind}}
    return {"selector": selector, "assertions": list(assertions)}


def _condition(name: str) -> dict[str, Any]:
    return {"type": "ConditionEqual", "conditionEqual": {"type": name, "status": "True"}}


def _phase_is(phase: str) -> dict[str, Any]:
    return {"type": "FieldValue", "fieldValue": {"fieldPath": "status.phase", "value": phase}}


_UNKNOWN_UID = "00000000-0000-0000-0000-000000000000"
_PROBED = frozenset(
    {CRD_KIND, "Certificate", "Issuer", "Namespace", "PersistentVolumeClaim", "StatefulSet", "Deployment"}
)


class Rollout(NamedTuple):
    """The outcome of a ClusterObjectSet: its conditions, and its existing objects. `problem` is the reason why it
    stops, "" for none; `waiting` are its conditions while it waited for the last phase that takes time."""

    conditions: tuple[Condition, ...]
    made: tuple[KubernetesObject, ...]
    problem: str = ""
    waiting: tuple[Condition, ...] = ()

    @property
    def progressing(self) -> Condition:
        return next(each for each in self.conditions if each.type == "Progressing")


class RevisionName(NamedTuple):
    """A ClusterObjectSet: its name and number, and the version of the bundle."""

    name: str
    number: int
    version: str


def roll_out(
    revision: RevisionName, phases: Sequence[RevisionPhase], server: ApiServer,
    is_foreign: Callable[[KubernetesObject], bool],
) -> Rollout:  # fmt: skip
    """The outcome of a ClusterObjectSet with these phases; `is_foreign` says of an object whether somebody else has it
    who does not give it away."""
    problem = _duplicates(revision, phases)
    if problem:
        return _stuck(problem, (), waited=False)
    made: list[KubernetesObject] = []
    slow: KubernetesObject | None = None
    for number, phase in enumerate(phases):
        now = server.with_objects(made)
        errors = [error for obj in phase.objects if (error := _dry_run_error(obj, now))]
        if errors:
            return _stuck(
                f"reconciling object: validating: {errors[0]}" + "".join(f"\n{more}" for more in errors[1:]),
                made,
                waited=slow is not None,
            )
        foreign = [obj for obj in phase.objects if is_foreign(obj)]
        made += (obj for obj in phase.objects if obj not in foreign)
        if foreign:
            reports = "\n\n".join(_collision(obj, now) for obj in foreign)
            return _stuck(f"revision object collisions in phase {number}\n{reports}", made, waited=slow is not None)
        slow = next((obj for obj in phase.objects if _takes_time(obj, server)), slow)
    conditions = (
        condition("Progressing", "True", "Succeeded", f"Revision {revision.version} has rolled out."),
        condition("Available", "True", "ProbesSucceeded", "Objects are available and pass all probes."),
        condition("Succeeded", "True", "Succeeded", "Revision succeeded rolling out."),
    )
    return Rollout(conditions, tuple(made), waiting=_waiting(revision, slow))


def archived_conditions(before: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of a ClusterObjectSet that another one has followed (R-V1-COS-8)."""
    text_of = "revision is archived"
    kept = (each for each in before if each.type not in ("Progressing", "Available"))
    return (
        condition("Progressing", "False", "Archived", text_of),
        condition("Available", "Unknown", "Archived", text_of),
        *kept,
    )


def observed_phases(phases: Sequence[RevisionPhase]) -> list[dict[str, str]]:
    """The digests of phases as the controller writes them into the status (R-V1-COS-11)."""
    return [
        {
            "name": phase.name,
            "digest": "sha256:"
            + sha256(encode_plain({"name": phase.name, "objects": list(phase.objects)})).hexdigest(),
        }
        for phase in phases
    ]


def _stuck(problem: str, made: Sequence[KubernetesObject], *, waited: bool) -> Rollout:
    """A ClusterObjectSet that is tried again and again; Available is there once it has waited for anything."""
    progressing = condition("Progressing", "True", "Retrying", problem)
    available = [condition("Available", "Unknown", "Reconciling", problem)] if waited else []
    return Rollout((progressing, *available), tuple(made), problem)


def _waiting(revision: RevisionName, slow: KubernetesObject | None) -> tuple[Condition, ...]:
    """The conditions while an object that takes time is not ready; a new one has no conditions yet."""
    text_of = f"Revision {revision.version} is rolling out."
    progressing = condition("Progressing", "True", "RollingOut", text_of)
    if slow is None:
        return (progressing,)
    metadata = metadata_of(slow)
    where = f"{text(metadata.get('namespace'))}/{name_of(slow)}"
    missing = f"Object {slow['kind']}.{slow['apiVersion']} {where}: missing .status.conditions"
    return progressing, condition("Available", "False", "ProbeFailure", missing)


def _takes_time(obj: KubernetesObject, server: ApiServer) -> bool:
    """Return whether the next phase waits for an object: it has a probe and is new, or another one than before."""
    stored = server.stored(obj)
    return obj["kind"] in _PROBED and (stored is None or stored.get("spec") != obj.get("spec"))


def _duplicates(revision: RevisionName, phases: Sequence[RevisionPhase]) -> str:
    """What the check of the whole revision says of objects that are there twice (R-V1-COS-9).

    See https://github.com/package-operator/boxcutter/blob/v0.14.0/validation/revision.go.
    """
    errors = []
    for phase in phases:
        names = [_reference(obj) for obj in phase.objects]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            listed = ", ".join(f"{name}: duplicate object found in phases: {phase.name}" for name in twice)
            errors.append(f"phase {quoted(phase.name)}: {listed}")
    if not errors:
        return ""
    return f"revision validation error: revision {quoted(revision.name)} ({revision.number}): {', '.join(errors)}"


def _reference(obj: KubernetesObject) -> str:
    """An object as boxcutter names it: `apps/v1, Kind=Deployment weaving/loom`."""
    group, version = split_api_version(obj.get("apiVersion"))
    return f"{group}/{version}, Kind={obj['kind']} {text(metadata_of(obj).get('namespace'))}/{name_of(obj)}"


def _dry_run_error(obj: KubernetesObject, server: ApiServer) -> str:
    """Return the error of a dry run for an object, "" for none: an apply, which creates a missing object."""
    if server.stored(obj) is None:
        error = server.forbidden("patch", obj) or server.creation_error(obj)
    else:
        error = server.update_error(obj)
    return f"{_reference(obj)}: {error}" if error else ""


def _collision(obj: KubernetesObject, server: ApiServer) -> str:
    """The report on an object that somebody else has (R-V1-COS-7).

    See https://github.com/package-operator/boxcutter/blob/v0.14.0/machinery/results.go#L253.
    """
    stored = server.stored(obj) or obj
    where = f"{text(metadata_of(stored).get('namespace'))}/{name_of(stored)}"
    head = f"Object {obj['kind']}.{obj['apiVersion']} {where}"
    return f'{head}\nAction: "Collision"\nProbes:\n- Progress: Succeeded\nConflicting Owner: {_owner(stored)}\n'


def _owner(obj: KubernetesObject) -> str:
    """The controller of an object as Go prints the reference, `nil` for none."""
    for reference in owner_references(obj):
        if reference.get("controller") is True:
            blocks = "*true" if reference.get("blockOwnerDeletion") else "nil"
            fields = (
                f"Kind:{text(reference.get('kind'))}", f"Name:{text(reference.get('name'))}",
                f"UID:{text(reference.get('uid')) or _UNKNOWN_UID}", f"APIVersion:{text(reference.get('apiVersion'))}",
                "Controller:*true", f"BlockOwnerDeletion:{blocks}",
            )  # fmt: skip
            return f"&OwnerReference{{{','.join(fields)},}}"
    return "nil"


def applied_by_revision(obj: KubernetesObject, number: int) -> KubernetesObject:
    """An object of a revision as it is in the cluster: with the marks of boxcutter (R-V1-COS-2)."""
    metadata: dict[str, Any] = dict(metadata_of(obj))
    metadata["labels"] = dict(
        sorted({**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": PREFIX[:-1]}.items())
    )
    metadata["annotations"] = dict(sorted({**annotations_of(obj), f"{PREFIX}revision": str(number)}.items()))
    return {**obj, "metadata": metadata}
