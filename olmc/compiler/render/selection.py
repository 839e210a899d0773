"""Select the rendered objects that an output has, and put them in order."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.compiler.model.options import Options
from olmc.k8s.api.restmapper import chosen_kinds
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import Rendered, gvk_of, may_hold_secrets, redacted

# The order of kinds: a file applied from top to bottom works.
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


def _without_secrets(rendered: Rendered) -> Rendered:
    return rendered._replace(object=redacted(rendered.object)) if may_hold_secrets(rendered.object) else rendered


def select_review(objects: Iterable[Rendered], options: Options) -> tuple[Rendered, ...]:
    """The objects for review of the kinds that the options choose."""
    selected = select_objects(objects, options)
    # Review output is there to be read by many and committed; what is secret stays where it is.
    return selected if options.show_secrets else tuple(map(_without_secrets, selected))


def select_phase(applied: tuple[Rendered, ...], options: Options, report: Report) -> tuple[Rendered, ...]:
    """The objects for apply of the kinds and of the phase that the options choose; what has to wait is reported."""
    from olmc.compiler.render.apply_phases import in_phase, report_order

    selected = select_objects(applied, options)
    # The order is reported of the whole, since it is what the phases are there for; sizes and APIs of what is printed.
    report_order(selected, options, report)
    return in_phase(options.phase, selected, applied)


def select_objects(objects: Iterable[Rendered], options: Options) -> tuple[Rendered, ...]:
    """The objects of the kinds that the options choose, in apply order."""
    if options.include or options.exclude:
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
