"""Objects that the chosen version of Kubernetes would refuse, since it no longer serves their API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmc.kube.builtin_kinds import removal_of
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Report
from olmc.model.gvk import gvk_of
from olmc.model.location import Place
from olmc.model.objects import KubernetesObject, Rendered, identity
from olmc.model.options import Options
from olmc.rules import pipelines as rules
from olmc.yaml import locate


def report_unserved(objects: Iterable[Rendered], cluster: Cluster, options: Options, report: Report) -> None:
    """Report every object of the output, and of plans that did not get so far, whose API is gone."""
    for obj, place in (*_rendered(objects), *_not_executed(cluster)):
        api = gvk_of(obj)
        removal = removal_of(api, options.kube_version)
        if removal is None or api.path in options.apis:
            continue
        name = "/".join(part for part in identity(obj)[2:] if part)
        hint = (
            f"Write it as {removal.replacement}, or render for the version that your cluster has (--kube-version)."
            if removal.replacement
            else "Nothing has taken its place: leave it out (--exclude), and look at Pod Security admission."
        )
        found = locate(place.source, (*place.keys, "apiVersion")) if place is not None else None
        report.add(
            rules.NOT_SERVED.finding(
                found,
                version=options.kube_version,
                kind=api.kind,
                name=name,
                api=api.api_version,
                removed=removal.minor,
                hint=hint,
            )
        )


def _rendered(objects: Iterable[Rendered]) -> Iterator[tuple[KubernetesObject, Place | None]]:
    for found in objects:
        yield found.object, found.provenance.place


def _not_executed(cluster: Cluster) -> Iterator[tuple[KubernetesObject, Place | None]]:
    """The objects of the steps that a plan would still have to carry out."""
    for plan in cluster.plans:
        for step in plan.steps[plan.executed :] if plan.approved else ():
            if not step.derived:
                named = {**step.object, "apiVersion": step.api_version, "kind": step.kind}
                yield named, Place(step.source) if step.source else None
