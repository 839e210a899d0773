"""InstallPlans at work: run the steps in order until one fails (R-CAT-603 … R-CAT-607, R-CAT-700)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.catalog import named
from olmc.compiler.model.cluster import (
    APPROVAL,
    Cluster,
    InstallPlan,
    Step,
    Subscription,
    by_namespace,
    namespaced_name,
)
from olmc.compiler.model.operators import CSV_KIND, OperatorGroup
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.olm.naming import CORE_KINDS, CSV_API
from olmc.compiler.reconcile.apply_step import (
    CREATING,
    CREATING_OTHER,
    StepTarget,
    apply_step,
    mapper_of,
    missing_owner,
    unserved,
)
from olmc.compiler.reconcile.crds import StepError
from olmc.compiler.reconcile.install_strategy import missing_token
from olmc.compiler.reconcile.operator_groups import account_exists, no_group, with_targets
from olmc.compiler.resolver.steps import UndecodableCSVError, bundle_content, bundle_steps, content_of, csv_object
from olmc.k8s.api.rbac_access import access, access_refusal, escalation_refusal
from olmc.k8s.api.restmapper import BUILTIN, RestMapping
from olmc.k8s.api.selectors import NamedLabelIndex
from olmc.k8s.api.validation.field import Keys
from olmc.k8s.diagnostics import Cause, PlanFault
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    GVK,
    RBAC,
    CatalogKey,
    GroupKind,
    KubernetesObject,
    ObjectKey,
    Rendered,
    Request,
    Subject,
    as_text,
    crd_key,
    mapping,
    mappings,
    namespace_of,
    owner_references,
    spec_of,
    split_api_version,
    status_of,
)

if TYPE_CHECKING:
    from olmc.compiler.resolver.steps import Content


class _PlanStop(NamedTuple):
    """The stop of a plan: the number of the step, the problem in OLM's words and as data, and the keys that lead to it
    in the step's object."""

    step: int
    problem: str
    cause: Cause | None = None
    keys: Keys = ()


def with_plan(cluster: Cluster, plan: InstallPlan, options: Options) -> Cluster:
    """The cluster after an InstallPlan was made and, if it is approved, run as far as it gets."""
    plan = _looked_at(cluster, plan, options)
    cluster = _add(cluster, plan)
    if plan.cause is PlanFault.UNMANAGED or not plan.approved:
        return cluster
    problem = _missing_client(cluster, plan, options)
    if problem:
        return _add(cluster, _fail(plan, _PlanStop(plan.executed, problem, PlanFault.NO_TOKEN)))
    before = cluster
    cluster, stop = _run(cluster, plan, options)
    if plan.runs_twice:
        plan = plan._replace(written=stop.step if stop is not None else len(plan.steps))
        stop = _second_stop(before, cluster, plan, options) or stop
    if stop is None:
        complete = plan._replace(phase="Complete", message="", condition=("True", "", ""), executed=len(plan.steps))
        return _add(cluster, complete)
    # OLM retries a forbidden step without end, since an administrator may grant the right; any other step fails after a
    # minute (R-CAT-605, D23).
    if stop.cause is PlanFault.FORBIDDEN:
        text = f"retrying execution due to error: {stop.problem}"
        return _add(cluster, plan._replace(phase="Installing", message=text, executed=stop.step, cause=stop.cause))
    return _add(cluster, _fail(plan, stop))


def _looked_at(cluster: Cluster, plan: InstallPlan, options: Options) -> InstallPlan:
    """A plan as OLM goes on with it, or waits for its approval: with the account of the namespace's group, or with the
    reason why there is no group to act for (R-CAT-604)."""
    group = _managing_group(cluster, plan.namespace, options)
    if isinstance(group, str):
        return plan._replace(condition=("False", UNMANAGED, group), cause=PlanFault.UNMANAGED)
    # OLM empties the condition that a group was missing and never takes it back, nor the account of a former group.
    condition = ("False", "Unknown", "") if plan.condition and plan.condition[1] == UNMANAGED else plan.condition
    return plan._replace(account=_account(group) or plan.account, condition=condition, cause=None)


def _missing_client(cluster: Cluster, plan: InstallPlan, options: Options) -> str:
    """Return why OLM can't act as the account of a plan, in its words; "" if it can, or need not."""
    account = _account_name(plan)
    if account and not account_exists(cluster.objects, plan.namespace, account):
        return f'serviceaccounts "{account}" not found'
    return missing_token(plan.namespace, account, cluster.objects, options.kube_version, cluster.profile)


def _account_name(plan: InstallPlan) -> str:
    return plan.account["name"] if plan.account else ""


def _fail(plan: InstallPlan, stop: _PlanStop) -> InstallPlan:
    condition = ("False", "InstallComponentFailed", stop.problem)
    return plan._replace(
        phase="Failed", message=stop.problem, condition=condition, executed=stop.step, fault=stop.keys, cause=stop.cause
    )


def resume_plans(cluster: Cluster, options: Options) -> tuple[Cluster, tuple[InstallPlan, ...]]:
    """The cluster after the plans of the workspace that OLM goes on with, in their order, and those plans."""
    given = [
        plan
        for plan in sorted(cluster.plans.values(), key=lambda plan: (plan.namespace, plan.generation))
        if plan.given is not None
    ]
    ready = [plan for plan in given if plan.steps and (plan.phase == INSTALLING or _goes_on(plan, options))]
    for plan in ready:
        phase = INSTALLING if plan.phase == FAILED else plan.phase
        cluster = with_plan(cluster, plan._replace(approved=True, resumed=True, phase=phase), options)
    for plan in given:
        if plan.phase == WAITING and plan not in ready and plan not in cluster.approved and is_heeded(plan):
            cluster = _add(cluster, _waiting(plan, _looked_at(cluster, plan, options)))
    # Running replaced them in the cluster, where they are as far as they got.
    names = {namespaced_name(plan) for plan in ready}
    return cluster, tuple(plan for name, plan in cluster.plans.items() if name in names)


def _waiting(before: InstallPlan, after: InstallPlan) -> InstallPlan:
    """A given plan that waits for its approval, with its condition and its account in its object."""
    status = {**status_of(after.given or {})}
    if after.account != before.account:
        status["attenuatedServiceAccountRef"] = after.account
    if after.condition and after.condition != before.condition:
        state, reason, message = after.condition
        others = [item for item in mappings(status.get("conditions")) if item.get("type") != "Installed"]
        text = {"message": message} if message else {}
        status["conditions"] = [*others, {"type": "Installed", "status": state, "reason": reason, **text}]
    return after._replace(given={**(after.given or {}), "status": status})


def _goes_on(plan: InstallPlan, options: Options) -> bool:
    """Return whether OLM goes on with a given plan that it does not work on: one that is approved by now, or one that
    failed with the account of a group, which somebody may have given more rights since (R-CAT-605)."""
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/catalog/installplan_sync.go#L16-L76
    if plan.phase == FAILED:
        return bool(status_of(plan.given or {}).get("attenuatedServiceAccountRef"))
    return is_approved(plan, options)


def _add(cluster: Cluster, plan: InstallPlan) -> Cluster:
    name = namespaced_name(plan)
    others = cluster.plans.without(name) if name in cluster.plans else cluster.plans
    return cluster._replace(plans=others.updated({name: plan}))


def _managing_group(cluster: Cluster, namespace: str, options: Options) -> OperatorGroup | str:
    """The one OperatorGroup of a namespace that targets anything, or why there is none to act for, in OLM's words
    (R-CAT-604); descoped operators need none."""
    groups = cluster.groups_in(namespace)
    if not groups and options.descoped:
        return no_group(namespace)
    # Earlier plans may have made namespaces match, or brought the ServiceAccount (R-OG-1, R-OG-8).
    namespaces = NamedLabelIndex(cluster.namespaces)
    synced = (with_targets(group, namespaces, cluster.objects) for group in groups)
    managing = [group for group in synced if group.targets]
    if not managing:
        return "no operator group found that is managing this namespace"
    if len(managing) > 1:
        return f"more than one operator group(s) are managing this namespace count={len(managing)}"
    group = managing[0]
    if group.missing_account:
        of = f"sa={group.missing_account} operatorgroup={namespace}/{group.name}"
        return f"please make sure the service account exists. {of}"
    return group


def _account(group: OperatorGroup) -> dict[str, str] | None:
    reference = {"apiVersion": "v1", "kind": ACCOUNT, "name": group.account, "namespace": group.namespace, "uid": ""}
    return reference if group.account else None


def _run(cluster: Cluster, plan: InstallPlan, options: Options) -> tuple[Cluster, _PlanStop | None]:
    """The cluster after the steps that worked, and where the plan stops, None for nowhere."""
    target = StepTarget(plan.namespace, plan.name, options)
    for at, step in enumerate(plan.steps[plan.executed :], plan.executed):
        # OLM reads the content of each step again, also of one that it has carried out.
        if plan.lost is not None and plan.lost[0] <= at:
            return cluster, _PlanStop(at, plan.lost[1])
        forbidden = _forbidden(cluster, step, target, _account_name(plan))
        if forbidden:
            return cluster, _PlanStop(at, forbidden, PlanFault.FORBIDDEN)
        try:
            after = apply_step(cluster, step, target)
        except StepError as error:
            return cluster, _PlanStop(at, str(error), error.cause, error.keys)
        # Escalation shows only in the object as it would be stored; if there is any, nothing is.
        forbidden = _escalation(cluster, after, step, _subject(plan))
        if forbidden:
            return cluster, _PlanStop(at, forbidden, PlanFault.FORBIDDEN)
        cluster = after
    return cluster, None


def _second_stop(before: Cluster, after: Cluster, plan: InstallPlan, options: Options) -> _PlanStop | None:
    """Return where the second run of a plan stops before the first one did (R-CAT-700): at what it finds by then and
    may not update, or at resources that do not fit the versions that a CRD serves by then."""
    target = StepTarget(plan.namespace, plan.name, options)
    for at, step in enumerate(plan.steps[plan.executed : plan.written], plan.executed):
        forbidden = _forbidden(after, step, target, _account_name(plan))
        if forbidden:
            return _PlanStop(at, forbidden, PlanFault.FORBIDDEN)
        # Resources of a CRD that the plan brings come later.
        if step.kind == CRD_KIND and crd_key(step.name) in before.objects:
            try:
                apply_step(after, step, target)
            except StepError as error:
                return _PlanStop(at, str(error), error.cause, error.keys)
    return None


def _rest_mapping(cluster: Cluster, step: Step, options: Options) -> RestMapping:
    """Return the mapping of the object that a step writes. For OLM's and the core kinds the kind alone decides, and OLM
    ignores the group (observed-22)."""
    if step.kind not in CREATING:
        return mapper_of(cluster, options).mapping(step.gvk.group_kind)
    group = split_api_version(CORE_KINDS.get(step.kind, CSV_API))[0]
    return BUILTIN.mapping(GroupKind(group, step.kind))


def _forbidden(cluster: Cluster, step: Step, target: StepTarget, account: str) -> str:
    """The API server's refusal when the plan's service account lacks the right for a step (D23); CRDs are always
    written with OLM's own rights (R-CAT-720)."""
    if not account or step.kind == CRD_KIND or missing_owner(cluster, step, target):
        return ""
    subject = Subject(ACCOUNT, target.namespace, account)
    # OLM looks for such kinds before it writes, so no right is missing yet when it gives up.
    if step.kind not in CREATING and (step.kind not in cluster.profile.bundle_kinds or unserved(cluster, step, target)):
        return ""
    kind = _rest_mapping(cluster, step, target.options)
    scope = target.namespace if kind.namespaced else ""
    granted, doing = access(cluster.objects), CREATING.get(step.kind, CREATING_OTHER)
    refusal = access_refusal(granted, subject, Request("create", kind.group, kind.plural), scope)
    if refusal:
        return f"error {doing} {step.name}: {refusal}"
    existing = cluster.objects.get(ObjectKey(kind.group, step.kind, scope, step.name))
    for verb, doing in _updating(step, existing) if existing is not None else ():
        request = Request(verb, kind.group, kind.plural, step.name)
        refusal = access_refusal(granted, subject, request, scope)
        if refusal:
            return f"error {doing} {step.name}: {refusal}"
    return ""


def _updating(step: Step, existing: Rendered) -> Iterator[tuple[str, str]]:
    """Yield the verbs that OLM needs in addition to `create` for an existing object, each with the start of its
    error."""
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/catalog/step_ensurer.go#L117-L361
    if step.kind in (CSV_KIND, "Subscription"):
        return
    updating = CREATING.get(step.kind, CREATING_OTHER).replace("creating", "updating")
    if step.kind not in CREATING:
        yield "get", updating.replace("updating", "getting")
        yield "update", updating
        return
    yield "get", "getting older version of service account:" if step.kind == ACCOUNT else updating
    # OLM does not write an account that stays as it is; one that it derives from the CSV has nothing but its owner.
    owners = [ref.get("name") for ref in owner_references(existing.object)]
    if step.kind != ACCOUNT or not step.derived or step.resolving not in owners:
        yield "patch", updating


def _escalation(before: Cluster, after: Cluster, step: Step, subject: Subject | None) -> str:
    """Its refusal when the account would give away rights with a new Role or binding that it does not have itself."""
    if subject is None:
        return ""
    scope = subject.namespace if BUILTIN.mapping(GroupKind(RBAC, step.kind)).namespaced else ""
    key = ObjectKey(RBAC, step.kind, scope, step.name)
    if key not in after.objects or key in before.objects:
        return ""
    role = after.objects[key].object
    refusal = escalation_refusal(access(before.objects), subject, key, role, before.objects)
    return f"error {CREATING[step.kind]} {step.name}: {refusal}" if refusal else ""


def _subject(plan: InstallPlan) -> Subject | None:
    return Subject(ACCOUNT, plan.namespace, _account_name(plan)) if plan.account else None


WAITING, INSTALLING, FAILED = APPROVAL, "Installing", "Failed"
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
        account=mapping(status.get("attenuatedServiceAccountRef")) or None,
        cause=PlanFault.UNMANAGED if condition and condition[1] == UNMANAGED else None,
    )


def installed_condition(status: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Status, reason and message of an InstallPlan's condition Installed."""
    for item in mappings(status.get("conditions")):
        if item.get("type") == "Installed":
            return as_text(item.get("status")), as_text(item.get("reason")), as_text(item.get("message"))
    return None


def is_approved(plan: InstallPlan, options: Options) -> bool:
    """Return whether a given plan is approved, by itself or by an option (R-CAT-607)."""
    names = {f"{plan.namespace}/{csv}" for csv in plan.csvs}
    return plan.approved or "all" in options.approve or not names.isdisjoint(options.approve)


def is_heeded(plan: InstallPlan) -> bool:
    """Return whether OLM looks at a given plan: it skips one whose status has nothing to do, as those have that
    somebody wrote by hand, whether approved or not (R-CAT-607)."""
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/catalog/operator.go#L2103-L2106
    status = status_of(plan.given or {})
    return bool(status.get("plan") or status.get("bundleLookups"))


def written_steps(plan: InstallPlan) -> Iterator[tuple[str, str]]:
    """Kind and name of what a given plan says that it has written."""
    for resource, status in _entries(plan):
        if status in _WRITTEN:
            yield _kind(resource), as_text(resource.get("name"))


def with_steps(workspace: Workspace, cluster: Cluster) -> Cluster:
    """The cluster in which the given plans that are not finished have their steps, where their content can be found."""
    plans = {name: _with_steps(plan, workspace, cluster) for name, plan in cluster.plans.items()}
    return cluster._replace(plans=by_namespace(plans))


def _with_steps(plan: InstallPlan, workspace: Workspace, cluster: Cluster) -> InstallPlan:
    retried = plan.phase == FAILED and status_of(plan.given or {}).get("attenuatedServiceAccountRef")
    if plan.given is None or not (plan.phase in (WAITING, INSTALLING) or retried):
        return plan
    try:
        steps = tuple(_steps(plan, workspace, cluster))
    except _MissingContentError:
        return plan
    statuses = [status for _, status in _entries(plan)]
    executed = next((at for at, status in enumerate(statuses) if status not in _WRITTEN), len(statuses))
    return plan._replace(steps=steps, executed=executed, lost=_lost_content(plan, cluster))


def _lost_content(plan: InstallPlan, cluster: Cluster) -> tuple[int, str] | None:
    """The first step of a given plan whose unpacked content went with its CatalogSource, which owned the ConfigMap with
    it, and OLM's error (R-CAT-617)."""
    subscriptions = cluster.subscriptions.within(plan.namespace).values()
    refs = [mapping(item.get("catalogSourceRef")) for s in subscriptions for item in s.health]
    seen = {CatalogKey(as_text(ref.get("namespace")), as_text(ref.get("name"))) for ref in refs}
    removed = {
        *seen,
        *(s.catalog for s in subscriptions if s.had_catalog or _misses_catalog(s)),
    } - cluster.catalogs.keys()
    for at, item in enumerate(_items(plan)):
        manifest = _manifest(mapping(item.get("resource")))
        ref = [as_text(manifest.get(key)) for key in _REFERENCE]
        if ref[0] == "ConfigMap" and CatalogKey(ref[4], ref[3]) in removed:
            found = f"error finding unpacked bundle configmap for ref {{{' '.join(ref)}}}"
            return at, f'{found}: configmap "{ref[1]}" not found'
    return None


def _misses_catalog(subscription: Subscription) -> bool:
    """Return whether a Subscription says that its catalog is missing, or that there is none at all (R-CAT-651)."""
    missing = f"targeted catalogsource {subscription.catalog.namespace}/{subscription.catalog.name} missing"
    unhealthy = mapping(subscription.unhealthy)
    return unhealthy.get("reason") == "NoCatalogSourcesFound" or unhealthy.get("message") == missing


_REFERENCE = ("kind", "name", "namespace", "catalogSourceName", "catalogSourceNamespace", "replaces", "properties")
"""The keys of a reference to unpacked content, in OLM's order (R-CAT-615)."""


def _items(plan: InstallPlan) -> list[Mapping[str, Any]]:
    return mappings(status_of(plan.given or {}).get("plan"))


def _entries(plan: InstallPlan) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The resource and the status of every step of a given plan."""
    for item in _items(plan):
        yield mapping(item.get("resource")), as_text(item.get("status"))


def _kind(resource: Mapping[str, Any]) -> str:
    # OLM records a bundle's Secret under this name, since a step of kind Secret is something else (R-CAT-611).
    kind = as_text(resource.get("kind"))
    return "Secret" if kind == "BundleSecret" else kind


def _steps(plan: InstallPlan, workspace: Workspace, cluster: Cluster) -> Iterator[Step]:
    """The steps of a given plan; raises _MissingContentError."""
    unpacked: dict[str, dict[tuple[str, str], Step]] = {}
    for item in _items(plan):
        resolving, resource = as_text(item.get("resolving")), mapping(item.get("resource"))
        manifest = _manifest(resource)
        # The manifest of an unpacked step refers to a ConfigMap and is no object (R-CAT-615).
        if "catalogSourceName" not in manifest or "metadata" in manifest:
            yield _inline_step(resolving, resource, manifest)
            continue
        if resolving not in unpacked:
            steps = _unpack(plan, resolving, manifest, workspace, cluster)
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


def _unpack(
    plan: InstallPlan, csv: str, reference: Mapping[str, Any], workspace: Workspace, cluster: Cluster
) -> tuple[Step, ...]:
    key = CatalogKey(as_text(reference.get("catalogSourceNamespace")), str(reference["catalogSourceName"]))
    content = _content(plan, csv, key, workspace, cluster)
    if content is None:
        raise _MissingContentError
    replaces, properties = as_text(reference.get("replaces")), as_text(reference.get("properties"))
    try:
        unpacked = csv_object(content, plan.namespace, replaces, properties, cluster.profile)
    except UndecodableCSVError as error:
        raise _MissingContentError from error
    return bundle_steps(content._replace(inline=False), unpacked, key, cluster.profile)


def _content(plan: InstallPlan, csv: str, key: CatalogKey, workspace: Workspace, cluster: Cluster) -> Content | None:
    """Return the content of a bundle that a plan has unpacked, even if its catalog does not list it any more."""
    lookups = mappings(status_of(plan.given or {}).get("bundleLookups"))
    image = next((str(item.get("path")) for item in lookups if item.get("identifier") == csv), "")
    # It is unpacked once: what the image holds by now, or whether it can be pulled, is not asked (observed-40).
    if image in workspace.unpacked:
        return bundle_content(workspace.unpacked[image])
    source = cluster.catalogs.get(key)
    candidate = next(named(source.entries, csv), None) if source else None
    content = content_of(workspace, cluster, candidate) if candidate else None
    if content is not None:
        return content
    # Unpacked content stays after its entry leaves the catalog, and the plan still has the image (R-CAT-616).
    bundle = workspace.bundles.get(csv) or workspace.vendored.get(image)
    return bundle_content(bundle) if bundle is not None else None


def unpacked_by(plan: InstallPlan, workspace: Workspace) -> Iterator[tuple[str, Bundle]]:
    """Yield the bundles that an unfinished plan has unpacked, by image."""
    if plan.phase not in (WAITING, INSTALLING):
        return
    given = mappings(status_of(plan.given or {}).get("bundleLookups"))
    images = {as_text(item.get("path")): as_text(item.get("identifier")) for item in given}
    for image, csv in {**images, **{lookup.image: lookup.csv for lookup in plan.lookups}}.items():
        bundle = workspace.unpacked.get(image) or workspace.bundles.get(csv) or workspace.vendored.get(image)
        if bundle is not None:
            yield image, bundle


def _inline_step(resolving: str, resource: Mapping[str, Any], manifest: dict[str, Any]) -> Step:
    """A step whose manifest is the object; what OLM makes itself has no kind there (R-CAT-620, R-CAT-628)."""
    api = GVK(as_text(resource.get("group")), as_text(resource.get("version")), _kind(resource))
    api_version, kind = api.api_version, api.kind
    derived = "kind" not in manifest
    obj = {"apiVersion": api_version, "kind": kind, **manifest}
    # OLM writes an empty status into these manifests (R-CAT-620, R-CAT-640); the objects come without.
    if kind in (CSV_KIND, "Subscription"):
        obj.pop("status", None)
    key = CatalogKey(as_text(resource.get("sourceNamespace")), as_text(resource.get("sourceName")))
    return Step(resolving, key, api_version, kind, as_text(resource.get("name")), obj, None, derived=derived)
