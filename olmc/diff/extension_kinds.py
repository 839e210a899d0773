"""The kinds of changes of ClusterExtensions: what they ask for, what they have installed, and what stops them; and what
OLM v1's own check says of a CRD."""

from __future__ import annotations

from olmc.diff.change import (
    ADDED,
    BREAKING,
    CHANGE,
    CHANGED,
    NOTE,
    REMOVED,
    RISK,
    ChangeGroup,
    Judgement,
    Message,
    change_kind,
    listed,
    shown,
)

_LINES = 3
_RECKLESS = {"upgradeConstraintPolicy": "SelfCertified", "crdUpgradeSafety": "None"}


@change_kind("ExtensionAdded", ChangeGroup.VERSIONS, ADDED)
def extension_added(package: str, version: str, asks: str) -> Judgement:
    """A ClusterExtension that only the new side has, what it asks for, and the version that it gets ("" for none)."""
    return CHANGE, ("new operator ", shown(package), " ", shown(version or "(nothing is installed)"), *_asked(asks))


@change_kind("ExtensionMoved", ChangeGroup.VERSIONS, CHANGED)
def extension_moved(package: str, new: str, asks: str, old: str, namespace: str) -> Judgement:
    """An operator that OLM v0 has on the old side and a ClusterExtension on the new one: its versions ("" for nothing
    installed), where its Subscription was, and what the ClusterExtension asks for (R-V1-MIG-2)."""
    version: Message = (shown(old), " → ", shown(new or "(nothing is installed)"))
    steps = "; take the steps of olmc migrate --to olm-v1 --steps before this is applied, or nothing gets installed"
    return RISK, (
        shown(package),
        " ",
        *version,
        ", from OLM v0 in ",
        shown(namespace),
        " to OLM v1",
        *_asked(asks),
        steps,
    )


@change_kind("ExtensionRemoved", ChangeGroup.VERSIONS, REMOVED)
def extension_removed(package: str, version: str, crds: tuple[str, ...]) -> Judgement:
    """A ClusterExtension that only the old side has; `crds` are those that go with it (R-V1-UN-1)."""
    if not version:
        return CHANGE, ("removed: package ", shown(package), ", of which nothing was installed")
    lost: Message = (", with all objects of ", *listed(crds)) if crds else ()
    return BREAKING, ("operator ", shown(package), " ", shown(version), " is gone, and all that it installed", *lost)


@change_kind("ExtensionChanged", ChangeGroup.VERSIONS, CHANGED)
def extension_changed(field: str, old: str, new: str) -> Judgement:
    """A ClusterExtension that asks for something else; "" for nothing."""
    # From then on nobody sees to it that an upgrade is one, or that objects outlive it.
    severity = RISK if _RECKLESS.get(field) == new else CHANGE
    return severity, (f"{field}: ", shown(old or "none"), " → ", shown(new or "none"))


@change_kind("ExtensionUpgraded", ChangeGroup.VERSIONS, CHANGED)
def extension_upgraded(
    package: str, old: str, new: str, old_version: str, new_version: str, downgrade: bool
) -> Judgement:
    """Another bundle of a ClusterExtension: the names of both, and their versions."""
    remark = " (a downgrade)" * downgrade
    versions: Message = (shown(old_version or old), " → ", shown(new_version or new))
    return RISK if downgrade else CHANGE, (shown(package), " ", *versions, remark)


@change_kind("ExtensionStopped", ChangeGroup.VERSIONS, CHANGED)
def extension_stopped(reason: str, message: str, installed: str) -> Judgement:
    """A ClusterExtension that gets no further, with reason and message of its condition Progressing; `installed` is
    what runs on, "" for nothing."""
    stays: Message = (shown(installed), " runs on") if installed else ("nothing is installed",)
    # What is not in a terminal's first lines is in the finding of the same message.
    return BREAKING, ("gets no further (", shown(reason), "), ", *stays, ": ", shown(message))


@change_kind("ExtensionRecovered", ChangeGroup.VERSIONS, CHANGED)
def extension_recovered(reason: str) -> Judgement:
    """A ClusterExtension that got no further on the old side, and does on the new one."""
    return CHANGE, ("gets on again (", shown(reason), ")")


@change_kind("CrdUpgradeChecked", ChangeGroup.CRDS, CHANGED)
def crd_upgrade_checked(problems: tuple[str, ...], enforced: bool) -> Judgement:
    """What the check of OLM v1 says of a CRD that changes: `problems` is () if it lets it through; `enforced`: the
    ClusterExtension has the check decide (R-V1-CRD-1)."""
    if not problems:
        return NOTE, ("the check of CRD upgrade safety lets this through",)
    lines = listed(problems, _LINES)
    if not enforced:
        return RISK, ("the check of CRD upgrade safety is off, and would refuse this: ", *lines)
    return BREAKING, ("the check of CRD upgrade safety refuses this, and with it the whole upgrade: ", *lines)


def _asked(asks: str) -> Message:
    return (" (", shown(asks), ")") if asks else ()
