"""Output that runs without OLM: what `--for apply` leaves out, changes and adds, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.diagnostics.rules import output as rules
from olmc.diagnostics.rules.lints import TOO_LARGE_TO_APPLY
from olmc.kube.api_validation.metadata import ANNOTATIONS_LIMIT
from olmc.kube.applied import applied_size, is_applied_by_server, is_surely_small
from olmc.kube.restmapper import Crd
from olmc.model.diagnostics import Location, OversizedAnnotations, Report, join_limited
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Origin,
    Rendered,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    spec_of,
)
from olmc.model.operators import OLM_GROUP
from olmc.model.options import Options
from olmc.olm.naming import ALONGSIDE, COMPONENT_PREFIX
from olmc.reconcile.deployments import CONDITION_NAME
from olmc.render.apply_phases import (
    CONFIGURATIONS,
    backends,
    defined_kinds,
    is_issued,
    issued,
    report_certificates,
    second_phase,
    with_injection,
)
from olmc.render.context import RenderContext
from olmc.render.deployments import SPEC_HASH
from olmc.yaml import at, locate

_OLM_GROUPS = (OLM_GROUP, "packages.operators.coreos.com", "olmc.dev")
_OLM_LABELS = ("olm.", COMPONENT_PREFIX, "operatorframework.io/")
_SERVER_FIELDS = frozenset(
    "creationTimestamp deletionGracePeriodSeconds deletionTimestamp generateName generation managedFields "
    "resourceVersion selfLink uid".split()
)


def for_apply(world: RenderContext, objects: Iterable[Rendered], report: Report) -> Iterator[Rendered]:
    """The objects that can be handed to Argo CD, Flux or kubectl on a cluster without OLM.

    OLM's own objects, its copies and its bookkeeping are left out; certificates come from what the options say.
    """
    behind = backends(world)
    for found in objects:
        if _is_olms_own(found.identity, found):
            continue
        if found.provenance.origin is Origin.MANIFEST:
            yield Rendered(_without_server_fields(found.object), found.provenance)
            continue
        obj = _without_bookkeeping(found.object)
        yield Rendered(with_injection(obj, world.options.certificates, behind), found.provenance)
    yield from issued(world)
    report_certificates(world, report)


def _without_server_fields(obj: KubernetesObject) -> KubernetesObject:
    """A manifest of the workspace as its author wrote it, without what only an API server writes or reads."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def _is_olms_own(identity: ObjectKey, found: Rendered) -> bool:
    """Whether an object only makes sense with OLM around."""
    if identity.group in _OLM_GROUPS:
        return True
    labels = labels_of(found.object)
    origin = found.provenance.origin
    if labels.get("olm.owner.kind") == "OperatorGroup" or origin is Origin.OPERATOR_GROUP:
        return True
    if (identity.group, identity.kind) == ("", "Secret") and found.object.get("type") == "kubernetes.io/tls":
        return origin is Origin.CERTIFICATE
    return origin is Origin.OPERATOR_CONDITION


def _without_bookkeeping(obj: KubernetesObject) -> KubernetesObject:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("ownerReferences", "finalizers", "generateName")}
    for field in ("labels", "annotations"):
        kept = {key: value for key, value in mapping(metadata.get(field)).items() if not _is_bookkeeping(key)}
        metadata.pop(field, None)
        if kept:
            metadata[field] = kept
    made = {key: value for key, value in obj.items() if key != "status"}
    made["metadata"] = metadata
    if obj["kind"] == "Deployment":
        made["spec"] = _without_condition_name(obj["spec"])
    if obj["kind"] in CONFIGURATIONS:
        service = obj["webhooks"][0]["clientConfig"]["service"]
        made["metadata"]["name"] = f"{obj['webhooks'][0]['name']}-{service['namespace']}"
    return _without_ca_bundles(made)


def _is_bookkeeping(key: str) -> bool:
    if key.startswith("olm.opgroup.permissions/"):
        return True
    return key == SPEC_HASH or key == "olmcahash" or key.startswith((*_OLM_LABELS, ALONGSIDE))


def _without_condition_name(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = mapping(spec.get("template"))
    pod = spec_of(template)
    containers = []
    for container in mappings(pod.get("containers")):
        env = [item for item in mappings(container.get("env")) if item.get("name") != CONDITION_NAME]
        rest = {key: value for key, value in container.items() if key != "env"}
        containers.append({**rest, "env": env} if env else rest)
    metadata = dict(metadata_of(template))
    annotations = {k: v for k, v in annotations_of(template).items() if k != "olmcahash"}
    if annotations:
        metadata["annotations"] = annotations
    return {**spec, "template": {**template, "metadata": metadata, "spec": {**pod, "containers": containers}}}


def _without_ca_bundles(obj: KubernetesObject) -> KubernetesObject:
    """Empty CA bundles are dropped: they are filled in by whoever issues the certificates."""
    if obj["kind"] in CONFIGURATIONS:
        return {**obj, "webhooks": [_without_bundle_in(hook) for hook in obj["webhooks"]]}
    spec = obj.get("spec")
    if obj["kind"] == "APIService" and spec:
        return {**obj, "spec": {key: value for key, value in spec.items() if key != "caBundle"}}
    webhook = mapping(Crd(obj).conversion.get("webhook")) if obj["kind"] == CRD_KIND else None
    if webhook and spec:
        conversion = {**spec["conversion"], "webhook": _without_bundle_in(webhook)}
        return {**obj, "spec": {**spec, "conversion": conversion}}
    return obj


def _without_bundle_in(hook: Mapping[str, Any]) -> dict[str, Any]:
    client = {key: value for key, value in mapping(hook.get("clientConfig")).items() if key != "caBundle" or value}
    return {**hook, "clientConfig": client}


_SHOWN = 3


def report_large(objects: Iterable[Rendered], options: Options, report: Report) -> None:
    """Report the objects that kubectl can't apply unless the server does it, as it does for Flux and the plugin of
    Argo CD."""
    if options.tool:
        return
    for found in objects:
        source = found.provenance.place.source if found.provenance.place is not None else None
        if (source is not None and is_surely_small(source)) or is_applied_by_server(found.object):
            continue
        size = applied_size(found.object)
        if size > ANNOTATIONS_LIMIT:
            place = at(source) if source is not None else None
            large = TOO_LARGE_TO_APPLY.finding(place, identity=found.identity, size=size, limit=ANNOTATIONS_LIMIT)
            report.add(large.caused_by(OversizedAnnotations(found.identity.kind)))


def report_order(objects: Sequence[Rendered], options: Options, report: Report) -> None:
    """Report the custom resources that can't be applied together with what defines them.

    The plugin of Argo CD puts them into later waves, and Flux applies CRDs first; where cert-manager is to issue the
    certificate of its own webhook, that is not enough for Flux.
    """
    if options.phase or options.tool == "argocd":
        return
    second = second_phase([found.object for found in objects])
    kinds = defined_kinds(found.object for found in objects)
    customs = [found for found in objects if (found.identity.group, found.identity.kind) in kinds]
    issued = [found for found in customs if is_issued(found.object)]
    others = [found for found in customs if not is_issued(found.object)]
    waiting = [found for found in objects if found.identity in second and found not in customs]
    if issued and waiting:
        report.add(rules.ALL_AT_ONCE.finding(_place(issued), objects=_shown(issued)))
    beside = others if issued and waiting else customs
    if beside and not options.tool:
        report.add(rules.BESIDE_THEIR_CRD.finding(_place(beside), objects=_shown(beside)))


def _place(objects: Sequence[Rendered]) -> Location | None:
    """Where the first of some objects comes from."""
    place = objects[0].provenance.place
    return locate(place.source, place.keys) if place is not None else None


def _shown(objects: Sequence[Rendered]) -> str:
    return join_limited([str(found.identity) for found in objects], _SHOWN)
