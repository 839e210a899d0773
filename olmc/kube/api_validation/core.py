"""ConfigMaps, Secrets and Services (v1) as the API server of Kubernetes 1.36 judges them.

Which errors there are, and in which order, follows ValidateConfigMap, ValidateSecret and ValidateService in
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go. What the server fills in
before it looks counts as filled in. Not looked at: what only load balancers have, external addresses, and the families
of addresses, which depend on the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.gojson import mismatch_text
from olmc.kube.api_validation.field import IMMUTABLE, FieldError, JsonText, Path, Struct, between
from olmc.kube.api_validation.metadata import (
    config_key_problems,
    ip_problems,
    label_errors,
    metadata_errors,
    port_errors,
    port_number_problems,
    size,
)
from olmc.kube.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from olmc.lean import module
from olmc.model.objects import text

binascii = module("binascii")  # for Secrets alone, which few bundles have

_LIMIT = 1024 * 1024
_ACCOUNT = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"

# What a Secret of a type must hold: all of these keys, or of those of basic-auth one.
_REQUIRED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_BASIC_AUTH, _USER_KEYS = "kubernetes.io/basic-auth", ("username", "password")
_JSON_TYPES = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_HEADLESS = "None"
_KUBELET_PORT = 10250
_LONGEST_AFFINITY = 86400


def config_map_errors(obj: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a ConfigMap."""
    config_map = Struct(obj, Path())
    data, binary = config_map.map("data"), config_map.map("binaryData")
    errors = metadata_errors(obj, is_dns1123_subdomain, namespaced=True)
    for field, values, other, others in (("data", data, "binaryData", binary), ("binaryData", binary, "data", data)):
        for key in sorted(values):
            path = config_map.at(field).key(key)
            errors += path.all_invalid(key, config_key_problems(key))
            if key in others:
                errors.append(path.invalid(key, f"duplicate of key present in {other}"))
    if sum(size(text(value)) for value in data.values()) + sum(map(_decoded_size, binary.values())) > _LIMIT:
        # A path whose only name is empty prints as brackets, and that is the one Kubernetes makes here.
        errors.append(Path("[]").too_long(_LIMIT))
    return errors


def config_map_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a ConfigMap in the place of another: one that is immutable stays (R-CAT-702)."""
    return _frozen(Struct(new, Path()), Struct(old, Path()), "data", "binaryData")


def secret_errors(obj: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a Secret."""
    secret = _with_plain_data(obj)
    data, path = secret.map("data"), secret.at("data")
    errors = metadata_errors(obj, is_dns1123_subdomain, namespaced=True)
    for key in sorted(data):
        errors += path.key(key).all_invalid(key, config_key_problems(key))
    if sum(map(_decoded_size, data.values())) > _LIMIT:
        errors.append(path.too_long(_LIMIT))
    return [*errors, *_secret_type_errors(secret, data, path)]


def _secret_type_errors(secret: Struct, data: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What a Secret lacks of that which those of its type hold."""
    kind = secret.text("type")
    if kind == "kubernetes.io/service-account-token":
        annotations = secret.child("metadata", "annotations")
        if not annotations.text(_ACCOUNT):
            yield annotations.path.key(_ACCOUNT).required()
    if kind == _BASIC_AUTH and not any(key in data for key in _USER_KEYS):
        yield from (path.key(key).required() for key in _USER_KEYS)
    for key in _REQUIRED.get(kind, ()):
        if key not in data:
            yield path.key(key).required()
        elif kind in _JSON_TYPES and (problem := _json_problem(text(data[key]))):
            yield path.key(key).invalid(_REDACTED, problem)


def _json_problem(encoded: str) -> str:
    """Whether an encoded value is no JSON object, in the first words that Go has for that."""
    try:
        value = json.loads(binascii.a2b_base64(encoded, strict_mode=True))
    except (ValueError, RecursionError):
        return "unexpected end of JSON input" if not encoded else "invalid character looking for beginning of value"
    return "" if value is None or isinstance(value, dict) else mismatch_text(value, "map[string]interface {}")


def secret_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a Secret in the place of another: its type stays, and all of an immutable one
    (R-CAT-702). A new one without type keeps the old one's."""
    after, before = _with_plain_data(new), _with_plain_data(old)
    old_type = before.text("type") or "Opaque"
    new_type = after.text("type") or old_type
    changed = [] if new_type == old_type else [after.at("type").invalid(new_type, IMMUTABLE)]
    return [*changed, *_frozen(after, before, "data")]


def _frozen(new: Struct, old: Struct, *fields: str) -> list[FieldError]:
    if old.get("immutable") is not True:
        return []
    changed = [] if new.get("immutable") is True else ["immutable"]
    changed += [field for field in fields if new.map(field) != old.map(field)]
    return [new.at(field).forbidden("field is immutable when `immutable` is set") for field in changed]


def _with_plain_data(obj: Mapping[str, Any]) -> Struct:
    """A Secret with all that it holds in `data`, encoded: the server moves `stringData` there."""
    secret = Struct(obj, Path())
    plain = secret.map("stringData")
    encoded = {key: _encoded(text(value)) for key, value in plain.items()}
    return secret._replace(fields={**obj, "data": {**secret.map("data"), **encoded}})


def _encoded(value: str) -> str:
    encoded: bytes = binascii.b2a_base64(value.encode("utf-8", "replace"), newline=False)
    return encoded.decode()


def _decoded_size(value: Any) -> int:
    try:
        return len(binascii.a2b_base64(text(value)))
    except (binascii.Error, ValueError):
        return 0


def service_errors(obj: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a Service."""
    service = Struct(obj, Path()).child("spec")
    kind, addresses = service.text("type") or "ClusterIP", _cluster_ips(service)
    needs_ports = kind != "ExternalName" and addresses != [_HEADLESS]
    # Services are names in DNS, which makes their names labels. The order is that of ValidateService.
    return [
        *metadata_errors(obj, is_dns1123_label, namespaced=True),
        *([service.at("ports").required()] if needs_ports and not service.structs("ports") else []),
        *_service_type_errors(service, kind, addresses),
        *_port_errors(service),
        *label_errors(service.map("selector"), service.at("selector")),
        *_affinity_errors(service),
        *_cluster_ip_errors(service, kind, addresses),
        *([] if kind in _SERVICE_TYPES else [service.at("type").unsupported(kind, _SERVICE_TYPES)]),
        *_node_port_errors(service, kind),
        *_repeated_port_errors(service),
    ]


def cluster_ip_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a Service in the place of another: the address that it has stays.

    Where the old one doesn't name its address, the cluster has given it one, which no other can be.
    """
    after, before = (Struct(obj, Path()).child("spec") for obj in (new, old))
    if "ExternalName" in (after.get("type"), before.get("type")):
        return []
    addresses = _cluster_ips(after)
    if not addresses or addresses == _cluster_ips(before):
        return []
    path = Path("spec.clusterIPs[0]", ("spec", "clusterIP"))
    return [path.invalid(JsonText.of(addresses), "may not change once set")]


def _cluster_ips(service: Struct) -> list[str]:
    """The addresses that a Service asks for, none if it leaves them to the cluster."""
    first = service.text("clusterIP")
    return service.texts("clusterIPs") or ([first] if first else [])


def _service_type_errors(service: Struct, kind: str, addresses: list[str]) -> Iterator[FieldError]:
    if kind == "LoadBalancer":
        for port in service.structs("ports"):
            if port.get("port") == _KUBELET_PORT:
                detail = f"may not expose port {_KUBELET_PORT} externally since it is used by kubelet"
                yield port.path.invalid(_KUBELET_PORT, detail)
    if kind in ("LoadBalancer", "NodePort") and addresses == [_HEADLESS]:
        yield service.at("clusterIPs").item(0).invalid(_HEADLESS, f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if addresses if field == "clusterIPs" else service.get(field):
                yield service.at(field).forbidden("may not be set for ExternalName services")
        name, path = service.text("externalName").removesuffix("."), service.at("externalName")
        yield from path.all_invalid(name, is_dns1123_subdomain(name)) if name else [path.required()]


def _port_errors(service: Struct) -> Iterator[FieldError]:
    ports = service.structs("ports")
    names: set[str] = set()
    for port in ports:
        name = port.text("name")
        if name or len(ports) > 1:
            yield from port.required_text("name", is_dns1123_label)
        if name and name in names:
            yield port.at("name").duplicate(name)
        names.add(name)
        number, protocol = port.number("port"), port.text("protocol") or "TCP"
        yield from port.at("port").all_invalid(number, port_number_problems(number))
        if protocol not in _PROTOCOLS:
            yield port.at("protocol").unsupported(protocol, _PROTOCOLS)
        # The server fills in the port where there is no targetPort, and then complains about both.
        yield from port_errors(port.get("targetPort") or number, port.at("targetPort"))
        application = port.get("appProtocol")
        if isinstance(application, str):
            yield from port.at("appProtocol").all_invalid(application, is_qualified_name(application))


def _affinity_errors(service: Struct) -> Iterator[FieldError]:
    kind, config = service.text("sessionAffinity") or "None", service.pointer("sessionAffinityConfig")
    if kind not in _AFFINITIES:
        yield service.at("sessionAffinity").unsupported(kind, _AFFINITIES)
    elif kind == "None" and config is not None:
        yield config.path.forbidden("must not be set when session affinity is None")
    if kind == "ClientIP":
        detail = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
        client = service.child("sessionAffinityConfig", "clientIP")
        yield from client.out_of_range("timeoutSeconds", 1, _LONGEST_AFFINITY, detail)


def _cluster_ip_errors(service: Struct, kind: str, addresses: list[str]) -> Iterator[FieldError]:
    if kind == "ExternalName" or addresses == [_HEADLESS]:
        return
    path, first = service.at("clusterIPs"), service.text("clusterIP")
    if _HEADLESS in addresses:
        yield path.invalid(JsonText.of(addresses), "'None' must be the first and only value")
        return
    if first and addresses[0] != first:
        yield path.invalid(JsonText.of(addresses), "first value must match `clusterIP`")
    for index, address in enumerate(addresses):
        yield from path.item(index).all_invalid(address, ip_problems(address))


def _node_port_errors(service: Struct, kind: str) -> Iterator[FieldError]:
    seen: set[tuple[str, int]] = set()
    for port in service.structs("ports"):
        number, path = port.number("nodePort"), port.at("nodePort")
        if not number:
            continue
        if kind == "ClusterIP":
            yield path.forbidden("may not be used when `type` is 'ClusterIP'")
        if not 1 <= number <= 65535:
            yield path.invalid(number, between(1, 65535))
        key = (port.text("protocol") or "TCP", number)
        if key in seen:
            yield path.duplicate(number)
        seen.add(key)


def _repeated_port_errors(service: Struct) -> Iterator[FieldError]:
    seen: set[tuple[str, int]] = set()
    for port in service.structs("ports"):
        protocol, number = port.text("protocol") or "TCP", port.number("port")
        if (protocol, number) in seen:
            # Kubernetes prints the key by which it looks for the port, a port itself with nothing but these two.
            shown = {
                "Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0,
            }  # fmt: skip
            yield port.path.duplicate(JsonText.of(shown))
        seen.add((protocol, number))
