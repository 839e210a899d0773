"""The feature gates of operator-controller, by the names of the profiles in `feature_gates.json` (R-V1-FG-1 … 4)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from olmc.model.options import Certificates


class FeatureGates(NamedTuple):
    """Which gates of operator-controller are open; a field's name is the gate's in Python's spelling."""

    webhook_provider_cert_manager: bool = False
    webhook_provider_openshift_service_ca: bool = False
    single_own_namespace_install_support: bool = False
    deployment_config: bool = False
    preflight_permissions: bool = False
    boxcutter_runtime: bool = False
    bundle_release_support: bool = False
    helm_chart_support: bool = False
    synthetic_permissions: bool = False


def gates_of(profile: str) -> FeatureGates:
    """The gates of a profile, such as `v1` or `ocp-4.20` (R-V1-FG-1, R-V1-FG-4). Raises KeyError for an unknown one."""
    return FeatureGates(**dict.fromkeys(map(_field, _profiles()[profile]), True))


def known_profiles() -> tuple[str, ...]:
    """The names of the profiles, in the order of the file."""
    return tuple(_profiles())


def certificate_provider(gates: FeatureGates) -> Certificates:
    """Who issues the certificates of webhooks; both gates open mean cert-manager (R-V1-FG-2)."""
    if gates.webhook_provider_cert_manager:
        return "cert-manager"
    return "service-ca" if gates.webhook_provider_openshift_service_ca else "none"


@cache
def _profiles() -> dict[str, list[str]]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / "feature_gates.json").read_text(encoding="utf-8"))
    profiles: dict[str, list[str]] = content["profiles"]
    return profiles


def _field(gate: str) -> str:
    """`DeploymentConfig` → `deployment_config`."""
    spaced = "".join(f"_{char.lower()}" if char.isupper() else char for char in gate.replace("CA", "Ca"))
    return spaced.removeprefix("_")
