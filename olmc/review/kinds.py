"""The names that kinds go by on a command line: kind, plural, singular and short names, in any case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.scopes import SERVED_GROUPS
from olmc.model.alike import POSSIBLE, closest
from olmc.model.objects import KubernetesObject, as_text, identity
from olmc.model.operators import OLM_GROUP
from olmc.settle.builtin import builtin_kinds, is_cluster_scoped, plural_of

_SHORT = {
    "CatalogSource": "catsrc",
    "CertificateSigningRequest": "csr",
    "ClusterServiceVersion": "csv csvs",
    "ConfigMap": "cm",
    "CronJob": "cj",
    "CustomResourceDefinition": "crd crds",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "Endpoints": "ep",
    "Event": "ev",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing",
    "InstallPlan": "ip",
    "LimitRange": "limits",
    "Namespace": "ns",
    "NetworkPolicy": "netpol",
    "Node": "no",
    "OperatorCondition": "condition",
    "OperatorGroup": "og",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "Pod": "po",
    "PodDisruptionBudget": "pdb",
    "PriorityClass": "pc",
    "ReplicaSet": "rs",
    "ReplicationController": "rc",
    "ResourceQuota": "quota",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
    "StorageClass": "sc",
    "Subscription": "sub subs",
}
# No CRD has a say in the kinds of Kubernetes itself.
_SERVED_GROUPS = SERVED_GROUPS - {OLM_GROUP}


class KnownKind(NamedTuple):
    """A kind: its group, name and plural (what RBAC calls the resource), whether it has namespaces, other names."""

    group: str
    kind: str
    plural: str
    namespaced: bool
    aliases: tuple[str, ...] = ()

    def is_called(self, name: str) -> bool:
        """Whether the kind goes by a name; `plural.group` and `kind.group` are names, too."""
        wanted = name.lower()
        own = {self.kind.lower(), self.plural, *self.aliases}
        base, _, group = wanted.partition(".")
        return wanted in own or (base in own and group == self.group)


def known_kinds(objects: Iterable[KubernetesObject]) -> tuple[KnownKind, ...]:
    """The built-in kinds, those of CRDs among the objects, and whatever other kinds the objects have; sorted."""
    objects = tuple(objects)
    found = {(each.group, each.kind): each for each in _builtin()}
    for one in objects:
        if one.get("kind") == "CustomResourceDefinition":
            custom = _custom(one.get("spec"))
            if custom is not None and custom.group not in _SERVED_GROUPS:
                found[custom.group, custom.kind] = custom
    for one in objects:
        group, kind, namespace, _ = identity(one)
        found.setdefault((group, kind), KnownKind(group, kind, plural_of(kind), bool(namespace)))
    return tuple(sorted(found.values()))


def _builtin() -> Iterator[KnownKind]:
    for group, kind in builtin_kinds():
        aliases = tuple(_SHORT.get(kind, "").split())
        yield KnownKind(group, kind, plural_of(kind), not is_cluster_scoped(kind), aliases)


def _custom(spec: Any) -> KnownKind | None:
    """The kind that a CRD defines, None for a CRD without one."""
    names = spec.get("names") if isinstance(spec, Mapping) else None
    if not isinstance(names, Mapping) or not names.get("kind"):
        return None
    kind = str(names["kind"])
    listed = names.get("shortNames")
    short = [str(each).lower() for each in listed] if isinstance(listed, list) else []
    singular = str(names.get("singular") or kind).lower()
    plural = str(names.get("plural") or plural_of(kind))
    return KnownKind(as_text(spec.get("group")), kind, plural, spec.get("scope") != "Cluster", (singular, *short))


def called(name: str, kinds: Iterable[KnownKind]) -> tuple[KnownKind, ...]:
    """The kinds that go by a name."""
    return tuple(each for each in kinds if each.is_called(name))


def closest_kind(name: str, kinds: Iterable[KnownKind]) -> str:
    """What somebody probably meant, as it is written in manifests; "" when nothing comes close."""
    names = {alias: each.kind for each in kinds for alias in (each.kind.lower(), each.plural)}
    return names.get(closest(name, names, POSSIBLE), "")
