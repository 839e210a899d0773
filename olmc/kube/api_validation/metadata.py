"""What the API server refuses of metadata, and its rules for names of ports, keys, headers, paths and addresses.

Names of objects and labels are judged in olmc.kube.names, which says the same in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.kube.api_validation.field import NOT_NEGATIVE, FieldError, Path, Struct, between, integer, typed
from olmc.kube.names import is_dns1035_label, is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name
from olmc.model.objects import metadata_of, text
from olmc.model.operators import OLM_GROUP

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
    """What an object may be called: nearly all of them, and custom resources, a DNS subdomain.

    What other servers than Kubernetes' own serve may be called as these like it, so of a group that nobody knows only
    that is judged as a custom resource's name which no server would take.
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
    from ipaddress import AddressValueError, IPv6Address  # hardly any pod has addresses, and imports take their time

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
    """What Kubernetes would say about `metadata` of an object of a kind that has no namespace, or has one."""
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
    """What Kubernetes would say about the parts of an object's metadata that an update may change."""
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
    """What is wrong with the keys and values of labels."""
    for key in sorted(labels):
        # Messages name the labels as a whole, never the one that is wrong.
        place, value = path.keyed(key), text(labels[key])
        yield from place.all_invalid(key, is_qualified_name(key))
        yield from place.all_invalid(value, is_label_value(value))


def annotation_errors(annotations: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the keys of annotations, and with the size of all of them."""
    for key in sorted(annotations):
        # Unlike labels, annotations may have capital letters in the domain of their key.
        yield from path.keyed(key).all_invalid(key, is_qualified_name(key.lower()))
    if sum(size(key) + size(text(value)) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        yield path.too_long(ANNOTATIONS_LIMIT)


def selector_errors(selector: Struct) -> Iterator[FieldError]:
    """What is wrong with a label selector; an empty one is right."""
    yield from label_errors(selector.map("matchLabels"), selector.at("matchLabels"))
    for expression in selector.structs("matchExpressions"):
        yield from expression_errors(expression)


def expression_errors(expression: Struct, *, numbers: bool = False, free_values: bool = False) -> Iterator[FieldError]:
    """What is wrong with one requirement of a selector.

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
