"""What is lost of Operators and Installs: fields that their API does not have, and all of them where it is not switched
on (R-OPERATOR-1, R-OPERATOR-2, R-INSTALL-1)."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.compiler.load.json_schema import Keys, unlisted
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.reconcile.misspelling import DroppedField
from olmc.compiler.rules.findings import workspace as load_rules
from olmc.k8s.diagnostics import Diagnostic, Report, closest
from olmc.k8s.gojson import unknown_keys
from olmc.k8s.objects import KubernetesObject, Manifest, metadata_of, spec_of, status_of
from olmc.k8s.yaml import locate
from olmc.resources import schema
from olmc.targets.proposed import rules
from olmc.targets.proposed.operator_api import KINDS, OPERATOR_API
from olmc.targets.proposed.operator_api.manifests import dotted

_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
# What the proposal calls a field where it does not show it.
_ALSO_CALLED = {("Operator", "spec.source"): "updates", ("Install", "spec.contents"): "content"}
# What becomes of an object without the field.
_WITHOUT = {
    ("Operator", "status.updates"): "nothing is installed",
    ("Operator", "spec.updates"): "nothing is installed",
    ("Operator", "spec.updates.catalogSource.approval"): "updates do not wait for approval",
    ("Operator", "spec.updates.catalogSource.entrypoint"): "the newest version of the channel is installed",
    ("Install", "spec.approval"): "nobody has approved it",
    ("Install", "spec.namespaces"): "its content stays in its own namespaces",
}


def check_fields(workspace: Workspace, options: Options, report: Report) -> None:
    """Report the fields of Operators and Installs that are dropped, or that these objects have no effect."""
    mine = [m for m in workspace.manifests if m.object["apiVersion"] == OPERATOR_API and m.object["kind"] in KINDS]
    if mine and not options.operators_and_installs:
        report.add(_idle(mine))
        return
    for manifest in mine:
        for field in dropped_fields(manifest.object):
            report.add(_finding(field, manifest))


def _idle(manifests: list[Manifest]) -> Diagnostic:
    """That the API is not switched on, at the first of its objects."""
    first, *others = (f"{m.object['kind']} {m.object['metadata']['name']}" for m in manifests)
    more = f" and {len(others)} more object{'s' * (len(others) > 1)}" if others else ""
    places = [locate(manifest.source, ("apiVersion",)) for manifest in manifests]
    related = tuple(zip(others, places[1:], strict=True))
    return rules.NOT_ENABLED.finding(places[0], related=related, objects=f"{first}{more}", api=OPERATOR_API)


def dropped_fields(obj: KubernetesObject) -> Iterator[DroppedField]:
    """The fields of an Operator or an Install that the API server drops, apart from its status."""
    kind = obj["kind"]
    for keys, others in _unknown(obj):
        alias = _ALSO_CALLED.get((kind, dotted(keys)), "")
        meant = alias if alias in others else closest(str(keys[-1]), others)
        yield DroppedField(keys, meant, others, _WITHOUT.get((kind, dotted((*keys[:-1], meant))), ""))


def _unknown(obj: KubernetesObject) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    yield from unlisted(schema(f"{obj['kind'].lower()}-v2alpha1"), obj)
    for keys, others in unknown_keys(_OBJECT_META, metadata_of(obj), exact=True):
        yield ("metadata", *keys), others
    # Of a rendering the status is what became of spec.updates.
    if obj["kind"] == "Operator" and "updates" in status_of(obj) and "updates" not in spec_of(obj):
        yield ("status", "updates"), ()


def _finding(field: DroppedField, manifest: Manifest) -> Diagnostic:
    obj, keys = manifest.object, field.keys
    hint = field.hint
    if keys == ("status", "updates"):
        hint = "Write updates below spec: the status of an Operator is what became of it."
    elif len(keys) == 2 and keys[-1] in ("metadata", "status"):
        hint = f"Write {keys[-1]} beside spec, not below it."
        if keys[-1] == "status":
            hint += " olmc fills it in itself."
    return load_rules.DROPPED_FIELD.finding(
        locate(manifest.source, keys, of_key=True),
        kind=obj["kind"],
        name=obj["metadata"]["name"],
        where=dotted(keys),
        owner=OPERATOR_API,
        why="does not know: the API server drops it",
        effect=field.consequence,
        hint=hint,
    )
