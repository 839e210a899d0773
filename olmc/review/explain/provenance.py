"""Explain the origin of an object, its cause, and the obstacles of a Subscription or a CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.cluster import (
    APPROVAL,
    Cluster,
    CsvState,
    InstallPlan,
    NamespacedName,
    Subscription,
    namespaced_name,
)
from olmc.compiler.model.operators import CSV_KIND, Csv, StrategyPermissions
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.facts import (
    csvs_by_reference,
    group_by_label,
    is_copy_by_metadata,
    original_by_label,
    original_of,
)
from olmc.compiler.olm.naming import ALONGSIDE, binding_name, cluster_role_name, role_name
from olmc.compiler.reconcile.diagnose import (
    failed_step,
    group_way_out,
    place_of,
    plan_way_out,
    policy_way_out,
    replaces_in_plan,
    rivals,
    step_way_out,
    unmet,
    way_to_catalog,
)
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.reconcile.unresolved import held_in, is_not_vendored, unknown_catalogs, with_places
from olmc.compiler.resolver.explain import ExplanationLine, HeldUpgrade, derivation, reasons
from olmc.k8s.diagnostics import Location, Place, StoredVersion, UnfitResource, UnservedKind, join_limited
from olmc.k8s.objects import OLM_GROUP, CatalogKey, KubernetesObject, ObjectKey, Origin, Rendered, annotations_of
from olmc.k8s.yaml import at, located
from olmc.review.explain.installs import brought_by

if TYPE_CHECKING:
    from olmc.compiler.resolver.rounds import ResolutionRound
    from olmc.compiler.results import InstallDecision, OperatorResult


def deeper(lines: Iterable[ExplanationLine]) -> Iterator[ExplanationLine]:
    """Lines as the explanation of a line before them."""
    return (line._replace(depth=line.depth + 1) for line in lines)


def plan_of(subscription: Subscription, cluster: Cluster) -> InstallPlan | None:
    """The InstallPlan that a Subscription refers to."""
    key = (subscription.name.namespace, subscription.plan)
    return next((plan for plan in cluster.plans.values() if (plan.namespace, plan.name) == key), None)


def of_csv(member: CsvState, cluster: Cluster) -> Iterator[ExplanationLine]:
    """Yield the obstacles of a CSV, with every requirement that is not met; none for one that has succeeded."""
    if member.succeeded:
        return
    if member.phase:
        text = member.cause[2] or f"it is {member.phase}"
    elif is_copy_by_metadata(member.csv.object):
        text = "OLM takes it for a copy because of its annotation olm.operatorNamespace, and leaves it alone"
    elif not member.csv.surface_is_readable:
        text = "OLM leaves it alone: a CRD that it names has no dot in its name"
    elif member.group is not None and member.group.problem:
        text = f"its OperatorGroup {member.group.name} can't be processed: {member.group.problem}"
    else:
        text = "OLM gives it no status"
    yield ExplanationLine(0, text, place_of(member))
    for line in unmet(member):
        shown = line.lstrip()
        yield ExplanationLine(1 + (len(line) - len(shown)) // 2, shown)
    for text, place in rivals(member, cluster):
        yield ExplanationLine(1, text, place)
    hint = group_way_out(member, cluster)
    if hint and member.phase == "Failed":
        yield ExplanationLine(1, hint)


def of_subscription(name: NamespacedName, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """Yield the obstacles of a Subscription: groups, resolution, content, the InstallPlan."""
    yield from of_resolution(name, settled)
    plan = plan_of(settled.cluster.subscriptions[name], settled.cluster)
    if plan is not None:
        yield from of_plan(plan, settled.cluster)


def of_resolution(name: NamespacedName, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """Yield the reasons why OLM installs nothing new for a Subscription.

    With descoped operators, each is resolved with those that it is connected with, and needs no group; otherwise it is
    the result of `of_namespace` (R-DESCOPE-11).
    """
    cluster, done = settled.cluster, settled.rounds.get(name.namespace)
    groups = len(cluster.groups_in(name.namespace))
    if done is None or not done.descoped or groups > 1 or (not groups and name not in done.descoped):
        yield from of_namespace(name.namespace, settled)
        return
    subscription = cluster.subscriptions[name]
    requests = done.resolve_request.requests if done.resolve_request is not None else ()
    if {str(name), name.name}.isdisjoint(request.name for request in requests):
        if subscription.failure:
            yield ExplanationLine(0, subscription.failure[1], at(subscription.source, "spec"))
        return
    yield from _of_group(name.namespace, cluster)
    yield from _of_round(done, cluster)


def held_upgrades(settled: SettledCluster) -> dict[NamespacedName, HeldUpgrade]:
    """The upgrades that are held back since something else would break, by Subscription."""
    return {
        NamespacedName(namespace, held.request.name): held
        for namespace, done in settled.rounds.items()
        for held in held_in(done, settled.cluster)
    }


def of_held_upgrade(held: HeldUpgrade) -> Iterator[ExplanationLine]:
    """An upgrade that is held back, and what stands in its way."""
    yield ExplanationLine(0, f"{held.upgrade} is held back", held.request.location)
    yield from (reason._replace(depth=1) for reason in held.reasons)


def of_namespace(namespace: str, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """Yield the reasons why OLM installs nothing new in a namespace."""
    cluster = settled.cluster
    groups = cluster.groups_in(namespace)
    if unplaced := cluster.unplaced_groups(namespace):
        which = " or ".join(f"OperatorGroup {group.name}" for group in unplaced)
        text = f"OLM resolves namespace {namespace} only if {which}, without metadata.namespace, is applied there"
        yield ExplanationLine(0, text, at(unplaced[0].source, "metadata"))
        return
    if len(groups) != 1:
        what = "no OperatorGroup" if not groups else "several OperatorGroups"
        yield ExplanationLine(0, f"OLM does not resolve namespace {namespace}: it has {what}")
        for group in groups:
            yield ExplanationLine(1, f"OperatorGroup {group.name}", at(group.source))
        return
    yield from _of_group(namespace, cluster)
    done = settled.rounds.get(namespace)
    if done is not None:
        yield from _of_round(done, cluster)


def _of_group(namespace: str, cluster: Cluster) -> Iterator[ExplanationLine]:
    """Report that a group of a namespace can't be processed."""
    for group in cluster.groups_in(namespace):
        if group.problem:
            place = at(group.source, "spec")
            yield ExplanationLine(0, f"OperatorGroup {group.name} can't be processed: {group.problem}", place)


def _of_round(done: ResolutionRound, cluster: Cluster) -> Iterator[ExplanationLine]:
    """Yield the reasons why a round installed nothing: no choice of versions, or unavailable content."""
    unknown = unknown_of(done, cluster)
    if unknown:
        yield from _without_content(unknown, cluster)
    elif done.resolve_request is not None and done.resolution is not None and done.resolution.message:
        resolve_request = with_places(done.resolve_request, cluster, of_fields=True)
        yield from derivation(resolve_request, done.resolution)
    for candidate in done.missing:
        place = located(candidate.location)
        yield ExplanationLine(
            0, f"the content of bundle {candidate.name} ({candidate.image}) is not in the workspace", place
        )
    for found in done.unreadable:
        csv = found.content.csv
        name = csv.object["metadata"]["name"]
        yield ExplanationLine(0, f"bundle {name} can't be unpacked: {found.text}", at(csv.source, *found.keys))


def _without_content(catalogs: Sequence[CatalogKey], cluster: Cluster) -> Iterator[ExplanationLine]:
    names = join_limited([f"{key.namespace}/{key.name}" for key in catalogs], 4)
    sources = [cluster.catalogs.get(key) for key in catalogs]
    is_template = all(source is not None and source.lacks_bundles for source in sources)
    lacks = "lacks bundles of the template of" if is_template else "has no content of"
    yield ExplanationLine(0, f"the workspace {lacks} CatalogSource {names}")
    yield ExplanationLine(1, way_to_catalog(catalogs[0], cluster))


def of_own_catalog(subscription: Subscription, cluster: Cluster) -> tuple[ExplanationLine, ...]:
    """Return that the content of the catalog of a Subscription is unknown, and the way out; () where it is known.

    A round fails by one catalog of its namespace, and others may be unknown as well.
    """
    source = cluster.catalogs.get(subscription.catalog)
    is_known = not subscription.catalog.name or (source is not None and not is_not_vendored(source))
    return () if is_known else tuple(_without_content((subscription.catalog,), cluster))


def unknown_of(done: ResolutionRound, cluster: Cluster) -> tuple[CatalogKey, ...]:
    """Return the catalogs whose absent content makes the result of a round unknown; () where it is known."""
    if done.resolve_request is None or done.resolution is None or not done.resolution.message:
        return ()
    return unknown_catalogs(done.resolve_request, done.resolution, cluster)


def of_plan(plan: InstallPlan, cluster: Cluster) -> Iterator[ExplanationLine]:
    """Yield the reasons why an InstallPlan is not executed, and the way out; none for a complete one."""
    csvs = ", ".join(plan.csvs)
    if plan.phase == APPROVAL and plan.condition is None:
        yield ExplanationLine(0, f"InstallPlan {plan.name} for {csvs} waits for approval")
        first = plan.csvs[0] if plan.csvs else "all"
        way_out = policy_way_out(plan, cluster)
        if way_out:
            yield ExplanationLine(1, way_out)
        yield ExplanationLine(1, f"--approve {plan.namespace}/{first} shows what approving it would do")
    elif plan.phase != "Complete":
        text = plan.message or (plan.condition[2] if plan.condition else "")
        yield ExplanationLine(0, f"InstallPlan {plan.name} for {csvs} ends {plan.phase}: {text}", failed_step(plan))
        if isinstance(plan.cause, UnservedKind | StoredVersion | UnfitResource) or step_way_out(plan):
            yield ExplanationLine(1, plan_way_out(plan, cluster))
        for name in replaces_in_plan(plan, cluster):
            yield ExplanationLine(1, f"{name.name} runs on")


def of_stop(name: NamespacedName, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """Yield where the installation of a CSV without an InstallPlan ended early, and what to do about it."""
    stop = settled.stopped.get(name.name)
    if stop is not None:
        yield ExplanationLine(0, stop.message, stop.place)
        yield ExplanationLine(1, stop.hint)


_RBAC_KINDS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


def because(
    found: Rendered,
    settled: SettledCluster,
    operators: Sequence[OperatorResult] = (),
    installs: Sequence[InstallDecision] = (),
) -> Iterator[ExplanationLine]:
    """Yield the causes of an existing object, step by step up to the object of a person; none for an object of a file.

    `operators` and `installs` are the results of Operators and Installs.
    """
    cluster = settled.cluster
    group = _group_behind(found, cluster)
    if group is not None:
        yield ExplanationLine(0, f"because of OperatorGroup {group}", _place_of_group(group, cluster))
    csvs = behind(found, cluster)
    yield from () if csvs else brought_by(found.identity, operators, installs)
    for name in csvs:
        member = cluster.members.get(name)
        phase = f", which is {member.phase} ({member.reason})" if member is not None and member.phase else ""
        yield ExplanationLine(0, f"because of {CSV_KIND} {name}{phase}", at(cluster.csvs[name].source))
        yield from deeper(asked_for(cluster.csvs[name], settled, operators, installs))
    if found.identity.kind == "InstallPlan":
        yield from _behind_plan(NamespacedName(found.identity.namespace, found.identity.name), settled)
    if found.identity.kind == "Subscription":
        yield from _behind_subscription(NamespacedName(found.identity.namespace, found.identity.name), settled)


def asked_for(
    csv: Csv,
    settled: SettledCluster,
    operators: Sequence[OperatorResult] = (),
    installs: Sequence[InstallDecision] = (),
) -> Iterator[ExplanationLine]:
    """Yield why a CSV is installed: what it replaced, the InstallPlan or Install, and the Subscription, the Operator or
    the requirement that asked."""
    cluster, namespace = settled.cluster, csv.namespace
    for old in cluster.retired:
        if (old.namespace, old.name) == (namespace, csv.replaces):
            yield ExplanationLine(0, f"it replaced {old.name}")
    for plan in cluster.plans.values():
        if plan.namespace == namespace and csv.name in plan.csvs and plan.executed:
            yield ExplanationLine(0, f"InstallPlan {plan.name} ({plan.approval}) installed it")
    for reason in _reasons(csv, settled):
        yield ExplanationLine(0, f"since {reason}")
    for name, subscription in sorted(cluster.subscriptions.items()):
        if name.namespace == namespace and csv.name in (subscription.installed, subscription.current):
            yield _subscription_line(name, cluster)
    yield from brought_by(ObjectKey(OLM_GROUP, CSV_KIND, namespace, csv.name), operators, installs)


def _subscription_line(name: NamespacedName, cluster: Cluster) -> ExplanationLine:
    subscription = cluster.subscriptions[name]
    channel = f"channel {subscription.channel}" if subscription.channel else "any channel"
    catalog = f"catalog {subscription.catalog.name} in {subscription.catalog.namespace}"
    text = f"Subscription {name} follows package {subscription.package}, {channel} of {catalog}"
    return ExplanationLine(0, text, at(subscription.source))


def _reasons(csv: Csv, settled: SettledCluster) -> Iterator[str]:
    """Yield the reasons of a CSV's selection, without its Subscription."""
    for done in settled.history:
        if done.resolve_request is None or done.resolution is None or done.resolve_request.namespace != csv.namespace:
            continue
        selections = zip(done.resolution.selections, reasons(done.resolve_request), strict=False)
        for selection, reason in selections:
            if selection.candidate.name == csv.name and not reason.is_subscription:
                yield reason.text


def behind(found: Rendered, cluster: Cluster) -> tuple[NamespacedName, ...]:
    """The CSVs that an object is there for, sorted; those of a CSV itself are none."""
    key = found.identity
    if key.kind == CSV_KIND:
        original = original_of(found.object)
        return (original,) if original is not None and original in cluster.csvs else ()
    names = {*csvs_by_reference(found.object), *_installers(found.object)}
    owner = original_by_label(found.object)
    names |= {owner} if owner is not None else set()
    place = found.provenance.place
    if not names and place is not None:
        names = {name for name, csv in cluster.csvs.items() if csv.source is not None and csv.source == place.source}
    return tuple(sorted(name for name in names if name in cluster.csvs))


def _installers(obj: KubernetesObject) -> Iterator[NamespacedName]:
    for key, value in annotations_of(obj).items():
        if key.startswith(ALONGSIDE) and isinstance(value, str):
            namespace, _, name = value.partition("/")
            yield NamespacedName(namespace, name)


def _group_behind(found: Rendered, cluster: Cluster) -> NamespacedName | None:
    name = group_by_label(found.object)
    if name is None:
        return _group_of_unlabelled(found, cluster)
    return name if any(group.name == name.name for group in cluster.groups_in(name.namespace)) else None


def _group_of_unlabelled(found: Rendered, cluster: Cluster) -> NamespacedName | None:
    """The group that a ClusterRole was made for, where the OLM version puts no labels on it."""
    place = found.provenance.place
    if place is None or found.provenance.origin is not Origin.OPERATOR_GROUP:
        return None
    return next((namespaced_name(group) for group in cluster.groups.values() if group.source == place.source), None)


def _place_of_group(name: NamespacedName, cluster: Cluster) -> Location | None:
    return next((at(group.source) for group in cluster.groups_in(name.namespace) if group.name == name.name), None)


def _behind_plan(name: NamespacedName, settled: SettledCluster) -> Iterator[ExplanationLine]:
    cluster = settled.cluster
    for plan in cluster.plans.values():
        if (plan.namespace, plan.name) == name:
            if plan.is_ignored:
                yield ExplanationLine(0, "OLM ignores it and installs nothing for it: its status has no steps")
                continue
            yield ExplanationLine(0, f"it installs {', '.join(plan.csvs)} ({plan.approval}, {plan.phase})")
            for owner in plan.owners:
                key = NamespacedName(name.namespace, owner)
                if key in cluster.subscriptions:
                    yield _subscription_line(key, cluster)


def _behind_subscription(name: NamespacedName, settled: SettledCluster) -> Iterator[ExplanationLine]:
    cluster = settled.cluster
    subscription = cluster.subscriptions.get(name)
    if subscription is None:
        return
    if subscription.installed:
        yield ExplanationLine(0, f"it installed {subscription.installed}")
    held = held_upgrades(settled).get(name)
    if held is not None:
        yield from of_held_upgrade(held)
    if subscription.generated_by:
        made_by = NamespacedName(name.namespace, subscription.generated_by)
        plan = next((each for each in cluster.plans.values() if (each.namespace, each.name) == made_by), None)
        yield ExplanationLine(
            0, f"InstallPlan {subscription.generated_by} made it, for an operator that needs the package"
        )
        for owner in plan.owners if plan is not None else ():
            key = NamespacedName(name.namespace, owner)
            if key in cluster.subscriptions and key != name:
                yield from deeper([_subscription_line(key, cluster)])


def location_of(found: Rendered, cluster: Cluster) -> Location | None:
    """Return where an object stems from: for RBAC of an install strategy the permissions in the CSV, None for
    nowhere."""
    return located(place_finder(cluster)(found))


def place_data(place: Location | None) -> dict[str, Any] | None:
    """A place as data, None for nowhere."""
    return place._asdict() if place is not None else None


def place_finder(cluster: Cluster) -> Callable[[Rendered], Place | None]:
    """A function that gives the place in the provenance of an object; of RBAC that is named after an entry of a CSV's
    permissions, this entry.

    What the RBAC of a CSV is called is worked out once for all objects: it takes a hash of each of the entries.
    """
    known: dict[int, dict[str, tuple[str, int]]] = {}

    def find(found: Rendered) -> Place | None:
        key, place = found.identity, found.provenance.place
        owner = original_by_label(found.object) if key.kind in _RBAC_KINDS else None
        csv = cluster.csvs.get(owner) if owner is not None else None
        if place is None or place.keys or csv is None or csv.source != place.source:
            return place
        if id(csv) not in known:  # a CSV of the cluster, which stays
            known[id(csv)] = _entries(cluster.profile, csv)
        entry = known[id(csv)].get(key.name)
        return place if entry is None else place._replace(keys=("spec", "install", "spec", *entry))

    return find


def _entries(profile: Profile, csv: Csv) -> dict[str, tuple[str, int]]:
    """The entries of a CSV's permissions, field and index, by what RBAC is called after them; of several the first."""
    by_name: dict[str, tuple[str, int]] = {}
    for field, entries in (("permissions", csv.permissions), ("clusterPermissions", csv.cluster_permissions)):
        for index, entry in enumerate(entries):
            for name in _names(profile, csv, entry):
                by_name.setdefault(name, (field, index))
    return by_name


def _names(profile: Profile, csv: Csv, entry: StrategyPermissions) -> Iterator[str]:
    """Return the possible names of the RBAC of an entry of permissions: its role, cluster-wide or not, and the
    binding."""
    for kind, named in (("Role", role_name), ("ClusterRole", cluster_role_name)):
        role = named(profile, csv.name, csv.namespace, dict(entry.object))
        yield role
        yield binding_name(profile, f"{kind}Binding", role, csv.namespace, entry.account)
