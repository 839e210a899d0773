"""Find objects that a GitOps tool can't apply yet, and removals in an order in which they hang."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from olmc.compiler.model.cluster import NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.olm.facts import is_copy, is_extension, owner_of, package_of
from olmc.k8s.api.restmapper import BUILTIN
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    OLM_GROUP,
    KubernetesObject,
    Manifest,
    ObjectKey,
    annotations_of,
    gvk_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    object_key,
    spec_of,
    text,
    texts,
)
from olmc.k8s.yaml import at
from olmc.review.diagnose import rules
from olmc.review.diagnose.diagnosis import Diagnosis, FieldEdit, RemedyCandidate, Scene, row_of

_OPTIONS = "argocd.argoproj.io/sync-options"
_FLUX = "kustomize.toolkit.fluxcd.io/"
_SKIP = "SkipDryRunOnMissingResource=true"
_OF_GARBAGE_COLLECTOR = frozenset({"foregroundDeletion", "orphan", "kubernetes"})


class Sync(NamedTuple):
    """A folder that a tool applies at once: the tool, the name of its object, the folder, and whether folders below
    belong to it; `skips`: it asks about no object of an unknown kind."""

    tool: str
    name: str
    folder: str
    recurses: bool
    skips: bool = False


def syncs(manifests: Iterable[Manifest]) -> Iterator[Sync]:
    """Return the objects that Argo CD and Flux apply, by the Applications and Kustomizations among manifests."""
    for manifest in manifests:
        obj, spec = manifest.object, spec_of(manifest.object)
        if obj.get("kind") == "Application" and text(obj.get("apiVersion")).startswith("argoproj.io/"):
            listed = mappings(spec.get("sources")) or [mapping(spec.get("source"))]
            options = texts(mapping(spec.get("syncPolicy")).get("syncOptions"))
            for source in listed:
                if source.get("path") and not source.get("chart"):
                    recurses = mapping(source.get("directory")).get("recurse") is True
                    yield Sync("Argo CD's Application", name_of(obj), _folder(source), recurses, _SKIP in options)
        elif obj.get("kind") == "Kustomization" and text(obj.get("apiVersion")).startswith(_FLUX) and spec.get("path"):
            yield Sync("Flux's Kustomization", name_of(obj), _folder(spec), recurses=True)


def _folder(source: Mapping[str, Any]) -> str:
    return posixpath.normpath(text(source.get("path")).lstrip("/") or ".")


def _is_in(manifest: Manifest, sync: Sync) -> bool:
    folder = posixpath.dirname(manifest.source.path) or "."
    if sync.folder == ".":
        return folder == "." or sync.recurses
    return folder == sync.folder or (sync.recurses and folder.startswith(f"{sync.folder}/"))


def stopped_syncs(scene: Scene) -> Iterator[Diagnosis]:
    """Objects of a kind that only an operator of the same sync brings."""
    found = list(syncs(scene.workspace.manifests))
    for sync in found:
        if sync.skips:
            continue
        inside = [manifest for manifest in scene.workspace.manifests if _is_in(manifest, sync)]
        asked = {object_key(manifest.object) for manifest in inside}
        subscriptions = [
            each for name, each in sorted(scene.cluster.subscriptions.items())
            if ObjectKey(OLM_GROUP, "Subscription", *name) in asked
        ]  # fmt: skip
        shipped = {_crd_kind(manifest.object) for manifest in scene.workspace.manifests if _is_crd(manifest.object)}
        for manifest in inside if subscriptions else ():
            kind = gvk_of(manifest.object)
            options = annotations_of(manifest.object).get(_OPTIONS, "")
            if (kind.group, kind.kind) in shipped or _SKIP in options.replace(" ", "").split(","):
                continue
            if BUILTIN.scope(kind, scene.options.kube_version) is not None or kind.group == OLM_GROUP:
                continue
            bringing = _bringing(scene, subscriptions, (kind.group, kind.kind))
            if bringing is not None and not _was_served(scene, kind.group, kind.kind):
                yield _stopped(sync, manifest, *bringing)


def _is_crd(obj: KubernetesObject) -> bool:
    return obj.get("kind") == CRD_KIND


def _crd_kind(crd: KubernetesObject) -> tuple[str, str]:
    spec = spec_of(crd)
    return text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))


def _was_served(scene: Scene, group: str, kind: str) -> bool:
    """Return whether the cluster before has the CRD of a kind."""
    held = scene.state.objects.values() if scene.state is not None else ()
    return any(_crd_kind(manifest.object) == (group, kind) for manifest in held if _is_crd(manifest.object))


def _bringing(
    scene: Scene, subscriptions: Iterable[Subscription], kind: tuple[str, str]
) -> tuple[Subscription, str] | None:
    """The Subscription whose operator brings a kind, and the CSV."""
    for subscription in subscriptions:
        for name in (subscription.installed, subscription.current):
            csv = scene.cluster.csvs.get(NamespacedName(subscription.name.namespace, name))
            if csv is not None and any((crd.api.group, crd.kind) == kind for crd in csv.owned_crds):
                return subscription, csv.name
    return None


def _stopped(sync: Sync, manifest: Manifest, subscription: Subscription, csv: str) -> Diagnosis:
    obj = manifest.object
    if sync.tool.startswith("Argo"):
        way = (
            f"Annotate {obj['kind']} {name_of(obj)} with {_OPTIONS}: {_SKIP}, and give it a later sync wave; or put it "
            "into another Application. A sync wave alone does not help."
        )
    else:
        way = (
            f"Put {obj['kind']} {name_of(obj)} into another Kustomization with dependsOn: {sync.name}, and wait: true "
            "in this one."
        )
    key = object_key(obj)
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    finding = rules.SYNC_STOPPED.finding(
        at(manifest.source, "kind"), kind=key.kind, name=name, tool=sync.tool, application=sync.name,
        operator=csv, subscription=subscription.name, way=way,
    )  # fmt: skip
    candidates: tuple[RemedyCandidate, ...] = ()
    if sync.tool.startswith("Argo"):
        given = annotations_of(obj).get(_OPTIONS, "")
        value = f"{given},{_SKIP}" if given else _SKIP
        edit = FieldEdit(manifest.source, ("metadata", "annotations", _OPTIONS), value)
        candidates = (RemedyCandidate(f"Annotate {key.kind} {name} with {_OPTIONS}: {value}", (edit,)),)
    return Diagnosis(finding, (row_of(subscription),), "", candidates, (key,), stalls=True)


class _Operator(NamedTuple):
    """The operator that a kind belongs to in the cluster before: in words, its row, the CRD, and whether it stays."""

    text: str
    row: NamespacedName
    crd: str
    stays: bool


def hanging_removals(scene: Scene, removed: Collection[ObjectKey]) -> Iterator[Diagnosis]:
    """Objects with a finalizer that go in the same step as the operator which removes it; `removed` is what a tool
    prunes or a person deletes, with what goes along."""
    state = scene.state
    if state is None or not removed:
        return
    deleted = {key.name for key in removed if key.kind == "Namespace"}
    operators = {**_of_extensions(state.objects, removed), **_of_csvs(scene, state.objects, deleted)}
    # A CRD without the operator of its ClusterExtension is deleted, and its objects with it (R-V1-UN-1).
    crds = {key.name for key in removed if key.kind == CRD_KIND}
    crds |= {each.crd for each in _of_extensions(state.objects, removed).values() if not each.stays}
    for key, manifest in sorted(state.objects.items()):
        mine = texts(metadata_of(manifest.object).get("finalizers"))
        finalizers = [each for each in mine if each not in _OF_GARBAGE_COLLECTOR]
        operator = operators.get((key.group, key.kind))
        if not finalizers or operator is None or operator.stays or key.kind in (CRD_KIND, CSV_KIND):
            continue
        if not (key in removed or key.namespace in deleted or operator.crd in crds):
            continue
        what = f"namespace {key.namespace}" if key.namespace in deleted else str(key)
        finding = rules.REMOVAL_HANGS.finding(
            at(manifest.source, "metadata", "finalizers"), identity=str(key), finalizer=finalizers[0],
            csv=operator.text, what=what,
        )  # fmt: skip
        flag = f"-n {key.namespace} " if key.namespace else ""
        command = f"kubectl {flag}delete {key.kind.lower()}.{key.group} {key.name} --wait"
        yield Diagnosis(finding, (operator.row,), command, (), (key,))


def _of_csvs(
    scene: Scene, held: Mapping[ObjectKey, Manifest], deleted: Collection[str]
) -> dict[tuple[str, str], _Operator]:
    """By kind the operator whose CSV owns it, of several one that stays; `gone` are the removed namespaces."""
    found: dict[tuple[str, str], _Operator] = {}
    for key, manifest in held.items():
        if key.kind != CSV_KIND or is_copy(manifest.object):
            continue
        stays = NamespacedName(key.namespace, key.name) in scene.cluster.csvs and key.namespace not in deleted
        row = NamespacedName(key.namespace, package_of(manifest.object))
        for crd in Csv(manifest.object).owned_crds:
            if stays or (crd.api.group, crd.kind) not in found:
                found[crd.api.group, crd.kind] = _Operator(f"{key.name} in {key.namespace}", row, crd.name, stays)
    return found


def _of_extensions(
    held: Mapping[ObjectKey, Manifest], removed: Collection[ObjectKey]
) -> dict[tuple[str, str], _Operator]:
    """By kind the ClusterExtension that has its CRD."""
    known = {key.name: (key, manifest.object) for key, manifest in held.items() if is_extension(manifest.object)}
    found = {}
    for manifest in held.values() if known else ():
        owner = owner_of(manifest.object) if _is_crd(manifest.object) else ""
        if owner in known:
            key, obj = known[owner]
            catalog = mapping(mapping(spec_of(obj).get("source")).get("catalog"))
            row = NamespacedName(text(spec_of(obj).get("namespace")), text(catalog.get("packageName")))
            found[_crd_kind(manifest.object)] = _Operator(
                f"{row.name} (ClusterExtension {owner})", row, name_of(manifest.object), key not in removed
            )
    return found


FINDERS: tuple[Callable[[Scene], Iterator[Diagnosis]], ...] = (stopped_syncs,)
