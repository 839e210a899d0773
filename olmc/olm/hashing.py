"""The hashes that OLM puts into names and labels (R-HASH-1 … 6, R-SA-7)."""

from __future__ import annotations

from hashlib import sha224
from typing import Any

from olmc.gojson import decode, encode, encode_decoded
from olmc.model.options import Profile

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BEFORE_CREATION_TIME = frozenset("name generateName namespace selfLink uid resourceVersion generation".split())


def h62(data: bytes) -> str:
    """SHA-224 as one number in base 62, without padding (R-HASH-1)."""
    number = int.from_bytes(sha224(data).digest(), "big")
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)) or "0"


def deep_hash(type_name: str, value: Any) -> str:
    """H62 of the Go JSON of a value and a line end (R-HASH-2). Raises DecodeError."""
    return h62(encode(type_name, value) + b"\n")


def content_hash(type_name: str, value: Any) -> str:
    """H62 of the Go JSON of a value without a line end (R-HASH-3). Raises DecodeError."""
    return h62(encode(type_name, value))


def content_hash_rules(rules: list[dict[str, Any]] | None) -> str:
    """The `olm.permissions.hash` of a Role or ClusterRole; None for absent rules (R-HASH-3, R-SA-2)."""
    return content_hash("[]PolicyRule", rules)


def binding_hash(role_kind: str, role_name: str, subjects: list[dict[str, Any]] | None) -> str:
    """The `olm.permissions.hash` of a binding to a Role or ClusterRole, as `role_kind` says (R-SA-7)."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role_name}
    role_ref = encode("k8s.io/api/rbac/v1.RoleRef", reference)
    listed = encode("[]k8s.io/api/rbac/v1.Subject", subjects)
    return h62(b'{"RoleRef":' + role_ref + b',"Subjects":' + listed + b"}")


def deployment_spec_hash(profile: Profile, spec: dict[str, Any]) -> str:
    """The `olm.deployment-spec-hash` of a spec, "" where the profile has none that can be known (R-DEP-9).

    Raises DecodeError.
    """
    if not profile.deploy_label_spec_hash:
        return ""
    if profile.deploy_label_spec_hash == "json":
        return deep_hash("DeploymentSpec", spec)
    decoded = decode("DeploymentSpec", spec)
    template = decoded["template"]
    template = {**template, "metadata": _with_creation_time(template.get("metadata") or {})}
    pod = template.get("spec") or {}
    if pod.get("volumes"):
        template["spec"] = {**pod, "volumes": [_volume_with_creation_time(volume) for volume in pod["volumes"]]}
    return h62(encode_decoded({**decoded, "template": template}) + b"\n")


def _volume_with_creation_time(volume: dict[str, Any]) -> dict[str, Any]:
    """A volume; one with a claim template holds metadata as well."""
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is None:
        return volume
    metadata = _with_creation_time(claim.get("metadata") or {})
    return {**volume, "ephemeral": {"volumeClaimTemplate": {"metadata": metadata, "spec": claim.get("spec") or {}}}}


def _with_creation_time(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata as Go wrote it up to Kubernetes 1.33: with the time of creation in its place, even if it is null."""
    before = {key: value for key, value in metadata.items() if key in _BEFORE_CREATION_TIME}
    return {**before, "creationTimestamp": None, **{k: v for k, v in metadata.items() if k not in before}}


def gvk_hash(group: str, version: str, kind: str) -> str:
    """The hash of an API in label keys and ClusterRole names (R-HASH-6)."""
    return fnv64a_hex(f"{kind}.{version}.{group}")


def fnv64a_hex(text: str) -> str:
    """FNV-1a of the UTF-8 bytes, 64 bits, in lower-case hexadecimal, not padded (R-HASH-6, R-SA-9)."""
    number = 0xCBF29CE484222325
    for octet in text.encode("utf-8"):
        number = (number ^ octet) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{number:x}"


def fnv32a(data: bytes) -> int:
    """FNV-1a, 32 bits."""
    number = 0x811C9DC5
    for octet in data:
        number = (number ^ octet) * 0x01000193 & 0xFFFFFFFF
    return number
