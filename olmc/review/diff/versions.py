"""Changes of what is installed: which CSV of which version in which namespace, and whether it would work."""

from __future__ import annotations

from dataclasses import dataclass

from olmc.model.objects import Identity
from olmc.review.diff.change import Gravity, Group, Sentence, Sign, listed, shown
from olmc.review.diff.routes import Path

__all__ = [
    "InstallModeAdded", "InstallModeRemoved", "KubernetesRaised", "OperatorAdded", "OperatorRemoved",
    "OperatorUpgraded", "PhaseChanged", "PlanChanged", "RequirementAdded", "RequirementRemoved", "ResolutionFails",
    "SubscriptionChanged", "TargetsChanged", "VersionEdited",
]  # fmt: skip


@dataclass(frozen=True)
class OperatorAdded:
    """A package that only the new side has in this namespace."""

    identity: Identity
    package: str
    version: str

    group = Group.VERSIONS
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("new operator ", shown(self.package), " ", shown(self.version))


@dataclass(frozen=True)
class OperatorRemoved:
    """A package that only the old side has in this namespace."""

    identity: Identity
    package: str
    version: str

    group = Group.VERSIONS
    gravity = Gravity.BREAKING
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("operator ", shown(self.package), " ", shown(self.version), " is gone")


@dataclass(frozen=True)
class OperatorUpgraded:
    """Another CSV of the same package in a namespace.

    `old` and `new` are names of CSVs, the versions are theirs. `path` is the way that OLM takes from one to the other;
    `downgrade`: the new version is lower.
    """

    identity: Identity
    package: str
    old: str
    new: str
    old_version: str
    new_version: str
    path: Path
    downgrade: bool

    group = Group.VERSIONS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        if self.path.reached is False:
            return Gravity.BREAKING
        return Gravity.RISK if self.downgrade else Gravity.CHANGE

    def sentence(self) -> Sentence:
        down = " (a downgrade)" if self.downgrade else ""
        versions: Sentence = (shown(self.old_version or self.old), " → ", shown(self.new_version or self.new), down)
        return (shown(self.package), " ", *versions, *_way(self.path))


def _way(path: Path) -> Sentence:
    if path.reached is None:
        return ("; whether OLM leads there only its catalog could say",)
    if path.reached is False:
        return ("; OLM does not lead there: it comes to rest at ", shown(path.end))
    if len(path.hops) == 1:
        return (f", in one hop ({path.hops[0].kind})",)
    stops: Sentence = (shown(path.hops[0].source),)
    for hop in path.hops:
        stops = (*stops, " → ", shown(hop.target))
    return (f", in {len(path.hops)} hops: ", *stops)


@dataclass(frozen=True)
class VersionEdited:
    """The same CSV with another version or other upgrade edges: its bundle was changed without a new name."""

    identity: Identity
    field: str
    old: str
    new: str

    group = Group.VERSIONS
    gravity = Gravity.RISK
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return (f"{self.field} of the same CSV: ", shown(self.old), " → ", shown(self.new))


@dataclass(frozen=True)
class PhaseChanged:
    """Another phase of an operator; `old` is "" for a new one. `message` is OLM's text."""

    identity: Identity
    old: str
    new: str
    reason: str
    message: str

    group = Group.VERSIONS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.CHANGE if self.new == "Succeeded" else Gravity.BREAKING

    def sentence(self) -> Sentence:
        before: Sentence = (shown(self.old), " → ") if self.old else ()
        if self.new == "Succeeded":
            return ("phase: ", *before, shown(self.new))
        return ("would not work: ", *before, shown(self.new), " (", shown(self.reason), "): ", shown(self.message))


@dataclass(frozen=True)
class ResolutionFails:
    """A Subscription that OLM could resolve on the old side and can't on the new one."""

    identity: Identity
    message: str

    group = Group.VERSIONS
    gravity = Gravity.BREAKING
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return ("can't be resolved any more: ", shown(self.message))


@dataclass(frozen=True)
class PlanChanged:
    """An InstallPlan that waits for approval, or has failed, on the new side only; `csvs` is what it would install."""

    identity: Identity
    phase: str
    csvs: tuple[str, ...]
    message: str

    group = Group.VERSIONS
    sign = Sign.ADDED

    @property
    def gravity(self) -> Gravity:
        return Gravity.BREAKING if self.phase == "Failed" else Gravity.CHANGE

    def sentence(self) -> Sentence:
        if self.phase == "Failed":
            return ("the plan for ", *listed(self.csvs), " fails: ", shown(self.message))
        return ("the plan for ", *listed(self.csvs), " waits for approval")


@dataclass(frozen=True)
class SubscriptionChanged:
    """Another channel, catalog, approval or starting version; "" for none."""

    identity: Identity
    field: str
    old: str
    new: str

    group = Group.VERSIONS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if (self.field, self.old) == ("installPlanApproval", "Manual") else Gravity.CHANGE

    def sentence(self) -> Sentence:
        return (f"{self.field}: ", shown(self.old or "none"), " → ", shown(self.new or "none"))


@dataclass(frozen=True)
class TargetsChanged:
    """An OperatorGroup that targets other namespaces; "" is all of them."""

    identity: Identity
    added: tuple[str, ...]
    removed: tuple[str, ...]

    group = Group.VERSIONS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.BREAKING if self.removed and "" not in self.added else Gravity.RISK

    def sentence(self) -> Sentence:
        if self.added and self.removed and "" in (*self.added, *self.removed):
            return ("targets ", *_namespaces(self.added), " instead of ", *_namespaces(self.removed))
        more: Sentence = ("targets ", *_namespaces(self.added)) if self.added else ()
        less: Sentence = ("no longer targets ", *_namespaces(self.removed)) if self.removed else ()
        return (*more, "; " if more and less else "", *less)


def _namespaces(names: tuple[str, ...]) -> Sentence:
    return ("all namespaces",) if names == ("",) else listed(names)


@dataclass(frozen=True)
class InstallModeAdded:
    """An install mode that the operator supports from now on."""

    identity: Identity
    mode: str

    group = Group.VERSIONS
    gravity = Gravity.NOTE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("supports install mode ", shown(self.mode))


@dataclass(frozen=True)
class InstallModeRemoved:
    """An install mode that the operator does not support any more."""

    identity: Identity
    mode: str

    group = Group.VERSIONS
    gravity = Gravity.BREAKING
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("no longer supports install mode ", shown(self.mode))


@dataclass(frozen=True)
class KubernetesRaised:
    """Another minKubeVersion; "" for none."""

    identity: Identity
    old: str
    new: str

    group = Group.VERSIONS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.new else Gravity.NOTE

    def sentence(self) -> Sentence:
        return ("minKubeVersion: ", shown(self.old or "none"), " → ", shown(self.new or "none"))


@dataclass(frozen=True)
class RequirementAdded:
    """Another operator or API that has to be there; `requirement` as its property has it."""

    identity: Identity
    requirement: str

    group = Group.VERSIONS
    gravity = Gravity.RISK
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("requires ", shown(self.requirement))


@dataclass(frozen=True)
class RequirementRemoved:
    """Another operator or API that need not be there any more."""

    identity: Identity
    requirement: str

    group = Group.VERSIONS
    gravity = Gravity.NOTE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("no longer requires ", shown(self.requirement))
