"""OperatorPolicies: the Subscription and the OperatorGroup that their controller makes of them (R-OCM-7 … R-OCM-14)."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.workspace import PolicyApproval, PolicyRemoval
from olmc.compiler.olm.naming import named
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.api.selectors import is_dns1123_label
from olmc.k8s.diagnostics import Diagnostic, Source, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    as_text,
    mapping,
    metadata_of,
    name_of,
    spec_of,
    texts,
)
from olmc.k8s.yaml import locate

# Templates in policies: which fields they leave open, and what is known in spite of them (R-OCM-15).

_MARK = "{{"
_SHOWN = 3


class TemplateField(NamedTuple):
    """A field whose text has a template in it: the keys that lead to it."""

    keys: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        shown = ""
        for key in self.keys:
            shown += f"[{key}]" if isinstance(key, int) else f".{key}" if shown else key
        return shown


def templates_in(value: Any, keys: tuple[str | int, ...] = ()) -> Iterator[TemplateField]:
    """The fields with templates at any depth, in their order; a template in a key leaves the field open."""
    if isinstance(value, str):
        if _MARK in value:
            yield TemplateField(keys, value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if _MARK in str(key):
                yield TemplateField(keys, str(key))
            else:
                yield from templates_in(inner, (*keys, str(key)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from templates_in(inner, (*keys, number))


def shown_fields(fields: Sequence[TemplateField]) -> str:
    """The names of fields as messages have them."""
    return join_limited([str(field) for field in fields], _SHOWN)


def left_open(source: Source, shown: str, fields: Sequence[TemplateField]) -> Diagnostic:
    """Report that an object is not known because of its fields, at the first of them."""
    first = fields[0]
    plural = "are templates" if len(fields) > 1 else "is a template"
    return rules.LEFT_OPEN.finding(
        locate(source, first.keys), what=shown, why=f"{shown_fields(fields)} {plural}, filled in by a cluster",
        hint="Nothing is to be done; to see what would be installed, write the value plainly into a copy.",
    )  # fmt: skip


def without_templates(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the known part of an object: a Namespace with its name, without labels that have templates. None for all
    others."""
    is_namespace = obj["kind"] == "Namespace" and obj["apiVersion"] == "v1"
    if not is_namespace or not name_of(dict(obj)) or _MARK in name_of(dict(obj)):
        return None
    metadata: dict[str, Any] = {}
    for key, value in metadata_of(obj).items():
        plain = value
        if isinstance(value, dict):
            plain = {name: text for name, text in value.items() if _MARK not in f"{name}{text}"}
        metadata |= {key: plain} if plain else {}
    return {**obj, "metadata": metadata}


MANAGED_LABEL = "operatorpolicy.policy.open-cluster-management.io/managed"
"""The label of the controller's Subscriptions."""

_SUBSCRIPTION_FIELDS = ("source", "name", "channel", "startingCSV", "sourceNamespace", "installPlanApproval", "config")
_GROUP_FIELDS = ("selector", "targetNamespaces", "serviceAccountName", "staticProvidedAPIs", "upgradeStrategy")
_FROM_PACKAGE = ("namespace", "source", "sourceNamespace")
_FROM_CATALOG = "left out, so that the cluster's PackageManifest decides"
_REMOVED = {
    "subscriptions": ("Subscription", "Delete"),
    "clusterServiceVersions": ("CSV", "Delete"),
    "operatorGroups": ("OperatorGroup", "DeleteIfUnused"),
    "customResourceDefinitions": ("CRDs", "Keep"),
}
_KINDS_OF = {
    "subscriptions": "Subscription",
    "clusterServiceVersions": "ClusterServiceVersion",
    "operatorGroups": "OperatorGroup",
}
_ACTIONS = {"Delete": "deleted", "DeleteIfUnused": "deleted if nothing else uses it", "Keep": "kept"}


def with_catalog(policy: Manifest, catalogs: Mapping[str, Collection[CatalogKey]]) -> Manifest:
    """R-OCM-10: the policy with the catalog of its package, if only one has it, and it names no other."""
    spec = spec_of(policy.object)
    wanted = mapping(spec.get("subscription"))
    keys = list(catalogs.get(as_text(wanted.get("name")), ()))
    if len(keys) != 1:
        return policy
    ((namespace, name),) = keys
    if as_text(wanted.get("source")) not in ("", name) or as_text(wanted.get("sourceNamespace")) not in ("", namespace):
        return policy
    completed = {**wanted, "source": name, "sourceNamespace": namespace}
    return policy._replace(object={**policy.object, "spec": {**spec, "subscription": completed}})


class OperatorPolicyResult(NamedTuple):
    """The request of an OperatorPolicy, in words and as objects.

    `problem`: the reason why its controller makes no objects, and `unknown`: the reason why the cluster decides that,
    both at `keys` below its spec; `open`: fields with templates; `removal`: the fate of an operator that must not
    exist; `approval`: the approved plans for it; `removes`: the objects that are deleted with it.
    """

    shown: str
    namespace: str
    source: Source
    manifests: tuple[Manifest, ...] = ()
    has_default_group: bool = False
    problem: str = ""
    keys: tuple[str, ...] = ()
    open: tuple[TemplateField, ...] = ()
    unknown: str = ""
    removal: str = ""
    approval: PolicyApproval | None = None
    removes: PolicyRemoval | None = None

    @property
    def is_removal(self) -> bool:
        return bool(self.removal)


def read_operator_policy(policy: Manifest, *, is_enforced: bool, resolves_templates: bool) -> OperatorPolicyResult:
    """Return the objects that the controller makes for an OperatorPolicy; the effective action decides
    `is_enforced`."""
    spec = spec_of(policy.object)
    wanted = mapping(spec.get("subscription"))
    name, namespace = as_text(wanted.get("name")), as_text(wanted.get("namespace"))
    channel = as_text(wanted.get("channel"))
    where = f" in {namespace}" if namespace else ""
    shown = f"Subscription of package {name or '(no name)'}{where}" + (f" (channel {channel})" if channel else "")
    result = OperatorPolicyResult(shown, namespace, policy.source)
    fields = [
        field
        for key in ("subscription", "operatorGroup", "versions")
        for field in templates_in(spec.get(key), ("spec", key))
        if resolves_templates or "{{hub" in field.text
    ]
    for keys, problem in _problems(spec, bool(fields)):
        return result._replace(problem=problem, keys=keys)
    if as_text(spec.get("complianceType")).lower() == "mustnothave":
        key = ObjectKey(OLM_GROUP, "Subscription", namespace, name)
        removes = PolicyRemoval(key, _removed_kinds(spec)) if not fields else None
        return result._replace(removal=_removal(spec), removes=removes)
    if fields:
        return result._replace(open=tuple(fields))
    unknown = _left_to_cluster(wanted)
    if unknown:
        return result._replace(unknown=unknown, keys=("subscription",))
    subscription = _subscription(spec, is_enforced=is_enforced)
    manifests = [Manifest(subscription, _below(policy.source, "subscription"))]
    group = spec.get("operatorGroup")
    if isinstance(group, dict):
        manifests.insert(0, Manifest(_group(group, namespace), _below(policy.source, "operatorGroup")))
    approval = _approval(policy, namespace) if is_enforced else None
    return result._replace(manifests=tuple(manifests), has_default_group=group is None, approval=approval)


def default_groups(results: Iterable[OperatorPolicyResult], taken: Container[str]) -> Iterator[Manifest]:
    """R-OCM-11: OperatorGroups for all namespaces in namespaces that are not taken, where policies name none."""
    waiting = {result.namespace: result for result in results if result.has_default_group}
    for namespace, result in waiting.items():
        if namespace not in taken:
            obj = {"apiVersion": f"{OLM_GROUP}/v1", "kind": "OperatorGroup", "metadata": {"namespace": namespace}}
            yield Manifest(named({**obj, "spec": {}}, f"{namespace}-"), result.source)


def missing_namespaces(results: Sequence[OperatorPolicyResult], manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """R-OCM-12: the namespaces of operators that nothing else creates: the controller does."""
    there = {name_of(m.object) for m in manifests if m.object["kind"] == "Namespace"}
    for result in {result.namespace: result for result in reversed(results)}.values():
        if result.namespace not in there:
            obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": result.namespace}}
            yield Manifest(obj, _below(result.source, "subscription"))


def _below(source: Source, key: str) -> Source:
    return source._replace(prefix=(*source.prefix, "spec", key))


def _problems(spec: Mapping[str, Any], has_templates: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    """R-OCM-13: what the API server or the controller refuses of an OperatorPolicy."""
    wanted, group = spec.get("subscription"), spec.get("operatorGroup")
    if as_text(spec.get("complianceType")) not in ("musthave", "mustnothave"):
        yield ("complianceType",), "spec.complianceType must be musthave or mustnothave"
    if as_text(spec.get("upgradeApproval")) not in ("None", "Automatic"):
        yield ("upgradeApproval",), "spec.upgradeApproval must be None or Automatic"
    if not isinstance(wanted, dict):
        yield ("subscription",), "spec.subscription is required"
        return
    if not as_text(wanted.get("name")):
        yield ("subscription",), "spec.subscription.name is required"
    if wanted.get("installPlanApproval"):
        field = ("subscription", "installPlanApproval")
        yield field, "spec.subscription.installPlanApproval is not allowed; upgradeApproval decides"
    for key in wanted.keys() - {*_SUBSCRIPTION_FIELDS, "namespace"}:
        yield ("subscription", str(key)), f"spec.subscription.{key} is no field of a Subscription"
    if has_templates:
        return  # what they become is checked in the cluster
    for key in ("name", "namespace"):
        for problem in is_dns1123_label(as_text(wanted.get(key))) if wanted.get(key) else ():
            yield ("subscription", key), f"spec.subscription.{key}: {problem}"
    if isinstance(group, dict):
        yield from _problems_of_group(group, as_text(wanted.get("namespace")))


def _problems_of_group(group: Mapping[str, Any], namespace: str) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(group.get("name"), str):
        yield ("operatorGroup",), "spec.operatorGroup.name is required"
    own = as_text(group.get("namespace"))
    if own and namespace and own != namespace:
        field = ("operatorGroup", "namespace")
        yield field, f"the namespace of the operatorGroup, {own}, is not that of the subscription, {namespace}"
    for key in group.keys() - {*_GROUP_FIELDS, "name", "namespace"}:
        yield ("operatorGroup", str(key)), f"spec.operatorGroup.{key} is no field of an OperatorGroup"


def _left_to_cluster(wanted: Mapping[str, Any]) -> str:
    """R-OCM-10: fields that the controller takes from the cluster; a channel that is left out is OLM's default too."""
    fields = [f"spec.subscription.{key}" for key in _FROM_PACKAGE if not as_text(wanted.get(key))]
    return f"{' and '.join(fields)} {_FROM_CATALOG}" if fields else ""


def _subscription(spec: Mapping[str, Any], *, is_enforced: bool) -> KubernetesObject:
    """R-OCM-7, R-OCM-8: the Subscription is called like its package; who approves follows from the policy."""
    wanted = dict(mapping(spec.get("subscription")))
    namespace = wanted.pop("namespace")
    is_automatic = is_enforced and spec.get("upgradeApproval") == "Automatic" and not _versions(spec)
    metadata = {"name": wanted["name"], "namespace": namespace, "labels": {MANAGED_LABEL: ""}}
    return {
        "apiVersion": f"{OLM_GROUP}/v1alpha1",
        "kind": "Subscription",
        "metadata": metadata,
        "spec": {**wanted, "installPlanApproval": "Automatic" if is_automatic else "Manual"},
    }


def _versions(spec: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(version.strip() for version in texts(spec.get("versions")) if version.strip())


def _approval(policy: Manifest, namespace: str) -> PolicyApproval:
    """R-OCM-9: which plans the controller approves."""
    spec = spec_of(policy.object)
    wanted, versions = mapping(spec.get("subscription")), _versions(spec)
    starting = as_text(wanted.get("startingCSV"))
    allowed = (*versions, *([starting] if starting else [])) if versions else ()
    place = locate(policy.source, ("spec", "versions")) if versions else None
    upgrades = spec.get("upgradeApproval") == "Automatic"
    return PolicyApproval(namespace, as_text(wanted.get("name")), allowed, upgrades, place)


def _group(group: Mapping[str, Any], namespace: str) -> KubernetesObject:
    spec = {key: value for key, value in group.items() if key not in ("name", "namespace")}
    metadata = {"name": group["name"], "namespace": namespace}
    return {"apiVersion": f"{OLM_GROUP}/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": spec}


def _removed_kinds(spec: Mapping[str, Any]) -> frozenset[str]:
    """The kinds that mustnothave deletes (R-OCM-14)."""
    behavior = mapping(spec.get("removalBehavior"))
    actions = {
        _KINDS_OF.get(field, ""): as_text(behavior.get(field)) or default for field, (_, default) in _REMOVED.items()
    }
    return frozenset(kind for kind, action in actions.items() if kind and action.startswith("Delete"))


def _removal(spec: Mapping[str, Any]) -> str:
    """Return the effect of mustnothave on an existing operator (R-OCM-14)."""
    behavior = mapping(spec.get("removalBehavior"))
    parts = []
    for field, (what, default) in _REMOVED.items():
        action = as_text(behavior.get(field)) or default
        parts.append(f"{what} {_ACTIONS.get(action, action)}")
    return ", ".join(parts)
