"""The volumes by which OLM gives the containers of a Deployment its serving certificate (R-CERT-4, R-V1-CERT-1)."""

from __future__ import annotations

from typing import Any

CERTIFICATE_VOLUMES = (
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    ("apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
)
"""The volume, where every container mounts it, what the certificate and its key are called there."""


def certificate_volume(name: str, secret: str) -> dict[str, Any]:
    """The volume of that name with the certificate that a Secret has."""
    certificate, key = next(files for known, _, *files in CERTIFICATE_VOLUMES if known == name)
    items = [{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}]
    return {"name": name, "secret": {"secretName": secret, "items": items}}
