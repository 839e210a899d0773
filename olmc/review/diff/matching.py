"""Match the objects of both sides: by identity, and by role where names contain hashes. Pods are compared by their
template in each kind of workload."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.olm.facts import csv_by_label, group_by_label, without_version
from olmc.compiler.olm.naming import WEBHOOK_NAME
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    RBAC,
    KubernetesObject,
    ObjectKey,
    labels_of,
    mapping,
    mappings,
    object_key,
    pod_of,
    spec_of,
    text,
)
from olmc.review.diff import crd_kinds as kinds
from olmc.review.diff.crd_kinds import WORKLOADS, DiffChange, image_name
from olmc.review.diff.deltas import Path
from olmc.review.diff.operators import DiffOperator, operator_of

# Which workload, and which container in it, takes the place of one that has another name: names follow versions.


class RoleKey(NamedTuple):
    """The role of a workload in its operator: kind, namespace, package, and the rest of its name or of its images."""

    kind: str
    namespace: str
    package: str
    sign: Hashable = ""


def package_of(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> str:
    """The package of the operator that an object is part of, "" if it is none's."""
    owner = operator_of(obj, owners)
    return owner.package if owner is not None else ""


def role_by_name(known: ObjectKey, obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> Hashable:
    """A workload of an operator by its name without a version, None for anything else."""
    package = package_of(obj, owners)
    if known.kind not in WORKLOADS or not package:
        return None
    return RoleKey(known.kind, known.namespace, package, without_version(known.name))


def role_by_images(known: ObjectKey, obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> Hashable:
    """Return the images of an operator's workload without versions as its key, None for any other object."""
    package = package_of(obj, owners)
    if known.kind not in WORKLOADS or not package:
        return None
    images = frozenset(image_name(text(c.get("image"))) for c in mappings(pod_of(with_template(obj)).get("containers")))
    return RoleKey(known.kind, known.namespace, package, images)


def only_roles(
    objects: Mapping[ObjectKey, KubernetesObject], owners: Mapping[NamespacedName, DiffOperator]
) -> dict[ObjectKey, RoleKey]:
    """The workloads that are the only ones left of their kind and operator."""
    roles: dict[RoleKey, list[ObjectKey]] = {}
    for known, obj in objects.items():
        package = package_of(obj, owners)
        if known.kind in WORKLOADS and package:
            roles.setdefault(RoleKey(known.kind, known.namespace, package), []).append(known)
    return {of_role[0]: role for role, of_role in roles.items() if len(of_role) == 1}


class ContainerNames(NamedTuple):
    """The old workload with the containers under the names of those that take their place, and what that changes."""

    old: KubernetesObject
    changes: tuple[DiffChange, ...] = ()


def with_new_names(identity: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> ContainerNames:
    """A workload whose containers have the names of their successors: those of the same image, or the only ones."""
    names: dict[str, str] = {}
    for field in ("containers", "initContainers"):
        names.update(_successors(mappings(pod_of(old).get(field)), mappings(pod_of(new).get(field))))
    if not names:
        return ContainerNames(old)
    changes = tuple(kinds.container_renamed(identity, now, was) for was, now in names.items())
    return ContainerNames(_renamed(old, names), changes)


def _successors(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    olds, news = ({text(c.get("name")): c for c in containers} for containers in (old, new))
    removed, come = [name for name in olds if name not in news], [name for name in news if name not in olds]
    if len(removed) == len(come) == len(olds) == 1:
        yield removed[0], come[0]
        return
    by_image: dict[str, list[str]] = {}
    for name in come:
        by_image.setdefault(image_name(text(news[name].get("image"))), []).append(name)
    for name in removed:
        image = image_name(text(olds[name].get("image")))
        alike = by_image.get(image, [])
        if image and len(alike) == 1:
            yield name, alike.pop()


def _renamed(workload: KubernetesObject, names: Mapping[str, str]) -> KubernetesObject:
    spec = mapping(workload.get("spec"))
    template = mapping(spec.get("template"))
    pod = dict(pod_of(workload))
    for field in ("containers", "initContainers"):
        if field in pod:
            containers = mappings(pod[field])
            pod[field] = [{**c, "name": names.get(text(c.get("name")), c.get("name"))} for c in containers]
    return {**workload, "spec": {**spec, "template": {**template, "spec": pod}}}


_SUFFIX = regex(r"[-.](admin|edit|view)(?:-[0-9A-Za-z]+)?\Z")
_EXTENSION_LABEL = "olm.operatorframework.io/owner-name"

_Objects = dict[ObjectKey, KubernetesObject]
_Key = Callable[[ObjectKey, KubernetesObject], Hashable]


class Pair(NamedTuple):
    """An object in both sides, or in one of them; `identity` is that in the new side if it is there."""

    identity: ObjectKey
    old: KubernetesObject | None
    new: KubernetesObject | None


Compare = Callable[[Sequence[KubernetesObject], Sequence[KubernetesObject]], Iterable[DiffChange]]
"""Lists the changes of objects by themselves that are risks or break something."""


def matched_pairs(
    old: Sequence[KubernetesObject], new: Sequence[KubernetesObject], before: Mapping[NamespacedName, DiffOperator],
    after: Mapping[NamespacedName, DiffOperator], renamed: Mapping[ObjectKey, ObjectKey] = MappingProxyType({}),
) -> list[Pair]:  # fmt: skip
    """Every object once, sorted by identity; `before` and `after` are the operators of both sides, `renamed` is by
    object of the new side the one whose place it takes."""
    olds, news = ({object_key(obj): obj for obj in objects} for objects in (old, new))
    # What has the same name is the same object; the rest is matched from the surest sign to the weakest, and none
    # twice.
    pairs = [Pair(key, olds.pop(key), news[key]) for key in list(olds) if key in news]
    for pair in pairs:
        del news[pair.identity]
    old_grants, new_grants = _grants(old), _grants(new)
    for old_key, new_key in (
        (_by_operator(before), _by_operator(after)),
        (_by_webhook, _by_webhook),
        (_webhook_of_v0, _webhook_of_v1),
        (role_of_group, role_of_group),
        (_by_grant(old_grants, exactly=True), _by_grant(new_grants, exactly=True)),
        (_by_grant(old_grants), _by_grant(new_grants)),
        (partial(role_by_name, owners=before), partial(role_by_name, owners=after)),
        (partial(role_by_images, owners=before), partial(role_by_images, owners=after)),
    ):
        pairs += _match(olds, news, old_key, new_key)
    pairs += _match(olds, news, lambda known, _: known, lambda known, _: renamed.get(known))
    was, now = only_roles(olds, before), only_roles(news, after)
    pairs += _match(olds, news, lambda known, _: was.get(known), lambda known, _: now.get(known))
    pairs += (Pair(key, obj, None) for key, obj in olds.items())
    pairs += (Pair(key, None, obj) for key, obj in news.items())
    return sorted(pairs, key=lambda pair: pair.identity)


def _match(olds: _Objects, news: _Objects, old_key: _Key, new_key: _Key) -> Iterator[Pair]:
    """The objects with the same key in order, taken out of what is left on both sides."""
    waiting: dict[Hashable, list[ObjectKey]] = {}
    for known, obj in sorted(olds.items(), key=lambda item: item[0]):
        key = old_key(known, obj)
        if key is not None:
            waiting.setdefault(key, []).append(known)
    for known, obj in sorted(news.items(), key=lambda item: item[0]):
        key = new_key(known, obj)
        # In order, so that rivals with one key are matched alike in every run.
        rivals = waiting.get(key) if key is not None else None
        if rivals:
            before = olds.pop(rivals.pop(0))
            yield Pair(known, before, news.pop(known))


def _by_operator(operators: Mapping[NamespacedName, DiffOperator]) -> _Key:
    """Objects with the very name of a CSV: the CSV itself, its OperatorCondition and the Role for that."""

    def key(known: ObjectKey, _: KubernetesObject) -> Hashable:
        operator = operators.get(NamespacedName(known.namespace, known.name))
        return (known.kind, known.namespace, operator.package) if operator is not None else None

    return key


def _by_webhook(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    owner, name = csv_by_label(obj), text(labels_of(obj).get(WEBHOOK_NAME))
    return (known.kind, owner.namespace if owner is not None else "", name) if name else None


def _webhook_of_v0(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    """The name that a webhook configuration of OLM v0 has for OLM v1: without the random characters (R-V1-GEN-10)."""
    name = text(labels_of(obj).get(WEBHOOK_NAME))
    return (known.kind, name.rstrip("-")) if name else None


def _webhook_of_v1(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    return (known.kind, known.name) if _EXTENSION_LABEL in labels_of(obj) else None


def role_of_group(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    """The OperatorGroup of an aggregating ClusterRole and for whom it is, None for anything else."""
    group, suffix = group_by_label(obj), _SUFFIX.search(known.name)
    if suffix is None or known.kind != "ClusterRole" or group is None or "rules" in obj:
        return None
    return *group, suffix[1]


_NO_RULES = json.dumps(None)


class _Grants(NamedTuple):
    """The RBAC of a side: the roles, and who has them, both by kind, namespace and name of the role."""

    roles: Mapping[tuple[str, str, str], KubernetesObject]
    whom: Mapping[tuple[str, str, str], frozenset[str]]

    def rules(self, role: tuple[str, str, str]) -> str | None:
        """The rules of a role as a text; None if it is not there."""
        return json.dumps(self.roles[role].get("rules"), sort_keys=True, default=str) if role in self.roles else None


def _grants(objects: Iterable[KubernetesObject]) -> _Grants:
    roles: dict[tuple[str, str, str], KubernetesObject] = {}
    whom: dict[tuple[str, str, str], frozenset[str]] = {}
    for obj in objects:
        known = object_key(obj)
        if known.group != RBAC:
            continue
        if known.kind.endswith("Binding"):
            role = _role_of(known, obj)
            whom[role] = whom.get(role, frozenset()) | _subjects(known, obj)
        else:
            roles[known.kind, known.namespace, known.name] = obj
    return _Grants(roles, whom)


def _by_grant(grants: _Grants, *, exactly: bool = False) -> _Key:
    """Return the grant of a role or a binding and its subjects as a key; without `exactly`, only its subjects. A role
    without rules and subjects matches no other one."""

    def key(known: ObjectKey, obj: KubernetesObject) -> Hashable:
        if known.group != RBAC:
            return None
        is_binding = known.kind.endswith("Binding")
        # Names of roles that OLM makes are hashes of what they grant, so a new rule gives a new name.
        role = _role_of(known, obj) if is_binding else (known.kind, known.namespace, known.name)
        whom = _subjects(known, obj) if is_binding else grants.whom.get(role, frozenset())
        if not whom and not (exactly and (is_binding or grants.rules(role) != _NO_RULES)):
            return None
        rules = grants.rules(role) if exactly else ""
        return known.kind, known.namespace, whom, role[2] if rules is None else rules

    return key


def _role_of(known: ObjectKey, binding: KubernetesObject) -> tuple[str, str, str]:
    reference = mapping(binding.get("roleRef"))
    kind = text(reference.get("kind"))
    return kind, known.namespace if kind == "Role" else "", text(reference.get("name"))


def _subjects(known: ObjectKey, binding: KubernetesObject) -> frozenset[str]:
    return frozenset(
        f"{text(subject.get('kind'))} {text(subject.get('namespace')) or known.namespace} {text(subject.get('name'))}"
        for subject in mappings(binding.get("subjects"))
    )


_TEMPLATE = ("spec", "template")


# Where the template is written of those that have it elsewhere; a Pod is all that its template would be.
_PLACES: Mapping[str, tuple[str, ...]] = {"CronJob": ("spec", "jobTemplate", "spec", "template"), "Pod": ()}


def with_template(obj: KubernetesObject) -> KubernetesObject:
    """A workload with its pods in `spec.template`; any other one as it is."""
    spec = spec_of(obj)
    if obj.get("kind") == "Pod":
        return {**obj, "spec": {"template": {"spec": spec}}}
    if obj.get("kind") != "CronJob":
        return obj
    job = mapping(spec.get("jobTemplate"))
    of_job = mapping(job.get("spec"))
    left = {**job, "spec": {key: value for key, value in of_job.items() if key != "template"}}
    return {**obj, "spec": {**spec, "jobTemplate": left, "template": of_job.get("template")}}


def written_path(kind: str, path: Path) -> Path:
    """Return where something that `with_template` has at a path is in the object as it was written."""
    is_moved = kind in _PLACES and path[: len(_TEMPLATE)] == _TEMPLATE
    return (*_PLACES[kind], *path[len(_TEMPLATE) :]) if is_moved else path
