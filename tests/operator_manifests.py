"""Makes the manifests of an operator out of a terse description: CSV and CRDs (`tests/reconcile/README.md`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]

OLM = "operators.coreos.com"
MODES = {"Own": "OwnNamespace", "Single": "SingleNamespace", "Multi": "MultiNamespace", "All": "AllNamespaces"}


def merged(value: Any, patch: Any) -> Any:
    """`value` after a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return patch
    made = dict(value) if isinstance(value, Mapping) else {}
    for key, item in patch.items():
        if item is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), item)
    return made


def api(text: str, operator: Mapping[str, Any]) -> dict[str, str]:
    """`Kettle` or `Kettle.v1.tea.example.com` as group, version and kind."""
    kind, _, rest = text.partition(".")
    version, _, group = rest.partition(".")
    return {"group": group or f"{operator['package']}.example.com", "version": version or "v1", "kind": kind}


def plural(kind: str) -> str:
    """The resource of a kind."""
    return kind.lower() + "s"


def crds(operator: Mapping[str, Any]) -> list[Object]:
    """The CRDs that an operator owns, each with all versions it owns; the last one is the storage version."""
    versions: dict[str, list[dict[str, str]]] = {}
    for text in operator.get("owned", ()):
        item = api(text, operator)
        versions.setdefault(f"{plural(item['kind'])}.{item['group']}", []).append(item)
    patches = operator.get("crd", {})
    return [merged(crd(name, items), patches.get(name, {})) for name, items in versions.items()]


def crd(name: str, items: Sequence[Mapping[str, str]]) -> Object:
    """A CRD of the name `plural.group` with the versions of `items`."""
    kind = items[0]["kind"]
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": item["version"], "served": True, "storage": item is items[-1], "schema": schema} for item in items
    ]
    names = {"kind": kind, "plural": plural(kind), "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": items[0]["group"], "names": names, "scope": "Namespaced", "versions": versions}
    metadata = {"name": name}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def csv(operator: Mapping[str, Any]) -> Object:
    """The ClusterServiceVersion of an operator; its key `csv` is a merge patch."""
    modes = operator.get("modes", list(MODES))
    strategy: Object = {"deployments": deployments(operator)}
    for key in ("permissions", "clusterPermissions"):
        if key in operator:
            strategy[key] = permissions(operator[key])
    spec: Object = {
        "displayName": operator["package"].title(),
        "version": operator["version"],
        "installModes": [{"type": mode, "supported": short in modes} for short, mode in MODES.items()],
        "install": {"strategy": "deployment", "spec": strategy},
    }
    for key in ("owned", "required"):
        if key in operator:
            items = [crd_description(api(text, operator)) for text in operator[key]]
            spec.setdefault("customresourcedefinitions", {})[key] = items
    for key, relation in (("serves", "owned"), ("needs", "required")):
        if key in operator:
            items = [service_description(each, operator) for each in operator[key]]
            spec.setdefault("apiservicedefinitions", {})[relation] = items
    if "webhooks" in operator:
        spec["webhookdefinitions"] = [webhook(each, operator) for each in operator["webhooks"]]
    if "replaces" in operator:
        spec["replaces"] = operator["replaces"]
    metadata = {"name": operator["name"], "annotations": operator.get("annotations", {})}
    base = {"apiVersion": f"{OLM}/v1alpha1", "kind": "ClusterServiceVersion"}
    result: Object = merged({**base, "metadata": metadata, "spec": spec}, operator.get("csv", {}))
    return result


def crd_description(item: Mapping[str, str]) -> Object:
    """An entry of `customresourcedefinitions`."""
    name = f"{plural(item['kind'])}.{item['group']}"
    return {"name": name, "version": item["version"], "kind": item["kind"], "displayName": item["kind"]}


def service_description(described_as: str | Mapping[str, Any], operator: Mapping[str, Any]) -> Object:
    """An entry of `apiservicedefinitions`, as text or as a mapping with `api` and whatever else it has."""
    given = {"api": described_as} if isinstance(described_as, str) else dict(described_as)
    item = api(given.pop("api"), operator)
    return {**item, "name": plural(item["kind"]), "deploymentName": first_deployment(operator), **given}


def webhook(patch: Mapping[str, Any], operator: Mapping[str, Any]) -> Object:
    """An entry of `webhookdefinitions`: a validating webhook of the first Deployment, patched."""
    base = {
        "type": "ValidatingAdmissionWebhook",
        "generateName": f"v{operator['package']}.example.com",
        "deploymentName": first_deployment(operator),
        "containerPort": 443,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    result: Object = merged(base, patch)
    return result


def first_deployment(operator: Mapping[str, Any]) -> str:
    """The name of the Deployment that serves webhooks and APIs unless told otherwise."""
    return next((item["name"] for item in deployments(operator)), "")


def deployments(operator: Mapping[str, Any]) -> list[Object]:
    """The Deployments of the strategy: names, or mappings that are merged over one with that name."""
    entries = operator.get("deployments", [f"{operator['package']}-controller"])
    keys = ("permissions", "clusterPermissions")
    granted = [entry for key in keys for entry in permissions(operator.get(key, ()))]
    account = granted[0]["serviceAccountName"] if granted else None
    return [deployment({"name": each} if isinstance(each, str) else each, account) for each in entries]


def deployment(given: Mapping[str, Any], account: str | None) -> Object:
    """An entry of the strategy's Deployments with one container, `manager`."""
    labels = {"app": given["name"]}
    pod = {"containers": [{"name": "manager", "image": f"registry.example.com/{given['name']}:v1"}]}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": merged(pod, {"serviceAccountName": account})},
    }
    result: Object = merged({"name": given["name"], "spec": spec}, given)
    return result


def permissions(described_as: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Object]:
    """`account: [rules]`, or a list of such mappings, as `permissions` or `clusterPermissions`."""
    entries = [described_as] if isinstance(described_as, Mapping) else described_as
    return [
        {"serviceAccountName": account, "rules": [policy_rule(each) for each in rules or ()]}
        for entry in entries
        for account, rules in entry.items()
    ]


def policy_rule(text: str | Mapping[str, Any]) -> Object:
    """`get,list deployments.apps:one,two` or `get /metrics` as a PolicyRule; a mapping is one already.

    What follows the first dot of a resource is its API group, what follows the colon are resource names.
    """
    if isinstance(text, Mapping):
        return dict(text)
    verbs, _, what = text.partition(" ")
    rule: Object = {"verbs": verbs.split(",")}
    if what.startswith("/"):
        return {**rule, "nonResourceURLs": what.split(",")}
    what, _, names = what.partition(":")
    parts = [resource.partition(".") for resource in what.split(",")]
    rule["apiGroups"] = list(dict.fromkeys(group for _, _, group in parts))
    rule["resources"] = [resource for resource, _, _ in parts]
    return {**rule, **({"resourceNames": names.split(",")} if names else {})}


def as_list(objects: Sequence[Object]) -> str:
    """Objects as one file with a List."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def as_stream(documents: Iterable[Object]) -> str:
    """Documents as one file, one a line."""
    return "".join(f"---\n{json.dumps(document)}\n" for document in documents)
