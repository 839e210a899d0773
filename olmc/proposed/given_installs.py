"""Installs that say themselves what they install: those that users write, and those of Operators from an image.

They are applied before the cluster settles, so that what they bring is resolved and judged like everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.golang import component_label_key
from olmc.kube.restmapper import rest_mapper
from olmc.load.v2alpha1 import read_v2alpha1
from olmc.model.cluster import Name, Step
from olmc.model.diagnostic import Report
from olmc.model.location import Place
from olmc.model.objects import (
    Identity,
    KubernetesObject,
    Origin,
    Provenance,
    Rendered,
    identity,
    labels_of,
    namespace_of,
)
from olmc.model.operators import CSV_KIND
from olmc.model.options import Options
from olmc.model.proposed import ContentItem, Install, Operator
from olmc.model.workspace import Manifest, Workspace
from olmc.proposed.content import content_of_image, namespaces_of, objects_of, resolved, suggested_namespace
from olmc.proposed.gate import Judged, Setting, judged

SEED_KEY = "operators.coreos.com/operator:v2alpha1/"


class Begun(NamedTuple):
    """What the proposed APIs make of a workspace before anything settles.

    `workspace` has what the Installs in `judged` bring as objects; `steps` carry out the bundles among it, and
    `installed` are its CSVs, and those that Operators had installed before. `operators` are left to be resolved.
    `records` are Installs that approve generated ones, by name; `given` are the manifests as they were.
    """

    workspace: Workspace
    given: tuple[Manifest, ...]
    operators: tuple[Operator, ...]
    judged: tuple[Judged, ...]
    records: Mapping[str, Install]
    steps: tuple[Step, ...]
    installed: frozenset[Name]


def component_key(name: str, options: Options) -> str:
    """The label key of the components of an Operator (R-OPERATOR-3)."""
    return SEED_KEY + name if options.component_label == "seed" else component_label_key(name, "")


def begin(workspace: Workspace, options: Options, report: Report) -> Begun:
    """Reads the Operators and Installs of a workspace and applies those that need no resolution."""
    found = read_v2alpha1(workspace, report)
    keys = {component_key(operator.name, options) for operator in found.operators}
    labelled = {i.name: i for i in found.installs if keys & set(labels_of(i.object))}
    written = [install for install in found.installs if install.name not in labelled]
    from_images = [
        _of_image(operator, found.workspace, labelled.get(operator.name), options)
        for operator in found.operators
        if operator.image
    ]
    there = frozenset(_installed_before(found.workspace, found.operators, options))
    begun = Begun(found.workspace, workspace.manifests, found.operators, (), labelled, (), there)
    for install in sorted((*written, *from_images), key=lambda each: each.name):
        begun = _applied(begun, install, options)
    return begun


def _installed_before(workspace: Workspace, operators: Iterable[Operator], options: Options) -> Iterator[Name]:
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


def _applied(begun: Begun, install: Install, options: Options) -> Begun:
    content = resolved(install, begun.workspace, options)
    manifests = begun.workspace.manifests
    if install.operator and not _exists(manifests, content.namespace):
        content = content._replace(raw=(namespace_object(content.namespace), *content.raw))
    setting = Setting(
        stock=stock_of(manifests),
        groups=[m.object for m in manifests if m.object["kind"] == "OperatorGroup"],
        known=rest_mapper((*(m.object for m in manifests), *content.objects)),
        options=options,
        labels=component_labels(install.object),
    )
    done = judged(install, content, setting)
    begun = begun._replace(judged=(*begun.judged, done))
    objects = (*done.made, *(content.raw if done.applied else ()))
    source = install.source
    more = tuple(Manifest(obj, source) for obj in objects) if source is not None else ()
    replaced = {identity(manifest.object) for manifest in more}
    kept = tuple(m for m in manifests if identity(m.object) not in replaced)
    begun = begun._replace(workspace=begun.workspace._replace(manifests=(*kept, *more)))
    if not done.applied:
        return begun
    csvs = {csv_name(obj) for obj in content.objects if obj["kind"] == CSV_KIND}
    return begun._replace(steps=(*begun.steps, *content.steps), installed=begun.installed | csvs)


def csv_name(csv: KubernetesObject) -> Name:
    """The namespace and name of a CSV."""
    return Name(namespace_of(csv), str(csv["metadata"]["name"]))


def component_labels(obj: KubernetesObject) -> dict[str, str]:
    """The labels of an object that make it a component of something."""
    labels = labels_of(obj)
    return {key: value for key, value in labels.items() if key.startswith("operators.coreos.com/")}


def namespace_object(name: str) -> KubernetesObject:
    """The Namespace that an operator is installed in, where there is none (R-OPERATOR-10)."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _exists(manifests: Sequence[Manifest], namespace: str) -> bool:
    return any(
        (m.object["kind"], m.object["metadata"]["name"]) == ("Namespace", namespace)
        or m.object["metadata"].get("namespace") == namespace
        for m in manifests
    )


def stock_of(manifests: Iterable[Manifest]) -> dict[Identity, Rendered]:
    """Manifests by identity, as the objects of a cluster."""
    return dict(_rendered(manifests))


def _rendered(manifests: Iterable[Manifest]) -> Iterator[tuple[Identity, Rendered]]:
    for manifest in manifests:
        provenance = Provenance(Place(manifest.source), "manifests", "input", Origin.MANIFEST)
        yield identity(manifest.object), Rendered(manifest.object, provenance)
