"""Output for apply in two phases, since some of it needs APIs that it brings itself; and who issues certificates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import Options, Phase, Profile
from olmc.compiler.olm.facts import group_by_label, serves_catalog
from olmc.compiler.olm.naming import COMPONENT_PREFIX, CONDITION_NAME
from olmc.compiler.reconcile.deployments import Serving, servings
from olmc.compiler.render.webhooks import RenderContext, rendered
from olmc.compiler.rules.findings import output as rules
from olmc.compiler.rules.findings.lints import TOO_LARGE_TO_APPLY
from olmc.k8s.api.applied import applied_size, is_applied_by_server, is_surely_small
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT
from olmc.k8s.diagnostics import Diagnostic, Location, OversizedAnnotations, Report, Severity, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    OLM_GROUP,
    GroupKind,
    KubernetesObject,
    ObjectKey,
    Origin,
    Rendered,
    annotations_of,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    namespace_of,
    object_key,
    spec_of,
    text,
)
from olmc.k8s.yaml import at, locate

CERT_MANAGER = "cert-manager.io"
CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def in_phase(phase: Phase, selected: tuple[Rendered, ...], objects: Iterable[Rendered]) -> tuple[Rendered, ...]:
    """Those of the `selected` objects that are in a phase of the output as a whole; all of them without one."""
    if not phase:
        return selected
    # The phase of an object must not depend on which kinds somebody prints.
    second = second_phase([entry.object for entry in objects])
    return tuple(entry for entry in selected if (entry.identity in second) == (phase == 2))


def second_phase(objects: Sequence[KubernetesObject]) -> frozenset[ObjectKey]:
    """Those objects that can be applied only when the others work.

    These are the custom resources of CRDs among the objects, since their API is served only once the CRD is established
    and its webhooks answer; the workloads that need the Secrets of Certificates among these, since they do not start
    before they are issued; and the webhook configurations and API services that call these workloads, since they refuse
    requests until somebody answers. Where the CRDs are not among the objects, somebody else serves the API already.
    """
    kinds = defined_kinds(objects)
    customs = [obj for obj in objects if gvk_of(obj).group_kind in kinds]
    secrets = frozenset(_issued_secrets(customs))
    waiting = [obj for obj in objects if secrets & set(_needed_secrets(obj))] if secrets else []
    services = frozenset(_services_of(waiting, objects)) if waiting else frozenset()
    # A CRD is served before its conversion answers, and has to be there for what comes second.
    others = [obj for obj in objects if services and obj["kind"] != CRD_KIND]
    callers = [obj for obj in others if services & set(_called_services(obj))]
    return frozenset(object_key(obj) for obj in (*customs, *waiting, *callers))


def defined_kinds(objects: Iterable[KubernetesObject]) -> frozenset[GroupKind]:
    """The kinds that the CRDs among the objects define."""
    crds = (Crd(obj) for obj in objects if obj["kind"] == CRD_KIND)
    return frozenset(GroupKind(crd.group, crd.kind) for crd in crds)


def is_issued(obj: KubernetesObject) -> bool:
    """Return whether an object is one of cert-manager's, such as an Issuer or a Certificate."""
    return object_key(obj).group == CERT_MANAGER


def _issued_secrets(objects: Iterable[KubernetesObject]) -> Iterator[NamespacedName]:
    """The Secrets that Certificates fill."""
    for obj in objects:
        if is_issued(obj) and obj["kind"] == "Certificate":
            yield NamespacedName(object_key(obj).namespace, text(spec_of(obj).get("secretName")))


def _needed_secrets(obj: KubernetesObject) -> Iterator[NamespacedName]:
    """The Secrets that the pods of a workload can't start without: mounted, or read by variables, and not optional."""
    pod = spec_of(_template(obj))
    for reference, key in (*_volume_secrets(pod), *_variable_secrets(pod)):
        name = reference.get(key)
        if isinstance(name, str) and reference.get("optional") is not True:
            yield NamespacedName(object_key(obj).namespace, name)


def _volume_secrets(pod: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The references to Secrets in the volumes of a pod, each with the key that has the name."""
    for volume in mappings(pod.get("volumes")):
        yield mapping(volume.get("secret")), "secretName"
        for source in mappings(mapping(volume.get("projected")).get("sources")):
            yield mapping(source.get("secret")), "name"


def _variable_secrets(pod: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The references to Secrets in the environment of a pod's containers, each with the key that has the name."""
    for container in (*mappings(pod.get("initContainers")), *mappings(pod.get("containers"))):
        for variable in mappings(container.get("env")):
            yield mapping(mapping(variable.get("valueFrom")).get("secretKeyRef")), "name"
        for source in mappings(container.get("envFrom")):
            yield mapping(source.get("secretRef")), "name"


def _template(obj: KubernetesObject) -> Mapping[str, Any]:
    """Return the template of a workload's pods; a Pod is its own."""
    spec = spec_of(obj)
    if object_key(obj)[:2] == ("", "Pod"):
        return obj
    if object_key(obj)[:2] == ("batch", "CronJob"):
        spec = spec_of(mapping(spec.get("jobTemplate")))
    return mapping(spec.get("template"))


def _services_of(
    workloads: Iterable[KubernetesObject], objects: Iterable[KubernetesObject]
) -> Iterator[NamespacedName]:
    """The Services that select the pods of workloads."""
    pods = [(object_key(obj).namespace, _labels(obj)) for obj in workloads]
    for obj in objects:
        if object_key(obj)[:2] != ("", "Service"):
            continue
        selector = mapping(spec_of(obj).get("selector"))
        home = object_key(obj).namespace
        if selector and any(home == namespace and selector.items() <= labels.items() for namespace, labels in pods):
            yield NamespacedName(home, object_key(obj).name)


def _labels(obj: KubernetesObject) -> Mapping[str, Any]:
    return labels_of(_template(obj))


def _called_services(obj: KubernetesObject) -> Iterator[NamespacedName]:
    """The Services that a webhook configuration, an API service or the conversion of a CRD calls."""
    if obj["kind"] in CONFIGURATIONS:
        clients = [mapping(hook.get("clientConfig")) for hook in mappings(obj.get("webhooks"))]
    elif obj["kind"] == CRD_KIND:
        clients = [Crd(obj).client_config]
    else:
        clients = [spec_of(obj)] if obj["kind"] == "APIService" else []
    for client in clients:
        service = mapping(client.get("service"))
        if service:
            yield NamespacedName(text(service.get("namespace")), text(service.get("name")))


_API_VERSION = f"{CERT_MANAGER}/v1"
_FROM_CERTIFICATE = "cert-manager.io/inject-ca-from"
_FROM_SECRET = "cert-manager.io/inject-ca-from-secret"
_SERVICE_CA_SECRET = "service.beta.openshift.io/serving-cert-secret-name"
_SERVICE_CA = "service.beta.openshift.io/inject-cabundle"
_ISSUING = ("Issuer", "Certificate")


class Backend(NamedTuple):
    """The backend of a Service: the Secret with its certificate, and whether cert-manager can issue that."""

    secret: str
    issued: bool


Backends = Mapping[NamespacedName, Backend]


def backends(context: RenderContext) -> Backends:
    """Return the backend of each serving Service, by namespace and name."""
    services: dict[NamespacedName, Backend] = {}
    for member, _ in context.installed():
        for serving in servings(context.profile, member.csv):
            backend = Backend(serving.names["secret"], issued=not _is_cert_manager(member.csv))
            services[NamespacedName(member.csv.namespace, serving.names["service"])] = backend
    return services


def _is_cert_manager(csv: Csv) -> bool:
    """Return whether an operator is what issues certificates.

    It can't issue its own: for each it creates a CertificateRequest, which its webhook has to admit first.
    """
    return any(api.key.group == CERT_MANAGER and api.key.kind in _ISSUING for api in csv.owned_apis)


def with_injection(obj: KubernetesObject, certificates: str, services: Backends) -> KubernetesObject:
    """Annotations by which cert-manager or the service CA find what they have to fill in."""
    if certificates == "none":
        return obj
    if obj["kind"] == "Service":
        key = NamespacedName(namespace_of(obj), obj["metadata"]["name"])
        if certificates == "service-ca" and key in services:
            return _annotate(obj, _SERVICE_CA_SECRET, services[key].secret)
        return obj
    # OLM makes a configuration of its own for each webhook, so there is one Service at the most (R-WH-3).
    service = next(_called_services(obj), NamespacedName("", ""))
    if service not in services:
        return obj
    if certificates == "cert-manager":
        backend = services[service]
        return _annotate(
            obj, _FROM_CERTIFICATE if backend.issued else _FROM_SECRET, f"{service.namespace}/{backend.secret}"
        )
    return _annotate(obj, _SERVICE_CA, "true")


def _annotate(obj: KubernetesObject, key: str, value: str) -> KubernetesObject:
    annotations = {**annotations_of(obj), key: value}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def issued_objects(context: RenderContext) -> Iterator[Rendered]:
    """cert-manager's objects for every serving Deployment but its own: a self-signed Issuer and a Certificate."""
    if context.options.certificates != "cert-manager":
        return
    for member, _ in context.installed():
        for serving in servings(context.profile, member.csv) if not _is_cert_manager(member.csv) else ():
            for obj in _issuing_objects(context.profile, member.csv, serving):
                yield rendered(obj, "certificates", "--certs cert-manager", member.csv.source)


def _issuing_objects(profile: Profile, csv: Csv, serving: Serving) -> Iterator[KubernetesObject]:
    name, service = serving.names["secret"], serving.names["service"]
    metadata = {"name": name, "namespace": csv.namespace}
    yield {"apiVersion": _API_VERSION, "kind": "Issuer", "metadata": metadata, "spec": {"selfSigned": {}}}
    # The names by which OLM's own certificates go, so that clients need not know who has issued this one (R-CERT-3).
    hosts = [host.format(service=service, ns=csv.namespace) for host in profile.cert_sans]
    yield {
        "apiVersion": _API_VERSION,
        "kind": "Certificate",
        "metadata": metadata,
        "spec": {"dnsNames": hosts, "issuerRef": {"kind": "Issuer", "name": name}, "secretName": name},
    }


def report_certificates(context: RenderContext, report: Report) -> None:
    """Report the serving certificates without an issuer that are not among the manifests either."""
    certificates = context.options.certificates
    for csv in [member.csv for member, _ in context.installed()]:
        itself = certificates == "cert-manager" and _is_cert_manager(csv)
        for serving in servings(context.profile, csv) if itself or certificates == "none" else ():
            name, secret = serving.deployment.name, serving.names["secret"]
            if ObjectKey("", "Secret", csv.namespace, secret) in context.cluster.objects:
                continue
            rule = rules.OWN_CERTIFICATE if itself else rules.NO_CERTIFICATE
            place = locate(csv.source, ("spec",)) if csv.source else None
            report.add(rule.finding(place, deployment=name, namespace=csv.namespace, secret=secret))


# Output that runs without OLM: what `--for apply` leaves out, changes and adds, and what there is to say about it.

_OLM_GROUPS = (OLM_GROUP, "olm.operatorframework.io", "packages.operators.coreos.com", "olmc.dev")
_OLM_LABELS = ("olm.", COMPONENT_PREFIX, "operatorframework.io/")
_SERVER_FIELDS = frozenset(
    "creationTimestamp deletionGracePeriodSeconds deletionTimestamp generateName generation managedFields "
    "resourceVersion selfLink uid".split()
)


def for_apply(context: RenderContext, objects: Iterable[Rendered], report: Report) -> Iterator[Rendered]:
    """The objects that can be handed to Argo CD, Flux or kubectl on a cluster without OLM.

    OLM's own objects, its copies and its bookkeeping are left out; certificates come from what the options say.
    """
    services = backends(context)
    for whole in objects:
        if _is_olms_own(whole):
            continue
        if whole.provenance.origin is Origin.EXTENSION:
            yield whole  # in the form that is applied, with certificates of its own
            continue
        # Manifests of the user stay as they are: labels of OLM in them are intended, and certificates have another
        # issuer.
        if whole.provenance.origin is Origin.MANIFEST:
            yield Rendered(_without_server_fields(whole.object), whole.provenance)
            continue
        obj = _without_bookkeeping(whole.object)
        yield Rendered(with_injection(obj, context.options.certificates, services), whole.provenance)
    yield from issued_objects(context)
    report_certificates(context, report)


def _without_server_fields(obj: KubernetesObject) -> KubernetesObject:
    """A manifest of the workspace as its author wrote it, without what only an API server writes or reads."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def _is_olms_own(rendered: Rendered) -> bool:
    """Return whether an object only makes sense with OLM around."""
    origin = rendered.provenance.origin
    # A group's ClusterRoles may also lie there as manifests that were taken from a cluster.
    if group_by_label(rendered.object) is not None or serves_catalog(rendered.object):
        return True
    # Of what a certificate brings, the Secret alone is of no use: OLM would have filled it (R-CERT-2).
    if rendered.object.get("type") == "kubernetes.io/tls" and rendered.identity[:2] == ("", "Secret"):
        return origin is Origin.CERTIFICATE
    return rendered.identity.group in _OLM_GROUPS or origin in (Origin.OPERATOR_GROUP, Origin.OPERATOR_CONDITION)


def _without_bookkeeping(obj: KubernetesObject) -> KubernetesObject:
    # Owners and finalizers are OLM's: without OLM no controller would remove the finalizers.
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("ownerReferences", "finalizers", "generateName")}
    for field in ("labels", "annotations"):
        kept = {key: value for key, value in mapping(metadata.get(field)).items() if not _is_bookkeeping(key)}
        metadata.pop(field, None)
        if kept:
            metadata[field] = kept
    applied = {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}
    if obj["kind"] == "Deployment":
        applied["spec"] = _without_condition_name(obj["spec"])
    # A generated name changes with the content, and what is applied under a new name leaves the old object there (U-4).
    if obj["kind"] in CONFIGURATIONS:
        service = obj["webhooks"][0]["clientConfig"]["service"]
        metadata["name"] = f"{obj['webhooks'][0]['name']}-{service['namespace']}"
    return _without_ca_bundles(applied)


def _is_bookkeeping(key: str) -> bool:
    return key == "olmcahash" or key.startswith(_OLM_LABELS)


def _without_condition_name(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = mapping(spec.get("template"))
    pod = spec_of(template)
    containers = []
    for container in mappings(pod.get("containers")):
        env = [item for item in mappings(container.get("env")) if item.get("name") != CONDITION_NAME]
        others = {key: value for key, value in container.items() if key != "env"}
        containers.append({**others, "env": env} if env else others)
    metadata = dict(metadata_of(template))
    annotations = {k: v for k, v in annotations_of(template).items() if k != "olmcahash"}
    if annotations:
        metadata["annotations"] = annotations
    return {**spec, "template": {**template, "metadata": metadata, "spec": {**pod, "containers": containers}}}


def _without_ca_bundles(obj: KubernetesObject) -> KubernetesObject:
    """Remove empty CA bundles, as the issuer of the certificates fills them in."""
    if obj["kind"] in CONFIGURATIONS:
        return {**obj, "webhooks": [_without_bundle_in(hook) for hook in obj["webhooks"]]}
    spec = obj.get("spec")
    if obj["kind"] == "APIService" and spec:
        return {**obj, "spec": {key: value for key, value in spec.items() if key != "caBundle"}}
    webhook = mapping(Crd(obj).conversion.get("webhook")) if obj["kind"] == CRD_KIND else None
    if webhook and spec:
        conversion = {**spec["conversion"], "webhook": _without_bundle_in(webhook)}
        return {**obj, "spec": {**spec, "conversion": conversion}}
    return obj


def _without_bundle_in(hook: Mapping[str, Any]) -> dict[str, Any]:
    client = {key: value for key, value in mapping(hook.get("clientConfig")).items() if key != "caBundle" or value}
    return {**hook, "clientConfig": client}


_SHOWN = 3


def report_large(objects: Iterable[Rendered], options: Options, report: Report) -> None:
    """Report the objects that kubectl can't apply unless the server does it, as it does for Flux and the plugin of
    Argo CD."""
    if options.tool:
        return
    for whole in objects:
        source = whole.provenance.place.source if whole.provenance.place is not None else None
        if (source is not None and is_surely_small(source)) or is_applied_by_server(whole.object):
            continue
        size = applied_size(whole.object)
        if size > ANNOTATIONS_LIMIT:
            place = at(source) if source is not None else None
            large = TOO_LARGE_TO_APPLY.finding(place, identity=whole.identity, size=size, limit=ANNOTATIONS_LIMIT)
            report.add(large.caused_by(OversizedAnnotations(whole.identity.kind)))


def report_order(objects: Sequence[Rendered], options: Options, report: Report) -> None:
    """Report the custom resources that can't be applied together with what defines them.

    The plugin of Argo CD puts them into later waves, and Flux applies CRDs first; where cert-manager is to issue the
    certificate of its own webhook, that is not enough for Flux.
    """
    if options.phase or options.tool == "argocd":
        return
    second = second_phase([rendered.object for rendered in objects])
    kinds = defined_kinds(rendered.object for rendered in objects)
    customs = [rendered for rendered in objects if (rendered.identity.group, rendered.identity.kind) in kinds]
    issued = [rendered for rendered in customs if is_issued(rendered.object)]
    others = [rendered for rendered in customs if not is_issued(rendered.object)]
    waiting = [rendered for rendered in objects if rendered.identity in second and rendered not in customs]
    if issued and waiting:
        report.add(rules.ALL_AT_ONCE.finding(_place(issued), objects=_list_identities(issued)))
    # An object that waits for cert-manager is reported only once.
    beside = others if issued and waiting else customs
    if beside and not options.tool:
        report.add(rules.BESIDE_THEIR_CRD.finding(_place(beside), objects=_list_identities(beside)))


def _place(objects: Sequence[Rendered]) -> Location | None:
    """Return where the first of some objects comes from."""
    place = objects[0].provenance.place
    return locate(place.source, place.keys) if place is not None else None


def _list_identities(objects: Sequence[Rendered]) -> str:
    return join_limited([str(rendered.identity) for rendered in objects], _SHOWN)


def missing_operators(cluster: Cluster, found: Iterable[Diagnostic], further: Iterable[str] = ()) -> tuple[str, ...]:
    """Name the operators that a settled cluster lacks, each with the reason, and those in `further`; without any,
    the failures in `found`.

    An accepted finding does not create objects, so `found` includes the suppressed ones.
    """
    absent = (*_csvs(cluster), *_subscriptions(cluster), *further)
    if absent:
        return absent
    failures = (each for each in found if each.severity is Severity.FAILURE)
    return tuple(dict.fromkeys(f"{each.message} [{each.code}]" for each in failures))


def _csvs(cluster: Cluster) -> Iterator[str]:
    for name, member in sorted(cluster.members.items()):
        if not member.succeeded and member.phase != "Replacing":
            yield f"{name} ({member.phase or 'without a status'})"


def _subscriptions(cluster: Cluster) -> Iterator[str]:
    """Yield the Subscriptions that have installed nothing, and the reason, if their plan is not approved."""
    plans = (plan for plan in cluster.plans.values() if plan.phase == "RequiresApproval" and plan.csvs)
    waiting = {(plan.namespace, plan.name): plan.csvs[0] for plan in plans}
    for name, subscription in sorted(cluster.subscriptions.items()):
        if any(
            NamespacedName(name.namespace, csv) in cluster.csvs
            for csv in (subscription.installed, subscription.current)
        ):
            continue
        csv = waiting.get((name.namespace, subscription.plan))
        yield f"{name} (to be approved as {name.namespace}/{csv})" if csv else f"{name} (nothing is installed)"
