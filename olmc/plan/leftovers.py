"""What OLM leaves behind for good, with the commands that clean it up, and what it gets round to late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.diff.compare import Difference
from olmc.diff.extensions import owner_of
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster
from olmc.model.objects import (
    CRD_KIND,
    RBAC,
    KubernetesObject,
    ObjectKey,
    crd_key,
    labels_of,
    mapping,
    object_key,
    owner_references,
    status_of,
    texts,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP, Csv, OperatorGroup
from olmc.model.state import ClusterState
from olmc.olm.naming import COPIED_FROM, component_label_key
from olmc.plan.applied import AppliedChange
from olmc.plan.outcomes import OperatorOutcome
from olmc.plan.tasks import Task

RESYNC = "OLM's next resync, which comes every 15 minutes"
"""When OLM looks at everything again, if no other interval is configured (U-15)."""
_AUTH_READER = "-auth-reader"


class Leftovers(NamedTuple):
    """What leftovers are looked for in: the state before, the objects and the cluster after, and what became of
    operators."""

    state: ClusterState
    after: Mapping[ObjectKey, KubernetesObject]
    cluster: Cluster
    operators: Sequence[OperatorOutcome]


def leftovers_of(
    state: ClusterState, difference: Difference, cluster: Cluster, operators: Sequence[OperatorOutcome]
) -> Iterator[Task]:
    """What stays though nothing needs it any more, and was needed before."""
    context = Leftovers(state, {object_key(obj): obj for obj in difference.new.objects}, cluster, operators)
    yield from _crds(context)
    yield from _of_bundles(context)
    yield from _auth_readers(context)
    yield from _of_groups(context)


def _crds(context: Leftovers) -> Iterator[Task]:
    """The CRDs that operators owned before and nobody owns now (observed-60)."""
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
    """What bundles of removed operators brought along outside of namespaces (observed-60)."""
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
    """The RoleBindings in kube-system of Services that are gone; nothing says whose they are (observed-60)."""
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
        text = "What served webhooks and APIs is gone, but for its right to read a ConfigMap of kube-system."
        yield _cleaned(f"{text} Nobody ever deletes that.", left)


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
                and labels_of(context.after[key]).get(COPIED_FROM) == name.namespace
                and labels_of(context.after[key]).get("olm.owner") == name.name
            ]  # fmt: skip
            text = f"{name} may still do by itself what its Roles in former target namespaces allow; OLM leaves these."
        else:
            own = {key.name for key in rbac if key.namespace == name.namespace}
            left = [
                key for key in rbac
                if not key.namespace and key.name in own
                and labels_of(context.after[key]).get("olm.owner") == name.name
            ]  # fmt: skip
            text = f"{name} still has its permissions in the whole cluster: OLM leaves what it made for a global group."
        if left:
            yield _cleaned(text, left)


def _cleaned(text: str, keys: Iterable[ObjectKey]) -> Task:
    """A task with the command that deletes objects, a namespace after the other."""
    from shlex import quote  # few plans leave anything behind

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
    """What OLM does only when it looks at everything again, though nothing stands in the way of it."""
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
        key.kind == CSV_KIND and mapping(labels_of(m.object)).get(COPIED_FROM) == group.namespace
        for key, m in state.objects.items()
    )
