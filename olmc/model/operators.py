"""The nouns of the olm-operator: APIs, CSVs, OperatorGroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from olmc.model.gvk import GVK
from olmc.model.location import Source
from olmc.model.objects import KubernetesObject

OLM_GROUP = "operators.coreos.com"
CSV_KIND = "ClusterServiceVersion"

Scope = Literal["plain", "global", "scoped"]


class OwnedAPI(NamedTuple):
    """An API that a CSV describes: `name` as in the description, the resource's plural, and how it is served."""

    key: GVK
    plural: str
    name: str
    is_crd: bool


@dataclass(frozen=True)
class Csv:
    """A ClusterServiceVersion as the API server stores it; `object` is not to be changed.

    `source` is where its text stands (the bundle's file, or a manifest of the workspace).
    """

    object: KubernetesObject
    source: Source | None = None

    @property
    def name(self) -> str:
        return str(self.object["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self.object["metadata"].get("namespace") or "")

    @cached_property
    def spec(self) -> dict[str, Any]:
        return self.object.get("spec") or {}

    @property
    def counts_as_copy(self) -> bool:
        """Whether OLM takes it for a copy of a CSV in another namespace (R-COPY-1), which it then leaves alone."""
        home = self.annotations.get("olm.operatorNamespace")
        return (home is not None and home != self.namespace) or "olm.copiedFrom" in (
            self.object["metadata"].get("labels") or {}
        )

    @property
    def scope(self) -> Scope:
        """For descoping: plain without install modes, global with AllNamespaces alone, else scoped (R-DESCOPE-1)."""
        modes = self.spec.get("installModes") or ()
        if not modes:
            return "plain"
        return "global" if {m.get("type") for m in modes if m.get("supported")} == {"AllNamespaces"} else "scoped"

    @property
    def annotations(self) -> dict[str, str]:
        return self.object["metadata"].get("annotations") or {}

    @property
    def replaces(self) -> str:
        return str(self.spec.get("replaces") or "")

    @cached_property
    def install(self) -> dict[str, Any]:
        return (self.spec.get("install") or {}).get("spec") or {}

    @property
    def deployments(self) -> list[dict[str, Any]]:
        return self.install.get("deployments") or []

    @property
    def permissions(self) -> list[dict[str, Any]]:
        return self.install.get("permissions") or []

    @property
    def cluster_permissions(self) -> list[dict[str, Any]]:
        return self.install.get("clusterPermissions") or []

    @property
    def webhooks(self) -> list[dict[str, Any]]:
        return self.spec.get("webhookdefinitions") or []

    def crd_descriptions(self, relation: str) -> list[dict[str, Any]]:
        """The CRD descriptions of `relation`: "owned" or "required"."""
        return (self.spec.get("customresourcedefinitions") or {}).get(relation) or []

    def apiservice_descriptions(self, relation: str) -> list[dict[str, Any]]:
        """The APIService descriptions of `relation`: "owned" or "required"."""
        return (self.spec.get("apiservicedefinitions") or {}).get(relation) or []

    @cached_property
    def owned_apis(self) -> tuple[OwnedAPI, ...]:
        """The APIs that the CSV provides, CRDs first, in order; none when a CRD's name can't be read (R-OG-12)."""
        if not self.surface_is_readable:
            return ()
        crds = []
        for item in self.crd_descriptions("owned"):
            plural, _, group = str(item.get("name") or "").partition(".")
            key = GVK(group, item.get("version") or "", item.get("kind") or "")
            crds.append(OwnedAPI(key, plural, item.get("name") or "", True))
        services = [
            OwnedAPI(
                GVK(item.get("group") or "", item.get("version") or "", item.get("kind") or ""),
                item.get("name") or "",
                f"{item.get('version') or ''}.{item.get('group') or ''}",
                False,
            )
            for item in self.apiservice_descriptions("owned")
        ]
        return (*crds, *services)

    def described_apis(self, relation: str) -> tuple[GVK, ...]:
        """The APIs of `relation` ("owned" or "required"), CRDs first, in order; none as with `owned_apis`."""
        if not self.surface_is_readable:
            return ()
        crds = ((str(item.get("name") or "").partition(".")[2], item) for item in self.crd_descriptions(relation))
        services = ((item.get("group") or "", item) for item in self.apiservice_descriptions(relation))
        described = (*crds, *services)
        return tuple(GVK(group, item.get("version") or "", item.get("kind") or "") for group, item in described)

    @cached_property
    def surface_is_readable(self) -> bool:
        """Whether every CRD name, owned or required, has a dot (R-OG-12)."""
        both = self.crd_descriptions("owned") + self.crd_descriptions("required")
        return all("." in str(item.get("name") or "") for item in both)

    @cached_property
    def service_account_names(self) -> tuple[str, ...]:
        """Distinct service accounts of permissions, then clusterPermissions, in order (R-SA-1)."""
        entries = self.permissions + self.cluster_permissions
        return tuple(dict.fromkeys(entry.get("serviceAccountName") or "" for entry in entries))


def apiservice_name(description: Mapping[str, Any]) -> str:
    """The name of the APIService that a CSV's description stands for: `<version>.<group>`."""
    return f"{description.get('version') or ''}.{description.get('group') or ''}"


class Group(NamedTuple):
    """An OperatorGroup with the targets that its selection gives (R-OG-1).

    `targets`: status.namespaces, sorted; `("",)` for all namespaces, `()` when nothing matches or the sync failed.
    `problem`: why the group's sync ends early ("" when it doesn't); `missing_account`: its serviceAccountName when that
    account does not exist.
    """

    object: KubernetesObject
    source: Source | None
    targets: tuple[str, ...]
    problem: str = ""
    missing_account: str = ""

    @property
    def name(self) -> str:
        return str(self.object["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self.object["metadata"].get("namespace") or "")

    @property
    def spec(self) -> dict[str, Any]:
        return self.object.get("spec") or {}

    @property
    def is_global(self) -> bool:
        return self.targets == ("",)

    @property
    def is_static(self) -> bool:
        return bool(self.spec.get("staticProvidedAPIs"))

    @property
    def fails_forward(self) -> bool:
        """Whether a failed CSV may be replaced (R-OG-9); any other upgradeStrategy means the default."""
        return bool(self.spec.get("upgradeStrategy") == "TechPreviewUnsafeFailForward")

    @property
    def given_apis(self) -> str | None:
        """The annotation `olm.providedAPIs` as the input has it."""
        value = (self.object["metadata"].get("annotations") or {}).get("olm.providedAPIs")
        return None if value is None else str(value)
