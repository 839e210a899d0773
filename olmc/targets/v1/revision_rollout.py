"""How far a ClusterObjectSet gets: phase after phase, each checked before anything of it is applied (R-V1-COS-7,
R-V1-COS-9, R-V1-COS-10).

Its phases and the cluster go in, a `Rollout` comes out: what is there in the end, and the conditions of the
ClusterObjectSet. Deployments, certificates and CRDs count as ready, which no input says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from olmc.k8s.gojson import encode_plain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    KubernetesObject,
    annotations_of,
    metadata_of,
    name_of,
    owner_references,
    split_api_version,
    text,
)
from olmc.k8s.strconv import quoted
from olmc.targets.v1.api_server import ApiServer
from olmc.targets.v1.object_set import PREFIX, RevisionPhase
from olmc.targets.v1.status import Condition, condition

if TYPE_CHECKING:
    pass

_UNKNOWN_UID = "00000000-0000-0000-0000-000000000000"
_PROBED = frozenset(
    {CRD_KIND, "Certificate", "Issuer", "Namespace", "PersistentVolumeClaim", "StatefulSet", "Deployment"}
)


class Rollout(NamedTuple):
    """What a ClusterObjectSet comes to: its conditions, and the objects of it that are there. `problem` is what stops
    it, "" for nothing; `waiting` are its conditions while it waited for the last phase that takes time."""

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
    """Whether the next phase waits for an object: it has a probe and is new, or another one than before."""
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
    """What a dry run finds wrong with an object, "" for nothing: an apply, which creates what is not there."""
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
