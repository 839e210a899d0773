"""IP addresses as Kubernetes takes them since 1.36."""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path


def ip_errors(value: str, path: Path) -> Iterator[FieldError]:
    """What is wrong with an IP address: octets have no leading zeros, and IPv4 is not written as IPv6."""
    if ":" not in value:
        if not _is_ipv4(re.sub(r"(^|\.)0+(?=[0-9])", r"\1", value)):
            yield _no_address(value, path)
        elif not _is_ipv4(value):
            yield path.invalid(value, "must not have leading 0s")
        return
    from ipaddress import AddressValueError, IPv6Address  # hardly any pod has addresses, and imports take their time

    try:
        address = IPv6Address(value)
    except AddressValueError:
        yield _no_address(value, path)
        return
    if address.scope_id is not None:
        yield _no_address(value, path)
    elif address.ipv4_mapped is not None:
        yield path.invalid(value, "must not be an IPv4-mapped IPv6 address")


def _is_ipv4(value: str) -> bool:
    octets = value.split(".")
    return len(octets) == 4 and all(re.fullmatch("0|[1-9][0-9]{0,2}", one) and int(one) <= 255 for one in octets)


def _no_address(value: str, path: Path) -> FieldError:
    return path.invalid(value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
