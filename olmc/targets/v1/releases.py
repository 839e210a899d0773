"""In which ways the releases of operator-controller differ, besides their feature gates (R-V1-REL-1)."""

from __future__ import annotations

from olmc.compiler.olm.profiles.data import is_openshift, profile_of
from olmc.k8s.lean import NamedTuple, regex
from olmc.targets.v1.generators import certificate_provider, gates_of

_TAG = regex(r"v(\d+)\.(\d+)\.\d+")
# The commit that the rules were read from is behind v1.10.0 and has nothing that v1.11.0 brought.
_MAIN = (1, 10)


class ControllerRelease(NamedTuple):
    """What a release of operator-controller does in its own way (R-V1-REL-1).

    `uses_account`: it writes with the rights of spec.serviceAccount, otherwise with its own, which are those of
    cluster-admin. `checks_account`: it looks for the account before anything else. `names_dry_run`: it says that an
    error is from the dry run. `sets_operator_namespace`: pod templates have the annotation olm.operatorNamespace.
    `blocks_bad_config`: an invalid configuration is not tried again. `catalogs_namespace` is that of catalogd.
    """

    tag: str
    uses_account: bool
    checks_account: bool
    names_dry_run: bool
    sets_operator_namespace: bool
    blocks_bad_config: bool
    catalogs_namespace: str = "olmv1-system"

    @property
    def requires_account(self) -> bool:
        """Whether a ClusterExtension must name an account (R-V1-CE-1)."""
        return self.uses_account


def release_of(version: str) -> ControllerRelease:
    """The release of operator-controller that an OLM version stands for. Raises UnknownVersionError."""
    profile = profile_of(version)
    tag, gates = profile.controller, gates_of(version)
    of_openshift = is_openshift(profile.name) or certificate_provider(gates) == "service-ca"
    match = _TAG.fullmatch(tag)
    number = (int(match[1]), int(match[2])) if match is not None else _MAIN
    return ControllerRelease(
        tag,
        uses_account=not profile.controller_is_admin,
        checks_account=number >= (1, 9) and not profile.controller_is_admin,
        names_dry_run=number >= (1, 3),
        sets_operator_namespace=number >= (1, 11),
        blocks_bad_config=number >= (1, 8),
        catalogs_namespace="openshift-catalogd" if of_openshift else "olmv1-system",
    )
