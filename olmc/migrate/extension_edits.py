"""What `olmc migrate --to olm-v1` changes in the files: the documents of OLM v0, and olmc.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from olmc.diagnostics.rules import migration as rules
from olmc.load.config import CONFIG_FILE, read_config
from olmc.load.files import has_file, read_text
from olmc.migrate.extension_moves import ExtensionMove, MoveReason, catalog_edit, catalog_for, cluster_catalog_object
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Report, Source
from olmc.model.objects import CatalogKey, KubernetesObject, labels_of, mapping, name_of, namespace_of, texts
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.workspace import Manifest, Workspace
from olmc.olm.naming import COPIED_FROM
from olmc.proposed.document_edits import with_settings
from olmc.proposed.migration import Edit, FileChange, carried_out, left_alone
from olmc.yaml import at
from olmc.yaml.edit import EditError, without_document


def edits(moves: Iterable[ExtensionMove], workspace: Workspace, cluster: Cluster) -> Iterator[Edit]:
    """The changes to all documents: of Subscriptions, their CatalogSources, and what is left without a use."""
    moves = list(moves)
    moving = {move.subscription.name for move in moves}
    beside: dict[NamespacedName, list[KubernetesObject]] = {}
    for key, of_key in _by_catalog(moves).items():
        source = cluster.catalogs.get(key)
        if source is None or source.manifest is None:
            continue
        others = [name for name, s in cluster.subscriptions.items() if name not in moving and s.catalog == key]
        if any(name_of(manifest.object) == key.name for manifest in workspace.extension_catalogs):
            continue
        if source.source is not None and not source.of_cluster and not others:
            yield catalog_edit(source, source.source)
        else:
            beside.setdefault(of_key[0].subscription.name, []).append(cluster_catalog_object(source))
    for move in moves:
        yield move.edit(beside.get(move.subscription.name, ()))
    for manifest in workspace.manifests:
        if _has_no_use(manifest, moves, moving, cluster):
            yield Edit(manifest.source, without_document)


def _by_catalog(moves: Iterable[ExtensionMove]) -> dict[CatalogKey, list[ExtensionMove]]:
    by_key: dict[CatalogKey, list[ExtensionMove]] = {}
    for move in moves:
        by_key.setdefault(move.subscription.catalog, []).append(move)
    return by_key


def _has_no_use(
    manifest: Manifest, moves: Iterable[ExtensionMove], moving: set[NamespacedName], cluster: Cluster
) -> bool:
    """Whether an object is OLM v0's, and only for operators that move: CSVs with what belongs to them, and groups."""
    obj = manifest.object
    name, kind = NamespacedName(namespace_of(obj), name_of(obj)), obj["kind"]
    if obj["apiVersion"].partition("/")[0] != OLM_GROUP:
        return False
    csvs = {move.member for move in moves}
    if kind == CSV_KIND and COPIED_FROM in labels_of(obj):
        return NamespacedName(labels_of(obj)[COPIED_FROM], name.name) in csvs
    if kind in (CSV_KIND, "OperatorCondition"):
        return name in csvs
    if kind == "InstallPlan":
        planned = texts(mapping(obj.get("spec")).get("clusterServiceVersionNames"))
        return bool(planned) and all(NamespacedName(name.namespace, csv) in csvs for csv in planned)
    if kind == "OperatorGroup":
        left = [csv for csv in cluster.members if csv.namespace == name.namespace and csv not in csvs]
        waiting = [s for s in cluster.subscriptions if s.namespace == name.namespace and s not in moving]
        return not left and not waiting and name.namespace in {csv.namespace for csv in csvs}
    return False


def unwritable(
    moves: list[ExtensionMove], workspace: Workspace, cluster: Cluster
) -> dict[NamespacedName, tuple[MoveReason, ...]]:
    """The Subscriptions whose documents olmc can't edit, or what goes with them, with the reason."""
    refused: dict[NamespacedName, tuple[MoveReason, ...]] = {}
    for move in moves:
        try:
            carried_out(list(edits([move], workspace, cluster)))
        except EditError as error:
            place = at(move.subscription.source, "spec")
            hint = "Write it in YAML, one object a document, and run olmc migrate again."
            refused[move.subscription.name] = (MoveReason("files", "R-V1-MIG-3", str(error), hint, place),)
    return refused


def with_catalogs(workspace: Workspace, moves: Iterable[ExtensionMove], cluster: Cluster) -> Workspace:
    """The workspace with the content of catalogs under the names that they have for OLM v1."""
    renamed = {}
    for key in _by_catalog(moves):
        name, _ = catalog_for(key, cluster)
        content = workspace.catalogs.get(key.name) or workspace.catalogs.get(f"{key.namespace}/{key.name}")
        if content is not None and name not in workspace.catalogs:
            renamed[name] = content
    return workspace._replace(catalogs={**workspace.catalogs, **renamed})


def _plans(moves: Iterable[ExtensionMove], cluster: Cluster) -> set[str]:
    """The InstallPlans of what moves, as olmc.yaml approves them."""
    listed = ((move, entry) for move in moves for entry in cluster.catalogs[move.subscription.catalog].entries)
    return {f"{move.namespace}/{entry.name}" for move, entry in listed if entry.package == move.name}


def config_change(
    root: Path, workspace: Workspace, moves: Iterable[ExtensionMove], cluster: Cluster, asked: str
) -> tuple[tuple[FileChange, ...], list[Diagnostic]]:
    """What olmc.yaml has to say for the profile that was asked for, and what a patch can't do."""
    findings = []
    for key in _by_catalog(moves):
        name, _ = catalog_for(key, cluster)
        if name != key.name and key.name in workspace.catalogs:
            hint = f"Rename catalogs/{key.name} to catalogs/{name}."
            text = f"the content of ClusterCatalog {name} is looked for in catalogs/{name}"
            findings.append(rules.BY_HAND.finding(None, text=text, hint=hint))
    config = read_config(root, Report())
    gone = _plans(moves, cluster)
    approved = [entry for entry in texts(config.get("approve")) if entry not in gone]
    settings: dict[str, Any] = {"olmVersion": asked} if asked not in ("", config.get("olmVersion")) else {}
    settings |= {"approve": approved} if approved != texts(config.get("approve")) else {}
    if not settings:
        return (), findings
    text = (read_text(root, CONFIG_FILE, Report()) if has_file(root, CONFIG_FILE) else "") or ""
    try:
        changed = with_settings(text, lambda _: settings)
        return ((FileChange(CONFIG_FILE, text, changed),) if changed != text else ()), findings
    except EditError as error:
        return (), [*findings, left_alone("olmc.yaml", Source(CONFIG_FILE, text), str(error))]
