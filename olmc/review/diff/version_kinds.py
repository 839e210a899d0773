"""The kinds of changes of versions: which CSV of which version is installed where, how OLM gets there, and whether it
would work."""

from __future__ import annotations

from olmc.compiler.resolver.upgrade_path import EdgeKind
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.review.diff.crd_kinds import (
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
    changed,
    listed,
    shown,
)


class UpgradeHop(NamedTuple):
    """An upgrade from one CSV to another, and why it is one."""

    source: str
    target: str
    kind: EdgeKind


class UpgradePath(NamedTuple):
    """The hops of an upgrade. `reached`: whether they lead to the new CSV (None: unknown); `end`: the other end.

    For an unknown upgrade `replaces` and `skip_range` are those of the new CSV, `passes`: it replaces a version between
    the two, and `had_one`: the old CSV had an upgrade path from others, or has lost its channel.
    """

    hops: tuple[UpgradeHop, ...] = ()
    reached: bool | None = None
    end: str = ""
    replaces: str = ""
    skip_range: str = ""
    passes: bool = False
    had_one: bool = False


@change_kind("OperatorAdded", ChangeGroup.VERSIONS, ADDED)
def operator_added(package: str, version: str) -> Judgement:
    """A package that only the new side has in this namespace."""
    return CHANGE, ("new operator ", shown(package), " ", shown(version))


@change_kind("OperatorRemoved", ChangeGroup.VERSIONS, REMOVED)
def operator_removed(package: str, version: str) -> Judgement:
    """A package that only the old side has in this namespace."""
    return BREAKING, ("operator ", shown(package), " ", shown(version), " is removed")


@change_kind("OperatorUnknown", ChangeGroup.VERSIONS, CHANGED)
def operator_unknown(package: str, csv: str, side: str, reason: str) -> Judgement:
    """A version to which one side (old or new) leads, and whose content that side does not have.

    `csv` is "" if its name is unknown, too.
    """
    start: Message = ("unknown what is in ", shown(csv or package), f", to which the {side} side leads: ")
    return RISK, (*start, shown(reason), "; it is not compared")


@change_kind("OperatorUpgraded", ChangeGroup.VERSIONS, CHANGED)
def operator_upgraded(
    package: str, old: str, new: str, old_version: str, new_version: str, path: UpgradePath, downgrade: bool,
    prerelease: bool, unfinished: str,
) -> Judgement:  # fmt: skip
    """Another CSV of the same package in a namespace.

    `old` and `new` are names of CSVs, the versions are theirs. `path` is the way that OLM takes from one to the other;
    `downgrade`: the new version is lower; `prerelease`: it is a pre-release, and the old one is none; `unfinished`: the
    phase in which the new one keeps the old one from being replaced, "" where it is replaced.
    """
    remark = " (a downgrade)" * downgrade + " (a pre-release)" * prerelease
    versions: Message = (*changed(old_version or old, new_version or new), remark)
    is_lost = path.reached is None and not path.passes and bool(path.replaces or path.skip_range or path.had_one)
    severity = BREAKING if path.reached is False else RISK if downgrade or is_lost else CHANGE
    way = _unknown_way(path, old, old_version) if path.reached is None else _way(path)
    rest: Message = ()
    if unfinished:
        rest = ("; not done: ", shown(new), f" is {unfinished}, and ", shown(old), " is not replaced yet")
    return severity, (shown(package), " ", *versions, *way, *rest)


def _unknown_way(path: UpgradePath, old: str, old_version: str) -> Message:
    """Explain why the CSVs alone do not prove that OLM leads from one to the other."""
    if path.passes:
        other: Message = (" by way of ", shown(path.replaces), ", which it replaces")
        return ("; not in one hop: OLM gets there in several hops,", *other, ", if its catalog leads from the old one")
    parts: list[Message] = []
    if path.replaces:
        parts.append(("it replaces ", shown(path.replaces), ", not ", shown(old)))
    if path.skip_range:
        parts.append(("its skipRange ", shown(path.skip_range), " does not contain ", shown(old_version or old)))
    if not parts:
        parts.append(("it neither replaces nor skips any version",))
    joined = [piece for part in parts for piece in (", and ", *part)][1:]
    return ("; no path from one to the other: ", *joined, "; only its catalog may have one")


def _way(path: UpgradePath) -> Message:
    if path.reached is False:
        return ("; OLM does not lead there: it stays at ", shown(path.end))
    if len(path.hops) == 1:
        return (f", in one hop ({path.hops[0].kind})",)
    stops: Message = (shown(path.hops[0].source),)
    for hop in path.hops:
        stops = (*stops, " → ", shown(hop.target))
    return (f", in {len(path.hops)} hops: ", *stops)


@change_kind("VersionEdited", ChangeGroup.VERSIONS, CHANGED)
def version_edited(field: str, old: str, new: str) -> Judgement:
    """The same CSV with another version or other upgrade edges: its bundle was changed without a new name."""
    return RISK, (f"{field} of the same CSV: ", *changed(old, new))


@change_kind("PhaseChanged", ChangeGroup.VERSIONS, CHANGED)
def phase_changed(old: str, new: str, reason: str, message: str) -> Judgement:
    """Another phase of an operator; `old` is "" for a new one. `message` is OLM's text."""
    before: Message = (shown(old), " → ") if old else ()
    if new == "Succeeded":
        return CHANGE, ("phase: ", *before, shown(new))
    return BREAKING, ("would not work: ", *before, shown(new), " (", shown(reason), "): ", shown(message))


@change_kind("OperatorLeftRunning", ChangeGroup.VERSIONS, CHANGED)
def operator_left_running(package: str, version: str, asked_by: str) -> Judgement:
    """An operator that stays although no Subscription asks for it any more (observed-36), or no proposed Operator:
    `asked_by` is the kind of the former one."""
    return RISK, (
        shown(package), " ", shown(version), " keeps running without upgrades: OLM does not uninstall when its ",
        shown(asked_by), " goes",
    )  # fmt: skip


@change_kind("OperatorStranded", ChangeGroup.VERSIONS, CHANGED)
def operator_stranded(package: str, version: str, catalog: str) -> Judgement:
    """An operator that stays at a version which the channel of its Subscription does not have (observed-38)."""
    return RISK, (
        shown(package), " stays at ", shown(version), ": its channel in catalog ", shown(catalog),
        " has neither this version nor an upgrade from it",
    )  # fmt: skip


@change_kind("ContentEdited", ChangeGroup.VERSIONS, CHANGED)
def content_edited() -> Judgement:
    """An installed CSV whose bundle has another content on the new side, under the same name."""
    return RISK, (
        "its bundle has other content under the same name: existing clusters keep the old content, new ones get the "
        "new one",
    )  # fmt: skip


@change_kind("ResolutionFails", ChangeGroup.VERSIONS, CHANGED)
def resolution_fails(message: str, is_new: bool = False) -> Judgement:
    """A Subscription that OLM could resolve on the old side and can't on the new one, or a new one that it can't."""
    return BREAKING, ("can't be resolved: " if is_new else "can't be resolved any more: ", shown(message))


@change_kind("PlanChanged", ChangeGroup.VERSIONS, ADDED)
def plan_changed(phase: str, csvs: tuple[str, ...], message: str) -> Judgement:
    """An InstallPlan that waits for approval, has failed, or gets no further, on the new side only; `csvs` is what it
    would install."""
    if phase == "Failed":
        return BREAKING, ("the plan for ", *listed(csvs), " fails: ", shown(message))
    if phase == "Installing":
        return BREAKING, ("the plan for ", *listed(csvs), " gets no further: ", shown(message))
    return CHANGE, ("the plan for ", *listed(csvs), " waits for approval")


@change_kind("SubscriptionAdded", ChangeGroup.VERSIONS, ADDED)
def subscription_added(package: str, channel: str, source: str, approval: str, starting_csv: str) -> Judgement:
    """A Subscription that only the new side has, and what it asks for; "" for what it leaves open."""
    return CHANGE, ("new: ", *_subscribed(package, channel, source, approval, starting_csv))


@change_kind("SubscriptionRemoved", ChangeGroup.VERSIONS, REMOVED)
def subscription_removed(package: str, channel: str, source: str, approval: str, starting_csv: str) -> Judgement:
    """A Subscription that only the old side has; the values are those of SubscriptionAdded."""
    return CHANGE, ("removed: ", *_subscribed(package, channel, source, approval, starting_csv))


def _subscribed(package: str, channel: str, source: str, approval: str, starting_csv: str) -> Message:
    start: Message = (" from ", shown(starting_csv), " on") if starting_csv else ()
    of_channel: Message = (", channel ", shown(channel)) if channel else ()
    return ("package ", shown(package), *of_channel, " of ", shown(source), *start, f", {approval}")


@change_kind("SubscriptionChanged", ChangeGroup.VERSIONS, CHANGED)
def subscription_changed(field: str, old: str, new: str) -> Judgement:
    """Another channel, catalog, approval or starting version; "" for none."""
    # From then on upgrades come without anybody looking at them.
    moves = field in ("source", "sourceNamespace")
    severity = RISK if moves or (field, old) == ("installPlanApproval", "Manual") else CHANGE
    effect = "; the operator comes from another catalog" * moves
    return severity, (f"{field}: ", *changed(old or "none", new or "none"), effect)


@change_kind("TargetsChanged", ChangeGroup.VERSIONS, CHANGED)
def targets_changed(added: tuple[str, ...], removed: tuple[str, ...]) -> Judgement:
    """An OperatorGroup that targets other namespaces; "" is all of them."""
    # A namespace that is no longer watched loses its operator; one that is added lets it in.
    severity = BREAKING if removed and "" not in added else RISK
    if added and removed and "" in (*added, *removed):
        return severity, ("targets ", *_namespaces(added), " instead of ", *_namespaces(removed))
    more: Message = ("targets ", *_namespaces(added)) if added else ()
    less: Message = ("no longer targets ", *_namespaces(removed)) if removed else ()
    return severity, (*more, "; " if more and less else "", *less)


def _namespaces(names: tuple[str, ...]) -> Message:
    return ("all namespaces",) if names == ("",) else listed(names)


@change_kind("InstallModeAdded", ChangeGroup.VERSIONS, ADDED)
def install_mode_added(mode: str) -> Judgement:
    """An install mode that the operator supports from now on."""
    return NOTE, ("now also supports install mode ", shown(mode))


@change_kind("InstallModeRemoved", ChangeGroup.VERSIONS, REMOVED)
def install_mode_removed(mode: str) -> Judgement:
    """An install mode that the operator does not support any more."""
    return BREAKING, ("no longer supports install mode ", shown(mode))


@change_kind("KubernetesChanged", ChangeGroup.VERSIONS, CHANGED)
def kubernetes_changed(old: str, new: str, severity: Severity) -> Judgement:
    """Another minKubeVersion; "" for none. It is a risk if it is higher, and the cluster may be below it."""
    return severity, ("minKubeVersion: ", *changed(old or "none", new or "none"))


@change_kind("RequirementAdded", ChangeGroup.VERSIONS, ADDED)
def requirement_added(requirement: str) -> Judgement:
    """Another operator or API that has to be there; `requirement` as its property has it."""
    return RISK, ("requires ", shown(requirement))


@change_kind("RequirementRemoved", ChangeGroup.VERSIONS, REMOVED)
def requirement_removed(requirement: str) -> Judgement:
    """Another operator or API that need not be there any more."""
    return NOTE, ("no longer requires ", shown(requirement))


# What an operator waits for, and what was taken as there to compare it.


@change_kind("ApiAssumed", ChangeGroup.VERSIONS, ADDED)
def api_assumed(api: str) -> Judgement:
    """A kind that the new side needs, that the old one did not, and that somebody else has to bring."""
    advice = " to be there: neither Kubernetes nor this workspace provides it, and without it OLM does not install this"
    return RISK, ("needs ", shown(api), advice)


@change_kind("NotInstallable", ChangeGroup.VERSIONS, CHANGED)
def not_installable(
    side: str, version: str, kube_version: str, reasons: tuple[str, ...], last: str, severity: Severity
) -> Judgement:
    """A version that this Kubernetes would not have installed; it is compared as if it did.

    `side` is old or new, `last` the version for --kube-version in which it installs, "" for none.
    """
    advice: Message = ("; try --kube-version ", shown(last)) if last else ()
    start: Message = (f"the {side} version, ", shown(version), ", does not install on Kubernetes ", shown(kube_version))
    return severity, (*start, ": ", *listed(reasons), *advice)
