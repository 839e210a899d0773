"""The API server's errors for metadata, and its rules for names of ports, keys, headers, paths and addresses.

olmc.k8s.api.selectors validates names of objects and labels in the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import AddressValueError, IPv6Address
from typing import Any

from olmc.k8s.api.selectors import (
    is_dns1035_label,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_label_value,
    is_qualified_name,
)
from olmc.k8s.api.validation.field import (
    IMMUTABLE,
    NOT_NEGATIVE,
    FieldError,
    JsonText,
    Path,
    Struct,
    between,
    integer,
    typed,
)
from olmc.k8s.gojson import mismatch_text
from olmc.k8s.lean import module
from olmc.k8s.objects import OLM_GROUP, metadata_of, text

MAX_ID = 2**32 - 1
MAX_INT32 = 2**31 - 1

_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORED_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_UNDERSCORED}')"
)
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)
_HEADER = "[-A-Za-z0-9]+"
_HEADER_RULE = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    f"(e.g. 'X-Header-Name', regex used for validation is '{_HEADER}')"
)
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_ENV_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def size(value: str) -> int:
    """The bytes of a text, as which Go counts its length."""
    return len(value.encode("utf-8", "surrogatepass"))


def generated_name_problems(name: str) -> list[str]:
    """The beginning of an object's name: a dash at its end is none of it."""
    # Kubernetes cuts off two characters for one, to make a prefix with a dash at its end look like a name.
    return is_dns1123_subdomain(name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name)


def kind_problems(kind: str) -> list[str]:
    """A kind, which is a DNS label but for its case, in one sentence."""
    problems = is_dns1035_label(kind.lower())
    return [f"may have mixed case, but should otherwise match: {','.join(problems)}"] if problems else []


# Their names become parts of DNS names, so the API server allows no dots in them.
_LABELLED = frozenset({("", "Namespace"), ("", "Service")})
# Groups of which the API server only asks that a name be a part of a path.
_FREE_NAMES = frozenset({"rbac.authorization.k8s.io", "certificates.k8s.io", "apiregistration.k8s.io"})


def object_name_problems(group: str, kind: str, name: str) -> list[str]:
    """Return the problems of an object's name: nearly all names, and those of custom resources, are DNS subdomains.

    Other API servers have their own rules for names. So in an unknown group only a name that every server rejects is a
    problem.
    """
    if (group, kind) in _LABELLED:
        return is_dns1123_label(name)
    is_custom = "." in group and not group.endswith(".k8s.io") and group != OLM_GROUP
    if group in _FREE_NAMES or (is_custom and re.fullmatch("[!-~]+", name)):
        return path_segment_problems(name)
    return is_dns1123_subdomain(name)


def namespace_problems(namespace: object) -> list[str]:
    """The name of a namespace, where there is one."""
    return is_dns1123_label(namespace) if isinstance(namespace, str) and namespace else []


def api_version_problems(api_version: str) -> list[str]:
    """The group, a DNS subdomain, and the version, a DNS label, by which no API server serves anything else."""
    group, _, version = api_version.rpartition("/")
    return [*(is_dns1123_subdomain(group) if group else []), *is_dns1035_label(version)]


def search_domain_errors(value: str, path: Path) -> list[FieldError]:
    """A domain to search: a DNS subdomain that may have underscores, or the root."""
    domain = value.removesuffix(".")
    details = [] if size(domain) <= 253 else ["must be no more than 253 characters"]
    if not re.fullmatch(_UNDERSCORED, domain):
        details.append(_UNDERSCORED_RULE)
    return [] if value == "." else path.all_invalid(domain, details)


def port_name_problems(name: str) -> list[str]:
    """The name of a port."""
    checks: tuple[tuple[Callable[[str], object], str], ...] = (
        (lambda text: size(text) <= 15, "must be no more than 15 characters"),
        (
            lambda text: re.fullmatch("[-a-z0-9]+", text),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (lambda text: re.search("[a-z]", text), "must contain at least one letter (a-z)"),
        (lambda text: "--" not in text, "must not contain consecutive hyphens"),
        (lambda text: text == text.strip("-"), "must not begin or end with a hyphen"),
    )
    return [detail for is_right, detail in checks if not is_right(name)]


def port_number_problems(port: int) -> list[str]:
    """The number of a port."""
    return [] if 1 <= port <= 65535 else [between(1, 65535)]


def port_errors(port: object, path: Path) -> list[FieldError]:
    """A port by number or name."""
    if isinstance(port, str):
        return path.all_invalid(port, port_name_problems(port))
    number = integer(port) or 0
    return path.all_invalid(number, port_number_problems(number))


def env_name_problems(name: str) -> list[str]:
    """The name of an environment variable: Kubernetes takes nearly any since 1.34."""
    return [] if name.isascii() and name.isprintable() and "=" not in name else [_ENV_RULE]


def config_key_problems(key: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    problems = ["must be no more than 253 characters"] if size(key) > 253 else []
    if not re.fullmatch(_CONFIG_KEY, key):
        problems.append(_CONFIG_KEY_RULE)
    if key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def header_problems(name: str) -> list[str]:
    """The name of an HTTP header."""
    return [] if re.fullmatch(_HEADER, name) else [_HEADER_RULE]


def percent_problems(value: str) -> list[str]:
    """A percentage."""
    digits = value.removesuffix("%")
    return [] if digits != value and digits.isascii() and digits.isdigit() else [_PERCENT_RULE]


def descending_path_problems(path: str) -> list[str]:
    """A path that must lead down from where it begins."""
    return [*(["must be a relative path"] if path.startswith("/") else []), *backstep_problems(path)]


def backstep_problems(path: str) -> list[str]:
    """A path that must not lead up."""
    return ["must not contain '..'"] if ".." in path.split("/") else []


def file_path_problems(path: str) -> list[str]:
    """The path of a file in a volume that Kubernetes writes."""
    # `../` is reported as a step up already.
    begins_with_dots = path.startswith("..") and not path.startswith("../")
    return [*descending_path_problems(path), *(["must not start with '..'"] if begins_with_dots else [])]


def path_segment_problems(name: str) -> list[str]:
    """A name as a part of a URL's path, which every name becomes; RBAC asks for no more."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


def ip_problems(address: str) -> list[str]:
    """An IP address as Kubernetes takes it since 1.36: octets without leading zeros, IPv4 not written as IPv6."""
    if ":" not in address:
        if not _is_ipv4(re.sub(r"(^|\.)0+(?=[0-9])", r"\1", address)):
            return [_NO_ADDRESS]
        return [] if _is_ipv4(address) else ["must not have leading 0s"]
    try:
        parsed = IPv6Address(address)
    except AddressValueError:
        return [_NO_ADDRESS]
    if parsed.scope_id is not None:
        return [_NO_ADDRESS]
    return [] if parsed.ipv4_mapped is None else ["must not be an IPv4-mapped IPv6 address"]


def _is_ipv4(value: str) -> bool:
    octets = value.split(".")
    return len(octets) == 4 and all(re.fullmatch("0|[1-9][0-9]{0,2}", octet) and int(octet) <= 255 for octet in octets)


ANNOTATIONS_LIMIT = 256 * 1024

_METADATA = Path("metadata", ("metadata",))
_EXCLUSIVE_FINALIZERS = ("orphan", "foregroundDeletion")


def _any_name(name: str) -> list[str]:  # noqa: ARG001
    return []


def metadata_errors(
    obj: Mapping[str, Any], name_problems: Callable[[str], list[str]] = _any_name, *, namespaced: bool = False
) -> list[FieldError]:
    """Return Kubernetes' errors for `metadata` of an object of a kind with or without namespaces."""
    metadata = Struct(metadata_of(obj), _METADATA)
    errors = metadata.required_text("name", name_problems, "name or generateName is required")
    if namespaced:
        errors += metadata.required_text("namespace", is_dns1123_label)
    elif metadata.text("namespace"):
        errors.append(metadata.at("namespace").forbidden("not allowed on this type"))
    generation = metadata.get("generation")
    if isinstance(generation, int) and generation < 0:
        errors.append(metadata.at("generation").invalid(generation, NOT_NEGATIVE))
    return [*errors, *content_errors(metadata.fields)]


def content_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Return Kubernetes' errors for the parts of an object's metadata that an update may change."""
    struct = Struct(metadata, _METADATA)
    return [
        *label_errors(struct.map("labels"), struct.at("labels")),
        *annotation_errors(struct.map("annotations"), struct.at("annotations")),
        *_owner_errors(struct),
        *_finalizer_errors(struct),
    ]


def _owner_errors(metadata: Struct) -> Iterator[FieldError]:
    references = metadata.at("ownerReferences")
    for index, owner in enumerate(metadata.structs("ownerReferences")):
        # Kubernetes does not say which of the owners it means.
        version = owner.text("apiVersion")
        if not version.rpartition("/")[2]:
            yield references.called("apiVersion").keyed(index).invalid(version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.text(name):
                yield references.called(name).keyed(index).invalid("", "must not be empty")


def _finalizer_errors(metadata: Struct) -> Iterator[FieldError]:
    finalizers, path = metadata.texts("finalizers"), metadata.at("finalizers")
    for index, finalizer in enumerate(finalizers):
        yield from path.keyed(index).all_invalid(finalizer, is_qualified_name(finalizer))
    if set(_EXCLUSIVE_FINALIZERS) <= set(finalizers):
        yield path.invalid(finalizers, f"finalizer {' and '.join(_EXCLUSIVE_FINALIZERS)} cannot be both set")


def label_errors(labels: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """Yield the errors of the keys and values of labels."""
    for key in sorted(labels):
        # Messages name the labels as a whole, never the one that is wrong.
        place, value = path.keyed(key), text(labels[key])
        yield from place.all_invalid(key, is_qualified_name(key))
        yield from place.all_invalid(value, is_label_value(value))


def annotation_errors(annotations: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """Yield the errors of the keys of annotations, and with the size of all of them."""
    for key in sorted(annotations):
        # Unlike labels, annotations may have capital letters in the domain of their key.
        yield from path.keyed(key).all_invalid(key, is_qualified_name(key.lower()))
    if sum(size(key) + size(text(value)) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        yield path.too_long(ANNOTATIONS_LIMIT)


def selector_errors(selector: Struct) -> Iterator[FieldError]:
    """Yield the errors of a label selector; an empty one is right."""
    yield from label_errors(selector.map("matchLabels"), selector.at("matchLabels"))
    for expression in selector.structs("matchExpressions"):
        yield from expression_errors(expression)


def expression_errors(expression: Struct, *, numbers: bool = False, free_values: bool = False) -> Iterator[FieldError]:
    """Yield the errors of one requirement of a selector.

    `numbers`: it may compare, as one of nodes may; `free_values`: its values need not be those of labels.
    """
    operator, values, path = expression.text("operator"), expression.texts("values"), expression.at("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield path.required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield path.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif numbers and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield path.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield expression.at("operator").invalid(typed(operator), "not a valid selector operator")
    key = expression.text("key")
    yield from expression.at("key").all_invalid(key, is_qualified_name(key))
    for value, place in () if free_values else expression.items("values"):
        yield from place.all_invalid(value, is_label_value(value))


# ConfigMaps, Secrets and Services (v1) as the API server of Kubernetes 1.36 judges them.
#
# Which errors there are, and in which order, follows ValidateConfigMap, ValidateSecret and ValidateService in
# https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go. What the server fills in
# before it looks counts as filled in. Not looked at: what only load balancers have, external addresses, and the
# families of addresses, which depend on the cluster.

binascii = module("binascii")  # for Secrets alone, which few bundles have

_LIMIT = 1024 * 1024
_ACCOUNT = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"

# The required keys of a Secret by type: all of these keys, or for basic-auth one of them.
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
    """Return why the API server refuses to create a ConfigMap."""
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
    """Return why the API server refuses a ConfigMap in the place of another: one that is immutable stays
    (R-CAT-702)."""
    return _frozen(Struct(new, Path()), Struct(old, Path()), "data", "binaryData")


def secret_errors(obj: Mapping[str, Any]) -> list[FieldError]:
    """Return why the API server refuses to create a Secret."""
    secret = _with_plain_data(obj)
    data, path = secret.map("data"), secret.at("data")
    errors = metadata_errors(obj, is_dns1123_subdomain, namespaced=True)
    for key in sorted(data):
        errors += path.key(key).all_invalid(key, config_key_problems(key))
    if sum(map(_decoded_size, data.values())) > _LIMIT:
        errors.append(path.too_long(_LIMIT))
    return [*errors, *_secret_type_errors(secret, data, path)]


def _secret_type_errors(secret: Struct, data: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """Yield errors for the data that a Secret of its type requires and lacks."""
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
    """Return whether an encoded value is no JSON object, in the first words that Go has for that."""
    try:
        value = json.loads(binascii.a2b_base64(encoded, strict_mode=True))
    except (ValueError, RecursionError):
        return "unexpected end of JSON input" if not encoded else "invalid character looking for beginning of value"
    return "" if value is None or isinstance(value, dict) else mismatch_text(value, "map[string]interface {}")


def secret_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Return why the API server refuses a Secret in the place of another: its type stays, and all of an immutable one
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
    """Return why the API server refuses to create a Service."""
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
    """Return why the API server refuses a Service in the place of another: the address that it has stays.

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
