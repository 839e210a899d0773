"""Discovery: which groups, versions and resources there are, in the old form and in the aggregated one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from olmc.integrations.serve.handlers import accepts
from olmc.targets.proposed.installed.resources import OLM_RESOURCES, RESOURCES, Resource
from olmc.version import __version__

AGGREGATED = "apidiscovery.k8s.io"
AGGREGATED_VERSIONS = ("v2", "v2beta1")
SERVED = (*RESOURCES, *OLM_RESOURCES)
"""All resources that are served."""
GROUPS = tuple(dict.fromkeys(resource.group for resource in SERVED))
API_VERSIONS = tuple(dict.fromkeys(resource.api_version for resource in SERVED))
PATHS = (
    "/api",
    "/apis",
    *(f"/apis/{name}" for name in GROUPS),
    *(f"/apis/{version}" for version in API_VERSIONS),
    "/healthz",
    "/livez",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
)


def aggregated_media(header: str) -> str:
    """The media type of aggregated discovery that an Accept header asks for, "" if it doesn't."""
    for version in AGGREGATED_VERSIONS:
        if accepts(header, "application/json", g=AGGREGATED, v=version, **{"as": "APIGroupDiscoveryList"}):
            return f"application/json;g={AGGREGATED};v={version};as=APIGroupDiscoveryList"
    return ""


def api_versions() -> dict[str, Any]:
    """The legacy API: none of it is here."""
    return {"kind": "APIVersions", "versions": [], "serverAddressByClientCIDRs": []}


def group_list() -> dict[str, Any]:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in GROUPS]}


def group(name: str) -> dict[str, Any]:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def _group(name: str) -> dict[str, Any]:
    ordered = [version for version in API_VERSIONS if version.startswith(f"{name}/")]
    versions = [{"groupVersion": each, "version": each.partition("/")[2]} for each in ordered]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(api_version: str) -> dict[str, Any]:
    """The resources of a group version, sub-resources included."""
    listed = [each for resource in SERVED if resource.api_version == api_version for each in _listed(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": listed}


def _listed(resource: Resource) -> Iterator[dict[str, Any]]:
    yield {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_short_names(resource),
    }
    for name in resource.parts:
        yield {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": ["get"],
        }


def _short_names(resource: Resource) -> dict[str, list[str]]:
    return {"shortNames": list(resource.short_names)} if resource.short_names else {}


def aggregated(media: str, groups: bool) -> dict[str, Any]:
    """All groups in one document; the legacy API (`groups` false) has none."""
    version = media.partition("v=")[2].partition(";")[0]
    items = [
        {
            "metadata": {"name": name},
            "versions": [_version(each) for each in API_VERSIONS if each.startswith(f"{name}/")],
        }
        for name in (GROUPS if groups else ())
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/{version}", "metadata": {}, "items": items}


def _version(api_version: str) -> dict[str, Any]:
    resources = [_described(resource) for resource in SERVED if resource.api_version == api_version]
    return {"version": api_version.partition("/")[2], "freshness": "Current", "resources": resources}


def _described(resource: Resource) -> dict[str, Any]:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    shown: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_short_names(resource),
    }
    if resource.parts:
        parts = [{"subresource": name, "responseKind": kind, "verbs": ["get"]} for name in resource.parts]
        shown["subresources"] = parts
    return shown


def version_info(kube_version: str) -> dict[str, str]:
    """The version of Kubernetes that the workspace is compiled for, and of olmc."""
    numbers = re.findall("[0-9]+", kube_version)
    major, minor = [*numbers, "", ""][:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{kube_version if kube_version.startswith('v') else f'v{kube_version}'}+olmc-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def root_paths() -> dict[str, Any]:
    return {"paths": list(PATHS)}
