"""Operators and Installs among the manifests (R-OPERATOR-1, R-OPERATOR-2, R-INSTALL-1, R-INSTALL-2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.catalogs.properties import DEFAULT_DOMAIN, split_domain
from olmc.compiler.load.json_schema import Keys, SchemaProblem, problems, unlisted
from olmc.compiler.load.manifests import is_sound
from olmc.compiler.model.operators import CatalogUpdates, ContentItem, Install, Operator
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.reconcile.misspelling import DroppedField
from olmc.compiler.rules.findings import workspace as load_rules
from olmc.k8s.api.applied import is_object
from olmc.k8s.diagnostics import Diagnostic, Report, Source, closest
from olmc.k8s.gojson import unknown_keys
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CatalogKey,
    KubernetesObject,
    Manifest,
    mapping,
    mappings,
    metadata_of,
    spec_of,
    status_of,
    text,
)
from olmc.k8s.yaml import locate, read
from olmc.resources import schema
from olmc.targets.proposed import rules
from olmc.targets.proposed.operator_api import KINDS, OPERATOR_API

UPDATES = {"CatalogSource": "catalogSource", "ManifestImage": "manifestImage"}
CONTENT = {"ManifestImage": "manifestImage", "Raw": "raw"}


class ProposedObjects(NamedTuple):
    """The Operators and Installs of a workspace by name, and the workspace without them."""

    workspace: Workspace
    operators: tuple[Operator, ...]
    installs: tuple[Install, ...]


def read_operators_and_installs(workspace: Workspace, report: Report) -> ProposedObjects:
    """Take the Operators and Installs out of a workspace, and report those that the API server would reject."""
    manifests = [m for m in workspace.manifests if m.object["apiVersion"] == OPERATOR_API and m.object["kind"] in KINDS]
    if not manifests:
        return ProposedObjects(workspace, (), ())
    others = tuple(m for m in workspace.manifests if m not in manifests)
    sound = [m for m in sorted(manifests, key=lambda m: str(m.object["metadata"]["name"])) if _is_sound(m, report)]
    operators = tuple(_operator(m) for m in sound if m.object["kind"] == "Operator")
    installs = tuple(_install(m) for m in sound if m.object["kind"] == "Install")
    return ProposedObjects(workspace._replace(manifests=others), operators, installs)


def _is_sound(manifest: Manifest, report: Report) -> bool:
    obj = manifest.object
    kind, name = obj["kind"], obj["metadata"]["name"]
    schema_problems: list[SchemaProblem] = [
        problem._replace(text=f"{dotted(problem.keys) or 'the object'}: {problem.text}")
        for problem in problems(f"{kind.lower()}-v2alpha1", obj)
    ]
    # The checks go by the shape that the schema asks for, and would trip over any other.
    if not schema_problems:
        check = _operator_problems if kind == "Operator" else _install_problems
        schema_problems = [SchemaProblem(keys, text) for keys, text in check(spec_of(obj))]
    if obj["metadata"].get("namespace"):
        schema_problems.append(SchemaProblem(("metadata", "namespace"), f"{kind} is cluster-scoped"))
    for problem in schema_problems:
        place = problem.place(manifest.source)
        report.add(rules.REFUSED.finding(place, kind=kind, name=name, problem=problem.text))
    return not schema_problems


def dotted(keys: Keys) -> str:
    """A path as Kubernetes writes it: spec.content[0].raw."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def _operator_problems(spec: Mapping[str, Any]) -> Iterator[tuple[Keys, str]]:
    """R-OPERATOR-2."""
    updates = spec.get("updates")
    if updates is None:
        return
    where, kind = ("spec", "updates"), updates.get("type")
    if kind not in UPDATES:
        yield (*where, "type"), "spec.updates.type must be one of [CatalogSource ManifestImage]"
        return
    for other, member in UPDATES.items():
        if other == kind and not updates.get(member):
            yield where, f"spec.updates.{member} must be set for type {kind}"
        if other != kind and updates.get(member):
            yield (*where, member), f"spec.updates.{member} must not be set for type {kind}"
    if kind == "CatalogSource" and updates.get("catalogSource"):
        yield from _catalog_problems(updates["catalogSource"])
    if kind == "ManifestImage":
        yield from _image_problems((*where, "manifestImage"), text(updates.get("manifestImage")))


def _image_problems(where: Keys, image: str) -> Iterator[tuple[Keys, str]]:
    """An image is fully qualified: it names its registry (D52)."""
    if image and split_domain(image)[0] == DEFAULT_DOMAIN and not image.startswith(f"{DEFAULT_DOMAIN}/"):
        yield (
            where,
            f"{dotted(where)}: {image!r} names no registry; write it whole, such as registry.example.com/{image}",
        )


def _catalog_problems(catalog: Mapping[str, Any]) -> Iterator[tuple[Keys, str]]:
    where = ("spec", "updates", "catalogSource")
    ref = mapping(catalog.get("ref"))
    if not (ref.get("name") and ref.get("namespace")):
        yield where, "spec.updates.catalogSource.ref.name and .namespace must be set"
    if bool(catalog.get("package")) != bool(catalog.get("channel")):
        yield where, "spec.updates.catalogSource: package and channel must be set together"
    elif not catalog.get("package") and not catalog.get("entrypoint"):
        yield where, "spec.updates.catalogSource: one of package, entrypoint must be set"


def _operator(manifest: Manifest) -> Operator:
    updates = mapping(spec_of(manifest.object).get("updates"))
    source = mapping(updates.get("catalogSource"))
    catalog = None
    if source:
        catalog = CatalogUpdates(
            CatalogKey(source["ref"]["namespace"], source["ref"]["name"]),
            text(source.get("package")),
            text(source.get("channel")),
            text(source.get("entrypoint")),
            source.get("approval") == "Manual",
        )
    return Operator(manifest.object, manifest.source, catalog, text(updates.get("manifestImage")))


def _install_problems(spec: Mapping[str, Any]) -> Iterator[tuple[Keys, str]]:
    """R-INSTALL-1, R-INSTALL-2, R-INSTALL-4."""
    content = mappings(spec.get("content"))
    if not content:
        yield ("spec",), "spec.content: must specify at least one thing to install"
    seen = set()
    for index, item in enumerate(mappings(spec.get("namespaces"))):
        if item["from"] in seen:
            text = f'spec.namespaces[{index}].from: duplicate value "{item["from"]}"'
            yield ("spec", "namespaces", index, "from"), text
        seen.add(item["from"])
    for index, item in enumerate(content):
        yield from _item_problems(index, item)


def _item_problems(index: int, item: Mapping[str, Any]) -> Iterator[tuple[Keys, str]]:
    where, kind = ("spec", "content", index), item.get("type")
    if kind not in CONTENT:
        yield (*where, "type"), f"spec.content[{index}].type must be one of [ManifestImage Raw]"
        return
    member = CONTENT[kind]
    if not item.get(member):
        yield where, f"spec.content[{index}].{member} must be set for type {kind}"
    if kind == "ManifestImage":
        yield from _image_problems((*where, member), text(item.get(member)))
    for other in CONTENT.values():
        if other != member and item.get(other):
            yield (*where, other), f"spec.content[{index}].{other} must not be set for type {kind}"
    if kind == "Raw" and item.get("raw"):
        _, cause = _decode_raw(item["raw"])
        if cause:
            yield (*where, "raw"), f"spec.content[{index}].raw: {cause}"


def _decode_raw(raw: Any) -> tuple[tuple[KubernetesObject, ...], str]:
    """The objects of a raw item, a text of YAML or JSON documents or one object, or why they can't be read."""
    values = [raw]
    if isinstance(raw, str):
        report = Report()
        values = [document.value for document in read("raw", raw, report) if document.value is not None]
        first = next(iter(report), None)
        if first is not None:
            return (), first.message
    objects: list[KubernetesObject] = []
    for value in values:
        if not isinstance(value, dict) or not is_object(value):
            return (), "each document must be an object with apiVersion and kind"
        metadata = value.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            return (), f"{value['kind']} has no metadata.name"
        report = Report()
        is_sound(Manifest(value, Source("raw", "")), report)
        first = next(iter(report), None)
        if first is not None:
            return (), first.message
        objects.append(value)
    return tuple(objects), "" if objects else "it holds no objects"


def _install(manifest: Manifest) -> Install:
    spec = spec_of(manifest.object)
    items = tuple(
        ContentItem(dict(item), item["manifestImage"])
        if item["type"] == "ManifestImage"
        else ContentItem(dict(item), objects=_decode_raw(item["raw"])[0])
        for item in spec["content"]
    )
    namespaces = tuple((item["from"], item["to"]) for item in mappings(spec.get("namespaces")))
    approved = spec.get("approval") == "Approved"
    return Install(manifest.object["metadata"]["name"], manifest.object, manifest.source, items, namespaces, approved)


_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
# What the proposal calls a field where it does not show it.
_ALSO_CALLED = {("Operator", "spec.source"): "updates", ("Install", "spec.contents"): "content"}
# What becomes of an object without the field.
_WITHOUT = {
    ("Operator", "status.updates"): "nothing is installed",
    ("Operator", "spec.updates"): "nothing is installed",
    ("Operator", "spec.updates.catalogSource.approval"): "updates do not wait for approval",
    ("Operator", "spec.updates.catalogSource.entrypoint"): "the newest version of the channel is installed",
    ("Install", "spec.approval"): "it is not approved",
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
    """Report that the API is not switched on, at the first of its objects."""
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
