"""The objects that OLM leaves, with the commands that remove them, and the work that OLM does late."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from olmc.compiler.model.cluster import APPROVAL, Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv, OperatorGroup
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import EXTENSIONS_V1, ClusterState, Workspace
from olmc.compiler.olm.facts import (
    csv_by_label,
    has_copy_label,
    home_of_copy,
    is_copy,
    is_extension,
    original_by_label,
    owner_of,
)
from olmc.compiler.olm.naming import COMPONENT_PREFIX, component_label_key
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.reconcile.diagnose import policy_way_out
from olmc.compiler.reconcile.initial_state import as_stored
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.reconcile.operator_groups import written_spec
from olmc.compiler.resolver.resolve import NOT_SATISFIABLE
from olmc.compiler.rules.findings.reconcile import KUBERNETES_HINT, LEFT_HINT, PENDING
from olmc.compiler.rules.findings.reconcile import NOT_SATISFIABLE as NOT_SATISFIED
from olmc.compiler.transition.deletion import (
    apply,
    cascade,
    deletion_index,
    handed_over,
    handovers,
    held_by_finalizers,
    held_by_others,
    kept_for,
    named,
    pruned,
    removed_by_policies,
)
from olmc.k8s.api.restmapper import plural_kind
from olmc.k8s.diagnostics import Diagnostic, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    LAST_APPLIED,
    OLM_GROUP,
    RBAC,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Rendered,
    crd_key,
    labels_of,
    mapping,
    masked,
    may_hold_secrets,
    metadata_of,
    object_key,
    owner_references,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.review.diagnose.engine import CURE, is_shown
from olmc.review.diagnose.rules import SECOND_PROVIDER
from olmc.review.diff.compare import Difference
from olmc.review.diff.crd_kinds import ABSENT
from olmc.review.diff.deltas import Delta, deltas
from olmc.review.diff.noise import PROVIDED_APIS
from olmc.review.explain.provenance import plan_of
from olmc.review.plan.outcomes import (
    FAILED_BEFORE,
    LEFT_RUNNING,
    OperatorOutcome,
    PlannedInstall,
    extension_outcomes,
    operator_outcomes,
    paired_outcomes,
    planned_extensions,
    planned_installs,
    tasks_of_extensions,
    tasks_of_moves,
)
from olmc.review.plan.repair import DriftedObject

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome, OperatorResult
    from olmc.review.diagnose.diagnosis import Diagnosis
    from olmc.review.plan.outcomes import PlannedExtension

# What a GitOps tool does with a repository's manifests: what it creates, changes and deletes, and what goes along.

Action = Literal["create", "change", "refuse", "prune", "delete"]

_KUBERNETES = KUBERNETES_HINT.partition("{")[0]
_NOISE = frozenset({LAST_APPLIED})
_EXTENSIONS = EXTENSIONS_V1.partition("/")[0]


class AppliedChange(NamedTuple):
    """An object that is created, changed, refused by the API server, pruned, or deleted by hand.

    `deltas`: where a changed one differs. `along`: what goes with a deleted one. `stays`: the cluster has a refused one
    already, and keeps it as it is. `held`: what is deleted and stays, as finalizers hold it that no controller of the
    cluster removes, with these; () for what stays along with one of them.
    """

    action: Action
    key: ObjectKey
    deltas: tuple[Delta, ...] = ()
    along: tuple[ObjectKey, ...] = ()
    stays: bool = False
    held: tuple[tuple[ObjectKey, tuple[str, ...]], ...] = ()


def applied_changes(
    state: ClusterState, workspace: Workspace, options: Options, rendered: Iterable[Rendered] = ()
) -> tuple[AppliedChange, ...]:
    """Return the changes of a state before OLM goes on, in order: handed over to OLM v1 by hand, applied or refused,
    pruned, deleted by hand (observed-37).

    `workspace` is as its files have it. `rendered` are the objects that follow. An object of OLM in it lacks the fields
    that the API server does not know.
    """
    manifests, removals = workspace.manifests, workspace.removals
    profile = profile_of(options.olm_version)
    changes: list[AppliedChange] = []
    moved = handovers(state, manifests) if options.prune else ()
    if moved:
        actions_before: list[tuple[Action, ObjectKey]] = [("delete", key) for move in moved for key in move.deleted]
        changes += _deleted(state.objects, actions_before, profile)
        state = handed_over(state, moved, manifests, profile)
    after = apply(state, manifests)
    # Against the state and not against the manifests of before: what somebody changed by hand is changed back.
    served = {one.identity: one.object for one in rendered if one.identity.group in (OLM_GROUP, _EXTENSIONS)}
    changes += _written(state, after.objects, manifests, served)
    for key in sorted(workspace.refused - state.refused):
        kept = kept_for(key, state.applied)
        changes.append(AppliedChange("refuse", kept or key, stays=kept is not None))
    actions: list[tuple[Action, ObjectKey]] = []
    if options.prune:
        actions += (("prune", key) for key in pruned(after, manifests, workspace.refused))
    actions += (("prune", key) for key in removed_by_policies(after, manifests, removals))
    actions += (("delete", key) for text in options.delete for key in named(text, after.objects))
    return (*changes, *_deleted(after.objects, actions, profile))


def _deleted(
    objects: Mapping[ObjectKey, Manifest], actions: Iterable[tuple[Action, ObjectKey]], profile: Profile
) -> Iterator[AppliedChange]:
    """The deletions, one after the other, each with what it takes along."""
    actions = list(actions)
    if not actions:
        return
    index, dropped = deletion_index(objects), dict[ObjectKey, None]()
    whole = cascade(index, [key for _, key in actions], {}, profile)
    held, foreign = held_by_finalizers(index, whole, profile), held_by_others(index, whole)
    for action, key in actions:
        if key in dropped or key not in objects:
            continue
        lost = cascade(index, [key], dropped, profile)
        stay = tuple((each, foreign.get(each, ())) for each in sorted(lost.keys() & held))
        yield AppliedChange(action, key, along=tuple(sorted(lost.keys() - {key} - held)), held=stay)
        dropped |= lost


def _written(
    state: ClusterState, after: Mapping[ObjectKey, Manifest], manifests: Iterable[Manifest],
    served: Mapping[ObjectKey, KubernetesObject],
) -> Iterator[AppliedChange]:  # fmt: skip
    for key in dict.fromkeys(object_key(manifest.object) for manifest in manifests):
        if key not in state.objects:
            # The API server rejects an object of OLM v1 that does not follow: no controller removes one.
            if key in served or key.group != _EXTENSIONS:
                yield AppliedChange("create", key)
            continue
        was, now = _compared(state.objects[key].object), _compared(after[key].object)
        # The server stores one version of an object, whichever version of the API the manifest is written in.
        now = {**now, "apiVersion": was["apiVersion"]}
        if was["metadata"] != now["metadata"]:
            was = _without_marks_of_others(was, now, state.applied.get(key, {}))
        differing = tuple(deltas(*(masked(was, now) if may_hold_secrets(now) else (was, now))))
        if key in served:
            differing = tuple(delta for delta in differing if not _is_unknown(delta, served[key]))
        if differing:
            yield AppliedChange("change", key, differing)


def _is_unknown(delta: Delta, served: KubernetesObject) -> bool:
    """Return whether a manifest adds a field of the spec that the API server of this release drops."""
    value: Any = served
    for step in delta.path:
        if not isinstance(value, Mapping):
            return False
        if step not in value:
            return delta.old is ABSENT and delta.path[0] == "spec"
        value = value[step]
    return False


def _without_marks_of_others(was: KubernetesObject, now: KubernetesObject, applied: KubernetesObject) -> dict[str, Any]:
    """An object without the labels and annotations that go although no manifest ever had them, as those do that stand
    beside the last one of the manifest's: who has set them sets them again."""
    metadata = dict(was["metadata"])
    for field in ("labels", "annotations"):
        own = mapping(metadata_of(applied).get(field)).keys() | mapping(metadata_of(now).get(field)).keys()
        kept = {name: value for name, value in mapping(metadata.pop(field, None)).items() if name in own}
        metadata |= {field: kept} if kept else {}
    return {**was, "metadata": metadata}


def counted(keys: Iterable[ObjectKey]) -> str:
    """Objects by kind: `3 ClusterRoles, 1 Deployment`."""
    kinds = Counter(key.kind for key in keys)
    return ", ".join(f"{count} {plural_kind(kind) if count > 1 else kind}" for kind, count in sorted(kinds.items()))


def _compared(obj: KubernetesObject) -> dict[str, Any]:
    """An object without what an apply writes about itself, and without the labels by which OLM knows the objects of an
    operator. What OLM's types add to a CSV, and leave out of an OperatorGroup, is no change, nor is what OLM and
    Kubernetes write themselves: the APIs of a group (R-OG-13), and the rules of a role with an aggregationRule."""
    if obj["kind"] == CSV_KIND:
        obj = as_stored(obj)
    elif obj["kind"] == "OperatorGroup":
        obj = {**obj, "spec": written_spec(spec_of(obj))}
    elif obj["kind"] == "ClusterRole" and mapping(obj.get("aggregationRule")).get("clusterRoleSelectors"):
        obj = {**obj, "rules": []}
    metadata = dict(obj["metadata"])
    annotations = {k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k not in _NOISE}
    if obj["kind"] == "OperatorGroup" and not spec_of(obj).get("staticProvidedAPIs"):
        annotations.pop(PROVIDED_APIS, None)
    metadata |= {"annotations": annotations} if annotations else {}
    labels = metadata.pop("labels", None) or {}
    kept = {key: value for key, value in labels.items() if not key.startswith(COMPONENT_PREFIX)}
    metadata |= {"labels": kept} if kept else {}
    return {**obj, "metadata": metadata}


# What a person has to do: approve, set right what fails, and clean up what OLM leaves behind.


class Task(NamedTuple):
    """Something that a person has to do, and the command for it ("" where there is none)."""

    text: str
    command: str = ""


class TaskContext(NamedTuple):
    """The source of tasks: the applied changes, OLM's installations, the outcomes of operators, the failures, and the
    state before."""

    applied: Sequence[AppliedChange]
    installs: Sequence[PlannedInstall]
    operators: Sequence[OperatorOutcome]
    problems: Sequence[Diagnostic]
    cluster: Cluster
    state: ClusterState
    diagnoses: tuple[Diagnosis, ...] = ()


def tasks_of(context: TaskContext) -> Iterator[Task]:
    """Yield the failures to fix first, then the plans to approve, then the needs of each operator."""
    yield from _failures_to_fix(context)
    yield from _to_cure(context)
    yield from _to_approve(context)
    for operator in context.operators:
        rivals = [o for o in context.operators if (o.namespace, o.package) == (operator.namespace, operator.package)]
        if operator.after and not operator.subscription and any(o.subscription and not o.after for o in rivals):
            yield _not_adopted(operator)
        elif operator.outcome == LEFT_RUNNING:
            yield _left_running(operator, context.state)
        elif operator.outcome == FAILED_BEFORE:
            yield from _stuck(operator, context.cluster)
        elif operator.outcome == "removed" and operator.subscription:
            yield _not_recreated(operator)
        elif operator.outcome == "failing" and operator.phase == "Succeeded" and operator.why:
            yield from _unresolved(operator, context)
        elif operator.outcome == "failing" and operator.phase == NOT_SATISFIABLE and operator.why:
            yield from _uninstallable(operator, context)
    yield from _held_back(context.cluster)
    yield from _unknown_left_running(context)
    yield from _crds_deleted(context)
    yield from _held_by_finalizers(context)


def _failures_to_fix(context: TaskContext) -> Iterator[Task]:
    """Yield the failures to fix first, each with its way out."""
    stuck = [install for install in context.installs if install.phase == "Failed"]
    for install in stuck:
        csvs = ", ".join(csv for _, csv in install.hops)
        hints = (f" {p.hint}" for p in context.problems if p.hint and install.message and install.message in p.message)
        replaced = (NamespacedName(install.namespace, old) for old, _ in install.hops)
        old = [name.name for name in replaced if (m := context.cluster.members.get(name)) and m.phase == "Replacing"]
        running = f"; {', '.join(old)} {'runs' if len(old) == 1 else 'run'} on" if old else ""
        yield Task(
            f"Fix the failure of {csvs} before you merge: OLM does not retry a failed plan, and upgrades "
            f"no operator in {install.namespace} any more{running}.{next(hints, '')}"
        )
    left = {
        LEFT_HINT.format(csv=operator.after, namespace=operator.namespace)
        for operator in context.operators
        if operator.outcome == LEFT_RUNNING
    }
    cures = _cures(context)
    # What is Pending or can't be resolved where a plan has failed follows from that.
    for problem in context.problems if not stuck else ():
        # Several lines are a derivation, and no advice. An operator that is left running has a task with a command.
        if problem.hint and "\n" not in problem.hint and problem.hint not in left:
            way = f"{problem.hint}{_stays(problem.hint, context)}"
            yield Task(" ".join(filter(None, (way, cures.get(problem.hint)))))
        elif problem.code == PENDING.code and problem.hint.startswith(_KUBERNETES):
            way, *lacking = problem.hint.splitlines()
            yield Task(f"{' '.join(lacking)}. {way}")


def _cures(context: TaskContext) -> dict[str, str]:
    """Return the sentence about `olmc fix` for each hint of a finding that the compilation has reported itself."""
    fixed = (d.finding for d in context.diagnoses if d.is_shown and d.culprit is None and d.finding.fix is not None)
    parts = (finding.hint.rpartition("\n") for finding in fixed)
    return {hint: cure for hint, _, cure in parts}


def _to_cure(context: TaskContext) -> Iterator[Task]:
    """Yield the cures of each diagnosis."""
    for diagnosis in context.diagnoses:
        finding = diagnosis.finding
        if diagnosis.is_shown and diagnosis.culprit is None and finding.code == NOT_SATISFIED.code:
            row = diagnosis.operators[0]
            if f"originate from package {row.name}" in finding.message:
                keep = f"Keep one Subscription for package {row.name} in namespace {row.namespace}."
                _, mark, cure = finding.hint.partition(CURE)  # what is before it is a derivation
                yield Task(f"{keep} {mark}{cure}".strip())
            continue
        if diagnosis.is_shown and diagnosis.culprit is None and finding.code != SECOND_PROVIDER.code:
            continue
        way = " ".join(finding.hint.splitlines())
        stays = _stays(finding.message, context)
        yield Task(f"{finding.message.rstrip('.')}.{stays} {way}".strip(), diagnosis.command)


def _stays(text: str, context: TaskContext) -> str:
    """Return the consequence for a running operator whose Subscription a text blames: a namespace is resolved as a
    whole, or not at all (observed-70)."""
    for operator in context.operators:
        name = f"Subscription {operator.namespace}/{operator.subscription} "
        if name in text and (operator.outcome, operator.phase) == ("failing", "Succeeded"):
            return f" {operator.after} runs on; until then nothing in {operator.namespace} is installed or upgraded."
    return ""


def _to_approve(context: TaskContext) -> Iterator[Task]:
    """The InstallPlans that wait, also those of before: what they wait for stays what it was (observed-40)."""
    asking = {NamespacedName(s.name.namespace, s.plan): s for s in context.cluster.subscriptions.values()}
    for name, plan in context.cluster.plans.items():
        if plan.phase != APPROVAL or all(
            context.cluster.has_csv(NamespacedName(plan.namespace, csv)) for csv in plan.csvs
        ):
            continue  # what another plan has installed needs no approval of this one
        late = ""
        if name in asking and asking[name].approval != "Manual" and plan.given is not None:
            late = (
                " Its approval was fixed when it was made: that the Subscription is Automatic now does not release it."
            )
        policy = policy_way_out(plan, context.cluster)
        patch = '--type merge -p \'{"spec":{"approved":true}}\''
        yield Task(
            policy or f"Approve {', '.join(plan.csvs)} in {name.namespace}: OLM installs it only after that.{late}",
            "" if policy else f"kubectl -n {name.namespace} patch installplan {name.name} {patch}",
        )


def _held_by_finalizers(context: TaskContext) -> Iterator[Task]:
    """Yield the tasks for deleted objects that stay, as no controller removes their finalizers (observed-83)."""
    for change in context.applied:
        for key, finalizers in change.held:
            if not finalizers:
                continue
            homes = [each.name for each, _ in change.held if each.kind == "Namespace" and each.name == key.namespace]
            stay = f"it and namespace {homes[0]} stay" if homes else "it stays"
            yield Task(
                f"{key} has the finalizer {', '.join(finalizers)}, and olmc finds no controller for it in the cluster: "
                f"{stay} in Terminating until the finalizer is removed. If its controller does not run, clean up in "
                "its place, then remove the finalizer.",
                f"kubectl {f'-n {key.namespace} ' if key.namespace else ''}edit "
                f"{key.kind.lower()}{f'.{key.group}' if key.group else ''} {key.name}",
            )


def _left_running(operator: OperatorOutcome, state: ClusterState) -> Task:
    """Return the task for an operator whose Subscription (observed-36) or proposed Operator is removed."""
    installs = _installs_of(operator, state)
    what = "its Install and its CSV" if installs else "its CSV"
    first = f"kubectl delete install {' '.join(installs)} && " if installs else ""
    return Task(
        f"{operator.after} in {operator.namespace} keeps running without upgrades: OLM does not uninstall. To "
        f"uninstall it, delete {what}; its CRDs and their objects stay.",
        first + _deletion(operator),
    )


def _installs_of(operator: OperatorOutcome, state: ClusterState) -> tuple[str, ...]:
    """The Installs that share a component label with an operator's CSV, and would bring it back."""
    labels = {
        label
        for key, manifest in state.objects.items()
        if (key.kind, key.namespace, key.name) == (CSV_KIND, operator.namespace, operator.after)
        for label in labels_of(manifest.object)
        if label.startswith(COMPONENT_PREFIX)
    }
    return tuple(
        key.name
        for key, manifest in sorted(state.objects.items())
        if (key.group, key.kind) == (OLM_GROUP, "Install") and labels & labels_of(manifest.object).keys()
    )


def _not_adopted(operator: OperatorOutcome) -> Task:
    """Return the task for an operator whose Subscription is removed while another one asks for its package
    (observed-37)."""
    kept = "Keep the name of the old one; or delete" if operator.outcome == LEFT_RUNNING else "Delete"
    return Task(
        f"{operator.after} in {operator.namespace} belongs to no Subscription any more, and the new one can't take it "
        f"over. {kept} the CSV, and OLM installs the operator again. Its CRDs and their objects stay.",
        _deletion(operator),
    )


def _unknown_left_running(context: TaskContext) -> Iterator[Task]:
    """Yield the tasks for the operators of removed Subscriptions whose installed versions olmc does not know
    (observed-36)."""
    dropped = {change.key for change in context.applied if change.action in ("delete", "prune")}
    asked = {(s.name.namespace, s.package) for s in context.cluster.subscriptions.values()}
    for key in sorted(key for key in dropped if (key.group, key.kind) == (OLM_GROUP, "Subscription")):
        subscription = context.state.objects[key].object
        spec = spec_of(subscription)
        package = text(spec.get("name"))
        catalog = context.cluster.catalogs.get(CatalogKey(text(spec.get("sourceNamespace")), text(spec.get("source"))))
        is_known = status_of(subscription).get("installedCSV") or (catalog is not None and catalog.catalog is not None)
        if is_known or (key.namespace, package) in asked or ObjectKey("", "Namespace", "", key.namespace) in dropped:
            continue
        label = component_label_key(package, key.namespace)
        yield Task(
            f"The operator that Subscription {key.namespace}/{key.name} has installed keeps running without upgrades: "
            "OLM does not uninstall. To uninstall it, delete its CSV, whose name olmc does not know; its CRDs and "
            "their objects stay.",
            f"kubectl -n {key.namespace} delete clusterserviceversion -l {quote(label)}",
        )


def _deletion(operator: OperatorOutcome) -> str:
    return f"kubectl -n {operator.namespace} delete clusterserviceversion {operator.after}"


def _stuck(operator: OperatorOutcome, cluster: Cluster) -> Iterator[Task]:
    """Yield how to get going again what a failed plan has left: OLM never goes on from it (observed-45,
    observed-48)."""
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
        f"The plan for {operator.after} in {operator.namespace} has failed, and OLM does not run it again, even "
        f"after a fix. After the fix, delete the Subscription and {names}, then apply the Subscription again: "
        "OLM installs from the start. CRDs and their objects stay; the operator does not run in between.",
        f"kubectl -n {operator.namespace} delete subscription/{operator.subscription} "
        + " ".join(f"clusterserviceversion/{csv}" for csv in csvs),
    )


def _not_recreated(operator: OperatorOutcome) -> Task:
    """The CSV was deleted, its Subscription was not (observed-40, observed-41)."""
    return Task(
        f"To have {operator.before} again, delete the Subscription as well and apply it again; to be rid of it for "
        "good, take the Subscription out of the repository. Its CRDs and their objects stay.",
        f"kubectl -n {operator.namespace} delete subscription {operator.subscription}",
    )


def _unresolved(operator: OperatorOutcome, context: TaskContext) -> Iterator[Task]:
    """Yield the tasks for the failed request of a Subscription; a namespace is resolved as a whole, or not at all
    (observed-70)."""
    name = NamespacedName(operator.namespace, operator.subscription)
    subscription = context.cluster.subscriptions.get(name)
    hints = {problem.hint for problem in context.problems}
    if not _is_to_blame(name, context):
        return
    if subscription is not None and subscription.failure and operator.why not in hints:
        end = "" if operator.why.endswith("?") else "."
        yield Task(
            f"Correct Subscription {name}: {operator.why}{end} {operator.after} runs on; until then "
            f"nothing in {operator.namespace} is installed or upgraded."
        )


def _uninstallable(operator: OperatorOutcome, context: TaskContext) -> Iterator[Task]:
    """Return the obstacle of an operator that is not installed yet, if no diagnosis has the way out of it."""
    row = NamespacedName(operator.namespace, operator.package)
    if not any(row in diagnosis.operators for diagnosis in context.diagnoses):
        yield Task(
            f"Subscription {operator.namespace}/{operator.subscription} installs nothing: {operator.why}. Add a "
            f"suitable version to a catalog that namespace {operator.namespace} sees, or remove the Subscription; "
            "until then nothing in this namespace is installed or upgraded."
        )


def _is_to_blame(name: NamespacedName, context: TaskContext) -> bool:
    """Return whether a Subscription may be what keeps its namespace from being resolved: not where a diagnosis has
    another culprit, or where another one has changed and this one has not."""
    operator = NamespacedName(name.namespace, context.cluster.subscriptions[name].package)
    found = [diagnosis for diagnosis in context.diagnoses if operator in diagnosis.operators]
    if any(diagnosis.culprit is not None for diagnosis in found):
        return False
    changed = {
        NamespacedName(change.key.namespace, change.key.name)
        for change in context.applied
        if change.key.kind == "Subscription" and change.action in ("create", "change")
    }
    here = {each for each in changed if each.namespace == name.namespace}
    return not here or name in here


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
    dropped = [change.key for change in context.applied if change.action in ("delete", "prune")]
    for crd in (key.name for key in dropped if key.kind == CRD_KIND):
        owners = [str(name) for name, csv in context.cluster.csvs.items() if crd in {o.name for o in csv.owned_crds}]
        if owners and crd_key(crd) not in context.cluster.objects:
            yield Task(
                f"Apply CustomResourceDefinition {crd} of the bundle of {', '.join(sorted(owners))} again: OLM does "
                "not, as the plan that made it is complete. Kubernetes has deleted its objects."
            )


RESYNC = "OLM's next resync, which comes every 15 minutes"
"""When OLM looks at everything again, if no other interval is configured (U-15)."""
_AUTH_READER = "-auth-reader"


class Leftovers(NamedTuple):
    """The context of leftovers: the state before, the objects and the cluster after, and the outcomes of operators."""

    state: ClusterState
    after: Mapping[ObjectKey, KubernetesObject]
    cluster: Cluster
    operators: Sequence[OperatorOutcome]


def leftovers_of(
    state: ClusterState, difference: Difference, cluster: Cluster, operators: Sequence[OperatorOutcome]
) -> Iterator[Task]:
    """Yield the objects that stay though they have no use any more."""
    context = Leftovers(state, {object_key(obj): obj for obj in difference.new.objects}, cluster, operators)
    yield from _crds(context)
    yield from _of_bundles(context)
    yield from _auth_readers(context)
    yield from _of_groups(context)


def _crds(context: Leftovers) -> Iterator[Task]:
    """Yield tasks for the CRDs that operators owned before and do not own now (observed-60)."""
    # OLM never deletes a CRD: every object of its kind would go with it, which only a person can want.
    needed = {crd.name for csv in context.cluster.csvs.values() for crd in csv.owned_crds}
    for operator in context.operators:
        if operator.outcome not in ("removed", "upgraded") or (operator.subscription and not operator.after):
            continue
        csv = context.state.objects.get(ObjectKey(OLM_GROUP, CSV_KIND, operator.namespace, operator.before))
        names = {crd.name for crd in Csv(csv.object).owned_crds} - needed if csv is not None else set()
        there = (name for name in sorted(names) if crd_key(name) in context.cluster.objects)
        # What a ClusterExtension has taken over is no leftover: it goes with the extension.
        left = [name for name in there if not owner_of(context.after.get(crd_key(name), {}))]
        if left:
            what = "its CRDs and their objects behind"
            if operator.outcome != "removed":
                what = f"CRDs behind that {operator.after} does not have, and their objects"
            yield Task(
                f"{operator.before} leaves {what}. To be rid of them, delete the CRDs; that deletes every object of "
                "these kinds in the whole cluster.",
                f"kubectl delete customresourcedefinition {' '.join(left)}",
            )


def _of_bundles(context: Leftovers) -> Iterator[Task]:
    """Yield the objects without a namespace that bundles of removed operators brought (observed-60)."""
    for operator in context.operators:
        if operator.outcome != "removed" or operator.subscription:
            continue
        label = component_label_key(operator.package, operator.namespace)
        left = [
            key
            for key, obj in sorted(context.after.items())
            # In namespaces owner references let the garbage collector do it; objects of the cluster can't be owned by a
            # CSV.
            if label in labels_of(obj) and not key.namespace and key.kind not in (CRD_KIND, "Operator")
            and not owner_references(obj) and key in context.state.objects
        ]  # fmt: skip
        if left:
            yield _cleaned(f"{operator.before} leaves objects of its bundle behind that are in no namespace.", left)


def _auth_readers(context: Leftovers) -> Iterator[Task]:
    """Yield tasks for the RoleBindings in kube-system of removed Services; they do not name their owner
    (observed-60)."""
    # OLM makes the binding for a Service and writes no label on it, so only the name tells the two belong together.
    services = {key.name for key in context.after if (key.group, key.kind) == ("", "Service")}
    left = [
        key
        for key in sorted(context.after)
        if (key.kind, key.namespace) == ("RoleBinding", "kube-system") and key.name.endswith(_AUTH_READER)
        and key.name.removesuffix(_AUTH_READER) not in services
        and any(k.kind == "Service" and k.name == key.name.removesuffix(_AUTH_READER) for k in context.state.objects)
    ]  # fmt: skip
    if left:
        text = (
            "The objects that served webhooks and APIs are removed, except the right to read a ConfigMap of "
            "kube-system."
        )
        yield _cleaned(f"{text} No controller deletes that.", left)


def _of_groups(context: Leftovers) -> Iterator[Task]:
    """The permissions that a group's former targets leave (observed-55): tenant Roles where it is global now, what was
    lifted to the cluster where it no longer is."""
    for name, member in sorted(context.cluster.members.items()):
        group = member.group
        if group is None:
            continue
        rbac = [key for key in sorted(context.after) if key.group == RBAC and key in context.state.objects]
        # OLM makes roles for the scope that a group has now, and looks for those of another scope nowhere.
        if group.is_global:
            left = [
                key for key in rbac
                if key.namespace not in ("", name.namespace)
                and has_copy_label(context.after[key]) and original_by_label(context.after[key]) == name
            ]  # fmt: skip
            text = f"{name} may still do by itself what its Roles in former target namespaces allow; OLM leaves these."
        else:
            own = {key.name for key in rbac if key.namespace == name.namespace}
            left = [
                key for key in rbac
                if not key.namespace and key.name in own
                and csv_by_label(context.after[key]) == name
            ]  # fmt: skip
            text = f"{name} still has its permissions in the whole cluster: OLM leaves what it made for a global group."
        if left:
            yield _cleaned(text, left)


def _cleaned(text: str, keys: Iterable[ObjectKey]) -> Task:
    """A task with the command that deletes objects, a namespace after the other."""
    by_namespace: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        # Names of RBAC hold what a shell would execute: the API server refuses little more than slashes there.
        by_namespace[key.namespace].append(quote(f"{key.kind.lower()}/{key.name}"))
    commands = (
        f"kubectl {f'-n {namespace} ' if namespace else ''}delete {' '.join(names)}"
        for namespace, names in sorted(by_namespace.items())
    )
    return Task(text, " && ".join(commands))


def late_changes(applied: Iterable[AppliedChange], state: ClusterState, cluster: Cluster) -> Iterator[str]:
    """Yield the work that OLM does only at its next resync, without an obstacle."""
    touched = {change.key for change in applied}
    for group in cluster.groups.values():
        key = object_key(group.object)
        before = state.objects.get(key)
        if before is None:
            continue
        targets = frozenset(texts(status_of(before.object).get("namespaces")))
        # The status is what OLM saw last: where it differs from the targets, something happens without a change of the
        # group.
        if targets == frozenset(group.targets):
            continue
        if key not in touched and group.spec.get("selector"):
            yield (
                f"OperatorGroup {group.namespace}/{group.name} does not see that labels of namespaces change: its "
                f"targets, and all that follows, change with {RESYNC} (observed-56)"
            )
        elif group.targets == (group.namespace,) and _has_copies(group, state):
            yield f"copies of the CSVs of {group.namespace} in other namespaces go with {RESYNC} (observed-73)"


def _has_copies(group: OperatorGroup, state: ClusterState) -> bool:
    return any(
        key.kind == CSV_KIND and is_copy(m.object) and home_of_copy(m.object) == group.namespace
        for key, m in state.objects.items()
    )


# The plan: from a state of a cluster and what a repository makes of it, everything that happens, in order.


class Plan(NamedTuple):
    """The plan: the actions of the tool, the actions of OLM, the result, and the manual tasks.

    `late`: the work that OLM does late. `extensions`: the ClusterExtensions that get another bundle. `drift`: the
    differences of the initial cluster from the expected one.
    """

    applied: tuple[AppliedChange, ...]
    installs: tuple[PlannedInstall, ...]
    operators: tuple[OperatorOutcome, ...]
    problems: tuple[Diagnostic, ...]
    difference: Difference
    tasks: tuple[Task, ...]
    late: tuple[str, ...] = ()
    extensions: tuple[PlannedExtension, ...] = ()
    drift: tuple[DriftedObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing happens."""
        return not (self.applied or self.installs or self.extensions or self.difference.changes)

    @property
    def has_unknown(self) -> bool:
        """Return whether something happens, and leaves an operator that is unknown for want of content: that is a
        risk."""
        return not self.is_empty and any(operator.outcome == "unknown" for operator in self.operators)

    @property
    def fails(self) -> bool:
        """Return whether something happens, and leaves an operator that fails or is stuck, or an object that is
        refused."""
        failing = any(operator.outcome in ("failing", FAILED_BEFORE) for operator in self.operators)
        return not self.is_empty and (failing or any(each.severity is Severity.FAILURE for each in self.problems))


def compare_with_state(
    state: ClusterState, applied: tuple[AppliedChange, ...], settled: SettledCluster, difference: Difference,
    diagnostics: Iterable[Diagnostic], extensions: Sequence[ExtensionOutcome] = (),
    diagnoses: Sequence[Diagnosis] = (), proposed: Sequence[OperatorResult] = (),
) -> Plan:  # fmt: skip
    """The plan for a state to which `applied` is done, after which OLM comes to rest in `settled`; `extensions` is what
    becomes of ClusterExtensions, `proposed` of Operators, `diagnoses` are the causes of what goes wrong."""
    installs = planned_installs(state, settled)
    removed = {change.key for change in applied if change.action in ("prune", "delete")}
    operators = tuple(_with_causes(operator_outcomes(state, settled, removed, proposed), diagnoses))
    # Failures alone are of the cluster; errors have ended the compilation before, and the rest is advice of `check`.
    problems = tuple(d for d in diagnostics if d.is_open)
    cluster = settled.cluster
    tasks = (
        *tasks_of(TaskContext(applied, installs, operators, problems, cluster, state, tuple(diagnoses))),
        *leftovers_of(state, difference, cluster, operators),
    )
    late = tuple(late_changes(applied, state, cluster))
    plan = Plan(applied, installs, operators, problems, difference, tuple(_distinct(tasks)), late)
    return _with_extensions(plan, state, extensions) if extensions or _has_extensions(state) else plan


def _with_causes(outcomes: Iterable[OperatorOutcome], diagnoses: Sequence[Diagnosis]) -> Iterator[OperatorOutcome]:
    """The outcomes, each with the first cause of what goes wrong with it, where nothing worse is known."""
    causes: dict[NamespacedName, str] = {}
    stalled = {operator for diagnosis in diagnoses if diagnosis.stalls for operator in diagnosis.operators}
    # A cause that keeps an operator from coming up comes before a remark about it.
    for diagnosis in sorted(diagnoses, key=lambda each: not each.stalls):
        for operator in (each for each in diagnosis.operators if not is_shown(diagnosis, each)):
            causes.setdefault(operator, diagnosis.finding.message)
    listed = list(outcomes)
    rows = Counter(NamespacedName(outcome.namespace, outcome.package) for outcome in listed)
    for outcome in listed:
        name = NamespacedName(outcome.namespace, outcome.package)
        # Of several rows that of a Subscription has the cause, and not that of a CSV which nothing subscribes to.
        is_meant = rows[name] == 1 or bool(outcome.subscription)
        why = outcome.why or (causes.get(name, "") if is_meant else "")
        yield outcome._replace(why=why, is_stalled=is_meant and name in stalled)


def _distinct(tasks: Iterable[Task]) -> Iterator[Task]:
    """The tasks, each command once, with the first of the texts for it."""
    seen: set[str] = set()
    for task in dict.fromkeys(tasks):
        if not task.command or task.command not in seen:
            yield task
        seen.add(task.command)


def _has_extensions(state: ClusterState) -> bool:
    return any(is_extension(manifest.object) for manifest in state.objects.values())


def _with_extensions(plan: Plan, state: ClusterState, results: Sequence[ExtensionOutcome]) -> Plan:
    """The plan with what becomes of ClusterExtensions."""
    from olmc.targets.v1 import rules  # most plans are about none

    # How the controller came to what it says is a derivation, and no advice.
    hints = {found.hint for found in plan.problems if found.code in (rules.NOT_RESOLVED.code, rules.NOT_INSTALLED.code)}
    tasks, cures = [], []
    for task in plan.tasks:
        hint, mark, cure = task.text.partition(f" {CURE}")
        if hint not in hints:
            tasks.append(task)
        elif mark:
            cures.append(CURE + cure)
    operators = paired_outcomes(plan.operators, extension_outcomes(state, results))
    # A move to OLM v1 needs steps before the extension is applied, also if its installation fails later.
    before, after = list(tasks_of_moves(operators)), list(tasks_of_extensions(state, results))
    return plan._replace(
        extensions=tuple(planned_extensions(state, results)),
        operators=operators,
        tasks=(*starmap(Task, before), *tasks, *_with_cures(starmap(Task, after), cures)),
    )


def _with_cures(tasks: Iterable[Task], cures: Sequence[str]) -> Iterator[Task]:
    """The tasks about ClusterExtensions, each with the change that cures it; the other changes are their own tasks."""
    left = list(cures)
    for task in tasks:
        subject = task.text.partition(":")[0]
        own = [cure for cure in left if cure.endswith(f"{subject}.")]
        left = [cure for cure in left if cure not in own]
        yield task._replace(text=" ".join([task.text, *own]))
    yield from (Task(cure, "") for cure in left)
