"""Does a CSV belong to its namespace's OperatorGroup, and may it provide its APIs (R-CSV-4 … R-CSV-13)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from olmc.model.cluster import Name, key_of
from olmc.model.gvk import GVK
from olmc.model.operators import Csv, Group
from olmc.model.profile import Profile
from olmc.settle.groups import intersects

Failure = tuple[str, str]  # reason and message

STATIC, CONFLICT = "CannotModifyStaticOperatorGroupProvidedAPIs", "InterOperatorGroupOwnerConflict"
NOT_PROVIDING = frozenset({STATIC, CONFLICT})
"""The reasons of CSVs whose groups may not have their APIs; OLM deletes the Deployments of these (R-CSV-13)."""

_NOT_CONFIGURABLE = "{mode} InstallModeType not supported, cannot configure to watch {what}"


def sole_group(groups: Sequence[Group]) -> Group | Failure:
    """The one OperatorGroup of a CSV's namespace, or why there is not exactly one (R-CSV-4, R-CSV-5)."""
    if not groups:
        return "NoOperatorGroup", "csv in namespace with no operatorgroups"
    if len(groups) > 1:
        text = "csv created in namespace with multiple operatorgroups, can't pick one automatically"
        return "TooManyOperatorGroups", text
    return groups[0]


def install_mode_failure(csv: Csv, group: Group) -> Failure | None:
    """Why a CSV can't be a member of a group: no targets, or its install modes (R-CSV-6 … R-CSV-8)."""
    if not group.targets:
        return "NoTargetNamespaces", "no targetNamespaces are matched operatorgroups namespace selection"
    modes: dict[str, bool] = {}
    listed = csv.install_modes
    for mode in listed:
        if mode.type in modes:
            shown = " ".join(f"{{{m.type} {'true' if m.supported else 'false'}}}" for m in listed)
            return "InvalidInstallModes", f"InstallMode list contains duplicates, cannot make set: [{shown}]"
        modes[mode.type] = mode.supported
    problem = _unsupported(csv.namespace, group.targets, modes)
    return ("UnsupportedOperatorGroup", problem) if problem else None


def _unsupported(namespace: str, targets: tuple[str, ...], modes: Mapping[str, bool]) -> str:
    if targets == (namespace,):
        return "" if modes.get("OwnNamespace") else _refusal("OwnNamespace", "own namespace")
    if targets == ("",):
        return "" if modes.get("AllNamespaces") else _refusal("AllNamespaces", "all namespaces")
    if len(targets) == 1:
        return "" if modes.get("SingleNamespace") else _refusal("SingleNamespace", "one namespace")
    if not modes.get("MultiNamespace"):
        return _refusal("MultiNamespace", f"{len(targets)} namespaces")
    if namespace in targets and not modes.get("OwnNamespace"):
        return _refusal("OwnNamespace", "own namespace")
    return ""


def _refusal(mode: str, what: str) -> str:
    return _NOT_CONFIGURABLE.format(mode=mode, what=what)


class Verdict(NamedTuple):
    """What the intersection of provided APIs leads to: a failure or None, and the group's APIs afterwards."""

    failure: Failure | None
    apis: frozenset[GVK] | None


def api_verdict(
    csv: Csv, group: Group, groups: Sequence[Group], provided: Mapping[Name, frozenset[GVK] | None], profile: Profile
) -> Verdict:
    """Hold the APIs of a CSV against those of all intersecting groups (R-CSV-10 … R-CSV-13, R-OG-13).

    `provided` are the APIs of each group's annotation as they stand before this CSV is looked at.
    """
    own = provided[key_of(group)]
    have = own or frozenset()
    add = frozenset(api.key for api in csv.owned_apis)
    others: set[GVK] = set()
    for other in groups:
        if _counts_as_other(group, other, profile) and intersects(group, other):
            others |= provided[key_of(other)] or frozenset()
    inside, clash = add <= have, bool(add & others)
    if not add or (inside and not clash):
        return Verdict(None, own)
    if group.is_static and inside == clash:
        text = "static provided api operatorgroup cannot be modified by these apis"
        return Verdict((STATIC, text), own)
    if clash:
        text = "intersecting operatorgroups provide the same apis"
        return Verdict((CONFLICT, text), have - add if inside else own)
    return Verdict(None, have | add)


def _counts_as_other(group: Group, other: Group, profile: Profile) -> bool:
    """Whether `other` can conflict with a group: any but itself, or only one of another name and namespace."""
    if profile.og_intersection_scope == "all":
        return key_of(other) != key_of(group)
    return other.name != group.name and other.namespace != group.namespace
