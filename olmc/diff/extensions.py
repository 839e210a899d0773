"""What changed in ClusterExtensions: what they ask for and have installed, whether they get on, and what the check of
OLM v1 says of their CRDs.

All of it is in the objects, so that renderings are compared like workspaces.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from olmc.diff import extension_kinds as kinds
from olmc.diff.change import BREAKING, DiffChange
from olmc.diff.matching import Pair
from olmc.diff.operators import DiffOperator
from olmc.lean import NamedTuple
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    as_text,
    labels_of,
    mapping,
    mappings,
    name_of,
    object_key,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.model.workspace import EXTENSIONS_V1
from olmc.semver import tolerant_or_none

if TYPE_CHECKING:
    from olmc.diff.sides import Side

EXTENSION = "ClusterExtension"
_OWNER = "olm.operatorframework.io/owner-"
_GETS_ON = ("", "Succeeded", "RollingOut", "Absent")
_TOLD = ("version", "channels", "selector")


class DiffExtension(NamedTuple):
    """A ClusterExtension with what it has installed: bundle and version, "" for nothing; `reason` and `message` are
    those of its condition Progressing."""

    object: KubernetesObject
    package: str
    bundle: str
    version: str
    reason: str
    message: str

    @property
    def is_stopped(self) -> bool:
        """Whether it gets no further."""
        return self.reason not in _GETS_ON


def extensions(objects: Iterable[KubernetesObject]) -> dict[str, DiffExtension]:
    """The ClusterExtensions among objects, by name."""
    return {name_of(obj): _extension(obj) for obj in objects if is_extension(obj)}


def is_extension(obj: KubernetesObject) -> bool:
    """Whether an object is a ClusterExtension."""
    return obj.get("kind") == EXTENSION and obj.get("apiVersion") == EXTENSIONS_V1


def _extension(obj: KubernetesObject) -> DiffExtension:
    status = status_of(obj)
    installed = mapping(mapping(status.get("install")).get("bundle"))
    conditions = mappings(status.get("conditions"))
    progressing = next((each for each in conditions if each.get("type") == "Progressing"), {})
    return DiffExtension(
        obj, text(_catalog(obj).get("packageName")), text(installed.get("name")), as_text(installed.get("version")),
        text(progressing.get("reason")), text(progressing.get("message")),
    )  # fmt: skip


def _catalog(obj: KubernetesObject) -> Mapping[str, object]:
    return mapping(mapping(spec_of(obj).get("source")).get("catalog"))


def owner_of(obj: KubernetesObject) -> str:
    """The ClusterExtension that an object is labelled with, "" for none (R-V1-HELM-2)."""
    labels = labels_of(obj)
    return text(labels.get(f"{_OWNER}name")) if labels.get(f"{_OWNER}kind") == EXTENSION else ""


def apis_by_owner(objects: Iterable[KubernetesObject]) -> Mapping[str, frozenset[str]]:
    """By ClusterExtension the CRDs that it has."""
    crds: dict[str, set[str]] = defaultdict(set)
    for obj in objects:
        if obj.get("kind") == CRD_KIND and owner_of(obj):
            crds[owner_of(obj)].add(name_of(obj))
    return {name: frozenset(some) for name, some in crds.items()}


def extension_changes(
    pair: Pair, crds: Iterable[str] = (), moved_from: DiffOperator | None = None
) -> Iterator[DiffChange]:
    """What changed in a ClusterExtension that both sides have, or one of them; `crds` are those that it had,
    `moved_from` is the operator of OLM v0 in whose place it comes."""
    old, new = (_extension(obj) if obj is not None else None for obj in (pair.old, pair.new))
    if new is None:
        if old is not None:
            yield kinds.extension_removed(pair.identity, old.package, old.version or old.bundle, tuple(sorted(crds)))
        return
    if old is None:
        fields = _TOLD if moved_from is None else _TOLD[:2]
        asks = ", ".join(f"{field} {value}" for field, value in asked(new.object).items() if value and field in fields)
        now = new.package, new.version or new.bundle, asks
        if moved_from is None:
            yield kinds.extension_added(pair.identity, *now)
        else:
            yield kinds.extension_moved(pair.identity, *now, moved_from.version, moved_from.namespace)
    else:
        before, after = asked(old.object), asked(new.object)
        yield from (
            kinds.extension_changed(pair.identity, field, before[field], after[field])
            for field in before
            if before[field] != after[field]
        )
        if old.bundle and new.bundle and (old.bundle, old.version) != (new.bundle, new.version):
            yield upgrade(pair.identity, old, new)
    yield from _progress(pair.identity, old, new)


def bundle_upgrade(old: Side, new: Side) -> Iterator[DiffChange]:
    """The upgrade from one bundle by itself to another one, as a ClusterExtension called like the package has it."""
    was, now = old.bundle, new.bundle
    if was is None or now is None or was.name == now.name or not any(map(owner_of, new.objects)):
        return
    sides = [
        DiffExtension({}, each.package, each.name, as_text(spec_of(each.csv.object).get("version")), "", "")
        for each in (was, now)
    ]
    yield upgrade(ObjectKey(EXTENSIONS_V1.partition("/")[0], EXTENSION, "", now.package), *sides)


def upgrade(known: ObjectKey, old: DiffExtension, new: DiffExtension) -> DiffChange:
    """That another bundle is installed."""
    before, after = tolerant_or_none(old.version), tolerant_or_none(new.version)
    downgrade = before is not None and after is not None and after.compare(before) < 0
    return kinds.extension_upgraded(known, new.package, old.bundle, new.bundle, old.version, new.version, downgrade)


def _progress(known: ObjectKey, old: DiffExtension | None, new: DiffExtension) -> Iterator[DiffChange]:
    if new.is_stopped and (old is None or old.message != new.message):
        yield kinds.extension_stopped(known, new.reason, new.message, new.bundle)
    elif old is not None and old.is_stopped and not new.is_stopped and new.reason:
        yield kinds.extension_recovered(known, new.reason)


def asked(obj: KubernetesObject) -> dict[str, str]:
    """What a ClusterExtension asks for, by field; "" for what it leaves open."""
    catalog, spec = _catalog(obj), spec_of(obj)
    selector = catalog.get("selector")
    preflight = mapping(mapping(spec.get("install")).get("preflight"))
    enforcement = text(mapping(preflight.get("crdUpgradeSafety")).get("enforcement"))
    return {
        "package": text(catalog.get("packageName")),
        "version": as_text(catalog.get("version")) if catalog.get("version") is not None else "",
        "channels": ", ".join(texts(catalog.get("channels"))),
        "selector": json.dumps(selector, sort_keys=True, ensure_ascii=False, default=str) if selector else "",
        "upgradeConstraintPolicy": text(catalog.get("upgradeConstraintPolicy")) or "CatalogProvided",
        "serviceAccount": text(mapping(spec.get("serviceAccount")).get("name")),
        "crdUpgradeSafety": enforcement or "Strict",
    }


def spec_of_others(obj: KubernetesObject) -> dict[str, object]:
    """What a ClusterExtension says besides what `asked` has."""
    left = ("source", "serviceAccount", "install")
    return {key: value for key, value in spec_of(obj).items() if key not in left}


def checked_crd(pair: Pair, changes: Iterable[DiffChange], new: Mapping[str, DiffExtension]) -> Iterator[DiffChange]:
    """What the check of OLM v1 says of a CRD of a ClusterExtension, where that is stricter than what `changes` say of
    it, or not as strict; `new` are the ClusterExtensions of the new side."""
    if pair.old is None or pair.new is None or not owner_of(pair.new):
        return
    from olmc.olmv1.crd_upgrade import crd_errors  # few comparisons are of OLM v1

    problems = tuple(crd_errors(pair.old, pair.new))
    extension = new.get(owner_of(pair.new))
    enforced = extension is None or asked(extension.object)["crdUpgradeSafety"] != "None"
    if problems or any(change.severity is BREAKING for change in changes):
        yield kinds.crd_upgrade_checked(pair.identity, problems, enforced)


def stopped_parts(now: Iterable[KubernetesObject], fresh: Iterable[KubernetesObject]) -> Iterator[ObjectKey]:
    """The ClusterExtensions that get no further on one side and do on the other, with all that either has of them."""
    now, fresh = tuple(now), tuple(fresh)
    onward = {name for name, each in extensions(fresh).items() if not each.is_stopped}
    stopped = {name for name, each in extensions(now).items() if each.is_stopped} & onward
    for obj in (*now, *fresh) if stopped else ():
        if owner_of(obj) in stopped or (is_extension(obj) and name_of(obj) in stopped):
            yield object_key(obj)
