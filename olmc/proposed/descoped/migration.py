"""Moving a workspace to descoped operators: the changes that need no decision (R-DESCOPE-10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.diagnostics.rules import proposed as rules
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Diagnostic, Source
from olmc.model.operators import OperatorGroup
from olmc.proposed.descoped.install_topology import InstalledCsv, installs, supports
from olmc.proposed.migration import Edit, Migration, carried_out
from olmc.yaml import at
from olmc.yaml.edit import EditError, value_of, with_block, without_document
from olmc.yaml.emitter import one_line


class _DescopePlan(NamedTuple):
    """One instance to keep, with the namespaces it is to watch (None: all), and those to remove."""

    keep: InstalledCsv
    targets: tuple[str, ...] | None
    remove: tuple[InstalledCsv, ...]


def migrate_to_descoped(cluster: Cluster) -> Migration:
    """The changes that descope the operators of a settled cluster, as far as that can be done without deciding."""
    edits: list[Edit] = []
    remarks: list[Diagnostic] = []
    for package, found in _scoped_packages(cluster).items():
        plan = _plan(found)
        why = _blocked(cluster, plan) if plan is not None else _why_not(found)
        if plan is not None and not why:
            more = [*edits, *_edits(cluster, plan)]
            try:
                carried_out(more)
                edits = more
                continue
            except EditError as error:
                why = str(error)
        remarks.append(_operator_left_alone(package, found[0], why))
    return Migration(carried_out(edits), tuple(remarks))


def descopable(cluster: Cluster) -> frozenset[str]:
    """The packages of a settled cluster that can be descoped without deciding anything."""
    plans = {package: _plan(found) for package, found in _scoped_packages(cluster).items()}
    return frozenset(name for name, plan in plans.items() if plan is not None and not _blocked(cluster, plan))


def _scoped_packages(cluster: Cluster) -> dict[str, list[InstalledCsv]]:
    """The instances of each package that is still scoped."""
    by_package: dict[str, list[InstalledCsv]] = {}
    for each in installs(cluster):
        if each.warnings:
            by_package.setdefault(each.subscription.package, []).append(each)
    return by_package


def _plan(found: Sequence[InstalledCsv]) -> _DescopePlan | None:
    keep, *others = found
    if keep.situation == "different-versions":
        return None
    if supports(keep.member, "AllNamespaces"):
        return _DescopePlan(keep, None, tuple(others))
    if others and keep.supports_multi:
        targets = sorted({name for each in found if each.member.group for name in each.member.group.targets})
        return _DescopePlan(keep, tuple(targets), tuple(others))
    return None


def _why_not(found: Sequence[InstalledCsv]) -> str:
    if found[0].situation == "different-versions":
        return "it is installed in different versions, of which somebody has to choose one"
    if len(found) > 1:
        return "it is installed several times, and no single instance could watch all its namespaces"
    return "it supports neither all namespaces nor anything that would descope it; wait for an update, or replace it"


def _blocked(cluster: Cluster, plan: _DescopePlan) -> str:
    """Why the instance to keep can't take over, or its group can't get other targets; "" if both can be."""
    fields = sorted({field for each in plan.remove for field in _differing(plan.keep, each)})
    if fields:
        return f"its Subscriptions differ in {', '.join(fields)}, and somebody has to choose"
    group = plan.keep.member.group
    if group is None or group.source is None:
        return "no OperatorGroup of the workspace belongs to it"
    wanted = "AllNamespaces" if plan.targets is None else "MultiNamespace"
    for name, member in sorted(cluster.members.items()):
        if name.namespace == group.namespace and not supports(member, wanted):
            return f"{member.csv.name} shares its OperatorGroup and does not support {wanted}"
    return ""


def _differing(keep: InstalledCsv, gone: InstalledCsv) -> Iterator[str]:
    """The fields in which two Subscriptions differ, without the one that only chose where to begin."""
    one, other = keep.subscription.spec, gone.subscription.spec
    yield from (field for field in {*one, *other} - {"startingCSV"} if one.get(field) != other.get(field))


def _operator_left_alone(package: str, first: InstalledCsv, why: str) -> Diagnostic:
    return rules.LEFT_ALONE.finding(at(first.subscription.source, "spec"), what=f"operator {package}", why=why)


def _edits(cluster: Cluster, plan: _DescopePlan) -> Iterator[Edit]:
    group = plan.keep.member.group
    if group is not None and group.source is not None:
        targets = plan.targets
        yield Edit(group.source, lambda source: _retargeted(source, targets))
    for each in plan.remove:
        if each.subscription.source is not None:
            yield Edit(each.subscription.source, without_document)
        idle = each.member.group
        if idle is not None and idle.source is not None and _is_idle(cluster, idle, each):
            yield Edit(idle.source, without_document)


def _is_idle(cluster: Cluster, group: OperatorGroup, gone: InstalledCsv) -> bool:
    """Whether a group has nothing left to do once an operator is gone."""
    csvs = [csv for csv in cluster.csvs_in(group.namespace) if csv.name != gone.member.csv.name]
    others = [
        name
        for name, s in cluster.subscriptions.items()
        if name.namespace == group.namespace and name != gone.subscription.name and s.installed != gone.member.csv.name
    ]
    return not csvs and not others


def _retargeted(source: Source, targets: Sequence[str] | None) -> str:
    """The file with the group's document targeting other namespaces, or all."""
    spec = value_of(source)["spec"]
    given = [key for key in ("targetNamespaces", "selector") if key in spec]
    lines = [] if targets is None else ["targetNamespaces:", *(f"- {one_line(name)}" for name in targets)]
    meaning = {} if targets is None else {"targetNamespaces": list(targets)}
    if not lines and len(given) == len(spec):
        return with_block(source, ("spec",), ["spec: {}"], {"spec": {}}).text
    for key in given[1:]:
        source = with_block(source, ("spec", key), [], {})
    return with_block(source, ("spec", given[0]), lines, meaning).text
