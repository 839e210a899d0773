"""InstallPlans that lie in the workspace: what they say, and what is left of them to do (R-CAT-607, R-CAT-700)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from olmc.gojson import unmarshal
from olmc.model.cluster import Cluster, InstallPlan, Step
from olmc.model.diagnostics import PlanFault
from olmc.model.objects import (
    GVK,
    CatalogKey,
    KubernetesObject,
    as_text,
    mapping,
    mappings,
    namespace_of,
    spec_of,
    status_of,
)
from olmc.model.options import Options
from olmc.model.workspace import Workspace

if TYPE_CHECKING:
    from olmc.resolver.steps import Content

WAITING, INSTALLING = "RequiresApproval", "Installing"
UNMANAGED = "InstallCheckFailed"
"""The reason of the condition Installed while no OperatorGroup manages the namespace (R-CAT-604)."""

_WRITTEN = frozenset({"Created", "Present", "WaitingForApi"})
"""The statuses of steps that OLM does not carry out again (R-CAT-700)."""


class _MissingContentError(Exception):
    """A step's manifest can't be read, or refers to a bundle that is not in the workspace."""


def plan_of(obj: KubernetesObject) -> InstallPlan:
    """An InstallPlan that was there from the start, without its steps."""
    spec, status = spec_of(obj), status_of(obj)
    generation, names = spec.get("generation"), spec.get("clusterServiceVersionNames")
    condition = installed_condition(status)
    return InstallPlan(
        namespace=namespace_of(obj),
        name=obj["metadata"]["name"],
        generation=generation if isinstance(generation, int) else 0,
        approval=as_text(spec.get("approval")),
        approved=bool(spec.get("approved")),
        csvs=tuple(str(name) for name in names) if isinstance(names, list) else (),
        steps=(),
        lookups=(),
        owners=(),
        phase=as_text(status.get("phase")),
        message=as_text(status.get("message")),
        condition=condition,
        given=obj,
        cause=PlanFault.UNMANAGED if condition and condition[1] == UNMANAGED else None,
    )


def installed_condition(status: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Status, reason and message of an InstallPlan's condition Installed."""
    for item in mappings(status.get("conditions")):
        if item.get("type") == "Installed":
            return as_text(item.get("status")), as_text(item.get("reason")), as_text(item.get("message"))
    return None


def is_approved(plan: InstallPlan, options: Options) -> bool:
    """Whether a given plan is approved, by itself or by an option (R-CAT-607)."""
    names = {f"{plan.namespace}/{csv}" for csv in plan.csvs}
    return plan.approved or "all" in options.approve or not names.isdisjoint(options.approve)


def written_steps(plan: InstallPlan) -> Iterator[tuple[str, str]]:
    """Kind and name of what a given plan says that it has written."""
    for resource, status in _entries(plan):
        if status in _WRITTEN:
            yield _kind(resource), as_text(resource.get("name"))


def with_steps(workspace: Workspace, cluster: Cluster) -> Cluster:
    """The cluster in which the given plans that are not finished have their steps, where their content can be found."""
    plans = tuple(_with_steps(plan, workspace, cluster) for plan in cluster.plans)
    return cluster._replace(plans=plans)


def _with_steps(plan: InstallPlan, workspace: Workspace, cluster: Cluster) -> InstallPlan:
    if plan.given is None or plan.phase not in (WAITING, INSTALLING):
        return plan
    try:
        steps = tuple(_steps(plan, workspace, cluster))
    except _MissingContentError:
        return plan
    statuses = [status for _, status in _entries(plan)]
    done = next((at for at, status in enumerate(statuses) if status not in _WRITTEN), len(statuses))
    return plan._replace(steps=steps, executed=done)


def _items(plan: InstallPlan) -> list[Mapping[str, Any]]:
    return mappings(status_of(plan.given or {}).get("plan"))


def _entries(plan: InstallPlan) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The resource and the status of every step of a given plan."""
    for item in _items(plan):
        yield mapping(item.get("resource")), as_text(item.get("status"))


def _kind(resource: Mapping[str, Any]) -> str:
    kind = as_text(resource.get("kind"))
    return "Secret" if kind == "BundleSecret" else kind


def _steps(plan: InstallPlan, workspace: Workspace, cluster: Cluster) -> Iterator[Step]:
    """The steps of a given plan; raises _MissingContentError."""
    unpacked: dict[str, dict[tuple[str, str], Step]] = {}
    for item in _items(plan):
        resolving, resource = as_text(item.get("resolving")), mapping(item.get("resource"))
        manifest = _manifest(resource)
        if not _is_reference(manifest):
            yield _inline(resolving, resource, manifest)
            continue
        if resolving not in unpacked:
            steps = _unpacked(plan, resolving, manifest, workspace, cluster)
            unpacked[resolving] = {(step.kind, step.name): step for step in steps}
        key = (_kind(resource), as_text(resource.get("name")))
        if key not in unpacked[resolving]:
            raise _MissingContentError
        yield unpacked[resolving][key]


def _manifest(resource: Mapping[str, Any]) -> dict[str, Any]:
    try:
        manifest = unmarshal(as_text(resource.get("manifest")))
    except ValueError as error:
        raise _MissingContentError from error
    if not isinstance(manifest, dict):
        raise _MissingContentError
    return manifest


def _is_reference(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest refers to an unpacked bundle (R-CAT-615)."""
    return "catalogSourceName" in manifest and "metadata" not in manifest


def _unpacked(
    plan: InstallPlan, csv: str, reference: Mapping[str, Any], workspace: Workspace, cluster: Cluster
) -> tuple[Step, ...]:
    from olmc.resolver.steps import UndecodableCSVError, bundle_steps, csv_object  # few workspaces have such plans

    key = CatalogKey(str(reference["catalogSourceName"]), as_text(reference.get("catalogSourceNamespace")))
    content = _content(plan, csv, key, workspace, cluster)
    if content is None:
        raise _MissingContentError
    replaces, properties = as_text(reference.get("replaces")), as_text(reference.get("properties"))
    try:
        made = csv_object(content, plan.namespace, replaces, properties, cluster.profile)
    except UndecodableCSVError as error:
        raise _MissingContentError from error
    return bundle_steps(content._replace(inline=False), made, key, cluster.profile)


def _content(plan: InstallPlan, csv: str, key: CatalogKey, workspace: Workspace, cluster: Cluster) -> Content | None:
    """What a bundle holds that a plan has unpacked, though its catalog may not list it any more."""
    from olmc.resolver.steps import bundle_content, content_of

    source = cluster.catalogs.get(key)
    candidate = next((each for each in source.entries if each.name == csv), None) if source else None
    found = content_of(workspace, cluster, candidate) if candidate else None
    if found is not None:
        return found
    lookups = mappings(status_of(plan.given or {}).get("bundleLookups"))
    image = next((str(item.get("path")) for item in lookups if item.get("identifier") == csv), "")
    bundle = workspace.bundles.get(csv) or workspace.vendored.get(image)
    return bundle_content(bundle) if bundle is not None else None


def _inline(resolving: str, resource: Mapping[str, Any], manifest: dict[str, Any]) -> Step:
    """A step whose manifest is the object; what OLM makes itself has no kind there (R-CAT-620, R-CAT-628)."""
    api = GVK(as_text(resource.get("group")), as_text(resource.get("version")), _kind(resource))
    api_version, kind = api.api_version, api.kind
    derived = "kind" not in manifest
    obj = {"apiVersion": api_version, "kind": kind, **manifest}
    if kind in ("ClusterServiceVersion", "Subscription"):
        obj.pop("status", None)
    key = CatalogKey(as_text(resource.get("sourceName")), as_text(resource.get("sourceNamespace")))
    return Step(resolving, key, api_version, kind, as_text(resource.get("name")), obj, None, derived=derived)
