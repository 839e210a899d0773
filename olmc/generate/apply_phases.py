"""The two phases of an output for apply: what needs an API that the output itself brings comes second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.kube.crd import Crd
from olmc.model.coerce import mapping, mappings, text
from olmc.model.gvk import GroupKind, gvk_of
from olmc.model.objects import Identity, KubernetesObject, Rendered, identity, labels_of, spec_of
from olmc.model.options import Phase

CERT_MANAGER = "cert-manager.io"
CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")

_CRD = "CustomResourceDefinition"


class _Named(NamedTuple):
    """The namespace and name of a Secret or a Service."""

    namespace: str
    name: str


def in_phase(phase: Phase, wanted: tuple[Rendered, ...], objects: Iterable[Rendered]) -> tuple[Rendered, ...]:
    """Those of the `wanted` objects that are in a phase of the output as a whole; all of them without one."""
    if not phase:
        return wanted
    second = second_phase([found.object for found in objects])
    return tuple(found for found in wanted if (found.identity in second) == (phase == 2))


def second_phase(objects: Sequence[KubernetesObject]) -> frozenset[Identity]:
    """Those objects that can be applied only when the others work.

    These are the custom resources of CRDs among the objects, since their API is served only once the CRD is established
    and its webhooks answer; the workloads that need the Secrets of Certificates among these, since they do not start
    before they are issued; and the webhook configurations and API services that call these workloads, since they refuse
    requests until somebody answers. Where the CRDs are not among the objects, somebody else serves the API already.
    """
    kinds = defined_kinds(objects)
    customs = [obj for obj in objects if gvk_of(obj).group_kind in kinds]
    secrets = frozenset(_issued(customs))
    waiting = [obj for obj in objects if secrets & set(_needed(obj))] if secrets else []
    services = frozenset(_in_front_of(waiting, objects)) if waiting else frozenset()
    callers = [obj for obj in objects if services & set(_called(obj))] if services else []
    return frozenset(identity(obj) for obj in (*customs, *waiting, *callers))


def defined_kinds(objects: Iterable[KubernetesObject]) -> frozenset[GroupKind]:
    """The kinds that the CRDs among the objects define."""
    crds = (Crd(obj) for obj in objects if obj["kind"] == _CRD)
    return frozenset(GroupKind(crd.group, crd.kind) for crd in crds)


def is_issued(obj: KubernetesObject) -> bool:
    """Whether an object is one of cert-manager's, such as an Issuer or a Certificate."""
    return identity(obj).group == CERT_MANAGER


def _issued(objects: Iterable[KubernetesObject]) -> Iterator[_Named]:
    """The Secrets that Certificates fill."""
    for obj in objects:
        if is_issued(obj) and obj["kind"] == "Certificate":
            yield _Named(identity(obj).namespace, text(spec_of(obj).get("secretName")))


def _needed(obj: KubernetesObject) -> Iterator[_Named]:
    """The Secrets that the pods of a workload can't start without: mounted, or read by variables, and not optional."""
    pod = spec_of(_template(obj))
    for found, key in (*_of_volumes(pod), *_of_variables(pod)):
        name = found.get(key)
        if isinstance(name, str) and found.get("optional") is not True:
            yield _Named(identity(obj).namespace, name)


def _of_volumes(pod: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The references to Secrets in the volumes of a pod, each with the key that has the name."""
    for volume in mappings(pod.get("volumes")):
        yield mapping(volume.get("secret")), "secretName"
        for source in mappings(mapping(volume.get("projected")).get("sources")):
            yield mapping(source.get("secret")), "name"


def _of_variables(pod: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The references to Secrets in the environment of a pod's containers, each with the key that has the name."""
    for container in (*mappings(pod.get("initContainers")), *mappings(pod.get("containers"))):
        for variable in mappings(container.get("env")):
            yield mapping(mapping(variable.get("valueFrom")).get("secretKeyRef")), "name"
        for source in mappings(container.get("envFrom")):
            yield mapping(source.get("secretRef")), "name"


def _template(obj: KubernetesObject) -> Mapping[str, Any]:
    """What the pods of a workload are made from; a Pod is its own."""
    spec = spec_of(obj)
    if identity(obj)[:2] == ("", "Pod"):
        return obj
    if identity(obj)[:2] == ("batch", "CronJob"):
        spec = spec_of(mapping(spec.get("jobTemplate")))
    return mapping(spec.get("template"))


def _in_front_of(workloads: Iterable[KubernetesObject], objects: Iterable[KubernetesObject]) -> Iterator[_Named]:
    """The Services that select the pods of workloads."""
    pods = [(identity(obj).namespace, _labels(obj)) for obj in workloads]
    for obj in objects:
        if identity(obj)[:2] != ("", "Service"):
            continue
        selector = mapping(spec_of(obj).get("selector"))
        home = identity(obj).namespace
        if selector and any(home == namespace and selector.items() <= labels.items() for namespace, labels in pods):
            yield _Named(home, identity(obj).name)


def _labels(obj: KubernetesObject) -> Mapping[str, Any]:
    return labels_of(_template(obj))


def _called(obj: KubernetesObject) -> Iterator[_Named]:
    """The Services that a webhook configuration or an API service calls."""
    if obj["kind"] in CONFIGURATIONS:
        clients = [mapping(hook.get("clientConfig")) for hook in mappings(obj.get("webhooks"))]
    else:
        clients = [spec_of(obj)] if obj["kind"] == "APIService" else []
    for client in clients:
        service = mapping(client.get("service"))
        if service:
            yield _Named(text(service.get("namespace")), text(service.get("name")))
