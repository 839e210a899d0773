"""Services as the API server of Kubernetes 1.36 judges them.

A Service comes as Go's types keep it; what the server fills in before it looks counts as filled in. Which errors there
are, and in which order, follows ValidateService in
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go. Not looked at: what only
load balancers have, external addresses, and the families of addresses, which depend on the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.golang import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer, present
from olmc.kube.ip_validation import ip_errors
from olmc.kube.names import between, label_name_errors, port_errors, port_number_problems
from olmc.kube.object_meta import label_errors, metadata_errors
from olmc.model.coerce import mapping, mappings, text, texts

_SPEC = Path("spec", ("spec",))
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_HEADLESS = "None"
_KUBELET_PORT = 10250
_LONGEST_AFFINITY = 86400


def service_errors(service: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a Service."""
    spec = mapping(service.get("spec"))
    ports = mappings(spec.get("ports"))
    kind = text(spec.get("type")) or "ClusterIP"
    return [
        *metadata_errors(service, is_dns1123_label, namespaced=True),
        *([_SPEC.child("ports").required()] if _needs_ports(spec, kind) and not ports else []),
        *_of_type(spec, kind, ports),
        *_port_errors(ports),
        *label_errors(mapping(spec.get("selector")), _SPEC.child("selector")),
        *_affinity(spec),
        *_cluster_ip_errors(spec, kind),
        *([] if kind in _TYPES else [_SPEC.child("type").unsupported(kind, _TYPES)]),
        *_node_ports(ports, kind),
        *_repeated_ports(ports),
    ]


def cluster_ip_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a Service in the place of another: the address that it has stays.

    Where the old one doesn't name its address, the cluster has given it one, which no other can be.
    """
    given, before = mapping(new.get("spec")), mapping(old.get("spec"))
    if "ExternalName" in (given.get("type"), before.get("type")):
        return []
    addresses = cluster_ips(given)
    if not addresses or addresses == cluster_ips(before):
        return []
    here = Path("spec.clusterIPs[0]", ("spec", "clusterIP"))
    return [here.invalid(Shown.json(addresses), "may not change once set")]


def cluster_ips(spec: Mapping[str, Any]) -> list[str]:
    """The addresses that a Service asks for, none if it leaves them to the cluster."""
    first = text(spec.get("clusterIP"))
    return texts(spec.get("clusterIPs")) or ([first] if first else [])


def _needs_ports(spec: Mapping[str, Any], kind: str) -> bool:
    return kind != "ExternalName" and cluster_ips(spec) != [_HEADLESS]


def _of_type(spec: Mapping[str, Any], kind: str, ports: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    addresses, here = cluster_ips(spec), _SPEC.child("clusterIPs")
    if kind == "LoadBalancer":
        for index, port in enumerate(ports):
            if port.get("port") == _KUBELET_PORT:
                detail = f"may not expose port {_KUBELET_PORT} externally since it is used by kubelet"
                yield _SPEC.child("ports").item(index).invalid(_KUBELET_PORT, detail)
    if kind in ("LoadBalancer", "NodePort") and addresses == [_HEADLESS]:
        yield here.item(0).invalid(_HEADLESS, f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if addresses if field == "clusterIPs" else spec.get(field):
                yield _SPEC.child(field).forbidden("may not be set for ExternalName services")
        name = text(spec.get("externalName")).removesuffix(".")
        if name:
            yield from _SPEC.child("externalName").all_invalid(name, is_dns1123_subdomain(name))
        else:
            yield _SPEC.child("externalName").required()


def _port_errors(ports: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = _SPEC.child("ports").item(index), text(port.get("name"))
        if name:
            yield from label_name_errors(name, path.child("name"))
            if name in names:
                yield path.child("name").duplicate(name)
            names.add(name)
        elif len(ports) > 1:
            yield path.child("name").required()
        yield from _port(port, path)


def _port(port: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    number, protocol = integer(port.get("port")) or 0, text(port.get("protocol")) or "TCP"
    yield from path.child("port").all_invalid(number, port_number_problems(number))
    if protocol not in _PROTOCOLS:
        yield path.child("protocol").unsupported(protocol, _PROTOCOLS)
    yield from port_errors(port.get("targetPort") or number, path.child("targetPort"))
    application = port.get("appProtocol")
    if isinstance(application, str):
        yield from path.child("appProtocol").all_invalid(application, is_qualified_name(application))


def _affinity(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    kind, path = text(spec.get("sessionAffinity")) or "None", _SPEC.child("sessionAffinity")
    config = present(spec.get("sessionAffinityConfig"))
    if kind not in _AFFINITIES:
        yield path.unsupported(kind, _AFFINITIES)
    elif kind == "None" and config is not None:
        detail = "must not be set when session affinity is None"
        yield _SPEC.child("sessionAffinityConfig").forbidden(detail)
    seconds = integer(mapping(mapping(config).get("clientIP")).get("timeoutSeconds"))
    if kind == "ClientIP" and seconds is not None and not 0 < seconds <= _LONGEST_AFFINITY:
        here = _SPEC.child("sessionAffinityConfig", "clientIP", "timeoutSeconds")
        yield here.invalid(seconds, f"must be greater than 0 and less than {_LONGEST_AFFINITY}")


def _cluster_ip_errors(spec: Mapping[str, Any], kind: str) -> Iterator[FieldError]:
    addresses = cluster_ips(spec)
    if kind == "ExternalName" or addresses == [_HEADLESS]:
        return
    here = _SPEC.child("clusterIPs")
    if _HEADLESS in addresses:
        yield here.invalid(Shown.json(addresses), "'None' must be the first and only value")
        return
    first = text(spec.get("clusterIP"))
    if first and addresses[0] != first:
        yield here.invalid(Shown.json(addresses), "first value must match `clusterIP`")
    for index, address in enumerate(addresses):
        yield from ip_errors(address, here.item(index))


def _node_ports(ports: Sequence[Mapping[str, Any]], kind: str) -> Iterator[FieldError]:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        number = integer(port.get("nodePort")) or 0
        if not number:
            continue
        here = _SPEC.child("ports").item(index).child("nodePort")
        if kind == "ClusterIP":
            yield here.forbidden("may not be used when `type` is 'ClusterIP'")
        if not 1 <= number <= 65535:
            yield here.invalid(number, between(1, 65535))
        key = (text(port.get("protocol")) or "TCP", number)
        if key in seen:
            yield here.duplicate(number)
        seen.add(key)


def _repeated_ports(ports: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        protocol, number = text(port.get("protocol")) or "TCP", integer(port.get("port")) or 0
        if (protocol, number) in seen:
            shown = {
                "Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0,
            }  # fmt: skip
            yield _SPEC.child("ports").item(index).duplicate(Shown.json(shown))
        seen.add((protocol, number))
