"""The objects that operator-controller makes of a bundle, kind by kind (R-V1-GEN-1 … 12), and the part of the
configuration that changes its Deployments (R-V1-CFG-5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.operators import CONVERSION
from olmc.compiler.model.options import Certificates
from olmc.compiler.olm.facts import CERTIFICATE_VOLUMES, certificate_volume
from olmc.compiler.olm.naming import OPERATOR_NAMESPACE, TARGETS, h36, joined_name
from olmc.compiler.olm.profiles.data import profile_of, releases_with
from olmc.k8s.gojson import DecodeError, decode, encode_decoded
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    RBAC_V1,
    KubernetesObject,
    annotations_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    spec_of,
    text,
    texts,
)
from olmc.k8s.strconv import MAX_INT64, decimal
from olmc.targets.v1.registry_bundle import (
    ALL_NAMESPACES,
    MULTI_NAMESPACE,
    MUTATING,
    NAMESPACED_KINDS,
    OWN_NAMESPACE,
    SINGLE_NAMESPACE,
    VALIDATING,
    BundleError,
    RegistryBundle,
    check_config,
    config_schema,
    go_list,
    parse_config,
    validation_errors,
)

# Who issues the certificates of webhooks, and what that makes of the objects (R-V1-GEN-9, R-V1-CERT-1 … 4).

_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_Entry = Mapping[str, Any]
_Pod = dict[str, Any]


class DeploymentConfig(NamedTuple):
    """A deploymentConfig as its Go type keeps it, and whether it has a nodeSelector, be it an empty one."""

    fields: Mapping[str, Any] = {}
    selects_nodes: bool = False


NO_CONFIG = DeploymentConfig()


def read_deployment_config(value: Any) -> DeploymentConfig:
    """The configuration that a JSON value holds; its shape is known to be right. Raises BundleError (R-V1-CFG-4a)."""
    given = mapping(value)
    try:
        fields = decode("SubscriptionConfig", given, exact=True)
    except DecodeError as error:
        problem = f"invalid deploymentConfig: failed to unmarshal deploymentConfig: {error.message}"
        raise BundleError(problem, terminal=True) from error
    return DeploymentConfig(fields, "nodeSelector" in given)


def configured_deployment(deployment: KubernetesObject, config: DeploymentConfig) -> KubernetesObject:
    """A Deployment with its configuration, field after field in the order of operator-controller."""
    fields = config.fields
    if not fields and not config.selects_nodes:
        return deployment
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = spec["template"]
    pod = _configured_pod(dict(spec_of(template)), fields)
    if config.selects_nodes:
        pod = _put(pod, "nodeSelector", fields.get("nodeSelector"))
    if "affinity" in fields:
        pod = _put(pod, "affinity", _merged_affinity(mapping(pod.get("affinity")), fields["affinity"]))
    below = {**template, "metadata": _with_annotations(metadata_of(template), fields), "spec": pod}
    return {**deployment, "metadata": _with_annotations(metadata, fields), "spec": {**spec, "template": below}}


def _configured_pod(pod: _Pod, fields: Mapping[str, Any]) -> _Pod:
    """The pod spec with what is added to it; initContainers stay as they are."""
    pod = _each_container(pod, _putting("env", fields))
    sources = mappings(fields.get("envFrom"))
    if sources:
        pod = _each_container(pod, lambda c: {**c, "envFrom": _united(c.get("envFrom"), sources)})
    pod = _putting("volumes", fields)(pod)
    pod = _each_container(pod, _putting("volumeMounts", fields))
    tolerations = mappings(fields.get("tolerations"))
    if tolerations:
        pod = {**pod, "tolerations": _united(pod.get("tolerations"), tolerations)}
    if "resources" in fields:
        pod = _each_container(pod, lambda c: {**c, "resources": fields["resources"]})
    return pod


def _putting(key: str, fields: Mapping[str, Any]) -> Callable[[_Entry], _Pod]:
    """Return a function that puts the configuration's entries of a kind into a container or pod; without any it stays
    as it is."""
    new = mappings(fields.get(key))
    return lambda holder: {**holder, key: _named_over(mappings(holder.get(key)), new)} if new else dict(holder)


def _each_container(pod: _Pod, change: Callable[[_Entry], _Entry]) -> _Pod:
    containers = [change(container) for container in mappings(pod.get("containers"))]
    return {**pod, "containers": containers} if containers else pod


def _named_over(there: list[_Entry], new: Sequence[_Entry]) -> list[_Entry]:
    """Entries, each new one in the place of the last one of its name, else behind all others.

    A name counts if the bundle has it: a volume that the configuration mounts twice is mounted twice.
    """
    places = {entry.get("name"): index for index, entry in enumerate(there)}
    merged = list(there)
    for entry in new:
        place = places.get(entry.get("name"))
        if place is None:
            merged.append(entry)
        else:
            merged[place] = entry
    return merged


def _united(entries: Any, new: Sequence[_Entry]) -> list[_Entry]:
    united = mappings(entries)
    for entry in new:
        if entry not in united:
            united.append(entry)
    return united


def _put(pod: _Pod, key: str, value: Any) -> _Pod:
    others = {name: field for name, field in pod.items() if name != key}
    return {**others, key: value} if value else others


def _merged_affinity(current: _Entry, override: _Entry) -> _Entry:
    """The affinity with those of its parts replaced that the configuration has; one without terms removes its part."""
    if not override:
        return {}
    merged = dict(current)
    for part in _AFFINITIES:
        if part in override:
            merged.pop(part, None)
            merged |= {} if _is_empty(override[part]) else {part: override[part]}
    # Parts without terms that the bundle has stay, unless nothing else is left.
    return {} if all(_is_empty(part) for part in merged.values()) else merged


def _is_empty(affinity: _Entry) -> bool:
    """Return whether a part of an affinity has no terms: of a nodeAffinity, what is required may be there and have
    none."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    rest = {key: value for key, value in affinity.items() if key != required}
    terms = affinity.get(required)
    return not rest and not (mapping(terms).get("nodeSelectorTerms") if isinstance(terms, dict) else terms)


def _with_annotations(metadata: _Entry, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with the configuration's annotations; those that are there already stay."""
    added = mapping(fields.get("annotations"))
    if not added:
        return dict(metadata)
    merged = {**added, **annotations_of({"metadata": metadata})}
    return {**metadata, "annotations": dict(sorted(merged.items()))}


_NAMES = frozenset(name for name, *_ in CERTIFICATE_VOLUMES)
_PATHS = frozenset(path for _, path, *_ in CERTIFICATE_VOLUMES)


def service_name(deployment: str) -> str:
    """The name of the Service before a Deployment's webhooks (R-V1-GEN-9)."""
    return joined_name(deployment.replace(".", "-"), "service")


def secret_name(deployment: str) -> str:
    """The name of the Secret with its certificate, and of the Certificate (R-V1-GEN-9)."""
    return joined_name(service_name(deployment), "cert")


def with_certificate_volumes(pod: Mapping[str, Any], deployment: str) -> dict[str, Any]:
    """A pod spec with the certificate in every container, instead of what is mounted at its places (R-V1-CERT-1)."""
    containers = mappings(pod.get("containers"))
    mounts = [mount for container in containers for mount in mappings(container.get("volumeMounts"))]
    replaced = _NAMES | {text(mount.get("name")) for mount in mounts if mount.get("mountPath") in _PATHS}
    return {
        **pod,
        "containers": [
            {
                **container,
                "volumeMounts": [
                    *(m for m in mappings(container.get("volumeMounts")) if text(m.get("name")) not in replaced),
                    *({"name": name, "mountPath": path} for name, path, *_ in CERTIFICATE_VOLUMES),
                ],
            }
            for container in containers
        ],
        "volumes": [
            *(volume for volume in mappings(pod.get("volumes")) if text(volume.get("name")) not in replaced),
            *(certificate_volume(name, secret_name(deployment)) for name, *_ in CERTIFICATE_VOLUMES),
        ],
    }


def with_injected_ca(
    obj: KubernetesObject, deployment: str, namespace: str, provider: Certificates
) -> KubernetesObject:
    """A webhook configuration or CRD with the annotation by which the provider fills in its caBundle (R-V1-CERT-2,
    R-V1-CERT-3)."""
    if provider == "none":
        return obj
    if provider == "cert-manager":
        return _annotated(obj, "cert-manager.io/inject-ca-from", f"{namespace}/{secret_name(deployment)}")
    return _annotated(obj, "service.beta.openshift.io/inject-cabundle", "true")


def with_serving_certificate(service: KubernetesObject, deployment: str, provider: Certificates) -> KubernetesObject:
    """A Service with the annotation by which service-ca writes its Secret (R-V1-CERT-3)."""
    if provider != "service-ca":
        return service
    return _annotated(service, "service.beta.openshift.io/serving-cert-secret-name", secret_name(deployment))


def _annotated(obj: KubernetesObject, key: str, value: str) -> KubernetesObject:
    annotations = dict(sorted({**annotations_of(obj), key: value}.items()))
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def certificate_objects(deployment: str, namespace: str, provider: Certificates) -> Iterator[KubernetesObject]:
    """Yield the objects by which cert-manager issues a Deployment's certificate; other providers need no objects
    (R-V1-GEN-12)."""
    if provider != "cert-manager":
        return
    certificate = secret_name(deployment)
    issuer = joined_name(certificate, "selfsigned-issuer")
    host = f"{service_name(deployment)}.{namespace}"
    spec = {
        "commonName": host,
        "dnsNames": [host, f"{host}.svc", f"{host}.svc.cluster.local"],
        "duration": "17520h0m0s",
        "renewBefore": "24h0m0s",
        "issuerRef": {"name": issuer},
        "secretName": certificate,
        "usages": ["server auth"],
    }
    for kind, name, content in (("Issuer", issuer, {"selfSigned": {}}), ("Certificate", certificate, spec)):
        metadata = {"name": name, "namespace": namespace}
        yield {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": content}


def serving_deployments(webhooks: list[Mapping[str, Any]]) -> frozenset[str]:
    """The names of the Deployments that webhooks are in, conversion webhooks included."""
    return frozenset(text(webhook.get("deploymentName")) for webhook in webhooks)


def matched_labels(deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    """The labels of the pods of an entry of an install strategy, by its selector."""
    return mapping(mapping(spec_of(deployment).get("selector")).get("matchLabels"))


_READ_NAMESPACES = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
_ADMISSION_V1 = "admissionregistration.k8s.io/v1"


class Installation(NamedTuple):
    """The installation of a bundle: the namespace, the namespaces that it watches ("" alone: all), the issuer of
    certificates, the configuration of its Deployments, and whether their pods name its namespace (R-V1-REL-1)."""

    namespace: str
    targets: tuple[str, ...]
    certificates: Certificates = "none"
    config: DeploymentConfig = NO_CONFIG
    sets_operator_namespace: bool = False

    @property
    def watches_all(self) -> bool:
        return self.targets == ("",)


def generate(bundle: RegistryBundle, installation: Installation) -> list[KubernetesObject]:
    """All objects, in the order of operator-controller. Raises BundleError (R-V1-GEN-6)."""
    return [obj for generator in _GENERATORS for obj in generator(bundle, installation)]


def _account_of(permission: Mapping[str, Any]) -> str:
    """The ServiceAccount that a permission is for; without a name, that of every namespace."""
    return text(permission.get("serviceAccountName")) or "default"


def _permissions(bundle: RegistryBundle, key: str) -> list[Mapping[str, Any]]:
    return mappings(bundle.strategy.get(key))


def _service_accounts(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """One for each name in the permissions, but for that which every namespace has (R-V1-GEN-3)."""
    permissions = _permissions(bundle, "permissions") + _permissions(bundle, "clusterPermissions")
    # Kubernetes makes the account `default` in every namespace; to own it would be to delete it on removal.
    for name in sorted(set(map(_account_of, permissions)) - {"default"}):
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": at.namespace}}


def _roles(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """In each namespace that is watched; who watches all gets ClusterRoles instead (R-V1-GEN-4)."""
    for target in () if at.watches_all else at.targets:
        for permission in _permissions(bundle, "permissions"):
            yield from _granted(bundle, permission, at.namespace, target)


def _cluster_roles(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """Also what would be Roles, where all namespaces are watched, with the right to see these (R-V1-GEN-5)."""
    permissions = _permissions(bundle, "clusterPermissions")
    # Who watches all namespaces lists them to see that new ones come, which OLM v0 grants by the group's ClusterRole.
    for permission in _permissions(bundle, "permissions") if at.watches_all else ():
        permissions.append({**permission, "rules": [*(permission.get("rules") or ()), _READ_NAMESPACES]})
    for permission in permissions:
        yield from _granted(bundle, permission, at.namespace, "")


def _granted(
    bundle: RegistryBundle, permission: Mapping[str, Any], home: str, target: str
) -> Iterator[KubernetesObject]:
    """The role for a permission and its binding, in the namespace `target`, or in none (R-V1-GEN-2)."""
    account = _account_of(permission)
    # The hash is of the permission as it is written there, so of an account without a name.
    name = joined_name(f"{bundle.name}-{account}", h36(encode_decoded(permission) + b"\n"))
    metadata = {"name": name, **({"namespace": target} if target else {})}
    role = "Role" if target else "ClusterRole"
    yield {"apiVersion": RBAC_V1, "kind": role, "metadata": metadata, "rules": permission.get("rules")}
    yield {
        "apiVersion": RBAC_V1,
        "kind": f"{role}Binding",
        "metadata": metadata,
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
    }


def _crds(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """The CRDs, those that a webhook converts with its address (R-V1-GEN-6). Raises BundleError."""
    webhooks_by_crd = {
        crd: webhook
        for webhook in bundle.webhooks
        if webhook.get("type") == CONVERSION
        for crd in texts(webhook.get("conversionCRDs"))
    }
    for crd in bundle.crds:
        webhook = webhooks_by_crd.get(name_of(crd))
        yield crd if webhook is None else _converted(crd, webhook, at)


def _converted(crd: KubernetesObject, webhook: Mapping[str, Any], at: Installation) -> KubernetesObject:
    # The API server refuses such a CRD; the controller says so before anything is written.
    if spec_of(crd).get("preserveUnknownFields"):
        raise BundleError(
            f"custom resource definition '{name_of(crd)}' must have .spec.preserveUnknownFields set to false to let "
            "API Server call webhook to do the conversion"
        )
    deployment = text(webhook.get("deploymentName"))
    address = _webhook_address({**webhook, "webhookPath": webhook.get("webhookPath", "/")}, at)
    called = {"clientConfig": address, "conversionReviewVersions": webhook.get("admissionReviewVersions")}
    spec = {**crd["spec"], "conversion": {"strategy": "Webhook", "webhook": called}}
    return with_injected_ca({**crd, "spec": spec}, deployment, at.namespace, at.certificates)


def _webhook_address(webhook: Mapping[str, Any], at: Installation) -> dict[str, Any]:
    """Return where the API server calls a webhook; a port that is not given is written as 0 (R-V1-GEN-10)."""
    path = {} if webhook.get("webhookPath") is None else {"path": webhook["webhookPath"]}
    name = service_name(text(webhook.get("deploymentName")))
    return {"service": {"namespace": at.namespace, "name": name, **path, "port": webhook.get("containerPort") or 0}}


def _others(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """All other objects as they are, what has a namespace in that of the installation (R-V1-GEN-7)."""
    for obj in bundle.others:
        namespaced = obj["kind"] in NAMESPACED_KINDS
        yield {**obj, "metadata": {**metadata_of(obj), "namespace": at.namespace}} if namespaced else obj


def _deployments(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """The Deployments of the install strategy (R-V1-GEN-8)."""
    serving = serving_deployments(bundle.webhooks)
    for entry in bundle.deployments:
        name, labels = text(entry.get("name")), mapping(entry.get("label"))
        spec = mapping(entry.get("spec"))
        template = mapping(spec.get("template"))
        # As in OLM v0 the CSV's annotations go onto the pods: operators read their target namespaces from there.
        home = {OPERATOR_NAMESPACE: at.namespace} if at.sets_operator_namespace else {}
        annotations = {**annotations_of(bundle.csv), **annotations_of(template), TARGETS: ",".join(at.targets), **home}
        pod = dict(spec_of(template))
        # Without a provider the renderer still makes the Deployment; the support checks have refused the bundle before.
        if name in serving and at.certificates != "none":
            pod = with_certificate_volumes(pod, name)
        metadata = {**metadata_of(template), "annotations": dict(sorted(annotations.items()))}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": at.namespace, **({"labels": dict(labels)} if labels else {})},
            "spec": {**spec, "template": {**template, "metadata": metadata, "spec": pod}, "revisionHistoryLimit": 1},
        }
        yield configured_deployment(deployment, at.config)


def _webhook_configurations(kind: str) -> Callable[[RegistryBundle, Installation], Iterator[KubernetesObject]]:
    """Return a function that makes the configurations for webhooks of a kind, one for each of them (R-V1-GEN-10)."""
    # In the order of Go's type, which has reinvocationPolicy where a webhook can change objects.
    optional = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "timeoutSeconds", "reinvocationPolicy")

    def generator(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
        for webhook in bundle.webhooks:
            if webhook.get("type") != kind:
                continue
            # OLM v0 leaves the rest of the name to the API server; here names are fixed, so that an upgrade finds its
            # objects.
            name = text(webhook.get("generateName")).removesuffix("-")
            called = {
                "name": name,
                "clientConfig": _webhook_address(webhook, at),
                **{key: webhook[key] for key in optional if key in webhook and not _is_foreign(key, kind)},
                **_namespace_selector(at),
                "sideEffects": webhook.get("sideEffects"),
                "admissionReviewVersions": webhook.get("admissionReviewVersions"),
            }
            configuration = {
                "apiVersion": _ADMISSION_V1,
                "kind": kind.replace("AdmissionWebhook", "WebhookConfiguration"),
                # The API server drops the namespace of what belongs to the cluster; it is written all the same.
                "metadata": {"name": name, "namespace": at.namespace},
                "webhooks": [called],
            }
            yield with_injected_ca(configuration, text(webhook.get("deploymentName")), at.namespace, at.certificates)

    return generator


def _is_foreign(key: str, kind: str) -> bool:
    return key == "reinvocationPolicy" and kind != MUTATING


def _namespace_selector(at: Installation) -> dict[str, Any]:
    if at.watches_all:
        return {}
    expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(at.targets)}
    return {"namespaceSelector": {"matchExpressions": [expression]}}


def _services(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    """One Service before each Deployment that webhooks are in (R-V1-GEN-11)."""
    serving = serving_deployments(bundle.webhooks)
    for entry in bundle.deployments:
        name = text(entry.get("name"))
        if name not in serving:
            continue
        webhooks = [webhook for webhook in bundle.webhooks if webhook.get("deploymentName") == name]
        labels = matched_labels(entry)
        spec = {"ports": _ports(webhooks), **({"selector": dict(labels)} if labels else {})}
        metadata = {"name": service_name(name), "namespace": at.namespace}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        yield with_serving_certificate(service, name, at.certificates)


def _ports(webhooks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    pairs = set()
    for webhook in webhooks:
        port = webhook.get("containerPort") or 0
        # A Service needs a port where the webhook configuration may leave it to the API server.
        port = port if port > 0 else 443
        target = webhook.get("targetPort")
        pairs.add((port, port if target is None else target))
    # The port 80 and one that is called "80" are two, which only their types tell apart.
    ordered = sorted(pairs, key=lambda pair: (pair[0], _port_number(pair[1]), str(pair[1]), isinstance(pair[1], str)))
    return [{"name": str(port), "port": port, "targetPort": target} for port, target in ordered]


def _port_number(target: int | str) -> int:
    """A port as a number; one with a name counts as none, unless the name is a number."""
    if isinstance(target, int):
        return target
    if not (target.isascii() and target.isdigit()):
        return 0
    number = decimal(target)
    return MAX_INT64 if number is None else number


def _certificates(bundle: RegistryBundle, at: Installation) -> Iterator[KubernetesObject]:
    for name in sorted(serving_deployments(bundle.webhooks)):
        yield from certificate_objects(name, at.namespace, at.certificates)


_GENERATORS = (
    _service_accounts,
    _roles,
    _cluster_roles,
    _crds,
    _others,
    _deployments,
    _webhook_configurations(VALIDATING),
    _webhook_configurations(MUTATING),
    _services,
    _certificates,
)


# The feature gates of operator-controller, by the profile of an OLM version (R-V1-FG-1 … 4).


class FeatureGates(NamedTuple):
    """The open gates of operator-controller; a field's name is the gate's in Python's spelling."""

    webhook_provider_cert_manager: bool = False
    webhook_provider_openshift_service_ca: bool = False
    single_own_namespace_install_support: bool = False
    deployment_config: bool = False
    preflight_permissions: bool = False
    boxcutter_runtime: bool = False
    bundle_release_support: bool = False
    helm_chart_support: bool = False
    synthetic_permissions: bool = False
    force_semver_upgrade_constraints: bool = False


def gates_of(version: str) -> FeatureGates:
    """The gates in the profile of an OLM version, such as `v1` or `ocp-4.20` (R-V1-FG-1, R-V1-FG-4).

    Raises UnknownVersionError.
    """
    return open_gates(profile_of(version).feature_gates)


def open_gates(names: Iterable[str]) -> FeatureGates:
    """The gates with these open, by the names that operator-controller has for them. Raises KeyError for an unknown."""
    return FeatureGates(**{_FIELDS[name]: True for name in names})


def certificate_provider(gates: FeatureGates) -> Certificates:
    """Return who issues the certificates of webhooks; both gates open mean cert-manager (R-V1-FG-2)."""
    if gates.webhook_provider_cert_manager:
        return "cert-manager"
    return "service-ca" if gates.webhook_provider_openshift_service_ca else "none"


def _gate(field: str) -> str:
    return "".join(part.upper() if part == "ca" else part.capitalize() for part in field.split("_"))


_FIELDS = {_gate(field): field for field in FeatureGates._fields}


# The objects that a ClusterExtension makes of a bundle: support checks, configuration, validators, options and
# generators, one after the other (R-V1-PIPE, R-V1-LOAD-6, R-V1-OPT-1).

_SUPPORTED_MODES = (ALL_NAMESPACES, SINGLE_NAMESPACE, OWN_NAMESPACE)


class InstallRequest(NamedTuple):
    """What a ClusterExtension asks for: the namespace, the configuration (None: it has none; a text is YAML) and the
    gates of the controller. `certificates` takes the place of the provider that the gates choose.
    `sets_operator_namespace`: pod templates name the namespace of the operator (R-V1-REL-1)."""

    namespace: str
    gates: FeatureGates
    config: Mapping[str, Any] | str | None = None
    certificates: Certificates | None = None
    sets_operator_namespace: bool = False

    @property
    def provider(self) -> Certificates:
        return certificate_provider(self.gates) if self.certificates is None else self.certificates


def render_bundle(bundle: RegistryBundle, request: InstallRequest) -> tuple[KubernetesObject, ...]:
    """The objects of a bundle as its ClusterExtension has them rendered, sorted.

    Raises BundleError with what the controller reports.
    """
    _check_support(bundle, request)
    config = _read_config(bundle, request)
    targets = None if config.get("watchNamespace") is None else (text(config["watchNamespace"]),)
    deployments = read_deployment_config(config.get("deploymentConfig"))
    return render_objects(
        bundle, request.namespace, targets, request.provider, deployments,
        sets_operator_namespace=request.sets_operator_namespace,
    )  # fmt: skip


def render_objects(
    bundle: RegistryBundle,
    namespace: str,
    targets: Sequence[str] | None = None,
    certificates: Certificates = "none",
    config: DeploymentConfig = NO_CONFIG,
    *,
    sets_operator_namespace: bool = False,
) -> tuple[KubernetesObject, ...]:
    """The objects for the namespaces that are watched, None for as many as the bundle supports; sorted.

    Raises BundleError.
    """
    # All validators run before anything is generated, so that an author sees all errors at once.
    errors = validation_errors(bundle)
    if errors:
        raise BundleError("\n".join(errors))
    if targets is None:
        # Of several modes that a bundle supports the widest is the default; the others need a configuration.
        targets = ("",) if ALL_NAMESPACES in bundle.install_modes else ()
    _check_targets(bundle, namespace, targets)
    installation = Installation(namespace, tuple(targets), certificates, config, sets_operator_namespace)
    objects = generate(bundle, installation)
    return _sorted(objects)


def _sorted(objects: list[KubernetesObject]) -> tuple[KubernetesObject, ...]:
    """Objects by API, kind, namespace and name, as upstream has some of them in random order; two of one name stay in
    the order of the generators."""
    return tuple(sorted(objects, key=_sort_key))


def _sort_key(obj: KubernetesObject) -> tuple[str, ...]:
    metadata = metadata_of(obj)
    return text(obj.get("apiVersion")), obj["kind"], text(metadata.get("namespace")), text(metadata.get("name"))


def _check_support(bundle: RegistryBundle, request: InstallRequest) -> None:
    """Raise BundleError for a bundle that operator-controller does not install at all (R-V1-LOAD-6)."""
    modes = bundle.install_modes
    problem = hint = ""
    if mapping(spec_of(bundle.csv).get("apiservicedefinitions")).get("owned"):
        problem = "apiServiceDefintions are not supported"  # spelt like this
        hint = "Keep the operator on OLM v0: OLM v1 can't serve an API by an API server of the operator's own."
    elif bundle.webhooks and request.provider == "none":
        problem = "webhookDefinitions are not supported"
        hint = _webhooks_way_out(is_chosen=request.certificates is not None)
    elif not request.gates.single_own_namespace_install_support and ALL_NAMESPACES not in modes:
        problem = "bundle does not support AllNamespaces install mode"
        known, _ = releases_with("SingleOwnNamespaceInstallSupport")
        hint = (
            "Open the gate SingleOwnNamespaceInstallSupport, as --olm-version v1-experimental does, and give --watch, "
            f"or watchNamespace in spec.config.inline. operator-controller has this gate since {known}. Without it the "
            "operator needs a Subscription of OLM v0."
        )
    elif not set(modes) & set(_SUPPORTED_MODES):
        problem = f"bundle must support at least one of {go_list(_SUPPORTED_MODES)} install modes"
        hint = "Keep the operator on OLM v0: a ClusterExtension watches all namespaces or one."
    if problem:
        raise BundleError(f"unsupported bundle: {problem}", hint=hint)


def _webhooks_way_out(*, is_chosen: bool) -> str:
    """What installs a bundle with webhooks: a provider of certificates, or a release that has one; `is_chosen`: the
    request, and no release, leaves the provider out."""
    if is_chosen:
        return "Somebody has to issue the certificates: choose cert-manager or service-ca, by --certs or the profile."
    gate = "WebhookProviderCertManager"
    known, opened = releases_with(gate)
    return (
        f"operator-controller {opened} and later install webhooks, with certificates of cert-manager; releases from "
        f"{known} on do so with the gate {gate}. --olm-version {opened} compiles for {opened}."
    )


def _read_config(bundle: RegistryBundle, request: InstallRequest) -> Mapping[str, Any]:
    """Return the configuration, {} where the operator-controller does not read it (R-V1-CFG-2). Raises BundleError."""
    if request.config is None and not request.gates.single_own_namespace_install_support:
        return {}

    value = parse_config(request.config) if isinstance(request.config, str) else request.config
    schema = config_schema(bundle, with_deployment_config=request.gates.deployment_config)
    # A bundle may require watchNamespace, so that no configuration at all is wrong as well.
    check_config({} if request.config is None else value, schema, request.namespace)
    return mapping(value)


def _check_targets(bundle: RegistryBundle, namespace: str, targets: Sequence[str]) -> None:
    """Raise BundleError for namespaces that the bundle can't watch (R-V1-OPT-1)."""
    modes = bundle.install_modes
    several = MULTI_NAMESPACE in modes
    problem = ""
    if not targets:
        problem = f"{'at least' if several else 'exactly'} one target namespace must be specified"
    elif list(targets) == [""]:
        problem = "" if ALL_NAMESPACES in modes else "targeting all namespaces"
    elif namespace in targets and OWN_NAMESPACE not in modes and (len(targets) == 1 or several):
        problem = "targeting own namespace"
    elif list(targets) != [namespace] and (
        "" in targets or (SINGLE_NAMESPACE if len(targets) == 1 else MULTI_NAMESPACE) not in modes
    ):
        problem = f"target namespaces {go_list(targets)}"
    if problem and targets:
        problem = f"supported install modes {go_list(modes)} do not support {problem}"
    if problem:
        raise BundleError(f"invalid option(s): invalid target namespaces {go_list(targets)}: {problem}")
