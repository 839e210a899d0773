"""Names that the API server refuses, by kind."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.golang import is_dns1123_label, is_dns1123_subdomain
from olmc.kube.api_validation.names import path_segment_problems
from olmc.load.json_schema import Problem
from olmc.model.gvk import gvk_of
from olmc.model.objects import KubernetesObject
from olmc.model.operators import OLM_GROUP

_LABELS = frozenset({("", "Namespace"), ("", "Service")})
# Groups whose objects are all named like a DNS subdomain; what extension API servers allow is not known here.
_SUBDOMAINS = frozenset({"", "apps", OLM_GROUP, "apiextensions.k8s.io"})


def name_problems(obj: KubernetesObject) -> Iterator[Problem]:
    """What is wrong with the name of an object, which is a text, and with that of its namespace."""
    metadata = obj["metadata"]
    for problem in _problems_of_name(obj, metadata["name"]):
        yield Problem(("metadata", "name"), _invalid(metadata["name"], problem))
    namespace = metadata.get("namespace")
    if isinstance(namespace, str) and namespace:
        for problem in is_dns1123_label(namespace):
            yield Problem(("metadata", "namespace"), _invalid(namespace, problem))


def _problems_of_name(obj: KubernetesObject, name: str) -> list[str]:
    group, kind = gvk_of(obj).group_kind
    if (group, kind) in _LABELS:
        return is_dns1123_label(name)
    if group in _SUBDOMAINS:
        return is_dns1123_subdomain(name)
    return path_segment_problems(name)


def _invalid(value: str, problem: str) -> str:
    return f'Invalid value: "{value}": {problem}'
