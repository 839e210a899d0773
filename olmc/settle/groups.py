"""OperatorGroups: which exist, which namespaces they target, and what is wrong with them (R-OG-1 … R-OG-9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olmc.kube.selectors import SELECTOR_FIELDS, is_empty, matches, problem
from olmc.model.coerce import mapping, texts
from olmc.model.diagnostic import Report
from olmc.model.gvk import GVK
from olmc.model.objects import Identity, KubernetesObject, Rendered, spec_of
from olmc.model.operators import Csv, Group
from olmc.model.profile import Profile
from olmc.model.workspace import Manifest
from olmc.rules import load as rules
from olmc.yaml import locate

_LABEL_LIMIT = 63


def stored_group(manifest: Manifest, profile: Profile, report: Report) -> KubernetesObject:
    """The OperatorGroup as the API server stores it: unknown fields dropped, defaults set (R-OG-2, R-OG-3)."""
    obj = manifest.object
    name = obj["metadata"]["name"]
    given = spec_of(obj)
    spec: dict[str, Any] = {key: given[key] for key in profile.operatorgroup_api["spec"] if given.get(key) is not None}
    selector = spec.get("selector")
    if isinstance(selector, dict) and profile.operatorgroup_api.get("selector") == "labels":
        spec["selector"] = _of_labels(selector)
    elif isinstance(selector, dict):
        unknown = sorted(str(key) for key in selector.keys() - SELECTOR_FIELDS)
        if unknown:
            place, keys = locate(manifest.source, ("spec", "selector")), ", ".join(unknown)
            everything = is_empty(selector) and not spec.get("targetNamespaces")
            effect = ", so that the group targets all namespaces" if everything else ""
            report.add(rules.SNIPPED.finding(place, kind="OperatorGroup", name=name, keys=keys, effect=effect))
        spec["selector"] = {key: value for key, value in selector.items() if key in SELECTOR_FIELDS}
    if "upgradeStrategy" in profile.operatorgroup_api["spec"]:
        spec.setdefault("upgradeStrategy", "Default")
    kept = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    version = f"operators.coreos.com/{profile.operatorgroup_api['version']}"
    return {"apiVersion": version, "kind": "OperatorGroup", "metadata": kept, "spec": spec}


def _of_labels(selector: Mapping[str, Any]) -> dict[str, Any]:
    """A selector as the documents write it, with the labels themselves, as Kubernetes writes it."""
    labels = {key: value for key, value in selector.items() if key not in SELECTOR_FIELDS}
    known = {key: value for key, value in selector.items() if key in SELECTOR_FIELDS}
    matched = known.get("matchLabels")
    labels |= matched if isinstance(matched, dict) else {}
    return {**known, "matchLabels": labels} if labels else known


def with_targets(
    group: Group, namespaces: Mapping[str, Mapping[str, str]], stock: Mapping[Identity, Rendered]
) -> Group:
    """The group with its targets in the present state of the cluster (R-OG-1, R-OG-8)."""
    spec = group.spec
    account = group.account
    if account and not account_exists(stock, group.namespace, account):
        return Group(group.object, group.source, (), f"ServiceAccount {account} not found", account)
    selector = mapping(spec.get("selector"))
    wrong = problem(selector)
    if wrong:
        return Group(group.object, group.source, (), wrong)
    listed = texts(spec.get("targetNamespaces"))
    if "" in listed:
        text = f"TargetNamespaces cannot contain NamespaceAll: [{' '.join(listed)}]"
        return Group(group.object, group.source, (), text)
    if listed:
        return Group(group.object, group.source, tuple(sorted(listed, key=_bytes)))
    if is_empty(selector):
        return Group(group.object, group.source, ("",))
    chosen = [name for name, labels in namespaces.items() if matches(selector, labels)]
    return Group(group.object, group.source, tuple(sorted(chosen, key=_bytes)))


def gets_roles(group: Group) -> bool:
    """Whether the sync of a group gets as far as its ClusterRoles: nothing ended it before (R-OG-5), and the group's
    name fits into their owner label (observed-9). Only then is its annotation pruned."""
    return not group.problem and len(group.name) <= _LABEL_LIMIT


def pruned(group: Group, apis: frozenset[GVK] | None, csvs: Iterable[Csv]) -> frozenset[GVK] | None:
    """What the group's sync leaves of its annotation (None: there is none): what a CSV of its namespace provides, or
    everything if the group is static or its sync ends before (R-OG-5, R-OG-14)."""
    if apis is None or group.is_static or not gets_roles(group):
        return apis
    return apis & {api.key for csv in csvs for api in csv.owned_apis}


def account_exists(stock: Mapping[Identity, Rendered], namespace: str, name: str) -> bool:
    """Whether a ServiceAccount exists; every namespace has one called `default` (U-9)."""
    return name == "default" or Identity("", "ServiceAccount", namespace, name) in stock


def target_set(group: Group) -> frozenset[str] | None:
    """The namespaces that count when groups are intersected (R-CSV-10); None stands for all namespaces."""
    if group.is_global:
        return None
    return frozenset({*group.targets, group.namespace}) if group.targets else frozenset()


def intersects(one: Group, other: Group) -> bool:
    """Whether two groups share a namespace (R-CSV-11)."""
    first, second = target_set(one), target_set(other)
    if first is None:
        return second is None or bool(second)
    return bool(first if second is None else first & second)


def format_apis(apis: Iterable[GVK]) -> str:
    """The text of `olm.providedAPIs` (R-OG-11)."""
    return ",".join(sorted((api.dotted for api in apis), key=_bytes))


def parse_apis(text: str) -> frozenset[GVK]:
    """The APIs in the text of `olm.providedAPIs`; elements with fewer than two dots are ignored (R-OG-11)."""
    found = set()
    for element in text.replace(" ", "").split(","):
        parts = element.split(".", 2)
        if len(parts) == 3:
            found.add(GVK(parts[2], parts[1], parts[0]))
    return frozenset(found)


def _bytes(text: str) -> bytes:
    return text.encode()
