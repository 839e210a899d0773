"""Serving certificates without OLM: who issues them, and how webhooks and API services get to know the CA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from olmc.generate.apply_phases import CERT_MANAGER, CONFIGURATIONS
from olmc.generate.world import World, rendered
from olmc.kube.crd import CRD_KIND, Crd
from olmc.model.coerce import mapping
from olmc.model.diagnostic import Report
from olmc.model.objects import Identity, KubernetesObject, Rendered, annotations_of, as_text, namespace_of, spec_of
from olmc.model.operators import Csv
from olmc.model.profile import Profile
from olmc.rules import apply as rules
from olmc.settle.serving import Serving, servings
from olmc.yaml import locate

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


Backends = Mapping[tuple[str, str], Backend]


def backends(world: World) -> Backends:
    """What stands behind each serving Service, by namespace and name."""
    found: dict[tuple[str, str], Backend] = {}
    for member, _ in world.installed():
        for serving in servings(world.profile, member.csv):
            backend = Backend(serving.names["secret"], issued=not _is_cert_manager(member.csv))
            found[member.csv.namespace, serving.names["service"]] = backend
    return found


def _is_cert_manager(csv: Csv) -> bool:
    """Whether an operator is what issues certificates.

    It can't issue its own: for each it creates a CertificateRequest, which its webhook has to admit first.
    """
    return any(api.key.group == CERT_MANAGER and api.key.kind in _ISSUING for api in csv.owned_apis)


def with_injection(obj: KubernetesObject, certificates: str, behind: Backends) -> KubernetesObject:
    """Annotations by which cert-manager or the service CA find what they have to fill in."""
    if certificates == "none":
        return obj
    if obj["kind"] == "Service":
        key = (namespace_of(obj), obj["metadata"]["name"])
        if certificates == "service-ca" and key in behind:
            return _annotated(obj, _SERVICE_CA_SECRET, behind[key].secret)
        return obj
    service = _served_by(obj)
    if service not in behind:
        return obj
    if certificates == "cert-manager":
        backend = behind[service]
        return _annotated(obj, _FROM_CERTIFICATE if backend.issued else _FROM_SECRET, f"{service[0]}/{backend.secret}")
    return _annotated(obj, _SERVICE_CA, "true")


def _served_by(obj: KubernetesObject) -> tuple[str, str]:
    """The Service (namespace, name) that a webhook configuration, API service or CRD calls."""
    if obj["kind"] in CONFIGURATIONS:
        service = mapping(obj["webhooks"][0]["clientConfig"].get("service"))
    elif obj["kind"] == "APIService":
        service = mapping(spec_of(obj).get("service"))
    elif obj["kind"] == CRD_KIND:
        service = mapping(Crd(obj).client_config.get("service"))
    else:
        service = {}
    return as_text(service.get("namespace")), as_text(service.get("name"))


def _annotated(obj: KubernetesObject, key: str, value: str) -> KubernetesObject:
    annotations = {**annotations_of(obj), key: value}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def issued(world: World) -> Iterator[Rendered]:
    """cert-manager's objects for every serving Deployment but its own: a self-signed Issuer and a Certificate."""
    if world.options.certificates != "cert-manager":
        return
    for member, _ in world.installed():
        for serving in servings(world.profile, member.csv) if not _is_cert_manager(member.csv) else ():
            for obj in _issuing_objects(world.profile, member.csv, serving):
                yield rendered(obj, "certificates", "--certs cert-manager", member.csv.source)


def _issuing_objects(profile: Profile, csv: Csv, serving: Serving) -> Iterator[KubernetesObject]:
    name, service = serving.names["secret"], serving.names["service"]
    metadata = {"name": name, "namespace": csv.namespace}
    yield {"apiVersion": _API_VERSION, "kind": "Issuer", "metadata": metadata, "spec": {"selfSigned": {}}}
    hosts = [host.format(service=service, ns=csv.namespace) for host in profile.cert_sans]
    yield {
        "apiVersion": _API_VERSION,
        "kind": "Certificate",
        "metadata": metadata,
        "spec": {"dnsNames": hosts, "issuerRef": {"kind": "Issuer", "name": name}, "secretName": name},
    }


def report_certificates(world: World, report: Report) -> None:
    """Report the serving certificates that nobody issues, and that are not among the manifests either."""
    certificates = world.options.certificates
    for csv in [member.csv for member, _ in world.installed()]:
        itself = certificates == "cert-manager" and _is_cert_manager(csv)
        for serving in servings(world.profile, csv) if itself or certificates == "none" else ():
            name, secret = serving.deployment.name, serving.names["secret"]
            if Identity("", "Secret", csv.namespace, secret) in world.cluster.stock:
                continue
            rule = rules.OWN_CERTIFICATE if itself else rules.NO_CERTIFICATE
            place = locate(csv.source, ("spec",)) if csv.source else None
            report.add(rule.finding(place, deployment=name, namespace=csv.namespace, secret=secret))
