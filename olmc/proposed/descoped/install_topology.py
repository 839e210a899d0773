"""The four situations in which operators meet descoping, and what is reported about each (R-DESCOPE-10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any, Literal

from olmc.diagnostics.rules import proposed as rules
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, CsvState, NamespacedName, Subscription
from olmc.model.diagnostics import Diagnostic
from olmc.model.objects import Rendered, status_of
from olmc.olm.naming import COMPONENT_PREFIX, component_label_key
from olmc.render.context import RenderContext
from olmc.yaml import locate

Situation = Literal["single", "all-namespaces", "same-version", "different-versions", "descoped"]

_RULES = {
    "single": rules.SINGLE_INSTALL,
    "all-namespaces": rules.ALL_NAMESPACES,
    "same-version": rules.SAME_VERSION,
    "different-versions": rules.DIFFERENT_VERSIONS,
}
_WAIT = "An update may descope it; otherwise move to a descoped alternative."
_MIGRATE = {
    "single": "Let its OperatorGroup target all namespaces, which it supports.",
    "same-version": "Keep one instance and let its OperatorGroup target the namespaces of all.",
}
_ADVICE = {
    ("single", True): f"Let its OperatorGroup target all namespaces that need it. {_WAIT}",
    ("single", False): _WAIT,
    ("same-version", True): "Keep one instance and let its OperatorGroup target the namespaces of all.",
    ("same-version", False): "Remove all instances but one, or move to a descoped alternative.",
    ("different-versions", True): "Choose one version, or a descoped alternative, and remove the other instances.",
    ("different-versions", False): "Choose one version, or a descoped alternative, and remove the other instances.",
}


class InstalledCsv(NamedTuple):
    """An operator that a Subscription has installed, and the situation that its package is in.

    `operator` is the name that its Operator object has with descoping on.
    """

    subscription: Subscription
    member: CsvState
    situation: Situation
    operator: str

    @property
    def namespace(self) -> str:
        return self.member.csv.namespace

    @property
    def supports_multi(self) -> bool:
        """Whether one instance can watch several namespaces."""
        return supports(self.member, "MultiNamespace")

    @property
    def warnings(self) -> tuple[str, ...]:
        """W1 … W4 of the rule, none for what is as good as descoped."""
        package = self.subscription.package
        if self.situation in ("all-namespaces", "descoped"):
            return ()
        first = f"operator {package} in namespace {self.namespace} is not de-scoped"
        if self.situation == "different-versions":
            return first, f"operator {package} requires manual clean-up (selection of new alternative operators)"
        if self.supports_multi:
            return first, f"operator {package} supports MultiNamespace: consider migrating to a single instance"
        return (first,) if self.situation == "single" else (first, f"operator {package} requires manual clean-up")


def supports(member: CsvState, mode: str) -> bool:
    """Whether an operator supports an install mode."""
    return any(each.type == mode and each.supported for each in member.csv.install_modes)


def installs(cluster: Cluster) -> tuple[InstalledCsv, ...]:
    """The operators that Subscriptions have installed, by package and namespace, each with its situation."""
    by_package: dict[str, list[tuple[Subscription, CsvState]]] = {}
    for name, subscription in sorted(cluster.subscriptions.items()):
        member = cluster.members.get(NamespacedName(name.namespace, subscription.installed))
        if member is not None:
            by_package.setdefault(subscription.package, []).append((subscription, member))
    return tuple(
        InstalledCsv(
            subscription, member, _situation(member, [m for _, m in found]), _operator(subscription, len(found))
        )
        for _, found in sorted(by_package.items())
        for subscription, member in found
    )


def _situation(member: CsvState, all_of_package: Sequence[CsvState]) -> Situation:
    everywhere = member.group is not None and member.group.is_global and supports(member, "AllNamespaces")
    if member.csv.scope != "scoped":
        return "all-namespaces" if everywhere and member.csv.scope == "global" else "descoped"
    if everywhere:
        return "all-namespaces"
    if len(all_of_package) == 1:
        return "single"
    versions = {each.csv.version for each in all_of_package}
    return "same-version" if len(versions) == 1 else "different-versions"


def _operator(subscription: Subscription, instances: int) -> str:
    return subscription.package if instances == 1 else _suffixed(subscription)


def _suffixed(subscription: Subscription) -> str:
    return component_label_key(subscription.package, subscription.name.namespace).removeprefix(COMPONENT_PREFIX)


def findings(cluster: Cluster, migrated: Set[str]) -> Iterator[Diagnostic]:
    """What the situations give reason to say, at the Subscriptions; `migrated` are the packages that `olmc migrate`
    would change."""
    for each in installs(cluster):
        if each.situation == "descoped":
            continue
        source = each.subscription.source
        yield _RULES[each.situation].finding(
            locate(source, ("spec",)) if source is not None else None,
            warnings="; ".join(each.warnings),
            hint=_advice(each, migrates=each.subscription.package in migrated),
            package=each.subscription.package,
            namespace=each.namespace,
        )


def _advice(installed: InstalledCsv, *, migrates: bool) -> str:
    # A package that migrates for one of its Subscriptions may be as it is to be for another one.
    if migrates and installed.situation in _MIGRATE:
        return f"{_MIGRATE[installed.situation]} `olmc migrate --to descoped --dry-run` shows how."
    return _ADVICE.get((installed.situation, installed.supports_multi), "")


def with_operators_renamed(world: RenderContext, objects: Sequence[Rendered]) -> list[Rendered]:
    """The objects, Operators with the name and the condition that the situation of their package gives them."""
    by_name = {_suffixed(each.subscription): each for each in installs(world.cluster)}
    return [_renamed(found, by_name.get(found.identity.name)) if _is_operator(found) else found for found in objects]


def _is_operator(found: Rendered) -> bool:
    return (found.object["apiVersion"], found.object["kind"]) == ("operators.coreos.com/v1", "Operator")


def _renamed(found: Rendered, installed: InstalledCsv | None) -> Rendered:
    if installed is None:
        return found
    obj: dict[str, Any] = {**found.object, "metadata": {**found.object["metadata"], "name": installed.operator}}
    if installed.warnings:
        condition = {
            "type": "Scoped",
            "status": "True",
            "reason": "NotDescoped",
            "message": "; ".join(installed.warnings),
        }
        obj["status"] = {**status_of(obj), "conditions": [condition]}
    return found._replace(object=obj)
