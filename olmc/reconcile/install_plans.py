"""InstallPlans at work: run the steps in order until one fails (R-CAT-603 … R-CAT-607, R-CAT-700)."""

from __future__ import annotations

from typing import NamedTuple

from olmc.kube.api_validation.field import Keys
from olmc.kube.rbac_access import access, creation_refusal, escalation_refusal
from olmc.kube.restmapper import BUILTIN
from olmc.model.cluster import Cluster, InstallPlan, Step
from olmc.model.diagnostics import Cause, PlanFault
from olmc.model.objects import ACCOUNT, RBAC, GroupKind, ObjectKey, Subject
from olmc.model.operators import OLM_GROUP, OperatorGroup
from olmc.model.options import Options
from olmc.reconcile.apply_step import CRD, StepError, StepTarget, apply_step, mapper_of, unserved
from olmc.reconcile.existing_install_plans import INSTALLING, UNMANAGED, is_approved
from olmc.reconcile.install_strategy import missing_token
from olmc.reconcile.operator_groups import no_group, with_targets

_CORE = {
    "ClusterServiceVersion": (OLM_GROUP, "clusterserviceversions", "creating csv"),
    "Subscription": (OLM_GROUP, "subscriptions", "creating subscription"),
    "Secret": ("", "secrets", "updating secret:"),
    "ConfigMap": ("", "configmaps", "updating configmap:"),
    "Service": ("", "services", "updating service:"),
    "ServiceAccount": ("", "serviceaccounts", "creating service account:"),
    "Role": (RBAC, "roles", "creating role"),
    "RoleBinding": (RBAC, "rolebindings", "creating rolebinding"),
    "ClusterRole": (RBAC, "clusterroles", "creating clusterrole"),
    "ClusterRoleBinding": (RBAC, "clusterrolebindings", "creating clusterrolebinding"),
}


class _PlanStop(NamedTuple):
    """Where a plan stops: the number of the step, the problem in OLM's words and as data, and the keys that lead to it
    in the step's object."""

    step: int
    problem: str
    cause: Cause | None = None
    keys: Keys = ()


def with_plan(cluster: Cluster, plan: InstallPlan, options: Options) -> Cluster:
    """The cluster after an InstallPlan was made and, if it is approved, run as far as it gets."""
    group = _managing_group(cluster, plan.namespace, options)
    if group is None:
        text = "no operator group found that is managing this namespace"
        return _add(cluster, plan._replace(condition=("False", UNMANAGED, text), cause=PlanFault.UNMANAGED))
    plan = plan._replace(account=_account(group))
    cluster = _add(cluster, plan)
    if not plan.approved:
        return cluster
    problem = missing_token(group, cluster.objects, options.kube_version, cluster.profile)
    if problem:
        return _add(cluster, _failed(plan, _PlanStop(plan.executed, problem, PlanFault.NO_TOKEN)))
    cluster, stop = _run(cluster, plan, group, options)
    if stop is None:
        whole = plan._replace(phase="Complete", message="", condition=("True", "", ""), executed=len(plan.steps))
        return _add(cluster, whole)
    if stop.cause is PlanFault.FORBIDDEN:
        text = f"retrying execution due to error: {stop.problem}"
        return _add(cluster, plan._replace(phase="Installing", message=text, executed=stop.step, cause=stop.cause))
    return _add(cluster, _failed(plan, stop))


def _failed(plan: InstallPlan, stop: _PlanStop) -> InstallPlan:
    condition = ("False", "InstallComponentFailed", stop.problem)
    return plan._replace(
        phase="Failed", message=stop.problem, condition=condition, executed=stop.step, fault=stop.keys, cause=stop.cause
    )


def resumed(cluster: Cluster, options: Options) -> tuple[Cluster, tuple[InstallPlan, ...]]:
    """The cluster after the plans of the workspace that OLM goes on with, in their order, and those plans."""
    ready = [
        plan
        for plan in sorted(cluster.plans, key=lambda plan: (plan.namespace, plan.generation))
        if plan.given is not None and plan.steps and (plan.phase == INSTALLING or is_approved(plan, options))
    ]
    for plan in ready:
        begun = plan._replace(approved=True, resumed=True, message="", condition=None, cause=None)
        cluster = with_plan(cluster, begun, options)
    names = {(plan.namespace, plan.name) for plan in ready}
    return cluster, tuple(plan for plan in cluster.plans if (plan.namespace, plan.name) in names)


def _add(cluster: Cluster, plan: InstallPlan) -> Cluster:
    others = tuple(p for p in cluster.plans if (p.namespace, p.name) != (plan.namespace, plan.name))
    return cluster._replace(plans=(*others, plan))


def _managing_group(cluster: Cluster, namespace: str, options: Options) -> OperatorGroup | None:
    """The one OperatorGroup of a namespace, if it targets anything (R-CAT-604); descoped operators need none."""
    groups = cluster.groups_in(namespace)
    if not groups and options.descoped:
        return no_group(namespace)
    if len(groups) != 1:
        return None
    group = with_targets(groups[0], cluster.namespaces, cluster.objects)
    return group if group.targets and not group.problem else None


def _account(group: OperatorGroup) -> dict[str, str] | None:
    if not group.account:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "name": group.account,
        "namespace": group.namespace,
        "uid": "",
    }


def _run(
    cluster: Cluster, plan: InstallPlan, group: OperatorGroup, options: Options
) -> tuple[Cluster, _PlanStop | None]:
    """The cluster after the steps that worked, and where the plan stops, None for nowhere."""
    target = StepTarget(plan.namespace, plan.name, options)
    for done, step in enumerate(plan.steps[plan.executed :], plan.executed):
        forbidden = _forbidden(cluster, step, target, group)
        if forbidden:
            return cluster, _PlanStop(done, forbidden, PlanFault.FORBIDDEN)
        try:
            after = apply_step(cluster, step, target)
        except StepError as error:
            return cluster, _PlanStop(done, str(error), error.cause, error.keys)
        forbidden = _escalation(cluster, after, step, group)
        if forbidden:
            return cluster, _PlanStop(done, forbidden, PlanFault.FORBIDDEN)
        cluster = after
    return cluster, None


def _creation(cluster: Cluster, step: Step) -> tuple[str, str, str, bool]:
    """The API group and resource that a step writes to, OLM's words for it, and whether it is outside of namespaces."""
    if step.kind in _CORE:  # decided by the kind alone, whatever group is written there (R-CAT-712)
        group, resource, doing = _CORE[step.kind]
        return group, resource, doing, not BUILTIN.mapping(GroupKind(group, step.kind)).namespaced
    found = mapper_of(cluster).mapping(step.gvk.group_kind)
    return found.group, found.plural, "creating unstructured object", not found.namespaced


def _forbidden(cluster: Cluster, step: Step, target: StepTarget, group: OperatorGroup) -> str:
    """The API server's refusal when the group's service account lacks the right for a step (D23); CRDs are always
    written with OLM's own rights (R-CAT-720)."""
    if not group.account or step.kind == CRD:
        return ""
    if step.kind not in _CORE and (step.kind not in cluster.profile.bundle_kinds or unserved(cluster, step, target)):
        return ""  # which OLM notices before it writes
    api_group, resource, doing, is_cluster_wide = _creation(cluster, step)
    scope = "" if is_cluster_wide else group.namespace
    refusal = creation_refusal(access(cluster.objects), _subject(group), api_group, resource, scope)
    return f"error {doing} {step.name}: {refusal}" if refusal else ""


def _escalation(before: Cluster, after: Cluster, step: Step, group: OperatorGroup) -> str:
    """Its refusal when the account would give away rights with a new Role or binding that it does not have itself."""
    scope = group.namespace if BUILTIN.mapping(GroupKind(RBAC, step.kind)).namespaced else ""
    key = ObjectKey(RBAC, step.kind, scope, step.name)
    if not group.account or key not in after.objects or key in before.objects:
        return ""
    role = after.objects[key].object
    refusal = escalation_refusal(access(before.objects), _subject(group), key, role, before.objects)
    return f"error {_CORE[step.kind][2]} {step.name}: {refusal}" if refusal else ""


def _subject(group: OperatorGroup) -> Subject:
    return Subject(ACCOUNT, group.namespace, group.account)
