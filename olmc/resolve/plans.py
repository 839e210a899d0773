"""One round of the catalog operator in one namespace: resolve, and make the InstallPlan (R-CAT-500 … R-CAT-616)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from olmc.golang import random_suffix
from olmc.load.catalogs.properties import properties_text
from olmc.model.cluster import CatalogSource, Cluster, InstallPlan, Lookup, Name, Step, Subscription
from olmc.model.objects import CatalogKey, KubernetesObject
from olmc.model.operators import Csv
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.model.resolution import Answer, Candidate, Pick, Present, Question, VisibleCatalog, Wish
from olmc.model.workspace import Workspace
from olmc.profiles.ownership import CSV_API
from olmc.resolve.constraints import REQUIREMENTS
from olmc.resolve.contents import content_of
from olmc.resolve.present import UnreadablePropertiesError, csv_properties
from olmc.resolve.resolve import answer
from olmc.resolve.steps import Content, Undecodable, UndecodableCSVError, bundle_steps, csv_object, partitioned
from olmc.resolve.unpacking import unreadable_duration
from olmc.resolve.view import EXISTING
from olmc.resolve.visibility import visible_catalogs

MANUAL, AUTOMATIC = "Manual", "Automatic"


class Round(NamedTuple):
    """What a round changes: the namespace's Subscriptions, and the InstallPlan that it makes (None: nothing to do).

    `question` and `answer` are kept for explanations; `missing` names bundles whose content is not in the workspace,
    `unreadable` those whose CSV OLM can't decode.
    """

    subscriptions: Mapping[Name, Subscription]
    plan: InstallPlan | None = None
    question: Question | None = None
    answer: Answer | None = None
    missing: tuple[Candidate, ...] = ()
    unreadable: tuple[Undecodable, ...] = ()


def resolve_namespace(workspace: Workspace, cluster: Cluster, namespace: str, options: Options) -> Round:
    """Resolve one namespace in the cluster's present state and make the next InstallPlan."""
    mine = {
        name: refreshed(s, cluster) for name, s in sorted(cluster.subscriptions.items()) if name.namespace == namespace
    }
    groups = cluster.groups_in(namespace)
    if not mine or len(groups) != 1 or any(unreadable_duration(groups[0])):
        return Round(mine)  # R-CAT-501: which no Subscription tells
    if all(s.plan and s.state == "UpgradePending" for s in mine.values()):
        return Round(mine)
    visible = visible_catalogs(cluster, namespace, options)
    question, found = answered(question_of(cluster, namespace, mine, visible, options), workspace, [namespace])
    if found.message:
        failure = (found.reason, found.message)
        return Round({n: s._replace(failure=failure) for n, s in mine.items()}, question=question, answer=found)
    mine = {name: s.resolved for name, s in mine.items()}
    return planned(workspace, cluster, namespace, mine, found.picks, options)._replace(question=question, answer=found)


def answered(question: Question, workspace: Workspace, namespaces: Iterable[str]) -> tuple[Question, Answer]:
    """The answer, obeying what `olmc.lock` says about these namespaces, and the question that it answers."""
    lock = workspace.lock.namespaces if workspace.lock is not None else {}
    locked = [operator for namespace in namespaces for operator in lock.get(namespace, ())]
    if locked:
        from olmc.resolve.locking import restrictions  # few workspaces have a lock

        for restricted in restrictions(question, locked):
            found = answer(restricted)
            if not found.message:
                return restricted, found
    return question, answer(question)


def refreshed(subscription: Subscription, cluster: Cluster) -> Subscription:
    """The status of a Subscription before resolving (R-CAT-505)."""
    s = subscription
    if not s.plan and s.generated_by:
        s = s._replace(plan=s.generated_by, state="UpgradePending", current=str(s.spec.get("startingCSV") or ""))
    if not s.current:
        return s
    if Name(s.name.namespace, s.current) in cluster.csvs:
        return s._replace(state="AtLatestKnown", installed=s.current)
    plan = next((p for p in cluster.kept_plans(s.name.namespace) if p.name == s.plan), None)
    if s.plan and plan is None:
        return s._replace(plan="", current="", state="")  # R-CAT-652: the plan that was pending is gone
    failed = plan is not None and plan.phase == "Failed" and _fails_forward(cluster, s.name.namespace)
    return s._replace(state="UpgradeFailed" if failed else "UpgradePending")


def _fails_forward(cluster: Cluster, namespace: str) -> bool:
    groups = cluster.groups_in(namespace)
    return cluster.profile.resolver_failforward and len(groups) == 1 and groups[0].fails_forward


def question_of(
    cluster: Cluster,
    namespace: str,
    mine: Mapping[Name, Subscription],
    visible: Sequence[CatalogSource],
    options: Options,
) -> Question:
    """The question that a namespace's Subscriptions ask of the catalogs that it sees."""
    catalogs = [VisibleCatalog(s.key, s.priority, s.entries, s.problem) for s in visible]
    present = []
    for csv in cluster.csvs_in(namespace):
        try:
            present.append(present_of(csv, cluster, mine))
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(EXISTING, namespace), problem=str(error)))
    wishes = tuple(wish_of(s) for s in mine.values())
    unheeded = REQUIREMENTS.difference(cluster.profile.resolver_constraints)
    fail_forward = _fails_forward(cluster, namespace)
    return Question(
        namespace, tuple(catalogs), wishes, tuple(present), fail_forward,
        unheeded=unheeded, legacy_precedence=options.legacy_precedence,
    )  # fmt: skip


def wish_of(s: Subscription) -> Wish:
    """A Subscription as the resolver sees it."""
    return Wish(
        name=s.name.name,
        package=s.package,
        channel=str(s.spec.get("channel") or ""),
        catalog=s.catalog,
        starting=str(s.spec.get("startingCSV") or ""),
        installed=s.installed,
        current=s.current,
    )


def present_of(csv: Csv, cluster: Cluster, mine: Mapping[Name, Subscription]) -> Present:
    """A CSV as the resolver sees it; `mine` may have it installed. Raises UnreadablePropertiesError."""
    packages = {s.package for s in mine.values() if s.installed == csv.name}
    member = cluster.members.get(Name(csv.namespace, csv.name))
    return Present(
        name=csv.name,
        version=str(csv.spec.get("version") or ""),
        properties=csv_properties(csv, packages),
        replaces=csv.replaces,
        phase=member.phase if member else "",
    )


def planned(
    workspace: Workspace, cluster: Cluster, namespace: str, mine: Mapping[Name, Subscription], picks: Sequence[Pick],
    options: Options,
) -> Round:  # fmt: skip
    """R-CAT-580 … R-CAT-585, R-CAT-600 … R-CAT-603."""
    there = [p.generation for p in cluster.plans if p.namespace == namespace and p not in cluster.approved]
    generation = 1 + max([s.generation for s in mine.values()] + there, default=0)
    updated = dict(mine)
    wanted: list[Pick] = []
    generated: dict[str, Step] = {}
    for pick in picks:
        matching = [key for key, s in mine.items() if _follows(s, pick, options)]
        exists = Name(namespace, pick.candidate.name) in cluster.csvs
        if matching and exists and all(mine[key].current == pick.candidate.name for key in matching):
            continue
        wanted.append(pick)
        for key in matching:
            if mine[key].current != pick.candidate.name:
                updated[key] = mine[key]._replace(current=pick.candidate.name)
        if not matching:
            generated[pick.candidate.name] = _generated_subscription(pick.candidate, namespace)
    changed = [key for key in mine if updated[key] is not mine[key]]
    if not changed or not wanted:
        return Round(mine)
    reused = next((p for p in cluster.approved if (p.namespace, p.generation) == (namespace, generation)), None)
    suffix = random_suffix(f"{CSV_API}|InstallPlan|{namespace}|install-|{generation}")
    name = reused.name if reused else f"install-{suffix}"
    contents = {pick.candidate.name: content_of(workspace, cluster, pick.candidate) for pick in wanted}
    missing = tuple(pick.candidate for pick in wanted if contents[pick.candidate.name] is None)
    try:
        steps, lookups = _steps(wanted, contents, generated, namespace, cluster.profile)
    except UndecodableCSVError as error:
        fatal = ("ErrorPreventedUnpacking", error.found.text) if error.found.fatal else None
        return Round(_waiting(mine, cluster, fatal), unreadable=(error.found,))
    if missing:
        return Round(_waiting(mine, cluster, ("BundleUnpackFailed", _not_available(missing[0]))), missing=missing)
    manual = any(s.spec.get("installPlanApproval") == MANUAL for s in mine.values())
    plan = InstallPlan(
        namespace=namespace,
        name=name,
        generation=generation,
        approval=MANUAL if manual else AUTOMATIC,
        approved=not manual or _is_approved(namespace, wanted, options, cluster),
        csvs=tuple(step.name for step in steps if step.kind == "ClusterServiceVersion"),
        steps=steps,
        lookups=lookups,
        owners=tuple(n.name for n in mine),
        phase="RequiresApproval" if manual else "Installing",
        given=reused.given if reused else None,
        resumed=reused is not None,
    )
    # OLM takes the condition back from the Subscriptions that the plan does not concern. The others keep it until the
    # next resolution that succeeds, and some namespaces never see another one.
    unpacking = bool(lookups)
    for key in changed:
        updated[key] = updated[key]._replace(
            plan=name,
            generation=generation,
            state="UpgradePending",
            unpacking=unpacking,
            told=cluster.subscriptions[key].told if unpacking else updated[key].told,
        )
    return Round(updated, plan)


def _waiting(
    mine: Mapping[Name, Subscription], cluster: Cluster, failure: tuple[str, str] | None
) -> dict[Name, Subscription]:
    """All Subscriptions of a namespace in which a bundle can't be unpacked (R-CAT-654)."""
    before = cluster.subscriptions
    return {
        name: s._replace(unpacking=True, unpack_failure=failure, told=before[name].told) for name, s in mine.items()
    }


def _not_available(candidate: Candidate) -> str:
    """What stands in the place of the unpack job's failure if a bundle is not in the workspace (R-CAT-164, D26)."""
    return f"bundle content for {candidate.name} ({candidate.image}) is not available offline"


def _is_approved(namespace: str, wanted: Sequence[Pick], options: Options, cluster: Cluster) -> bool:
    """R-CAT-607: by an option, or by an InstallPlan in the workspace."""
    names = {f"{namespace}/{pick.candidate.name}" for pick in wanted}
    given = {f"{plan.namespace}/{csv}" for plan in cluster.approved for csv in plan.csvs}
    return "all" in options.approve or not names.isdisjoint({*options.approve, *given})


def _follows(s: Subscription, pick: Pick, options: Options) -> bool:
    """Whether a pick is for a Subscription: of its catalog, or, with the documents' precedence, an upgrade of what it
    has installed (D17)."""
    candidate = pick.candidate
    channel = s.spec.get("channel") or candidate.channel
    from_elsewhere = options.legacy_precedence and bool(s.installed) and pick.replaces == s.installed
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
    wanted: Sequence[Pick], contents: Mapping[str, Content | None], generated: Mapping[str, Step], namespace: str,
    profile: Profile,
) -> tuple[tuple[Step, ...], tuple[Lookup, ...]]:
    """R-CAT-611 … R-CAT-616: inline bundles partitioned, then the unpacked ones behind the Subscriptions."""
    ordered: list[Step] = []
    unpacked: list[Step] = []
    lookups: list[Lookup] = []
    for pick in wanted:
        content, candidate = contents[pick.candidate.name], pick.candidate
        if content is None:
            continue
        properties = properties_text(content.served if content.inline else candidate.properties)
        csv = csv_object(content, namespace, pick.replaces, properties, profile)
        steps = bundle_steps(content, csv, candidate.catalog, profile)
        if content.inline:
            ordered += steps
        else:
            unpacked += steps
            lookups.append(Lookup(candidate.image, candidate.name, pick.replaces, candidate.catalog, properties))
        if candidate.name in generated:
            ordered.append(generated[candidate.name])
    return (*partitioned(ordered), *unpacked), tuple(lookups)
