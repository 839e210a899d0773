"""The objects that packages.operators.coreos.com serves for a settled cluster, and the output of `olmc get`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.config import options_from, read_config
from olmc.compiler.model.cluster import Cluster, CsvState, NamespacedName, Subscription, namespaced_name
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.facts import is_copy_by_metadata
from olmc.compiler.output.document import as_columns
from olmc.compiler.output.messages import json_text
from olmc.compiler.reconcile.diagnose import waiting
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, Report, close_matches
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, KubernetesObject, ObjectKey, Rendered, annotations_of, as_text, labels_of
from olmc.k8s.yaml import dump_one
from olmc.targets.proposed import rules
from olmc.targets.proposed.installed.resources import (
    GROUP,
    INSTALLED,
    NO_ORIGIN,
    CsvOrigin,
    Listed,
    PackageOffer,
    PrintedColumn,
    Resource,
    as_list,
    first_called,
    offers,
    offers_in,
    origins,
    stored,
    stored_in,
    subscription_of,
    with_icons,
)

if TYPE_CHECKING:
    from olmc.compiler.results import OperatorResult

# Installed resources: which operators watch a namespace (R-INST-1 … R-INST-9).

NONE = "<none>"
TRACKED = ("clusterserviceversions", "subscriptions")
"""The lists that Installed is made of, in the order of an aggregate resourceVersion (R-INST-9)."""

_NO_MEMBERS = frozenset({"TooManyOperatorGroups", "NoOperatorGroup", "UnsupportedOperatorGroup"})
_LEAVING = frozenset({"Replacing", "Deleting"})
_SENSITIVE = frozenset({"olm.targetNamespaces", "kubectl.kubernetes.io/last-applied-configuration"})
_PROJECTED = ("olm.api.", "operatorframework.io/")
_KINDS = {"ClusterServiceVersion": "clusterserviceversions", "Subscription": "subscriptions"}
_LABEL_LENGTH = 63

Versions = Mapping[str, int]
"""The version of each tracked list."""


class InstalledOperator(NamedTuple):
    """An operator that watches namespaces: `targets` are their names, ("",) for all.

    `csv` and `subscription` are the objects as Installed shows them, `cells` those of its row.
    """

    home: str
    name: str
    targets: tuple[str, ...]
    csv: KubernetesObject
    subscription: KubernetesObject | None
    cells: tuple[str, ...]

    def watches(self, namespace: str) -> bool:
        """Return whether it is configured to watch a namespace."""
        return self.targets == ("",) or namespace in self.targets


class Installations(NamedTuple):
    """All operators of a cluster by namespace and name, the namespaces that exist, the versions of the lists."""

    operators: tuple[InstalledOperator, ...]
    namespaces: tuple[str, ...]
    versions: Versions


class Hidden(NamedTuple):
    """An operator that a namespace does not show, since another one of the same name does (R-INST-3)."""

    namespace: str
    name: str
    home: str


def installations(
    settled: SettledCluster,
    objects: Sequence[Rendered],
    workspace: Workspace | None,
    operators: Sequence[OperatorResult] = (),
) -> Installations:
    """The operators of a settled cluster that are configured to watch a namespace (R-INST-2).

    `objects` is everything rendered for review, `workspace` what was read (None for a bundle by itself), `operators`
    what became of the Operators of v2alpha1.
    """
    cluster = settled.cluster
    finals = {each.identity: each.object for each in objects}
    known = origins(settled, operators)
    found = [
        _installation(member, cluster, finals, known)
        for _, member in sorted(cluster.members.items())
        if _is_shown(member)
    ]
    namespaces = tuple(sorted(cluster.namespaces))
    return Installations(tuple(found), namespaces, _versions(workspace))


def _is_shown(member: CsvState) -> bool:
    if member.group is None or is_copy_by_metadata(member.csv.object) or not member.group.targets:
        return False
    return member.reason not in _NO_MEMBERS and member.phase not in _LEAVING


def _installation(
    member: CsvState,
    cluster: Cluster,
    finals: Mapping[ObjectKey, KubernetesObject],
    known: Mapping[NamespacedName, CsvOrigin],
) -> InstalledOperator:
    csv = member.csv
    subscription = subscription_of(csv, cluster)
    tracked = None
    if subscription is not None:
        identity = ObjectKey(OLM_GROUP, "Subscription", csv.namespace, subscription.name.name)
        tracked = _without_managed_fields(finals.get(identity, subscription.object))
    final = finals.get(ObjectKey(OLM_GROUP, "ClusterServiceVersion", csv.namespace, csv.name), csv.object)
    targets = member.group.targets if member.group is not None else ()
    cells = _cells(member, subscription, known.get(namespaced_name(csv), NO_ORIGIN))
    return InstalledOperator(csv.namespace, csv.name, targets, _sanitised(final), tracked, cells)


def _cells(member: CsvState, subscription: Subscription | None, origin: CsvOrigin) -> tuple[str, ...]:
    """The cells of INSTALLED.columns (R-INST-7)."""
    csv = member.csv
    by = subscription.name.name if subscription is not None else NONE
    target = origin.target or csv.version
    channel, catalog = origin.channel or NONE, origin.catalog or NONE
    return (csv.name, csv.namespace, channel, csv.version, target, member.phase, member.reason, by, catalog)


def _sanitised(csv: KubernetesObject) -> KubernetesObject:
    """A CSV as Installed shows it: without annotations that tell too much, and without managedFields (R-INST-6)."""
    metadata = csv["metadata"]
    annotations = {k: v for k, v in annotations_of(csv).items() if k not in _SENSITIVE}
    shown = {**metadata, "annotations": annotations} if annotations else _without(metadata, "annotations")
    return _without_managed_fields({**csv, "metadata": shown})


def _without_managed_fields(obj: KubernetesObject) -> KubernetesObject:
    return {**obj, "metadata": _without(obj["metadata"], "managedFields")}


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def _versions(workspace: Workspace | None) -> dict[str, int]:
    """The highest numeric resourceVersion among the input's objects of each tracked list (R-INST-9)."""
    found = dict.fromkeys(TRACKED, 0)
    for manifest in workspace.manifests if workspace is not None else ():
        tracked = _KINDS.get(manifest.object["kind"])
        version = as_text(manifest.object["metadata"].get("resourceVersion"))
        of_olm = manifest.object["apiVersion"].startswith(f"{OLM_GROUP}/")
        if tracked and of_olm and re.fullmatch("[0-9]{1,19}", version):
            found[tracked] = max(found[tracked], int(version))
    return found


def aggregate(versions: Versions) -> str:
    """The resourceVersion of an InstalledList: `clusterserviceversions:<rv>,subscriptions:<rv>` (R-INST-9)."""
    return ",".join(f"{name}:{versions[name]}" for name in TRACKED)


def installed_in(found: Installations, namespace: str) -> tuple[Listed, ...]:
    """The Installed objects of a namespace, by name (R-INST-2, R-INST-3).

    As the proposed API server does, it answers for any namespace, whether or not it exists.
    """
    return tuple(listed(each, namespace) for _, each in sorted(winners_in(found, namespace).items()))


def hidden_in(found: Installations, namespace: str) -> tuple[Hidden, ...]:
    """The operators that lose their place in a namespace to one of the same name (R-INST-3)."""
    winners = winners_in(found, namespace)
    losers = (o for o in found.operators if o.watches(namespace) and winners[o.name] is not o)
    return tuple(Hidden(namespace, each.name, each.home) for each in losers)


def winners_in(found: Installations, namespace: str) -> dict[str, InstalledOperator]:
    """Of operators of one name, the one installed in the namespace itself, else that of the lowest namespace."""
    winners: dict[str, InstalledOperator] = {}
    for each in found.operators:
        if each.watches(namespace) and (each.name not in winners or each.home == namespace):
            winners[each.name] = each
    return winners


def all_installed(found: Installations) -> tuple[Listed, ...]:
    """The Installed objects of all namespaces that exist, by namespace and name."""
    return tuple(one for namespace in found.namespaces for one in installed_in(found, namespace))


def listed(each: InstalledOperator, namespace: str) -> Listed:
    """R-INST-1, R-INST-4 … R-INST-6."""
    status: dict[str, Any] = {"subscription": each.subscription} if each.subscription is not None else {}
    status["clusterServiceVersion"] = each.csv
    metadata = {"name": each.name, "namespace": namespace, "labels": _labels(each)}
    obj = {"apiVersion": INSTALLED.api_version, "kind": INSTALLED.kind, "metadata": metadata, "status": status}
    return Listed(obj, each.cells)


def _labels(each: InstalledOperator) -> dict[str, str]:
    labels = {"operators.coreos.com/csv": _label_value(each.name)}
    if each.subscription is not None:
        labels["operators.coreos.com/sub"] = _label_value(each.subscription["metadata"]["name"])
    own = labels_of(each.csv)
    labels |= {key: value for key, value in own.items() if key.startswith(_PROJECTED)}
    return dict(sorted(labels.items()))


def _label_value(name: str) -> str:
    """A name as the value of a label: at most 63 characters, the last one a letter or a digit (R-INST-5)."""
    if len(name) <= _LABEL_LENGTH:
        return name
    match = re.match("(?s:.*)[0-9A-Za-z]", name[:_LABEL_LENGTH])
    return match[0] if match else ""


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
"""The number of names in a hint."""
_ALIKE = 0.4
"""The similarity from which a name is listed before all others: a short list is better than one in any order."""


class ObjectQuery(NamedTuple):
    """A query: `namespace` is None for all of them, `name` "" for the whole list."""

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
    """Return where the name that is not found is to be found, or what else there is."""
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
            yield waiting(plan, cluster)


def elsewhere(view: InstalledView, asked: ObjectQuery) -> str:
    """For an empty list: in which namespaces there is something, "" if that is nowhere or all were asked for."""
    if asked.namespace is None or asked.name:
        return ""
    namespaces = dict.fromkeys(each.namespace for each in items_in(view, asked.resource, None))
    return _some(list(namespaces)) if namespaces else ""


EMPTY = "No resources found.\n"


def view_as_text(asked: ObjectQuery, found: QueryResult, version: str, output: str) -> str:
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
