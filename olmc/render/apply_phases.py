"""Output for apply in two phases, since some of it needs APIs that it brings itself; and who issues certificates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.diagnostics.rules import output as rules
from olmc.kube.restmapper import Crd
from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.diagnostics import Report
from olmc.model.objects import (
    CRD_KIND,
    GroupKind,
    KubernetesObject,
    ObjectKey,
    Rendered,
    annotations_of,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    namespace_of,
    object_key,
    spec_of,
    text,
)
from olmc.model.operators import Csv
from olmc.model.options import Phase, Profile
from olmc.reconcile.serving import Serving, servings
from olmc.render.context import RenderContext, rendered
from olmc.yaml import locate

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
    """Whether an object is one of cert-manager's, such as an Issuer or a Certificate."""
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
    """What the pods of a workload are made from; a Pod is its own."""
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
    """What stands behind a Service: the Secret with its certificate, and whether cert-manager can issue that."""

    secret: str
    issued: bool


Backends = Mapping[NamespacedName, Backend]


def backends(context: RenderContext) -> Backends:
    """What stands behind each serving Service, by namespace and name."""
    services: dict[NamespacedName, Backend] = {}
    for member, _ in context.installed():
        for serving in servings(context.profile, member.csv):
            backend = Backend(serving.names["secret"], issued=not _is_cert_manager(member.csv))
            services[NamespacedName(member.csv.namespace, serving.names["service"])] = backend
    return services


def _is_cert_manager(csv: Csv) -> bool:
    """Whether an operator is what issues certificates.

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
    """Report the serving certificates that nobody issues, and that are not among the manifests either."""
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
