"""Versions of Kubernetes, as people and clusters write them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+\.\d+)(\.\d+)?([-+][0-9A-Za-z.+-]*)?")


def full_kube_version(text: str) -> str:
    """A version like `1.36` or `v1.36.2+k3s1` as a cluster reports it (`v1.36.0`), "" for what is no version."""
    found = _VERSION.fullmatch(text)
    return f"v{found[1]}{found[2] or '.0'}{found[3] or ''}" if found else ""
