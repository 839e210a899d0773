"""One round of the catalog operator in one namespace: resolve, and make the InstallPlan (R-CAT-500 … R-CAT-616)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from olmc.compiler.catalogs.properties import properties_text
from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    Resolution,
    ResolveRequest,
    Selection,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.compiler.model.cluster import (
    BundleLookup,
    CatalogSource,
    Cluster,
    InstallPlan,
    NamespacedName,
    Step,
    Subscription,
)
from olmc.compiler.model.operators import Csv, OperatorGroup
from olmc.compiler.model.options import Options, Profile, upgrades_from_any_catalog
from olmc.compiler.model.workspace import PolicyApproval, Workspace
from olmc.compiler.olm.facts import read_properties, real_csvs
from olmc.compiler.olm.naming import CSV_API, PROPERTIES, random_suffix
from olmc.compiler.resolver.predicates import REQUIREMENTS
from olmc.compiler.resolver.resolve import PREVENTED, resolve
from olmc.compiler.resolver.snapshot import EXISTING, visible_catalogs
from olmc.compiler.resolver.steps import (
    Content,
    UndecodableCSV,
    UndecodableCSVError,
    bundle_steps,
    check_files,
    content_of,
    csv_object,
    partitioned,
    restrictions,
)
from olmc.k8s.api.formats import duration_problem, seconds
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import GVK, CatalogKey, KubernetesObject

# The requests of a namespace to the resolver, with its state (R-CAT-310, R-CAT-500 … R-CAT-514).

UNPACK_TIMEOUT = "operatorframework.io/bundle-unpack-timeout"
_DURATIONS = (("timeout", UNPACK_TIMEOUT), ("retry", "operatorframework.io/bundle-unpack-min-retry-interval"))


def unreadable_duration(group: OperatorGroup) -> tuple[str, str]:
    """The annotation whose duration keeps OLM from resolving the group's namespace, and OLM's text; "" if none does."""
    annotations = group.annotations
    for what, key in _DURATIONS:
        if key not in annotations:
            continue

        problem = duration_problem(str(annotations[key]))
        if problem:
            return key, f"failed to parse unpack {what} annotation({key}: {annotations[key]}): {problem}"
    return "", ""


def _unpacks_endlessly(group: OperatorGroup) -> bool:
    """Return whether a group takes the deadline from the Jobs that unpack its bundles (R-CAT-654)."""
    timeout = str(group.annotations.get(UNPACK_TIMEOUT, "-1s"))
    return not duration_problem(timeout) and seconds(timeout) == 0


def unpacks_too_briefly(group: OperatorGroup) -> bool:
    """Return whether the Jobs that unpack the bundles of a group fail at once: OLM cuts a timeout below a second to 0,
    which is no time at all (R-CAT-654)."""
    timeout = str(group.annotations.get(UNPACK_TIMEOUT, "-1s"))
    return not duration_problem(timeout) and 0 < seconds(timeout) < 1


class UnreadablePropertiesError(ValueError):
    """The annotation with a CSV's properties is not the JSON that it should be, or a CRD has no name to be read."""


def csv_properties(csv: Csv, packages: Set[str]) -> tuple[Property, ...]:
    """The properties of an existing CSV: those of its annotation, else what its APIs say.

    `packages` are the packages of the Subscriptions that have it installed. Raises UnreadablePropertiesError.
    """
    text = csv.annotations.get(PROPERTIES)
    if text is not None:
        return _annotation_properties(csv.name, text)
    for item in (*csv.owned_crds, *csv.required_crds):
        if "." not in item.name:
            raise UnreadablePropertiesError(f"error parsing crd name: {item.name}")
    properties = [Property("olm.gvk", _gvk(api.key)) for api in csv.owned_apis]
    properties += [Property("olm.gvk.required", _gvk(api)) for api in csv.required_apis]
    if len(packages) == 1:
        version = "" if csv.version == "0.0.0" else csv.version
        value = {"packageName": next(iter(packages)), "version": version}
        properties.append(Property("olm.package", value))
    return tuple(properties)


def _annotation_properties(name: str, text: str) -> tuple[Property, ...]:
    problem = f'failed to retrieve properties of csv "{name}": failed to unmarshal properties annotation: '
    try:
        return read_properties(text)
    except ValueError as error:
        raise UnreadablePropertiesError(f"{problem}{error}") from error


def _gvk(api: GVK) -> dict[str, str]:
    return {"group": api.group, "kind": api.kind, "version": api.version}


def resolve_request_of(
    cluster: Cluster,
    namespace: str,
    subscriptions: Mapping[NamespacedName, Subscription],
    visible: Sequence[CatalogSource],
    options: Options,
) -> ResolveRequest:
    """The request that a namespace's Subscriptions ask of the catalogs that it sees."""
    catalogs = [visible_catalog(source) for source in visible]
    present = []
    for csv in real_csvs(cluster, namespace):
        try:
            present.append(present_of(csv, cluster, subscriptions))
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(namespace, EXISTING), problem=str(error)))
    requests = tuple(request_of(s) for s in subscriptions.values())
    unheeded = REQUIREMENTS.difference(cluster.profile.resolver_constraints)
    fail_forward = fails_forward(cluster, namespace)
    return ResolveRequest(
        namespace, tuple(catalogs), requests, tuple(present), fail_forward,
        unheeded=unheeded, legacy_precedence=upgrades_from_any_catalog(options, cluster.profile),
        timeout=options.resolve_timeout, cel=cluster.cel, catalog_error=cluster.profile.resolver_catalog_error,
    )  # fmt: skip


def visible_catalog(source: CatalogSource) -> VisibleCatalog:
    """A CatalogSource as the resolver sees it."""
    left_out = source.catalog.left_out if source.catalog is not None else ()
    return VisibleCatalog(source.key, source.priority, source.entries, source.problem, left_out)


def request_of(s: Subscription) -> SubscriptionRequest:
    """A Subscription as the resolver sees it."""
    return SubscriptionRequest(
        name=s.name.name,
        package=s.package,
        channel=s.channel,
        catalog=s.catalog,
        starting=s.starting_csv,
        installed=s.installed,
        current=s.current,
    )


def present_of(csv: Csv, cluster: Cluster, subscriptions: Mapping[NamespacedName, Subscription]) -> InstalledEntry:
    """A CSV as the resolver sees it; `mine` may have it installed. Raises UnreadablePropertiesError."""
    packages = {s.package for s in subscriptions.values() if s.installed == csv.name}
    member = cluster.members.get(NamespacedName(csv.namespace, csv.name))
    return InstalledEntry(
        name=csv.name,
        version=csv.version,
        properties=csv_properties(csv, packages),
        replaces=csv.replaces,
        phase=member.phase if member else "",
    )


def fails_forward(cluster: Cluster, namespace: str) -> bool:
    """Return whether the namespace's one OperatorGroup lets upgrades go on from failed CSVs (R-CAT-504, R-CAT-588)."""
    groups = cluster.groups_in(namespace)
    return cluster.profile.resolver_failforward and len(groups) == 1 and groups[0].fails_forward


MANUAL, AUTOMATIC = "Manual", "Automatic"


class ResolutionRound(NamedTuple):
    """The changes of a round: the namespace's Subscriptions, and the InstallPlan that it makes (None: no changes).

    `resolve_request` and `resolution` are kept for explanations; `missing` names bundles whose content is not in the
    workspace, `unreadable` those whose CSV OLM can't decode. `descoped` are those of the namespace's Subscriptions that
    need no OperatorGroup to be resolved (R-DESCOPE-11).
    """

    subscriptions: Mapping[NamespacedName, Subscription]
    plan: InstallPlan | None = None
    resolve_request: ResolveRequest | None = None
    resolution: Resolution | None = None
    missing: tuple[Candidate, ...] = ()
    unreadable: tuple[UndecodableCSV, ...] = ()
    descoped: frozenset[NamespacedName] = frozenset()


def resolve_namespace(workspace: Workspace, cluster: Cluster, namespace: str, options: Options) -> ResolutionRound:
    """Resolve one namespace in the cluster's present state and make the next InstallPlan."""
    subscriptions = {
        name: without_missing_plan(s, cluster) for name, s in sorted(cluster.subscriptions.within(namespace).items())
    }
    groups = cluster.groups_in(namespace)
    # R-CAT-501: which no Subscription tells. Nor does OLM look for their CSVs (R-CAT-505).
    if not subscriptions or len(groups) != 1 or any(unreadable_duration(groups[0])):
        return ResolutionRound(subscriptions)
    subscriptions = {name: refresh_status(s, cluster) for name, s in subscriptions.items()}
    # A plan that waits, or that failed, keeps the namespace from being resolved; but only until some Subscription of it
    # has no plan to wait for (R-CAT-506).
    if all(s.plan and s.state == "UpgradePending" for s in subscriptions.values()):
        return ResolutionRound(subscriptions)
    visible = visible_catalogs(cluster, namespace, options)
    resolve_request, resolution = resolve_with_lock(
        resolve_request_of(cluster, namespace, subscriptions, visible, options), workspace, [namespace]
    )
    if resolution.message:
        failure = (resolution.reason, resolution.message)
        return ResolutionRound(
            {n: s._replace(failure=failure) for n, s in subscriptions.items()},
            resolve_request=resolve_request,
            resolution=resolution,
        )
    subscriptions = {name: s.resolved for name, s in subscriptions.items()}
    return make_plan(workspace, cluster, namespace, subscriptions, resolution.selections, options)._replace(
        resolve_request=resolve_request, resolution=resolution
    )


def resolve_with_lock(
    resolve_request: ResolveRequest, workspace: Workspace, namespaces: Iterable[str]
) -> tuple[ResolveRequest, Resolution]:
    """The resolution, with what `olmc.lock` says about these namespaces applied, and the request that it answers."""
    lock = workspace.lock.namespaces if workspace.lock is not None else {}
    locked = [operator for namespace in namespaces for operator in lock.get(namespace, ())]
    if locked:
        for restricted in restrictions(resolve_request, locked):
            resolution = resolve(restricted)
            if not resolution.message:
                return restricted, resolution
    return resolve_request, resolve(resolve_request)


def _plan_of(s: Subscription, cluster: Cluster) -> InstallPlan | None:
    return next((p for p in cluster.kept_plans(s.name.namespace) if p.name == s.plan), None)


_OF_PLANS = frozenset({"InstallPlanPending", "InstallPlanFailed"})


def without_missing_plan(s: Subscription, cluster: Cluster) -> Subscription:
    """Return a Subscription whose plan is deleted (R-CAT-652). OLM resolves one that waited for the plan again, any
    other one reports the missing plan. OLM writes neither if no condition of the Subscription would change."""
    if not s.plan or s.misses_plan or _plan_of(s, cluster) is not None:
        return s
    if s.state != "UpgradePending":
        return s._replace(misses_plan=True)
    collected = cluster.plans.get(NamespacedName(s.name.namespace, s.plan))
    waited = not _OF_PLANS.isdisjoint(s.condition_types) or (collected is not None and collected.phase != "Complete")
    return s._replace(plan="", current="", state="") if waited else s


def refresh_status(subscription: Subscription, cluster: Cluster) -> Subscription:
    """The status of a Subscription before resolving (R-CAT-505)."""
    s = subscription
    # A generated Subscription has no status yet when it is created; an annotation names the plan that brought it
    # (R-CAT-505, R-CAT-585).
    if not s.plan and s.generated_by:
        s = s._replace(plan=s.generated_by, state="UpgradePending", current=s.starting_csv)
    if not s.current:
        return s
    if cluster.has_csv(NamespacedName(s.name.namespace, s.current)):
        return s._replace(state="AtLatestKnown", installed=s.current)
    plan = _plan_of(s, cluster)
    failed = plan is not None and plan.phase == "Failed" and fails_forward(cluster, s.name.namespace)
    return s._replace(state="UpgradeFailed" if failed else "UpgradePending")


class _Intent(NamedTuple):
    """The effect of a round's selections: the bundles to install, the Subscriptions that move on, and those to be
    generated."""

    installs: tuple[Selection, ...]
    moved: Mapping[NamespacedName, Subscription]
    generated: Mapping[str, Step]


UNPACK_FAILED = "BundleUnpackFailed"
# A bundle that is not in the workspace counts as an image that can't be pulled: its Job waits until the deadline.
_TOO_LATE = "DeadlineExceeded", "Job was active longer than specified deadline"
_GAVE_UP = "BackoffLimitExceeded", "Job has reached the specified backoff limit"


def make_plan(
    workspace: Workspace,
    cluster: Cluster,
    namespace: str,
    subscriptions: Mapping[NamespacedName, Subscription],
    selections: Sequence[Selection],
    options: Options,
) -> ResolutionRound:
    """R-CAT-580 … R-CAT-585, R-CAT-600 … R-CAT-603."""
    intent = _intent(cluster, namespace, subscriptions, selections, options)
    # OLM makes a plan only when an existing Subscription moves: a dependency that a running operator lacks since has to
    # wait until one does (R-CAT-583).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/registry/resolver/step_resolver.go
    if not intent.moved or not intent.installs:
        return ResolutionRound(subscriptions)
    contents = {
        selection.candidate.name: content_of(workspace, cluster, selection.candidate) for selection in intent.installs
    }
    steps, lookups, unreadable = _steps(intent.installs, contents, intent.generated, namespace, cluster.profile)
    missing = tuple(selection.candidate for selection in intent.installs if contents[selection.candidate.name] is None)
    is_hurried = any(map(unpacks_too_briefly, cluster.groups_in(namespace)))
    is_hurried = is_hurried and any(content is None or not content.inline for content in contents.values())
    if unreadable or missing or is_hurried:
        stop = _stop(namespace, intent.installs, {c.name for c in missing}, unreadable, workspace.without_csv, cluster)
        # A bundle without a CSV has its own finding.
        lacking = tuple(candidate for candidate in missing if candidate.image not in workspace.without_csv)
        waiting = _waiting(subscriptions, cluster, stop)
        return ResolutionRound(waiting, missing=lacking, unreadable=tuple(unreadable.values()))
    plan = _next_plan(cluster, namespace, subscriptions, intent.installs, options)._replace(
        csvs=tuple(step.name for step in steps if step.kind == "ClusterServiceVersion"), steps=steps, lookups=lookups
    )
    return ResolutionRound(
        {**subscriptions, **{key: _pending(s, plan, cluster) for key, s in intent.moved.items()}}, plan
    )


def _intent(
    cluster: Cluster,
    namespace: str,
    subscriptions: Mapping[NamespacedName, Subscription],
    selections: Sequence[Selection],
    options: Options,
) -> _Intent:
    anywhere = upgrades_from_any_catalog(options, cluster.profile)
    installs: list[Selection] = []
    moved: dict[NamespacedName, Subscription] = {}
    generated: dict[str, Step] = {}
    for selection in selections:
        name = selection.candidate.name
        matching = [key for key, s in subscriptions.items() if _follows(s, selection, anywhere=anywhere)]
        behind = [key for key in matching if subscriptions[key].current != name]
        # A selection that is there is no change. If its CSV has gone meanwhile, it is installed once more (R-CAT-580).
        if matching and not behind and NamespacedName(namespace, name) in cluster.csvs:
            continue
        installs.append(selection)
        moved |= {key: subscriptions[key]._replace(current=name) for key in behind}
        if not matching:
            generated[name] = _generated_subscription(selection.candidate, namespace)
    return _Intent(tuple(installs), moved, generated)


def _next_plan(
    cluster: Cluster,
    namespace: str,
    subscriptions: Mapping[NamespacedName, Subscription],
    installs: Sequence[Selection],
    options: Options,
) -> InstallPlan:
    """The namespace's next InstallPlan, still without what it installs."""
    # An approved plan of the workspace without steps is the plan to come: it gives its generation and name (R-CAT-607).
    there = [p.generation for p in cluster.plans.within(namespace).values() if p not in cluster.approved]
    generation = 1 + max([s.generation for s in subscriptions.values()] + there, default=0)
    reused = next((p for p in cluster.approved if (p.namespace, p.generation) == (namespace, generation)), None)
    # The API server takes five characters by chance; ours follow from the generation, so that a name stays the same
    # (D3).
    suffix = random_suffix(f"{CSV_API}|InstallPlan|{namespace}|install-|{generation}")
    # One Subscription with Manual approval, and every plan of its namespace waits for somebody (R-CAT-602).
    manual = any(s.approval == MANUAL for s in subscriptions.values())
    return InstallPlan(
        namespace=namespace,
        name=reused.name if reused else f"install-{suffix}",
        generation=generation,
        approval=MANUAL if manual else AUTOMATIC,
        approved=not manual or _is_approved(namespace, installs, options, cluster),
        csvs=(),
        steps=(),
        lookups=(),
        owners=tuple(n.name for n in subscriptions),
        phase="RequiresApproval" if manual else "Installing",
        given=reused.given if reused else None,
        resumed=reused is not None,
    )


def _pending(s: Subscription, plan: InstallPlan, cluster: Cluster) -> Subscription:
    """A Subscription that a plan moves on.

    OLM takes the condition BundleUnpacking back from those that the plan does not concern. The others keep it until the
    next resolution that succeeds, and some namespaces never see another one.
    """
    unpacking = bool(plan.lookups)
    types = cluster.subscriptions[s.name].condition_types if unpacking else s.condition_types
    return s._replace(
        plan=plan.name,
        generation=plan.generation,
        state="UpgradePending",
        unpacking=unpacking,
        condition_types=types,
        misses_plan=False,
    )


class _Stop(NamedTuple):
    """The reason why OLM makes no plan: a condition with its reason and message, all "" for an error that only its log
    has. `guessed`: another reason is as likely. `pulling` is the message about a Job that never ends."""

    condition: str = ""
    reason: str = ""
    message: str = ""
    guessed: bool = False
    pulling: str = ""


def _stop(
    namespace: str, installs: Sequence[Selection], missing: Set[str], unreadable: Mapping[str, UndecodableCSV],
    without_csv: Set[str], cluster: Cluster,
) -> _Stop:  # fmt: skip
    """Return OLM's report on bundles of which some, `missing` or `unreadable` by name, give no steps (R-CAT-654).

    The inline content of a catalog comes first, as part of the resolution. Of images, a fatal error ends everything;
    one that OLM retries hides that a Job has failed.
    """
    errors = list(unreadable.values())
    for error in errors:
        if error.content.inline:
            return _Stop("ResolutionFailed", PREVENTED, f"failed to turn bundle into steps: {error.text}")
    if any(map(unpacks_too_briefly, cluster.groups_in(namespace))):
        return _Stop(UNPACK_FAILED, UNPACK_FAILED, _job_failure(cluster.profile, *_TOO_LATE))
    for error in errors:
        if error.fatal:
            return _Stop(UNPACK_FAILED, "ErrorPreventedUnpacking", error.text)
    if any(not error.of_job for error in errors) or any(s.candidate.image in without_csv for s in installs):
        return _Stop()
    endless = any(_unpacks_endlessly(group) for group in cluster.groups_in(namespace))
    for selection in installs:
        if selection.candidate.name in unreadable:
            return _Stop(UNPACK_FAILED, UNPACK_FAILED, _job_failure(cluster.profile, *_GAVE_UP))
        if selection.candidate.name in missing and not endless:
            return _Stop(UNPACK_FAILED, UNPACK_FAILED, _job_failure(cluster.profile, *_TOO_LATE), guessed=True)
    return _Stop(pulling=cluster.profile.subscription_unpackfailed["pulling"])


def _waiting(
    subscriptions: Mapping[NamespacedName, Subscription], cluster: Cluster, stop: _Stop
) -> dict[NamespacedName, Subscription]:
    """All Subscriptions of a namespace in which a bundle gives no steps, with the conditions that they had (R-CAT-654).

    That a Job has failed is reported in the place of that it runs (observed-66), before 0.43 beside it; any other
    problem of an image beside it. OLM takes no condition back before it makes a plan.
    """
    of_job = stop.reason == UNPACK_FAILED
    after = {}
    for name, s in subscriptions.items():
        before = cluster.subscriptions[name]
        s = s._replace(
            failure=before.failure, unpack_failure=before.unpack_failure, condition_types=before.condition_types,
            unpacking=before.unpacking, unpacking_message=before.unpacking_message,
        )  # fmt: skip
        if stop.condition == "ResolutionFailed":
            after[name] = s._replace(failure=(stop.reason, stop.message))
            continue
        seen = _seen(before, cluster.profile) if stop.guessed else None
        after[name] = s._replace(
            unpacking=not of_job or cluster.profile.subscription_unpackfailed["unpacking"],
            unpacking_message=stop.pulling,
            unpack_failure=seen or ((stop.reason, stop.message) if stop.condition else s.unpack_failure),
        )
    return after


def _seen(s: Subscription, profile: Profile) -> tuple[str, str] | None:
    """The failure of the unpack job that a cluster shows, which may have another reason than the one of D26."""
    known, beginning = s.unpack_failure, profile.subscription_unpackfailed["message"].partition("{")[0]
    return known if known is not None and known[1].startswith(beginning) else None


def _job_failure(profile: Profile, reason: str, message: str) -> str:
    """The message about a Job that can't unpack a bundle, with the reason that Kubernetes gives (R-CAT-654, D26)."""
    text: str = profile.subscription_unpackfailed["message"]
    return text.format(reason=reason, message=message)


def _is_approved(namespace: str, installs: Sequence[Selection], options: Options, cluster: Cluster) -> bool:
    """R-CAT-607: by an option, or by an InstallPlan in the workspace."""
    # A plan is approved as a whole, so an approval of one of its CSVs approves all.
    names = {f"{namespace}/{selection.candidate.name}" for selection in installs}
    given = {f"{plan.namespace}/{csv}" for plan in cluster.approved for csv in plan.csvs}
    is_named = "all" in options.approve or not names.isdisjoint({*options.approve, *given})
    return is_named or (bool(cluster.approvals) and _is_approved_by_policies(namespace, installs, cluster))


def _is_approved_by_policies(namespace: str, installs: Sequence[Selection], cluster: Cluster) -> bool:
    """R-OCM-9: if each Subscription that something is installed for is one of a policy that allows it; what none asks
    for is what they require."""
    approvals = {approval.name: approval for approval in cluster.approvals if approval.namespace == namespace}
    by_package = {s.package: s for s in cluster.subscriptions.within(namespace).values()}
    asked = [
        (by_package[selection.candidate.package], selection)
        for selection in installs
        if selection.candidate.package in by_package
    ]
    return bool(asked) and all(_allows(approvals.get(s.name.name), s, selection) for s, selection in asked)


def _allows(approval: PolicyApproval | None, s: Subscription, selection: Selection) -> bool:
    if approval is None or ((s.installed or s.current) and not approval.upgrades):
        return False
    return not approval.csvs or selection.candidate.name in approval.csvs


def _follows(s: Subscription, selection: Selection, *, anywhere: bool) -> bool:
    """Return whether a selection is for a Subscription: of its catalog, or, with the documents' precedence, an upgrade
    of what it has installed (D17)."""
    candidate = selection.candidate
    channel = s.channel or candidate.channel
    from_elsewhere = anywhere and bool(s.installed) and selection.replaces == s.installed
    return (
        s.package == candidate.package
        and channel == candidate.channel
        and (s.catalog == candidate.catalog or not any(s.catalog) or from_elsewhere)
    )


def _generated_subscription(candidate: Candidate, namespace: str) -> Step:
    """The Subscription for a dependency (R-CAT-581)."""
    key = candidate.catalog
    name = f"{candidate.package}-{candidate.channel}-{key.name}-{key.namespace}"
    spec = {
        "channel": candidate.channel,
        # Automatic even if the plan that brings it had to be approved (R-CAT-581).
        "installPlanApproval": AUTOMATIC,
        "name": candidate.package,
        "source": key.name,
        "sourceNamespace": key.namespace,
        "startingCSV": candidate.name,
    }
    metadata = {"name": name, "namespace": namespace}
    obj: KubernetesObject = {"apiVersion": CSV_API, "kind": "Subscription", "metadata": metadata, "spec": spec}
    return Step(candidate.name, key, CSV_API, "Subscription", name, obj, None, derived=True)


def _steps(
    installs: Sequence[Selection],
    contents: Mapping[str, Content | None],
    generated: Mapping[str, Step],
    namespace: str,
    profile: Profile,
) -> tuple[tuple[Step, ...], tuple[BundleLookup, ...], dict[str, UndecodableCSV]]:
    """R-CAT-611 … R-CAT-616: inline bundles partitioned, then the unpacked ones behind the Subscriptions; and the
    bundles that OLM gets no steps of, by name."""
    ordered: list[Step] = []
    unreadable: dict[str, UndecodableCSV] = {}
    unpacked: list[Step] = []
    lookups: list[BundleLookup] = []
    for selection in installs:
        content, candidate = contents[selection.candidate.name], selection.candidate
        if content is None:
            continue
        properties = properties_text(content.served if content.inline else candidate.properties)
        try:
            if not content.inline:
                check_files(content, profile)
            csv = csv_object(content, namespace, selection.replaces, properties, profile)
        except UndecodableCSVError as error:
            unreadable[candidate.name] = error.undecodable
            continue
        steps = bundle_steps(content, csv, candidate.catalog, profile)
        # The content of an image is known once it is unpacked. By then the plan has the Subscriptions for dependencies
        # already, and the steps follow them without being sorted (R-CAT-613).
        if content.inline:
            ordered += steps
        else:
            unpacked += steps
            found, name = (candidate.image, candidate.name), csv["metadata"]["name"]
            lookups.append(BundleLookup(*found, selection.replaces, candidate.catalog, properties, name))
        if candidate.name in generated:
            ordered.append(generated[candidate.name])
    return (*partitioned(ordered), *unpacked), tuple(lookups), unreadable
