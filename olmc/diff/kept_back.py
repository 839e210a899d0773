"""What is kept back: what an operator would bring if it was not stuck, as in a cluster that held nothing before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from olmc.diff.extensions import extensions, stopped_parts
from olmc.diff.missing_content import parts_of
from olmc.diff.operators import operators
from olmc.diff.sides import Side
from olmc.explain.left_out import SettledCompilation
from olmc.explain.resolution import channel_entries
from olmc.explain.status import HELD_BACK, OperatorStatus
from olmc.explain.status import operators as status_of_operators
from olmc.model.cluster import NamespacedName
from olmc.model.objects import KubernetesObject, ObjectKey, object_key
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.resolver.steps import content_of

if TYPE_CHECKING:
    from olmc.reconcile.loop import SettledCluster


def has_stuck(side: Side) -> bool:
    """Whether an operator does not become what is asked for."""
    of_v0 = status_of_operators(side.settled) if side.settled is not None else ()
    return any(map(_is_stuck, of_v0)) or any(each.is_stopped for each in extensions(side.objects).values())


def edited_csvs(before: SettledCompilation, after: SettledCompilation) -> tuple[ObjectKey, ...]:
    """The CSVs that the cluster keeps as they are, although what they were installed from is not the same any more.

    OLM installs nothing anew under a name that is there (R-CAT-410).
    """
    was, now = _contents(before), _contents(after)
    names = sorted(name for name in was.keys() & now.keys() if was[name] != now[name])
    return tuple(ObjectKey(OLM_GROUP, CSV_KIND, *name) for name in names)


def _contents(made: SettledCompilation) -> dict[NamespacedName, list[KubernetesObject]]:
    """The content that the catalogs have of the CSVs that Subscriptions have installed."""
    contents: dict[NamespacedName, list[KubernetesObject]] = {}
    if made.settled is None or made.workspace is None:
        return contents
    cluster = made.settled.cluster
    for name, subscription in cluster.subscriptions.items():
        entries = (entry for entry in channel_entries(cluster, subscription) if entry.name == subscription.installed)
        content = content_of(made.workspace, cluster, entry) if (entry := next(entries, None)) is not None else None
        if content is not None:
            others = [manifest.object for _, manifest in content.others]
            contents[NamespacedName(name.namespace, subscription.installed)] = [content.csv.object, *others]
    return contents


def kept_back_objects(now: Side, fresh: Side, edited: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
    """The objects of operators that are stuck in a cluster, and are not in the one that held nothing before; and of
    CSVs whose content was edited."""
    if now.settled is None or fresh.settled is None:
        return frozenset()
    stuck = set(_packages(now.settled, is_stuck=True)) & set(_packages(fresh.settled, is_stuck=False))
    names = {NamespacedName(csv.namespace, csv.name) for csv in edited}
    keys: set[ObjectKey] = set()
    for side in (now, fresh):
        of_side = {
            name: operator
            for name, operator in operators(side.objects).items()
            if name in names or NamespacedName(operator.namespace, operator.package) in stuck
        }
        keys |= set(parts_of(of_side, side.objects)) if of_side else set()
        keys |= set(_steps(side.settled, of_side))
    keys.update(stopped_parts(now.objects, fresh.objects))
    # What operators say of their upgrades to OLM is there already.
    return frozenset(key for key in keys if key.kind != "OperatorCondition")


def _steps(settled: SettledCluster | None, installed: Collection[NamespacedName]) -> Iterator[ObjectKey]:
    """The objects that InstallPlans write for CSVs."""
    for plan in settled.cluster.plans.values() if settled is not None else ():
        if any(NamespacedName(plan.namespace, csv) in installed for csv in plan.csvs):
            yield from (object_key(step.object) for step in plan.steps)


def _packages(settled: SettledCluster, *, is_stuck: bool) -> Iterator[NamespacedName]:
    for row in status_of_operators(settled):
        if _is_stuck(row) is is_stuck:
            yield NamespacedName(row.namespace, row.package)


def _is_stuck(row: OperatorStatus) -> bool:
    return row.fails or row.waits == HELD_BACK
