"""The phase that every CSV comes to rest in (R-CSV-1 … R-CSV-30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.compiler.model.cluster import ByNamespace, Cluster, CsvState, NamespacedName, by_namespace, namespaced_name
from olmc.compiler.model.operators import Csv, OperatorGroup
from olmc.compiler.model.options import Options
from olmc.compiler.olm.facts import csv_by_label, is_copy_by_metadata, is_terminating, real_csvs
from olmc.compiler.olm.naming import owner_labels
from olmc.compiler.reconcile.install_strategy import (
    NO_RETRY,
    READY,
    InstallOutcome,
    install,
    missing_token,
    owner_conflict,
    strategy_failure,
    webhook_failure,
    without_client,
)
from olmc.compiler.reconcile.operator_groups import (
    Failure,
    GroupsByTarget,
    api_verdict,
    groups_by_target,
    install_mode_failure,
    needs_no_group,
    no_group,
    prune_provided_apis,
    sole_group,
    with_targets,
)
from olmc.compiler.reconcile.requirements import (
    RequirementContext,
    Status,
    initial_requirement_status,
    requirements,
    successor,
)
from olmc.k8s.api.rbac_access import Access, access
from olmc.k8s.api.selectors import NamedLabelIndex
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    GVK,
    OLM_GROUP,
    KubernetesObject,
    ObjectKey,
    Rendered,
    apiservice_key,
    as_text,
    labels_of,
    mappings,
    metadata_of,
    spec_of,
    status_of,
)

SUCCEEDED = ("InstallSucceeded", "install strategy completed with no errors")
_UNKNOWN = ("RequirementsUnknown", "requirements not yet checked")
_NOT_MET = ("RequirementsNotMet", "one or more requirements couldn't be found")
_RESOURCE_ISSUE = "APIServiceResourceIssue"
_REINSTALL = ("NeedsReinstall", "calculated deployment install is bad")
_WAITING = ("InstallSucceeded", "waiting for install components to report healthy")


def evaluate_phases(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with the groups' targets and APIs, and the phase of every CSV, as the olm-operator leaves them."""
    # A group is synced again when namespaces or accounts come; in a settled cluster it has seen all of them (D1).
    namespaces = NamedLabelIndex(cluster.namespaces)
    groups = {n: with_targets(group, namespaces, cluster.objects) for n, group in cluster.groups.items()}
    cluster = cluster._replace(groups=by_namespace(groups))
    permissions = access(cluster.objects)
    # Which API services exist depends on how far the CSVs get, and how far they get on which API services exist: start
    # with those of the phases before, until both agree.
    served = _apiservices(cluster.members, cluster.objects)
    while True:
        members, provided = _judge_all(cluster, options, permissions, served)
        again = _apiservices(members, cluster.objects)
        if again == served:
            listed = {name: _with_list(member, cluster.members.get(name)) for name, member in members.items()}
            return cluster._replace(members=by_namespace(listed), provided=provided)
        served = again


def _with_list(member: CsvState, earlier: CsvState | None) -> CsvState:
    """A CSV with the list of requirements that it has: OLM writes it again only along with a change of phase, reason or
    message (observed-17)."""
    if earlier is None or not earlier.requirements:
        return member
    # A CSV that fails before its requirements are asked for keeps the list that it has (observed-52).
    same = earlier[2:5] == member[2:5] or (member.phase == "Failed" and not member.requirements)
    return member._replace(requirements=earlier.requirements) if same else member


class ServedAPI(NamedTuple):
    """An API service that CSVs have written: the kinds behind it, and the CSVs that own it."""

    kinds: frozenset[str]
    owners: frozenset[NamespacedName]


def _apiservices(
    members: Mapping[NamespacedName, CsvState], objects: Mapping[ObjectKey, Rendered]
) -> dict[str, ServedAPI]:
    apiservices: dict[str, ServedAPI] = {}
    for name, member in members.items():
        for item in member.csv.owned_apiservices:
            if not _serves(member, item.service_name, objects):
                continue
            known = apiservices.get(item.service_name, ServedAPI(frozenset(), frozenset()))
            apiservices[item.service_name] = ServedAPI(known.kinds | {item.kind}, known.owners | {name})
    return apiservices


def _judge_all(
    cluster: Cluster, options: Options, permissions: Access, served: Mapping[str, ServedAPI]
) -> tuple[ByNamespace[CsvState], dict[NamespacedName, frozenset[GVK] | None]]:
    # Each time from what the first sync left: APIs of CSVs that failed or went since must not stay (R-OG-14, R-OG-15).
    provided = {
        n: prune_provided_apis(g, cluster.seeded.get(n), real_csvs(cluster, n.namespace))
        for n, g in cluster.groups.items()
    }
    context = RequirementContext(
        cluster.profile,
        cluster.objects,
        permissions,
        cluster.csvs,
        {name: api.kinds for name, api in served.items()},
        options.kube_version,
        frozenset(options.apis),
        options.api_resources,
        _knows_accounts(options),
    )
    members: ByNamespace[CsvState] = by_namespace({})
    neighbours = groups_by_target(cluster.groups)
    # First come, first served: the group whose annotation gets an API first keeps it, and later CSVs conflict
    # (R-CSV-13).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2168-L2225
    for name in _arrival_order(cluster):
        csv = cluster.csvs[name]
        member = _judge(csv, cluster, options, context, provided, served, members, neighbours)
        members = members.updated({name: member})
        before = NamespacedName(name.namespace, csv.replaces)
        # OLM starts to replace a CSV that works as soon as one exists that names it, also if that one fails later
        # (R-CSV-19). A CSV that OLM leaves untouched does not count.
        works = before in members and before != name and members[before].succeeded
        if works and member.phase and not is_terminating(members[before].csv.object):
            members = members.updated({before: _mark_replaced(members[before], csv.name)})
    return members, provided


def _knows_accounts(options: Options) -> bool:
    state = options.state
    return state is None or state.is_whole or any((key.group, key.kind) == ("", ACCOUNT) for key in state.objects)


def _arrival_order(cluster: Cluster) -> list[NamespacedName]:
    """The CSVs as they arrived, which is their order in the cluster; but none before the one that it replaces."""
    order: dict[NamespacedName, None] = {}

    def place(name: NamespacedName, above: frozenset[NamespacedName]) -> None:
        if name in order or name in above:
            return
        # OLM looks at all of them again and again; in one pass, what comes of a CSV needs the phase of its predecessor
        # (R-CSV-15h).
        before = NamespacedName(name.namespace, cluster.csvs[name].replaces)
        if before in cluster.csvs:
            place(before, above | {name})
        order[name] = None

    for name in cluster.csvs:
        place(name, frozenset())
    return [*order]


def _judge(
    csv: Csv,
    cluster: Cluster,
    options: Options,
    context: RequirementContext,
    provided: dict[NamespacedName, frozenset[GVK] | None],
    served: Mapping[str, ServedAPI],
    members: ByNamespace[CsvState],
    neighbours: GroupsByTarget,
) -> CsvState:
    # OLM asks in this order, and each check that fails ends the sync (R-CSV-3).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2081-L2225
    group = sole_group(cluster.groups_in(csv.namespace))
    if is_copy_by_metadata(csv.object):
        return CsvState(csv, None, "", "", "")
    # OLM no longer looks at a CSV that is deleted and waits for a finalizer (observed-96).
    earlier = cluster.members.get(namespaced_name(csv)) if is_terminating(csv.object) else None
    if earlier is not None:
        return earlier._replace(group=group if isinstance(group, OperatorGroup) else None)
    # OLM can't read the APIs of such a CSV, so it leaves it untouched: no phase, no message (R-OG-12).
    if not csv.surface_is_readable:
        return CsvState(csv, group if isinstance(group, OperatorGroup) else None, "", "", "")
    group_is_optional = needs_no_group(csv, cluster, options)
    # To an Install several groups are as none: it has an account of its own then (R-INSTALL-6).
    is_ambiguous = not isinstance(group, OperatorGroup) and namespaced_name(csv) in cluster.installed
    if group_is_optional and (is_ambiguous or not cluster.groups_in(csv.namespace)):
        alone = _through_phases(csv, no_group(csv.namespace), cluster, options, context, served, members)
        return _fail_forward(alone, cluster)
    if not isinstance(group, OperatorGroup):
        return _fail(csv, None, group)
    # The sync of the group ends before it writes its namespaces, and OLM waits for these in vain (R-CSV-6).
    if group.problem:
        earlier = cluster.members.get(namespaced_name(csv))
        return earlier._replace(group=group) if earlier is not None else CsvState(csv, group, "", "", "")
    failure = None if group_is_optional else install_mode_failure(csv, group)
    if failure:
        return _fail(csv, group, failure)
    verdict = api_verdict(csv, group, neighbours, provided, cluster.profile)
    provided[namespaced_name(group)] = verdict.apis
    if verdict.failure:
        return _fail(csv, group, verdict.failure)
    # The check of the group comes first in every sync, so a CSV that fails it is never replaced (observed-51).
    return _fail_forward(_through_phases(csv, group, cluster, options, context, served, members), cluster)


def _through_phases(
    csv: Csv,
    group: OperatorGroup,
    cluster: Cluster,
    options: Options,
    context: RequirementContext,
    served: Mapping[str, ServedAPI],
    members: ByNamespace[CsvState],
) -> CsvState:
    """From Pending onwards: strategy, requirements, webhooks, owners, the replaced CSV, then the install itself."""
    name = namespaced_name(csv)
    earlier, newer = cluster.members.get(name), successor(name, cluster.csvs)
    # For a CSV in phase Replacing OLM only checks whether it may delete it, also without its successor. It no longer
    # checks requirements, targets and Deployments (R-CSV-24, observed-45).
    if earlier is not None and earlier.phase == "Replacing":
        return earlier._replace(group=group)
    worked = earlier is not None and earlier.group is not None and earlier.succeeded
    # Of a CSV that works OLM asks first whether it is being replaced (R-CSV-19).
    if newer is not None and worked and earlier is not None:
        return _mark_replaced(earlier, newer.name)
    refusal = _upgrade_refusal(csv, cluster, options)
    if refusal:
        # First of all in Pending: requirements are not even looked at, so the list stays empty (R-CSV-15a,
        # observed-50).
        waiting = ("Pending", "OperatorConditionNotUpgradeable", refusal)
        return CsvState(csv, group, *waiting, history=_history(waiting))
    failure = strategy_failure(csv, cluster.objects)
    if failure:
        return _fail_while_pending(csv, group, failure)
    met, statuses = requirements(csv, context)
    if not met:
        # The list shows the moment at which the phase changed, so it may lack what has come since (observed-17).
        shown, installation = statuses, earlier.installation if earlier is not None else None
        if earlier is None or not earlier.succeeded:
            seen = initial_requirement_status(csv, cluster.objects, cluster.plans.within(csv.namespace).values())
            _, shown = requirements(csv, context._replace(objects=seen, access=access(seen)))
        history = _history(("Pending", *_NOT_MET))
        # The objects of a CSV that worked before stay.
        return CsvState(csv, group, "Pending", *_NOT_MET, shown, installation, history=history, lacking=statuses)
    failure = webhook_failure(csv)
    runs = earlier is not None and earlier.succeeded
    foreign_api = _foreign_api_service(csv, cluster)
    # What runs, and what has failed, OLM asks for its API services, and can't make one again that is not its own.
    if foreign_api and earlier is not None and (runs or earlier.reason == _RESOURCE_ISSUE):
        issue = ("Failed", _RESOURCE_ISSUE, f"{foreign_api} is unadoptable")
        return earlier._replace(group=group).in_phase(*issue)
    # Only Pending looks for other owners; what runs already is not stopped by one that comes later (R-CSV-15f,
    # R-CSV-15g).
    if not runs:
        unadoptable = _adoption_failure(csv, cluster, members)
        failure = failure or owner_conflict(csv, cluster.csvs) or unadoptable
        if failure:
            failed = _fail_while_pending(csv, group, failure)
            # OLM tries again what has failed, unless it finds an API service that is not its own (R-CSV-22).
            return failed._replace(requirements=statuses, flapping=unadoptable is None)
    if failure:
        return _fail_while_pending(csv, group, failure)._replace(requirements=statuses)
    replaces_itself = csv.replaces == csv.name
    predecessor = NamespacedName(csv.namespace, "" if replaces_itself else csv.replaces)
    before = members.get(predecessor) or cluster.members.get(predecessor)
    # The predecessor has to be Replacing first, and unless its group fails forward only one that works gets there. One
    # that never does holds back its successor, whose status stays as it is, without a list of requirements (R-CSV-15h).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2302-L2307
    waits_for_itself = replaces_itself and cluster.profile.csv_replaces_itself == "waits"
    # Only in a circle is a predecessor not judged before: then each waits for the other.
    waits_for_itself |= before is None and predecessor in cluster.csvs
    is_ready = before is None or before.phase == "Replacing" or before.succeeded
    # Of a CSV that works OLM does not ask for its predecessor.
    is_ready |= runs and before is not None and before.phase == "Deleting"
    if before is not None and before.succeeded and is_terminating(before.csv.object):
        is_ready = runs
    if waits_for_itself or not is_ready:
        if earlier is not None and earlier.phase == "Pending":
            return earlier._replace(group=group, lacking=())
        return CsvState(csv, group, "Pending", *_UNKNOWN, history=_history())
    # Another server of an API, also of a required one, ends the installation unless OLM may take the API from it
    # (R-API-3, R-API-4).
    foreign = frozenset(n for n, api in served.items() if not any(_may_take_from(o, csv, members) for o in api.owners))
    extra = (api.rpartition("/")[0].split("/") for api in context.extra_apis if api.count("/") == 2)
    foreign |= {f"{version}.{group}" for group, version in extra}
    if missing_token(group.namespace, group.account, cluster.objects, options.kube_version, cluster.profile):
        outcome = without_client(csv, runs=runs)
    else:
        home = csv.namespace
        there = {**cluster.members.within(home), **members.within(home)}
        others = {name: member for name, member in there.items() if name in cluster.csvs}
        outcome = install(csv, group, cluster, options, context.access, others, foreign)
    if outcome.failure:
        return _stop(csv, group, outcome, statuses)
    ready, installing = ("InstallReady", *READY), ("Installing", *_WAITING)
    if outcome.flapping:
        # OLM installs, finds it bad and is ready again at once: most of the time it spends installing (case 36).
        history = _history(ready, installing, ("Pending", *_REINSTALL), ready)
        return CsvState(csv, group, *ready, statuses, outcome.installation, flapping=True, history=history)
    done = ("Succeeded", *SUCCEEDED)
    history = _history(ready, installing, done)
    return CsvState(csv, group, *done, statuses, outcome.installation, history=history)


def _stop(csv: Csv, group: OperatorGroup, outcome: InstallOutcome, statuses: tuple[Status, ...]) -> CsvState:
    """A CSV whose install did not come to its end, in the phase that it stays in or keeps returning to."""
    reason, message = outcome.failure or ("", "")
    phases = [("InstallReady", *READY)]
    if outcome.phase == "InstallReady" and outcome.installation is not None:
        phases.append(("Installing", *_WAITING))
    last = (outcome.phase, reason, message)
    history = _history(*phases, *([last] if last != phases[-1] else ()))
    member = CsvState(csv, group, *last, statuses, outcome.installation, flapping=outcome.flapping)
    return member._replace(history=history, place=outcome.place)


def _upgrade_refusal(csv: Csv, cluster: Cluster, options: Options) -> str:
    """R-CSV-15a: the message while the CSV to be replaced forbids it in its OperatorCondition, "" if it doesn't."""
    if "OperatorConditionNotUpgradeable" not in cluster.profile.csv_reasons:
        return ""
    if NamespacedName(csv.namespace, csv.replaces) not in cluster.csvs or csv.replaces == csv.name:
        return ""
    key = ObjectKey(OLM_GROUP, "OperatorCondition", csv.namespace, csv.replaces)
    if key not in cluster.objects:
        return ""
    condition = cluster.objects[key].object
    # The override of an administrator counts, and OLM ignores the operator then (R-CSV-15a).
    for item in mappings(spec_of(condition).get("overrides")):
        if item.get("type") == "Upgradeable":
            forbidden = item.get("status") != "True"
            return _not_upgradeable(item.get("message")) if forbidden else ""
    before = options.state.objects.get(key) if options.state is not None else None
    for item in observed_conditions(condition, before.object if before is not None else {}):
        if item.get("type") != "Upgradeable":
            continue
        # The operator has taken it back, and OLM still has it in the status (R-OC-3).
        if _is_left_over(item, condition):
            text = f'the operatorcondition status "Upgradeable"="{item.get("status")}" is outdated'
            return f"operator is not upgradeable: {text}"
        return _not_upgradeable(item.get("message")) if item.get("status") == "False" else ""
    return ""


def observed_conditions(condition: KubernetesObject, before: KubernetesObject) -> list[dict[str, Any]]:
    """The conditions in the status of an OperatorCondition: those of its spec, and before them those that it had, which
    OLM never removes (R-OC-3).

    `before` is the OperatorCondition that was there. Of a condition that its spec no longer has OLM has not observed
    the present generation.
    """
    given = {as_text(item.get("type")): item for item in mappings(spec_of(condition).get("conditions"))}
    known = {as_text(item.get("type")): item for item in mappings(status_of(condition).get("conditions"))}
    taken_back = {as_text(item.get("type")) for item in mappings(spec_of(before).get("conditions"))} - given.keys()
    for kind in taken_back & known.keys():
        known[kind] = {key: value for key, value in known[kind].items() if key != "observedGeneration"}
    seen = {kind: {**known.get(kind, {}), **item} for kind, item in given.items()}
    return [dict(item) for item in {**known, **seen}.values()]


def _is_left_over(item: Mapping[str, Any], condition: KubernetesObject) -> bool:
    """Return whether a condition in the status of an OperatorCondition is not in its spec, and of another
    generation."""
    if any(item.get("type") == each.get("type") for each in mappings(spec_of(condition).get("conditions"))):
        return False
    observed = item.get("observedGeneration")
    return observed is None or observed != metadata_of(condition).get("generation")


def _not_upgradeable(message: object) -> str:
    return f"operator is not upgradeable: the operator is not upgradeable: {message or ''}"


def _adoption_failure(csv: Csv, cluster: Cluster, members: Mapping[NamespacedName, CsvState]) -> Failure | None:
    """R-CSV-15g, R-API-3: an owned API service that exists and belongs to somebody else."""
    if not csv.owned_apiservices:
        return None
    adoptable_owners = _adoptable_owners(csv, members)
    owners = [owner_labels(cluster.profile, owner.name, owner.namespace) for owner in adoptable_owners]
    rivals = [member for name, member in members.items() if name not in adoptable_owners]
    for item in csv.owned_apiservices:
        existing = cluster.objects.get(apiservice_key(item.service_name))
        labels = labels_of(existing.object) if existing else {}
        foreign = existing is not None and not any(owner.items() <= labels.items() for owner in owners)
        if foreign or any(_serves(rival, item.service_name, cluster.objects) for rival in rivals):
            return "OwnerConflict", "unable to adopt APIService"
    return None


def _foreign_api_service(csv: Csv, cluster: Cluster) -> str:
    """The first owned API service that exists without an owner, or that belongs to a CSV that is neither this one nor
    replaced; "" if there is none. OLM deletes one whose CSV does not exist."""
    for item in csv.owned_apiservices:
        existing = cluster.objects.get(apiservice_key(item.service_name))
        if existing is None:
            continue
        name = csv_by_label(existing.object)
        if name is None:
            return item.service_name
        member = cluster.members.get(name)
        if name in (namespaced_name(csv), NamespacedName(csv.namespace, csv.replaces)) or member is None:
            continue
        if member.phase != "Replacing":
            return item.service_name
    return ""


def _serves(member: CsvState, name: str, objects: Mapping[ObjectKey, Rendered]) -> bool:
    # OLM writes API services behind each Deployment, so without any there are none (R-API-2); what is being replaced
    # from the start has written those that are there.
    written = bool(member.progress.deployments) and member.progress.apiservices != 0
    written = written or (member.phase == "Replacing" and apiservice_key(name) in objects)
    return written and any(item.service_name == name for item in member.csv.owned_apiservices)


def _adoptable_owners(csv: Csv, members: Mapping[NamespacedName, CsvState]) -> frozenset[NamespacedName]:
    """The CSVs whose API services are this one's to take (R-API-3)."""
    leaving = (name for name in members if _may_take_from(name, csv, members))
    return frozenset((namespaced_name(csv), NamespacedName(csv.namespace, csv.replaces), *leaving))


def _may_take_from(owner: NamespacedName, csv: Csv, members: Mapping[NamespacedName, CsvState]) -> bool:
    """Return whether the API services of a CSV are this one's to take: its own, those of the one it replaces, and those
    of any that is being replaced (R-API-3)."""
    if owner in (namespaced_name(csv), NamespacedName(csv.namespace, csv.replaces)):
        return True
    return owner in members and members[owner].phase == "Replacing"


def _fail(csv: Csv, group: OperatorGroup | None, failure: Failure, *, flapping: bool = False) -> CsvState:
    phase = ("Failed", *failure)
    return CsvState(csv, group, *phase, flapping=flapping, history=(phase,))


def _fail_while_pending(csv: Csv, group: OperatorGroup, failure: Failure) -> CsvState:
    """Return the state of a CSV that failed after it became a member, which OLM retries without end (R-CSV-14,
    R-CSV-15b)."""
    failed = _fail(csv, group, failure, flapping=True)
    return failed._replace(history=_history(*failed.history))


def _history(*later: tuple[str, str, str]) -> tuple[tuple[str, str, str], ...]:
    return (("Pending", *_UNKNOWN), *later)


def _fail_forward(member: CsvState, cluster: Cluster) -> CsvState:
    """R-CSV-21: with fail-forward, a Failed CSV lets itself be replaced."""
    newer = successor(namespaced_name(member.csv), cluster.csvs)
    # OLM looks at a CSV without rights only once these change, and then begins with Pending (R-CSV-3).
    if member.reason == NO_RETRY:
        return member
    # Without fail-forward a Failed CSV blocks its successor without end (R-CSV-15h).
    allowed = cluster.profile.resolver_failforward and member.group is not None and member.group.fails_forward
    if not allowed or member.phase != "Failed" or newer is None:
        return member
    text = f"Fail Forward is enabled, allowing Failed csv to be replaced by csv: {newer.name}"
    return member.in_phase("Replacing", "BeingReplaced", text)


def _mark_replaced(member: CsvState, by: str) -> CsvState:
    """A CSV that is Replacing; one that is already keeps the name of who came first."""
    phase = ("Replacing", "BeingReplaced", f"being replaced by csv: {by}")
    return member if member.phase == "Replacing" else member.in_phase(*phase)
