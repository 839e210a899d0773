"""Moving a workspace to the Operator API: Subscriptions become Operators that lose nothing (R-OPERATOR-13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.lean import NamedTuple
from olmc.load.v2alpha1 import V2ALPHA1
from olmc.model.catalog import Candidate
from olmc.model.cluster import Cluster, NamespacedName, Subscription
from olmc.model.diagnostics import Diagnostic
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Operator
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.proposed.document_edits import in_place
from olmc.proposed.migration import Edit, left_alone
from olmc.proposed.v2alpha1.content import DEFAULT, suggested_namespace
from olmc.proposed.v2alpha1.installs import component_key
from olmc.proposed.v2alpha1.operators import associated
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.steps import content_of
from olmc.yaml.edit import without_document

_FOLLOWED = ("spec", "updates", "catalogSource")
# Where the fields of a Subscription's spec go in an Operator.
_FIELDS = {
    "name": (*_FOLLOWED, "package"),
    "channel": (*_FOLLOWED, "channel"),
    "startingCSV": (*_FOLLOWED, "entrypoint"),
    "installPlanApproval": (*_FOLLOWED, "approval"),
    "source": (*_FOLLOWED, "ref", "name"),
    "sourceNamespace": (*_FOLLOWED, "ref", "namespace"),
}


class OperatorMove(NamedTuple):
    """A Subscription, and the Operator that takes its place.

    `objects` are written in the Subscription's place: the Operator, unless the workspace has it, and the Install that
    keeps it in its namespace, unless the bundle suggests that one. `approvals` are the Installs that have to count as
    approved for everything that is installed to stay installed.
    """

    subscription: Subscription
    operator: str
    objects: tuple[KubernetesObject, ...]
    approvals: tuple[str, ...]

    @property
    def name(self) -> NamespacedName:
        return self.subscription.name

    @property
    def edit(self) -> Edit:
        """The change to the Subscription's document."""
        assert self.subscription.source is not None
        change = in_place(self.objects, "Operator", _FIELDS) if self.objects else without_document
        return Edit(self.subscription.source, change)


class MigrationPlan(NamedTuple):
    """The Subscriptions that may become Operators, and findings about those that can't."""

    moves: tuple[OperatorMove, ...]
    refused: tuple[Diagnostic, ...]


def plan_moves(
    workspace: Workspace, settled: SettledCluster, operators: Sequence[Operator], options: Options
) -> MigrationPlan:
    """What becomes of each Subscription of a workspace, given as it comes to rest, and the Operators that it has."""
    association = associated(settled.beginning, operators)
    by_operator: dict[str, list[NamespacedName]] = {}
    for name, operator in sorted(association.by_subscription.items()):
        by_operator.setdefault(operator, []).append(name)
    written = {operator.name for operator in operators}
    new = {operator.name: operator.object for operator in association.operators}
    moves: list[OperatorMove] = []
    refused = list(association.refused)
    for operator, names in by_operator.items():
        subscriptions = [settled.cluster.subscriptions[name] for name in names if name in settled.cluster.subscriptions]
        given = [subscription for subscription in subscriptions if subscription.source is not None]
        for subscription in given:
            why = _hindrance(subscription, given)
            if why:
                refused.append(left_alone(f"Subscription {subscription.name}", subscription.source, why))
                continue
            home = _record(workspace, settled.cluster, subscription, operator, options)
            objects = (*(() if operator in written else (new[operator],)), *home)
            approvals = _approvals(settled.cluster, subscription, operator)
            moves.append(OperatorMove(subscription, operator, objects, approvals))
    return MigrationPlan(tuple(moves), tuple(refused))


def _hindrance(subscription: Subscription, sharing: Sequence[Subscription]) -> str:
    """Why a Subscription can't become an Operator, "" if it may; `sharing` are all that would become the same one."""
    if len(sharing) > 1:
        others = ", ".join(str(each.name) for each in sharing if each is not subscription)
        return f"{others} asks for the same package, and an Operator installs it in one namespace only"
    if subscription.failure:
        return (
            f"it can't be resolved ({subscription.failure[1]}), so that there is nothing to compare the Operator with"
        )
    return ""


def _record(
    workspace: Workspace, cluster: Cluster, subscription: Subscription, operator: str, options: Options
) -> tuple[KubernetesObject, ...]:
    """The Install that says where the operator is installed, if its bundle suggests another namespace."""
    csv = subscription.installed or subscription.current
    source = cluster.catalogs.get(subscription.catalog)
    candidate: Candidate | None = next((e for e in (source.entries if source else ()) if e.name == csv), None)
    content = content_of(workspace, cluster, candidate) if candidate is not None else None
    namespace = subscription.name.namespace
    if candidate is None or content is None or not candidate.image or suggested_namespace(content) == namespace:
        return ()
    metadata = {"name": csv, "labels": {component_key(operator, options): ""}}
    spec: dict[str, Any] = {"namespaces": [{"from": DEFAULT, "to": namespace}]}
    spec["approval"] = "Approved" if subscription.installed else "Unapproved"
    spec["content"] = [{"type": "ManifestImage", "manifestImage": candidate.image}]
    return ({"apiVersion": V2ALPHA1, "kind": "Install", "metadata": metadata, "spec": spec},)


def _approvals(cluster: Cluster, subscription: Subscription, operator: str) -> tuple[str, ...]:
    """All Installs of what was updated by itself; of what somebody approves, those that were approved."""
    if subscription.approval != "Manual":
        return (operator,)
    source = cluster.catalogs.get(subscription.catalog)
    package = {entry.name for entry in (source.entries if source else ()) if entry.package == subscription.package}
    done = (
        csv
        for plan in cluster.plans.values()
        if plan.namespace == subscription.name.namespace and plan.phase == "Complete"
        for csv in plan.csvs
    )
    return tuple(dict.fromkeys(f"{operator}/{csv}" for csv in done if csv in package))


def settings_for(spec: Mapping[str, Any], approved: Sequence[str]) -> dict[str, Any]:
    """What olmc.yaml has to say, given what it says, for Operators to be compiled and these Installs to be approved."""
    new: dict[str, Any] = {} if spec.get("enableV2alpha1") is True else {"enableV2alpha1": True}
    given = list(spec.get("approvedInstalls") or ())
    more = [entry for entry in approved if entry not in given]
    return {**new, "approvedInstalls": [*given, *more]} if more else new
