"""What packages.operators.coreos.com shows of a settled cluster, and what `olmc get` answers and prints of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.diagnostics.rules import proposed as rules
from olmc.lean import NamedTuple
from olmc.load.config import options_from, read_config
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import POSSIBLE, Diagnostic, Report, close_matches
from olmc.model.objects import Rendered
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.output.text import as_columns
from olmc.output.unicode import json_text
from olmc.proposed.installed.installed import (
    Installations,
    aggregate,
    all_installed,
    hidden_in,
    installations,
    installed_in,
)
from olmc.proposed.installed.olm_resources import stored, stored_in
from olmc.proposed.installed.package_manifests import PackageOffer, first_called, offers, offers_in, with_icons
from olmc.proposed.installed.resources import GROUP, INSTALLED, Listed, PrintedColumn, Resource, as_list
from olmc.reconcile.diagnose import waiting
from olmc.reconcile.loop import SettledCluster
from olmc.yaml import dump_one

if TYPE_CHECKING:
    from olmc.proposed.v2alpha1.approval import OperatorResult


class InstalledView(NamedTuple):
    """The operators that are installed, the packages on offer, and the findings about those that are not.

    `stored` are the objects of OLM's own kinds.
    """

    installations: Installations
    offers: tuple[PackageOffer, ...]
    not_offered: tuple[Diagnostic, ...]
    global_namespace: str
    stored: Mapping[str, tuple[Listed, ...]] = MappingProxyType({})


def viewing(root: Path, base: Options, given: frozenset[str] = frozenset()) -> Options:
    """The options to compile the workspace at `root` with for a view: its own, except for what limits the output.

    `given` are the fields that the command line has set, so that the workspace may not.
    """
    mine = base._replace(purpose="review", copied_csvs=True, include=(), exclude=())
    given |= {"purpose", "copied_csvs", "include", "exclude"}
    return options_from(read_config(root, Report()), mine, given | ({"approve"} if base.approve else set()))


def view_of(
    settled: SettledCluster,
    objects: Sequence[Rendered],
    workspace: Workspace | None,
    options: Options,
    *,
    operators: Sequence[OperatorResult] = (),
    icons: bool = False,
) -> InstalledView:
    """The view of a compilation with the options of `viewing`.

    `operators` is what became of the Operators of v2alpha1; `icons`: whether PackageManifests have theirs.
    """
    report = Report()
    found = offers(settled.cluster, report)
    shown = tuple(with_icons(offer) for offer in found) if icons else found
    installed = installations(settled, objects, workspace, operators)
    return InstalledView(installed, shown, tuple(report), options.global_catalog_namespace, stored(objects))


def items_in(view: InstalledView, resource: Resource, namespace: str | None) -> tuple[Listed, ...]:
    """The objects of a resource in a namespace, or in all of them (None), by namespace and name."""
    if resource is INSTALLED:
        return all_installed(view.installations) if namespace is None else installed_in(view.installations, namespace)
    if resource.group != GROUP:
        return stored_in(view.stored, resource, namespace)
    return tuple(offer.listed for offer in offers_in(view.offers, namespace, view.global_namespace))


def item_called(view: InstalledView, resource: Resource, name: NamespacedName) -> Listed | None:
    """The object of a resource with this namespace and name, None when there is none."""
    if resource is INSTALLED:
        return next((each for each in installed_in(view.installations, name.namespace) if each.name == name.name), None)
    if resource.group != GROUP:
        return next((each for each in stored_in(view.stored, resource, name.namespace) if each.name == name.name), None)
    offer = first_called(offers_in(view.offers, name.namespace, view.global_namespace), name.name)
    return offer.listed if offer is not None else None


def list_version(view: InstalledView, resource: Resource) -> str:
    """The resourceVersion of a list: aggregated for Installed (R-INST-9), none for PackageManifests."""
    return aggregate(view.installations.versions) if resource is INSTALLED else ""


_SHOWN = 5
"""How many names a hint lists."""
_ALIKE = 0.4
"""How like a name is for it to be listed before all others: the list is short, and better than one in any order."""


class ObjectQuery(NamedTuple):
    """What is asked for: `namespace` is None for all of them, `name` "" for the whole list."""

    resource: Resource
    namespace: str | None
    name: str = ""


class QueryResult(NamedTuple):
    """The objects, and the findings about them."""

    items: tuple[Listed, ...]
    findings: tuple[Diagnostic, ...]


def answer(view: InstalledView, asked: ObjectQuery) -> QueryResult:
    """The objects of a namespace, or the one with the name that is asked for."""
    if asked.name and asked.namespace is not None:
        item = item_called(view, asked.resource, NamespacedName(asked.namespace, asked.name))
        items: tuple[Listed, ...] = (item,) if item is not None else ()
    else:
        items = items_in(view, asked.resource, asked.namespace)
    return QueryResult(items, tuple(_findings(view, asked, items)))


def _findings(view: InstalledView, asked: ObjectQuery, items: tuple[Listed, ...]) -> Iterator[Diagnostic]:
    known = view.installations.namespaces
    if asked.resource.namespaced and asked.namespace is not None and asked.namespace not in known:
        near = close_matches(asked.namespace, known, _SHOWN, POSSIBLE) or list(known[:_SHOWN])
        yield rules.NO_NAMESPACE.finding(None, namespace=asked.namespace, names=", ".join(near))
    if asked.resource is INSTALLED:
        for namespace in known if asked.namespace is None else (asked.namespace,):
            for hidden in hidden_in(view.installations, namespace):
                yield rules.HIDDEN.finding(None, **hidden._asdict())
    elif asked.resource.group == GROUP:
        yield from view.not_offered
    if asked.name and not items:
        hint = _elsewhere(view, asked)
        yield rules.NOT_FOUND.finding(
            None, resource=asked.resource.qualified, name=asked.name, namespace=asked.namespace, hint=hint
        )


def _elsewhere(view: InstalledView, asked: ObjectQuery) -> str:
    """Where the name that is not found is to be found, or what else there is."""
    everywhere = items_in(view, asked.resource, None)
    homes = [each.namespace for each in everywhere if each.name == asked.name]
    if homes:
        return f"It is in {_some(homes)}."
    here = [each.name for each in items_in(view, asked.resource, asked.namespace)]
    near = close_matches(asked.name, here, _SHOWN, _ALIKE) or here
    return f"In namespace {asked.namespace} there is {_some(near) if near else 'nothing'}."


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def waiting_plans(cluster: Cluster, asked: ObjectQuery) -> Iterator[Diagnostic]:
    """The InstallPlans that wait for approval and bring what would watch the namespace, or any if all are asked for."""
    namespace = asked.namespace
    for plan in cluster.plans.values():
        watched = {target for group in cluster.groups_in(plan.namespace) for target in group.targets}
        is_near = namespace is None or not watched.isdisjoint({"", namespace}) or plan.namespace == namespace
        if plan.phase == "RequiresApproval" and plan.condition is None and is_near:
            yield waiting(plan)


def elsewhere(view: InstalledView, asked: ObjectQuery) -> str:
    """For an empty list: in which namespaces there is something, "" if that is nowhere or all were asked for."""
    if asked.namespace is None or asked.name:
        return ""
    namespaces = dict.fromkeys(each.namespace for each in items_in(view, asked.resource, None))
    return _some(list(namespaces)) if namespaces else ""


EMPTY = "No resources found.\n"


def as_text(asked: ObjectQuery, found: QueryResult, version: str, output: str) -> str:
    """The answer in the format `output`: table, wide, yaml, json or name; `version` is that of the list."""
    if output == "name":
        return "".join(f"{asked.resource.singular}.{asked.resource.qualified.partition('.')[2]}/{each.name}\n"
                       for each in found.items)  # fmt: skip
    if output in ("table", "wide"):
        return _table(asked, found, wide=output == "wide")
    objects = [each.object for each in found.items]
    if asked.name and objects:
        shown = objects[0]
    elif asked.name:
        return ""
    else:
        shown = as_list(asked.resource, objects, version)
    return dump_one(shown) if output == "yaml" else json_text(shown) + "\n"


def _table(asked: ObjectQuery, found: QueryResult, *, wide: bool) -> str:
    """The table of the document (R-INST-7); for all namespaces with theirs in front, as kubectl has it."""
    if not found.items:
        return "" if asked.name else EMPTY
    shown = [index for index, column in enumerate(asked.resource.columns) if wide or not column.priority]
    header = [_title(asked.resource.columns[index]) for index in shown]
    rows = [[each.cells[index] for index in shown] for each in found.items]
    if asked.namespace is None and asked.resource.namespaced:
        header = ["NAMESPACE", *header]
        rows = [[each.namespace, *row] for each, row in zip(found.items, rows, strict=True)]
    return as_columns(header, rows)


def _title(column: PrintedColumn) -> str:
    return column.name.upper()
