"""Where workloads have their pods: all of them where a Deployment has its template, so that they are compared alike."""

from __future__ import annotations

from collections.abc import Mapping

from olmc.k8s.objects import KubernetesObject, mapping, spec_of
from olmc.review.diff.deltas import Path

_TEMPLATE = ("spec", "template")
# Where the template is written of those that have it elsewhere; a Pod is all that its template would be.
_PLACES: Mapping[str, tuple[str, ...]] = {"CronJob": ("spec", "jobTemplate", "spec", "template"), "Pod": ()}


def with_template(obj: KubernetesObject) -> KubernetesObject:
    """A workload with its pods in `spec.template`; any other one as it is."""
    spec = spec_of(obj)
    if obj.get("kind") == "Pod":
        return {**obj, "spec": {"template": {"spec": spec}}}
    if obj.get("kind") != "CronJob":
        return obj
    job = mapping(spec.get("jobTemplate"))
    of_job = mapping(job.get("spec"))
    left = {**job, "spec": {key: value for key, value in of_job.items() if key != "template"}}
    return {**obj, "spec": {**spec, "jobTemplate": left, "template": of_job.get("template")}}


def written_path(kind: str, path: Path) -> Path:
    """Where something that `with_template` has at a path is in the object as it was written."""
    is_moved = kind in _PLACES and path[: len(_TEMPLATE)] == _TEMPLATE
    return (*_PLACES[kind], *path[len(_TEMPLATE) :]) if is_moved else path
