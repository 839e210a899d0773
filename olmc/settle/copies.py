"""Which CSVs may be copied, and which get ClusterRoles for their APIs (R-COPY-2, R-CR-1)."""

from __future__ import annotations

from olmc.model.cluster import Member
from olmc.model.profile import Profile

_NOT_COPIED = frozenset(
    "Copied InvalidInstallModes NoTargetNamespaces UnsupportedOperatorGroup NoOperatorGroup TooManyOperatorGroups "
    "InterOperatorGroupOwnerConflict CannotModifyStaticOperatorGroupProvidedAPIs".split()
)


def may_be_copied(member: Member) -> bool:
    """Whether nothing about its group keeps a CSV from being copied."""
    return bool(member.phase) and member.reason not in _NOT_COPIED


def gets_api_roles(member: Member, profile: Profile) -> bool:
    """Whether ClusterRoles are made for the APIs of a CSV."""
    match profile.api_clusterrole_when:
        case "copied":
            return may_be_copied(member)
        case "succeeded, global":
            return member.succeeded and member.group is not None and member.group.is_global
        case _:
            return member.succeeded
