"""What a person has to do: approve, set right what fails, and clean up what OLM leaves behind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from olmc.explain.provenance import APPROVAL, plan_of
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic
from olmc.model.objects import CRD_KIND, crd_key
from olmc.plan.applied import AppliedChange
from olmc.plan.outcomes import FAILED_BEFORE, LEFT_RUNNING, OperatorOutcome, PlannedInstall


class Task(NamedTuple):
    """Something that a person has to do, and the command for it ("" where there is none)."""

    text: str
    command: str = ""


class TaskContext(NamedTuple):
    """What tasks follow from: what is applied, what OLM installs, what becomes of operators, and what fails."""

    applied: Sequence[AppliedChange]
    installs: Sequence[PlannedInstall]
    operators: Sequence[OperatorOutcome]
    problems: Sequence[Diagnostic]
    cluster: Cluster


def tasks_of(context: TaskContext) -> Iterator[Task]:
    """What is to be set right first, then what is to be approved, then what each operator needs."""
    yield from _to_mend(context)
    yield from _to_approve(context)
    for operator in context.operators:
        rivals = [o for o in context.operators if (o.namespace, o.package) == (operator.namespace, operator.package)]
        if operator.after and not operator.subscription and any(o.subscription and not o.after for o in rivals):
            yield _not_adopted(operator)
        elif operator.outcome == LEFT_RUNNING:
            yield _left_running(operator)
        elif operator.outcome == FAILED_BEFORE:
            yield from _stuck(operator, context.cluster)
        elif operator.outcome == "removed" and operator.subscription:
            yield _not_made_anew(operator)
        elif operator.outcome == "failing" and operator.phase == "Succeeded" and operator.why:
            yield from _unresolved(operator, context)
    yield from _held_back(context.cluster)
    yield from _crds_deleted(context)


def _to_mend(context: TaskContext) -> Iterator[Task]:
    """What to set right first: what fails, each with its way out."""
    stuck = [install for install in context.installs if install.phase == "Failed"]
    for install in stuck:
        csvs = ", ".join(csv for _, csv in install.hops)
        hints = (f" {p.hint}" for p in context.problems if p.hint and install.message and install.message in p.message)
        replaced = (NamespacedName(install.namespace, old) for old, _ in install.hops)
        old = [name.name for name in replaced if (m := context.cluster.members.get(name)) and m.phase == "Replacing"]
        running = f"; {', '.join(old)} {'runs' if len(old) == 1 else 'run'} on" if old else ""
        yield Task(
            f"Set right what fails {csvs} before this is merged: OLM does not run a failed plan again, and upgrades "
            f"nothing in {install.namespace} any more{running}.{next(hints, '')}"
        )
    # What is Pending or can't be resolved where a plan has failed follows from that.
    for problem in context.problems if not stuck else ():
        # Several lines are a derivation, and no advice.
        if problem.hint and "\n" not in problem.hint:
            yield Task(problem.hint)


def _to_approve(context: TaskContext) -> Iterator[Task]:
    """The InstallPlans that wait, also those of before: what they wait for stays what it was (observed-40)."""
    asking = {NamespacedName(s.name.namespace, s.plan): s for s in context.cluster.subscriptions.values()}
    for name, plan in context.cluster.plans.items():
        if plan.phase != APPROVAL:
            continue
        late = ""
        if name in asking and asking[name].approval != "Manual" and plan.given is not None:
            late = (
                " Its approval was fixed when it was made: that the Subscription is Automatic now does not release it."
            )
        patch = '--type merge -p \'{"spec":{"approved":true}}\''
        yield Task(
            f"Approve {', '.join(plan.csvs)} in {name.namespace}: nothing of it is installed before.{late}",
            f"kubectl -n {name.namespace} patch installplan {name.name} {patch}",
        )


def _left_running(operator: OperatorOutcome) -> Task:
    """What to do about an operator whose Subscription is gone (observed-36)."""
    return Task(
        f"{operator.after} in {operator.namespace} goes on running, and nobody upgrades it: OLM uninstalls nothing. To "
        "uninstall it, delete its CSV; its CRDs and their objects stay.",
        _deletion(operator),
    )


def _not_adopted(operator: OperatorOutcome) -> Task:
    """What to do about an operator whose Subscription is gone while another one asks for its package (observed-37)."""
    kept = "Keep the name of the old one; or delete" if operator.outcome == LEFT_RUNNING else "Delete"
    return Task(
        f"{operator.after} in {operator.namespace} belongs to no Subscription any more, and the new one can't take it "
        f"over. {kept} the CSV, and OLM installs the operator anew. Its CRDs and their objects stay.",
        _deletion(operator),
    )


def _deletion(operator: OperatorOutcome) -> str:
    return f"kubectl -n {operator.namespace} delete clusterserviceversion {operator.after}"


def _stuck(operator: OperatorOutcome, cluster: Cluster) -> Iterator[Task]:
    """How to get going again what a failed plan has left: OLM never goes on from it (observed-45, observed-48)."""
    subscription = cluster.subscriptions.get(NamespacedName(operator.namespace, operator.subscription))
    plan = plan_of(subscription, cluster) if subscription is not None else None
    if plan is None or plan.phase != "Failed":
        return
    csvs = [operator.after]
    while (member := cluster.members.get(NamespacedName(operator.namespace, csvs[-1]))) is not None:
        if (
            NamespacedName(operator.namespace, member.csv.replaces) not in cluster.members
            or member.csv.replaces in csvs
        ):
            break
        csvs.append(member.csv.replaces)
    names = " and ".join(csvs)
    yield Task(
        f"The plan for {operator.after} in {operator.namespace} has failed, and OLM does not run it again, whatever is "
        f"set right. Once its cause is gone, delete the Subscription and {names}, then apply the Subscription again: "
        "OLM installs anew. CRDs and their objects stay; the operator does not run in between.",
        f"kubectl -n {operator.namespace} delete subscription/{operator.subscription} "
        + " ".join(f"clusterserviceversion/{csv}" for csv in csvs),
    )


def _not_made_anew(operator: OperatorOutcome) -> Task:
    """The CSV was deleted, its Subscription was not (observed-40, observed-41)."""
    return Task(
        f"To have {operator.before} again, delete the Subscription as well and apply it again; to be rid of it for "
        "good, take the Subscription out of the repository. Its CRDs and their objects stay.",
        f"kubectl -n {operator.namespace} delete subscription {operator.subscription}",
    )


def _unresolved(operator: OperatorOutcome, context: TaskContext) -> Iterator[Task]:
    """What a Subscription asks for in vain; a namespace is resolved as a whole, or not at all (observed-70)."""
    name = NamespacedName(operator.namespace, operator.subscription)
    subscription = context.cluster.subscriptions.get(name)
    hints = {problem.hint for problem in context.problems}
    if subscription is not None and subscription.failure and operator.why not in hints:
        yield Task(
            f"Set right what Subscription {name} asks for: {operator.why}. {operator.after} runs on; until then "
            f"nothing in {operator.namespace} is installed or upgraded."
        )


def _held_back(cluster: Cluster) -> Iterator[Task]:
    """The upgrades that the running operator holds back (observed-50)."""
    for name, member in sorted(cluster.members.items()):
        if member.reason == "OperatorConditionNotUpgradeable":
            old = member.csv.replaces
            override = {"type": "Upgradeable", "status": "True", "reason": "Reviewed", "message": "go ahead"}
            patch = json.dumps({"spec": {"overrides": [override]}}, separators=(",", ":"))
            yield Task(
                f"{name} waits, and {old} runs on: {member.message}. It goes on by itself once the operator says "
                "that it may, or at once with an override, at your own risk.",
                f"kubectl -n {name.namespace} patch operatorcondition {old} --type merge -p '{patch}'",
            )


def _crds_deleted(context: TaskContext) -> Iterator[Task]:
    """The CRDs that somebody deletes although an installed CSV owns them (observed-63)."""
    gone = [change.key for change in context.applied if change.action in ("delete", "prune")]
    for crd in (key.name for key in gone if key.kind == CRD_KIND):
        owners = [str(name) for name, csv in context.cluster.csvs.items() if crd in {o.name for o in csv.owned_crds}]
        if owners and crd_key(crd) not in context.cluster.objects:
            yield Task(
                f"Apply CustomResourceDefinition {crd} of the bundle of {', '.join(sorted(owners))} again: OLM does "
                "not, as the plan that made it is done. Its objects are gone."
            )
