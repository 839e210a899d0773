"""The passes in order, and the order of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Report
from olmc.model.objects import ObjectKey, Rendered, gvk_of
from olmc.model.options import Options
from olmc.model.secrets import may_hold_secrets, redacted
from olmc.render.components import catalog_sources, label_components, report_unserved, stored_objects
from olmc.render.context import Pass, RenderContext, render_context
from olmc.render.csvs import copied_csv_configmaps, copied_csvs, csvs, olmconfig, owned_by_configmaps
from olmc.render.deployments import certificates, conditions, deployments
from olmc.render.install_plans import install_plans, subscriptions
from olmc.render.operator_groups import namespaces, operator_groups
from olmc.render.rbac import lifted_rbac, provided_apis, tenant_rbac
from olmc.render.webhooks import apiservices, crds, webhooks

# Of two objects with one identity the first stays: what an install writes replaces what was there.
PASSES: tuple[Pass, ...] = (
    namespaces,
    olmconfig,
    catalog_sources,
    operator_groups,
    subscriptions,
    install_plans,
    csvs,
    crds,
    deployments,
    certificates,
    apiservices,
    webhooks,
    stored_objects,
    provided_apis,
    lifted_rbac,
    tenant_rbac,
    conditions,
    copied_csvs,
    copied_csv_configmaps,
)

# What has to exist before what: a file applied from top to bottom works.
_KIND_ORDER = {
    kind: rank
    for rank, kind in enumerate(
        "Namespace ResourceQuota LimitRange PriorityClass CustomResourceDefinition OLMConfig CatalogSource "
        "OperatorGroup Subscription InstallPlan ClusterServiceVersion Operator OperatorCondition ServiceAccount "
        "Secret ConfigMap StorageClass PersistentVolume PersistentVolumeClaim ClusterRole ClusterRoleBinding Role "
        "RoleBinding Issuer Certificate Service NetworkPolicy PodDisruptionBudget Deployment StatefulSet DaemonSet "
        "Job CronJob APIService".split()
    )
}
# A webhook that is there before what answers it lets the API server refuse all that comes after.
_LAST_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


Rewrite = Callable[[RenderContext, Sequence[Rendered]], Sequence[Rendered]]


def render(
    cluster: Cluster, options: Options, report: Report, further: Sequence[Pass] = (), rewrite: Rewrite | None = None
) -> tuple[Rendered, ...]:
    """All objects that a settled cluster holds, or what can be applied without OLM, in apply order.

    Each object is there once; `include` and `exclude` of the options are applied. `further` passes run after the
    others, `rewrite` changes what all of them give.
    """
    context = render_context(cluster, options)
    objects: dict[ObjectKey, Rendered] = {}
    for render_kind in (*PASSES, *further):
        for obj in render_kind(context):
            objects.setdefault(obj.identity, obj)
    # Component labels and the owners of what belongs to copies concern objects of every kind, so they wait until all of
    # them are there.
    complete: Sequence[Rendered] = owned_by_configmaps(context, label_components(context, list(objects.values())))
    if rewrite is not None:
        complete = rewrite(context, complete)
    if options.purpose == "review":
        selected = select_objects(complete, options)
        # Review output is there to be read by many and committed; what is secret stays where it is.
        return selected if options.show_secrets else tuple(map(_without_secrets, selected))
    from olmc.render.apply import for_apply, report_large  # review output needs none of these

    selected = select_phase(tuple(for_apply(context, complete, report)), options, report)
    report_unserved(selected, cluster, options, report)
    report_large(selected, options, report)
    return selected


def _without_secrets(rendered: Rendered) -> Rendered:
    return rendered._replace(object=redacted(rendered.object)) if may_hold_secrets(rendered.object) else rendered


def select_phase(applied: tuple[Rendered, ...], options: Options, report: Report) -> tuple[Rendered, ...]:
    """The objects for apply of the kinds and of the phase that the options choose; what has to wait is reported."""
    from olmc.render.apply import report_order
    from olmc.render.apply_phases import in_phase

    selected = select_objects(applied, options)
    # The order is reported of the whole, since it is what the phases are there for; sizes and APIs of what is printed.
    report_order(selected, options, report)
    return in_phase(options.phase, selected, applied)


def select_objects(objects: Iterable[Rendered], options: Options) -> tuple[Rendered, ...]:
    """The objects of the kinds that the options choose, in apply order."""
    if options.include or options.exclude:
        from olmc.kube.restmapper import chosen_kinds  # most runs choose no kinds

        objects = tuple(objects)
        kinds = chosen_kinds((rendered.object for rendered in objects), options.include, options.exclude)
        objects = (rendered for rendered in objects if gvk_of(rendered.object).group_kind in kinds)
    return tuple(sorted(objects, key=apply_order))


def apply_order(rendered: Rendered) -> tuple[int, str, str, str, str]:
    """Sort key: the kind's place in apply order, then kind, namespace, name and group."""
    identity = rendered.identity
    # Custom resources, of which nothing is known, come behind all kinds that may define or serve them.
    last = len(_KIND_ORDER) + 1 + (identity.kind in _LAST_KINDS)
    rank = _KIND_ORDER.get(identity.kind, last)
    return (rank, identity.kind, identity.namespace, identity.name, identity.group)
