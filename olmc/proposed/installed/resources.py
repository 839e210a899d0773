"""The resources of packages.operators.coreos.com: names, columns, and the objects that register their API server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject
from olmc.model.operators import CSV_KIND
from olmc.model.options import Profile
from olmc.olm.naming import CSV_API

GROUP = "packages.operators.coreos.com"


class PrintedColumn(NamedTuple):
    """A column of a resource's table; those with a `priority` above 0 are for `-o wide`."""

    name: str
    description: str
    priority: int = 0


class Resource(NamedTuple):
    """A read-only resource: what discovery and clients call it, and how it is shown.

    `verbs` is what can be done with it, `fields` what field selectors may use, `parts` are its sub-resources.
    """

    version: str
    kind: str
    plural: str
    singular: str
    description: str
    columns: tuple[PrintedColumn, ...]
    verbs: tuple[str, ...]
    fields: tuple[str, ...]
    parts: tuple[str, ...] = ()
    group: str = GROUP
    namespaced: bool = True
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def qualified(self) -> str:
        """The name that messages use: `installed.packages.operators.coreos.com`."""
        return f"{self.plural}.{self.group}"


class Listed(NamedTuple):
    """An object of a list and its cells, one for each column of the resource."""

    object: KubernetesObject
    cells: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.object["metadata"].get("namespace") or "")


INSTALLED = Resource(
    "v2alpha1",
    "Installed",
    "installed",
    "installed",
    "Installed is a resource generated from installed operator CSVs and their Subscriptions",
    (
        PrintedColumn("NAME", "The name of the operator's ClusterServiceVersion"),
        PrintedColumn("INSTALLATION_NAMESPACE", "The namespace that the operator is installed in"),
        PrintedColumn("CHANNEL", "The channel that the Subscription follows"),
        PrintedColumn("CURRENT_VERSION", "The version that is installed"),
        PrintedColumn("TARGET_VERSION", "The version that the Subscription is going to install"),
        PrintedColumn("PHASE", "The phase of the ClusterServiceVersion"),
        PrintedColumn("REASON", "Why it is in this phase", 1),
        PrintedColumn("SUBSCRIPTION", "The Subscription that the operator is installed by", 1),
        PrintedColumn("CATALOG", "The namespace and name of the CatalogSource that it comes from", 1),
    ),
    ("get", "list", "watch"),
    ("metadata.name", "metadata.namespace"),
)
PACKAGE_MANIFESTS = Resource(
    "v1",
    "PackageManifest",
    "packagemanifests",
    "packagemanifest",
    "A PackageManifest is a resource generated from existing CatalogSources and their ConfigMaps",
    (
        PrintedColumn("Name", "The name of the package"),
        PrintedColumn("Catalog", "The display name of the CatalogSource"),
        PrintedColumn("Age", "How long the CatalogSource exists"),
        PrintedColumn("Default Channel", "The channel that a Subscription without one follows", 1),
        PrintedColumn("Current CSV", "The head of the default channel", 1),
    ),
    ("get", "list"),
    ("metadata.name",),
    ("icon",),
)
RESOURCES = (PACKAGE_MANIFESTS, INSTALLED)


def resource_called(name: str, resources: Iterable[Resource]) -> Resource | None:
    """The resource that a user means as kubectl takes it: plural, singular or short name, with or without group and
    version."""
    for resource in resources:
        for short in (resource.plural, resource.singular, *resource.short_names):
            end = f".{resource.group}"
            if name.lower() in (short, f"{short}{end}", f"{short}.{resource.version}{end}"):
                return resource
    return None


def as_list(resource: Resource, items: Iterable[KubernetesObject], version: str) -> KubernetesObject:
    """The list object of a resource; `version` is its resourceVersion, "" for none."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.list_kind,
        "metadata": {"resourceVersion": version},
        "items": list(items),
    }


PORT = 5443
_VERSION = "0.46.0"
_IMAGE = f"quay.io/operator-framework/olm:v{_VERSION}"
_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


def packageserver_csv(profile: Profile) -> KubernetesObject:
    """packageserver's CSV with both versions of the API: owned API services, and a Deployment for each (R-INST-10)."""
    # The proposal has dots in these names. Since OLM names the Services of Deployments after them, none may be there.
    mark = "-" if profile.cert_naming["per"] == "deployment" else "."
    names = {resource: f"packageserver{mark}{resource.version}" for resource in RESOURCES}
    return {
        "apiVersion": CSV_API,
        "kind": CSV_KIND,
        "metadata": {"name": "packageserver", "namespace": "olm"},
        "spec": {
            "displayName": "Package Server",
            "description": "Shows the packages of the catalogs, and the operators that are installed",
            "version": _VERSION,
            "minKubeVersion": "1.11.0",
            "provider": {"name": "Operator Framework"},
            "installModes": [{"type": mode, "supported": True} for mode in _MODES],
            "apiservicedefinitions": {"owned": [_described(*each) for each in names.items()]},
            "install": {
                "strategy": "deployment",
                "spec": {"deployments": [_deployment(name) for name in names.values()]},
            },
        },
    }


def _described(resource: Resource, deployment: str) -> dict[str, Any]:
    return {
        "group": GROUP,
        "version": resource.version,
        "kind": resource.kind,
        "name": resource.plural,
        "displayName": resource.kind,
        "description": resource.description,
        "deploymentName": deployment,
        "containerPort": PORT,
    }


def _deployment(name: str) -> dict[str, Any]:
    container = {
        "name": "packageserver",
        "image": _IMAGE,
        "command": ["/bin/package-server", "-v=4", "--secure-port", str(PORT), "--global-namespace", "olm"],
        "ports": [{"containerPort": PORT, "protocol": "TCP"}],
    }
    pod = {"serviceAccountName": "olm-operator-serviceaccount", "containers": [container]}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {"name": name, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}}
