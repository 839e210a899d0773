"""Operators from catalogs: resolved for the whole cluster and installed by generated Installs, until all is at rest.

R-OPERATOR-8 … R-OPERATOR-13, R-INSTALL-11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.migration import Edit, in_place, left_alone
from olmc.compiler.model.catalog import Candidate, Resolution, ResolveRequest, Selection, SubscriptionRequest, named
from olmc.compiler.model.cluster import Cluster, InstallPlan, NamespacedName, Subscription, by_namespace
from olmc.compiler.model.operators import CSV_KIND, CatalogUpdates, Csv, Operator
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.facts import package_of
from olmc.compiler.olm.naming import component_label_key
from olmc.compiler.reconcile.crds import StepError
from olmc.compiler.reconcile.loop import MAX_ROUNDS, SettledCluster, settled_state
from olmc.compiler.resolver.cluster_wide import cluster_resolve_request, components
from olmc.compiler.resolver.resolve import NOT_SATISFIABLE, resolve
from olmc.compiler.resolver.steps import UndecodableCSVError, content_of
from olmc.compiler.results import InstallDecision, OperatorResult
from olmc.k8s.api.rbac import rules_allow
from olmc.k8s.api.rbac_access import access, subject_of, with_groups
from olmc.k8s.diagnostics import Diagnostic, Location
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Request,
    as_text,
    labels_of,
    mapping,
    owner_references,
)
from olmc.k8s.semver import tolerant_or_none
from olmc.k8s.yaml import at, locate
from olmc.k8s.yaml.edit import without_document
from olmc.targets.proposed import rules
from olmc.targets.proposed.operator_api import OPERATOR_API
from olmc.targets.proposed.operator_api.approval import (
    DEFAULT,
    ApprovalContext,
    approved_before,
    judged,
    resolved,
    suggested_namespace,
)
from olmc.targets.proposed.operator_api.installs import (
    apply,
    component_key,
    install_for,
    known_kinds,
    setting_of,
    with_objects,
)

# What Operators ask of the resolver, and why the resolution is what it is, with the places of their fields.

_CATALOG = ("spec", "updates", "catalogSource")
# The fields of a Subscription's spec, and those of an Operator that mean the same.
_REQUEST_FIELDS: Mapping[str, tuple[str, ...]] = {
    "name": ("package",),
    "channel": ("channel",),
    "startingCSV": ("entrypoint",),
    "source": ("ref", "name"),
    "sourceNamespace": ("ref", "namespace"),
}


def request_of(outcome: OperatorResult) -> SubscriptionRequest:
    """An Operator as the resolver sees it; for an entrypoint alone its package is "" as long as nothing is known."""
    catalog = outcome.operator.catalog
    return SubscriptionRequest(
        name=outcome.operator.name,
        package=outcome.package,
        channel=outcome.channel,
        catalog=outcome.ref,
        starting=catalog.entrypoint if catalog is not None else "",
        installed=outcome.installed,
        current=outcome.installed,
        kind="Operator",
    )


def resolve_request_of(scene: ApprovalContext, cluster: Cluster, outcomes: Iterable[OperatorResult]) -> ResolveRequest:
    """The request of all Operators that follow a package, or have yet to install their entrypoint."""
    requests = [
        request_of(outcome)
        for outcome in outcomes
        if outcome.operator.catalog is not None and outcome.package and not (outcome.fixed and outcome.installed)
    ]
    return cluster_resolve_request(scene.workspace, cluster, requests, cluster.subscriptions, scene.options)


def with_places(resolve_request: ResolveRequest, operators: Mapping[str, Operator]) -> ResolveRequest:
    """The request with the places of its Operators and of their fields, for messages."""
    requests = tuple(
        request._replace(
            location=at(operators[request.name].source, *_CATALOG), fields=tuple(_places(operators[request.name]))
        )
        for request in resolve_request.requests
    )
    return resolve_request._replace(requests=requests)


def _places(operator: Operator) -> Iterator[tuple[str, Location]]:
    spec = mapping(operator.object.get("spec"))
    given = mapping(mapping(spec.get("updates")).get("catalogSource"))
    for field, keys in _REQUEST_FIELDS.items():
        place = at(operator.source, *_CATALOG, *keys) if keys[0] in given else None
        if place is not None:
            yield field, place


def without_entrypoint(
    scene: ApprovalContext, cluster: Cluster, outcome: OperatorResult
) -> tuple[ResolveRequest, Resolution]:
    """Return the request of an Operator that names only an entrypoint, and its failure: its catalog does not have it,
    or can't be read (R-OPERATOR-8)."""
    request, operator = request_of(outcome), outcome.operator
    text = f"no operators found with name {request.starting} in catalog {request.catalog.name} in namespace "
    text += f"{request.catalog.namespace} referenced by {request.in_texts}"
    resolve_request = cluster_resolve_request(scene.workspace, cluster, [request], cluster.subscriptions, scene.options)
    asked = with_places(resolve_request, {operator.name: operator})
    if any(catalog.problem for catalog in resolve_request.catalogs if catalog.key == request.catalog):
        return asked, resolve(asked)
    return asked, Resolution(message=text, reason=NOT_SATISFIABLE)


def may_use(cluster: Cluster, catalog: CatalogKey, options: Options) -> bool:
    """Return whether the user of the options, if there is one, may install from a CatalogSource (R-OPERATOR-12)."""
    if not options.user:
        return True
    subjects = with_groups(subject_of(options.user), *options.user_groups)
    granted = access(cluster.objects, aggregated=True).rules(catalog.namespace, *subjects)
    return rules_allow(granted, Request("install", OLM_GROUP, "catalogsources", catalog.name))


_MOST_IDLE = 16
"""Rounds in a row that install something and bring no CSV: of a bundle whose CSV has another name than its entry."""


def follow(
    scene: ApprovalContext, cluster: Cluster, operators: Sequence[Operator], installed: Mapping[str, str]
) -> tuple[Cluster, tuple[OperatorResult, ...]]:
    """The cluster once nothing can be installed for Operators any more, and what became of each, by name.

    `installed` names the CSVs that Operators have from the start.
    """
    state = {each.name: _first(each, cluster, installed.get(each.name, ""), scene) for each in operators}
    # What one Operator installs may be what another one requires, so all of them are resolved again until nothing
    # changes.
    idle = 0
    for number in range(1, MAX_ROUNDS + 1):
        before, names = cluster, cluster.csvs.keys()
        resolve_request = resolve_request_of(scene, cluster, state.values())
        for part in components(resolve_request):
            cluster, state = _round(scene, cluster, state, part, resolve_request)
        # The very same value means that no round has installed anything, without comparing clusters.
        if cluster is before:
            break
        idle = idle + 1 if cluster.csvs.keys() == names else 0
        cluster = settled_state(cluster, scene.options)
        if idle == _MOST_IDLE or number == MAX_ROUNDS:
            endless = f"its upgrades don't end (after {number:,} rounds)"
            state = {name: outcome._replace(problem=outcome.problem or endless) for name, outcome in state.items()}
            break
    return cluster, tuple(state[name] for name in sorted(state))


def _first(operator: Operator, cluster: Cluster, installed: str, scene: ApprovalContext) -> OperatorResult:
    """An Operator before anything is resolved: its package and channel looked up, its installed CSV found."""
    catalog = operator.catalog
    if catalog is None:
        return OperatorResult(operator)
    outcome = OperatorResult(operator, catalog.package, catalog.channel, not catalog.package)
    if not catalog.package:
        found = entrypoint_of(cluster, catalog)
        if found is None:
            unresolved = without_entrypoint(scene, cluster, outcome)
            given = unresolved[1]
            return outcome._replace(failure=(given.reason, given.message), unresolved=unresolved)
        outcome = outcome._replace(package=found.package, channel=found.channel)
    installed = installed or _labelled(cluster, component_key(operator.name, scene.options), outcome)
    if not installed:
        return outcome
    outcome = outcome._replace(installed=installed)
    record = _record(scene, cluster, outcome)
    return outcome._replace(installs=(record,)) if record is not None else outcome


def entrypoint_of(cluster: Cluster, catalog: CatalogUpdates) -> Candidate | None:
    """The entry of a catalog that an entrypoint names: of the lowest package, in its default channel if it is there."""
    source = cluster.catalogs.get(catalog.ref)
    found = [entry for entry in (source.entries if source else ()) if entry.name == catalog.entrypoint]
    return min(found, key=lambda e: (e.package, not e.default_channel, e.channel), default=None)


def _labelled(cluster: Cluster, key: str, outcome: OperatorResult) -> str:
    """The name of the newest CSV of an Operator's own that carries its component label."""
    found = [csv for csv in cluster.csvs.values() if key in csv.labels and is_own(csv, outcome, cluster)]
    # Several are there while an upgrade is under way; the newest is what the Operator goes on from.
    found.sort(key=lambda csv: (tolerant_or_none(csv.version or "0.0.0") or _ZERO, csv.name))
    return found[-1].name if found else ""


_ZERO = tolerant_or_none("0.0.0")


def _record(scene: ApprovalContext, cluster: Cluster, outcome: OperatorResult) -> InstallDecision | None:
    """The Install that an installed CSV came by: that of the workspace, else what the catalog still has of it."""
    given = scene.records.get(outcome.installed)
    key = component_key(outcome.operator.name, scene.options)
    if given is not None and key in labels_of(given.object):
        content = resolved(given, scene.workspace, scene.options)
        if not (content.missing or content.problem):
            known = known_kinds(cluster, ())
            setting = setting_of(scene, cluster, outcome, known)
            return approved_before(given._replace(operator=outcome.operator.name), content, setting)
    source = cluster.catalogs.get(outcome.ref)
    entries = [e for e in (source.entries if source else ()) if e.name == outcome.installed]
    # A bundle may be in several channels, and its CSV does not say by which one it came.
    entries.sort(key=lambda e: (e.channel != outcome.channel, e.channel))
    home = next((name.namespace for name in sorted(cluster.csvs) if name.name == outcome.installed), "")
    csv = cluster.csvs.get(NamespacedName(home, outcome.installed))
    bundle = content_of(scene.workspace, cluster, entries[0]) if entries else None
    if csv is None or bundle is None:
        return None
    known = known_kinds(cluster, [bundle])
    try:
        made = install_for(scene, outcome, [Selection(entries[0], csv.replaces)], [bundle], home, known, cluster)
    except UndecodableCSVError:
        return None
    return approved_before(*made, setting_of(scene, cluster, outcome, known))


def _round(
    scene: ApprovalContext,
    cluster: Cluster,
    state: Mapping[str, OperatorResult],
    part: ResolveRequest,
    resolve_request: ResolveRequest,
) -> tuple[Cluster, dict[str, OperatorResult]]:
    """One component of a request: what is selected for its Operators is installed, or waits, or nothing is known."""
    after = dict(state)
    mine = [state[request.name] for request in part.requests]
    if any(outcome.problem for outcome in mine):
        return cluster, after
    found = resolve(part)
    if found.message:
        # What is not there, or is called otherwise, concerns all that the catalogs have, not the component.
        whole = part._replace(catalogs=resolve_request.catalogs)
        asked = with_places(whole, {outcome.operator.name: outcome.operator for outcome in mine})
        given = resolve(asked)
        for outcome in mine:
            failed = outcome._replace(failure=(given.reason, given.message), unresolved=(asked, given))
            after[outcome.operator.name] = failed
        return cluster, after
    # A CSV that is there already can be selected again, if it does not say of which package it is (R-CAT-310).
    there = {name.name for name in cluster.csvs}
    new = [selection for selection in found.selections if selection.candidate.name not in there]
    for name, selections in _by_operator(mine, new).items():
        outcome = after[name]._replace(failure=None, unresolved=None)
        cluster, after[name] = _installed(scene, cluster, outcome, selections, part)
    return cluster, after


def _by_operator(outcomes: Sequence[OperatorResult], selections: Iterable[Selection]) -> dict[str, list[Selection]]:
    """The selections of each Operator, its own first; dependencies without one go to the first with any."""
    own: dict[str, list[Selection]] = {}
    others = []
    for selection in selections:
        candidate = selection.candidate
        wanted = (candidate.package, candidate.channel, candidate.catalog)
        asking = [o.operator.name for o in outcomes if (o.package, o.channel, o.ref) == wanted]
        if asking:
            own.setdefault(asking[0], []).append(selection)
        else:
            others.append(selection)
    # An Install belongs to one Operator. The first one that installs anything also gets the bundles that no Operator
    # names.
    if others:
        first = next(iter(own), outcomes[0].operator.name)
        own.setdefault(first, []).extend(others)
    return own


def _installed(
    scene: ApprovalContext,
    cluster: Cluster,
    outcome: OperatorResult,
    selections: Sequence[Selection],
    resolve_request: ResolveRequest,
) -> tuple[Cluster, OperatorResult]:
    contents = [content_of(scene.workspace, cluster, selection.candidate) for selection in selections]
    for selection, content in zip(selections, contents, strict=True):
        if content is None:
            missing = selection.candidate.image or selection.candidate.name
            return cluster, outcome._replace(missing=missing, lacking=selection.candidate)
    there = [content for content in contents if content is not None]
    known = known_kinds(cluster, there)
    home = _home(cluster, outcome) or _recorded_home(scene, outcome.operator) or suggested_namespace(there[0])
    try:
        install, resolved = install_for(scene, outcome, selections, there, home, known, cluster)
    except UndecodableCSVError as error:
        return cluster, outcome._replace(problem=str(error), unreadable=error.undecodable)
    done = judged(install, resolved, setting_of(scene, cluster, outcome, known))
    done = done._replace(selections=tuple(selections), resolve_request=resolve_request)
    # An Install that waited is decided again, since what it waits for may have been approved.
    applied = tuple(each for each in outcome.installs if each.applied)
    outcome = outcome._replace(installs=(*applied, done))
    if not done.applied:
        return with_objects(cluster, done, done.made), outcome
    try:
        cluster = apply(cluster, done, scene.options)
    except StepError as error:
        return cluster, outcome._replace(problem=str(error))
    return cluster, outcome._replace(installed=selections[0].candidate.name)


def _home(cluster: Cluster, outcome: OperatorResult) -> str:
    """Return where the CSV is that an update replaces."""
    return next((name.namespace for name in sorted(cluster.csvs) if name.name == outcome.installed), "")


def _recorded_home(scene: ApprovalContext, operator: Operator) -> str:
    """Return where the Operator's Installs of the workspace put it: an update stays where its predecessor was
    installed."""
    key = component_key(operator.name, scene.options)
    records = (install for install in scene.records.values() if key in labels_of(install.object) and install.namespaces)
    return next((install.namespaces[0][1] for install in records), "")


class Association(NamedTuple):
    """Subscriptions and their Operators: `operators` are all there are now, `by_subscription` their names.

    `refused` are findings about Subscriptions that stay as they are.
    """

    operators: tuple[Operator, ...]
    by_subscription: Mapping[NamespacedName, str]
    refused: tuple[Diagnostic, ...]


def associated(cluster: Cluster, operators: Sequence[Operator]) -> Association:
    """Every Subscription with the Operator of the same package, channel and catalog; one is made if there is none."""
    followed = {_followed(cluster, operator): operator.name for operator in operators if operator.catalog is not None}
    every = list(operators)
    found: dict[NamespacedName, str] = {}
    refused = []
    for name, subscription in sorted(cluster.subscriptions.items()):
        # An Operator has no field for it, and without its settings the operator would run otherwise than before.
        if subscription.spec.get("config"):
            place = locate(subscription.source, ("spec", "config")) if subscription.source else None
            refused.append(rules.CONFIG_LOST.finding(place, namespace=name.namespace, name=name.name))
            continue
        key = (subscription.package, channel_of(cluster, subscription), subscription.catalog)
        # Two Operators of one package and channel would install the same CSV twice.
        if key not in followed:
            names = _names(cluster, subscription)
            free = next((each for each in names if each not in {operator.name for operator in every}), "")
            if not free:
                refused.append(_name_taken(subscription, names[-1]))
                continue
            followed[key] = free
            every.append(operator_for(cluster, subscription, free))
        found[name] = followed[key]
    return Association(tuple(sorted(every, key=lambda each: each.name)), found, tuple(refused))


def _followed(cluster: Cluster, operator: Operator) -> tuple[object, ...]:
    """The package, channel and catalog of an Operator; for an entrypoint alone they are looked up."""
    catalog = operator.catalog
    if catalog is None:
        return ()
    entry = None if catalog.package else entrypoint_of(cluster, catalog)
    if entry is not None:
        return (entry.package, entry.channel, catalog.ref)
    return (catalog.package, catalog.channel, catalog.ref)


def channel_of(cluster: Cluster, subscription: Subscription) -> str:
    """The channel of a Subscription; the default channel of its package if it names none."""
    channel = subscription.channel
    source = cluster.catalogs.get(subscription.catalog)
    package = source.catalog.packages.get(subscription.package) if source and source.catalog else None
    return channel or (package.default_channel if package else "")


def _names(cluster: Cluster, subscription: Subscription) -> tuple[str, ...]:
    """What the Operator in a Subscription's place may be called: the package, unless another Subscription of the
    workspace has it, else the package and the namespace, which also helps where an Operator is called like the package.
    """
    given = [each for each in cluster.subscriptions.values() if each.source is not None]
    alone = not any(each.package == subscription.package for each in given if each is not subscription)
    longer = f"{subscription.package}.{subscription.name.namespace}"
    return (subscription.package, longer) if alone else (longer,)


def _name_taken(subscription: Subscription, name: str) -> Diagnostic:
    why = f"there is another Operator {name} already, which does not follow the same package, channel and catalog"
    return left_alone(f"Subscription {subscription.name}", subscription.source, why, "spec")


def operator_for(cluster: Cluster, subscription: Subscription, name: str) -> Operator:
    """The Operator that takes a Subscription's place, by its name."""
    updates = CatalogUpdates(
        subscription.catalog,
        subscription.package,
        channel_of(cluster, subscription),
        subscription.starting_csv,
        subscription.approval == "Manual",
    )
    return Operator(operator_object(name, updates, subscription.approval), subscription.source, updates)


def operator_object(name: str, updates: CatalogUpdates, approval: str) -> KubernetesObject:
    """The Operator as its manifest has it; what is "" is left out."""
    fields = (
        ("package", updates.package),
        ("channel", updates.channel),
        ("entrypoint", updates.entrypoint),
        ("approval", approval),
    )
    catalog = {key: value for key, value in fields if value}
    ref = {"name": updates.ref.name, "namespace": updates.ref.namespace}
    spec = {"updates": {"type": "CatalogSource", "catalogSource": {**catalog, "ref": ref}}}
    return {"apiVersion": OPERATOR_API, "kind": "Operator", "metadata": {"name": name}, "spec": spec}


def without(cluster: Cluster, subscriptions: Mapping[NamespacedName, str]) -> Cluster:
    """The cluster without those Subscriptions, and without the InstallPlans that belonged to them alone."""
    left = {name: s for name, s in cluster.subscriptions.items() if name not in subscriptions}
    plans = {
        name: plan
        for name, plan in cluster.plans.items()
        if not (owners := _owners(plan))
        or any(NamespacedName(plan.namespace, owner) not in subscriptions for owner in owners)
    }
    removed = frozenset(keys_of(cluster, subscriptions))
    adopted = {name: keys - removed for name, keys in cluster.adopted.items()}
    return cluster._replace(subscriptions=by_namespace(left), plans=by_namespace(plans), adopted=adopted)


def _owners(plan: InstallPlan) -> Collection[str]:
    """The Subscriptions that an InstallPlan belongs to; one of a state has them as its owners."""
    given = owner_references(plan.given) if plan.given is not None else ()
    return plan.owners or [as_text(ref.get("name")) for ref in given if ref.get("kind") == "Subscription"]


def keys_of(cluster: Cluster, subscriptions: Iterable[NamespacedName]) -> Iterator[str]:
    """The component keys of these Subscriptions of a cluster."""
    for name in subscriptions:
        yield component_label_key(cluster.subscriptions[name].package, name.namespace)


# Moving a workspace to the Operator API: Subscriptions become Operators that lose nothing (R-OPERATOR-13).

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
    """Return the migration of each Subscription of a settled workspace, and the Operators that it has."""
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
            home = _migration_record(workspace, settled.cluster, subscription, operator, options)
            objects = (*(() if operator in written else (new[operator],)), *home)
            approvals = _approvals(settled.cluster, subscription, operator)
            moves.append(OperatorMove(subscription, operator, objects, approvals))
    return MigrationPlan(tuple(moves), tuple(refused))


def _hindrance(subscription: Subscription, sharing: Sequence[Subscription]) -> str:
    """Return why a Subscription can't become an Operator, "" if it may; `sharing` are all that would become the same
    one."""
    if len(sharing) > 1:
        others = ", ".join(str(each.name) for each in sharing if each is not subscription)
        return f"{others} asks for the same package, and an Operator installs it in one namespace only"
    if subscription.failure:
        return (
            f"it can't be resolved ({subscription.failure[1]}), so that there is nothing to compare the Operator with"
        )
    return ""


def _migration_record(
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
    return ({"apiVersion": OPERATOR_API, "kind": "Install", "metadata": metadata, "spec": spec},)


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


SETTING = "enableV2alpha1"
"""The key of olmc.yaml that switches Operators and Installs on."""


def settings_for(spec: Mapping[str, Any], approved: Sequence[str]) -> dict[str, Any]:
    """What olmc.yaml has to say, given what it says, for Operators to be compiled and these Installs to be approved."""
    new: dict[str, Any] = {} if spec.get(SETTING) is True else {SETTING: True}
    given = list(spec.get("approvedInstalls") or ())
    more = [entry for entry in approved if entry not in given]
    return {**new, "approvedInstalls": [*given, *more]} if more else new


def is_own(csv: Csv, outcome: OperatorResult, cluster: Cluster) -> bool:
    """Return whether a CSV is of the package that an Operator follows, or of the image that it installs.

    An Operator that follows nothing, or of which nothing is known, has no package: every component is its own then.
    """
    if csv.name == outcome.installed:
        return True
    if outcome.operator.image:
        brought = {step.name for install in outcome.installs for step in install.content.steps if step.kind == CSV_KIND}
        return csv.name in brought or not brought
    return not outcome.package or outcome.package in _packages(csv, cluster)


def _packages(csv: Csv, cluster: Cluster) -> frozenset[str]:
    """The packages that catalogs have a CSV in; else the one that it names itself."""
    served = {entry.package for source in cluster.catalogs.values() for entry in named(source.entries, csv.name)}
    return frozenset(served or {package_of(csv.object)})
