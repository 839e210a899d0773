"""Installs: those that say themselves what they install, and those that are made for Operators from catalogs.

The former are applied before the cluster settles, so that what they bring is resolved and judged like everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.catalogs.properties import properties_text
from olmc.compiler.model.catalog import Selection
from olmc.compiler.model.cluster import Cluster, NamespacedName, Step
from olmc.compiler.model.operators import CSV_KIND, ContentItem, Install, Operator
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.naming import component_label_key
from olmc.compiler.reconcile.apply_step import StepTarget, apply_step
from olmc.compiler.reconcile.initial_state import ALWAYS_THERE
from olmc.compiler.resolver.steps import Content
from olmc.compiler.results import InstallDecision, OperatorResult, Resolved
from olmc.k8s.api.restmapper import RestMapper, rest_mapper
from olmc.k8s.diagnostics import Place, Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    as_text,
    labels_of,
    namespace_of,
    object_key,
    spec_of,
    text,
)
from olmc.targets.proposed.operator_api import SEED_KEY
from olmc.targets.proposed.operator_api.approval import (
    ApprovalContext,
    Setting,
    approved_before,
    calling,
    content_of_image,
    judged,
    namespaces_of,
    objects_of,
    pinned,
    placed_steps,
    resolved,
    suggested_namespace,
)
from olmc.targets.proposed.operator_api.manifests import read_operators_and_installs


class InitialInstalls(NamedTuple):
    """What the proposed APIs make of a workspace before anything settles.

    `workspace` has what the Installs in `judged` bring as objects; `steps` carry out the bundles among it, and
    `installed` are its CSVs, and those that Operators had installed before. `operators` are left to be resolved.
    `records` are Installs that approve generated ones, by name; `given` are the manifests as they were. `former` are
    the component keys of Subscriptions that Operators have taken over from (R-OPERATOR-13).
    """

    workspace: Workspace
    given: tuple[Manifest, ...]
    operators: tuple[Operator, ...]
    judged: tuple[InstallDecision, ...]
    records: Mapping[str, Install]
    steps: tuple[Step, ...]
    installed: frozenset[NamespacedName]
    former: frozenset[str] = frozenset()


def component_key(name: str, options: Options) -> str:
    """The label key of the components of an Operator (R-OPERATOR-3)."""
    return SEED_KEY + name if options.component_label == "seed" else component_label_key(name, "")


def begin(workspace: Workspace, options: Options, report: Report) -> InitialInstalls:
    """Reads the Operators and Installs of a workspace and applies those that need no resolution."""
    found = read_operators_and_installs(workspace, report)
    former = _taken_over(found.workspace, found.operators, options)
    found = found._replace(workspace=_with_keys(found.workspace, former))
    keys = {component_key(operator.name, options) for operator in found.operators}
    # An Install with an Operator's label records what that Operator installed; others are asked for by themselves.
    labelled = {i.name: i for i in found.installs if keys & set(labels_of(i.object))}
    written = [install for install in found.installs if install.name not in labelled]
    from_images = [
        _of_image(operator, found.workspace, labelled.get(operator.name), options)
        for operator in found.operators
        if operator.image
    ]
    there = frozenset(_installed_before(found.workspace, found.operators, options))
    asked = frozenset(operator.catalog.ref for operator in found.operators if operator.catalog is not None)
    left = found.workspace._replace(asked_catalogs=asked)
    begun = InitialInstalls(
        left, workspace.manifests, found.operators, (), labelled, (), there, former=frozenset(former)
    )
    # By name, since the order in which the controller sees them is unknown.
    for install in sorted((*written, *from_images), key=lambda each: each.name):
        begun = _applied(begun, install, options)
    return begun


def _taken_over(workspace: Workspace, operators: Iterable[Operator], options: Options) -> dict[str, str]:
    """The component keys of the Subscriptions of a state that the workspace has no more and Operators take over from,
    each with that of the Operator: it has the same package, catalog and channel (R-OPERATOR-13)."""
    if options.state is None:
        return {}
    there = {object_key(manifest.object) for manifest in workspace.manifests}
    taken: dict[str, str] = {}
    for key, manifest in options.state.objects.items():
        if (key.group, key.kind) != (OLM_GROUP, "Subscription") or key in there:
            continue
        spec = spec_of(manifest.object)
        package, channel = text(spec.get("name")), text(spec.get("channel"))
        catalog = CatalogKey(text(spec.get("sourceNamespace")), text(spec.get("source")))
        for operator in operators:
            updates = operator.catalog
            if updates is None or (updates.package, updates.ref) != (package, catalog):
                continue
            if not channel or updates.channel in ("", channel):
                taken[component_label_key(package, key.namespace)] = component_key(operator.name, options)
    return taken


def _with_keys(workspace: Workspace, keys: Mapping[str, str]) -> Workspace:
    """The workspace in which the components of Subscriptions are those of the Operators that take over."""
    if not keys:
        return workspace
    return workspace._replace(manifests=tuple(_with_key(manifest, keys) for manifest in workspace.manifests))


def _with_key(manifest: Manifest, keys: Mapping[str, str]) -> Manifest:
    labels = labels_of(manifest.object)
    new = {keys[label]: "" for label in labels if label in keys}
    if not new:
        return manifest
    metadata = {**manifest.object["metadata"], "labels": {**labels, **new}}
    return manifest._replace(object={**manifest.object, "metadata": metadata})


def _installed_before(
    workspace: Workspace, operators: Iterable[Operator], options: Options
) -> Iterator[NamespacedName]:
    """The CSVs of a workspace that Operators have installed already: they need no OperatorGroup now either."""
    keys = {component_key(each.name, options) for each in operators if each.catalog is not None or each.image}
    for manifest in workspace.manifests:
        if manifest.object["kind"] == CSV_KIND and keys & set(labels_of(manifest.object)):
            yield csv_name(manifest.object)


def _of_image(operator: Operator, workspace: Workspace, record: Install | None, options: Options) -> Install:
    """The Install of an Operator from an image (R-OPERATOR-18)."""
    item = {"type": "ManifestImage", "manifestImage": operator.image}
    content = content_of_image(workspace, operator.image, options)
    mapping: tuple[tuple[str, str], ...] = ()
    if content is not None:
        known = rest_mapper((*(m.object for m in workspace.manifests), *objects_of(content)))
        home = suggested_namespace(content)
        mapping = tuple((name, home) for name in namespaces_of([content], known) if name != home)
    labels = {component_key(operator.name, options): ""}
    obj = {"metadata": {"name": operator.name, "labels": labels}}
    approved = record is not None and record.approved
    content_items = (ContentItem(item, operator.image),)
    return Install(operator.name, obj, operator.source, content_items, mapping, approved, operator.name)


def _applied(begun: InitialInstalls, install: Install, options: Options) -> InitialInstalls:
    content = resolved(install, begun.workspace, options)
    manifests = begun.workspace.manifests
    if install.operator and not (content.missing or _exists(manifests, content.namespace)):
        content = content._replace(raw=(namespace_object(content.namespace), *content.raw))
    setting = Setting(
        objects=objects_in(manifests),
        groups=[m.object for m in manifests if m.object["kind"] == "OperatorGroup"],
        known=rest_mapper((*(m.object for m in manifests), *content.objects)),
        options=options,
        labels=component_labels(install.object),
    )
    csvs = {csv_name(obj) for obj in content.objects if obj["kind"] == CSV_KIND}
    if (install.operator or _is_generated(install, options)) and _runs(content, setting.labels, manifests):
        # Running content was approved once, and the cluster keeps it also if the content changes.
        there = (*begun.judged, approved_before(install, content, setting))
        return begun._replace(judged=there, installed=begun.installed | csvs)
    done = judged(install, content, setting)
    begun = begun._replace(judged=(*begun.judged, done))
    objects = (*done.made, *(content.raw if done.applied else ()))
    source = install.source
    more = tuple(Manifest(obj, source) for obj in objects) if source is not None else ()
    # What an Install brings wins over a manifest of the same name, as its apply would overwrite it.
    replaced = {object_key(manifest.object) for manifest in more}
    kept = tuple(m for m in manifests if object_key(m.object) not in replaced)
    begun = begun._replace(workspace=begun.workspace._replace(manifests=(*kept, *more)))
    if not done.applied:
        return begun
    return begun._replace(steps=(*begun.steps, *content.steps), installed=begun.installed | csvs)


def _is_generated(install: Install, options: Options) -> bool:
    """Return whether an Operator that the workspace no longer has left an Install in the state."""
    key, state = object_key(install.object), options.state
    return state is not None and key in state.objects and key not in state.applied


def _runs(content: Resolved, labels: Mapping[str, str], manifests: Iterable[Manifest]) -> bool:
    """Return whether a CSV of the content is among the manifests, with the component labels of its Operator
    (R-INSTALL-11)."""
    csvs = {csv_name(obj) for obj in content.objects if obj["kind"] == CSV_KIND}
    return any(
        manifest.object["kind"] == CSV_KIND
        and csv_name(manifest.object) in csvs
        and not labels.keys().isdisjoint(labels_of(manifest.object))
        for manifest in manifests
    )


def csv_name(csv: KubernetesObject) -> NamespacedName:
    """The namespace and name of a CSV."""
    return NamespacedName(namespace_of(csv), str(csv["metadata"]["name"]))


def component_labels(obj: KubernetesObject) -> dict[str, str]:
    """The labels of an object that make it a component of something."""
    labels = labels_of(obj)
    return {key: value for key, value in labels.items() if key.startswith("operators.coreos.com/")}


def namespace_object(name: str) -> KubernetesObject:
    """The Namespace that an operator is installed in, where there is none (R-OPERATOR-10)."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _exists(manifests: Sequence[Manifest], namespace: str) -> bool:
    return namespace in ALWAYS_THERE or any(
        (m.object["kind"], m.object["metadata"]["name"]) == ("Namespace", namespace)
        or m.object["metadata"].get("namespace") == namespace
        for m in manifests
    )


def objects_in(manifests: Iterable[Manifest]) -> dict[ObjectKey, Rendered]:
    """Manifests by identity, as the objects of a cluster."""
    return dict(_rendered(manifests))


def _rendered(manifests: Iterable[Manifest]) -> Iterator[tuple[ObjectKey, Rendered]]:
    for manifest in manifests:
        provenance = Provenance(Place(manifest.source), "manifests", "input", Origin.MANIFEST)
        yield object_key(manifest.object), Rendered(manifest.object, provenance)


def known_kinds(cluster: Cluster, contents: Iterable[Content]) -> RestMapper:
    """The kinds that a cluster serves once bundles are installed."""
    there = (found.object for found in cluster.objects.values())
    return rest_mapper((*there, *(obj for content in contents for obj in objects_of(content))))


def setting_of(scene: ApprovalContext, cluster: Cluster, outcome: OperatorResult, known: RestMapper) -> Setting:
    """Return the context in which an Operator's next Install is evaluated."""
    catalog = outcome.operator.catalog
    return Setting(
        objects=cluster.objects,
        groups=[group.object for group in cluster.groups.values()],
        known=known,
        options=scene.options,
        labels={component_key(outcome.operator.name, scene.options): ""},
        inherited=outcome.approvals,
        held=catalog is not None and catalog.manual,
    )


def install_for(
    scene: ApprovalContext,
    outcome: OperatorResult,
    selections: Sequence[Selection],
    contents: Sequence[Content],
    home: str,
    known: RestMapper,
    cluster: Cluster,
) -> tuple[Install, Resolved]:
    """The Install for what was selected, and its content: the bundles, the namespace, and the RBAC of the CSVs."""
    mapping = {each: home for each in namespaces_of(contents, known) if each != home}
    steps: list[Step] = []
    items: list[dict[str, Any]] = []
    for selection, content in zip(selections, contents, strict=True):
        candidate = selection.candidate
        text = properties_text(content.served if content.inline else candidate.properties)
        found = placed_steps(content, home, selection.replaces, text, candidate.catalog, known, cluster.profile)
        steps += calling(found, mapping)
        # Content that the catalog carries inline has no image to name, so the Install holds the objects themselves.
        if candidate.image:
            items.append({"type": "ManifestImage", "manifestImage": candidate.image})
        else:
            items += [{"type": "Raw", "raw": obj} for obj in objects_of(content)]
    # A namespace that is there may belong to somebody, and is not made part of an Install.
    raw = () if home in cluster.namespaces else (namespace_object(home),)
    generated = (*raw, *(_unowned(step.object) for step in steps if step.derived))
    items += [{"type": "Raw", "raw": obj} for obj in generated]
    name = selections[0].candidate.name
    record = scene.records.get(name)
    labels = {component_key(outcome.operator.name, scene.options): ""}
    install = Install(
        name=name,
        object={"metadata": {"name": name, "labels": labels}},
        source=outcome.operator.source,
        content=tuple(ContentItem(item, as_text(item.get("manifestImage"))) for item in items),
        namespaces=tuple(mapping.items()),
        approved=record is not None and record.approved,
        operator=outcome.operator.name,
    )
    pinned_items = tuple(pinned(item, scene.workspace, scene.options) for item in items)
    return install, Resolved(pinned_items, tuple(steps), raw, home)


def _unowned(obj: KubernetesObject) -> KubernetesObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
    return {**obj, "metadata": metadata}


def apply(cluster: Cluster, done: InstallDecision, options: Options) -> Cluster:
    """The cluster after the content of an Install was applied. Raises StepError."""
    cluster = with_objects(cluster, done, (*done.made, *done.content.raw))
    for step in done.content.steps:
        cluster = apply_step(cluster, step, StepTarget(done.content.namespace, "", options))
    csvs = {csv_name(step.object) for step in done.content.steps if step.kind == CSV_KIND}
    return cluster._replace(installed=cluster.installed | csvs)


def with_objects(cluster: Cluster, done: InstallDecision, objects: Sequence[KubernetesObject]) -> Cluster:
    """The cluster with further objects of an Install, if it lacks any of them; the same one if not."""
    source = done.install.source
    place = Place(source) if source is not None else None
    new = {
        object_key(obj): Rendered(obj, Provenance(place, "installs", "R-INSTALL-10"))
        for obj in objects
        if cluster.objects.get(object_key(obj)) is None
    }
    if not new:
        return cluster
    spaces = {key.name: {"kubernetes.io/metadata.name": key.name} for key in new if key.kind == "Namespace"}
    namespaces = dict(sorted({**cluster.namespaces, **spaces}.items()))
    return cluster._replace(objects=cluster.objects.updated(new), namespaces=namespaces)
