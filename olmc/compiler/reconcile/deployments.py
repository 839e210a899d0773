"""The Deployments of install strategies as OLM writes them, with a Subscription's config and the proxy's environment,
and what the API server says to them (R-DEP-1 … R-DEP-8).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import Cluster, CsvState, Subscription
from olmc.compiler.model.operators import (
    CSV_KIND,
    DEFAULT_PORT,
    APIServiceDescription,
    Csv,
    StrategyDeployment,
    WebhookDescription,
)
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.olm.facts import account_of_deployment, real_csvs
from olmc.compiler.olm.naming import (
    CONDITION_NAME,
    csv_reference,
    deployment_spec_hash,
    group_annotations,
    managed_labels,
    owner_labels,
    with_labels,
)
from olmc.compiler.olm.profiles.data import filled
from olmc.compiler.reconcile.requirements import apiservices_by_name, predecessors
from olmc.k8s.api.validation.field import Keys, invalid_text
from olmc.k8s.api.validation.workloads import creation_errors, update_errors
from olmc.k8s.gojson import decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CA_HASH,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Origin,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    owner_references,
    pod_of,
    spec_of,
    status_of,
)

# The servers of API services and webhooks: Deployments, and the certificates that they get (R-CERT-1, R-CERT-4).

# OLM makes a new CA in every cluster, so its hash is unknown beforehand (R-CERT-3, U-3).
UNKNOWN_CA_HASH = ""

Description = APIServiceDescription | WebhookDescription


def serving_deployments(csv: Csv) -> tuple[str, ...]:
    """The Deployments that get certificates: those that an API service or a webhook names (R-CERT-1)."""
    named = {item.deployment for item in serving_descriptions(csv)}
    return tuple(deployment.name for deployment in csv.deployments if deployment.name in named)


def serving_descriptions(csv: Csv) -> tuple[Description, ...]:
    """API service descriptions, owned winning over required, by name; then the webhooks in order (R-CERT-1)."""
    return (*apiservice_descriptions(csv), *csv.webhooks)


def apiservice_descriptions(csv: Csv) -> tuple[APIServiceDescription, ...]:
    """Owned and required API service descriptions by `<version>.<group>`, owned ones winning (R-CERT-1)."""
    # OLM sets up required ones like those of the CSV, which breaks where somebody else serves them (R-API-4).
    return tuple(apiservices_by_name((*csv.required_apiservices, *csv.owned_apiservices)).values())


class Serving(NamedTuple):
    """The server of an API service or of webhooks: the Deployment, the names of the objects for it, and their
    descriptions."""

    deployment: StrategyDeployment
    names: Mapping[str, str]
    descriptions: tuple[Description, ...]


def servings(profile: Profile, csv: Csv) -> Iterator[Serving]:
    """All of a CSV's: one for each Deployment that serves, or, at first, one for each API service."""
    for deployment in csv.deployments:
        name = deployment.name
        described = tuple(item for item in serving_descriptions(csv) if item.deployment == name)
        # Before 0.15 names were those of API services, as there were no webhooks that could share a certificate.
        if profile.cert_naming["per"] != "deployment":
            yield from (Serving(deployment, serving_names(profile, name, item), (item,)) for item in described)
        elif described:
            yield Serving(deployment, serving_names(profile, name), described)


def service_of_others(namespace: str, name: str, cluster: Cluster, options: Options) -> KubernetesObject | None:
    """The Service of that name which a manifest brings, to which OLM adds its ports; None if there is none, or if it is
    OLM's (R-CERT-2)."""
    key = ObjectKey("", "Service", namespace, name)
    stored, state = cluster.objects.get(key), options.state
    if stored is None or stored.provenance.origin is not Origin.MANIFEST:
        return None
    before = state.objects.get(key) if state is not None else None
    if state is None or before is None or key in state.applied:
        return stored.object
    return stored.object if spec_of(before.object) != spec_of(stored.object) else None


def applied_service(profile: Profile, serving: Serving, existing: KubernetesObject | None) -> dict[str, Any]:
    """The spec of the Service in front of a Deployment. OLM applies its ports and its selector to one that exists, and
    keeps the rest of that (R-CERT-2)."""
    selector = mapping(mapping(serving.deployment.spec.get("selector")).get("matchLabels"))
    ports = _ports(profile, serving)
    if existing is None:
        return {"ports": ports, "selector": dict(selector)}
    known = spec_of(existing)
    return {**known, "ports": _merged_ports(mappings(known.get("ports")), ports), "selector": dict(selector)}


def _merged_ports(theirs: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The ports of a Service once OLM has applied its own: number and protocol tell them apart, those that only others
    have come where they were, and of a shared one OLM's fields win."""
    known, wanted = {_port_key(port): port for port in theirs}, {_port_key(port) for port in ours}
    merged: list[dict[str, Any]] = []
    waiting = list(theirs)
    for port in ours:
        while waiting and (_port_key(waiting[0]) not in wanted or _port_key(port) in known):
            other = waiting.pop(0)
            if _port_key(other) not in wanted:
                merged.append(dict(other))
            elif _port_key(other) == _port_key(port):
                break
        merged.append({**known.get(_port_key(port), {}), **port})
    return [*merged, *(dict(port) for port in waiting if _port_key(port) not in wanted)]


def _port_key(port: Mapping[str, Any]) -> tuple[Any, str]:
    return port.get("port"), port.get("protocol") or "TCP"


def _ports(profile: Profile, serving: Serving) -> list[dict[str, Any]]:
    """One port for each distinct pair of port and target port that is served (R-CERT-2)."""
    ports: list[dict[str, Any]] = []
    for item in serving.descriptions:
        port, target = item.port, item.target_port if profile.cert_service_port == "targetPort" else None
        entry = {"name": str(port), "port": port, "targetPort": target or port}
        if profile.cert_service_port == "443":
            entry = {"port": DEFAULT_PORT, "targetPort": port}
        # Two targets behind one port would be two ports of one name: the install fails before it comes to this
        # (R-CERT-2).
        if entry not in ports:
            ports.append(entry)
    return ports


def serving_names(profile: Profile, deployment: str, description: Description | None = None) -> dict[str, str]:
    """The names of `service`, `secret`, `delegator` and `reader` for a Deployment and an API service's description."""
    group = version = ""
    if isinstance(description, APIServiceDescription):
        group, version = description.group, description.version
    dashed = group.replace(".", "-")
    return filled(profile.cert_naming, deployment=deployment, version=version, group=group, group_dashed=dashed)


def _subject(csv: Csv, deployment: StrategyDeployment) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": account_of_deployment(csv, deployment), "namespace": csv.namespace}


def certificate_objects(
    profile: Profile, csv: Csv, serving: Serving, existing: KubernetesObject | None = None
) -> Iterator[KubernetesObject]:
    """Yield the objects that OLM makes for a Deployment that serves, in its order: Service, Secret, Role and bindings
    (R-CERT-2).

    `existing` is the Service of a manifest, whose other fields stay.
    """
    subject = _subject(csv, serving.deployment)
    names, secret = serving.names, serving.names["secret"]

    def metadata(kind: str, name: str) -> dict[str, Any]:
        labelled = with_labels({"name": name, "namespace": csv.namespace}, _certificate_labels(profile, csv, kind))
        return {**labelled, "ownerReferences": [csv_reference(csv.name)]}

    service = metadata("Service", names["service"])
    others = (ref for ref in owner_references(existing or {}) if ref.get("kind") != CSV_KIND)
    service["ownerReferences"] = [*others, *service["ownerReferences"]]
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": service,
        "spec": applied_service(profile, serving, existing),
    }
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata("Secret", secret), "annotations": {"olmcahash": UNKNOWN_CA_HASH}},
        # Keys and certificates are made of chance, other ones in every cluster (R-CERT-3): what is known is that they
        # are there.
        "data": dict.fromkeys(sorted(profile.cert_secret_keys), ""),
        "type": "kubernetes.io/tls",
    }
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret]}
    yield {"apiVersion": RBAC_V1, "kind": "Role", "metadata": metadata("Role", secret), "rules": [rule]}
    yield _binding("RoleBinding", metadata("RoleBinding", secret), subject, "Role", secret)
    # An owner lives in the namespace of what it owns, so the CSV owns neither this one nor the one in kube-system
    # (R-CERT-2).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/install/certresources.go#L311-L546
    delegator = with_labels({"name": names["delegator"]}, _certificate_labels(profile, csv, "delegator"))
    yield _binding("ClusterRoleBinding", delegator, subject, "ClusterRole", "system:auth-delegator")
    yield auth_reader(profile, csv, serving)


def _certificate_labels(profile: Profile, csv: Csv, which: str) -> dict[str, str]:
    words = profile.cert_labels[which]
    owner = owner_labels(profile, csv.name, csv.namespace) if "owner" in words else {}
    return {**managed_labels("managed" in words), **owner}


def is_applied(key: ObjectKey) -> bool:
    """Return whether OLM applies an object that serves a Deployment; it replaces the others (R-CERT-2)."""
    return key.kind in ("Service", "ClusterRoleBinding") or key.namespace == "kube-system"


def is_certificate(secret: KubernetesObject) -> bool:
    """Return whether a Secret is one of OLM, which it uses again; it replaces any other (R-CERT-2)."""
    return CA_HASH in annotations_of(secret) or "olmCAKey" in mapping(secret.get("data"))


def auth_reader(profile: Profile, csv: Csv, serving: Serving) -> KubernetesObject:
    """The RoleBinding in kube-system of a Deployment that serves, which has no owner (R-CERT-2)."""
    metadata = {"name": serving.names["reader"], "namespace": "kube-system"}
    metadata = with_labels(metadata, _certificate_labels(profile, csv, "reader"))
    subject = _subject(csv, serving.deployment)
    return _binding("RoleBinding", metadata, subject, "Role", "extension-apiserver-authentication-reader")


def _binding(
    kind: str, metadata: dict[str, Any], subject: dict[str, str], role_kind: str, role: str
) -> KubernetesObject:
    return {
        "apiVersion": RBAC_V1,
        "kind": kind,
        "metadata": metadata,
        "subjects": [subject],
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role},
    }


def with_certificates(spec: Mapping[str, Any], name: str, csv: Csv, profile: Profile) -> dict[str, Any]:
    """A Deployment's spec with the certificate's volumes, mounts and a service account (R-CERT-4)."""
    template = dict(mapping(spec.get("template")))
    pod = dict(spec_of(template))
    # OLM spells it out, as the bindings to the certificate need a name; so it is in the hash, too (R-DEP-1).
    pod.setdefault("serviceAccountName", "default")
    for serving in servings(profile, csv):
        if serving.deployment.name == name:
            # Each Deployment that serves gets both volumes: webhooks read one, API services the other (R-CERT-4).
            for volume, mount in profile.cert_volumes.items():
                pod = _mount(pod, volume, mount, serving.names["secret"])
    template["spec"] = pod
    return {**spec, "template": template}


def _mount(pod: Mapping[str, Any], volume: str, mount: Mapping[str, str], secret: str) -> dict[str, Any]:
    items = [{"key": "tls.crt", "path": mount["certificate"]}, {"key": "tls.key", "path": mount["key"]}]
    source = {"name": volume, "secret": {"secretName": secret, "items": items}}
    volume_mount = {"name": volume, "mountPath": mount["path"]}
    containers = [
        {**container, "volumeMounts": _with_mount(mappings(container.get("volumeMounts")), volume_mount)}
        for container in mappings(pod.get("containers"))
    ]
    return {**pod, "volumes": put_by_name(mappings(pod.get("volumes")), source), "containers": containers}


def put_by_name(entries: Sequence[Mapping[str, Any]], new: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A list with an entry replaced where one has the same name, else appended."""
    for index, entry in enumerate(entries):
        if entry.get("name") == new.get("name"):
            return [*entries[:index], new, *entries[index + 1 :]]
    return [*entries, new]


def _with_mount(mounts: list[Mapping[str, Any]], new: dict[str, Any]) -> list[Mapping[str, Any]]:
    """A mount of that name stops the search and stays; one at that path is replaced; else the new one is appended
    (R-CERT-4)."""
    for index, mount in enumerate(mounts):
        if mount.get("name") == new["name"]:
            return mounts
        if mount.get("mountPath") == new["mountPath"]:
            return [*mounts[:index], new, *mounts[index + 1 :]]
    return [*mounts, new]


SPEC_HASH = "olm.deployment-spec-hash"
PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# Behind a field of `deploy.config.applied`: from 0.15 to 0.17 a config without resources emptied those of the CSV.
WIPING = "!"
MAX_REQUEST = 3 * 1024 * 1024
"""The most bytes of a request that the API server reads."""

Config = Mapping[str, Any]
Variables = Sequence[Mapping[str, Any]]


def used_config(subscription: Subscription | None, profile: Profile) -> Config:
    """The `spec.config` of a Subscription, as OLM's types keep it and as far as OLM uses it; {} without one."""
    if subscription is None:
        return {}
    applied = {field.removesuffix(WIPING) for field in profile.deploy_config_applied}
    given = mapping(subscription.spec.get("config"))
    config = decode("SubscriptionConfig", given) or {}
    config = {key: value for key, value in config.items() if key in applied}
    # Go drops an empty map when it writes one, but the stored Subscription still has it, and {} clears the map
    # (R-DEP-6).
    emptied = "nodeSelector" in applied and given.get("nodeSelector") == {}
    config = {**config, "nodeSelector": {}} if emptied else config
    return {**config, "affinity": _with_empty_lists(config["affinity"], given)} if config.get("affinity") else config


def _with_empty_lists(affinity: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """An affinity with the empty lists of the stored config: to Go a part with one is another than `{}` (R-DEP-6)."""
    given = mapping(config.get("affinity"))
    lists = {name: {key for key, value in mapping(given.get(name)).items() if value == []} for name in affinity}
    return {name: {**{key: [] for key in lists[name] & _AFFINITY_LISTS}, **part} for name, part in affinity.items()}


def injected_variables(config: Config, cluster: Cluster, options: Options) -> list[Mapping[str, Any]]:
    """Return the variables that every container of an operator gets: the config's variables, then the proxy's.

    The latter come from the Proxy object `cluster`, or the options; not at all if the config sets one of the names
    (R-DEP-7).
    """
    given, kind = mappings(config.get("env")), cluster.profile.deploy_env_proxy
    if not kind or any(item.get("name") in PROXY_NAMES for item in given):
        return given
    proxy = cluster.objects.get(ObjectKey("config.openshift.io", "Proxy", "", "cluster"))
    status = status_of(proxy.object) if proxy else {}
    values = (
        status.get("httpProxy") or options.proxy.http,
        status.get("httpsProxy") or options.proxy.https,
        status.get("noProxy") or options.proxy.no,
    )
    empty_too = any(values) and kind == "with empty values"
    named = zip(PROXY_NAMES, values, strict=True)
    return [*given, *({"name": name, "value": value} for name, value in named if value or empty_too)]


def merged_env(have: Variables, new: Variables) -> list[Mapping[str, Any]]:
    """A container's environment with new entries: existing names take the new entry in place, others are appended.

    A name that the container lists twice leaves an entry without a name, as OLM does; a new name listed twice is
    appended twice, both with the last value. So the next time that OLM merges, the second one loses its name.
    """
    latest = {item.get("name"): item for item in (*have, *new)}
    merged: list[Mapping[str, Any]] = []
    seen: set[Any] = set()
    for item in have:
        name = item.get("name")
        merged.append({"name": ""} if name in seen else latest[name])
        seen.add(name)
    merged += [latest[item.get("name")] for item in new if item.get("name") not in seen]
    return merged


def _overwrite_env(have: Variables, new: Variables) -> list[Mapping[str, Any]]:
    """Merge variables as the first form of `merged_env`, which knew values only.

    The first entry of the name gets the new value and keeps its other fields. An appended entry has its name and its
    value, and a name listed twice is appended twice.
    """
    merged = [*have]
    places = {item.get("name"): place for place, item in reversed([*enumerate(have)])}
    for item in new:
        name = item.get("name")
        value = {"value": item["value"]} if item.get("value") else {}
        if name not in places:
            merged.append({"name": name, **value})
        elif value:
            merged[places[name]] = {**merged[places[name]], **value}
        else:
            merged[places[name]] = {key: old for key, old in merged[places[name]].items() if key != "value"}
    return merged


Pod = dict[str, Any]


def subscription_config(cluster: Cluster, csv: Csv, *, replaced: bool = False) -> Config:
    """The `spec.config` of the Subscription that has a CSV installed, as OLM's types keep it; {} without one.

    `replaced`: the CSV is being replaced.
    """
    return used_config(_subscription(cluster, csv, replaced), cluster.profile)


def _subscription(cluster: Cluster, csv: Csv, replaced: bool) -> Subscription | None:
    """The Subscription that has a CSV installed, or is about to have it (R-DEP-5).

    A CSV that is being replaced writes nothing any more: what it wrote is as the Subscription wanted it that had it
    installed, and that has a newer CSV of the chain by now.
    """
    home = csv.namespace
    names = [csv.name]
    if replaced:
        names += [newer.name for newer in real_csvs(cluster, home) if csv.name in predecessors(newer, cluster.csvs)]
    subscriptions = cluster.subscriptions.within(home).values()
    installed = next((s for s in subscriptions if s.installed in names), None)
    # While phases are worked out, the status that names the CSV as installed is still to be written (R-CAT-505).
    return installed or next((s for s in subscriptions if s.current == csv.name), None)


def with_config(
    pod: Mapping[str, Any], config: Config, cluster: Cluster, options: Options
) -> tuple[Pod, dict[str, str]]:
    """The pod spec after injection, and the annotations for the Deployment and its template (R-DEP-6)."""
    spec = dict(pod)
    env = injected_variables(config, cluster, options)
    if env:
        merge = merged_env if cluster.profile.deploy_env_merge == "entry" else _overwrite_env
        spec = _with_env(spec, env, merge)
    sources = mappings(config.get("envFrom"))
    if sources:
        unite = _uniting(sources)
        spec = _each_container(spec, lambda c: {**c, "envFrom": unite(mappings(c.get("envFrom")))})
    volumes = mappings(config.get("volumes"))
    if volumes:
        spec["volumes"] = _put_all(mappings(spec.get("volumes")), volumes)
    mounts = mappings(config.get("volumeMounts"))
    if mounts:
        spec = _each_container(spec, lambda c: {**c, "volumeMounts": _put_all(mappings(c.get("volumeMounts")), mounts)})
    tolerations = mappings(config.get("tolerations"))
    if tolerations:
        spec["tolerations"] = _uniting(tolerations)(mappings(spec.get("tolerations")))
    if config.get("resources") is not None:
        spec = _each_container(spec, lambda c: {**c, "resources": config["resources"]})
    elif f"resources{WIPING}" in cluster.profile.deploy_config_applied:
        spec = _each_container(spec, lambda c: {**c, "resources": {}})
    if config.get("nodeSelector") is not None:
        spec["nodeSelector"] = config["nodeSelector"]
        if not spec["nodeSelector"]:
            del spec["nodeSelector"]
    if config.get("affinity") is not None:
        spec = _with_affinity(spec, config["affinity"])
    return spec, dict(mapping(config.get("annotations")))


def _put_all(have: list[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A list with the new entries in the place of those of their names, the others behind it.

    OLM looks for names in the list as it was: of new entries of one name all are appended (R-DEP-6).
    """
    places = {entry.get("name"): place for place, entry in reversed([*enumerate(have)])}
    merged = [*have]
    for entry in new:
        if entry.get("name") in places:
            merged[places[entry.get("name")]] = entry
    return [*merged, *(entry for entry in new if entry.get("name") not in places)]


def _each_container(pod: Pod, change: Callable[[Mapping[str, Any]], Pod]) -> Pod:
    return {**pod, "containers": [change(container) for container in mappings(pod.get("containers"))]}


def _with_env(pod: Pod, new: Variables, merge: Callable[[Variables, Variables], Variables]) -> Pod:
    """A pod whose containers get variables; those that have the same ones before share what they have then."""
    merged: dict[int, Variables] = {}

    def variables(have: Any) -> Variables:
        if id(have) not in merged:
            merged[id(have)] = merge(mappings(have), new)
        return merged[id(have)]

    return _each_container(pod, lambda container: {**container, "env": variables(container.get("env"))})


def _uniting(new: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
    """Return a function that appends those of the new entries to a list that it does not have."""
    # Texts are compared, as each entry with each other one would take too long.
    named = [(_canonical(item), item) for item in new]

    def unite(have: list[Any]) -> list[Any]:
        known = set(map(_canonical, have))
        return have + [item for text, item in named if text not in known]

    return unite


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


_AFFINITY_LISTS = frozenset(f"{name}DuringSchedulingIgnoredDuringExecution" for name in ("required", "preferred"))


def _with_affinity(pod: Pod, override: Mapping[str, Any]) -> Pod:
    """Row 8 of R-DEP-6; an empty podAntiAffinity removes all of the affinity."""
    others = {key: value for key, value in pod.items() if key != "affinity"}
    current = mapping(pod.get("affinity"))
    if not override:
        return others
    # An empty list makes a part that replaces the pod's, and is not written itself.
    parts = {name: {key: value for key, value in part.items() if value != []} for name, part in override.items()}
    if not current:
        return {**others, "affinity": parts}
    # A slip in OLM: where only this part is to go, all of it goes (R-DEP-6, Q-6).
    if override.get("podAntiAffinity") == {}:
        return others
    affinity = dict(current)
    for part in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        if part in override:
            affinity.pop(part, None)
            affinity |= {part: parts[part]} if override[part] else {}
    return {**others, "affinity": affinity} if affinity else others


def written_deployment(
    cluster: Cluster, options: Options, csv: Csv, item: StrategyDeployment, config: Config
) -> KubernetesObject:
    """The Deployment that OLM writes for an entry of a CSV's install strategy, put together in OLM's order.

    Missing are only the label with the hash of its specification, which is taken of what the order leaves, and what
    the API server fills in. `config` is what `subscription_config` gives for the CSV.
    """
    name, namespace, profile = item.name, csv.namespace, cluster.profile
    serving = name in serving_deployments(csv)
    spec = item.spec
    # Certificates come first, so that a config can replace their volumes and mounts (R-DEP-1).
    if serving:
        spec = with_certificates(spec, name, csv, profile)
    template = dict(mapping(spec.get("template")))
    annotations = template_annotations(profile, template, _csv_annotations(cluster, csv), serving=serving)
    if serving:
        annotations[CA_HASH] = UNKNOWN_CA_HASH
    template["metadata"] = {**metadata_of(template), "annotations": dict(sorted(annotations.items()))}
    labels = {
        # Owner labels win over those of the CSV, or OLM would not find the Deployment again (R-DEP-1).
        **(item.labels if profile.deploy_label_custom else {}),
        **managed_labels(profile.deploy_label_managed),
        **owner_labels(profile, csv.name, namespace),
    }
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    pod, extra = with_config(spec_of(template), config, cluster, options)
    if extra:
        metadata["annotations"] = dict(sorted(extra.items()))
        # Annotations that are there already, those of the CSV included, win over the config's (R-DEP-6).
        merged = {**extra, **template["metadata"]["annotations"]}
        template["metadata"] = {**template["metadata"], "annotations": dict(sorted(merged.items()))}
    template["spec"] = _with_condition_name(pod, csv.name, profile)
    spec = {**spec, "template": template}
    if profile.deploy_revisionhistorylimit is not None:
        spec["revisionHistoryLimit"] = profile.deploy_revisionhistorylimit
    metadata["labels"] = dict(sorted(labels.items()))
    metadata["ownerReferences"] = [csv_reference(csv.name)]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _csv_annotations(cluster: Cluster, csv: Csv) -> dict[str, str]:
    """The annotations of a CSV with those of its group (R-OG-10)."""
    annotations = dict(csv.annotations)
    # Of several groups each overwrites the other's annotations; as elsewhere it is the last that shows (R-OG-10).
    for group in cluster.groups_in(csv.namespace)[-1:]:
        annotations |= group_annotations(cluster.profile, group)
    return annotations


def template_annotations(
    profile: Profile, template: Mapping[str, Any], projected: Mapping[str, str], *, serving: bool
) -> dict[str, str]:
    """The annotations of a pod template: its own, unless a certificate's hash replaces them, and those of the CSV."""
    own = annotations_of(template)
    # Up to 0.18.2 OLM assigned the hash as the only annotation, where it now sets one among others.
    if serving and profile.deploy_template_olmcahash == "replaces":
        return dict(projected)
    return {**own, **projected} if profile.deploy_annotations_precedence == "csv" else {**projected, **own}


def _with_condition_name(pod: Mapping[str, Any], csv: str, profile: Profile) -> dict[str, Any]:
    """The environment variable by which an operator finds its OperatorCondition, in every container."""
    if not profile.deploy_env_operator_condition_name:
        return dict(pod)
    new = [{"name": CONDITION_NAME, "value": csv}]
    changed = _with_env(dict(pod), new, merged_env)
    return changed if changed["containers"] else dict(pod)


class DeploymentRefusal(NamedTuple):
    """The API server's error for a Deployment, and the keys that lead to the first mistake in the entry of the install
    strategy."""

    text: str
    keys: Keys


def refusal(deployment: KubernetesObject, existing: KubernetesObject | None) -> DeploymentRefusal | None:
    """Return why OLM can't write a Deployment, over one that exists if there is one; None if it can.

    OLM puts the whole object in the place of the other (R-DEP-1), so that its selector counts.
    """
    metadata = deployment["metadata"]
    if _is_too_large(deployment):
        return DeploymentRefusal(f"Request entity too large: limit is {MAX_REQUEST}", ())
    # OLM fills in the uid of the owner when it writes; there is none yet that validation could look at (U-1).
    sent = {**deployment, "metadata": {key: value for key, value in metadata.items() if key != "ownerReferences"}}
    errors = creation_errors(sent) if existing is None else update_errors(sent, existing)
    if not errors:
        return None
    keys = errors[0].keys
    # In the install strategy the name and the labels of a Deployment have fields of their own beside its spec.
    entry_keys = (
        {"name": ("name",), "labels": ("label", *keys[2:])}.get(str(keys[1]), ()) if keys[0] == "metadata" else keys
    )
    return DeploymentRefusal(invalid_text("Deployment", "apps", metadata["name"], errors), entry_keys)


def _is_too_large(deployment: KubernetesObject) -> bool:
    """Return whether the API server reads no request with this Deployment, of which each container has a whole config.

    Looking ends where it is too large, since a small workspace can ask for gigabytes.
    """
    pod = pod_of(deployment)
    size = 0
    for part in ({**pod, "containers": []}, *mappings(pod.get("containers"))):
        size += len(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode(errors="replace"))
        if size > MAX_REQUEST:
            return True
    return False


def is_written(csv: Csv, cluster: Cluster, options: Options) -> bool:
    """Return whether all Deployments of a CSV exist as OLM would write them, so that it writes none (observed-58)."""
    for item in csv.deployments:
        key = ObjectKey("apps", "Deployment", csv.namespace, item.name)
        stored = cluster.objects.get(key)
        if stored is None:
            return False
        labels = labels_of(stored.object)
        is_own = owner_labels(cluster.profile, csv.name, csv.namespace).items() <= labels.items()
        # There is no hash to compare over the unknown hash of a CA (R-DEP-10).
        digest = labels.get(SPEC_HASH)
        if not is_own or (digest and digest != _hash_beside(cluster, options, csv, item, stored.object)):
            return False
    return True


def _hash_beside(
    cluster: Cluster, options: Options, csv: Csv, item: StrategyDeployment, stored: KubernetesObject
) -> str:
    """The hash of what OLM would write for an entry, with the CA that the Deployment has."""
    spec = written_deployment(cluster, options, csv, item, subscription_config(cluster, csv))["spec"]
    known = annotations_of(mapping(spec_of(stored).get("template"))).get(CA_HASH)
    template = spec["template"]
    annotations = annotations_of(template)
    if known is not None and CA_HASH in annotations:
        metadata = {**template["metadata"], "annotations": {**annotations, CA_HASH: known}}
        spec = {**spec, "template": {**template, "metadata": metadata}}
    return deployment_spec_hash(cluster.profile, spec)


def existing_deployment(name: str, csv: Csv, cluster: Cluster, members: Iterable[CsvState]) -> KubernetesObject | None:
    """The Deployment of that name that a CSV finds in its namespace: of a manifest, or as another CSV has written it.

    `members` are the CSVs of the namespace, and what became of them. Of theirs only what stays as it was is reported
    (observed-49).
    """
    for member in members:
        installation = member.installation
        if member.csv.name != csv.name and installation is not None:
            # Enough to judge an update by: of a Deployment that exists only the selector can't change (observed-49).
            for deployment in member.csv.deployments[: installation.deployments]:
                if deployment.name == name:
                    return {"metadata": {"name": name}, "spec": deployment.spec}
    rendered = cluster.objects.get(ObjectKey("apps", "Deployment", csv.namespace, name))
    return rendered.object if rendered is not None else None
