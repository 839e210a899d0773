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
from olmc.olm.naming import COMPONENT_PREFIX, CONDITION_NAME
from olmc.render.apply_phases import (
    CONFIGURATIONS,
    backends,
    defined_kinds,
    is_issued,
    issued_objects,
    report_certificates,
    second_phase,
    with_injection,
)
from olmc.render.context import RenderContext
from olmc.yaml import at, locate

_OLM_GROUPS = (OLM_GROUP, "olm.operatorframework.io", "packages.operators.coreos.com", "olmc.dev")
_OLM_LABELS = ("olm.", COMPONENT_PREFIX, "operatorframework.io/")
_SERVER_FIELDS = frozenset(
    "creationTimestamp deletionGracePeriodSeconds deletionTimestamp generateName generation managedFields "
    "resourceVersion selfLink uid".split()
)


def for_apply(context: RenderContext, objects: Iterable[Rendered], report: Report) -> Iterator[Rendered]:
    """The objects that can be handed to Argo CD, Flux or kubectl on a cluster without OLM.

    OLM's own objects, its copies and its bookkeeping are left out; certificates come from what the options say.
    """
    services = backends(context)
    for rendered in objects:
        if _is_olms_own(rendered):
            continue
        if rendered.provenance.origin is Origin.EXTENSION:
            yield rendered  # in the form that is applied, with certificates of its own
            continue
        # What the user wrote is the user's: labels of OLM in it are meant, and certificates somebody else's.
        if rendered.provenance.origin is Origin.MANIFEST:
            yield Rendered(_without_server_fields(rendered.object), rendered.provenance)
            continue
        obj = _without_bookkeeping(rendered.object)
        yield Rendered(with_injection(obj, context.options.certificates, services), rendered.provenance)
    yield from issued_objects(context)
    report_certificates(context, report)


def _without_server_fields(obj: KubernetesObject) -> KubernetesObject:
    """A manifest of the workspace as its author wrote it, without what only an API server writes or reads."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def _is_olms_own(rendered: Rendered) -> bool:
    """Whether an object only makes sense with OLM around."""
    origin = rendered.provenance.origin
    # A group's ClusterRoles may also lie there as manifests that were taken from a cluster.
    if labels_of(rendered.object).get("olm.owner.kind") == "OperatorGroup":
        return True
    # Of what a certificate brings, the Secret alone is of no use: OLM would have filled it (R-CERT-2).
    if rendered.object.get("type") == "kubernetes.io/tls" and rendered.identity[:2] == ("", "Secret"):
        return origin is Origin.CERTIFICATE
    return rendered.identity.group in _OLM_GROUPS or origin in (Origin.OPERATOR_GROUP, Origin.OPERATOR_CONDITION)


def _without_bookkeeping(obj: KubernetesObject) -> KubernetesObject:
    # Owners and finalizers are OLM's: nobody would be there to let an object with them go.
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("ownerReferences", "finalizers", "generateName")}
    for field in ("labels", "annotations"):
        kept = {key: value for key, value in mapping(metadata.get(field)).items() if not _is_bookkeeping(key)}
        metadata.pop(field, None)
        if kept:
            metadata[field] = kept
    applied = {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}
    if obj["kind"] == "Deployment":
        applied["spec"] = _without_condition_name(obj["spec"])
    # A generated name changes with the content, and what is applied under a new name leaves the old object there (U-4).
    if obj["kind"] in CONFIGURATIONS:
        service = obj["webhooks"][0]["clientConfig"]["service"]
        metadata["name"] = f"{obj['webhooks'][0]['name']}-{service['namespace']}"
    return _without_ca_bundles(applied)


def _is_bookkeeping(key: str) -> bool:
    return key == "olmcahash" or key.startswith(_OLM_LABELS)


def _without_condition_name(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = mapping(spec.get("template"))
    pod = spec_of(template)
    containers = []
    for container in mappings(pod.get("containers")):
        env = [item for item in mappings(container.get("env")) if item.get("name") != CONDITION_NAME]
        others = {key: value for key, value in container.items() if key != "env"}
        containers.append({**others, "env": env} if env else others)
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
    for rendered in objects:
        source = rendered.provenance.place.source if rendered.provenance.place is not None else None
        if (source is not None and is_surely_small(source)) or is_applied_by_server(rendered.object):
            continue
        size = applied_size(rendered.object)
        if size > ANNOTATIONS_LIMIT:
            place = at(source) if source is not None else None
            large = TOO_LARGE_TO_APPLY.finding(place, identity=rendered.identity, size=size, limit=ANNOTATIONS_LIMIT)
            report.add(large.caused_by(OversizedAnnotations(rendered.identity.kind)))


def report_order(objects: Sequence[Rendered], options: Options, report: Report) -> None:
    """Report the custom resources that can't be applied together with what defines them.

    The plugin of Argo CD puts them into later waves, and Flux applies CRDs first; where cert-manager is to issue the
    certificate of its own webhook, that is not enough for Flux.
    """
    if options.phase or options.tool == "argocd":
        return
    second = second_phase([rendered.object for rendered in objects])
    kinds = defined_kinds(rendered.object for rendered in objects)
    customs = [rendered for rendered in objects if (rendered.identity.group, rendered.identity.kind) in kinds]
    issued = [rendered for rendered in customs if is_issued(rendered.object)]
    others = [rendered for rendered in customs if not is_issued(rendered.object)]
    waiting = [rendered for rendered in objects if rendered.identity in second and rendered not in customs]
    if issued and waiting:
        report.add(rules.ALL_AT_ONCE.finding(_place(issued), objects=_list_identities(issued)))
    # What is reported as waiting for cert-manager is not reported once more.
    beside = others if issued and waiting else customs
    if beside and not options.tool:
        report.add(rules.BESIDE_THEIR_CRD.finding(_place(beside), objects=_list_identities(beside)))


def _place(objects: Sequence[Rendered]) -> Location | None:
    """Where the first of some objects comes from."""
    place = objects[0].provenance.place
    return locate(place.source, place.keys) if place is not None else None


def _list_identities(objects: Sequence[Rendered]) -> str:
    return join_limited([str(rendered.identity) for rendered in objects], _SHOWN)
