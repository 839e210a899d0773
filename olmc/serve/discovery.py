"""Discovery: which groups, versions and resources there are, in the old form and in the aggregated one."""

from __future__ import annotations

import re
from typing import Any

from olmc.proposed.installed.resources import GROUP, RESOURCES, Resource
from olmc.serve.encoders import accepts
from olmc.version import __version__

AGGREGATED = "apidiscovery.k8s.io"
AGGREGATED_VERSIONS = ("v2", "v2beta1")
PATHS = (
    "/api",
    "/apis",
    f"/apis/{GROUP}",
    *(f"/apis/{resource.api_version}" for resource in RESOURCES),
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
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group()]}


def group() -> dict[str, Any]:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group()}


def _group() -> dict[str, Any]:
    versions = [{"groupVersion": resource.api_version, "version": resource.version} for resource in RESOURCES]
    return {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}


def resource_list(resource: Resource) -> dict[str, Any]:
    """The resources of a group version, sub-resources included."""
    listed = [
        {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": True,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
    ]
    listed += [
        {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": True,
            "kind": resource.kind,
            "verbs": ["get"],
        }
        for name in resource.parts
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": resource.api_version, "resources": listed}


def aggregated(media: str, groups: bool) -> dict[str, Any]:
    """All groups in one document; the legacy API (`groups` false) has none."""
    version = media.partition("v=")[2].partition(";")[0]
    versions = list(map(_version, RESOURCES))
    items = [{"metadata": {"name": GROUP}, "versions": versions}] if groups else []
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/{version}", "metadata": {}, "items": items}


def _version(resource: Resource) -> dict[str, Any]:
    kind = {"group": GROUP, "version": resource.version, "kind": resource.kind}
    shown: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.parts:
        parts = [{"subresource": name, "responseKind": kind, "verbs": ["get"]} for name in resource.parts]
        shown["subresources"] = parts
    return {"version": resource.version, "freshness": "Current", "resources": [shown]}


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
