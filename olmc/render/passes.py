"""The passes in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Report
from olmc.model.objects import ObjectKey, Rendered
from olmc.model.options import Options
from olmc.render.components import catalog_sources, label_components, report_unserved, stored_objects
from olmc.render.context import Pass, RenderContext, render_context
from olmc.render.csvs import copied_csv_configmaps, copied_csvs, csvs, olmconfig, owned_by_configmaps
from olmc.render.deployments import certificates, conditions, deployments
from olmc.render.install_plans import install_plans, subscriptions
from olmc.render.operator_groups import namespaces, operator_groups
from olmc.render.rbac import lifted_rbac, provided_apis, tenant_rbac
from olmc.render.selection import select_phase, select_review
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
    objects.clear()  # a fleet has many keys
    if rewrite is not None:
        complete = rewrite(context, complete)
    if options.purpose == "review":
        return select_review(complete, options)
    from olmc.render.apply import for_apply, report_large  # review output needs none of these

    selected = select_phase(tuple(for_apply(context, complete, report)), options, report)
    report_unserved(selected, cluster, options, report)
    report_large(selected, options, report)
    return selected
