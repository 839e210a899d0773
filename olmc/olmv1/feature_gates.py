"""The feature gates of operator-controller, by the profile of an OLM version (R-V1-FG-1 … 4)."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.lean import NamedTuple
from olmc.model.options import Certificates
from olmc.olm.profiles.data import profile_of


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


def gates_of(version: str) -> FeatureGates:
    """The gates in the profile of an OLM version, such as `v1` or `ocp-4.20` (R-V1-FG-1, R-V1-FG-4).

    Raises UnknownVersionError.
    """
    return open_gates(profile_of(version).feature_gates)


def open_gates(names: Iterable[str]) -> FeatureGates:
    """The gates with these open, by the names that operator-controller has for them. Raises KeyError for an unknown."""
    return FeatureGates(**{_FIELDS[name]: True for name in names})


def certificate_provider(gates: FeatureGates) -> Certificates:
    """Who issues the certificates of webhooks; both gates open mean cert-manager (R-V1-FG-2)."""
    if gates.webhook_provider_cert_manager:
        return "cert-manager"
    return "service-ca" if gates.webhook_provider_openshift_service_ca else "none"


def _gate(field: str) -> str:
    return "".join(part.upper() if part == "ca" else part.capitalize() for part in field.split("_"))


_FIELDS = {_gate(field): field for field in FeatureGates._fields}
