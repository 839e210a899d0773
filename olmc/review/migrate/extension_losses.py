"""The losses of an operator that becomes a ClusterExtension: the differences between the objects of OLM v0 and those of
OLM v1 (R-V1-MIG-1).

Objects before and after go in. A difference that is not OLM's own bookkeeping comes out as a loss. Permissions are
compared by their subjects, independent of the names of roles.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from olmc.compiler.api import Compilation
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import CONVERSION, CSV_KIND
from olmc.compiler.olm.facts import is_copy, owner_csvs
from olmc.compiler.olm.naming import COMPONENT_PREFIX, CONDITION_NAME, OWNER, OWNER_NAMESPACE, helm_marks
from olmc.compiler.output.messages import clean
from olmc.compiler.transition.deletion import delete
from olmc.k8s.diagnostics import Source, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Rendered,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    namespace_of,
    owner_references,
    pod_of,
    spec_of,
    text,
)
from olmc.k8s.yaml import dump_one
from olmc.review.diff.crd_kinds import plain
from olmc.review.diff.operators import operators as operators_of
from olmc.review.diff.permissions import access, permission_changes
from olmc.review.migrate.extension_moves import ExtensionMove, MoveReason
from olmc.targets.v1.api_server import CONFIGURATIONS
from olmc.targets.v1.generators import FeatureGates
from olmc.targets.v1.object_set import PREFIX, SET_KIND

_SHOWN = 3
# Labels and annotations by which the two generations of OLM, and the tools for certificates, keep their books.
_BOOKS = (
    "olm.", "olmcahash", COMPONENT_PREFIX, PREFIX, "operatorframework.io/installed-alongside-",
    "operatorframework.io/properties", "cert-manager.io/inject-ca-from", "service.beta.openshift.io/",
    "meta.helm.sh/", "app.kubernetes.io/managed-by", "operator-sdk/primary-resource",
)  # fmt: skip
_OWN_GROUPS = frozenset({OLM_GROUP, PREFIX.rstrip("/"), "packages.operators.coreos.com"})
_CONDITIONS = "operatorconditions"
_TARGETS = "olm.targetNamespaces"
_ISSUED = frozenset({"Issuer", "Certificate"})
_SERVING = "service.beta.openshift.io/serving-cert-secret-name"


class BothGenerations(NamedTuple):
    """The content of the cluster before and after."""

    before: tuple[Rendered, ...]
    after: tuple[Rendered, ...]


def losses(sides: BothGenerations, moves: Iterable[ExtensionMove]) -> dict[str, list[MoveReason]]:
    """Return the losses of each operator, by the name of its ClusterExtension."""
    lost: dict[str, list[MoveReason]] = {}
    owned = {move.name: _owned(sides, move) for move in moves}
    for move in moves:
        lost[move.name] = list(_of_objects(*owned[move.name], move))
    for move, reason in _of_permissions(sides, tuple(moves)):
        lost[move.name].append(reason)
    return lost


_Objects = dict[ObjectKey, KubernetesObject]


def _owned(sides: BothGenerations, move: ExtensionMove) -> tuple[_Objects, _Objects]:
    """Return the objects of an operator on both sides, without its bookkeeping and its permissions."""
    now = {r.identity: r.object for r in sides.after if labels_of(r.object).get(f"{PREFIX}owner-name") == move.name}
    # An object that the bundle ships, and that has the name of an object of its CSV, may have no owner.
    was = {r.identity: r.object for r in sides.before if r.identity in now or belongs(r.object, move)}
    return tuple({k: obj for k, obj in of.items() if k.group not in (*_OWN_GROUPS, RBAC)} for of in (was, now))  # type: ignore[return-value]


def belongs(obj: KubernetesObject, move: ExtensionMove) -> bool:
    """Return whether OLM v0 has an object for the CSV of a move."""
    labels = labels_of(obj)
    # RBAC that a bundle has in no namespace names its CSV, and not the namespace of that (R-SA-8).
    is_bundled = labels.get(OWNER) == move.csv and OWNER_NAMESPACE not in labels and not namespace_of(obj)
    is_component = f"{COMPONENT_PREFIX}{move.name}.{move.namespace}" in labels
    return is_bundled or is_component or NamespacedName(move.namespace, move.csv) in owner_csvs(obj)


def _of_objects(was: _Objects, now: _Objects, move: ExtensionMove) -> Iterator[MoveReason]:
    place = move.place()
    yield from _of_webhooks(was, now, move)
    yield from _of_conditions(move)
    for key in sorted(was.keys() | now.keys()):
        if key.kind in CONFIGURATIONS or key.kind in _ISSUED:
            continue
        if key not in now:
            if key.kind == "Secret" and key.name.endswith("-cert"):
                continue  # cert-manager and service-ca make it by themselves
            why = f"{key} is not installed any more"
            yield MoveReason("objects", "R-V1-GEN-7", why, "Apply it beside the ClusterExtension.", place)
        elif key not in was:
            why = f"{key} is installed in addition"
            yield MoveReason("objects", "R-V1-GEN-7", why, "See that nothing else has an object of this name.", place)
        else:
            old, new = (_comparable(obj) for obj in (was[key], now[key]))
            if old != new:
                yield _changed(key, old, new, move)


def _changed(key: ObjectKey, old: KubernetesObject, new: KubernetesObject, move: ExtensionMove) -> MoveReason:
    difference = join_limited(list(differences(old, new)), _SHOWN)
    why = f"{key} has other values: {difference}"
    place = move.place()
    if key.kind == "Deployment":
        hint = "Check that the operator can do with the new values; what it needs of the old has to be in the bundle."
        configured = bool(move.subscription.spec.get("config"))
        kind, rule = ("configuration", "R-V1-CFG-5") if configured else ("workloads", "R-V1-GEN-8")
        return MoveReason(kind, rule, why, hint, place)
    rule = "R-V1-GEN-6" if key.kind == CRD_KIND else "R-V1-GEN-11" if key.kind == "Service" else "R-V1-GEN-7"
    return MoveReason("objects", rule, why, "Check that its users work with the new values.", place)


def _of_webhooks(was: _Objects, now: _Objects, move: ExtensionMove) -> Iterator[MoveReason]:
    """The new names of webhook configurations, and who issues certificates now (R-V1-GEN-10, R-V1-CERT-2, 3)."""
    old, new = (sorted(key.name for key in side if key.kind in CONFIGURATIONS) for side in (was, now))
    place = move.place("spec", "webhookdefinitions")
    if old or new:
        why = f"the webhook configurations {_names(old)} are called {_names(new)}"
        hint = "Change what names them, such as exemptions of policies; the old ones have to go."
        yield MoveReason("names of webhooks", "R-V1-GEN-10", why, hint, place)
    for key, obj in now.items():
        same = [other for name, other in was.items() if key.kind in CONFIGURATIONS and _is_same(key, name)]
        before, after = (
            [_webhook(each) for each in mappings(one.get("webhooks"))] for one in ((same or [obj])[0], obj)
        )
        if before != after:
            why = f"{key} has other values: {join_limited(list(differences(before, after)), _SHOWN)}"
            yield MoveReason("webhooks", "R-V1-GEN-10", why, "Check which requests it gets to see now.", place)
    if any(key.kind in _ISSUED for key in now):
        why = "cert-manager issues the certificates that OLM v0 issued"
        hint = "Have cert-manager in the cluster before the operator moves."
        yield MoveReason("certificates", "R-V1-CERT-2", why, hint, place)
    elif any(
        _SERVING in annotations_of(obj) and _SERVING not in annotations_of(was.get(key, {})) for key, obj in now.items()
    ):
        why = "service-ca issues the certificates that OLM v0 issued"
        yield MoveReason("certificates", "R-V1-CERT-3", why, "OpenShift has service-ca by itself.", place)


def _is_same(new: ObjectKey, old: ObjectKey) -> bool:
    """Return whether a webhook configuration is another one with the characters that OLM v0 adds to the name."""
    return new.kind == old.kind and new.name in (old.name, old.name.rpartition("-")[0].rstrip("-"))


def _webhook(webhook: Mapping[str, Any]) -> dict[str, Any]:
    """A webhook without its name and the certificate that somebody fills in."""
    client = {key: value for key, value in mapping(webhook.get("clientConfig")).items() if key != "caBundle"}
    return {**{key: value for key, value in webhook.items() if key != "name"}, "clientConfig": client}


def _names(names: list[str]) -> str:
    return join_limited(names, _SHOWN) or "(none)"


def _of_conditions(move: ExtensionMove) -> Iterator[MoveReason]:
    """Report that an operator which asks for its OperatorCondition gets none (R-V1-LIM-4)."""
    csv = move.installed.csv
    rules = [rule for entry in (*csv.permissions, *csv.cluster_permissions) for rule in mappings(entry.rules)]
    asked = any(_CONDITIONS in str(rule.get("resources")) for rule in rules)
    read = any(
        CONDITION_NAME in json.dumps([container.get(key) for key in ("command", "args")])
        for deployment in csv.deployments
        for container in mappings(pod_of(deployment.object).get("containers"))
    )
    if asked or read:
        why = "there is no OperatorCondition by which it could hold back upgrades"
        hint = (
            "Check that it starts without OPERATOR_CONDITION_NAME, and pin its version while it must not be upgraded."
        )
        yield MoveReason("OperatorConditions", "R-V1-LIM-4", why, hint, move.place())


def _of_permissions(
    sides: BothGenerations, moves: tuple[ExtensionMove, ...]
) -> Iterator[tuple[ExtensionMove, MoveReason]]:
    """The permissions that accounts, users and admin, edit and view get or lose (R-V1-GEN-4, R-V1-GEN-5)."""
    installers = {f"{ACCOUNT}/{move.namespace}/{move.name}-installer" for move in moves}
    before, after = (access(objects, operators_of(objects)) for objects in ([r.object for r in side] for side in sides))
    changes: dict[ObjectKey, list[str]] = {}
    for change in permission_changes(before, after):
        who, what = change.identity, plain(change.message)
        is_role = who.kind == "ClusterRole" and who.name not in _USERS
        if not (is_role or str(who) in installers or _CONDITIONS in what):
            changes.setdefault(who, []).append(what)
    for who, lines in changes.items():
        # What belongs to no namespace counts for the first that moves.
        for move in [move for move in moves if who.namespace in ("", move.namespace)][:1]:
            hint = "Grant it beside the ClusterExtension if it is needed; olmc rbac shows all that there is."
            rule = "R-V1-GEN-4" if move.config else "R-V1-GEN-5"
            yield move, MoveReason("permissions", rule, f"{who} {join_limited(lines, _SHOWN)}", hint, move.place())


_USERS = ("admin", "edit", "view", "cluster-admin")


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield where two values differ, each place with what is there before and after; lists of named things by name."""
    named = [_by_name(value) for value in (old, new)]
    if all(named):
        old, new = named
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                yield from differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            if one != other:
                yield from differences(one, other, f"{path}[{index}]")
    else:
        yield f"{path} is {_short(new)} instead of {_short(old)}"


def _by_name(value: Any) -> dict[str, Any]:
    """The items of a list by what they are called, {} where they have no names of their own."""
    for key in ("mountPath", "name"):
        names = [text(item.get(key)) for item in mappings(value)]
        if names and all(names) and len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return {}


def _short(value: Any) -> str:
    shown = "absent" if value is None else json.dumps(value, sort_keys=True)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _comparable(obj: KubernetesObject) -> KubernetesObject:
    """An object without what OLM keeps its books by, and without what the API server or a controller fills in."""
    metadata = {key: obj["metadata"].get(key) for key in ("name", "namespace")}
    metadata |= {"labels": _kept(labels_of(obj)), "annotations": _kept(annotations_of(obj))}
    spec = spec_of(obj)
    compared = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    if obj["kind"] == "Deployment":
        compared["spec"] = _workload(spec)
    if obj["kind"] == "Service":
        ports = _ports(spec.get("ports"))
        led = [{**port, "targetPort": port.get("targetPort") or port.get("port")} for port in ports]
        compared["spec"] = {**spec, "ports": led}
    if obj["kind"] == "Secret":
        compared["type"] = compared.get("type", "Opaque")
    if obj["kind"] == CRD_KIND:
        compared["spec"] = _without_bundle(spec)
    return {"metadata": metadata, **compared}


def _kept(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in labels.items() if key == _TARGETS or not key.startswith(_BOOKS)}


def _workload(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A Deployment's spec without the variable and the annotations that OLM v0 gives every operator (R-V1-GEN-8)."""
    template = mapping(spec.get("template"))
    metadata = dict(mapping(template.get("metadata")))
    for key in ("labels", "annotations"):
        metadata[key] = _kept(mapping(metadata.get(key)))
    pod = {"serviceAccountName": "default", **mapping(template.get("spec"))}
    pod["containers"] = [_without_condition(container) for container in mappings(pod.get("containers"))]
    pod["volumes"] = sorted(mappings(pod.get("volumes")), key=lambda volume: text(volume.get("name")))
    return {**spec, "template": {**template, "metadata": metadata, "spec": pod}}


def _without_condition(container: Mapping[str, Any]) -> dict[str, Any]:
    env = [entry for entry in mappings(container.get("env")) if entry.get("name") != CONDITION_NAME]
    mounts = sorted(mappings(container.get("volumeMounts")), key=lambda mount: text(mount.get("mountPath")))
    return {**container, "env": env, "volumeMounts": mounts, "ports": _ports(container.get("ports"))}


def _ports(ports: Any) -> list[dict[str, Any]]:
    """Ports with what the API server fills in."""
    return [{"protocol": "TCP", **port} for port in mappings(ports)]


def _without_bundle(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A CRD's spec without the certificate that somebody fills into its conversion."""
    conversion = mapping(spec.get("conversion"))
    webhook = dict(mapping(conversion.get("webhook")))
    client = {key: value for key, value in mapping(webhook.get("clientConfig")).items() if key != "caBundle"}
    if not webhook:
        return dict(spec)
    return {**spec, "conversion": {**conversion, "webhook": {**webhook, "clientConfig": client}}}


def copied_csvs(before: Iterable[Rendered], moves: Iterable[ExtensionMove]) -> dict[str, int]:
    """The number of copies of each CSV that goes."""
    counts = {move.csv: 0 for move in moves}
    for rendered in before:
        key = rendered.identity
        if key.kind == CSV_KIND and key.name in counts and is_copy(rendered.object):
            counts[key.name] += 1
    return {name: count for name, count in counts.items() if count}


# The order of steps by which operators that run move to OLM v1, so that no CRD is deleted, and with it no data
# (R-V1-MIG-2, R-V1-HELM-4, R-V1-COS-7, R-V1-UN-1).
#
# What OLM v0 leaves behind is what its uninstallation leaves of the compiled cluster; of that ClusterExtensions take
# over what they bring themselves, and the rest goes.

_KEPT_KINDS = frozenset({"CatalogSource", "Namespace", "OLMConfig"})
_HEAD = """\
# The steps by which operators that run move from OLM v0 to OLM v1. Take one after the other.
# Suspend the tool that syncs this repository first, so that it does not create the Subscriptions again.
set -eu
"""


class _Leftovers(NamedTuple):
    """What OLM v0 leaves of an operator: `taken` is what its ClusterExtension brings as well, `idle` all else."""

    taken: tuple[ObjectKey, ...]
    idle: tuple[ObjectKey, ...]


def cutover(before: Compilation, after: Compilation, moves: Sequence[ExtensionMove], gates: FeatureGates) -> str:
    """A script of the steps for all operators that move, one after the other; its comments say why."""
    lines = [_HEAD, *_catalogs(after)]
    groups = _groups_that_go(before, after)
    for move in moves:
        lines += ["", f"# --- {move.subscription.name}: {move.csv} becomes ClusterExtension {move.name} ---"]
        lines += _operator(move, _leftovers(before, after, move, groups), groups, gates, after)
    lines += ["", *_end(before, after)]
    return "\n".join(lines) + "\n"


def _catalogs(after: Compilation) -> Iterator[str]:
    assert after.workspace is not None
    for manifest in after.workspace.extension_catalogs:
        yield f"kubectl apply -f - <<'END'\n{dump_one(manifest.object)}END"
        yield f"kubectl wait --for=condition=Serving clustercatalog/{manifest.object['metadata']['name']} --timeout=10m"


def _groups_that_go(before: Compilation, after: Compilation) -> list[ObjectKey]:
    there = {rendered.identity for rendered in after.objects}
    keys = (rendered.identity for rendered in before.objects)
    return [key for key in keys if (key.group, key.kind) == (OLM_GROUP, "OperatorGroup") and key not in there]


def _leftovers(before: Compilation, after: Compilation, move: ExtensionMove, groups: Iterable[ObjectKey]) -> _Leftovers:
    """Return the objects of an operator that remain after its Subscription, its CSV and its group are deleted."""
    assert before.settled is not None
    objects = {r.identity: Manifest(r.object, Source("", "")) for r in before.objects}
    removed = [
        ObjectKey(OLM_GROUP, "Subscription", *move.subscription.name),
        ObjectKey(OLM_GROUP, CSV_KIND, *move.member),
        *(key for key in groups if key.namespace == move.namespace),
    ]
    remaining = delete(objects, removed, before.settled.cluster.profile)
    crds = {api.name for api in move.installed.csv.owned_crds}
    owned = [
        key
        for key, manifest in remaining.items()
        if key.kind not in _KEPT_KINDS
        and (
            belongs(manifest.object, move)
            or key == ObjectKey(OLM_GROUP, "Operator", "", f"{move.name}.{move.namespace}")
            or (key.kind == "ClusterRole" and any(ref.get("name") in crds for ref in owner_references(manifest.object)))
        )
    ]
    brought = {r.identity for r in after.objects if labels_of(r.object).get(f"{PREFIX}owner-name") == move.name}
    return _Leftovers(tuple(key for key in owned if key in brought), tuple(key for key in owned if key not in brought))


def _operator(
    move: ExtensionMove, left: _Leftovers, groups: Iterable[ObjectKey], gates: FeatureGates, after: Compilation
) -> Iterator[str]:
    assert after.workspace is not None
    namespace = move.namespace
    crds = [key.name for key in left.taken if key.kind == CRD_KIND]
    if crds:
        yield "# 1. A copy of its CRDs and of all that users have made of them."
        yield f"kubectl get crd {' '.join(crds)} -o yaml > {move.name}-crds.yaml"
        yield f"kubectl get {','.join(crds)} -A -o yaml > {move.name}-resources.yaml"
    yield "# 2. OLM v0 stops looking after it. Its CRDs stay, since no CSV owns one; the operator stops until step 5."
    yield from _conversion_warning(move)
    yield _delete(ObjectKey(OLM_GROUP, "Subscription", *move.subscription.name))
    yield _delete(ObjectKey(OLM_GROUP, CSV_KIND, *move.member))
    yield from (_delete(key) for key in groups if key.namespace == namespace)
    for deployment in move.installed.csv.deployments:
        yield f"kubectl wait --for=delete {quote(f'deployment/{deployment.name}')} -n {namespace} --timeout=5m"
    label = f"{COMPONENT_PREFIX}{move.name}.{namespace}"
    if left.idle or left.taken:
        yield "# 3. Objects that OLM v0 leaves: without the label OLM does not create its Operator object again."
        yield from (f"kubectl label {_named(key)} {label}- olm.managed-" for key in left.taken)
        yield from (_delete(key) for key in left.idle)
    if left.taken:
        yield from _adoption(move, left.taken, gates)
    manifest = next(m for m in after.workspace.extensions if m.object["metadata"]["name"] == move.name)
    yield "# 5. OLM v1 takes over."
    yield f"kubectl apply -f {quote(manifest.source.path)}"
    yield f"kubectl wait --for=condition=Installed clusterextension/{move.name} --timeout=10m"
    yield "# To go back, keep what is there: without the option all its CRDs go, and all custom resources with them."
    yield f"# kubectl delete clusterextension {move.name} --cascade=orphan"


def _conversion_warning(move: ExtensionMove) -> Iterator[str]:
    webhooks = (webhook for webhook in move.installed.csv.webhooks if webhook.type == CONVERSION)
    converted = [name for webhook in webhooks for name in webhook.converted_crds]
    if converted:
        names = clean(", ".join(sorted(converted)))
        yield f"#    The API server can't convert {names} until then: keep people and tools from writing any."


def _adoption(move: ExtensionMove, taken: Iterable[ObjectKey], gates: FeatureGates) -> Iterator[str]:
    """Yield how what exists comes to belong to the ClusterExtension (R-V1-HELM-4, R-V1-COS-7)."""
    if gates.boxcutter_runtime:
        yield "# 4. Its first ClusterObjectSet takes over objects without a controller; the controller's own would not."
        wanted = f'.items[] | select(.kind == "{SET_KIND}" and .metadata.name == "{move.name}-1")'
        change = '.spec.collisionProtection = "IfNoController" | del(.metadata.ownerReferences, .status)'
        yield f"olmc render --include {SET_KIND} -o json | jq '{wanted} | {change}' | kubectl apply -f -"
        return
    yield "# 4. Helm takes over what exists only where it looks like its own."
    annotations, labels = (
        " ".join(f"{key}={value}" for key, value in marks.items())
        for marks in reversed(helm_marks(move.name, move.namespace))
    )
    for key in taken:
        yield f"kubectl annotate --overwrite {_named(key)} {annotations}"
        yield f"kubectl label --overwrite {_named(key)} {labels}"


def _end(before: Compilation, after: Compilation) -> Iterator[str]:
    there = {rendered.identity for rendered in after.objects}
    removed = [r.identity for r in before.objects if r.identity.kind == "CatalogSource" and r.identity not in there]
    if removed:
        yield "# --- Catalogs that no Subscription names any more ---"
        yield from map(_delete, removed)
    yield "# Now let the repository be synced again."


def _delete(key: ObjectKey) -> str:
    return f"kubectl delete {_named(key)} --ignore-not-found"


def _named(key: ObjectKey) -> str:
    kind = f"{key.kind.lower()}.{key.group}" if key.group else key.kind.lower()
    # Names of RBAC hold what a shell would execute: the API server refuses little more than slashes there.
    return quote(f"{kind}/{key.name}") + (f" -n {key.namespace}" if key.namespace else "")
