"""The status of an Operator (R-OPERATOR-7, R-OPERATOR-14 … R-OPERATOR-16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.kube.restmapper import Crd
from olmc.model.catalog import InstalledEntry
from olmc.model.cluster import Cluster
from olmc.model.objects import (
    CRD_KIND,
    GVK,
    CatalogKey,
    KubernetesObject,
    Rendered,
    as_text,
    labels_of,
    spec_of,
    status_of,
)
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import Options
from olmc.proposed.v2alpha1.approval import OperatorResult
from olmc.proposed.v2alpha1.components import references
from olmc.proposed.v2alpha1.operators import may_use
from olmc.proposed.v2alpha1.own_csvs import is_own
from olmc.resolver.snapshot import entry_of_candidate, entry_of_installed
from olmc.resolver.upgrade_path import upgrades
from olmc.semver import tolerant_or_none

_OLDEST = tolerant_or_none("0.0.0")


def operator_object(
    outcome: OperatorResult, key: str, objects: Sequence[Rendered], cluster: Cluster, diverging: bool, options: Options
) -> KubernetesObject:
    """An Operator with its status, in the state of `objects`, which are labelled."""
    status: dict[str, Any] = {}
    csvs = (f.object for f in objects if f.identity.kind == CSV_KIND and key in labels_of(f.object))
    metadata = metadata_of((obj for obj in csvs if is_own(Csv(obj), outcome, cluster)), (f.object for f in objects))
    if metadata:
        status["metadata"] = metadata
    available = updates_available(outcome, cluster, options)
    updates: dict[str, Any] = {"available": available} if available else {}
    resolved = _resolved(outcome, cluster)
    if resolved:
        updates["resolved"] = resolved
    if updates:
        status["updates"] = updates
    conditions = list(_conditions(outcome, cluster, bool(available), diverging))
    if conditions:
        status["conditions"] = conditions
    refs = references(objects, key)
    status["components"] = {"matchLabels": {key: ""}, **({"refs": refs} if refs else {})}
    given = {name: value for name, value in outcome.operator.object.items() if name != "status"}
    return {**given, "spec": spec_of(given), "status": status}


def metadata_of(csvs: Iterable[KubernetesObject], objects: Iterable[KubernetesObject]) -> dict[str, Any]:
    """What an Operator says about itself, from the newest successful one of its own CSVs; {} if there is none
    (R-OPERATOR-7)."""
    successful = [csv for csv in csvs if status_of(csv).get("phase") == "Succeeded"]
    if not successful:
        return {}
    newest = Csv(max(successful, key=_age))
    singulars = dict(_singulars(objects))
    found = {
        "displayName": as_text(newest.spec.get("displayName")),
        "description": as_text(newest.spec.get("description")),
        "version": newest.version,
    }
    apis = {"provides": _apis(newest, "owned", singulars), "requires": _apis(newest, "required", singulars)}
    return {**found, "apis": {name: listed for name, listed in apis.items() if listed}}


def _age(csv: KubernetesObject) -> tuple[Any, str, str]:
    version = tolerant_or_none(Csv(csv).version or "0.0.0") or _OLDEST
    return version, as_text(csv["metadata"].get("creationTimestamp")), str(csv["metadata"]["name"])


def _singulars(objects: Iterable[KubernetesObject]) -> Iterator[tuple[str, str]]:
    for obj in objects:
        if obj["kind"] == CRD_KIND:
            yield obj["metadata"]["name"], Crd(obj).singular


def _apis(csv: Csv, relation: str, singulars: Mapping[str, str]) -> list[dict[str, str]]:
    crds, services = csv.owned_crds, csv.owned_apiservices
    if relation == "required":
        crds, services = csv.required_crds, csv.required_apiservices
    found = [_api(item.api, item.plural, singulars.get(item.name, "")) for item in crds]
    found += [_api(item.api, item.name, "") for item in services]
    return sorted(found, key=lambda api: (api["group"], api["kind"], api["version"]))


def _api(api: GVK, plural: str, singular: str) -> dict[str, str]:
    return {**api._asdict(), "plural": plural, "singular": singular or api.kind.lower()}


def updates_available(outcome: OperatorResult, cluster: Cluster, options: Options) -> list[dict[str, str]]:
    """Packages and channels, besides the one that is followed, that lead on from the installed CSV (R-OPERATOR-14)."""
    csv = next((csv for name, csv in sorted(cluster.csvs.items()) if name.name == outcome.installed), None)
    if csv is None or outcome.operator.catalog is None:
        return []
    installed = entry_of_installed(InstalledEntry(csv.name, csv.version, ()), csv.namespace)
    found: set[tuple[CatalogKey, str]] = set()
    for key, source in cluster.catalogs.items():
        if source.problem or not may_use(cluster, key, options):
            continue
        for entry in source.entries:
            # An Operator of an entrypoint alone follows no channel, so that all of them are others.
            elsewhere = outcome.fixed or entry.channel != outcome.channel
            if entry.package == outcome.package and elsewhere and upgrades(entry_of_candidate(entry), installed):
                found.add((key, entry.channel))
    ordered = sorted(found, key=lambda each: (each[0] != outcome.ref, each[0].name, each[0].namespace, each[1]))
    return [
        {
            "package": outcome.package,
            "channel": channel,
            **({} if key == outcome.ref else {"name": key.name, "namespace": key.namespace}),
        }
        for key, channel in ordered
    ]


def _resolved(outcome: OperatorResult, cluster: Cluster) -> dict[str, Any]:
    """What the components come from (R-OPERATOR-15)."""
    if outcome.operator.image:
        applied = [each for each in outcome.installs if each.applied]
        image = applied[-1].content.items[0]["manifestImage"] if applied else ""
        return {"type": "ManifestImage", "manifestImage": image} if image else {}
    if outcome.operator.catalog is None or not outcome.installed:
        return {}
    ref = {"name": outcome.ref.name, "namespace": outcome.ref.namespace}
    source = cluster.catalogs.get(outcome.ref)
    channels = [e.channel for e in (source.entries if source else ()) if e.name == outcome.installed]
    channel = outcome.channel if outcome.channel in channels or not channels else min(channels)
    content = {"package": outcome.package, "channel": channel, "bundle": outcome.installed, "ref": ref}
    return {"type": "CatalogSource", "catalogSource": content}


def _conditions(
    outcome: OperatorResult, cluster: Cluster, available: bool, diverging: bool
) -> Iterator[dict[str, str]]:
    """What is abnormal about an Operator, in the order of R-OPERATOR-16."""
    if _pivots(outcome, cluster):
        yield _condition("UpdateAvailable", "CrossChannelUpdateFound", "pivoting between versions")
    elif available:
        text = "an upgrade has been found outside the specified channel"
        yield _condition("UpdateAvailable", "UpdateFoundInAnotherChannel", text)
    if diverging:
        what, where = ("ResolvedContent", "resolved content") if outcome.operator.image else (
            "Install", "install resource",
        )  # fmt: skip
        text = f"on-cluster components diverge from {where}"
        yield _condition("ComponentsDiverge", f"ComponentsDivergeFrom{what}", text)
    if any(install.pending for install in outcome.installs):
        text = "one or more installs require privilege escalation approved by an authorized user"
        yield _condition("InstallPendingApproval", "PrivilegeEscalationRequired", text)
    if outcome.missing:
        yield _condition("ContentImportError", "ManifestImagePullFailed", "a manifest image pull has failed")
    if outcome.failure:
        yield _condition("ResolutionFailed", *outcome.failure)


def _condition(kind: str, reason: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": reason, "message": message}


def _pivots(outcome: OperatorResult, cluster: Cluster) -> bool:
    """Whether an update waits that leads to another channel than the one that the installed CSV is in."""
    if outcome.waiting is None or not outcome.installed:
        return False
    source = cluster.catalogs.get(outcome.ref)
    names = {e.name for e in (source.entries if source else ()) if e.channel == outcome.channel}
    return outcome.installed not in names
