"""Where an object comes from: the place in the input, and the CSV, plan, Subscription or requirement behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.explain.blockers import deeper
from olmc.golang import binding_name, cluster_role_name, role_name
from olmc.model.cluster import Cluster, Name, key_of
from olmc.model.location import Location, Place
from olmc.model.objects import (
    KubernetesObject,
    Origin,
    Rendered,
    annotations_of,
    labels_of,
    metadata_of,
    owner_references,
)
from olmc.model.operators import CSV_KIND, Csv, StrategyPermissions
from olmc.model.profile import Profile
from olmc.profiles.ownership import ALONGSIDE, COPIED_FROM
from olmc.resolve.explain import Line, reasons
from olmc.settle.rest import Settled
from olmc.yaml import at, locate

_RBAC_KINDS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


def because(found: Rendered, settled: Settled) -> Iterator[Line]:
    """What is behind an object that is there, step by step up to what a person wrote; nothing for what a file holds."""
    cluster = settled.cluster
    group = _group_behind(found, cluster)
    if group is not None:
        yield Line(0, f"because of OperatorGroup {group}", _place_of_group(group, cluster))
    for name in behind(found, cluster):
        member = cluster.members.get(name)
        phase = f", which is {member.phase} ({member.reason})" if member is not None and member.phase else ""
        yield Line(0, f"because of {CSV_KIND} {name}{phase}", at(cluster.csvs[name].source))
        yield from deeper(asked_for(cluster.csvs[name], settled))
    if found.identity.kind == "InstallPlan":
        yield from _behind_plan(Name(found.identity.namespace, found.identity.name), settled)
    if found.identity.kind == "Subscription":
        yield from _behind_subscription(Name(found.identity.namespace, found.identity.name), settled)


def asked_for(csv: Csv, settled: Settled) -> Iterator[Line]:
    """Why a CSV is installed: what it replaced, the InstallPlan, and the Subscription or requirement that asked."""
    cluster, namespace = settled.cluster, csv.namespace
    for old in cluster.retired:
        if (old.namespace, old.name) == (namespace, csv.replaces):
            yield Line(0, f"it replaced {old.name}")
    for plan in cluster.plans:
        if plan.namespace == namespace and csv.name in plan.csvs and plan.executed:
            yield Line(0, f"InstallPlan {plan.name} ({plan.approval}) installed it")
    for reason in _reasons(csv, settled):
        yield Line(0, f"since {reason}")
    for name, subscription in sorted(cluster.subscriptions.items()):
        if name.namespace == namespace and csv.name in (subscription.installed, subscription.current):
            yield _subscription_line(name, cluster)


def _subscription_line(name: Name, cluster: Cluster) -> Line:
    subscription = cluster.subscriptions[name]
    channel = f"channel {subscription.channel}" if subscription.channel else "any channel"
    catalog = f"catalog {subscription.catalog.name} in {subscription.catalog.namespace}"
    text = f"Subscription {name} follows package {subscription.package}, {channel} of {catalog}"
    return Line(0, text, at(subscription.source))


def _reasons(csv: Csv, settled: Settled) -> Iterator[str]:
    """What called for a CSV when it was picked, without the Subscription that everybody sees."""
    for done in settled.history:
        if done.question is None or done.answer is None or done.question.namespace != csv.namespace:
            continue
        picks = zip(done.answer.picks, reasons(done.question), strict=False)
        for pick, reason in picks:
            if pick.candidate.name == csv.name and not reason.is_subscription:
                yield reason.text


def behind(found: Rendered, cluster: Cluster) -> tuple[Name, ...]:
    """The CSVs that an object is there for, sorted; those of a CSV itself are none."""
    key = found.identity
    if key.kind == CSV_KIND:
        home = labels_of(found.object).get(COPIED_FROM)
        return (Name(str(home), key.name),) if Name(str(home), key.name) in cluster.csvs else ()
    names = {*_owners(key.namespace, found.object), *_installers(found.object)}
    place = found.provenance.place
    if not names and place is not None:
        names = {name for name, csv in cluster.csvs.items() if csv.source is not None and csv.source == place.source}
    return tuple(sorted(name for name in names if name in cluster.csvs))


def _owners(namespace: str, obj: KubernetesObject) -> Iterator[Name]:
    for reference in owner_references(obj):
        if reference.get("kind") == CSV_KIND:
            yield Name(namespace, str(reference.get("name")))
    labels = labels_of(obj)
    if "olm.owner" in labels and labels.get("olm.owner.kind", CSV_KIND) == CSV_KIND:  # the documents have no kind
        home = labels.get(COPIED_FROM) or labels.get("olm.owner.namespace")
        yield Name(str(home), str(labels.get("olm.owner")))


def _installers(obj: KubernetesObject) -> Iterator[Name]:
    for key, value in annotations_of(obj).items():
        if key.startswith(ALONGSIDE) and isinstance(value, str):
            namespace, _, name = value.partition("/")
            yield Name(namespace, name)


def _group_behind(found: Rendered, cluster: Cluster) -> Name | None:
    labels = labels_of(found.object)
    if labels.get("olm.owner.kind") != "OperatorGroup":
        return _group_of_unlabelled(found, cluster)
    name = Name(str(labels.get("olm.owner.namespace")), str(labels.get("olm.owner")))
    return name if any(group.name == name.name for group in cluster.groups_in(name.namespace)) else None


def _group_of_unlabelled(found: Rendered, cluster: Cluster) -> Name | None:
    """The group that a ClusterRole was made for, where the OLM version puts no labels on it."""
    place = found.provenance.place
    if place is None or found.provenance.origin is not Origin.OPERATOR_GROUP:
        return None
    return next((key_of(group) for group in cluster.groups if group.source == place.source), None)


def _place_of_group(name: Name, cluster: Cluster) -> Location | None:
    return next((at(group.source) for group in cluster.groups_in(name.namespace) if group.name == name.name), None)


def _behind_plan(name: Name, settled: Settled) -> Iterator[Line]:
    cluster = settled.cluster
    for plan in cluster.plans:
        if (plan.namespace, plan.name) == name:
            yield Line(0, f"it installs {', '.join(plan.csvs)} ({plan.approval}, {plan.phase})")
            for owner in plan.owners:
                key = Name(name.namespace, owner)
                if key in cluster.subscriptions:
                    yield _subscription_line(key, cluster)


def _behind_subscription(name: Name, settled: Settled) -> Iterator[Line]:
    cluster = settled.cluster
    subscription = cluster.subscriptions.get(name)
    if subscription is None:
        return
    if subscription.installed:
        yield Line(0, f"it installed {subscription.installed}")
    if subscription.generated_by:
        made_by = Name(name.namespace, subscription.generated_by)
        plan = next((each for each in cluster.plans if (each.namespace, each.name) == made_by), None)
        yield Line(0, f"InstallPlan {subscription.generated_by} made it, for an operator that needs the package")
        for owner in plan.owners if plan is not None else ():
            key = Name(name.namespace, owner)
            if key in cluster.subscriptions and key != name:
                yield from deeper([_subscription_line(key, cluster)])


def location_of(found: Rendered, cluster: Cluster) -> Location | None:
    """Where an object stems from: for RBAC of an install strategy the permissions in the CSV, None for nowhere."""
    return located(place_of_object(found, cluster))


def place_data(place: Location | None) -> dict[str, Any] | None:
    """A place as data, None for nowhere."""
    return place._asdict() if place is not None else None


def located(place: Place | None) -> Location | None:
    """The line and column of a place, None for nowhere."""
    return locate(place.source, place.keys) if place is not None else None


def place_of_object(found: Rendered, cluster: Cluster) -> Place | None:
    """The place in the provenance; for RBAC that is named after an entry of a CSV's permissions, this entry."""
    key, place = found.identity, found.provenance.place
    csv = _owner(found.object, cluster) if key.kind in _RBAC_KINDS else None
    if place is None or place.keys or csv is None or csv.source != place.source:
        return place
    for field, entries in (("permissions", csv.permissions), ("clusterPermissions", csv.cluster_permissions)):
        for index, entry in enumerate(entries):
            if key.name in _names(cluster.profile, csv, entry):
                return place._replace(keys=("spec", "install", "spec", field, index))
    return place


def _names(profile: Profile, csv: Csv, entry: StrategyPermissions) -> Iterator[str]:
    """What the RBAC of an entry of permissions can be called: its role, cluster-wide or not, and the binding."""
    for kind, named in (("Role", role_name), ("ClusterRole", cluster_role_name)):
        role = named(profile, csv.name, csv.namespace, dict(entry.object))
        yield role
        yield binding_name(profile, f"{kind}Binding", role, csv.namespace, entry.account)


def is_owned(obj: Mapping[str, Any]) -> bool:
    """Whether an object's owner labels name a CSV."""
    labels = metadata_of(obj).get("labels")
    return isinstance(labels, Mapping) and "olm.owner" in labels and labels.get("olm.owner.kind", CSV_KIND) == CSV_KIND


def _owner(obj: Mapping[str, Any], cluster: Cluster) -> Csv | None:
    """The CSV that an object's owner labels name; a copy in a target namespace says where it was copied from."""
    if not is_owned(obj):
        return None
    labels = obj["metadata"]["labels"]
    namespace = labels.get(COPIED_FROM) or labels.get("olm.owner.namespace")
    return cluster.csvs.get(Name(str(namespace), str(labels.get("olm.owner"))))
