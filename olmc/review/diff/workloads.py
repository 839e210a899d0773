"""Changes of workloads: their images, environment, arguments, resources, security, volumes, and every other field.

A container or workload that is new as a whole has the severity of its most severe setting.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from olmc.compiler.model.workspace import EXTENSIONS_V1
from olmc.compiler.olm.facts import DEFAULT_ACCOUNT, account_of_pod, csv_by_label
from olmc.k8s.diagnostics import join_limited
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    gvk_of,
    mapping,
    mappings,
    object_key,
    owner_references,
    pod_of,
    registry_of,
    spec_of,
    text,
)
from olmc.review.diff import crd_kinds as kinds
from olmc.review.diff.crd_kinds import (
    ABSENT,
    ADDED,
    CHANGE,
    CHANGED,
    NOTE,
    RISK,
    WORKLOADS,
    ChangeGroup,
    DiffChange,
    Judgement,
    change_kind,
    from_to,
    shown,
)
from olmc.review.diff.deltas import Delta, ListItem, Path, deltas, path_text
from olmc.review.diff.field_tests import is_misleading
from olmc.review.diff.matching import Pair, with_template, written_path
from olmc.review.diff.noise import Makers, image_of
from olmc.review.diff.object_grades import explained, is_loosened, places, pod_dangers, risks_of_delta
from olmc.review.diff.object_kinds import field_changed, risky_field_changed
from olmc.review.diff.object_risks import MISLED
from olmc.review.diff.operators import CSV
from olmc.review.diff.permissions import Rights, subject_of_account

# The kinds of changes by which something stays or goes for good: tokens that never expire, operators that never run,
# objects that are deleted with others.


@change_kind("TokenSecretAdded", None, ADDED)
def token_secret_added(account: str) -> Judgement:
    """A Secret that only the new side has, and that Kubernetes fills with a token without expiry."""
    return RISK, ("new; it gets a token of ServiceAccount ", shown(account), " that never expires")


@change_kind("PodsGone", ChangeGroup.DEPLOYMENTS, CHANGED)
def pods_gone(old: object, new: object) -> Judgement:
    """A workload that has no pods any more."""
    return RISK, ("spec.replicas", *from_to(old, new), "; it does not run any more")


@change_kind("OwnerChanged", None)
def owner_changed(path: str, old: object, new: object) -> Judgement:
    """An owner of an object that OLM does not make: with the last owner that is there the object goes."""
    effect = "" if new is ABSENT else "; Kubernetes deletes the object once no such owner is there"
    return CHANGE if new is ABSENT else RISK, (shown(path), *from_to(old, new), effect)


@change_kind("HookChanged", None)
def hook_changed(path: str, old: object, new: object) -> Judgement:
    """Return whether Helm, or Argo CD in its place, takes an object for a hook or keeps it, by its annotations."""
    effect = "; what is a hook Helm and Argo CD make by itself, and may delete again" if new is not ABSENT else ""
    is_hook = "helm.sh/hook" in path and new is not ABSENT
    return RISK if is_hook else CHANGE, (shown(path), *from_to(old, new), effect * is_hook)


_POD = ("spec", "template", "spec")
_HOST = ("hostNetwork", "hostPID", "hostIPC")
_SECURITY = frozenset(("securityContext", "hostPath", "hostPort", "hostUsers", "automountServiceAccountToken", *_HOST))
# Lists that may come and go as a whole.
_LISTS = frozenset(("containers", "initContainers", "ephemeralContainers", "volumes", "ports"))
_ACCOUNT = ("serviceAccountName", "serviceAccount")


def workload_changes(
    identity: ObjectKey, differences: Iterable[Delta], new: KubernetesObject
) -> Iterator[DiffChange]:  # fmt: skip
    """The differences of a workload and its predecessor, each as the change that it is."""
    for delta in differences:
        for part in _items(delta):
            yield from _changes(identity, part, pod_of(new))


def account_of(workload: KubernetesObject) -> str:
    """The ServiceAccount that the pods of a workload run as."""
    return account_of_pod(pod_of(workload))


def account_changes(
    identity: ObjectKey, old: KubernetesObject, new: KubernetesObject, rights: Callable[[], Rights]
) -> Iterator[DiffChange]:
    """Return whether the pods of a workload run as somebody else, and what that one may do more."""
    was, now = account_of(old), account_of(new)
    if was != now:
        before, after = (subject_of_account(identity.namespace, name) for name in (was, now))
        yield kinds.account_changed(identity, was, now, rights().gained(before, after))


def account_changes_within(identity: ObjectKey, delta: Delta, rights: Callable[[], Rights]) -> Iterator[DiffChange]:
    """Return whether an object that is no workload by its kind runs pods as somebody who may do more than the one
    before."""
    for place in places(delta):
        was, now = ("" if value is ABSENT else text(value) for value in (place.old, place.new))
        if place.path[-1:] and place.path[-1] in _ACCOUNT and now and now != was:
            before, after = (subject_of_account(identity.namespace, name or DEFAULT_ACCOUNT) for name in (was, now))
            gained = rights().gained(before, after)
            if gained:
                yield kinds.account_changed(identity, was or DEFAULT_ACCOUNT, now, gained)


def accounts_within(obj: KubernetesObject) -> tuple[str, ...]:
    """Name the ServiceAccounts that an object names, at any place."""
    found = (
        text(place.new) for place in places(Delta((), ABSENT, obj)) if place.path[-1:] and place.path[-1] in _ACCOUNT
    )
    return tuple(dict.fromkeys(name for name in found if name))


def pod_power_changes(identity: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> Iterator[DiffChange]:
    """Yield the new rights of a workload's pods by settings that count only together."""
    before, after = pod_of(old), pod_of(new)
    if _has_token(after) and not _has_token(before) and after.get("automountServiceAccountToken") is False:
        why = "it gets a token of its account"
        yield risky_field_changed(identity, "volumes", ABSENT, "serviceAccountToken", (why,))
    writable = _node_folders(after, is_writable=True) & _node_folders(before, is_writable=False)
    for container, folder in sorted(writable - _node_folders(before, is_writable=True)):
        place = path_text(("containers", ListItem(container), "volumeMounts", "readOnly"))
        yield risky_field_changed(identity, place, True, ABSENT, (f"it may write to {folder} of the node",))
    users = [{text(each.get("name")): _user(pod, each) for each in _all_containers(pod)} for pod in (before, after)]
    for container in sorted(users[0].keys() & users[1].keys()):
        (was, was_checked), (now, is_checked) = users[0][container], users[1][container]
        if was and now is None and not was_checked and not is_checked:
            place = path_text(("containers", ListItem(container), "securityContext", "runAsUser"))
            yield risky_field_changed(identity, place, was, ABSENT, ("its image may run it as root",))


Tokens = Mapping[tuple[str, str], str]
"""The ServiceAccounts whose tokens Secrets have, each by the namespace and the name of the Secret."""


def token_changes(
    identity: ObjectKey, old: KubernetesObject, new: KubernetesObject, tokens: Tokens, rights: Callable[[], Rights]
) -> Iterator[DiffChange]:
    """Report Secrets with the token of another ServiceAccount that pods get: they may do what that one may."""
    before, had = (accounts_of_tokens(identity, obj, tokens) for obj in (old, new))
    own = account_of(new)
    for account in had:
        subjects = (subject_of_account(identity.namespace, each) for each in (own, account))
        gained = rights().gained(*subjects) if account not in (own, *before) else ()
        if gained:
            why = f"it gets a token of ServiceAccount {account}, which may do more: {', '.join(gained)}"
            yield risky_field_changed(identity, "spec.template", ABSENT, had[account], (why,))


Readers = Mapping[tuple[str, str], frozenset[tuple[str, str]]]
"""Whose pods read Secrets: accounts and CSVs, by the namespace and the name of each Secret."""


def readers_of(objects: Iterable[KubernetesObject]) -> Readers:
    """Find whose pods read Secrets."""
    found: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}
    for workload in (with_template(obj) for obj in objects if obj.get("kind") in WORKLOADS):
        namespace = object_key(workload).namespace
        for name in _secrets(pod_of(workload)):
            place = namespace, name
            found[place] = found.get(place, frozenset()) | {_reader(workload)}
    return found


def _reader(workload: KubernetesObject) -> tuple[str, str]:
    owner = csv_by_label(workload)
    return account_of(workload), owner.name if owner is not None else ""


def secret_changes(
    identity: ObjectKey, old: KubernetesObject, new: KubernetesObject, readers: Callable[[], Readers]
) -> Iterator[DiffChange]:
    """Report Secrets that pods read from now on, and that only pods of other accounts and operators read before."""
    own, operator = _reader(old)
    for name in sorted(_secrets(pod_of(new)) - _secrets(pod_of(old))):
        others = readers().get((identity.namespace, name), frozenset())
        is_shared = any(account in (own, account_of(new)) or (csv and csv == operator) for account, csv in others)
        if others and not is_shared:
            accounts = join_limited(sorted({account for account, _ in others}), 3)
            why = f"it reads Secret {name}, which pods of ServiceAccount {accounts} read"
            yield risky_field_changed(identity, "spec.template", ABSENT, name, (why,))


def accounts_of_tokens(identity: ObjectKey, workload: KubernetesObject, tokens: Tokens) -> dict[str, str]:
    """Find the ServiceAccounts whose tokens pods get from Secrets, each with the Secret."""
    names = sorted(_secrets(pod_of(workload))) if tokens else ()
    found = ((tokens.get((identity.namespace, name), ""), name) for name in names)
    return {account: name for account, name in found if account}


def _secrets(pod: Mapping[str, Any]) -> frozenset[str]:
    """List the Secrets from which pods get files or variables."""
    volumes = mappings(pod.get("volumes"))
    projected = [mapping(volume.get("projected")) for volume in volumes]
    sources = [source for each in projected for source in mappings(each.get("sources"))]
    containers = _all_containers(pod)
    given = [mapping(variable.get("valueFrom")) for each in containers for variable in mappings(each.get("env"))]
    whole = [source for each in containers for source in mappings(each.get("envFrom"))]
    return frozenset(
        name
        for name in (
            *(text(mapping(volume.get("secret")).get("secretName")) for volume in volumes),
            *(text(mapping(source.get("secret")).get("name")) for source in sources),
            *(text(mapping(source.get("secretKeyRef")).get("name")) for source in given),
            *(text(mapping(source.get("secretRef")).get("name")) for source in whole),
        )
        if name
    )


def _all_containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [container for field, _ in _CONTAINERS for container in mappings(pod.get(field))]


def _has_token(pod: Mapping[str, Any]) -> bool:
    """Return whether pods get a token for the API server."""
    projected = (mapping(volume.get("projected")) for volume in mappings(pod.get("volumes")))
    sources = (source for each in projected for source in mappings(each.get("sources")))
    given = [mapping(source["serviceAccountToken"]) for source in sources if source.get("serviceAccountToken")]
    return pod.get("automountServiceAccountToken") is not False or any(not token.get("audience") for token in given)


def _node_folders(pod: Mapping[str, Any], *, is_writable: bool) -> frozenset[tuple[str, str]]:
    """The folders of the node that containers mount, each with the container."""
    paths = {text(v.get("name")): text(mapping(v.get("hostPath")).get("path")) for v in mappings(pod.get("volumes"))}
    return frozenset(
        (text(container.get("name")), path)
        for container in _all_containers(pod)
        for mount in mappings(container.get("volumeMounts"))
        if (path := paths.get(text(mount.get("name")))) and (mount.get("readOnly") is not True) is is_writable
    )


def _user(pod: Mapping[str, Any], container: Mapping[str, Any]) -> tuple[Any, bool]:
    """The user that a container runs as, None where its image decides, and whether Kubernetes refuses root."""
    contexts = [mapping(each.get("securityContext")) for each in (container, pod)]
    user, checked = (
        next((context[field] for context in contexts if context.get(field) is not None), None)
        for field in ("runAsUser", "runAsNonRoot")
    )
    return user, checked is True


def dangers_of(workload: KubernetesObject) -> tuple[str, ...]:
    """The settings by which the pods of a workload may do more than others, as texts."""
    return tuple(_dangers(pod_of(workload)))


def _port(port: Mapping[str, Any]) -> ListItem:
    return ListItem(str(port.get("name") or port.get("containerPort")))


def _dangers(part: Mapping[str, Any]) -> Iterator[str]:
    """List the settings in a pod or a container that let it do more than others."""
    for found in pod_dangers((), part):
        # What kind of a file is expected on the node says less than which.
        if found.path[-2:] != ("hostPath", "type"):
            shown = found.value if isinstance(found.value, str) else json.dumps(found.value, default=str)
            yield f"{path_text(found.path)}: {shown}"


def _items(delta: Delta) -> Iterator[Delta]:
    """The items of a list that comes or goes as a whole, or else the difference as it is."""
    field = delta.path[-1] if delta.path else ""
    value, is_new = (delta.new, True) if delta.old is ABSENT else (delta.old, False)
    is_added_or_removed = ABSENT in (delta.old, delta.new)
    if delta.path[: len(_POD)] != _POD or not is_added_or_removed or not isinstance(value, list) or field not in _LISTS:
        yield delta
        return
    for item in mappings(value):
        place = (*delta.path, _port(item) if field == "ports" else ListItem(text(item.get("name"))))
        yield Delta(place, ABSENT, item) if is_new else Delta(place, item, ABSENT)


def _changes(identity: ObjectKey, delta: Delta, pod: Mapping[str, Any]) -> Iterator[DiffChange]:
    path = delta.path
    inside = path[len(_POD) :] if path[: len(_POD)] == _POD else ()
    match inside:
        case ("containers" | "initContainers" | "ephemeralContainers" as field, ListItem(name)):
            yield _container(identity, name, field == "initContainers", delta)
        case ("containers" | "initContainers", ListItem(name), "env", ListItem(variable)):
            yield _variable(identity, (name, variable), _value(delta.old), _value(delta.new))
        case ("containers" | "initContainers", ListItem(name), "env"):
            yield from _whole_environment(identity, name, delta)
        case ("containers" | "initContainers", ListItem(name), "args" | "command" as field):
            # What only moved comes in as neither added nor removed; of an argument given twice each counts.
            old, new = Counter(_texts(delta.old)), Counter(_texts(delta.new))
            added, removed = tuple((new - old).elements()), tuple((old - new).elements())
            yield kinds.arguments_changed(identity, name, field, added, removed)
        case ("containers" | "initContainers", ListItem(name), "resources", *below):
            for what, before, after in _amounts(tuple(below), delta.old, delta.new):
                yield kinds.resources_changed(identity, name, what, before, after)
        case _ if path == ("spec", "replicas") and delta.new == 0:
            yield pods_gone(identity, None if delta.old is ABSENT else delta.old, delta.new)
        case (field,) if field in _ACCOUNT:
            return  # reported by account_changes
        case _ if inside and (_SECURITY & {step for step in inside if isinstance(step, str)} or _hosts(delta)):
            yield from _security(identity, delta, pod)
        case _:
            found, place = risks_of_delta(identity, delta), _below_pod(identity, path)
            if found:
                yield risky_field_changed(identity, place, delta.old, delta.new, explained(found, path))
            else:
                yield field_changed(identity, place, delta.old, delta.new, NOTE)


def _container(identity: ObjectKey, name: str, init: bool, delta: Delta) -> DiffChange:
    if delta.new is ABSENT:
        return kinds.container_removed(identity, name)
    return kinds.container_added(identity, name, init, tuple(_dangers(mapping(delta.new))))


def _security(identity: ObjectKey, delta: Delta, pod: Mapping[str, Any]) -> Iterator[DiffChange]:
    for leaf in _leaves(delta):
        # Of a volume or a port that comes or goes only the part that is on the node concerns security.
        if not _hosts(delta) or {"hostPath", "hostPort"} & {step for step in leaf.path if isinstance(step, str)}:
            loosened = is_loosened(leaf) and not _is_given_elsewhere(leaf, pod)
            yield kinds.security_changed(identity, _below_pod(identity, leaf.path), leaf.old, leaf.new, loosened)


_CONTEXT = "securityContext"


def _is_given_elsewhere(leaf: Delta, pod: Mapping[str, Any]) -> bool:
    """Return whether a pod still has a setting that it gave a container and now gives all, or the other way round."""
    inside = leaf.path[len(_POD) :]
    if leaf.new is not ABSENT or _CONTEXT not in inside:
        return False
    at = inside.index(_CONTEXT)
    holders = _all_containers(pod) if at == 0 else [pod]
    return bool(holders) and all(_value_at(holder, inside[at:]) == leaf.old for holder in holders)


def _value_at(holder: Any, path: Path) -> Any:
    for step in path:
        holder = mapping(holder).get(step, ABSENT) if isinstance(step, str) else ABSENT
    return holder


def _whole_environment(identity: ObjectKey, name: str, delta: Delta) -> Iterator[DiffChange]:
    """An environment that comes or goes as a whole."""
    for items, is_new in ((delta.old, False), (delta.new, True)):
        for variable in items if isinstance(items, list) else ():
            pair = (ABSENT, _value(variable)) if is_new else (_value(variable), ABSENT)
            yield _variable(identity, (name, str(variable.get("name"))), *pair)


def _variable(identity: ObjectKey, place: tuple[str, str], old: Any, new: Any) -> DiffChange:
    """A variable of a container; some lead its requests somewhere else."""
    container, variable = place
    if new != old and is_misleading(variable, new):
        path = path_text(("containers", ListItem(container), "env", ListItem(variable)))
        return risky_field_changed(identity, path, old, new, (MISLED,))
    return kinds.environment_changed(identity, container, variable, old, new)


def _value(value: Any) -> Any:
    """Return the value of a variable, of an item of `env`."""
    if not isinstance(value, dict):
        return value
    return value.get("valueFrom", value.get("value", ""))


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _amounts(path: Path, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The amounts below a place in `resources`, one by one."""
    if not isinstance(old, dict) and not isinstance(new, dict):
        yield path_text(path) or "resources", old, new
        return
    before, after = (value if isinstance(value, dict) else {} for value in (old, new))
    for key in sorted(before.keys() | after.keys()):
        yield from _amounts((*path, key), before.get(key, ABSENT), after.get(key, ABSENT))


def _leaves(delta: Delta) -> Iterator[Delta]:
    """The fields of a mapping that comes or goes as a whole, so that each is judged."""
    for value, is_new in ((delta.new, True), (delta.old, False)):
        other = delta.old if is_new else delta.new
        if isinstance(value, dict) and value and other is ABSENT:
            for key, below in value.items():
                pair = (ABSENT, below) if is_new else (below, ABSENT)
                yield from _leaves(Delta((*delta.path, key), *pair))
            return
    yield delta


def _hosts(delta: Delta) -> bool:
    """Return whether a volume or a port of the node comes or goes."""
    return any(
        isinstance(value, dict) and not {"hostPath", "hostPort"}.isdisjoint(value) for value in (delta.old, delta.new)
    )


def _below_pod(identity: ObjectKey, path: Path) -> str:
    """The path of a field, from the pod's spec on if it is in there."""
    is_below = path[: len(_POD)] == _POD and len(path) > len(_POD)
    return path_text(path[len(_POD) :] if is_below else written_path(identity.kind, path))


# What decides how long an object stays: its owners, and the annotations by which tools make and delete it.

_HOOKS = ("helm.sh/hook", "helm.sh/resource-policy")
_OF_OLM = frozenset((OLM_GROUP, EXTENSIONS_V1.partition("/")[0]))
# What OLM makes the owner of the roles of an API; a CRD in lower case (R-CR-2).
_APIS = frozenset((CRD_KIND.lower(), "apiservice"))

_Owners = Mapping[tuple[str, str], Mapping[str, Any]]


def lifetime_changes(
    known: ObjectKey, old: KubernetesObject, new: KubernetesObject, before: Makers, after: Makers
) -> Iterator[DiffChange]:
    """Yield how the owners and the hooks of an object and its predecessor differ; `before` and `after` make the objects
    of their sides."""
    was, now = _owners(old, before), _owners(new, after)
    for owner in dict.fromkeys((*was, *now)):
        first, second = was.get(owner), now.get(owner)
        if first is not None and second is not None and "" in (text(first.get("uid")), text(second.get("uid"))):
            continue  # a uid is known in clusters alone
        for delta in deltas(first, second, ("metadata", "ownerReferences", ListItem(" ".join(owner)))):
            yield owner_changed(known, path_text(delta.path), delta.old, delta.new)
    hooks = [
        {key: value for key, value in annotations_of(obj).items() if str(key).startswith(_HOOKS)} for obj in (old, new)
    ]
    for delta in deltas(hooks[0], hooks[1], ("metadata", "annotations")):
        yield hook_changed(known, path_text(delta.path), delta.old, delta.new)


def _owners(obj: KubernetesObject, makers: Makers) -> _Owners:
    """The owners of an object but for those that OLM gives it, by kind and name."""
    known = object_key(obj)
    return {
        (text(reference.get("kind")), text(reference.get("name"))): {
            key: value for key, value in reference.items() if key in ("apiVersion", "kind", "name", "uid")
        }
        for reference in owner_references(obj)
        if not _is_olms(known, reference, makers)
    }


def _is_olms(known: ObjectKey, reference: Mapping[str, Any], makers: Makers) -> bool:
    """Return whether OLM makes something the owner of an object; of a manifest that owner has to be there."""
    group, kind = gvk_of(reference).group, text(reference.get("kind"))
    is_api = known.kind == "ClusterRole" and kind.lower() in _APIS
    if group not in _OF_OLM and not is_api:
        return False
    owner = ObjectKey(group, CRD_KIND if group == APIEXTENSIONS else kind, known.namespace, text(reference.get("name")))
    there = (owner, owner._replace(namespace=""))
    return known not in makers.manifests or any(key in makers.objects for key in there)


_CONTAINERS = (
    ("initContainers", "init container"), ("containers", "container"), ("ephemeralContainers", "ephemeral container"),
)  # fmt: skip
_CATALOG_IMAGES = {
    (OLM_GROUP, "CatalogSource"): ("spec", "image"),
    (EXTENSIONS_V1.partition("/")[0], "ClusterCatalog"): ("spec", "source", "image", "ref"),
}


def registries_of(objects: Iterable[KubernetesObject]) -> frozenset[str]:
    """The registries of all images that objects name."""
    return frozenset(registry_of(image) for obj in objects for image in images_of(with_template(obj)).values())


def _is_foreign(place: str, image: str, registries: Callable[[], Collection[str]] | None) -> bool:
    """Return whether a container that joins others has an image from a registry that none came from before."""
    runs = place.startswith(tuple(word for _, word in _CONTAINERS))
    return registries is not None and runs and registry_of(image) not in registries()


def image_changes(pair: Pair, registries: Callable[[], Collection[str]] | None = None) -> Iterator[DiffChange]:
    """Yield how the images of an object and its predecessor differ; `registries` are those of all images of the old
    side, where another one is a risk."""
    old, new = images_of(pair.old), images_of(pair.new)
    moved: dict[tuple[str, str], list[str]] = {}
    if pair.identity.kind == CSV:
        old = _with_new_names(old, new)
    for place in dict.fromkeys((*old, *new)):
        before, after = old.get(place), new.get(place)
        if before is None:
            foreign = _is_foreign(place, after or "", registries)
            yield kinds.image_added(pair.identity, place, after or "", foreign)
        elif after is None:
            yield kinds.image_removed(pair.identity, place, before)
        elif before != after:
            moved.setdefault((before, after), []).append(place)
    for (before, after), at in moved.items():
        yield kinds.image_changed(pair.identity, tuple(at), before, after)


def _with_new_names(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Related images by the names that they have later: tools make names of digests, and every version has another.

    One that is the only one of its repository whose name goes has the name of the only one that comes.
    """
    deleted, come = _once(old, new), _once(new, old)
    names = {deleted[repository]: come[repository] for repository in deleted.keys() & come.keys()}
    return {names.get(place, place): image for place, image in old.items()}


def _once(images: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """By repository the place of its only image among those whose place the others do not have."""
    left = {place: kinds.image_name(image) for place, image in images.items() if place not in others}
    total = Counter(left.values())
    return {repository: place for place, repository in left.items() if total[repository] == 1}


def without_repetitions(changes: Iterable[DiffChange]) -> list[DiffChange]:
    """Changes without those of related images of a CSV that a workload of its namespace has as well."""
    # OLM takes the Deployments out of the CSV, so that most of its images are in both; once is enough.
    changes = list(changes)
    images = [change for change in changes if change.kind is kinds.image_changed]
    of_workloads = {_moved_image(change) for change in images if change.identity.kind != CSV}
    repeated = {id(change) for change in images if change.identity.kind == CSV and _moved_image(change) in of_workloads}
    return [change for change in changes if id(change) not in repeated]


def _moved_image(change: DiffChange) -> tuple[str, str, str]:
    return change.identity.namespace, change.values["old"], change.values["new"]


def catalog_image_path(known: ObjectKey) -> tuple[tuple[str, ...], ...]:
    """Name the field with the image that a CatalogSource or a ClusterCatalog serves; none for other objects."""
    path = _CATALOG_IMAGES.get((known.group, known.kind))
    return (path,) if path is not None else ()


def catalog_image(obj: KubernetesObject) -> str:
    """Return the image that a CatalogSource or a ClusterCatalog serves, "" for none."""
    for path in catalog_image_path(object_key(obj)):
        holder: Mapping[str, Any] = reduce(lambda value, step: mapping(value.get(step)), path[:-1], obj)
        return text(holder.get(path[-1]))
    return ""


def images_of(obj: KubernetesObject | None) -> dict[str, str]:
    """The images that an object names, by where it does so: `container manager`, `related image proxy`."""
    if obj is None:
        return {}
    if obj.get("kind") == CSV:
        related = mappings(spec_of(obj).get("relatedImages"))
        return {f"related image {text(image.get('name'))}": text(image.get("image")) for image in related}
    catalog = catalog_image(obj)
    images = {"catalog": catalog} if catalog else {}
    for field, word in _CONTAINERS:
        for container in mappings(pod_of(obj).get(field)):
            if text(container.get("image")):
                images[f"{word} {text(container.get('name'))}"] = text(container["image"])
            for variable in mappings(container.get("env")):
                if image := image_of(variable):
                    images[f"variable {text(variable.get('name'))}"] = image
    return images
