"""The catalogs that a platform brings along: OpenShift's four, and the one of OperatorHub.io."""

from __future__ import annotations

from olmc.lean import NamedTuple
from olmc.olm.profiles.openshift import openshift


class PlatformCatalog(NamedTuple):
    """A CatalogSource that a cluster has without anybody applying it; `priority` None where it has none."""

    name: str
    namespace: str
    image: str
    priority: int | None = None


OPERATORHUB = PlatformCatalog("operatorhubio-catalog", "olm", "quay.io/operatorhubio/catalog:latest")


def openshift_catalogs(release: str) -> tuple[PlatformCatalog, ...]:
    """Those of an OpenShift release such as `4.18`."""
    namespace = openshift()["globalCatalogNamespace"]
    return tuple(
        PlatformCatalog(item["name"], namespace, item["image"].format(release=release), item["priority"])
        for item in openshift()["catalogs"]
    )


def init_command(name: str, namespace: str) -> str:
    """The command that notes a catalog in olmc.yaml, "" for one that no platform brings."""
    if (name, namespace) == OPERATORHUB[:2]:
        return "olmc init workspace --operatorhub"
    known = {catalog[:2] for catalog in openshift_catalogs("")}
    return "olmc init workspace --openshift RELEASE" if (name, namespace) in known else ""
