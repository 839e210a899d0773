"""Find the components of each Operator, and whether they still are as an Install has brought them (R-OPERATOR-4 …
R-OPERATOR-6, R-OPERATOR-17)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.catalog import InstalledEntry
from olmc.compiler.model.cluster import Cluster, InstallPlan, NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options
from olmc.compiler.olm.facts import owner_csvs
from olmc.compiler.olm.naming import COMPONENT_PREFIX
from olmc.compiler.resolver.snapshot import entry_of_candidate, entry_of_installed
from olmc.compiler.resolver.upgrade_path import upgrades
from olmc.compiler.results import InstallDecision, OperatorResult
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.objects import (
    CRD_KIND,
    GVK,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    Rendered,
    as_text,
    gvk_of,
    labels_of,
    mapping,
    metadata_of,
    object_key,
    spec_of,
    status_of,
    text,
)
from olmc.k8s.semver import tolerant_or_none
from olmc.targets.proposed.operator_api.operators import is_own, may_use

Labels = Mapping[ObjectKey, frozenset[str]]


def projected(
    cluster: Cluster, keys: frozenset[str], adopted: Mapping[NamespacedName, str], installs: Iterable[InstallDecision]
) -> Labels:
    """The component keys that objects get, by identity, from Subscriptions, their plans, and Installs.

    `keys` are those of existing Operators; `adopted` are the keys of Subscriptions that became Operators, which
    `cluster` still has.
    """
    found: dict[ObjectKey, set[str]] = defaultdict(set)
    for name, subscription in cluster.subscriptions.items():
        mine = keys & set(subscription.labels)
        mine |= {adopted[name]} if name in adopted else set()
        if mine:
            for each in _from_subscription(cluster, subscription):
                found[each] |= mine
    for plan in cluster.plans.values():
        labels = labels_of(plan.given) if plan.given is not None else {}
        for each in _from_plan(plan) if keys & set(labels) else ():
            found[each] |= keys & set(labels)
    for judged in installs:
        for each in _from_install(judged):
            found[each] |= keys & set(labels_of(judged.install.object))
    return {each: frozenset(mine) for each, mine in found.items()}


def _from_subscription(cluster: Cluster, subscription: Subscription) -> Iterator[ObjectKey]:
    """The Subscription, those resolved with it, its InstallPlan, and what that has made."""
    home = subscription.name.namespace
    yield ObjectKey(OLM_GROUP, "Subscription", home, subscription.name.name)
    if subscription.installed:
        yield ObjectKey(OLM_GROUP, CSV_KIND, home, subscription.installed)
    for plan in cluster.plans.values():
        if (plan.namespace, plan.name) == (home, subscription.plan):
            yield from _from_plan(plan)
            for name, other in cluster.subscriptions.items():
                if name.namespace == home and other.generated_by == plan.name:
                    yield ObjectKey(OLM_GROUP, "Subscription", home, name.name)


def _from_plan(plan: InstallPlan) -> Iterator[ObjectKey]:
    yield ObjectKey(OLM_GROUP, "InstallPlan", plan.namespace, plan.name)
    for step in plan.steps:
        name = str(metadata_of(step.object).get("name") or step.name)
        yield from (ObjectKey(step.gvk.group, step.kind, space, name) for space in (plan.namespace, ""))


def _from_install(judged: InstallDecision) -> Iterator[ObjectKey]:
    for obj in (*judged.made, *(judged.content.objects if judged.applied else ())):
        key = object_key(obj)
        yield key
        yield key._replace(namespace="")
        yield key._replace(namespace=judged.content.namespace)


def labelled(
    objects: Sequence[Rendered], labels: Labels, keys: frozenset[str], stored: Mapping[ObjectKey, KubernetesObject]
) -> list[Rendered]:
    """The objects with the component keys that they get; Deployments and APIServices have those of their CSV.

    `stored` are the objects of the cluster before: one keeps a key whose Operator is pruned.
    """
    csvs = {found.identity: _keys_of(found, labels, keys) for found in objects if found.identity.kind == CSV_KIND}
    marks = {found.identity: _component_keys(found.object) for found in objects if found.identity.kind == CSV_KIND}
    return [
        _with_keys(
            found,
            _keys_of(found, labels, keys)
            | _from_owner(found, csvs)
            | (_component_keys(stored.get(found.identity, {})) & _from_owner(found, marks)),
        )
        for found in objects
    ]


def _component_keys(obj: KubernetesObject) -> frozenset[str]:
    return frozenset(key for key in labels_of(obj) if key.startswith(COMPONENT_PREFIX))


def _keys_of(found: Rendered, labels: Labels, keys: frozenset[str]) -> frozenset[str]:
    return labels.get(found.identity, frozenset()) | (keys & set(labels_of(found.object)))


def _from_owner(found: Rendered, csvs: Labels) -> frozenset[str]:
    """The keys of the CSV that a Deployment or an APIService belongs to."""
    if found.identity.kind not in ("Deployment", "APIService"):
        return frozenset()
    none: frozenset[str] = frozenset()
    owners = (ObjectKey(OLM_GROUP, CSV_KIND, *owner) for owner in owner_csvs(found.object))
    return none.union(*(csvs.get(owner, none) for owner in owners))


def _with_keys(found: Rendered, keys: frozenset[str]) -> Rendered:
    metadata, old = found.object["metadata"], labels_of(found.object)
    if keys <= old.keys():
        return found
    new = dict(sorted({**old, **dict.fromkeys(keys, "")}.items()))
    kept = {key: value for key, value in metadata.items() if key != "labels"}
    first = {key: kept[key] for key in ("name", "generateName", "namespace") if key in kept}
    return found._replace(object={**found.object, "metadata": {**first, "labels": new, **kept}})


def references(objects: Iterable[Rendered], key: str) -> list[dict[str, Any]]:
    """References to the components of an Operator, with what is abnormal about each (R-OPERATOR-4)."""
    mine = [found.object for found in objects if key in labels_of(found.object)]
    refs = [_reference(obj) for obj in mine if gvk_of(obj).group_kind != (OLM_GROUP, "Operator")]
    return sorted(refs, key=lambda ref: (ref["kind"], ref["apiVersion"], ref.get("namespace", ""), ref["name"]))


def _reference(obj: KubernetesObject) -> dict[str, Any]:
    metadata = obj["metadata"]
    ref: dict[str, Any] = {"kind": obj["kind"]}
    if metadata.get("namespace"):
        ref["namespace"] = metadata["namespace"]
    ref |= {"name": metadata["name"], "uid": as_text(metadata.get("uid")), "apiVersion": obj["apiVersion"]}
    if metadata.get("resourceVersion"):
        ref["resourceVersion"] = metadata["resourceVersion"]
    conditions = abnormal(obj)
    return {**ref, "conditions": conditions} if conditions else ref


_WITH_CONDITIONS = frozenset(
    "CustomResourceDefinition APIService Deployment Pod ReplicaSet ClusterServiceVersion Subscription InstallPlan "
    "Install".split()
)
_NORMAL_WHEN_TRUE = frozenset(
    "Available Ready Established NamesAccepted Installed ContainersReady Initialized PodScheduled Progressing".split()
)


def abnormal(obj: KubernetesObject) -> list[dict[str, Any]]:
    """The conditions of a component that are not as they should be (R-OPERATOR-5, D40)."""
    status = obj.get("status")
    if obj["kind"] not in _WITH_CONDITIONS or not isinstance(status, Mapping):
        return []
    if obj["kind"] == CSV_KIND:
        return _abnormal_phase(status)
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return []
    return [dict(each) for each in conditions if isinstance(each, Mapping) and _is_abnormal(each)]


def _is_abnormal(condition: Mapping[str, Any]) -> bool:
    return (text(condition.get("type")) in _NORMAL_WHEN_TRUE) != (condition.get("status") == "True")


def _abnormal_phase(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    if status.get("phase") in (None, "", "Succeeded"):
        return []
    found = {"type": status["phase"], "status": "True"}
    for key in ("reason", "message", "lastTransitionTime"):
        if status.get(key):
            found[key] = status[key]
    return [found]


_OWN = ("olm.", "operators.coreos.com/", "operatorframework.io/properties")


def diverging(content: Iterable[KubernetesObject], given: Iterable[KubernetesObject]) -> tuple[ObjectKey, ...]:
    """The objects of the content that a cluster, given by its objects, lacks or has with other values.

    () if the cluster does not hold a CSV of the content: then nothing was installed yet that could differ.
    """
    there = {object_key(obj): _typed(obj) for obj in given}
    wanted = {object_key(obj): obj for obj in content}
    if not any(key.kind == CSV_KIND and key in there for key in wanted):
        return ()
    return tuple(sorted(key for key, obj in wanted.items() if key not in there or not _has(there[key], obj)))


def _typed(obj: KubernetesObject) -> KubernetesObject:
    """A CSV as Go's types keep it, which is how the content has it, too; anything else as it is."""
    if obj.get("kind") != CSV_KIND:
        return obj
    try:
        return {**decode(CSV_KIND, obj), "apiVersion": obj["apiVersion"], "kind": CSV_KIND}
    except DecodeError:
        return obj


def _has(there: KubernetesObject, wanted: KubernetesObject) -> bool:
    return all(_contains(there.get(key), value) for key, value in _compared(wanted))


def _compared(obj: KubernetesObject) -> Iterator[tuple[str, Any]]:
    """Yield the compared parts of an object: all fields of its author; labels and annotations without those of OLM."""
    for key, value in obj.items():
        if key not in ("apiVersion", "kind", "status", "metadata"):
            yield key, value
    metadata = metadata_of(obj)
    fields = {
        field: {name: text for name, text in mapping(metadata.get(field)).items() if not name.startswith(_OWN)}
        for field in ("labels", "annotations")
    }
    yield "metadata", {field: texts for field, texts in fields.items() if texts}


def _contains(there: Any, wanted: Any) -> bool:
    """Return whether everything that is set in `wanted` has that value; what is empty counts as not set."""
    if wanted is None or wanted == {} or wanted == []:
        return True
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(_contains(there.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(there, list)
            and len(there) == len(wanted)
            and all(_contains(one, other) for one, other in zip(there, wanted, strict=True))
        )
    return bool(there == wanted) and isinstance(there, bool) == isinstance(wanted, bool)


# The status of an Operator (R-OPERATOR-7, R-OPERATOR-14 … R-OPERATOR-16).

_OLDEST = tolerant_or_none("0.0.0")


def operator_object(
    outcome: OperatorResult, key: str, objects: Sequence[Rendered], cluster: Cluster, diverging: bool, options: Options
) -> KubernetesObject:
    """An Operator with its status, in the state of `objects`, which are labelled."""
    status: dict[str, Any] = {}
    csvs = (f.object for f in objects if f.identity.kind == CSV_KIND and key in labels_of(f.object))
    metadata = operator_metadata(
        (obj for obj in csvs if is_own(Csv(obj), outcome, cluster)), (f.object for f in objects)
    )
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


def operator_metadata(csvs: Iterable[KubernetesObject], objects: Iterable[KubernetesObject]) -> dict[str, Any]:
    """Return the metadata of an Operator from the newest successful one of its own CSVs; {} if there is none
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
    """Return the packages and other channels that continue from the installed CSV (R-OPERATOR-14)."""
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
    """Return the source of the components (R-OPERATOR-15)."""
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
    """Yield the abnormal conditions of an Operator, in the order of R-OPERATOR-16."""
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
    """Return whether an update waits that leads to another channel than the one that the installed CSV is in."""
    if outcome.waiting is None or not outcome.installed:
        return False
    source = cluster.catalogs.get(outcome.ref)
    names = {e.name for e in (source.entries if source else ()) if e.channel == outcome.channel}
    return outcome.installed not in names
