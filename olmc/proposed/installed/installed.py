"""Installed resources: which operators watch a namespace (R-INST-1 … R-INST-9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, CsvState, NamespacedName, Subscription, namespaced_name
from olmc.model.objects import KubernetesObject, ObjectKey, Rendered, annotations_of, as_text, labels_of
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import Workspace
from olmc.proposed.installed.csv_origins import NO_ORIGIN, CsvOrigin, origins, subscription_of
from olmc.proposed.installed.resources import INSTALLED, Listed
from olmc.reconcile.loop import SettledCluster

if TYPE_CHECKING:
    from olmc.proposed.v2alpha1.approval import OperatorResult

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
        """Whether it is configured to watch a namespace."""
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
    if member.group is None or member.csv.counts_as_copy or not member.group.targets:
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
    return re.sub("[^0-9A-Za-z]+$", "", name[:_LABEL_LENGTH]) if len(name) > _LABEL_LENGTH else name
