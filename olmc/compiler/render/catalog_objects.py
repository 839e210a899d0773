"""CatalogSources and the objects that OLM makes to serve them, but for the Pod (R-CAT-760)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import CatalogSource
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.facts import CATALOG_SOURCE, FROM_CONFIGMAP
from olmc.compiler.olm.naming import (
    CSV_API,
    MANAGED,
    PERMISSIONS_HASH,
    binding_hash,
    content_hash_rules,
    h62,
    managed_labels,
    owner_reference,
    with_labels,
)
from olmc.compiler.render.webhooks import RenderContext, rendered
from olmc.k8s.api.validation.metadata import object_name_problems
from olmc.k8s.gojson import encode_plain
from olmc.k8s.objects import (
    OLM_GROUP,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Rendered,
    labels_of,
    mappings,
    object_key,
    owner_references,
    spec_of,
    text,
)

STAGE = "catalog_servers"

_CATALOG_LABEL = "olm.catalogSource"
_SERVICE_HASH = "olm.service-spec-hash"
_UNPACKED_LABEL = "operatorframework.io/bundle-unpack-ref"
_PORT = 50051
# Values of labels end here.
_LABEL_LIMIT = 63

_Maker = Callable[[CatalogSource, Profile], Iterator[KubernetesObject]]


def catalog_sources(context: RenderContext) -> Iterator[Rendered]:
    """The CatalogSources of the workspace.

    >>> operators = "operators.coreos.com/v1alpha1"
    >>> metadata, spec = {"name": "acme", "namespace": "olm"}, {"sourceType": "grpc", "image": "quay.io/acme/all:v1"}
    >>> catalog = {"apiVersion": operators, "kind": "CatalogSource", "metadata": metadata, "spec": spec}
    >>> show(catalog_sources, {"manifests": [catalog]}, "spec")
    CatalogSource/olm/acme
      spec: {sourceType: grpc, image: 'quay.io/acme/all:v1'}
    """
    for source in context.cluster.catalogs.values():
        if source.manifest is not None and not source.of_cluster:
            yield rendered(source.manifest, "catalog_sources", "input", source.source)


def catalog_servers(context: RenderContext) -> Iterator[Rendered]:
    """The Service and the NetworkPolicies of each catalog that OLM serves, which OLM keeps as they should be.

    >>> operators = "operators.coreos.com/v1alpha1"
    >>> metadata, spec = {"name": "acme.x", "namespace": "olm"}, {"sourceType": "grpc", "image": "quay.io/acme/all:v1"}
    >>> catalog = {"apiVersion": operators, "kind": "CatalogSource", "metadata": metadata, "spec": spec}
    >>> show(catalog_servers, {"manifests": [catalog]}, "spec.selector", "spec.policyTypes")
    Service/olm/acme-x
      selector: {olm.catalogSource: acme.x, olm.managed: 'true'}
    NetworkPolicy/olm/acme.x-grpc-server
      policyTypes: [Ingress, Egress]
    NetworkPolicy/olm/acme.x-unpack-bundles
      policyTypes: [Ingress, Egress]
    """
    return _rendered(context, (_service, _policies), (_service, _policies))


def catalog_accounts(context: RenderContext) -> Iterator[Rendered]:
    """The ServiceAccount of each catalog that OLM serves, and the right to read a ConfigMap; OLM never updates them.

    >>> operators = "operators.coreos.com/v1alpha1"
    >>> metadata, spec = {"name": "acme", "namespace": "olm"}, {"sourceType": "grpc", "image": "quay.io/acme/all:v1"}
    >>> spec["secrets"] = ["", "pull"]
    >>> catalog = {"apiVersion": operators, "kind": "CatalogSource", "metadata": metadata, "spec": spec}
    >>> show(catalog_accounts, {"manifests": [catalog]}, "imagePullSecrets")
    ServiceAccount/olm/acme
      imagePullSecrets: [{name: pull}]
    """
    return _rendered(context, (_account,), (_configmap_reader,))


def _rendered(context: RenderContext, of_image: Sequence[_Maker], of_configmap: Sequence[_Maker]) -> Iterator[Rendered]:
    """The objects for each catalog of an image and of a ConfigMap that exists; one at an address needs none."""
    for source in context.cluster.catalogs.values():
        if source.manifest is None or source.of_cluster or source.refused or _is_too_long(source, context.profile):
            continue
        is_image = not is_of_configmap(source) and bool(spec_of(source.manifest).get("image"))
        makers = of_configmap if is_of_configmap(source) else of_image if is_image else ()
        for make in makers:
            for obj in make(source, context.profile):
                yield rendered(_as_left(context, source, obj), STAGE, "R-CAT-760", source.source)


def _as_left(context: RenderContext, source: CatalogSource, obj: KubernetesObject) -> KubernetesObject:
    """An object of a catalog, or the edited one that OLM takes for its own: a Service by the hash in its label, a
    NetworkPolicy by its spec (R-CAT-760)."""
    state, stored = context.options.state, context.cluster.objects.get(object_key(obj))
    if state is None or stored is None or ObjectKey(OLM_GROUP, CATALOG_SOURCE, *source.key) not in state.objects:
        return obj
    theirs, ours, kind = labels_of(stored.object), labels_of(obj), obj["kind"]
    if kind not in ("Service", "NetworkPolicy") or theirs.get(MANAGED) != ours.get(MANAGED):
        return obj
    if kind == "Service":
        is_edited = theirs != ours or _serves(stored.object) != _serves(obj)
        return stored.object if is_edited and theirs.get(_SERVICE_HASH) == ours.get(_SERVICE_HASH) else obj
    is_taken = spec_of(stored.object) == spec_of(obj) and ours.items() <= theirs.items()
    return stored.object if is_taken else obj


def _serves(service: KubernetesObject) -> tuple[Any, ...]:
    """The fields of a Service's spec that OLM writes; the API server fills in others."""
    spec, keys = spec_of(service), ("name", "port", "targetPort")
    return spec.get("selector"), [[port.get(key) for key in keys] for port in mappings(spec.get("ports"))]


def _is_too_long(source: CatalogSource, profile: Profile) -> bool:
    """Return whether OLM fails at the NetworkPolicies of a catalog, which come first: their labels hold its name."""
    return profile.catalog_objects["egress"] is not None and len(source.key.name) > _LABEL_LIMIT


def is_of_configmap(source: CatalogSource) -> bool:
    """Return whether a catalog is read from a ConfigMap."""
    return spec_of(source.manifest or {}).get("sourceType") in FROM_CONFIGMAP


def catalog_configmaps(context: RenderContext) -> Mapping[ObjectKey, Sequence[str]]:
    """The ConfigMaps that are catalogs, each with the names of their CatalogSources in order."""
    found: dict[ObjectKey, list[str]] = defaultdict(list)
    if context.options.purpose == "apply":  # there OLM does not run
        return found
    for key, source in sorted(context.cluster.catalogs.items()):
        if is_of_configmap(source) and not source.refused:
            name = text(spec_of(source.manifest or {}).get("configMap"))
            found[ObjectKey("", "ConfigMap", key.namespace, name)].append(key.name)
    return found


def owned_by_catalogs(configmap: KubernetesObject, names: Sequence[str], profile: Profile) -> KubernetesObject:
    """A ConfigMap as OLM leaves it that serves the catalogs `names` from it (R-CAT-763)."""
    metadata, references = dict(configmap["metadata"]), list(owner_references(configmap))
    # One that has the label already is in OLM's cache, and keeps its value.
    if profile.catalog_objects["labelsConfigMap"] and MANAGED not in labels_of(configmap):
        metadata["labels"] = {**labels_of(configmap), MANAGED: "false"}
    owners = {text(ref.get("name")) for ref in references if ref.get("kind") == CATALOG_SOURCE}
    references += (owner_reference(CSV_API, CATALOG_SOURCE, name) for name in names if name not in owners)
    return {**configmap, "metadata": {**metadata, "ownerReferences": references}}


def _object(
    source: CatalogSource, api_version: str, kind: str, name: str, labels: Mapping[str, str], **fields: Any
) -> KubernetesObject:
    """An object in the namespace of a CatalogSource that belongs to it."""
    reference = owner_reference(CSV_API, CATALOG_SOURCE, source.key.name)
    named = with_labels({"name": name, "namespace": source.key.namespace}, labels)
    metadata = {**named, "ownerReferences": [reference]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _managed(profile: Profile) -> dict[str, str]:
    return managed_labels(profile.catalog_objects["managed"])


def _service(source: CatalogSource, profile: Profile) -> Iterator[KubernetesObject]:
    name, has_image = source.key.name, not is_of_configmap(source)
    selector = {_CATALOG_LABEL: name, **(_managed(profile) if has_image else {})}
    port = {"name": "grpc", "port": _PORT, "targetPort": _PORT}
    spec = {"ports": [port], "selector": selector}
    labels = _managed(profile)
    if profile.catalog_objects["serviceHash"] == "json":
        labels[_SERVICE_HASH] = h62(encode_plain(spec) + b"\n")
    if has_image and profile.catalog_objects["serviceDots"]:
        name = name.replace(".", profile.catalog_objects["serviceDots"])
    # The API server rejects a name with dots, and OLM retries without end.
    if not object_name_problems("", "Service", name):
        ports = [{**port, "protocol": "TCP"}]
        yield _object(source, "v1", "Service", name, labels, spec={**spec, "ports": ports})


def _account(source: CatalogSource, profile: Profile) -> Iterator[KubernetesObject]:
    if not profile.catalog_objects["account"]:
        return
    account = _object(source, "v1", "ServiceAccount", source.key.name, _managed(profile))
    # This owner alone is a controller, which blocks its own deletion.
    account["metadata"]["ownerReferences"][0] |= {"controller": True, "blockOwnerDeletion": True}
    secrets = spec_of(source.manifest or {}).get("secrets")
    named = [{"name": secret} for secret in (secrets if isinstance(secrets, list) else ()) if secret]
    yield {**account, **({"imagePullSecrets": named} if named else {})}


def _configmap_reader(source: CatalogSource, profile: Profile) -> Iterator[KubernetesObject]:
    """The account of a Pod that serves a ConfigMap, and its right to read that."""
    name, labels = source.key.name, _managed(profile)
    account, role = f"{name}-configmap-server", f"{name}-configmap-reader"
    configmap = spec_of(source.manifest or {}).get("configMap")
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [configmap]}]
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": source.key.namespace}]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
    hashed, bound = labels, labels
    # An object with OLM's label and without the hash gets the hash the next time that OLM looks.
    if labels:
        hashed = {**labels, PERMISSIONS_HASH: content_hash_rules(rules)}
        bound = {**labels, PERMISSIONS_HASH: binding_hash("Role", role, subjects)}
    yield _object(source, "v1", "ServiceAccount", account, labels)
    yield _object(source, RBAC_V1, "Role", role, hashed, rules=rules)
    binding = f"{name}-server-configmap-reader"
    yield _object(source, RBAC_V1, "RoleBinding", binding, bound, subjects=subjects, roleRef=reference)


def _policies(source: CatalogSource, profile: Profile) -> Iterator[KubernetesObject]:
    """The NetworkPolicies of the Pod, and of those that unpack bundles."""
    egress = profile.catalog_objects["egress"]
    if egress is None:
        return
    name, labels = source.key.name, {**_managed(profile), _CATALOG_LABEL: source.key.name}
    # The Pod of a ConfigMap has the ConfigMap's resourceVersion as a label beside these, which no input shows.
    server: dict[str, Any] = {"podSelector": {"matchLabels": dict(reversed(labels.items()))}}
    server["ingress"] = [{"ports": [{"protocol": "TCP", "port": _PORT}]}]
    unpacking: dict[str, Any] = {
        "podSelector": {
            "matchExpressions": [
                {"key": _UNPACKED_LABEL, "operator": "Exists"},
                {"key": MANAGED, "operator": "In", "values": ["true"]},
            ]
        },
        "egress": egress,
    }
    types = {"policyTypes": ["Ingress", "Egress"]}
    if is_of_configmap(source):
        server["egress"] = egress
    for suffix, spec in (("grpc-server", server), ("unpack-bundles", unpacking)):
        policy = f"{name}-{suffix}"
        yield _object(source, "networking.k8s.io/v1", "NetworkPolicy", policy, labels, spec={**spec, **types})
