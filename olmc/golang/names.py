"""Names and identifiers that OLM and the API server make up (R-SA-2 … 6, R-OG-16, R-COMP-2, D3, D4)."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from olmc.golang.decode import decode
from olmc.golang.encode import encode, encode_plain
from olmc.golang.hashes import h62

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_UIDS = "6ba7b812-9dad-11d1-80b4-00c04fd430c8"


def generated_rbac_name(base: str, data: bytes) -> str:
    """`base` and the hash of `data`, an object's Go JSON without line end; a long base is cut (R-SA-6).

    The result has at most 63 bytes, or 64 where base and hash together have exactly 63.
    """
    suffix = h62(data + b"\n")
    octets = base.encode("utf-8")
    if len(octets) + len(suffix) > 63:
        base = octets[: 63 - len(suffix) - 1].decode("utf-8", "replace")
    return f"{base}-{suffix}"


def role_name(csv: str, permission: dict[str, Any]) -> str:
    """The name of the Role and RoleBinding for an entry of `permissions` (R-SA-2). Raises GoTypeError."""
    account = decode("StrategyDeploymentPermissions", permission)["serviceAccountName"]
    return generated_rbac_name(f"{csv}-{account}", _named(permission, csv))


def cluster_role_name(csv: str, namespace: str, permission: dict[str, Any]) -> str:
    """As `role_name` for an entry of `clusterPermissions`, the namespace hashed as well (R-SA-4)."""
    return generated_rbac_name(csv, _named(permission, csv, namespace))


def _named(permission: dict[str, Any], csv: str, namespace: str = "") -> bytes:
    """The JSON that the name is hashed from: empty names are left out of it."""
    names = ((b"name", csv), (b"namespace", namespace))
    written = b"".join(b'"' + key + b'":' + encode_plain(name) + b"," for key, name in names if name)
    return b"{" + written + b'"permission":' + encode("StrategyDeploymentPermissions", permission) + b"}"


def operator_group_role_name(namespace: str, group: str, suffix: str) -> str:
    """The name of an OperatorGroup's ClusterRole; `suffix` is admin, edit or view (R-OG-16)."""
    digest = h62(f"{namespace}/{group}/{suffix}".encode())
    limit = 253 - len("olm.og..-") - len(suffix) - len(digest)
    octets = group.encode("utf-8")
    shown = group if len(octets) < limit else octets[:limit].decode("utf-8", "replace")
    return f"olm.og.{shown}.{suffix}-{digest}"


def component_label_key(package: str, namespace: str) -> str:
    """The label key of all that belongs to the operator of a package and a namespace (R-COMP-2)."""
    name = f"{package}.{namespace}".removesuffix(".").encode()
    shown = name if len(name) <= 63 else name[:63].rstrip(b"._-")
    return "operators.coreos.com/" + shown.decode("utf-8", "replace")


def random_suffix(discriminator: str) -> str:
    """Five characters in the place of those that the API server would pick (D3)."""
    digest = sha256(discriminator.encode("utf-8")).digest()
    return "".join(_SUFFIX_ALPHABET[octet % len(_SUFFIX_ALPHABET)] for octet in digest[:5])


def uid_for(api_version: str, kind: str, namespace: str, name: str) -> str:
    """A UID in the place of the API server's: the same for the same object; `namespace` "" for none (D4)."""
    from uuid import UUID, uuid5  # few runs need it, and imports take their time

    return str(uuid5(UUID(_UIDS), f"{api_version}/{kind}/{namespace}/{name}"))


def stable_group_uid(namespace: str, name: str) -> str:
    """The UID of an OperatorGroup, which stands in label keys and selectors (U-2)."""
    return uid_for("operators.coreos.com/v1", "OperatorGroup", namespace, name)
