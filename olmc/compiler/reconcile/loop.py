"""From the initial state to the settled one: resolve, run the plans, judge the CSVs, and again until nothing changes
(R-CAT-590).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.compiler.catalogs.properties import bundle_properties, properties_text, uncatalogued
from olmc.compiler.load.bundles import suggested_namespace
from olmc.compiler.model.cluster import (
    OLMCONFIG,
    Cluster,
    CopiedCsv,
    CsvState,
    InstallPlan,
    NamespacedName,
    Step,
    by_kind,
    disables_copies,
    namespaced_name,
)
from olmc.compiler.model.operators import CSV_KIND, APIServiceDescription, Csv
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.olm.facts import (
    FAMILIES_AT_WORK,
    family,
    foreign_finalizers,
    home_of_copy,
    is_copy,
    is_copy_by_metadata,
    is_terminating,
    terminating,
)
from olmc.compiler.olm.naming import COMPONENT_PREFIX, component_label_key, owner_labels
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.reconcile.apply_step import StepTarget, apply_step, mapper_of, way_out
from olmc.compiler.reconcile.crds import StepError, without_installers
from olmc.compiler.reconcile.deployments import servings
from olmc.compiler.reconcile.initial_state import ALWAYS_THERE, initial_state
from olmc.compiler.reconcile.install_plans import INSTALLING, resume_plans, with_plan, written_steps
from olmc.compiler.reconcile.operator_groups import NOT_PROVIDING, with_global_groups
from olmc.compiler.reconcile.phases import evaluate_phases
from olmc.compiler.reconcile.requirements import successor
from olmc.compiler.resolver.steps import UndecodableCSVError, bundle_content, bundle_steps, csv_object, strategy_steps
from olmc.compiler.rules.findings import reconcile as rules
from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CONFIG, CONTAINERS, Limit
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Rendered,
    crd_key,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    namespace_of,
    owner_references,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.k8s.yaml import locate
from olmc.k8s.yaml.rules import too_large

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Selection
    from olmc.compiler.resolver.rounds import ResolutionRound

# How many containers there are in all namespaces, and how much the configs of Subscriptions add to each of them. A
# small input makes many of both, so they are bounded.
#
# https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/overrides/initializer.go#L44-L107

_LISTS = ("env", "envFrom", "volumeMounts")


class ConfigSizeError(Exception):
    """The workspace has more than a limit allows; says how much, and the Subscription or the CSV with which it is too
    much, None where that has no text."""

    def __init__(self, limit: Limit, size: int, source: Source | None) -> None:
        super().__init__(size)
        self.limit, self.size, self.source = limit, size, source


def check_config_size(cluster: Cluster) -> None:
    """Raise ConfigSizeError where there are too many containers, or configs add too much to them (R-DEP-6)."""
    count_containers(cluster.csvs.values(), 0)
    size = 0
    for subscription in cluster.subscriptions.values():
        entries = _entries(mapping(subscription.spec.get("config")))
        # While phases are worked out, the status that names the CSV as installed is still to be written (R-CAT-505).
        name = NamespacedName(subscription.name.namespace, subscription.current or subscription.installed)
        csv = cluster.csvs.get(name) if entries else None
        size += entries * _containers(csv) if csv is not None else 0
        if size > CONFIG.most:
            raise ConfigSizeError(CONFIG, size, subscription.source)


def count_containers(csvs: Iterable[Csv], others: int) -> int:
    """Return how many containers the Deployments of CSVs have, with `others`; ConfigSizeError where these are too many:
    what each of them takes to judge and to write, a small input asks for in each of its namespaces."""
    total = others
    for csv in csvs:
        total += _containers(csv)
        if total > CONTAINERS.most:
            raise ConfigSizeError(CONTAINERS, total, csv.source)
    return total


def _entries(config: Mapping[str, Any]) -> int:
    """Return how many entries each container gets."""
    resources = mapping(config.get("resources"))
    lists = sum(len(mappings(config.get(name))) for name in _LISTS)
    return lists + sum(len(mapping(resources.get(name))) for name in ("limits", "requests"))


def _containers(csv: Csv) -> int:
    return sum(len(mappings(item.pod.get("containers"))) for item in csv.deployments)


# The objects that OLM deletes: CSVs that were replaced, with the objects that they owned, and Deployments of those that
# may not provide their APIs (R-CSV-13, R-CSV-24, R-CAT-752).

# By uid the condition is an owner of its own; it goes with its CSV, and what it owns goes with it (R-OC-1, R-OC-2).
_OWNERS = frozenset({"ClusterServiceVersion", "OperatorCondition"})
# A CSV can't own an object without a namespace, so its finalizer deletes these by owner labels. OLM does not delete
# other cluster-wide objects of a bundle (R-CAT-752, D30).
FINALIZED_KINDS = frozenset(
    "APIService ClusterRole ClusterRoleBinding MutatingWebhookConfiguration ValidatingWebhookConfiguration".split()
)


def without_replaced(cluster: Cluster) -> Cluster:
    """The cluster without the CSVs whose successor has succeeded, oldest first; the same object if there are none."""
    for name, csv in sorted(cluster.csvs.items()):
        if _is_replaced(name, cluster):
            return without_replaced(_without_csv(cluster, name, csv))
    return cluster


def _is_replaced(name: NamespacedName, cluster: Cluster) -> bool:
    """Return whether a CSV is Replacing, the oldest of its chain, and the next one Succeeded (R-CSV-24)."""
    member = cluster.members.get(name)
    if member is None or member.phase != "Replacing" or is_terminating(member.csv.object):
        return False
    before = NamespacedName(name.namespace, member.csv.replaces)
    # Chains go from their oldest end, one CSV at a time; one that replaces itself has no older one (R-CSV-24, Q-15).
    if before in cluster.csvs and before != name:
        return False
    following = successor(name, cluster.csvs)
    # With fail-forward those in between may all have failed: only the last of the chain counts (R-CSV-24).
    if member.group is not None and member.group.fails_forward:
        while following is not None and (later := successor(namespaced_name(following), cluster.csvs)) is not None:
            following = later
    return following is not None and cluster.members[namespaced_name(following)].succeeded


def _held(cluster: Cluster, name: NamespacedName, csv: Csv) -> Cluster:
    """The cluster with a replaced CSV that a finalizer holds, which no controller has: it stays with what it owns, and
    without what OLM deletes by its labels (observed-96)."""
    held = Csv(terminating(csv.object), csv.source)
    member = cluster.members[name].in_phase("Deleting", "Replaced", _REPLACED)
    progress = member.installation and member.installation._replace(webhooks=0, conversions=0)
    owner = owner_labels(cluster.profile, csv.name, csv.namespace).items()
    selected = FINALIZED_KINDS - {"APIService"}
    objects = {
        key: rendered for key, rendered in cluster.objects.items()
        if key.kind not in selected or not owner <= labels_of(rendered.object).items()
    }  # fmt: skip
    return cluster._replace(
        csvs=cluster.csvs.updated({name: held}),
        members=cluster.members.updated({name: member._replace(csv=held, installation=progress)}),
        objects=by_kind(objects),
    )


_REPLACED = "has been replaced by a newer ClusterServiceVersion that has successfully installed."


def _is_held(cluster: Cluster, csv: Csv) -> bool:
    if not metadata_of(csv.object).get("finalizers"):
        return False
    crds = cluster.objects.within((APIEXTENSIONS, CRD_KIND)).values()
    at_work = {family(text(spec_of(crd.object).get("group"))) for crd in crds} | FAMILIES_AT_WORK
    return any(foreign_finalizers(csv.object, OLM_GROUP, at_work))


def _without_csv(cluster: Cluster, name: NamespacedName, csv: Csv) -> Cluster:
    if _is_held(cluster, csv):
        return _held(cluster, name, csv)
    csvs = cluster.csvs.without(name)
    members = cluster.members.without(name)
    served = {item.service_name for other in csvs.values() for item in other.owned_apiservices}
    required = {
        item.service_name: (other, item)
        for other in csvs.within(name.namespace).values()
        if other.replaces == name.name and members[namespaced_name(other)].installation is not None
        for item in other.required_apiservices
    }
    objects: dict[ObjectKey, Rendered] = {}
    again = _made_again(name.namespace, cluster)
    for key, rendered in cluster.objects.items():
        # Another owner of the API has adopted it. The labels of the new owner are written only when objects are
        # rendered (R-API-3).
        adopted = key.kind == "APIService" and key.name in served
        kept = rendered if adopted else _without_owner(key, rendered, name, cluster.profile)
        if kept is None and key.kind == "APIService" and key.name in required:
            kept = _taken_over(rendered, *required[key.name], cluster.profile)
        if kept is None and key in again:
            kept = _unowned(rendered)
        if kept is not None:
            objects[key] = kept
    removed = {key.name for key in cluster.objects if key.kind == "APIService" and key not in objects}
    objects = {key: rendered for key, rendered in objects.items() if not _belongs_to(rendered, removed)}
    replaced = (member for member in [cluster.members[name]] if member.installation is not None)
    return cluster._replace(
        csvs=csvs, members=members, objects=by_kind(objects), retired=(*cluster.retired, csv),
        replaced=(*cluster.replaced, *replaced),
    )  # fmt: skip


def _taken_over(rendered: Rendered, csv: Csv, item: APIServiceDescription, profile: Profile) -> Rendered:
    """An API service of a CSV that is replaced by one which requires it: that adopts it, and points it at the Service
    of the Deployment that its description names, mostly none (observed-93)."""
    labels = {**labels_of(rendered.object), **owner_labels(profile, csv.name, csv.namespace)}
    metadata = {**rendered.object["metadata"], "labels": labels}
    service = {"namespace": csv.namespace, "name": f"{item.deployment}-service", "port": item.port}
    spec = {key: value for key, value in spec_of(rendered.object).items() if key != "caBundle"}
    return rendered._replace(object={**rendered.object, "metadata": metadata, "spec": {**spec, "service": service}})


def _made_again(namespace: str, cluster: Cluster) -> frozenset[ObjectKey]:
    """Return the objects that stay after their CSV was replaced.

    The second run of a plan creates ServiceAccounts of bundles again, since the operator works before its plan ends
    (observed-80). A CSV that works applies its ports to a Service of a manifest (R-CERT-2).
    """
    applied = frozenset(
        ObjectKey("", "Service", namespace, serving.names["service"])
        for name, member in cluster.members.within(namespace).items() if member.succeeded and name in cluster.csvs
        for serving in servings(cluster.profile, member.csv)
    )  # fmt: skip
    return applied | frozenset(
        ObjectKey("", ACCOUNT, namespace, step.name)
        for plan in cluster.plans.within(namespace).values()
        for step in (plan.steps if plan.runs_twice else ())
        if step.kind == ACCOUNT and not step.derived and _works(NamespacedName(namespace, step.resolving), cluster)
    )


def _works(name: NamespacedName, cluster: Cluster) -> bool:
    member = cluster.members.get(name)
    return member is not None and member.succeeded


def _unowned(rendered: Rendered) -> Rendered:
    """An object without owners."""
    metadata = {key: value for key, value in rendered.object["metadata"].items() if key != "ownerReferences"}
    return rendered._replace(object={**rendered.object, "metadata": metadata})


def _belongs_to(rendered: Rendered, services: Collection[str]) -> bool:
    """Return whether an object belongs to one of the API services alone, as the ClusterRoles of their APIs do
    (R-CR-4)."""
    owners = owner_references(rendered.object) if services else []
    return bool(owners) and all(ref.get("kind") == "APIService" and ref.get("name") in services for ref in owners)


def _without_owner(key: ObjectKey, rendered: Rendered, removed: NamespacedName, profile: Profile) -> Rendered | None:
    """Return an object after the deletion of a CSV: None if that was its last owner, otherwise without the
    reference."""
    labels = labels_of(rendered.object)
    if key.kind in FINALIZED_KINDS:
        is_own = owner_labels(profile, removed.name, removed.namespace).items() <= labels.items()
        return None if is_own else rendered
    # With a CRD all its objects would go, so OLM never deletes one (R-CAT-726).
    if key.kind == "CustomResourceDefinition":
        return rendered._replace(object=without_installers(rendered.object, removed))
    references = owner_references(rendered.object)
    # A copy of the CSV goes with it, and with the copy what it owns; the copy has the CSV's name (R-TEN-2).
    home = home_of_copy(rendered.object) or key.namespace
    remaining = [ref for ref in references if not _refers_to(ref, home, removed)]
    if len(remaining) == len(references):
        return rendered
    if not remaining:
        return None
    return rendered._replace(
        object={**rendered.object, "metadata": {**rendered.object["metadata"], "ownerReferences": remaining}}
    )


def _refers_to(ref: Mapping[str, object], home: str, removed: NamespacedName) -> bool:
    """Return whether a reference leads to a CSV, or to its OperatorCondition, which goes with it (R-OC-1, R-OC-2)."""
    return ref.get("kind") in _OWNERS and ref.get("name") == removed.name and home == removed.namespace


def deleted_deployments(cluster: Cluster) -> Iterator[ObjectKey]:
    """Yield all objects with the name of a Deployment of a CSV that must not provide its APIs, of any origin
    (R-CSV-13)."""
    for name, member in cluster.members.items():
        if member.reason in NOT_PROVIDING:
            for deployment in member.csv.deployments:
                yield ObjectKey("apps", "Deployment", name.namespace, deployment.name)


# A list of reasons, not of phases: a CSV that is Pending, or Failed for anything else, is copied all the same
# (R-COPY-2).
_NOT_COPIED = frozenset(
    "Copied InvalidInstallModes NoTargetNamespaces UnsupportedOperatorGroup NoOperatorGroup TooManyOperatorGroups "
    "InterOperatorGroupOwnerConflict CannotModifyStaticOperatorGroupProvidedAPIs".split()
)


def may_be_copied(member: CsvState) -> bool:
    """Return whether nothing about its group keeps a CSV from being copied."""
    return bool(member.phase) and member.reason not in _NOT_COPIED


def gets_api_roles(member: CsvState, profile: Profile) -> bool:
    """Return whether ClusterRoles are made for the APIs of a CSV."""
    # OLM makes them in a sync of a CSV that has Succeeded before, without regard to its group (R-CR-1). Before 0.10 it
    # makes them in the sync that copies the CSV, and the documents mention global operators alone.
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
    """The reason why a step without an InstallPlan failed, its place, and a hint.

    `withheld` are the accounts and the permissions of the install strategy, which OLM does not write after the failure.
    """

    message: str
    place: Location | None
    hint: str
    withheld: tuple[KubernetesObject, ...] = ()


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
    or of an Install, each where its object says; `installed` are CSVs that Installs brought. Where there are more
    containers than a limit allows, or the configs of the Subscriptions add more to them, that is reported.
    """
    cluster = initial_state(workspace, options, report)
    try:
        return _reconciled(workspace, cluster, options, report, direct, home, installed)
    except ConfigSizeError as error:
        place = locate(error.source, ("spec", *_SIZED[error.limit])) if error.source is not None else None
        report.add(too_large("the workspace", error.limit, error.size, place=place))
        return SettledCluster(cluster, cluster)


_SIZED: Mapping[Limit, tuple[str, ...]] = {CONFIG: ("config",), CONTAINERS: ("install",)}
"""The field of a spec that is too large where a limit is exceeded."""


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
    into = home
    for step in direct:
        if step.kind == CSV_KIND:  # the first step of a bundle
            into = home or namespace_of(step.object)
        # As in a plan, the first error ends it, and what was written before stays (R-CAT-700); other bundles go on.
        if step.resolving in stopped:
            continue
        try:
            cluster = apply_step(cluster, step, StepTarget(home or namespace_of(step.object) or into, "", options))
        except StepError as error:
            place = locate(step.source, error.keys) if step.source is not None else None
            hint = way_out(error.cause)
            finding = rules.STEP_FAILED.finding(place, csv=step.resolving, problem=error, hint=hint)
            report.add(finding.caused_by(error.cause))
            withheld = tuple(each.object for each in direct if each.derived and each.resolving == step.resolving)
            stopped[step.resolving] = StoppedInstallation(str(error), place, hint, withheld)
    check_config_size(cluster)
    cluster = settled_state(cluster, options)
    cluster = cluster._replace(copies={**dict(_copied_meanwhile(cluster, options)), **cluster.copies})
    beginning = cluster
    # Plans that the workspace shows go on before anybody resolves: while they are pending, so are their Subscriptions,
    # and OLM resolves no namespace in which all are (R-CAT-506).
    cluster, plans = resume_plans(cluster, options)
    if plans:
        check_config_size(cluster)
        cluster = settled_state(cluster, options)
    if not cluster.subscriptions:
        return SettledCluster(cluster, beginning, stopped=stopped)
    from olmc.compiler.resolver.rounds import (
        ResolutionRound,  # the resolver takes long to import, and bundles don't need it
    )

    settled = _upgrade(workspace, cluster, options, report)
    # Of the rounds that made the plans of the workspace nothing else is known.
    history = (*(ResolutionRound({}, plan) for plan in plans), *settled.history)
    return settled._replace(beginning=beginning, history=history, stopped=stopped)


def _copied_meanwhile(cluster: Cluster, options: Options) -> Iterator[tuple[NamespacedName, CopiedCsv]]:
    """The copies that OLM makes of running operators before any plan gets to its steps (R-CAT-710).

    OLM copies all CSVs of a group that is edited. To a new namespace that the group already watches it copies those
    that provide an API, and all if the group watches its own namespace as well. A label that a selector matches waits
    for the next resync, which comes after all plans. OLMConfig can switch copies of a global group off, and on.
    """
    state = options.state.objects if options.state is not None and options.copied_csvs else {}
    config = state.get(OLMCONFIG)
    had_none = config is not None and disables_copies(config.object)
    for name, member in cluster.members.items() if state else ():
        group, before = member.group, state.get(ObjectKey(OLM_GROUP, CSV_KIND, *name))
        if group is None or before is None or not member.succeeded or (group.is_global and cluster.disables_copies):
            continue
        if is_copy(before.object) or status_of(before.object).get("phase") != "Succeeded":
            continue
        known = state.get(ObjectKey(OLM_GROUP, "OperatorGroup", *namespaced_name(group)))
        watched = texts(status_of(known.object).get("namespaces")) if known is not None else []
        is_edited = known is None or spec_of(known.object) != group.spec
        is_switched_on = group.is_global and had_none
        is_synced = bool(member.csv.owned_apis) or name.namespace in watched
        for namespace in cluster.namespaces if group.is_global else group.targets:
            is_watched = watched == [""] or namespace in watched
            copy = NamespacedName(namespace, name.name)
            is_heard_of = is_switched_on or (is_synced if is_watched else is_edited)
            if is_heard_of and namespace in cluster.namespaces and copy not in cluster.csvs:
                yield copy, CopiedCsv(name.namespace, member.csv.object, None)


def _resynced(cluster: Cluster) -> Cluster:
    """The cluster without the copies of groups that shrank to their own namespace, and what they own (observed-73)."""
    removed: dict[str, list[NamespacedName]] = {}
    for name, copy in cluster.copies.items():
        member = cluster.members.get(NamespacedName(copy.home, name.name))
        if member is not None and member.group is not None and member.group.targets == (copy.home,):
            removed.setdefault(name.namespace, []).append(name)
    if not removed:
        return cluster
    copies = {name: copy for name, copy in cluster.copies.items() if name not in removed.get(name.namespace, ())}
    objects: dict[ObjectKey, Rendered] = {}
    for key, rendered in cluster.objects.items():
        kept: Rendered | None = rendered
        for name in removed.get(key.namespace, ()):
            kept = kept and _without_owner(key, kept, name, cluster.profile)
        if kept is not None:
            objects[key] = kept
    return cluster._replace(copies=copies, objects=by_kind(objects))


def _upgrade(workspace: Workspace, cluster: Cluster, options: Options, report: Report) -> SettledCluster:
    """Round after round, namespace by namespace, until no InstallPlan is made any more."""
    from olmc.compiler.resolver.cluster_wide import resolver_for

    resolve_namespace = resolver_for(options)
    first: dict[str, ResolutionRound] = {}
    rounds: dict[str, ResolutionRound] = {}
    beginning = cluster
    history: list[ResolutionRound] = []
    namespaces = sorted(cluster.subscriptions.parts)
    for _ in range(MAX_ROUNDS):
        planned, containers = False, 0
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
                containers = count_containers(cluster.csvs.within(namespace).values(), containers)
        # Namespaces resolve independently of each other's phases, so one judgement a sweep is enough.
        if planned:
            check_config_size(cluster)
            cluster = settled_state(cluster, options)
            continue
        resynced = _resynced(cluster)
        if resynced is cluster:
            cluster = _with_history(cluster, options)
            return SettledCluster(cluster, beginning, first, rounds, tuple(history))
        cluster = resynced
    report.add(rules.UPGRADE_LOOP.finding(None, namespace=", ".join(namespaces), rounds=MAX_ROUNDS))
    return SettledCluster(cluster, beginning, first, rounds, tuple(history))


def selections(settled: SettledCluster) -> Iterator[tuple[str, Selection]]:
    """Yield the resolver's selections until the cluster is settled, in order, with the namespace; also those that were
    never installed."""
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
    """Add the objects that plans of initially installed operators left, if the workspace does not have them.

    A stuck plan of the workspace lists the objects that it has written.
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
            # An object of the workspace is as it was last seen, and replaces the one of the bundle.
            if was_written and not _is_there(cluster, step, target):
                try:
                    cluster = apply_step(cluster, step, target)
                except StepError:
                    # A step that can't be written now was not written then, and a plan stops at its first error
                    # (R-CAT-700).
                    break
    return cluster


def _is_stuck(plan: InstallPlan, csv: NamespacedName) -> bool:
    """Return whether a plan of the workspace wrote a CSV, but did not get to its end."""
    return csv.name in plan.csvs and plan.phase in (INSTALLING, "Failed")


def _left_behind(workspace: Workspace, csv: Csv, catalog: CatalogKey, profile: Profile) -> Iterable[Step]:
    vendored = (b for _, b in sorted(workspace.vendored.items()) if name_of(b.installed.object) == csv.name)
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
        passes_on = name in adopted and not is_copy_by_metadata(member.csv.object)
        for identity in _owned_crds(member, cluster) if passes_on else ():
            adopted[identity] = adopted.get(identity, frozenset()) | adopted[name]
    return cluster._replace(served=served, adopted=adopted)


def _component_labels(member: CsvState, profile: Profile, options: Options) -> frozenset[str]:
    """The component labels that a CSV brings along: they count as the one of its Subscription does (R-COMP-4).

    With Operators and Installs only those of existing Operators count, which their target projects (R-OPERATOR-6).
    """
    if not profile.csv_label_component or options.operators_and_installs or is_copy_by_metadata(member.csv.object):
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


# A bundle by itself: the OperatorGroup that `olmc render BUNDLE` makes, and the steps that install it.


class SingleBundle(NamedTuple):
    """A workspace made for one bundle, and the steps that install the bundle in its `namespace`.

    `watched` are the other namespaces that the bundle watches. They belong to others and have no manifest: they are
    taken as existing.
    """

    workspace: Workspace
    steps: tuple[Step, ...]
    namespace: str
    watched: tuple[str, ...]


def single_bundle(bundle: Bundle, options: Options, report: Report) -> SingleBundle:
    """The namespace, the OperatorGroup and the steps for a bundle alone.

    The namespace is the one asked for, else the one that the CSV suggests, else the package's name; the scope is what
    was asked for, else the widest that the bundle supports. With descoping, a bundle without install modes gets a group
    only if somebody asks for namespaces.
    """
    namespace = home_of(bundle, options)
    targets = _target_namespaces(bundle, namespace, options, report)
    source = bundle.csv.source
    objects: list[dict[str, Any]] = []
    if namespace != "default":
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if not (options.descoped and options.watch is None and not Csv(bundle.csv.object).install_modes):
        objects.append(
            {
                "apiVersion": "operators.coreos.com/v1",
                "kind": "OperatorGroup",
                "metadata": {"name": bundle.package, "namespace": namespace},
                "spec": {"targetNamespaces": list(targets)} if targets else {},
            }
        )
    properties = properties_text(bundle_properties(uncatalogued(bundle), report))
    replaces = Csv(bundle.csv.object).replaces
    steps: tuple[Step, ...] = ()
    try:
        # The steps are those of an InstallPlan, without one: no resolution was necessary, so OLM made no plan.
        content, profile = bundle_content(bundle), profile_of(options.olm_version)
        csv = csv_object(content, namespace, replaces, properties, profile)
        steps = bundle_steps(content, csv, NO_CATALOG, profile)
    except UndecodableCSVError as error:
        csv_error, place = error.undecodable, locate(source, error.undecodable.keys)
        finding = rules.NOT_UNPACKED.finding(place, csv=bundle.name, text=csv_error.text, hint=csv_error.hint)
        report.add(finding.caused_by(csv_error.cause))
    manifests = tuple(Manifest(obj, source) for obj in objects)
    watched = tuple(name for name in dict.fromkeys(targets) if name not in (namespace, *ALWAYS_THERE))
    return SingleBundle(Workspace(manifests, {bundle.name: bundle}, {}), steps, namespace, watched)


def home_of(bundle: Bundle, options: Options) -> str:
    """The namespace that a bundle by itself is installed in."""
    suggested = suggested_namespace(Csv(bundle.csv.object).annotations)
    return options.install_namespace or suggested or bundle.package


def supported_modes(bundle: Bundle) -> frozenset[str]:
    """The install modes that a bundle supports; one that names none counts as one for all namespaces."""
    modes = mappings(spec_of(bundle.csv.object).get("installModes"))
    supported = frozenset(text(mode.get("type")) for mode in modes if mode.get("supported") is True)
    return supported or frozenset({"AllNamespaces"})


def _target_namespaces(bundle: Bundle, namespace: str, options: Options, report: Report) -> tuple[str, ...]:
    """The target namespaces, () for all: those asked for, else the widest scope that the install modes allow."""
    if options.watch is not None:
        return options.watch
    supported = supported_modes(bundle)
    if "AllNamespaces" in supported:
        return ()
    if "OwnNamespace" in supported:
        return (namespace,)
    report.add(rules.WATCHES_DEFAULT.finding(locate(bundle.csv.source, ("spec", "installModes")), csv=bundle.name))
    # Somebody else's namespaces, and two of them, or a group would not be one of many (R-CSV-8); these are in every
    # cluster.
    return ("default",) if "SingleNamespace" in supported else ("default", "kube-public")
