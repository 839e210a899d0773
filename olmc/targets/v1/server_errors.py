"""What the API server refuses of the objects that operator-controller renders without a complaint (R-V1-LIM-4)."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.compiler.olm.naming import CORE_KINDS, TYPED_KINDS
from olmc.k8s.api.validation import crds, objects, workloads
from olmc.k8s.api.validation.field import Path
from olmc.k8s.api.validation.webhooks import webhook_errors
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.objects import CRD_KIND, CRD_V1, KubernetesObject, mapping, mappings, metadata_of, name_of, spec_of, text

CONFIGURATIONS = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})
_HANDLED = "cannot be handled as a"
_NO_PORT = "Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"


def is_whole_answer(error: str) -> bool:
    """Whether an error is all that the API server answers, and no error of a field that stands behind a heading."""
    return error.startswith(("Object 'apiVersion'", "resource name", "no matches for kind")) or _HANDLED in error


def server_errors(obj: KubernetesObject) -> Iterator[str]:
    """Why the API server refuses an object that is rendered, in its words; nothing for one that it takes."""
    kind, api_version = obj["kind"], obj.get("apiVersion")
    if not text(api_version):  # which unstructured objects have no other than a text of
        yield "Object 'apiVersion' is missing"
    elif not name_of(obj):
        yield "resource name may not be empty"
    elif kind == CRD_KIND:
        yield from _crd_errors(obj)
    elif kind in CONFIGURATIONS:
        yield from _configuration_errors(obj)
    elif kind == "Deployment":
        yield from map(str, workloads.creation_errors(obj))
    else:
        yield from _other_errors(obj)


def _crd_errors(crd: KubernetesObject) -> Iterator[str]:
    if crd["apiVersion"] != CRD_V1:
        yield f'no matches for kind "{CRD_KIND}" in version "{crd["apiVersion"]}"'
        return
    conversion = mapping(spec_of(crd).get("conversion"))
    webhook = mapping(conversion.get("webhook"))
    if _lacks_port(webhook):
        yield f"spec.conversion.webhookClientConfig.service.port: {_NO_PORT}"
        # One place is reported once.
        conversion = {"strategy": "None"}
    yield from map(str, crds.creation_errors({**crd, "spec": {**crd["spec"], "conversion": conversion or None}}))


def _configuration_errors(configuration: KubernetesObject) -> Iterator[str]:
    mutating = configuration["kind"].startswith("Mutating")
    for index, webhook in enumerate(mappings(configuration.get("webhooks"))):
        path = f"webhooks[{index}]"
        yield from map(str, webhook_errors(webhook, Path(path), mutating=mutating))
        if _lacks_port(webhook):
            yield f"{path}.clientConfig.service.port: {_NO_PORT}"


def _lacks_port(webhook: object) -> bool:
    """Whether a webhook is called on the port 0, as it is without a containerPort (R-V1-GEN-10)."""
    service = mapping(mapping(webhook).get("clientConfig")).get("service")
    return mapping(service).get("port") == 0


def _other_errors(obj: KubernetesObject) -> Iterator[str]:
    identity = (obj["apiVersion"], obj["kind"])
    go_type = TYPED_KINDS.get(identity) or (obj["kind"] if CORE_KINDS.get(obj["kind"]) == obj["apiVersion"] else None)
    typed = obj
    if go_type is not None:
        try:
            typed = {**decode(go_type, obj, exact=True), "metadata": metadata_of(obj)}
        except DecodeError as error:
            version = obj["apiVersion"].rpartition("/")[2]
            yield f'{obj["kind"]} in version "{version}" {_HANDLED} {obj["kind"]}: {error.message}'
            return
    yield from map(str, objects.creation_errors(typed))
