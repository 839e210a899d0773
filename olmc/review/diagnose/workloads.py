"""Pods that can't start since what they use is created nowhere, and what spec.config of a Subscription does to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.olm.facts import account_of_deployment, csvs_by_reference, package_of
from olmc.k8s.diagnostics import Location, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    Rendered,
    mapping,
    mappings,
    pod_of,
    spec_of,
    text,
)
from olmc.k8s.yaml import at
from olmc.review.diagnose import rules
from olmc.review.diagnose.diagnosis import Diagnosis, Scene, operator_of, row_of

_ALWAYS = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ConfigMap", "openshift-service-ca.crt")})
_USERS = frozenset(
    "ClusterServiceVersion Deployment StatefulSet DaemonSet ReplicaSet Pod Job CronJob ServiceAccount".split()
)
_CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs", "/apiserver.local.config/certificates"
_MOST = 3
_BY_KIND = {"Secret": "secret", "ConfigMap": "configMap", "PersistentVolumeClaim": "persistentVolumeClaim"}


class PodReference(NamedTuple):
    """The needs of a pod: a kind and a name, the key of it ("" for all), and the place in the pod."""

    kind: str
    name: str
    key: str
    path: tuple[str | int, ...]


def references(pod: Mapping[str, Any]) -> Iterator[PodReference]:
    """The objects that a pod can't start without; a volume that no container mounts is not looked for."""
    containers = (*mappings(pod.get("initContainers")), *mappings(pod.get("containers")))
    mounted = {text(mount.get("name")) for each in containers for mount in mappings(each.get("volumeMounts"))}
    for index, volume in enumerate(mappings(pod.get("volumes"))):
        if text(volume.get("name")) not in mounted:
            continue
        path: tuple[str | int, ...] = ("volumes", index)
        yield from _of_volume(volume, path)
        for number, source in enumerate(mappings(mapping(volume.get("projected")).get("sources"))):
            yield from _of_source(source, (*path, "projected", "sources", number))
    for field in ("initContainers", "containers"):
        for index, container in enumerate(mappings(pod.get(field))):
            yield from _of_container(container, (field, index))


def _of_volume(volume: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[PodReference]:
    for kind, field, name in (
        ("Secret", "secret", "secretName"), ("ConfigMap", "configMap", "name"),
        ("PersistentVolumeClaim", "persistentVolumeClaim", "claimName"),
    ):  # fmt: skip
        source = mapping(volume.get(field))
        yield from _reference(kind, source, name, (*path, field))


def _of_source(source: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[PodReference]:
    for kind, field in (("Secret", "secret"), ("ConfigMap", "configMap")):
        yield from _reference(kind, mapping(source.get(field)), "name", (*path, field))


def _reference(kind: str, source: Mapping[str, Any], field: str, path: tuple[str | int, ...]) -> Iterator[PodReference]:
    name = text(source.get(field))
    if not name or source.get("optional") is True:
        return
    keys = [text(item.get("key")) for item in mappings(source.get("items"))] or [""]
    yield from (PodReference(kind, name, key, (*path, field)) for key in keys)


def _of_container(container: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[PodReference]:
    for index, variable in enumerate(mappings(container.get("env"))):
        value = mapping(variable.get("valueFrom"))
        for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
            source = mapping(value.get(field))
            if text(source.get("name")) and source.get("optional") is not True:
                where = (*path, "env", index, "valueFrom", field, "name")
                yield PodReference(kind, text(source.get("name")), text(source.get("key")), where)
    for index, entry in enumerate(mappings(container.get("envFrom"))):
        for kind, field in (("Secret", "secretRef"), ("ConfigMap", "configMapRef")):
            source = mapping(entry.get(field))
            if text(source.get("name")) and source.get("optional") is not True:
                yield PodReference(kind, text(source.get("name")), "", (*path, "envFrom", index, field, "name"))


def unstartable(scene: Scene) -> Iterator[Diagnosis]:
    """Deployments of operators whose pods wait for an object that nothing creates."""
    held: dict[ObjectKey, Rendered] = {rendered.identity: rendered for rendered in scene.objects}
    for rendered in scene.objects:
        if (rendered.identity.group, rendered.identity.kind) != ("apps", "Deployment"):
            continue
        owner = next((csv for csv in csvs_by_reference(rendered.object) if csv in scene.cluster.members), None)
        member = scene.cluster.members.get(owner) if owner is not None else None
        if member is None or not member.succeeded:
            continue
        missing: dict[tuple[str, str], Diagnosis] = {}
        for reference in references(pod_of(rendered.object)):
            diagnosis = _missing(scene, held, member.csv, rendered, reference)
            if diagnosis is not None:
                missing.setdefault((reference.kind, reference.name), diagnosis)
        yield from missing.values()


def _missing(
    scene: Scene, held: Mapping[ObjectKey, Rendered], csv: Csv, deployment: Rendered, reference: PodReference
) -> Diagnosis | None:
    namespace = deployment.identity.namespace
    key = ObjectKey("", reference.kind, namespace, reference.name)
    found = held.get(key)
    if (reference.kind, reference.name) in _ALWAYS:
        return None
    if found is not None and (not reference.key or _has_key(found.object, reference.key)):
        return None
    if found is None and _may_be_made(scene, held, reference, namespace):
        return None
    what = f"{reference.kind} {reference.name}"
    finding = rules.NOT_MOUNTED.finding(
        _place(scene, csv, deployment.identity.name, reference),
        csv=csv.name, namespace=namespace, deployment=deployment.identity.name,
        what=f"key {reference.key} of {what}" if found is not None else what,
        key=", although the object is there" if found is not None else "",
        way=_way(held, csv, reference, namespace, has_object=found is not None),
    )  # fmt: skip
    objects = (ObjectKey(OLM_GROUP, "ClusterServiceVersion", csv.namespace, csv.name), deployment.identity)
    return Diagnosis(finding, (operator_of(csv, scene.cluster),), objects=objects, stalls=True)


def _has_key(obj: KubernetesObject, key: str) -> bool:
    fields = (mapping(obj.get(field)) for field in ("data", "stringData", "binaryData"))
    return any(key in field for field in fields) or obj.get("type") == "kubernetes.io/service-account-token"


def _may_be_made(scene: Scene, held: Mapping[ObjectKey, Rendered], reference: PodReference, namespace: str) -> bool:
    """Return whether an object names the missing one, so that its controller may create it, such as a Certificate or a
    Service with an annotation; and whether the cluster before says nothing of such objects at all."""
    state = scene.state
    dumped = {key.kind for key in state.objects} if state is not None and not state.tracked else set()
    if CSV_KIND in dumped and reference.kind not in dumped:
        return True  # a dump of a running cluster without Secrets was made without them
    for key, rendered in held.items():
        if key.namespace not in ("", namespace) or key.kind in _USERS or key.group in (RBAC, OLM_GROUP):
            continue
        if key.kind in _BY_KIND or key.kind == "CustomResourceDefinition" or key.kind.endswith("WebhookConfiguration"):
            continue
        if key.name == reference.name and key.group not in ("", "apps"):
            return True  # a SealedSecret, an ExternalSecret or the like makes what it is called
        if _mentions(rendered.object.get("spec"), reference.name) or _mentions(
            mapping(rendered.object.get("metadata")).get("annotations"), reference.name
        ):
            return True
    return False


def _mentions(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return any(_mentions(item, name) for item in value.values())
    if isinstance(value, list):
        return any(_mentions(item, name) for item in value)
    return bool(value == name)


def _way(held: Collection[ObjectKey], csv: Csv, reference: PodReference, namespace: str, *, has_object: bool) -> str:
    what = f"{reference.kind} {reference.name}"
    if has_object:
        return f"Add the key {reference.key} to {what} in namespace {namespace}, or mark the reference as optional."
    way = f"Create {what} in namespace {namespace}, or remove the reference from the Deployment."
    other = _elsewhere(held, reference, namespace)
    if other:
        way += f" Namespace {other} has one of that name, which does not count."
    if reference.kind == "Secret" and (csv.webhooks or csv.owned_apiservices) and reference.path[0] == "volumes":
        first, second = _CERTIFICATES
        way += f" OLM makes a certificate of its own: read it at {first} or {second}, and remove the volume."
    return way


def _elsewhere(held: Collection[ObjectKey], reference: PodReference, namespace: str) -> str:
    for key in held:
        if (key.group, key.kind, key.name) == ("", reference.kind, reference.name) and key.namespace != namespace:
            return key.namespace
    return ""


def _place(scene: Scene, csv: Csv, deployment: str, reference: PodReference) -> Location | None:
    """Return where a CSV asks for an object, or else the config of its Subscription."""
    for index, item in enumerate(csv.deployments):
        if item.name != deployment:
            continue
        for own in references(item.pod):
            if own[:3] == reference[:3]:
                keys = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", *own.path)
                return at(csv.source, *keys)
    subscription = subscription_of(csv, scene)
    return _place_in_config(subscription, reference) if subscription is not None else at(csv.source)


def _place_in_config(subscription: Subscription, reference: PodReference) -> Location | None:
    """Return where spec.config of a Subscription asks for an object; its fields are those of a pod and of its
    containers."""
    config = mapping(subscription.spec.get("config"))
    own = {"volumes": config.get("volumes"), "containers": [config]}
    for each in references(own):
        if each[:3] == reference[:3]:
            path = each.path[2:] if each.path[0] == "containers" else each.path
            return at(subscription.source, "spec", "config", *path)
    return at(subscription.source, "spec", "config")


def subscription_of(csv: Csv, scene: Scene) -> Subscription | None:
    """The Subscription that has a CSV installed."""
    here = scene.cluster.subscriptions.within(csv.namespace).values()
    return next((each for each in here if csv.name in (each.installed, each.current)), None)


class _Container(NamedTuple):
    deployment: str
    name: str
    resources: Mapping[str, Any]


def _containers(csv: Csv) -> list[_Container]:
    return [
        _Container(item.name, text(container.get("name")), mapping(container.get("resources")))
        for item in csv.deployments
        for container in mappings(item.pod.get("containers"))
    ]


def config_everywhere(scene: Scene) -> Iterator[Diagnosis]:
    """Resources of spec.config that replace those of containers with less (R-DEP-6)."""
    for name, subscription in sorted(scene.cluster.subscriptions.items()):
        given = mapping(mapping(subscription.spec.get("config")).get("resources"))
        installed = subscription.installed or subscription.current
        csv = scene.cluster.csvs.get(NamespacedName(name.namespace, installed))
        containers = _containers(csv) if csv is not None and given else []
        changed = [each for each in containers if each.resources and _differs(each.resources, given)]
        if csv is None or len(containers) < 2 or not changed:
            continue
        shown = ", ".join(f"{each.name} of {each.deployment} ({_had(each.resources, given)})" for each in containers)
        finding = rules.CONFIG_EVERYWHERE.finding(
            at(subscription.source, "spec", "config", "resources"), name=name, csv=csv.name,
            containers=f"{shown} each get {_amounts(given)}, too", total=_total(given, len(containers)),
        )  # fmt: skip
        yield Diagnosis(finding, (row_of(subscription),), objects=(ObjectKey(OLM_GROUP, "Subscription", *name),))


def _differs(own: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether a container has other amounts of what is given."""
    for field in ("requests", "limits"):
        wanted, had = mapping(given.get(field)), mapping(own.get(field))
        if any(name in had and str(had[name]) != str(value) for name, value in wanted.items()):
            return True
    return False


def _had(own: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    texts = [
        f"{field} {name} {mapping(own.get(field))[name]}"
        for field in ("requests", "limits")
        for name in mapping(given.get(field))
        if name in mapping(own.get(field))
    ]
    return ", ".join(texts) or "none"


def _amounts(given: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{field} {name} {value}"
        for field in ("requests", "limits")
        for name, value in mapping(given.get(field)).items()
    )


def _total(given: Mapping[str, Any], count: int) -> str:
    amounts = {**mapping(given.get("limits")), **mapping(given.get("requests"))}
    sums = [f"{name} {multiplied}" for name, value in amounts.items() if (multiplied := _times(str(value), count))]
    return f"it is {count} containers" + (f", {' and '.join(sums)} in all" if sums else "")


def _times(quantity: str, count: int) -> str:
    digits = quantity.rstrip("EPTGMKkimnu")
    unit = quantity[len(digits) :]
    try:
        number = float(digits) * count
    except ValueError:
        return ""
    return f"{number:g}{unit}"


def idle_selectors(scene: Scene) -> Iterator[Diagnosis]:
    """Selectors of spec.config, which OLM does not read (R-DEP-5)."""
    for name, subscription in sorted(scene.cluster.subscriptions.items()):
        config = mapping(subscription.spec.get("config"))
        if config.get("selector"):
            finding = rules.SELECTOR_IGNORED.finding(at(subscription.source, "spec", "config", "selector"), name=name)
            yield Diagnosis(finding, (row_of(subscription),))


def lost_accounts(scene: Scene) -> Iterator[Diagnosis]:
    """Accounts of an installed CSV that the next one does not have, while pods other than those of its Deployments use
    them: a workload of the workspace does, or no Deployment of the CSV ever did, so that the operator's pods may."""
    state = scene.state
    if state is None:
        return
    held = {rendered.identity for rendered in scene.objects}
    newer = {
        row: csv for csv in scene.cluster.csvs.values() for row in (operator_of(csv, scene.cluster),)
        if ObjectKey(OLM_GROUP, CSV_KIND, csv.namespace, csv.name) not in state.objects
    }  # fmt: skip
    for key, manifest in sorted(state.objects.items()) if newer else ():
        if (key.group, key.kind) != ("", ACCOUNT) or key in held:
            continue
        for owner in csvs_by_reference(manifest.object):
            before = state.objects.get(ObjectKey(OLM_GROUP, CSV_KIND, *owner))
            if before is None:
                continue
            old = Csv(before.object)
            new = newer.get(NamespacedName(owner.namespace, package_of(old.object)))
            users = [each for each in scene.objects if _uses(each, key)]
            is_own = any(account_of_deployment(old, each) == key.name for each in old.deployments)
            if new is not None and (users or not is_own):
                yield _lost_account(key, old, new, users)


def _uses(rendered: Rendered, account: ObjectKey) -> bool:
    obj, key = rendered.object, rendered.identity
    pod = pod_of(mapping(spec_of(obj).get("jobTemplate"))) if key.kind == "CronJob" else pod_of(obj)
    name = text(pod.get("serviceAccountName")) or text(pod.get("serviceAccount"))
    return key.group in ("apps", "batch") and (key.namespace, name) == (account.namespace, account.name)


def _lost_account(key: ObjectKey, old: Csv, new: Csv, users: Sequence[Rendered]) -> Diagnosis:
    names = join_limited([str(each.identity) for each in users], _MOST)
    left = f"{names} can't create pods without it" if users else (
        "no Deployment of the CSV uses it; other pods under it, such as those that the operator itself creates, can't "
        "be created any more"
    )  # fmt: skip
    finding = rules.ACCOUNT_GOES.finding(
        at(new.source), account=f"{key.namespace}/{key.name}", old=old.name, new=new.name, users=left
    )
    objects = (key, *(each.identity for each in users))
    return Diagnosis(finding, (NamespacedName(new.namespace, package_of(new.object)),), objects=objects)


FINDERS: tuple[Callable[[Scene], Iterator[Diagnosis]], ...] = (
    unstartable, config_everywhere, idle_selectors, lost_accounts,
)  # fmt: skip
