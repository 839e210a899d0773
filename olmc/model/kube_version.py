"""Versions of Kubernetes, as people and clusters write them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+\.\d+)(\.\d+)?([-+][0-9A-Za-z.+-]*)?")


def full_kube_version(text: str) -> str:
    """A version like `1.36` or `v1.36.2+k3s1` as a cluster reports it (`v1.36.0`), "" for what is no version."""
    found = _VERSION.fullmatch(text)
    return f"v{found[1]}{found[2] or '.0'}{found[3] or ''}" if found else ""


def minor_of(kube_version: str) -> int:
    """The minor version of Kubernetes 1 in a version like `v1.36.2`, 0 if there is none."""
    parts = kube_version.removeprefix("v").split(".")
    digits = "".join(char for char in parts[1] if char.isdigit()) if len(parts) > 1 else ""
    return int(digits) if digits else 0
