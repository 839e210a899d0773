"""Operators that OLM v0 has on the old side and OLM v1 on the new one: one change says so, and what each generation of
OLM keeps its books by is none (R-V1-MIG-1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from olmc.diff import permission_kinds
from olmc.diff.change import DiffChange
from olmc.diff.extensions import DiffExtension, asked, extensions
from olmc.diff.matching import Pair
from olmc.diff.operators import CSV, DiffOperator, heads
from olmc.diff.permission_kinds import EVERYWHERE
from olmc.diff.webhooks import WEBHOOK_KINDS
from olmc.kube.rbac import RuleIndex
from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    ACCOUNT,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    spec_of,
    text,
)
from olmc.model.operators import OLM_GROUP
from olmc.olm.naming import COMPONENT_PREFIX

INSTALLER = "installer's right"
_ACCOUNT, _OF_OLM = "installer", "object of OLM v0"
_MANAGED = "olm.managed"
_BOOKS = (
    _MANAGED, "olm.owner", "olm.webhook-", "olm.opgroup.permissions/", COMPONENT_PREFIX,
    "rbac.authorization.k8s.io/aggregate-to-",
)  # fmt: skip
"""What labels begin with by which OLM v0 knows its own, and by which roles are gathered: who has them is compared."""
_INJECTED = ("cert-manager.io/inject-ca-from", "service.beta.openshift.io/")
"""What annotations begin with by which somebody else fills in certificates."""

Installing = Mapping[ObjectKey, tuple[tuple[str, PolicyRule], ...]]
"""By account what an installation with it takes: rules, each with its namespace, "" for the whole cluster."""


class Moved(NamedTuple):
    """The operators that move, by the name of the ClusterExtension that has each then; `installing` is what their
    installers need."""

    operators: Mapping[str, DiffOperator]
    extensions: Mapping[str, DiffExtension]
    installing: Installing

    @property
    def packages(self) -> frozenset[NamespacedName]:
        return frozenset(NamespacedName(each.namespace, each.package) for each in self.operators.values())

    @property
    def installers(self) -> frozenset[ObjectKey]:
        """The ServiceAccounts that install them."""
        of = ((self.operators[name].namespace, asked(each.object)) for name, each in self.extensions.items())
        return frozenset(ObjectKey("", ACCOUNT, namespace, asks["serviceAccount"]) for namespace, asks in of)


def moved_operators(
    before: Mapping[NamespacedName, DiffOperator], after: Mapping[NamespacedName, DiffOperator],
    old: Iterable[KubernetesObject], new: Iterable[KubernetesObject], installing: Installing,
) -> Moved:  # fmt: skip
    """The operators of `before` that are not in `after`, and that a new ClusterExtension installs into the same
    namespace."""
    come = extensions(new)
    if not come:
        return Moved({}, {}, {})
    known, was, now = extensions(old), heads(before), heads(after)
    operators: dict[str, DiffOperator] = {}
    for name, extension in sorted(come.items()):
        package = NamespacedName(text(spec_of(extension.object).get("namespace")), extension.package)
        if name not in known and package in was and package not in now:
            operators[name] = was[package]
    return Moved(operators, {name: come[name] for name in operators}, installing)


def without_moved(operators: Mapping[NamespacedName, DiffOperator], moved: Moved) -> dict[NamespacedName, DiffOperator]:
    """The operators without those that move."""
    gone = moved.packages
    return {name: each for name, each in operators.items() if NamespacedName(each.namespace, each.package) not in gone}


def is_told(pair: Pair, moved: Moved) -> str:
    """What an object is that comes or goes with a move and that needs no line of its own, "" for any other."""
    known, obj = pair.identity, pair.old or pair.new or {}
    if not moved.operators:
        return ""
    namespaces = {operator.namespace for operator in moved.operators.values()}
    if pair.new is None and known.group == OLM_GROUP and known.namespace in namespaces:
        if known.kind == "Subscription":
            package = NamespacedName(known.namespace, text(spec_of(obj).get("name")))
            return _OF_OLM if package in moved.packages else ""
        return _OF_OLM if known.kind in (CSV, "OperatorGroup", "OperatorCondition") else ""
    if pair.old is None and known in moved.installers:
        return _ACCOUNT
    return ""


def without_installing(changes: Iterable[DiffChange], moved: Moved) -> Iterator[tuple[DiffChange, bool]]:
    """The changes of permissions, each with whether it is no more than what the installation of a moved operator takes
    (R-V1-SA-1)."""
    installers = moved.installers
    # Of an installer that gains thousands of rules what it needs is sorted once.
    index_of = cache(lambda account, scope: RuleIndex.of(_needed(moved.installing[account], scope)))
    for change in changes:
        rights = moved.installing.get(change.identity, ()) if change.identity in installers else ()
        if change.kind is not permission_kinds.permission_gained or not rights:
            yield change, False
            continue
        index = index_of(change.identity, change.values["scope"])
        yield change, not index.subtract_from(change.values["rule"])


def _needed(rights: Iterable[tuple[str, PolicyRule]], scope: str) -> Iterator[PolicyRule]:
    """The rules that count in a scope: those there, and those of the whole cluster."""
    return (rule for namespace, rule in rights if (namespace or EVERYWHERE) in (scope, EVERYWHERE))


def without_books(pair: Pair) -> Pair:
    """The pair, of an object that OLM v0 had and does not have any more without the labels by which it knew that, and
    without the certificates that somebody else fills in now."""
    if pair.old is None or pair.new is None or _MANAGED not in labels_of(pair.old) or _MANAGED in labels_of(pair.new):
        return pair
    old, new = (_without_marks(obj) for obj in (pair.old, pair.new))
    if pair.identity.kind not in WEBHOOK_KINDS:
        return pair._replace(old=old, new=new)
    return pair._replace(old=_without_certificates(old), new=_without_certificates(new))


def _without_marks(obj: KubernetesObject) -> KubernetesObject:
    labels = {key: value for key, value in labels_of(obj).items() if not key.startswith(_BOOKS)}
    annotations = {key: value for key, value in annotations_of(obj).items() if not key.startswith(_INJECTED)}
    return {**obj, "metadata": {**metadata_of(obj), "labels": labels or None, "annotations": annotations or None}}


def _without_certificates(configuration: KubernetesObject) -> KubernetesObject:
    webhooks = [
        {**hook, "clientConfig": {k: v for k, v in mapping(hook.get("clientConfig")).items() if k != "caBundle"}}
        for hook in mappings(configuration.get("webhooks"))
    ]
    return {**configuration, "webhooks": webhooks}
