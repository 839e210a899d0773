"""From the initial state to the settled one: resolve, run the plans, judge the CSVs, and again until nothing changes
(R-CAT-590)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.diagnostics.rules import reconcile as rules
from olmc.diagnostics.rules.workspace import too_large
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, CsvState, InstallPlan, NamespacedName, Step
from olmc.model.diagnostics import Location, Report
from olmc.model.indexed import by_kind
from olmc.model.limits import CONFIG
from olmc.model.objects import CatalogKey, ObjectKey, crd_key, namespace_of
from olmc.model.operators import Csv
from olmc.model.options import Options, Profile
from olmc.model.workspace import Workspace
from olmc.olm.naming import COMPONENT_PREFIX, component_label_key
from olmc.reconcile.apply_step import StepTarget, apply_step, mapper_of, way_out
from olmc.reconcile.config_size import ConfigSizeError, check_config_size
from olmc.reconcile.crds import StepError
from olmc.reconcile.garbage_collection import without_replaced
from olmc.reconcile.initial_state import initial_state
from olmc.reconcile.install_plans import INSTALLING, resume_plans, with_plan, written_steps
from olmc.reconcile.operator_groups import with_global_groups
from olmc.reconcile.phases import evaluate_phases
from olmc.resolver.steps import bundle_content, bundle_steps, strategy_steps
from olmc.yaml import locate

if TYPE_CHECKING:
    from olmc.model.catalog import Selection
    from olmc.resolver.rounds import ResolutionRound

# A list of reasons, not of phases: a CSV that is Pending, or Failed for anything else, is copied all the same
# (R-COPY-2).
_NOT_COPIED = frozenset(
    "Copied InvalidInstallModes NoTargetNamespaces UnsupportedOperatorGroup NoOperatorGroup TooManyOperatorGroups "
    "InterOperatorGroupOwnerConflict CannotModifyStaticOperatorGroupProvidedAPIs".split()
)


def may_be_copied(member: CsvState) -> bool:
    """Whether nothing about its group keeps a CSV from being copied."""
    return bool(member.phase) and member.reason not in _NOT_COPIED


def gets_api_roles(member: CsvState, profile: Profile) -> bool:
    """Whether ClusterRoles are made for the APIs of a CSV."""
    # OLM makes them in a sync of a CSV that has Succeeded before, whatever its group (R-CR-1); before 0.10 in the sync
    # that copies it, and the documents speak of global operators alone.
    match profile.api_clusterrole_when:
        case "copied":
            return may_be_copied(member)
        case "succeeded, global":
            return member.succeeded and member.group is not None and member.group.is_global
        case _:
            return member.succeeded


# Every round moves some Subscription along its channel, and no channel is this long: only a graph that leads back to
# where it came from gets here.
MAX_ROUNDS = 1000
NO_CATALOG = CatalogKey("", "")


class StoppedInstallation(NamedTuple):
    """Why a step without an InstallPlan could not be carried out, its place, and what to do about it."""

    message: str
    place: Location | None
    hint: str


class SettledCluster(NamedTuple):
    """The cluster at rest.

    `beginning` is the state before anything was resolved. For explanations, `first` and `rounds` are the first and the
    last round of each namespace with Subscriptions, and `history` the rounds that made an InstallPlan, in order.
    `stopped`: where the installation of a bundle by itself, or by an Install, ends early, by the names of CSVs.
    """

    cluster: Cluster
    beginning: Cluster
    first: Mapping[str, ResolutionRound] = MappingProxyType({})
    rounds: Mapping[str, ResolutionRound] = MappingProxyType({})
    history: tuple[ResolutionRound, ...] = ()
    stopped: Mapping[str, StoppedInstallation] = MappingProxyType({})


def reconcile(
    workspace: Workspace,
    options: Options,
    report: Report,
    *,
    direct: Sequence[Step] = (),
    home: str = "",
    installed: frozenset[NamespacedName] = frozenset(),
) -> SettledCluster:
    """The state that OLM comes to rest in on a workspace.

    `direct` are steps that are carried out without an InstallPlan: those of a bare bundle, all in the namespace `home`,
    or of an Install, each where its object says; `installed` are CSVs that Installs brought. Where the configs of the
    Subscriptions add more than olmc takes on, that is reported.
    """
    cluster = initial_state(workspace, options, report)
    try:
        return _reconciled(workspace, cluster, options, report, direct, home, installed)
    except ConfigSizeError as error:
        place = locate(error.source, ("spec", "config")) if error.source is not None else None
        report.add(too_large("the workspace", CONFIG, error.size, place=place))
        return SettledCluster(cluster, cluster)


def _reconciled(
    workspace: Workspace,
    cluster: Cluster,
    options: Options,
    report: Report,
    direct: Sequence[Step],
    home: str,
    installed: frozenset[NamespacedName],
) -> SettledCluster:
    if not workspace.is_live:
        cluster = _with_installed(workspace, cluster, options)
    cluster = cluster._replace(installed=installed)
    stopped: dict[str, StoppedInstallation] = {}
    for step in direct:
        # As in a plan, the first error ends it, and what was written before stays (R-CAT-700); other bundles go on.
        if step.resolving in stopped:
            continue
        try:
            cluster = apply_step(cluster, step, StepTarget(home or namespace_of(step.object), "", options))
        except StepError as error:
            place = locate(step.source, error.keys) if step.source is not None else None
            hint = way_out(error.cause)
            finding = rules.STEP_FAILED.finding(place, csv=step.resolving, problem=error, hint=hint)
            report.add(finding.caused_by(error.cause))
            stopped[step.resolving] = StoppedInstallation(str(error), place, hint)
    check_config_size(cluster)
    cluster = settled_state(cluster, options)
    beginning = cluster
    # Plans that the workspace shows go on before anybody resolves: while they are pending, so are their Subscriptions,
    # and OLM resolves no namespace in which all are (R-CAT-506).
    cluster, plans = resume_plans(cluster, options)
    if plans:
        check_config_size(cluster)
        cluster = settled_state(cluster, options)
    if not cluster.subscriptions:
        return SettledCluster(cluster, beginning, stopped=stopped)
    from olmc.resolver.rounds import ResolutionRound  # the resolver takes long to import, and bundles don't need it

    settled = _upgrade(workspace, cluster, options, report)
    # Of the rounds that made the plans of the workspace nothing else is known.
    history = (*(ResolutionRound({}, plan) for plan in plans), *settled.history)
    return settled._replace(beginning=beginning, history=history, stopped=stopped)


def _upgrade(workspace: Workspace, cluster: Cluster, options: Options, report: Report) -> SettledCluster:
    """Round after round, namespace by namespace, until no InstallPlan is made any more."""
    from olmc.resolver.cluster_wide import resolver_for

    resolve_namespace = resolver_for(options)
    first: dict[str, ResolutionRound] = {}
    rounds: dict[str, ResolutionRound] = {}
    beginning = cluster
    history: list[ResolutionRound] = []
    namespaces = sorted(cluster.subscriptions.parts)
    for _ in range(MAX_ROUNDS):
        planned = False
        for namespace in namespaces:
            round_ = resolve_namespace(workspace, cluster, namespace, options)
            # Also a round without a plan writes: why nothing could be resolved stands in the Subscriptions (R-CAT-653).
            cluster = cluster._replace(subscriptions=cluster.subscriptions.updated(round_.subscriptions))
            # Explanations need the first round, which saw what the user has; all others saw what olmc made of it.
            first.setdefault(namespace, round_)
            rounds[namespace] = round_
            if round_.plan is not None:
                planned = True
                history.append(round_)
                cluster = with_plan(cluster, round_.plan, options)
        # Namespaces resolve independently of each other's phases, so one judgement a sweep is enough.
        if planned:
            check_config_size(cluster)
            cluster = settled_state(cluster, options)
        else:
            cluster = _with_history(cluster, options)
            return SettledCluster(cluster, beginning, first, rounds, tuple(history))
    report.add(rules.UPGRADE_LOOP.finding(None, namespace=", ".join(namespaces), rounds=MAX_ROUNDS))
    return SettledCluster(cluster, beginning, first, rounds, tuple(history))


def selections(settled: SettledCluster) -> Iterator[tuple[str, Selection]]:
    """What the resolver selected on the way to rest, in order, with the namespace; also what was never installed."""
    for round_ in (*settled.history, *settled.rounds.values()):
        if round_.resolve_request is None or round_.resolution is None:
            continue
        for selection in round_.resolution.selections:
            if not round_.resolve_request.whole_cluster:
                yield round_.resolve_request.namespace, selection
            # A resolution of the whole cluster speaks of no namespace: where a bundle goes, its plan says.
            elif round_.plan is not None and selection.candidate.name in round_.plan.csvs:
                yield round_.plan.namespace, selection


def _with_installed(workspace: Workspace, cluster: Cluster, options: Options) -> Cluster:
    """What the plans of operators that are installed at the start left behind, where the workspace doesn't show it.

    A plan of the workspace that got stuck says itself what it has written.
    """
    for subscription in sorted(cluster.subscriptions.values(), key=lambda subscription: subscription.name):
        name = NamespacedName(subscription.name.namespace, subscription.installed)
        csv = cluster.csvs.get(name)
        if csv is None:
            continue
        target = StepTarget(name.namespace, subscription.plan, options)
        stuck = next((plan for plan in cluster.plans.within(name.namespace).values() if _is_stuck(plan, name)), None)
        written = frozenset(written_steps(stuck)) if stuck else None
        for step in _left_behind(workspace, csv, subscription.catalog, cluster.profile):
            was_written = written is None or (step.kind, step.name) in written
            # What the workspace shows is as it was last seen, and truer than what the bundle says of it.
            if was_written and not _is_there(cluster, step, target):
                try:
                    cluster = apply_step(cluster, step, target)
                except StepError:
                    # What can't be written now was not written then, and a plan stops at its first error (R-CAT-700).
                    break
    return cluster


def _is_stuck(plan: InstallPlan, csv: NamespacedName) -> bool:
    """Whether a plan of the workspace wrote a CSV, but did not get to its end."""
    return csv.name in plan.csvs and plan.phase in (INSTALLING, "Failed")


def _left_behind(workspace: Workspace, csv: Csv, catalog: CatalogKey, profile: Profile) -> Iterable[Step]:
    vendored = (bundle for _, bundle in sorted(workspace.vendored.items()) if bundle.name == csv.name)
    # The CSV may be older than what the catalogs list by now, so its bundle is looked for by name (observed-39).
    bundle = workspace.bundles.get(csv.name) or next(vendored, None)
    if bundle is None:
        return tuple(strategy_steps(csv, catalog, csv.source, profile))
    return bundle_steps(bundle_content(bundle), csv.object, catalog, profile)[1:]


def _is_there(cluster: Cluster, step: Step, target: StepTarget) -> bool:
    # Which of them it is depends on the scope of the kind; the other one can't exist.
    keys = {ObjectKey(step.gvk.group, step.kind, namespace, step.name) for namespace in ("", target.namespace)}
    return not keys.isdisjoint(cluster.objects)


def settled_state(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with phases, without replaced CSVs, and with what only history shows recorded."""
    while True:
        cluster = _with_history(evaluate_phases(with_global_groups(cluster, options), options), options)
        # A CSV that goes may be all that another one waited for, and its APIs are free for others: so judge again.
        after = without_replaced(cluster)
        if after is cluster:
            return cluster
        cluster = after


def _with_history(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with what stays although nothing in a later state shows why: API roles and component labels."""
    served = dict(cluster.served)
    adopted = dict(cluster.adopted)
    for name, member in cluster.members.items():
        if gets_api_roles(member, cluster.profile):
            # A CRD that is missing can't own them, and OLM makes none without an owner (R-CR-2, R-CR-4).
            apis = (api for api in member.csv.owned_apis if not api.is_crd or crd_key(api.name) in cluster.objects)
            served |= dict.fromkeys(apis, member.csv)
        if own := _component_labels(member, cluster.profile, options):
            adopted[name] = adopted.get(name, frozenset()) | own
    for subscription in sorted(cluster.subscriptions.values(), key=lambda subscription: subscription.name):
        name = NamespacedName(subscription.name.namespace, subscription.installed)
        if name in cluster.csvs and cluster.profile.csv_label_component:
            key = component_label_key(subscription.package, name.namespace)
            adopted[name] = adopted.get(name, frozenset()) | {key}
    for name, member in cluster.members.items():
        # CRDs have no owner that would pass labels on, so OLM goes by the list in the CSV (R-COMP-4).
        passes_on = name in adopted and not member.csv.counts_as_copy
        for identity in _owned_crds(member, cluster) if passes_on else ():
            adopted[identity] = adopted.get(identity, frozenset()) | adopted[name]
    return cluster._replace(served=served, adopted=adopted)


def _component_labels(member: CsvState, profile: Profile, options: Options) -> frozenset[str]:
    """The component labels that a CSV brings along: they count as the one of its Subscription does (R-COMP-4).

    With v2alpha1 only those of existing Operators count, which `olmc.proposed` projects (R-OPERATOR-6).
    """
    if not profile.csv_label_component or options.v2alpha1 or member.csv.counts_as_copy:
        return frozenset()
    labels = member.csv.labels
    return frozenset(key for key in labels if key.startswith(COMPONENT_PREFIX))


def _owned_crds(member: CsvState, cluster: Cluster) -> list[ObjectKey]:
    keys = (crd_key(name) for name in sorted({item.name for item in member.csv.owned_crds}))
    return [key for key in keys if key in cluster.objects]


def in_scope_of_crds(cluster: Cluster, options: Options) -> Cluster:
    """A cluster at rest whose objects have no namespace where a CRD says so that came with an operator, or
    the cluster that has their kind."""
    mapper = mapper_of(cluster, options)
    if all(kind.namespaced for kind in mapper.custom.values()):
        return cluster
    # Loading does the same for the kinds that it can know; these CRDs came with a bundle out of a catalog.
    stored = (rendered._replace(object=mapper.in_its_scope(rendered.object)) for rendered in cluster.objects.values())
    return cluster._replace(objects=by_kind({rendered.identity: rendered for rendered in stored}))
