"""The Installs that are made for Operators from catalogs, and how they are applied (R-OPERATOR-10, R-INSTALL-2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olmc.kube.restmapper import RestMapper, rest_mapper
from olmc.load.catalogs.properties import properties_text
from olmc.model.cluster import Cluster, Step
from olmc.model.location import Place
from olmc.model.objects import KubernetesObject, Provenance, Rendered, as_text, identity
from olmc.model.operators import CSV_KIND
from olmc.model.options import Options
from olmc.model.proposed import ContentItem, Install
from olmc.model.resolution import Pick
from olmc.proposed.content import Resolved, calling, namespaces_of, objects_of, pinned, placed_steps
from olmc.proposed.gate import Judged, Setting
from olmc.proposed.given_installs import component_key, csv_name, namespace_object
from olmc.proposed.outcome import Outcome, Scene
from olmc.resolve.steps import Content
from olmc.settle.stock import Target, with_step


def known_kinds(cluster: Cluster, contents: Iterable[Content]) -> RestMapper:
    """The kinds that a cluster serves once bundles are installed."""
    there = (found.object for found in cluster.stock.values())
    return rest_mapper((*there, *(obj for content in contents for obj in objects_of(content))))


def setting_of(scene: Scene, cluster: Cluster, outcome: Outcome, known: RestMapper) -> Setting:
    """What an Operator's next Install is judged in."""
    catalog = outcome.operator.catalog
    return Setting(
        stock=cluster.stock,
        groups=[group.object for group in cluster.groups],
        known=known,
        options=scene.options,
        labels={component_key(outcome.operator.name, scene.options): ""},
        inherited=outcome.approvals,
        held=catalog is not None and catalog.manual,
    )


def install_for(
    scene: Scene, outcome: Outcome, picks: Sequence[Pick], contents: Sequence[Content], home: str, known: RestMapper,
    cluster: Cluster,
) -> tuple[Install, Resolved]:  # fmt: skip
    """The Install for what was picked, and its content: the bundles, the namespace, and the RBAC of the CSVs."""
    mapping = {each: home for each in namespaces_of(contents, known) if each != home}
    steps: list[Step] = []
    items: list[dict[str, Any]] = []
    for pick, content in zip(picks, contents, strict=True):
        candidate = pick.candidate
        text = properties_text(content.served if content.inline else candidate.properties)
        found = placed_steps(content, home, pick.replaces, text, candidate.catalog, known, cluster.profile)
        steps += calling(found, mapping)
        if candidate.image:
            items.append({"type": "ManifestImage", "manifestImage": candidate.image})
        else:
            items += [{"type": "Raw", "raw": obj} for obj in objects_of(content)]
    raw = () if home in cluster.namespaces else (namespace_object(home),)
    generated = (*raw, *(_unowned(step.object) for step in steps if step.derived))
    items += [{"type": "Raw", "raw": obj} for obj in generated]
    name = picks[0].candidate.name
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


def apply(cluster: Cluster, done: Judged, options: Options) -> Cluster:
    """The cluster after the content of an Install was applied. Raises StepError."""
    cluster = with_objects(cluster, done, (*done.made, *done.content.raw))
    for step in done.content.steps:
        cluster = with_step(cluster, step, Target(done.content.namespace, "", options))
    csvs = {csv_name(step.object) for step in done.content.steps if step.kind == CSV_KIND}
    return cluster._replace(installed=cluster.installed | csvs)


def with_objects(cluster: Cluster, done: Judged, objects: Sequence[KubernetesObject]) -> Cluster:
    """The cluster with further objects of an Install, if it lacks any of them; the same one if not."""
    source = done.install.source
    place = Place(source) if source is not None else None
    new = {
        identity(obj): Rendered(obj, Provenance(place, "installs", "R-INSTALL-10"))
        for obj in objects
        if cluster.stock.get(identity(obj)) is None
    }
    if not new:
        return cluster
    spaces = {key.name: {"kubernetes.io/metadata.name": key.name} for key in new if key.kind == "Namespace"}
    namespaces = dict(sorted({**cluster.namespaces, **spaces}.items()))
    return cluster._replace(stock={**cluster.stock, **new}, namespaces=namespaces)
