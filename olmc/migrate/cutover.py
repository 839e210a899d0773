"""The order of steps by which operators that run move to OLM v1, so that no CRD is deleted, and with it no data
(R-V1-MIG-2, R-V1-HELM-4, R-V1-COS-7, R-V1-UN-1).

What OLM v0 leaves behind is what its uninstallation leaves of the compiled cluster; of that ClusterExtensions take over
what they bring themselves, and the rest goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote

from olmc.api import Compilation
from olmc.lean import NamedTuple
from olmc.migrate.extension_losses import belongs
from olmc.migrate.extension_moves import ExtensionMove
from olmc.model.diagnostics import Source
from olmc.model.objects import CRD_KIND, ObjectKey, labels_of, owner_references
from olmc.model.operators import CONVERSION, CSV_KIND, OLM_GROUP
from olmc.model.workspace import Manifest
from olmc.olm.naming import COMPONENT_PREFIX
from olmc.olmv1.feature_gates import FeatureGates
from olmc.olmv1.object_set import PREFIX, SET_KIND
from olmc.output.unicode import clean
from olmc.transition.deletion import delete
from olmc.transition.handover import helm_marks
from olmc.yaml import dump_one

_KEPT_KINDS = frozenset({"CatalogSource", "Namespace", "OLMConfig"})
_HEAD = """\
# The steps by which operators that run move from OLM v0 to OLM v1. Take one after the other.
# Nothing may put the Subscriptions back meanwhile: suspend whatever syncs this repository.
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
    """What is left of an operator once its Subscription, its CSV and its group are deleted."""
    assert before.settled is not None
    objects = {r.identity: Manifest(r.object, Source("", "")) for r in before.objects}
    gone = [
        ObjectKey(OLM_GROUP, "Subscription", *move.subscription.name),
        ObjectKey(OLM_GROUP, CSV_KIND, *move.member),
        *(key for key in groups if key.namespace == move.namespace),
    ]
    remaining = delete(objects, gone, before.settled.cluster.profile)
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
        yield "# 3. What OLM v0 leaves behind and nobody needs: without the label its Operator object stays away."
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
        yield f"#    Nobody converts {names} until then: keep people and tools from writing any."


def _adoption(move: ExtensionMove, taken: Iterable[ObjectKey], gates: FeatureGates) -> Iterator[str]:
    """How what exists comes to belong to the ClusterExtension (R-V1-HELM-4, R-V1-COS-7)."""
    if gates.boxcutter_runtime:
        yield "# 4. Its first ClusterObjectSet takes over what nobody controls; one of the controller's own would not."
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
    gone = [r.identity for r in before.objects if r.identity.kind == "CatalogSource" and r.identity not in there]
    if gone:
        yield "# --- Catalogs that no Subscription names any more ---"
        yield from map(_delete, gone)
    yield "# Now let the repository be synced again."


def _delete(key: ObjectKey) -> str:
    return f"kubectl delete {_named(key)} --ignore-not-found"


def _named(key: ObjectKey) -> str:
    kind = f"{key.kind.lower()}.{key.group}" if key.group else key.kind.lower()
    # Names of RBAC hold what a shell would execute: the API server refuses little more than slashes there.
    return quote(f"{kind}/{key.name}") + (f" -n {key.namespace}" if key.namespace else "")
