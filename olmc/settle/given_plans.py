"""InstallPlans that lie in the workspace: what they say, and what is left of them to do (R-CAT-607, R-CAT-700)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from olmc.golang.unmarshal import unmarshal
from olmc.model.causes import PlanFault
from olmc.model.cluster import Cluster, InstallPlan, Step
from olmc.model.objects import CatalogKey, KubernetesObject
from olmc.model.options import Options
from olmc.model.values import mapping, mappings
from olmc.model.workspace import Workspace
from olmc.settle.builtin import is_cluster_scoped

if TYPE_CHECKING:
    from olmc.resolve.steps import Content

WAITING, INSTALLING = "RequiresApproval", "Installing"
UNMANAGED = "InstallCheckFailed"
"""The reason of the condition Installed while no OperatorGroup manages the namespace (R-CAT-604)."""

_WRITTEN = frozenset({"Created", "Present", "WaitingForApi"})
"""The statuses of steps that OLM does not carry out again (R-CAT-700)."""


class _MissingContentError(Exception):
    """A step's manifest can't be read, or refers to a bundle that is not in the workspace."""


def plan_of(obj: KubernetesObject) -> InstallPlan:
    """An InstallPlan that was there from the start, without its steps."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    generation, names = spec.get("generation"), spec.get("clusterServiceVersionNames")
    condition = installed_condition(status)
    return InstallPlan(
        namespace=obj["metadata"].get("namespace") or "",
        name=obj["metadata"]["name"],
        generation=generation if isinstance(generation, int) else 0,
        approval=str(spec.get("approval") or ""),
        approved=bool(spec.get("approved")),
        csvs=tuple(str(name) for name in names) if isinstance(names, list) else (),
        steps=(),
        lookups=(),
        owners=(),
        phase=str(status.get("phase") or ""),
        message=str(status.get("message") or ""),
        condition=condition,
        given=obj,
        cause=PlanFault.UNMANAGED if condition and condition[1] == UNMANAGED else None,
    )


def installed_condition(status: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Status, reason and message of an InstallPlan's condition Installed."""
    for item in mappings(status.get("conditions")):
        if item.get("type") == "Installed":
            return str(item.get("status") or ""), str(item.get("reason") or ""), str(item.get("message") or "")
    return None


def is_approved(plan: InstallPlan, options: Options) -> bool:
    """Whether a given plan is approved, by itself or by an option (R-CAT-607)."""
    names = {f"{plan.namespace}/{csv}" for csv in plan.csvs}
    return plan.approved or "all" in options.approve or not names.isdisjoint(options.approve)


def written_steps(plan: InstallPlan) -> Iterator[tuple[str, str]]:
    """Kind and name of what a given plan says that it has written."""
    for resource, status in _entries(plan):
        if status in _WRITTEN:
            yield _kind(resource), str(resource.get("name") or "")


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
    return mappings(mapping((plan.given or {}).get("status")).get("plan"))


def _entries(plan: InstallPlan) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The resource and the status of every step of a given plan."""
    for item in _items(plan):
        yield mapping(item.get("resource")), str(item.get("status") or "")


def _kind(resource: Mapping[str, Any]) -> str:
    kind = str(resource.get("kind") or "")
    return "Secret" if kind == "BundleSecret" else kind


def _steps(plan: InstallPlan, workspace: Workspace, cluster: Cluster) -> Iterator[Step]:
    """The steps of a given plan; raises _MissingContentError."""
    unpacked: dict[str, dict[tuple[str, str], Step]] = {}
    for item in _items(plan):
        resolving, resource = str(item.get("resolving") or ""), mapping(item.get("resource"))
        manifest = _manifest(resource)
        if not _is_reference(manifest):
            yield _inline(resolving, resource, manifest)
            continue
        if resolving not in unpacked:
            steps = _unpacked(plan, resolving, manifest, workspace, cluster)
            unpacked[resolving] = {(step.kind, step.name): step for step in steps}
        key = (_kind(resource), str(resource.get("name") or ""))
        if key not in unpacked[resolving]:
            raise _MissingContentError
        yield unpacked[resolving][key]


def _manifest(resource: Mapping[str, Any]) -> dict[str, Any]:
    try:
        manifest = unmarshal(str(resource.get("manifest") or ""))
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
    from olmc.resolve.steps import UndecodableCSVError, bundle_steps, csv_object  # few workspaces have such plans

    key = CatalogKey(str(reference["catalogSourceName"]), str(reference.get("catalogSourceNamespace") or ""))
    content = _content(plan, csv, key, workspace, cluster)
    if content is None:
        raise _MissingContentError
    replaces, properties = str(reference.get("replaces") or ""), str(reference.get("properties") or "")
    try:
        made = csv_object(content, plan.namespace, replaces, properties, cluster.profile)
    except UndecodableCSVError as error:
        raise _MissingContentError from error
    return bundle_steps(content._replace(inline=False), made, key, cluster.profile)


def _content(plan: InstallPlan, csv: str, key: CatalogKey, workspace: Workspace, cluster: Cluster) -> Content | None:
    """What a bundle holds that a plan has unpacked, though its catalog may not list it any more."""
    from olmc.resolve.contents import content_of
    from olmc.resolve.steps import bundle_content

    source = cluster.catalogs.get(key)
    candidate = next((each for each in source.entries if each.name == csv), None) if source else None
    found = content_of(workspace, cluster, candidate) if candidate else None
    if found is not None:
        return found
    lookups = mappings(mapping((plan.given or {}).get("status")).get("bundleLookups"))
    image = next((str(item.get("path")) for item in lookups if item.get("identifier") == csv), "")
    bundle = workspace.bundles.get(csv) or workspace.vendored.get(image)
    return bundle_content(bundle) if bundle is not None else None


def _inline(resolving: str, resource: Mapping[str, Any], manifest: dict[str, Any]) -> Step:
    """A step whose manifest is the object; what OLM makes itself has no kind there (R-CAT-620, R-CAT-628)."""
    group, version = str(resource.get("group") or ""), str(resource.get("version") or "")
    api_version, kind = f"{group}/{version}" if group else version, _kind(resource)
    derived = "kind" not in manifest
    obj = {"apiVersion": api_version, "kind": kind, **manifest}
    if kind in ("ClusterServiceVersion", "Subscription"):
        obj.pop("status", None)
    if derived and is_cluster_scoped(kind):
        obj["metadata"] = {name: value for name, value in mapping(obj.get("metadata")).items() if name != "namespace"}
    key = CatalogKey(str(resource.get("sourceName") or ""), str(resource.get("sourceNamespace") or ""))
    return Step(resolving, key, api_version, kind, str(resource.get("name") or ""), obj, None, derived=derived)
