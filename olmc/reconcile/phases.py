"""The phase that every CSV comes to rest in (R-CSV-1 … R-CSV-30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olmc.kube.rbac_access import Access, access
from olmc.model.cluster import Cluster, CsvState, NamespacedName, namespaced_name
from olmc.model.objects import GVK, ObjectKey, labels_of, mapping, mappings
from olmc.model.operators import OLM_GROUP, Csv, OperatorGroup
from olmc.model.options import Options
from olmc.olm.ownership import owner_labels
from olmc.reconcile.install_strategy import (
    READY,
    InstallOutcome,
    install,
    missing_token,
    owner_conflict,
    strategy_failure,
    webhook_failure,
    without_client,
)
from olmc.reconcile.operator_groups import (
    Failure,
    api_verdict,
    install_mode_failure,
    needs_no_group,
    no_group,
    pruned,
    sole_group,
    with_targets,
)
from olmc.reconcile.requirements import RequirementContext, Status, initial_requirement_status, requirements

SUCCEEDED = ("InstallSucceeded", "install strategy completed with no errors")
_UNKNOWN = ("RequirementsUnknown", "requirements not yet checked")
_NOT_MET = ("RequirementsNotMet", "one or more requirements couldn't be found")
_REINSTALL = ("NeedsReinstall", "calculated deployment install is bad")
_WAITING = ("InstallSucceeded", "waiting for install components to report healthy")


def evaluate_phases(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with the groups' targets and APIs, and the phase of every CSV, as the olm-operator leaves them."""
    groups = tuple(with_targets(group, cluster.namespaces, cluster.objects) for group in cluster.groups)
    cluster = cluster._replace(groups=groups)
    granted = access(cluster.objects)
    # Which API services exist depends on how far the CSVs get, and how far they get on which API services exist.
    served = _apiservices(cluster.members)
    while True:
        members, provided = _judge_all(cluster, options, granted, served)
        again = _apiservices(members)
        if again == served:
            members = {name: _with_list(member, cluster.members.get(name)) for name, member in members.items()}
            return cluster._replace(members=members, provided=provided)
        served = again


def _with_list(member: CsvState, earlier: CsvState | None) -> CsvState:
    """A CSV with the list of requirements that it has: OLM writes it again only along with a change of phase, reason or
    message (observed-17)."""
    same = earlier is not None and earlier[2:5] == member[2:5]
    return member._replace(requirements=earlier.requirements) if same and earlier and earlier.requirements else member


class ServedAPI(NamedTuple):
    """An API service that CSVs have written: the kinds behind it, and the CSVs that own it."""

    kinds: frozenset[str]
    owners: frozenset[NamespacedName]


def _apiservices(members: Mapping[NamespacedName, CsvState]) -> dict[str, ServedAPI]:
    found: dict[str, ServedAPI] = {}
    for name, member in members.items():
        if member.installation is None or not member.installation.deployments:
            continue
        for item in member.csv.owned_apiservices:
            known = found.get(item.service_name, ServedAPI(frozenset(), frozenset()))
            found[item.service_name] = ServedAPI(known.kinds | {item.kind}, known.owners | {name})
    return found


def _judge_all(
    cluster: Cluster, options: Options, granted: Access, served: Mapping[str, ServedAPI]
) -> tuple[dict[NamespacedName, CsvState], dict[NamespacedName, frozenset[GVK] | None]]:
    provided = {namespaced_name(group): _kept_apis(cluster, group) for group in cluster.groups}
    world = RequirementContext(
        cluster.profile,
        cluster.objects,
        granted,
        cluster.csvs,
        {name: api.kinds for name, api in served.items()},
        options.kube_version,
        frozenset(options.apis),
    )
    members: dict[NamespacedName, CsvState] = {}
    # First come, first served: the group whose annotation gets an API first keeps it, and later CSVs conflict
    # (R-CSV-13).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2168-L2225
    for name in _arrival_order(cluster):
        csv = cluster.csvs[name]
        member = _forwarded(_judge(csv, cluster, options, world, provided, served, members), cluster)
        members[name] = member
        before = NamespacedName(name.namespace, csv.replaces)
        if csv.replaces and before in members and before != name and _is_replaced(members[before], member):
            members[before] = _being_replaced(members[before], csv.name)
    return members, provided


def _kept_apis(cluster: Cluster, group: OperatorGroup) -> frozenset[GVK] | None:
    """What stays of the annotation that the input gives (R-OG-14)."""
    return pruned(group, cluster.seeded.get(namespaced_name(group)), cluster.csvs_in(group.namespace))


def _arrival_order(cluster: Cluster) -> list[NamespacedName]:
    """The CSVs as they arrived, which is their order in the cluster; but none before the one that it replaces."""
    order: list[NamespacedName] = []

    def place(name: NamespacedName, above: frozenset[NamespacedName]) -> None:
        if name in order or name in above:
            return
        before = NamespacedName(name.namespace, cluster.csvs[name].replaces)
        if before in cluster.csvs:
            place(before, above | {name})
        order.append(name)

    for name in cluster.csvs:
        place(name, frozenset())
    return order


def _judge(
    csv: Csv,
    cluster: Cluster,
    options: Options,
    world: RequirementContext,
    provided: dict[NamespacedName, frozenset[GVK] | None],
    served: Mapping[str, ServedAPI],
    members: Mapping[NamespacedName, CsvState],
) -> CsvState:
    # OLM asks in this order, and each check that fails ends the sync (R-CSV-3).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2081-L2225
    group = sole_group(cluster.groups_in(csv.namespace))
    if csv.counts_as_copy:
        return CsvState(csv, None, "", "", "")
    # What such a CSV provides OLM can't tell, so it leaves it untouched: no phase, no message (R-OG-12).
    if not csv.surface_is_readable:
        return CsvState(csv, group if isinstance(group, OperatorGroup) else None, "", "", "")
    free = needs_no_group(csv, cluster, options)
    if free and not cluster.groups_in(csv.namespace):
        return _through_phases(csv, no_group(csv.namespace), cluster, options, world, served, members)
    if not isinstance(group, OperatorGroup):
        return _failed(csv, None, group)
    # The sync of the group ends before it writes its namespaces, and OLM waits for these in vain (R-CSV-6).
    if group.problem:
        return CsvState(csv, group, "", "", "")
    failure = None if free else install_mode_failure(csv, group)
    if failure:
        return _failed(csv, group, failure)
    verdict = api_verdict(csv, group, cluster.groups, provided, cluster.profile)
    provided[namespaced_name(group)] = verdict.apis
    if verdict.failure:
        return _failed(csv, group, verdict.failure)
    return _through_phases(csv, group, cluster, options, world, served, members)


def _through_phases(
    csv: Csv,
    group: OperatorGroup,
    cluster: Cluster,
    options: Options,
    world: RequirementContext,
    served: Mapping[str, ServedAPI],
    members: Mapping[NamespacedName, CsvState],
) -> CsvState:
    """From Pending onwards: strategy, requirements, webhooks, owners, the replaced CSV, then the install itself."""
    earlier, successor = cluster.members.get(namespaced_name(csv)), _successor(csv, cluster)
    worked = earlier is not None and earlier.group is not None and earlier.phase in ("Succeeded", "Replacing")
    # Of a CSV that works OLM asks first whether it is being replaced, and of one that is replaced nothing else
    # (R-CSV-19).
    if successor and worked and earlier is not None:
        return _being_replaced(earlier, successor)
    refusal = _upgrade_refusal(csv, cluster)
    if refusal:
        waiting = ("Pending", "OperatorConditionNotUpgradeable", refusal)
        return CsvState(csv, group, *waiting, history=_history(waiting))
    failure = strategy_failure(csv, cluster.objects)
    if failure:
        return _failed_while_pending(csv, group, failure)
    met, statuses = requirements(csv, world)
    if not met:
        # The list shows the moment at which the phase changed, so it may lack what has come since (observed-17).
        seen = initial_requirement_status(csv, cluster.objects, cluster.plans)
        _, shown = requirements(csv, world._replace(objects=seen, access=access(seen)))
        history = _history(("Pending", *_NOT_MET))
        return CsvState(csv, group, "Pending", *_NOT_MET, shown, history=history, lacking=statuses)
    failure = webhook_failure(csv)
    runs = earlier is not None and earlier.succeeded
    # Only Pending asks for other owners; what runs already is not stopped by one that comes later (R-CSV-15f,
    # R-CSV-15g).
    if not runs:
        failure = failure or owner_conflict(csv, cluster.csvs) or _adoption_failure(csv, cluster, members)
    if failure:
        return _failed_while_pending(csv, group, failure)._replace(requirements=statuses)
    before = members.get(NamespacedName(csv.namespace, csv.replaces)) if csv.replaces else None
    # The predecessor has to be Replacing first, and unless its group fails forward only one that works gets there. One
    # that never does holds back its successor, whose status says nothing of it (R-CSV-15h).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2302-L2307
    if csv.replaces == csv.name or (before is not None and not before.succeeded and before.phase != "Replacing"):
        return CsvState(csv, group, "Pending", *_UNKNOWN, statuses, history=_history())
    mine = _adopted_from(csv, members)
    foreign = frozenset(name for name, api in served.items() if mine.isdisjoint(api.owners))
    extra = (api.rpartition("/")[0].split("/") for api in world.extra_apis if api.count("/") == 2)
    foreign |= {f"{version}.{group}" for group, version in extra}
    if missing_token(group, cluster.objects, options.kube_version, cluster.profile):
        outcome = without_client(csv, runs=runs)
    else:
        others = {name: member for name, member in {**cluster.members, **members}.items() if name in cluster.csvs}
        outcome = install(csv, group, cluster, options, world.access, others, foreign)
    if outcome.failure:
        return _stopped(csv, group, outcome, statuses)
    ready, installing = ("InstallReady", *READY), ("Installing", *_WAITING)
    if outcome.flapping:
        # OLM installs, finds it bad and is ready again at once: most of the time it spends installing (case 36).
        history = _history(ready, installing, ("Pending", *_REINSTALL), ready)
        return CsvState(csv, group, *ready, statuses, outcome.installation, flapping=True, history=history)
    done = ("Succeeded", *SUCCEEDED)
    history = _history(ready, installing, done)
    return CsvState(csv, group, *done, statuses, outcome.installation, history=history)


def _stopped(csv: Csv, group: OperatorGroup, outcome: InstallOutcome, statuses: tuple[Status, ...]) -> CsvState:
    """A CSV whose install did not come to its end, in the phase that it stays in or keeps returning to."""
    reason, message = outcome.failure or ("", "")
    phases = [("InstallReady", *READY)]
    if outcome.phase == "InstallReady" and outcome.installation is not None:
        phases.append(("Installing", *_WAITING))
    last = (outcome.phase, reason, message)
    history = _history(*phases, *([last] if last != phases[-1] else ()))
    member = CsvState(csv, group, *last, statuses, outcome.installation, flapping=outcome.flapping)
    return member._replace(history=history, place=outcome.place)


def _upgrade_refusal(csv: Csv, cluster: Cluster) -> str:
    """R-CSV-15a: the message while the CSV to be replaced forbids it in its OperatorCondition, "" if it doesn't."""
    if "OperatorConditionNotUpgradeable" not in cluster.profile.csv_reasons:
        return ""
    if NamespacedName(csv.namespace, csv.replaces) not in cluster.csvs or csv.replaces == csv.name:
        return ""
    found = cluster.objects.get(ObjectKey(OLM_GROUP, "OperatorCondition", csv.namespace, csv.replaces))
    spec = mapping(found.object.get("spec") if found else None)
    generation = found.object["metadata"].get("generation") if found else None
    for item in mappings(spec.get("overrides")):
        if item.get("type") == "Upgradeable":
            forbidden = item.get("status") == "False"
            return _not_upgradeable(item.get("message")) if forbidden else ""
    for item in mappings(spec.get("conditions")):
        if item.get("type") == "Upgradeable" and item.get("observedGeneration", generation) != generation:
            text = f'the operatorcondition status "Upgradeable"="{item.get("status")}" is outdated'
            return f"operator is not upgradeable: {text}"
        if item.get("type") == "Upgradeable" and item.get("status") == "False":
            return _not_upgradeable(item.get("message"))
    return ""


def _not_upgradeable(message: object) -> str:
    return f"operator is not upgradeable: the operator is not upgradeable: {message or ''}"


def _adoption_failure(csv: Csv, cluster: Cluster, members: Mapping[NamespacedName, CsvState]) -> Failure | None:
    """R-CSV-15g, R-API-3: an owned API service that exists and belongs to somebody else."""
    mine = _adopted_from(csv, members)
    owners = [owner_labels(cluster.profile, one.name, one.namespace) for one in mine]
    for item in csv.owned_apiservices:
        found = cluster.objects.get(ObjectKey("apiregistration.k8s.io", "APIService", "", item.service_name))
        labels = labels_of(found.object) if found else {}
        foreign = found is not None and not any(owner.items() <= labels.items() for owner in owners)
        rivals = (member for other, member in members.items() if other not in mine)
        if foreign or any(_serves(rival, item.service_name) for rival in rivals):
            return "OwnerConflict", "unable to adopt APIService"
    return None


def _serves(member: CsvState, name: str) -> bool:
    if member.installation is None or not member.installation.deployments:
        return False
    return name in {item.service_name for item in member.csv.owned_apiservices}


def _successor(csv: Csv, cluster: Cluster) -> str:
    """The name of the CSV that replaces this one, "" if there is none."""
    others = (other for name, other in sorted(cluster.csvs.items()) if name.namespace == csv.namespace)
    return next((other.name for other in others if other.replaces == csv.name != other.name), "")


def _adopted_from(csv: Csv, members: Mapping[NamespacedName, CsvState]) -> frozenset[NamespacedName]:
    """The CSVs whose API services are this one's to take: itself, the one it replaces, any being replaced (R-API-3)."""
    leaving = (name for name, member in members.items() if member.phase == "Replacing")
    return frozenset((namespaced_name(csv), NamespacedName(csv.namespace, csv.replaces), *leaving))


def _failed(csv: Csv, group: OperatorGroup | None, failure: Failure, *, flapping: bool = False) -> CsvState:
    phase = ("Failed", *failure)
    return CsvState(csv, group, *phase, flapping=flapping, history=(phase,))


def _failed_while_pending(csv: Csv, group: OperatorGroup, failure: Failure) -> CsvState:
    """A CSV that failed after it was found to be a member, which OLM tries again for ever (R-CSV-14, R-CSV-15b)."""
    failed = _failed(csv, group, failure, flapping=True)
    return failed._replace(history=_history(*failed.history))


def _history(*later: tuple[str, str, str]) -> tuple[tuple[str, str, str], ...]:
    return (("Pending", *_UNKNOWN), *later)


def _is_replaced(before: CsvState, after: CsvState) -> bool:
    """R-CSV-19: a CSV that works is being replaced as soon as one exists that names it."""
    return before.succeeded and after.phase != ""


def _forwarded(member: CsvState, cluster: Cluster) -> CsvState:
    """R-CSV-21: with fail-forward, a Failed CSV lets itself be replaced."""
    successor = _successor(member.csv, cluster)
    allowed = cluster.profile.resolver_failforward and member.group is not None and member.group.fails_forward
    if not allowed or member.phase != "Failed" or not successor:
        return member
    text = f"Fail Forward is enabled, allowing Failed csv to be replaced by csv: {successor}"
    phase = ("Replacing", "BeingReplaced", text)
    return member._replace(phase=phase[0], reason=phase[1], message=text, history=(*member.history, phase))


def _being_replaced(member: CsvState, by: str) -> CsvState:
    phase = ("Replacing", "BeingReplaced", f"being replaced by csv: {by}")
    if member.phase == "Replacing":
        return member
    return member._replace(phase=phase[0], reason=phase[1], message=phase[2], history=(*member.history, phase))
