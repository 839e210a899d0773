"""Kubernetes' rules for the names inside of pods, as errors about a field, and for the messages that they share.

Names of objects and labels are olmc.golang's, which says the same without a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from olmc.golang import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, integer

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


def label_name_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with a text as a DNS label."""
    return path.all_invalid(value, is_dns1123_label(value))


def subdomain_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with a text as a DNS subdomain."""
    return path.all_invalid(value, is_dns1123_subdomain(value))


def generated_name_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with the beginning of an object's name: a dash at its end is none of it."""
    masked = value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value
    return path.all_invalid(value, is_dns1123_subdomain(masked))


def qualified_name_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with a text as the key of a label."""
    return path.all_invalid(value, is_qualified_name(value))


def search_domain_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with a domain to search: a DNS subdomain that may have underscores, or the root."""
    domain = value.removesuffix(".")
    details = [] if len(domain.encode("utf-8", "surrogatepass")) <= 253 else ["must be no more than 253 characters"]
    if not re.fullmatch(_UNDERSCORED, domain):
        details.append(_UNDERSCORED_RULE)
    return [] if value == "." else path.all_invalid(domain, details)


def port_name_problems(name: str) -> list[str]:
    """What is wrong with the name of a port."""
    checks: tuple[tuple[Callable[[str], object], str], ...] = (
        (lambda text: len(text.encode("utf-8", "surrogatepass")) <= 15, "must be no more than 15 characters"),
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
    """What is wrong with the number of a port."""
    return [] if 1 <= port <= 65535 else [between(1, 65535)]


def port_errors(port: object, path: Path) -> list[FieldError]:
    """What is wrong with a port by number or name."""
    if isinstance(port, str):
        return path.all_invalid(port, port_name_problems(port))
    number = integer(port) or 0
    return path.all_invalid(number, port_number_problems(number))


def env_name_problems(name: str) -> list[str]:
    """What is wrong with the name of an environment variable: Kubernetes takes nearly any since 1.34."""
    return [] if all(" " <= char <= "~" and char != "=" for char in name) else [_ENV_RULE]


def config_key_problems(key: str) -> list[str]:
    """What is wrong with a key of a ConfigMap or Secret."""
    problems = ["must be no more than 253 characters"] if len(key.encode("utf-8", "surrogatepass")) > 253 else []
    if not re.fullmatch(_CONFIG_KEY, key):
        problems.append(_CONFIG_KEY_RULE)
    if key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def header_problems(name: str) -> list[str]:
    """What is wrong with the name of an HTTP header."""
    return [] if re.fullmatch(_HEADER, name) else [_HEADER_RULE]


def percent_problems(value: str) -> list[str]:
    """What is wrong with a percentage."""
    return [] if re.fullmatch("[0-9]+%", value) else [_PERCENT_RULE]


def id_errors(value: object, path: Path) -> list[FieldError]:
    """What is wrong with the number of a user or group."""
    number = integer(value)
    if number is None or 0 <= number <= MAX_ID:
        return []
    return [path.invalid(number, between(0, MAX_ID))]


def between(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def descending_path_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with a path that must lead down from where it begins."""
    errors = [path.invalid(value, "must be a relative path")] if value.startswith("/") else []
    return errors + backstep_errors(value, path)


def backstep_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with a path that must not lead up."""
    return [path.invalid(value, "must not contain '..'")] if ".." in value.split("/") else []


def file_path_errors(value: str, path: Path) -> list[FieldError]:
    """What is wrong with the path of a file in a volume that Kubernetes writes."""
    errors = descending_path_errors(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(path.invalid(value, "must not start with '..'"))
    return errors


def path_segment_problems(name: str) -> list[str]:
    """What is wrong with a name as a part of a URL's path, which every name becomes; RBAC asks for no more."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]
